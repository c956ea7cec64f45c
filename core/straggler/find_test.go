package straggler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
)

// scene is a generated job whose truth is known.
type scene struct {
	ranks, steps int
	boundNS      int64
	skewNS       int64 // clocks are off by up to so much; no more than the bound where it is true
	startsApart  int64
	noRing       bool
	rng          *rand.Rand

	slow func(rank, step, segment int) int64 // what a rank needs longer before an operation
	link func(a, b, step int) int64          // what a transfer needs longer
	who  int                                 // the rank that is slow; -1: there is not one

	perClock int     // ranks that share a clock
	off      []int64 // of the job that was made: by rank, how far its clock is ahead
}

const (
	stepNS  = int64(100e6)
	perStep = 4 // all-reduces of all in a step; a ring of sends follows
)

// jitter is heavy-tailed: 50 us in the median, with a sigma of 1.
func (s *scene) jitter() int64 {
	return int64(math.Min(20e6, 50e3*math.Exp(s.rng.NormFloat64())))
}

func (s *scene) job() *Job {
	j := &Job{}
	at, off := make([]int64, s.ranks), make([]int64, s.ranks)
	for r := range s.ranks {
		off[r] = int64((2*s.rng.Float64() - 1) * float64(s.skewNS))
		if s.perClock > 0 {
			off[r] = off[r/s.perClock*s.perClock]
		}
		at[r] = 1e9 + int64(s.rng.Float64()*float64(s.startsApart))
		j.Ranks = append(j.Ranks, Rank{ID: fmt.Sprintf("rank%d", r), Host: fmt.Sprintf("host%d", r/8), Clock: int32(r), FirstNS: at[r] + off[r]})
		if s.perClock > 0 {
			j.Ranks[r].Clock = int32(r / s.perClock)
		}
	}
	s.off = off
	add := func(op int32, rank int, enter, leave int64) int32 {
		j.Events = append(j.Events, Event{Rank: int32(rank), Op: op, EnterNS: enter + off[rank], LeaveNS: leave + off[rank], EnterBoundNS: s.boundNS, LeaveBoundNS: s.boundNS})
		return int32(len(j.Events) - 1)
	}
	for step := range s.steps {
		j.Steps = append(j.Steps, strconv.Itoa(step))
		for k := range perStep {
			op := int32(len(j.Ops))
			j.Ops = append(j.Ops, Op{Key: "world/reduce", Class: "world/reduce", Group: "world", Step: int32(step), Occurrence: step*perStep + k})
			var last int64
			for r := range at {
				at[r] += stepNS/(perStep+1) + s.jitter()
				if s.slow != nil {
					at[r] += s.slow(r, step, k)
				}
				last = max(last, at[r])
			}
			done := last + 1e6
			var all []int32
			for r := range at {
				left := done + s.rng.Int64N(2000)
				all = append(all, add(op, r, at[r], left))
				at[r] = left
			}
			j.Ops[op].Gates = []Gate{{all, all}}
		}
		if s.noRing {
			continue
		}
		enter, leave := slices.Clone(at), slices.Clone(at)
		for r := range at {
			enter[r] += stepNS/(perStep+1) + s.jitter()
		}
		for r := range at { // r sends to the next
			to := (r + 1) % s.ranks
			left := max(enter[r], enter[to]) + 500e3 + s.rng.Int64N(50e3)
			if s.link != nil {
				left += s.link(r, to, step)
			}
			op := int32(len(j.Ops))
			a, b := add(op, r, enter[r], left), add(op, to, enter[to], left)
			j.Ops = append(j.Ops, Op{Key: fmt.Sprintf("send %d->%d", r, to), Class: "send", Group: "world", Step: int32(step), Occurrence: step, Gates: []Gate{{[]int32{a}, []int32{b}}, {[]int32{b}, []int32{a}}}})
			leave[r], leave[to] = max(leave[r], left), max(leave[to], left)
		}
		copy(at, leave)
	}
	return j
}

func (o *Operations) add(p Operations) {
	o.Count, o.Told, o.Late, o.Together, o.Undecided = o.Count+p.Count, o.Told+p.Told, o.Late+p.Late, o.Together+p.Together, o.Undecided+p.Undecided
}

// byRawTimes is whom raw time stamps of clocks that are up to 300 us apart blame: the rank that is last most often, and the one that is latest in the mean.
func (s *scene) byRawTimes(j *Job, seed uint64) (often, mean int) {
	rng := rand.New(rand.NewPCG(seed, 300))
	ahead, times, sums := make([]int64, s.ranks), make([]int, s.ranks), make([]int64, s.ranks)
	for r := range ahead {
		ahead[r] = rng.Int64N(300e3)
	}
	last, latest := make([]int32, len(j.Ops)), make([]int64, len(j.Ops))
	for i := range j.Events {
		x := &j.Events[i]
		ns := x.EnterNS - s.off[x.Rank] + ahead[x.Rank]
		if ns > latest[x.Op] {
			last[x.Op], latest[x.Op] = x.Rank, ns
		}
	}
	for i := range j.Events {
		x := &j.Events[i]
		sums[x.Rank] -= latest[x.Op] - (x.EnterNS - s.off[x.Rank] + ahead[x.Rank])
	}
	for _, r := range last {
		times[r]++
	}
	for r := range times {
		if times[r] > times[often] {
			often = r
		}
		if sums[r] > sums[mean] {
			mean = r
		}
	}
	return often, mean
}

// find is Find of all operations.
func find(t testing.TB, j *Job) *Document {
	t.Helper()
	d, err := Find(j, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newScene(seed uint64) *scene {
	rng := rand.New(rand.NewPCG(seed, 77))
	b := 5e3 + rng.Int64N(lateNS/6-5e3) // two of them: a third of the lateness at most
	return &scene{ranks: []int{8, 16, 32, 64}[seed%4], steps: 200, boundNS: b, skewNS: b, rng: rng, who: -1}
}

// jobs is how many jobs of each sort a test makes.
func jobs() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("PRLX_STRAGGLER_JOBS"), 10, 32); err == nil {
		return n
	}
	return 4
}

const lateNS = stepNS / 50 // 2 % of a step

// plot makes a scene late, and returns whether a document says so.
type plot func(s *scene) (right func(d *Document) bool)

func first(d *Document) string {
	if len(d.Ranks) == 0 || !d.Ranks[0].Blamed {
		return ""
	}
	return d.Ranks[0].ID
}

var plots = map[string]plot{
	"slow kernel": func(s *scene) func(*Document) bool {
		who := s.rng.IntN(s.ranks)
		s.slow = func(rank, _, segment int) int64 {
			if rank == who && segment == 1 {
				return lateNS
			}
			return 0
		}
		s.who = who
		return func(d *Document) bool { return first(d) == fmt.Sprintf("rank%d", who) }
	},
	"host stall": func(s *scene) func(*Document) bool {
		who := s.rng.IntN(s.ranks)
		s.slow = func(rank, step, segment int) int64 {
			if rank == who && step%2 == 1 && segment == 3 {
				return lateNS
			}
			return 0
		}
		s.who = who
		return func(d *Document) bool { return first(d) == fmt.Sprintf("rank%d", who) }
	},
	"slow link": func(s *scene) func(*Document) bool {
		who := s.rng.IntN(s.ranks - 1)
		s.link = func(a, _, _ int) int64 {
			if a == who {
				return lateNS
			}
			return 0
		}
		return func(d *Document) bool {
			return first(d) == "" && len(d.Links) > 0 && d.Links[0].Blamed && slices.Equal(d.Links[0].Ranks, []string{fmt.Sprintf("rank%d", who), fmt.Sprintf("rank%d", who+1)})
		}
	},
	"alternating ranks": func(s *scene) func(*Document) bool {
		who := make([]int, s.steps)
		for i := range who {
			who[i] = s.rng.IntN(s.ranks)
		}
		s.slow = func(rank, step, segment int) int64 {
			if rank == who[step] && segment == 2 {
				return lateNS
			}
			return 0
		}
		return func(d *Document) bool {
			right := 0
			for i, st := range d.Steps {
				if st.Critical == fmt.Sprintf("rank%d", who[i]) {
					right++
				}
			}
			return right*100 >= len(who)*95
		}
	},
	"5 % of the steps": func(s *scene) func(*Document) bool {
		who, when := s.rng.IntN(s.ranks), map[int]bool{}
		for len(when) < max(s.steps/20, 3) {
			when[s.rng.IntN(s.steps)] = true
		}
		s.slow = func(rank, step, segment int) int64 {
			if rank == who && when[step] && segment == 0 {
				return lateNS
			}
			return 0
		}
		s.who = who
		return func(d *Document) bool {
			named := 0
			for i, st := range d.Steps {
				if when[i] && st.Critical == fmt.Sprintf("rank%d", who) {
					named++
				}
			}
			return first(d) == fmt.Sprintf("rank%d", who) && named*10 >= len(when)*8 // somebody may have been later by chance
		}
	},
}

// TestBlame: the truth is what is said first, in at least 95 of 100 jobs of each sort.
func TestBlame(t *testing.T) {
	for name, p := range plots {
		t.Run(name, func(t *testing.T) { blames(t, name, p) })
	}
}

// blames is TestBlame for one sort of jobs.
func blames(t *testing.T, name string, p plot) {
	right, sum, raw, rawMean := uint64(0), Operations{}, uint64(0), uint64(0)
	for seed := range jobs() {
		s := newScene(seed)
		truth := p(s)
		j := s.job()
		d := find(t, j)
		sum.add(d.Operations)
		often, mean := s.byRawTimes(j, seed)
		if often == s.who {
			raw++
		}
		if mean == s.who {
			rawMean++
		}
		if truth(d) {
			right++
		} else {
			t.Logf("%s, job %d of %d ranks: %s", name, seed, s.ranks, d.Verdict)
		}
	}
	of := func(n int) float64 { return 100 * float64(n) / float64(sum.Count) }
	t.Logf("%s: right in %d of %d; of %d operations late %.1f %%, together %.1f %%, undecided %.1f %%; the last is certain in %.1f %%", name, right, jobs(), sum.Count,
		of(sum.Late), of(sum.Together), of(sum.Undecided), of(sum.Told))
	if named := newScene(0); p(named) != nil && named.who >= 0 {
		t.Logf("%s, by raw time stamps of clocks 300 us apart: the rank that is last most often is the slow one in %d of %d, the one that is latest in the mean in %d", name, raw, jobs(), rawMean)
		if name == "5 % of the steps" && (raw*2 > jobs() || rawMean*2 > jobs()) {
			t.Errorf("%s: raw time stamps are right in %d and %d of %d", name, raw, rawMean, jobs())
		}
	}
	if of(sum.Undecided) > 20 {
		t.Errorf("%s: %.1f %% of the operations are undecided", name, of(sum.Undecided))
	}
	if right*100 < jobs()*95 {
		t.Errorf("%s: right in %d of %d", name, right, jobs())
	}
}

// TestNobodyIsBlamedForNothing, and not for a recording that began later.
func TestNobodyIsBlamedForNothing(t *testing.T) {
	for seed := range jobs() {
		if d := find(t, newScene(seed).job()); d.Status == StatusBlamed {
			t.Errorf("job %d: %s", seed, d.Verdict)
		}
		s := newScene(seed)
		s.startsApart = 30e9
		d := find(t, s.job())
		if d.Status != StatusNobody || d.Time.ProfilerNS < int64(1e9) || d.Time.WaitingNS > d.Time.ProfilerNS {
			t.Errorf("job %d, recordings that begin up to 30 s apart: %s; %+v", seed, d.Verdict, d.Time)
		}
	}
}

// TestAClockAtTheEdgeOfItsBoundBlamesNobody: in these jobs nobody is slow, and one clock is ahead by nearly as much as can be: of those who are last its rank is
// the one that is certain.
func TestAClockAtTheEdgeOfItsBoundBlamesNobody(t *testing.T) {
	for _, seed := range []uint64{33, 45, 62, 88} {
		if d := find(t, newScene(seed).job()); d.Status == StatusBlamed {
			t.Errorf("job %d: %s", seed, d.Verdict)
		}
	}
}

// TestOneLongLatenessHidesNobody: a short job in which one rank is held up once, for four times as long as the slow one each time. Of who was held up once it is
// said that it was once.
func TestOneLongLatenessHidesNobody(t *testing.T) {
	found := 0
	for seed := range uint64(12) {
		s := newScene(seed)
		s.ranks, s.steps, s.boundNS, s.skewNS = 6, 20, 20e3, 20e3
		s.slow = func(rank, step, segment int) int64 {
			switch {
			case rank == 4 && step >= 10 && segment == 1:
				return 60e6
			case rank == 1 && step == 2 && segment == 1:
				return 240e6
			}
			return 0
		}
		d := find(t, s.job())
		for i, r := range d.Ranks {
			if r.Blamed && r.ID != "rank4" && (r.ID != "rank1" || r.Window.Operations != 1) {
				t.Errorf("job %d: %s", seed, d.Verdict)
			}
			if r.Blamed && r.ID == "rank4" && i == 0 {
				found++
			}
		}
	}
	if found < 11 {
		t.Errorf("the rank that was late again and again is blamed in %d of 12 jobs", found)
	}
}

// TestTheEndsOfASlowLinkAreNotBlamed: they are on the chain always, and their own scatter with them.
func TestTheEndsOfASlowLinkAreNotBlamed(t *testing.T) {
	for _, seed := range []uint64{45, 49, 96} {
		s := newScene(seed)
		truth := plots["slow link"](s)
		if d := find(t, s.job()); !truth(d) {
			t.Errorf("job %d: %s", seed, d.Verdict)
		}
	}
}

// TestTheTimeOfOperationsAddsUp.
func TestTheTimeOfOperationsAddsUp(t *testing.T) {
	s := newScene(3)
	s.skewNS, s.boundNS = 5e6, 2e6 // bounds that do not hold
	j := s.job()
	d := find(t, j)
	want := int64(0)
	for i := range j.Events {
		want += max(j.Events[i].LeaveNS-j.Events[i].EnterNS, 0)
	}
	sums := Parts{}
	for i := range d.Ranks {
		sums.add(d.Ranks[i].Time)
		if p := d.Ranks[i].Time; min(p.TransferNS, p.WaitingNS, p.ProfilerNS, p.UntoldNS) < 0 {
			t.Errorf("%+v", p)
		}
	}
	if d.Time.Total() != want || sums != d.Time {
		t.Errorf("%d ns were divided into %+v, by rank %+v", want, d.Time, sums)
	}
}

// BenchmarkManyRanks looks at 2,000 operations of 1,024 ranks.
func BenchmarkManyRanks(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	s := &scene{ranks: 1024, boundNS: 20e3, skewNS: 20e3, rng: rng, noRing: true}
	s.steps = 500
	j := s.job()
	b.ResetTimer()
	for range b.N {
		if d, err := Find(j, Options{Worst: 20}); err != nil || len(d.Ranks) != 1024 {
			b.Fatal(err)
		}
	}
}
