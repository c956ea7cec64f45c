package finding

import (
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/cycle/structure"
	"github.com/prlx-go/prlx/core/lazyregexp"
)

// source is the marks that define the steps of a sequence, in order of time, without overlap; none: steps are inferred.
type source struct {
	kind  kernels.MarkKind
	marks []int32 // places in Trace.Marks
}

// stepKinds are the kinds of marks that may define steps, best first: those that a server writes around each step, those of the
// profiler, of the compiler, of the user.
var stepKinds = []kernels.MarkKind{
	kernels.VLLM, kernels.SGLang, kernels.ATOM, kernels.ProfilerStep, kernels.XLAStep, kernels.XLAModule, kernels.NVTX, kernels.GraphLaunch,
}

// chooseEvidence settles for every sequence which marks define its steps, and says so. ignore: none does.
func chooseEvidence(trace *kernels.Trace, ignore bool) (sources []source, said []cycledoc.Evidence) {
	sources = make([]source, len(trace.Sequences))
	byKind := make([]map[kernels.MarkKind][]int32, len(trace.Sequences))
	count := map[kernels.MarkKind]int64{}
	phases := map[kernels.MarkKind]int64{}
	for i := range trace.Marks {
		m := &trace.Marks[i]
		count[m.Kind]++
		if m.Phase != "" {
			phases[m.Kind]++
		}
		if m.Sequence < 0 || m.Place == kernels.OnHost || m.Kernels == 0 {
			continue
		}
		if byKind[m.Sequence] == nil {
			byKind[m.Sequence] = map[kernels.MarkKind][]int32{}
		}
		byKind[m.Sequence][m.Kind] = append(byKind[m.Sequence][m.Kind], int32(i))
	}
	used := map[kernels.MarkKind]int{}
	reasons := map[kernels.MarkKind]string{}
	for seq := range sources {
		if ignore {
			continue
		}
		for _, kind := range stepKinds {
			marks, why := stepMarks(trace, seq, kind, byKind[seq][kind])
			if why != "" && reasons[kind] == "" {
				reasons[kind] = why
			}
			if marks != nil {
				sources[seq] = source{kind, marks}
				used[kind]++
				break
			}
		}
	}
	for _, kind := range stepKinds {
		if reasons[kind] == "" && !slices.ContainsFunc(byKind, func(m map[kernels.MarkKind][]int32) bool { return len(m[kind]) > 0 }) {
			reasons[kind] = "no kernel is tied to them"
		}
		if count[kind] > 0 {
			said = append(said, describe(kind, ignore, count[kind], phases[kind], used[kind], len(sources), reasons[kind]))
		}
	}
	return sources, said
}

func describe(kind kernels.MarkKind, ignored bool, marks, phases int64, used, sequences int, why string) cycledoc.Evidence {
	e := cycledoc.Evidence{Kind: string(kind), Marks: marks}
	switch {
	case ignored:
		e.Use, e.Note = "ignored", "annotations are to be ignored"
	case used > 0 && phases > 0:
		e.Use, e.Note = "steps and phases", fmt.Sprintf("defines the steps of %d of %d devices and names phases", used, sequences)
	case used > 0:
		e.Use, e.Note = "steps", fmt.Sprintf("defines the steps of %d of %d devices", used, sequences)
	case phases > 0:
		e.Use, e.Note = "phases", "names phases; does not define steps: "+orElse(why, "better marks do")
	default:
		e.Use, e.Note = "not used", orElse(why, "better marks define the steps")
	}
	return e
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// stepMarks are those of the marks of one kind that define the steps of a sequence, nil where they cannot; why says why not.
func stepMarks(trace *kernels.Trace, seq int, kind kernels.MarkKind, marks []int32) (out []int32, why string) {
	if len(marks) == 0 {
		return nil, ""
	}
	s := &trace.Sequences[seq]
	share := markCover
	switch kind {
	case kernels.NVTX:
		if len(marks) > maxRanges {
			return nil, "there are too many to be steps"
		}
		marks = likeRanges(trace, marks)
		share = rangeCover
	case kernels.GraphLaunch:
		share = graphCover
		kernelsOf := make([]int, len(marks))
		for i, m := range marks {
			kernelsOf[i] = trace.Marks[m].Kernels
		}
		slices.Sort(kernelsOf)
		if kernelsOf[len(kernelsOf)/2] < graphKernels {
			return nil, "launches are smaller than a step"
		}
	}
	if len(marks) == 0 {
		return nil, "no ranges of one name follow each other"
	}
	marks = outermost(trace, marks)
	inside := 0
	for i, m := range marks {
		mark := &trace.Marks[m]
		inside += mark.Kernels
		if i == 0 {
			continue
		}
		before := &trace.Marks[marks[i-1]]
		if over := before.EndNS - mark.StartNS; 100*over > parallelPercent*min(before.EndNS-before.StartNS, mark.EndNS-mark.StartNS) {
			return nil, "they overlap each other"
		}
	}
	if float64(inside) < share*float64(s.Len()) {
		return nil, fmt.Sprintf("they hold %d of %d kernels", inside, s.Len())
	}
	return marks, ""
}

// outermost leaves out marks that lie inside of others of their list. The list is in order of start, longest first.
func outermost(trace *kernels.Trace, marks []int32) []int32 {
	var out []int32
	end := int64(0)
	for _, m := range marks {
		if mark := &trace.Marks[m]; len(out) == 0 || mark.EndNS > end {
			out = append(out, m)
			end = mark.EndNS
		}
	}
	return out
}

var digits = lazyregexp.New(`[0-9]+`)

// likeRanges are the ranges of the user that are most like steps: of one name but for numbers, one after the other, each with enough
// kernels; those that hold the most kernels, and of several such the most numerous.
func likeRanges(trace *kernels.Trace, marks []int32) []int32 {
	groups := map[string][]int32{}
	var order []string
	for _, m := range marks {
		name := digits.ReplaceAllString(trace.Marks[m].Text, "#")
		if groups[name] == nil {
			order = append(order, name)
		}
		groups[name] = append(groups[name], m)
	}
	var best []int32
	most := 0
	for _, name := range order {
		g := groups[name]
		held, small := 0, false
		for _, m := range g {
			held += trace.Marks[m].Kernels
			small = small || trace.Marks[m].Kernels < rangeKernels
		}
		if len(g) < 2 || small || len(outermost(trace, g)) < len(g) {
			continue
		}
		if held > most || held == most && len(g) > len(best) {
			best, most = g, held
		}
	}
	return best
}

// tracked is a step that a mark defines, as kernels [first, end) of a track.
type tracked struct {
	first, end int32
	mark       int32
}

// cutByMarks cuts a track at marks: a kernel belongs to the mark in whose time it starts. What follows a mark before the next one belongs to it
// when the same follows the other marks too: servers sample tokens behind their annotation.
func (f *finder) cutByMarks(t *structure.Track, src source) []tracked {
	r := f.r
	s := r.Seq(t)
	var out []tracked
	i := 0
	for k, m := range src.marks {
		mark := &r.Trace.Marks[m]
		end := mark.EndNS
		if k+1 < len(src.marks) { // kernels of one launch may start before the last ones of the other end
			end = min(end, r.Trace.Marks[src.marks[k+1]].StartNS-1)
		}
		for i < t.N && s.StartNS[t.At(i)] < mark.StartNS {
			i++
		}
		first := i
		for i < t.N && s.StartNS[t.At(i)] <= end {
			i++
		}
		if i > first {
			out = append(out, tracked{int32(first), int32(i), m})
		}
	}
	f.takeTails(t, out)
	return out
}

// takeTails gives steps the kernels behind them, where most steps have the same ones there.
func (f *finder) takeTails(t *structure.Track, steps []tracked) {
	tail := func(i int) (from, to int) {
		from, to = int(steps[i].end), t.N
		if i+1 < len(steps) {
			to = int(steps[i+1].first)
		}
		return from, to
	}
	counts := map[uint64]int{}
	length := map[uint64]int{}
	hash := func(from, to int) uint64 {
		h := uint64(to - from)
		for _, s := range f.r.Symbols(t, from, to) {
			h = (h ^ uint64(s)) * 0x9e3779b97f4a7c15
			h ^= h >> 29
		}
		return h
	}
	var best uint64
	for i := 0; i+1 < len(steps); i++ {
		if from, to := tail(i); to > from {
			h := hash(from, to)
			counts[h]++
			length[h] = to - from
			if counts[h] > counts[best] {
				best = h
			}
		}
	}
	if 100*counts[best] < tailPercent*(len(steps)-1) || counts[best] == 0 {
		return
	}
	n := length[best]
	for i := range steps {
		if from, to := tail(i); to-from >= n && hash(from, from+n) == best {
			steps[i].end = int32(from + n)
		}
	}
}
