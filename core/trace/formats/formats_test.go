package formats

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/testing/listtest"
	"github.com/prlx-go/prlx/core/trace/chrometrace"
	"github.com/prlx-go/prlx/core/trace/nsys"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/work"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

const (
	chromeHead = `{"traceEvents": [{"ph": "X", "pid": 1}]}`
	// a plane with an id and the name /host:CPU
	spaceHead = "\x0a\x0d\x08\x01\x12\x09/host:CPU"
)

// TestAFormatIsRecognisedByItsContent: certainly where its first bytes say so, by what its damaged files look like where they do not, and by a
// claim only where nothing is known for certain.
func TestAFormatIsRecognisedByItsContent(t *testing.T) {
	known := Table
	t.Cleanup(func() { Table = known })
	list := listtest.Format
	all := list // claims whatever is not known
	all.Claims = func([]byte) bool { return true }
	for _, c := range []struct {
		what, head string
		table      []*source.Format
		of, likely *source.Format // nil: it is refused
	}{
		{"Chrome JSON", chromeHead, known, &chrometrace.Format, &chrometrace.Format},
		{"an XSpace", spaceHead, known, &xspace.Format, &xspace.Format},
		{"JSON of another kind", `{"a": 1}`, known, nil, &chrometrace.Format},
		{"binary data", "\x00\x01\x02\xff", known, nil, &xspace.Format},
		{"text", "a line\n", known, nil, nil},
		{"a program", "\x7fELF", known, nil, nil},
		{"nothing", "", known, nil, nil},
		{"a list that is not in the table", listtest.Magic, known, nil, nil},
		{"a list", listtest.Magic, append(known[:len(known):len(known)], &list), &list, &list},
		{"Chrome JSON beside a greedy format", chromeHead, []*source.Format{&all, &chrometrace.Format}, &chrometrace.Format, &chrometrace.Format},
		{"a program beside a greedy format", "\x7fELF", []*source.Format{&all, &chrometrace.Format}, nil, nil},
	} {
		Table = c.table
		if got := Of([]byte(c.head)); got != c.of {
			t.Errorf("%s: Of gives %+v, want %+v", c.what, got, c.of)
		}
		got, err := likely("a", []byte(c.head))
		if got != c.likely || (err == nil) != (c.likely != nil) || err != nil && !fault.Is(err, fault.Format) {
			t.Errorf("%s: Likely gives %+v and %v, want %+v", c.what, got, err, c.likely)
		}
	}
}

// TestWorkIsReadByTheFormatOrAsAStream: what can be read only once and what may be a damaged JSON goes to the reader of streams.
func TestWorkIsReadByTheFormatOrAsAStream(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, text string
		want       *source.Format // nil: it is refused
	}{
		{"a", chromeHead, &chrometrace.Format},
		{"b", spaceHead, &xspace.Format},
		{"c", "a line\n", &chrometrace.Format},
		{"d", "", &chrometrace.Format},
		{"e", "\x7fELF", nil},
		{"f", "\x00\x01\x02\xff", nil},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _, err := ForWork(t.Context(), path); got != c.want || (err == nil) != (c.want != nil) {
			t.Errorf("%q: got %+v and %v, want %+v", c.text, got, err, c.want)
		}
	}
	if _, _, err := ForWork(t.Context(), filepath.Join(dir, "absent")); !fault.Is(err, fault.IO) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestStdinIsToldByItsContent, too: what was looked at is not lost to the reader.
func TestStdinIsToldByItsContent(t *testing.T) {
	known := os.Stdin
	t.Cleanup(func() { os.Stdin = known })
	for text, want := range map[string]*source.Format{
		chromeHead: &chrometrace.Format, spaceHead: &xspace.Format, "a line\n": &chrometrace.Format, "": &chrometrace.Format, "\x7fELF": nil,
		"SQLite format 3\x00 CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL": &nsys.Format, "SQLite format 3\x00": nil,
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		os.Stdin = r
		if _, err := w.WriteString(text); err != nil {
			t.Fatal(err)
		}
		w.Close()
		got, stream, err := ForWork(t.Context(), "-")
		if got != want || (err == nil) != (want != nil) {
			t.Errorf("%q: got %+v and %v, want %+v", text, got, err, want)
		}
		if stream != nil {
			src, err := work.Options{Stream: stream}.Open(t.Context(), "-")
			if err != nil {
				t.Fatal(err)
			}
			if all, err := src.Head(100); string(all) != text {
				t.Errorf("%q: %q was read, %v", text, all, err)
			}
			src.Close()
		}
		r.Close()
	}
}

func TestFilesAreKnownByTheirEndings(t *testing.T) {
	for name, want := range map[string]*source.Format{
		"t.xplane.pb": &xspace.Format, "T.XPLANE.PB.GZ": &xspace.Format, "a.pt.trace.json.zst": &chrometrace.Format, "a.json": nil, "a.pb": nil,
	} {
		if got := Named(name); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}
