package recording_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// recorded writes a recording of format v1 and one of v2 into a directory of their own.
func recorded(t *testing.T) (v1, v2 string) {
	t.Helper()
	run := warptracetest.NewProgram(warptracetest.Config{Seed: 7}).Run(warptracetest.Launch{Warps: 4})
	b, err := run.V2Bytes()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	v1, v2 = filepath.Join(dir, "one.prlx"), filepath.Join(dir, "two.prlx")
	write(t, v1, warptracetest.V1File{}.Bytes(run))
	write(t, v2, b)
	return v1, v2
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string, maps recording.Maps) *recording.Recording {
	t.Helper()
	r, err := recording.Open(t.Context(), path, maps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestASiteMapIsLookedForOnlyWhenToldWhere(t *testing.T) {
	v1, v2 := recorded(t)
	beside := filepath.Join(filepath.Dir(v1), "prlx-sites.json")
	write(t, beside, []byte(`[{"site_id": 1, "filename": "k.py", "function": "k", "line": 3, "column": 1, "event_type": 0}]`))
	if r := open(t, v1, recording.Maps{LookIn: t.TempDir()}); r.SiteMap != beside || !r.Found {
		t.Errorf("got site map %q, found %t, want the one beside the recording", r.SiteMap, r.Found)
	}
	if r := open(t, v1, recording.Maps{}); r.SiteMap != "" || r.Found {
		t.Errorf("got site map %q without a place to look in, want none", r.SiteMap)
	}
	if r := open(t, v1, recording.Maps{SiteMap: beside}); r.SiteMap != beside || r.Found {
		t.Errorf("got site map %q, found %t, want the one that is named", r.SiteMap, r.Found)
	}
	if r := open(t, v2, recording.Maps{SiteMap: beside}); r.SiteMap != "" || len(r.Warnings) != 1 {
		t.Errorf("got site map %q and warnings %q, want a warning that v2 has its sites inside", r.SiteMap, r.Warnings)
	}
}

func TestAFileThatIsNotARecordingIsRefusedByItsName(t *testing.T) {
	dir := t.TempDir()
	trace := filepath.Join(dir, "trace.json")
	write(t, trace, []byte(`{"traceEvents": []}`))
	for path, want := range map[string]string{dir: "is a directory", trace: "Chrome", "": "no path"} {
		_, err := recording.Open(t.Context(), path, recording.Maps{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", path, err, want)
		}
	}
	if _, err := recording.Open(t.Context(), filepath.Join(dir, "none"), recording.Maps{}); !fault.Is(err, fault.IO) {
		t.Errorf("got %v, want an error of the file system", err)
	}
}

func TestAFilterKeepsSitesAndKinds(t *testing.T) {
	v1, _ := recorded(t)
	r := open(t, v1, recording.Maps{})
	index, err := r.Index(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var w warptrace.Warp
	if err := r.ReadWarp(t.Context(), index[0].Warp, &w); err != nil {
		t.Fatal(err)
	}
	first := w.Site[0]
	patterns, err := site.ParsePatterns([]string{recording.SiteText(r.Trace, first)})
	if err != nil {
		t.Fatal(err)
	}
	all, ofSite := recording.NewFilter(r.Trace, nil, nil), recording.NewFilter(r.Trace, patterns, nil)
	ofKind, neither := recording.NewFilter(r.Trace, nil, []string{w.Kind[0].String()}), recording.NewFilter(r.Trace, patterns, []string{"no-kind"})
	if !all.All() || ofSite.All() || ofKind.All() {
		t.Errorf("all of nothing chosen is %t, of a site %t, of a kind %t; want true, false, false", all.All(), ofSite.All(), ofKind.All())
	}
	for i := range w.Site {
		if got, want := ofSite.Keeps(&w, i), w.Site[i] == first; got != want {
			t.Errorf("event %d of site %d: kept is %t, want %t", i, w.Site[i], got, want)
		}
		if got, want := ofKind.Keeps(&w, i), w.Kind[i] == w.Kind[0]; got != want {
			t.Errorf("event %d of kind %s: kept is %t, want %t", i, w.Kind[i], got, want)
		}
		if !all.Keeps(&w, i) || neither.Keeps(&w, i) {
			t.Errorf("event %d: all keeps it: %t, a kind that it has not: %t", i, all.Keeps(&w, i), neither.Keeps(&w, i))
		}
	}
}

func TestASessionTakesItsSitesFromTheNamedMapElseFromTheOneFound(t *testing.T) {
	v1, _ := recorded(t)
	beside, named := filepath.Join(filepath.Dir(v1), "prlx-sites.json"), filepath.Join(t.TempDir(), "other.json")
	write(t, beside, []byte(`[{"site_id": 1, "filename": "k.py", "function": "k", "line": 3, "column": 1, "event_type": 0}]`))
	write(t, named, []byte(`[]`))
	for want, maps := range map[string]recording.Maps{
		"1 " + beside: {LookIn: t.TempDir()}, "0 ": {SiteMap: named, LookIn: t.TempDir()}, "none ": {},
	} {
		table, found, err := maps.Table(t.Context(), v1)
		if err != nil {
			t.Fatal(err)
		}
		sites := "none"
		if table != nil {
			sites = strconv.Itoa(table.Len())
		}
		if got := sites + " " + found; got != want {
			t.Errorf("%+v: got %q, want %q", maps, got, want)
		}
	}
}
