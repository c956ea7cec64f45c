package combine

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/straggler"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/aligned"
)

func stragglers(t testing.TB, r StragglersRequest) *straggler.Document {
	t.Helper()
	d, err := Stragglers(job.New(context.Background(), job.Options{Workers: 2}), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func timelineOf(t testing.TB, name string) StragglersRequest {
	return StragglersRequest{Request: Request{Inputs: []Input{{Path: filetest.Data(t, "kineto/ByteDance-Seed+StragglerAnalysis__timeline-"+name+".json.gz")}}}}
}

// TestPublishedStagePartitioning: of this job its analysis says that the last of four stages is too long, most of it in the forward pass.
func TestPublishedStagePartitioning(t *testing.T) {
	d := stragglers(t, timelineOf(t, "ST"))
	if d.Status != straggler.StatusBlamed || len(d.Ranks) != 8 || len(d.Steps) != 32 {
		t.Fatalf("%s: %d ranks, %d steps", d.Verdict, len(d.Ranks), len(d.Steps))
	}
	for i := range d.Ranks {
		r := &d.Ranks[i]
		if last := strings.HasSuffix(r.ID, "pp3"); r.Blamed != last || last && r.Causes[0].Name != "forward-compute" {
			t.Errorf("%+v", r)
		}
	}
}

// TestPublishedSequenceLengthImbalance: for each step of this job its analysis says what it would have taken without one data parallel rank. These are
// its slowest steps, with the rank that cost most.
func TestPublishedSequenceLengthImbalance(t *testing.T) {
	published := map[string]string{"812": "dp21 ", "38": "dp3 ", "810": "dp14 ", "809": "dp1 ", "834": "dp7 ", "408": "dp10 ", "431": "dp8 ", "825": "dp19 "}
	d := stragglers(t, timelineOf(t, "SE"))
	found := 0
	for _, s := range d.Steps {
		if want, ok := published[s.Name]; ok {
			if found++; !strings.HasPrefix(s.Critical, want) {
				t.Errorf("step %s: %s, want %s", s.Name, s.Critical, want)
			}
		}
	}
	if found != len(published) || len(d.Ranks) != 64 {
		t.Errorf("%d steps of %d, %d ranks", found, len(published), len(d.Ranks))
	}
}

// TestALateRankOfKinetoTraces: one rank enters every all-reduce 150 us after the others. Clocks are 300 us apart: on one clock it is blamed, with raw
// times another one.
func TestALateRankOfKinetoTraces(t *testing.T) {
	dir := t.TempDir()
	offsets := []int64{0, 300e3, -300e3, 100e3}
	var inputs []Input
	const late = 2
	for rank := range 4 {
		var b strings.Builder
		fmt.Fprintf(&b, `{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": 4}, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [`, rank)
		for step := range 300 {
			last := float64(step)*10000 + 950
			enter := last - 150 - float64((step*7+rank*13)%20)
			if rank == late {
				enter = last
			}
			shift := float64(offsets[rank]) / 1000
			fmt.Fprintf(&b, `{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 20, "ts": %.3f, "dur": %.3f, "args": {"device": 0, "stream": 20, "Collective name": "allreduce", "In msg nelems": 1024, "Group size": 4, "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1, 2, 3]", "Seq": %d}},`,
				enter+shift, last+30-enter, step)
		}
		b.WriteString(`{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}}]}`)
		inputs = append(inputs, Input{Path: put(t, dir, fmt.Sprintf("rank%d.json", rank), []byte(b.String()))})
	}
	declared := func(by ...int64) string {
		var nodes []string
		for rank, ns := range by {
			nodes = append(nodes, fmt.Sprintf(`"rank%d": {"offset_ns": %d, "bound_ns": 10000}`, rank, ns))
		}
		return put(t, dir, fmt.Sprint("declared", by[1], ".json"), []byte(`{"nodes": {`+strings.Join(nodes, ", ")+`}}`))
	}
	ask := func(declared string) *straggler.Document {
		return stragglers(t, StragglersRequest{Request: Request{Inputs: inputs, Declared: declared, Method: MethodDeclared}})
	}
	for name, c := range map[string]struct {
		declared string
		want     string
	}{"on one clock": {declared(offsets...), "rank2"}, "raw": {declared(0, 0, 0, 0), "rank1"}} {
		d := ask(c.declared)
		first, last := d.Ranks[0], 0
		for _, r := range d.Ranks {
			last = max(last, r.Last)
		}
		if d.Operations.Count != 300 || first.ID != c.want && first.Blamed || last == 0 {
			t.Errorf("%s: %s", name, d.Verdict)
		}
		if name == "on one clock" && (!first.Blamed || first.Last < 290) {
			t.Errorf("%s: %+v", name, first)
		}
		for _, r := range d.Ranks {
			if name == "raw" && r.ID == c.want && r.Last != 300 {
				t.Errorf("raw times say that rank1 is always last; %+v", r)
			}
		}
	}
	if _, err := Stragglers(job.New(context.Background(), job.Options{}), StragglersRequest{Request: Request{Inputs: inputs}, Steps: []string{"none"}}, nil); err == nil || !strings.Contains(err.Error(), `no step "none"`) {
		t.Errorf("%v", err)
	}
	group := "other"
	if _, err := Stragglers(job.New(context.Background(), job.Options{}), StragglersRequest{Request: Request{Inputs: inputs}, Group: &group}, nil); err == nil || !strings.Contains(err.Error(), "no communicator") {
		t.Errorf("%v", err)
	}
}

// TestRealSetsAreJudgedOrSaidNotToBe: sets of several ranks that were recorded on real machines.
func TestRealSetsAreJudgedOrSaidNotToBe(t *testing.T) {
	p4, probes, _ := jax(t, "p4")
	for name, r := range map[string]Request{
		"p4, by probes":      {Inputs: p4, Probes: probes},
		"p4, by collectives": {Inputs: p4},
		"sampled": {Inputs: []Input{
			{Path: filetest.Data(t, "kineto/facebookresearch+HolisticTraceAnalysis__sampled_rank-0.json.gz")},
			{Path: filetest.Data(t, "kineto/facebookresearch+HolisticTraceAnalysis__sampled_rank-1.json.gz")},
		}},
	} {
		d := stragglers(t, StragglersRequest{Request: r})
		if d.Verdict == "" || d.Operations.Told > d.Operations.Count {
			t.Errorf("%s: %+v", name, d.Operations)
		}
		sum := straggler.Parts{}
		for _, g := range d.Groups {
			sum.TransferNS, sum.WaitingNS, sum.LaunchNS, sum.ProfilerNS, sum.UntoldNS = sum.TransferNS+g.Time.TransferNS, sum.WaitingNS+g.Time.WaitingNS, sum.LaunchNS+g.Time.LaunchNS, sum.ProfilerNS+g.Time.ProfilerNS, sum.UntoldNS+g.Time.UntoldNS
		}
		if sum != d.Time {
			t.Errorf("%s: communicators have %+v, all %+v", name, sum, d.Time)
		}
		t.Logf("%s: %s; %s; %+v", name, d.Verdict, d.Clocks, d.Time)
	}
}

// TestABoundOutlivesCombining: what the bounds of clocks left undecided is as undecided once the traces are one file.
func TestABoundOutlivesCombining(t *testing.T) {
	p4, probes, _ := jax(t, "p4")
	raw := stragglers(t, StragglersRequest{Request: Request{Inputs: p4, Probes: probes}})
	for _, name := range []string{"merged.json.gz", "run"} {
		out := filepath.Join(t.TempDir(), name)
		if _, _, err := Run(job.New(context.Background(), job.Options{Workers: 2}), Request{Inputs: p4, Probes: probes, Output: out}); err != nil {
			t.Fatal(err)
		}
		inputs := []Input{{Path: out}}
		if name == "run" {
			files, err := filepath.Glob(filepath.Join(out, "*.xplane.pb"))
			if err != nil || len(files) != 4 {
				t.Fatal(files, err)
			}
			inputs = nil
			for _, f := range files {
				inputs = append(inputs, Input{Path: f})
			}
		}
		d := stragglers(t, StragglersRequest{Request: Request{Inputs: inputs}})
		if least := raw.Time.UntoldNS * 95 / 100; raw.Time.UntoldNS == 0 || d.Time.UntoldNS < least || d.Operations.Count != raw.Operations.Count {
			t.Errorf("%s: %d operations, %d ns undecided; before %d, %d", name, d.Operations.Count, d.Time.UntoldNS, raw.Operations.Count, raw.Time.UntoldNS)
		}
	}
}

func TestNodesOfOneHostThatWereMovedAlikeShareAClock(t *testing.T) {
	bound, other := int64(40), int64(50)
	x := aligned.Node{ID: "rank0", Host: "a", Method: "probes", OffsetNS: 7, BoundNS: &bound}
	for change, c := range map[string]struct {
		with func(*aligned.Node)
		want bool
	}{
		"nothing":  {func(*aligned.Node) {}, true},
		"the id":   {func(n *aligned.Node) { n.ID = "rank1" }, true},
		"host":     {func(n *aligned.Node) { n.Host = "b" }, false},
		"offset":   {func(n *aligned.Node) { n.OffsetNS = 8 }, false},
		"drift":    {func(n *aligned.Node) { n.DriftPPM = 1 }, false},
		"bound":    {func(n *aligned.Node) { n.BoundNS = &other }, false},
		"no bound": {func(n *aligned.Node) { n.BoundNS = nil }, false},
		"method":   {func(n *aligned.Node) { n.Method = "declared" }, false},
	} {
		y := x
		c.with(&y)
		if got := sharedClock(&x, &y); got != c.want {
			t.Errorf("%s changed: %t", change, got)
		}
	}
	x.Host = ""
	if y := x; sharedClock(&x, &y) {
		t.Error("nobody knows the host")
	}
}

// TestTheReportOfCombineHasTheSameEngine: where a report is asked for the ranks cost what Stragglers says, and nobody pays who asks for none.
func TestTheReportOfCombineHasTheSameEngine(t *testing.T) {
	inputs := []Input{{Path: filepath.Join("..", "..", "examples", "straggler_job", "recorded")}}
	found, err := Discover(context.Background(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	run := func(report string) *Evidence {
		_, e, err := Run(job.New(context.Background(), job.Options{Workers: 1}), Request{Inputs: found.Traces, Output: t.TempDir() + "/run", Report: report})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := run(""); e.Late != nil {
		t.Error("who was late is worked out where nobody asked")
	}
	late, want := run("late.html").Late, stragglers(t, StragglersRequest{Request: Request{Inputs: found.Traces}})
	if late == nil || late.Status != straggler.StatusBlamed || len(late.Ranks) != len(want.Ranks) {
		t.Fatalf("%+v", late)
	}
	for i := range late.Ranks {
		if a, b := &late.Ranks[i], &want.Ranks[i]; a.ID != b.ID || a.CostNS != b.CostNS || a.GainNS != b.GainNS || a.Blamed != b.Blamed || a.Time != b.Time {
			t.Errorf("%+v in the report, %+v of Stragglers", a, b)
		}
	}
}
