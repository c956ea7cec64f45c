package simt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/kernel/simt/memory"
	"github.com/prlx-go/prlx/core/safe"
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
	l.Options = Options{ScheduleSeed: seed, MaxInstructions: 20_000, NaN: seed%2 == 1, NoRaces: seed%3 == 2, MaxFindings: 10}
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
