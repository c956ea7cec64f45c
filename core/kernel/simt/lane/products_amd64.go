package lane

// addProducts adds a times b to c: per element a tree of the products of eight k. It is in assembly because a loop in Go does one
// product at a time, which takes twice what a product of matrices may take; SSE is part of every amd64.
//
//go:noescape
func addProducts(c, a *[16][8]float32, b *[8][8]float32)
