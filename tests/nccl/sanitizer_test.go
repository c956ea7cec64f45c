package nccl_test

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/prlx-go/prlx/core/testing/sweep"
)

// TestSanitizersFindNothing plays everything under ASan with UBSan, and under TSan: the sequences of D2, random calls, and the faults that a
// sanitizer can go along with. A finding ends the harness with an error.
func TestSanitizersFindNothing(t *testing.T) {
	for _, name := range []string{"address,undefined", "thread"} {
		t.Run(name, func(t *testing.T) {
			b := sanitized(t, name)
			environment := []string{"ASAN_OPTIONS=detect_leaks=0", "UBSAN_OPTIONS=halt_on_error=1", "TSAN_OPTIONS=halt_on_error=1"}
			truthful := func(args ...string) {
				dir := t.TempDir()
				path := filepath.Join(dir, "truth")
				for i, one := range args {
					if one == "TRUTH" {
						args[i] = path
					}
				}
				b.play(t, dir, environment, args...)
				same(t, decode(t, recording(t, dir)), path, false)
			}
			releases := []string{"223", "227", "232"}
			if corpus() {
				releases = []string{"223", "224", "225", "226", "227", "228", "229", "230", "231", "232"}
			}
			for _, release := range releases {
				truthful("sequences", release, "TRUTH", "20")
			}
			truthful("allreduces", "TRUTH", "20", "64")
			truthful("random", "TRUTH", "7", calls(20000), "4")
			truthful("reload", "TRUTH")
			truthful("ends", "return", "TRUTH")
			b.play(t, t.TempDir(), environment, "churn", calls(100))
			b.play(t, t.TempDir(), environment, "comms", calls(1000))
			b.play(t, t.TempDir(), append(environment, "PRLX_NCCL_MAX_BYTES=4M"), "flood", "4", "30000")
			b.play(t, t.TempDir(), append(environment, "PRLX_NCCL_MAX_BYTES=4M"), "flood", "40", calls(5000)) // more threads than segments
			for _, mode := range []string{"pxn", "finalized", "channel63", "channels"} {
				b.play(t, t.TempDir(), environment, mode)
			}
			fullDisks(t, b, environment)
			b.play(t, t.TempDir(), append(environment, "PRLX_NCCL_DIR=/proc/1"), "sequences", "232", filepath.Join(t.TempDir(), "truth"), "10")
			for _, args := range [][]string{{"limits", "files", calls(10000)}, {"limits", "files-later", calls(50000)}, {"signals", "enters", calls(100000)}, {"signals", "interrupts", calls(50000)}} {
				b.play(t, t.TempDir(), environment, args...)
			}
			if name != "thread" { // TSan does not follow a child that makes threads
				b.play(t, t.TempDir(), environment, "pair", filepath.Join(t.TempDir(), "truth"), "50") // two recordings, as exec makes
				b.play(t, t.TempDir(), environment, "exec", filepath.Join(t.TempDir(), "truth"))
				for _, args := range [][]string{{"fork", "TRUTH"}, {"daemon", "before", "TRUTH"}, {"daemon", "after", "TRUTH"}} {
					truthful(args...)
				}
			}
			chain := append(environment, "PRLX_NCCL_CHAIN="+second(t, 0xfe, "-fsanitize="+name))
			for _, release := range []string{"224", "232"} {
				dir := t.TempDir()
				b.play(t, dir, chain, "sequences", release, filepath.Join(dir, "truth"), "50")
				same(t, decode(t, recording(t, dir)), filepath.Join(dir, "truth"), false)
			}
			b.play(t, t.TempDir(), chain, "random", filepath.Join(t.TempDir(), "truth"), "3", calls(20000), "4")
		})
	}
}

// calls is how many calls a sanitizer looks at: a fifth of all, and all in the full sweep. It slows each down ten times and more.
func calls(all int) string { return strconv.Itoa(sweep.Of(all/5, all)) }

// fullDisks plays where a file system gets full, is full before there is a file, or takes nothing, if file systems can be mounted here.
func fullDisks(t *testing.T, b built, environment []string) {
	t.Helper()
	if exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", t.TempDir()).Run() != nil {
		t.Log("file systems cannot be mounted here: 3 disks are left out")
		return
	}
	mount := t.TempDir()
	all := b.command(mount, environment).Env
	for name, script := range map[string]string{
		"gets full": "mount -t tmpfs -o size=8m none %[1]s; %[2]s %[3]s flood 2 60000; ls %[1]s | grep -q prlx-nccl",
		"is full":   "mount -t tmpfs -o size=3m none %[1]s; head -c 3000000 /dev/zero > %[1]s/full || true; %[2]s %[3]s flood 2 20000",
		"read-only": "mount -t tmpfs -o ro none %[1]s; %[2]s %[3]s flood 2 20000",
	} {
		if out, err := unshared(t, all, script, mount, b.replay, b.plugin); err != nil {
			t.Errorf("a disk that %s: %v: %s", name, err, out)
		}
	}
}
