package nccl_test

import (
	"context"
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/reading"
	"github.com/prlx-go/prlx/core/nccl/segment"
)

// TestTheLibraryExportsTheSevenTablesAndItsControls also holds that it needs nothing but libc, and stays loaded.
func TestTheLibraryExportsTheSevenTablesAndItsControls(t *testing.T) {
	f, err := elf.Open(build(t).plugin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var exported []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && elf.ST_BIND(s.Info) == elf.STB_GLOBAL {
			exported = append(exported, s.Name)
		}
	}
	slices.Sort(exported)
	want := []string{"prlx_nccl_path", "prlx_nccl_set_mask"}
	for v := 7; v >= 1; v-- {
		want = slices.Insert(want, 0, fmt.Sprintf("ncclProfiler_v%d", v))
	}
	if !slices.Equal(exported, want) {
		t.Errorf("exported: %v, want %v", exported, want)
	}
	needed, _ := f.ImportedLibraries()
	for _, lib := range needed {
		if !slices.ContainsFunc([]string{"libc.", "libpthread.", "libdl.", "ld-linux"}, func(p string) bool { return strings.HasPrefix(lib, p) }) {
			t.Errorf("it needs %s", lib)
		}
	}
	if flags, _ := f.DynValue(elf.DT_FLAGS_1); len(flags) == 0 || elf.DynFlag1(flags[0])&elf.DF_1_NODELETE == 0 {
		t.Errorf("flags %x: it may be unloaded", flags)
	}
}

// TestTheLibraryLoadsWhereGlibcIsOld: what was built here, and what the package has, needs nothing that glibc 2.28 does not have. Compiled
// without the versions of libc.h it does, where glibc is newer: the test can fail.
func TestTheLibraryLoadsWhereGlibcIsOld(t *testing.T) {
	paths := []string{build(t).plugin}
	shipped, _ := filepath.Glob("../../python/prlx/lib?ccl-profiler-prlx.so")
	for _, path := range append(paths, shipped...) {
		if newer := newerSymbols(t, path); len(newer) > 0 {
			t.Errorf("%s needs %v", path, newer)
		}
	}
	probe := filepath.Join(t.TempDir(), "probe")
	source := filepath.Join(t.TempDir(), "probe.c")
	if err := os.WriteFile(source, []byte("#include <dlfcn.h>\nint main(int n, char **v) { return dlopen(v[0], n) != 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run("cc", "-o", probe, source, "-ldl"); err != nil {
		t.Fatal(err)
	}
	if len(newerSymbols(t, probe)) == 0 {
		t.Log("this glibc is itself old: nothing newer could have been needed")
	}
}

// TestTheInterfaceIsTheSameOnARM compiles the recorder, whose sizes and offsets are assertions, for aarch64.
func TestTheInterfaceIsTheSameOnARM(t *testing.T) {
	cc, err := exec.LookPath("aarch64-linux-gnu-gcc")
	if err != nil {
		t.Skip("there is no compiler for aarch64, 1 check is left out:", err)
	}
	library := filepath.Join(t.TempDir(), "libnccl-profiler-prlx.so")
	if err := compilePlugin(cc, library); err != nil {
		t.Fatal(err)
	}
	if newer := newerSymbols(t, library); len(newer) > 0 {
		t.Errorf("it needs %v", newer)
	}
}

// counted says where every call of a flood went.
func counted(t *testing.T, printed string, d decoded) (calls, overwritten, lost uint64) {
	t.Helper()
	if _, err := fmt.Sscan(printed, &calls); err != nil {
		t.Fatalf("%q: %v", printed, err)
	}
	for _, n := range d.file.Overwritten {
		overwritten += n
	}
	lost = d.lost()
	if got := uint64(d.calls) + overwritten + lost; got != calls {
		t.Errorf("%d calls: %d in the file, %d overwritten and %d lost are %d", calls, d.calls, overwritten, lost, got)
	}
	return calls, overwritten, lost
}

// TestEveryCallIsRecordedOverwrittenOrCountedAsLost floods a file that may grow to 4 MiB.
func TestEveryCallIsRecordedOverwrittenOrCountedAsLost(t *testing.T) {
	b := build(t)
	dir := t.TempDir()
	printed := b.play(t, dir, []string{"PRLX_NCCL_MAX_BYTES=4M"}, "flood", "4", "500000")
	path := recording(t, dir)
	d := decode(t, path)
	_, overwritten, lost := counted(t, printed, d)
	if overwritten+lost == 0 {
		t.Error("two million calls found room in 4 MiB")
	}
	if lost > 0 && d.told == 0 && d.file.OverwrittenSegments == 0 {
		t.Error("no record tells when calls were lost")
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 4<<20 {
		t.Errorf("the file has %d bytes (%v), 4 MiB were allowed", info.Size(), err)
	}
}

// TestTextsAreKeptUntilThereIsNoRoom: what bounds the texts is the room that the file has for them, not the table in which they are looked up.
func TestTextsAreKeptUntilThereIsNoRoom(t *testing.T) {
	b := build(t)
	for _, c := range []struct{ texts, room int }{{20_000, 20_000}, {30_000, 21_840}} { // 512 KiB, 24 bytes each, and few others
		dir := t.TempDir()
		b.play(t, dir, nil, "texts", strconv.Itoa(c.texts))
		d := decode(t, recording(t, dir))
		if lost := int(d.file.LostTexts); lost < c.texts-c.room-20 || lost > c.texts-c.room+20 {
			t.Errorf("of %d texts %d are lost, there is room for %d", c.texts, lost, c.room)
		}
	}
}

// TestMoreThreadsThanSegments: forty threads share a file of some twenty segments, each of which one of them holds.
func TestMoreThreadsThanSegments(t *testing.T) {
	b := build(t)
	dir := t.TempDir()
	printed := b.play(t, dir, []string{"PRLX_NCCL_MAX_BYTES=4M"}, "flood", "40", "20000")
	if _, _, lost := counted(t, printed, decode(t, recording(t, dir))); lost == 0 {
		t.Error("forty threads found room in twenty segments")
	}
}

// TestALimitOnFileSizesRaisesNoSignal and a full file system neither: the recorder uses again what it has.
func TestALimitOnFileSizesRaisesNoSignal(t *testing.T) {
	b := build(t)
	dir := t.TempDir()
	script := fmt.Sprintf("ulimit -f 6000; exec %s %s flood 2 300000", b.replay, b.plugin) // of 512 or 1024 bytes each
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = b.command(dir, nil).Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d := decode(t, recording(t, dir))
	counted(t, string(out), d)
	if d.file.StorageErrno == 0 {
		t.Error("the file does not say why it did not grow")
	}
}

func TestAFullFileSystemRaisesNoSignal(t *testing.T) {
	b := build(t)
	mount, dir := t.TempDir(), t.TempDir()
	if out, err := exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=8m", "none", mount).CombinedOutput(); err != nil {
		t.Skipf("file systems cannot be mounted here: %s", out)
	}
	script := fmt.Sprintf("mount -t tmpfs -o size=8m none %[1]s && PRLX_NCCL_DIR=%[1]s %[2]s %[3]s flood 2 300000 && cp %[1]s/* %[4]s", mount, b.replay, b.plugin, dir)
	cmd := exec.Command("unshare", "-rm", "sh", "-c", script)
	cmd.Env = b.command(mount, nil).Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d := decode(t, recording(t, dir))
	counted(t, string(out), d)
	if d.file.StorageErrno != 28 {
		t.Errorf("errno %d, want ENOSPC", d.file.StorageErrno)
	}
}

// TestNothingIsRecordedWhereNoFileCanBeMade and the job goes on: handles are given, no signal is raised.
func TestNothingIsRecordedWhereNoFileCanBeMade(t *testing.T) {
	b := build(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]string{"no directory": file, "none above": filepath.Join(dir, "a", "b"), "a long path": "/" + strings.Repeat("x", 3700), "longer than paths are": "/" + strings.Repeat("y", 5000), "the kernel's": "/proc/1"} {
		environment := []string{"PRLX_NCCL_DIR=" + at, "REPLAY_LOG=1"}
		if name == "longer than paths are" {
			environment = append(environment, "TMPDIR="+file)
		}
		out := b.play(t, dir, environment, "sequences", "232", filepath.Join(dir, "truth"), "10")
		if !strings.Contains(out, "nothing is recorded: ") {
			t.Errorf("%s: the log says %q", name, out)
		}
	}
	if all, _ := filepath.Glob(filepath.Join(dir, "*.prlx-nccl")); len(all) != 0 {
		t.Errorf("there are recordings: %v", all)
	}
}

func TestSettingsThatMeanNothingAreSaidAndTheDefaultHolds(t *testing.T) {
	b := build(t)
	for _, setting := range []string{"PRLX_NCCL_LEVEL=9", "PRLX_NCCL_MAX_BYTES=1K", "PRLX_NCCL_MAX_BYTES=lots", "PRLX_NCCL_DUTY=5"} {
		dir := t.TempDir()
		out := b.play(t, dir, []string{setting, "REPLAY_LOG=1"}, "comms", "2")
		if !strings.Contains(out, setting+" is not ") {
			t.Errorf("%s: the log says %q", setting, out)
		}
		if f := decode(t, recording(t, dir)).file; f.Level != 3 && f.Level != 0 || f.MaxBytes < 4<<20 {
			t.Errorf("%s: level %d, %d bytes", setting, f.Level, f.MaxBytes)
		}
	}
}

// TestAForkedChildIsSilent plays on in two children with handles of the parent: the file has the parent's calls alone.
func TestAForkedChildIsSilent(t *testing.T) {
	b := build(t)
	dir := t.TempDir()
	b.play(t, dir, nil, "fork", filepath.Join(dir, "truth"))
	d := decode(t, recording(t, dir))
	if n := same(t, d, filepath.Join(dir, "truth"), false); n != 7 {
		t.Errorf("%d calls were compared, want 7", n)
	}
	if d.file.State != segment.Ended {
		t.Errorf("state %d: the parent ended by exit", d.file.State)
	}
}

// TestMemoryAndThreadsStaySmall: ten thousand threads share a few entries, a thousand communicators cost no memory.
func TestMemoryAndThreadsStaySmall(t *testing.T) {
	b := build(t)
	for _, args := range [][]string{{"churn", "10000"}, {"comms", "1000"}} {
		dir := t.TempDir()
		printed := b.play(t, dir, nil, args...)
		var calls, grown int
		if _, err := fmt.Sscan(printed, &calls, &grown); err != nil {
			t.Fatalf("%q: %v", printed, err)
		}
		d := decode(t, recording(t, dir))
		if d.calls+int(d.lost()) != calls || grown > 64<<10 {
			t.Errorf("%v: %d calls of %d are recorded, memory grew by %d KiB", args, d.calls, calls, grown)
		}
		if len(d.file.Threads) > 64 {
			t.Errorf("%v: %d entries of threads, of which two lived at a time", args, len(d.file.Threads))
		}
	}
}

// counters are what a recording says of its losses, read from its head and its table of threads alone.
func counters(t *testing.T, path string) (f *segment.File, lost, overwritten uint64) {
	t.Helper()
	f, err := segment.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	d := decoded{file: f}
	for _, n := range f.Overwritten {
		overwritten += n
	}
	return f, d.lost(), overwritten
}

// TestMemoryStaysSmallWithDefaultSettings: a flood of which a file of the default size keeps the end. In the long run 10^8 events.
func TestMemoryStaysSmallWithDefaultSettings(t *testing.T) {
	b := build(t)
	each := 1_500_000
	if corpus() {
		each = 25_000_000
	}
	dir := t.TempDir()
	out := b.play(t, dir, []string{"PRLX_NCCL_MAX_BYTES="}, "flood", "4", strconv.Itoa(each))
	var calls, grown int
	if _, err := fmt.Sscan(out, &calls, &grown); err != nil || calls < 4*each {
		t.Fatalf("%q: %v", out, err)
	}
	path := recording(t, dir)
	f, lost, overwritten := counters(t, path)
	info, err := os.Stat(path)
	if err != nil || info.Size() > f.MaxBytes || f.MaxBytes != 256<<20 || grown > 64<<10 {
		t.Errorf("the file has %d bytes (%v), %d were allowed; memory grew by %d KiB", info.Size(), err, f.MaxBytes, grown)
	}
	t.Logf("%d calls, %d lost, %d overwritten; memory grew by %d KiB, the file has %d bytes", calls, lost, overwritten, grown, info.Size())
}

// TestWhatAMachineCanOfferIsRecorded: four threads at two million calls a second each, for as long as there is room. What this machine
// offered stands in the log: a busy one offers less. Loss is counted whatever it is.
func TestWhatAMachineCanOfferIsRecorded(t *testing.T) {
	b := build(t)
	rate, seconds := "200000", "0.5"
	if corpus() {
		rate, seconds = "2000000", "10"
	}
	dir := t.TempDir()
	for _, args := range [][]string{{"paced", "4", rate, seconds}, {"overload", "4", "100000"}} {
		out := b.play(t, dir, nil, args...)
		path := recording(t, dir)
		_, lost, _ := counters(t, path)
		t.Logf("%s: %s; %d lost", args[0], strings.TrimSpace(out), lost)
		if !corpus() || args[0] == "overload" {
			counted(t, out, decode(t, path))
		}
		os.Remove(path)
	}
}

// TestAKillLosesNothing kills the harness at random instants while it writes each call down: all of them are in the file.
func TestAKillLosesNothing(t *testing.T) {
	b := build(t)
	kills := 6
	if corpus() {
		kills = 1000
	}
	compared := 0
	for k := range kills {
		t.Run(fmt.Sprint(k), func(t *testing.T) { compared += killed(t, b, k) })
	}
	t.Logf("%d calls before %d kills are all there", compared, kills)
}

// killed plays until it is killed, and returns how many calls were compared.
func killed(t *testing.T, b built, seed int) int {
	dir := t.TempDir()
	path := filepath.Join(dir, "truth")
	cmd := b.command(dir, []string{"REPLAY_SYNC=1"}, "random", path, fmt.Sprint(seed), "100000000", "3")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if info, err := os.Stat(path + ".0"); err == nil && info.Size() > 1000 {
			break
		}
	}
	if seed%2 == 0 { // the others while communicators come into being
		time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	d := decode(t, recording(t, dir))
	if d.file.State != segment.Recording {
		t.Errorf("state %d after a kill", d.file.State)
	}
	return same(t, d, path, true)
}

// TestAKillWhileTheFileIsMadeHurtsNobody: what is left is no recording yet, is named in a warning, and those of others are read beside it.
func TestAKillWhileTheFileIsMadeHurtsNobody(t *testing.T) {
	b := build(t)
	kills := 10
	if corpus() {
		kills = 300
	}
	whole := t.TempDir()
	b.play(t, whole, nil, "comms", "2")
	found := map[segment.State]int{}
	for range kills {
		dir := t.TempDir()
		cmd := b.command(dir, nil, "comms", "100000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var made []string
		for until := time.Now().Add(time.Minute); len(made) == 0 && time.Now().Before(until); {
			made, _ = filepath.Glob(filepath.Join(dir, "*.prlx-nccl"))
		}
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		cmd.Process.Kill()
		cmd.Wait()
		all, warnings, err := reading.Read(job.New(context.Background(), job.Options{}), append(made, recording(t, whole)), reading.Options{})
		if err != nil || len(all)+len(warnings) != 2 {
			t.Fatalf("%d recordings, warnings %q, %v", len(all), warnings, err)
		}
		found[segment.State(len(all)-1)]++
	}
	t.Logf("of %d files that were killed early, %d were not made yet", kills, found[segment.Making])
}

// TestRCCLIsTold: under RCCL's name the fields that RCCL adds to proxy operations of version 6 are kept.
func TestRCCLIsTold(t *testing.T) {
	b := build(t)
	dir := t.TempDir()
	b.plugin = filepath.Join(dir, "librccl-profiler-prlx.so")
	if err := compilePlugin("cc", b.plugin); err != nil {
		t.Fatal(err)
	}
	b.play(t, dir, nil, "random", filepath.Join(dir, "truth"), "3", "50000", "2")
	d := decode(t, recording(t, dir))
	if !d.file.RCCL {
		t.Error("the file does not say that it is RCCL's")
	}
	same(t, d, filepath.Join(dir, "truth"), false)
}
