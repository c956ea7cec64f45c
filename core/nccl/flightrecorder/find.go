package flightrecorder

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/safe"
)

// mostDumps is how many dumps are read together.
const mostDumps = 1 << 16

// Find returns the dumps that paths stand for: files, and those files of directories whose names end with a rank and that begin as dumps do.
func Find(ctx context.Context, paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, fault.FromIO(p, err)
		}
		if !info.IsDir() {
			out = append(out, p)
			continue
		}
		entries, err := os.ReadDir(p)
		if err != nil {
			return nil, fault.FromIO(p, err)
		}
		before := len(out)
		for _, e := range entries {
			at := filepath.Join(p, e.Name())
			if _, ok := rankOf(at); !ok || !e.Type().IsRegular() {
				continue
			}
			head, _, err := file.Head(ctx, at, 4096)
			if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, err
			}
			if looks(head) || !slices.ContainsFunc(head, func(b byte) bool { return b != 0 }) { // empty, or zeros: reading says that
				out = append(out, at)
			}
		}
		if len(out) == before {
			return nil, fault.Usagef("%s holds no dump of PyTorch's Flight Recorder: their names end with a rank, as in trace_3", p).
				WithHint("TORCH_FR_DUMP_TEMP_FILE says where a job writes them")
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) > mostDumps {
		return nil, fault.New(fault.Limit, "%d dumps, at most %d are read together", len(out), mostDumps)
	}
	return out, nil
}

// ReadAll reads dumps, some at a time. Those that cannot be read are left out, and it is said why: the others still tell what they hold. It
// fails where none can be read.
func ReadAll(ctx context.Context, paths []string, workers int) (dumps []*dump, unread []unreadDump, err error) {
	all, failed := make([]*dump, len(paths)), make([]error, len(paths))
	g, ctx := safe.NewGroup(ctx)
	g.SetLimit(max(workers, 1))
	for i, p := range paths {
		g.Go(func() error {
			all[i], failed[i] = read(ctx, p)
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	for i, d := range all {
		switch err := failed[i]; {
		case err == nil:
			dumps = append(dumps, d)
		case fault.Of(err).Kind == fault.Internal:
			return nil, nil, err
		default:
			rank, ok := rankOf(paths[i])
			if !ok {
				rank = -1
			}
			unread = append(unread, unreadDump{rank, err})
		}
	}
	if len(dumps) == 0 && len(unread) > 0 {
		return nil, nil, unread[0].Err
	}
	return dumps, unread, nil
}

// unreadDump is a dump that could not be read.
type unreadDump struct {
	Rank int // by the name of the file; -1: it does not say it
	Err  error
}
