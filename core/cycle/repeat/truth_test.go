package repeat_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/testing/cycletest"
	"github.com/prlx-go/prlx/core/testing/sweep"
)

// seeds are the cases of each family that a run looks at: PRLX_CYCLE_SEEDS says how many, and from where on ("1000:300"). Without it they
// are few, in the full sweep with one of 10^6 kernels among them.
func seeds(t *testing.T) (first, n int) {
	first, n = 15, sweep.Of(5, 10)
	if s := os.Getenv("PRLX_CYCLE_SEEDS"); s != "" {
		from, count, ok := strings.Cut(s, ":")
		if !ok {
			from, count = "0", s
		}
		var err, err2 error
		first, err = strconv.Atoi(from)
		n, err2 = strconv.Atoi(count)
		if err != nil || err2 != nil {
			t.Fatalf("PRLX_CYCLE_SEEDS is %q", s)
		}
	}
	return first, n
}

// kernels of a case: 10^3 to 10^5, and 10^6 now and then.
func kernels(seed int) int {
	if seed%50 == 24 {
		return 1_000_000
	}
	return int(math.Pow(10, 3+2*float64(seed*7%25)/24))
}

func find(c *cycletest.Case) repeat.Structure {
	symbols, gaps, _ := c.Main()
	return repeat.Find(symbols, repeat.Options{Weight: func(i int) int64 { return gaps[i] }})
}

// score compares the repetitions of one class with the truth about it.
type score struct {
	right, found, want int // borders: starts and ends
	clean, kept        int // repetitions without edits
}

func (s *score) add(o score) {
	s.right += o.right
	s.found += o.found
	s.want += o.want
	s.clean += o.clean
	s.kept += o.kept
}

func (s score) f1() float64 { return 2 * float64(s.right) / float64(max(1, s.found+s.want)) }

// best returns the class of the structure that fits the truth best.
func best(st repeat.Structure, want cycletest.Repeat) (score, int) {
	type pair struct{ start, end int }
	whole := map[pair]bool{}
	starts := map[int]bool{}
	out := score{want: len(want.Reps)}
	for _, r := range want.Reps {
		whole[pair{r.Start, r.End}] = true
		starts[r.Start] = true
		if !r.Edited {
			out.clean++
		}
	}
	top, count := out, 0
	for _, l := range st.Levels {
		for _, c := range l.Classes {
			if c.Period != want.Period {
				continue
			}
			s := out
			s.found = len(c.Repetitions)
			exact := map[pair]bool{}
			for _, r := range c.Repetitions {
				if starts[int(r.Start)] {
					s.right++
				}
				exact[pair{int(r.Start), int(r.End)}] = true
			}
			for _, r := range want.Reps {
				if !r.Edited && exact[pair{r.Start, r.End}] {
					s.kept++
				}
			}
			if s.right > top.right || top.found == 0 && s.right == top.right {
				top, count = s, s.found
			}
		}
	}
	return top, count
}

func describe(st repeat.Structure) string {
	out := ""
	for i, l := range st.Levels {
		for _, c := range l.Classes {
			out += fmt.Sprintf("\n   level %d: %d x %d edited %d first %v", i+1, c.Period, len(c.Repetitions), c.Edited, c.Repetitions[0])
		}
	}
	return out
}

func TestEveryBorderIsExactWithoutNoise(t *testing.T) {
	for _, family := range cycletest.Families() {
		t.Run(family, func(t *testing.T) {
			first, cases := seeds(t)
			right, worst := 0, 1.0
			for seed := first; seed < first+cases; seed++ {
				c := cycletest.Make(family, uint64(seed), cycletest.Options{Kernels: kernels(seed), Jitter: 0.3})
				st := find(c)
				ok := true
				for _, want := range c.Truth {
					s, count := best(st, want)
					worst = min(worst, s.f1())
					if s.right != s.want || count != s.want {
						ok = false
						t.Errorf("seed %d, %d kernels: %s: %d x %d: %d found, %d starts right, first %v%s", seed, len(c.Symbols), want.Name, want.Period, s.want, count, s.right, want.Reps[0], describe(st))
						break
					}
				}
				if family == "none" && len(st.Levels) > 0 {
					ok = false
					t.Errorf("seed %d, %d kernels: a cycle%s", seed, len(c.Symbols), describe(st))
				}
				if ok {
					right++
				}
			}
			t.Logf("%-15s %d of %d cases exact, worst border F1 %.4f", family, right, cases, worst)
		})
	}
}
