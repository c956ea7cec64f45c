package session

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
)

func compare(t testing.TB, a, b string, opt Options) *Document {
	t.Helper()
	return compareWith(t, a, b, opt, 2)
}

func compareWith(t testing.TB, a, b string, opt Options, workers int) *Document {
	t.Helper()
	d, err := Compare(job.New(t.Context(), job.Options{Workers: workers, MemoryLimit: 256 << 20}), open(t, a), open(t, b), opt)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func statuses(d *Document) string {
	var out []string
	for i := range d.KernelResults {
		out = append(out, d.KernelResults[i].Kernel+" "+d.KernelResults[i].Status)
	}
	return strings.Join(out, ", ")
}

func TestEqualSessionsAreIdentical(t *testing.T) {
	dir := write(t, launch("f", 1, 2), launch("g", 3))
	d := compare(t, dir, dir, Options{})
	if d.Status != statusIdentical || !d.Passed || d.First != nil || !d.Sequence.Same || d.Totals.Identical != 2 || d.Totals.EventsA != 3 {
		t.Errorf("got %+v", d)
	}
	if d.Verdict != "2 launches of both sessions agree; compared: control flow of 2 launches; outputs, values not compared" {
		t.Errorf("the verdict is %q", d.Verdict)
	}
}

// TestSessionsWithoutALaunchAreNotTheSame: nothing was looked at.
func TestSessionsWithoutALaunchAreNotTheSame(t *testing.T) {
	d := compare(t, write(t), write(t), Options{})
	if d.Status != StatusInconclusive || d.Passed || !strings.HasPrefix(d.Verdict, "neither session holds a launch") {
		t.Errorf("got %s, passed %v: %s", d.Status, d.Passed, d.Verdict)
	}
}

func TestOneMoreLaunchAtTheFrontUnmatchesNothing(t *testing.T) {
	a := write(t, launch("f", 1, 2), launch("g", 3), launch("f", 4))
	b := write(t, launch("warmup", 9), launch("f", 1, 2), launch("g", 3), launch("f", 4))
	d := compare(t, a, b, Options{})
	if got := statuses(d); got != "f identical, g identical, f identical" {
		t.Errorf("got %s", got)
	}
	if want := []string{"warmup (launch 0)"}; !reflect.DeepEqual(d.UnmatchedB, want) || len(d.UnmatchedA) > 0 || d.Inserted[0].File != "warmup_0.prlx" {
		t.Errorf("got %q and %q, want %q in B", d.UnmatchedA, d.UnmatchedB, want)
	}
	want := &Departure{What: "inserted", Kernel: "warmup"}
	if d.Status != StatusDiverged || d.Passed || d.First != nil || !reflect.DeepEqual(d.Sequence.First, want) {
		t.Errorf("got %s, %+v, %+v", d.Status, d.First, d.Sequence.First)
	}
	if !strings.HasPrefix(d.Verdict, "3 launches of both sessions agree; 1 only in B; compared: ") {
		t.Errorf("the verdict is %q", d.Verdict)
	}
}

func TestTheFirstLaunchThatDiffersIsGivenInFull(t *testing.T) {
	a := write(t, launch("f", 1, 2), launch("g", 3, 4), launch("h", 1, 5))
	b := write(t, launch("f", 1, 2), recorded{kernel: "g", grid: 1, sites: []uint32{3, 4}, taken: []bool{false, true}}, launch("h", 1, 6))
	d := compare(t, a, b, Options{})
	if got := statuses(d); got != "f identical, g diverged, h diverged" {
		t.Errorf("got %s", got)
	}
	if d.First == nil || d.First.Kernel != "g" || d.First.Launch != 1 || d.First.Diff == nil || d.First.Diff.First == nil ||
		d.First.Diff.First.Kind != diff.KindBranch || d.First.Diff.First.EventIdx != 1 {
		t.Errorf("got %+v", d.First)
	}
	if r := d.KernelResults[1]; r.Divergences != 1 || r.Breakdown[diff.KindBranch] != 1 || r.First == nil || r.First.EventIdx != 1 {
		t.Errorf("got %+v", r)
	}
	if sum := d.KernelResults[1].Divergences + d.KernelResults[2].Divergences; d.TotalDivergences != sum || d.Passed {
		t.Errorf("%d divergences, want %d", d.TotalDivergences, sum)
	}
	if d := compare(t, a, b, Options{Diff: diff.Options{MaxDivergences: diff.Allowed{Total: d.TotalDivergences}}}); !d.Passed || d.Status != StatusDiverged {
		t.Errorf("below the threshold it is %s and passed is %v", d.Status, d.Passed)
	}
}

func TestBrokenLaunchesDoNotStopTheOthers(t *testing.T) {
	launches := []recorded{launch("f", 1), launch("g", 2), launch("h", 3), {kernel: "i", grid: 1, sites: []uint32{4}}, launch("j", 5)}
	a, b := write(t, launches...), write(t, launches...)
	launches[3].grid = 7
	other := filepath.Join(b, "i_3.prlx")
	for _, err := range []error{
		os.Remove(filepath.Join(b, "f_0.prlx")), os.Truncate(filepath.Join(a, "g_1.prlx"), 99), os.WriteFile(other, launches[3].encode(t), 0o644),
		os.Remove(filepath.Join(b, "h_2.prlx")), os.Symlink("/dev/zero", filepath.Join(b, "h_2.prlx")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	d := compare(t, a, b, Options{})
	if got := statuses(d); got != "f error, g error, h error, i error, j identical" {
		t.Fatalf("got %s", got)
	}
	var kinds []string
	for _, r := range d.KernelResults[:4] {
		kinds = append(kinds, r.ErrorKind)
		if r.Error == "" {
			t.Errorf("%s has no error", r.Kernel)
		}
	}
	if want := []string{"io", "format", "format", "incompatible"}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("got %q, want %q", kinds, want)
	}
	if d.Passed || d.Status != StatusError || d.Totals.Errors != 4 || !strings.HasPrefix(d.Verdict, "1 launch of both sessions agrees; 4 could not be compared; compared: ") {
		t.Errorf("got %+v: %s", d.Totals, d.Verdict)
	}
}

func TestAnotherGridIsSaidAndNotCompared(t *testing.T) {
	a := write(t, launch("f", 1), recorded{kernel: "g", grid: 2, sites: []uint32{2}})
	b := write(t, launch("f", 1), recorded{kernel: "g", grid: 3, sites: []uint32{2}})
	d := compare(t, a, b, Options{})
	r := d.KernelResults[1]
	if r.Status != StatusError || r.ErrorKind != "incompatible" || r.MatchedBy != ByKernel || r.GridB == nil || r.GridB[0] != 3 {
		t.Errorf("got %+v", r)
	}
	if !strings.HasPrefix(r.Error, "the recordings are not of the same launch: grid 2x1x1 and 3x1x1") || !strings.HasSuffix(r.Error, "; --force compares them all the same, warp by warp") {
		t.Errorf("the launch says %q, and not what to do about it", r.Error)
	}
	if d.Sequence.OtherShape != 1 || d.Sequence.First.What != "other-shape" {
		t.Errorf("got %+v", d.Sequence)
	}
	d = compare(t, a, b, Options{Diff: diff.Options{Force: true}})
	if r := d.KernelResults[1]; r.Status != statusIdentical || len(r.Warnings) == 0 {
		t.Errorf("with force: %+v", r)
	}
}

func TestLaunchesInAnotherOrderAreFound(t *testing.T) {
	a := write(t, launch("f", 1), launch("g", 2), launch("h", 3), launch("i", 1, 4))
	b := write(t, launch("h", 3), launch("f", 1), launch("g", 2), launch("i", 1, 9))
	d := compare(t, a, b, Options{})
	if got := statuses(d); got != "f identical, g identical, h identical, i diverged" {
		t.Errorf("got %s", got)
	}
	if d.Sequence.Moved != 1 || d.Sequence.Same || len(d.UnmatchedA)+len(d.UnmatchedB) > 0 || !strings.Contains(strings.Join(d.Warnings, "\n"), "another order") {
		t.Errorf("got %+v, %q", d.Sequence, d.Warnings)
	}
}

func TestVerdictsOfOneLaunchAreInTheSingular(t *testing.T) {
	other := recorded{kernel: "f", grid: 1, sites: []uint32{1}, taken: []bool{true}}
	for _, c := range []struct {
		a, b []recorded
		want string
	}{
		{[]recorded{launch("f", 1)}, []recorded{other}, "1 of 1 launch differs, the first is f (launch 0)"},
		{[]recorded{launch("f", 1), launch("g", 2)}, []recorded{other, launch("g", 2)}, "1 of 2 launches differs, "},
		{[]recorded{launch("f", 1), launch("f", 1)}, []recorded{other, other}, "2 of 2 launches differ, "},
		{[]recorded{launch("f", 1)}, []recorded{launch("f", 1)}, "1 launch of both sessions agrees; "},
	} {
		if d := compare(t, write(t, c.a...), write(t, c.b...), Options{}); !strings.HasPrefix(d.Verdict, c.want) {
			t.Errorf("got %q, want it to begin with %q", d.Verdict, c.want)
		}
	}
}

func TestFurtherRunsTellNoise(t *testing.T) {
	noisy := func(taken ...bool) recorded {
		return recorded{kernel: "f", grid: 1, sites: []uint32{1, 2, 3}, taken: taken}
	}
	a := write(t, noisy(false, false, false), launch("g", 1, 5))
	a2 := write(t, noisy(false, true, false), launch("g", 1, 5))
	a3 := write(t, launch("new", 1), noisy(false, true, false))
	b := write(t, noisy(false, true, false), launch("g", 1, 6))
	without := compare(t, a, b, Options{})
	if got := statuses(without); got != "f diverged, g diverged" || without.Baseline != nil {
		t.Fatalf("without further runs: %s", got)
	}
	d := compare(t, a, b, Options{BaselineA: []*Session{open(t, a2), open(t, a3)}})
	if got := statuses(d); got != "f identical, g inconclusive" { // one equal run does not rule out that g differs by chance
		t.Errorf("got %s, want only g to differ", got)
	}
	if d.Status != StatusInconclusive || d.Passed {
		t.Errorf("got %s, passed %t", d.Status, d.Passed)
	}
	if base := d.Baseline; base == nil || base.Covered != 1 || base.Partly != 1 || base.Without != 0 || base.Noise == 0 {
		t.Errorf("got %+v", base)
	}
}

func TestAcceptedDifferencesAreThoseOfAllLaunches(t *testing.T) {
	a := write(t, launch("f", 1), launch("g", 2), launch("h", 3))
	b := write(t, recorded{kernel: "f", grid: 1, sites: []uint32{1}, taken: []bool{true}}, recorded{kernel: "g", grid: 1, sites: []uint32{2}, taken: []bool{true}}, launch("h", 3))
	file, err := diff.ParseAccepted("known.toml", []byte(`
[[accept]]
site = "0x1"
reason = "known"
[[accept]]
site = "0x7"
reason = "old"
[[accept]]
site = "0x2"
kernel = "x*"
reason = "of another kernel"
[[accept]]
site = "0x2"
until = 2026-01-01
reason = "over"
`))
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Accepted: file, Today: "2026-11-21"}
	d := compare(t, a, b, opt)
	var got []string
	for _, e := range d.Accepted.Entries {
		got = append(got, e.Status)
	}
	if want := []string{"used", "unused", "other-kernel", "expired"}; !reflect.DeepEqual(got, want) || d.Accepted.Divergences != 1 {
		t.Errorf("got %q and %d accepted, want %q and 1", got, d.Accepted.Divergences, want)
	}
	if len(d.Warnings) != 2 || d.CountedDivergences != 1 || d.TotalDivergences != 2 || len(d.KernelResults[0].Warnings) > 0 {
		t.Errorf("got %q, %d counted of %d", d.Warnings, d.CountedDivergences, d.TotalDivergences)
	}
	if d.First == nil || d.First.Kernel != "g" {
		t.Errorf("the first launch is %+v, want g: what differs in f is accepted", d.First)
	}
	opt.Today = "yesterday"
	_, err = Compare(job.New(t.Context(), job.Options{}), open(t, a), open(t, b), opt)
	if !fault.Is(err, fault.Usage) {
		t.Errorf("text that is not a day: got %v, want a usage error", err)
	}
}

func TestLossesAreSummed(t *testing.T) {
	a := write(t, recorded{kernel: "f", grid: 1, sites: []uint32{1, 2}, lost: 6}, launch("g", 1))
	b := write(t, launch("f", 1, 2), launch("g", 1))
	d := compare(t, a, b, Options{})
	if l := d.Losses.A; l.Events != 3 || l.Dropped != 6 || l.WarpsWithDrops != 1 || l.DroppedShare < 0.66 || l.DroppedShare > 0.67 {
		t.Errorf("got %+v", l)
	}
	if l := d.KernelResults[0].Losses; l == nil || l.DroppedA != 6 || l.DroppedB != 0 || d.KernelResults[1].Losses != nil {
		t.Errorf("got %+v and %+v", l, d.KernelResults[1].Losses)
	}
}

func TestWorkersDoNotChangeBytes(t *testing.T) {
	var a, b []recorded
	for i := range uint32(40) {
		a = append(a, recorded{kernel: string(rune('a' + i%7)), grid: 1, sites: []uint32{i, i + 1}})
		if i%9 != 0 {
			b = append(b, recorded{kernel: string(rune('a' + i%7)), grid: 1 + i%11/10, sites: []uint32{i, i + 1 + i%5/4}})
		}
	}
	dirA, dirB := write(t, a...), write(t, b...)
	if err := os.Remove(filepath.Join(dirB, "b_0.prlx")); err != nil {
		t.Fatal(err)
	}
	var first string
	for _, workers := range []int{1, 2, 8} {
		text, err := json.Marshal(compareWith(t, dirA, dirB, Options{Explain: true}, workers))
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(text)
		}
		if string(text) != first {
			t.Errorf("%d workers change the document", workers)
		}
	}
	if !strings.Contains(first, StatusDiverged) || !strings.Contains(first, `"status":"error"`) || !strings.Contains(first, statusIdentical) {
		t.Error("the sessions are not worth comparing")
	}
}

func TestComparingEndsWhenCancelled(t *testing.T) {
	dir := write(t, launch("f", 1))
	ctx, cancel := context.WithCancel(t.Context())
	a, b := open(t, dir), open(t, dir)
	cancel()
	if _, err := Compare(job.New(ctx, job.Options{}), a, b, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if _, err := CompareCompat(job.New(ctx, job.Options{}), a, b, compatOptions()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
