package memory

import (
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// sectorBytes is the size of what global memory moves at a time.
const sectorBytes = 32

// Sectors counts the distinct aligned pieces of 32 bytes that the lanes touch. Ask before the access, which may write the
// register of the address.
func Sectors(r *lane.Regs, t *Transfer, mask uint32) int {
	if mask == 0 {
		return 0
	}
	var room [lane.Lanes]uint64
	a := addresses(r, t, &room)
	width := uint64(t.Elem * t.Count)
	off := uint64(t.Offset)
	if mask == fullMask && dense(a, width) {
		first := a[0] + off
		return int((first+lane.Lanes*width-1)>>5 - first>>5 + 1)
	}
	if mask == fullMask {
		if n := ascending(a, off, width); n > 0 {
			return n
		}
	}
	var seen [4 * lane.Lanes]uint64 // an access of up to 64 bytes touches three sectors when it is not aligned
	n, sorted := 0, true
	for m := mask; m != 0; m &= m - 1 {
		at := a[bits.TrailingZeros32(m)] + off
		for s := at >> 5; s <= (at+width-1)>>5; s++ {
			if n == 0 || seen[n-1] != s {
				sorted = sorted && (n == 0 || seen[n-1] < s)
				seen[n] = s
				n++
			}
		}
	}
	if sorted {
		return n
	}
	slices.Sort(seen[:n])
	return len(slices.Compact(seen[:n]))
}

// ascending is Sectors of lanes whose sectors ascend, 0 when they do not.
func ascending(a *[lane.Lanes]uint64, off, width uint64) int {
	n, next := uint64(0), uint64(0) // the first sector that was not seen
	for i, v := range a {
		first, end := (v+off)>>5, (v+off+width-1)>>5+1
		if i > 0 && first+1 < next || end < first {
			return 0
		}
		first = max(first, next)
		if end > first {
			n += end - first
			next = end
		}
	}
	return int(n)
}
