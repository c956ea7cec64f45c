package snapshot

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Timer is what the sampler waits by: a clock that nobody sets.
type Timer interface {
	Now() int64 // ns
	// Wait returns when Now has reached an instant, or with the context's error.
	Wait(ctx context.Context, untilNS int64) error
}

// Sink takes pairs as they are read; its errors end the recording of them, not the sampler, and are kept.
type Sink interface {
	Pair(p Pair) error
	Discipline(d Discipline) error
}

// Options say what a sampler reads, how often, and where to.
type Options struct {
	System, Tracer Clock
	Timer          Timer
	Period         time.Duration // default 4 s
	Duration       time.Duration // how long the recording will take, for the room of the ring; 0 is unknown
	Tries          int           // brackets of which the narrowest counts, default 8
	Sink           Sink          // nil: pairs are only held

	// Discipline reads how well the system clock is kept, nil where the system does not say. It is read at the first, at the last and
	// every DisciplineEvery.
	Discipline func() (Discipline, error)
}

// DisciplineEvery is how often the state of the system clock is read.
const DisciplineEvery = 4 * time.Second

// Counters are the sampler's telemetry.
type Counters struct {
	Taken    int64 `json:"snapshots_taken"`
	Missed   int64 `json:"missed_deadline"` // instants of the cadence at which no pair was read: the thread came too late
	Dropped  int64 `json:"dropped_samples"` // pairs that have no room in the ring any more
	Wide     int64 `json:"wide_brackets"`   // pairs that were kept although the system clock's readings lie more than 5 us apart
	Failed   int64 `json:"failed_reads"`    // readings that gave no pair: a clock could not be read
	Unstored int64 `json:"unstored"`        // pairs that the sink did not take
}

// Sampler reads pairs until it is stopped.
type Sampler struct {
	opt      Options
	mu       sync.Mutex
	ring     *Ring
	counters Counters
	kept     []Discipline
	firstErr error
}

// New makes a sampler that has not begun.
func New(opt Options) (*Sampler, error) {
	if opt.Period == 0 {
		opt.Period = DefaultPeriod
	}
	if opt.Period < MinPeriod || opt.Period > MaxPeriod {
		return nil, fmt.Errorf("a cadence of %v is not between %v and %v", opt.Period, MinPeriod, MaxPeriod)
	}
	if opt.System.Now == nil || opt.Tracer.Now == nil || opt.Timer == nil {
		return nil, fmt.Errorf("a sampler needs a system clock, a tracer's clock and a timer")
	}
	if opt.Tries <= 0 {
		opt.Tries = DefaultTries
	}
	return &Sampler{opt: opt, ring: NewRing(RoomFor(int64(opt.Duration), int64(opt.Period)))}, nil
}

// Run reads pairs at the cadence until the context ends, and one more then: the first and the last bound what the others say.
func (s *Sampler) Run(ctx context.Context) {
	period, start := int64(s.opt.Period), s.opt.Timer.Now()
	s.discipline()
	every := max(1, int64(DisciplineEvery)/period)
	for tick := int64(0); ; {
		s.take()
		if tick > 0 && tick%every == 0 {
			s.discipline()
		}
		now := s.opt.Timer.Now()
		if late := (now-start)/period - tick; late > 0 { // instants that went by while the thread did not run
			s.miss(late)
			tick += late
		}
		tick++
		if s.opt.Timer.Wait(ctx, start+tick*period) != nil {
			break
		}
	}
	s.take()
	s.discipline()
}

// take reads one pair.
func (s *Sampler) take() {
	p, err := Read(s.opt.System, s.opt.Tracer, s.opt.Tries)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.counters.Failed++
		s.note(err)
		return
	}
	s.counters.Taken++
	if p.Wide() {
		s.counters.Wide++
	}
	s.ring.Add(p)
	if s.opt.Sink == nil {
		return
	}
	if err := s.opt.Sink.Pair(p); err != nil {
		s.counters.Unstored++
		s.note(err)
	}
}

// discipline reads how well the system clock is kept.
func (s *Sampler) discipline() {
	if s.opt.Discipline == nil {
		return
	}
	d, err := s.opt.Discipline()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		if len(s.kept) < unannounced {
			s.kept = append(s.kept, d)
		}
		if s.opt.Sink != nil {
			err = s.opt.Sink.Discipline(d)
		}
	}
	if err != nil {
		s.note(err)
	}
}

func (s *Sampler) miss(n int64) {
	s.mu.Lock()
	s.counters.Missed += n
	s.mu.Unlock()
}

func (s *Sampler) note(err error) {
	if s.firstErr == nil {
		s.firstErr = err
	}
}

// Recording is what a sampler has read.
type Recording struct {
	Tracer     Clock
	Period     time.Duration
	Pairs      []Pair
	Discipline []Discipline
	Counters   Counters
	Err        error // the first that a clock or the sink gave, nil none
}

// Recording returns what has been read so far; it may be asked while the sampler runs.
func (s *Sampler) Recording() Recording {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counters
	c.Dropped = s.ring.Dropped
	return Recording{
		Tracer: s.opt.Tracer, Period: s.opt.Period, Pairs: s.ring.Pairs(), Discipline: append([]Discipline(nil), s.kept...), Counters: c, Err: s.firstErr,
	}
}
