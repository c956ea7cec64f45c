package finding

import (
	"slices"

	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

// Between the steps that have a period stand others that have none: a prefill in front of each request, say, of which no two follow each other. They
// consist of layers that are known, and what stands on either side gives their borders.

// between makes steps of the stretches between inferred steps that consist of layers and recur.
func (f *finder) between(t *structure.Track, st repeat.Structure, depths []structure.Depth) {
	at := slices.Index(depths, structure.DepthStep)
	if at <= 0 {
		return
	}
	steps, layers := spansOf(st.Levels[at:at+1]), spansOf(st.Levels[:at])
	shortest := t.N
	for k := range st.Levels[at].Classes {
		shortest = min(shortest, st.Levels[at].Classes[k].Period)
	}
	var list []tracked
	var rest []repeat.Span
	for i := range len(steps) + 1 {
		from, to := int32(0), int32(t.N) // in front of the first step, and behind the last
		if i > 0 {
			from = steps[i-1].End
		}
		if i < len(steps) {
			to = steps[i].Start
		}
		n := int(to - from)
		if betweenPart*n < shortest || 100*heldBy(layers, from, to) < layerPercent*n {
			rest = append(rest, repeat.Span{Start: from, End: to})
			continue
		}
		for _, s := range f.periods(t, from, to, shortest/betweenPart) {
			list = append(list, tracked{s.Start, s.End, -1})
		}
	}
	groups, _ := f.groups(t, list)
	var found []*group
	in := make([]bool, len(list))
	for _, g := range groups {
		if _, id := repeat.Canonical(g.word, f.r.Words.Key(f.r.Keys)); len(g.steps) >= leastBetween && !f.hasStep(t, id) {
			found = append(found, g)
			for _, k := range g.steps {
				in[k] = true
			}
		}
	}
	for k, s := range list {
		if !in[k] {
			rest = append(rest, repeat.Span{Start: s.first, End: s.end})
		}
	}
	list = f.amongOthers(t, rest, found, list)
	for _, g := range found {
		slices.SortFunc(g.steps, func(a, b int) int { return int(list[a].first) - int(list[b].first) })
		f.addGroup(t, list, structure.SourceInferred, g, map[uint64]bool{})
	}
}

// amongOthers looks for steps that were found between others in stretches that hold more than them: kernels that never repeat may stand beside.
func (f *finder) amongOthers(t *structure.Track, rest []repeat.Span, found []*group, list []tracked) []tracked {
	begins := map[uint32][]*group{}
	for _, g := range found {
		begins[g.word[0]] = append(begins[g.word[0]], g)
	}
	for _, s := range rest {
		if f.canceled() || len(found) == 0 {
			return list
		}
		text := f.r.Symbols(t, int(s.Start), int(s.End))
		for i := 0; i < len(text); {
			n := 1
			for _, g := range begins[text[i]] {
				if len(g.word) <= len(text)-i && slices.Equal(g.word, text[i:i+len(g.word)]) {
					g.steps = append(g.steps, len(list))
					list = append(list, tracked{s.Start + int32(i), s.Start + int32(i+len(g.word)), -1})
					n = len(g.word)
					break
				}
			}
			i += n
		}
	}
	return list
}

// hasStep reports whether a track has steps of a class.
func (f *finder) hasStep(t *structure.Track, id uint64) bool {
	return slices.ContainsFunc(f.r.Classes, func(c *structure.Class) bool {
		return c.ID == id && c.Depth == structure.DepthStep && slices.ContainsFunc(c.Parts, func(p structure.Part) bool { return p.Track == t.Number })
	})
}

// spansOf are the repetitions of levels as disjoint spans, in order.
func spansOf(levels []repeat.Level) []repeat.Span {
	var all []repeat.Span
	for l := range levels {
		for k := range levels[l].Classes {
			all = append(all, levels[l].Classes[k].Repetitions...)
		}
	}
	slices.SortFunc(all, func(a, b repeat.Span) int { return int(a.Start) - int(b.Start) })
	var out []repeat.Span
	for _, s := range all {
		if k := len(out) - 1; k >= 0 && s.Start < out[k].End {
			out[k].End = max(out[k].End, s.End)
			continue
		}
		out = append(out, repeat.Span{Start: s.Start, End: s.End})
	}
	return out
}

// heldBy is how much of [from, to) lies in spans, which are disjoint and in order.
func heldBy(spans []repeat.Span, from, to int32) int {
	i, _ := slices.BinarySearchFunc(spans, from, func(s repeat.Span, at int32) int { return int(s.End) - int(at) })
	held := 0
	for ; i < len(spans) && spans[i].Start < to; i++ {
		held += int(max(0, min(to, spans[i].End)-max(from, spans[i].Start)))
	}
	return held
}

// periods takes a stretch apart where it is one thing of at least so many kernels several times over.
func (f *finder) periods(t *structure.Track, from, to int32, least int) []repeat.Span {
	n := int32(repeat.Root(f.r.Symbols(t, int(from), int(to))))
	for whole := n; int(n) < least; {
		n += whole
	}
	if (to-from)%n != 0 {
		n = to - from
	}
	var out []repeat.Span
	for at := from; at < to; at += n {
		out = append(out, repeat.Span{Start: at, End: at + n})
	}
	return out
}
