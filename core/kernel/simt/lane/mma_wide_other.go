//go:build !amd64

package lane

// wider is a product with vectors that the processor may have: nil here.
func (s mmaShape) wider(a, b, c string, saturate bool) func(r *Regs, v []int32) { return nil }
