package simt

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

const preamble = ".version 8.0\n.target sm_80\n.address_size 64\n"

// declarations of registers that the kernels of these tests share.
const testRegisters = "\t.reg .pred %p<8>;\n\t.reg .b32 %r<40>;\n\t.reg .b64 %rd<20>;\n"

// entry is a module with one kernel k(out, n) of the given body.
func entry(body string) string {
	return preamble + ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n" + testRegisters + "\tld.param.u64 %rd1, [out];\n\tld.param.u32 %r30, [n];\n\tmov.u32 %r31, %tid.x;\n" + body + "\n\tret;\n}\n"
}

// testLaunch is a launch of kernel k on an array of words.
func testLaunch(grid, block uint32, data []byte, n uint64) *Launch {
	return &Launch{
		Kernel: "k", Grid: [3]uint32{grid, 1, 1}, Block: [3]uint32{block, 1, 1},
		Params: []Argument{{Name: "out", Bits: 0x7f0000000000, Allocation: 0}, {Name: "n", Bits: n, Allocation: -1}},
		Memory: []memory.Allocation{{Name: "out", Host: 0x7f0000000000, Bytes: data}},
	}
}

func mustLoad(t testing.TB, text string) *Program {
	t.Helper()
	p, err := Load(context.Background(), "k.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustRun(t testing.TB, text string, l *Launch) *Result {
	t.Helper()
	r, err := mustLoad(t, text).Run(nil, l)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wordsOf(data []byte) []uint32 {
	out := make([]uint32, len(data)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return out
}

// only asserts that a run found one thing, and returns it.
func only(t *testing.T, r *Result, check execute.Check) Finding {
	t.Helper()
	if len(r.Findings) != 1 || r.Findings[0].Check != check {
		t.Fatalf("findings are %+v, want one %s", r.Findings, check)
	}
	return r.Findings[0]
}

const addressOfThread = "\tmul.wide.u32 %rd2, %r31, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"

func TestOutOfBoundsStoreNamesLaneAddressAndAllocation(t *testing.T) {
	data := make([]byte, 4*60)
	r := mustRun(t, entry(addressOfThread+"\tst.global.u32 [%rd3], %r31;"), testLaunch(1, 64, data, 0))
	f := only(t, r, "out-of-bounds")
	if f.Warp != 1 || f.Lanes != 0xf0000000 || f.Lane != 28 || f.Block != [3]uint32{} || f.Fault == nil || f.Fault.Nearest != "out" {
		t.Errorf("the finding is %+v", f)
	}
	for _, want := range []string{"a store of 4 bytes", "beyond the end of out (240 bytes)"} {
		if !strings.Contains(f.Message, want) {
			t.Errorf("message %q does not say %q", f.Message, want)
		}
	}
	for i, v := range wordsOf(data) {
		if v != uint32(i) {
			t.Errorf("word %d is %d", i, v)
		}
	}
}

func TestFindingsCountWhatTheyFindAndKeepTheFirst(t *testing.T) {
	body := "\tmov.u32 %r1, %ctaid.x;\n\tmad.lo.s32 %r2, %r1, 32, %r31;\n\tmul.wide.u32 %rd2, %r2, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tst.global.u32 [%rd3], %r2;"
	for _, seed := range []uint64{0, 1, 2, 3} {
		for _, workers := range []int{1, 2, 3} {
			l := testLaunch(8, 32, make([]byte, 4*32*3), 0)
			l.Options = Options{ScheduleSeed: seed, Workers: workers}
			f := only(t, mustRun(t, entry(body), l), "out-of-bounds")
			if f.Count != 5 || f.Block != [3]uint32{3, 0, 0} || f.Lanes != 0xffffffff {
				t.Errorf("seed %d, %d workers: %d times, first in block %v, lanes %08x; want 5, [3 0 0], all", seed, workers, f.Count, f.Block, f.Lanes)
			}
		}
	}
}

func TestStopAtFirstEndsTheLaunch(t *testing.T) {
	data := make([]byte, 4)
	l := testLaunch(1, 32, data, 0)
	l.Options.StopAtFirst = true
	r := mustRun(t, entry(addressOfThread+"\tst.global.u32 [%rd3+4], %r31;\n\tst.global.u32 [%rd1], 7;"), l)
	only(t, r, "out-of-bounds")
	if wordsOf(data)[0] != 0 {
		t.Error("the kernel went on behind the first finding")
	}
}

func TestLaunchesBeyondTheTargetAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Launch)
		want   string
	}{
		"a cluster":            {func(l *Launch) { l.Cluster = [3]uint32{2, 1, 1} }, "a cluster of [2 1 1] blocks needs sm_90, the simulator runs sm_80"},
		"much shared memory":   {func(l *Launch) { l.SharedBytes = 163<<10 + 1 }, "needs 166913 bytes of shared memory, a block of an sm_80 has 166912"},
		"many threads":         {func(l *Launch) { l.Block = [3]uint32{512, 4, 1} }, "has 2048 threads, a GPU allows 1024"},
		"no blocks":            {func(l *Launch) { l.Grid[2] = 0 }, "grid [1 1 0], block [32 1 1]: not a launch of a GPU"},
		"no threads":           {func(l *Launch) { l.Block[1] = 0 }, "block [32 0 1]: not a launch of a GPU"},
		"a deep block":         {func(l *Launch) { l.Block = [3]uint32{1, 1, 65} }, "block [1 1 65]: not a launch of a GPU"},
		"a tall grid":          {func(l *Launch) { l.Grid = [3]uint32{1, 65536, 1} }, "not a launch of a GPU"},
		"a cluster of one":     {func(l *Launch) { l.Cluster = [3]uint32{1, 1, 1} }, ""},
		"all of shared memory": {func(l *Launch) { l.SharedBytes = 163 << 10 }, ""},
	} {
		l := testLaunch(1, 32, make([]byte, 4), 0)
		c.change(l)
		_, err := mustLoad(t, entry("")).Run(nil, l)
		if said := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(said, c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestDynamicSharedMemoryBeginsBehindTheStatic(t *testing.T) {
	text := preamble + ".extern .shared .align 16 .b8 dynamic[];\n" + strings.TrimPrefix(entry("\t.shared .align 4 .b8 tile[4];\n"+
		"\tmov.u32 %r1, tile;\n\tmov.u32 %r2, dynamic;\n\tst.shared.u32 [%r1], 7;\n\tst.shared.u32 [%r2], 9;\n\tld.shared.u32 %r3, [%r1];\n\tst.global.u32 [%rd1], %r3;"), preamble)
	data := make([]byte, 4)
	l := testLaunch(1, 1, data, 0)
	l.SharedBytes = 16
	if r := mustRun(t, text, l); len(r.Findings) != 0 || wordsOf(data)[0] != 7 {
		t.Errorf("the static word is %d, want 7; findings %+v", wordsOf(data)[0], r.Findings)
	}
}

func TestBarrierUnderDivergence(t *testing.T) {
	body := "\tsetp.lt.u32 %p1, %r31, 40;\n\t@%p1 bar.sync 0;\n\tst.global.u32 [%rd1], 1;\n"
	f := only(t, mustRun(t, entry(body), testLaunch(1, 64, make([]byte, 4), 0)), "barrier-divergence")
	if f.Warp != 1 || f.Lanes != 0xff || !strings.Contains(f.Message, "lanes ffffff00 are elsewhere") {
		t.Errorf("warp %d, lanes %08x, %q; want warp 1, lanes 000000ff", f.Warp, f.Lanes, f.Message)
	}
}

// Threads that have ended count as arrived: a barrier waits for those of the block that have not. So an early return before it is right,
// of whole warps and of lanes, in the form that is said to be aligned, too.
func TestAnEarlyReturnBeforeABarrierIsLegal(t *testing.T) {
	const pass = `	mov.u32 %r2, tile;
	shl.b32 %r3, %r31, 2;
	add.s32 %r4, %r2, %r3;
	st.shared.u32 [%r4], %r31;
	BARRIER
	xor.b32 %r3, %r3, 128;
	add.s32 %r4, %r2, %r3;
	ld.shared.u32 %r5, [%r4];
	st.global.u32 [%rd3], %r5;
`
	for name, leave := range map[string]string{
		"warps": "\tsetp.ge.u32 %p1, %r31, 64;\n\t@%p1 ret;\n",
		"lanes": "\tand.b32 %r1, %r31, 31;\n\tsetp.ge.u32 %p1, %r1, 8;\n\t@%p1 exit;\n",
		"both":  "\tsetp.ge.u32 %p1, %r31, 64;\n\t@%p1 bra LEAVE;\n\tand.b32 %r1, %r31, 31;\n\tsetp.lt.u32 %p1, %r1, 8;\n\t@%p1 bra STAY;\nLEAVE:\n\tret;\nSTAY:\n",
	} {
		for _, barrier := range []string{"bar.sync 0;", "barrier.sync 0;", "bar.red.popc.u32 %r6, 0, %p1;"} {
			runSchedules(t, "\t.shared .align 4 .b8 tile[512];\n"+addressOfThread+leave+strings.Replace(pass, "BARRIER", barrier, 1), 128, 128, func(seed uint64, got []uint32) {
				for _, thread := range []int{0, 7, 32, 39} {
					if got[thread] != uint32(thread^32) {
						t.Fatalf("%s, %s, seed %d: thread %d has %d, want %d", name, barrier, seed, thread, got[thread], thread^32)
					}
				}
			})
		}
	}
}

// A barrier that counts its threads waits for so many, whoever has ended.
func TestAnEarlyReturnBeforeABarrierThatCounts(t *testing.T) {
	body := "\tsetp.ge.u32 %p1, %r31, 32;\n\t@%p1 ret;\n\tbar.sync 1, 64;\n"
	only(t, mustRun(t, entry(body), testLaunch(1, 64, make([]byte, 4), 0)), "deadlock")
}

func TestWarpsAtDifferentBarriers(t *testing.T) {
	body := "\tsetp.ge.u32 %p1, %r31, 32;\n\t@%p1 bra OTHER;\n\tbar.sync 0;\n\tbra DONE;\nOTHER:\n\tbar.sync 0;\nDONE:\n"
	only(t, mustRun(t, entry(body), testLaunch(1, 64, make([]byte, 4), 0)), "barrier-divergence")
}

func TestNamedBarriersWithCounts(t *testing.T) {
	// Warp 0 fills a tile and arrives at barrier 1; warp 1 waits there; warp 2 has nothing to do with it.
	body := `	.shared .align 4 .b8 tile[128];
	setp.ge.u32 %p1, %r31, 64;
	@%p1 ret;
	mov.u32 %r1, tile;
	and.b32 %r2, %r31, 31;
	shl.b32 %r3, %r2, 2;
	add.s32 %r4, %r1, %r3;
	setp.ge.u32 %p2, %r31, 32;
	@%p2 bra READER;
	st.shared.u32 [%r4], %r31;
	bar.arrive 1, 64;
	ret;
READER:
	bar.sync 1, 64;
	ld.shared.u32 %r5, [%r4];
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], %r5;
`
	for seed := range uint64(5) {
		data := make([]byte, 128)
		l := testLaunch(1, 96, data, 0)
		l.Options.ScheduleSeed = seed
		if r := mustRun(t, entry(body), l); len(r.Findings) != 0 {
			t.Errorf("seed %d: findings %+v", seed, r.Findings)
		}
		for i, v := range wordsOf(data) {
			if v != uint32(i) {
				t.Fatalf("seed %d: word %d is %d", seed, i, v)
			}
		}
	}
}

func TestBarrierThatReduces(t *testing.T) {
	body := addressOfThread + `	and.b32 %r1, %r31, 1;
	setp.eq.s32 %p1, %r1, 0;
	bar.red.popc.u32 %r2, 0, %p1;
	bar.red.and.pred %p2, 0, %p1;
	bar.red.or.pred %p3, 0, %p1;
	@%p2 add.s32 %r2, %r2, 100;
	@%p3 add.s32 %r2, %r2, 1000;
	st.global.u32 [%rd3], %r2;
`
	data := make([]byte, 4*64)
	r := mustRun(t, entry(body), testLaunch(1, 64, data, 0))
	if len(r.Findings) != 0 {
		t.Errorf("findings %+v", r.Findings)
	}
	for i, v := range wordsOf(data) {
		if v != 1032 {
			t.Fatalf("word %d is %d, want 32 even threads + 1000", i, v)
		}
	}
}

func TestDeadlockIsFound(t *testing.T) {
	body := "\tsetp.ge.u32 %p1, %r31, 32;\n\t@%p1 ret;\n\tbar.sync 1, 64;\n"
	f := only(t, mustRun(t, entry(body), testLaunch(1, 64, make([]byte, 4), 0)), "deadlock")
	if !strings.Contains(f.Message, "32 of 64 threads") {
		t.Errorf("message %q does not say 32 of 64 threads", f.Message)
	}
}

func TestTrapEndsTheBlock(t *testing.T) {
	data := make([]byte, 4*4)
	body := "\tmov.u32 %r1, %ctaid.x;\n\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tsetp.eq.s32 %p1, %r1, 2;\n\t@%p1 trap;\n\tst.global.u32 [%rd3], 1;"
	f := only(t, mustRun(t, entry(body), testLaunch(4, 32, data, 0)), "trap")
	if f.Block != [3]uint32{2, 0, 0} || fmt.Sprint(wordsOf(data)) != "[1 1 0 1]" {
		t.Errorf("trap in block %v, memory %v", f.Block, wordsOf(data))
	}
}

func TestEndlessLoopMeetsTheLimit(t *testing.T) {
	l := testLaunch(1, 32, make([]byte, 4), 0)
	l.Options.MaxInstructions = 100_000
	_, err := mustLoad(t, entry("AGAIN:\n\tadd.s32 %r1, %r1, 1;\n\tbra AGAIN;")).Run(nil, l)
	if !fault.Is(err, fault.Limit) {
		t.Errorf("error is %v, want a limit", err)
	}
}

// Of several workers one fails, and the others are told to stop: the error is that of the one, whichever it is.
func TestAnErrorOfOneWorkerIsThatOfTheLaunch(t *testing.T) {
	for bad := range 3 {
		body := fmt.Sprintf("\tmov.u32 %%r1, %%ctaid.x;\n\tsetp.ne.u32 %%p1, %%r1, %d;\nAGAIN:\n\tadd.s32 %%r2, %%r2, 1;\n\t@%%p1 bra AGAIN;\n"+
			"LIST: .branchtargets END, AGAIN;\n\tmov.u32 %%r3, 7;\n\tbrx.idx %%r3, LIST;\nEND:\n", bad)
		l := testLaunch(3, 32, make([]byte, 4), 0)
		l.Options = Options{Workers: 3}
		if _, err := mustLoad(t, entry(body)).Run(nil, l); !fault.Is(err, fault.Format) {
			t.Fatalf("block %d fails with %v, want that its jump table is too short", bad, err)
		}
	}
}

func TestEndlessLoopIsCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := mustLoad(t, entry("AGAIN:\n\tadd.s32 %r1, %r1, 1;\n\tbra AGAIN;")).Run(job.New(ctx, job.Options{}), testLaunch(1, 32, make([]byte, 4), 0))
	if err == nil || fault.Of(err).Kind != fault.Cancelled {
		t.Errorf("error is %v, want cancelled", err)
	}
}

// A warp that waits in a loop for another warp of its block, whatever the order.
func TestWarpsThatSpinOnEachOtherEnd(t *testing.T) {
	body := `	setp.ge.u32 %p1, %r31, 32;
	@%p1 bra WRITER;
AGAIN:
	ld.volatile.global.u32 %r1, [%rd1];
	setp.eq.s32 %p2, %r1, 0;
	@%p2 bra AGAIN;
	st.global.u32 [%rd1+4], %r1;
	ret;
WRITER:
	st.volatile.global.u32 [%rd1], 5;
`
	for seed := range uint64(4) {
		data := make([]byte, 8)
		l := testLaunch(1, 64, data, 0)
		l.Options = Options{ScheduleSeed: seed, MaxInstructions: 1_000_000}
		mustRun(t, entry(body), l)
		if got := wordsOf(data)[1]; got != 5 {
			t.Errorf("seed %d: the reader saw %d, want 5", seed, got)
		}
	}
}

// A block that waits in a loop for the block behind it: more blocks must become resident.
func TestBlocksThatSpinOnEachOtherEnd(t *testing.T) {
	body := `	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %nctaid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	add.s32 %r3, %r1, 1;
	setp.eq.s32 %p1, %r3, %r2;
	@%p1 bra LAST;
AGAIN:
	ld.volatile.global.u32 %r4, [%rd3+4];
	setp.eq.s32 %p2, %r4, 0;
	@%p2 bra AGAIN;
	add.s32 %r4, %r4, 1;
	st.volatile.global.u32 [%rd3], %r4;
	ret;
LAST:
	st.volatile.global.u32 [%rd3], 1;
`
	for seed := range uint64(3) {
		data := make([]byte, 4*4)
		l := testLaunch(4, 32, data, 0)
		l.Options = Options{ScheduleSeed: seed, MaxInstructions: 100_000_000}
		mustRun(t, entry(body), l)
		if got := fmt.Sprint(wordsOf(data)); got != "[4 3 2 1]" {
			t.Errorf("seed %d: %s, want [4 3 2 1]", seed, got)
		}
	}
}

func TestUnknownInstructionIsRefusedByName(t *testing.T) {
	text := entry("\tfrobnicate.s32 %r1, %r2;")
	p := mustLoad(t, text)
	err := p.Check("k")
	f := fault.Of(err)
	if f == nil || f.Kind != fault.Incompatible || f.Path != "k.ptx" || f.Line == 0 || !strings.Contains(f.Msg, "frobnicate.s32") {
		t.Errorf("the refusal is %+v", f)
	}
	newer := mustLoad(t, entry("\tmbarrier.try_wait.shared::cta.b64 %p1, [%r1], %rd2;"))
	if f := fault.Of(newer.Check("k")); f == nil || !strings.Contains(f.Hint, "sm_80") {
		t.Errorf("the refusal of an instruction of sm_90 is %+v, want a hint that says sm_80", f)
	}
	later := mustLoad(t, strings.Replace(text, "sm_80", "sm_90a", 1))
	if f := fault.Of(later.Check("k")); f == nil || !strings.Contains(f.Hint, "sm_90a") || !strings.Contains(f.Hint, "sm_80") {
		t.Errorf("the refusal of a text for sm_90a is %+v, want a hint that says both", f)
	}
}

func TestBadLaunchesAreUsageErrors(t *testing.T) {
	p := mustLoad(t, entry(""))
	for name, change := range map[string]func(*Launch){
		"no such kernel":      func(l *Launch) { l.Kernel = "other" },
		"missing parameter":   func(l *Launch) { l.Params = l.Params[:1] },
		"empty block":         func(l *Launch) { l.Block[1] = 0 },
		"block too large":     func(l *Launch) { l.Block = [3]uint32{1024, 2, 1} },
		"no such allocation":  func(l *Launch) { l.Params[0].Allocation = 7 },
		"negative allocation": func(l *Launch) { l.Params[0].Allocation = -2 },
	} {
		l := testLaunch(1, 32, make([]byte, 4), 0)
		change(l)
		if _, err := p.Run(nil, l); !fault.Is(err, fault.Usage) {
			t.Errorf("%s: error is %v, want a usage error", name, err)
		}
	}
}

func TestModuleVariablesLiveAsLongAsTheProgram(t *testing.T) {
	text := strings.Replace(entry("\tmov.u64 %rd5, counter;\n\tld.global.u32 %r1, [counter];\n\tadd.s32 %r1, %r1, 1;\n\tst.global.u32 [%rd5], %r1;\n\tst.global.u32 [%rd1], %r1;"),
		".visible", ".global .align 4 .u32 counter = 41;\n.visible", 1)
	p := mustLoad(t, text)
	for _, want := range []uint32{42, 43, 42} {
		if want == 42 {
			p.Reset()
		}
		data := make([]byte, 4)
		l := testLaunch(1, 1, data, 0)
		if r, err := p.Run(nil, l); err != nil || len(r.Findings) != 0 {
			t.Fatalf("%v, findings %+v", err, r.Findings)
		}
		if got := wordsOf(data)[0]; got != want {
			t.Errorf("counter is %d, want %d", got, want)
		}
	}
}

func TestPrintf(t *testing.T) {
	format := "n %5d|%-4u|%x %s %c %% %f %lld\n"
	text := preamble + ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n" +
		".global .align 1 .b8 fmt[64] = {" + bytesOf(format) + "};\n.global .align 1 .b8 who[4] = {97, 98, 99, 0};\n" +
		strings.TrimPrefix(entry(`	.local .align 8 .b8 depot[64];
	mov.u64 %rd5, depot;
	cvta.local.u64 %rd6, %rd5;
	setp.ge.u32 %p1, %r31, 2;
	@%p1 bra DONE;
	st.local.b32 [depot], -7;
	st.local.b32 [depot+4], %r31;
	st.local.b32 [depot+8], 255;
	mov.u64 %rd7, who;
	st.local.b64 [depot+16], %rd7;
	st.local.b32 [depot+24], 65;
	st.local.b64 [depot+32], 0d3FF8000000000000;
	st.local.b64 [depot+40], -5;
	{
	.param .b64 param0;
	.param .b64 param1;
	.param .b32 retval0;
	mov.u64 %rd8, fmt;
	st.param.b64 [param0], %rd8;
	st.param.b64 [param1], %rd6;
	call.uni (retval0), vprintf, (param0, param1);
	}
DONE:`), preamble)
	r := mustRun(t, text, testLaunch(2, 32, make([]byte, 4), 0))
	if len(r.Findings) != 0 {
		t.Fatalf("findings %+v", r.Findings)
	}
	want := "n    -7|0   |ff abc A % 1.500000 -5\nn    -7|1   |ff abc A % 1.500000 -5\n"
	if r.Output != want+want {
		t.Errorf("printed %q, want %q twice", r.Output, want)
	}
}

func bytesOf(s string) string {
	var list []string
	for _, c := range []byte(s) {
		list = append(list, fmt.Sprint(c))
	}
	return strings.Join(append(list, "0"), ", ")
}

func TestCountsPerInstruction(t *testing.T) {
	body := "\tsetp.lt.u32 %p1, %r31, 40;\n" + addressOfThread + "\t@%p1 st.global.u32 [%rd3], %r31;"
	r := mustRun(t, entry(body), testLaunch(2, 64, make([]byte, 256), 0))
	if r.Instructions != 2*2*8 || r.LaneInstructions != 2*(64*7+40) || r.Warps != 4 || r.Blocks != 2 {
		t.Errorf("%+v", r)
	}
	if len(r.Lines) != 1 {
		t.Fatalf("lines are %+v", r.Lines)
	}
	l := r.Lines[0]
	if l.GlobalStores != 4 || l.GlobalBytes != 2*40*4 || l.GlobalSectors != 2*(4+1) {
		t.Errorf("%+v", l)
	}
}

func TestBankConflicts(t *testing.T) {
	for stride, want := range map[int]uint64{1: 0, 2: 1, 4: 3, 32: 31, 33: 0, 0: 0} {
		body := fmt.Sprintf("\t.shared .align 4 .b8 tile[8192];\n\tmov.u32 %%r1, tile;\n\tmul.lo.s32 %%r2, %%r31, %d;\n\tadd.s32 %%r3, %%r1, %%r2;\n\tst.shared.u32 [%%r3], 0;", 4*stride)
		r := mustRun(t, entry(body), testLaunch(1, 32, make([]byte, 4), 0))
		if got := r.Lines[0].BankConflicts; got != want {
			t.Errorf("stride %d: %d conflicts, want %d", stride, got, want)
		}
	}
}

func TestTheClockIsReadInLanesThatAreActive(t *testing.T) {
	for name, width := range map[string]string{"%clock": "u32 %r2", "%clock64": "u64 %rd4"} {
		data := make([]byte, 8*32)
		typ, register, _ := strings.Cut(width, " ")
		body := "\tsetp.ne.u32 %p1, %r31, 0;\n\tmul.wide.u32 %rd2, %r31, 8;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tmov." + typ + " " + register + ", 0;\n" +
			"\t@%p1 mov." + typ + " " + register + ", " + name + ";\n\tst.global." + typ + " [%rd3], " + register + ";"
		mustRun(t, entry(body), testLaunch(1, 32, data, 0))
		words := wordsOf(data)
		for l := range 32 {
			if got := words[2*l]; (got != 0) != (l != 0) || l > 1 && got != words[2] {
				t.Errorf("%s in lane %d is %d, in lane 1 %d", name, l, got, words[2])
			}
		}
	}
}

func TestElementsWithoutARegisterAreNotLoaded(t *testing.T) {
	data := make([]byte, 16)
	for i := range data {
		data[i] = byte(i)
	}
	mustRun(t, entry("\tmov.u32 %r1, 5;\n\tld.global.v2.u32 {_, %r1}, [%rd1];\n\tld.global.v2.u32 {%r2, _}, [%rd1];\n\tst.global.v2.u32 [%rd1+8], {%r1, %r2};"), testLaunch(1, 1, data, 0))
	if got := wordsOf(data); got[2] != 0x07060504 || got[3] != 0x03020100 {
		t.Errorf("got %08x, want the second word and the first", got[2:])
	}
}

func TestBarriersThatSayThatTheyAreAlignedAskForAllLanes(t *testing.T) {
	for instruction, aligned := range map[string]bool{"bar.sync 0": true, "barrier.sync.aligned 0": true, "barrier.sync 0": false} {
		body := "\tsetp.lt.u32 %p1, %r31, 8;\n\t@%p1 bra FEW;\n\t" + instruction + ";\n\tbra DONE;\nFEW:\n\t" + instruction + ";\nDONE:\n"
		said := false
		for _, f := range mustRun(t, entry(body), testLaunch(1, 32, make([]byte, 4), 0)).Findings {
			said = said || strings.Contains(f.Message, "are at the barrier and lanes")
		}
		if said != aligned {
			t.Errorf("%s in two branches: it is said that lanes are elsewhere: %v", instruction, said)
		}
	}
}

func TestProgressCountsBlocks(t *testing.T) {
	j := job.New(context.Background(), job.Options{Workers: 2})
	if _, err := mustLoad(t, entry("")).Run(j, testLaunch(37, 32, make([]byte, 4), 0)); err != nil {
		t.Fatal(err)
	}
	if name, done, total := j.Progress().Read(); done != 37 || total != 37 {
		t.Errorf("%s: %d of %d, want 37 of 37", name, done, total)
	}
}

func TestAProgramKeepsFewListsOfSites(t *testing.T) {
	p := mustLoad(t, entry(""))
	entryOf := p.module.Functions[0]
	for i := range 5 * maxSiteLists {
		p.siteList(entryOf, []string{fmt.Sprint(i)})
		if len(p.sites) > maxSiteLists {
			t.Fatalf("%d lists after %d launches, want at most %d", len(p.sites), i+1, maxSiteLists)
		}
	}
	if a, b := p.siteList(entryOf, []string{"a"}), p.siteList(entryOf, []string{"a"}); a != b {
		t.Error("a list is made twice")
	}
}
