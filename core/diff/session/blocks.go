package session

import (
	"fmt"
	"path/filepath"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/fault"
)

// blocks adds up what was read of all launches, nil where no recording has blocks.
func (d *Document) blocks() *diff.Blocks {
	var all *diff.Blocks
	for i := range d.KernelResults {
		if of := d.KernelResults[i].Blocks; of != nil {
			if all == nil {
				all = &diff.Blocks{}
			}
			all.Add(of)
		}
	}
	return all
}

// unread is what a verdict says of blocks that were not read, where nothing differs.
func (d *Document) unread() string {
	if text := d.Blocks.Text(); text != "" && d.TotalDivergences == 0 {
		return " (" + text + ")"
	}
	return ""
}

// told is what a launch says of an error: what, and where in which of its files; of recordings that do not belong together, how they are compared
// all the same.
func told(f *fault.Error) string {
	if f.Kind == fault.Incompatible && f.Hint != "" {
		return f.Msg + "; " + f.Hint
	}
	if f.Path == "" || f.Offset == fault.Unknown {
		return f.Msg
	}
	return fmt.Sprintf("%s (byte %d of %s)", f.Msg, f.Offset, filepath.Base(f.Path))
}
