package combine

import (
	"context"
	"os"

	"github.com/prlx-go/prlx/core/fault"
)

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
