package script

import (
	"math/bits"
)

// rowsPerBlock is how many rows of a table share the columns that are computed.
const rowsPerBlock = 64

// maxStored is how many words of a table are kept for the way back; of a larger one only the first row of each block is.
const maxStored = 1 << 19

// table computes lengths of longest common subsequences, 64 cells a word: bit j of row i is 0 where the cell is one more than its
// left neighbour (Hyyrö 2004). Rows are elements of a, columns those of b. Only a band of columns is computed in each block of
// rows; matches outside do not count, which can only make scripts longer.
type table struct {
	rows, cols int
	low, high  int // diagonals (column - row) that are computed
	words      int // of a whole row

	row    []uint64 // the current one
	first  []uint64 // of each block: the row before it
	starts []int    // of each block: where its words are in first
	kept   []uint64 // rows of all blocks, or of the block that is looked at
	keptAt []int    // of each block: where its rows are in kept; nil when only one block is kept
	stop   func() bool
	keys   []int32  // of each row: its symbol
	match  []uint64 // of one row, for symbols without a bit map
}

// shape sets the size of the table and which diagonals (column - row) of it are computed: low <= 0 <= high.
func (t *table) shape(rows, cols, low, high int) {
	t.rows, t.cols = rows, cols
	t.low, t.high = max(low, -rows), min(high, cols)
	t.words = (cols + 63) / 64
}

// band is the range of words that block k computes.
func (t *table) band(k int) (lo, hi int) {
	top := k * rowsPerBlock
	bottom := min(top+rowsPerBlock, t.rows) - 1
	lo = max(0, top+t.low) / 64
	hi = min(t.words-1, max(0, bottom+t.high)/64)
	return min(lo, t.words-1), hi
}

func (t *table) blocks() int { return (t.rows + rowsPerBlock - 1) / rowsPerBlock }

// steps is how many words will be computed.
func (t *table) steps() int64 {
	width := int64(min(t.words, (t.high-t.low)/64+3))
	return width * int64(t.rows)
}

func (t *table) stopped() bool { return t.stop != nil && t.stop() }

// fill computes the table. When it is stopped, what is in the table is good enough for some
// script, since only what is equal is ever kept.
func (t *table) fill(a []uint32, symbols *symbolTable) {
	t.keys = symbols.symbolsOf(a, t.keys)
	t.row = resized(t.row, t.words)
	for i := range t.row {
		t.row[i] = ^uint64(0)
	}
	blocks := t.blocks()
	t.starts = resized(t.starts, blocks+1)
	total := 0
	for k := range blocks {
		lo, hi := t.band(k)
		t.starts[k] = total
		total += hi - lo + 1
	}
	t.starts[blocks] = total
	t.first = resized(t.first, total)
	keepAll := int64(total)*rowsPerBlock <= maxStored
	t.keptAt = t.keptAt[:0]
	if keepAll {
		t.kept = resized(t.kept, total*rowsPerBlock)
		for k := range blocks {
			t.keptAt = append(t.keptAt, t.starts[k]*rowsPerBlock)
		}
	}
	for k := range blocks {
		if k%64 == 63 && t.stopped() {
			clear(t.kept)
			return
		}
		lo, hi := t.band(k)
		copy(t.first[t.starts[k]:], t.row[lo:hi+1])
		var store []uint64
		if keepAll {
			store = t.kept[t.starts[k]*rowsPerBlock:]
		}
		t.compute(k, t.row[lo:hi+1], store, symbols)
	}
}

// compute runs the rows of one block over the words of its band, and stores them when asked to.
func (t *table) compute(k int, row, store []uint64, symbols *symbolTable) {
	lo, hi := t.band(k)
	top := k * rowsPerBlock
	width := hi - lo + 1
	t.match = resized(t.match, width)
	last := row
	for i := top; i < min(top+rowsPerBlock, t.rows); i++ {
		next := row // in place, unless rows are stored
		if store != nil {
			next, store = store[:width], store[width:]
		}
		if match := symbols.matches(t.keys[i], lo, hi, t.match); match != nil {
			advance(next, last, match)
		} else { // matches nothing: the row is as the one before
			copy(next, last)
		}
		last = next
	}
	copy(row, last)
}

// advance makes the next row of one. Four words at a time keep the carry in the processor's flag.
func advance(next, row, match []uint64) {
	match, next = match[:len(row)], next[:len(row)]
	var carry uint64
	for len(row) >= 4 && len(match) >= 4 && len(next) >= 4 {
		r, m, n := (*[4]uint64)(row), (*[4]uint64)(match), (*[4]uint64)(next)
		v0, v1, v2, v3 := r[0], r[1], r[2], r[3]
		u0, u1, u2, u3 := v0&m[0], v1&m[1], v2&m[2], v3&m[3]
		s0, c := bits.Add64(v0, u0, carry)
		s1, c := bits.Add64(v1, u1, c)
		s2, c := bits.Add64(v2, u2, c)
		s3, c := bits.Add64(v3, u3, c)
		n[0], n[1], n[2], n[3] = s0|(v0^u0), s1|(v1^u1), s2|(v2^u2), s3|(v3^u3)
		carry = c
		row, match, next = row[4:], match[4:], next[4:]
	}
	for w, v := range row {
		u := v & match[w]
		sum, c := bits.Add64(v, u, carry)
		next[w] = sum | (v ^ u)
		carry = c
	}
}

// length is the length of the longest common subsequence that was found.
func (t *table) length() int {
	n := 0
	for w, v := range t.row {
		v = ^v
		if w == t.words-1 && t.cols%64 != 0 {
			v &= 1<<(t.cols%64) - 1
		}
		n += bits.OnesCount64(v)
	}
	return n
}

// bestColumn is where a script through all rows should end when what follows of the columns costs nothing, and what it costs.
func (t *table) bestColumn() (at, cost int) {
	best, n := 0, 0
	for j := range t.cols {
		if t.row[j/64]>>(j%64)&1 == 0 {
			n++
		}
		if gain := 2*n - (j + 1); gain > best {
			best, at = gain, j+1
		}
	}
	return at, t.rows - best
}

// trace appends the edits of a script to the cell below the last row and left of column cols, from the end to the beginning.
func (t *table) trace(a, b []uint32, cols int, symbols *symbolTable, r Script) Script {
	i, j := t.rows, cols
	for k := t.blocks() - 1; k >= 0 && i > 0 && j > 0; k-- {
		top := k * rowsPerBlock
		lo, hi := t.band(k)
		store := t.blockRows(k, symbols)
		width := hi - lo + 1
		for i > top && j > 0 {
			w := (j - 1) / 64
			switch {
			case w > hi: // nothing matched so far right: as the last column of the band
				r = prepend(r, Edit{int32(i), int32(hi+1) * 64, 0, int32(j - (hi+1)*64)})
				j = (hi + 1) * 64
			case w < lo: // nothing matched so far left: as the row before the block
				r = prepend(r, Edit{int32(top), int32(j), int32(i - top), 0})
				i = top
			case a[i-1] == b[j-1]:
				i, j = i-1, j-1
			case store[(i-1-top)*width+w-lo]>>((j-1)%64)&1 != 0:
				j--
				r = prepend(r, Edit{int32(i), int32(j), 0, 1})
			default:
				i--
				r = prepend(r, Edit{int32(i), int32(j), 1, 0})
			}
		}
	}
	if i > 0 || j > 0 {
		r = prepend(r, Edit{0, 0, int32(i), int32(j)})
	}
	return r
}

// blockRows returns the rows of a block, computed again when they were not kept.
func (t *table) blockRows(k int, symbols *symbolTable) []uint64 {
	if len(t.keptAt) > 0 {
		return t.kept[t.keptAt[k]:]
	}
	words := t.starts[k+1] - t.starts[k]
	t.kept = resized(t.kept, words*rowsPerBlock)
	t.row = resized(t.row, words) // its old content has been counted
	copy(t.row, t.first[t.starts[k]:t.starts[k+1]])
	t.compute(k, t.row, t.kept, symbols)
	return t.kept
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}
