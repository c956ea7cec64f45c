//go:build !amd64

package lane

// wide says that the processor has vectors that some loops and products are also written for.
var wide = false

var (
	wideLoops    map[string]Func
	wideCompares map[string]compareFunc
)

// wider is a product with vectors that the processor may have: nil here.
func (s mmaShape) wider(a, b, c string, saturate bool) func(r *Regs, v []int32) { return nil }
