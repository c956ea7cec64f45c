package warptrace

// siteValues are the values of one site in one warp: decoded, or what is stored of them, which is added up as far as somebody asks. Of
// two recordings that are compared few values are looked at, and most columns of values have them in steps of a byte.
type siteValues struct {
	site   uint32 // its number in the block
	values []uint64

	steps []byte // nil: decoded; else the rows of all warps of the path, n numbers each
	n     int
	row   int    // of the warp
	mode  uint8  // of the column
	keep  uint64 // the bits of a value
	added int    // numbers that are in sum
	sum   uint64
}

// rowsAddedUp is in how many rows values are added up: in later ones decoding all rows once is less work.
const rowsAddedUp = 32

// stepsOf are the values of a column in a row, not decoded; false: they are stored in another way, or it is not worth it.
func (p *v2Paths) stepsOf(path *v2Path, col *v2Column, row int) (siteValues, bool) {
	if col.mode() == valuesRaw || col.stored != 1 || col.constant != 0 || row >= rowsAddedUp || col.values.Load() != nil {
		return siteValues{}, false
	}
	return siteValues{
		site: col.site, steps: p.planes[col.at:][:path.rows*col.n], n: col.n, row: row, mode: col.mode(), keep: ^uint64(0) >> (64 - 8*col.width()),
	}, true
}

// at is the value of the event with so many events of the site before it.
func (s *siteValues) at(rank int) uint64 {
	if s.steps == nil {
		return s.values[rank]
	}
	if rank < s.added-1 {
		s.added, s.sum = 0, 0
	}
	for ; s.added <= rank; s.added++ {
		switch {
		case s.mode == valuesBetween:
			s.sum += unzigzag(uint64(s.steps[s.added])) // the first row, to begin with
		case s.mode == valuesTwofold || s.added == 0:
			s.sum += s.down(s.added, 0)
		default:
			s.sum += unzigzag(uint64(s.steps[s.row*s.n+s.added]))
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
		sum += unzigzag(uint64(s.steps[row*s.n+at]))
	}
	return sum
}

// Value is the value of an event. It is for one goroutine.
func (c *Coded) Value(i int) uint64 {
	number := c.block.numbers[c.IDs[i]]
	near := &c.near[number%uint32(len(c.near))]
	if near.site != number || near.values == nil && near.steps == nil {
		at := c.path.columns
		for c.block.values[at].site != number {
			at++
		}
		col := &c.block.values[at]
		if col.mode() == valuesRaw && col.values.Load() == nil {
			return col.at64(c.block.planes[col.at:], c.path.rows*col.n, c.row*col.n+int(c.Ranks[i]))
		}
		var ok bool
		if *near, ok = c.block.stepsOf(c.path, col, c.row); !ok {
			_, values := c.block.column(c.path, at)
			*near = siteValues{site: number, values: values[c.row*col.n:]}
		}
	}
	return near.at(int(c.Ranks[i]))
}
