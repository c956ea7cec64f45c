package watch_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
	"github.com/prlx-go/prlx/core/simulator/simt/sites"
	"github.com/prlx-go/prlx/core/simulator/watch"
)

// shift copies an array of floats to another, one element further, and counts in a third how many were copied.
const shift = `.version 8.0
.target sm_80
.address_size 64
.visible .entry shift(.param .u64 x, .param .u64 y, .param .u64 count, .param .u32 n)
{
	.reg .pred %p<2>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	.loc 1 10 1
	ld.param.u64 %rd1, [x];
	ld.param.u64 %rd2, [y];
	ld.param.u64 %rd7, [count];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	mov.u32 %r3, %ctaid.x;
	mov.u32 %r4, %ntid.x;
	mad.lo.s32 %r5, %r3, %r4, %r2;
	.loc 1 11 1
	setp.ge.u32 %p1, %r5, %r1;
	@%p1 bra $done;
	.loc 1 12 1
	mul.wide.u32 %rd3, %r5, 4;
	add.s64 %rd4, %rd1, %rd3;
	ld.global.b32 %r6, [%rd4];
	.loc 1 13 1
	add.f32 %r7, %r6, 0f3F800000;
	.loc 1 14 1
	add.s64 %rd5, %rd2, %rd3;
	st.global.b32 [%rd5+4], %r7;
	.loc 1 15 1
	atom.global.add.u32 %r8, [%rd7], 1;
$done:
	ret;
}
	.file 1 "/source/shift.py"
`

// run runs shift on n elements in blocks of 32.
func run(t *testing.T, n int, workers int, with func(k *code.Kernel, l *simt.Launch) execute.Observer) {
	t.Helper()
	p, err := simt.Load(context.Background(), "shift.ptx", []byte(shift))
	if err != nil {
		t.Fatal(err)
	}
	x := make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(x[4*i:], uint32(0x3f800000)) // 1.0
	}
	l := &simt.Launch{
		Kernel: "shift", Grid: [3]uint32{uint32(n+31) / 32, 1, 1}, Block: [3]uint32{32, 1, 1}, Options: simt.Options{Workers: workers},
		Memory: []memory.Allocation{
			{Name: "x", Host: 0x100000, Bytes: x}, {Name: "y", Host: 0x200000, Bytes: make([]byte, 4*n+4)}, {Name: "count", Host: 0x300000, Bytes: make([]byte, 4)},
		},
		Params: []simt.Argument{
			{Name: "x", Type: "*fp32", Bits: 0x100000, Allocation: 0},
			{Name: "y", Type: "*fp32", Bits: 0x200000, Allocation: 1},
			{Name: "count", Type: "*i32", Bits: 0x300000, Allocation: 2},
			{Name: "n", Type: "i32", Bits: uint64(n), Allocation: -1},
		},
	}
	r, err := p.Observe(job.New(context.Background(), job.Options{Workers: workers}), l, nil, func(k *code.Kernel, _ *sites.List, none execute.Observer) execute.Observer {
		return watch.All(none, with(k, l))
	})
	if err != nil || len(r.Findings) > 0 {
		t.Fatalf("%v, findings %+v", err, r)
	}
}

func touched(t *testing.T, n, workers int, layouts []watch.Layout) *watch.Touched {
	t.Helper()
	var seen *watch.Touched
	run(t, n, workers, func(k *code.Kernel, l *simt.Launch) execute.Observer {
		return watch.ObserveTouch(k, l, layouts, func(s *watch.Touched) { seen = s })
	})
	if seen == nil {
		t.Fatal("nobody said what was touched")
	}
	return seen
}

func TestAMapSaysWhichBlocksTouchedWhichElements(t *testing.T) {
	seen := touched(t, 96, 1, nil)
	if len(seen.Arrays) != 3 || seen.Blocks != 3 {
		t.Fatalf("got %+v", seen)
	}
	x, y, count := seen.Arrays[0], seen.Arrays[1], seen.Arrays[2]
	if x.Written != nil || x.Read == nil || y.Read != nil || y.Written == nil || count.Read == nil || count.Written == nil {
		t.Fatalf("reads and writes are not apart: %+v", seen.Arrays)
	}
	if x.Columns != 64 || x.Rows != 2 || x.CellColumns != 1 || x.Read.Width != 64 || len(x.Read.First) != 128 {
		t.Fatalf("x has a map of %d x %d elements, %d of a cell", x.Rows, x.Columns, x.CellColumns)
	}
	for e := range 96 {
		if got := x.Read.First[e]; got != int64(e/32) || x.Read.Last[e] != got || x.Read.Blocks[e] != 1 {
			t.Errorf("element %d of x was read by blocks %d to %d, %d of them", e, got, x.Read.Last[e], x.Read.Blocks[e])
		}
		if got := y.Written.First[e+1]; got != int64(e/32) {
			t.Errorf("element %d of y was written by block %d", e+1, got)
		}
	}
	if x.Read.First[96] != -1 || x.Read.Blocks[96] != 0 || y.Written.First[0] != -1 {
		t.Error("what nobody touched has a block")
	}
	if c := count.Written; c.Blocks[0] != 3 || c.First[0] != 0 || c.Last[0] != 2 {
		t.Errorf("the counter was written by %d blocks, %d to %d", c.Blocks[0], c.First[0], c.Last[0])
	}
}

func TestALargeArrayHasAMapThatCanBeRead(t *testing.T) {
	seen := touched(t, 100_000, 2, []watch.Layout{{Shape: []int64{1000, 100}, ElementBytes: 4}})
	x, y := seen.Arrays[0], seen.Arrays[1]
	if x.Rows != 1000 || x.Columns != 100 || x.CellRows != 16 || x.CellColumns != 2 || x.Read.Width != 50 || len(x.Read.First) != 50*63 {
		t.Errorf("x has a map of %dx%d elements in cells of %dx%d, %d wide, %d", x.Rows, x.Columns, x.CellRows, x.CellColumns, x.Read.Width, len(x.Read.First))
	}
	if got := x.Read.First[50*62]; got != 992*100/32 {
		t.Errorf("row 992 was first read by block %d, want %d", got, 992*100/32)
	}
	if y.Columns != 64*y.CellColumns || len(y.Written.First) > 4096 || y.Shape != nil {
		t.Errorf("y has a map of %dx%d elements, %d", y.Rows, y.Columns, len(y.Written.First))
	}
	if one := touched(t, 100_000, 1, []watch.Layout{{Shape: []int64{1000, 100}, ElementBytes: 4}}); !cmp.Equal(one, seen) {
		t.Error("the number of workers changes the maps")
	}
	wrong := touched(t, 96, 1, []watch.Layout{{Shape: []int64{10, 10}}, {Shape: []int64{-1, 0}}, {Shape: []int64{1 << 40, 1 << 40}}})
	for _, a := range wrong.Arrays {
		if a.Shape != nil {
			t.Errorf("%s has %d bytes and the shape %v", a.Name, a.Bytes, a.Shape)
		}
	}
}

func stops(t *testing.T, n, workers, most int, places ...watch.Place) *watch.Stops {
	t.Helper()
	var seen *watch.Stops
	run(t, n, workers, func(k *code.Kernel, l *simt.Launch) execute.Observer {
		return watch.ObserveStops(k, l, places, most, func(s *watch.Stops) { seen = s })
	})
	if seen == nil {
		t.Fatal("nobody said what lanes held")
	}
	return seen
}

func valueOf(t *testing.T, s *watch.Stop, register string) *watch.Value {
	t.Helper()
	for i := range s.Values {
		if s.Values[i].Register == register {
			return &s.Values[i]
		}
	}
	t.Fatalf("the stop at line %d has no value of %s: %+v", s.Line, register, s.Values)
	return nil
}

func TestAStopShowsWhatALineTookAndMade(t *testing.T) {
	seen := stops(t, 40, 1, 0, watch.Place{File: "shift.py", Line: 12}, watch.Place{File: "/source/shift.py", Line: 13}, watch.Place{File: "ft.py", Line: 12})
	if len(seen.Stops) != 4 || seen.More != 0 || !slices.Equal(seen.Absent, []string{"ft.py:12"}) {
		t.Fatalf("got %d stops and %d more, absent %q", len(seen.Stops), seen.More, seen.Absent)
	}
	load, add := &seen.Stops[2], &seen.Stops[3] // of block 1
	if load.Block != [3]uint32{1, 0, 0} || load.Line != 12 || add.Line != 13 || len(load.Active) != 8 || load.File != "/source/shift.py" {
		t.Fatalf("got %+v", load)
	}
	for register, want := range map[string]string{
		"%r5":  "false arith  u32 shift.py:10 [32 33]",
		"%rd4": "true arith  ptr shift.py:12 [128 132]",
		"%r6":  "true load x f32 shift.py:12 [1065353216 1065353216]",
	} {
		v := valueOf(t, load, register)
		if got := fmt.Sprintf("%v %s %s %s shift.py:%d %v", v.Made, v.Origin, v.Name, v.Type, v.Where.Line, v.Bits[:2]); got != want {
			t.Errorf("%s: got %q, want %q", register, got, want)
		}
	}
	if v := valueOf(t, load, "%rd1"); v.Origin != "argument" || v.Name != "x" || v.Array != "x" || v.Bits[0] != 0 {
		t.Errorf("the argument is %+v", v)
	}
	if v := valueOf(t, load, "%r6"); !resultOf(v, 12) {
		t.Error("what was loaded is no result of its line")
	}
	if v := valueOf(t, load, "%rd4"); resultOf(v, 12) || v.Array != "x" {
		t.Errorf("the address that the line takes itself is %+v", v)
	}
	if v := valueOf(t, add, "%r6"); v.Made || v.Origin != "load" || v.Name != "x" || v.Where.Line != 12 || v.Type != "f32" {
		t.Errorf("what line 13 takes is %+v", v)
	}
	if v := valueOf(t, add, "%r7"); !v.Made || v.Bits[0] != 0x40000000 {
		t.Errorf("line 13 makes %+v", v)
	}
}

func TestAStopOfOneLaneShowsThatLane(t *testing.T) {
	three := 3
	seen := stops(t, 40, 1, 0, watch.Place{File: "shift.py", Line: 14, Lane: &three})
	if len(seen.Stops) != 2 {
		t.Fatalf("got %d stops", len(seen.Stops))
	}
	for i := range seen.Stops {
		for _, v := range seen.Stops[i].Values {
			if !slices.Equal(v.Lanes, []int{3}) || len(v.Bits) != 1 {
				t.Errorf("%s has lanes %v", v.Register, v.Lanes)
			}
		}
	}
	ten := 10
	if seen := stops(t, 40, 1, 0, watch.Place{File: "shift.py", Line: 14, Lane: &ten}); len(seen.Stops) != 1 {
		t.Errorf("lane 10 of block 1 is not active at the line, and there are %d stops", len(seen.Stops))
	}
}

func TestStopsAreBoundedAndCounted(t *testing.T) {
	place := watch.Place{File: "shift.py", Line: 13}
	one := stops(t, 3200, 1, 7, place)
	if len(one.Stops) != 7 || one.More != 93 {
		t.Errorf("got %d stops and %d more", len(one.Stops), one.More)
	}
	for i := range one.Stops {
		if one.Stops[i].Block[0] != uint32(i) {
			t.Errorf("stop %d is of block %v", i, one.Stops[i].Block)
		}
	}
	if d := cmp.Diff(one, stops(t, 3200, 3, 7, place), cmp.AllowUnexported(watch.Stop{})); d != "" {
		t.Errorf("the number of workers changes the stops (-1 +3):\n%s", d)
	}
}

func TestObserversSeeTheSameTogetherAsAlone(t *testing.T) {
	place := watch.Place{File: "shift.py", Line: 13}
	var both *watch.Touched
	var stopped *watch.Stops
	run(t, 96, 1, func(k *code.Kernel, l *simt.Launch) execute.Observer {
		return watch.All(nil, watch.ObserveTouch(k, l, nil, func(s *watch.Touched) { both = s }), watch.ObserveStops(k, l, []watch.Place{place}, 0, func(s *watch.Stops) { stopped = s }))
	})
	if !cmp.Equal(both, touched(t, 96, 1, nil)) || !cmp.Equal(stopped, stops(t, 96, 1, 0, place), cmp.AllowUnexported(watch.Stop{})) {
		t.Error("what one observer sees depends on the other")
	}
	if watch.All(nil, nil) != nil {
		t.Error("nobody is somebody")
	}
}

// resultOf reports whether a value is the outcome of a line, and of that alone.
func resultOf(v *watch.Value, line uint32) bool {
	if len(v.Results) != 1 || len(v.Results[0]) != 1 {
		return false
	}
	at := v.Results[0][0]
	return at.File == "/source/shift.py" && at.Line == line && !at.Steps
}
