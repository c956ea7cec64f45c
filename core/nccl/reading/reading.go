// Package reading makes recordings of what the recorder of NCCL's events wrote: of live, finished and dead processes alike.
//
// It ties what one process recorded together, by handles: calls, operations, launches, kernels, proxy operations and their steps. Steps
// that ended are added up and not listed, unless they are asked for. It compares no two processes, and it judges nothing. Times are on the
// clock of the host.
package reading

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/otherplugins"
	"github.com/prlx-go/prlx/core/nccl/segment"
	"github.com/prlx-go/prlx/core/safe"
)

// Ending is how the names of recordings end.
const Ending = ".prlx-nccl"

// isRecording reports whether a name is that of a recording, compressed or not.
func isRecording(name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst"), Ending)
}

// mostFiles is how many recordings are read together at most.
const mostFiles = 1 << 16

// Options are what is asked for.
type Options struct {
	Steps int // steps that ended and are listed, of each process
}

// Find returns the recordings that paths stand for: files, and the files of directories whose names end as recordings' do, those of folders in
// them as well. In a directory that has none, these are the files that another plug-in of NCCL wrote. They are in the order of their names.
func Find(paths []string) ([]string, error) {
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
		before := len(out)
		err = filepath.WalkDir(p, func(at string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.Type().IsRegular() && isRecording(at) {
				out = append(out, at)
			}
			return nil
		})
		if err != nil {
			return nil, fault.FromIO(p, err)
		}
		if len(out) == before {
			if out, err = others(out, p); err != nil {
				return nil, err
			}
		}
		if len(out) == before {
			return nil, fault.Usagef("%s holds no recording of NCCL events: no name in it ends in %s", p, Ending).
				WithHint("PRLX_NCCL_DIR says where a job writes them, a folder on each host; copy them into one")
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) == 0 {
		return nil, fault.Usagef("no recordings of NCCL events are named")
	}
	if len(out) > mostFiles {
		return nil, fault.New(fault.Limit, "%d recordings, at most %d are read together", len(out), mostFiles)
	}
	return out, nil
}

// others adds the files of a directory that another plug-in wrote, by their first bytes.
func others(out []string, dir string) ([]string, error) {
	err := filepath.WalkDir(dir, func(at string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		switch filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(at, ".gz"), ".zst")) {
		case ".log", ".json", ".jsonl":
		default:
			return nil
		}
		src, err := file.Open(context.Background(), at)
		if err != nil {
			return nil // some other file
		}
		defer src.Close()
		if kind, err := otherplugins.Sniff(src); err == nil && kind != otherplugins.None {
			out = append(out, at)
		}
		return nil
	})
	if err != nil {
		return nil, fault.FromIO(dir, err)
	}
	return out, nil
}

// Read reads recordings, in parallel, and returns them in the order of their paths. Files that hold nothing that could be read, for they are of
// another kind, cut or damaged at their beginning, or were being made when their process ended, are named apart: the others still tell what they
// hold. It fails where none can be read. What the proxy of one process did for another of its host (PXN) is tied to the operation of that other
// one, where both are read.
func Read(j *job.Job, paths []string, opt Options) (all []*operation.Recording, unread []operation.Unread, err error) {
	j.Progress().SetStage("read")
	total := int64(0)
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil {
			total += info.Size()
		}
	}
	j.Progress().SetTotal(total)
	found, failed := make([]*operation.Recording, len(paths)), make([]error, len(paths))
	g, ctx := safe.NewGroup(j.Context())
	g.SetLimit(j.Workers())
	for i, p := range paths {
		g.Go(func() error {
			found[i], failed[i] = open(ctx, p, opt)
			if info, err := os.Stat(p); err == nil {
				j.Progress().Add(info.Size())
			}
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	for i, r := range found {
		switch err := failed[i]; {
		case err != nil && fault.Of(err).Kind == fault.Internal:
			return nil, nil, err
		case err != nil:
			unread = append(unread, operation.Unread{Path: paths[i], Why: fault.Of(err).WithPath(paths[i]).Error()})
		case r == nil:
			unread = append(unread, operation.Unread{Path: paths[i], Why: paths[i] + " was never finished being made: its process ended before it recorded anything, or is beginning now"})
		default:
			all = append(all, r)
		}
	}
	if first := slices.IndexFunc(failed, func(err error) bool { return err != nil }); len(all) == 0 && first >= 0 {
		return nil, nil, failed[first]
	}
	adopt(all)
	return all, unread, nil
}

// open reads a file, whichever plug-in wrote it; nil: it was never finished being made.
func open(ctx context.Context, path string, opt Options) (*operation.Recording, error) {
	src, err := file.Open(ctx, path)
	if err != nil {
		if e := fault.Of(err); e.Kind == fault.Format {
			err = e.WithHint("copy the file again; of a recording that was not compressed all that was written can be read")
		}
		return nil, err
	}
	kind, err := otherplugins.Sniff(src)
	if err != nil || kind != otherplugins.None {
		defer src.Close()
		if err != nil {
			return nil, err
		}
		return otherplugins.Read(ctx, src, kind)
	}
	f, err := segment.FromSource(src)
	if err != nil {
		src.Close()
		return nil, err
	}
	defer f.Close()
	if f.State == segment.Making {
		return nil, nil
	}
	return One(ctx, f, opt)
}

// One reads an open file.
func One(ctx context.Context, f *segment.File, opt Options) (*operation.Recording, error) {
	opened, err := f.Segments()
	if err != nil {
		return nil, err
	}
	b := newBuilder(f, newTicks(f, opened), opt, opened)
	seen, err := f.Walk(ctx, b.record)
	if err != nil {
		return nil, err
	}
	b.finish(seen)
	return b.out, nil
}
