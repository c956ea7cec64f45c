package warptrace

import (
	"errors"
	"math/bits"
)

// How the values of one site are stored in a paths block (docs/formats/prlx-v2.md). The values of all warps of a path stand together, a row
// for each warp, because warps that went the same way mostly hold values that are a step apart.
const (
	valuesRaw      = 0
	valuesSteps    = 1 // differences in the row; of the first number that from the first of the row before
	valuesBetween  = 2 // differences from the row before; in the first row as steps
	valuesTwofold  = 3 // differences of steps from those of the row before; in the first row as steps: read, not written
	valuesWritten  = 3 // modes that a writer takes: twofold was the best nowhere, and looked best where between is
	valuesModes    = 4
	valuesModeMask = 0x0f
)

// residuals fills into with what is stored of rows of n values, all of which fit into a width in bytes: the differences of a mode.
func residuals(into, values []uint64, n int, mode uint8, width uint) {
	into = into[:len(values)]
	if mode == valuesRaw {
		copy(into, values)
		return
	}
	shift := 64 - 8*width
	put := func(d uint64) uint64 { return zigzag(uint64(int64(d<<shift) >> shift)) }
	var above []uint64 // the row before
	for from := 0; from < len(values); from += n {
		row, to := values[from:min(from+n, len(values))], into[from:min(from+n, len(values))]
		before := uint64(0)
		switch {
		case mode == valuesBetween && above != nil:
			above = above[:len(row)]
			for k, v := range row {
				to[k] = put(v - above[k])
			}
		default:
			if above != nil {
				before = above[0]
			}
			for k, v := range row {
				to[k] = put(v - before)
				before = v
			}
		}
		above = row
	}
}

// restore turns residuals into values, in place.
func restore(col []uint64, n int, mode uint8, width uint) {
	if mode == valuesRaw || n == 0 {
		return
	}
	keep := ^uint64(0) >> (64 - 8*width)
	for row := 0; row < len(col); row += n {
		at := col[row : row+n]
		var above []uint64
		if row > 0 {
			above = col[row-n : row]
		}
		switch {
		case mode == valuesBetween && above != nil:
			for k := range at {
				at[k] = (above[k] + unzigzag(at[k])) & keep
			}
			continue
		case above != nil:
			at[0] = (above[0] + unzigzag(at[0])) & keep
		default:
			at[0] = unzigzag(at[0]) & keep
		}
		v := at[0]
		if mode == valuesTwofold && above != nil {
			for k := 1; k < n; k++ {
				v = (v + unzigzag(at[k]) + above[k] - above[k-1]) & keep
				at[k] = v
			}
			continue
		}
		for k := 1; k < n; k++ {
			v = (v + unzigzag(at[k])) & keep
			at[k] = v
		}
	}
}

// widthOf is the least of 1, 2, 4 and 8 bytes that holds every value.
func widthOf(values []uint64) uint {
	var all uint64
	for _, v := range values {
		all |= v
	}
	switch {
	case all>>8 == 0:
		return 1
	case all>>16 == 0:
		return 2
	case all>>32 == 0:
		return 4
	}
	return 8
}

// v2ValueColumn is how one column of values is stored.
type v2ValueColumn struct {
	form     uint8 // mode, and above it the logarithm of the width in bytes
	stored   uint8 // planes that are there in full
	constant uint8 // planes of which every byte is the same, which is stored once
}

func (c v2ValueColumn) mode() uint8 { return c.form & valuesModeMask }
func (c v2ValueColumn) width() uint { return 1 << (c.form >> 4) }

var errValues = errors.New("a column of values is stored in a form that is not known")

func (c v2ValueColumn) check() error {
	if c.mode() >= valuesModes || c.form>>4 > 3 || c.stored&c.constant != 0 || bits.Len8(c.stored|c.constant) > int(c.width()) {
		return errValues
	}
	return nil
}

// bytes is how much n numbers take.
func (c v2ValueColumn) bytes(n int) int {
	return bits.OnesCount8(c.stored)*n + bits.OnesCount8(c.constant)
}

// read fills into with the residuals that are stored.
func (c v2ValueColumn) read(planes []byte, into []uint64) {
	var same uint64
	n := len(into)
	first := true
	for p := range 8 {
		shift := 8 * p
		switch {
		case c.constant>>p&1 != 0:
			same |= uint64(planes[0]) << shift
			planes = planes[1:]
		case c.stored>>p&1 != 0:
			plane := planes[:n]
			planes = planes[n:]
			if first {
				for i, b := range plane {
					into[i] = uint64(b) << shift
				}
				first = false
				continue
			}
			for i, b := range plane {
				into[i] |= uint64(b) << shift
			}
		}
	}
	if first {
		for i := range into {
			into[i] = same
		}
	} else if same != 0 {
		for i := range into {
			into[i] |= same
		}
	}
}

// at64 is one of n numbers that are stored.
func (c v2ValueColumn) at64(planes []byte, n, i int) (v uint64) {
	for p := range 8 {
		switch {
		case c.constant>>p&1 != 0:
			v |= uint64(planes[0]) << (8 * p)
			planes = planes[1:]
		case c.stored>>p&1 != 0:
			v |= uint64(planes[i]) << (8 * p)
			planes = planes[n:]
		}
	}
	return v
}

// encodeValues stores the rows of a column in the mode that promises the fewest bytes once they are compressed. spare is memory.
func encodeValues(planes []byte, values []uint64, n int, spare []uint64) (v2ValueColumn, []byte) {
	width := widthOf(values)
	mode := valuesMode(values, n, width, spare)
	residuals(spare, values, n, mode, width)
	c := v2ValueColumn{form: mode | uint8(bits.Len(width)-1)<<4}
	return c, c.append(planes, spare)
}

// valuesMode is the mode that promises the fewest bytes.
func valuesMode(values []uint64, n int, width uint, spare []uint64) uint8 {
	best, least := uint8(0), -1
	for mode := range uint8(valuesWritten) {
		if len(values) == n && mode > valuesSteps {
			break // of a single row the other is steps
		}
		residuals(spare, values, n, mode, width)
		if cost := changes(spare); least < 0 || cost < least {
			best, least = mode, cost
		}
	}
	return best
}

// append stores residuals: the planes behind dst, which are there in the column's masks.
func (c *v2ValueColumn) append(dst []byte, numbers []uint64) []byte {
	all, none := uint64(0), ^uint64(0)
	for _, v := range numbers {
		all |= v
		none &= v
	}
	for p := range 8 {
		high, low := byte(all>>(8*p)), byte(none>>(8*p))
		switch {
		case high == 0:
		case high == low:
			c.constant |= 1 << p
			dst = append(dst, low)
		default:
			c.stored |= 1 << p
			for _, v := range numbers {
				dst = append(dst, byte(v>>(8*p)))
			}
		}
	}
	return dst
}

// changes weighs numbers by what changes from one to the next, in bytes: what repeats costs zstd nothing.
func changes(numbers []uint64) int {
	cost := 0
	var before uint64
	for _, v := range numbers {
		cost += (bits.Len64(v^before) + 7) / 8
		before = v
	}
	return cost
}
