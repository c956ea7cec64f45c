// Package arrow holds the few C functions that give back memory handed out through Arrow's C data interface. The memory is
// Python's and the structs are filled in Python; only giving back cannot be written there: a consumer releases whenever it
// likes, also while an exception is on its way, where Python code must not run. The functions never enter Go, so they work in
// a forked child.
package arrow

// #include "arrow.h"
import "C"

import "unsafe"

// Sizes of the tables that cross: how many functions of Python the releases need, and how many releases there are.
const (
	PythonFunctions  = 5
	ReleaseFunctions = 4
)

// Setup tells the releases where Python's functions are (Py_IsInitialized, PyGILState_Ensure, PyGILState_Release, Py_DecRef,
// PyCapsule_GetPointer) and returns the addresses of the releases for an ArrowSchema, an ArrowArray, an ArrowArrayStream and
// for a capsule around an ArrowArrayStream.
func Setup(python [PythonFunctions]uint64) [ReleaseFunctions]uint64 {
	C.prlx_arrow_setup((*C.uint64_t)(unsafe.Pointer(&python[0])))
	return [ReleaseFunctions]uint64{
		address(C.prlx_release_schema), address(C.prlx_release_array),
		address(C.prlx_release_stream), address(C.prlx_release_capsule),
	}
}

func address(function unsafe.Pointer) uint64 { return uint64(uintptr(function)) }
