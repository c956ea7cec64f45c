// Package filetest finds the real recordings that tests read.
package filetest

import (
	"os"
	"path/filepath"
	"testing"
)

// Root returns the directory of recordings: PRLX_TEST_DATA, or shared/data beside the repository. The repository is found from where
// the test runs, which is the folder of its package: a build with -trimpath does not know the path of this file.
func Root() string {
	if d := os.Getenv("PRLX_TEST_DATA"); d != "" {
		return d
	}
	dir, _ := os.Getwd()
	for ; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
	}
	return filepath.Join(filepath.Dir(dir), "shared", "data")
}

// Data returns the path of a recording. A missing one skips the test, or fails it where CI=true says that it must be there.
func Data(t testing.TB, rel string) string {
	t.Helper()
	p := filepath.Join(Root(), filepath.FromSlash(rel))
	if _, err := os.Stat(p); err != nil {
		missing(t, rel)
	}
	return p
}

// Glob returns the recordings that match a pattern, at least one; a missing set skips or fails as Data does.
func Glob(t testing.TB, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(Root(), filepath.FromSlash(pattern)))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		missing(t, pattern)
	}
	return found
}

func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("recording %s is missing; set PRLX_TEST_DATA", what)
	}
	t.Skipf("recording %s is not here (PRLX_TEST_DATA)", what)
}
