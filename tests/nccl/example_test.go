package nccl_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// ncclSource is a checkout of NVIDIA/nccl; tests that need one are skipped where there is none.
func ncclSource(t *testing.T) string {
	t.Helper()
	source := os.Getenv("PRLX_NCCL_SOURCE")
	if source == "" {
		t.Skip("PRLX_NCCL_SOURCE names no checkout of NVIDIA/nccl")
	}
	example, err := filepath.Abs(filepath.Join(source, "plugins/profiler/example"))
	if err != nil {
		t.Fatal(err)
	}
	return example
}

// TestTheInterfaceIsNVIDIAs compares abi.h with NVIDIA's own headers, while compiling.
func TestTheInterfaceIsNVIDIAs(t *testing.T) {
	example := ncclSource(t)
	headers, _ := filepath.Glob(filepath.Join(example, "nccl/profiler_v[1-7].h"))
	if len(headers) < 6 {
		t.Fatalf("headers of versions: %v", headers)
	}
	var c strings.Builder
	c.WriteString("#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <sys/types.h>\n#include \"common.h\"\n#include \"err.h\"\n#include \"profiler.h\"\n#include \"abi.h\"\n")
	same := func(v int, theirs, ours string) {
		fmt.Fprintf(&c, "_Static_assert(offsetof(ncclProfilerEventDescr_v%d_t, %s) == offsetof(struct abi_v%d, %s), \"%d %s\");\n", v, theirs, v, ours, v, theirs)
	}
	for v := 1; v <= len(headers); v++ {
		fmt.Fprintf(&c, "_Static_assert(sizeof(ncclProfilerEventDescr_v%d_t) == sizeof(struct abi_v%d), \"%d\");\n", v, v, v)
		for theirs, ours := range map[string]string{"parentObj": "parent", "rank": "rank", "coll.seqNumber": "u.coll.seq", "coll.count": "u.coll.count", "coll.root": "u.coll.root", "p2p.peer": "u.p2p.peer", "p2p.count": "u.p2p.count", "proxyOp.isSend": "u.op.is_send", "proxyStep.step": "u.step.step"} {
			same(v, theirs, ours)
		}
		if v >= 5 {
			same(v, "coll.parentGroup", "u.coll.parent_group")
			same(v, "p2pApi.graphCaptured", "u.p2p_api.captured")
			same(v, "collApi.graphCaptured", "u.coll_api.captured")
		}
		if v >= 6 {
			same(v, "ceColl.stream", "u.ce.stream")
			same(v, "ceCollBatch.useIntraSync", "u.batch.intra_sync")
		}
	}
	file := filepath.Join(t.TempDir(), "same.c")
	if err := os.WriteFile(file, []byte(c.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run("cc", "-std=c11", "-fsyntax-only", "-I"+filepath.Join(example, "nccl"), "-I"+runtimeDir, file); err != nil {
		t.Error(err)
	}
}

// example compiles NVIDIA's example plug-in with a header for the few functions of CUDA that it calls.
func example(t *testing.T, flags ...string) string {
	t.Helper()
	source, dir := ncclSource(t), t.TempDir()
	const cuda = `#pragma once
typedef void *cudaEvent_t;
typedef void *cudaStream_t;
typedef int cudaError_t;
enum { cudaSuccess = 0, cudaEventDisableTiming = 2, cudaErrorNotReady = 600 };
static inline cudaError_t cudaEventCreate(cudaEvent_t *e, unsigned = 0) { *e = nullptr; return 0; }
static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned) { *e = nullptr; return 0; }
static inline cudaError_t cudaEventDestroy(cudaEvent_t) { return 0; }
static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t) { *ms = 0; return 0; }
static inline cudaError_t cudaEventQuery(cudaEvent_t) { return 0; }
static inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return 0; }
`
	if err := os.WriteFile(filepath.Join(dir, "cuda_runtime.h"), []byte(cuda), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "libnccl-profiler-example.so")
	files, _ := filepath.Glob(filepath.Join(source, "*.cc"))
	args := []string{"-w", "-O2", "-fPIC", "-shared", "-I" + dir, "-I" + source, "-I" + filepath.Join(source, "nccl"), "-o", out}
	if err := run("c++", append(append(args, flags...), files...)...); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTheExampleFailsWhereItIsKnownTo shows that the harness is not only our own idea of NCCL: what users have reported of the example
// plug-in happens here too, and ours passes.
func TestTheExampleFailsWhereItIsKnownTo(t *testing.T) {
	theirs := build(t)
	theirs.plugin = example(t)
	ours := build(t)
	environment := []string{"NCCL_PROFILE_EVENT_MASK=4095", "NCCL_PROFILE_DUMP_FILE=" + filepath.Join(t.TempDir(), "example")}
	out, err := theirs.command(t.TempDir(), environment, "pxn").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(exit.String(), "segmentation fault") {
		t.Errorf("PXN: the example ended with %v: %s", err, out)
	}
	ours.play(t, t.TempDir(), environment, "pxn")
	if out, err := theirs.command(t.TempDir(), environment, "sequences", "230", filepath.Join(t.TempDir(), "truth"), "10").CombinedOutput(); err == nil {
		t.Errorf("sixteen communicators at once: the example passed: %s", out)
	}
	if got := strings.TrimSpace(ours.play(t, t.TempDir(), nil, "channels")); got != "64" {
		t.Errorf("handles of 64 channels: %s", got)
	}
}

// TestTheExampleLosesWhatItsPoolsDoNotHold plays twenty collectives on four channels, one after the other: the example's file lacks twelve of
// them, has no group, kernels that end on their first channel alone, and times of zero. Ours has all of it.
func TestTheExampleLosesWhatItsPoolsDoNotHold(t *testing.T) {
	theirs := build(t)
	theirs.plugin = example(t)
	dir := t.TempDir()
	dump := filepath.Join(dir, "example")
	theirs.play(t, dir, []string{"NCCL_PROFILE_EVENT_MASK=4095", "NCCL_PROFILE_DUMP_FILE=" + dump}, "allreduces", filepath.Join(dir, "truth"), "20", "4")
	b, err := os.ReadFile(dump + "_7_3.json")
	if err != nil {
		t.Fatal(err)
	}
	count := func(text string) int { return strings.Count(string(b), text) }
	if got := count(`"cat": "COLL", "ph": "b"`); got == 0 || got >= 20 {
		t.Errorf("the example wrote %d of 20 collectives", got)
	}
	if count(`"cat": "GROUP", "ph": "b"`) != 0 || count(`"StopGpuClk": 0}`) == 0 || count(`"ts": 0.000000`) == 0 {
		t.Errorf("groups %d, kernels without an end %d, times of zero %d", count(`"cat": "GROUP", "ph": "b"`), count(`"StopGpuClk": 0}`), count(`"ts": 0.000000`))
	}
	t.Logf("the example: %d of 20 collectives, %d groups, %d kernels without an end, %d times of zero", count(`"cat": "COLL", "ph": "b"`), count(`"cat": "GROUP", "ph": "b"`), count(`"StopGpuClk": 0}`), count(`"ts": 0.000000`))

	ours, own := build(t), t.TempDir()
	ours.play(t, own, nil, "allreduces", filepath.Join(own, "truth"), "20", "4")
	d := decode(t, recording(t, own))
	same(t, d, filepath.Join(own, "truth"), false)
	starts, _ := recordedStarts(t, filepath.Join(own, "truth"), d.file.Cookie)
	if starts[0] != 20 || starts[1] != 20 || starts[6] != 80 || starts[8] != 20 {
		t.Errorf("played %v", starts)
	}
}

// TestTheExampleTouchesWhatIsNotItsOwn: under sanitizers, after the last finalize and on a channel that it has no place for. Ours has neither.
func TestTheExampleTouchesWhatIsNotItsOwn(t *testing.T) {
	ncclSource(t)
	const flags = "address,undefined"
	theirs := sanitized(t, flags)
	ours := theirs
	theirs.plugin = example(t, "-fsanitize="+flags, "-fno-omit-frame-pointer", "-g")
	environment := []string{"ASAN_OPTIONS=detect_leaks=0", "UBSAN_OPTIONS=halt_on_error=1", "NCCL_PROFILE_EVENT_MASK=4095", "NCCL_PROFILE_DUMP_FILE=" + filepath.Join(t.TempDir(), "example")}
	for mode, want := range map[string]string{"finalized": "heap-use-after-free", "channel63": "out of bounds"} {
		out, err := theirs.command(t.TempDir(), environment, mode).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: the example ended with %v, without %q: %.600s", mode, err, want, out)
		}
	}
	dir := t.TempDir()
	ours.play(t, dir, environment, "finalized")
	ours.play(t, t.TempDir(), environment, "channel63")
	ours.play(t, t.TempDir(), environment, "pxn")
}

// TestWhatHurtsOthersIsRecorded: PXN, the last channel and what comes after finalize, wherever the example's source is.
func TestWhatHurtsOthersIsRecorded(t *testing.T) {
	b := build(t)
	for mode, want := range map[string]int{"finalized": 5, "channel63": 8, "pxn": 10} {
		dir := t.TempDir()
		out := strings.TrimSpace(b.play(t, dir, nil, mode))
		if d := decode(t, recording(t, dir)); d.calls != want || out != strconv.Itoa(want) {
			t.Errorf("%s: %d calls are recorded, %s were made, want %d", mode, d.calls, out, want)
		}
	}
}
