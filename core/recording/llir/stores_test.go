package llir

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
)

// storing is a function with one instruction, in front of which a pointer is made.
func storing(instruction string) string {
	return "define ptx_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1, i32 %2, i64 %3, i1 %4, ptr addrspace(1) %5, ptr addrspace(1) %6) #0 {\n" +
		"  %p = getelementptr i32, ptr addrspace(1) %1, i32 %2\n  %q = inttoptr i64 %3 to ptr addrspace(1)\n" +
		"  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %0, i16 0, i32 2147483646, i32 159744)\n" +
		"  " + instruction + "\n  ret void\n}\nattributes #0 = { nounwind }\n"
}

// TestAccesses reads every form in which Triton writes global memory.
func TestAccesses(t *testing.T) {
	type want struct {
		kind      site.Kind
		array     int
		values    int
		element   int
		operation uint64
		condition string
	}
	for instruction, w := range map[string]want{
		`call void asm sideeffect "@$5 st.global.v4.b32 [ $4 + 0 ], { $0, $1, $2, $3 };", "r,r,r,r,l,b"(i32 %2, i32 0, i32 %2, i32 7, ptr addrspace(1) %p, i1 %4)`:     {site.GlobalStore, 1, 4, 4, 0, "%4"},
		`call void asm sideeffect "@!$2 st.global.L1::evict_first.L2::cache_hint.b16 [ $1 + 4 ], { $0 }, $3;", "c,l,b,l"(i16 1, ptr addrspace(1) %p, i1 %4, i64 %3)`:   {site.GlobalStore, 1, 1, 2, 0, "!%4"},
		`call void asm sideeffect "st.global.v2.b32 [ $2 + 0 ], { $0, $1 };", "r,r,l"(i32 %2, <2 x half> zeroinitializer, ptr addrspace(1) %q)`:                        {site.GlobalStore, -1, 2, 4, 0, ""},
		`%7 = call i32 asm sideeffect "mov.u32 $0, 0x0;\0A\09@$3 atom.global.gpu.acq_rel.max.s32 $0, [ $1 + 0 ], $2;", "=r,l,r,b"(ptr addrspace(1) %p, i32 %2, i1 %4)`: {site.Atomic, 1, 1, 4, 35, "%4"},
		`%7 = call i32 asm sideeffect "@$3 atom.global.gpu.acq_rel.add.noftz.f16 $0, [ $1 + 0 ], $2;", "=h,l,h,b"(ptr addrspace(1) %p, i16 %2, i1 %4)`:                 {site.Atomic, 1, 1, 2, 17, "%4"},
		`%7 = call i32 asm sideeffect "@$4 atom.global.acq_rel.gpu.cas.b32 $0, [ $1 + 0 ], $2, $3;", "=r,l,r,r,b"(ptr addrspace(1) %p, i32 0, i32 1, i1 %4)`:           {site.Atomic, 1, 1, 4, 10, "%4"},
		`call void asm sideeffect "red.global.add.u64 [ $0 + 0 ], $1;", "l,l"(ptr addrspace(1) %0, i64 %3)`:                                                            {site.Atomic, 0, 1, 8, 1, ""},
		`store <4 x half> zeroinitializer, ptr addrspace(1) %p, align 8`:                                                                                               {site.GlobalStore, 1, 4, 2, 0, ""},
		`store float 1.000000e+00, ptr addrspace(1) %0, align 4`:                                                                                                       {site.GlobalStore, 0, 1, 4, 0, ""},
		`%7 = atomicrmw fadd ptr addrspace(1) %p, float 1.000000e+00 syncscope("agent") acq_rel, align 4`:                                                              {site.Atomic, 1, 1, 4, 17, ""},
		`%7 = atomicrmw umin ptr addrspace(1) %p, i32 %2 syncscope("agent") acq_rel, align 4`:                                                                          {site.Atomic, 1, 1, 4, 2, ""},
		`%7 = atomicrmw min ptr addrspace(1) %p, i32 %2 syncscope("agent") acq_rel, align 4`:                                                                           {site.Atomic, 1, 1, 4, 34, ""},
		`%7 = cmpxchg ptr addrspace(1) %p, i32 0, i32 1 syncscope("agent") acq_rel monotonic, align 4`:                                                                 {site.Atomic, 1, 1, 4, 10, ""},
		`tail call void @llvm.amdgcn.raw.ptr.buffer.store.v4f32(<4 x float> zeroinitializer, ptr addrspace(8) %r, i32 %2, i32 0, i32 0)`:                               {site.GlobalStore, 0, 4, 4, 0, ""},
		`%7 = call i32 @llvm.amdgcn.raw.ptr.buffer.atomic.smax.i32(i32 %2, ptr addrspace(8) %r, i32 %2, i32 0, i32 0)`:                                                 {site.Atomic, 0, 1, 4, 35, ""},
	} {
		m, err := read(storing(instruction))
		if err != nil {
			t.Fatal(err)
		}
		f := m.Functions[0]
		list, more := f.accesses(&f.Insts[3])
		if len(list) != 1 || more {
			t.Errorf("%s: %d accesses, more: %v", instruction, len(list), more)
			continue
		}
		a := &list[0]
		condition := a.condition
		if a.not {
			condition = "!" + condition
		}
		got := want{a.kind, f.argumentOf(a.pointer.name), len(a.values), a.element, a.operation, condition}
		if got != w {
			t.Errorf("%s:\n got %+v\nwant %+v", instruction, got, w)
		}
		made := Instrument(storing(instruction), Options{})
		body, _, _ := strings.Cut(made.Text, "\n}\n")
		call, number := "call void @prlx_record_store(ptr addrspace(1) %", 1
		if w.array >= 0 && w.element <= 8 {
			call, number = "call "+sumType+" @"+a.adds()+"(", w.values
			if sums := strings.Count(body, "call void @prlx_add_sums("); sums != 1 {
				t.Errorf("%s: added %d times", instruction, sums)
			}
		}
		if calls := strings.Count(body, call); made.Warning != "" || calls != number || len(made.Sums)+len(made.Sought) != 1 {
			t.Errorf("%s: %d calls, want %d; %d sums, %s", instruction, calls, number, len(made.Sums), made.Warning)
		}
		if strings.HasPrefix(instruction, "%7 = cmpxchg") && strings.Index(made.Text, call) < strings.Index(made.Text, "= cmpxchg") {
			t.Error("a compare-and-swap is looked at before it happens")
		}
	}
}

// TestWhatIsNotSummedIsCounted has instructions that write what no register holds, and such that write no global memory.
func TestWhatIsNotSummedIsCounted(t *testing.T) {
	for instruction, unseen := range map[string]int{
		`call void asm sideeffect "@$0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [$1, {$2, $3}], [$4];", "b,l,r,r,r"(i1 %4, i64 %3, i32 %2, i32 %2, i32 %2)`: 1,
		`call void asm sideeffect "multimem.red.global.add.f32 [ $0 + 0 ], $1;", "l,f"(ptr addrspace(1) %p, float 1.0)`:                                                  1,
		`call void asm sideeffect "st.global.b32 [ $1 + $2 ], { $0 };", "r,l,r"(i32 %2, ptr addrspace(1) %p, i32 %2)`:                                                    1,
		`call void asm sideeffect "@$2 st.shared.b32 [ $0 + 0 ], $1;", "r,r,b"(i32 %2, i32 %2, i1 %4)`:                                                                   0,
		`call void asm sideeffect "cp.async.cg.shared.global [ $0 + 0 ], [ $1 + 0 ], 0x10, $2;", "r,l,r"(i32 %2, ptr addrspace(1) %p, i32 %2)`:                           0,
		`store float 1.000000e+00, ptr addrspace(3) null, align 4`:                                                                                                       0,
	} {
		m, err := read(storing(instruction))
		if err != nil {
			t.Fatal(err)
		}
		s := &found{m: m}
		if s.function(m.Functions[0]); s.unseen != unseen {
			t.Errorf("%s: %d, want %d", instruction, s.unseen, unseen)
		}
		for i := range s.points {
			if s.points[i].access != nil {
				t.Errorf("%s: a sum", instruction)
			}
		}
	}
}

// TestSumsAreOfStatements gives one sum to the accesses of a line to one array, and another to those elsewhere.
func TestSumsAreOfStatements(t *testing.T) {
	s := func(line uint32, kind site.Kind) *site.Site {
		return &site.Site{Kind: kind, Chain: []site.Frame{{File: "k.py", Line: line}}}
	}
	var sums slots
	got := fmt.Sprint(
		sums.of(0, s(3, site.GlobalStore), 1, false), sums.of(1, s(3, site.GlobalStore), 1, false), sums.of(2, s(3, site.GlobalStore), 2, false),
		sums.of(3, s(4, site.GlobalStore), -1, false), sums.of(4, s(3, site.Atomic), 1, true), sums.of(5, s(5, site.GlobalStore), -1, false),
	)
	if got != "0 0 1 -1 2 -2" || sums.known[1].Site != 0 || sums.sought[1].Site != 5 || !sums.known[2].Swaps || sums.known[0].Swaps {
		t.Errorf("%s: %+v %+v", got, sums.known, sums.sought)
	}
}
