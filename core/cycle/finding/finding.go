// Package finding makes classes, levels and steps of the kernels of a run: of the marks that define steps, and of what package repeat finds
// in the order of kernels.
package finding

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/cycle/structure"
	"github.com/prlx-go/prlx/core/job"
)

type finder struct {
	ctx     context.Context
	job     *job.Job
	r       *structure.Run
	keyed   bool     // which keys are used is settled
	sources []source // by sequence: the marks that define its steps
}

func (f *finder) canceled() bool { return f.ctx.Err() != nil }

// Search finds the classes of all sequences.
func Search(ctx context.Context, j *job.Job, r *structure.Run) {
	f := &finder{ctx: ctx, job: j, r: r}
	f.run()
}

func (f *finder) run() {
	r := f.r
	r.Warnings = append(r.Warnings, r.Trace.Warnings...)
	if r.Opt.Compat != nil {
		f.uplifterSearch()
		arrange(r)
		return
	}
	total := int64(0)
	var plans []*plan
	for i := range r.Trace.Sequences {
		p := f.plan(i)
		plans = append(plans, p)
		for _, t := range p.tracks {
			total += int64(t.N)
		}
	}
	f.job.Progress().SetTotal(total)
	f.sources, r.Evidence = chooseEvidence(r.Trace, r.Opt.IgnoreAnnotations)
	// Sequences whose steps marks define come first, then those with the most kernels: the names of their levels hold for classes that others share.
	order := make([]int, len(plans))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		marked := func(i int) int { return min(1, len(f.sources[i].marks)) }
		return cmp.Or(marked(b)-marked(a), r.Trace.Sequences[b].Len()-r.Trace.Sequences[a].Len())
	})
	found := map[*structure.Track]repeat.Structure{}
	for _, i := range order {
		for _, t := range f.decide(plans[i], found) {
			if f.canceled() {
				return
			}
			f.take(t, found[t])
			delete(found, t)
		}
	}
	r.Classes = append(r.Classes, splitClasses(r)...)
	arrange(r)
}

// plan is how the kernels of a sequence may be searched.
type plan struct {
	seq     int
	tracks  []*structure.Track // one a stream that is worth it, busiest first
	streams []uint16           // all that compute
	kernels int                // of those
}

func (f *finder) plan(seq int) *plan {
	r := f.r
	s := &r.Trace.Sequences[seq]
	var streams []uint16
	compute := 0
	for i, st := range s.Streams {
		if !st.Communication && st.Kernels > 0 {
			streams = append(streams, uint16(i))
			compute += st.Kernels
		}
	}
	if len(streams) == 0 { // collectives alone repeat as well
		for i, st := range s.Streams {
			if st.Kernels > 0 {
				streams = append(streams, uint16(i))
				compute += st.Kernels
			}
		}
	}
	slices.SortStableFunc(streams, func(a, b uint16) int { return s.Streams[b].Kernels - s.Streams[a].Kernels })
	p := &plan{seq: seq, streams: streams, kernels: compute}
	for k, st := range streams {
		if k == 0 || 100*s.Streams[st].Kernels >= worthPercent*compute {
			p.tracks = append(p.tracks, structure.NewTrack(s, seq, []uint16{st}, k == 0))
		}
	}
	return p
}

// decide chooses between streams alone and merged, and returns the tracks with their structures in found.
func (f *finder) decide(p *plan, found map[*structure.Track]repeat.Structure) []*structure.Track {
	mode := f.r.Opt.Streams
	if len(p.streams) < 2 {
		mode = structure.StreamsEach
	}
	var each []*structure.Track
	covered, busiest := 0, 0
	if mode != structure.StreamsMerged {
		for i, t := range p.tracks {
			st := f.repeats(t)
			found[t] = st
			covered += st.Covered
			if i == 0 {
				busiest = st.Covered
			}
			each = append(each, t)
		}
		if mode == structure.StreamsEach {
			return each
		}
		// Streams that take turns each hold a part of a step and repeat alone too; merged is for those that do not.
		if float64(p.kernels-covered) <= mergeGain*float64(p.kernels) || 100*busiest >= busiestPercent*p.tracks[0].N {
			return each
		}
	}
	merged := structure.NewTrack(&f.r.Trace.Sequences[p.seq], p.seq, p.streams, true)
	st := f.repeats(merged)
	if mode == structure.StreamsAuto && float64(st.Covered-covered) < mergeGain*float64(p.kernels) {
		return each
	}
	for _, t := range each {
		delete(found, t)
	}
	found[merged] = st
	f.r.Merged = true
	return []*structure.Track{merged}
}

// repeats searches one track.
func (f *finder) repeats(t *structure.Track) repeat.Structure {
	r := f.r
	s := &r.Trace.Sequences[t.Seq]
	run := func(keys string) repeat.Structure {
		symbols := make([]uint32, t.N)
		table := r.Words.Table(keys)
		for i := range symbols {
			symbols[i] = table[s.Name[t.At(i)]]
		}
		return repeat.Find(symbols, repeat.Options{
			Key:         r.Words.Key(keys),
			Weight:      func(i int) int64 { return r.IdleBefore(t, i) },
			EditPercent: r.Opt.EditPercent,
			Canceled:    f.canceled,
		})
	}
	if t.N > repeat.MaxSymbols {
		r.Cut += int64(t.N - repeat.MaxSymbols)
	}
	st := run(r.Keys)
	if r.Opt.Keys == structure.KeysAuto && r.Keys == structure.KeysStrict && !f.keyed && 100*st.Covered < looseBelow*t.N && !f.canceled() {
		loose := run(structure.KeysLoose)
		if float64(loose.Covered-st.Covered) >= looseGain*float64(t.N) && varied(loose) {
			r.Keys, st = structure.KeysLoose, loose
			r.Warnings = append(r.Warnings, fmt.Sprintf("strict signatures explain %d of %d kernels, loose ones %d: kernels count as equal by loose signatures",
				st.Covered, t.N, loose.Covered))
		}
	}
	f.keyed = true // all tracks are searched by the same keys
	r.Limited = r.Limited || st.WorkLimited
	f.job.Progress().Add(int64(t.N))
	return st
}

// varied reports whether every class has enough different kernels.
func varied(st repeat.Structure) bool {
	for _, l := range st.Levels {
		for _, c := range l.Classes {
			distinct := map[uint32]bool{}
			for _, s := range c.Symbols {
				distinct[s] = true
			}
			if len(distinct) < looseDistinct {
				return false
			}
		}
	}
	return true
}
