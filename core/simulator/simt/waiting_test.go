package simt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// waitingSeeds is how many schedules each kernel runs under.
const waitingSeeds = 10

// waitingKernel is one launch of testdata/waiting.cu and what it leaves in out[0].
type waitingKernel struct {
	name           string
	blocks, thread uint32
	n              uint64
	want           uint32
}

// waitingKernels were written down, with what they leave, before they ran for the first time.
var waitingKernels = []waitingKernel{
	{"barrier_atomic", 64, 128, 32, 64},
	{"barrier_volatile", 64, 128, 32, 64},
	{"barrier_sense", 32, 64, 8, 32},
	{"barrier_all_threads", 8, 64, 4, 512},
	{"lock_cas", 32, 32, 8, 256},
	{"lock_backoff", 32, 32, 8, 256},
	{"lock_ticket", 32, 32, 8, 256},
	{"lock_lanes", 4, 64, 0, 256},
	{"semaphore", 32, 32, 4, 128},
	{"look_back_volatile", 64, 32, 0, 2080},
	{"look_back_atomic", 64, 32, 0, 2080},
	{"scan_of_tickets", 64, 64, 0, 2080},
	{"turnstile", 16, 64, 4, folded(64, func(i uint32) uint32 { return i % 16 })},
	{"split_k", 16, 32, 4, 8704},
	{"ring", 2, 32, 64, 2016},
	{"shared_flag", 1, 128, 5, 480},
	{"ping_pong", 1, 64, 32, folded(64, func(i uint32) uint32 { return i%2 + i/2 })},
	{"two_locks", 16, 32, 4, 64},
	{"readers_writers", 16, 32, 4, 16},
	{"counted_spins", 32, 32, 0, 32},
}

// folded is what n blocks leave that each do x = 3x + term, in their order.
func folded(n uint32, term func(i uint32) uint32) (x uint32) {
	for i := range n {
		x = 3*x + term(i)
	}
	return x
}

// loadData reads a program of testdata.
func loadData(t testing.TB, name string) *Program {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Load(context.Background(), name, text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// waitingLaunch is a launch of a kernel of testdata with its two arrays, of which the caller gets the second.
func waitingLaunch(kernel string, blocks, threads uint32, n, seed uint64) (l *Launch, out []byte) {
	flag, out := make([]byte, 4<<10), make([]byte, 16<<10)
	l = &Launch{
		Kernel: kernel, Grid: [3]uint32{blocks, 1, 1}, Block: [3]uint32{threads, 1, 1},
		Params: []Argument{{Name: "flag", Bits: 0x7f0000000000}, {Name: "out", Bits: 0x7f0000100000, Allocation: 1}, {Name: "n", Bits: n, Allocation: -1}},
		Memory: []memory.Allocation{{Name: "flag", Host: 0x7f0000000000, Bytes: flag}, {Name: "out", Host: 0x7f0000100000, Bytes: out}},
	}
	l.Options.ScheduleSeed = seed
	return l, out
}

// Blocks, warps and lanes that wait for each other end under every schedule, after no more work than a few looks of each.
func TestKernelsThatWaitForEachOtherEnd(t *testing.T) {
	p := loadData(t, "waiting.ptx")
	if len(waitingKernels) != 20 {
		t.Fatalf("%d kernels, want 20", len(waitingKernels))
	}
	for _, k := range waitingKernels {
		var all []uint64
		for seed := range uint64(waitingSeeds) {
			l, out := waitingLaunch(k.name, k.blocks, k.thread, k.n, seed)
			l.Options.MaxInstructions = 20_000_000
			r, err := p.Run(nil, l)
			if err != nil {
				t.Errorf("%s, seed %d: %v", k.name, seed, err)
				break
			}
			if got := binary.LittleEndian.Uint32(out); got != k.want || len(r.Findings) != 0 {
				t.Errorf("%s, seed %d: out[0] is %d, want %d; findings %+v", k.name, seed, got, k.want, r.Findings)
			}
			all = append(all, r.Instructions)
		}
		slices.Sort(all)
		if n := len(all); n > 0 && all[n-1] > 3*all[(n-1)/2] {
			t.Errorf("%s: a seed needs more than 3 times the instructions of the median: %d", k.name, all)
		}
	}
}

// hangingKernel is one launch of testdata/hanging.cu and what the finding must say.
type hangingKernel struct {
	name            string
	blocks, threads uint32
	n               uint64
	says            []string
}

// hangingKernels were written down, with what must be said of them, before they ran for the first time.
var hangingKernels = []hangingKernel{
	{"missing_arrival", 8, 32, 0, []string{"flag[3]", "block 5 "}},
	{"wrong_counter", 8, 32, 0, []string{"flag[0]"}},
	{"lock_never_released", 8, 32, 0, []string{"flag[7]", "block 3,"}},
	{"barrier_by_a_part", 1, 64, 0, []string{"shared memory", "barrier 0"}},
	{"opposite_order", 2, 32, 0, []string{"flag[", "block 0", "block 1"}},
	{"semaphore_leaks", 8, 32, 0, []string{"flag[2]"}},
	{"look_back_without_first", 4, 32, 0, []string{"flag[0]", "block 1"}},
	{"look_back_wrong_mark", 6, 32, 0, []string{"flag[2]", "block 2,"}},
	{"turnstile_from_one", 4, 32, 0, []string{"flag[9]"}},
	{"ring_without_consumer", 2, 32, 32, []string{"flag[1]", "block 1,"}},
	{"ticket_not_passed_on", 8, 32, 0, []string{"flag[1]"}},
	{"lanes_of_a_warp", 1, 32, 0, []string{"flag[4]"}},
	{"shared_flag_unset", 1, 64, 0, []string{"shared memory"}},
	{"lock_taken_twice", 1, 32, 0, []string{"flag[0]", "block 0,"}},
	{"more_blocks_than_fit", 1000, 32, 0, []string{"flag[0]", "start"}},
	{"wrong_element", 4, 32, 0, []string{"flag[17]"}},
	{"not_volatile", 4, 32, 0, []string{"memory"}},
	{"circle_of_three", 3, 32, 0, []string{"flag[1]"}},
	{"reader_stays", 4, 32, 0, []string{"flag[0]"}},
	{"counts_its_looks", 4, 32, 0, []string{"flag[6]"}},
}

// linesThatWait are the lines of a source that are marked as those at which a kernel waits.
func linesThatWait(t *testing.T, kernel string) map[uint32]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "hanging.cu"))
	if err != nil {
		t.Fatal(err)
	}
	lines := map[uint32]bool{}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasSuffix(line, "// waits: "+kernel) {
			lines[uint32(i+1)] = true
		}
	}
	if len(lines) == 0 {
		t.Fatalf("no line of hanging.cu is marked as that of %s", kernel)
	}
	return lines
}

// A launch that can go no further ends with findings that say where, at what it looks, and who would have to come.
func TestHangsAreNamed(t *testing.T) {
	p := loadData(t, "hanging.ptx")
	if len(hangingKernels) != 20 {
		t.Fatalf("%d kernels, want 20", len(hangingKernels))
	}
	for _, k := range hangingKernels {
		lines := linesThatWait(t, k.name)
		for seed := range uint64(2) {
			l, _ := waitingLaunch(k.name, k.blocks, k.threads, k.n, seed)
			r, err := p.Run(nil, l)
			if err != nil {
				var limit *fault.Error
				t.Errorf("%s, seed %d: %v (%v)", k.name, seed, err, errors.As(err, &limit))
				continue
			}
			said, at := "", false
			for _, f := range r.Findings {
				if f.Check != "deadlock" {
					t.Errorf("%s, seed %d: a finding of another check: %+v", k.name, seed, f)
				}
				said += f.Message + "\n"
				for _, frame := range f.Where {
					at = at || lines[frame.Line] && strings.HasSuffix(frame.File, "hanging.cu")
				}
			}
			if !at {
				t.Errorf("%s, seed %d: no finding at the lines %v: %s", k.name, seed, lines, places(r))
			}
			for _, want := range k.says {
				if !strings.Contains(said, want) {
					t.Errorf("%s, seed %d: %q is not said:\n%s", k.name, seed, want, said)
				}
			}
		}
	}
}

// places are where the findings of a launch are.
func places(r *Result) (out []string) {
	for _, f := range r.Findings {
		out = append(out, fmt.Sprint(f.Where))
	}
	return out
}

// A loop that looks alike at its head each time hangs only if nothing else of the block changes: neither what an outer loop counts, nor
// what stands in shared memory.
func TestALoopThatLooksAlikeAndGoesOnIsNoHang(t *testing.T) {
	for name, body := range map[string]string{
		"looks with a time-out, again and again": `
	mov.u32 %r1, 0;
OUTER:
	mov.u32 %r2, 0;
INNER:
	ld.volatile.global.u32 %r3, [%rd1];
	setp.ne.u32 %p1, %r3, 0;
	@%p1 bra OUT;
	add.u32 %r2, %r2, 1;
	setp.lt.u32 %p2, %r2, 3;
	@%p2 bra INNER;
	add.u32 %r1, %r1, 1;
	setp.lt.u32 %p3, %r1, 200;
	@%p3 bra OUTER;
OUT:`,
		"counts in shared memory alone": `
	mov.u32 %r1, 0;
	st.volatile.shared.u32 [count], %r1;
AGAIN:
	ld.volatile.shared.u32 %r1, [count];
	add.u32 %r1, %r1, 1;
	st.volatile.shared.u32 [count], %r1;
	setp.lt.u32 %p1, %r1, 200;
	mov.u32 %r1, 0;
	@%p1 bra AGAIN;
	mov.u32 %r1, 200;`,
	} {
		p := mustLoad(t, `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 flag, .param .u64 out, .param .u64 n) {
	.reg .pred %p<4>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	.shared .align 4 .u32 count;
	ld.param.u64 %rd1, [flag];
	ld.param.u64 %rd2, [out];`+body+`
	st.global.u32 [%rd2], %r1;
	ret;
}
`)
		l, out := waitingLaunch("k", 1, 1, 0, 0)
		l.Options.MaxInstructions = 1_000_000
		r, err := p.Run(nil, l)
		if err != nil || len(r.Findings) != 0 || binary.LittleEndian.Uint32(out) != 200 {
			t.Errorf("%s: %v, %+v, out[0] is %d", name, err, r, binary.LittleEndian.Uint32(out))
		}
	}
}
