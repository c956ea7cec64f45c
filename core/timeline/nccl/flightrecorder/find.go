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

// MostDumps is how many dumps are read together.
const MostDumps = 1 << 16

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
			if _, ok := RankOf(at); !ok || !e.Type().IsRegular() {
				continue
			}
			head, _, err := file.Head(ctx, at, 4096)
			if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, err
			}
			if Looks(head) {
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
	if len(out) > MostDumps {
		return nil, fault.New(fault.Limit, "%d dumps, at most %d are read together", len(out), MostDumps)
	}
	return out, nil
}

// ReadAll reads dumps, some at a time.
func ReadAll(ctx context.Context, paths []string, workers int) ([]*Dump, error) {
	out := make([]*Dump, len(paths))
	g, ctx := safe.NewGroup(ctx)
	g.SetLimit(max(workers, 1))
	for i, p := range paths {
		g.Go(func() error {
			d, err := Read(ctx, p)
			out[i] = d
			return err
		})
	}
	return out, g.Wait()
}
