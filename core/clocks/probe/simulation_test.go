package probe_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/offsets"
)

// seeds are those that a test runs: some by default, as many as PRLX_PROBE_RUNS says, all of them with "all" (make corpus), or those of a list
// such as "4,9,".
func seeds(few []int64, all int) []int64 {
	if list := os.Getenv("PRLX_PROBE_RUNS"); strings.Contains(list, ",") {
		var out []int64
		for _, s := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				panic(err)
			}
			out = append(out, n)
		}
		return out
	}
	n, err := strconv.Atoi(os.Getenv("PRLX_PROBE_RUNS"))
	if os.Getenv("PRLX_PROBE_RUNS") == "all" {
		n, err = all, nil
	}
	if err != nil {
		return few
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i)
	}
	return out
}

// condition varies what a run is like with its seed: every third is asymmetric, every fourth without stamps of the kernel, every fifth has
// clocks that step, and in half of them 5 % of the nodes are dead, or die.
func condition(seed int64, nodes, seconds int) conditions {
	c := conditions{nodes: nodes, seconds: seconds, symmetric: seed%3 != 0, kernel: seed%4 != 3, steps: seed%5 == 4, wander: 1e-6}
	if seed%2 == 1 {
		c.deadShare = 0.05
	}
	return c
}

// simulate runs seeds and holds every run against the truth. How exact they are is logged, over all of them.
func simulate(t *testing.T, list []int64, nodes, seconds int) {
	t.Helper()
	var symmetric, kernel, other, ratios, least, farther []float64
	for _, seed := range list {
		c := condition(seed, nodes, seconds)
		net := newNetwork(seed, c)
		net.run()
		o := net.outcome(t, offsets.Options{})
		p50 := o.errors[len(o.errors)/2]
		ratio := float64(o.bounds[len(o.bounds)-1]) / float64(max(1, o.link))
		ratios, least = append(ratios, ratio), append(least, float64(o.least)/float64(max(1, o.link)))
		if o.beyond > 0 {
			t.Errorf("seed %d: %d of %d errors are beyond their bound, by up to %d ns", seed, o.beyond, o.instants, o.worst)
		}
		if o.missing > 0 {
			t.Errorf("seed %d: %d nodes have no clock", seed, o.missing)
		}
		for _, f := range o.far { // three times the median link's, or as little as packets can leave open
			farther = append(farther, float64(f.bound)/float64(max(1, f.least)))
			if float64(f.bound) > 1.5*float64(f.least) {
				t.Errorf("seed %d: the bound of node %d is %d ns, the median link's %d; packets without any queue would leave %d", seed, f.node, f.bound, o.link, f.least)
			}
		}
		if net.sawBadLen {
			t.Errorf("seed %d: a packet of another length than all others", seed)
		}
		switch {
		case !c.symmetric:
			other = append(other, float64(p50))
			if p50 > o.asymmetry+2000 {
				t.Errorf("seed %d: error p50 %d ns, half the largest asymmetry is %d", seed, p50, o.asymmetry)
			}
		case c.kernel:
			kernel, symmetric = append(kernel, float64(p50)), append(symmetric, float64(p50))
			if p50 > 1000 {
				t.Errorf("seed %d: error p50 %d ns on symmetric paths", seed, p50)
			}
		default:
			symmetric = append(symmetric, float64(p50))
		}
		if len(list) < 20 {
			t.Logf("seed %d: error p50 %d p99 %d max %d, bounds p50 %d max %d, link %d, %d stamps; %+v", seed, p50, o.errors[len(o.errors)*99/100], o.errors[len(o.errors)-1],
				o.bounds[len(o.bounds)/2], o.bounds[len(o.bounds)-1], o.link, o.stamps, o.counters)
		}
	}
	t.Logf("%d runs of %d nodes: error p50 of runs on symmetric paths, ns: median %.0f, worst %.0f (with kernel stamps %.0f, %.0f); asymmetric: median %.0f; largest bound over the median link's: median %.2f, worst %.2f; the least that could be is %.2f and %.2f; %d nodes are over 3 times, with at most %.2f of the least", len(list), nodes,
		quantile(symmetric, 0.5), quantile(symmetric, 1), quantile(kernel, 0.5), quantile(kernel, 1), quantile(other, 0.5), quantile(ratios, 0.5), quantile(ratios, 1), quantile(least, 0.5), quantile(least, 1), len(farther), quantile(farther, 1))
}

func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[min(len(v)-1, int(q*float64(len(v))))]
}

// Seeds 164, 324, 474, 589, 664 and 674 have clocks whose steps only some of their links can see, or in the last second.
func TestTheTruthIsInsideTheBoundOfEightNodes(t *testing.T) {
	simulate(t, seeds([]int64{0, 1, 2, 3, 4, 5, 164, 324, 474, 589, 664, 674}, 900), 8, 40)
}

func TestTheTruthIsInsideTheBoundOfSixtyFourNodes(t *testing.T) {
	simulate(t, seeds([]int64{1, 4}, 90), 64, 40)
}

func TestTheTruthIsInsideTheBoundOfAThousandNodes(t *testing.T) {
	if os.Getenv("PRLX_PROBE_RUNS") == "" {
		t.Skip("takes half a minute: PRLX_PROBE_RUNS=1, or make corpus")
	}
	simulate(t, seeds(nil, 10), 1024, 20)
}
