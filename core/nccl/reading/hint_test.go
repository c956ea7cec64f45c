package reading

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

// TestACutStreamIsNotToBeSalvaged: what reads traces cut short is not there for recordings.
func TestACutStreamIsNotToBeSalvaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a"+Ending)
	if err := os.WriteFile(path, []byte("\x1f\x8b\x08 cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := open(t.Context(), path, Options{})
	if hint := fault.Of(err).Hint; err == nil || strings.Contains(hint, "--") || !strings.HasPrefix(hint, "copy the file again") {
		t.Errorf("%v, hint %q", err, hint)
	}
}
