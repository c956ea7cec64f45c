package kernelreport

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/fault"
)

var update = flag.Bool("update", false, "rewrite the golden files under testdata")

var options = Options{Root: "/home/user/repo", Version: "1.2.3"}

func render(t testing.TB, format string, doc *diff.Document) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(format, &b, doc, options); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.Bytes()
}

// documents are what every format has to cope with.
func documents() map[string]*diff.Document {
	return map[string]*diff.Document{
		"diverged": sample(), "identical": identical(), "empty": {}, "hostile": nasty(hostile), "many": many(1000), "bare": bare(),
	}
}

// TestGolden keeps every report of the sample, of two runs that do not differ and of hostile names what it is.
func TestGolden(t *testing.T) {
	ending := map[string]string{
		"html": ".html", "csv": ".csv", "junit": ".xml", "sarif": ".sarif", "github": ".github.txt", "markdown": ".md", "chrome": ".trace.json", "perfetto": ".pftrace", "json": ".json",
	}
	for _, name := range []string{"diverged", "identical", "hostile"} {
		for _, format := range Formats() {
			t.Run(name+"/"+format, func(t *testing.T) { golden(t, name+ending[format], render(t, format, documents()[name])) })
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the code writes; -update rewrites it (-want +got):\n%.4000s", path, cmp.Diff(string(want), string(got)))
	}
}

func TestReportsAreTheSameEveryTime(t *testing.T) {
	for name := range documents() {
		for _, format := range Formats() {
			first := render(t, format, documents()[name])
			if !bytes.Equal(first, render(t, format, documents()[name])) {
				t.Fatalf("%s of %s differs from one time to the next", format, name)
			}
		}
	}
}

func TestFormatIsRecognisedByTheEnding(t *testing.T) {
	for path, want := range map[string]string{
		"out/r.html": "html", "R.HTM": "html", "a.csv": "csv", "junit.xml": "junit", "a.sarif": "sarif", "a.sarif.json": "sarif", "a.github.txt": "github",
		"summary.md": "markdown", "x.trace.json": "chrome", "x.pftrace": "perfetto", "x.perfetto-trace": "perfetto", "a.json": "json", "noise": "", "a.txt": "",
	} {
		if got, ok := FormatOf(path); got != want || ok != (want != "") {
			t.Errorf("FormatOf(%q) = %q, %v; want %q", path, got, ok, want)
		}
	}
}

func TestUnknownFormatIsAUsageErrorThatNamesTheFormats(t *testing.T) {
	err := Write("pdf", io.Discard, sample(), Options{})
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Usage || f.Hint == "" {
		t.Errorf("got %v, want a usage error with a hint", err)
	}
}

// brokenWriter fails after a few bytes, as a full disk does.
type brokenWriter struct{ left int }

func (b *brokenWriter) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, os.ErrClosed
	}
	return len(p), nil
}

func TestEveryFormatReportsAWriteThatFails(t *testing.T) {
	for _, format := range Formats() {
		for _, left := range []int{0, 200} {
			if err := Write(format, &brokenWriter{left}, sample(), options); !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s with room for %d bytes: got %v", format, left, err)
			}
		}
	}
}

func wellFormedXML(t testing.TB, b []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(b)); ; {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
}

func wellFormedJSON(t testing.TB, b []byte) {
	t.Helper()
	if !json.Valid(b) {
		t.Fatalf("no JSON: %.300s", b)
	}
}

// TestReportOfASavedDocumentIsTheSame: prlx report makes of a writeJSON file what prlx diff would have made at once.
func TestReportOfASavedDocumentIsTheSame(t *testing.T) {
	for name, doc := range documents() {
		var saved diff.Document
		if err := json.Unmarshal(render(t, "json", doc), &saved); err != nil {
			t.Fatal(err)
		}
		for _, format := range Formats() {
			if format != "json" && !bytes.Equal(render(t, format, doc), render(t, format, &saved)) {
				t.Errorf("%s of %s is another after saving", format, name)
			}
		}
	}
}

// TestTextIsText: what may be printed is UTF-8 and holds no control character.
func TestTextIsText(t *testing.T) {
	for _, format := range Formats() {
		if got := render(t, format, nasty(hostile)); Binary(format) == utf8.Valid(got) {
			t.Errorf("%s: binary %v, UTF-8 %v", format, Binary(format), utf8.Valid(got))
		} else if !Binary(format) && bytes.ContainsAny(got, "\x00\x1b\r") {
			t.Errorf("%s holds a control character", format)
		}
	}
}
