package diff

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// tickets is a launch whose two warps store rows of an array that they draw by lot, as a ticket or a compaction does.
func tickets(seed uint64, value func(row, element int) float32) run {
	r := run{warps: way(3)}
	order := rand.New(rand.NewPCG(seed, 1)).Perm(8)
	for at, of := range order {
		for i := range 32 {
			r.stores = append(r.stores, stored{uint64(at % 2), 4, 0, 32*at + i, value(of, i)})
		}
	}
	return r
}

// judgeNoise compares a with b, beside runs that should be equal to a.
func judgeNoise(t *testing.T, a, b run, equal ...run) *Document {
	t.Helper()
	x, y := a.open(t, "a.prlx"), b.open(t, "b.prlx")
	var runs []*warptrace.Trace
	for _, e := range equal {
		runs = append(runs, e.open(t, "equal.prlx"))
	}
	r := compared(t, x, y, Options{}, 1)
	_, err := ApplyBaseline(job.New(t.Context(), job.Options{}), r, x, y, runs, nil, Options{})
	must(t, err)
	return documentOf(t, r)
}

func TestWhatIsStoredElsewhereMustBeTheSameValues(t *testing.T) {
	right := func(row, i int) float32 { return float32(100*row + i) }
	nan := func(int, int) float32 { return float32(math.NaN()) }
	twice := func(row, i int) float32 { return 2 * right(row, i) }
	one := func(row, i int) float32 {
		if row == 3 && i == 7 {
			return -1
		}
		return right(row, i)
	}
	old := func(r run) run {
		r.old = true
		return r
	}
	for _, c := range []struct {
		name string
		b    run
		old  bool
		want string
		says string
	}{
		{"one more equal run", tickets(9, right), false, StatusIdentical, "same but for noise"},
		{"no number", tickets(9, nan), false, StatusDiverged, "output out differs"},
		{"twice", tickets(9, twice), false, StatusDiverged, "output out differs"},
		{"one element", tickets(9, one), false, StatusDiverged, "output out differs"},
		{"not recorded", tickets(9, right), true, StatusInconclusive, "which values were stored is not recorded"},
		{"not recorded, no number", tickets(9, nan), true, StatusInconclusive, "which values were stored is not recorded"},
	} {
		a, equal := tickets(1, right), []run{tickets(2, right), tickets(3, right)}
		if c.old {
			a, c.b, equal[0], equal[1] = old(a), old(c.b), old(equal[0]), old(equal[1])
		}
		if d := judgeNoise(t, a, c.b, equal...); d.Status != c.want || !strings.Contains(d.Verdict, c.says) {
			t.Errorf("%s: %s: %s", c.name, d.Status, d.Verdict)
		}
	}
}

func TestAnEditedStoreIsNoNoise(t *testing.T) {
	right := func(row, i int) float32 { return float32(100*row + i) }
	texts := func(line string) *warptrace.Texts {
		return &warptrace.Texts{Functions: []warptrace.Text{{File: "k.py", Function: "k", FirstLine: 14, Text: line + "\n"}}}
	}
	a, b, equal := tickets(1, right), tickets(9, right), tickets(2, right)
	a.texts, equal.texts, b.texts = texts("tl.store(o + p, v)"), texts("tl.store(o + p, v)"), texts("tl.store(o + p + 1, v)")
	d := judgeNoise(t, a, b, equal)
	if d.Status != StatusInconclusive || d.Passed || !strings.Contains(d.Verdict, "was edited") {
		t.Errorf("%s: %s", d.Status, d.Verdict)
	}
	b.texts = texts("tl.store(o + p, v)  # as before")
	if d := judgeNoise(t, a, b, equal); d.Status != StatusIdentical {
		t.Errorf("a comment alone: %s: %s", d.Status, d.Verdict)
	}
}

// rounded is a run whose sums are off by a few units in the last place, times scale.
func rounded(rng *rand.Rand, n int, scale, ulps float64) moments {
	m := moments{known: true, count: uint64(n)}
	for i := range n {
		v := scale * (1 + 0.37*float64(i%19)) * float64(1-i%2*2)
		bits := math.Float32bits(float32(v)) + uint32(math.Round(rng.NormFloat64()*ulps))
		m.AddPlaced(int64(4*i), uint64(bits), 4)
	}
	return m
}

func TestValuesAreNoiseWithinWhatEqualRunsShow(t *testing.T) {
	rng := rand.New(rand.NewPCG(20261127, 4))
	double := doubledBits(warptrace.TypeF32, 1000, 0)
	wrong := map[evidence]int{}
	const rounds = 4000
	for k := range rounds {
		equal := make([]moments, 2+k%4)
		for i := range equal {
			equal[i] = rounded(rng, 1000, 1, 3)
		}
		wrong[held(equal, rounded(rng, 1000, 1, 3), double)]++
		if got := held(equal, rounded(rng, 1000, 2, 3), double); got != valuesDiffer {
			t.Fatalf("round %d, %d equal runs: twice the values are %d", k, len(equal), got)
		}
	}
	if wrong[valuesNear]+wrong[valuesSame] < rounds-rounds/500 || wrong[valuesDiffer] > rounds/500 {
		t.Errorf("one more equal run: %v of %d", wrong, rounds)
	}
	wild := []moments{rounded(rng, 50, 1, 1e7), rounded(rng, 50, 1, 1e7)}
	if got := held(wild, rounded(rng, 50, 1, 1e7), doubledBits(warptrace.TypeF32, 50, 0)); got != valuesCoarse {
		t.Errorf("two runs that are far apart tell %d", got)
	}
}

func TestQuantilesOfStudent(t *testing.T) {
	for _, c := range []struct {
		freedom int
		want    float64 // two-sided, 0.001: any table
	}{{1, 636.62}, {2, 31.599}, {3, 12.924}, {4, 8.610}, {5, 6.869}, {10, 4.587}, {30, 3.646}} {
		if got := studentQuantile(c.freedom, 0.001); math.Abs(got-c.want) > 0.006*c.want {
			t.Errorf("%d degrees of freedom: got %g, want %g", c.freedom, got, c.want)
		}
	}
}

func TestAnEqualRunThatDoesNotSayWhatItWroteTellsNothingOfValues(t *testing.T) {
	right := func(row, i int) float32 { return float32(100*row + i) }
	silent := tickets(3, right)
	silent.nothing = true
	d := judgeNoise(t, tickets(1, right), tickets(9, right), tickets(2, right), silent)
	if d.Status != StatusInconclusive || !strings.Contains(d.Verdict, "which values were stored is not recorded") {
		t.Errorf("%s: %s", d.Status, d.Verdict)
	}
}

func TestFindingsOfOneSideAreShownWhereTheOtherSaysNothing(t *testing.T) {
	found := run{warps: way(3), stores: row(0, 4, 0, 0, 32, 1)}
	found.findings = []warptrace.Finding{{Check: "out-of-bounds", Site: warptrace.NoSite, Function: "k", File: "k.py", Line: 12, Count: 4}}
	silent := found
	silent.nothing = true
	d := judge(t, silent, found, Options{})
	if d.Status != StatusInconclusive || len(d.Findings) != 1 || !strings.Contains(d.Verdict, "only in B, and the other was not checked for it") {
		t.Errorf("%s: %s", d.Status, d.Verdict)
	}
}
