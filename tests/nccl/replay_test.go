package nccl_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// corpus reports whether the long runs are asked for.
func corpus() bool { return os.Getenv("PRLX_NCCL_ALL") != "" }

// TestWhatIsRecordedIsWhatWasPlayed plays random legal and illegal events of all versions from four threads.
func TestWhatIsRecordedIsWhatWasPlayed(t *testing.T) {
	b := build(t)
	events, seeds := 100_000, 2
	if corpus() {
		events, seeds = 1_000_000, 10
	}
	compared := 0
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := t.TempDir()
			b.play(t, dir, nil, "random", filepath.Join(dir, "truth"), fmt.Sprint(seed), fmt.Sprint(events), "4")
			n := same(t, decode(t, recording(t, dir)), filepath.Join(dir, "truth"), false)
			if n < events/2 {
				t.Errorf("%d calls were compared, %d were asked for", n, events)
			}
			compared += n
		})
	}
	t.Logf("%d events were played, %d calls compared: those of masked events are left out", seeds*events, compared)
}

// TestSequencesOfEveryRelease plays what NCCL 2.23 to 2.32 do.
func TestSequencesOfEveryRelease(t *testing.T) {
	b := build(t)
	for _, release := range []int{223, 224, 225, 226, 227, 228, 229, 230, 231, 232} {
		dir := t.TempDir()
		b.play(t, dir, nil, "sequences", fmt.Sprint(release), filepath.Join(dir, "truth"), "2000")
		if n := same(t, decode(t, recording(t, dir)), filepath.Join(dir, "truth"), false); n < 10_000 {
			t.Errorf("release %d: %d calls were compared", release, n)
		}
	}
}
