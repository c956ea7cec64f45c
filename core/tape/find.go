package tape

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// Ending is the usual ending of tapes.
const Ending = ".tape"

// Find lists the tapes that a path stands for: the file itself, or those in the directory.
func Find(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fault.FromIO(path, err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	return in(path)
}

func in(dir string) (found []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fault.FromIO(dir, err)
	}
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), Ending) {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	return found, nil
}
