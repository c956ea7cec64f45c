package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

const longEnough = "a key of at least sixteen bytes"

func keyFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "job.key")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAKeyFileIsItsOwnersAlone(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o400, 0o700} {
		if key, err := jobKey(keyFile(t, longEnough+"\n", mode), ""); err != nil || string(key) != longEnough {
			t.Errorf("%#o: got %q, %v", mode, key, err)
		}
	}
	for _, mode := range []os.FileMode{0o604, 0o640, 0o620, 0o602, 0o644, 0o666} {
		_, err := jobKey(keyFile(t, longEnough, mode), "")
		if f := fault.Of(err); err == nil || f.Kind != fault.Usage || !strings.Contains(f.Hint, "chmod 600") {
			t.Errorf("%#o: got %v", mode, err)
		}
	}
}

func TestAKeyIsLongEnoughAndNoWholeFile(t *testing.T) {
	for text, says := range map[string]string{
		"":                                "no job key",
		strings.Repeat("k", minKey-1):     "at least 16",
		strings.Repeat("k", 4097):         "at most 4096",
		strings.Repeat(" ", 20) + "short": "at least 16",
	} {
		if _, err := jobKey(keyFile(t, text, 0o600), "the variable's key, which the file's goes before"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%d bytes: got %v, want %q", len(text), err, says)
		}
	}
	if key, err := jobKey(keyFile(t, strings.Repeat("k", 4096), 0o600), ""); err != nil || len(key) != 4096 {
		t.Errorf("4096 bytes: %v", err)
	}
	if key, err := jobKey("", strings.Repeat("k", minKey)); err != nil || len(key) != minKey {
		t.Errorf("of the variable: %v", err)
	}
}
