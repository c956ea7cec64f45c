package cycle

import (
	"slices"
	"sort"

	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/timeline/cycle/repeat"
)

// measured is what the times of its repetitions say of a class.
type measured struct {
	startNS, endNS          int64 // absolute
	firstIndex              int64
	wall, busy, gap, kernel Times
	slots                   []Slot
	also                    [][]string // by slot: strict keys beside that of its name, where kernels count as equal by loose ones
	blocks                  []float64  // by slot: mean thread blocks, 0 unknown
	beside                  []BesideSlot
	outliers                []Outlier
	outliersTotal           int64
	drift                   *Drift
	ranks                   []RankTimes
}

// measure takes all times. Classes are measured one after the other, so that no more than one class's times are held at once; the slots of a
// class are shared among workers.
func (f *finder) measure() error {
	r := f.r
	f.job.Progress().SetTotal(int64(len(r.classes)))
	for i := range r.levels {
		starts := f.startsOf(&r.levels[i])
		r.levels[i].starts = starts
		for _, k := range r.levels[i].classes {
			if f.canceled() {
				return nil
			}
			c := r.classes[k]
			f.settle(c)
			if err := f.slots(c); err != nil {
				return err
			}
			f.times(c, starts)
			f.job.Progress().Add(1)
		}
	}
	f.walls, f.scratch = nil, nil
	f.gatherSteps()
	f.besides()
	f.compareRanks()
	return nil
}

// startsOf are the borders of a level by track, for tracks in which several classes have some.
func (f *finder) startsOf(l *level) map[int][]int32 {
	classes := map[int]int{}
	for _, k := range l.classes {
		for _, p := range f.r.classes[k].parts {
			classes[p.track]++
		}
	}
	out := map[int][]int32{}
	for _, k := range l.classes {
		for _, p := range f.r.classes[k].parts {
			if classes[p.track] > 1 {
				for _, s := range p.reps {
					out[p.track] = append(out[p.track], s.Start)
				}
			}
		}
	}
	for _, s := range out {
		slices.Sort(s)
	}
	return out
}

// settle finds out what stands where in edited repetitions.
func (f *finder) settle(c *class) {
	for i := range c.parts {
		p := &c.parts[i]
		word := c.word
		if p.shift > 0 {
			word = slices.Concat(c.word[p.shift:], c.word[:p.shift])
		}
		for k, s := range p.reps {
			if s.Edits == 0 || f.canceled() {
				continue
			}
			segs := p.loose[int32(k)]
			if segs == nil {
				segs = segments(f.r.symbols(f.r.tracks[p.track], int(s.Start), int(s.End)), word, 2*int(s.Edits))
			}
			if p.loose == nil {
				p.loose = map[int32][]segment{}
			}
			p.loose[int32(k)] = turned(segs, int32(p.shift), int32(c.period()))
		}
	}
}

func (c *class) period() int { return len(c.word) }

// turned moves slots by a shift; a stretch that runs over the end becomes two.
func turned(segs []segment, shift, period int32) []segment {
	if shift == 0 {
		return segs
	}
	var out []segment
	for _, s := range segs {
		s.slot += shift
		if s.slot >= period {
			s.slot -= period
		}
		if over := s.slot + s.n - period; over > 0 {
			out = append(out, segment{0, s.off + s.n - over, over})
			s.n -= over
		}
		out = append(out, s)
	}
	return out
}

// slotValues is how many times a worker holds while it measures slots.
const slotValues = 1 << 20

// slots measures every place of a class.
func (f *finder) slots(c *class) error {
	c.slots, c.also, c.blocks = make([]Slot, c.period()), make([][]string, c.period()), make([]float64, c.period())
	if c.period() == 1 { // as many times as kernels: they share the room of the walls
		f.r.measureSlots(c, 0, 1, f.room(&f.scratch, c))
		c.slots[0].Share = 1
		return nil
	}
	block := int(min(int64(c.period()), max(1, slotValues/max(1, c.count))))
	group, ctx := safe.NewGroup(f.ctx)
	group.SetLimit(max(1, f.job.Workers()))
	for from := 0; from < c.period(); from += block {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			f.r.measureSlots(c, from, min(c.period(), from+block), nil)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	total := 0.0
	for i := range c.slots {
		total += c.slots[i].MeanNS * float64(c.slots[i].Count)
	}
	if total > 0 {
		for i := range c.slots {
			s := &c.slots[i]
			s.Share = s.MeanNS * float64(s.Count) / total
		}
	}
	return nil
}

// gathered is what is known of one slot while its class is walked.
type gathered struct {
	values []int64
	gap    int64 // idle time in front of it
	gaps   int64
	graph  int64
	blocks int64 // thread blocks, of launches that say it
	sized  int64
	name   uint32
	stream uint16
	named  bool
	others map[uint32]bool // names beside the first
}

// room is space for a time of each repetition, which classes use one after the other.
func (f *finder) room(buffer *[]int64, c *class) []int64 {
	if int64(cap(*buffer)) < c.count {
		*buffer = make([]int64, 0, c.count)
	}
	return (*buffer)[:0]
}

// measureSlots measures slots [from, to) of a class. Room, where there is some, is for the times of the first.
func (r *Result) measureSlots(c *class, from, to int, room []int64) {
	g := make([]gathered, to-from)
	for i := range g {
		if g[i].values = room; i > 0 || room == nil {
			g[i].values = make([]int64, 0, c.count)
		}
	}
	for pi := range c.parts {
		p := &c.parts[pi]
		t := r.tracks[p.track]
		s := r.seq(t)
		take := func(slot, at, start int) {
			i := t.at(at)
			x := &g[slot-from]
			x.values = append(x.values, s.DurNS(i))
			switch n := s.Name[i]; {
			case !x.named:
				x.name, x.stream, x.named = n, s.Stream[i], true
			case n != x.name:
				if x.others == nil {
					x.others = map[uint32]bool{}
				}
				x.others[n] = true
			}
			if at > start {
				x.gap += r.idleBefore(t, at)
				x.gaps++
			}
			if s.Graph != nil && s.Graph[i] != 0 {
				x.graph++
			}
			if s.Blocks != nil && s.Blocks[i] != 0 {
				x.blocks += int64(s.Blocks[i])
				x.sized++
			}
		}
		for k, rep := range p.reps {
			if rep.Edits > 0 {
				for _, seg := range p.loose[int32(k)] {
					for slot := max(from, int(seg.slot)); slot < min(to, int(seg.slot+seg.n)); slot++ {
						take(slot, int(rep.Start+seg.off)+slot-int(seg.slot), int(rep.Start))
					}
				}
				continue
			}
			for slot := from; slot < to; slot++ {
				off := slot - p.shift
				if off < 0 {
					off += c.period()
				}
				take(slot, int(rep.Start)+off, int(rep.Start))
			}
		}
	}
	for i := range g {
		c.slots[from+i] = r.slot(c, from+i, &g[i])
		if g[i].sized > 0 {
			c.blocks[from+i] = float64(g[i].blocks) / float64(g[i].sized)
		}
	}
	r.otherKeys(c, from, g)
}

// otherKeys notes the strict keys that slots have beside that of their name, where kernels count as equal by loose ones.
func (r *Result) otherKeys(c *class, from int, g []gathered) {
	for i := range g {
		if len(g[i].others) == 0 {
			continue
		}
		var keys []string
		for n := range g[i].others {
			keys = append(keys, r.words.strictKeys[r.words.strict[n]])
		}
		slices.Sort(keys)
		c.also[from+i] = slices.Compact(keys)
	}
}

func (r *Result) slot(c *class, number int, g *gathered) Slot {
	t := describe(g.values)
	out := Slot{
		Slot: number, Count: t.Count, MeanNS: t.Mean, P50NS: t.P50, P99NS: t.P99, MinNS: t.Min, MaxNS: t.Max, StdDevNS: t.StdDev, CV: t.CV,
		GraphRuns: g.graph, Names: 1 + len(g.others),
	}
	if g.gaps > 0 {
		out.GapNS = float64(g.gap) / float64(g.gaps)
	}
	track := r.tracks[c.parts[0].track]
	if g.named {
		out.Name = r.trace.Names[g.name]
		out.Signature, out.Loose = r.words.strictKeys[r.words.strict[g.name]], r.words.looseKeys[r.words.loose[g.name]]
		if len(track.streams) > 1 {
			out.Stream = r.seq(track).Streams[g.stream].Name
		}
	}
	return out
}

// times measures whole repetitions.
func (f *finder) times(c *class, starts map[int][]int32) {
	r := f.r
	walls, scratch := f.room(&f.walls, c), f.room(&f.scratch, c)
	first, last := int64(0), int64(0)
	for pi := range c.parts {
		p := &c.parts[pi]
		t := r.tracks[p.track]
		s := r.seq(t)
		from := len(walls)
		for k := range p.reps {
			walls = append(walls, r.wall(p, k, starts[p.track]))
		}
		begin, end := s.StartNS[t.at(int(p.reps[0].Start))], r.lastEnd(t, p.reps[len(p.reps)-1])
		if pi == 0 || begin < first {
			first = begin
		}
		last = max(last, end)
		if pi == 0 || end > last {
			last = end
		}
		scratch = append(scratch[:0], walls[from:]...)
		c.ranks = append(c.ranks, RankTimes{Rank: max(0, s.Rank), Device: s.Device, Count: int64(len(p.reps)), WallNS: describe(scratch)})
	}
	c.startNS, c.endNS = first, last
	c.firstIndex = int64(c.parts[0].reps[0].Start)
	fill := func(of func(p *part, t *track, k, at int) int64) []int64 {
		scratch = scratch[:0]
		for pi := range c.parts {
			p := &c.parts[pi]
			t := r.tracks[p.track]
			for k := range p.reps {
				scratch = append(scratch, of(p, t, k, len(scratch)))
			}
		}
		return scratch
	}
	c.kernel = describe(fill(func(p *part, t *track, k, _ int) int64 { return r.kernelTime(t, p.reps[k]) }))
	c.busy = describe(fill(func(p *part, t *track, k, at int) int64 { return r.busy(t, p.reps[k], walls[at]) }))
	c.gap = describe(fill(func(p *part, t *track, k, at int) int64 { return walls[at] - r.busy(t, p.reps[k], walls[at]) }))
	c.wall = describe(append(scratch[:0], walls...))
	f.odd(c, walls, scratch[:0], starts)
}

// wall is the time from border to border, where another repetition of the level follows at once; else to the last end.
func (r *Result) wall(p *part, k int, starts []int32) int64 {
	t := r.tracks[p.track]
	s := r.seq(t)
	rep := p.reps[k]
	begin := s.StartNS[t.at(int(rep.Start))]
	if follows(p, k, starts) {
		return s.StartNS[t.at(int(rep.End))] - begin
	}
	return r.lastEnd(t, rep) - begin
}

func follows(p *part, k int, starts []int32) bool {
	end := p.reps[k].End
	if k+1 < len(p.reps) && p.reps[k+1].Start == end {
		return true
	}
	i := sort.Search(len(starts), func(i int) bool { return starts[i] >= end })
	return i < len(starts) && starts[i] == end
}

// lastEnd is when the last kernel of a repetition ends.
func (r *Result) lastEnd(t *track, rep repeat.Span) int64 {
	s := r.seq(t)
	end := s.EndNS(t.at(int(rep.Start)))
	for i := int(rep.Start) + 1; i < int(rep.End); i++ {
		end = max(end, s.EndNS(t.at(i)))
	}
	return end
}

// busy is the union of the intervals of the kernels of a repetition, up to the border behind it: a kernel may run on beside those of the next.
func (r *Result) busy(t *track, rep repeat.Span, wall int64) int64 {
	s := r.seq(t)
	sum, reach := int64(0), s.StartNS[t.at(int(rep.Start))]
	border := reach + wall
	for i := int(rep.Start); i < int(rep.End); i++ {
		k := t.at(i)
		if end := min(s.EndNS(k), border); end > reach {
			sum += end - max(reach, s.StartNS[k])
			reach = end
		}
	}
	return sum
}

func (r *Result) kernelTime(t *track, rep repeat.Span) int64 {
	s := r.seq(t)
	sum := int64(0)
	for i := int(rep.Start); i < int(rep.End); i++ {
		sum += s.DurNS(t.at(i))
	}
	return sum
}
