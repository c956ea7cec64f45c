package api

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// generated writes a recording with lanes of a wave of 64 in format v2, and the same program with 32 lanes in format v1.
func generated(t *testing.T) (v1, v2 string, wide *warptracetest.Recording) {
	t.Helper()
	p := warptracetest.NewProgram(warptracetest.Config{Seed: 7})
	wide = p.Run(warptracetest.Launch{Warps: 8, Wave: 64})
	b, err := wide.V2Bytes()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	v1, v2 = filepath.Join(dir, "narrow.prlx"), filepath.Join(dir, "wide.prlx")
	save(t, v2, b)
	save(t, v1, warptracetest.V1File{}.Bytes(p.Run(warptracetest.Launch{Warps: 8})))
	return v1, v2, wide
}

func save(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func columnOf(t *testing.T, table *table, name string) *column {
	t.Helper()
	for i := range table.columns {
		if table.columns[i].name == name {
			return &table.columns[i]
		}
	}
	t.Fatalf("there is no column %q", name)
	return nil
}

func TestColumnsOfARecordingAreItsEvents(t *testing.T) {
	_, path, want := generated(t)
	j := job.New(context.Background(), job.Options{})
	doc, err := kernelTrace(j, &kernelTraceRequest{Path: path, Tables: []string{"events", "warps", "sites"}})
	if err != nil {
		t.Fatal(err)
	}
	if doc.Header.WaveSize != 64 || doc.Format != "prlx v2" || doc.Events != want.Events() {
		t.Errorf("got %d lanes, %s, %d events, want 64, prlx v2, %d", doc.Header.WaveSize, doc.Format, doc.Events, want.Events())
	}
	events := j.Attached()["events"].(*table)
	if int64(events.Rows()) != want.Events() {
		t.Fatalf("got %d rows, want %d", events.Rows(), want.Events())
	}
	warps, active, taken := columnOf(t, events, "warp").ints, columnOf(t, events, "active").ints, columnOf(t, events, "taken").ints
	values, sites := columnOf(t, events, "value").ints, columnOf(t, events, "site").shorts
	row := 0
	local := map[int32]uint32{} // of each row of the table of sites
	for i := range warps {
		w := want.Find(uint64(warps[i]))
		if row > 0 && warps[i] != warps[i-1] {
			row = 0
		}
		if uint64(active[i]) != w.Active[row] || uint64(taken[i]) != w.Taken[row] || uint64(values[i]) != w.Value[row] {
			t.Fatalf("row %d: got active %#x, taken %#x, value %#x, want those of event %d of warp %d", i, active[i], taken[i], values[i], row, warps[i])
		}
		if known, ok := local[sites[i]]; ok && known != w.Site[row] {
			t.Fatalf("row %d: site %d of the table stands for two sites", i, sites[i])
		}
		local[sites[i]] = w.Site[row]
		row++
	}
	if got, least := j.Attached()["sites"].(*table).Rows(), len(local); got < least {
		t.Errorf("the table of sites has %d rows, %d sites have events", got, least)
	}
}

func TestRequestsOfRecordingsAreChecked(t *testing.T) {
	v1, _, _ := generated(t)
	j := job.New(context.Background(), job.Options{MemoryLimit: 1 << 20})
	for name, c := range map[string]struct {
		request kernelTraceRequest
		kind    fault.Kind
	}{
		"an unknown table":       {kernelTraceRequest{Path: v1, Tables: []string{"lanes"}}, fault.Usage},
		"no path":                {kernelTraceRequest{}, fault.Usage},
		"a directory":            {kernelTraceRequest{Path: filepath.Dir(v1)}, fault.Usage},
		"a file of another kind": {kernelTraceRequest{Path: "kernel_test.go"}, fault.Format},
		"a file that is absent":  {kernelTraceRequest{Path: v1 + "x"}, fault.IO},
		"warps":                  {kernelTraceRequest{Path: v1, Warps: "x", Tables: []string{"events"}}, fault.Usage},
		"too many rows":          {kernelTraceRequest{Path: v1, MaxRows: 3, Tables: []string{"events"}}, fault.Limit},
		"a file that is not a site map": {
			kernelTraceRequest{Path: v1, siteMapArgs: siteMapArgs{SiteMap: "kernel_test.go"}}, fault.Format,
		},
	} {
		if _, err := kernelTrace(j, &c.request); !fault.Is(err, c.kind) {
			t.Errorf("%s: got %v, want an error of kind %s", name, err, c.kind)
		}
	}
}

func TestAPathIsRecognisedByItsContent(t *testing.T) {
	v1, v2, _ := generated(t)
	empty := t.TempDir()
	for path, want := range map[string]string{
		v1: "recording", v2: "recording", filepath.Dir(v1): "session", "kernel_test.go": "timeline", empty: "timeline", v1 + "x": "timeline",
	} {
		doc, err := recognise(job.New(context.Background(), job.Options{}), &recogniseRequest{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if doc.What != want {
			t.Errorf("%s: got %s, want %s", path, doc.What, want)
		}
	}
}

// TestARecordingIsNotWrittenUnderTheNameOfAnotherFormat: who names another format wants that one, and would take the file for it.
func TestARecordingIsNotWrittenUnderTheNameOfAnotherFormat(t *testing.T) {
	_, v1, _ := generated(t)
	dir := t.TempDir()
	convert := func(name, to string) (string, error) {
		r := &convertRequest{Path: v1, Output: filepath.Join(dir, name), To: to}
		_, err := convertRecording(job.New(context.Background(), job.Options{}), r)
		return r.Output, err
	}
	for _, name := range []string{"out.json", "OUT.JSON", "out.trace.json", "out.html", "out.csv", "out.sarif", "out.xplane.pb", "out.pftrace", "out.prlx.gz", "out.prlx.zst", "out.sqlite"} {
		for _, to := range []string{"", "v1"} {
			path, err := convert(name, to)
			if !fault.Is(err, fault.Usage) || !strings.Contains(err.Error(), "another format") {
				t.Errorf("%s: got %v", name, err)
			}
			if _, err := os.Stat(path); err == nil {
				t.Errorf("%s was written", name)
			}
		}
	}
	for _, name := range []string{"out.prlx", "out", "out.recording", "out.v2"} {
		if _, err := convert(name, ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReportsAreWrittenAllOrNone(t *testing.T) {
	dir := t.TempDir()
	input := filepath.Join(dir, "in.prlx")
	save(t, input, []byte("x"))
	good := outputArg{Path: filepath.Join(dir, "a.html")}
	for name, second := range map[string]outputArg{
		"an unknown ending":  {Path: filepath.Join(dir, "b.what")},
		"an unknown format":  {Path: filepath.Join(dir, "b.html"), Format: "pdf"},
		"the same file":      good,
		"an input":           {Path: filepath.Join(dir, ".", "in.prlx"), Format: "json"},
		"a missing folder":   {Path: filepath.Join(dir, "no", "b.html")},
		"a path that is not": {},
	} {
		if _, err := createReports(comparisonReports, []outputArg{good, second}, true, []string{input}, ""); err == nil {
			t.Errorf("%s: got no error", name)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		names := make([]string, len(entries))
		for i, e := range entries {
			names[i] = e.Name()
		}
		if !slices.Equal(names, []string{"in.prlx"}) {
			t.Errorf("%s: left %v behind", name, names)
		}
	}
}

// TestAReportHasTheNameOfItsFormat refuses a page that a spreadsheet would open; formats that are JSON share an ending.
func TestAReportHasTheNameOfItsFormat(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		format, name string
		ok           bool
	}{
		{"html", "a.csv", false},
		{"html", "a.json", false},
		{"csv", "a.html", false},
		{"markdown", "a.xml", false},
		{"junit", "a.sarif", false},
		{"html", "a.htm", true},
		{"html", "a", true},
		{"junit", "results.xml", true},
		{"sarif", "a.json", true},
		{"chrome", "b.json", true},
		{"github", "summary.md", true},
	} {
		r, err := createReports(comparisonReports, []outputArg{{c.format, filepath.Join(dir, c.name)}}, true, nil, "")
		if (err == nil) != c.ok || err != nil && (!fault.Is(err, fault.Usage) || fault.Of(err).Hint == "") {
			t.Errorf("%s as %s: got %v", c.name, c.format, err)
		}
		if r != nil {
			r.abort()
		}
	}
}
