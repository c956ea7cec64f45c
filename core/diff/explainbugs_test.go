package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/testing/sweep"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// seededBug runs a generated program without and with a bug.
func seededBug(t *testing.T, seed uint64, name string, l warptracetest.Launch) (a, b *warptracetest.Recording, bug *warptracetest.Bug) {
	t.Helper()
	p := warptracetest.NewProgram(warptracetest.Config{Seed: seed, Race: name == "race"})
	q, err := p.WithBug(name)
	if err != nil {
		t.Fatal(err)
	}
	a = p.Run(l)
	if name == "race" {
		l.Run = seed + 100 // another order of warps
	}
	return a, q.Run(l), q.Bug
}

// confusion counts verdicts by bug.
type confusion struct {
	of                         map[string]map[string]int
	right, sure, wrong, judged int
}

func (c *confusion) add(bug *warptracetest.Bug, why *Explanation) {
	c.judged++
	if c.of[bug.Name] == nil {
		c.of[bug.Name] = make(map[string]int)
	}
	c.of[bug.Name][why.Class]++
	switch {
	case why.Class == bug.Class:
		c.right++
	case why.Class != classUnknown && why.Confidence != confidenceWeak:
		c.sure++
	case why.Class != classUnknown:
		c.wrong++
	}
}

// String is the table that docs/concepts/explain.md tells readers to print.
func (c *confusion) String() string {
	var b strings.Builder
	columns := append(slices.Clone(classNames[:]), classUnknown)
	fmt.Fprintf(&b, "%-10s", "bug")
	for _, name := range columns {
		fmt.Fprintf(&b, " %13s", name)
	}
	for _, bug := range warptracetest.BugNames() {
		fmt.Fprintf(&b, "\n%-10s", bug)
		for _, name := range columns {
			fmt.Fprintf(&b, " %13d", c.of[bug][name])
		}
	}
	fmt.Fprintf(&b, "\n%d of %d right, %d wrong and likely or strong, %d wrong and weak, %d unknown",
		c.right, c.judged, c.sure, c.wrong, c.judged-c.right-c.sure-c.wrong)
	return b.String()
}

// TestClassesOfSeededBugs measures the classification on programs with one bug each, with everything recorded and with less.
func TestClassesOfSeededBugs(t *testing.T) {
	whole := warptracetest.Launch{Snapshots: -1, History: -1, Loads: true}
	for k, c := range []struct {
		name   string
		launch warptracetest.Launch
		values bool
		seeds  uint64
		share  float64 // right at least
	}{
		{"operands, loads and values", whole, true, sweep.Of[uint64](1, 5), 0.9},
		{"operands and loads, values not compared", whole, false, sweep.Of[uint64](1, 3), 0.9},
		{"operands without loads", warptracetest.Launch{Snapshots: -1}, true, sweep.Of[uint64](1, 3), 0},
		{"decisions and values of leaders", warptracetest.Launch{}, true, sweep.Of[uint64](1, 3), 0},
		{"64 lanes", warptracetest.Launch{Snapshots: -1, Loads: true, Wave: 64}, true, sweep.Of[uint64](1, 2), 0.9},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			table := confusion{of: make(map[string]map[string]int)}
			for seed := uint64(1); seed <= c.seeds; seed++ {
				for i, name := range warptracetest.BugNames() {
					if (i+k)%2 == 1 && !sweep.Full() {
						continue // a sample: each bug with every other of these launches
					}
					a, b, bug := seededBug(t, seed, name, c.launch)
					x, y := a.OpenV2(t, "a.prlx"), b.OpenV2(t, "b.prlx")
					opt := Options{Values: c.values}
					r, err := Compare(nil, x, y, opt)
					if err != nil {
						t.Fatal(err)
					}
					why, err := Explain(nil, r, x, y, opt)
					if err != nil {
						t.Fatal(err)
					}
					if why == nil {
						continue // a bug that changes values only, and values are not compared
					}
					table.add(bug, why)
					if why.Class != bug.Class && why.Class != classUnknown {
						t.Logf("%s, seed %d: %s (%s): %s\n%+v", name, seed, why.Class, why.Confidence, why.Summary, why.Considered)
					}
				}
			}
			t.Logf("\n%s", &table)
			if table.sure > 0 {
				t.Errorf("%d answers are wrong and sure of themselves", table.sure)
			}
			if float64(table.right) < c.share*float64(table.judged) || table.judged < int(c.seeds)*len(warptracetest.BugNames())/sweep.Of(4, 2) {
				t.Errorf("%d of %d right, want %.0f %%", table.right, table.judged, 100*c.share)
			}
		})
	}
}
