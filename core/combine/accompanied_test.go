package combine

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/nccltest"
	"github.com/prlx-go/prlx/core/trace/formats"
	"github.com/prlx-go/prlx/core/trace/source"
)

const playedWallNS = int64(1_795_000_000_000_000_000)

// played is a job of two ranks on two hosts that do n AllReduces: recordings of NCCL, and beside them what a profiler in the same processes writes of the
// same kernels. aheadNS is how far the clocks of hosts are ahead; wrongNS by how much each profiler puts its events later than its host's clock says.
func played(t *testing.T, n int, aheadNS, wrongNS [2]int64, traced bool) string {
	t.Helper()
	dir := t.TempDir()
	rnd := rand.New(rand.NewPCG(3, 4))
	starts, function := make([]int64, n), make([]string, n)
	at := int64(1_000_000_000)
	for i := range starts {
		at += 1_000_000 + rnd.Int64N(3_000_000)
		starts[i], function[i] = at, []string{"AllReduce", "AllGather"}[i%3/2]
	}
	for rank := range 2 {
		f := nccltest.NewFile(fmt.Sprintf("host%d", rank), uint32(4500+rank))
		f.Level, f.WallNS, f.Ended = 2, playedWallNS+aheadNS[rank], true
		comm := f.Comm(77, "world", 2, 2, rank, at)
		user, proxy := f.Thread(), f.Thread()
		events := []string{}
		sequence := map[string]uint64{}
		for i, at := range starts {
			group := user.GroupAPI(at-31_000, comm)
			api := user.API(at-30_000, comm, group, false, nccltest.Call{Func: function[i], Datatype: "ncclFloat32", Count: 1024, Stream: 5})
			user.Stop(at-29_000, api)
			launch := user.Launch(at-28_000, comm, group, 5)
			user.Stop(at-20_000, launch)
			op := user.Coll(at-19_000, comm, api, nccltest.Collective{
				Func: function[i], Datatype: "ncclFloat32", Algorithm: "RING", Protocol: "SIMPLE", Sequence: sequence[function[i]], Count: 1024, Channels: 1,
			})
			sequence[function[i]]++
			user.Stop(at-18_000, op)
			user.Stop(at-17_000, group)
			send := proxy.ProxyOp(at-10_000, comm, op, int32(1-rank), 4, 4096, 0, true)
			recv := proxy.ProxyOp(at-9_500, comm, op, int32(1-rank), 4, 4096, 0, false)
			began, ended := at+int64(rank)*2_000, at+150_000+int64(rank)*1_000
			kernel := proxy.Kernel(began+3_000, comm, op, 0, playedWallNS+aheadNS[rank]+began) // the GPU shows the time of the host
			proxy.KernelStop(ended+3_000, kernel, playedWallNS+aheadNS[rank]+ended)
			proxy.Stop(ended+10_000, send)
			proxy.Stop(ended+10_500, recv)
			us := float64(playedWallNS%1_000_000_000_000_000+aheadNS[rank]+wrongNS[rank]+began-1_500) / 1e3
			if i >= n/3 { // the profiler began later
				events = append(events, fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"ncclDevKernel_%s_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)","pid":0,"tid":7,"ts":%.3f,"dur":151.5,"args":{"device":0,"stream":7}}`, function[i], us),
					fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":"c10d::%s","pid":%d,"tid":%d,"ts":%.3f,"dur":20}`, function[i], 4500+rank, 4500+rank, us-35))
			}
		}
		f.Heartbeat = at + 1_000_000
		f.Write(t, filepath.Join(dir, fmt.Sprintf("host%d-%d-aa.prlx-nccl", rank, 4500+rank)))
		if !traced {
			continue
		}
		text := fmt.Sprintf(`{"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":%d,"world_size":2},"baseTimeNanoseconds":%d,"traceEvents":[%s]}`, rank,
			playedWallNS-playedWallNS%1_000_000_000_000_000, strings.Join(events, ",\n"))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("rank%d.json", rank)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func combinePlayed(t *testing.T, dir string) (*Document, []map[string]any) {
	t.Helper()
	found, err := Discover(t.Context(), []Input{{Path: dir}})
	if err != nil {
		t.Fatal(err)
	}
	found.TakeBeside()
	out := filepath.Join(t.TempDir(), "out.json")
	d, _, err := Run(job.New(t.Context(), job.Options{}), Request{Inputs: found.Traces, Output: out})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		TraceEvents []map[string]any `json:"traceEvents"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	return d, doc.TraceEvents
}

// TestRecordingsStandInXSpacesToo: alone, and beside traces whose output is one; with the clocks that they have in a JSON.
func TestRecordingsStandInXSpacesToo(t *testing.T) {
	dir := played(t, 60, [2]int64{0, 1_700_000}, [2]int64{}, false)
	recordings, err := filepath.Glob(filepath.Join(dir, "*.prlx-nccl"))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := combinePlayed(t, dir)
	for _, output := range []string{"one.xplane.pb", "run"} {
		req := Request{Output: filepath.Join(t.TempDir(), output)}
		if output == "run" {
			req.Format = FormatRun
		}
		for _, p := range recordings {
			req.Inputs = append(req.Inputs, Input{Path: p})
		}
		d, _, err := Run(job.New(t.Context(), job.Options{}), req)
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Nodes {
			got, want := &d.Nodes[i], &want.Nodes[i]
			if got.ID != want.ID || got.OffsetNS != want.OffsetNS || got.Events != want.Events || got.Method != want.Method || got.BoundNS != want.BoundNS {
				t.Errorf("%s: %+v, in a JSON %+v", output, got, want)
			}
		}
		if d.Collectives == nil || d.Collectives.Groups != 60 || d.Collectives.After.Violated != 0 || d.Collectives.Before.Violated == 0 {
			t.Errorf("%s: %+v", output, d.Collectives)
		}
		files := 0
		for _, o := range d.Outputs {
			path := o.Path
			if output == "run" {
				path = filepath.Join(req.Output, path)
			} else {
				path = filepath.Join(filepath.Dir(req.Output), path)
			}
			if o.Format != "xplane" {
				continue
			}
			files++
			counts := map[int]int{}
			for _, slices := range flowsOf(t, path) {
				counts[slices]++
			}
			want := map[int]int{5: 120} // a call, its launch, its kernel, what is sent, and what the peer receives
			if output == "run" {
				want = map[int]int{4: 60, 1: 60} // of which the last is in the other file
			}
			if !maps.Equal(counts, want) {
				t.Errorf("%s: chains of flows by their slices are %v, want %v", o.Path, counts, want)
			}
		}
		if want := map[string]int{"run": 2, "one.xplane.pb": 1}[output]; files != want {
			t.Errorf("%s: %d XSpaces, want %d", output, files, want)
		}
	}
}

// flowsOf are the chains of flows in an XSpace, by number: how many slices each goes through.
func flowsOf(t *testing.T, path string) map[string]int {
	t.Helper()
	src, err := file.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	trace, _, err := formats.Scan(t.Context(), src, source.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, p := range trace.Layout() {
		lines, err := trace.(source.ByLine).Open(t.Context(), src, p, &source.Lost{})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range p.Lines {
			err := lines.Line(t.Context(), l, func(e *source.Event) error {
				var args map[string]any
				if e.Args != nil {
					d := json.NewDecoder(strings.NewReader(string(append(e.Args.AppendArgs([]byte("{"), 1, &source.Lost{}), '}'))))
					d.UseNumber()
					if err := d.Decode(&args); err != nil {
						return err
					}
				}
				if f, ok := args["flow"]; ok {
					n, err := strconv.ParseUint(fmt.Sprint(f), 10, 64)
					if err != nil {
						return err
					}
					out[fmt.Sprint(n>>2)]++
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

func node(t *testing.T, d *Document, id string) *NodeResult {
	t.Helper()
	for i := range d.Nodes {
		if d.Nodes[i].ID == id {
			return &d.Nodes[i]
		}
	}
	t.Fatalf("no node %s in %+v", id, d.Nodes)
	return nil
}

// TestARecordingIsOfTheProcessThatItsProfilerTraced: it has its rank and shares its clock, and the kernels that both show agree.
func TestARecordingIsOfTheProcessThatItsProfilerTraced(t *testing.T) {
	d, events := combinePlayed(t, played(t, 60, [2]int64{0, 1_700_000}, [2]int64{}, true))
	if len(d.Nodes) != 4 || len(d.SameKernels) != 2 {
		t.Fatalf("%d nodes, %+v; %q", len(d.Nodes), d.SameKernels, d.Warnings)
	}
	for rank := range 2 {
		trace, recording := node(t, d, fmt.Sprintf("rank%d", rank)), node(t, d, fmt.Sprintf("rank%d-nccl", rank))
		if *recording.Rank != int64(rank) || recording.Identity != "process" || trace.Host != fmt.Sprintf("host%d", rank) || trace.OffsetNS != recording.OffsetNS {
			t.Errorf("trace %+v\nrecording %+v", trace, recording)
		}
		if s := d.SameKernels[rank]; s.Verdict != kernelsAgree || s.Kernels != 40 || s.MovedNS != 0 || abs(s.OffsetNS+1_500) > s.BoundNS || s.BoundNS > 50_000 {
			t.Errorf("%+v", s)
		}
	}
	if off := node(t, d, "rank1").OffsetNS; abs(off-1_700_000) > 100_000 {
		t.Errorf("host 1 is %d ns ahead, want 1700000", off)
	}
	nccl, kineto := kernelsOf(events)
	if len(nccl) != 120 || len(kineto) != 80 {
		t.Errorf("%d kernels of recordings, %d of traces", len(nccl), len(kineto))
	}
}

// kernelsOf are the starts of kernels in us, of recordings and of traces of profilers.
func kernelsOf(events []map[string]any) (nccl, kineto []float64) {
	for _, e := range events {
		name, _ := e["name"].(string)
		args, _ := e["args"].(map[string]any)
		switch _, seen := args["seen_by_host_ns"]; {
		case seen:
			nccl = append(nccl, e["ts"].(float64))
		case strings.HasPrefix(name, "ncclDevKernel"):
			kineto = append(kineto, e["ts"].(float64))
		}
	}
	return nccl, kineto
}

// TestARecordingWhoseProcessNobodyTracedIsTakenAllTheSame, by its rank.
func TestARecordingWhoseProcessNobodyTracedIsTakenAllTheSame(t *testing.T) {
	dir := played(t, 30, [2]int64{}, [2]int64{}, true)
	text, err := os.ReadFile(filepath.Join(dir, "rank1.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rank1.json"), []byte(strings.ReplaceAll(string(text), "4501", "9999")), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := combinePlayed(t, dir)
	if r := node(t, d, "rank1-nccl"); len(d.SameKernels) != 1 || *r.Rank != 1 || !strings.Contains(strings.Join(d.Notes, "\n"), "no trace is of the process of rank1-nccl") {
		t.Errorf("%+v\n%+v\n%q", d.SameKernels, r, d.Notes)
	}
}

// TestFlowsLeadFromCallsToTheProxiesOfPeers, whichever files they are in: each end lies in a slice, and none goes back in time.
func TestFlowsLeadFromCallsToTheProxiesOfPeers(t *testing.T) {
	d, events := combinePlayed(t, played(t, 60, [2]int64{0, 1_700_000}, [2]int64{}, true))
	type slice struct {
		from, to float64
		name     string
	}
	lines, begins, ends := map[[2]float64][]slice{}, map[float64]map[string]any{}, map[float64]map[string]any{}
	for _, e := range events {
		switch at := [2]float64{}; e["ph"] {
		case "X":
			at[0], at[1] = e["pid"].(float64), e["tid"].(float64)
			lines[at] = append(lines[at], slice{e["ts"].(float64), e["ts"].(float64) + e["dur"].(float64), e["name"].(string)})
		case "s":
			begins[e["id"].(float64)] = e
		case "f":
			ends[e["id"].(float64)] = e
		}
	}
	within := func(e map[string]any) string {
		at, name := e["ts"].(float64), ""
		for _, s := range lines[[2]float64{e["pid"].(float64), e["tid"].(float64)}] {
			if s.from <= at && at <= s.to {
				name, _, _ = strings.Cut(s.name, " ")
			}
		}
		return name
	}
	kinds, across := map[string]int{}, 0
	for id, b := range begins {
		f := ends[id]
		if f == nil || f["bp"] != "e" || f["ts"].(float64) < b["ts"].(float64) {
			t.Fatalf("a flow from %v to %v", b, f)
		}
		if kinds[within(b)+" to "+within(f)]++; b["pid"] != f["pid"] {
			across++
		}
	}
	for kind, want := range map[string]int{"ncclAllReduce to launch": 80, "ncclAllGather to launch": 40, "launch to AllReduce": 80, "launch to AllGather": 40, "AllReduce to send": 80, "AllGather to send": 40, "send to recv": 120} {
		if kinds[kind] != want {
			t.Errorf("%d flows %s, want %d; %v", kinds[kind], kind, want, kinds)
		}
	}
	if len(begins) != len(ends) || across != 120 || !strings.Contains(strings.Join(d.Notes, "\n"), "480 flows lead from calls of NCCL") {
		t.Errorf("%d begin, %d end, %d lead to another process; %q", len(begins), len(ends), across, d.Notes)
	}
}

// TestAContradictionOfTheClocksOfOneProcessIsSaid, and the recording is moved onto the clock of the trace.
func TestAContradictionOfTheClocksOfOneProcessIsSaid(t *testing.T) {
	const wrong = -3_200_000
	d, events := combinePlayed(t, played(t, 60, [2]int64{}, [2]int64{0, wrong}, true))
	if s := d.SameKernels[0]; s.Verdict != kernelsAgree {
		t.Errorf("rank 0: %+v", s)
	}
	s := d.SameKernels[1]
	if s.Verdict != kernelsContradict || abs(s.OffsetNS-(wrong-1_500)) > s.BoundNS || s.BoundNS > 100_000 || s.MovedNS != s.OffsetNS {
		t.Errorf("rank 1: %+v", s)
	}
	if !strings.Contains(strings.Join(d.Warnings, "\n"), "the clocks of one process contradict each other, and rank1-nccl is moved by that") || d.Status == StatusAligned {
		t.Errorf("status %s, warnings %q", d.Status, d.Warnings)
	}
	nccl, kineto := kernelsOf(events)
	for _, k := range kineto {
		nearest := 1e12
		for _, n := range nccl {
			nearest = min(nearest, max(n-k, k-n))
		}
		if nearest > 60 {
			t.Fatalf("a traced kernel at %.1f us is %.1f us from all recorded ones", k, nearest)
		}
	}
}

// TestRecordingsAloneHaveRanksAndOneClock: named by the ranks that they say, related by the collectives that they hold.
func TestRecordingsAloneHaveRanksAndOneClock(t *testing.T) {
	d, _ := combinePlayed(t, played(t, 60, [2]int64{0, 1_700_000}, [2]int64{}, false))
	if len(d.SameKernels) != 0 {
		t.Errorf("%+v", d.SameKernels)
	}
	r := node(t, d, "rank1")
	if r.Method != methodCollectives || abs(r.OffsetNS-1_700_000) > r.BoundNS.Max || r.BoundNS.Unknown || r.BoundNS.Max > 200_000 || *r.Rank != 1 {
		t.Errorf("%+v, bound %+v; %q", r, r.BoundNS, d.Warnings)
	}
}

// TestAProcessIsNotTakenForAnother: a trace of another process of that rank, or of another rank or host, is no trace of it.
func TestAProcessIsNotTakenForAnother(t *testing.T) {
	three := int64(3)
	four := int64(4)
	layout := []*source.Process{{ID: 17, TextID: "17"}, {ID: 0, TextID: "0"}}
	of := func(pid int64, rank *int64, host string) *Node {
		return &Node{Path: "x.json", layout: layout, Rank: rank, Host: host, text: textual{}}
	}
	for name, c := range map[string]struct {
		p    source.ProcessID
		of   *Node
		want int
	}{
		"pid and rank":     {source.ProcessID{Host: "a", PID: 17, Rank: &three}, of(17, &three, ""), certain},
		"pid alone":        {source.ProcessID{Host: "a", PID: 17}, of(17, &three, "a.cluster"), byPID},
		"another pid":      {source.ProcessID{Host: "a", PID: 18, Rank: &three}, of(17, &three, "a"), 0},
		"another rank":     {source.ProcessID{Host: "a", PID: 17, Rank: &four}, of(17, &three, "a"), 0},
		"another host":     {source.ProcessID{Host: "b", PID: 17, Rank: &three}, of(17, &three, "a"), 0},
		"no pids":          {source.ProcessID{Host: "a", PID: 17, Rank: &three}, &Node{Path: "x.xplane.pb", Rank: &three, Host: "a"}, likely},
		"rank by its name": {source.ProcessID{Host: "a", PID: 17, Rank: &three}, &Node{Path: "rank3.xplane.pb"}, likely},
		"nothing":          {source.ProcessID{Host: "a", PID: 17}, &Node{Path: "x.xplane.pb"}, 0},
	} {
		if got := sameProcess(c.p, c.of); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

type textual struct{ source.Text }

// TestKernelsAreComparedOnlyWhereTheyTell: the alignment of both sequences is found whatever the offset, and what is ambiguous is said to be.
func TestKernelsAreComparedOnlyWhereTheyTell(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	irregular, regular := []source.Execution{}, []source.Execution{}
	at := int64(5_000_000)
	for i := range 2000 {
		at += 200_000 + rnd.Int64N(2_000_000)
		irregular = append(irregular, source.Execution{Function: "allreduce", StartNS: at, BoundNS: 3_000})
		regular = append(regular, source.Execution{Function: "allreduce", StartNS: int64(i) * 1_000_000, BoundNS: 3_000})
	}
	moved := func(list []source.Execution, ns int64) []source.Execution {
		var out []source.Execution
		for _, e := range list {
			e.StartNS += ns + rnd.Int64N(3_000)
			out = append(out, e)
		}
		return out
	}
	for name, c := range map[string]struct {
		traced, executed []source.Execution
		want             string
		offset           int64
	}{
		"same":            {moved(irregular[700:900], 0), irregular, kernelsAgree, 0},
		"seconds apart":   {moved(irregular[700:900], 7_300_000_000), irregular, kernelsContradict, 7_300_000_000},
		"regular":         {moved(regular[700:900], 0), regular, kernelsAgree, 0},
		"regular, beside": {moved(regular[700:900], 400_000), regular, kernelsAmbiguous, 400_000},
		"longer trace":    {moved(irregular[:400], 90_000), irregular[100:600], kernelsContradict, 90_000},
		"few":             {irregular[:2], irregular, kernelsUnseen, 0},
		"other functions": {[]source.Execution{{Function: "a"}, {Function: "b"}, {Function: "c"}}, irregular, kernelsUnseen, 0},
		"other instants":  {moved(regular[:200], 0), irregular, kernelsUnseen, 0},
	} {
		got := compareKernels(c.traced, c.executed)
		if got.Verdict != c.want || got.Verdict != kernelsUnseen && abs(got.OffsetNS-c.offset) > got.BoundNS {
			t.Errorf("%s: %+v, want %s by %d ns", name, got, c.want, c.offset)
		}
	}
	for name, want := range map[string]string{
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "allreduce", "ncclKernel_AllGather_RING_LL_Sum_int8_t": "allgather",
		"ncclDevKernel_SendRecv(x)": "sendrecv", "ncclSymkDevKernel_ReduceScatter_LD": "reducescatter", "void at::native::elementwise_kernel_AllReduce": "", "ncclThing": "",
	} {
		if got := libraryFunction(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
