package pybind

import (
	"runtime/debug"
	"slices"
	"unsafe"
)

// fence runs f so that neither a panic nor a wrong address reaches the process around us: both return 0.
func fence(f func() int64) (code int64) {
	before := debug.SetPanicOnFault(true) // an address that is not mapped panics instead of killing
	defer debug.SetPanicOnFault(before)
	defer func() {
		if recover() != nil {
			code = 0
		}
	}()
	return f()
}

// view is the memory of n bytes at an address that Python owns for the duration of the call.
func view(address uint64, n int) []byte {
	if n == 0 {
		return nil
	}
	if n < 0 || address == 0 {
		panic("pybind: not a piece of memory")
	}
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&address))), n)
}

func clone(b []byte) []byte { return slices.Clone(b) }
