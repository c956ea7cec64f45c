package lane

import "encoding/binary"

// What memory does with the addresses of whole warps in a few instructions of the processor: it is here because this package has the
// loops in assembly and their twins in Go.

// Wide says that the processor has the vectors of 256 bits for which loops in assembly are written, here and in other packages.
func Wide() bool { return wide }

// Moved reports whether the lanes of a are those of b, all moved by one distance.
func Moved(a, b *[Lanes]uint32) (by uint32, same bool) {
	if by = a[0] - b[0]; wide {
		return by, moved32(a, b, by)
	}
	return by, moved32InGo(a, b, by)
}

// Moved64 is Moved of registers of 64 bits.
func Moved64(a, b *[Lanes]uint64) (by uint64, same bool) {
	if by = a[0] - b[0]; wide {
		return by, moved64(a, b, by)
	}
	return by, moved64InGo(a, b, by)
}

func moved32InGo(a, b *[Lanes]uint32, by uint32) bool {
	differs := uint32(0)
	for l, v := range a {
		differs |= v - b[l] ^ by
	}
	return differs == 0
}

func moved64InGo(a, b *[Lanes]uint64, by uint64) bool {
	differs := uint64(0)
	for l, v := range a {
		differs |= v - b[l] ^ by
	}
	return differs == 0
}

// AtLeast reports whether every lane is at least a number.
func AtLeast(a *[Lanes]uint32, least uint32) bool {
	if wide {
		return atLeast(a, least)
	}
	return atLeastInGo(a, least)
}

// Zero reports whether every lane is 0.
func Zero(a *[Lanes]uint32) bool {
	if wide {
		return moved32(a, &noWords, 0)
	}
	return *a == noWords
}

// noWords is a register of zeros.
var noWords [Lanes]uint32

func atLeastInGo(a *[Lanes]uint32, least uint32) bool {
	for _, v := range a {
		if v < least {
			return false
		}
	}
	return true
}

// A matrix of ldmatrix has 8 rows of 16 bytes, each of which four lanes hold.
const (
	matrixRows = 8
	rowBytes   = 16
)

// Rows loads n matrices: row i of matrix m is what from has at at[8m+i]+off. Lane l gets the four bytes l%4 of row l/4. The caller has
// looked whether all rows are in from.
func Rows(to *[4]*[Lanes]uint32, n int, from []byte, at *[Lanes]uint32, off uint32) {
	if wide {
		rowsOfMatrices(to, n, &from[0], at, off)
		return
	}
	rowsOfMatricesInGo(to, n, from, at, off)
}

// Columns is Rows transposed: lane l gets the elements 2(l%4) and 2(l%4)+1, of 16 bits, of column l/4.
func Columns(to *[4]*[Lanes]uint32, n int, from []byte, at *[Lanes]uint32, off uint32) {
	if wide {
		columnsOfMatrices(to, n, &from[0], at, off)
		return
	}
	columnsOfMatricesInGo(to, n, from, at, off)
}

func rowsOfMatricesInGo(to *[4]*[Lanes]uint32, n int, from []byte, at *[Lanes]uint32, off uint32) {
	for m := range n {
		for i := range matrixRows {
			p, e := (*[rowBytes]byte)(from[at[matrixRows*m+i]+off:]), (*[4]uint32)(to[m&3][4*i:])
			x, y := binary.LittleEndian.Uint64(p[0:8]), binary.LittleEndian.Uint64(p[8:16])
			e[0], e[1], e[2], e[3] = uint32(x), uint32(x>>32), uint32(y), uint32(y>>32)
		}
	}
}

func columnsOfMatricesInGo(to *[4]*[Lanes]uint32, n int, from []byte, at *[Lanes]uint32, off uint32) {
	for m := range n {
		var row [matrixRows]*[rowBytes]byte
		for i := range row {
			row[i] = (*[rowBytes]byte)(from[at[matrixRows*m+i]+off:])
		}
		Transpose(to[m&3], &row)
	}
}

// Transpose gives lane l the elements of column l/4 of a matrix: four columns of two rows at a time.
func Transpose(d *[Lanes]uint32, row *[matrixRows]*[rowBytes]byte) {
	for k := 0; k < matrixRows; k += 2 {
		low, high := row[k], row[k+1]
		to := (*[29]uint32)(d[k/2:])
		x, y := binary.LittleEndian.Uint64(low[0:8]), binary.LittleEndian.Uint64(high[0:8])
		to[0], to[4] = uint32(x)&0xffff|uint32(y)<<16, uint32(x)>>16|uint32(y)&^0xffff
		x, y = x>>32, y>>32
		to[8], to[12] = uint32(x)&0xffff|uint32(y)<<16, uint32(x)>>16|uint32(y)&^0xffff
		x, y = binary.LittleEndian.Uint64(low[8:16]), binary.LittleEndian.Uint64(high[8:16])
		to[16], to[20] = uint32(x)&0xffff|uint32(y)<<16, uint32(x)>>16|uint32(y)&^0xffff
		x, y = x>>32, y>>32
		to[24], to[28] = uint32(x)&0xffff|uint32(y)<<16, uint32(x)>>16|uint32(y)&^0xffff
	}
}

// Pieces brings a piece of 16 bytes for every lane: from what from has at source+by, to the piece of to that begins at byte at+off. The caller
// has looked whether all of them are there.
func Pieces(to *[Lanes][rowBytes]byte, at *[Lanes]uint32, off uint32, from []byte, source *[Lanes]uint64, by uint64) {
	if wide {
		pieces(to, at, off, &from[0], source, by)
		return
	}
	piecesInGo(to, at, off, from, source, by)
}

func piecesInGo(to *[Lanes][rowBytes]byte, at *[Lanes]uint32, off uint32, from []byte, source *[Lanes]uint64, by uint64) {
	for l, v := range at {
		to[(v+off)/rowBytes] = [rowBytes]byte(from[source[l]+by:])
	}
}
