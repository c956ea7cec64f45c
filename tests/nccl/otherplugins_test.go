package nccl_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/reading"
)

// readOthers reads what another plug-in wrote into a directory.
func readOthers(t *testing.T, dir string) *operation.Recording {
	t.Helper()
	paths, err := reading.Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := reading.Read(job.New(context.Background(), job.Options{}), paths, reading.Options{})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d recordings of %v, %v", len(all), paths, err)
	}
	return all[0]
}

// TestWhatTheExampleWritesIsRead: the plug-in itself, played to by the harness, made the file.
func TestWhatTheExampleWritesIsRead(t *testing.T) {
	b := build(t)
	b.plugin = example(t)
	dir, truth := t.TempDir(), t.TempDir()
	b.play(t, truth, []string{"NCCL_PROFILE_EVENT_MASK=4095", "NCCL_PROFILE_DUMP_FILE=" + filepath.Join(dir, "example")}, "allreduces", filepath.Join(truth, "truth"), "20", "4")
	text, err := os.ReadFile(filepath.Join(dir, "example_7_3.json"))
	if err != nil {
		t.Fatal(err)
	}
	count := func(s string) int { return strings.Count(string(text), s) }
	r := readOthers(t, dir)
	if r.Writer != "NVIDIA's example plug-in" || r.Loss.Unreadable != 0 || len(r.Members) != 1 || r.Members[0].ID != 7 || r.Members[0].Rank != 3 {
		t.Errorf("by %s, %d lines unreadable, members %+v", r.Writer, r.Loss.Unreadable, r.Members)
	}
	for what, n := range map[string][2]int{
		"collectives": {len(r.Ops), count(`"cat": "COLL", "ph": "b"`)}, "kernels": {len(r.Kernels), count(`"cat": "GPU", "ph": "b"`)},
		"proxy operations": {len(r.Proxies), count(`"name": "ScheduleSend", "cat": "PROXY", "ph": "b"`) + count(`"name": "ScheduleRecv", "cat": "PROXY", "ph": "b"`)},
		"launches":         {len(r.Launch), count(`"cat": "KERNEL_LAUNCH", "ph": "b"`)}, "calls": {len(r.APIs), count(`"cat": "COLL_API", "ph": "b"`)},
		"groups": {len(r.Groups), count(`"cat": "GROUP_API", "ph": "b"`)},
	} {
		if n[0] != n[1] || n[1] == 0 {
			t.Errorf("%d %s are read, the file has %d", n[0], what, n[1])
		}
	}
	steps, zero := int32(0), false
	for i := range r.Proxies {
		steps += r.Proxies[i].Begun
	}
	for _, l := range r.Limits {
		zero = zero || strings.Contains(l, "events have no instant")
	}
	if want := count(`"name": "SendGpuWait", "cat": "NET", "ph": "b"`) + count(`"name": "RecvWait", "cat": "NET", "ph": "b"`); int(steps) != want || want == 0 {
		t.Errorf("%d steps are read, the file has %d", steps, want)
	}
	if !zero && count(`"ts": 0.000000`) > 0 {
		t.Errorf("nothing says that the file has times of zero: %q", r.Limits)
	}
	t.Logf("%d collectives, %d kernels, %d proxy operations, %d steps", len(r.Ops), len(r.Kernels), len(r.Proxies), steps)
}

// inspector compiles NVIDIA's Inspector with headers and a library for what it asks of CUDA.
func inspector(t *testing.T) (plugin, libraries string) {
	t.Helper()
	source, dir := filepath.Join(filepath.Dir(ncclSource(t)), "inspector"), t.TempDir()
	for name, text := range map[string]string{
		"cuda.h": `#pragma once
typedef int CUresult;
typedef int CUdevice;
typedef struct { char bytes[16]; } CUuuid;
enum { CUDA_SUCCESS = 0 };
`,
		"cuda_runtime.h": `#pragma once
typedef int cudaError_t;
enum { cudaSuccess = 0 };
static inline cudaError_t cudaGetDevice(int *d) { *d = 0; return 0; }
static inline cudaError_t cudaDeviceGetPCIBusId(char *b, int n, int) { if (n) b[0] = 0; return 0; }
static inline const char *cudaGetErrorString(cudaError_t) { return ""; }
`,
		"git.cc": `extern "C" const char *get_git_version_info(void) { return "none"; }`,
		"cuda.c": `#include <string.h>
int cuGetErrorString(int e, const char **s) { *s = ""; return 0; }
int cuDeviceGet(int *d, int n) { *d = n; return 0; }
int cuDeviceGetUuid(char *u, int d) { memset(u, 7, 16); return 0; }
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plugin = filepath.Join(dir, "libnccl-profiler-inspector.so")
	files, _ := filepath.Glob(filepath.Join(source, "*.cc"))
	args := []string{"-w", "-O1", "-fPIC", "-shared", "-I" + dir, "-I" + source, "-I" + filepath.Join(source, "nccl"), "-o", plugin, filepath.Join(dir, "git.cc")}
	if err := run("c++", append(append(args, files...), "-ldl", "-lpthread")...); err != nil {
		t.Fatal(err)
	}
	if err := run("cc", "-shared", "-fPIC", "-o", filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "cuda.c")); err != nil {
		t.Fatal(err)
	}
	return plugin, dir
}

// TestWhatInspectorWritesIsRead: the plug-in itself, played to by the harness, made the file, with and without instants.
func TestWhatInspectorWritesIsRead(t *testing.T) {
	b := build(t)
	plugin, libraries := inspector(t)
	b.plugin = plugin
	for _, verbose := range []string{"0", "1"} {
		dir, truth := t.TempDir(), t.TempDir()
		environment := []string{
			"LD_LIBRARY_PATH=" + libraries, "NCCL_INSPECTOR_ENABLE=1", "NCCL_INSPECTOR_DUMP_THREAD_ENABLE=1", "NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS=1000", "NCCL_INSPECTOR_DUMP_DIR=" + dir,
			"NCCL_INSPECTOR_DUMP_VERBOSE=" + verbose, "NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES=0", "NCCL_INSPECTOR_REQUIRE_KERNEL_TIMING=0",
		}
		b.play(t, truth, environment, "allreduces", filepath.Join(truth, "truth"), "20", "4")
		r := readOthers(t, dir)
		logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
		text, err := os.ReadFile(logs[0])
		if err != nil {
			t.Fatal(err)
		}
		wrote := strings.Count(string(text), `"coll_perf"`)
		if r.Writer != "NCCL Inspector" || r.Loss.Unreadable != 0 || len(r.Ops) != wrote || wrote == 0 || len(r.Members) != 1 || r.Members[0].Rank != 3 {
			t.Errorf("verbose %s: by %s, %d lines unreadable, %d operations, members %+v", verbose, r.Writer, r.Loss.Unreadable, len(r.Ops), r.Members)
		}
		timed := 0
		for i := range r.Ops {
			if r.Ops[i].StartNS > 0 {
				timed++
			}
		}
		if want := map[string]int{"0": 0, "1": wrote}[verbose]; timed != want || len(r.Kernels) != 4*want {
			t.Errorf("verbose %s: %d operations have an instant, want %d; %d kernels, want four each", verbose, timed, want, len(r.Kernels))
		}
		t.Logf("verbose %s: %d operations, %d kernels", verbose, len(r.Ops), len(r.Kernels))
	}
}
