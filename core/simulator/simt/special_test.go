package simt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/simt/execute"
)

// TestSpecialRegisters reads special registers in block 5 of 6, which has 96 threads, and compares what thread 37 sees.
func TestSpecialRegisters(t *testing.T) {
	for name, want := range map[string]uint32{
		"%tid.x": 37, "%tid.y": 0, "%ntid.x": 96, "%ntid.z": 1, "%ctaid.x": 5, "%nctaid.x": 6, "%laneid": 5, "%warpid": 1, "%nwarpid": 3,
		"%smid": 5, "%nsmid": 108, "%lanemask_eq": 1 << 5, "%lanemask_le": 0x3f, "%lanemask_lt": 0x1f, "%lanemask_ge": 0xffffffe0,
		"%lanemask_gt": 0xffffffc0, "%total_smem_size": 256, "%dynamic_smem_size": 128, "%aggr_smem_size": 256, "%pm0": 0, "%pm7": 0,
		"%envreg0": 0, "%envreg31": 0, "%clusterid.x": 5, "%nclusterid.x": 6, "%cluster_ctaid.x": 0, "%cluster_nctaid.y": 1,
		"%cluster_ctarank": 0, "%cluster_nctarank": 1, "WARP_SZ": 32,
		"%reserved_smem_offset_begin": 128, "%reserved_smem_offset_0": 128, "%reserved_smem_offset_1": 128, "%reserved_smem_offset_cap": 1024,
		"%reserved_smem_offset_end": 1152,
	} {
		body := fmt.Sprintf("\t.shared .b8 tile[100];\n\tmov.u32 %%r1, %s;\n\tmov.u32 %%r2, %%ctaid.x;\n\tsetp.eq.u32 %%p1, %%r2, 5;\n\tsetp.eq.and.u32 %%p1, %%r31, 37, %%p1;\n\t@%%p1 st.global.u32 [%%rd1], %%r1;", name)
		data := make([]byte, 4)
		l := testLaunch(6, 96, data, 0)
		l.SharedBytes = 128
		if r := mustRun(t, entry(body), l); len(r.Findings) != 0 || wordsOf(data)[0] != want {
			t.Errorf("%s is %#x, want %#x; findings %v", name, wordsOf(data)[0], want, r.Findings)
		}
	}
}

func TestSpecialPredicateAndWideRegisters(t *testing.T) {
	body := "\tmov.pred %p1, %is_explicit_cluster;\n\tselp.u32 %r1, 7, 9, %p1;\n\tmov.u64 %rd2, %current_graph_exec;\n\tmov.u64 %rd3, %pm0_64;\n" +
		"\tmov.u64 %rd4, %gridid;\n\tor.b64 %rd2, %rd2, %rd3;\n\tor.b64 %rd2, %rd2, %rd4;\n\tst.global.u32 [%rd1], %r1;\n\tst.global.u64 [%rd1+8], %rd2;"
	data := make([]byte, 16)
	mustRun(t, entry(body), testLaunch(1, 1, data, 0))
	if got := wordsOf(data); got[0] != 9 || got[2] != 0 || got[3] != 0 {
		t.Errorf("got %v, want a block that is in no explicit cluster, and zeros", got)
	}
}

// gridBarrier is what grid.sync() of cooperative groups does: the address of its counter comes in two halves.
const gridBarrier = `
	mov.u32 %r1, %envreg2;
	mov.u32 %r2, %envreg1;
	mov.b64 %rd5, {%r1, %r2};
	setp.ne.u32 %p1, %r31, 0;
	@%p1 bra ALL;
	mov.u32 %r3, %ctaid.x;
	mov.u32 %r4, %nctaid.x;
	setp.eq.u32 %p2, %r3, 0;
	sub.s32 %r5, 0x80000001, %r4;
	selp.u32 %r6, %r5, 1, %p2;
	atom.add.release.gpu.u32 %r7, [%rd5+4], %r6;
SPIN:
	ld.acquire.gpu.u32 %r8, [%rd5+4];
	xor.b32 %r9, %r7, %r8;
	setp.ge.s32 %p3, %r9, 0;
	@%p3 bra SPIN;
ALL:
	bar.sync 0;
`

func TestBlocksOfACooperativeGridWaitForEachOther(t *testing.T) {
	body := "\tmov.u32 %r20, %ctaid.x;\n\tmul.wide.u32 %rd6, %r20, 4;\n\tadd.s64 %rd7, %rd1, %rd6;\n\tst.global.u32 [%rd7], 1;" + gridBarrier + `
	xor.b32 %r21, %r20, 7;
	mul.wide.u32 %rd8, %r21, 4;
	add.s64 %rd9, %rd1, %rd8;
	ld.global.u32 %r22, [%rd9];
	st.global.u32 [%rd7+32], %r22;`
	for seed := range uint64(4) {
		data := make([]byte, 64)
		l := testLaunch(8, 64, data, 0)
		l.Options.ScheduleSeed = seed
		if r := mustRun(t, entry(body), l); len(r.Findings) != 0 {
			t.Fatalf("seed %d: %v", seed, r.Findings)
		}
		for i, v := range wordsOf(data) {
			if v != 1 {
				t.Errorf("seed %d: word %d is %d: a block went on before another one had come", seed, i, v)
			}
		}
	}
	_, err := mustLoad(t, entry(body)).Run(nil, testLaunch(108*2+1, 1024, make([]byte, 64), 0))
	if err == nil || !strings.Contains(err.Error(), "holds 216 of these, the grid has 217") {
		t.Errorf("a grid of which not all blocks can be there at once: %v", err)
	}
}

func TestMinAndMaxOfThree(t *testing.T) {
	for text, want := range map[string]uint32{
		"min.f32 %r4, %r1, %r2, %r3": 0xc0000000, "max.f32 %r4, %r1, %r2, %r3": 0x40400000,
		"max.f32 %r3, %r1, %r2, %r3": 0x40400000, "min.f32 %r2, %r1, %r2, %r3": 0xc0000000, "min.f32 %r1, %r1, %r1, %r3": 0x3f800000,
		"min.NaN.f32 %r4, %r1, %r5, %r3": 0x7fffffff, "min.f32 %r4, %r1, %r5, %r3": 0x3f800000,
	} {
		result := strings.Fields(strings.ReplaceAll(text, ",", ""))[1]
		body := "\tmov.b32 %r1, 0f3F800000;\n\tmov.b32 %r2, 0fC0000000;\n\tmov.b32 %r3, 0f40400000;\n\tmov.b32 %r5, 0f7FC00000;\n\t" + text + ";\n\tst.global.b32 [%rd1], " + result + ";"
		data := make([]byte, 4)
		mustRun(t, entry(body), testLaunch(1, 1, data, 0))
		if got := wordsOf(data)[0]; got != want {
			t.Errorf("%s gives %08x, want %08x", text, got, want)
		}
	}
}

func TestALoopWithoutEndMeetsTheLimitThatIsNamed(t *testing.T) {
	l := testLaunch(1, 32, make([]byte, 4), 0)
	l.Options.MaxInstructions = 1000
	_, err := mustLoad(t, entry(".loc 1 7 0\nL:\n\tadd.u32 %r1, %r1, 1;\n\tbra L;")+"\n.file 1 \"k.py\"\n").Run(nil, l)
	if err == nil || !strings.Contains(err.Error(), "more than 1000 instructions of warps") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(err.Error(), "it is at k.py:7") {
		t.Errorf("the line is not named: %v", err)
	}
	if execute.DefaultInstructions != 10_000_000_000 {
		t.Errorf("a launch that names no limit ends after %d instructions", uint64(execute.DefaultInstructions))
	}
}
