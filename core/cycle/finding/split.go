package finding

import (
	"cmp"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/cycle/naming/phase"
	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

// splitter takes classes apart by the size of their repetitions.
type splitter struct {
	trace  *kernels.Trace
	tracks []*structure.Track
	rows   []bool // by name of a kernel: it has a thread block a row
}

func newSplitter(r *structure.Run) *splitter {
	f := &splitter{trace: r.Trace, tracks: r.Tracks, rows: make([]bool, len(r.Trace.Names))}
	for i, name := range r.Trace.Names {
		f.rows[i] = phase.RowWise(name)
	}
	return f
}

// splitClasses takes the classes of a run apart by the size of their repetitions, and returns those of the greater ones.
func splitClasses(r *structure.Run) (greater []*structure.Class) {
	if !r.Serving || r.Opt.Compat != nil {
		return nil
	}
	f := newSplitter(r)
	for _, c := range r.Classes {
		if len(c.Word) < minSized || c.Depth > structure.DepthStep || f.phasesMarked(c) {
			continue
		}
		if n := f.split(c); n != nil {
			greater = append(greater, n)
		}
	}
	return greater
}

// phasesMarked reports whether marks say the phase of repetitions: these are told apart already.
func (f *splitter) phasesMarked(c *structure.Class) bool {
	for _, p := range c.Parts {
		for _, m := range p.Marks {
			if f.trace.Marks[m].Phase != "" {
				return true
			}
		}
	}
	return false
}

// sized is the size of one repetition.
type sized struct {
	part, k int32
	blocks  float64 // 0 where kernels do not say it
	ns      float64
	graph   bool // launched by graphs, for the greater part
}

// split takes the greater repetitions out of a class and makes one of them; nil: there are none.
func (f *splitter) split(c *structure.Class) *structure.Class {
	n := 0
	for _, p := range c.Parts {
		n += len(p.Reps)
	}
	if n < 2 {
		return nil
	}
	all := make([]sized, 0, n)
	said := true
	for pi := range c.Parts {
		for k, rep := range c.Parts[pi].Reps {
			x := sized{part: int32(pi), k: int32(k)}
			f.size(&x, c.Parts[pi].Track, rep)
			said = said && x.blocks > 0
			all = append(all, x)
		}
	}
	at, ok := f.sizes(c, all, said)
	if !ok {
		at, ok = f.launches(c, all)
	}
	if !ok {
		return nil
	}
	greater := make([][]bool, len(c.Parts))
	for pi := range c.Parts {
		greater[pi] = make([]bool, len(c.Parts[pi].Reps))
	}
	for _, x := range all[at:] {
		greater[x.part][x.k] = true
	}
	return divide(c, greater)
}

// sizes puts repetitions in order of size and finds the one from which on they are greater.
func (f *splitter) sizes(c *structure.Class, all []sized, said bool) (at int, ok bool) {
	measure, ratio := func(x sized) float64 { return x.ns }, splitTime
	if said {
		measure, ratio = func(x sized) float64 { return x.blocks }, splitBlocks
	}
	slices.SortStableFunc(all, func(a, b sized) int { return cmp.Compare(measure(a), measure(b)) })
	gap := 0.0
	for i := 1; i < len(all); i++ {
		if g := measure(all[i]) / math.Max(1, measure(all[i-1])); g > gap {
			at, gap = i, g
		}
	}
	if !said && min(at, len(all)-at) == 1 {
		ratio = splitOne
	}
	return at, gap >= ratio && (said || f.largeAllOver(c, all[at/2], all[at+(len(all)-at)/2]))
}

// launches puts repetitions that graphs launch in front of others, where these are greater.
func (f *splitter) launches(c *structure.Class, all []sized) (at int, ok bool) {
	slices.SortStableFunc(all, func(a, b sized) int {
		switch {
		case a.graph && !b.graph:
			return -1
		case b.graph && !a.graph:
			return 1
		}
		return cmp.Compare(a.ns, b.ns)
	})
	at = slices.IndexFunc(all, func(x sized) bool { return !x.graph })
	if at <= 0 {
		return 0, false
	}
	small, large := all[at/2], all[at+(len(all)-at)/2]
	return at, large.ns >= splitGraph*small.ns && f.largeAllOver(c, small, large)
}

// size adds up a repetition; blocks are those of kernels with a thread block a row, 0 where most do not say any.
func (f *splitter) size(x *sized, track int, rep repeat.Span) {
	t := f.tracks[track]
	s := &f.trace.Sequences[t.Seq]
	said, all, graph := 0, 0, 0
	for i := int(rep.Start); i < int(rep.End); i++ {
		k := t.At(i)
		x.ns += float64(s.DurNS(k))
		if s.Graph != nil && s.Graph[k] != 0 {
			graph++
		}
		if f.rows[s.Name[k]] {
			if all++; s.Blocks != nil && s.Blocks[k] > 0 {
				x.blocks += float64(s.Blocks[k])
				said++
			}
		}
	}
	if 100*said <= saidPercent*all {
		x.blocks = 0
	}
	x.graph = 100*graph > graphPercent*int(rep.End-rep.Start)
}

// largeAllOver reports whether most kernels of one repetition take longer than those of another.
func (f *splitter) largeAllOver(c *structure.Class, small, large sized) bool {
	times := func(x sized) []int64 {
		p := &c.Parts[x.part]
		t := f.tracks[p.Track]
		s := &f.trace.Sequences[t.Seq]
		var out []int64
		for i := int(p.Reps[x.k].Start); i < int(p.Reps[x.k].End); i++ {
			out = append(out, s.DurNS(t.At(i)))
		}
		return out
	}
	a, b := times(small), times(large)
	longer := 0
	n := min(len(a), len(b))
	for i := range n {
		if float64(b[i]) >= slotRatio*float64(a[i]) {
			longer++
		}
	}
	return float64(longer) >= slotShare*float64(n)
}

// divide makes a class of its own of the greater repetitions.
func divide(c *structure.Class, greater [][]bool) *structure.Class {
	n := *c
	n.ID = (c.ID ^ 0x9e3779b97f4a7c15) * 0x100000001b3
	n.Parts = nil
	var rest []structure.Part
	for pi := range c.Parts {
		p := &c.Parts[pi]
		small, large := structure.Part{Track: p.Track, Shift: p.Shift}, structure.Part{Track: p.Track, Shift: p.Shift}
		for k := range p.Reps {
			to := &small
			if greater[pi][k] {
				to = &large
			}
			if segs := p.Loose[int32(k)]; segs != nil {
				if to.Loose == nil {
					to.Loose = map[int32][]structure.Segment{}
				}
				to.Loose[int32(len(to.Reps))] = segs
			}
			to.Reps = append(to.Reps, p.Reps[k])
			if p.Marks != nil {
				to.Marks = append(to.Marks, p.Marks[k])
			}
		}
		if len(small.Reps) > 0 {
			rest = append(rest, small)
		}
		if len(large.Reps) > 0 {
			n.Parts = append(n.Parts, large)
		}
	}
	c.Parts = rest
	return &n
}
