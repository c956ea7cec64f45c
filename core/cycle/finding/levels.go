package finding

import (
	"slices"
	"sort"

	"github.com/prlx-go/prlx/core/cycle/naming/phase"
	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

// take makes classes of what was found in a track, and of the marks that define its steps.
func (f *finder) take(t *structure.Track, st repeat.Structure) {
	r := f.r
	t.Number = len(r.Tracks)
	r.Tracks = append(r.Tracks, t)
	var steps []tracked
	if t.Main && len(f.sources) > 0 && len(f.sources[t.Seq].marks) > 0 {
		steps = f.cutByMarks(t, f.sources[t.Seq])
	}
	if len(steps) == 0 {
		depths := f.depths(t, &st)
		for l, d := range depths {
			for k := range st.Levels[l].Classes {
				f.inferred(t, &st.Levels[l].Classes[k], d)
			}
		}
		f.between(t, st, depths)
		return
	}
	groups, partial := f.groups(t, steps)
	f.within(t, st, steps)
	f.stepClasses(t, steps, f.sources[t.Seq], groups)
	f.loneSteps(t, steps, groups, partial)
}

// loneSteps keeps the steps that marks define and that belong to no class.
func (f *finder) loneSteps(t *structure.Track, steps []tracked, groups []*group, partial map[int]bool) {
	in := make([]bool, len(steps))
	for _, g := range groups {
		for _, s := range g.steps {
			in[s] = true
		}
	}
	for i, s := range steps {
		if !in[i] {
			f.r.Steps = append(f.r.Steps, structure.Step{Track: int32(t.Number), Class: -1, Span: repeat.Span{Start: s.first, End: s.end}, Mark: s.mark, Partial: partial[i]})
		}
	}
}

// inferred adds a class of a structure.
func (f *finder) inferred(t *structure.Track, c *repeat.Class, d structure.Depth) {
	if d == structure.DepthLayer && c.Period < leastLayer {
		d = structure.DepthBlock
	}
	word := append(append(make([]uint32, 0, c.Period), c.Symbols[c.Rotation:]...), c.Symbols[:c.Rotation]...)
	f.add(structure.Class{ID: c.ID, Depth: d, Source: structure.SourceInferred, Word: word, Rotation: c.Rotation}, structure.Part{Track: t.Number, Reps: c.Repetitions})
}

// add puts a part under the class of its id, which another track may have made.
func (f *finder) add(c structure.Class, p structure.Part) {
	for _, o := range f.r.Classes {
		if o.ID == c.ID && o.Depth == c.Depth {
			p.Shift = (c.Rotation - o.Rotation + len(o.Word)) % len(o.Word)
			o.Parts = append(o.Parts, p)
			return
		}
	}
	c.Parts = []structure.Part{p}
	f.r.Classes = append(f.r.Classes, &c)
}

// depths says how deep each level of a structure nests: which of them is the one of steps, and so what the others are.
func (f *finder) depths(t *structure.Track, st *repeat.Structure) []structure.Depth {
	n := len(st.Levels)
	out := make([]structure.Depth, n)
	if f.knownDepths(*st, out) { // another rank has named them
		return spread(out)
	}
	at := f.stepLevel(t, *st)
	if at < 0 { // layers of one step, at most with blocks inside
		top := f.layerLevel(st)
		n = len(st.Levels)
		out = out[:n]
		for l := range out {
			out[l] = min(structure.DepthLoops, max(structure.DepthBlock, structure.DepthLayer+structure.Depth(l-top)))
		}
		for l := top + 1; l < n; l++ {
			out[l] = structure.DepthStep + structure.Depth(l-top-1)
		}
		return spread(out)
	}
	for at+1 < n && !made(&st.Levels[at+1], at) { // nothing of it comes twice in what is around it: it is a part of a step
		at++
	}
	out[at] = structure.DepthStep
	below := structure.DepthLayer
	if at+1 < n && f.inParts(t, &st.Levels[at], &st.Levels[at+1]) {
		out[at] = structure.DepthMicrobatch
		out[at+1] = structure.DepthStep
		for l := at + 2; l < n; l++ {
			out[l] = structure.DepthLoop + structure.Depth(l-at-2)
		}
	} else {
		for l := at + 1; l < n; l++ {
			out[l] = structure.DepthLoop + structure.Depth(l-at-1)
		}
	}
	for l := at - 1; l >= 0; l-- {
		out[l] = below
		below = structure.DepthBlock
	}
	return spread(out)
}

// inParts reports whether the repetitions of a level are parts of a step, the outer level, and not steps of a loop: training makes gradients
// in parts, serving does not, and of what is neither the pauses tell.
func (f *finder) inParts(t *structure.Track, level, outer *repeat.Level) bool {
	switch {
	case f.r.Training:
		return true
	case f.r.Serving:
		return false
	}
	return f.r.PauseBefore(t, outer) >= outerFactor*f.r.PauseBefore(t, level)
}

// spread joins levels that got one depth: only one of them can have it, so deeper ones move in.
func spread(d []structure.Depth) []structure.Depth {
	for l := len(d) - 2; l >= 0; l-- {
		if d[l] >= d[l+1] && d[l+1] > structure.DepthBlock {
			d[l] = d[l+1] - 1
		}
	}
	for i := range d {
		d[i] = min(d[i], structure.DepthLoops)
	}
	return d
}

// knownDepths fills the depths of levels that have a class that another track shares, and those beside them; false where there is none.
func (f *finder) knownDepths(st repeat.Structure, out []structure.Depth) bool {
	known := map[uint64]structure.Depth{}
	for _, c := range f.r.Classes {
		known[c.ID] = c.Depth
	}
	at := -1
	for l := range st.Levels {
		for k := range st.Levels[l].Classes {
			if d, ok := known[st.Levels[l].Classes[k].ID]; ok && st.Levels[l].Classes[k].Period >= leastLayer {
				out[l], at = d, l
				break
			}
		}
		if at >= 0 && at < l { // behind a known level
			out[l] = min(out[l-1]+1, structure.DepthLoops)
		}
	}
	for l := len(out) - 2; l >= 0; l-- {
		if out[l] == structure.DepthBlock && out[l+1] > structure.DepthLayer && !anyKnown(known, &st.Levels[l]) {
			out[l] = out[l+1] - 1
			if out[l+1] == structure.DepthStep {
				out[l] = structure.DepthLayer
			}
		}
	}
	return at >= 0
}

func anyKnown(known map[uint64]structure.Depth, l *repeat.Level) bool {
	for k := range l.Classes {
		if _, ok := known[l.Classes[k].ID]; ok {
			return true
		}
	}
	return false
}

// widest is the level that covers most; of equals the outer one.
func widest(st repeat.Structure) int {
	best := 0
	for l := range st.Levels {
		if st.Levels[l].Covered >= st.Levels[best].Covered {
			best = l
		}
	}
	return best
}

// layerLevel is the level of layers where none is one of steps: the widest, or one around it. What covers less than the layers do, and is made of
// them, is layers that stand beside each other by chance, and no step: such levels are taken off the structure.
func (f *finder) layerLevel(st *repeat.Structure) int {
	top := widest(*st)
	for top+1 < len(st.Levels) {
		outer := &st.Levels[top+1]
		switch {
		case st.Levels[top].Classes[0].Period < leastLayer, !made(outer, top): // experts, and kinds of layers
			top++
			continue
		case 100*outer.Covered < madePercent*st.Levels[top].Covered:
			st.Levels = st.Levels[:top+1]
		}
		break
	}
	return top
}

// made reports whether a class of the level below comes more than once in a repetition of the greatest class of a level.
func made(outer *repeat.Level, below int) bool {
	return slices.ContainsFunc(outer.Classes[0].Children, func(ch repeat.Child) bool { return ch.Level == below && ch.Count > 1 })
}

// stepLevel is the level of steps (or of microbatches), -1 where there is none.
func (f *finder) stepLevel(t *structure.Track, st repeat.Structure) int {
	for l := range st.Levels {
		if l == 0 && len(st.Levels) > 1 && len(st.Levels[0].Classes) > 0 && innerOnly(st) {
			continue
		}
		level := &st.Levels[l]
		c := &level.Classes[0]
		switch {
		case f.r.Training && c.Period >= leastLayer && f.optimizes(c): // an optimizer runs once a step
			return l
		case c.Period >= stepPeriod:
			return l
		case c.Period >= leastPeriod && (f.r.Pauses(t, c.Repetitions) || f.launched(t, c)):
			return l
		}
	}
	return -1
}

// optimizes reports whether a repetition has kernels of an optimizer, and others for the greater part.
func (f *finder) optimizes(c *repeat.Class) bool {
	keys := f.r.Words.KeysOf(f.r.Keys)
	n := 0
	for _, s := range c.Symbols {
		if phase.OfOptimizer(keys[s]) {
			n++
		}
	}
	return n > 0 && 100*n < optimizerShare*len(c.Symbols)
}

// innerOnly reports whether the innermost level stands inside of the next one for the greater part.
func innerOnly(st repeat.Structure) bool {
	c := &st.Levels[0].Classes[0]
	return len(c.Parents) > 0 && c.Period < stepPeriod
}

// launched reports whether every repetition is a graph launch of its own.
func (f *finder) launched(t *structure.Track, c *repeat.Class) bool {
	s := f.r.Seq(t)
	if s.Graph == nil {
		return false
	}
	own, seen := 0, 0
	structure.EachOf(c.Repetitions, func(p repeat.Span) {
		seen++
		first, last := s.Graph[t.At(int(p.Start))], s.Graph[t.At(int(p.End)-1)]
		before, after := uint32(0), uint32(0)
		if p.Start > 0 {
			before = s.Graph[t.At(int(p.Start)-1)]
		}
		if int(p.End) < t.N {
			after = s.Graph[t.At(int(p.End))]
		}
		if first != 0 && first == last && first != before && last != after {
			own++
		}
	})
	return 100*own >= launchedPercent*seen
}

// within keeps the inferred classes that lie inside of the steps that marks define, and those that hold several of them. Repetitions across a
// border are none.
func (f *finder) within(t *structure.Track, st repeat.Structure, steps []tracked) {
	size := 0
	for _, s := range steps {
		size += int(s.end - s.first)
	}
	size /= len(steps)
	var kept [][]repeat.Class // by level
	for l := range st.Levels {
		var level []repeat.Class
		for k := range st.Levels[l].Classes {
			c := st.Levels[l].Classes[k]
			whole := uncut(c.Repetitions, steps)
			mostly := 100*len(whole) >= uncutPercent*len(c.Repetitions)
			switch {
			case mostly && 100*c.Period < innerPercent*size && len(whole) > 1:
				c.Repetitions = whole
				level = append(level, c)
			case !mostly && 100*c.Period >= loopPercent*size:
				f.inferred(t, &c, structure.DepthLoop)
			}
		}
		if len(level) > 0 {
			kept = append(kept, level)
		}
	}
	d := structure.DepthLayer
	if n := len(kept); n > 1 && f.r.Training && holds(st, &kept[n-1][0]) && kept[n-1][0].Period >= microbatchPeriod {
		d = structure.DepthMicrobatch
	}
	for l := len(kept) - 1; l >= 0; l-- {
		for k := range kept[l] {
			f.inferred(t, &kept[l][k], d)
		}
		d = max(d-1, structure.DepthBlock)
	}
}

// holds reports whether a class consists of others for the greater part.
func holds(st repeat.Structure, c *repeat.Class) bool {
	inside := 0
	for _, ch := range c.Children {
		inside += ch.Count * st.Levels[ch.Level].Classes[ch.Class].Period
	}
	return len(c.Children) > 0 && 100*inside >= layerPercent*c.Period
}

// uncut are the repetitions that lie in one step or outside of all.
func uncut(reps []repeat.Span, steps []tracked) []repeat.Span {
	var out []repeat.Span
	for _, p := range reps {
		k := sort.Search(len(steps), func(i int) bool { return steps[i].end > p.Start })
		if k == len(steps) || p.End <= steps[k].first || steps[k].first <= p.Start && p.End <= steps[k].end {
			out = append(out, p)
		}
	}
	return out
}
