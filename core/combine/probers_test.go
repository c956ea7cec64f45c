package combine

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/xspacetest"
)

// hostProbes writes what the probers of two hosts leave, the first of which has the clock of one node of a job, the second that of another.
// A header says what follows more by the format given, of the number of its prober.
func hostProbes(t *testing.T, j *xspacetest.Job, clocks [2]int, more func(prober int) string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for src := range 2 {
		var b bytes.Buffer
		fmt.Fprintf(&b, `{"meta":true,"schema":"prlx.probes/1","node_id":%d,"name":"n:1","host_clock":"x%d","session":"y","peers":2%s}`+"\n", src, src, more(src))
		p, q := &j.Clocks[clocks[src]], &j.Clocks[clocks[1-src]]
		for at := xspacetest.Epoch - 1e9; at < j.LastTrueNS()+1e9; at += 4e6 {
			fmt.Fprintf(&b, `{"src":%d,"dst":%d,"t1":%d,"t2":%d,"t3":%d,"t4":%d}`+"\n", src, 1-src, p.Wall(at), q.Wall(at+5000), q.Wall(at+6000), p.Wall(at+11000))
		}
		paths = append(paths, put(t, dir, fmt.Sprintf("probes_node%d.jsonl", src), b.Bytes()))
	}
	return paths
}

// TestRanksHaveTheClockOfTheProberOfTheirHost: four ranks on two hosts that measure once each. Which host a rank is on, the probers say, or the
// names of hosts do; the numbers of ranks and of probers have nothing to do with each other then.
func TestRanksHaveTheClockOfTheProberOfTheirHost(t *testing.T) {
	const ahead = 5_000_000
	clocks := []xspacetest.Clock{{}, {}, {OffsetNS: ahead}, {OffsetNS: ahead}}
	j, inputs, _ := recorded(t, xspacetest.Config{Clocks: clocks, GPUs: 1, EventsPerGPU: 300, RoundNS: 4e6, Seed: 3, NoSnapshots: true})
	ranks := func(text string) func(int) string {
		return func(int) string { return `,"ranks":` + text }
	}
	hosts := func(names ...string) func(int) string {
		return func(k int) string { return fmt.Sprintf(`,"hostname":%q`, names[k]) }
	}
	for name, c := range map[string]struct {
		clocks    [2]int // of the probers
		more      func(int) string
		reference string
		hosts     []string // of the traces
		want      []int64
	}{
		"by rank":                   {[2]int{0, 2}, ranks("[[0,1],[2,3]]"), "", nil, []int64{0, 0, ahead, ahead}},
		"in another order":          {[2]int{2, 0}, ranks("[[3,2],[1,0]]"), "", nil, []int64{0, 0, ahead, ahead}},
		"to a rank without prober":  {[2]int{0, 2}, ranks("[[0,1],[2,3]]"), "node3", nil, []int64{-ahead, -ahead, 0, 0}},
		"by host":                   {[2]int{0, 2}, hosts("a", "b"), "", []string{"a.example", "A", "b", "b"}, []int64{0, 0, ahead, ahead}},
		"by host, in another order": {[2]int{2, 0}, hosts("b.example", "a"), "node2", []string{"a", "a", "b", "b"}, []int64{-ahead, -ahead, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			job := job.New(context.Background(), job.Options{})
			req := Request{Inputs: inputs, Probes: hostProbes(t, j, c.clocks, c.more), Reference: c.reference, Method: MethodProbes, Output: filepath.Join(t.TempDir(), "out")}
			if err := req.normalize(); err != nil {
				t.Fatal(err)
			}
			nodes, _, err := load(job, req.Inputs, LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer closeAll(nodes)
			for k := range c.hosts {
				nodes[k].Host = c.hosts[k]
			}
			in, to, err := begin(job, &req, nodes, nil)
			if err != nil {
				t.Fatal(err)
			}
			run, err := decide(job, in, to)
			if err != nil {
				t.Fatal(err)
			}
			for k, n := range nodes {
				at, _, _ := run.nodes[k].maps.Wall.At(j.Clocks[k].Wall(xspacetest.Epoch + 1e6))
				if got := j.Clocks[k].Wall(xspacetest.Epoch+1e6) - at; max(got-c.want[k], c.want[k]-got) > 10 {
					t.Errorf("%s: by %s its clock is %d ns ahead, want %d; %q", n.ID, run.nodes[k].method, got, c.want[k], run.said.notes)
				}
			}
		})
	}
}

// TestATraceOnItsOwnHasTheClockOfTheProberOfItsHost: aligned one by one, ranks are put on the clock of the same prober as together.
func TestATraceOnItsOwnHasTheClockOfTheProberOfItsHost(t *testing.T) {
	const ahead = 5_000_000
	clocks := []xspacetest.Clock{{}, {}, {OffsetNS: ahead}, {OffsetNS: ahead}}
	j, inputs, _ := recorded(t, xspacetest.Config{Clocks: clocks, GPUs: 1, EventsPerGPU: 300, RoundNS: 4e6, Seed: 3, NoSnapshots: true})
	probes := hostProbes(t, j, [2]int{0, 2}, func(int) string { return `,"ranks":[[0,1],[2,3]]` })
	for _, reference := range []string{"", "node1"} {
		for k, want := range []int64{0, 0, ahead, ahead} {
			doc := combined(t, 1, into(t, Request{Inputs: inputs[k : k+1], Probes: probes, Reference: reference}))
			if got := doc.Nodes[0].OffsetNS; max(got-want, want-got) > 10 {
				t.Errorf("node %d to %q: its clock is %d ns ahead, want %d; %q", k, reference, got, want, doc.Notes)
			}
		}
	}
}
