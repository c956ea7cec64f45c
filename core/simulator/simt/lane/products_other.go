//go:build !amd64

package lane

func addProducts(c, a *[16][8]float32, b *[8][8]float32) { addProductsInGo(c, a, b) }

func rowsOfHalves(rows *[8][8]float32, x *[Lanes]uint32) (special uint32) {
	return rowsOfHalvesInGo(rows, x)
}

func interleave(rows *[8][8]float32, even, odd *[Lanes]uint32) { interleaveInGo(rows, even, odd) }

func rowsOfBrains(rows *[8][8]float32, x *[Lanes]uint32) { rowsOfBrainsInGo(rows, x) }
