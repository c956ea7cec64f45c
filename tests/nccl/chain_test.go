package nccl_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/nccl/segment"
)

// second compiles the plug-in of second/, which follows its own handles, with the versions that the bits name.
func second(t *testing.T, versions int, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "libnccl-profiler-second.so")
	args := append([]string{"-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fPIC", "-fvisibility=hidden", "-shared", fmt.Sprintf("-DSECOND_VERSIONS=%d", versions), "-o", out}, flags...)
	if err := run("cc", append(args, "second/second.c")...); err != nil {
		t.Fatal(err)
	}
	return out
}

// chained is what the second plug-in says that it got.
type chained struct {
	inits, finals, stops, states, nulls, parents, groups, sums uint64
	starts                                                     [64]uint64
}

func readChained(t *testing.T, path string) chained {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c chained
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if _, err := fmt.Sscanf(lines[0], "inits %d finals %d stops %d states %d nulls %d parents %d groups %d sums %d", &c.inits, &c.finals, &c.stops, &c.states, &c.nulls, &c.parents, &c.groups, &c.sums); err != nil {
		t.Fatalf("%q: %v", lines[0], err)
	}
	for _, one := range lines[1:] {
		var k int
		var n uint64
		if _, err := fmt.Sscanf(one, "type %d %d", &k, &n); err != nil {
			t.Fatalf("%q: %v", one, err)
		}
		c.starts[k] = n
	}
	return c
}

// recordedStarts counts the starts of a truth by type. own: of communicators of this process that are not finalized.
func recordedStarts(t *testing.T, path string, cookie uint32) (starts [64]uint64, inits uint64) {
	t.Helper()
	lines, _ := truth(t, path, 1<<16) // no cookie: nothing is left out
	for _, all := range lines {
		finalized := map[uint64]bool{} // in which the second plug-in frees its context
		for _, one := range all {
			words := strings.Fields(one)
			if words[0][0] == 'I' {
				inits++
			}
			var kind, context uint64
			if words[0][0] == 'F' {
				fmt.Sscanf(words[1], "%x", &context)
				finalized[context] = true
			}
			if words[0][0] != 'S' {
				continue
			}
			if _, err := fmt.Sscanf(words[2]+" "+words[3], "%x %x", &kind, &context); err != nil {
				t.Fatal(err)
			}
			if context>>48 != uint64(cookie) || finalized[context] {
				continue
			}
			for bit := range 16 {
				if kind == 1<<bit {
					starts[bit]++
				}
			}
		}
	}
	return starts, inits
}

// TestASecondPluginGetsEveryCall with handles, parents and contexts of its own, at each release, and the recording is as it would be.
func TestASecondPluginGetsEveryCall(t *testing.T) {
	b, other := build(t), second(t, 0xfe)
	for _, release := range []string{"223", "224", "226", "227", "228", "229", "232"} {
		dir := t.TempDir()
		path, says := filepath.Join(dir, "truth"), filepath.Join(dir, "says")
		b.play(t, dir, []string{"PRLX_NCCL_CHAIN=" + other, "SECOND_SAYS=" + says}, "sequences", release, path, "50")
		d := decode(t, recording(t, dir))
		same(t, d, path, false)
		got := readChained(t, says)
		want, inits := recordedStarts(t, path, d.file.Cookie)
		if got.starts != want {
			t.Errorf("release %s: started\n%v, want\n%v", release, got.starts, want)
		}
		if got.inits != inits || got.finals == 0 || got.stops == 0 || got.states == 0 || got.nulls == 0 || got.parents == 0 {
			t.Errorf("release %s: %+v, %d inits", release, got, inits)
		}
		if d.file.Chain != segment.ChainOn || d.file.ChainForgotten != 0 || d.file.ChainWithheld == 0 {
			t.Errorf("release %s: chain %d, forgotten %d, withheld %d", release, d.file.Chain, d.file.ChainForgotten, d.file.ChainWithheld)
		}
	}
}

// TestASecondPluginOfAnOlderVersionGetsWhatItKnows: version 6 reads what NCCL describes in version 7.
func TestASecondPluginOfAnOlderVersionGetsWhatItKnows(t *testing.T) {
	b := build(t)
	for _, c := range []struct {
		versions int
		release  string
		on       bool
	}{{1 << 6, "232", true}, {1 << 5, "232", true}, {1 << 6, "228", true}, {1 << 7, "229", false}, {1 << 4, "232", false}, {1 << 5, "227", false}, {1 << 3, "224", false}} {
		dir := t.TempDir()
		path, says := filepath.Join(dir, "truth"), filepath.Join(dir, "says")
		out := b.play(t, dir, []string{"PRLX_NCCL_CHAIN=" + second(t, c.versions), "SECOND_SAYS=" + says, "REPLAY_LOG=1"}, "sequences", c.release, path, "20")
		d := decode(t, recording(t, dir))
		same(t, d, path, false)
		if on := d.file.Chain == segment.ChainOn; on != c.on {
			t.Errorf("versions %x at release %s: chain %d", c.versions, c.release, d.file.Chain)
		}
		// Versions before 4 have no logger.
		if !c.on && c.release > "226" && !strings.Contains(out, "has no version of the profiler interface that can read") {
			t.Errorf("versions %x at release %s: the log says %q", c.versions, c.release, out)
		}
		got := readChained(t, says)
		if c.on && (got.starts[1] == 0 || got.starts[15] != 0) || !c.on && got.inits != 0 {
			t.Errorf("versions %x at release %s: %+v", c.versions, c.release, got)
		}
	}
}

// TestTheFaultsOfASecondPluginStayItsOwn: whatever is wrong with it, all is recorded.
func TestTheFaultsOfASecondPluginStayItsOwn(t *testing.T) {
	b, other := build(t), second(t, 0xfe)
	for name, c := range map[string]struct {
		environment []string
		chain       segment.Chain
		said        string
	}{
		"its init fails":      {[]string{"SECOND_FAILS=1", "PRLX_NCCL_CHAIN=" + other}, segment.ChainOff, "init of second failed with 3"},
		"it gives no handles": {[]string{"SECOND_SILENT=1", "PRLX_NCCL_CHAIN=" + other}, segment.ChainOn, ""},
		"it is not there":     {[]string{"PRLX_NCCL_CHAIN=/nowhere/lib.so"}, segment.ChainNever, "the chain is off: /nowhere/lib.so: cannot open"},
		"it is no plug-in":    {[]string{"PRLX_NCCL_CHAIN=libc.so.6"}, segment.ChainNever, "has no version"},
		"it is ourselves":     {[]string{"PRLX_NCCL_CHAIN=" + b.plugin}, segment.ChainNever, "is this plug-in itself"},
		"its name is long":    {[]string{"PRLX_NCCL_CHAIN=/" + strings.Repeat("x", 5000)}, segment.NoChain, "is not a path of less than 4096 bytes"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "truth")
		out := b.play(t, dir, append(c.environment, "REPLAY_LOG=1"), "sequences", "232", path, "20")
		d := decode(t, recording(t, dir))
		if n := same(t, d, path, false); n < 1000 {
			t.Errorf("%s: %d calls are recorded", name, n)
		}
		if d.file.Chain != c.chain || !strings.Contains(out, c.said) {
			t.Errorf("%s: chain %d, the log says %q", name, d.file.Chain, out)
		}
	}
}

// TestAChainAsksForMoreAndRecordsNoMore: NCCL delivers what either asks for; each gets what it asked for and the parents of that.
func TestAChainAsksForMoreAndRecordsNoMore(t *testing.T) {
	b, other := build(t), second(t, 0xfe)
	dir := t.TempDir()
	path, says := filepath.Join(dir, "truth"), filepath.Join(dir, "says")
	b.play(t, dir, []string{"PRLX_NCCL_LEVEL=0", "SECOND_MASK=8", "PRLX_NCCL_CHAIN=" + other, "SECOND_SAYS=" + says}, "sequences", "232", path, "20")
	d := decode(t, recording(t, dir))
	var recorded [64]int
	for _, lines := range d.lines {
		for _, one := range lines {
			var handle, kind uint64
			if n, _ := fmt.Sscanf(one, "S7 %x %x", &handle, &kind); n == 2 {
				for bit := range 16 {
					if kind == 1<<bit {
						recorded[bit]++
					}
				}
			}
		}
	}
	got := readChained(t, says)
	for bit, name := range map[int]string{0: "Group", 1: "Coll", 3: "ProxyOp", 8: "GroupApi", 9: "CollApi"} {
		if got.starts[bit] == 0 {
			t.Errorf("the second plug-in got no %s", name)
		}
	}
	for bit, name := range map[int]string{4: "ProxyStep", 5: "ProxyCtrl", 6: "KernelCh", 11: "KernelLaunch", 12: "CeColl"} {
		if got.starts[bit] != 0 {
			t.Errorf("the second plug-in got %s, which it did not ask for", name)
		}
	}
	if recorded[1] == 0 || recorded[11] == 0 || recorded[3]+recorded[4]+recorded[6] > 5 /* after a change of the mask by the control */ {
		t.Errorf("recorded at level 0: %v", recorded)
	}
	if n := len(d.file.Masks); n == 0 || d.file.Masks[n-1].NCCL&8 == 0 || d.file.Masks[n-1].NCCL&2 == 0 {
		t.Errorf("NCCL was asked for %+v", d.file.Masks)
	}
}

// TestAChainGoesOnWhereNothingCanBeRecorded: the second plug-in does not depend on our disk.
func TestAChainGoesOnWhereNothingCanBeRecorded(t *testing.T) {
	b, other := build(t), second(t, 0xfe)
	dir := t.TempDir()
	says := filepath.Join(dir, "says")
	b.play(t, "/proc/1", []string{"PRLX_NCCL_CHAIN=" + other, "SECOND_SAYS=" + says}, "sequences", "232", filepath.Join(dir, "truth"), "20")
	if got := readChained(t, says); got.starts[4] < 1000 || got.stops < 1000 || got.parents == 0 || got.groups == 0 {
		t.Errorf("the second plug-in got %+v", got)
	}
}

// TestTwoRecordersInAProcess: a copy of the library is another plug-in, with a file and handles of its own.
func TestTwoRecordersInAProcess(t *testing.T) {
	b := build(t)
	dir := t.TempDir()
	copied, path := filepath.Join(t.TempDir(), "libnccl-profiler-copy.so"), filepath.Join(dir, "truth")
	library, err := os.ReadFile(b.plugin)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, library, 0o700); err != nil {
		t.Fatal(err)
	}
	b.play(t, dir, []string{"PRLX_NCCL_CHAIN=" + copied}, "sequences", "232", path, "20")
	all, _ := filepath.Glob(filepath.Join(dir, "*.prlx-nccl"))
	if len(all) != 2 {
		t.Fatalf("there are %v", all)
	}
	first, other := decode(t, all[0]), decode(t, all[1])
	if first.file.Chain != segment.ChainOn {
		first, other = other, first
	}
	n := same(t, first, path, false)
	// What was not passed on: an operation of another process with its steps, and what came after finalize.
	if missing := n - other.calls - int(other.lost()); missing < 10 || missing > 100 || first.file.Chain != segment.ChainOn || other.file.Chain != segment.ChainNever {
		t.Errorf("%d calls in the first, %d in the second; chains %d and %d", n, other.calls, first.file.Chain, other.file.Chain)
	}
}

// TestRandomCallsThroughAChain: numbers that nobody gave out never reach the second plug-in, which would follow them.
func TestRandomCallsThroughAChain(t *testing.T) {
	b, other := build(t), second(t, 0xfe)
	for seed := range 3 {
		dir := t.TempDir()
		path := filepath.Join(dir, "truth")
		b.play(t, dir, []string{"PRLX_NCCL_CHAIN=" + other}, "random", path, fmt.Sprint(seed), "60000", "4")
		d := decode(t, recording(t, dir))
		same(t, d, path, false)
		if d.file.Chain != segment.ChainOn || d.file.ChainWithheld == 0 {
			t.Errorf("chain %d, withheld %d", d.file.Chain, d.file.ChainWithheld)
		}
	}
}
