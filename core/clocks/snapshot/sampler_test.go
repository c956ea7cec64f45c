package snapshot

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// machine is a host whose clocks and timer are ours: time passes when somebody waits, and by what a reading costs.
type machine struct {
	now     int64 // ns since the start
	cost    func() int64
	stop    int64 // the recording ends at this instant
	oversee func() int64
}

const wallStart, tracerStart = int64(1_760_000_000_000_000_000), int64(3_000_000_000)

func (m *machine) system() Clock {
	return Clock{Name: "CLOCK_REALTIME", Now: func() (int64, error) { m.now += m.cost(); return wallStart + m.now, nil }}
}

func (m *machine) tracer() Clock {
	return Clock{Name: "CLOCK_MONOTONIC_RAW", Now: func() (int64, error) { m.now += m.cost(); return tracerStart + m.now, nil }}
}

func (m *machine) Now() int64 { return m.now }

func (m *machine) Wait(_ context.Context, until int64) error {
	if until > m.stop {
		m.now = max(m.now, m.stop)
		return context.Canceled
	}
	m.now = max(m.now, until)
	if m.oversee != nil {
		m.now += m.oversee()
	}
	return nil
}

func steady(ns int64) func() int64 { return func() int64 { return ns } }

func record(t *testing.T, m *machine, opt Options) Recording {
	t.Helper()
	opt.System, opt.Tracer, opt.Timer = m.system(), m.tracer(), m
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	s.Run(context.Background())
	return s.Recording()
}

func TestTwelveSecondsAtFourSecondsGiveFourPairs(t *testing.T) {
	m := &machine{cost: steady(20), stop: int64(12*time.Second) + 1}
	r := record(t, m, Options{Duration: 12 * time.Second})
	if len(r.Pairs) != 5 || r.Counters != (Counters{Taken: 5}) { // at 0, 4, 8 and 12 s, and at the end
		t.Fatalf("got %d pairs and %+v, want 5 pairs and nothing missed", len(r.Pairs), r.Counters)
	}
	for i, p := range r.Pairs[:4] {
		if at := p.SysNS - wallStart; at < int64(i)*int64(4*time.Second) || at > int64(i)*int64(4*time.Second)+2000 {
			t.Errorf("pair %d was read at %d ns", i, at)
		}
		if p.SysNS-wallStart != p.TracerNS-tracerStart || p.WidthNS != 40 {
			t.Errorf("pair %d: got %+v, want the middle of a bracket of 40 ns", i, p)
		}
	}
}

func TestTheBufferIsBoundedAndWhatLeavesItIsCounted(t *testing.T) {
	m := &machine{cost: steady(20), stop: int64(60 * time.Second)}
	r := record(t, m, Options{Period: 10 * time.Millisecond, Duration: 60 * time.Second})
	if r.Counters.Taken != 6002 || len(r.Pairs) != 6002 || r.Counters.Dropped != 0 || r.Counters.Missed != 0 {
		t.Errorf("60 s at 10 ms: got %d pairs, %+v", len(r.Pairs), r.Counters)
	}
	m = &machine{cost: steady(20), stop: int64(60 * time.Second)}
	r = record(t, m, Options{Period: 10 * time.Millisecond, Duration: 6 * time.Second}) // a recording that takes ten times as long as announced
	room := RoomFor(int64(6*time.Second), int64(10*time.Millisecond))
	if len(r.Pairs) != room || r.Counters.Taken != 6002 || r.Counters.Dropped != 6002-int64(room) {
		t.Errorf("got %d pairs, %+v; want the last %d and the others counted", len(r.Pairs), r.Counters, room)
	}
	for i := 1; i < len(r.Pairs); i++ {
		if r.Pairs[i].SysNS <= r.Pairs[i-1].SysNS {
			t.Fatalf("pair %d is not after the one before it", i)
		}
	}
	if last := r.Pairs[len(r.Pairs)-1].SysNS - wallStart; last < m.stop {
		t.Errorf("the last pair was read at %d ns, before the end", last)
	}
}

// TestEveryInstantOfTheCadenceIsAccountedFor: a thread that comes late by anything leaves no instant that is neither read nor counted.
func TestEveryInstantOfTheCadenceIsAccountedFor(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		period := time.Duration(rng.Int64N(90)+10) * time.Millisecond
		m := &machine{cost: steady(20), stop: int64(rng.Int64N(20)+1) * int64(time.Second)}
		m.oversee = func() int64 {
			if rng.IntN(4) > 0 {
				return 0
			}
			return rng.Int64N(5 * int64(period))
		}
		failing := 0
		system, tracer := m.system(), m.tracer()
		real := tracer.Now
		tracer.Now = func() (int64, error) {
			if rng.IntN(50) == 0 {
				failing++
				return 0, errors.New("the driver is busy")
			}
			return real()
		}
		s, err := New(Options{System: system, Tracer: tracer, Timer: m, Period: period})
		if err != nil {
			t.Fatal(err)
		}
		s.Run(context.Background())
		c := s.Recording().Counters
		instants := m.stop/int64(period) + 1
		if at := c.Taken + c.Failed + c.Missed - 1; at < instants || at > instants+5 { // what is read last is no instant; the end comes when the thread wakes
			t.Fatalf("seed %d: %d instants, %+v", seed, instants, c)
		}
		if c.Failed != int64(failing) {
			t.Fatalf("seed %d: %d readings failed, %d were counted", seed, failing, c.Failed)
		}
	}
}

func TestTheNarrowestBracketIsKeptAndAWideOneIsCounted(t *testing.T) {
	costs := []int64{9000, 9000, 9000, 400, 30, 50, 7000, 20, 20} // of three brackets: 18,000, 80 and 40 ns
	i := 0
	m := &machine{cost: func() int64 { i++; return costs[(i-1)%len(costs)] }}
	p, err := Read(m.system(), m.tracer(), 3)
	if err != nil || p.WidthNS != 40 || p.SysNS-wallStart != p.TracerNS-tracerStart {
		t.Errorf("got %+v, %v; want the bracket of 40 ns", p, err)
	}
	m = &machine{cost: steady(2501), stop: 1}
	if c := record(t, m, Options{}).Counters; c.Wide != 2 || c.Taken != 2 {
		t.Errorf("brackets of 5,002 ns: got %+v", c)
	}
	m = &machine{cost: steady(2500), stop: 1}
	if c := record(t, m, Options{}).Counters; c.Wide != 0 {
		t.Errorf("brackets of 5,000 ns: got %+v", c)
	}
}

func TestABracketInWhichTheClockIsSetBackIsNone(t *testing.T) {
	n := int64(0)
	back := Clock{Name: "S", Now: func() (int64, error) { n++; return wallStart - n, nil }}
	if _, err := Read(back, (&machine{cost: steady(1)}).tracer(), 4); !errors.Is(err, errSystemClock) {
		t.Errorf("got %v", err)
	}
	values := []int64{100, 50, 60, 70} // set back inside of the first bracket alone
	i := 0
	once := Clock{Name: "S", Now: func() (int64, error) { i++; return values[i-1], nil }}
	if p, err := Read(once, Clock{Now: func() (int64, error) { return 7, nil }}, 2); err != nil || p != (Pair{SysNS: 65, TracerNS: 7, WidthNS: 10}) {
		t.Errorf("got %+v, %v", p, err)
	}
}

// refusing is a sink on a full disk.
type refusing struct{ room int }

func (s *refusing) Pair(Pair) error {
	if s.room--; s.room < 0 {
		return errors.New("no space left on device")
	}
	return nil
}

func (s *refusing) Discipline(Discipline) error { return nil }

func TestASinkThatIsFullIsSaidAndPairsAreHeld(t *testing.T) {
	m := &machine{cost: steady(20), stop: int64(40 * time.Second)}
	r := record(t, m, Options{Sink: &refusing{room: 3}})
	if r.Counters.Unstored != r.Counters.Taken-3 || len(r.Pairs) != int(r.Counters.Taken) || r.Err == nil {
		t.Errorf("got %+v, %d pairs, %v", r.Counters, len(r.Pairs), r.Err)
	}
}

func TestTheSystemClockIsJudgedNowAndThen(t *testing.T) {
	m := &machine{cost: steady(20), stop: int64(64 * time.Second)}
	reads := 0
	r := record(t, m, Options{Discipline: func() (Discipline, error) {
		reads++
		return Discipline{SysNS: wallStart + m.now, Synchronized: true, MaxErrorNS: 1000, Source: "adjtimex"}, nil
	}})
	if reads != 18 || len(r.Discipline) != 18 { // every 4 s from 0 to 64 s, and at the end
		t.Errorf("it was read %d times, %d are kept", reads, len(r.Discipline))
	}
}

func TestWhoAsksForTheCadenceFirst(t *testing.T) {
	none := func(string) string { return "" }
	both := func(name string) string { return map[string]string{VariablePeriod: "30", VariableOfROCm: "40"}[name] }
	theirs := func(name string) string { return map[string]string{VariableOfROCm: "40"}[name] }
	for _, c := range []struct {
		argument, option string
		environment      func(string) string
		want             time.Duration
		from             string
	}{
		{"10", "20", both, 10 * time.Millisecond, "the argument"},
		{"", "20", both, 20 * time.Millisecond, OptionPeriod},
		{"", "", both, 30 * time.Millisecond, VariablePeriod},
		{"", "", theirs, 40 * time.Millisecond, VariableOfROCm},
		{"", "", none, 4 * time.Second, "the default"},
		{" 12.5 ", "", none, 12500 * time.Microsecond, "the argument"},
	} {
		if d, from, err := PeriodOf(c.argument, c.option, c.environment); err != nil || d != c.want || from != c.from {
			t.Errorf("%q, %q: got %v from %s (%v), want %v from %s", c.argument, c.option, d, from, err, c.want, c.from)
		}
	}
	for _, bad := range []string{"9", "9.99", "4s", "NaN", "-1", "1e300", "3600001"} {
		if _, from, err := PeriodOf(bad, "20", both); err == nil || from != "the argument" {
			t.Errorf("%q is taken: %v", bad, err)
		}
	}
}

func TestOneOfSeveralProcessesIsDistributed(t *testing.T) {
	for value, want := range map[string]bool{"": false, "1": false, "2": true, "64": true, "many": false} {
		if got := Distributed(func(name string) string { return map[string]string{"WORLD_SIZE": value}[name] }); got != want {
			t.Errorf("WORLD_SIZE=%q: got %v", value, got)
		}
	}
}

func TestRoomIsThatOfTheDurationAndSome(t *testing.T) {
	for _, c := range []struct {
		duration, period time.Duration
		least, most      int
	}{
		{time.Minute, 10 * time.Millisecond, 6001, 7000},
		{12 * time.Second, 4 * time.Second, 4, 32},
		{0, 4 * time.Second, unannounced, unannounced},
		{1 << 62, 10 * time.Millisecond, maxRoom, maxRoom},
	} {
		if got := RoomFor(int64(c.duration), int64(c.period)); got < c.least || got > c.most {
			t.Errorf("%v at %v: got room for %d, want %d to %d", c.duration, c.period, got, c.least, c.most)
		}
	}
}
