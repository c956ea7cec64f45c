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
		at[r] = 1e9 + int64(s.rng.Float64()*float64(s.startsApart))
		j.Ranks = append(j.Ranks, Rank{ID: fmt.Sprintf("rank%d", r), Host: fmt.Sprintf("host%d", r/8), Clock: int32(r), FirstNS: at[r] + off[r]})
	}
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
	return &scene{ranks: []int{8, 16, 32, 64}[seed%4], steps: 200, boundNS: b, skewNS: b, rng: rng}
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
		right, told, ops := uint64(0), 0, 0
		for seed := range jobs() {
			s := newScene(seed)
			truth := p(s)
			d := find(t, s.job())
			told, ops = told+d.Operations.Told, ops+d.Operations.Count
			if truth(d) {
				right++
			} else {
				t.Logf("%s, job %d of %d ranks: %s", name, seed, s.ranks, d.Verdict)
			}
		}
		t.Logf("%s: right in %d of %d, the last is certain in %.1f %% of the operations", name, right, jobs(), 100*float64(told)/float64(ops))
		if right*100 < jobs()*95 {
			t.Errorf("%s: right in %d of %d", name, right, jobs())
		}
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
