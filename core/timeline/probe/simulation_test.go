package probe_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/prlx-go/prlx/core/timeline/offsets"
)

// runs is how many seeds a test tries: few by default, the number in PRLX_PROBE_RUNS with make corpus.
func runs(t *testing.T, few, all int) int {
	if os.Getenv("PRLX_PROBE_RUNS") == "all" {
		return all
	}
	if n, err := strconv.Atoi(os.Getenv("PRLX_PROBE_RUNS")); err == nil {
		return n
	}
	return few
}

func TestTheTruthIsInsideTheBoundOfEightNodes(t *testing.T) {
	simulate(t, runs(t, 6, 900), conditions{nodes: 8, seconds: 40})
}

func simulate(t *testing.T, n int, c conditions) {
	for seed := range int64(n) {
		c := c
		c.symmetric = seed%3 != 0
		c.kernel = seed%4 != 3
		c.steps = seed%5 == 4
		c.wander = 1e-6
		if seed%2 == 1 {
			c.deadShare = 0.05
		}
		net := newNetwork(seed, c)
		net.run()
		o := net.outcome(t, offsets.Options{})
		t.Logf("seed %d (symmetric %v, kernel %v, steps %v): error p50 %d p99 %d max %d, bounds p50 %d max %d, link %d, beyond %d of %d by %d, missing %d; %d stamps; %+v", seed, c.symmetric, c.kernel, c.steps,
			o.errors[len(o.errors)/2], o.errors[len(o.errors)*99/100], o.errors[len(o.errors)-1], o.bounds[len(o.bounds)/2], o.bounds[len(o.bounds)-1], o.link, o.beyond, o.instants, o.worst, o.missing, o.stamps, o.counters)
		if o.beyond > 0 || net.sawBadLen {
			t.Errorf("seed %d: %d of %d errors are beyond their bound, by up to %d ns", seed, o.beyond, o.instants, o.worst)
		}
	}
}
