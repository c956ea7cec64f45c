package aligned

import (
	"encoding/json"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// sample is a mark with everything that a mark can hold.
func sample(t testing.TB) *Mark {
	t.Helper()
	wall, err := clock.New([]clock.Knot{{X: 1_760_000_000_000_000_001, Y: 1_760_000_000_037_000_000, BoundNS: 900, YPS: 7}, {X: 1_760_000_004_000_000_000, Y: 1_760_000_004_037_000_400, BoundNS: 700}},
		clock.WithTails(clock.DriftPPM(3), clock.DriftPPM(-2), 500), clock.WithWander(4), clock.WithSteps(0))
	if err != nil {
		t.Fatal(err)
	}
	rank, bound := int64(3), int64(950)
	return &Mark{
		Schema: Schema, Version: "1.2.3", Aligned: true, Reference: "node0", Timebase: "host", ZeroNS: 1_760_000_000_000_000_000,
		Nodes: []Node{
			{ID: "node0", Method: "probes", BoundNS: new(int64)},
			{
				ID: "node<1>", Host: "host \"1\"", Rank: &rank, Method: "probes", OffsetNS: -37_000_000, DriftPPM: 0.1, BoundNS: &bound, Wall: wall, Tracer: clock.Shift(5, 6),
				Processes: []int64{1, 2}, TracerThreads: map[string][]int{"2": {1, 4}},
			},
			{ID: "node2", Method: "wall", OwnZero: true, Compiled: &Compiled{
				Programs: [][2]int64{{-9_000_000_000_000_000_001, 0}},
				Planes:   []Plane{{Process: 3, Kind: PlaneHost, Device: -1}, {Process: 4, Kind: PlaneKernels, Device: 1, DeviceID: &bound, Threads: []int{1, 3}}},
			}},
		},
		Programs: []Program{{
			Name: "jit_step", Fingerprint: 17_000_000_000_000_000_001, Replicas: 1, Partitions: 2, Devices: "{0,1}",
			Collectives: []Collective{
				{Op: "x.1", Kind: "all-reduce", Phase: "done", Start: "x.0", Channel: 1, Global: true, Groups: "{0,1}"},
				{Op: "x.2", Kind: "send-recv", Sends: true, Pairs: "{0,1}", Host: true, Damaged: true},
			},
		}},
	}
}

// TestMarksReadBackAsWritten: every field and every instant, to the nanosecond.
func TestMarksReadBackAsWritten(t *testing.T) {
	want := sample(t)
	text, err := want.Text()
	if err != nil || strings.ContainsAny(string(text), "\n") {
		t.Fatalf("%v: %s", err, text)
	}
	got, err := Read(text)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v\n%+v\n%+v", err, got, want)
	}
	one := want.Of(1)
	if len(one.Nodes) != 1 || one.Nodes[0].ID != "node<1>" || len(want.Nodes) != 3 || !one.Joins(want) {
		t.Errorf("one of them: %+v", one)
	}
	other := *want
	if other.ZeroNS++; other.Joins(want) {
		t.Error("marks of different zeros are one alignment")
	}
	for tracer, bound := range map[bool]int64{false: 900, true: 6} {
		if y, b, _ := want.Nodes[1].Stated(tracer).At(1_760_000_000_037_000_000); y != 1_760_000_000_037_000_000 || b != bound {
			t.Errorf("tracer %v: %d ±%d, want ±%d", tracer, y, b, bound)
		}
	}
	if y, b, _ := want.Nodes[2].Stated(true).At(5); y != 5 || b != 0 {
		t.Errorf("a node that was not moved: %d ±%d", y, b)
	}
}

// TestTheExampleOfTheDocumentationIsAMark: docs/schemas/prlx.mark.1.json.
func TestTheExampleOfTheDocumentationIsAMark(t *testing.T) {
	text, err := os.ReadFile("../../../docs/schemas/prlx.mark.1.json")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Read(text)
	if err != nil || m.Nodes[0].BoundNS == nil || m.Nodes[0].Wall == nil || m.Nodes[0].Tracer == nil || len(m.Programs[0].Collectives) == 0 {
		t.Fatalf("%v: %+v", err, m)
	}
	want, said := keysOf(t, text), sample(t)
	written, err := said.Text()
	if err != nil {
		t.Fatal(err)
	}
	if got := keysOf(t, written); !reflect.DeepEqual(got, want) {
		t.Errorf("keys are %v, the example has %v", got, want)
	}
}

// keysOf collects the keys of a mark and of its nodes, "processes" and the like included when any node has them.
func keysOf(t *testing.T, text []byte) map[string]bool {
	t.Helper()
	var top map[string]any
	if err := json.Unmarshal(text, &top); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for k := range top {
		out[k] = true
	}
	for _, n := range top["nodes"].([]any) {
		for k := range n.(map[string]any) {
			out["nodes."+k] = true
		}
	}
	for _, p := range top["programs"].([]any) {
		for k := range p.(map[string]any) {
			out["programs."+k] = true
		}
	}
	return out
}

// TestATableOfProgramsHoldsEqualOnesOnce: and one that is beyond a limit makes it full.
func TestATableOfProgramsHoldsEqualOnesOnce(t *testing.T) {
	var table ProgramTable
	add := func(p Program) int {
		at, err := table.Add(p)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	a, b, again := add(Program{Name: "a"}), add(Program{Name: "b"}), add(Program{Name: "a"})
	if a != 0 || b != 1 || again != 0 || len(table.List) != 2 || table.Full {
		t.Errorf("places %d, %d, %d in %d programs", a, b, again, len(table.List))
	}
	for what, p := range map[string]Program{
		"collectives": {Name: "c", Collectives: make([]Collective, MaxCollectives+1)},
		"bytes":       {Name: strings.Repeat("c", MaxProgramBytes)},
	} {
		table.Full = false
		if add(p); !table.Full || len(table.List) != 2 {
			t.Errorf("too many %s: full %v, %d programs", what, table.Full, len(table.List))
		}
	}
}

// TestHostileListsTakeNoMemory: two bytes of a list become hundreds in memory, so that they are counted while they are read.
func TestHostileListsTakeNoMemory(t *testing.T) {
	for what, text := range map[string]string{
		"nodes":    `{"schema":"prlx.mark/1","nodes":[` + strings.Repeat("{},", 1<<20) + `{}]}`,
		"programs": `{"schema":"prlx.mark/1","nodes":[{}],"programs":[` + strings.Repeat("{},", 1<<20) + `{}]}`,
		"planes":   `{"schema":"prlx.mark/1","nodes":[{"compiled":{"planes":[` + strings.Repeat("{},", 1<<20) + `{}]}}]}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read([]byte(text))
		runtime.ReadMemStats(&after)
		if err == nil || fault.Of(err).Kind != fault.Format || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 128<<20 {
			t.Errorf("%s: %d MiB for a text of %d", what, took>>20, len(text)>>20)
		}
	}
}

// FuzzRead: any text is a mark or an error that says so, and a mark says the same when it is written and read again.
func FuzzRead(f *testing.F) {
	text, err := sample(f).Text()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(text), `{"schema":"prlx.mark/1","nodes":[{"id":"a","wall":{"knots":[[1,1,1,0],[2,2,2,0]],"flags":[0,0,0]}}]}`, `{"schema":"prlx.mark/2"}`, `{"schema":"prlx.mark/1","nodes":[{"compiled":{"programs":[[1,0]],"planes":null}}],"programs":[{"collectives":[]}]}`, `[]`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Read(b)
		if err != nil {
			if k := fault.Of(err).Kind; k != fault.Format && k != fault.Limit {
				t.Errorf("%v is of kind %v", err, k)
			}
			return
		}
		for i := range m.Nodes {
			for _, tracer := range []bool{false, true} {
				if y, bound, _ := m.Nodes[i].Stated(tracer).At(m.ZeroNS); y != m.ZeroNS || bound < 0 {
					t.Errorf("a stated instant moved from %d to %d ±%d", m.ZeroNS, y, bound)
				}
			}
		}
		again, err := m.Text()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Read(again); err != nil || !reflect.DeepEqual(back, m) {
			t.Errorf("%v: %s", err, again)
		}
	})
}
