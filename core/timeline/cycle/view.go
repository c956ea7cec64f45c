package cycle

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/prlx-go/prlx/core/timeline/cycle/compare"
)

// viewValues bounds the times that are held of one class.
const viewValues = 4 << 20

// view is what is compared of a class: times of repetitions spread evenly over the run, without edited ones where there are others.
func (r *Result) view(x *compared, most int, starts map[int][]int32) compare.ClassView {
	c := x.class
	v := compare.ClassView{ID: c.id, Level: int(c.depth), Phase: string(c.phase.Phase), PerStep: x.each, Slots: make([]compare.Slot, c.period())}
	if v.PerStep == 0 {
		v.PerStep = r.perStep(c)
	}
	if c.described {
		v.Phase = "" // patterns may be of any
	}
	most = max(compare.MinRepetitions, min(most, viewValues/max(1, c.period())))
	type one struct{ part, k int }
	var all []one
	exact := c.count - c.edited
	take := exact
	if exact == 0 {
		take = c.count
	}
	chosen := spread(take, most)
	n := int64(0)
	for pi := range c.parts {
		for k, rep := range c.parts[pi].reps {
			if rep.Edits > 0 && exact > 0 {
				continue
			}
			if len(chosen) > 0 && chosen[0] == n {
				all = append(all, one{pi, k})
				chosen = chosen[1:]
			}
			n++
		}
	}
	slices.SortStableFunc(all, func(x, y one) int { // in order of time, whatever rank they are of
		p, q := &c.parts[x.part], &c.parts[y.part]
		return cmp.Compare(int64(x.k)*int64(len(q.reps)), int64(y.k)*int64(len(p.reps)))
	})
	values := make([]int64, c.period()*len(all))
	for i, s := range c.slots {
		v.Slots[i] = compare.Slot{Name: s.Name, Strict: s.Signature, Loose: s.Loose, Also: c.also[i], NS: values[i*len(all) : (i+1)*len(all)]}
	}
	for n, at := range all {
		p := &c.parts[at.part]
		t := r.tracks[p.track]
		s := r.seq(t)
		rep := p.reps[at.k]
		wall := r.wall(p, at.k, starts[p.track])
		v.WallNS = append(v.WallNS, wall)
		v.GapNS = append(v.GapNS, wall-r.busy(t, rep, wall))
		end := r.lastEnd(t, rep) - s.StartNS[t.at(int(rep.Start))]
		v.EndNS = append(v.EndNS, end)
		v.EndGapNS = append(v.EndGapNS, end-r.busy(t, rep, end))
		v.Open = append(v.Open, !follows(p, at.k, starts[p.track]))
		if rep.Edits == 0 {
			for i := range c.period() {
				v.Slots[(i+p.shift)%c.period()].NS[n] = s.DurNS(t.at(int(rep.Start) + i))
			}
			continue
		}
		for i := range c.slots { // what a repetition lacks is as usual
			v.Slots[i].NS[n] = c.slots[i].P50NS
		}
		for _, seg := range p.loose[int32(at.k)] {
			for i := range seg.n {
				v.Slots[seg.slot+i].NS[n] = s.DurNS(t.at(int(rep.Start + seg.off + i)))
			}
		}
	}
	return v
}

// spread are at most so many of n places, one in each of equal stretches. Where in its stretch a place lies is drawn, always alike: what has an even
// distance in a run often has something in common.
func spread(n int64, most int) []int64 {
	if n <= int64(most) {
		out := make([]int64, n)
		for i := range out {
			out[i] = int64(i)
		}
		return out
	}
	draw := rand.New(rand.NewPCG(0, 0))
	out := make([]int64, most)
	for i := range out {
		from, to := int64(i)*n/int64(most), int64(i+1)*n/int64(most)
		out[i] = from + draw.Int64N(to-from)
	}
	return out
}

// levelOf is the place of the level that a class stands on.
func (r *Result) levelOf(c *class) int {
	return slices.IndexFunc(r.levels, func(l level) bool { return l.depth == c.depth })
}

// startsOf are the borders of the compared classes of each depth, by track.
func startsOf(list []compared) map[depth]map[int][]int32 {
	out := map[depth]map[int][]int32{}
	for i := range list {
		x := &list[i]
		if out[x.depth] == nil {
			out[x.depth] = map[int][]int32{}
		}
		for _, p := range x.parts {
			for _, s := range p.reps {
				out[x.depth][p.track] = append(out[x.depth][p.track], s.Start)
			}
		}
	}
	for _, tracks := range out {
		for _, s := range tracks {
			slices.Sort(s)
		}
	}
	return out
}

// perStep is how many repetitions of a class a step has. A trace without steps is one.
func (r *Result) perStep(c *class) float64 {
	switch {
	case c.depth == depthStep:
		return 1
	case c.depth > depthStep:
		steps := 0
		for _, ch := range c.children {
			steps += ch.count
		}
		return 1 / float64(max(1, steps))
	}
	best := 0.0
	for _, p := range c.parents {
		outer := r.classes[p]
		if outer.depth > depthStep {
			continue
		}
		for _, ch := range outer.children {
			if ch.class == c {
				best = max(best, float64(ch.count)*r.perStep(outer))
			}
		}
	}
	switch {
	case best > 0:
		return best
	case len(r.steps) > 0:
		return float64(c.count) / float64(len(r.steps))
	}
	return float64(c.count) / float64(len(c.parts))
}
