package diff

import (
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/edits"
	"github.com/prlx-go/prlx/core/recording/script"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// The defaults of Options.
const (
	defaultMaxRows     = 1 << 20
	defaultMaxClusters = 4096
	defaultContext     = 5
)

// withDefaults fills in what was left to us.
func (o Options) withDefaults() Options {
	if o.MaxRows <= 0 {
		o.MaxRows = defaultMaxRows
	}
	if o.MaxClusters <= 0 {
		o.MaxClusters = defaultMaxClusters
	}
	switch {
	case o.Context == 0:
		o.Context = defaultContext
	case o.Context < 0:
		o.Context = 0
	}
	o.Context = min(o.Context, 1000)
	return o
}

// Compare finds out where two recordings of a kernel differ. Recordings of different kernels or launches are refused, unless
// Options.Force or Options.CrossGPU ask for it. The result is the same for any number of workers.
func Compare(j *job.Job, a, b *warptrace.Trace, opt Options) (*Result, error) {
	asked := opt
	opt = opt.withDefaults()
	r := &Result{A: a.Header(), B: b.Header(), PathA: a.Path(), PathB: b.Path(), Options: asked, First: -1}
	if err := compatible(r, &opt); err != nil {
		return nil, err
	}
	if err := usable(&opt.Tolerance, r); err != nil {
		return nil, err
	}
	if err := r.verify(j, &opt, a, b); err != nil {
		return nil, err
	}
	j.Progress().SetStage("comparing")
	if len(opt.Libraries) > 0 {
		a.SetSites(a.Sites().WithLibraries(opt.Libraries))
		b.SetSites(b.Sites().WithLibraries(opt.Libraries))
	}
	texts, warnings, err := readTexts(j.Context(), a, b)
	if err != nil {
		return nil, err
	}
	r.TextsA, r.TextsB, r.Warnings = texts[0], texts[1], append(r.Warnings, warnings...)
	r.Changes = edits.Between(r.TextsA, r.TextsB)
	r.Given = givenOf(r, a.Header(), b.Header())
	sites := newSiteMap(a, b)
	g := newGathering(r, &opt, sites)
	err = g.readWritten(j.Context(), a, b)
	switch {
	case err != nil:
	case r.OtherShape != "":
		err = g.countOnly(j.Context(), a, b)
	case opt.CrossGPU && r.A.WaveSize != r.B.WaveSize:
		err = compareThreads(j, a, b, g)
	default:
		err = compareWarps(j, a, b, g)
	}
	if err == nil {
		err = j.Context().Err()
	}
	if err != nil {
		return nil, err
	}
	if err := nothingLeft(r); err != nil {
		return nil, err
	}
	if err := g.compareWritten(j.Context(), a, b); err != nil {
		return nil, err
	}
	if err := g.nothingShared(); err != nil {
		return nil, err
	}
	g.done()
	if err := r.outputs.readContents(j.Context(), r, a, b); err != nil && (r.Options.tolerates() || !r.damage.took(err, a, b)) {
		return nil, err
	}
	if r.recorded, err = lookAt(j.Context(), a, b, &r.Stats); err != nil {
		return nil, err
	}
	if err := r.readOperands(j, a, b, &opt); err != nil {
		return nil, err
	}
	if err := r.damage.refusal(); err != nil && !r.differs() {
		return nil, err
	}
	r.Blocks = blocksOf(a, b, &opt)
	r.warn(sites)
	return r, nil
}

// compatible refuses recordings that do not belong together.
func compatible(r *Result, opt *Options) error {
	if err := sameMeans(r, opt); err != nil {
		return err
	}
	var kernels, launches []string
	if !warptrace.SameKernel(r.A, r.B) {
		kernels = append(kernels, fmt.Sprintf("kernel %s and %s", nameOfKernel(r.A), nameOfKernel(r.B)))
	}
	for _, x := range []struct {
		what string
		a, b [3]uint32
	}{{"grid", r.A.Grid, r.B.Grid}, {"block", r.A.Block, r.B.Block}} {
		if x.a != x.b {
			launches = append(launches, fmt.Sprintf("%s %s and %s", x.what, dimensions(x.a), dimensions(x.b)))
		}
	}
	waves := r.A.WaveSize != r.B.WaveSize
	if waves {
		launches = append(launches, fmt.Sprintf("warps of %d and %d lanes", r.A.WaveSize, r.B.WaveSize))
	} else if r.A.WarpSlots != r.B.WarpSlots {
		launches = append(launches, fmt.Sprintf("%d and %d warps", r.A.WarpSlots, r.B.WarpSlots))
	}
	differ := append(kernels, launches...)
	if len(differ) == 0 {
		return nil
	}
	text := "the recordings are not of the same launch: " + strings.Join(differ, ", ")
	if len(kernels) == 0 && !waves && !opt.Force && !opt.CrossGPU && sameCall(r.A, r.B) {
		r.OtherShape = shapes(launches)
		r.Warnings = append(r.Warnings, "warps do not correspond ("+r.OtherShape+"): what was written is compared, by element and by statement")
		return nil
	}
	switch {
	case waves && !opt.CrossGPU:
		return fault.New(fault.Incompatible, "%s", text).WithPath(r.PathB).WithHint("--cross-gpu compares recordings of different wave sizes thread by thread")
	case !opt.Force && !opt.CrossGPU:
		return fault.New(fault.Incompatible, "%s", text).WithPath(r.PathB).WithHint("--force compares them all the same, warp by warp")
	}
	r.Warnings = append(r.Warnings, text)
	return nil
}

// sameMeans refuses a kernel that recorded by itself beside one that was watched: what they note is not the same even of equal runs, for
// one passes the branches of the compiler's IR and the other those of the machine code.
func sameMeans(r *Result, opt *Options) error {
	a, b := r.A.Means, r.B.Means
	if a == b || !isCapture(a) || !isCapture(b) {
		return nil
	}
	text := "one of the recordings was watched by the simulator, the other was made by the kernel itself: of equal runs they note different events"
	if opt.Force {
		r.Warnings = append(r.Warnings, text)
		return nil
	}
	return fault.New(fault.Incompatible, "%s", text).WithPath(r.PathB).
		WithHint("record both with the same capture; --force compares them all the same, and what only one of them notes is a difference then")
}

func isCapture(m warptrace.Means) bool {
	return m == warptrace.MeansObserved || m == warptrace.MeansInstrumented
}

// nothingLeft refuses a recording of which a crash left no warp: nothing was compared, so "the same" would be no finding.
func nothingLeft(r *Result) error {
	if r.Stats.WarpsCompared == 0 && !r.Options.Warps.All() && r.Stats.WarpsA+r.Stats.WarpsB > 0 {
		return fault.Usagef("none of the warps that were asked for recorded anything").
			WithPath(r.PathB).WithHint("prlx inspect says how many warps there are; they count from 0")
	}
	for _, side := range []struct {
		path          string
		truncated     bool
		warps, others int64
	}{{r.PathA, r.LossesA.Truncated, r.Stats.WarpsA, r.Stats.WarpsB}, {r.PathB, r.LossesB.Truncated, r.Stats.WarpsB, r.Stats.WarpsA}} {
		if side.truncated && side.warps == 0 && side.others > 0 {
			return fault.New(fault.Incompatible, "was cut, and holds no complete warp: nothing can be compared").
				WithPath(side.path).WithHint("record again, or copy the file again")
		}
	}
	return nil
}

func nameOfKernel(h *warptrace.Header) string {
	if h.Kernel == "" {
		return fmt.Sprintf("(hash 0x%016x)", h.KernelHash)
	}
	return clippedWord(h.Kernel)
}

func dimensions(d [3]uint32) string { return fmt.Sprintf("%dx%dx%d", d[0], d[1], d[2]) }

// stepsOfAll is the budget of the scripts of all warps together, and the bounds of what one warp gets of it.
const (
	stepsOfAll  = int64(1) << 34
	stepsAtMost = int64(1) << 28
	stepsAtBest = int64(1) << 22
)

func budgetOfWarp(warps uint64) script.Budget {
	return script.Budget{Steps: min(max(stepsOfAll/int64(min(max(warps, 1), 1<<32)), stepsAtBest), stepsAtMost)}
}

// warn says what limits the result.
func (r *Result) warn(sites *siteMap) {
	add := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	if r.Builds = sites.builds; r.Builds != nil {
		r.Warnings = append(r.Warnings, r.Builds.notes()...)
	}
	for _, side := range []struct {
		name string
		lost *warptrace.Losses
	}{{"A", &r.LossesA}, {"B", &r.LossesB}} {
		l := side.lost
		if l.Dropped > 0 {
			add("%s lost %d of %d events in %s, because their buffers were full: what happened there is not compared",
				side.name, l.Dropped, l.Dropped+l.Events, counted(l.WarpsWithDrops, "warp"))
		}
		if l.SampleRate > 1 {
			add("%s keeps one event in %d: which events are paired is a guess", side.name, l.SampleRate)
		}
		if l.Truncated {
			add("%s has no end: what was recovered is compared", side.name)
		}
	}
	for _, m := range r.damage.missing() {
		add("%s; what is whole was compared", m.Why)
	}
	if n := r.Stats.LostTails; n > 0 {
		add("in %s one side ends early or begins late, where it lost events: that is a loss and no divergence", counted(n, "warp"))
	}
	if n := r.Stats.Approximate; n > 0 {
		add("%s differ so much that their alignment is approximate: it is complete, but may be longer than necessary", counted(n, "warp"))
	}
	if n := r.Stats.Reordered; n > 0 && !r.Options.StrictOrder {
		add("%s, and every lane did the same: that does not count", r.Stats.otherOrder())
	}
	if n := r.Stats.RowsOmitted; n > 0 {
		add("%s beyond the %d that are kept were counted only", counted(n, "divergence"), len(r.Rows))
	}
}
