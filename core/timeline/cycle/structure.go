package cycle

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sort"

	"github.com/prlx-go/prlx/core/timeline/cycle/phase"
	"github.com/prlx-go/prlx/core/timeline/cycle/repeat"
)

const sourceInferred = "inferred"

// take makes classes of what was found in a track, and of the marks that define its steps.
func (f *finder) take(t *track, st repeat.Structure) {
	r := f.r
	t.number = len(r.tracks)
	r.tracks = append(r.tracks, t)
	var steps []tracked
	if t.main && len(f.sources) > 0 && len(f.sources[t.seq].marks) > 0 {
		steps = f.cutByMarks(t, f.sources[t.seq])
	}
	if len(steps) == 0 {
		for l, d := range f.depths(t, st) {
			for k := range st.Levels[l].Classes {
				f.inferred(t, &st.Levels[l].Classes[k], d)
			}
		}
		return
	}
	groups, partial := f.groups(t, steps)
	f.within(t, st, steps)
	f.stepClasses(t, steps, f.sources[t.seq], groups)
	f.loneSteps(t, steps, groups, partial)
}

// loneSteps keeps the steps that marks define and that belong to no class.
func (f *finder) loneSteps(t *track, steps []tracked, groups []*group, partial map[int]bool) {
	in := make([]bool, len(steps))
	for _, g := range groups {
		for _, s := range g.steps {
			in[s] = true
		}
	}
	for i, s := range steps {
		if !in[i] {
			f.r.steps = append(f.r.steps, step{track: int32(t.number), class: -1, span: repeat.Span{Start: s.first, End: s.end}, mark: s.mark, partial: partial[i]})
		}
	}
}

// leastLayer is the least period of a layer, the described tool's least length of a cycle within a cycle.
const leastLayer = 5

// inferred adds a class of a structure.
func (f *finder) inferred(t *track, c *repeat.Class, d depth) {
	if d == depthLayer && c.Period < leastLayer {
		d = depthBlock
	}
	word := append(append(make([]uint32, 0, c.Period), c.Symbols[c.Rotation:]...), c.Symbols[:c.Rotation]...)
	f.add(class{id: c.ID, depth: d, source: sourceInferred, word: word, rotation: c.Rotation}, part{track: t.number, reps: c.Repetitions})
}

// add puts a part under the class of its id, which another track may have made.
func (f *finder) add(c class, p part) {
	for _, o := range f.r.classes {
		if o.id == c.id && o.depth == c.depth {
			p.shift = (c.rotation - o.rotation + len(o.word)) % len(o.word)
			o.parts = append(o.parts, p)
			return
		}
	}
	c.parts = []part{p}
	f.r.classes = append(f.r.classes, &c)
}

// What makes a level the one of steps, where no mark says so.
const (
	leastPeriod  = 4   // kernels: no step is so short that this could not be told from noise
	stepPeriod   = 200 // kernels: no layer is so long
	lonePeriod   = 100 // the same for what nothing repeats inside of
	layerShare   = 40  // percent of a repetition that lie in repetitions of the level below
	pauseFactor  = 3   // the idle time in front of a step beside that in front of its kernels
	outerFactor  = 1.5 // the idle time in front of a step beside that in front of its microbatches
	sampledSpans = 256 // repetitions that are looked at
)

// depths says how deep each level of a structure nests: which of them is the one of steps, and so what the others are.
func (f *finder) depths(t *track, st repeat.Structure) []depth {
	n := len(st.Levels)
	out := make([]depth, n)
	if f.knownDepths(st, out) { // another rank has named them
		return f.spread(out)
	}
	at := f.stepLevel(t, st)
	if at < 0 { // layers of one step, at most with blocks inside
		top := widest(st)
		for l := range out {
			out[l] = min(depthLoops, max(depthBlock, depthLayer+depth(l-top)))
		}
		for l := top + 1; l < n; l++ {
			out[l] = depthStep + depth(l-top-1)
		}
		return f.spread(out)
	}
	for at+1 < n && !f.made(&st.Levels[at+1], at) { // nothing of it comes twice in what is around it: it is a part of a step
		at++
	}
	out[at] = depthStep
	below := depthLayer
	if at+1 < n && f.inParts(t, &st.Levels[at], &st.Levels[at+1]) {
		out[at] = depthMicrobatch
		out[at+1] = depthStep
		for l := at + 2; l < n; l++ {
			out[l] = depthLoop + depth(l-at-2)
		}
	} else {
		for l := at + 1; l < n; l++ {
			out[l] = depthLoop + depth(l-at-1)
		}
	}
	for l := at - 1; l >= 0; l-- {
		out[l] = below
		below = depthBlock
	}
	return f.spread(out)
}

// inParts reports whether the repetitions of a level are parts of a step, the outer level, and not steps of a loop: training makes gradients
// in parts, serving does not, and of what is neither the pauses tell.
func (f *finder) inParts(t *track, level, outer *repeat.Level) bool {
	switch {
	case f.training():
		return true
	case f.kinds.serving:
		return false
	}
	return f.pauseBefore(t, outer) >= outerFactor*f.pauseBefore(t, level)
}

// spread joins levels that got one depth: only one of them can have it, so deeper ones move in.
func (f *finder) spread(d []depth) []depth {
	for l := len(d) - 2; l >= 0; l-- {
		if d[l] >= d[l+1] && d[l+1] > depthBlock {
			d[l] = d[l+1] - 1
		}
	}
	for i := range d {
		d[i] = min(d[i], depthLoops)
	}
	return d
}

// knownDepths fills the depths of levels that have a class that another track shares, and those beside them; false where there is none.
func (f *finder) knownDepths(st repeat.Structure, out []depth) bool {
	known := map[uint64]depth{}
	for _, c := range f.r.classes {
		known[c.id] = c.depth
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
			out[l] = min(out[l-1]+1, depthLoops)
		}
	}
	for l := len(out) - 2; l >= 0; l-- {
		if out[l] == depthBlock && out[l+1] > depthLayer && !f.anyKnown(known, &st.Levels[l]) {
			out[l] = out[l+1] - 1
			if out[l+1] == depthStep {
				out[l] = depthLayer
			}
		}
	}
	return at >= 0
}

func (f *finder) anyKnown(known map[uint64]depth, l *repeat.Level) bool {
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

// made reports whether a class of the level below comes more than once in a repetition of the greatest class of a level.
func (f *finder) made(outer *repeat.Level, below int) bool {
	return slices.ContainsFunc(outer.Classes[0].Children, func(ch repeat.Child) bool { return ch.Level == below && ch.Count > 1 })
}

// stepLevel is the level of steps (or of microbatches), -1 where there is none.
func (f *finder) stepLevel(t *track, st repeat.Structure) int {
	for l := range st.Levels {
		if l == 0 && len(st.Levels) > 1 && len(st.Levels[0].Classes) > 0 && f.innerOnly(st) {
			continue
		}
		level := &st.Levels[l]
		c := &level.Classes[0]
		holds := f.holds(st, c)
		switch {
		case f.training() && c.Period >= leastLayer && f.optimizes(c): // an optimizer runs once a step
			return l
		case holds && c.Period >= lonePeriod, c.Period >= stepPeriod, !holds && c.Period >= lonePeriod:
			return l
		case c.Period >= leastPeriod && (f.pauses(t, c.Repetitions) || f.launched(t, c)):
			return l
		}
	}
	return -1
}

var optimizerName = regexp.MustCompile(`(?i)adam|optimizer|fused_sgd|lamb`)

// optimizes reports whether a repetition has kernels of an optimizer, and others for the greater part.
func (f *finder) optimizes(c *repeat.Class) bool {
	keys := f.r.words.keysOf(f.r.keys)
	n := 0
	for _, s := range c.Symbols {
		if optimizerName.MatchString(keys[s]) {
			n++
		}
	}
	return n > 0 && 2*n < len(c.Symbols)
}

// innerOnly reports whether the innermost level stands inside of the next one for the greater part.
func (f *finder) innerOnly(st repeat.Structure) bool {
	c := &st.Levels[0].Classes[0]
	return len(c.Parents) > 0 && c.Period < lonePeriod
}

// sample calls visit for repetitions spread over a class.
func sample(reps []repeat.Span, visit func(repeat.Span)) {
	every := max(1, len(reps)/sampledSpans)
	for i := 0; i < len(reps); i += every {
		visit(reps[i])
	}
}

// pauses reports whether each repetition has one place with clearly more idle time in front of it than any other: that in front of a
// step, wherever its border was put.
func (f *finder) pauses(t *track, reps []repeat.Span) bool {
	var longest, next []int64
	sample(reps, func(s repeat.Span) {
		first, second := int64(0), int64(0)
		for i := int(s.Start); i < int(s.End); i++ {
			switch idle := f.r.idleBefore(t, i); {
			case idle > first:
				first, second = idle, first
			case idle > second:
				second = idle
			}
		}
		if s.Start > 0 { // nobody knows what is in front of the first kernel
			longest, next = append(longest, first), append(next, second)
		}
	})
	if len(longest) < 2 {
		return false
	}
	return median(longest) >= pauseFactor*max(1, median(next))
}

// pauseBefore is the median idle time in front of the repetitions of a level.
func (f *finder) pauseBefore(t *track, l *repeat.Level) float64 {
	var before []int64
	for k := range l.Classes {
		sample(l.Classes[k].Repetitions, func(s repeat.Span) {
			if s.Start > 0 {
				before = append(before, f.r.idleBefore(t, int(s.Start)))
			}
		})
	}
	if len(before) == 0 {
		return 0
	}
	return float64(median(before))
}

// launched reports whether every repetition is a graph launch of its own.
func (f *finder) launched(t *track, c *repeat.Class) bool {
	s := f.r.seq(t)
	if s.Graph == nil {
		return false
	}
	own, seen := 0, 0
	sample(c.Repetitions, func(p repeat.Span) {
		seen++
		first, last := s.Graph[t.at(int(p.Start))], s.Graph[t.at(int(p.End)-1)]
		before, after := uint32(0), uint32(0)
		if p.Start > 0 {
			before = s.Graph[t.at(int(p.Start)-1)]
		}
		if int(p.End) < t.n {
			after = s.Graph[t.at(int(p.End))]
		}
		if first != 0 && first == last && first != before && last != after {
			own++
		}
	})
	return 10*own >= 8*seen
}

func (f *finder) training() bool {
	if f.kinds == nil {
		training, serving := phase.Kinds(f.r.trace.Names)
		f.kinds = &kinds{training, serving}
	}
	return f.kinds.training
}

// kinds says what a trace does.
type kinds struct{ training, serving bool }

// within keeps the inferred classes that lie inside of the steps that marks define, and those that hold several of them. Repetitions across a
// border are none.
func (f *finder) within(t *track, st repeat.Structure, steps []tracked) {
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
			switch {
			case 5*len(whole) >= 4*len(c.Repetitions) && 10*c.Period < 8*size && len(whole) > 1:
				c.Repetitions = whole
				level = append(level, c)
			case 5*len(whole) < 4*len(c.Repetitions) && 2*c.Period >= 3*size:
				f.inferred(t, &c, depthLoop)
			}
		}
		if len(level) > 0 {
			kept = append(kept, level)
		}
	}
	d := depthLayer
	if n := len(kept); n > 1 && f.training() && f.holds(st, &kept[n-1][0]) && kept[n-1][0].Period >= lonePeriod/2 {
		d = depthMicrobatch
	}
	for l := len(kept) - 1; l >= 0; l-- {
		for k := range kept[l] {
			f.inferred(t, &kept[l][k], d)
		}
		d = max(d-1, depthBlock)
	}
}

// holds reports whether a class consists of others for the greater part.
func (f *finder) holds(st repeat.Structure, c *repeat.Class) bool {
	inside := 0
	for _, ch := range c.Children {
		inside += ch.Count * st.Levels[ch.Level].Classes[ch.Class].Period
	}
	return len(c.Children) > 0 && 100*inside >= layerShare*c.Period
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

// arrange sorts the classes into levels, counts, and relates them.
func (f *finder) arrange() {
	r := f.r
	for _, c := range r.classes {
		c.tally()
	}
	slices.SortStableFunc(r.classes, func(a, b *class) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(rankOf(r.aside(a)), rankOf(r.aside(b))), cmp.Compare(b.covered, a.covered), cmp.Compare(a.parts[0].track, b.parts[0].track),
			cmp.Compare(a.parts[0].reps[0].Start, b.parts[0].reps[0].Start), cmp.Compare(a.id, b.id))
	})
	for i, c := range r.classes {
		if n := len(r.levels); n == 0 || r.levels[n-1].depth != c.depth {
			if n == r.opt.MaxLevels {
				r.warnings = append(r.warnings, fmt.Sprintf("levels beyond the %s of %d are left out", c.depth.name(), n))
				r.classes = r.classes[:i]
				break
			}
			r.levels = append(r.levels, level{depth: c.depth})
		}
		l := &r.levels[len(r.levels)-1]
		l.classes = append(l.classes, i)
		l.covered += c.covered
	}
	for i := range r.levels {
		r.levels[i].reason = f.reason(&r.levels[i])
	}
	r.tellApart()
	f.relate()
}

// tellApart gives classes of the same kernels on different levels ids of their own: a step that a mark defines may hold nothing
// but what repeats inside of others.
func (r *Result) tellApart() {
	seen := make(map[uint64]bool, len(r.classes))
	for _, c := range r.classes {
		for seen[c.id] {
			c.id = (c.id ^ (uint64(c.depth) + 1)) * 0x100000001b3
		}
		seen[c.id] = true
	}
}

// aside reports whether a class stands in streams beside the main one only.
func (r *Result) aside(c *class) bool {
	for i := range c.parts {
		if r.tracks[c.parts[i].track].main {
			return false
		}
	}
	return true
}

func rankOf(side bool) int {
	if side {
		return 1
	}
	return 0
}

// tally counts the repetitions of a class.
func (c *class) tally() {
	slices.SortStableFunc(c.parts, func(a, b part) int { return cmp.Compare(a.track, b.track) })
	for _, p := range c.parts {
		for _, s := range p.reps {
			c.count++
			c.covered += int64(s.End - s.Start)
			c.edits += int64(s.Edits)
			if s.Edits > 0 {
				c.edited++
			}
		}
	}
}

func (f *finder) reason(l *level) string {
	c := f.r.classes[l.classes[0]]
	switch {
	case c.described:
		return "found as the described tool does, which knows no levels"
	case c.source != sourceInferred:
		return fmt.Sprintf("defined by %s marks", c.source)
	}
	switch l.depth {
	case depthBlock:
		return "repeats inside of a layer"
	case depthLayer:
		return "repeats inside of a step"
	case depthMicrobatch:
		return "has layers and repeats inside of a step"
	case depthStep:
		return "the innermost level that has layers, is as long as no layer, is launched as one graph, or starts behind a pause"
	}
	return "repeats several steps"
}

// relate counts which classes a repetition consists of: those of the next level in that has any inside.
func (f *finder) relate() {
	r := f.r
	for li := len(r.levels) - 1; li > 0; li-- {
		for _, i := range r.levels[li].classes {
			outer := r.classes[i]
			for below := li - 1; below >= 0 && len(outer.children) == 0; below-- {
				for _, k := range r.levels[below].classes {
					if n := inner(outer, r.classes[k]); n > 0 {
						outer.children = append(outer.children, child{r.classes[k], n})
						r.classes[k].parents = append(r.classes[k].parents, i)
					}
				}
			}
		}
	}
}

// inner is how many repetitions of a class lie in one of another, most often.
func inner(outer, in *class) int {
	counts := map[int]int{}
	for _, p := range outer.parts {
		for _, q := range in.parts {
			if p.track != q.track {
				continue
			}
			k := 0
			for _, s := range p.reps {
				for k < len(q.reps) && q.reps[k].Start < s.Start {
					k++
				}
				n := 0
				for k+n < len(q.reps) && q.reps[k+n].End <= s.End {
					n++
				}
				counts[n]++
				k += n
			}
		}
	}
	best := 0
	for n, times := range counts {
		if times > counts[best] || times == counts[best] && n > best {
			best = n
		}
	}
	return best
}
