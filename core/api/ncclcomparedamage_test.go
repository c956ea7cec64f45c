package api

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/nccl/dividing"
	"github.com/prlx-go/prlx/core/testing/nccltest"
)

// twoRuns are pairs of runs of one job in a folder: the files of B begin with b-. In one pair B takes longer, in the other it does not.
func twoRuns() (out []*folder) {
	for _, slow := range []bool{true, false} {
		f := &folder{name: fmt.Sprintf("two runs, B slower %v", slow), files: map[string][]byte{}}
		for again, side := range []string{"a-", "b-"} {
			p := nccltest.Plan{
				Seed: 11, Again: uint64(again) + 1, Ranks: 4, PerHost: 1, Channels: 1, Steps: 8, Ops: 60, Level: 3, ComputeNS: 3e6, Jitter: 0.03, Uneven: 0.02, TailNS: 1_000_000_000,
			}
			if slow && side == "b-" {
				p.Fault, p.Rank, p.At, p.Factor = nccltest.SlowLink, 2, 0, 6
			}
			for rank, file := range nccltest.Simulate(p) {
				f.files[fmt.Sprintf("%snode%d-%d.prlx-nccl", side, rank, 1000+rank)] = file.Bytes()
			}
		}
		out = append(out, f)
	}
	return out
}

// askCompare compares the files of a folder that do not begin with b- with those that do.
func askCompare(t *testing.T, dir string) (answered, bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	sides := map[bool]string{false: t.TempDir(), true: t.TempDir()}
	for _, entry := range entries {
		name := entry.Name()
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, sides[strings.HasPrefix(name, "b-")], name, b)
	}
	d, refused := operate[dividing.Comparison](t, "nccl_compare", map[string]any{"a": []string{sides[false]}, "b": []string{sides[true]}})
	if refused {
		return answered{}, true
	}
	return answered{Outcome: d.Conclusion.Outcome, Says: d.Status}, false
}

// TestADamagedFileMakesNoRunFaster damages one file of two runs of which it is known whether the second takes longer.
func TestADamagedFileMakesNoRunFaster(t *testing.T) {
	kinds := slices.DeleteFunc(slices.Clone(kindsOfDamage), func(kind string) bool { return kind == "older job" })
	try(t, "compare", twoRuns(), kinds, nil, askCompare)
}
