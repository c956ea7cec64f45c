package snapshot_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
)

// cLibrary compiles the C library with a program that uses it, and the libraries that stand in for those of GPUs.
func cLibrary(t *testing.T) (program string, standIn func(name string) string) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler:", err)
	}
	dir := t.TempDir()
	const runtime = "../../../runtime/snapshot/"
	program = filepath.Join(dir, "record")
	args := []string{"-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-o", program, "-I", runtime, "testdata/record.c"}
	sources, err := filepath.Glob(runtime + "*.c")
	if err != nil {
		t.Fatal(err)
	}
	compile(t, cc, append(append(args, sources...), "-lpthread", "-ldl")...)
	return program, func(name string) string {
		path := filepath.Join(dir, "lib"+name+".so")
		compile(t, cc, "-shared", "-fPIC", "-D"+strings.ToUpper(name), "-o", path, "testdata/standin.c", "-ldl")
		return path
	}
}

func compile(t *testing.T, cc string, args ...string) {
	t.Helper()
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func runC(t *testing.T, environment []string, program string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), environment...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return errs.String(), err
	}
	return string(out), nil
}

// TestTheSamplerKeepsItsCadence runs the sampler in virtual time: what it counts is what its file holds.
func TestTheSamplerKeepsItsCadence(t *testing.T) {
	program, _ := cLibrary(t)
	for _, c := range []struct {
		args string // period in ms, seconds, announced duration, cost of a reading, overshoot of each wait
		want string // pairs in memory, taken, missed, dropped, wide, failed, unstored
	}{
		{"4000 12 12 20 0", "5 5 0 0 0 0 0"},
		{"10 60 60 20 0", "6002 6002 0 0 0 0 0"},
		{"10 60 6 20 0", "677 6002 0 5325 0 0 0"},
		{"4000 12 0 2501 0", "5 5 0 0 5 0 0"},
		{"10 1 0 20 25000000", "36 36 68 0 0 0 0"},
	} {
		path := filepath.Join(t.TempDir(), "pairs.jsonl")
		out, err := runC(t, nil, program, append([]string{"virtual", path}, strings.Fields(c.args)...)...)
		if err != nil || strings.TrimSpace(out) != c.want {
			t.Errorf("%s: got %q (%v), want %q", c.args, out, err, c.want)
			continue
		}
		var held, taken, missed, dropped, wide, failed, unstored int64
		fmt.Sscan(out, &held, &taken, &missed, &dropped, &wide, &failed, &unstored)
		got := read(t, path)
		if got.Counters != (clockfile.SnapshotCounters{Stated: true, Taken: taken, Missed: missed, Dropped: dropped, Wide: wide}) {
			t.Errorf("%s: the file says %+v", c.args, got.Counters)
		}
		if int64(len(got.Pairs)) != taken || got.TracerClock != "a test's clock" || got.Rank == nil || *got.Rank != 3 {
			t.Errorf("%s: the file has %d pairs of %q", c.args, len(got.Pairs), got.TracerClock)
		}
		for i, p := range got.Pairs {
			if p.SysNS-1_760_000_000_000_000_000 != p.TracerNS-3_000_000_000 || i > 0 && p.SysNS <= got.Pairs[i-1].SysNS {
				t.Fatalf("%s: pair %d is %+v", c.args, i, p)
			}
		}
	}
}

func TestTheCLibraryReadsClocksOfTheMachineAndOfLibraries(t *testing.T) {
	program, standIn := cLibrary(t)
	for _, c := range []struct{ name, library, variable, called string }{
		{"monotonic_raw", "", "", "CLOCK_MONOTONIC_RAW"},
		{"CLOCK_BOOTTIME", "", "", "CLOCK_BOOTTIME"},
		{"auto", "", "", "CLOCK_MONOTONIC_RAW"},
		{"tsc", "", "", "TSC"},
		{"cupti", "cupti", "PRLX_CUPTI_LIBRARY", "CUPTI"},
		{"rocprofiler", "rocprofiler", "PRLX_ROCPROFILER_LIBRARY", "ROCm"},
		{"hsa", "hsa", "PRLX_HSA_LIBRARY", "HSA"},
		{"auto", "rocprofiler", "LD_PRELOAD", "ROCm"},
	} {
		var environment []string
		if c.library != "" {
			environment = []string{c.variable + "=" + standIn(c.library)}
		}
		path := filepath.Join(t.TempDir(), "pairs.jsonl")
		out, err := runC(t, environment, program, "clock", path, c.name)
		if err != nil {
			if c.name == "tsc" {
				t.Log("no time stamp counter:", out)
				continue
			}
			t.Errorf("%s: %v: %s", c.name, err, out)
			continue
		}
		got := read(t, path)
		if len(got.Pairs) != 5 || got.TracerClock != c.called {
			t.Errorf("%s: %d pairs of %q", c.name, len(got.Pairs), got.TracerClock)
			continue
		}
		first, last := got.Pairs[0], got.Pairs[4]
		if last.TracerNS <= first.TracerNS || last.SysNS <= first.SysNS {
			t.Errorf("%s: from %+v to %+v", c.name, first, last)
		}
	}
}

func TestTheCLibraryRefusesClocksThatAreNotThere(t *testing.T) {
	program, standIn := cLibrary(t)
	for name, want := range map[string]string{
		"cupti": "cuptiGetTimestamp", "rocprofiler": "rocprofiler_get_timestamp", "hsa": "hsa", "ptp:/dev/never": "/dev/never: No such file", "ptp:/dev/null": "is no clock",
		"sundial": "is not a clock: expected",
	} {
		path := filepath.Join(t.TempDir(), "pairs.jsonl")
		if out, err := runC(t, nil, program, "clock", path, name); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: got %q (%v), want %q", name, out, err, want)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: a file was made", name)
		}
	}
	broken := []string{"PRLX_ROCPROFILER_LIBRARY=" + standIn("broken")}
	if out, err := runC(t, broken, program, "clock", filepath.Join(t.TempDir(), "x"), "rocprofiler"); err == nil || !strings.Contains(out, "ROCm cannot be read") {
		t.Errorf("a tracer that fails: got %q (%v)", out, err)
	}
	taken := filepath.Join(t.TempDir(), "pairs.jsonl")
	if err := os.WriteFile(taken, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := runC(t, nil, program, "clock", taken, "monotonic"); err == nil || !strings.Contains(out, "File exists") {
		t.Errorf("a file that was there: got %q (%v)", out, err)
	}
}

// TestAProgramThatIsKilledLeavesItsReadings: whoever ends with SIGKILL has written all that it read.
func TestAProgramThatIsKilledLeavesItsReadings(t *testing.T) {
	program, _ := cLibrary(t)
	path := filepath.Join(t.TempDir(), "pairs.jsonl")
	cmd := exec.Command(program, "kill", path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := func() int {
		b, _ := os.ReadFile(path)
		return bytes.Count(b, []byte("\n"))
	}
	for lines() < 16 { // up to six are no pairs
		time.Sleep(5 * time.Millisecond)
	}
	cmd.Process.Kill()
	cmd.Wait()
	got := read(t, path)
	if len(got.Pairs) < 10 || got.Counters.Stated || len(got.System) == 0 {
		t.Errorf("%d pairs are left, %d states of the system clock, counters %+v", len(got.Pairs), len(got.System), got.Counters)
	}
}

func TestAForkedChildLeavesTheSamplerAlone(t *testing.T) {
	program, _ := cLibrary(t)
	path := filepath.Join(t.TempDir(), "pairs.jsonl")
	out, err := runC(t, nil, program, "fork", path)
	if err != nil || !strings.HasPrefix(out, "child 7\n3 3 ") {
		t.Fatalf("got %q (%v)", out, err)
	}
	if b, err := os.ReadFile(path); err != nil || bytes.Count(b, []byte("counters")) != 1 {
		t.Errorf("the child has ended the file of its parent:\n%s", b)
	}
	if got := read(t, path); len(got.Pairs) != 3 || got.Counters.Taken != 3 {
		t.Errorf("the file has %d pairs and says %+v", len(got.Pairs), got.Counters)
	}
}

func TestWhoAsksForTheCadenceFirst(t *testing.T) {
	program, _ := cLibrary(t)
	both := []string{"PRLX_SNAPSHOT_PERIOD_MS=30", "XLA_ROCM_SNAPSHOT_PERIOD_MS=40"}
	for _, c := range []struct {
		argument, option string
		environment      []string
		want             string
	}{
		{"10000000", "20", both, "10000000"},
		{"0", "20", both, "20000000"},
		{"0", "", both, "30000000"},
		{"0", " ", both[1:], "40000000"},
		{"0", "", nil, "4000000000"},
		{"0", "12.5 ", nil, "12500000"},
	} {
		if out, err := runC(t, c.environment, program, "period", c.argument, c.option); err != nil || strings.TrimSpace(out) != c.want {
			t.Errorf("%+v: got %q (%v)", c, out, err)
		}
	}
	for _, option := range []string{"9", "9.99", "4s", "NaN", "-1", "1e300", "3600001"} {
		if out, err := runC(t, both, program, "period", "0", option); err == nil || !strings.Contains(out, "snapshot_pair_period_ms") {
			t.Errorf("%q is taken: %q", option, out)
		}
	}
	if out, err := runC(t, nil, program, "period", "9999999", ""); err == nil || !strings.Contains(out, "between 10 ms and 1 h") {
		t.Errorf("an argument of 9.99 ms: %q", out)
	}
}
