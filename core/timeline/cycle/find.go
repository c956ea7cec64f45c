package cycle

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/timeline/cycle/kernels"
	"github.com/prlx-go/prlx/core/timeline/cycle/repeat"
)

// Result is what Find found, with the trace beside it: the document, the tables and the comparison are made of both.
type Result struct {
	trace    *kernels.Trace
	opt      Options
	words    *words
	tracks   []*track
	classes  []*class // in order of level, then most kernels first
	levels   []level  // innermost first
	evidence []Evidence
	steps    []step
	ranks    []RankStep
	warnings []string
	limited  bool  // a search gave up on a part
	cut      int64 // kernels beyond the longest sequence that is searched
	zero     int64
	compute  int64 // kernels of streams that compute
	keys     string
	merged   bool
	selected int // place in classes, -1 none
}

// depth says how deep a class nests.
type depth int

const (
	depthBlock depth = iota // repeats inside a layer
	depthLayer
	depthMicrobatch
	depthStep
	depthLoop
	depthLoops // loops of loops
)

func (d depth) name() string {
	switch d {
	case depthBlock:
		return LevelBlock
	case depthLayer:
		return LevelLayer
	case depthMicrobatch:
		return LevelMicrobatch
	case depthStep:
		return LevelStep
	}
	return LevelLoop
}

// level is one depth of nesting that has classes.
type level struct {
	depth   depth
	reason  string
	classes []int
	covered int64
	starts  map[int][]int32 // borders by track, where several classes have some in it
}

// class is a Class while it is being put together.
type class struct {
	id        uint64
	depth     depth
	source    string
	word      []uint32 // symbols of one repetition, from its border
	rotation  int      // of word[0] in the canonical rotation
	parts     []part
	children  []child
	parents   []int
	name      string
	described bool // of the described tool, which has no levels

	count, edited, edits, covered int64
	measured
	labelled
}

// part is the repetitions of a class in one track, disjoint and in order.
type part struct {
	track int
	shift int // the border of this track stands at this place of word
	reps  []repeat.Span
	marks []int32             // the mark that defines each; nil for what was inferred
	loose map[int32][]segment // of edited repetitions, by place in reps: what stands where
}

type child struct {
	class *class
	count int
}

// Find looks for what repeats in the kernels of a trace, measures it and labels it. The trace is kept and not changed.
func Find(j *job.Job, t *kernels.Trace, opt Options) (*Result, error) {
	opt, err := opt.filled()
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	if j != nil {
		ctx = j.Context()
	}
	f := &finder{ctx: ctx, job: j, r: &Result{trace: t, opt: opt, selected: -1, keys: KeysStrict}}
	for _, stage := range []struct {
		name string
		run  func() error
	}{
		{"naming kernels", f.name},
		{"searching", f.search},
		{"measuring", f.measure},
		{"labelling", f.label},
	} {
		j.Progress().SetStage(stage.name)
		if err := stage.run(); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, fault.New(fault.Cancelled, "the search for cycles was cancelled").Wrap(err)
		}
	}
	return f.r, nil
}

type finder struct {
	ctx            context.Context
	job            *job.Job
	r              *Result
	keyed          bool             // which keys are used is settled
	sources        []source         // by sequence: the marks that define its steps
	kinds          *kinds           // nil until asked for
	walls, scratch []int64          // room for the times of one class
	tiles          map[string]int64 // rows of the tile by name of kernel
}

func (f *finder) canceled() bool { return f.ctx.Err() != nil }

// name numbers the signatures and finds the zero of all times.
func (f *finder) name() error {
	r := f.r
	r.words = newWords(r.trace.Names, r.opt.Rules)
	if r.opt.Keys == KeysLoose {
		r.keys = KeysLoose
	}
	first := true
	for i := range r.trace.Sequences {
		s := &r.trace.Sequences[i]
		if s.Len() > 0 && (first || s.StartNS[0] < r.zero) {
			r.zero, first = s.StartNS[0], false
		}
		for _, st := range s.Streams {
			if !st.Communication {
				r.compute += int64(st.Kernels)
			}
		}
	}
	if r.compute == 0 { // nothing but collectives: those are searched then
		r.compute = int64(r.trace.Kernels())
	}
	return nil
}

// search finds the classes of all sequences.
func (f *finder) search() error {
	r := f.r
	r.warnings = append(r.warnings, r.trace.Warnings...)
	if r.opt.Compat != nil {
		f.describedSearch()
		f.arrange()
		return nil
	}
	total := int64(0)
	var plans []*plan
	for i := range r.trace.Sequences {
		p := f.plan(i)
		plans = append(plans, p)
		for _, t := range p.tracks {
			total += int64(t.n)
		}
	}
	f.job.Progress().SetTotal(total)
	f.chooseEvidence()
	// Sequences whose steps marks define come first, then those with the most kernels: the names of their levels hold for classes that others share.
	order := make([]int, len(plans))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		marked := func(i int) int { return min(1, len(f.sources[i].marks)) }
		return cmp.Or(marked(b)-marked(a), r.trace.Sequences[b].Len()-r.trace.Sequences[a].Len())
	})
	found := map[*track]repeat.Structure{}
	for _, i := range order {
		for _, t := range f.decide(plans[i], found) {
			if f.canceled() {
				return nil
			}
			f.take(t, found[t])
			delete(found, t)
		}
	}
	f.split()
	f.arrange()
	return nil
}

// plan is how the kernels of a sequence may be searched.
type plan struct {
	seq     int
	tracks  []*track // one a stream that is worth it, busiest first
	streams []uint16 // all that compute
	kernels int      // of those
}

// worthShare is the least share of the kernels of a device, in percent, that a stream beside the busiest needs to be searched.
const worthShare = 5

func (f *finder) plan(seq int) *plan {
	r := f.r
	s := &r.trace.Sequences[seq]
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
		if k == 0 || 100*s.Streams[st].Kernels >= worthShare*compute {
			p.tracks = append(p.tracks, newTrack(s, seq, []uint16{st}, k == 0))
		}
	}
	return p
}

// mergeGain is how much more of the kernels a merged sequence must explain than the streams do alone, as a share.
const mergeGain = 0.05

// decide chooses between streams alone and merged, and returns the tracks with their structures in found.
func (f *finder) decide(p *plan, found map[*track]repeat.Structure) []*track {
	mode := f.r.opt.Streams
	if len(p.streams) < 2 {
		mode = StreamsEach
	}
	var each []*track
	covered, busiest := 0, 0
	if mode != StreamsMerged {
		for i, t := range p.tracks {
			st := f.repeats(t)
			found[t] = st
			covered += st.Covered
			if i == 0 {
				busiest = st.Covered
			}
			each = append(each, t)
		}
		if mode == StreamsEach {
			return each
		}
		// Streams that take turns each hold a part of a step and repeat alone too; merged is for those that do not.
		if float64(p.kernels-covered) <= mergeGain*float64(p.kernels) || 2*busiest >= p.tracks[0].n {
			return each
		}
	}
	merged := newTrack(&f.r.trace.Sequences[p.seq], p.seq, p.streams, true)
	st := f.repeats(merged)
	if mode == StreamsAuto && float64(st.Covered-covered) < mergeGain*float64(p.kernels) {
		return each
	}
	for _, t := range each {
		delete(found, t)
	}
	found[merged] = st
	f.r.merged = true
	return []*track{merged}
}

// looseGain is how much more loose keys must explain than strict ones, as a share of the kernels, where the choice is left to Find;
// a class found by them must have this many different kernels, for loose keys make much equal.
const (
	looseGain     = 0.2
	looseDistinct = 4
)

// repeats searches one track.
func (f *finder) repeats(t *track) repeat.Structure {
	r := f.r
	s := &r.trace.Sequences[t.seq]
	run := func(keys string) repeat.Structure {
		symbols := make([]uint32, t.n)
		table := r.words.table(keys)
		for i := range symbols {
			symbols[i] = table[s.Name[t.at(i)]]
		}
		return repeat.Find(symbols, repeat.Options{
			Key:         r.words.key(keys),
			Weight:      func(i int) int64 { return r.idleBefore(t, i) },
			EditPercent: r.opt.EditPercent,
			Canceled:    f.canceled,
		})
	}
	if t.n > repeat.MaxSymbols {
		r.cut += int64(t.n - repeat.MaxSymbols)
	}
	st := run(r.keys)
	if r.opt.Keys == KeysAuto && r.keys == KeysStrict && !f.keyed && 2*st.Covered < t.n && !f.canceled() {
		loose := run(KeysLoose)
		if float64(loose.Covered-st.Covered) >= looseGain*float64(t.n) && varied(loose) {
			r.keys, st = KeysLoose, loose
			r.warnings = append(r.warnings, fmt.Sprintf("strict signatures explain %d of %d kernels, loose ones %d: kernels count as equal by loose signatures",
				st.Covered, t.n, loose.Covered))
		}
	}
	f.keyed = true // all tracks are searched by the same keys
	r.limited = r.limited || st.WorkLimited
	f.job.Progress().Add(int64(t.n))
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
