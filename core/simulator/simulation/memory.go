package simulation

import (
	"cmp"
	"errors"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/simulator/simt"
)

// lostMemory says which array it was when a launch met memory that the process cannot access. It may have been there when the
// launch began: a file that an array is mapped from can become shorter at any time.
func lostMemory(err error, l *simt.Launch) error {
	var caught *safe.PanicError
	if !errors.As(err, &caught) {
		return err
	}
	address, ok := caught.Address()
	if !ok {
		return err
	}
	for i := range l.Memory {
		a := &l.Memory[i]
		if at := address - a.Host; at < uint64(len(a.Bytes)) {
			return fault.New(fault.Memory, "kernel %s: byte %d of %s (%d bytes) cannot be accessed: its memory is not there any more, or may not be written",
				l.Kernel, at, cmp.Or(a.Name, "an array"), len(a.Bytes)).
				WithHint("the file that an array is mapped from must keep its size while the kernel runs, and a mapping that is written must be writable")
		}
	}
	return err
}
