package warptrace

import (
	"io"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
)

// A recording that grows slowly would lose all that its writer holds when its process is killed: up to a block. So whoever records
// writes a checkpoint now and then: the warps and stores that are held as blocks of their own, behind the end of the file. The writer
// goes on holding them, and the next block takes the place of the checkpoint. A file therefore has the same bytes however often and
// whenever it was checkpointed.

// checkpoint is what the last checkpoint held.
type checkpoint struct {
	off   int64
	warps int
	rows  int
}

// Checkpoint writes what is held behind the end of the file, so that it can be read when the process is killed, and goes on holding it.
// out is what the writer writes to; the place of its next Write must not change. When nothing was added since the last checkpoint,
// nothing is written. Whoever closes the recording cuts the file to Size: a checkpoint may have been longer than what followed.
func (w *V2Writer) Checkpoint(out io.WriterAt) error {
	now := checkpoint{w.off, len(w.warps), w.rows.Len()}
	if w.err != nil || w.closed || now == w.behind || now.warps == 0 && now.rows == 0 || len(w.list.blocks) >= v2MaxBlocks {
		return w.err
	}
	var blocks []byte
	if now.warps > 0 {
		head, directory, body := w.warpsBlock(w.paths.copy())
		blocks, _ = w.appendBlock(blocks, head, directory, body)
	}
	if now.rows > 0 {
		blocks, _ = w.appendBlock(blocks, v2Head{kind: v2Stores, count: uint32(now.rows)}, nil, encodeStores(&w.rows))
	}
	if _, err := out.WriteAt(blocks, w.off); err != nil {
		if fault.Of(err).Kind == fault.Internal {
			err = fault.FromIO("", err)
		}
		return err
	}
	w.behind = now
	return nil
}

// Size is how long the file is, without a checkpoint.
func (w *V2Writer) Size() int64 { return w.off }

// copy is a writer of the same paths that can be encoded while this one goes on. It shares what encoding fills anew.
func (p *pathWriter) copy() *pathWriter {
	c := *p
	c.ids = slices.Clone(p.ids) // encoding numbers the symbols anew
	return &c
}
