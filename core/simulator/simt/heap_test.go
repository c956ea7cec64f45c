package simt

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// systemHeap declares what nvcc and clang call for malloc, free and an aligned malloc.
const systemHeap = `
.extern .func (.param .b64 func_retval0) malloc (.param .b64 malloc_param_0);
.extern .func (.param .b64 func_retval0) __nv_aligned_device_malloc (.param .b64 a_param_0, .param .b64 a_param_1);
.extern .func free (.param .b64 free_param_0);
`

// mallocOf calls malloc for a size, into an address register; freeOf frees.
func mallocOf(register, size string) string {
	return "{\n\t.param .b64 p;\n\t.param .b64 q;\n\tst.param.b64 [p], " + size + ";\n\tcall.uni (q), malloc, (p);\n\tld.param.b64 " + register + ", [q];\n}\n"
}

func freeOf(register string) string {
	return "{\n\t.param .b64 p;\n\tst.param.b64 [p], " + register + ";\n\tcall.uni free, (p);\n}\n"
}

func withHeap(body string) string {
	return preamble + systemHeap + strings.TrimPrefix(entry(body), preamble)
}

// ownQuad puts the address of the thread's own word, of 8 bytes, into %rd3.
const ownQuad = "\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmad.lo.u32 %r3, %r1, %r2, %r31;\n\tmul.wide.u32 %rd2, %r3, 8;\n\tadd.s64 %rd3, %rd1, %rd2;\n"

func quadsOf(data []byte) []uint64 {
	out := make([]uint64, len(data)/8)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(data[8*i:])
	}
	return out
}

// Each thread allocates as many bytes as its number says and eight more, writes the last eight of them, and leaves the address.
const allocates = ownQuad + "\tcvt.u64.u32 %rd4, %r31;\n\tadd.u64 %rd5, %rd4, 8;\n\tand.b64 %rd5, %rd5, -8;\n"

func TestMallocGivesMemoryThatOutlivesTheLaunch(t *testing.T) {
	write := allocates + mallocOf("%rd6", "%rd5") + "\tadd.u64 %rd7, %rd6, %rd5;\n\tst.u64 [%rd7+-8], %rd4;\n\tst.global.u64 [%rd3], %rd6;\n"
	read := allocates + "\tld.global.u64 %rd6, [%rd3];\n\tadd.u64 %rd7, %rd6, %rd5;\n\tld.u64 %rd8, [%rd7+-8];\n" + freeOf("%rd6") + "\tst.global.u64 [%rd3], %rd8;\n"
	text := withHeap(write) + strings.Replace(strings.TrimPrefix(entry(read), preamble), ".entry k(", ".entry reads(", 1)
	p := mustLoad(t, text)
	data := make([]byte, 8*128)
	for round := range 2 {
		for _, kernel := range []string{"k", "reads"} {
			l := testLaunch(2, 64, data, 0)
			l.Kernel = kernel
			if r, err := p.Run(nil, l); err != nil || len(r.Findings) != 0 {
				t.Fatalf("round %d, %s: %v, findings %+v", round, kernel, err, r)
			}
			if kernel == "k" {
				if list := quadsOf(data); len(slices.Compact(slices.Sorted(slices.Values(list)))) != len(list) || slices.ContainsFunc(list, func(a uint64) bool { return a == 0 || a%16 != 0 }) {
					t.Fatalf("addresses %x", list)
				}
			}
		}
		for i, v := range quadsOf(data) {
			if v != uint64(i%64) {
				t.Errorf("round %d: thread %d wrote %d", round, i, v)
			}
		}
	}
}

// A heap that has no memory left gives null pointers, and gives memory again when some was freed.
func TestMallocGivesNullWhereTheHeapIsUsedUp(t *testing.T) {
	take := ownQuad + "\tmov.u64 %rd5, 1048576;\n" + mallocOf("%rd6", "%rd5") + "\tst.global.u64 [%rd3], %rd6;\n"
	give := ownQuad + "\tld.global.u64 %rd6, [%rd3];\n" + freeOf("%rd6")
	text := withHeap(take) + strings.Replace(strings.TrimPrefix(entry(give), preamble), ".entry k(", ".entry gives(", 1)
	for heap, want := range map[uint64]int{0: 8, 3 << 20: 3, 1<<20 - 1: 0} {
		p := mustLoad(t, text)
		data := make([]byte, 8*32)
		for _, kernel := range []string{"k", "k", "gives", "k"} {
			before := quadsOf(data)
			l := testLaunch(1, 32, data, 0)
			l.Kernel, l.Options.Heap = kernel, heap
			r, err := p.Run(nil, l)
			if err != nil || len(r.Findings) != 0 {
				t.Fatalf("heap of %d: %v, %+v", heap, err, r)
			}
			got := 0
			for _, a := range quadsOf(data) {
				if a != 0 {
					got++
				}
			}
			switch { // the second launch finds the heap as the first one left it
			case kernel == "k" && before[0] != 0 && slices.Equal(before, quadsOf(data)):
				t.Fatalf("heap of %d: nothing changed", heap)
			case kernel == "k" && before[0] == 0 && got != want:
				t.Fatalf("heap of %d: %d pieces, want %d", heap, got, want)
			case kernel == "k" && before[0] != 0:
				if got != 0 {
					t.Fatalf("heap of %d: %d pieces of a heap that is used up", heap, got)
				}
				writeQuads(data, before)
			case kernel == "gives":
				clear(data)
			}
		}
	}
}

func writeQuads(data []byte, list []uint64) {
	for i, v := range list {
		binary.LittleEndian.PutUint64(data[8*i:], v)
	}
}

func TestHeapHasOneSize(t *testing.T) {
	p := mustLoad(t, withHeap("\tmov.u64 %rd5, 64;\n"+mallocOf("%rd6", "%rd5")))
	l := testLaunch(1, 32, make([]byte, 64), 0)
	for _, c := range []struct {
		heap uint64
		ok   bool
	}{{1 << 16, true}, {0, true}, {1 << 16, true}, {1 << 17, false}} {
		l.Options.Heap = c.heap
		if _, err := p.Run(nil, l); (err == nil) != c.ok || err != nil && fault.Of(err).Kind != fault.Usage {
			t.Errorf("a heap of %d bytes: %v", c.heap, err)
		}
	}
	p.Reset()
	l.Options.Heap = 1 << 17
	if _, err := p.Run(nil, l); err != nil {
		t.Error(err)
	}
}

// A heap takes its own bytes, and as many that say what was written.
func TestHeapKeepsToTheMemoryLimit(t *testing.T) {
	p := mustLoad(t, withHeap("\tmov.u64 %rd5, 64;\n"+mallocOf("%rd6", "%rd5")))
	l := testLaunch(1, 32, make([]byte, 64), 0)
	for heap, ok := range map[uint64]bool{1 << 60: false, 1<<19 + 1: false, 1 << 19: true} {
		l.Options.Heap = heap
		p.Reset()
		_, err := p.Run(job.New(t.Context(), job.Options{MemoryLimit: 1 << 20}), l)
		if (err == nil) != ok || err != nil && fault.Of(err).Kind != fault.Limit {
			t.Errorf("a heap of %d bytes: %v", heap, err)
		}
	}
}

// Each body has %rd6, 64 bytes that malloc gave to each thread of one warp, and in %rd9 what is in the first 8 of them.
func TestMistakesWithTheHeapAreFound(t *testing.T) {
	head := "\tmov.u64 %rd5, 64;\n" + mallocOf("%rd6", "%rd5") + "\tst.u64 [%rd6], %rd5;\n\tld.u64 %rd9, [%rd6];\n"
	for name, c := range map[string]struct {
		body, says string
		check      execute.Check
	}{
		"beyond":          {"\tld.u32 %r4, [%rd6+64];\n", "it reaches 4 bytes beyond the end of memory that malloc gave in k (64 bytes)", "out-of-bounds"},
		"far beyond":      {"\tst.u32 [%rd6+4096], %r31;\n", "beyond the end of memory that malloc gave in k", "out-of-bounds"},
		"before":          {"\tld.u32 %r4, [%rd6+-4];\n", "out of bounds", "out-of-bounds"},
		"misaligned":      {"\tst.u32 [%rd6+2], %r31;\n", "not aligned", "misaligned"},
		"unwritten":       {"\tld.u32 %r4, [%rd6+8];\n", "reads what nobody has written of memory that malloc gave in k", "uninitialised-global"},
		"after free":      {freeOf("%rd6") + "\tld.u32 %r4, [%rd6+8];\n", "uses memory that was freed: it belonged to memory that malloc gave in k, which free in k freed", "use-after-free"},
		"store after":     {freeOf("%rd6") + "\tst.u32 [%rd6+8], %r31;\n", "uses memory that was freed", "use-after-free"},
		"atomic after":    {freeOf("%rd6") + "\tatom.add.u32 %r4, [%rd6], %r31;\n", "uses memory that was freed", "use-after-free"},
		"twice":           {freeOf("%rd6") + freeOf("%rd6"), "freed before: it belonged to memory that malloc gave in k", "bad-free"},
		"not its start":   {"\tadd.u64 %rd7, %rd6, 16;\n" + freeOf("%rd7"), "16 bytes behind the start of memory that malloc gave in k", "bad-free"},
		"an argument":     {freeOf("%rd1"), "no memory that malloc gave", "bad-free"},
		"a null pointer":  {"\tmov.u64 %rd7, 0;\n" + freeOf("%rd7"), "", ""},
		"all is right":    {"\tst.u32 [%rd6+60], %r31;\n\tld.u32 %r4, [%rd6+60];\n" + freeOf("%rd6"), "", ""},
		"no such address": {"\tadd.u64 %rd7, %rd6, 1000000000000;\n\tld.u32 %r4, [%rd7];\n", "out of bounds", "out-of-bounds"},
	} {
		r := mustRun(t, withHeap(head+c.body), testLaunch(1, 32, make([]byte, 64), 0))
		if c.check == "" {
			if len(r.Findings) != 0 {
				t.Errorf("%s: %+v", name, r.Findings)
			}
			continue
		}
		if len(r.Findings) != 1 || r.Findings[0].Check != c.check || !strings.Contains(r.Findings[0].Message, c.says) {
			t.Errorf("%s: %+v", name, r.Findings)
		}
	}
}

// What nobody wrote is looked for where it is in shared memory.
func TestUnwrittenMemoryOfTheHeapIsNotLookedForWithoutRaces(t *testing.T) {
	l := testLaunch(1, 32, make([]byte, 64), 0)
	l.Options.NoRaces = true
	if r := mustRun(t, withHeap("\tmov.u64 %rd5, 64;\n"+mallocOf("%rd6", "%rd5")+"\tld.u64 %rd9, [%rd6];\n"), l); len(r.Findings) != 0 {
		t.Error(r.Findings)
	}
}

func TestAlignedMalloc(t *testing.T) {
	const body = ownQuad + "\tmov.u64 %rd4, 1;\n\tshl.b64 %rd4, %rd4, %r31;\n{\n\t.param .b64 p;\n\t.param .b64 p2;\n\t.param .b64 q;\n\tst.param.b64 [p], 8;\n\tst.param.b64 [p2], %rd4;\n" +
		"\tcall.uni (q), __nv_aligned_device_malloc, (p, p2);\n\tld.param.b64 %rd6, [q];\n}\n\tst.u64 [%rd6], %rd4;\n\tst.global.u64 [%rd3], %rd6;\n"
	data := make([]byte, 8*32)
	if r := mustRun(t, withHeap(body), testLaunch(1, 32, data, 0)); len(r.Findings) != 0 {
		t.Fatal(r.Findings)
	}
	for i, a := range quadsOf(data) {
		if a == 0 || a%(1<<i) != 0 || a%16 != 0 {
			t.Errorf("an address %x for an alignment of %d", a, 1<<i)
		}
	}
}

// Threads build a list: each puts a node that malloc gave it in front, by compare-and-swap; another kernel sums it up and frees it.
func TestNodesOfAListOnTheHeap(t *testing.T) {
	push := "\tmov.u64 %rd5, 16;\n" + mallocOf("%rd6", "%rd5") + `
	cvt.u64.u32 %rd7, %r31;
	st.u64 [%rd6+8], %rd7;
	ld.relaxed.gpu.global.u64 %rd8, [%rd1];
AGAIN:
	st.u64 [%rd6], %rd8;
	atom.acq_rel.gpu.global.cas.b64 %rd9, [%rd1], %rd8, %rd6;
	setp.ne.u64 %p1, %rd9, %rd8;
	mov.u64 %rd8, %rd9;
	@%p1 bra AGAIN;
`
	sum := `
	ld.acquire.gpu.global.u64 %rd6, [%rd1];
	mov.u64 %rd7, 0;
	setp.ne.u32 %p1, %r31, 0;
	@%p1 ret;
NEXT:
	setp.eq.u64 %p1, %rd6, 0;
	@%p1 bra END;
	ld.u64 %rd8, [%rd6+8];
	add.u64 %rd7, %rd7, %rd8;
	ld.u64 %rd9, [%rd6];
` + freeOf("%rd6") + "\tmov.u64 %rd6, %rd9;\n\tbra NEXT;\nEND:\n\tst.global.u64 [%rd1+8], %rd7;\n"
	p := mustLoad(t, withHeap(push)+strings.Replace(strings.TrimPrefix(entry(sum), preamble), ".entry k(", ".entry sums(", 1))
	for _, races := range []bool{false, true} {
		data := make([]byte, 16)
		for _, kernel := range []string{"k", "sums"} {
			l := testLaunch(4, 64, data, 0)
			l.Kernel, l.Options.GlobalRaces, l.Options.Workers, l.Options.ScheduleSeed = kernel, races, 4, 7
			if kernel == "sums" {
				l.Grid[0] = 1
			}
			r, err := p.Run(nil, l)
			if err != nil || len(r.Findings) != 0 {
				t.Fatalf("%s, races %v: %v %+v", kernel, races, err, r)
			}
		}
		if got := quadsOf(data)[1]; got != 4*64*63/2 {
			t.Errorf("the sum is %d", got)
		}
	}
}

// Recordings leave out what is on the heap, and keep what is not: the values of its words as they go to an array.
func TestRecordingsOfKernelsWithAHeap(t *testing.T) {
	text := withHeap(allocates + mallocOf("%rd6", "%rd5") + "\tst.u64 [%rd6], %rd4;\n\tld.u64 %rd8, [%rd6];\n\tst.global.u64 [%rd3], %rd8;\n" + freeOf("%rd6"))
	data := make([]byte, 8*32)
	got := watchOutputs(t, mustLoad(t, text), testLaunch(1, 32, data, 0), everything(warptrace.ModeValues))
	if len(got.Sums[0]) != 1 || got.Sums[0][0].Count != 32 || len(got.Outputs.Arrays) != 1 || got.Outputs.Arrays[0].Written != 256 {
		t.Errorf("sums %+v, arrays %+v", got.Sums, got.Outputs.Arrays)
	}
	for i, v := range quadsOf(data) {
		if v != uint64(i) {
			t.Errorf("thread %d has %d", i, v)
		}
	}
}

// A kernel may keep the address of a variable of the module in memory, as C++ does with tables of virtual functions: a launch that has
// other arrays finds the variable there, too.
func TestAddressesOfVariablesOutliveTheLaunch(t *testing.T) {
	text := preamble + ".global .u32 first = 7;\n.global .u32 second[4] = {1, 2, 3, 4};\n" +
		strings.TrimPrefix(entry("\tmov.u64 %rd2, second;\n\tst.global.u64 [%rd1], %rd2;\n"), preamble) +
		".visible .entry reads(.param .u64 out, .param .u64 b, .param .u64 c)\n{\n" + testRegisters +
		"\tld.param.u64 %rd1, [out];\n\tld.param.u64 %rd3, [c];\n\tld.global.u64 %rd2, [%rd1];\n\tld.u32 %r1, [%rd2+8];\n\tst.global.u32 [%rd3], %r1;\n\tret;\n}\n"
	p := mustLoad(t, text)
	data, other := make([]byte, 64), make([]byte, 64)
	if _, err := p.Run(nil, testLaunch(1, 1, data, 0)); err != nil {
		t.Fatal(err)
	}
	l := launchOf(
		1, memory.Allocation{Name: "out", Host: 0x7f0000000000, Bytes: data}, memory.Allocation{Name: "b", Host: 0x7e0000000000, Bytes: make([]byte, 64)},
		memory.Allocation{Name: "c", Host: 0x7d0000000000, Bytes: other},
	)
	l.Kernel = "reads"
	r, err := p.Run(nil, l)
	if err != nil || len(r.Findings) != 0 || wordsOf(other)[0] != 3 {
		t.Errorf("%v, %+v, %d", err, r, wordsOf(other)[0])
	}
}
