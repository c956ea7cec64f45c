package simt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// FuzzRun runs whatever can be read and bound, under a limit of instructions: no panic, no hang, and errors that are the user's.
func FuzzRun(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.ptx"))
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, uint64(0))
	}
	f.Add([]byte(entry(loopBody)), uint64(1))
	f.Add([]byte(entry("\tbar.sync %r31;\n\t@%p1 bar.sync 1, 32;")), uint64(2))
	f.Add([]byte(orderedText(splitK, orders["fences"].words, "BAR1", "bar.sync 0;", "BAR2", "bar.sync 0;")), uint64(3))
	f.Add([]byte(entry(strings.NewReplacer("ARRIVE", "mbarrier.arrive.shared.b64 %rd5, [tile+128];", "WAIT", "mbarrier.test_wait.parity.shared.b64 %p2, [tile+128], 0;").Replace(handover))), uint64(4))
	f.Add([]byte(withFunctions(counts, "\t.param .b64 p1;\n\tst.param.b32 [p0], 5;\n\tst.param.b64 [p1], 0;\n\tcall (r0), count, (p0, p1);")), uint64(5))
	f.Add([]byte(withFunctions(tableOfFunctions, strings.NewReplacer("MASK", "3", "FIRST", "0").Replace(callTable))), uint64(6))
	f.Add([]byte(wmmaText(wmmaCase{"m16n16k16", "f16", "f16", "f32", "f32", ""}, [4]string{"row", "col", "row", "col"}, [4]int{}, false)), uint64(7))
	f.Add([]byte(entry("\tdiv.u32 %r5, %r30, %r31;\n\tselp.u32 %r6, %r5, 7, %p1;\n"+gridBarrier+"\tst.global.u32 [%rd1], %r6;")), uint64(8))
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		p, err := Load(context.Background(), "fuzz.ptx", text)
		if err != nil {
			mustBeTheUsers(t, err)
			return
		}
		for _, name := range p.Kernels() {
			params, err := p.Params(name)
			mustBeTheUsers(t, err)
			_, err = p.Run(job.New(context.Background(), job.Options{Workers: 1, MemoryLimit: 64 << 20}), hostileLaunch(name, params, seed))
			mustBeTheUsers(t, err)
		}
	})
}

// hostileLaunch passes a kernel arrays and numbers that fit nothing.
func hostileLaunch(name string, params []Param, seed uint64) *Launch {
	l := &Launch{Kernel: name, Grid: [3]uint32{2, 1, 1}, Block: [3]uint32{48, 1, 1}, SharedBytes: 512}
	l.Options = Options{ScheduleSeed: seed, MaxInstructions: 20_000, NaN: seed%2 == 1, NoRaces: seed%3 == 2, GlobalRaces: seed%5 == 3, MaxFindings: 10}
	for i := range params {
		a := Argument{Bits: seed * uint64(i), Allocation: -1}
		if params[i].Bytes == 8 && i < 4 {
			a.Bits = 0x10000 * uint64(i+1)
			a.Allocation = len(l.Memory)
			l.Memory = append(l.Memory, memory.Allocation{Name: params[i].Name, Host: a.Bits, Bytes: make([]byte, 256)})
		}
		l.Params = append(l.Params, a)
	}
	return l
}

// mustBeTheUsers fails on errors that are bugs of ours.
func mustBeTheUsers(t *testing.T, err error) {
	t.Helper()
	var panicked *safe.PanicError
	if errors.As(err, &panicked) {
		t.Fatalf("panic: %v\n%s", panicked.Value, panicked.Stack)
	}
	if err != nil && fault.Of(err).Kind == fault.Internal {
		t.Fatalf("error without a kind: %v", err)
	}
}
