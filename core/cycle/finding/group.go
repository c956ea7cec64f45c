package finding

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

// Steps that marks define are sorted into classes: equal ones first, then those that differ by few kernels, then those that differ by few
// kernels when loose signatures are compared. A step that is like no other is a class of its own, as long as there are few of those.

// group is steps that belong together.
type group struct {
	word  []uint32 // of its first step, by symbols
	phase string
	steps []int // places in the list of steps
	edits map[int]int
	loose map[int][]structure.Segment
}

func allowedEdits(percent, period int) int {
	if percent < 0 {
		return 0
	}
	n := percent * period / 100
	if n < smallEdits && 100*smallEdits <= smallPercent*period {
		n = smallEdits
	}
	return n
}

// groups sorts the steps of a track. The second result says which steps are cut off by the beginning or the end of the recording.
func (f *finder) groups(t *structure.Track, steps []tracked) (out []*group, partial map[int]bool) {
	r := f.r
	type key struct {
		hash  uint64
		phase string
	}
	byKey := map[key][]*group{}
	var all []*group
	for i, s := range steps {
		word := r.Symbols(t, int(s.first), int(s.end))
		h := uint64(len(word))
		for _, x := range word {
			h = (h ^ uint64(x)) * 0x9e3779b97f4a7c15
			h ^= h >> 29
		}
		k := key{hash: h}
		if s.mark >= 0 {
			k.phase = r.Trace.Marks[s.mark].Phase
		}
		at := slices.IndexFunc(byKey[k], func(g *group) bool { return slices.Equal(g.word, word) })
		if at < 0 {
			at = len(byKey[k])
			g := &group{word: word, phase: k.phase, edits: map[int]int{}, loose: map[int][]structure.Segment{}}
			byKey[k] = append(byKey[k], g)
			all = append(all, g)
		}
		byKey[k][at].steps = append(byKey[k][at].steps, i)
	}
	slices.SortStableFunc(all, func(a, b *group) int { return cmp.Compare(len(b.steps), len(a.steps)) })
	g := &grouping{f: f, last: len(steps) - 1}
	g.run(all)
	partial = map[int]bool{}
	for _, p := range g.cut {
		for _, s := range p.steps {
			partial[s] = true
		}
	}
	for _, p := range g.out {
		slices.Sort(p.steps)
	}
	return g.out, partial
}

type grouping struct {
	f     *finder
	last  int // the last step
	tries int
	out   []*group
	cut   []*group
}

func (g *grouping) run(all []*group) {
	r := g.f.r
	names := r.Words.Table(r.Keys)
	loose := make([]uint32, 0)
	if r.Keys == structure.KeysStrict { // the loose symbol of a strict one
		loose = make([]uint32, len(r.Words.StrictKeys))
		for name, symbol := range names {
			loose[symbol] = r.Words.Loose[name]
		}
	}
	var rest []*group
	for _, x := range all {
		switch {
		case g.join(x, nil):
		case len(x.steps) > 1:
			g.out = append(g.out, x)
		default:
			rest = append(rest, x)
		}
	}
	slices.SortStableFunc(rest, func(a, b *group) int { return cmp.Compare(a.steps[0], b.steps[0]) })
	for _, x := range rest {
		switch {
		case g.join(x, nil), r.Keys == structure.KeysStrict && g.join(x, loose):
		case g.isCut(x):
			g.cut = append(g.cut, x)
		case len(g.out) < maxGroups:
			g.out = append(g.out, x)
		}
	}
}

// join puts a group into one that it is like.
func (g *grouping) join(x *group, loose []uint32) bool {
	translate := func(w []uint32) []uint32 {
		if loose == nil {
			return w
		}
		out := make([]uint32, len(w))
		for i, s := range w {
			out[i] = loose[s]
		}
		return out
	}
	text := translate(x.word)
	for _, o := range g.out {
		allowed := allowedEdits(g.f.r.Opt.EditPercent, len(o.word))
		if o.phase != x.phase || abs(len(o.word)-len(x.word)) > allowed || g.tries >= maxTries {
			continue
		}
		g.tries++
		word := translate(o.word)
		if differ(text, word) > 2*allowed {
			continue
		}
		segs := structure.Align(text, word, 2*allowed)
		n := structure.Edits(segs, len(text), len(word))
		if n > allowed {
			continue
		}
		for _, s := range x.steps {
			o.steps = append(o.steps, s)
			if n > 0 {
				o.edits[s], o.loose[s] = n, segs
			}
		}
		return true
	}
	return false
}

// isCut reports whether a step is the end of a class at the beginning of the recording or the other way round.
func (g *grouping) isCut(x *group) bool {
	at := x.steps[0]
	if at != 0 && at != g.last {
		return false
	}
	for _, o := range g.out {
		if n := len(x.word); n < len(o.word) && len(o.steps) > 1 &&
			(at == 0 && slices.Equal(x.word, o.word[len(o.word)-n:]) || at == g.last && slices.Equal(x.word, o.word[:n])) {
			return true
		}
	}
	return false
}

func abs(n int) int { return max(n, -n) }

// differ is how many symbols two words do not share, in any order.
func differ(a, b []uint32) int {
	count := make(map[uint32]int, 64)
	for _, s := range a {
		count[s]++
	}
	for _, s := range b {
		count[s]--
	}
	sum := 0
	for _, n := range count {
		sum += abs(n)
	}
	return sum
}

// stepClasses makes classes of groups.
func (f *finder) stepClasses(t *structure.Track, steps []tracked, src source, groups []*group) {
	seen := map[uint64]bool{}
	for _, g := range groups {
		f.addGroup(t, steps, string(src.kind), g, seen)
	}
}

// addGroup makes a class of a group; seen are the ids that were given before.
func (f *finder) addGroup(t *structure.Track, steps []tracked, source string, g *group, seen map[uint64]bool) {
	start, id := repeat.Canonical(g.word, f.r.Words.Key(f.r.Keys))
	if seen[id] { // the same kernels in another phase
		for _, b := range []byte(g.phase) {
			id = (id ^ uint64(b)) * 0x100000001b3
		}
	}
	seen[id] = true
	p := structure.Part{Track: t.Number, Loose: map[int32][]structure.Segment{}}
	for k, s := range g.steps {
		p.Reps = append(p.Reps, repeat.Span{Start: steps[s].first, End: steps[s].end, Edits: int32(g.edits[s])})
		if steps[s].mark >= 0 {
			p.Marks = append(p.Marks, steps[s].mark)
		}
		if segs := g.loose[s]; segs != nil {
			p.Loose[int32(k)] = segs
		}
	}
	f.add(structure.Class{
		ID: id, Depth: structure.DepthStep, Source: source, Word: g.word, Rotation: (len(g.word) - start) % len(g.word),
	}, p)
}
