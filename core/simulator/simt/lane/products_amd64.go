package lane

// addProducts adds a times b to c: per element a tree of the products of eight k. It is in assembly because a loop in Go does one
// product at a time, which takes twice what a product of matrices may take; SSE is part of every amd64.
//
//go:noescape
func addProducts(c, a *[16][8]float32, b *[8][8]float32)

// rowsOfHalves is rowsOfHalvesInGo, four words at a time.
//
//go:noescape
func rowsOfHalves(rows *[8][8]float32, x *[Lanes]uint32) (special uint32)

// interleave is interleaveInGo, four words at a time.
//
//go:noescape
func interleave(rows *[8][8]float32, even, odd *[Lanes]uint32)

// rowsOfBrains is rowsOfBrainsInGo, four words at a time.
//
//go:noescape
func rowsOfBrains(rows *[8][8]float32, x *[Lanes]uint32)
