package cycle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/cycletest"
)

// traceOf makes a trace of cases: one device of one rank each.
func traceOf(cases ...*cycletest.Case) *kernels.Trace {
	t := &kernels.Trace{Path: "case.json", Format: "chrome"}
	ids := map[string]uint32{}
	for _, c := range cases {
		for _, n := range c.Names {
			if _, ok := ids[n]; !ok {
				ids[n] = 0
				t.Names = append(t.Names, n)
			}
		}
	}
	slices.Sort(t.Names)
	for i, n := range t.Names {
		ids[n] = uint32(i)
	}
	for rank, c := range cases {
		s := kernels.Sequence{Rank: rank, Device: "GPU 0", Streams: []kernels.Stream{{Name: "7"}, {Name: "20", Communication: true}}}
		for i, symbol := range c.Symbols {
			s.Name = append(s.Name, ids[c.Names[symbol]])
			s.StartNS = append(s.StartNS, c.StartNS[i])
			s.Stream = append(s.Stream, c.Stream[i])
			s.Streams[c.Stream[i]].Kernels++
		}
		s.Streams[1].Collectives = s.Streams[1].Kernels
		if s.Streams[1].Kernels == 0 {
			s.Streams = s.Streams[:1]
		}
		s.SetDurations(c.DurNS)
		t.Sequences = append(t.Sequences, s)
	}
	return t
}

func mustFind(t testing.TB, tr *kernels.Trace, opt Options) *Result {
	t.Helper()
	r, err := Find(nil, tr, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func encoded(t testing.TB, d any) []byte {
	t.Helper()
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte(":null")) && !onlyAllowedNulls(b) {
		t.Errorf("the document has a null that its description does not allow")
	}
	return b
}

func onlyAllowedNulls(b []byte) bool {
	for _, allowed := range []string{`"drift":null`, `"compat":null`, `"of":null`, `"count":null`, `"limit":null`} {
		b = bytes.ReplaceAll(b, []byte(allowed), nil)
	}
	return !bytes.Contains(b, []byte(":null"))
}

func describeDoc(d *cycledoc.Document) string {
	out := d.Verdict
	for _, l := range d.Levels {
		for _, c := range l.Classes {
			out += fmt.Sprintf("\n  %s (%s): %q %d x %d edited %d, %s %.2f (%s), wall %.0f, confidence %.2f, children %v",
				l.Name, c.Source, c.Name, c.Period, c.Count, c.Edited, c.Phase, c.PhaseScore, c.PhaseReason, c.WallNS.Mean, c.Confidence, c.Children)
		}
	}
	return out
}

// seeds is how many cases of each family a test looks at.
func seeds(t *testing.T, standard int) int {
	t.Helper()
	if s := os.Getenv("PRLX_CYCLE_SEEDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return standard
}

// level is the name of the level that a name of the truth belongs to.
func levelOf(family, name string) string {
	switch {
	case strings.HasPrefix(name, "layer"), family == "speculative" && name == "step draft":
		return cycledoc.LevelLayer
	case strings.HasPrefix(name, "microbatch"):
		return cycledoc.LevelMicrobatch
	case name == "request":
		return cycledoc.LevelLoop
	}
	return cycledoc.LevelStep
}

// classFor is the class whose borders are those of the truth, exactly.
func classFor(d *cycledoc.Document, want cycletest.Repeat) (*cycledoc.Class, string) {
	for i := range d.Levels {
		for k := range d.Levels[i].Classes {
			c := &d.Levels[i].Classes[k]
			if c.Period != want.Period || len(c.Borders) != len(want.Reps) {
				continue
			}
			same := true
			for n, b := range c.Borders {
				same = same && int(b.First) == want.Reps[n].Start && int(b.End) == want.Reps[n].End
			}
			if same {
				return c, d.Levels[i].Name
			}
		}
	}
	return nil, ""
}

func TestLevelsStepsAndPhasesAreThoseOfTheTruth(t *testing.T) {
	labels, right, swapped := 0, 0, 0
	for _, family := range cycletest.Families() {
		exact, named, cases := 0, 0, seeds(t, 6)
		for seed := range cases {
			c := cycletest.Make(family, uint64(seed), cycletest.Options{Kernels: 2000 + 3000*(seed%7), Jitter: 0.3})
			d := mustFind(t, traceOf(c), Options{}).Document()
			if family == "none" {
				if d.Status != cycledoc.StatusNone || len(d.Levels) > 0 || !strings.HasPrefix(d.Verdict, "No cycle") {
					t.Errorf("none, seed %d: %s", seed, describeDoc(d))
				}
				exact++
				named++
				continue
			}
			ok, nameOK := true, true
			for _, want := range c.Truth {
				class, level := classFor(d, want)
				if class == nil {
					ok = false
					t.Errorf("%s, seed %d: %s of %d kernels x %d has no class\n%s", family, seed, want.Name, want.Period, len(want.Reps), describeDoc(d))
					continue
				}
				if level != levelOf(family, want.Name) {
					nameOK = false
					t.Errorf("%s, seed %d: %s is called %s\n%s", family, seed, want.Name, level, describeDoc(d))
				}
				if want.Phase != "" {
					labels++
					switch {
					case class.Phase == want.Phase:
						right++
					case class.Phase == "prefill" && want.Phase == "decode", class.Phase == "decode" && want.Phase == "prefill":
						swapped++
					default:
						t.Logf("%s, seed %d: %s of phase %s is labelled %s: %s", family, seed, want.Name, want.Phase, class.Phase, class.PhaseReason)
					}
				}
			}
			if ok {
				exact++
			}
			if nameOK {
				named++
			}
		}
		t.Logf("%-15s %d of %d cases exact, levels named as in the truth in %d", family, exact, cases, named)
	}
	t.Logf("phases: %d of %d right, %d swapped", right, labels, swapped)
	if swapped > 0 || 100*right < 99*labels {
		t.Errorf("%d of %d phases are right, %d swapped", right, labels, swapped)
	}
}

func TestTheSameBytesForAnyNumberOfWorkers(t *testing.T) {
	c := cycletest.Make("multi-prefill", 5, cycletest.Options{Kernels: 8000, Noise: 0.05, Jitter: 0.3})
	other := cycletest.Make("multi-prefill", 5, cycletest.Options{Kernels: 8000})
	var first []byte
	for run := range 20 {
		j := job.New(context.Background(), job.Options{Workers: 1 + run%8})
		r, err := Find(j, traceOf(c, other), Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := encoded(t, r.Document())
		if first == nil {
			first = got
		} else if !bytes.Equal(first, got) {
			t.Fatalf("run %d with %d workers differs", run, 1+run%8)
		}
	}
}

func TestACancelledSearchSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Find(job.New(ctx, job.Options{}), traceOf(cycletest.Make("training", 1, cycletest.Options{})), Options{})
	if !fault.Is(err, fault.Cancelled) {
		t.Errorf("%v", err)
	}
}

func TestOptionsThatMeanNothingAreRefused(t *testing.T) {
	for _, opt := range []Options{
		{Keys: "fuzzy"},
		{Streams: "some"},
		{PhaseMode: "first"},
		{EditPercent: 80},
		{MaxLevels: 9},
		{Compat: &cycledoc.CompatSettings{OuterMatch: 1.5}},
		{Compat: &cycledoc.CompatSettings{MinAnchorCount: 1}},
	} {
		if _, err := Find(nil, &kernels.Trace{}, opt); !fault.Is(err, fault.Usage) {
			t.Errorf("%+v: %v", opt, err)
		}
	}
}

func TestATraceWithoutKernelsHasNoCycle(t *testing.T) {
	d := mustFind(t, &kernels.Trace{}, Options{}).Document()
	if d.Status != cycledoc.StatusNone || d.Verdict != "This trace holds no kernels of a GPU or TPU." {
		t.Errorf("%s: %s", d.Status, d.Verdict)
	}
	encoded(t, d)
}

func TestOneKernelSaidManyTimesIsACycleOfOne(t *testing.T) {
	tr := series(5000, func(i int) (string, int64, int64) { return "k", int64(i) * 1000, 800 })
	d := mustFind(t, tr, Options{}).Document()
	if len(d.Levels) != 1 || d.Levels[0].Classes[0].Period != 1 || d.Levels[0].Classes[0].Count != 5000 {
		t.Errorf("%s", describeDoc(d))
	}
	if !strings.Contains(d.Verdict, " of 1 kernel, ") {
		t.Errorf("the verdict of a cycle of one kernel is %q", d.Verdict)
	}
}

func TestAKernelThatRunsOverTheBorderIsBusyUpToIt(t *testing.T) {
	tr := series(600, func(i int) (string, int64, int64) {
		if i%6 == 5 {
			return "f", int64(i) * 1000, 9500 // over the five of the next repetition
		}
		return string(rune('a' + i%6)), int64(i) * 1000, 500
	})
	c := mustFind(t, tr, Options{}).Document().Levels[0].Classes[0]
	if c.Period != 6 || c.GapNS.Min < 0 || c.WallNS.P50 != 6000 || c.BusyNS.P50 > 6000 || !near(c.WallNS.Mean, c.BusyNS.Mean+c.GapNS.Mean) {
		t.Errorf("period %d, wall %+v, busy %+v, gap %+v", c.Period, c.WallNS, c.BusyNS, c.GapNS)
	}
}

// series makes a trace of one stream.
func series(n int, kernel func(i int) (name string, start, dur int64)) *kernels.Trace {
	c := &cycletest.Case{}
	ids := map[string]uint32{}
	for i := range n {
		name, start, dur := kernel(i)
		if _, ok := ids[name]; !ok {
			ids[name] = uint32(len(c.Names))
			c.Names = append(c.Names, name)
		}
		c.Symbols = append(c.Symbols, ids[name])
		c.StartNS, c.DurNS, c.Stream = append(c.StartNS, start), append(c.DurNS, dur), append(c.Stream, 0)
	}
	return traceOf(c)
}

// TestTimesAreThoseOfASlowTwin measures a noisy case once more, kernel by kernel, from the document's own borders.
func TestTimesAreThoseOfASlowTwin(t *testing.T) {
	c := cycletest.Make("dense-moe", 2, cycletest.Options{Kernels: 6000, Noise: 0.05})
	tr := traceOf(c)
	d := mustFind(t, tr, Options{}).Document()
	s := &tr.Sequences[0]
	for _, l := range d.Levels {
		starts := map[int64]bool{}
		for _, class := range l.Classes {
			for _, b := range class.Borders {
				starts[b.First] = true
			}
		}
		for _, class := range l.Classes {
			var walls, busies, sums []int64
			exact := make([][]int64, class.Period)
			for _, b := range class.Borders {
				wall := s.EndNS(int(b.End)-1) - s.StartNS[b.First]
				if starts[b.End] {
					wall = s.StartNS[b.End] - s.StartNS[b.First]
				}
				sum := int64(0)
				for i := b.First; i < b.End; i++ {
					sum += s.DurNS(int(i))
					if b.Edits == 0 {
						exact[i-b.First] = append(exact[i-b.First], s.DurNS(int(i)))
					}
				}
				walls, busies, sums = append(walls, wall), append(busies, sum), append(sums, sum) // one stream: kernels do not overlap
			}
			same(t, class.Name+" wall", class.WallNS, walls)
			same(t, class.Name+" busy", class.BusyNS, busies)
			same(t, class.Name+" kernels", class.KernelNS, sums)
			for i, slot := range class.Kernels {
				if class.Edited > 0 {
					if slot.Count < int64(len(exact[i])) || slot.Count > class.Count {
						t.Errorf("%s slot %d: count %d of %d", class.Name, i, slot.Count, class.Count)
					}
					continue
				}
				same(t, fmt.Sprintf("%s slot %d", class.Name, i), cycledoc.Times{
					Count: slot.Count, Mean: slot.MeanNS, P50: slot.P50NS, P99: slot.P99NS, Min: slot.MinNS, Max: slot.MaxNS, StdDev: slot.StdDevNS, CV: slot.CV,
				}, exact[i])
			}
		}
	}
}

func same(t *testing.T, what string, got cycledoc.Times, values []int64) {
	t.Helper()
	slices.Sort(values)
	n := len(values)
	if int(got.Count) != n || got.Min != values[0] || got.Max != values[n-1] || got.P50 != values[(n+1)/2-1] || got.P99 != values[(99*n+99)/100-1] {
		t.Errorf("%s: %+v, not those of %d values from %d to %d", what, got, n, values[0], values[n-1])
	}
	sum := 0.0
	for _, v := range values {
		sum += float64(v)
	}
	mean := sum / float64(n)
	squares := 0.0
	for _, v := range values {
		squares += (float64(v) - mean) * (float64(v) - mean)
	}
	if !near(got.Mean, mean) || !near(got.StdDev*got.StdDev, squares/float64(n)) {
		t.Errorf("%s: mean %v stddev %v, not %v and the root of %v", what, got.Mean, got.StdDev, mean, squares/float64(n))
	}
}

func near(a, b float64) bool { return max(a-b, b-a) <= 1e-6*max(1, a, b) }
