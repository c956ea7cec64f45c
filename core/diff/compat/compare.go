package compat

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Result is what original prlx 0.5 would have found.
type Result struct {
	Divergences   []divergence // ascending by warp, after the limit and the filters
	WarpsCompared int64
	WarpsDiverged int64 // before the limit and the filters
	EventsA       int64
	EventsB       int64
	Warnings      []string

	a, b *warptrace.Header
	opt  Options
}

// Compare compares two recordings of format v1. Recordings of v2 are refused, as original prlx 0.5 refuses them.
func Compare(j *job.Job, a, b *warptrace.Trace, opt Options) (*Result, error) {
	ctx := j.Context()
	if opt.Lookahead < 0 || opt.Limit < 0 || opt.Threshold < 0 {
		return nil, fault.Usagef("--lookahead, --limit and --max-allowed-divergences are not negative")
	}
	for _, t := range []*warptrace.Trace{a, b} {
		if t.Header().Version != 1 {
			return nil, fault.New(fault.Usage, "original prlx 0.5 reads format v1, this is v%d", t.Header().Version).
				WithPath(t.Path()).WithHint("leave --compat out, or make it v1 first: prlx convert %s -o v1.prlx --to v1", t.Path())
		}
	}
	r := &Result{a: a.Header(), b: b.Header(), opt: opt}
	if err := r.belongTogether(); err != nil {
		return nil, err
	}
	filters, ignored := readFilters(opt)
	for _, piece := range ignored {
		r.Warnings = append(r.Warnings, piece+"; it is left out")
	}
	if (opt.RemapA == nil) != (opt.RemapB == nil) {
		r.Warnings = append(r.Warnings, "--remap-a and --remap-b do nothing without each other")
	}
	l := &aligner{ctx: ctx, opt: &opt, popcount: opt.CrossGPU, remap: remapping(opt.RemapA, opt.RemapB), capacity: capacity(j)}
	walk := r.walkWarps
	if opt.CrossGPU {
		walk = r.walkThreads
	}
	if err := walk(l, a, b); err != nil {
		return nil, err
	}
	r.WarpsDiverged = l.diverged
	r.Divergences = l.found
	if filters.any() {
		r.Divergences = r.Divergences[:0]
		for i := range l.found {
			if filters.pass(&l.found[i]) {
				r.Divergences = append(r.Divergences, l.found[i])
			}
		}
	}
	return r, nil
}

// capacity is how many divergences fit into half of the job's memory.
func capacity(j *job.Job) int64 {
	if limit := j.Budget().Limit(); limit > 0 {
		return max(1, limit/2/divergenceBytes)
	}
	return math.MaxInt64
}

// events is how many events the warps claim. Where a damaged file claims more than a buffer holds, original prlx 0.5 reads what
// is there and counts what is claimed.
func events(index []warptrace.WarpInfo) (n int64) {
	for i := range index {
		n += int64(index[i].Stored)
	}
	return n
}

// belongTogether is what original prlx 0.5 asks of a pair. Its --force excuses another kernel, never another grid.
func (r *Result) belongTogether() error {
	a, b, opt := r.a, r.b, r.opt
	if a.KernelHash != b.KernelHash {
		switch {
		case opt.CrossGPU:
			r.warn("Kernel mismatch (--cross-gpu): '%s' vs '%s'", lossy(a.Kernel), lossy(b.Kernel))
		case opt.Force:
			r.warn("Kernel mismatch (--force): '%s' vs '%s'", lossy(a.Kernel), lossy(b.Kernel))
		default:
			return fault.New(fault.Incompatible, "Kernel mismatch: '%s' (%s) vs '%s' (%s)", lossy(a.Kernel), hex16(a.KernelHash),
				lossy(b.Kernel), hex16(b.KernelHash)).WithHint("use --force to compare different kernel variants")
		}
	}
	if err := r.sameShape("Grid", a.Grid, b.Grid); err != nil {
		return err
	}
	if err := r.sameShape("Block", a.Block, b.Block); err != nil {
		return err
	}
	if a.WarpSlots != b.WarpSlots && !opt.CrossGPU {
		return fault.New(fault.Incompatible, "Total warp mismatch: %d vs %d", a.WarpSlots, b.WarpSlots)
	}
	return nil
}

func (r *Result) sameShape(what string, a, b [3]uint32) error {
	if a == b {
		return nil
	}
	text := fmt.Sprintf("%s dimension mismatch: [%d, %d, %d] vs [%d, %d, %d]", what, a[0], a[1], a[2], b[0], b[1], b[2])
	if r.opt.CrossGPU {
		r.warn("%s", text)
		return nil
	}
	return fault.New(fault.Incompatible, "%s", text)
}

func (r *Result) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// walkWarps compares warp by warp. Pairs of equal bytes cannot differ, unless the sites of B are renamed on the way.
func (r *Result) walkWarps(l *aligner, a, b *warptrace.Trace) error {
	r.WarpsCompared = int64(r.a.WarpSlots)
	var left, right warptrace.Warp
	_, err := warptrace.Walk(l.ctx, a, b, warptrace.WalkOptions{Values: l.opt.Values, All: true}, func(p *warptrace.Pair) error {
		r.EventsA += int64(p.A.Stored)
		r.EventsB += int64(p.B.Stored)
		if p.Equal && l.remap == nil {
			return nil
		}
		if err := p.Decode(&left, &right); err != nil {
			return err
		}
		return l.warp(p.Warp, &left, &right)
	})
	return err
}

// walkThreads compares what the same threads did where warps are of different size: all events of the first narrow warp, then all of
// the second, against those of the wide one. That order is not what happened; it is what original prlx 0.5 compares.
func (r *Result) walkThreads(l *aligner, a, b *warptrace.Trace) error {
	perA, perB := uint64(1), uint64(1)
	if wideA, wideB := isWide(r.a), isWide(r.b); wideA && !wideB {
		perB = 2
	} else if wideB && !wideA {
		perA = 2
	}
	pairs := min((r.a.WarpSlots+perA-1)/perA, (r.b.WarpSlots+perB-1)/perB)
	r.WarpsCompared = int64(pairs)
	indexA, err := a.Index(l.ctx)
	if err != nil {
		return err
	}
	indexB, err := b.Index(l.ctx)
	if err != nil {
		return err
	}
	r.EventsA, r.EventsB = events(indexA), events(indexB)
	var left, right, part warptrace.Warp
	for _, n := range groups(indexA, perA, indexB, perB) {
		if n >= pairs {
			break
		}
		if err := gather(l.ctx, a, n*perA, perA, &left, &part); err != nil {
			return err
		}
		if err := gather(l.ctx, b, n*perB, perB, &right, &part); err != nil {
			return err
		}
		if err := l.warp(n, &left, &right); err != nil {
			return err
		}
	}
	return nil
}

// groups lists, ascending, the numbers of the pairs in which either side recorded something.
func groups(a []warptrace.WarpInfo, perA uint64, b []warptrace.WarpInfo, perB uint64) []uint64 {
	var out []uint64
	for len(a) > 0 || len(b) > 0 {
		next := uint64(math.MaxUint64)
		if len(a) > 0 {
			next = a[0].Warp / perA
		}
		if len(b) > 0 {
			next = min(next, b[0].Warp/perB)
		}
		out = append(out, next)
		for len(a) > 0 && a[0].Warp/perA == next {
			a = a[1:]
		}
		for len(b) > 0 && b[0].Warp/perB == next {
			b = b[1:]
		}
	}
	return out
}

// gather reads count warps from first on, one behind the other.
func gather(ctx context.Context, t *warptrace.Trace, first, count uint64, into, part *warptrace.Warp) error {
	if err := t.ReadWarp(ctx, first, into); err != nil {
		return err
	}
	for n := uint64(1); n < count; n++ {
		if err := t.ReadWarp(ctx, first+n, part); err != nil {
			return err
		}
		into.Site = append(into.Site, part.Site...)
		into.Kind = append(into.Kind, part.Kind...)
		into.Dir = append(into.Dir, part.Dir...)
		into.Active = append(into.Active, part.Active...)
		into.Value = append(into.Value, part.Value...)
	}
	return nil
}

// firstAMD is the architecture number from which original prlx 0.5 takes a GPU for one with warps of 64. No real number is that
// large, see docs/formats/prlx-v1.md.
const firstAMD = 0x1000

func isWide(h *warptrace.Header) bool { return h.ArchNumber >= firstAMD }

func architecture(h *warptrace.Header) string {
	number := strconv.FormatUint(uint64(h.ArchNumber), 10)
	switch {
	case isWide(h):
		return "AMD gfx" + number
	case h.ArchNumber > 0:
		return "NVIDIA SM_" + number
	}
	return "Unknown(0)"
}

func warpSize(h *warptrace.Header) int64 {
	if isWide(h) {
		return 64
	}
	return 32
}

// counted is how many divergences count against the threshold.
func (r *Result) counted() int64 {
	n := int64(len(r.Divergences))
	if r.opt.IgnoreActiveMask {
		for i := range r.Divergences {
			if r.Divergences[i].Kind == activeMask {
				n--
			}
		}
	}
	return n
}

// identical reports whether nothing is listed.
func (r *Result) identical() bool { return len(r.Divergences) == 0 }

// Passed reports whether no more divergences count than are allowed.
func (r *Result) Passed() bool { return r.counted() <= r.opt.Threshold }
