package straggler

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/verdict"
)

// An even job has no scatter at all, so that what is said of it can be worked out by hand: ranks of one clock take 1 ms before each of two all-reduces of a step, and
// 0.1 ms in it once all are there. The first is of "world", the second of "half", which is the same ranks.
type even struct {
	ranks, steps int
	late         map[[2]int]int64 // by rank and operation: how much longer it takes before
	long         map[int]int64    // by operation: how much longer it takes in it
	kernels      bool             // it is known that ranks run a kernel for 0.6 ms and a copy for 0.2 ms before each; lateness is the kernel's
}

const (
	evenNS   = int64(1e6)
	evenInNS = int64(1e5)
)

func (s even) job() *Job {
	j := &Job{}
	at := make([]int64, s.ranks)
	for r := range at {
		at[r] = 1e9
		j.Ranks = append(j.Ranks, Rank{ID: fmt.Sprintf("rank%d", r), FirstNS: at[r]})
	}
	if s.kernels {
		j.Names, j.Doing = []Did{{"gemm", DidKernel}, {"copy", DidCopy}}, make([][]Work, s.ranks)
	}
	for op := range 2 * s.steps {
		if op%2 == 0 {
			j.Steps = append(j.Steps, fmt.Sprint(op/2))
		}
		last := int64(0)
		for r := range at {
			if s.kernels {
				until := at[r] + 600e3 + s.late[[2]int{r, op}]
				j.Doing[r] = append(j.Doing[r], Work{0, at[r], until}, Work{1, until + 1e4, until + 1e4 + 200e3})
			}
			at[r] += evenNS + s.late[[2]int{r, op}]
			last = max(last, at[r])
		}
		group := []string{"world", "half"}[op%2]
		o := Op{Key: group + "/reduce", Class: group, Group: group, Step: int32(op / 2), Occurrence: op / 2, Members: s.ranks}
		var all []int32
		for r := range at {
			all = append(all, int32(len(j.Events)))
			j.Events = append(j.Events, Event{Rank: int32(r), Op: int32(op), EnterNS: at[r], LeaveNS: last + evenInNS + s.long[op]})
			at[r] = last + evenInNS + s.long[op]
		}
		o.Gates = []Gate{{all, all}}
		j.Ops = append(j.Ops, o)
	}
	return j
}

// opAt is when an operation of an even job begins where nothing is late before it.
func opAt(op int) int64 { return 1e9 + int64(op)*(evenNS+evenInNS) + evenNS }

func findWith(t *testing.T, j *Job, opt Options) *Document {
	t.Helper()
	d, err := Find(j, opt)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestAnEvenJobIsToldToTheNanosecond: one rank is late twice, in the first step and in a later one. All that is said of it follows.
func TestAnEvenJobIsToldToTheNanosecond(t *testing.T) {
	const first, second = int64(300e3), int64(500e3)
	s := even{ranks: 4, steps: 40, late: map[[2]int]int64{{2, 1}: first, {2, 60}: second}}
	d := findWith(t, s.job(), Options{Worst: 20})
	length := 80*(evenNS+evenInNS) - evenNS + first + second
	if d.FromNS != opAt(0) || d.ToNS != opAt(0)+length || d.LengthNS != length {
		t.Errorf("from %d to %d, %d ns, want %d", d.FromNS, d.ToNS, d.LengthNS, length)
	}
	if want := (Parts{TransferNS: 4 * 80 * evenInNS, WaitingNS: 3 * (first + second)}); d.Time != want {
		t.Errorf("%+v, want %+v", d.Time, want)
	}
	if o := d.Operations; o.Count != 80 || o.Late != 2 || o.Together != 78 || o.Told != 2 || o.TogetherNS != 0 || o.Undecided+o.ProfilerStart != 0 {
		t.Errorf("%+v", o)
	}
	r := d.Ranks[0]
	if r.ID != "rank2" || r.CostNS != first+second || r.GainNS != first+second || r.OwnNS != first+second || r.Steps != 2 || r.Last != 2 || r.Late != 2 || r.Operations != 80 ||
		*r.ReplayNS != first+second || r.Share != rounded(float64(first+second)/float64(length)) {
		t.Errorf("%+v", r)
	}
	if want := (Stability{Steps: 2, Share: 0.05, First: "0", Last: "30", FirstHalfNS: first / 20, SecondHalfNS: second / 20}); r.Stability != want {
		t.Errorf("%+v, want %+v", r.Stability, want)
	}
	if w := r.Window; w.Operations != 2 || w.Of != 80 || w.FromNS != opAt(1) || w.ToNS != opAt(60)+first+second+evenInNS || w.First != 0 || w.Last != 30 {
		t.Errorf("%+v", w)
	}
	for i, g := range d.Groups { // "world" waited more
		if g.Group != []string{"world", "half"}[i] || g.Operations != 40 || g.Told != 1 || g.Time.WaitingNS != 3*[]int64{second, first}[i] {
			t.Errorf("%+v", g)
		}
	}
	for i, st := range d.Steps {
		want, cost := "", int64(0)
		switch i {
		case 0:
			want, cost = "rank2", first
		case 30:
			want, cost = "rank2", second
		}
		if st.Critical != want || st.CostNS != cost || d.Map.CostNS[0][i] != cost || d.Map.LateNS[0][i] != cost || d.Map.GainNS[0][i] != cost {
			t.Errorf("step %d: %+v", i, st)
		}
	}
	if len(d.Worst) != 2 || d.Worst[0].CostNS != second || d.Worst[0].AtNS != opAt(60)+first+second || d.Worst[0].Step != "30" || d.Worst[1].CostNS != first || d.Worst[1].Rank != "rank2" {
		t.Errorf("%+v", d.Worst)
	}
	if one := findWith(t, s.job(), Options{Worst: 1}).Worst; len(one) != 1 || one[0].CostNS != second {
		t.Errorf("%+v", one)
	}
	if len(d.Pictures) != 2 || d.Pictures[0].Step != "30" || len(d.Pictures[0].Operations) != 2 || d.Pictures[0].Rows[0].Rank != "rank2" {
		t.Errorf("%+v", d.Pictures)
	}
}

// TestWhatWasAskedForAloneCounts: of one communicator, of some steps, and since an instant.
func TestWhatWasAskedForAloneCounts(t *testing.T) {
	s := even{ranks: 4, steps: 40, late: map[[2]int]int64{{2, 21}: 3e5, {1, 60}: 5e5}}
	for name, c := range map[string]struct {
		opt   Options
		count int
		who   string
		cost  int64
		from  int64
	}{
		"world":    {Options{Group: "world"}, 40, "rank1", 5e5, opAt(0)},
		"half":     {Options{Group: "half"}, 40, "rank2", 3e5, opAt(1)},
		"step 10":  {Options{Steps: []string{"10"}}, 2, "rank2", 3e5, opAt(20)},
		"since":    {Options{SinceNS: opAt(50) - opAt(0) + 3e5}, 30, "rank1", 5e5, opAt(50) + 3e5},
		"together": {Options{Group: "half", Steps: []string{"10", "30"}}, 2, "rank2", 3e5, opAt(21)},
	} {
		c.opt.Worst, c.opt.Tracks = 9, &Tracks{}
		d := findWith(t, s.job(), c.opt)
		if d.Operations.Count != c.count || d.Ranks[0].ID != c.who || d.Ranks[0].CostNS != c.cost || d.Ranks[1].CostNS != 0 || d.FromNS != c.from || len(d.Worst) != 1 ||
			d.Ranks[0].Operations != c.count || len(c.opt.Tracks.Ranks[0].Spans) != c.count || d.Operations.Late != 1 || d.Ranks[0].OwnNS != c.cost {
			t.Errorf("%s: %+v; %+v; from %d; %+v", name, d.Operations, d.Ranks[:2], d.FromNS-c.from, d.Worst)
		}
		for _, p := range d.Pictures {
			for _, op := range p.Operations {
				if !strings.Contains(op, c.opt.Group) {
					t.Errorf("%s: a picture shows %s", name, op)
				}
			}
		}
	}
	d := findWith(t, s.job(), Options{Steps: []string{"10", "30"}})
	if want := 2*(evenNS+2*evenInNS) + 3e5 + 5e5; d.LengthNS != want {
		t.Errorf("two steps are %d ns, want %d", d.LengthNS, want)
	}
}

// TestWhatIsNotThereIsSaid: a wrong name is a mistake of whoever asks, and gets no empty answer.
func TestWhatIsNotThereIsSaid(t *testing.T) {
	s := even{ranks: 2, steps: 4}
	for want, opt := range map[string]Options{
		`there is no step "7"`:                                           {Steps: []string{"1", "7"}},
		`no communicator has "tensor" in its name`:                       {Group: "tensor"},
		`all operations had ended 7.800 ms after the first one began`:    {SinceNS: 9e6},
		`no operation is all that was asked for: of the steps, of the`:   {SinceNS: 5e6, Steps: []string{"0"}},
		`no operation is all that was asked for: of the steps, of the c`: {SinceNS: 7.75e6, Group: "world"},
	} {
		if _, err := Find(s.job(), opt); err == nil || !strings.HasPrefix(err.Error(), want) || !fault.Is(err, fault.Usage) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if d := findWith(t, &Job{}, Options{}); d.Status != StatusInconclusive {
		t.Errorf("an empty job: %s", d.Verdict)
	}
}

// TestTheOrderOfStoringDoesNotMatter: files hold operations by rank, by end, or as they please.
func TestTheOrderOfStoringDoesNotMatter(t *testing.T) {
	s := even{ranks: 4, steps: 40, late: map[[2]int]int64{{2, 1}: 3e5, {1, 3}: 2e5, {1, 60}: 5e5, {3, 79}: 4e5}, long: map[int]int64{33: 3e5}}
	want := find(t, s.job())
	same := func(name string, j *Job) {
		d := find(t, j)
		if !reflect.DeepEqual(d.Ranks, want.Ranks) || d.Unblamed.CostNS != want.Unblamed.CostNS || d.Time != want.Time || d.Verdict != want.Verdict {
			t.Errorf("%s: %s\n%+v\nwant %s\n%+v", name, d.Verdict, d.Ranks, want.Verdict, want.Ranks)
		}
	}
	for _, first := range []int32{6, 4 + 2, 4*3 + 1, 4*60 + 1, 4*79 + 3} { // this event comes first
		j := s.job()
		swap := func(e int32) int32 {
			switch e {
			case 0:
				return first
			case first:
				return 0
			}
			return e
		}
		j.Events[0], j.Events[first] = j.Events[first], j.Events[0]
		for k := range j.Ops {
			all := j.Ops[k].Gates[0].Givers
			for i := range all {
				all[i] = swap(all[i])
			}
		}
		same(fmt.Sprintf("event %d first", first), j)
	}
	j := s.job()
	slices.Reverse(j.Ops)
	slices.Reverse(j.Events)
	for e := range j.Events {
		j.Events[e].Op = int32(len(j.Ops)-1) - j.Events[e].Op
	}
	for k := range j.Ops {
		all := j.Ops[k].Gates[0].Givers
		for i := range all {
			all[i] = int32(len(j.Events)-1) - all[i]
		}
	}
	same("from the end on", j)
}

// TestASlowLinkIsCounted: how often, how much, and for no kernel's sake.
func TestASlowLinkIsCounted(t *testing.T) {
	s := even{ranks: 4, steps: 40, long: map[int]int64{21: 4e5, 41: 4e5, 61: 4e5}, kernels: true, late: map[[2]int]int64{}}
	for op := 20; op < 24; op++ { // the chain runs through this rank, whose kernel was long
		s.late[[2]int{2, op}] = 3e5
	}
	d := findWith(t, s.job(), Options{Worst: 20})
	if len(d.Links) != 1 || d.Links[0].Times != 3 || d.Links[0].CostNS != 12e5 || d.Links[0].Group != "half" || len(d.Links[0].Ranks) != 0 || d.Links[0].Window.Operations != 3 {
		t.Errorf("%+v", d.Links)
	}
	for _, l := range d.Worst {
		if link := l.CostNS == 4e5; link != (l.Rank == "") || link != (l.Cause == "") || !link && (l.Cause != "gemm" || l.Kind != DidKernel) {
			t.Errorf("%+v", l)
		}
	}
	if r := d.Ranks[0]; r.ID != "rank2" || len(r.Causes) != 1 || r.Causes[0] != (Cause{"gemm", DidKernel, 12e5}) {
		t.Errorf("%+v", r)
	}
	for _, p := range d.Pictures {
		for _, span := range p.Rows[0].Spans {
			if (span.CostNS > 0) != (span.Cause == "gemm") {
				t.Errorf("step %s: %+v", p.Step, span)
			}
		}
	}
}

// TestADirectedLinkIsHeldAgainstTheOthersOfItsKind: in two of five operations one of four links of a ring is what takes long. Of four links chance gives none that
// much; of the one communicator all would be its own.
func TestADirectedLinkIsHeldAgainstTheOthersOfItsKind(t *testing.T) {
	s := even{ranks: 4, steps: 60, long: map[int]int64{}}
	for op := 10; op < 120; op++ {
		if op%5 < 2 {
			s.long[op] = 4e5
		}
	}
	j := s.job()
	for k := range j.Ops { // all of one kind
		j.Ops[k].Class, j.Ops[k].Group = "world", "world"
	}
	for op := range s.long {
		j.Ops[op].Slow = &Slow{From: 1, To: 2, NS: 4e5}
	}
	j.Links = []Slow{{From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 3}, {From: 3, To: 0}}
	if d := find(t, j); len(d.Links) != 1 || !d.Links[0].Directed || !d.Links[0].Blamed || d.Links[0].Times != len(s.long) || !slices.Equal(d.Links[0].Ranks, []string{"rank1", "rank2"}) {
		t.Errorf("%s; %+v", d.Verdict, d.Links)
	}
}

// TestChanceIsHeldAgainstEachRank: costs that chance explains are nobody's, those of one rank that come again are its own, and one long one hides nobody.
func TestChanceIsHeldAgainstEachRank(t *testing.T) {
	j := even{ranks: 4, steps: 1}.job()
	many := func(rank int32, times int, ns int64) (out []lateness) {
		for range times {
			out = append(out, lateness{event: rank, costNS: ns, givers: []int32{0, 1, 2, 3}})
		}
		return out
	}
	handed := many(1, 40, 100)
	for i := range handed {
		handed[i].handed = true
	}
	for name, c := range map[string]struct {
		late []lateness
		want []bool
	}{
		"even":             {slices.Concat(many(0, 20, 100), many(1, 20, 100), many(2, 20, 100), many(3, 20, 100)), []bool{false, false, false, false}},
		"one":              {slices.Concat(many(0, 5, 100), many(1, 5, 100), many(2, 60, 100), many(3, 5, 100)), []bool{false, false, true, false}},
		"one, and a pause": {slices.Concat(many(1, 1, 50_000), many(2, 200, 100)), []bool{false, false, true, false}},
		"what was handed":  {slices.Concat(many(0, 20, 100), handed, many(2, 20, 100), many(3, 20, 100)), []bool{false, false, false, false}},
	} {
		if got := j.beyondChance(c.late); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestAStepThatTookNoTimeIsAStep: an operation of nothing begins and ends in one instant, and the map has its step as the document does.
func TestAStepThatTookNoTimeIsAStep(t *testing.T) {
	j := &Job{Ranks: []Rank{{ID: "a"}, {ID: "b"}}, Steps: []string{"0", "1", "2"}}
	for op := range int32(3) {
		at := int64(1+op) * 1e6
		for r := range int32(2) {
			j.Events = append(j.Events, Event{Rank: r, Op: op, EnterNS: at, LeaveNS: at + int64(op%2)*100})
		}
		all := []int32{2 * op, 2*op + 1}
		j.Ops = append(j.Ops, Op{Class: "x", Step: op, Gates: []Gate{{all, all}}})
	}
	d := find(t, j)
	if len(d.Steps) != 3 || len(d.Map.Columns) != 3 || d.Map.Columns[2].From != "2" {
		t.Errorf("%d steps, columns %+v", len(d.Steps), d.Map.Columns)
	}
}

// TestOnlyMembersThatWereAskedForAreMissed: another communicator, or an operation of which nothing is there, keeps no verdict open.
func TestOnlyMembersThatWereAskedForAreMissed(t *testing.T) {
	make := func() *Job {
		j := even{ranks: 4, steps: 40}.job()
		for k := range j.Ops {
			if j.Ops[k].Group == "half" {
				j.Ops[k].Members = 6
			}
		}
		return j
	}
	if c := findWith(t, make(), Options{Group: "world"}).Conclusion; c.Outcome != verdict.Passed || len(c.Missing) != 0 {
		t.Errorf("%+v", c)
	}
	if c := findWith(t, make(), Options{}).Conclusion; c.Outcome != verdict.Inconclusive || len(c.Missing) != 1 || *c.Missing[0].Count != 2 {
		t.Errorf("%+v", c)
	}
	j := even{ranks: 4, steps: 40}.job()
	j.Ops = append(j.Ops, Op{Class: "world", Group: "world", Step: -1, Members: 4})
	if c := findWith(t, j, Options{}).Conclusion; len(c.Missing) != 0 {
		t.Errorf("%+v", c)
	}
	j = even{ranks: 4, steps: 40}.job() // one rank is not there at one operation
	last := &j.Ops[len(j.Ops)-1].Gates[0]
	all := last.Givers[:3]
	*last, j.Events = Gate{all, all}, j.Events[:len(j.Events)-1]
	if c := findWith(t, j, Options{}).Conclusion; len(c.Missing) != 1 || *c.Missing[0].Count != 1 {
		t.Errorf("%+v", c)
	}
}

// TestTheNextToLastIsOneThatGives: who only takes says nothing of how late the last giver was.
func TestTheNextToLastIsOneThatGives(t *testing.T) {
	j := &Job{Ranks: []Rank{{ID: "a"}, {ID: "b"}, {ID: "c"}}, Ops: []Op{{Gates: []Gate{{[]int32{0, 1}, []int32{2}}}}}}
	for r, at := range []int64{100, 900, 700} {
		j.Events = append(j.Events, Event{Rank: int32(r), EnterNS: at, LeaveNS: 1000, EnterBoundNS: 1})
	}
	if p := j.gates()[2]; p.last != 1 || p.second != 100 || p.marginNS != 800 {
		t.Errorf("%+v", p)
	}
	j.Ops[0].Gates[0] = Gate{[]int32{1}, []int32{0, 2}} // a broadcast: those who wait are all there is to compare with
	if p := j.gates()[2]; p.last != 1 || p.second != 700 || p.marginNS != 200 {
		t.Errorf("%+v", p)
	}
}

// TestTheTimeOfOneEventIsDivided: one rank enters at 100 and leaves at 1100, the one that it waits for enters at 400.
func TestTheTimeOfOneEventIsDivided(t *testing.T) {
	for _, c := range []struct {
		bound, launch, first int64
		begins               bool
		want                 Parts
	}{
		{0, 0, 0, false, Parts{TransferNS: 700, WaitingNS: 300}},
		{50, 0, 0, false, Parts{TransferNS: 650, WaitingNS: 250, UntoldNS: 100}},
		{0, 250, 0, false, Parts{TransferNS: 700, WaitingNS: 150, LaunchNS: 150}},
		{0, 390, 0, false, Parts{TransferNS: 700, WaitingNS: 10, LaunchNS: 290}},
		{0, 600, 0, false, Parts{TransferNS: 700, LaunchNS: 300}}, // cannot be: it counts as far as was waited
		{0, 50, 0, false, Parts{TransferNS: 700, WaitingNS: 300}},
		{0, 0, 200, true, Parts{TransferNS: 700, WaitingNS: 200, ProfilerNS: 100}},
		{0, 250, 200, true, Parts{TransferNS: 700, WaitingNS: 150, ProfilerNS: 100, LaunchNS: 50}},
		{0, 0, 200, false, Parts{TransferNS: 700, WaitingNS: 300}},
		{50, 250, 200, true, Parts{TransferNS: 650, WaitingNS: 150, ProfilerNS: 50, LaunchNS: 50, UntoldNS: 100}},
	} {
		j := &Job{Ranks: []Rank{{ID: "a"}, {ID: "b", Clock: 1, FirstNS: c.first}}, Events: []Event{
			{EnterNS: 100, LeaveNS: 1100, EnterBoundNS: c.bound}, {Rank: 1, EnterNS: 400, LeaveNS: 1100, LaunchNS: c.launch},
		}}
		if got := j.divide(0, &passage{last: 1, second: 100, boundNS: c.bound}, c.begins); got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
		if c.want.Total() != 1000 {
			t.Errorf("%+v is %d", c.want, c.want.Total())
		}
	}
	for bound, untold := range map[int64]int64{100: 0, 300: 0, 350: 50, 5000: 700} { // of the last itself: how long others may have been the last
		j := &Job{Ranks: []Rank{{ID: "b"}}, Events: []Event{{EnterNS: 400, LeaveNS: 1100, LaunchNS: 450}}}
		if got := j.divide(0, &passage{last: 0, second: 100, boundNS: bound}, true); got != (Parts{TransferNS: 700 - untold, UntoldNS: untold}) {
			t.Errorf("bound of %d: %+v", bound, got)
		}
	}
}

// TestAShortRunBlamesNobodyForOnePause: of few operations one that takes twice as long is a large part.
func TestAShortRunBlamesNobodyForOnePause(t *testing.T) {
	for steps, blamed := range map[int]bool{20: false, 60: true} {
		s := even{ranks: 4, steps: steps, late: map[[2]int]int64{{2, 30}: 9e6}}
		if d := find(t, s.job()); d.Ranks[0].ID != "rank2" || d.Ranks[0].Blamed != blamed {
			t.Errorf("%d steps: %s", steps, d.Verdict)
		}
	}
}

// TestAPictureShowsWhoWasLateInItsStep, whoever was in others.
func TestAPictureShowsWhoWasLateInItsStep(t *testing.T) {
	d := find(t, even{ranks: 4, steps: 40, late: map[[2]int]int64{{1, 21}: 3e5, {3, 60}: 5e5}}.job())
	if len(d.Pictures) != 2 || d.Pictures[0].Rows[0].Rank != "rank3" || d.Pictures[1].Step != "10" || d.Pictures[1].Rows[0].Rank != "rank1" || d.Pictures[1].Rows[0].CostNS != 3e5 {
		t.Errorf("%+v", d.Pictures)
	}
}

// TestStepsThatWereFoundElsewhere: an operation is in the step in which the rank of the steps entered it, or, without that one, in which its last member did.
func TestStepsThatWereFoundElsewhere(t *testing.T) {
	job := func() *Job {
		return &Job{Ranks: make([]Rank, 3), Ops: make([]Op, 4), Events: []Event{
			{Rank: 1, Op: 0, EnterNS: 50},
			{Rank: 0, Op: 0, EnterNS: 60},
			{Rank: 1, Op: 1, EnterNS: 350},
			{Rank: 0, Op: 1, EnterNS: 150},
			{Rank: 2, Op: 1, EnterNS: 360}, // rank 0 entered in the first, others in the third
			{Rank: 1, Op: 2, EnterNS: 120},
			{Rank: 2, Op: 2, EnterNS: 250},
			{Rank: 0, Op: 3, EnterNS: 310},
			{Rank: 0, Op: 3, EnterNS: 90}, // its first entry counts
		}}
	}
	j, steps := job(), []FoundStep{{"a", 100}, {"b", 200}, {"c", 300}}
	if !j.UseSteps(0, steps) || j.StepsBy != StepsByCycles || !slices.Equal(j.Steps, []string{"a", "b", "c"}) {
		t.Errorf("%+v", j)
	}
	for k, want := range []int32{-1, 0, 1, 2} {
		if j.Ops[k].Step != want {
			t.Errorf("operation %d is in step %d, want %d", k, j.Ops[k].Step, want)
		}
	}
	if j := job(); j.UseSteps(0, []FoundStep{{"a", 20}}) || j.Steps != nil || j.StepsBy != "" {
		t.Errorf("a single step is used: %+v", j)
	}
}

// TestWhatTookLonger: by half of it, else by its kind, else nobody knows.
func TestWhatTookLonger(t *testing.T) {
	const gemm, norm, copied = int32(0), int32(1), int32(2)
	for name, c := range map[string]struct {
		took, usual map[int32]int64
		want        int32
	}{
		"all of it":                {map[int32]int64{gemm: 300}, map[int32]int64{gemm: 100}, gemm},
		"a nanosecond":             {map[int32]int64{gemm: 101}, map[int32]int64{gemm: 100}, gemm},
		"half of it":               {map[int32]int64{gemm: 200, between: 200}, map[int32]int64{gemm: 100, between: 100}, gemm},
		"less than half":           {map[int32]int64{gemm: 200, between: 201}, map[int32]int64{gemm: 100, between: 100}, between},
		"two kernels of one kind":  {map[int32]int64{gemm: 150, norm: 150, between: 150}, map[int32]int64{gemm: 100, norm: 100, between: 60}, between - 1},
		"what others did not do":   {map[int32]int64{copied: 300}, nil, copied},
		"less of one, more of one": {map[int32]int64{gemm: 0, norm: 500}, map[int32]int64{gemm: 300, norm: 100}, norm},
		"nothing":                  {map[int32]int64{between: 200}, map[int32]int64{between: 200}, between},
	} {
		j := &Job{Ranks: make([]Rank, 1), Names: []Did{{"gemm", DidKernel}, {"norm", DidKernel}, {"copy", DidCopy}}, Doing: make([][]Work, 1)}
		at := int64(1000)
		for name, ns := range c.took {
			if name != between && ns > 0 {
				j.Doing[0] = append(j.Doing[0], Work{name, at, at + ns})
			}
			at += ns
		}
		slices.SortFunc(j.Doing[0], func(a, b Work) int { return int(a.FromNS - b.FromNS) })
		j.Events = []Event{{LeaveNS: 1000}, {EnterNS: at}}
		m := &measures{job: j, before: []int32{-1, 0}}
		if got := m.because(1, c.usual); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestEndsRelateClocksThatDrift: also where operations are not stored in the order of time.
func TestEndsRelateClocksThatDrift(t *testing.T) {
	j := even{ranks: 4, steps: 2000}.job()
	for r := range j.Ranks {
		j.Ranks[r].Clock = int32(r)
	}
	for e := range j.Events {
		x := &j.Events[e]
		x.EnterBoundNS, x.LeaveBoundNS = 50e6, 50e6
		if x.Rank == 2 {
			x.EnterNS, x.LeaveNS = x.EnterNS+(x.EnterNS-1e9)/5000, x.LeaveNS+(x.LeaveNS-1e9)/5000
		}
		x.Op = x.Op * 7 % int32(len(j.Ops)) // 7 and 4000 have no common divisor
	}
	ops := slices.Clone(j.Ops)
	for k := range ops {
		j.Ops[k*7%len(ops)] = ops[k]
	}
	j.RelateByEnds()
	at := map[int32]int64{}
	for _, x := range j.Events {
		if had, ok := at[x.Op]; !ok {
			at[x.Op] = x.LeaveNS
		} else if off := x.LeaveNS - had; off > 20e3 || off < -20e3 {
			t.Fatalf("rank %d leaves operation %d %d ns after the others", x.Rank, x.Op, off)
		}
	}
}

// TestAClockWithFewEndsPullsNobody: what two ranks did alone says nothing where one of them cannot be related.
func TestAClockWithFewEndsPullsNobody(t *testing.T) {
	j := even{ranks: 4, steps: 40}.job()
	for r := range j.Ranks {
		j.Ranks[r].Clock = int32(r)
	}
	for k := range j.Ops { // rank 3 takes part in the first 25 only, with rank 0 alone; then the first three go on
		all := j.Ops[k].Gates[0].Givers
		all = []int32{all[0], all[1], all[2]}
		if k < 25 {
			all = []int32{all[0], int32(4*k + 3)}
		}
		j.Ops[k].Gates = []Gate{{all, all}}
	}
	j.Events = slices.Clone(j.Events)
	var kept []Event
	place := map[int32]int32{}
	for e, x := range j.Events {
		x.EnterBoundNS, x.LeaveBoundNS = 50e6, 50e6
		if slices.Contains(j.Ops[x.Op].Gates[0].Givers, int32(e)) {
			place[int32(e)] = int32(len(kept))
			kept = append(kept, x)
		}
	}
	j.Events = kept
	for k := range j.Ops {
		all := j.Ops[k].Gates[0].Givers
		for i := range all {
			all[i] = place[all[i]]
		}
	}
	before := slices.Clone(j.Events)
	if bound := j.RelateByEnds(); bound != 0 {
		t.Errorf("bound of %d ns", bound)
	}
	for e := range j.Events {
		if j.Events[e].LeaveNS != before[e].LeaveNS {
			t.Fatalf("rank %d is moved by %d ns at operation %d", j.Events[e].Rank, j.Events[e].LeaveNS-before[e].LeaveNS, j.Events[e].Op)
		}
	}
}

// TestARankOfWhichNothingIsKnown is said without a cause.
func TestARankOfWhichNothingIsKnown(t *testing.T) {
	r := RankCost{ID: "rank2", Host: "a", Device: "GPU 1", CostNS: 2e6, Share: 0.5, Stability: Stability{Steps: 3}}
	for steps, want := range map[int]string{
		1: "rank2 on a (GPU 1) was late: it cost 2.000 ms, 50 % of the time",
		9: "rank2 on a (GPU 1) was late in 3 of 9 steps: it cost 2.000 ms, 50 % of the time",
	} {
		if got := r.said(steps, 0, Duration); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	r.Causes = []Cause{{Name: "gemm"}}
	if got := r.said(1, 0, Duration); !strings.HasSuffix(got, ", most of it in gemm") {
		t.Errorf("%q", got)
	}
}
