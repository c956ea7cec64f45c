package simt

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

func TestDivisionByZeroNamesTheLanes(t *testing.T) {
	body := addressOfThread + "\tand.b32 %r1, %r31, 3;\n\tdiv.u32 %r2, 100, %r1;\n\tst.global.u32 [%rd3], %r2;"
	data := make([]byte, 128)
	f := only(t, mustRun(t, entry(body), testLaunch(1, 32, data, 0)), "division-by-zero")
	if f.Lanes != 0x11111111 || wordsOf(data)[3] != 33 {
		t.Errorf("lanes %08x, 100/3 = %d", f.Lanes, wordsOf(data)[3])
	}
	if !strings.Contains(f.Message, "tl.where") { // what the source says may not be in the text
		t.Errorf("the finding is %q", f.Message)
	}
}

// TestDivisionsWhoseResultsNobodyWants: lane l divides by l, so lane 0 by zero; %r5 is the quotient.
func TestDivisionsWhoseResultsNobodyWants(t *testing.T) {
	const divide = "\tmov.u32 %r4, 100;\n\tdiv.u32 %r5, %r4, %r31;\n\tsetp.ne.u32 %p1, %r31, 0;\n" + addressOfThread
	for name, c := range map[string]struct {
		body  string
		found bool
	}{
		"stored":                    {"\tst.global.u32 [%rd3], %r5;", true},
		"stored under a mask":       {"\t@%p1 st.global.u32 [%rd3], %r5;", false},
		"selected away":             {"\tselp.u32 %r6, %r5, 7, %p1;\n\tst.global.u32 [%rd3], %r6;", false},
		"selected":                  {"\tselp.u32 %r6, 7, %r5, %p1;\n\tst.global.u32 [%rd3], %r6;", true},
		"computed with":             {"\tmad.lo.u32 %r6, %r5, 3, %r4;\n\tst.global.u32 [%rd3], %r6;", true},
		"computed with, and masked": {"\tmad.lo.u32 %r6, %r5, 3, %r4;\n\t@%p1 st.global.u32 [%rd3], %r6;", false},
		"overwritten":               {"\tmov.u32 %r5, 1;\n\tst.global.u32 [%rd3], %r5;", false},
		"an address":                {"\tmul.wide.u32 %rd4, %r5, 0;\n\tadd.s64 %rd3, %rd3, %rd4;\n\tst.global.u32 [%rd3], %r4;", true},
		"a branch":                  {"\tsetp.gt.u32 %p2, %r5, 9;\n\t@%p2 bra L;\nL:", true},
		"a mask with another":       {"\tsetp.gt.u32 %p2, %r5, 9;\n\tand.pred %p2, %p2, %p1;\n\t@%p2 st.global.u32 [%rd3], %r4;", false},
		"a mask with the same":      {"\tsetp.gt.and.u32 %p2, %r5, 9, %p1;\n\t@%p2 st.global.u32 [%rd3], %r4;", false},
		"a mask or another":         {"\tsetp.gt.u32 %p2, %r5, 9;\n\tor.pred %p2, %p2, %p1;\n\t@%p2 st.global.u32 [%rd3], %r4;", true},
		"a shuffle":                 {"\tshfl.sync.idx.b32 %r6, %r5, 0, 31, -1;", true},
		"shared memory":             {"\t.shared .b32 tile[32];\n\tst.shared.u32 [tile], %r5;", true},
		"a copy of no byte":         {"\t.shared .align 4 .b8 tile[128];\n\tmul.wide.u32 %rd4, %r5, 0;\n\tadd.s64 %rd3, %rd3, %rd4;\n\tmov.u32 %r7, tile;\n\tmad.lo.u32 %r7, %r31, 4, %r7;\n\tselp.u32 %r6, 4, 0, %p1;\n\tcp.async.ca.shared.global [%r7], [%rd3], 4, %r6;\n\tcp.async.wait_all;", false},
		"a copy of a byte":          {"\t.shared .align 4 .b8 tile[128];\n\tmul.wide.u32 %rd4, %r5, 0;\n\tadd.s64 %rd3, %rd3, %rd4;\n\tmov.u32 %r7, tile;\n\tmad.lo.u32 %r7, %r31, 4, %r7;\n\tselp.u32 %r6, 1, 4, %p1;\n\tcp.async.ca.shared.global [%r7], [%rd3], 4, %r6;\n\tcp.async.wait_all;", true},
		"nothing":                   {"", false},
	} {
		data := make([]byte, 128)
		r := mustRun(t, entry(divide+c.body), testLaunch(1, 32, data, 0))
		if !c.found {
			if len(r.Findings) > 0 {
				t.Errorf("%s: %v", name, r.Findings)
			}
			continue
		}
		if f := only(t, r, "division-by-zero"); f.Lanes != 1 || f.Count != 1 || !strings.HasPrefix(f.Text, "div.u32") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestDivisionUnderAGuardThatExcludesZero(t *testing.T) {
	body := "\tand.b32 %r1, %r31, 3;\n\tsetp.ne.u32 %p1, %r1, 0;\n\t@%p1 rem.s32 %r2, 100, %r1;"
	if r := mustRun(t, entry(body), testLaunch(1, 32, make([]byte, 4), 0)); len(r.Findings) != 0 {
		t.Errorf("findings %+v", r.Findings)
	}
}

func TestMissingBarrierIsARace(t *testing.T) {
	body := `	.shared .align 4 .b8 tile[256];
	mov.u32 %r1, tile;
	shl.b32 %r2, %r31, 2;
	add.s32 %r3, %r1, %r2;
	st.shared.u32 [%r3], %r31;
	%BARRIER
	xor.b32 %r4, %r2, 128;
	add.s32 %r5, %r1, %r4;
	ld.shared.u32 %r6, [%r5];
` + addressOfThread + "\tst.global.u32 [%rd3], %r6;"
	for seed := range uint64(8) {
		l := testLaunch(1, 64, make([]byte, 256), 0)
		l.Options.ScheduleSeed = seed
		if r := mustRun(t, entry(strings.Replace(body, "%BARRIER", "bar.sync 0;", 1)), l); len(r.Findings) != 0 {
			t.Errorf("seed %d: with a barrier: findings %+v", seed, r.Findings)
		}
		r := mustRun(t, entry(strings.Replace(body, "%BARRIER", "", 1)), l)
		if len(r.Findings) == 0 || r.Findings[len(r.Findings)-1].Check != "shared-race" && r.Findings[0].Check != "shared-race" {
			t.Errorf("seed %d: without: findings %+v", seed, r.Findings)
			continue
		}
		for _, f := range r.Findings {
			if f.Check == "shared-race" && !strings.Contains(f.Message, "warp") {
				t.Errorf("message %q does not name the other warp", f.Message)
			}
		}
	}
}

func TestUninitialisedSharedMemoryIsFound(t *testing.T) {
	body := "\t.shared .align 4 .b8 tile[256];\n\tshl.b32 %r1, %r31, 2;\n\tld.shared.u32 %r2, [tile+4];\n" + addressOfThread + "\tst.global.u32 [%rd3], %r2;"
	only(t, mustRun(t, entry(body), testLaunch(1, 32, make([]byte, 128), 0)), "uninitialised-shared")
	l := testLaunch(1, 32, make([]byte, 128), 0)
	l.Options.NoRaces = true
	if r := mustRun(t, entry(body), l); len(r.Findings) != 0 {
		t.Errorf("with NoRaces: findings %+v", r.Findings)
	}
}

const asyncCopy = `	.shared .align 16 .b8 tile[512];
	mov.u32 %r1, tile;
	shl.b32 %r2, %r31, 4;
	add.s32 %r3, %r1, %r2;
	mul.wide.u32 %rd2, %r31, 16;
	add.s64 %rd3, %rd1, %rd2;
	cp.async.cg.shared.global [ %r3 + 0 ], [ %rd3 + 0 ], 0x10, %r30;
	cp.async.commit_group;
	%WAIT
	ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3];
	add.s32 %r4, %r4, 1;
	st.global.v4.u32 [%rd3], {%r4, %r5, %r6, %r7};
`

func TestAsyncCopyLandsWhenItIsWaitedFor(t *testing.T) {
	for _, wait := range []string{"cp.async.wait_group 0;", "cp.async.wait_group 0x0;", "cp.async.wait_all;"} {
		data := make([]byte, 512)
		for i := range data {
			data[i] = byte(i % 4)
		}
		r := mustRun(t, entry(strings.Replace(asyncCopy, "%WAIT", wait, 1)), testLaunch(1, 32, data, 12))
		if len(r.Findings) != 0 {
			t.Fatalf("%s: findings %+v", wait, r.Findings)
		}
		for i, v := range wordsOf(data) {
			want := []uint32{0x03020101, 0x03020100, 0x03020100, 0}[i%4] // 12 of 16 bytes were read
			if v != want {
				t.Fatalf("%s: word %d is %08x, want %08x", wait, i, v, want)
			}
		}
	}
	r := mustRun(t, entry(strings.Replace(asyncCopy, "%WAIT", "cp.async.wait_group 1;", 1)), testLaunch(1, 32, make([]byte, 512), 16))
	if len(r.Findings) == 0 || r.Findings[0].Check != "stale-async-copy" {
		t.Errorf("a read before the copy landed: findings %+v", r.Findings)
	}
}

func TestNaNsAreFoundOnRequest(t *testing.T) {
	body := addressOfThread + "\tcvt.rn.f32.u32 %r1, %r31;\n\tsub.f32 %r2, %r1, 0f40400000;\n\tsqrt.rn.f32 %r3, %r2;\n\tadd.f32 %r4, %r3, 0f3F800000;\n\tst.global.u32 [%rd3], %r4;"
	l := testLaunch(1, 32, make([]byte, 128), 0)
	if r := mustRun(t, entry(body), l); len(r.Findings) != 0 {
		t.Errorf("findings %+v though nobody asked", r.Findings)
	}
	l.Options.NaN = true
	f := only(t, mustRun(t, entry(body), l), "nan") // the add passes a NaN on, which is not a finding
	if f.Lanes != 7 || !strings.HasPrefix(f.Text, "sqrt.rn.f32") {
		t.Errorf("%s in lanes %08x", f.Text, f.Lanes)
	}
}

func TestShuffleThatNamesAbsentLanes(t *testing.T) {
	body := "\tsetp.ge.u32 %p1, %r31, 16;\n\t@%p1 bra DONE;\n\tshfl.sync.bfly.b32 %r1, %r31, 1, 31, -1;\nDONE:\n\tvote.sync.ballot.b32 %r2, %p1, -1;\n"
	f := only(t, mustRun(t, entry(body), testLaunch(1, 32, make([]byte, 4), 0)), "bad-shuffle")
	if f.Lanes != 0xffff {
		t.Errorf("lanes %08x", f.Lanes)
	}
	early := strings.Replace(body, "vote.sync.ballot.b32 %r2, %p1, -1;", "st.global.u32 [%rd1], %r1;", 1)
	if r := mustRun(t, entry(early), testLaunch(1, 32, make([]byte, 4), 0)); len(r.Findings) != 0 {
		t.Errorf("lanes that end without another shuffle are not waited for: findings %+v", r.Findings)
	}
	if r := mustRun(t, entry("\tshfl.sync.bfly.b32 %r1, %r31, 1, 31, -1;"), testLaunch(1, 48, make([]byte, 4), 0)); len(r.Findings) != 0 {
		t.Errorf("lanes that a block does not have are not missed: findings %+v", r.Findings)
	}
}

// asserting is a kernel in which lanes 9 of all warps but the first fail an assertion. What they do then stands where the text goes on or,
// with cold, at its end, as LLVM puts it.
func asserting(behind string, cold bool) string {
	const fail = `	{
	.param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;
	mov.u64 %rd5, msg;
	mov.u64 %rd6, file;
	st.param.b64 [p0], %rd5;
	st.param.b64 [p1], %rd6;
	st.param.b32 [p2], 17;
	st.param.b64 [p3], %rd5;
	st.param.b64 [p4], 1;
	call.uni __assertfail, (p0, p1, p2, p3, p4);
	}
`
	body := "\tand.b32 %r1, %r31, 31;\n\tsetp.ne.u32 %p1, %r1, 9;\n\tsetp.eq.u32 %p2, %r31, 9;\n\tor.pred %p1, %p1, %p2;\n"
	if cold {
		body += "\t@!%p1 bra FAIL;\nDONE:\n" + behind + "\tret;\nFAIL:\n" + fail + "\tbra DONE;\n"
	} else {
		body += "\t@%p1 bra DONE;\n" + fail + "\ttrap;\nDONE:\n" + behind
	}
	return preamble + ".extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e) .noreturn;\n" +
		".global .align 1 .b8 msg[9] = {" + bytesOf("positive") + "};\n.global .align 1 .b8 file[5] = {" + bytesOf("a.py") + "};\n" +
		strings.TrimPrefix(entry(body), preamble)
}

func TestAssertSaysWhatAndWhere(t *testing.T) {
	f := only(t, mustRun(t, asserting("", false), testLaunch(1, 64, make([]byte, 4), 0)), "assert")
	if f.Lanes != 1<<9 || f.Warp != 1 || !strings.Contains(f.Message, "a.py:17") || !strings.Contains(f.Message, "assertion failed: positive") {
		t.Errorf("%q in lanes %08x of warp %d", f.Message, f.Lanes, f.Warp)
	}
}

// Lanes whose assertion fails never come to the barrier behind it, at which the others of their warp and other warps wait: the assertion is
// what is said, and nothing of barriers, shuffles or products.
func TestAFailedAssertionIsAllThatIsSaid(t *testing.T) {
	for _, behind := range []string{
		"\tbar.sync 0;\n", "\tbarrier.sync 0;\n", "\tbar.sync 1, 96;\n", "\tshfl.sync.bfly.b32 %r2, %r31, 1, 31, -1;\n\tbar.sync 0;\n",
		"L:\n\tadd.s32 %r3, %r3, 1;\n\tbar.sync 0;\n\tsetp.lt.u32 %p3, %r3, 5;\n\t@%p3 bra L;\n",
	} {
		for _, cold := range []bool{false, true} {
			for seed := range uint64(5) {
				l := testLaunch(2, 96, make([]byte, 4), 0)
				l.Options.ScheduleSeed = seed
				if f := only(t, mustRun(t, asserting(behind, cold), l), "assert"); !strings.Contains(f.Message, "positive") {
					t.Errorf("%q", f.Message)
				}
			}
		}
	}
}

func TestNullPointerArgument(t *testing.T) {
	l := testLaunch(1, 32, nil, 0)
	l.Memory = nil
	l.Params[0] = Argument{Name: "out", Type: "*fp32", Allocation: -1}
	only(t, mustRun(t, entry(addressOfThread+"\tst.global.u32 [%rd3], 1;"), l), "null-pointer")
}

// An index from memory that is added to a pointer does not make the pointer one that may go anywhere.
func TestPointersAreHeldToTheirArguments(t *testing.T) {
	text := preamble + `.visible .entry k(.param .u64 index, .param .u64 data, .param .u64 out)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<10>;
	ld.param.u64 %rd1, [index];
	ld.param.u64 %rd2, [data];
	ld.param.u64 %rd3, [out];
	ld.global.u64 %rd4, [%rd1];
	add.s64 %rd5, %rd4, %rd2;
	ld.global.u32 %r1, [%rd5];
	st.global.u32 [%rd3], %r1;
	ret;
}
`
	p := mustLoad(t, text)
	k, err := p.bound("k")
	if err != nil {
		t.Fatal(err)
	}
	var legal []uint64
	for i := range k.Code {
		if m := k.Code[i].Mem; m != nil {
			legal = append(legal, m.Legal)
		}
	}
	if fmt.Sprint(legal) != "[1 2 4]" {
		t.Errorf("the accesses may go through parameters %v, want [1 2 4]", legal)
	}
	index := make([]byte, 8)
	copy(index, []byte{0, 0, 0, 0, 1}) // 4 GiB
	r, err := p.Run(nil, &Launch{
		Kernel: "k", Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{1, 1, 1},
		Params: []Argument{{Bits: 0x10000, Allocation: 0}, {Bits: 0x20000, Allocation: 1}, {Bits: 0x100020000, Allocation: 2}},
		Memory: []memory.Allocation{
			{Name: "index", Host: 0x10000, Bytes: index},
			{Name: "data", Host: 0x20000, Bytes: make([]byte, 64)},
			{Name: "out", Host: 0x100020000, Bytes: make([]byte, 64)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if f := only(t, r, "out-of-bounds"); f.Fault.Nearest != "data" {
		t.Errorf("the nearest allocation is %q, want data, though in the process out is there", f.Fault.Nearest)
	}
}

// A stride of 64 bits is a number: it does not let a pointer go where it may not.
func TestStridesAreNotTakenForPointers(t *testing.T) {
	text := preamble + `.visible .entry k(.param .u64 data, .param .u64 stride, .param .u64 other)
{
	.reg .b64 %rd<10>;
	ld.param.u64 %rd1, [data];
	ld.param.u64 %rd2, [stride];
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], 1;
	ret;
}
`
	l := &Launch{
		Kernel: "k", Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{1, 1, 1},
		Params: []Argument{{Type: "*i32", Bits: 0x10000, Allocation: 0}, {Type: "i64", Bits: 1 << 36, Allocation: -1}, {Type: "*i32", Bits: 0x20000, Allocation: 1}},
		Memory: []memory.Allocation{{Name: "data", Host: 0x10000, Bytes: make([]byte, 64)}, {Name: "other", Host: 0x20000, Bytes: make([]byte, 64)}},
	}
	if f := only(t, mustRun(t, text, l), "out-of-bounds"); f.Fault.Inside != "other" {
		t.Errorf("the store falls into %q, want other: its slot is 1 << 36 bytes away", f.Fault.Inside)
	}
	l.Params[1].Type = "" // nobody says what it is: it may be an address
	if r := mustRun(t, text, l); len(r.Findings) != 0 {
		t.Errorf("findings %+v", r.Findings)
	}
}

// A table of pointers holds addresses of the process: what is loaded from it may point to any array that was passed.
func TestPointersFromMemoryMayPointAnywhere(t *testing.T) {
	text := preamble + `.visible .entry k(.param .u64 table)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<10>;
	ld.param.u64 %rd1, [table];
	ld.global.u64 %rd2, [%rd1];
	ld.global.u32 %r1, [%rd2+4];
	add.s32 %r1, %r1, 1;
	st.global.u32 [%rd2], %r1;
	ret;
}
`
	table, data := []byte{0, 0, 2, 0, 0, 0x7f, 0, 0}, []byte{0, 0, 0, 0, 41, 0, 0, 0}
	r, err := mustLoad(t, text).Run(nil, &Launch{
		Kernel: "k", Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{1, 1, 1},
		Params: []Argument{{Bits: 0x10000, Allocation: 0}},
		Memory: []memory.Allocation{{Name: "table", Host: 0x10000, Bytes: table}, {Name: "data", Host: 0x7f0000020000, Bytes: data}},
	})
	if err != nil || len(r.Findings) != 0 || data[0] != 42 {
		t.Errorf("%v, findings %+v, data %v", err, r.Findings, data)
	}
}

// Local memory of functions, and calls in calls.
func TestCallsHaveTheirOwnLocalMemory(t *testing.T) {
	text := preamble + `.func (.param .b32 r) twice(.param .b32 x)
{
	.local .align 4 .b8 depot[8];
	.reg .b32 %r<4>;
	ld.param.b32 %r1, [x];
	st.local.b32 [depot], %r1;
	ld.local.b32 %r2, [depot];
	add.s32 %r3, %r1, %r2;
	st.param.b32 [r], %r3;
	ret;
}
.func (.param .b64 r) pair(.param .b32 x, .param .b64 y)
{
	.local .align 8 .b8 depot[16];
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	ld.param.b32 %r1, [x];
	ld.param.b64 %rd1, [y];
	st.local.b64 [depot+8], %rd1;
	{
	.param .b32 p0; .param .b32 q0;
	st.param.b32 [p0], %r1;
	call (q0), twice, (p0);
	ld.param.b32 %r2, [q0];
	}
	ld.local.b64 %rd2, [depot+8];
	cvt.u64.u32 %rd3, %r2;
	add.s64 %rd3, %rd3, %rd2;
	st.param.b64 [r], %rd3;
	ret;
}
` + strings.TrimPrefix(entry(addressOfThread+`	{
	.param .b32 p0; .param .b64 p1; .param .b64 q0;
	st.param.b32 [p0], %r31;
	st.param.b64 [p1], 1000;
	call (q0), pair, (p0, p1);
	ld.param.b64 %rd5, [q0];
	}
	cvt.u32.u64 %r1, %rd5;
	st.global.u32 [%rd3], %r1;
`), preamble)
	data := make([]byte, 4*48)
	r := mustRun(t, text, testLaunch(1, 48, data, 0))
	if len(r.Findings) != 0 {
		t.Fatalf("findings %+v", r.Findings)
	}
	for i, v := range wordsOf(data) {
		if v != 1000+2*uint32(i) {
			t.Fatalf("thread %d has %d", i, v)
		}
	}
}

func TestBlocksThatWriteOneWordRace(t *testing.T) {
	body := "\tmov.u32 %r1, %ctaid.x;\n\tst.global.u32 [%rd1], %r1;"
	l := testLaunch(3, 1, make([]byte, 4), 0)
	if r := mustRun(t, entry(body), l); len(r.Findings) != 0 {
		t.Errorf("findings %+v though nobody asked", r.Findings)
	}
	l.Options.GlobalRaces = true
	f := only(t, mustRun(t, entry(body), l), "global-race")
	if f.Block != [3]uint32{1, 0, 0} || !strings.Contains(f.Message, "of block [0 0 0]") {
		t.Errorf("block %v: %s", f.Block, f.Message)
	}
	apart := "\tmov.u32 %r1, %ctaid.x;\n\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tst.global.u32 [%rd3], %r1;"
	l = testLaunch(3, 1, make([]byte, 12), 0)
	l.Options.GlobalRaces = true
	if r := mustRun(t, entry(apart), l); len(r.Findings) != 0 {
		t.Errorf("blocks that write words of their own: findings %+v", r.Findings)
	}
}

// Structures travel in parameter memory in pieces of all sizes.
func TestStructuresAsArguments(t *testing.T) {
	text := preamble + `.func (.param .align 8 .b8 r[16]) turn(.param .align 8 .b8 x[16])
{
	.reg .b16 %h<4>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<4>;
	ld.param.b64 %rd1, [x+8];
	ld.param.v2.b32 {%r1, %r2}, [x];
	ld.param.s8 %r3, [x+3];
	ld.param.b16 %h1, [x+4];
	ld.param.u8 %r4, [x+6];
	st.param.b64 [r], %rd1;
	st.param.b32 [r+8], %r3;
	st.param.b16 [r+12], %h1;
	st.param.b8 [r+14], %r4;
	st.param.b8 [r+15], 17;
	ret;
}
` + strings.TrimPrefix(entry("\tmul.wide.u32 %rd2, %r31, 16;\n\tadd.s64 %rd3, %rd1, %rd2;\n"+`	{
	.param .align 8 .b8 p0[16]; .param .align 8 .b8 q0[16];
	st.param.v2.b32 [p0], {0xf0342312, 0x12345678};
	st.param.b64 [p0+8], 0x1122334455667788;
	call (q0), turn, (p0);
	ld.param.v2.b32 {%r1, %r2}, [q0];
	ld.param.b32 %r3, [q0+8];
	ld.param.b32 %r4, [q0+12];
	}
	st.global.v4.b32 [%rd3], {%r1, %r2, %r3, %r4};
`), preamble)
	data := make([]byte, 16)
	r := mustRun(t, text, testLaunch(1, 1, data, 0))
	if len(r.Findings) != 0 {
		t.Fatalf("findings %+v", r.Findings)
	}
	if got := fmt.Sprintf("%08x", wordsOf(data)); got != "[55667788 11223344 fffffff0 11345678]" {
		t.Errorf("got %s", got)
	}
}

// What a launch leaves must not depend on how many workers ran it, nor findings and counts on the seed.
func TestResultDoesNotDependOnWorkers(t *testing.T) {
	body := `	.shared .align 4 .b8 tile[256];
	mov.u32 %r1, %ctaid.x;
	mad.lo.s32 %r2, %r1, 64, %r31;
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	mov.u32 %r3, 0;
AGAIN:
	add.s32 %r3, %r3, 1;
	and.b32 %r4, %r2, 15;
	setp.lt.s32 %p1, %r3, %r4;
	@%p1 bra AGAIN;
	shl.b32 %r5, %r31, 2;
	mov.u32 %r6, tile;
	add.s32 %r6, %r6, %r5;
	st.shared.u32 [%r6], %r3;
	bar.sync 0;
	ld.shared.u32 %r7, [tile+8];
	st.global.u32 [%rd3], %r7;
`
	var first *Result
	var memoryOfFirst []byte
	for _, seed := range []uint64{0, 1, 2} {
		for workers := 1; workers <= 4; workers++ {
			data := make([]byte, 4*64*20)
			l := testLaunch(23, 64, data, 0)
			l.Options = Options{Workers: workers, ScheduleSeed: seed}
			r := mustRun(t, entry(body), l)
			if first == nil {
				first, memoryOfFirst = r, data
				if len(r.Findings) != 1 || r.Findings[0].Count != 6 {
					t.Fatalf("findings %+v", r.Findings)
				}
			}
			if !reflect.DeepEqual(r, first) || !reflect.DeepEqual(data, memoryOfFirst) {
				t.Errorf("seed %d, %d workers: the result differs", seed, workers)
			}
		}
	}
}

// A pointer of the process that leads to no array can be one to memory that was freed: what lies near says nothing about it.
func TestALoadedPointerToNothingSaysWhatItCanBe(t *testing.T) {
	const host = 0x7f0000100000
	for name, c := range map[string]struct {
		address uint64
		want    []string
	}{
		"behind":     {host + 64 + 128, []string{"132 bytes beyond the end of row (64 bytes)", "ran over", "freed"}},
		"before":     {host - 8, []string{"8 bytes before the start of row (64 bytes)", "ran over", "freed"}},
		"far away":   {host + 1<<20, []string{"nothing that was passed or registered", "freed", "memory="}},
		"no address": {0x123456, []string{"nothing that was passed or registered", "freed", "memory="}},
	} {
		data := make([]byte, 8)
		for i := range data {
			data[i] = byte(c.address >> (8 * i))
		}
		l := testLaunch(1, 1, data, 0)
		l.Memory = append(l.Memory, memory.Allocation{Name: "row", Host: host, Bytes: make([]byte, 64)})
		f := only(t, mustRun(t, entry("\tld.global.u64 %rd2, [%rd1];\n\tld.global.u32 %r1, [%rd2];"), l), "out-of-bounds")
		for _, want := range c.want {
			if !strings.Contains(f.Message, want) {
				t.Errorf("%s: message %q does not say %q", name, f.Message, want)
			}
		}
	}
	for _, body := range []string{
		"\tld.global.u32 %r1, [%rd1+64];", "\t.shared .align 4 .b8 tile[64];\n\tst.shared.u32 [tile+128], %r31;", "\tst.shared.u32 [%r31+400], %r31;",
		"\t.local .align 4 .b8 mine[64];\n\tst.local.u32 [mine+4096], %r31;",
	} {
		f := only(t, mustRun(t, entry(body), testLaunch(1, 1, make([]byte, 64), 0)), "out-of-bounds")
		if strings.Contains(f.Message, "freed") {
			t.Errorf("message %q speaks of freed memory where it is known which memory is meant", f.Message)
		}
	}
}
