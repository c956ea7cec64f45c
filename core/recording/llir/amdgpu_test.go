package llir

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/observe/arena"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// amdKernel is the frame of a microkernel: x and out are arrays of 1,024 words, n is a number; %t is the number of the thread in the launch.
const amdKernel = `target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @k(ptr addrspace(1) inreg %x, ptr addrspace(1) inreg %out, i32 inreg %n, ptr addrspace(1) inreg readnone %s0, ptr addrspace(1) inreg readnone captures(none) %s1) #0 {
begin:
  %local = call i32 @llvm.amdgcn.workitem.id.x()
  %bx = call i32 @llvm.amdgcn.workgroup.id.x()
  %by = call i32 @llvm.amdgcn.workgroup.id.y()
  %b0 = mul i32 %by, 2
  %b = add i32 %b0, %bx
  %b1 = mul i32 %b, 96
  %t = add i32 %b1, %local
  %t64 = zext i32 %t to i64
  %px = getelementptr [4 x i8], ptr addrspace(1) %x, i64 %t64
  %po = getelementptr [4 x i8], ptr addrspace(1) %out, i64 %t64
  %v = load i32, ptr addrspace(1) %px, align 4
BODY
end:
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()

attributes #0 = { nounwind "amdgpu-no-workgroup-id-z" "amdgpu-no-implicitarg-ptr" }
`

// microkernels by what they show.
var microkernels = map[string]string{
	"a branch": `  %c = icmp slt i32 %v, %n
  br i1 %c, label %yes, label %end
yes:
  store i32 %t, ptr addrspace(1) %po
  br label %end`,
	"the upper lanes alone": `  %l = and i32 %local, 63
  %u = icmp ugt i32 %l, 31
  br i1 %u, label %upper, label %end
upper:
  %odd = and i32 %v, 1
  %c = icmp eq i32 %odd, 0
  br i1 %c, label %even, label %end
even:
  store i32 %v, ptr addrspace(1) %po
  br label %end`,
	"loops of different lengths": `  %most = and i32 %v, 7
  br label %loop
loop:
  %i = phi i32 [ 0, %begin ], [ %next, %again ]
  %sum = phi i32 [ %v, %begin ], [ %more, %again ]
  %c = icmp ult i32 %i, %most
  br i1 %c, label %again, label %done
again:
  %more = mul i32 %sum, 3
  %next = add nuw i32 %i, 1
  %big = icmp sgt i32 %more, 5000
  br i1 %big, label %done, label %loop
done:
  %r = phi i32 [ %sum, %loop ], [ -1, %again ]
  store i32 %r, ptr addrspace(1) %po
  br label %end`,
	"branches in branches, and early returns": `  %c = icmp sgt i32 %v, 100
  br i1 %c, label %a, label %b2
a:
  %d = icmp sgt i32 %v, 200
  br i1 %d, label %gone, label %join
b2:
  %e = icmp eq i32 %v, %local
  br i1 %e, label %gone, label %f
f:
  %g = select i1 %e, i32 1, i32 2
  br label %join
gone:
  ret void
join:
  %r = phi i32 [ 7, %a ], [ %g, %f ]
  store i32 %r, ptr addrspace(1) %po
  br label %end`,
	"a switch": `  %k = and i32 %v, 3
  switch i32 %k, label %other [
    i32 0, label %zero
    i32 1, label %one
  ]
zero:
  store i32 10, ptr addrspace(1) %po
  br label %end
one:
  store i32 11, ptr addrspace(1) %po
  br label %end
other:
  store i32 %k, ptr addrspace(1) %po
  br label %end`,
	"a mask of two compares": `  %c = icmp slt i32 %v, %n
  %d = icmp ne i32 %local, 40
  %both = and i1 %c, %d
  %r = select i1 %both, i32 %v, i32 0
  store i32 %r, ptr addrspace(1) %po
  br label %end`,
	"floats": `  %f = bitcast i32 %v to float
  %h0 = trunc i32 %v to i16
  %h = bitcast i16 %h0 to half
  %w = sitofp i32 %v to double
  %c = fcmp olt float %f, 1.000000e-41
  %d = fcmp ugt half %h, 0xH0020
  %e = fcmp une double %w, 5.000000e+01
  %r = select i1 %c, i32 1, i32 2
  %s = select i1 %d, i32 %r, i32 4
  %q = zext i1 %e to i32
  %z = add i32 %q, %s
  store i32 %z, ptr addrspace(1) %po
  br label %end`,
	"pointers and wide numbers": `  %wide = sext i32 %v to i64
  %far = mul i64 %wide, -4294967297
  %c = icmp slt i64 %far, -9000000000
  %d = icmp ult ptr addrspace(1) %px, %po
  %r = select i1 %c, i32 1, i32 %v
  %s = select i1 %d, i32 %r, i32 0
  %tiny = trunc i32 %v to i8
  %e = icmp sgt i8 %tiny, 9
  %z = select i1 %e, i32 %s, i32 77
  store i32 %z, ptr addrspace(1) %po
  br label %end`,
	"elements of 1, 2 and 8 bytes": `  %c = icmp slt i32 %v, %n
  %byte = trunc i32 %v to i8
  store i8 %byte, ptr addrspace(1) %po
  %h0 = mul i32 %v, 771
  %h1 = trunc i32 %h0 to i16
  %h = bitcast i16 %h1 to half
  %u0 = insertelement <2 x half> zeroinitializer, half %h, i32 0
  %u = insertelement <2 x half> %u0, half 0xHFC00, i32 1
  store <2 x half> %u, ptr addrspace(1) %po
  %w0 = sext i32 %v to i64
  %w = mul i64 %w0, -81985529216486896
  store i64 %w, ptr addrspace(1) %po
  store ptr addrspace(1) %po, ptr addrspace(1) %po
  store double 0xFFF8000000000000, ptr addrspace(1) %po
  store i64 9218868437227405312, ptr addrspace(1) %po
  store i64 9218868437227405311, ptr addrspace(1) %po
  br i1 %c, label %again, label %end
again:
  store half %h, ptr addrspace(1) %po
  br label %end`,
	"vectors of words": `  %c = icmp sgt i32 %v, %n
  %m = mul i32 %v, -2004318071
  %w0 = insertelement <4 x i32> zeroinitializer, i32 %m, i32 0
  %w1 = insertelement <4 x i32> %w0, i32 2139095040, i32 1
  %w2 = insertelement <4 x i32> %w1, i32 -8388609, i32 2
  %w = insertelement <4 x i32> %w2, i32 %t, i32 3
  store <4 x i32> %w, ptr addrspace(1) %po
  store i32 %m, ptr addrspace(1) %po
  br i1 %c, label %again, label %end
again:
  %y0 = insertelement <2 x i32> zeroinitializer, i32 %m, i32 0
  %y = insertelement <2 x i32> %y0, i32 2139095039, i32 1
  store <2 x i32> %y, ptr addrspace(1) %po
  br label %end`,
	"an array that is looked for": `  %c = icmp sgt i32 %v, %n
  %q0 = ptrtoint ptr addrspace(1) %po to i64
  %q = inttoptr i64 %q0 to ptr addrspace(1)
  br i1 %c, label %some, label %end
some:
  store i32 %v, ptr addrspace(1) %q
  store i32 2139095040, ptr addrspace(1) %q
  store i32 -8388609, ptr addrspace(1) %q
  %h = trunc i32 %v to i16
  store i16 %h, ptr addrspace(1) %q
  store i16 31744, ptr addrspace(1) %q
  store i16 -1025, ptr addrspace(1) %q
  store i8 -1, ptr addrspace(1) %q
  br label %end`,
	"an atomic decides": `  %old = atomicrmw add ptr addrspace(1) %out, i32 1 syncscope("agent") monotonic
  %c = icmp eq i32 %old, 200
  br i1 %c, label %last, label %end
last:
  store i32 %old, ptr addrspace(1) %po
  br label %end`,
	"a switch on wide numbers in a loop": `  %t0 = and i64 %t64, 63
  br label %loop
loop:
  %i = phi i64 [ %t0, %begin ], [ %less, %step ], [ %half, %even ]
  %m = and i64 %i, 1
  switch i64 %m, label %step [
    i64 0, label %even
  ]
even:
  %half = lshr i64 %i, 1
  %z = icmp eq i64 %half, 0
  br i1 %z, label %out2, label %loop
step:
  %less = sub i64 %i, 1
  br label %loop
out2:
  store i32 %v, ptr addrspace(1) %po
  br label %end`,
}

// interpreted is what a run left.
type interpreted struct {
	calls []called
	wrote []wrote
	out   []byte
}

// outAt is where the array out lies.
const outAt = 0x30000000

// summed is what a warp stored.
type summed struct {
	count, hash uint64
	values      warptrace.ValueSums
}

// sums adds each element that was stored, by warp, to an array whose elements have so many bytes; 0: that is not known. Addresses in it
// count as their names.
func (r *interpreted) sums(width uint32) map[uint64]summed {
	all := map[uint64]summed{}
	for _, w := range r.wrote {
		one, size, value, shape := all[w.warp], w.bytes, w.value, w.bytes
		named := w.bytes == 8 && w.value-outAt < 4096
		if named {
			value, shape = 1<<warptrace.PointerOffsetBits|w.value-outAt, shape+warptrace.NamedPointer
		}
		one.count++
		one.hash += warptrace.StoredHash(w.at-outAt, value, shape)
		if width > 1 {
			size = min(size, uint64(width))
		}
		switch {
		case named && size == 8:
			one.values.Hash += warptrace.StoredHash(0, value, shape)
		default:
			for at := uint64(0); at < w.bytes; at += size {
				one.values.Add(cut(w.value>>(8*at), int(8*size)), int(size), size)
			}
		}
		all[w.warp] = one
	}
	return all
}

// interpret runs a text over 2 x 3 blocks of 96 threads.
func interpret(t *testing.T, text string, lanes int, memory []byte) (r interpreted) {
	t.Helper()
	m, err := read(text)
	if err != nil {
		t.Fatal(err)
	}
	x := newMachine(m, lanes, [3]uint32{2, 3, 1}, 96)
	in, out := make([]byte, 4096), make([]byte, 4096)
	for i := range 1024 {
		binary.LittleEndian.PutUint32(in[4*i:], uint32(i*37%251))
	}
	args := []uint64{x.add("x", in), x.add("out", out), 120, 0, 0}
	if args[1] != outAt {
		t.Fatalf("out is at %#x", args[1])
	}
	if memory != nil {
		args[4] = x.add("arena", memory)
	}
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("%v", p)
		}
	}()
	x.run("k", args)
	return interpreted{x.calls, x.wrote, out}
}

// seen makes of calls what the recorder must leave, by warp.
func seen(calls []called) map[uint64][]arena.Event {
	all := map[uint64][]arena.Event{}
	for _, c := range calls {
		if c.name == storeRecorder {
			continue
		}
		leader := first(c.active)
		e := arena.Event{Site: uint32(c.site), Active: c.active}
		v := c.args[len(c.args)-2] // in front of the arena
		e.Value = v[leader][0]
		eachLane(c.active, func(l int) {
			if c.name == "prlx_record_choice" && v[l][0] == v[leader][0] || c.name == "prlx_record_decision" && c.args[0][l][0] != 0 {
				e.Taken |= 1 << l
			}
		})
		all[c.warp] = append(all[c.warp], e)
	}
	return all
}

// planned says where the array is that kernels write.
func planned(r *Result, p arena.Plan, width uint32) arena.Plan {
	for _, sum := range r.Sums {
		p.Known = append(p.Known, sum.Array)
	}
	p.Sought = uint32(len(r.Sought))
	p.Arrays = []arena.Array{{ID: 1, Width: width, Base: outAt, Pieces: []arena.Piece{{From: outAt, Bytes: 4096}}}}
	return p
}

func micro(body string) string { return strings.Replace(amdKernel, "BODY", body, 1) }

func TestAMDKernelsRecordWhatHappens(t *testing.T) {
	events, upper, elements := 0, 0, 0
	for name, body := range microkernels {
		for k, lanes := range []int{32, 64, 32, 64} {
			width := []uint32{4, 0, 2, 8}[k]
			if k > 1 && !strings.Contains(body, "store <") && !strings.Contains(body, "store i16") {
				continue // an array of another type has the same sums
			}
			t.Run(fmt.Sprintf("%s/%d of %d", name, lanes, width), func(t *testing.T) {
				r := Instrument(micro(body), Options{})
				if r.Warning != "" || len(r.Sites) == 0 {
					t.Fatalf("%d sites; %s", len(r.Sites), r.Warning)
				}
				memory := make([]byte, 1<<20)
				warps := uint64(6 * ((96 + lanes - 1) / lanes))
				if err := arena.Prepare(memory, planned(r, arena.Plan{Warps: warps, Events: true}, width)); err != nil {
					t.Fatal(err)
				}
				clean, made := interpret(t, micro(body), lanes, nil), interpret(t, r.Text, lanes, memory)
				if !bytes.Equal(clean.out, made.out) {
					t.Error("what the kernel computes is not what it was")
				}
				want, sums := seen(made.calls), made.sums(width)
				a, err := arena.Open(memory)
				if err != nil || a.Full+a.Outside != 0 {
					t.Fatalf("%v, %d lost", err, a.Full+a.Outside)
				}
				if err := a.Warps(func(w *arena.Warp) error {
					if fmt.Sprint(w.Events) != fmt.Sprint(want[w.Number]) || w.Total != uint64(len(w.Events)) {
						t.Fatalf("warp %d: got %v, want %v", w.Number, w.Events, want[w.Number])
					}
					for _, e := range w.Events {
						if events++; e.Active&(1<<32-1) == 0 {
							upper++
						}
					}
					delete(want, w.Number)
					var got summed
					for _, s := range w.Sums {
						got.count, got.hash = got.count+s.Count, got.hash+s.Hash
						got.values.Plus(&s.Values)
					}
					if !strings.Contains(body, "atomicrmw") && got != sums[w.Number] { // what atomics write is hashed with the operation
						t.Errorf("warp %d: stored %+v, want %+v", w.Number, got, sums[w.Number])
					}
					elements += int(got.count)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				if len(want) != 0 {
					t.Errorf("nothing is recorded of %d warps", len(want))
				}
			})
		}
	}
	if events < 1000 || upper == 0 || elements < 1000 {
		t.Errorf("%d events, %d of them of lanes 32 to 63 alone, %d elements stored", events, upper, elements)
	}
}

// TestAMDRecorderStaysInside gives it arenas that are too small, of other launches, or none; the interpreter refuses what is outside.
func TestAMDRecorderStaysInside(t *testing.T) {
	for _, lanes := range []int{32, 64} {
		warps := uint64(6 * ((96 + lanes - 1) / lanes))
		for name, body := range microkernels {
			made := Instrument(micro(body), Options{})
			clean := interpret(t, micro(body), lanes, nil)
			if without := interpret(t, made.Text, lanes, nil); !bytes.Equal(without.out, clean.out) {
				t.Errorf("%s/%d: without an arena the results are others", name, lanes)
			}
			for k, c := range []struct {
				bytes int
				plan  arena.Plan
			}{
				{320, arena.Plan{Warps: warps, Events: true}},
				{2048, arena.Plan{Warps: warps, Events: true}},
				{320 + 64*3, arena.Plan{Warps: warps, Events: true}},
				{8192, arena.Plan{Warps: 3, Events: true}},
				{8192, arena.Plan{Warps: warps, First: 5, Wanted: 4, Events: true, Budget: 2}},
				{8192, arena.Plan{Warps: warps}},
				{1 << 17, arena.Plan{Warps: 1000, Events: true}},
			} {
				if (k+len(name))%2 == lanes/64 { // either width sees half of them with each kernel
					continue
				}
				memory := make([]byte, c.bytes)
				if err := arena.Prepare(memory, planned(made, c.plan, 4)); err != nil {
					t.Fatal(err)
				}
				r := interpret(t, made.Text, lanes, memory)
				if !bytes.Equal(r.out, clean.out) {
					t.Errorf("%s/%d: with %d bytes the results are others", name, lanes, c.bytes)
				}
				a, err := arena.Open(memory)
				if err != nil {
					t.Fatal(err)
				}
				kept, total, wanted := uint64(0), uint64(0), uint64(0)
				if err := a.Warps(func(w *arena.Warp) error {
					kept += uint64(len(w.Events))
					total += w.Total
					if c.plan.Budget > 0 && uint64(len(w.Events)) > c.plan.Budget {
						t.Errorf("%s/%d: %d events of a warp", name, lanes, len(w.Events))
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				for warp, events := range seen(r.calls) {
					if warp >= c.plan.First && (c.plan.Wanted == 0 || warp < c.plan.First+c.plan.Wanted) {
						wanted += uint64(len(events))
					}
				}
				if total+a.Outside != wanted || c.plan.Events && c.plan.Budget == 0 && kept+a.Full != total {
					t.Errorf("%s/%d, %d bytes: %d events, %d counted, %d outside, %d kept, %d lost", name, lanes, c.bytes, wanted, total, a.Outside, kept, a.Full)
				}
			}
			foreign := bytes.Repeat([]byte{0xee}, 512)
			before := bytes.Clone(foreign)
			if interpret(t, made.Text, lanes, foreign); !bytes.Equal(foreign, before) {
				t.Errorf("%s/%d: something else than an arena was written", name, lanes)
			}
		}
	}
}

// TestInterpreterComputes holds the interpreter to values that were computed by hand.
func TestInterpreterComputes(t *testing.T) {
	r := interpret(t, micro(microkernels["loops of different lengths"]), 64, nil)
	for i := range 576 {
		v := i * 37 % 251
		want, most := v, v&7
		for k := 0; k < most; k++ {
			if want *= 3; want > 5000 {
				want = -1
				break
			}
		}
		if got := int32(binary.LittleEndian.Uint32(r.out[4*i:])); got != int32(want) {
			t.Fatalf("thread %d stored %d, want %d", i, got, want)
		}
	}
	if half(0x3c00) != 1 || half(0xc500) != -5 || half(1) != math.Ldexp(1, -24) || !math.IsInf(half(0x7c00), 1) {
		t.Error("floats of 16 bits are read wrong")
	}
}

// TestAMDDigestsAreOfTheEvents: a kernel that keeps counts and hashes alone leaves those of the events that it would keep otherwise, and the same sums.
func TestAMDDigestsAreOfTheEvents(t *testing.T) {
	warps := 0
	for name, body := range microkernels {
		for _, lanes := range []int{32, 64} {
			plan := arena.Plan{Warps: uint64(6 * ((96 + lanes - 1) / lanes))}
			left := map[bool]map[uint64]arena.Warp{}
			for _, digest := range []bool{false, true} {
				made := Instrument(micro(body), Options{Digest: digest, Stores: true, Atomics: true})
				memory := make([]byte, 1<<20)
				plan.Events = !digest
				if err := arena.Prepare(memory, planned(made, plan, 4)); err != nil || made.Warning != "" {
					t.Fatal(err, made.Warning)
				}
				interpret(t, made.Text, lanes, memory)
				a, err := arena.Open(memory)
				if err != nil {
					t.Fatal(err)
				}
				left[digest] = map[uint64]arena.Warp{}
				if err := a.Warps(func(w *arena.Warp) error {
					one := *w
					one.Events, one.Sums = slices.Clone(w.Events), slices.Clone(w.Sums)
					left[digest][w.Number] = one
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			for number, w := range left[false] {
				hash := uint64(0)
				for k, e := range w.Events {
					x := uint64(k)*0xbf58476d1ce4e5b9 + (e.Active+e.Taken*0x165667b19e3779f9)*0xc2b2ae3d27d4eb4f + e.Value*0x9e3779b185ebca87 + uint64(e.Site)*0x85ebca77c2b2ae63
					x = (x ^ x>>32) * 0x165667b19e3779f9
					hash += x ^ x>>29
				}
				got := left[true][number]
				if warps++; got.Total != w.Total || got.Hash != hash || fmt.Sprint(got.Sums) != fmt.Sprint(w.Sums) || len(got.Events) != 0 {
					t.Errorf("%s/%d: warp %d has %d events with %#x and sums %v, want %d, %#x and %v", name, lanes, number, got.Total, got.Hash, got.Sums, w.Total, hash, w.Sums)
				}
			}
			if len(left[true]) != len(left[false]) {
				t.Errorf("%s/%d: %d warps left something, want %d", name, lanes, len(left[true]), len(left[false]))
			}
		}
	}
	if warps < 100 {
		t.Errorf("only %d warps", warps)
	}
}
