package warptrace

import (
	"math/bits"

	"github.com/prlx-go/prlx/core/recording/site"
)

// column is the type of a column's elements.
type column interface {
	uint8 | uint16 | uint32 | uint64 | site.Kind | ValueType
}

// appendPlanes stores a column of numbers of a width in bytes: the planes at the end of dst, their mask at maskAt.
func appendPlanes(dst []byte, maskAt int, numbers []uint64, width int) []byte {
	var all uint64
	for _, v := range numbers {
		all |= v
	}
	for p := range width {
		if byte(all>>(8*p)) == 0 {
			continue
		}
		dst[maskAt] |= 1 << p
		at := len(dst)
		dst = append(dst, make([]byte, len(numbers))...)
		plane := dst[at:]
		for i, v := range numbers {
			plane[i] = byte(v >> (8 * p))
		}
	}
	return dst
}

// planes reads columns. A column that is not there in full makes it bad, and empty from then on.
type planes struct {
	masks []byte
	body  []byte
	bad   bool
}

// takeMasks starts a part of n masks.
func (r *planes) takeMasks(n int) {
	if r.bad || len(r.body) < n {
		r.bad, r.masks, r.body = true, make([]byte, n), nil
		return
	}
	r.masks, r.body = r.body[:n], r.body[n:]
}

// take cuts off the planes of the next column of n numbers of a width.
func (r *planes) take(n, width int) (mask byte, stored []byte) {
	if r.bad {
		return 0, nil
	}
	mask, r.masks = r.masks[0], r.masks[1:]
	size := bits.OnesCount8(mask) * n
	if int(mask)>>width != 0 || size > len(r.body) {
		r.bad, r.body = true, nil
		return 0, nil
	}
	stored, r.body = r.body[:size], r.body[size:]
	return mask, stored
}

// readColumn reads the next column into all elements of into. zero reports that every one is 0.
func readColumn[T column](r *planes, into []T, width int) (zero bool) {
	mask, stored := r.take(len(into), width)
	if mask == 0 {
		clear(into)
		return true
	}
	n := len(into)
	first := true // what is there is of no use
	for p := 0; p < width; p++ {
		if mask>>p&1 == 0 {
			continue
		}
		low, shift := stored[:n], 8*p&63
		stored = stored[n:]
		pair := p+1 < width && mask>>(p+1)&1 != 0
		switch {
		case pair: // two planes side by side at once
			p++
			high := stored[:n]
			stored = stored[n:]
			if first {
				for i := range into {
					into[i] = T(uint16(low[i])|uint16(high[i])<<8) << shift
				}
			} else {
				for i := range into {
					into[i] |= T(uint16(low[i])|uint16(high[i])<<8) << shift
				}
			}
		case first:
			for i := range into {
				into[i] = T(low[i]) << shift
			}
		default:
			for i := range into {
				into[i] |= T(low[i]) << shift
			}
		}
		first = false
	}
	return false
}

func zigzag(x uint64) uint64   { return x<<1 ^ uint64(int64(x)>>63) }
func unzigzag(x uint64) uint64 { return x>>1 ^ -(x & 1) }

func zigzag32(x uint32) uint32   { return x<<1 ^ uint32(int32(x)>>31) }
func unzigzag32(x uint32) uint32 { return x>>1 ^ -(x & 1) }
