// Package measuring takes the times of what was found: of classes and each of their kernels, of steps, of kernels of other streams beside
// them. It tells outliers, drift and the slowest rank.
package measuring

import (
	"context"
	"slices"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/sample"
	"github.com/prlx-go/prlx/core/cycle/structure"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
)

// measurer takes the times of classes.
type measurer struct {
	ctx            context.Context
	job            *job.Job
	r              *structure.Run
	walls, scratch []int64 // room for the times of one class
}

// Measure takes all times. Classes are measured one after the other, so that no more than one class's times are held at once; the slots of a
// class are shared among workers.
func Measure(ctx context.Context, j *job.Job, r *structure.Run) error {
	f := &measurer{ctx: ctx, job: j, r: r}
	f.job.Progress().SetTotal(int64(len(r.Classes)))
	for i := range r.Levels {
		starts := f.startsOf(&r.Levels[i])
		r.Levels[i].Starts = starts
		for _, k := range r.Levels[i].Classes {
			if f.ctx.Err() != nil {
				return nil
			}
			c := r.Classes[k]
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

// Class measures one class alone, without regard to others of its level.
func Class(ctx context.Context, j *job.Job, r *structure.Run, c *structure.Class) error {
	f := &measurer{ctx: ctx, job: j, r: r}
	if err := f.slots(c); err != nil {
		return err
	}
	f.times(c, nil)
	return nil
}

// startsOf are the borders of a level by track, for tracks in which several classes have some.
func (f *measurer) startsOf(l *structure.Level) map[int][]int32 {
	classes := map[int]int{}
	for _, k := range l.Classes {
		for _, p := range f.r.Classes[k].Parts {
			classes[p.Track]++
		}
	}
	out := map[int][]int32{}
	for _, k := range l.Classes {
		for _, p := range f.r.Classes[k].Parts {
			if classes[p.Track] > 1 {
				for _, s := range p.Reps {
					out[p.Track] = append(out[p.Track], s.Start)
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
func (f *measurer) settle(c *structure.Class) {
	for i := range c.Parts {
		p := &c.Parts[i]
		word := c.Word
		if p.Shift > 0 {
			word = slices.Concat(c.Word[p.Shift:], c.Word[:p.Shift])
		}
		for k, s := range p.Reps {
			if s.Edits == 0 || f.ctx.Err() != nil {
				continue
			}
			segs := p.Loose[int32(k)]
			if segs == nil {
				segs = structure.Align(f.r.Symbols(f.r.Tracks[p.Track], int(s.Start), int(s.End)), word, 2*int(s.Edits))
			}
			if p.Loose == nil {
				p.Loose = map[int32][]structure.Segment{}
			}
			p.Loose[int32(k)] = turned(segs, int32(p.Shift), int32(c.Period()))
		}
	}
}

// turned moves slots by a shift; a stretch that runs over the end becomes two.
func turned(segs []structure.Segment, shift, period int32) []structure.Segment {
	if shift == 0 {
		return segs
	}
	var out []structure.Segment
	for _, s := range segs {
		s.Slot += shift
		if s.Slot >= period {
			s.Slot -= period
		}
		if over := s.Slot + s.N - period; over > 0 {
			out = append(out, structure.Segment{Off: s.Off + s.N - over, N: over})
			s.N -= over
		}
		out = append(out, s)
	}
	return out
}

// slots measures every place of a class.
func (f *measurer) slots(c *structure.Class) error {
	c.Slots, c.Also, c.Blocks = make([]cycledoc.Slot, c.Period()), make([][]string, c.Period()), make([]float64, c.Period())
	if c.Period() == 1 { // as many times as kernels: they share the room of the walls
		f.measureSlots(c, 0, 1, f.room(&f.scratch, c))
		c.Slots[0].Share = 1
		return nil
	}
	block := int(min(int64(c.Period()), max(1, slotValues/max(1, c.Count))))
	group, ctx := safe.NewGroup(f.ctx)
	group.SetLimit(max(1, f.job.Workers()))
	for from := 0; from < c.Period(); from += block {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			f.measureSlots(c, from, min(c.Period(), from+block), nil)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	total := 0.0
	for i := range c.Slots {
		total += c.Slots[i].MeanNS * float64(c.Slots[i].Count)
	}
	if total > 0 {
		for i := range c.Slots {
			s := &c.Slots[i]
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
	owners map[uint32]int64 // repetitions by owner
	blocks int64            // thread blocks, of launches that say it
	sized  int64
	name   uint32
	stream uint16
	named  bool
	others map[uint32]bool // names beside the first
}

// room is space for a time of each repetition, which classes use one after the other.
func (f *measurer) room(buffer *[]int64, c *structure.Class) []int64 {
	if int64(cap(*buffer)) < c.Count {
		*buffer = make([]int64, 0, c.Count)
	}
	return (*buffer)[:0]
}

// measureSlots measures slots [from, to) of a class. Room, where there is some, is for the times of the first.
func (f *measurer) measureSlots(c *structure.Class, from, to int, room []int64) {
	r := f.r
	g := make([]gathered, to-from)
	for i := range g {
		if g[i].values = room; i > 0 || room == nil {
			g[i].values = make([]int64, 0, c.Count)
		}
	}
	for pi := range c.Parts {
		p := &c.Parts[pi]
		t := r.Tracks[p.Track]
		s := r.Seq(t)
		take := func(slot, at, start int) {
			i := t.At(at)
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
				x.gap += r.IdleBefore(t, at)
				x.gaps++
			}
			if s.Graph != nil && s.Graph[i] != 0 {
				x.graph++
			}
			if s.Owner != nil && s.Owner[i] != 0 {
				if x.owners == nil {
					x.owners = map[uint32]int64{}
				}
				x.owners[s.Owner[i]]++
			}
			if s.Blocks != nil && s.Blocks[i] != 0 {
				x.blocks += int64(s.Blocks[i])
				x.sized++
			}
		}
		for k, rep := range p.Reps {
			if rep.Edits > 0 {
				for _, seg := range p.Loose[int32(k)] {
					for slot := max(from, int(seg.Slot)); slot < min(to, int(seg.Slot+seg.N)); slot++ {
						take(slot, int(rep.Start+seg.Off)+slot-int(seg.Slot), int(rep.Start))
					}
				}
				continue
			}
			for slot := from; slot < to; slot++ {
				off := slot - p.Shift
				if off < 0 {
					off += c.Period()
				}
				take(slot, int(rep.Start)+off, int(rep.Start))
			}
		}
	}
	for i := range g {
		c.Slots[from+i] = f.slot(c, from+i, &g[i])
		if g[i].sized > 0 {
			c.Blocks[from+i] = float64(g[i].blocks) / float64(g[i].sized)
		}
	}
	f.otherKeys(c, from, g)
}

// otherKeys notes the strict keys that slots have beside that of their name, where kernels count as equal by loose ones.
func (f *measurer) otherKeys(c *structure.Class, from int, g []gathered) {
	r := f.r
	for i := range g {
		if len(g[i].others) == 0 {
			continue
		}
		var keys []string
		for n := range g[i].others {
			keys = append(keys, r.Words.StrictKeys[r.Words.Strict[n]])
		}
		slices.Sort(keys)
		c.Also[from+i] = slices.Compact(keys)
	}
}

func (f *measurer) slot(c *structure.Class, number int, g *gathered) cycledoc.Slot {
	r := f.r
	t := sample.Describe(g.values)
	out := cycledoc.Slot{
		Slot: number, Count: t.Count, MeanNS: t.Mean, P50NS: t.P50, P99NS: t.P99, MinNS: t.Min, MaxNS: t.Max, StdDevNS: t.StdDev, CV: t.CV,
		GraphRuns: g.graph, Names: 1 + len(g.others),
	}
	if g.gaps > 0 {
		out.GapNS = float64(g.gap) / float64(g.gaps)
	}
	track := r.Tracks[c.Parts[0].Track]
	if g.named {
		out.Name = r.Trace.Names[g.name]
		out.Signature, out.Loose = r.Words.StrictKeys[r.Words.Strict[g.name]], r.Words.LooseKeys[r.Words.Loose[g.name]]
		if len(track.Streams) > 1 {
			out.Stream = r.Seq(track).Streams[g.stream].Name
		}
	}
	owned(r.Trace.Owners, g.owners, &out)
	return out
}

// times measures whole repetitions.
func (f *measurer) times(c *structure.Class, starts map[int][]int32) {
	r := f.r
	walls, scratch := f.room(&f.walls, c), f.room(&f.scratch, c)
	first, last := int64(0), int64(0)
	for pi := range c.Parts {
		p := &c.Parts[pi]
		t := r.Tracks[p.Track]
		s := r.Seq(t)
		from := len(walls)
		for k := range p.Reps {
			walls = append(walls, Wall(r, p, k, starts[p.Track]))
		}
		begin, end := s.StartNS[t.At(int(p.Reps[0].Start))], LastEnd(r, t, p.Reps[len(p.Reps)-1])
		if pi == 0 || begin < first {
			first = begin
		}
		last = max(last, end)
		if pi == 0 || end > last {
			last = end
		}
		scratch = append(scratch[:0], walls[from:]...)
		c.Ranks = append(c.Ranks, cycledoc.RankTimes{Rank: max(0, s.Rank), Device: s.Device, Count: int64(len(p.Reps)), WallNS: sample.Describe(scratch)})
	}
	c.StartNS, c.EndNS = first, last
	c.FirstIndex = int64(c.Parts[0].Reps[0].Start)
	fill := func(of func(p *structure.Part, t *structure.Track, k, at int) int64) []int64 {
		scratch = scratch[:0]
		for pi := range c.Parts {
			p := &c.Parts[pi]
			t := r.Tracks[p.Track]
			for k := range p.Reps {
				scratch = append(scratch, of(p, t, k, len(scratch)))
			}
		}
		return scratch
	}
	c.Kernel = sample.Describe(fill(func(p *structure.Part, t *structure.Track, k, _ int) int64 { return kernelTime(r, t, p.Reps[k]) }))
	c.Busy = sample.Describe(fill(func(p *structure.Part, t *structure.Track, k, at int) int64 { return Busy(r, t, p.Reps[k], walls[at]) }))
	c.Gap = sample.Describe(fill(func(p *structure.Part, t *structure.Track, k, at int) int64 {
		return walls[at] - Busy(r, t, p.Reps[k], walls[at])
	}))
	c.Wall = sample.Describe(append(scratch[:0], walls...))
	f.odd(c, walls, scratch[:0], starts)
}
