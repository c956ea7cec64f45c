//go:build !amd64

package lane

// wide says that the processor has vectors that some loops and products are also written for.
var wide = false
