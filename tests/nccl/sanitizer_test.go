package nccl_test

import (
	"path/filepath"
	"testing"
)

// TestSanitizersFindNothing plays everything under ASan with UBSan, and under TSan. A finding ends the harness with an error.
func TestSanitizersFindNothing(t *testing.T) {
	for _, name := range []string{"address,undefined", "thread"} {
		t.Run(name, func(t *testing.T) {
			b := sanitized(t, name)
			environment := []string{"ASAN_OPTIONS=detect_leaks=0", "UBSAN_OPTIONS=halt_on_error=1", "TSAN_OPTIONS=halt_on_error=1"}
			for _, release := range []string{"226", "232"} {
				dir := t.TempDir()
				b.play(t, dir, environment, "sequences", release, filepath.Join(dir, "truth"), "100")
				same(t, decode(t, recording(t, dir)), filepath.Join(dir, "truth"), false)
			}
			dir := t.TempDir()
			b.play(t, dir, environment, "random", filepath.Join(dir, "truth"), "7", "20000", "4")
			same(t, decode(t, recording(t, dir)), filepath.Join(dir, "truth"), false)
			b.play(t, t.TempDir(), environment, "churn", "100")
			b.play(t, t.TempDir(), append(environment, "PRLX_NCCL_MAX_BYTES=4M"), "flood", "4", "60000")
			if name != "thread" { // TSan does not follow a child that makes threads
				b.play(t, t.TempDir(), environment, "fork", filepath.Join(dir, "forked"))
			}
		})
	}
}
