package offsets

import (
	"context"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// joint looks at all clocks of the meetings together, window by window: what each can be given what all others can be. What the edges gave
// places the windows, tells where clocks stepped, and holds outside.
type joint struct {
	m      *Meetings
	opt    *Options
	ref    int32         // number of the reference, -1 where it met nobody
	coarse []*clock.Map  // by clock: to the reference; nil for a clock that nothing ties to it
	back   []*clock.Map  // the other way
	broken [][]interval  // by clock: where an edge of it broke
	order  []meetingTime // the meetings by time
	long   int64         // the longest meeting, ns; those longer than a window are in none

	against map[int32]int  // by clock: meetings that no lines explain with it
	dropped int            // meetings that contradict others
	early   map[int32]bool // meetings that are impossible where the ends of all others show the clocks
	used    []int          // by clock: meetings that narrowed it
	wall    []bool         // by clock: it is left as it is
	halves  []envelope     // by clock: half of what was possible over time, ns since the first meeting
}

type interval struct{ from, to int64 }

type meetingTime struct {
	at int64 // about, on the reference's clock
	i  int32
}

func newJoint(m *Meetings, reference Clock, s *Solution, links []*link, opt *Options) *joint {
	n := len(m.clocks)
	j := &joint{
		m: m, opt: opt, ref: -1, coarse: make([]*clock.Map, n), back: make([]*clock.Map, n), broken: make([][]interval, n),
		against: map[int32]int{}, early: map[int32]bool{}, used: make([]int, n), halves: make([]envelope, n), wall: make([]bool, n),
	}
	for i, c := range m.clocks {
		switch o := s.of(c); {
		case c == reference:
			j.ref, j.coarse[i], j.back[i] = int32(i), &clock.Map{}, &clock.Map{}
		case o != nil:
			j.coarse[i], j.back[i] = o.Map, o.Map.Inverse()
		}
	}
	j.breaks(links)
	for i := range m.Len() {
		list := m.Of(i)
		for k := range list {
			p := &list[k]
			if c := j.coarse[p.Clock]; c != nil && p.usable() {
				at, _, _ := c.At(p.EnterNS)
				j.order = append(j.order, meetingTime{at, int32(i)})
				break
			}
		}
		for k := range list {
			if list[k].usable() {
				j.long = max(j.long, min(list[k].LeftNS-list[k].EnterNS, opt.WindowNS))
			}
		}
	}
	slices.SortFunc(j.order, func(a, b meetingTime) int {
		if a.at != b.at {
			if a.at < b.at {
				return -1
			}
			return 1
		}
		return int(a.i - b.i)
	})
	return j
}

// of finds the offsets of a clock.
func (s *Solution) of(c Clock) *NodeOffsets {
	if c.Kind == Host {
		if n, ok := s.Node(c.Node); ok {
			return n
		}
		return nil
	}
	for i := range s.Others {
		if s.Others[i].Clock == c {
			return &s.Others[i].NodeOffsets
		}
	}
	return nil
}

// mostBreaks is how often an edge may break in ten seconds: beyond, one of its clocks is no clock, and is left as the edges found it.
const mostBreaks = 3

// breaks notes where edges broke, on the reference's clock. A clock none of whose edges held is taken out.
func (j *joint) breaks(links []*link) {
	good, bad := make([]int, len(j.coarse)), make([]int, len(j.coarse))
	for _, l := range links {
		a, okA := j.m.index[l.A]
		b, okB := j.m.index[l.B]
		if !okA || !okB || len(l.parts) == 0 || j.coarse[a] == nil || j.coarse[b] == nil {
			continue
		}
		seconds := (l.obs[len(l.obs)-1].x - l.obs[0].x) / 1e9
		if float64(len(l.breaks)) > mostBreaks+mostBreaks*seconds/10 {
			bad[a], bad[b] = bad[a]+1, bad[b]+1
			continue
		}
		good[a], good[b] = good[a]+1, good[b]+1
		for _, k := range l.breaks {
			from, _, _ := j.coarse[a].At(l.baseX + int64(k.fromX))
			to, _, _ := j.coarse[a].At(l.baseX + int64(k.toX))
			for _, c := range [2]int32{a, b} {
				j.broken[c] = append(j.broken[c], interval{from, max(from, to)})
			}
		}
	}
	for i := range j.coarse {
		if int32(i) != j.ref && bad[i] > 0 && good[i] == 0 {
			j.coarse[i] = nil
		}
	}
}

// segments are the stretches of the reference's time in which no clock breaks.
func (j *joint) segments() []interval {
	if len(j.order) == 0 {
		return nil
	}
	var cuts []interval
	for i, b := range j.broken {
		if j.coarse[i] != nil {
			cuts = append(cuts, b...)
		}
	}
	for i := 1; i < len(j.order); i++ { // where nobody met for longer than a window, nothing is known
		if from := j.order[i-1].at + j.long; j.order[i].at-from > j.opt.WindowNS {
			cuts = append(cuts, interval{from, j.order[i].at})
		}
	}
	slices.SortFunc(cuts, func(a, b interval) int { return int(min(1, max(-1, a.from-b.from))) })
	var out []interval
	from, end := j.order[0].at, j.order[len(j.order)-1].at+j.long
	for _, c := range cuts {
		if c.from > from {
			out = append(out, interval{from, c.from})
		}
		from = max(from, c.to)
	}
	if from < end {
		out = append(out, interval{from, end})
	}
	return out
}

// windows cuts a segment into windows that overlap by half.
func (j *joint) windows(s interval) []interval {
	w := j.opt.WindowNS
	length := s.to - s.from
	if float64(length) <= 1.5*float64(w) {
		return []interval{s}
	}
	n := (length + w/2 - 1) / (w / 2)
	var out []interval
	for k := range n {
		from := s.from + int64(float64(length-w)*float64(k)/float64(n-1))
		out = append(out, interval{from, from + w})
	}
	return out
}

// refine narrows the maps of the solution by what the meetings say of all clocks together.
func (g *Graph) refine(ctx context.Context, reference Clock, s *Solution, links []*link, opt *Options) error {
	j := newJoint(g.meetings, reference, s, links, opt)
	if j.ref < 0 && len(j.order) == 0 {
		return nil
	}
	runs := make([][]run, len(j.coarse))
	var all [][]*frame // by segment
	for _, seg := range j.segments() {
		var frames []*frame
		for _, w := range j.windows(seg) {
			if err := ctx.Err(); err != nil {
				return fault.FromIO("", err)
			}
			frames = append(frames, j.solve(w))
		}
		all = append(all, frames)
	}
	for i := range j.coarse {
		j.keepWall(int32(i), all)
	}
	for n, frames := range all {
		for i := range runs {
			if int32(i) != j.ref && j.coarse[i] != nil {
				runs[i] = j.append(runs[i], int32(i), frames, n == 0, n == len(all)-1)
			}
		}
	}
	for i, r := range runs {
		if n := s.of(j.m.clocks[i]); n != nil && len(r) > 0 {
			if err := j.replace(n, int32(i), r); err != nil {
				return err
			}
		}
	}
	j.say(s)
	s.Straight = !slices.ContainsFunc(all, func(frames []*frame) bool {
		return slices.ContainsFunc(frames, func(f *frame) bool {
			return slices.ContainsFunc(f.track, func(k track) bool { return k.sure[0] < k.sure[1] })
		})
	})
	s.early = j.early
	return nil
}

// keepWall leaves a clock of a host as it is where no meeting contradicts that it agrees with the reference's: machines whose clocks are kept
// in step, or that share one, are closer together than collectives can tell. Ends that agree can tell.
func (j *joint) keepWall(c int32, all [][]*frame) {
	if j.ref < 0 || c == j.ref || j.m.clocks[c].Kind != Host || j.m.clocks[j.ref].Kind != Host {
		return
	}
	var kept []*track
	var lines []line
	for _, frames := range all {
		for _, f := range frames {
			k := &f.track[c]
			if !k.known {
				continue
			}
			wall := f.wall(c)
			if k.byEnds || !k.within(wall) {
				return
			}
			kept, lines = append(kept, k), append(lines, wall)
		}
	}
	for i, k := range kept {
		k.est, k.estimate = lines[i], true
	}
	j.wall[c] = len(kept) > 0
}

// wall is the error that a clock's base line has if the clock agrees with the reference's.
func (f *frame) wall(c int32) line {
	e := f.edge()
	at := func(x float64) float64 { return x - float64(f.shown(c, x)-f.mid) }
	a, b := at(-e), at(e)
	return line{(a + b) / 2, (b - a) / (2 * e) * 1e9}
}

// within reports whether a line is possible throughout.
func (k *track) within(l line) bool {
	for i, x := range k.hi.at {
		if l.at(x/1e9) > k.hi.v[i]+1 {
			return false
		}
	}
	for i, x := range k.lo.at {
		if l.at(x/1e9) < k.lo.v[i]-1 {
			return false
		}
	}
	return true
}

// replace gives a clock the map that its runs make.
func (j *joint) replace(n *NodeOffsets, i int32, runs []run) error {
	runs = j.bridge(n, i, runs)
	fresh := NodeOffsets{Node: n.Node, Windows: n.Windows, Missed: n.Missed, Warnings: n.Warnings}
	if err := fresh.fromRuns(runs, false, j.opt); err != nil {
		return fault.New(fault.Internal, "%v", err).Wrap(err)
	}
	fresh.Half, fresh.AsRecorded = j.halves[i].summary(), j.wall[i]
	*n = fresh
	return nil
}

// halfSamples is at how many instants what is possible is summarised.
const halfSamples = 513

// summary summarises the values over time.
func (e *envelope) summary() Bounds {
	if len(e.at) == 0 {
		return Bounds{}
	}
	v := make([]int64, halfSamples)
	from, to := e.at[0], e.at[len(e.at)-1]
	for i := range v {
		v[i] = ceilNS(e.value(from + (to-from)*float64(i)/(halfSamples-1)))
	}
	return boundsOf(v)
}

// bridge joins the runs of a clock that did not break between them, and keeps what the edges found where it did.
func (j *joint) bridge(n *NodeOffsets, i int32, runs []run) []run {
	var steps []interval // on the reference's clock
	for _, s := range n.Steps {
		a, _, _ := n.Map.At(s.FromNS)
		b, _, _ := n.Map.At(s.ToNS)
		steps = append(steps, interval{a, b})
	}
	out := runs[:1]
	for _, r := range runs[1:] {
		last := &out[len(out)-1]
		from, to := last.knots[len(last.knots)-1], r.knots[0]
		stepped := slices.ContainsFunc(steps, func(s interval) bool {
			return s.from < to.Y+j.opt.GapNS/8 && s.to > from.Y-j.opt.GapNS/8 && s.to > from.Y-1
		})
		if stepped {
			out = append(out, r)
			continue
		}
		if slices.ContainsFunc(j.broken[i], func(b interval) bool { return b.from < to.Y && b.to > from.Y }) {
			before := len(last.knots) // what broke may have been a step: anywhere between, the clock may be on either side of it
			var inside []clock.Knot
			for _, k := range n.Map.Knots() {
				if k.X > from.X && k.X < to.X && k.Y > from.Y && k.Y < to.Y {
					k.BoundNS = max(k.BoundNS, off(k, from, last.knots[:before], -1), off(k, to, r.knots, +1))
					inside = append(inside, k)
				}
			}
			last.knots[before-1].BoundNS = max(from.BoundNS, off(from, to, r.knots, +1))
			r.knots[0].BoundNS = max(to.BoundNS, off(to, from, last.knots[:before], -1))
			last.knots = append(last.knots, inside...)
		}
		last.knots = append(last.knots, r.knots...)
	}
	return out
}

// off is how far a knot can be from where a run leads that ends (dir -1) or begins (dir +1) at another one, with that one's bound.
func off(k, at clock.Knot, run []clock.Knot, dir int) int64 {
	rate := 1.0
	if n := len(run); n > 1 {
		a, b := run[0], run[1]
		if dir < 0 {
			a, b = run[n-2], run[n-1]
		}
		rate = float64(b.Y-a.Y) / float64(b.X-a.X)
	}
	return ceilNS(math.Abs(float64(k.Y-at.Y)-float64(k.X-at.X)*rate)) + at.BoundNS
}

// say names the clocks that no lines explain.
func (j *joint) say(s *Solution) {
	for i, c := range j.m.clocks {
		if n := j.against[int32(i)]; n > 0 {
			s.warnf("%s contradicts the others in %d collectives and was left out of what they say together", c, n)
		}
	}
	if s.Contradicting = j.dropped; j.dropped > 0 {
		s.warnf("%d collectives contradict the others and are not used: a wrong match, or a clock that stepped unseen", j.dropped)
	}
}
