package file_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prlx-go/prlx/core/file"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// killed runs the named helper below in a process of its own and kills it when it says that it is on its way.
func killed(t *testing.T, helper, path string) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run", "^"+helper+"$")
	c.Env = append(os.Environ(), "TEMPORARY_TEST_OUTPUT="+path)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "begun\n" {
		t.Fatalf("the helper said %q", line)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
}

func begun() {
	os.Stdout.WriteString("begun\n")
	select {}
}

func TestHelperBeginsAFile(t *testing.T) {
	path := os.Getenv("TEMPORARY_TEST_OUTPUT")
	if path == "" {
		t.Skip("a helper of another test")
	}
	o, err := file.Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = o.Write([]byte("half of what a run that is killed wrote"))
	begun()
}

func TestHelperBeginsADirectory(t *testing.T) {
	path := os.Getenv("TEMPORARY_TEST_OUTPUT")
	if path == "" {
		t.Skip("a helper of another test")
	}
	d, err := file.CreateDir(path, false)
	if err != nil {
		t.Fatal(err)
	}
	o, err := d.Create("inside")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = o.Write([]byte("half"))
	begun()
}

func TestTheNextRunRemovesWhatAKilledOneLeft(t *testing.T) {
	for helper, write := range map[string]func(path string) error{
		"TestHelperBeginsAFile": func(path string) error {
			o, err := file.Create(path, false)
			if err != nil {
				return err
			}
			defer o.Abort()
			_, _ = o.Write([]byte("whole"))
			return o.Commit()
		},
		"TestHelperBeginsADirectory": func(path string) error {
			d, err := file.CreateDir(path, false)
			if err != nil {
				return err
			}
			defer d.Abort()
			return d.Commit()
		},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "out")
		for range 3 {
			killed(t, helper, path)
		}
		if got := names(t, dir); !slices.Equal(got, []string{".out.prlx-part"}) {
			t.Errorf("%s: three killed runs left %v, want one name", helper, got)
		}
		if err := write(path); err != nil {
			t.Fatal(err)
		}
		if got := names(t, dir); !slices.Equal(got, []string{"out"}) {
			t.Errorf("%s: after the next run there are %v", helper, got)
		}
		if st, _ := os.Stat(path); st.IsDir() {
			if got := names(t, path); len(got) != 0 {
				t.Errorf("what a killed run wrote is in the output: %v", got)
			}
		} else if got, _ := os.ReadFile(path); string(got) != "whole" {
			t.Errorf("the output is %q", got)
		}
	}
}

func TestWritersOfOneOutputDoNotTakeEachOthersTemporaries(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			text := strings.Repeat(string(rune('a'+i)), 1000)
			for range 20 {
				o, err := file.Create(path, true)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = o.Write([]byte(text[:500]))
				_, _ = o.Write([]byte(text[500:]))
				if i%3 == 0 {
					o.Abort()
				} else if err := o.Commit(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if got := names(t, dir); !slices.Equal(got, []string{"out"}) {
		t.Errorf("there are %v, want the output alone", got)
	}
	got, err := os.ReadFile(path)
	if err != nil || len(got) != 1000 || strings.Count(string(got), string(got[:1])) != 1000 {
		t.Errorf("the output is of several writers: %d bytes, %v", len(got), err)
	}
}

// A run that was killed between giving the output its name and removing the temporary one left a second name of a whole file.
func TestALeftSecondNameOfAnOutputDoesNotHarmIt(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	if err := os.WriteFile(path, []byte("whole"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, filepath.Join(dir, ".out.prlx-part")); err != nil {
		t.Skip("no hard links here")
	}
	o, err := file.Create(path, true)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "whole" {
		t.Errorf("the output became %q when another was begun", got)
	}
	o.Abort()
	if got := names(t, dir); !slices.Equal(got, []string{"out"}) {
		t.Errorf("there are %v", got)
	}
}

func TestNamesOfOthersAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(elsewhere, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, ".out.prlx-part")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".out.1.prlx-part"), 0o700); err != nil {
		t.Fatal(err)
	}
	o, err := file.Create(filepath.Join(dir, "out"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Abort()
	_, _ = o.Write([]byte("new"))
	if err := o.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(elsewhere); string(got) != "precious" {
		t.Errorf("a link was followed: %q", got)
	}
	if got := names(t, dir); !slices.Equal(got, []string{".out.1.prlx-part", ".out.prlx-part", "out"}) {
		t.Errorf("there are %v", got)
	}
}

// Downloaders keep what they have so far of X in .X.part: a run that writes X must not take that for what a killed run left.
func TestWhatOtherProgramsKeepBesideAnOutputIsLeftAlone(t *testing.T) {
	write := map[string]func(path string) error{
		"file": func(path string) error {
			o, err := file.Create(path, true)
			if err != nil {
				return err
			}
			return o.Commit()
		},
		"directory": func(path string) error {
			d, err := file.CreateDir(path, true)
			if err != nil {
				return err
			}
			return d.Commit()
		},
	}
	for output, run := range write {
		for _, name := range []string{".out.part", ".out.1.part", ".out.tmp", "out.part"} {
			dir := t.TempDir()
			other := filepath.Join(dir, name)
			if err := os.WriteFile(other, []byte("half of a download"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := run(filepath.Join(dir, "out")); err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(other); string(got) != "half of a download" {
				t.Errorf("%s: %s became %q", output, name, got)
			}
		}
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, ".out.part", "kept"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := run(filepath.Join(dir, "out")); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, ".out.part", "kept")); err != nil {
			t.Errorf("%s: a directory of others is gone: %v", output, err)
		}
	}
}

func TestADirectoryThatAnotherProcessFillsIsNotRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	d, err := file.CreateDir(path, false)
	if err != nil {
		t.Fatal(err)
	}
	temporary := d.Temporary()
	other, err := file.CreateDir(path, false)
	if err != nil {
		t.Fatal(err)
	}
	other.Abort()
	if _, err := os.Stat(temporary); err != nil {
		t.Fatalf("the directory is gone: %v", err)
	}
	again, err := file.ResumeDir(temporary, path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, filepath.Dir(path)); !slices.Equal(got, []string{"run"}) {
		t.Errorf("there are %v", got)
	}
}
