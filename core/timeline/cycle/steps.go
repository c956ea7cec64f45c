package cycle

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/timeline/cycle/repeat"
)

// step is one repetition of the step level, or a step that a mark defines and that is like no other.
type step struct {
	track   int32
	class   int32 // place in Result.classes, -1 none
	span    repeat.Span
	mark    int32 // place in Trace.Marks, -1 none
	partial bool
	wallNS  int64
	busyNS  int64
	ownNS   int64 // busy without collectives
	startNS int64 // absolute
}

// gatherSteps lists the steps of all devices in order of device and time.
func (f *finder) gatherSteps() {
	r := f.r
	count := len(r.steps)
	for _, c := range r.classes {
		if c.depth == depthStep && !c.described {
			count += int(c.count)
		}
	}
	r.steps = slices.Grow(r.steps, count-len(r.steps))
	for i, c := range r.classes {
		if c.depth != depthStep || c.described { // patterns of the described tool may overlap
			continue
		}
		for pi := range c.parts {
			p := &c.parts[pi]
			if !r.tracks[p.track].main {
				continue
			}
			for k, rep := range p.reps {
				st := step{track: int32(p.track), class: int32(i), span: rep, mark: -1}
				if p.marks != nil {
					st.mark = p.marks[k]
				}
				r.steps = append(r.steps, st)
			}
		}
	}
	slices.SortFunc(r.steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(r.tracks[a.track].seq, r.tracks[b.track].seq), cmp.Compare(a.span.Start, b.span.Start), cmp.Compare(a.class, b.class))
	})
	for i := range r.steps {
		st := &r.steps[i]
		t := r.tracks[st.track]
		s := r.seq(t)
		st.startNS = s.StartNS[t.at(int(st.span.Start))]
		if i+1 < len(r.steps) && r.steps[i+1].track == st.track && r.steps[i+1].span.Start == st.span.End {
			st.wallNS = s.StartNS[t.at(int(st.span.End))] - st.startNS
		} else {
			st.wallNS = r.lastEnd(t, st.span) - st.startNS
		}
		st.busyNS = r.busy(t, st.span, st.wallNS)
		st.ownNS = r.own(t, st.span)
	}
}

// own is the union of the intervals of the kernels that do not wait for other ranks.
func (r *Result) own(t *track, rep repeat.Span) int64 {
	s := r.seq(t)
	sum, reach := int64(0), s.StartNS[t.at(int(rep.Start))]
	for i := int(rep.Start); i < int(rep.End); i++ {
		k := t.at(i)
		if end := s.EndNS(k); end > reach && !r.words.collective[s.Name[k]] {
			sum += end - max(reach, s.StartNS[k])
			reach = end
		}
	}
	return sum
}

const maxBeside = 64 // kernels of other streams that a class lists

type besideKey struct {
	class  int32
	name   uint32
	stream string
}

type besideSum struct {
	count, ns, hidden int64
	communication     bool
}

// besides attributes the kernels of other streams to the step in whose time they start.
func (f *finder) besides() {
	r := f.r
	sums := map[besideKey]*besideSum{}
	for from := 0; from < len(r.steps); {
		to := from
		for to < len(r.steps) && r.steps[to].track == r.steps[from].track {
			to++
		}
		if t := r.tracks[r.steps[from].track]; t.index != nil {
			f.beside(t, r.steps[from:to], sums)
		}
		from = to
	}
	keys := make([]besideKey, 0, len(sums))
	for k := range sums {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b besideKey) int {
		return cmp.Or(cmp.Compare(sums[b].ns, sums[a].ns), cmp.Compare(a.class, b.class), cmp.Compare(a.name, b.name), cmp.Compare(a.stream, b.stream))
	})
	for _, k := range keys {
		c, s := r.classes[k.class], sums[k]
		if len(c.beside) == maxBeside {
			continue
		}
		b := BesideSlot{
			Name: r.trace.Names[k.name], Stream: k.stream, Communication: s.communication, Count: s.count,
			PerRepetition: float64(s.count) / float64(c.count), MeanNS: float64(s.ns) / float64(s.count),
		}
		if s.ns > 0 {
			b.HiddenShare = float64(s.hidden) / float64(s.ns)
		}
		c.beside = append(c.beside, b)
	}
}

// beside goes once through a device: kernels of the track tell what is covered, the others are given to steps.
func (f *finder) beside(t *track, steps []step, sums map[besideKey]*besideSum) {
	r := f.r
	s := r.seq(t)
	cover := &union{r: r, t: t}
	own, at := 0, 0
	for i := range s.Name {
		if own < t.n && t.at(own) == i {
			own++
			continue
		}
		start := s.StartNS[i]
		for at < len(steps) && steps[at].startNS+steps[at].wallNS <= start {
			at++
		}
		if at == len(steps) {
			return
		}
		if steps[at].startNS > start || steps[at].class < 0 {
			continue
		}
		stream := &s.Streams[s.Stream[i]]
		k := besideKey{steps[at].class, s.Name[i], stream.Name}
		sum := sums[k]
		if sum == nil {
			sum = &besideSum{communication: stream.Communication}
			sums[k] = sum
		}
		sum.count++
		sum.ns += s.DurNS(i)
		sum.hidden += cover.with(start, s.EndNS(i))
	}
}

// union is the time in which a track is busy, asked in order of start.
type union struct {
	r  *Result
	t  *track
	at int // first kernel that ends behind the last query's start
}

// with is how much of [from, to) is covered.
func (u *union) with(from, to int64) int64 {
	s := u.r.seq(u.t)
	for u.at < u.t.n && s.EndNS(u.t.at(u.at)) <= from {
		u.at++
	}
	sum, reach := int64(0), from
	for i := u.at; i < u.t.n && s.StartNS[u.t.at(i)] < to; i++ {
		end := min(to, s.EndNS(u.t.at(i)))
		if end > reach {
			sum += end - max(reach, s.StartNS[u.t.at(i)])
			reach = end
		}
	}
	return sum
}

// compareRanks finds the slowest rank of each step.
func (f *finder) compareRanks() {
	r := f.r
	devices := r.stepsByDevice()
	if len(devices) < 2 {
		return
	}
	table, lined := r.lineUp(devices)
	if !lined {
		return
	}
	for number, row := range table {
		rs := RankStep{Number: int64(number)}
		var own []int64
		slow := -1
		for _, i := range row {
			if i < 0 {
				continue
			}
			own = append(own, r.steps[i].ownNS)
			if slow < 0 || r.steps[i].ownNS > r.steps[slow].ownNS {
				slow = i
			}
		}
		rs.Ranks = len(own)
		if rs.Ranks < 2 {
			continue
		}
		st := &r.steps[slow]
		s := r.seq(r.tracks[st.track])
		rs.Slowest, rs.Device, rs.OwnNS, rs.MedianNS = max(0, s.Rank), s.Device, st.ownNS, median(own)
		if one := r.oneClass(row); one >= 0 {
			rs.Class = idText(r.classes[one].id)
		}
		rs.ExcessNS = rs.OwnNS - rs.MedianNS
		if rs.MedianNS > 0 {
			rs.Excess = float64(rs.ExcessNS) / float64(rs.MedianNS)
		}
		r.ranks = append(r.ranks, rs)
	}
}

// oneClass is the class that all steps of a row have, -1 where they differ.
func (r *Result) oneClass(row []int) int32 {
	class := int32(-2)
	for _, i := range row {
		if i >= 0 && class != -2 && r.steps[i].class != class {
			return -1
		}
		if i >= 0 {
			class = r.steps[i].class
		}
	}
	return class
}

// stepsByDevice are the places of the steps of each device that has some.
func (r *Result) stepsByDevice() [][]int {
	var out [][]int
	for i := range r.steps {
		if i == 0 || r.steps[i].track != r.steps[i-1].track {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], i)
	}
	return out
}

// lineUp puts the steps of all devices that are one step into one row: by the numbers that marks give them, else by their order. Without
// numbers, and with different counts or kinds of steps, nobody can say which belong together.
func (r *Result) lineUp(devices [][]int) (table [][]int, ok bool) {
	if rows := r.byNumber(devices); rows != nil {
		return rows, true
	}
	n, differ := len(devices[0]), 0
	for _, d := range devices[1:] {
		if len(d) != n {
			r.warnings = append(r.warnings, fmt.Sprintf("the devices have between %d and %d steps and no mark numbers them: the slowest rank is not told", shortest(devices), longest(devices)))
			return nil, false
		}
	}
	classes := make([]map[int32]int32, len(devices)) // of a device, by the class of the first
	for i := range classes {
		classes[i] = map[int32]int32{}
	}
	for k := range n {
		row := make([]int, len(devices))
		first := r.steps[devices[0][k]].class
		for i, d := range devices {
			row[i] = d[k]
			class := r.steps[d[k]].class
			if was, ok := classes[i][first]; !ok {
				classes[i][first] = class // stages of a pipeline have classes of their own
			} else if was != class {
				differ++
			}
		}
		table = append(table, row)
	}
	if 10*differ > n*(len(devices)-1) {
		r.warnings = append(r.warnings, fmt.Sprintf("%d steps are of another class than those of the first device: the slowest rank is not told", differ))
		return nil, false
	}
	return table, true
}

// byNumber lines steps up by the numbers of their marks; nil where a step has none.
func (r *Result) byNumber(devices [][]int) [][]int {
	rows := map[int64][]int{}
	var numbers []int64
	for d, steps := range devices {
		for _, i := range steps {
			m := r.steps[i].mark
			if m < 0 || r.trace.Marks[m].Step < 0 {
				return nil
			}
			n := r.trace.Marks[m].Step
			if rows[n] == nil {
				rows[n] = make([]int, len(devices))
				for k := range rows[n] {
					rows[n][k] = -1
				}
				numbers = append(numbers, n)
			}
			rows[n][d] = i
		}
	}
	slices.Sort(numbers)
	out := make([][]int, len(numbers))
	for k, n := range numbers {
		out[k] = rows[n]
	}
	return out
}

func shortest(l [][]int) int {
	return len(slices.MinFunc(l, func(a, b []int) int { return cmp.Compare(len(a), len(b)) }))
}

func longest(l [][]int) int {
	return len(slices.MaxFunc(l, func(a, b []int) int { return cmp.Compare(len(a), len(b)) }))
}

func idText(id uint64) string { return fmt.Sprintf("%016x", id) }
