package session

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
)

func parse(t testing.TB, text string) (*Session, error) {
	s := &Session{Dir: "dir", Manifest: true}
	return s, s.parseManifest(t.Context(), "dir/session.json", strings.NewReader(text))
}

const (
	describedEntry = `{"launch":7,"kernel":"f","file":"f_7.prlx","grid":[2,1,1],"block":[64,1,1],"more":{"x":[1]}}`
	ourEntry       = `{"kernel":"f","file":"f.prlx","argument_digest":"0x00000000000000ff","module_hash":"ab","stream":"7","status":"partial"}`
)

func TestBothFormsOfTheManifestAreRead(t *testing.T) {
	s, err := parse(t, "["+describedEntry+"]")
	if err != nil {
		t.Fatal(err)
	}
	want := []Launch{{Number: 7, Kernel: "f", File: "f_7.prlx", Grid: [3]uint32{2, 1, 1}, Block: [3]uint32{64, 1, 1}}}
	if !reflect.DeepEqual(s.Launches, want) || !s.Described || s.Partial {
		t.Errorf("got %+v", s)
	}
	s, err = parse(t, `{"later":[{}],"schema":"prlx.session/1","producer":"p 1","status":"partial","launches":[`+ourEntry+`,`+describedEntry+`]}`)
	if err != nil {
		t.Fatal(err)
	}
	want = append([]Launch{{Kernel: "f", File: "f.prlx", ArgumentDigest: 255, ModuleHash: "ab", Stream: "7", Partial: true}}, want...)
	if !reflect.DeepEqual(s.Launches, want) || s.Described || !s.Partial || s.Producer != "p 1" {
		t.Errorf("got %+v", s)
	}
}

func TestManifestsThatAreNotAreFormatErrors(t *testing.T) {
	for _, text := range []string{
		"", "null", "1", `"x"`, "[", "[1]", "[{}]", "[" + describedEntry, "[" + describedEntry + "]]", "[" + ourEntry + "]", "{}", `{"launches":[]}`,
		`{"schema":"prlx.session/2","launches":[]}`, `{"schema":"prlx.session/1"}`, `{"schema":"prlx.session/1","launches":{}}`,
		`{"schema":"prlx.session/1","launches":[],"launches":[]}`, `{"schema":"prlx.session/1","launches":[]`,
		`{"schema":1,"launches":[]}`,
		"[" + strings.Replace(describedEntry, "[2,1,1]", "[2,1]", 1) + "]",
		"[" + strings.Replace(describedEntry, "[2,1,1]", "[2,1,-1]", 1) + "]",
		"[" + strings.Replace(describedEntry, `"launch":7`, `"launch":4294967296`, 1) + "]",
		"[" + strings.Replace(describedEntry, `"launch":7`, `"launch":-1`, 1) + "]",
		"[" + strings.Replace(describedEntry, `"kernel":"f"`, `"kernel":null`, 1) + "]",
		"[" + strings.Replace(describedEntry, `"f_7.prlx"`, `"`+strings.Repeat("x", maxName+1)+`"`, 1) + "]",
		`{"schema":"prlx.session/1","launches":[` + strings.Replace(ourEntry, "0x00000000000000ff", "ff", 1) + `]}`,
		strings.Repeat("[", 20000),
		`{"schema":"prlx.session/1","launches":[` + strings.Replace(ourEntry, `"kernel"`, `"fidelity":{"exact":true,"approximated":["ex2"]},"kernel"`, 1) + `]}`,
		`{"schema":"prlx.session/1","launches":[` + strings.Replace(ourEntry, `"kernel"`, `"fidelity":{"decides":["`+strings.Repeat("x", maxInstruction+1)+`"]},"kernel"`, 1) + `]}`,
		`{"schema":"prlx.session/1","launches":[` + strings.Replace(ourEntry, `"kernel"`, `"fidelity":{"decides":[""`+strings.Repeat(`,""`, maxApproximated)+`]},"kernel"`, 1) + `]}`,
	} {
		_, err := parse(t, text)
		if !fault.Is(err, fault.Format) || fault.Of(err).Path != "dir/session.json" {
			t.Errorf("%.60s: got %v, want a format error with the path", text, err)
		}
	}
}

func TestManifestsAreWrittenAsTheyAreRead(t *testing.T) {
	from := &Session{Producer: "p", Partial: true, Launches: []Launch{
		{Number: 3, Kernel: "k<&>\"é", File: "a/b.prlx", Grid: [3]uint32{1, 2, 3}, Block: [3]uint32{4, 5, 6}, ArgumentDigest: 1 << 63, ModuleHash: "ab", Stream: "s", Partial: true, Fidelity: &Fidelity{Approximated: []string{"ex2.approx.f32"}, Decides: []string{"branch"}}},
		{Number: 4, Kernel: "", File: "c.prlx", Grid: [3]uint32{}, Block: [3]uint32{1, 1, 1}},
	}}
	var b bytes.Buffer
	if err := WriteManifest(&b, from); err != nil {
		t.Fatal(err)
	}
	s, err := parse(t, b.String())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s.Launches, from.Launches) || s.Producer != from.Producer || !s.Partial {
		t.Errorf("got %+v, want %+v", s, from)
	}
}

func TestRecordingsOutsideTheSessionAreRefused(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.prlx")
	if err := os.WriteFile(outside, launch("f", 1).encode(t), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := write(t, launch("f", 1))
	for name, make := range map[string]func(link string) error{
		"a link": func(link string) error { return os.Symlink(outside, link) },
		"a relative link": func(link string) error {
			to, err := filepath.Rel(dir, outside)
			return errors.Join(err, os.Symlink(to, link))
		},
		"a link to a directory": func(link string) error { return os.Symlink(filepath.Dir(outside), link) },
	} {
		link := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := make(link); err != nil {
			t.Fatal(err)
		}
	}
	up, err := filepath.Rel(dir, outside)
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{Dir: dir}
	for _, file := range []string{
		up, "./" + up, outside, "/etc/passwd", "..", "", ".", "x/../../y.prlx", "a-link", "a-relative-link", "a-link-to-a-directory/secret.prlx", "a-link-to-a-directory",
	} {
		s.Launches = []Launch{{Kernel: "f", File: file}}
		trace, err := s.openTrace(t.Context(), 0)
		if err == nil {
			trace.Close()
		}
		if !fault.Is(err, fault.Format) {
			t.Errorf("%q: got %v, want a format error", file, err)
		}
	}
	if err := os.Symlink("f_0.prlx", filepath.Join(dir, "inside")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"f_0.prlx", "./f_0.prlx", "inside"} {
		s.Launches = []Launch{{Kernel: "f", File: file}}
		trace, err := s.openTrace(t.Context(), 0)
		if err != nil {
			t.Errorf("%q: %v", file, err)
			continue
		}
		trace.Close()
	}
}

func TestSessionsOfADirectoryWithoutManifest(t *testing.T) {
	dir := t.TempDir()
	for name, l := range map[string]recorded{"b_10.prlx": launch("b", 1), "a_9.prlx": launch("a", 1), "c_10.prlx": launch("c", 1)} {
		if err := os.WriteFile(filepath.Join(dir, name), l.encode(t), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []string{"notes.txt", "broken_11.prlx"} {
		if err := os.WriteFile(filepath.Join(dir, other), []byte("no recording"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "more.prlx"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	var got []string
	for i := range s.Launches {
		got = append(got, s.Launches[i].name())
	}
	if want := []string{"a (launch 9)", "b (launch 10)", "c (launch 10)", "broken (launch 11)"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if s.Manifest || s.Launches[0].Grid != [3]uint32{1, 1, 1} || s.Launches[3].Problem == nil {
		t.Errorf("got %+v", s)
	}
}

func TestLaunchesWithoutNumbersAreCounted(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"x.prlx", "a_7.prlx", "m.prlx"} {
		if err := os.WriteFile(filepath.Join(dir, name), launch("f", 1).encode(t), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i, l := range open(t, dir).Launches {
		if l.Number != uint64(i) {
			t.Errorf("%s is launch %d, want %d", l.File, l.Number, i)
		}
	}
}

func TestPathsThatAreNotSessionsAreRefused(t *testing.T) {
	empty, dir := t.TempDir(), write(t, launch("f", 1))
	for path, want := range map[string]fault.Kind{
		empty: fault.Format, filepath.Join(empty, "nothing"): fault.IO, filepath.Join(dir, "f_0.prlx"): fault.Usage,
	} {
		if _, err := Open(t.Context(), path); !fault.Is(err, want) {
			t.Errorf("%s: got %v, want a %s error", path, err, want)
		}
	}
	if s := open(t, filepath.Join(dir, ManifestName)); s.Dir != dir || len(s.Launches) != 1 {
		t.Errorf("the manifest itself opens as %+v", s)
	}
}

func TestPipesAndLinksAreNotWaitedFor(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"a pipe for a manifest":      func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, ManifestName), 0o644) },
		"a directory for a manifest": func(dir string) error { return os.Mkdir(filepath.Join(dir, ManifestName), 0o755) },
		"a manifest elsewhere":       func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, ManifestName)) },
	} {
		dir := t.TempDir()
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(t.Context(), dir); err == nil || fault.Of(err).Kind == fault.Internal {
			t.Errorf("%s: got %+v, %v, want an error", name, s, err)
		}
	}
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "f_0.prlx"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s := open(t, dir); !fault.Is(s.Launches[0].Problem, fault.Format) {
		t.Errorf("a pipe for a recording is %v, want a format error", s.Launches[0].Problem)
	}
}

func TestDescribeFillsInWhatTheManifestLeftOpen(t *testing.T) {
	dir := write(t, launch("f", 1), recorded{kernel: "g", grid: 5, sites: []uint32{1}}, launch("h", 1))
	if err := os.Remove(filepath.Join(dir, "h_2.prlx")); err != nil {
		t.Fatal(err)
	}
	manifest(t, dir, `{"schema":"prlx.session/1","launches":[{"kernel":"f","file":"f_0.prlx"},{"kernel":"other","file":"g_1.prlx","grid":[0,0,0],"block":[1,1,1]},{"kernel":"h","file":"h_2.prlx"}]}`)
	s := open(t, dir)
	if err := s.Describe(job.New(t.Context(), job.Options{Workers: 2})); err != nil {
		t.Fatal(err)
	}
	l := s.Launches
	if l[0].Grid != [3]uint32{1, 1, 1} || l[0].Block != [3]uint32{32, 1, 1} || l[0].Header == nil {
		t.Errorf("got %+v", l[0])
	}
	if l[1].Grid != [3]uint32{5, 1, 1} || l[1].Block != [3]uint32{1, 1, 1} || l[1].Kernel != "other" {
		t.Errorf("what the manifest says holds; got %+v", l[1])
	}
	if !fault.Is(l[2].Problem, fault.IO) || l[2].Header != nil {
		t.Errorf("a missing file is %v, want an io error", l[2].Problem)
	}
}

func TestDescribingEndsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := open(t, write(t, launch("f", 1)))
	if err := s.Describe(job.New(ctx, job.Options{})); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if s.Launches[0].Problem != nil {
		t.Error("being cancelled became the launch's problem")
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte("[" + describedEntry + "]"))
	f.Add([]byte(`{"schema":"prlx.session/1","status":"partial","launches":[` + ourEntry + `]}`))
	f.Add([]byte(`{"schema":"prlx.session/1","launches":[{"kernel":"","file":"../../x"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &Session{Dir: "dir"}
		if err := s.parseManifest(t.Context(), "session.json", bytes.NewReader(b)); err != nil {
			if kind := fault.Of(err).Kind; kind != fault.Format && kind != fault.Limit {
				t.Fatalf("%v is of kind %s", err, kind)
			}
			return
		}
		var again bytes.Buffer
		if err := WriteManifest(&again, s); err != nil {
			t.Fatal(err)
		}
		back := &Session{}
		if err := back.parseManifest(t.Context(), "session.json", &again); err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		if !reflect.DeepEqual(back.Launches, s.Launches) && len(s.Launches) > 0 {
			t.Fatalf("got %+v, want %+v", back.Launches, s.Launches)
		}
		for i := range s.Launches {
			if path, err := s.resolve(&s.Launches[i]); err == nil {
				t.Fatalf("%s is inside a directory that does not exist", path)
			}
		}
		match(s, back)
	})
}
