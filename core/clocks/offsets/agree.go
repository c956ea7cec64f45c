package offsets

import (
	"math"
	"slices"
)

const (
	// agreeNS is within what the ends of meetings must lie to be taken as one instant, ns: a robust standard deviation.
	agreeNS = 5_000
	// minEnds is how many of them a clock must have.
	minEnds = 12
	// endsPerClock is how many of them are enough, on average: of more, as many are taken by lot.
	endsPerClock = 256
	// mostRounds is how often all clocks are put where the ends of their meetings are.
	mostRounds = 200
)

// left is one end of a meeting: when a member left it, on its base line.
type left struct {
	clock int32
	at    float64
	off   float64 // against the others of its meeting
}

// agree estimates clocks by the ends of meetings whose members all wait for all, where they show that they are one instant: on GPUs a collective
// ends everywhere within microseconds, on busy CPUs whenever a thread is woken. Where they scatter, or lie outside of what is possible, nothing
// is taken from them. The bounds owe them nothing, except that the few meetings that are impossible by the ends of all others are returned where
// they keep a clock from being where its ends show it.
func (j *joint) agree(f *frame, meetings []int32, out map[int32]bool) (wrong []int32) {
	ends, of := j.endsIn(f, meetings, out)
	if len(of) < minEnds {
		return nil
	}
	lines := make([]line, len(f.track))
	tied := f.tied(ends, of, j.ref)
	for i := range lines {
		if k := &f.track[i]; tied[i] && k.poly != nil {
			lines[i] = k.poly.center(-f.edge(), f.edge())
		}
	}
	byClock := make([][]int32, len(f.track))
	for i := range ends {
		if tied[ends[i].clock] {
			byClock[ends[i].clock] = append(byClock[ends[i].clock], int32(i))
		}
	}
	scale := make([]float64, len(f.track))
	for range mostRounds {
		meet(ends, of, lines)
		moved := 0.0
		var ground line
		fits := make([]line, len(lines))
		for c, list := range byClock {
			fits[c], scale[c] = fitEnds(ends, list)
			if int32(c) == j.ref {
				ground = fits[c]
			}
		}
		for c := range lines {
			if int32(c) == j.ref || len(byClock[c]) == 0 {
				continue
			}
			lines[c].a += fits[c].a - ground.a
			lines[c].s += fits[c].s - ground.s
			moved = math.Max(moved, math.Abs(fits[c].a-ground.a)+math.Abs(fits[c].s-ground.s)*f.edge()/1e9)
		}
		if moved < 5 {
			break
		}
	}
	excluded := false
	sharp := make([]bool, len(lines)) // their ends are one instant
	for c := range lines {
		k := &f.track[c]
		sharp[c] = k.known && len(byClock[c]) >= minEnds && scale[c] <= agreeNS
		if !sharp[c] || int32(c) == j.ref || k.poly == nil {
			continue
		}
		if k.excludes(lines[c], scale[c]) {
			excluded = true
		} else if k.wider(scale[c]) {
			k.est, k.estimate, k.byEnds = lines[c], true, true
			k.endStep = stepInEnds(ends, byClock[c], lines[c], f.edge(), scale[c])
			if j.ref >= 0 {
				k.endStep += stepInEnds(ends, byClock[j.ref], lines[j.ref], f.edge(), scale[j.ref])
			}
		}
	}
	if !excluded {
		return nil
	}
	return j.earlyLeft(f, meetings, out, lines, scale, sharp)
}

// mostWrong: of so many meetings one may be wrong and contradict nothing; where more are, it is rather the ends.
const mostWrong = 50

// excludes reports whether a line that ends show, which scatter, is not possible.
func (k *track) excludes(est line, scale float64) bool {
	for i, x := range k.hi.at {
		if est.at(x/1e9) > k.hi.v[i]+scale {
			return true
		}
	}
	for i, x := range k.lo.at {
		if est.at(x/1e9) < k.lo.v[i]-scale {
			return true
		}
	}
	return false
}

// wider reports whether more is possible throughout than ends scatter.
func (k *track) wider(scale float64) bool {
	for i, x := range k.hi.at {
		if scale > (k.hi.v[i]-k.lo.value(x))/2 {
			return false
		}
	}
	return true
}

// earlyLeft lists the meetings that somebody left before another had entered, by more than ends scatter, where all clocks are where their ends
// show them.
func (j *joint) earlyLeft(f *frame, meetings []int32, out map[int32]bool, lines []line, scale []float64, sharp []bool) (wrong []int32) {
	var list []seen
	for _, i := range meetings {
		if out[i] {
			continue
		}
		list = f.look(j.m.Of(int(i)), list[:0])
		last := extremes{math.Inf(-1), math.Inf(-1), -1, -1}
		for k := range list {
			s := &list[k]
			if c := s.clock; sharp[c] && s.gives {
				last.take(s.enter-lines[c].at(s.enter/1e9)-endsApart*scale[c], c)
			}
		}
		for k := range list {
			s := &list[k]
			if c := s.clock; sharp[c] && s.takes {
				if enter, who := last.besides(c); who >= 0 && s.left-lines[c].at(s.left/1e9)+endsApart*scale[c]+f.tol < enter {
					wrong = append(wrong, i)
					break
				}
			}
		}
	}
	return wrong
}

// endsApart is how many times more than its ends scatter a clock may be off where they show it.
const endsApart = 3

// endsIn lists the ends of the meetings of a frame that all members share; of tells which are those of one meeting.
func (j *joint) endsIn(f *frame, meetings []int32, out map[int32]bool) (ends []left, of [][2]int32) {
	all := 0
	for _, i := range meetings {
		if j.m.level[i] {
			all += len(j.m.Of(int(i)))
		}
	}
	share := uint32(math.MaxUint32)
	if enough := endsPerClock * len(f.track); all > enough {
		share = uint32(float64(enough) / float64(all) * math.MaxUint32)
	}
	for _, i := range meetings {
		if out[i] || !j.m.level[i] || lot(i) > share {
			continue
		}
		from := int32(len(ends))
		for _, p := range j.m.Of(int(i)) {
			if !f.track[p.Clock].known || !p.usable() {
				continue
			}
			if x := f.place(p.Clock, p.LeftNS); f.covers(x) {
				ends = append(ends, left{clock: p.Clock, at: x})
			}
		}
		if to := int32(len(ends)); to-from >= 2 {
			of = append(of, [2]int32{from, to})
		} else {
			ends = ends[:from]
		}
	}
	return ends, of
}

// lot is a number for a meeting that its neighbours' do not tell: every so many of them would be those of one group.
func lot(i int32) uint32 {
	v := uint32(i) * 2654435769
	v ^= v >> 15
	v *= 2246822519
	return v ^ v>>13
}

// tied says which clocks the shared ends tie to the reference.
func (f *frame) tied(ends []left, of [][2]int32, reference int32) []bool {
	root := make([]int32, len(f.track))
	for i := range root {
		root[i] = int32(i)
	}
	find := func(i int32) int32 {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	for _, o := range of {
		for _, e := range ends[o[0]+1 : o[1]] {
			root[find(e.clock)] = find(ends[o[0]].clock)
		}
	}
	out := make([]bool, len(root))
	if reference < 0 {
		return out
	}
	for i := range out {
		out[i] = find(int32(i)) == find(reference)
	}
	return out
}

// meet finds the instant of each meeting's end, the median of its members', and how far each of them is from it.
func meet(ends []left, of [][2]int32, lines []line) {
	var at []float64
	for _, o := range of {
		list := ends[o[0]:o[1]]
		at = at[:0]
		for i := range list {
			e := &list[i]
			e.off = e.at - lines[e.clock].at(e.at/1e9)
			at = append(at, e.off)
		}
		middle := middleOf(at)
		for i := range list {
			list[i].off -= middle
		}
	}
}

// fitEnds fits a line through how far a clock's ends are from those of the others; a late one in a hundred does not move it. scale is how
// much the rest scatters.
func fitEnds(ends []left, list []int32) (fit line, scale float64) {
	if len(list) == 0 {
		return line{}, math.Inf(1)
	}
	off := make([]float64, len(list))
	for i, e := range list {
		off[i] = ends[e].off
	}
	fit.a = middleOf(off)
	for range 3 {
		for i, e := range list {
			off[i] = math.Abs(ends[e].off - fit.at(ends[e].at/1e9))
		}
		scale = 1.4826*nth(off, len(off)/2) + 1
		var sum weightedLine
		for _, e := range list {
			x := ends[e].at / 1e9
			r := (ends[e].off - fit.at(x)) / (4 * scale)
			if w := 1 - r*r; w > 0 {
				sum.add(x, ends[e].off, w*w)
			}
		}
		if sum.w == 0 {
			return fit, math.Inf(1)
		}
		fit = sum.solve()
	}
	return fit, scale
}

// endCells is into how many stretches a frame is cut to see whether the ends of a clock's meetings leave their line.
const endCells = 8

// stepInEnds is the largest step of a clock that the ends of its meetings would not show: as far as their medians lie apart in stretches of the
// frame, and by how much a median of so few can be off. Where a stretch has none, all that they scatter.
func stepInEnds(ends []left, list []int32, fit line, edge, scale float64) float64 {
	var cells [endCells][]float64
	for _, i := range list {
		e := &ends[i]
		c := int((e.at + edge) / (2 * edge) * endCells)
		c = max(0, min(endCells-1, c))
		cells[c] = append(cells[c], e.off)
	}
	least, most, few := math.Inf(1), math.Inf(-1), math.MaxInt
	for _, v := range cells {
		few = min(few, len(v))
		if len(v) > 0 {
			m := middleOf(v)
			least, most = math.Min(least, m), math.Max(most, m)
		}
	}
	if few < minEnds/4 {
		return math.Inf(1)
	}
	return most - least + endsApart*scale
}

// middleOf is the median of v, which it puts in another order.
func middleOf(v []float64) float64 {
	n := len(v) / 2
	upper := nth(v, n)
	if len(v)%2 == 1 {
		return upper
	}
	return (slices.Max(v[:n]) + upper) / 2
}

// nth is the n-th smallest of v, which it puts in an order in which no smaller one follows it.
func nth(v []float64, n int) float64 {
	lo, hi := 0, len(v)-1
	for lo < hi {
		pivot := v[(lo+hi)/2]
		i, k := lo, hi
		for i <= k {
			for v[i] < pivot {
				i++
			}
			for v[k] > pivot {
				k--
			}
			if i <= k {
				v[i], v[k] = v[k], v[i]
				i++
				k--
			}
		}
		switch {
		case n <= k:
			hi = k
		case n >= i:
			lo = i
		default:
			return v[n]
		}
	}
	return v[n]
}
