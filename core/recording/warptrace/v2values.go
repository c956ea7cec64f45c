package warptrace

import "math/bits"

// siteValues are the values of one site in one warp: decoded, or what is stored of them, which is added up as far as somebody asks. Of
// two recordings that are compared few values are looked at.
type siteValues struct {
	site   uint32 // its number in the block
	known  bool   // it is those of a site
	values []uint64

	planes [stepPlanes]stepPlane // without values: of the rows of all warps of the path, n numbers each
	stored int                   // how many of planes
	same   uint64                // the planes that are constant
	n      int
	row    int    // of the warp
	mode   uint8  // of the column
	keep   uint64 // the bits of a value
	added  int    // numbers that are in sum
	sum    uint64
}

// stepPlane is one byte of each number, and how far it is shifted.
type stepPlane struct {
	bytes []byte
	shift uint
}

const (
	// stepPlanes is how many planes are added up; more are decoded.
	stepPlanes = 3
	// rowsAddedUp is in how many rows values are added up: in later ones decoding all rows once is less work.
	rowsAddedUp = 32
)

// stepsOf makes s the values of a column in a row, not decoded; false: it is not worth it.
func (p *v2Paths) stepsOf(s *siteValues, path *v2Path, col *v2Column, row int) bool {
	if bits.OnesCount8(col.stored) > stepPlanes || row >= rowsAddedUp || col.values.Load() != nil {
		return false
	}
	*s = siteValues{site: col.site, known: true, n: col.n, row: row, mode: col.mode(), keep: ^uint64(0) >> (64 - 8*col.width())}
	planes, total := p.planes[col.at:], path.rows*col.n
	for k := range uint(8) {
		switch {
		case col.constant>>k&1 != 0:
			s.same |= uint64(planes[0]) << (8 * k)
			planes = planes[1:]
		case col.stored>>k&1 != 0:
			s.planes[s.stored] = stepPlane{planes[:total], 8 * k}
			s.stored++
			planes = planes[total:]
		}
	}
	return true
}

// step is one of the numbers that are stored.
func (s *siteValues) step(i int) uint64 {
	v := s.same
	for k := range s.stored {
		v |= uint64(s.planes[k].bytes[i]) << s.planes[k].shift
	}
	return unzigzag(v)
}

// at is the value of the event with so many events of the site before it.
func (s *siteValues) at(rank int) uint64 {
	if s.values != nil {
		return s.values[rank]
	}
	if rank < s.added-1 {
		s.added, s.sum = 0, 0
	}
	for ; s.added <= rank; s.added++ {
		switch {
		case s.mode == valuesBetween:
			s.sum += s.step(s.added) // the first row, to begin with
		case s.mode == valuesTwofold || s.added == 0:
			s.sum += s.down(s.added, 0)
		default:
			s.sum += s.step(s.row*s.n + s.added)
		}
	}
	if s.mode == valuesBetween {
		return (s.sum + s.down(rank, 1)) & s.keep
	}
	return s.sum & s.keep
}

// down adds up what is stored at one place of the rows from first to the warp's.
func (s *siteValues) down(at, first int) (sum uint64) {
	for row := first; row <= s.row; row++ {
		sum += s.step(row*s.n + at)
	}
	return sum
}

// Value is the value of an event.
func (c *Coded) Value(i int) uint64 {
	number := c.block.numbers[c.IDs[i]]
	near := &c.near[number%uint32(len(c.near))]
	if near.site != number || !near.known {
		at := c.path.columns
		for c.block.values[at].site != number {
			at++
		}
		col := &c.block.values[at]
		if col.mode() == valuesRaw && col.values.Load() == nil {
			return col.at64(c.block.planes[col.at:], c.path.rows*col.n, c.row*col.n+int(c.Rank(i)))
		}
		if !c.block.stepsOf(near, c.path, col, c.row) {
			_, values := c.block.column(c.path, at)
			*near = siteValues{site: number, known: true, values: values[c.row*col.n:]}
		}
	}
	return near.at(int(c.Rank(i)))
}
