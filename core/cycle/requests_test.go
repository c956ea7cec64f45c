package cycle

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/prlx-go/prlx/core/testing/cycletest"
)

// inSteps is the share of the time of a case that its steps take: up to the next step where that follows at once, else to the end of the last kernel.
func inSteps(c *cycletest.Case) float64 {
	starts := map[int]bool{}
	for _, r := range c.Truth {
		if r.Phase != "" && r.Name[:4] == "step" {
			for _, rep := range r.Reps {
				starts[rep.Start] = true
			}
		}
	}
	in := int64(0)
	for _, r := range c.Truth {
		if r.Phase == "" || r.Name[:4] != "step" {
			continue
		}
		for _, rep := range r.Reps {
			end := c.StartNS[rep.End-1] + c.DurNS[rep.End-1]
			if starts[rep.End] {
				end = c.StartNS[rep.End]
			}
			in += end - c.StartNS[rep.Start]
		}
	}
	last := len(c.StartNS) - 1
	return float64(in) / float64(c.StartNS[last]+c.DurNS[last]-c.StartNS[0])
}

// TestTheShareThatStepsAreSaidToExplainIsThatOfTheirTime serves requests of one prefill and some decode steps each. PRLX_CYCLE_REQUESTS asks for all
// 50 pairs of requests and decode steps; without it the small ones among them are tried.
func TestTheShareThatStepsAreSaidToExplainIsThatOfTheirTime(t *testing.T) {
	const pairs, mostKernels = 50, 150_000
	r := rand.New(rand.NewPCG(20261126, 12))
	tried := 0
	for n := range pairs {
		requests, least := 2+r.IntN(300), 1+r.IntN(30)
		most, apart := least+r.IntN(12), 0.0
		if n%2 == 1 {
			apart = 0.3
		}
		if os.Getenv("PRLX_CYCLE_REQUESTS") == "" && requests*most*200 > mostKernels {
			continue
		}
		tried++
		c := cycletest.Requests(uint64(n), requests, least, most, apart)
		d := mustFind(t, traceOf(c), Options{}).Document()
		if want := inSteps(c); math.Abs(d.TimeCoverage-want) > 0.001 {
			t.Errorf("pair %d, %d requests of %d to %d decode steps: %.1f %% of the time is said to be in steps, %.1f %% is: %s", n, requests, least, most, 100*d.TimeCoverage, 100*want, d.Verdict)
		}
	}
	t.Logf("%d of %d pairs tried", tried, pairs)
}

// TestPrefillStepsOfManyRequestsAreSteps: with 200 requests the description by requests is the shorter one, and the prefill steps were in none.
func TestPrefillStepsOfManyRequestsAreSteps(t *testing.T) {
	for seed, requests := range []int{200, 250} {
		c := cycletest.Requests(uint64(seed), requests, 9, 12, 0)
		d := mustFind(t, traceOf(c), Options{}).Document()
		prefill := int64(0)
		for _, l := range d.Levels {
			for i := range l.Classes {
				if c := &l.Classes[i]; l.Name == "step" && c.Phase == "prefill" {
					prefill += c.Count
				}
			}
		}
		if prefill != int64(requests) || d.TimeCoverage < 0.999 {
			t.Errorf("%d of %d prefill steps, %.1f %% of the time: %s", prefill, requests, 100*d.TimeCoverage, d.Verdict)
		}
	}
}
