package api

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simt/target"
	"github.com/prlx-go/prlx/core/simulator/simulation"
)

// increment adds 1 to the first n elements of an array of 32-bit integers.
const increment = `.version 8.0
.target sm_80
.address_size 64
.visible .entry increment(.param .u64 .ptr .global .align 4 p, .param .u32 n)
{
	.reg .pred %p<2>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<4>;
	.loc 1 10 1
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	.loc 1 11 1
	setp.ge.u32 %p1, %r2, %r1;
	@%p1 bra $done;
	.loc 1 12 1
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r3, [%rd3];
	add.s32 %r4, %r3, 1;
	st.global.u32 [%rd3], %r4;
$done:
	ret;
}
	.file 1 "/source/increment.py"
`

// machine is a Core that sees some memory of a test, and one module in it.
type machine struct {
	*Core
	t      testing.TB
	memory []byte // at address 4096
	module int64
}

func newMachine(t testing.TB, ptx string) *machine {
	t.Helper()
	m := &machine{Core: New(), t: t, memory: make([]byte, 400)}
	m.SeeMemory(func(address uint64, n int) []byte { return m.memory[address-4096:][:n:n] })
	var doc simulateLoadDocument
	m.must("simulate_load", map[string]any{"name": "increment.ptx", "ptx": ptx}, &doc)
	m.module = doc.Module
	return m
}

// must runs an operation that succeeds.
func (m *machine) must(op string, request, into any) {
	m.t.Helper()
	reply := m.call(op, request)
	if reply[0] != replyDocument {
		m.t.Fatalf("%s: %s", op, reply[1:])
	}
	if err := json.Unmarshal(reply[1:], into); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) call(op string, request any) []byte {
	m.t.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		m.t.Fatal(err)
	}
	return m.Call(op, text)
}

// request is a launch of one block of 64 threads on an array of so many elements.
func (m *machine) request(elements, n int, more map[string]any) map[string]any {
	r := map[string]any{
		"module": m.module, "kernel": "increment", "grid": [3]int{1, 1, 1}, "block": [3]int{64, 1, 1},
		"params": []map[string]any{
			{"name": "p", "type": "*i32", "bits": 4096, "allocation": 0}, {"name": "n", "type": "i32", "bits": n, "allocation": -1},
		},
		"allocations": []map[string]any{{"name": "p", "address": 4096, "bytes": 4 * elements}},
	}
	for key, value := range more {
		r[key] = value
	}
	return r
}

func (m *machine) ints() []uint32 {
	var found []uint32
	for i := 0; i < len(m.memory); i += 4 {
		found = append(found, binary.LittleEndian.Uint32(m.memory[i:]))
	}
	return found
}

func TestLaunchChangesTheCallersMemory(t *testing.T) {
	m := newMachine(t, increment)
	var doc simulation.Document
	m.must("simulate_launch", m.request(100, 40, nil), &doc)
	want := slices.Concat(slices.Repeat([]uint32{1}, 40), make([]uint32, 60))
	if got := m.ints(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if doc.Schema != "prlx.simulation/1" || doc.Status != "clean" || doc.Warps != 2 || doc.Blocks != 1 || doc.Totals.Branches != 2 ||
		doc.Totals.Divergent != 1 || doc.Totals.GlobalBytes != 2*4*40 {
		t.Errorf("got %+v", doc)
	}
	for _, l := range doc.Lines {
		if l.File != "/source/increment.py" || l.Line < 10 || l.Line > 12 {
			t.Errorf("got line %+v", l)
		}
	}
}

func TestFindingNamesLineAndLanes(t *testing.T) {
	m := newMachine(t, increment)
	var doc simulation.Document
	m.must("simulate_launch", m.request(50, 60, nil), &doc)
	if doc.Status != "findings" || len(doc.Findings) != 2 { // the load, the store
		t.Fatalf("got %+v", doc)
	}
	f := doc.Findings[0]
	want := []int{18, 19, 20, 21, 22, 23, 24, 25, 26, 27}
	if f.Check != "out-of-bounds" || f.File != "/source/increment.py" || f.Line != 12 || f.Warp != 1 || !slices.Equal(f.Lanes, want) || f.Lane != 18 {
		t.Errorf("got %+v", f)
	}
	if f.Access == nil || f.Access.Nearest != "p" || f.Access.Distance != 0 && f.Access.Distance < 0 || f.Access.Size != 200 {
		t.Errorf("got %+v", f.Access)
	}
	if got := m.ints(); got[49] != 1 || got[50] != 0 {
		t.Errorf("elements 49 and 50 are %d and %d, want 1 and 0", got[49], got[50])
	}
}

func TestLaunchIsRecorded(t *testing.T) {
	m := newMachine(t, increment)
	path := filepath.Join(t.TempDir(), "a.prlx")
	var doc simulation.Document
	m.must("simulate_launch", m.request(100, 40, map[string]any{"launch": 3, "record": map[string]any{"path": path}}), &doc)
	trace, err := warptrace.OpenPath(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	h := trace.Header()
	if h.Kernel != "increment" || h.Means != warptrace.MeansObserved || h.Launch != 3 || h.Arch != target.SM80.Name || !h.Taken || h.WarpsPerBlock != 2 {
		t.Errorf("got %+v", h)
	}
	if len(h.Arguments) != 2 || h.Arguments[1].Value != "40" || h.Arguments[0].Digest == 0 || h.Arguments[0].Value != "" {
		t.Errorf("got arguments %+v", h.Arguments)
	}
	var w warptrace.Warp
	if err := trace.ReadWarp(t.Context(), 1, &w); err != nil {
		t.Fatal(err)
	}
	if w.Len() != 1 || w.Active[0] != 0xffffffff || w.Taken[0] != 0xffffff00 {
		t.Errorf("warp 1 has %d events, active %x, taken %x; want one, all and lanes 8 to 31", w.Len(), w.Active, w.Taken)
	}
	if s, ok := trace.SiteOf(w.Site[0]); !ok || s.Where().Line != 11 {
		t.Errorf("got site %+v", s)
	}
	if doc.Recording == nil || doc.Recording.Warps != 2 || doc.Recording.Events != 2 {
		t.Errorf("got %+v", doc.Recording)
	}
}

func TestARecordingSaysWhatALaunchWrote(t *testing.T) {
	for name, c := range map[string]struct {
		record map[string]any
		want   *recorder.Written
		kept   int
		notes  int
	}{
		"by default":      {map[string]any{}, &recorder.Written{Stores: 1, Arrays: 1, Bytes: 160}, 0, 0},
		"with contents":   {map[string]any{"outputs": 1 << 20}, &recorder.Written{Stores: 1, Arrays: 1, Bytes: 160, KeptBytes: 160}, 1, 0},
		"with too little": {map[string]any{"outputs": 100}, &recorder.Written{Stores: 1, Arrays: 1, Bytes: 160}, 0, 1},
		"as digests":      {map[string]any{"mode": "digest"}, &recorder.Written{Stores: 1, Arrays: 1, Bytes: 160}, 0, 0},
		"left out":        {map[string]any{"no_written": true}, nil, 0, 0},
	} {
		m := newMachine(t, increment)
		path := filepath.Join(t.TempDir(), "a.prlx")
		c.record["path"] = path
		var doc simulation.Document
		m.must("simulate_launch", m.request(100, 40, map[string]any{"record": c.record}), &doc)
		if d := cmp.Diff(c.want, doc.Recording.Written); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		trace, err := warptrace.OpenPath(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer trace.Close()
		o, err := trace.Outputs(t.Context())
		stores, err2 := trace.Stores(t.Context())
		if err != nil || err2 != nil || (o == nil) != (c.want == nil) || (stores == nil) != (c.want == nil) {
			t.Fatalf("%s: got %+v, %+v, %v, %v", name, o, stores, err, err2)
		}
		kept := 0
		if err := trace.Contents(t.Context(), func(c *warptrace.Contents) error { kept++; return nil }); err != nil || kept != c.kept {
			t.Errorf("%s: the contents of %d chunks, %v; want %d", name, kept, err, c.kept)
		}
		if losses, err := trace.Losses(t.Context()); err != nil || len(losses.Notes) != c.notes {
			t.Errorf("%s: got notes %q, %v; want %d", name, losses.Notes, err, c.notes)
		}
		if o != nil && (o.Arrays[0].Name != "p" || o.Coverage.Rolling != (c.record["mode"] != nil) || stores.Len() != 2) {
			t.Errorf("%s: got %+v and %+v", name, o, stores)
		}
	}
}

func TestSameArgumentsHaveTheSameDigestWhereverTheyLie(t *testing.T) {
	digest := func(n int) string {
		m := newMachine(t, increment)
		var doc simulation.Document
		record := map[string]any{"path": filepath.Join(t.TempDir(), "a.prlx")}
		m.must("simulate_launch", m.request(100, n, map[string]any{"record": record}), &doc)
		return doc.Recording.ArgumentDigest
	}
	if a, b, c := digest(40), digest(40), digest(41); a != b || a == c {
		t.Errorf("got %s, %s and %s", a, b, c)
	}
}

func TestLaunchesThatCannotBe(t *testing.T) {
	m := newMachine(t, increment)
	for name, more := range map[string]map[string]any{
		"no such module":     {"module": 99},
		"no such kernel":     {"kernel": "decrement"},
		"no such allocation": {"params": []map[string]any{{"name": "p", "type": "*i32", "bits": 0, "allocation": 7}}},
		"too few parameters": {"params": []map[string]any{}},
		"wraps around":       {"allocations": []map[string]any{{"name": "p", "address": ^uint64(0) - 8, "bytes": 100}}},
		"negative size":      {"allocations": []map[string]any{{"name": "p", "address": 4096, "bytes": -1}}},
		"no such mode":       {"record": map[string]any{"path": "x.prlx", "mode": "everything"}},
	} {
		reply := m.call("simulate_launch", m.request(100, 40, more))
		if reply[0] != replyError || !strings.Contains(string(reply), `"kind":"usage"`) {
			t.Errorf("%s: got %s, want a usage error", name, reply[1:])
		}
	}
	if m.ints()[0] != 0 {
		t.Errorf("a launch that could not be has changed memory")
	}
}

func TestUnloadedModulesAreGone(t *testing.T) {
	m := newMachine(t, increment)
	var doc simulateUnloadDocument
	for _, want := range []bool{true, false} {
		m.must("simulate_unload", map[string]any{"module": m.module}, &doc)
		if doc.Unloaded != want {
			t.Errorf("unloaded %v, want %v", doc.Unloaded, want)
		}
	}
	if reply := m.call("simulate_launch", m.request(100, 40, nil)); reply[0] != replyError {
		t.Errorf("launched from a module that is gone: %s", reply)
	}
}

func TestUnknownInstructionIsRefusedByName(t *testing.T) {
	odd := strings.Replace(increment, "add.s32 %r4, %r3, 1;", "frobnicate.s32 %r4, %r3, 1;", 1)
	m := newMachine(t, odd)
	reply := string(m.call("simulate_launch", m.request(100, 40, nil)))
	if reply[0] != replyError || !strings.Contains(reply, "frobnicate.s32") || !strings.Contains(reply, `"kind":"incompatible"`) {
		t.Errorf("got %s", reply[1:])
	}
}

func TestManifestOfASession(t *testing.T) {
	dir := t.TempDir()
	c := New()
	request := fmt.Sprintf(`{"path":%q,"launches":[{"launch":0,"kernel":"f","file":"0000_f.prlx","grid":[1,1,1],"block":[32,1,1],
		"argument_digest":"0x0000000000000005","module_hash":"ab"}]}`, dir)
	if reply := c.Call("session_finish", []byte(request)); reply[0] != replyDocument {
		t.Fatalf("got %s", reply[1:])
	}
	reply := c.Call("session_inspect", fmt.Appendf(nil, `{"path":%q}`, dir))
	for _, want := range []string{`"manifest":true`, `"partial":false`, `"argument_digest":"0x0000000000000005"`, `"kernel":"f"`} {
		if !strings.Contains(string(reply), want) {
			t.Errorf("%s is missing from %s", want, reply[1:])
		}
	}
}

func BenchmarkLaunch(b *testing.B) {
	m := newMachine(b, increment)
	text, err := json.Marshal(m.request(100, 40, nil))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if reply := m.Call("simulate_launch", text); reply[0] != replyDocument {
			b.Fatalf("got %s", reply[1:])
		}
	}
}
