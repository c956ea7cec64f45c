package combine

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/snapshottest"
	"github.com/prlx-go/prlx/core/testing/xspacetest"
)

// readingsFile is what a sampler leaves: a header, pairs, and what the system says of its clock at the begin and the end.
func readingsFile(j *xspacetest.Job, node int, clock, host string, states ...clockfile.SystemClock) []byte {
	r := readingsOf(j, node, clock)
	r.Host = host
	for i, d := range states {
		d.SysNS = j.Clocks[node].Wall(xspacetest.Epoch + int64(i)*(j.LastTrueNS()+2e6-xspacetest.Epoch)/int64(max(1, len(states)-1)))
		r.System = append(r.System, d)
	}
	return snapshottest.Lines(r)
}

// TestClocksThatAreKeptAreNear: two systems which say that their clocks are within 2 us of UTC have clocks within 4 us of each other, and 1 us more between
// readings that are less than a ms apart: closer than the collectives of this job tell, and that is the bound.
func TestClocksThatAreKeptAreNear(t *testing.T) {
	clocks := []xspacetest.Clock{{}, {OffsetNS: 1_500}, {OffsetNS: -1_200}}
	j, inputs, offsets := recorded(t, xspacetest.Config{Clocks: clocks, GPUs: 1, EventsPerGPU: 500, RoundNS: 4e6, Seed: 3, NoSnapshots: true})
	kept := clockfile.SystemClock{Synchronized: true, MaxErrorNS: 2_000, Source: "adjtimex"}
	loose := clockfile.SystemClock{MaxErrorNS: 2_000, Source: "adjtimex"}
	files := func(last ...clockfile.SystemClock) (out []Input) {
		for k := range inputs {
			states := slices.Repeat([]clockfile.SystemClock{kept}, 100) // more often than the error may grow by 500 ns
			if k == 2 {
				states = append(states[:min(len(states), 99*len(last))], last...)
			}
			out = append(out, Input{Path: put(t, t.TempDir(), fmt.Sprintf("node%d.pairs.jsonl", k), readingsFile(j, k, "CLOCK_MONOTONIC_RAW", "", states...))})
		}
		return out
	}
	method := func(r Request) (methods []string, doc *Document) {
		r.Inputs = inputs
		doc = combined(t, 2, into(t, r))
		for _, n := range doc.Nodes {
			methods = append(methods, n.Method)
		}
		return methods, doc
	}
	got, doc := method(Request{Snapshots: files(kept, kept)})
	for k, n := range doc.Nodes[1:] {
		truth := clocks[k+1].OffsetNS
		if n.Method != methodSystem || n.OffsetNS != 0 || n.BoundNS.Max < max(truth, -truth) || n.BoundNS.Max < 4_900 || n.BoundNS.Max > 5_000 {
			t.Errorf("%s: %s, offset %d ns, bound %+v", n.ID, got[k+1], n.OffsetNS, n.BoundNS)
		}
	}
	if said := strings.Join(doc.Notes, "\n"); !strings.Contains(said, "the systems of 2 nodes say that their clocks are kept near UTC: they are within 5 us of that of node0") {
		t.Errorf("notes %q", doc.Notes)
	}
	if !strings.Contains(doc.Verdict, "; bounds of 2 nodes rest on what their systems claim") {
		t.Errorf("the verdict does not say that the bounds are claims: %s", doc.Verdict)
	}
	for name, states := range map[string][]clockfile.SystemClock{"nothing keeps one": {loose}, "too wide": {{Synchronized: true, MaxErrorNS: 2e9}}, "not asked": nil} {
		if got, _ := method(Request{Snapshots: files(states...)}); got[1] != methodSystem || got[2] != methodCollectives {
			t.Errorf("%s: got %v", name, got)
		}
	}
	seldom := files(kept, kept)
	for k := range seldom {
		seldom[k].Path = put(t, t.TempDir(), fmt.Sprintf("node%d.pairs.jsonl", k), readingsFile(j, k, "CLOCK_MONOTONIC_RAW", "", kept, kept))
	}
	_, doc = method(Request{Snapshots: seldom})
	apart := (j.LastTrueNS() + 2e6 - xspacetest.Epoch) / 1_000_000 // ms in which either error may grow by 500 ns each
	if said := fmt.Sprintf("they are within %d us of", (4000+2*(apart+1)*500+999)/1000); !strings.Contains(strings.Join(doc.Notes, "\n"), said) {
		t.Errorf("readings that are %d ms apart: notes %q, want %q", apart, doc.Notes, said)
	}
	if got, doc := method(Request{Snapshots: files(kept, kept), Offsets: offsets}); got[1] != MethodProbes || doc.Nodes[1].BoundNS.Max >= 4_900 {
		t.Errorf("beside probes: got %v, bound %+v", got, doc.Nodes[1].BoundNS)
	} else if strings.Contains(doc.Verdict, "claim") {
		t.Errorf("claims that narrow nothing are named: %s", doc.Verdict)
	}
	if got, _ := method(Request{Snapshots: files(kept, kept), Method: MethodWall}); got[1] != MethodWall {
		t.Errorf("with the method wall: got %v", got)
	}
}

// TestAClaimThatIsMeasuredToBeWrongIsNotUsed: a system says that its clock is within 2 us of UTC, and it is a ms off. What was measured stands, and
// the contradiction is said.
func TestAClaimThatIsMeasuredToBeWrongIsNotUsed(t *testing.T) {
	clocks := []xspacetest.Clock{{}, {OffsetNS: 1e6}, {OffsetNS: -1_200}}
	j, inputs, _ := recorded(t, xspacetest.Config{Clocks: clocks, GPUs: 1, EventsPerGPU: 500, RoundNS: 4e6, Seed: 3, NoSnapshots: true})
	kept := clockfile.SystemClock{Synchronized: true, MaxErrorNS: 2_000, Source: "chrony", GrowthPPB: 2000, Reference: "UTC"}
	r := Request{Inputs: inputs}
	for k := range inputs {
		r.Snapshots = append(r.Snapshots, Input{Path: put(t, t.TempDir(), fmt.Sprintf("node%d.pairs.jsonl", k), readingsFile(j, k, "CLOCK_MONOTONIC_RAW", "", kept, kept, kept))})
	}
	doc := combined(t, 2, into(t, r))
	n := doc.Nodes[1]
	if n.Method != methodCollectives || doc.Status != StatusDegraded || max(n.OffsetNS-1e6, 1e6-n.OffsetNS) > n.BoundNS.Max {
		t.Errorf("by %s, %s, offset %d, bound %+v", n.Method, doc.Status, n.OffsetNS, n.BoundNS)
	}
	if said := strings.Join(doc.Warnings, "\n"); !strings.Contains(said, "collectives and system contradict each other about node1") {
		t.Errorf("warnings %q", doc.Warnings)
	}
}

// TestReadingsFindTheirTraces: files that a recorder named after a trace or that say which process they are of need no name.
func TestReadingsFindTheirTraces(t *testing.T) {
	j, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 500, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 5})
	for _, c := range []struct{ trace, readings string }{
		{"%s/alpha%d.xplane.pb", "%s/alpha%d.snapshot_pairs.pb"},
		{"%s/host-%d.b.xplane.pb", "%s/host-%d.b.pairs.jsonl"},
		{"%s/node%d.xplane.pb", "%s/node%d.pairs.jsonl.2"},
		{"%s/node%d.xplane.pb", "%s/of-%d/pairs.jsonl"},
	} {
		dir := t.TempDir()
		r := Request{Offsets: offsets}
		for k := range inputs {
			bare := withoutPlane(t, plainBytes(t, inputs[k].Path), "/host:snapshots")
			id := fmt.Sprintf("node%d", k)
			r.Inputs = append(r.Inputs, Input{ID: id, Path: put(t, dir, filepath.Base(fmt.Sprintf(c.trace, dir, k)), bare)})
			content := readingsFile(j, k, "ROCm", id) // the job's host names
			if strings.HasSuffix(c.readings, ".pb") {
				content = asMessage(t, readingsOf(j, k, "ROCm"))
			}
			path := fmt.Sprintf(c.readings, dir, k)
			into := dir
			if filepath.Dir(path) != dir {
				into = t.TempDir()
			}
			r.Snapshots = append(r.Snapshots, Input{Path: put(t, into, filepath.Base(path), content)})
		}
		for _, n := range combined(t, 2, into(t, r)).Nodes {
			if n.TracerLines != 1 || n.Snapshots == 0 {
				t.Errorf("%s: %s has %d lines on the tracer's clock, %d snapshots", c.readings, n.ID, n.TracerLines, n.Snapshots)
			}
		}
	}
	stray := Input{Path: put(t, t.TempDir(), "stray.jsonl", readingsFile(j, 0, "ROCm", ""))}
	_, _, err := Run(job.New(context.Background(), job.Options{}), into(t, Request{Inputs: inputs, Offsets: offsets, Snapshots: []Input{stray}}))
	if !fault.Is(err, fault.Incompatible) {
		t.Errorf("readings of a tracer that belong to nobody: %v", err)
	}
	stray.Path = put(t, t.TempDir(), "stray.jsonl", readingsFile(j, 0, "TSC", ""))
	doc := combined(t, 2, into(t, Request{Inputs: inputs, Offsets: offsets, Snapshots: []Input{stray}}))
	if !strings.Contains(strings.Join(doc.Notes, "\n"), "belong to none of the traces") {
		t.Errorf("readings of another clock that belong to nobody: %q", doc.Notes)
	}
}

// TestUnansweredProbesDoNotPreventCombining: where a firewall was between the probers, what else relates the clocks is taken, and that is said.
func TestUnansweredProbesDoNotPreventCombining(t *testing.T) {
	_, inputs, _ := recorded(t, xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 500, Seed: 3, NoSnapshots: true})
	r := Request{Inputs: inputs}
	for k := range inputs {
		header := fmt.Sprintf(`{"meta":true,"schema":"prlx.probes/1","node_id":%d,"name":"n:1","host_clock":"x","session":"y","peers":2,"rate":24,"kernel":true}`+"\n", k)
		r.Probes = append(r.Probes, put(t, t.TempDir(), fmt.Sprintf("probes_node%d.jsonl", k), []byte(header)))
	}
	doc := combined(t, 2, into(t, r))
	if doc.Nodes[1].Method != methodCollectives || !strings.Contains(strings.Join(doc.Warnings, "\n"), "no peer has answered a probe: 2 files hold no stamps") {
		t.Errorf("by %s, warnings %q", doc.Nodes[1].Method, doc.Warnings)
	}
	r.Method = MethodProbes
	if _, _, err := Run(job.New(context.Background(), job.Options{}), into(t, r)); !fault.Is(err, fault.Alignment) {
		t.Errorf("where probes alone are to be taken: %v", err)
	}
}
