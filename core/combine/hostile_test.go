package combine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/testing/filetest"
)

// sweep is how hard inputs are damaged: PRLX_FULL_SWEEP=1 (make fuzz) does all that is promised.
func sweep() (cuts, flips int, limit int64) {
	if os.Getenv("PRLX_FULL_SWEEP") != "" {
		return 20, 100, 1 << 40
	}
	return 4, 8, 2_000_000
}

// survives runs combine on one damaged file and demands a result or a clear error, nothing left behind, in bounded time.
func survives(t *testing.T, name string, b []byte) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "node0.trace"), filepath.Join(dir, "out", "result")
	if err := os.WriteFile(in, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Dir(out), 0o700); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	err := safe.Call(func() error {
		_, _, err := Run(job.New(context.Background(), job.Options{Workers: 1}), Request{Inputs: []Input{{Path: in}}, Output: out})
		return err
	})
	if d := time.Since(begun); d > 5*time.Minute {
		t.Errorf("%s: took %v", name, d)
	}
	if err == nil {
		return
	}
	var panicked *safe.PanicError
	if errors.As(err, &panicked) {
		t.Fatalf("%s: %v\n%s", name, err, panicked.Stack)
	}
	if e := fault.Of(err); e.Kind == fault.Internal || e.Msg == "" {
		t.Errorf("%s: %v is not a clear error", name, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(out)); len(left) != 0 {
		t.Errorf("%s: left behind %v", name, left)
	}
}

func TestDamagedRecordingsGiveAClearErrorOrAResult(t *testing.T) {
	cuts, flips, limit := sweep()
	var paths []string
	for _, p := range []string{"xplane/*.pb", "kineto/*.json.gz", "kineto/*.json", "jax_skew/p2/node0.*"} {
		paths = append(paths, filetest.Glob(t, p)...)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			b := decompressed(t, path, limit)
			r := rand.New(rand.NewPCG(uint64(len(b)), 1))
			survives(t, "as it is", b)
			for i := range cuts {
				n := 1 + int64(i)*int64(len(b))/int64(cuts)
				survives(t, fmt.Sprintf("cut to %d", n), b[:min(n, int64(len(b)))])
			}
			for range flips {
				at, bit := r.IntN(len(b)), byte(1)<<r.IntN(8)
				b[at] ^= bit
				survives(t, fmt.Sprintf("bit flipped at %d", at), b)
				b[at] ^= bit
			}
		})
	}
}

// decompressed returns at most limit bytes of a recording.
func decompressed(t *testing.T, path string, limit int64) []byte {
	t.Helper()
	src, err := file.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	b := make([]byte, min(src.Size(), limit))
	if _, err := src.ReadAt(b, 0); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return b
}

func TestInputsThatAreNotTracesAreRefused(t *testing.T) {
	many := strings.Repeat("[", 1_000_000)
	for name, text := range map[string]string{
		"empty":            "",
		"a million arrays": many, "a million objects": strings.Repeat(`{"a":`, 1_000_000), "nested in args": `{"traceEvents":[{"ph":"X","ts":1,"dur":1,"args":` + many,
		"plain text": "hello\n", "wrong protobuf": "\x12\x05hello", "zeros": strings.Repeat("\x00", 1000), "a lying length": "\x0a\xff\xff\xff\xff\x7f",
		"a huge number": `{"traceEvents":[{"ph":"X","ts":1e999999999,"dur":1,"pid":1,"tid":1}]}`, "half a string": `{"traceEvents":[{"ph":"`,
	} {
		survives(t, name, []byte(text))
	}
}

func TestAJobThatCannotBelongTogetherIsRefused(t *testing.T) {
	p := filetest.Data(t, "jax_skew/p2/node0.xplane.pb")
	out := filepath.Join(t.TempDir(), "out")
	run := func(r Request) error {
		r.Output = out
		_, _, err := Run(job.New(context.Background(), job.Options{}), r)
		return err
	}
	if err := run(Request{Inputs: []Input{{Path: p}, {Path: p}}}); !fault.Is(err, fault.Incompatible) {
		// two files of one name get numbers by their order only when nothing else tells them apart
		t.Errorf("one node twice: %v", err)
	}
	if err := run(Request{Inputs: []Input{{ID: "a", Path: p}, {ID: "a", Path: p}}}); !fault.Is(err, fault.Incompatible) {
		t.Errorf("one id twice: %v", err)
	}
	if err := run(Request{Inputs: []Input{{Path: p}, {Path: p + ".missing"}}}); !fault.Is(err, fault.IO) {
		t.Errorf("a missing node: %v", err)
	}
	if err := run(Request{}); !fault.Is(err, fault.Usage) {
		t.Errorf("no inputs: %v", err)
	}
	for _, r := range []Request{{Naming: "x"}, {Timebase: "x"}, {Policy: "x"}, {Method: "x"}, {Format: "x"}, {Method: "collectives"}, {Method: MethodProbes}, {Method: MethodDeclared}} {
		r.Inputs = []Input{{Path: p}}
		if err := run(r); !fault.Is(err, fault.Usage) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("something was written")
	}
}

func TestANodeWithoutClockDataDegradesOrIsRefused(t *testing.T) {
	inputs, probes, _ := jax(t, "p4")
	only := probes[:2] // nodes 0 and 1 probe all four; leave out what ties node 3
	dir := t.TempDir()
	rows := `{"meta":true,"nodes":[{"node_id":0},{"node_id":1}]}
{"round_id":0,"midpoint_sys_ns":1795226085000000000,"node_id":0,"offset_ns":0,"reachable":true,"converged":true}
{"round_id":0,"midpoint_sys_ns":1795226085000000000,"node_id":1,"offset_ns":37500000,"reachable":true,"converged":true}
{"round_id":0,"midpoint_sys_ns":1795226085000000000,"node_id":2,"offset_ns":0,"reachable":false,"converged":false}
`
	offsets := put(t, dir, "offsets.jsonl", []byte(rows))
	doc := combined(t, 1, Request{Inputs: inputs, Offsets: offsets, Method: MethodProbes, Output: filepath.Join(dir, "out")})
	if doc.Status != StatusDegraded {
		t.Errorf("status %q", doc.Status)
	}
	for k, want := range []string{MethodProbes, MethodProbes, MethodWall, MethodWall} {
		if got := doc.Nodes[k].Method; got != want {
			t.Errorf("node %d: method %q, want %q (warnings %v)", k, got, want, doc.Nodes[k].Warnings)
		}
	}
	for k := 2; k < 4; k++ {
		if n := doc.Nodes[k]; len(n.Warnings) == 0 || n.EventsCorrected != 0 {
			t.Errorf("node %d passed in silence: %+v", k, n)
		}
	}
	_, _, err := Run(job.New(context.Background(), job.Options{}), Request{Inputs: inputs, Offsets: offsets, Method: MethodProbes, Output: filepath.Join(dir, "no"), Policy: refuse})
	if !fault.Is(err, fault.Alignment) {
		t.Errorf("policy refuse: %v", err)
	}
	_ = only
}

func TestWithoutAnyClockDataTheResultIsCalledUnaligned(t *testing.T) {
	inputs, _, _ := jax(t, "p2")
	doc := combined(t, 1, Request{Inputs: inputs, Method: MethodWall, Output: filepath.Join(t.TempDir(), "out")})
	if doc.Status != StatusUnaligned || doc.Collectives.After.Violated != 240 {
		t.Errorf("status %q, %d violated", doc.Status, doc.Collectives.After.Violated)
	}
}

func TestDiskFullLeavesNothing(t *testing.T) {
	inputs, probes, _ := jax(t, "p2")
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("a small file system needs root: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	for _, name := range []string{"run", "one.xplane.pb"} {
		_, _, err := Run(job.New(context.Background(), job.Options{}), Request{Inputs: inputs, Probes: probes, Output: filepath.Join(dir, name)})
		if !fault.Is(err, fault.IO) || !strings.Contains(err.Error(), "no space left") || fault.Of(err).Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("%s: left behind %v", name, left)
		}
	}
}

func TestCancellingLeavesNothing(t *testing.T) {
	inputs, probes, _ := jax(t, "p2")
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err := Run(job.New(ctx, job.Options{}), Request{Inputs: inputs, Probes: probes, Output: filepath.Join(dir, "out")})
	if fault.Of(err).Kind != fault.Cancelled {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind %v", left)
	}
}

// TestManySmallLinesStaySmall combines a file that is nothing but lines, each of which costs what a line costs.
func TestManySmallLinesStaySmall(t *testing.T) {
	const lines = 100_000
	plane := []byte("\x12\x09/host:CPU")
	for range lines {
		plane = append(plane, 0x1a, 0x08, 0x22, 0x06, 0x08, 0x01, 0x10, 0x02, 0x18, 0x03) // one event
	}
	space := protowire.AppendBytes([]byte{0x0a}, plane)
	dir := t.TempDir()
	in := put(t, dir, "node0.xplane.pb", space)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	doc := combined(t, 1, Request{Inputs: []Input{{Path: in}}, Output: filepath.Join(dir, "out.xplane.pb")})
	runtime.ReadMemStats(&after)
	if doc.Nodes[0].Events != lines {
		t.Errorf("%d events", doc.Nodes[0].Events)
	}
	if used := (after.TotalAlloc - before.TotalAlloc) / lines; used > 5000 {
		t.Errorf("%d bytes allocated a line", used)
	}
}

// TestOneXSpaceAbove2GiBIsRefusedBeforeWriting uses a sparse file: one unknown field of 2 GiB, which is copied like any other.
func TestOneXSpaceAbove2GiBIsRefusedBeforeWriting(t *testing.T) {
	const size = int64(1) << 31
	dir := t.TempDir()
	head := protowire.AppendVarint([]byte("\x0a\x0b\x12\x09/host:CPU\x7a"), uint64(size))
	in := put(t, dir, "node0.xplane.pb", head)
	if err := os.Truncate(in, int64(len(head))+size); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out", "all.xplane.pb")
	if err := os.Mkdir(filepath.Dir(out), 0o700); err != nil {
		t.Fatal(err)
	}
	_, _, err := Run(job.New(context.Background(), job.Options{}), Request{Inputs: []Input{{Path: in}}, Output: out})
	if !fault.Is(err, fault.Limit) || !strings.Contains(fault.Of(err).Hint, "--format run") {
		t.Errorf("got %v, want a limit that offers the run directory", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(out)); len(left) != 0 {
		t.Errorf("left behind %v", left)
	}
}
