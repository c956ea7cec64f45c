package clocks

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/trace/clock"
)

// TestWhatIsSaidOfAClock: each reason that it is not trusted, and else how well it is known.
func TestWhatIsSaidOfAClock(t *testing.T) {
	known := GPU{Map: &clock.Map{}, Kernels: 1000, Launches: 5, DriftPPM: 1.25}
	known.Bound.P50 = 1500
	for want, change := range map[string]func(g *GPU){
		"known to +-1.5 us, and runs +1.250 ppm":         func(*GPU) {},
		"no kernel has a stamp":                          func(g *GPU) { g.Kernels = 0 },
		"no launch before a kernel":                      func(g *GPU) { g.Launches = 0 },
		"no clock that runs straight":                    func(g *GPU) { g.Map = nil },
		"not to be trusted: 11 of 1000":                  func(g *GPU) { g.Flaws.BeforeLaunch = 11 },
		"known to +-1.5 us, and runs +1.250 ppm against": func(g *GPU) { g.Flaws.AfterCallback = 10 },
	} {
		g := known
		change(&g)
		if g.judge(); !strings.Contains(g.Said, want) {
			t.Errorf("said is %q, want %q", g.Said, want)
		}
	}
}

func TestInstantsThatCanBeCompared(t *testing.T) {
	for ns, want := range map[int64]bool{0: false, -1: false, 1: true, latest - 1: true, latest: false} {
		if usable(ns) != want {
			t.Errorf("%d is usable: %v", ns, !want)
		}
	}
}
