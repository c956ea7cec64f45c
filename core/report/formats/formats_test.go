package formats

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

var table = Table[int]{
	{"chrome", []string{".trace.json"}, 1},
	{"json", []string{".json"}, 2},
	{"html", []string{".html", ".htm"}, 3},
}

func TestAFormatIsToldByTheEndingOfAPath(t *testing.T) {
	for path, want := range map[string]string{
		"a.trace.json": "chrome", "a.json": "json", "A.JSON": "json", "dir.html/a.htm": "html", "a.html": "html", "a": "", "a.jsonl": "", "": "",
	} {
		if name, ok := table.Of(path); name != want || ok != (want != "") {
			t.Errorf("%q is %q, %v; want %q", path, name, ok, want)
		}
	}
}

func TestAFormatIsFoundByItsName(t *testing.T) {
	for name, want := range map[string]int{"chrome": 1, "json": 2, "html": 3} {
		if got, err := table.Named(name); got != want || err != nil {
			t.Errorf("%s is %d, %v", name, got, err)
		}
	}
	got, err := table.Named("pdf\x1b[31m" + strings.Repeat("x", 100))
	if got != 0 || !fault.Is(err, fault.Usage) {
		t.Fatalf("%d, %v", got, err)
	}
	if said := err.Error(); strings.ContainsRune(said, 0x1b) || len(said) > 150 || !strings.Contains(said, "pdf") {
		t.Errorf("the error says %q", said)
	}
	if got := strings.Join(table.Names(), " "); got != "chrome json html" {
		t.Errorf("the names are %s", got)
	}
}

func TestJSONKeepsMarks(t *testing.T) {
	var b strings.Builder
	if err := JSON(&b, map[string]any{"a": "<&>"}); err != nil || b.String() != "{\n  \"a\": \"<&>\"\n}\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
