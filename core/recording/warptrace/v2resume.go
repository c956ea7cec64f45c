package warptrace

import (
	"context"
	"io"

	"github.com/prlx-go/prlx/core/fault"
)

// V2File is a file that is continued; *os.File is one.
type V2File interface {
	io.ReaderAt
	io.Writer
	io.Seeker
	Truncate(size int64) error
}

// v2Reopened is a V2File as input.
type v2Reopened struct {
	V2File
	size int64
	path string
}

func (f *v2Reopened) Size() int64  { return f.size }
func (f *v2Reopened) Path() string { return f.path }

// ResumeV2 continues a recording that was closed or cut short by a crash: what is not whole, the index and the end are cut off, and
// more warps and sites can follow. path names the file in errors. Until Close the file is one without an end.
func ResumeV2(ctx context.Context, f V2File, path string, opt V2Options) (*V2Writer, *Header, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, nil, fault.FromIO(path, err)
	}
	v, list, err := readV2(ctx, &v2Reopened{f, size, path})
	if err != nil {
		return nil, nil, err
	}
	w, err := newV2Writer(f, v.header, opt)
	if err != nil {
		return nil, nil, err
	}
	for i := range v.blocks {
		if v.blocks[i].head.kind == v2Sites {
			w.sitesBytes += int(v.blocks[i].head.inflated)
		}
	}
	w.frames = v2MaxFrames - v.framesLeft
	for i := range v.sites {
		w.keys[v.sites[i].Key] = struct{}{}
		w.facts.add(&v.sites[i])
	}
	for i := range v.warps {
		w.seen.add(v.warps[i].Warp)
	}
	w.totals = v2Totals{
		warps: uint64(len(v.warps)), events: uint64(v.lost.Events), dropped: uint64(v.lost.Dropped), dropping: uint64(v.lost.WarpsWithDrops), notes: v.notes,
	}
	for i, b := range list.extras {
		if b.head.kind == v2Stores {
			w.written += int(b.head.count)
			continue
		}
		w.Note("what the launch had written until then was left out when the recording was continued")
		list.extras = list.extras[:i]
		break
	}
	w.list, w.off = *list, list.end
	if err := f.Truncate(list.end); err != nil {
		return nil, nil, fault.FromIO(path, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, nil, fault.FromIO(path, err)
	}
	if _, err := f.Write(appendV2Preamble(nil, w.majorAfter(v.blocks))); err != nil { // which blocks follow may need another reader
		return nil, nil, fault.FromIO(path, err)
	}
	if _, err := f.Seek(list.end, io.SeekStart); err != nil {
		return nil, nil, fault.FromIO(path, err)
	}
	return w, v.header, nil
}

// majorAfter is the version in the preamble of a file that has blocks already.
func (w *V2Writer) majorAfter(blocks []v2Block) uint16 {
	major := w.major()
	for i := range blocks {
		switch blocks[i].head.kind {
		case v2PathsKind:
			major = max(major, v2MajorPaths)
		case v2OperandsKind:
			major = max(major, v2MajorOperands)
		}
	}
	return major
}
