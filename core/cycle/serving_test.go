package cycle

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/testing/cycletest"
)

// servedTrace makes a trace of a made-up recording of a server.
func servedTrace(s *cycletest.Served) *kernels.Trace {
	tr := traceOf(&s.Case)
	tr.Sequences[0].Blocks = s.Blocks
	if slices.Max(s.Graph) > 0 {
		tr.Sequences[0].Graph = s.Graph
	}
	return tr
}

// readingOf is the class that holds most of the kernels of a step, steps before layers; nil where none does.
func readingOf(d *cycledoc.Document, step cycletest.Step) *cycledoc.Class {
	for i := len(d.Levels) - 1; i >= 0; i-- {
		l := &d.Levels[i]
		if l.Name == cycledoc.LevelLoop {
			continue
		}
		var best *cycledoc.Class
		most := 0
		for k := range l.Classes {
			c, held := &l.Classes[k], 0
			for _, b := range c.Borders {
				held += max(0, min(int(b.End), step.End)-max(int(b.First), step.Start))
			}
			if held > most {
				best, most = c, held
			}
		}
		if 2*most > step.End-step.Start {
			return best
		}
	}
	return nil
}

// verdictOn says how a phase was told: "right", "both" where nothing tells and both readings are said, "unknown", "wrong", "sure and wrong" or "" where
// the step is in no class.
func verdictOn(c *cycledoc.Class, want string) string {
	if c == nil {
		return ""
	}
	said := slices.ContainsFunc(c.PhaseReadings, func(r cycledoc.Reading) bool { return r.Phase == want })
	switch {
	case c.Phase == want:
		return "right"
	case said && c.PhaseScore < 0.75:
		return "both"
	case c.Phase == "unknown":
		return "unknown"
	case c.PhaseScore >= 0.9:
		return "sure and wrong"
	}
	return "wrong"
}

// undecidable are the cases whose recording holds nothing that tells: one phase alone, kernels of a family that serves both, no thread blocks, no graph
// of a decode step; and prompts with single tokens among them, in one kernel or in two that prompts with a cache have too.
func undecidable(s cycletest.Serving, phase string) bool {
	lone := s.Workload == "prefill only" || s.Workload == "decode only"
	family := s.Same || slices.Contains([]string{"fa3", "cudnn", "sdpa-math", "sdpa-efficient"}, s.Backend)
	return lone && family && !s.Grids && (s.Graphs != "full" || phase == "prefill") || phase == "mixed" && (oneKernel(s) || s.Backend == "flashinfer-ragged")
}

// oneKernel reports whether a back-end takes prompts and single tokens in one kernel.
func oneKernel(s cycletest.Serving) bool {
	return s.Same || slices.Contains([]string{"fa2", "fa3", "triton-unified", "cudnn", "sdpa-math", "sdpa-efficient", "sdpa-flash"}, s.Backend)
}

// TestPhasesOfServersAreRecognised tries every attention back-end with every way of launching and every load. PRLX_CYCLE_SERVERS says how many seeds each
// combination gets, and from where on ("5000:2"); without it every seventh gets one. Seeds below 5000 were looked at while the rules were made.
func TestPhasesOfServersAreRecognised(t *testing.T) {
	from, n, every := uint64(0), uint64(1), 7
	if s := os.Getenv("PRLX_CYCLE_SERVERS"); s != "" {
		first, many, ok := strings.Cut(s, ":")
		if !ok {
			first, many = "0", s
		}
		var err1, err2 error
		from, err1 = strconv.ParseUint(first, 10, 32)
		n, err2 = strconv.ParseUint(many, 10, 32)
		if err1 != nil || err2 != nil {
			t.Fatalf("PRLX_CYCLE_SERVERS is %q", s)
		}
		every = 1
	}
	count := map[string]int{}
	by := map[string]map[string]int{}
	bins := map[int][2]int{} // by tenths of the score: right and all
	at := 0
	for _, backend := range cycletest.Backends() {
		for _, graphs := range cycletest.GraphModes() {
			for _, load := range cycletest.Workloads() {
				for _, same := range []bool{false, true} {
					for _, grids := range []bool{false, true} {
						if at++; at%every != 0 {
							continue
						}
						for seed := from; seed < from+n; seed++ {
							o := cycletest.Serving{Backend: backend, Graphs: graphs, Workload: load, Same: same, Grids: grids}
							s := cycletest.Serve(o, seed)
							d := mustFind(t, servedTrace(s), Options{}).Document()
							seen := map[string]bool{}
							for _, step := range s.Steps {
								if seen[step.Phase] {
									continue // the first of each phase
								}
								seen[step.Phase] = true
								c := readingOf(d, step)
								v := verdictOn(c, step.Phase)
								if v == "both" && !undecidable(o, step.Phase) {
									v = "wrong"
								}
								if v == "" {
									count["not in a class"]++
									continue
								}
								if c.PhaseScore > 0 {
									b := bins[int(c.PhaseScore*10)]
									if c.Phase == step.Phase {
										b[0]++
									}
									b[1]++
									bins[int(c.PhaseScore*10)] = b
								}
								count[v]++
								count["all"]++
								for _, key := range []string{backend, graphs, load, fmt.Sprint("same ", same), fmt.Sprint("grids ", grids), step.Phase} {
									if by[key] == nil {
										by[key] = map[string]int{}
									}
									by[key][v]++
								}
								if v != "right" && v != "both" {
									t.Logf("%s, seed %d: %s is %s %.2f %v: %s: %s", o, seed, step.Phase, c.Phase, c.PhaseScore, c.PhaseReadings, v, c.PhaseReason)
								}
							}
						}
					}
				}
			}
		}
	}
	for b := range 10 {
		if bins[b][1] > 0 {
			t.Logf("score %.1f: %d of %d right, %.2f", float64(b)/10, bins[b][0], bins[b][1], float64(bins[b][0])/float64(bins[b][1]))
		}
	}
	t.Logf("%v", count)
	for k, m := range by {
		t.Logf("  %-20s %v", k, m)
	}
	good := count["right"] + count["both"]
	if 100*good < 95*count["all"] {
		t.Errorf("%d of %d phases are told", good, count["all"])
	}
}
