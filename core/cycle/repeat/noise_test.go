package repeat_test

import (
	"testing"

	"github.com/prlx-go/prlx/core/testing/cycletest"
)

func TestNoiseCostsEditsNotRepetitions(t *testing.T) {
	for _, family := range cycletest.Families() {
		t.Run(family, func(t *testing.T) {
			if family == "none" {
				t.Skip("nothing to find")
			}
			var sum score
			first, cases := seeds(t)
			counts := 0
			for seed := first; seed < first+cases; seed++ {
				c := cycletest.Make(family, uint64(seed), cycletest.Options{Kernels: kernels(seed), Noise: 0.05, Jitter: 0.3})
				st := find(c)
				ok := true
				for _, want := range c.Truth {
					s, count := best(st, want)
					sum.add(s)
					if count != s.want {
						ok = false
					}
					switch {
					case count != s.want:
						t.Errorf("seed %d, %d kernels: %s: %d x %d: found %d, F1 %.4f%s", seed, len(c.Symbols), want.Name, want.Period, s.want, count, s.f1(), describe(st))
					case s.f1() < 0.99 && testing.Verbose():
						t.Logf("seed %d, %d kernels: %s: %d x %d: found %d, F1 %.4f%s", seed, len(c.Symbols), want.Name, want.Period, s.want, count, s.f1(), describe(st))
					}
				}
				if ok {
					counts++
				}
			}
			t.Logf("%-15s border F1 %.5f, clean repetitions kept %.5f, all counts exact in %d of %d", family, sum.f1(), float64(sum.kept)/float64(sum.clean), counts, cases)
			if sum.f1() < 0.99 || float64(sum.kept) < 0.99*float64(sum.clean) {
				t.Errorf("border F1 %.5f, kept %d of %d", sum.f1(), sum.kept, sum.clean)
			}
		})
	}
}
