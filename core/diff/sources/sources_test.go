package sources

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/recording/edits"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// textsOf is the text of one function that begins at line 3 of a file.
func textsOf(file string, lines ...string) *warptrace.Texts {
	text := strings.Join(lines, "\n") + "\n"
	return &warptrace.Texts{Functions: []warptrace.Text{{File: file, Function: "k", FirstLine: 3, Text: text, Digest: warptrace.DigestOfText(text)}}}
}

var (
	linesA = []string{"def k(x):", "    a = 1", "    b = a", "    store(b)"}
	linesB = []string{"def k(x):", "    # more", "    a = 1", "    b = a + 1", "    store(b)"}
)

func from(a, b *warptrace.Texts, roots ...string) From {
	return From{A: a, B: b, Changes: edits.Between(a, b), Roots: roots}
}

func read(t *testing.T, location, inB string, f From) []diff.Source {
	t.Helper()
	got, err := Read(t.Context(), &diff.Document{First: &diff.Divergence{SourceLocation: location, LocationB: inB}}, f)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// lineOf is a line as a side shows it.
func lineOf(t *testing.T, sources []diff.Source, side string, line int) string {
	t.Helper()
	at := slices.IndexFunc(sources, func(s diff.Source) bool {
		return (s.Side == side || s.Side == "") && line >= s.FirstLine && line < s.FirstLine+len(s.Lines)
	})
	if at < 0 {
		t.Fatalf("no line %d of %s in %+v", line, side, sources)
	}
	return sources[at].Lines[line-sources[at].FirstLine]
}

func TestRecordedLinesAreThoseOfTheirSide(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "k.py")
	if err := os.WriteFile(file, []byte(strings.Repeat("another text\n", 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	got := read(t, file+":k:5:1", file+":k:6:1", from(textsOf(file, linesA...), textsOf(file, linesB...), folder))
	if a, b := lineOf(t, got, "A", 5), lineOf(t, got, "B", 6); a != "    b = a" || b != "    b = a + 1" {
		t.Errorf("A shows %q, B %q", a, b)
	}
	for _, s := range got {
		if !s.Recorded || !s.Changed || s.Stale || s.FirstLine < 3 {
			t.Errorf("a piece that was recorded, of a file that is another one by now: %+v", s)
		}
	}
}

// The line that stands for A's is shown for B also where the document names A's alone.
func TestTheLineOfTheOtherSideIsShownToo(t *testing.T) {
	got := read(t, "/gone/k.py:k:6:1", "", from(textsOf("/gone/k.py", linesA...), textsOf("/gone/k.py", linesB...)))
	if b := lineOf(t, got, "B", 7); b != "    store(b)" {
		t.Errorf("B shows %q", b)
	}
	if slices.ContainsFunc(got, func(s diff.Source) bool { return s.Changed }) {
		t.Error("a file that is gone did not change")
	}
}

func TestEqualTextsAreShownForBoth(t *testing.T) {
	got := read(t, "/gone/k.py:k:5:1", "", from(textsOf("/gone/k.py", linesA...), textsOf("/gone/k.py", linesA...)))
	if len(got) != 1 || got[0].Side != "" || got[0].FirstLine != 3 || !slices.Equal(got[0].Lines, linesA) {
		t.Errorf("sources: %+v", got)
	}
}

// Triton's cache names the directory in which it compiled a kernel first.
func TestTextsAreFoundByTheNameOfTheirFile(t *testing.T) {
	got := read(t, "/first/k.py:k:5:1", "", from(textsOf("/now/k.py", linesA...), nil))
	if len(got) != 1 || got[0].File != "/first/k.py" || lineOf(t, got, "A", 5) != "    b = a" {
		t.Errorf("sources: %+v", got)
	}
}

// A file that is B's by now was not edited since.
func TestTheEditBetweenTheRecordingsIsNoLaterOne(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "k.py")
	if err := os.WriteFile(file, []byte("\n\n"+strings.Join(linesB, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range read(t, file+":k:5:1", file+":k:6:1", from(textsOf(file, linesA...), textsOf(file, linesB...), folder)) {
		if s.Changed {
			t.Errorf("%+v", s)
		}
	}
}

func TestWithoutARecordingFilesAreRead(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "k.py"), []byte(strings.Join(linesA, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	f := From{Roots: []string{folder}, Recorded: time.Now().Add(-time.Hour)}
	got := read(t, "elsewhere/k.py:k:2:1", "", f)
	if len(got) != 1 || !got[0].Stale || got[0].Recorded || lineOf(t, got, "A", 2) != "    a = 1" {
		t.Errorf("sources: %+v", got)
	}
	if got := read(t, "elsewhere/k.py:k:99:1", "", f); len(got) != 0 {
		t.Errorf("a line that the file does not have: %+v", got)
	}
	if got := read(t, "/etc/passwd:k:1:1", "", f); len(got) != 0 {
		t.Errorf("a file that holds no code: %+v", got)
	}
}

// Whoever sends a recording or a site table chooses the paths in it.
func TestPathsOfARecordingLeadOnlyBelowTheRoots(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	secret := filepath.Join(home, "settings.py")
	if err := os.WriteFile(secret, []byte("KEY = 'secret'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(work, "link.py")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(home, filepath.Join(work, "folder")); err != nil {
		t.Fatal(err)
	}
	up, err := filepath.Rel(work, secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{secret, up, filepath.Join(work, up), filepath.Join(work, "link.py"), "link.py", "folder/settings.py", filepath.Join(work, "folder", "settings.py")} {
		if got := read(t, file+":k:1:1", "", From{Roots: []string{work}}); len(got) != 0 {
			t.Errorf("%s was read: %+v", file, got)
		}
		if got := read(t, file+":k:1:1", "", From{}); len(got) != 0 {
			t.Errorf("without roots %s was read: %+v", file, got)
		}
	}
	if got := read(t, secret+":k:1:1", "", From{Roots: []string{work, home}}); len(got) != 1 || lineOf(t, got, "A", 1) != "KEY = 'secret'" {
		t.Errorf("below a root: %+v", got)
	}
}

// A working directory is often named by links, and a compiler notes where a file is in truth, or the other way round.
func TestLinksToARootAreThatRoot(t *testing.T) {
	folder, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Mkdir(filepath.Join(folder, "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "deep", "k.py"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]string{{folder, link}, {link, folder}, {link, link}} {
		if got := read(t, filepath.Join(pair[0], "deep", "k.py")+":k:1:1", "", From{Roots: []string{pair[1]}}); len(got) != 1 {
			t.Errorf("%v: %+v", pair, got)
		}
	}
}
