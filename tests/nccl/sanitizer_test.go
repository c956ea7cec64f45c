package nccl_test

import (
	"path/filepath"
	"testing"
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
			for _, release := range []string{"223", "227", "232"} {
				truthful("sequences", release, "TRUTH", "20")
			}
			truthful("random", "TRUTH", "7", "20000", "4")
			truthful("reload", "TRUTH")
			truthful("ends", "return", "TRUTH")
			b.play(t, t.TempDir(), environment, "churn", "100")
			b.play(t, t.TempDir(), environment, "comms", "1000")
			b.play(t, t.TempDir(), append(environment, "PRLX_NCCL_MAX_BYTES=4M"), "flood", "4", "60000")
			b.play(t, t.TempDir(), append(environment, "PRLX_NCCL_DIR=/proc/1"), "sequences", "232", filepath.Join(t.TempDir(), "truth"), "10")
			for _, args := range [][]string{{"limits", "files", "10000"}, {"limits", "files-later", "200000"}, {"signals", "enters", "300000"}, {"signals", "interrupts", "300000"}} {
				b.play(t, t.TempDir(), environment, args...)
			}
			if name != "thread" { // TSan does not follow a child that makes threads
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
			b.play(t, t.TempDir(), chain, "random", filepath.Join(t.TempDir(), "truth"), "3", "20000", "4")
		})
	}
}
