package offsets

import (
	"math"
	"slices"
)

// A step that fits between what the meetings allow contradicts none of them: one straight line is possible, and it is not where the clock was. So
// the time of a frame is cut, at one place after the other, into what lies before and after, and each side is solved without the
// other. What clocks can be on either side of any cut is what they can be if they stepped there, all of them, by anything; one rate holds on
// both sides. The widest of it is the bound: no step is left out that would go unseen.

const (
	// mostCells is into how many stretches with as many meetings each a frame is cut; the meetings of the stretch in which the step is taken
	// to be count for neither side. With 48 the bounds would be a sixth narrower, and hold fewer steps there and back, which are two.
	mostCells = 16
	// fewestCells is how many they are where each of them holds so many meetings that it knows enough.
	fewestCells = 8
	// mostInCells is how many presences of clocks in meetings all cuts together may look at.
	mostInCells = 320_000
	// firstCell is how many meetings lie before the first cut, and after the last: the next cuts leave twice as many (four times, where there
	// are many), and so on, for what is known near the ends changes fast. What lies before it is outside of the readings: a step there would be anything that so few leave open, which for
	// the first collective of a job, for which everybody waits, is a tenth of a second.
	firstCell = 4
	// fewestInCell is how many they are where all meetings are few: one in fewMeetings, but no fewer.
	fewestInCell = 2
	fewMeetings  = 16
	// fewestMeetings is how many meetings a frame needs for a step to be looked for in it.
	fewestMeetings = 8
)

// cuts are the places of a frame at which clocks are taken to have stepped, ascending.
func (j *joint) cuts(f *frame, meetings []int32) []float64 {
	var at []float64
	var list []seen
	presences := 0
	for _, i := range meetings {
		list = f.look(j.m.Of(int(i)), list[:0])
		if len(list) < 2 {
			continue
		}
		presences += len(list)
		first := math.Inf(1)
		for k := range list {
			first = math.Min(first, list[k].enter)
		}
		at = append(at, first)
	}
	n := len(at)
	if n < fewestMeetings {
		return nil
	}
	slices.Sort(at)
	first := max(fewestInCell, min(firstCell, n/fewMeetings))
	cells := max(fewestCells, min(mostCells, mostInCells/presences))
	more := 2
	if cells < mostCells {
		more = 4
	}
	ranks := []int{first, n - first}
	for k := more * first; k < n/cells; k *= more {
		ranks = append(ranks, k, n-k)
	}
	for k := 1; k < cells; k++ {
		ranks = append(ranks, n*k/cells)
	}
	slices.Sort(ranks)
	var out []float64
	for _, r := range ranks {
		if x := at[r]; r >= first && r <= n-first && x > -f.edge() && x < f.edge() && (len(out) == 0 || x > out[len(out)-1]) {
			out = append(out, x)
		}
	}
	return out
}

// side is what clocks can be by the meetings between two places of the frame alone.
func (j *joint) side(f *frame, meetings []int32, from, to float64) *frame {
	g := *f
	g.between, g.out = [2]float64{from, to}, map[int32]bool{}
	wide := func() {
		g.track = slices.Clone(f.track)
		for i := range g.track {
			if k := &g.track[i]; k.known && int32(i) != j.ref {
				k.poly = newPolygon(0, -widest, widest, f.edge()/1e9+1, j.opt.maxSlope())
			}
		}
	}
	wide()
	for range mostDoubts {
		b := j.sweep(&g, meetings, g.out)
		if len(b.meetings) == 0 {
			break
		}
		for m := range b.meetings { // wrong on their own, wherever a clock stepped
			g.out[m] = true
		}
		wide()
	}
	return &g
}

// unlimited is what a clock can be where nothing limits it, or nearly: no step of a second goes unseen otherwise.
const unlimited = 1e9

// widest is how far a clock can be from its base line before anything is known, ns.
const widest = 1e10

// unseen finds what the clocks can be in a frame if they stepped in it, at a time and by an amount that no meeting shows.
func (j *joint) unseen(f *frame, meetings []int32) {
	cuts := j.cuts(f, meetings)
	for i := range f.track {
		f.track[i].wide = [2]envelope{f.track[i].hi, f.track[i].lo}
	}
	e := f.edge()
	if j.m.Steady {
		for i := range f.track {
			f.track[i].sure = [2]float64{-e - 1, e + 1}
		}
		return
	}
	if len(cuts) < 2 {
		return
	}
	places := slices.Concat([]float64{-e}, cuts, []float64{e})
	var all []*stepIn
	for i := 1; i+2 < len(places); i++ {
		in := &stepIn{at: i, before: j.side(f, meetings, -e-1, places[i]), after: j.side(f, meetings, places[i+1], e+1)}
		all = append(all, in)
		for c := range f.track {
			if !j.isFree(f, int32(c)) {
				continue
			}
			in.before.track[c].poly.shareSlopes(in.after.track[c].poly)
			if k := &f.track[c]; in.before.limited(c, places[i]) && in.after.limited(c, places[i+1]) {
				if k.sure[0] == k.sure[1] {
					k.sure[0] = places[i]
				}
				k.sure[1] = places[i+1]
			}
		}
	}
	j.relate(f, meetings, all)
	for c := range f.track {
		if k := &f.track[c]; j.isFree(f, int32(c)) {
			k.wide = [2]envelope{widened(&k.hi, places, all, c, +1), widened(&k.lo, places, all, c, -1)}
			k.limitByEnds()
		}
	}
}

// limited reports whether anything limits a clock at a place.
func (f *frame) limited(c int, x float64) bool {
	lo, hi := f.track[c].poly.band(x)
	return hi-lo <= unlimited
}

// isSure reports whether the limits at a place hold a step anywhere in the frame. Instants are rounded to the ns.
func (k *track) isSure(x float64) bool {
	return k.sure[0] < k.sure[1] && x >= k.sure[0]-1 && x <= k.sure[1]+1
}

// unsure tells whether an instant of a clock is before (-1) or after (+1) all that is sure of it in the frame; 0 where it is neither, or nothing is sure.
func (f *frame) unsure(c int32, t int64) int {
	k := &f.track[c]
	x := f.place(c, t)
	switch {
	case !k.known, k.sure[0] >= k.sure[1], k.isSure(x):
		return 0
	case x < k.sure[0]:
		return -1
	}
	return +1
}

// isFree reports whether a clock has a line in the frame that is not known.
func (j *joint) isFree(f *frame, c int32) bool {
	k := &f.track[c]
	return k.known && c != j.ref && len(k.hi.at) > 0 && len(k.lo.at) > 0
}

// widened is a limit with what lies outside of it at some places, wherever the step is; it bends outwards alone between them.
func widened(limit *envelope, places []float64, all []*stepIn, c int, side float64) envelope {
	beyond := envelope{at: places}
	for i, x := range places {
		beyond.v = append(beyond.v, farthestOf(all, c, i, x, limit.value(x), side))
	}
	var out envelope
	at := slices.Concat(places, limit.at)
	slices.Sort(at)
	for _, x := range slices.Compact(at) {
		v := limit.value(x)
		if w := beyond.value(x); side*w > side*v {
			v = w
		}
		out.add(x, v)
	}
	return out
}

// limitByEnds leaves no room for steps that the ends of meetings would show.
func (k *track) limitByEnds() {
	if !k.byEnds {
		return
	}
	for side, limit := range [2]*envelope{&k.hi, &k.lo} {
		w := &k.wide[side]
		for i, x := range w.at {
			v := limit.value(x)
			w.v[i] = v + math.Max(-k.endStep, math.Min(k.endStep, w.v[i]-v))
		}
	}
}

// shareSlopes leaves two polygons the slopes that both have.
func (p *polygon) shareSlopes(o *polygon) {
	a, b := p.slopes()
	c, d := o.slopes()
	least, most := math.Max(a, c), math.Min(b, d)
	if least > most { // the rate changed as well
		return
	}
	p.clipSlopes(least, most)
	o.clipSlopes(least, most)
}

// clipSlopes removes the lines whose slope is not between two.
func (p *polygon) clipSlopes(least, most float64) {
	for _, side := range [2]struct{ sign, limit float64 }{{+1, most}, {-1, -least}} {
		var out []line
		for i, l := range p.v {
			n := p.v[(i+1)%len(p.v)]
			fl, fn := side.sign*l.s-side.limit, side.sign*n.s-side.limit
			if fl <= 0 {
				out = append(out, l)
			}
			if fl < 0 && fn > 0 || fl > 0 && fn < 0 {
				t := fl / (fl - fn)
				out = append(out, line{l.a + t*(n.a-l.a), l.s + t*(n.s-l.s)})
			}
		}
		if len(out) > 0 {
			p.v = out
		}
	}
}
