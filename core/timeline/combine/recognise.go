package combine

import (
	"context"
	"os"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// What is the kind of a file, told by its content.
type What string

// The kinds.
const (
	IsXSpace What = "xspace"
	IsChrome What = "chrome"
	IsClock  What = "clock" // anything that clockfile reads, or nothing known: it says which
)

// Recognise tells what an open file is.
func Recognise(src *file.Source) (What, error) {
	isJSON, err := sniffJSON(src)
	if err != nil {
		return "", err
	}
	head := make([]byte, min(src.Size(), headBytes))
	if n, err := src.ReadAt(head, 0); err != nil && n < len(head) {
		return "", err
	}
	switch {
	case isJSON && looksLikeChrome(trimmed(head)):
		return IsChrome, nil
	case looksLikeXSpace(head):
		return IsXSpace, nil
	}
	return IsClock, nil
}

func trimmed(head []byte) []byte {
	for len(head) > 0 && (head[0] != '{' && head[0] != '[') {
		head = head[1:]
	}
	return head
}

// Expand lists the files that arguments stand for: as Discover does, and the clock files of directories too.
func Expand(ctx context.Context, args []Input) ([]Input, []string, error) {
	var out []Input
	var notes []string
	for _, arg := range args {
		st, err := os.Stat(arg.Path)
		if err == nil && !st.IsDir() || arg.Path == "-" {
			out = append(out, arg)
			continue
		}
		f, err := Discover(ctx, []Input{arg})
		if err != nil && (f == nil || !fault.Is(err, fault.IO)) {
			return nil, nil, err
		}
		out = append(out, f.Traces...)
		for _, more := range [][]string{f.Offsets, f.Probes, f.Declared} {
			for _, p := range more {
				out = append(out, Input{Path: p})
			}
		}
		out = append(out, f.Snapshots...)
		notes = append(notes, f.Notes...)
	}
	return out, notes, nil
}
