package tape

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// Ending is the usual ending of tapes.
const Ending = ".tape"

// Holds reports whether a path holds tapes: a file that is one, or a directory with files of that ending.
func Holds(ctx context.Context, path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil || path == "" {
		return false, nil // whoever opens it says why that fails
	}
	if info.IsDir() {
		found, err := in(path)
		return len(found) > 0, err
	}
	if !info.Mode().IsRegular() {
		return false, nil
	}
	head, _, err := file.Head(ctx, path, len(Magic))
	return IsTape(head), err
}

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
