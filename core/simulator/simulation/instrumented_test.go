package simulation

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/observe/arena"
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/compile"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
	"github.com/prlx-go/prlx/core/simulator/simt/target"
)

// decides is what Triton 3.9 made of a kernel with a loop, masks, a choice and a branch, compiled to record, with its table of sites.
func decides(t *testing.T) (text, table string) {
	t.Helper()
	return read(t, "decides")
}

func read(t *testing.T, kernel string) (text, table string) {
	t.Helper()
	var texts [2]string
	for i, kind := range []string{".ptx", ".table"} {
		b, err := os.ReadFile(filepath.Join("testdata", kernel+kind))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(b)
	}
	return texts[0], strings.TrimSpace(texts[1])
}

// launch is one of decides on three blocks of two warps, with an arena of some size; 0: none.
func launchOf(size int) (*simt.Launch, []byte) {
	bytes := func(n int, word func(i int) uint32) []byte {
		b := make([]byte, 4*n)
		for i := range n {
			binary.LittleEndian.PutUint32(b[4*i:], word(i))
		}
		return b
	}
	x := bytes(300, func(i int) uint32 { return math.Float32bits(float32(i%7) - 1) })
	idx := bytes(4, func(i int) uint32 { return []uint32{0, 70, 70, 290}[i] })
	out := bytes(64, func(int) uint32 { return 0 })
	l := &simt.Launch{Kernel: "decides", Grid: [3]uint32{3, 1, 1}, Block: [3]uint32{64, 1, 1}, SharedBytes: 8}
	for i, b := range [][]byte{x, idx, out} {
		l.Memory = append(l.Memory, memory.Allocation{Name: []string{"x", "idx", "out"}[i], Host: uint64(i+1) << 20, Bytes: b})
		l.Params = append(l.Params, simt.Argument{Name: l.Memory[i].Name, Type: "*fp32", Bits: l.Memory[i].Host, Allocation: i})
	}
	l.Params = append(l.Params, simt.Argument{Name: "n", Type: "i32", Bits: 300, Allocation: -1}, simt.Argument{Name: "global_scratch", Type: "*i8", Allocation: -1})
	scratch := simt.Argument{Name: "profile_scratch", Type: "*i8", Allocation: -1}
	if size > 0 {
		l.Memory = append(l.Memory, memory.Allocation{Name: scratch.Name, Host: 1 << 30, Bytes: make([]byte, size)})
		scratch.Bits, scratch.Allocation = 1<<30, 3
	}
	l.Params = append(l.Params, scratch)
	return l, out
}

// trap notes what lanes hand to the recorder, by looking at the parameters that it loads.
type trap struct {
	k     *code.Kernel
	calls map[uint64][]arena.Event // by warp
}

// parameter is the number of the parameter of prlx_record_decision that an instruction loads, -1 none.
func (s *trap) parameter(at int32) int {
	place := s.k.Origin(at)
	in := &place.Function.Insts[place.Inst]
	if place.Function.Name != "prlx_record_decision" || in.Op.Name != "ld" || len(in.Operands) != 2 {
		return -1
	}
	var n int
	if _, err := fmt.Sscanf(in.Operands[1].Symbol, "prlx_record_decision_param_%d", &n); err != nil {
		return -1
	}
	return n
}

func (s *trap) Wants(at int32) bool { return s.parameter(at) > 0 }

func (s *trap) Open(*execute.Block) execute.BlockObserver { return s }

func (s *trap) Close(context.Context, *execute.Block, execute.BlockObserver) error { return nil }

func (s *trap) Finish(*execute.Running, *execute.Result) error { return nil }

func (s *trap) Before(*execute.Block, *execute.Warp, int32, uint32, uint32) {}

func (s *trap) After(b *execute.Block, w *execute.Warp, at int32, active, _ uint32) {
	warp := b.Linear*uint64(b.Running.Warps) + uint64(w.Index)
	out := s.k.Code[at].Outs[0]
	value := func(l int) uint64 {
		if out.Bank == lane.R64 {
			return w.Regs.R64[out.Index][l]
		}
		return uint64(w.Regs.R32[out.Index][l])
	}
	if s.parameter(at) == 2 { // the condition, which all lanes load: a call begins
		e := arena.Event{Active: uint64(active)}
		for l := range lane.Lanes {
			if active>>l&1 != 0 && value(l)&1 != 0 {
				e.Taken |= 1 << l
			}
		}
		s.calls[warp] = append(s.calls[warp], e)
		return
	}
	e := &s.calls[warp][len(s.calls[warp])-1]
	for l := range lane.Lanes {
		if active>>l&1 != 0 { // the leader
			if s.parameter(at) == 1 {
				e.Site = uint32(value(l))
			} else {
				e.Value = value(l)
			}
		}
	}
}

// compiled is a kernel of some PTX in the form that runs, with the variables of its module.
func compiled(t *testing.T, kernel string, text []byte) (*code.Kernel, *execute.Variables) {
	t.Helper()
	m, err := ptx.Read(t.Context(), kernel+".ptx", text)
	if err != nil {
		t.Fatal(err)
	}
	variables, err := execute.NewVariables(kernel+".ptx", m)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Functions {
		if f.Entry && f.Name == kernel {
			k, err := compile.Kernel(target.SM80, kernel+".ptx", m, f)
			if err != nil {
				t.Fatal(err)
			}
			return k, variables
		}
	}
	t.Fatalf("there is no kernel %s", kernel)
	return nil, nil
}

// TestTheRecorderWritesWhatItIsCalledWith traps every call and compares: sites, lanes, decisions and values.
func TestTheRecorderWritesWhatItIsCalledWith(t *testing.T) {
	text, _ := decides(t)
	k, variables := compiled(t, "decides", []byte(text))
	for _, seed := range []uint64{0, 5} {
		l, _ := launchOf(1 << 16)
		l.Options.ScheduleSeed, l.Options.Workers = seed, 1
		held := l.Memory[3].Bytes
		if err := arena.Prepare(held, arena.Plan{Warps: 6, Events: true}); err != nil {
			t.Fatal(err)
		}
		seen := &trap{k: k, calls: map[uint64][]arena.Event{}}
		result, err := execute.Run(newJob(t), k, variables, l, seen)
		if err != nil || len(result.Findings) > 0 {
			t.Fatal(err, result)
		}
		a, err := arena.Open(held)
		if err != nil {
			t.Fatal(err)
		}
		events := 0
		if err := a.Warps(func(w *arena.Warp) error {
			events += len(w.Events)
			if fmt.Sprint(w.Events) != fmt.Sprint(seen.calls[w.Number]) {
				t.Errorf("seed %d, warp %d: recorded\n%v\ncalled with\n%v", seed, w.Number, w.Events, seen.calls[w.Number])
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if events < 40 || len(seen.calls) != 6 {
			t.Errorf("seed %d: only %d events of %d warps", seed, events, len(seen.calls))
		}
	}
}

func newJob(t *testing.T) *job.Job {
	t.Helper()
	return job.New(t.Context(), job.Options{})
}

// recordDecides runs the kernel as a recording asks, and reads the recording.
func recordDecides(t *testing.T, size int, r *recorder.Record) (*warptrace.Trace, *Document, []byte) {
	t.Helper()
	kernel := "decides"
	if r.Mode == "digest" {
		kernel = "digests"
	}
	text, table := read(t, kernel)
	p, err := simt.Load(t.Context(), "decides.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	l, out := launchOf(size)
	r.Path = filepath.Join(t.TempDir(), "a.prlx")
	r.Instrumented.Sites, r.Instrumented.Arena = table, 3
	doc, err := Run(newJob(t), p, l, About{}, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := warptrace.OpenPath(t.Context(), r.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { trace.Close() })
	return trace, doc, out
}

func TestARecordingOfAKernelThatRecordsByItself(t *testing.T) {
	trace, doc, _ := recordDecides(t, 1<<16, &recorder.Record{Instrumented: &recorder.Instrumented{}})
	h := trace.Header()
	if h.Means != warptrace.MeansInstrumented || !h.Taken || doc.Recording.Warps != 6 || doc.Recording.Events < 40 || len(doc.Findings) > 0 {
		t.Errorf("%+v\n%+v", h, doc.Recording)
	}
	var w warptrace.Warp
	if err := trace.ReadWarp(t.Context(), 5, &w); err != nil || w.Len() == 0 || w.Dropped != 0 {
		t.Errorf("%d events, %d dropped, %v", w.Len(), w.Dropped, err)
	}
	s := trace.Sites().At(int(w.Site[0]))
	if s.Chain[0].File != "/src/decides.py" || len(s.Operands) != 2 {
		t.Errorf("the first site is %+v", s)
	}
}

func TestRecordingChangesNoResult(t *testing.T) {
	text, _ := decides(t)
	p, err := simt.Load(t.Context(), "decides.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	l, want := launchOf(0) // a null pointer: nothing is recorded
	if result, err := p.Observe(newJob(t), l, nil, nil); err != nil || len(result.Findings) > 0 {
		t.Fatal(err, result)
	}
	for _, size := range []int{1 << 16, 4096, 512} {
		_, doc, got := recordDecides(t, size, &recorder.Record{Instrumented: &recorder.Instrumented{}})
		if string(got) != string(want) || len(doc.Findings) > 0 {
			t.Errorf("an arena of %d bytes changes results: %v", size, doc.Findings)
		}
	}
}

func TestLossesAreNamed(t *testing.T) {
	trace, doc, _ := recordDecides(t, 2048, &recorder.Record{Instrumented: &recorder.Instrumented{}})
	losses, err := trace.Losses(t.Context())
	if err != nil || losses.Dropped == 0 || len(losses.Notes) == 0 || !strings.Contains(losses.Notes[0], "arena") {
		t.Errorf("%+v, %v, %+v", losses, err, doc.Recording)
	}
	trace, _, _ = recordDecides(t, 1<<16, &recorder.Record{Mode: "digest", Instrumented: &recorder.Instrumented{}})
	index, err := trace.Index(t.Context())
	if err != nil || len(index) != 6 || !index[0].HasRolling || index[0].Events != 0 || index[0].Total == 0 {
		t.Errorf("%+v, %v", index, err)
	}
	events, _, _ := recordDecides(t, 1<<16, &recorder.Record{Instrumented: &recorder.Instrumented{}})
	for i := range index { // the hash is that of the events that are kept where they are asked for
		var w warptrace.Warp
		if err := events.ReadWarp(t.Context(), index[i].Warp, &w); err != nil {
			t.Fatal(err)
		}
		want := uint64(0)
		for k := range w.Site {
			x := uint64(k)*0xbf58476d1ce4e5b9 + (w.Active[k]|w.Taken[k]<<32)*0xc2b2ae3d27d4eb4f + w.Value[k]*0x9e3779b185ebca87 + uint64(w.Site[k])*0x85ebca77c2b2ae63
			x = (x ^ x>>32) * 0x165667b19e3779f9
			want += x ^ x>>29
		}
		if index[i].Rolling != want || index[i].Total != uint64(w.Len()) {
			t.Errorf("warp %d: the hash of %d events is %#x, want %#x of %d", index[i].Warp, index[i].Total, index[i].Rolling, want, w.Len())
		}
	}
	trace, _, _ = recordDecides(t, 1<<16, &recorder.Record{Instrumented: &recorder.Instrumented{}, Warps: observe.Warps{{2, 2}}})
	if index, err := trace.Index(t.Context()); err != nil || len(index) != 1 || index[0].Warp != 2 {
		t.Errorf("%+v, %v", index, err)
	}
}

func TestAWrongTableIsRefused(t *testing.T) {
	text, _ := decides(t)
	p, err := simt.Load(t.Context(), "decides.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	few, err := (&observe.Table{}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for what, in := range map[string]*recorder.Instrumented{"broken": {Sites: "no table", Arena: 3}, "no piece of memory 9": {Arena: 9}, "the kernel has 0": {Sites: few, Arena: 3}} {
		l, _ := launchOf(1 << 16)
		_, err := Run(newJob(t), p, l, About{}, &recorder.Record{Path: filepath.Join(t.TempDir(), "a.prlx"), Instrumented: in}, nil)
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for kernel, mode := range map[string]string{"decides": "digest", "digests": "control-flow"} {
		_, table := read(t, kernel)
		l, _ := launchOf(1 << 16)
		_, err := Run(newJob(t), p, l, About{}, &recorder.Record{Path: filepath.Join(t.TempDir(), "a.prlx"), Mode: mode, Instrumented: &recorder.Instrumented{Sites: table, Arena: 3}}, nil)
		if err == nil || !strings.Contains(err.Error(), "was compiled to record") {
			t.Errorf("%s for %s: %v", kernel, mode, err)
		}
	}
}
