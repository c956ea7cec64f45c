package probe_test

import (
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/probe"
)

func TestFewNodesProbeAllOthers(t *testing.T) {
	for n := 2; n <= 9; n++ {
		for a, l := range probe.Links(n, 7) {
			if len(l) != n-1 || slices.Contains(l, a) {
				t.Errorf("%d nodes: node %d probes %v", n, a, l)
			}
		}
	}
}

func TestManyNodesHaveAtMostEightLinksAndAFewHopsBetweenAnyTwo(t *testing.T) {
	for _, n := range []int{10, 11, 64, 1000, 1024, 5000} {
		links := probe.Links(n, 42)
		for a, l := range links {
			if len(l) > probe.MaxLinks || !slices.IsSorted(l) || slices.Contains(l, a) || len(slices.Compact(slices.Clone(l))) != len(l) {
				t.Fatalf("%d nodes: node %d probes %v", n, a, l)
			}
			for _, b := range l {
				if !slices.Contains(links[b], a) {
					t.Fatalf("%d nodes: %d probes %d, which does not probe it", n, a, b)
				}
			}
			if next := (a + 1) % n; !slices.Contains(l, next) {
				t.Fatalf("%d nodes: %d does not probe its neighbour %d", n, a, next)
			}
		}
		if far := farthest(links, nil); far > 6 {
			t.Errorf("%d nodes: %d hops between the farthest two", n, far)
		}
	}
}

func TestEveryNodeFindsTheSameGraph(t *testing.T) {
	a, b, c := probe.Links(100, 1), probe.Links(100, 1), probe.Links(100, 2)
	same := true
	for i := range a {
		if !slices.Equal(a[i], b[i]) {
			t.Fatalf("node %d: %v and %v", i, a[i], b[i])
		}
		same = same && slices.Equal(a[i], c[i])
	}
	if same {
		t.Error("another seed gives the same graph")
	}
}

func TestDeadNodesDoNotDivideTheRest(t *testing.T) {
	const n = 1024
	links := probe.Links(n, 3)
	dead := map[int]bool{}
	for i := 0; i < n; i += 20 { // 5 %
		dead[i] = true
	}
	if far := farthest(links, dead); far < 0 || far > 7 {
		t.Errorf("with 5 %% of the nodes dead: %d hops between the farthest two", far)
	}
}

// farthest is the largest number of hops from the first node that is alive to any other, -1 where one is not reached.
func farthest(links [][]int, dead map[int]bool) int {
	start := 0
	for dead[start] {
		start++
	}
	hops := map[int]int{start: 0}
	far := 0
	for todo := []int{start}; len(todo) > 0; todo = todo[1:] {
		for _, b := range links[todo[0]] {
			if _, known := hops[b]; !known && !dead[b] {
				hops[b] = hops[todo[0]] + 1
				far = max(far, hops[b])
				todo = append(todo, b)
			}
		}
	}
	if len(hops) != len(links)-len(dead) {
		return -1
	}
	return far
}
