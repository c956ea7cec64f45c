//go:build !amd64

package lane

func addProducts(c, a *[16][8]float32, b *[8][8]float32) { addProductsInGo(c, a, b) }
