package code

import "github.com/prlx-go/prlx/core/simulator/ptx"

// ParamOffset is where a parameter of a kernel begins in the memory of all of them; behind the last one it is their size.
func ParamOffset(f *ptx.Function, number int) (at uint64) {
	for i := range f.Params {
		align := uint64(max(f.Params[i].Align, 1))
		at = (at + align - 1) / align * align
		if i == number {
			return at
		}
		at += f.Params[i].Bytes
	}
	return at
}
