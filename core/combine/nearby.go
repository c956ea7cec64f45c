package combine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
)

// maxNearby is how many files of a directory that nobody named are looked at: clock files lie among a few others.
const maxNearby = 200

// nearby looks for clock files that nobody named, where people put them: beside traces that were named one by one, and one directory
// above the traces. They are named, not used: what lies there may belong to another run.
func nearby(ctx context.Context, traces []Input) string {
	var dirs []string
	for _, in := range traces {
		if in.Path == "-" {
			continue
		}
		for _, dir := range []string{filepath.Dir(in.Path), filepath.Dir(filepath.Dir(in.Path))} {
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
		if len(dirs) > 2*maxNearby {
			break
		}
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") }) // the nearest first
	for _, dir := range dirs {
		if names, option := clockFilesOf(ctx, dir); len(names) > 0 {
			shown := strings.Join(names[:min(len(names), 4)], ", ")
			if len(names) > 4 {
				shown += andMore(len(names) - 4)
			}
			return "clock files lie near the traces, in " + filepath.Base(dir) + ", and are not used: add " + option + " with " + shown
		}
	}
	return ""
}

// optionOf is the option that takes a clock file.
var optionOf = map[clockfile.Kind]string{
	clockfile.KindStamps: "--probes", clockfile.KindWindows: "--probes", clockfile.KindRounds: "--offsets", clockfile.KindDeclared: "--declared",
}

// clockFilesOf lists the files in a directory that relate the clocks of nodes, of the kind that comes first, with the option for it.
func clockFilesOf(ctx context.Context, dir string) (names []string, option string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, ""
	}
	looked := 0
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") || looked >= maxNearby {
			continue
		}
		looked++
		path := filepath.Join(dir, e.Name())
		st, err := os.Stat(path)
		if err != nil {
			continue
		}
		if o := optionOf[classify(ctx, path, st).clocks]; o != "" && (option == "" || o == option) {
			names, option = append(names, e.Name()), o
		}
	}
	return names, option
}
