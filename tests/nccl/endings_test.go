package nccl_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/nccl/segment"
)

// TestEveryEndingLosesNothing: without finalize, by exit, _exit, abort, a signal or the return of main.
func TestEveryEndingLosesNothing(t *testing.T) {
	b := build(t)
	for how, want := range map[string]segment.State{"exit": segment.Ended, "return": segment.Ended, "_exit": segment.Recording, "abort": segment.Recording, "segv": segment.Recording} {
		dir := t.TempDir()
		path := filepath.Join(dir, "truth")
		out, err := b.command(dir, nil, "ends", how, path).CombinedOutput()
		if died := want == segment.Recording && how != "_exit"; (err != nil) != died {
			t.Fatalf("%s: %v: %s", how, err, out)
		}
		d := decode(t, recording(t, dir))
		if n := same(t, d, path, false); n != 40_002 || d.file.State != want {
			t.Errorf("%s: %d calls, want 40002; state %d, want %d", how, n, d.file.State, want)
		}
	}
}

// TestTheLibraryIsClosedAndOpenedAgain after each last communicator, as NCCL does; handles of before are stopped after.
func TestTheLibraryIsClosedAndOpenedAgain(t *testing.T) {
	b := build(t)
	dir := t.TempDir()
	b.play(t, dir, nil, "reload", filepath.Join(dir, "truth"))
	if n := same(t, decode(t, recording(t, dir)), filepath.Join(dir, "truth"), false); n != 20*2003+19 {
		t.Errorf("%d calls", n)
	}
}

func TestADaemonRecordsWhenItBeganAsOne(t *testing.T) {
	b := build(t)
	for when, want := range map[string]int{"before": 10_001, "after": 201} {
		dir := t.TempDir()
		b.play(t, dir, nil, "daemon", when, filepath.Join(dir, "truth"))
		if n := same(t, decode(t, recording(t, dir)), filepath.Join(dir, "truth"), false); n != want {
			t.Errorf("%s its first communicator: %d calls, want %d", when, n, want)
		}
	}
}

// TestAChildThatBecomesAnotherProgramRecordsForItself and its parent's file has the parent's calls.
func TestAChildThatBecomesAnotherProgramRecordsForItself(t *testing.T) {
	b := build(t)
	dir := t.TempDir()
	b.play(t, dir, nil, "exec", filepath.Join(dir, "truth"))
	all, _ := filepath.Glob(filepath.Join(dir, "*.prlx-nccl"))
	if len(all) != 2 {
		t.Fatalf("recordings: %v", all)
	}
	first, child := decode(t, all[0]), decode(t, all[1])
	if first.calls < child.calls {
		first, child = child, first
	}
	if n := same(t, first, filepath.Join(dir, "truth"), false); n != 401 || child.calls != 12 {
		t.Errorf("%d calls of the parent, %d of the child", n, child.calls)
	}
}

// preload compiles the library that takes memory, time and threads away.
func preload(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "preload.so")
	if err := run("cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", out, "preload/preload.c", "-ldl"); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWithoutMemoryNothingIsRecordedOrAllIs and nothing else happens: callbacks take none.
func TestWithoutMemoryNothingIsRecordedOrAllIs(t *testing.T) {
	b, library := build(t), preload(t)
	dir := t.TempDir()
	out := b.play(t, dir, []string{"LD_PRELOAD=" + library}, "memory", "before", "50000")
	if all, _ := filepath.Glob(filepath.Join(dir, "*.prlx-nccl")); len(all) != 0 || !strings.Contains(out, "nothing is recorded: no memory") {
		t.Errorf("there are %v; the log says %q", all, out)
	}
	out = b.play(t, dir, []string{"LD_PRELOAD=" + library}, "memory", "after", "500000")
	_, _, lost := counted(t, strings.Fields(out)[1], decode(t, recording(t, dir)))
	t.Logf("%d lost", lost)
}

// TestWithoutAThreadOfItsOwnTheRecorderStillRecords: threads prepare their segments themselves.
func TestWithoutAThreadOfItsOwnTheRecorderStillRecords(t *testing.T) {
	b := build(t)
	dir := t.TempDir()
	out := b.play(t, dir, []string{"LD_PRELOAD=" + preload(t), "PRELOAD_NO_THREAD=1"}, "flood", "3", "100000")
	d := decode(t, recording(t, dir))
	counted(t, out, d)
	if !d.file.NoKeeper || d.calls < 100_000 {
		t.Errorf("no keeper: %v; %d calls", d.file.NoKeeper, d.calls)
	}
}

// TestAStepOfTheWallClockMovesNothing: records are in ticks, and anchors show where the wall clock jumped.
func TestAStepOfTheWallClockMovesNothing(t *testing.T) {
	b := build(t)
	dir := t.TempDir()
	out := b.play(t, dir, []string{"LD_PRELOAD=" + preload(t), "PRELOAD_STEP=20"}, "flood", "1", "300000")
	d := decode(t, recording(t, dir))
	counted(t, out, d)
	all, err := d.file.Segments()
	if err != nil || len(all) < 30 {
		t.Fatalf("%d segments, %v", len(all), err)
	}
	steps := 0
	for i := 1; i < len(all); i++ {
		a, b := all[i-1].Opened, all[i].Opened
		if b.Ticks <= a.Ticks || b.MonotonicNS <= a.MonotonicNS || b.BoottimeNS <= a.BoottimeNS {
			t.Fatalf("segment %d was opened before the one before: %+v, %+v", i, a, b)
		}
		if jump := (b.RealtimeNS - a.RealtimeNS) - (b.MonotonicNS - a.MonotonicNS); jump > 3_000_000_000_000 {
			steps++
		}
	}
	if steps != 1 {
		t.Errorf("the wall clock jumped %d times between segments, want 1", steps)
	}
}

// TestLimitsOnFilesAndAddresses: where there is no file to be had nothing is recorded, and later limits change nothing.
func TestLimitsOnFilesAndAddresses(t *testing.T) {
	b := build(t)
	dir := t.TempDir()
	if out := b.play(t, dir, nil, "limits", "files", "50000"); !strings.Contains(out, "nothing is recorded: ") {
		t.Errorf("the log says %q", out)
	}
	out := b.play(t, dir, nil, "limits", "files-later", "500000")
	counted(t, out, decode(t, recording(t, dir)))
	dir = t.TempDir()
	out = b.play(t, dir, nil, "limits", "addresses", "500000") // 256 MiB of addresses, 4 GiB are asked for
	d := decode(t, recording(t, dir))
	counted(t, out, d)
	if d.file.MaxBytes >= 1<<28 || d.calls < 1000 {
		t.Errorf("the file may have %d bytes, %d calls are recorded", d.file.MaxBytes, d.calls)
	}
}

// TestSignalsWithinCallbacks: a handler that calls the plug-in while it is in a call is counted, one that only interrupts is nothing.
func TestSignalsWithinCallbacks(t *testing.T) {
	b := build(t)
	for _, kind := range []string{"enters", "interrupts"} {
		dir := t.TempDir()
		out := b.play(t, dir, nil, "signals", kind, "1000000")
		d := decode(t, recording(t, dir))
		counted(t, out, d)
		if d.seen.Damaged != 0 || d.seen.Corrupt != 0 {
			t.Errorf("%s: %+v", kind, d.seen)
		}
	}
}

// keeperOf finds the recorder's thread by its name.
func keeperOf(pid int) int {
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
	for _, name := range names {
		if b, _ := os.ReadFile(name); strings.TrimSpace(string(b)) == "prlx-nccl" {
			tid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			return tid
		}
	}
	return 0
}

// TestNobodyWaitsForAStoppedKeeper: the thread that prepares segments is stopped; callbacks use what there is and count the rest.
func TestNobodyWaitsForAStoppedKeeper(t *testing.T) {
	b := build(t)
	dir := t.TempDir()
	cmd := b.command(dir, []string{"PRLX_NCCL_MAX_BYTES=64M"}, "held", "600000")
	in, _ := cmd.StdinPipe()
	outPipe, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewScanner(outPipe)
	if !out.Scan() || out.Text() != "ready" {
		t.Fatalf("the harness says %q", out.Text())
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	keeper := keeperOf(cmd.Process.Pid)
	for range 1000 { // it names itself when it first runs
		if keeper != 0 {
			break
		}
		time.Sleep(time.Millisecond)
		keeper = keeperOf(cmd.Process.Pid)
	}
	if err := syscall.PtraceAttach(keeper); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		t.Skipf("thread %d cannot be stopped here: %v", keeper, err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(keeper, &status, 0x40000000 /* __WALL */, nil); err != nil || !status.Stopped() {
		t.Fatalf("the keeper did not stop: %v, %v", status, err)
	}
	fmt.Fprintln(in, "go")
	if !out.Scan() { // it has played all, while the keeper stood still
		t.Fatal("the harness ended")
	}
	printed := out.Text()
	if err := syscall.PtraceDetach(keeper); err != nil {
		t.Error(err)
	}
	fmt.Fprintln(in, "end")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, _, lost := counted(t, printed, decode(t, recording(t, dir))); lost == 0 {
		t.Error("nothing was lost, though nobody prepared segments")
	}
}

// unshared runs a script with file systems of its own.
func unshared(t *testing.T, environment []string, script string, args ...any) (string, error) {
	t.Helper()
	if out, err := exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", t.TempDir()).CombinedOutput(); err != nil {
		t.Skipf("file systems cannot be mounted here: %s", out)
	}
	cmd := exec.Command("unshare", "-rm", "sh", "-ec", fmt.Sprintf(script, args...))
	cmd.Env = environment
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestDisksThatTakeNothing: read-only, or full before the first communicator.
func TestDisksThatTakeNothing(t *testing.T) {
	b := build(t)
	mount := t.TempDir()
	environment := append(b.command(mount, nil).Env, "REPLAY_LOG=1")
	for name, script := range map[string]string{
		"read-only": "mount -t tmpfs -o ro none %[1]s; %[2]s %[3]s flood 2 50000; ls %[1]s",
		"full":      "mount -t tmpfs -o size=3m none %[1]s; head -c 3000000 /dev/zero > %[1]s/full || true; %[2]s %[3]s flood 2 50000; ls %[1]s",
	} {
		out, err := unshared(t, environment, script, mount, b.replay, b.plugin)
		if err != nil || !strings.Contains(out, "nothing is recorded: ") || strings.Contains(out, ".prlx-nccl\n") && !strings.Contains(out, "prlx-nccl: ") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// TestTheProcessIsDescribed: the release of NCCL, its library, and the GPUs of a machine that has two, one of which the process has open.
func TestTheProcessIsDescribed(t *testing.T) {
	b := build(t)
	dir := t.TempDir()
	const script = `mount -t tmpfs none /proc/driver
for k in 0 1; do
  mkdir -p /proc/driver/nvidia/gpus/0000:1$k:00.0
  printf 'Model: \t\t H100\nIRQ:   \t\t 1\nGPU UUID: \t GPU-0000-%%s\nVideo BIOS: \t 9\nBus Location: \t 0000:1%%s:00.0\nDevice Minor: \t %%s\n' $k $k $k > /proc/driver/nvidia/gpus/0000:1$k:00.0/information
done
mount -t tmpfs none /dev
: > /dev/nvidia1
: > /dev/nvidiactl
%[1]s %[2]s comms 2 5< /dev/nvidia%[3]s`
	environment := append(b.command(dir, []string{"NCCL_DEBUG=WARN", "LOCAL_RANK=1", "A_SECRET=1"}).Env, "CUDA_VISIBLE_DEVICES=1")
	if out, err := unshared(t, environment, script, b.replay, b.plugin, "ctl"); err != nil {
		t.Skipf("the machine cannot be made to look so: %v: %s", err, out)
	}
	f := decode(t, recording(t, dir)).file
	if f.NCCLVersion != 23203 || filepath.Base(f.Library) != "replay" {
		t.Errorf("NCCL %d of %q", f.NCCLVersion, f.Library)
	}
	slices.SortFunc(f.GPUs, func(a, b segment.GPU) int { return int(a.Minor - b.Minor) })
	if len(f.GPUs) != 2 || f.GPUs[1] != (segment.GPU{Minor: 1, Bus: "0000:11:00.0", UUID: "GPU-0000-1"}) {
		t.Errorf("GPUs: %+v", f.GPUs)
	}
	if g, ok := f.GPU(); ok {
		t.Errorf("the process has none of two GPUs open, and %+v is said to be its own", g)
	}
	other := t.TempDir()
	if out, err := unshared(t, b.command(other, nil).Env, script, b.replay, b.plugin, "1"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if g, ok := decode(t, recording(t, other)).file.GPU(); !ok || g.Bus != "0000:11:00.0" || !g.Open {
		t.Errorf("the process has /dev/nvidia1 open; its GPU is %+v, %v", g, ok)
	}
	for _, one := range []string{"NCCL_DEBUG=WARN", "LOCAL_RANK=1", "CUDA_VISIBLE_DEVICES=1"} {
		if !slices.Contains(f.Environment, one) {
			t.Errorf("the environment lacks %s: %v", one, f.Environment)
		}
	}
	if slices.Contains(f.Environment, "A_SECRET=1") {
		t.Error("the environment has what is nobody's business")
	}
}

// asAnother makes the harness runnable for another user, in a folder that anyone may enter.
func asAnother(t *testing.T, b built, mode os.FileMode) (built, string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can become others")
	}
	dir, err := os.MkdirTemp("", "prlx-nccl-another")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	copied := built{filepath.Join(dir, "libnccl-profiler-prlx.so"), filepath.Join(dir, "replay")}
	for from, to := range map[string]string{b.plugin: copied.plugin, b.replay: copied.replay} {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, content, 0o755)
		}
		if err == nil {
			err = os.Chmod(to, mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return copied, dir
}

// TestAnotherUserIsNoReasonToStop: setuid asks every thread, the recorder's too, which blocks all signals that may be blocked.
func TestAnotherUserIsNoReasonToStop(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become others")
	}
	b := build(t)
	dir := t.TempDir()
	out := strings.Fields(b.play(t, dir, nil, "user", "setuid", "400000"))
	counted(t, out[1], decode(t, recording(t, dir)))
}

// TestASetUserIDProgramDoesNotBelieveItsEnvironment, and one without any has the defaults.
func TestASetUserIDProgramDoesNotBelieveItsEnvironment(t *testing.T) {
	b, dir := asAnother(t, build(t), os.ModeSetuid|0o755)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for how, cmd := range map[string]*exec.Cmd{"as-is": b.command(dir, nil, "user", "as-is", "1000"), "scrub": b.command(dir, nil, "user", "scrub", "1000")} {
		if how == "as-is" {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", how, err, out)
		}
		path := strings.Fields(string(out))[0]
		if strings.HasPrefix(path, dir) {
			if how == "as-is" {
				t.Skip("programs do not become another user here")
			}
			t.Errorf("%s: the file is %s", how, path)
		}
		if want := "/tmp/prlx-nccl-0/"; !strings.HasPrefix(path, want) {
			t.Errorf("%s: the file is %s, want %s...", how, path, want)
			continue
		}
		if d := decode(t, path); d.file.Level != 0 || d.file.MaxBytes != 256<<20 {
			t.Errorf("%s: level %d, %d bytes", how, d.file.Level, d.file.MaxBytes)
		}
		os.Remove(path)
	}
}
