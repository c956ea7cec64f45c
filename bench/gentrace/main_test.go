package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/diff/session"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// generate runs the command; {} stands for a directory of the test's own.
func generate(t *testing.T, command string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := run(strings.Fields(strings.ReplaceAll(command, "{}", dir))); err != nil {
		t.Fatalf("gentrace %s: %v", command, err)
	}
	return dir
}

// loaded reads a recording back.
func loaded(t *testing.T, path string) *warptracetest.Recording {
	t.Helper()
	trace, err := warptrace.OpenPath(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	index, err := trace.Index(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r := &warptracetest.Recording{Header: *trace.Header(), Sites: trace.Sites(), Warps: make([]warptrace.Warp, len(index))}
	for i := range index {
		if err := trace.ReadWarp(context.Background(), index[i].Warp, &r.Warps[i]); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func TestTruthOfPairsAgreesWithTheFiles(t *testing.T) {
	for _, flags := range []string{
		"-edits 6 -run 1:40", "-shape bench -share 0.01 -events 500", "-bug bound", "-bug precision -wave 64 -snapshots 8", "-bug race", "",
		"-edits 3 -warps-edited 0.2 -snapshots -1 -history 4 -loads",
	} {
		dir := generate(t, "pair -warps 12 "+flags+" -out-a {}/a.prlx -out-b {}/b.prlx -truth {}/truth.json -source {}/src -map {}/sites.json")
		var truth warptracetest.Truth
		readJSON(t, dir+"/truth.json", &truth)
		a, b := loaded(t, dir+"/a.prlx"), loaded(t, dir+"/b.prlx")
		found := warptracetest.Compare(a, b, warptracetest.WithValues)
		if len(found) != len(truth.Warps) || (flags == "") != (len(found) == 0) {
			t.Errorf("%q: %d warps differ, the truth says %d", flags, len(found), len(truth.Warps))
			continue
		}
		for i, d := range found {
			if want := truth.Warps[i]; d.Warp != want.Warp || d.Event != want.Event || d.SiteID != want.SiteID {
				t.Errorf("%q: warp %d differs first at %d (%s), the truth says %+v", flags, d.Warp, d.Event, d.SiteID, want)
			}
		}
		if strings.Contains(flags, "-bug") && (truth.Bug == nil || truth.Bug.Location == "" || truth.Bug.Shown == "") {
			t.Errorf("%q: bug %+v", flags, truth.Bug)
		}
		src, err := file.Open(context.Background(), dir+"/sites.json")
		if err != nil {
			t.Fatal(err)
		}
		sites, warnings, err := site.ReadMap(context.Background(), src)
		src.Close()
		if err != nil || sites.Len() != a.Sites.Len() {
			t.Fatalf("%q: %d sites in the map, %d in the recording: %v %v", flags, sites.Len(), a.Sites.Len(), err, warnings)
		}
		for i := range sites.Len() {
			if f := sites.At(i).Where(); !strings.Contains(line(t, filepath.Join(dir, "src", f.File), int(f.Line)), ";") &&
				!strings.Contains(line(t, filepath.Join(dir, "src", f.File), int(f.Line)), "{") {
				t.Errorf("%q: %s:%d is not a statement", flags, f.File, f.Line)
			}
		}
	}
}

func line(t *testing.T, path string, n int) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")[n-1]
}

func TestFormatsHoldTheSameEvents(t *testing.T) {
	const flags = "pair -shape bench -warps 6 -events 300 -share 0.02 -seed 3 -out-a {}/a.prlx -out-b {}/b.prlx "
	v2 := generate(t, flags+"-format v2")
	for _, form := range []string{"-format v1", "-format v1 -compress"} {
		v1 := generate(t, flags+form)
		for _, name := range []string{"/a.prlx", "/b.prlx"} {
			want, got := loaded(t, v2+name).V1(), loaded(t, v1+name)
			if d := warptracetest.Compare(want, got, warptracetest.WithoutValues); len(d) > 0 || len(want.Warps) != len(got.Warps) {
				t.Errorf("%s of %s: %+v", name, form, d)
			}
		}
	}
}

func TestNoiseIsOnlyWhereTheTruthSays(t *testing.T) {
	dir := generate(t, "noise -out {} -runs 3 -warps 20 -bug bound -truth {}/truth.json")
	var truth noiseTruth
	readJSON(t, dir+"/truth.json", &truth)
	if len(truth.Places) == 0 || truth.Bug == nil {
		t.Fatalf("truth %+v", truth)
	}
	noisy := map[int]bool{}
	for _, p := range truth.Places {
		noisy[p.Site] = true
	}
	a := loaded(t, dir+"/a.prlx")
	for _, other := range []string{"/a2.prlx", "/a3.prlx"} {
		for _, d := range warptracetest.Compare(a, loaded(t, dir+other), warptracetest.WithValues) {
			if !noisy[d.Site] && !noisy[d.SiteB] {
				t.Errorf("%s: warp %d differs at site %d, which is not noise", other, d.Warp, d.Site)
			}
		}
	}
	if _, err := os.Stat(dir + "/b.prlx"); err != nil {
		t.Error(err)
	}
}

func TestSparseLaunchesRecordFewWarps(t *testing.T) {
	dir := generate(t, "sparse -warps 3000 -recorded 0.02 -out-a {}/a.prlx -out-b {}/b.prlx -truth {}/truth.json")
	a := loaded(t, dir+"/a.prlx")
	var truth warptracetest.Truth
	readJSON(t, dir+"/truth.json", &truth)
	if n := len(a.Warps); n < 30 || n > 90 || a.Header.WarpSlots != 3000 {
		t.Errorf("%d of %d warps recorded", n, a.Header.WarpSlots)
	}
	if got := warptracetest.Compare(a, loaded(t, dir+"/b.prlx"), warptracetest.WithValues); len(got) != len(truth.Warps) || len(got) == 0 {
		t.Errorf("%d warps differ, the truth says %d", len(got), len(truth.Warps))
	}
}

func TestSessionsAreReadAndTheirTruthHolds(t *testing.T) {
	for _, form := range []string{"-format v1", "-format v2 -manifest prlx"} {
		dir := generate(t, "session "+form+" -launches 9 -inserted 2 -missing 2 -changed 1 -out-a {}/a -out-b {}/b -truth {}/truth.json")
		var truth warptracetest.SessionTruth
		readJSON(t, dir+"/truth.json", &truth)
		a, err := session.Open(context.Background(), dir+"/a")
		if err != nil {
			t.Fatal(err)
		}
		b, err := session.Open(context.Background(), dir+"/b")
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Launches) != 9 || len(b.Launches) != 9 || len(truth.OnlyA) != 2 || len(truth.OnlyB) != 2 || len(truth.Pairs) != 7 {
			t.Fatalf("%s: %d and %d launches, truth %+v", form, len(a.Launches), len(b.Launches), truth)
		}
		changed := 0
		for _, p := range truth.Pairs {
			x, y := loaded(t, filepath.Join(dir, "a", a.Launches[p.A].File)), loaded(t, filepath.Join(dir, "b", b.Launches[p.B].File))
			if a.Launches[p.A].Kernel != b.Launches[p.B].Kernel || (len(warptracetest.Compare(x, y, warptracetest.WithoutValues)) > 0) != p.Differs {
				t.Errorf("%s: pair %+v", form, p)
			}
			if p.Differs {
				changed++
			}
		}
		if changed != 1 {
			t.Errorf("%s: %d pairs differ, want 1", form, changed)
		}
	}
}

func TestManyFilesAreReadableWhereTheySaySo(t *testing.T) {
	dir := generate(t, "many -out {} -files 128 -pairs 12")
	var index struct {
		Files []manyFile
		Pairs []manyPair
	}
	readJSON(t, dir+"/index.json", &index)
	if len(index.Files) != 128 || len(index.Pairs) != 12 {
		t.Fatalf("%d files, %d pairs", len(index.Files), len(index.Pairs))
	}
	features := map[string]int{}
	for _, f := range index.Files {
		for _, name := range f.Features {
			features[name]++
		}
		events, err := countEvents(filepath.Join(dir, f.File))
		if (err == nil) != f.Readable {
			t.Errorf("%s %v: readable %v, but %v", f.File, f.Features, f.Readable, err)
		}
		if err == nil && events != f.Events {
			t.Errorf("%s %v: %d events, want %d", f.File, f.Features, events, f.Events)
		}
	}
	for _, name := range []string{"compressed", "history", "snapshot", "sampled", "compact", "overflow", "truncated", "old", "hash32", "unclamped", "long name"} {
		if features[name] == 0 {
			t.Errorf("no file has %q", name)
		}
	}
}

func countEvents(path string) (int64, error) {
	trace, err := warptrace.OpenPath(context.Background(), path)
	if err != nil {
		return 0, err
	}
	defer trace.Close()
	index, err := trace.Index(context.Background())
	if err != nil {
		return 0, err
	}
	n := int64(0)
	var w warptrace.Warp
	for i := range index {
		if err := trace.ReadWarp(context.Background(), index[i].Warp, &w); err != nil {
			return 0, err
		}
		n += int64(w.Len())
	}
	return n, nil
}

func TestTheSameFlagsGiveTheSameBytes(t *testing.T) {
	for _, command := range []string{
		"pair -edits 5 -out-a {}/a -out-b {}/b -truth {}/t -source {}/s -map {}/m", "pair -format v1 -compress -bug order -out-a {}/a -out-b {}/b",
		"noise -out {} -runs 2 -warps 8", "session -launches 4 -out-a {}/a -out-b {}/b -truth {}/t", "many -out {} -files 16 -pairs 4",
		"sparse -warps 500 -out-a {}/a -out-b {}/b",
	} {
		first, second := generate(t, command), generate(t, command)
		n := 0
		err := filepath.WalkDir(first, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			n++
			name, _ := filepath.Rel(first, path)
			x, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			y, err := os.ReadFile(filepath.Join(second, name))
			if err == nil && !bytes.Equal(x, y) {
				t.Errorf("%s: %s differs between two runs", command, name)
			}
			return err
		})
		if err != nil || n == 0 {
			t.Errorf("%s: %d files: %v", command, n, err)
		}
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	dir := t.TempDir()
	for _, command := range []string{
		"", "other", "pair -shape round", "pair -wave 16", "pair -run 3:1", "pair -run x", "pair -bug none", "many", "noise",
		"noise -shape full -out {}", "pair -format v3 -out-a {}/a -out-b {}/b", "session",
	} {
		if err := run(strings.Fields(strings.ReplaceAll(command, "{}", dir))); err == nil {
			t.Errorf("gentrace %s: no error", command)
		}
	}
}
