package comparing

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/prlx-go/prlx/core/cycle/measuring"
	"github.com/prlx-go/prlx/core/cycle/pairs"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

// viewOf is what is compared of a class: times of repetitions spread evenly over the run, without edited ones where there are others.
func viewOf(r *structure.Run, x *Compared, most int, starts map[int][]int32) pairs.ClassView {
	c := x.Class
	v := pairs.ClassView{ID: c.ID, Level: int(c.Depth), Phase: c.Phase.Name, PerStep: x.each, Slots: make([]pairs.Slot, c.Period())}
	if v.PerStep == 0 {
		v.PerStep = perStep(r, c)
	}
	if c.Uplifter {
		v.Phase = "" // patterns may be of any
	}
	most = max(pairs.MinRepetitions, min(most, viewValues/max(1, c.Period())))
	type one struct{ part, k int }
	var all []one
	exact := c.Count - c.Edited
	take := exact
	if exact == 0 {
		take = c.Count
	}
	chosen := spread(take, most)
	n := int64(0)
	for pi := range c.Parts {
		for k, rep := range c.Parts[pi].Reps {
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
		p, q := &c.Parts[x.part], &c.Parts[y.part]
		return cmp.Compare(int64(x.k)*int64(len(q.Reps)), int64(y.k)*int64(len(p.Reps)))
	})
	values := make([]int64, c.Period()*len(all))
	for i, s := range c.Slots {
		v.Slots[i] = pairs.Slot{Name: s.Name, Strict: s.Signature, Loose: s.Loose, Also: c.Also[i], NS: values[i*len(all) : (i+1)*len(all)]}
	}
	for n, at := range all {
		p := &c.Parts[at.part]
		t := r.Tracks[p.Track]
		s := r.Seq(t)
		rep := p.Reps[at.k]
		wall := measuring.Wall(r, p, at.k, starts[p.Track])
		v.WallNS = append(v.WallNS, wall)
		v.GapNS = append(v.GapNS, wall-measuring.Busy(r, t, rep, wall))
		end := measuring.LastEnd(r, t, rep) - s.StartNS[t.At(int(rep.Start))]
		v.EndNS = append(v.EndNS, end)
		v.EndGapNS = append(v.EndGapNS, end-measuring.Busy(r, t, rep, end))
		v.Open = append(v.Open, !measuring.Follows(p, at.k, starts[p.Track]))
		if rep.Edits == 0 {
			for i := range c.Period() {
				v.Slots[(i+p.Shift)%c.Period()].NS[n] = s.DurNS(t.At(int(rep.Start) + i))
			}
			continue
		}
		for i := range c.Slots { // what a repetition lacks is as usual
			v.Slots[i].NS[n] = c.Slots[i].P50NS
		}
		for _, seg := range p.Loose[int32(at.k)] {
			for i := range seg.N {
				v.Slots[seg.Slot+i].NS[n] = s.DurNS(t.At(int(rep.Start + seg.Off + i)))
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

// levelPlace is the place of the level that a class stands on.
func levelPlace(r *structure.Run, c *structure.Class) int {
	return slices.IndexFunc(r.Levels, func(l structure.Level) bool { return l.Depth == c.Depth })
}

// startsOf are the borders of the compared classes of each depth, by track.
func startsOf(list []Compared) map[structure.Depth]map[int][]int32 {
	out := map[structure.Depth]map[int][]int32{}
	for i := range list {
		x := &list[i]
		if out[x.Depth] == nil {
			out[x.Depth] = map[int][]int32{}
		}
		for _, p := range x.Parts {
			for _, s := range p.Reps {
				out[x.Depth][p.Track] = append(out[x.Depth][p.Track], s.Start)
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
func perStep(r *structure.Run, c *structure.Class) float64 {
	switch {
	case c.Depth == structure.DepthStep:
		return 1
	case c.Depth > structure.DepthStep:
		steps := 0
		for _, ch := range c.Children {
			steps += ch.Count
		}
		return 1 / float64(max(1, steps))
	}
	best := 0.0
	for _, p := range c.Parents {
		outer := r.Classes[p]
		if outer.Depth > structure.DepthStep {
			continue
		}
		for _, ch := range outer.Children {
			if ch.Class == c {
				best = max(best, float64(ch.Count)*perStep(r, outer))
			}
		}
	}
	switch {
	case best > 0:
		return best
	case len(r.Steps) > 0:
		return float64(c.Count) / float64(len(r.Steps))
	}
	return float64(c.Count) / float64(len(c.Parts))
}
