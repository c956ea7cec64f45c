package kernels

import (
	"math"

	"github.com/prlx-go/prlx/core/fault"
)

// blockRows is how many rows a block of a column holds. Blocks grow a column without copying it.
const (
	blockBits = 16
	blockRows = 1 << blockBits
)

// column is one property of all kernels read, in the order of the file.
type column[T any] struct {
	blocks [][]T
	n      int
}

func (c *column[T]) add(v T) {
	if c.n&(blockRows-1) == 0 {
		c.blocks = append(c.blocks, make([]T, 0, blockRows))
	}
	last := &c.blocks[len(c.blocks)-1]
	*last = append(*last, v)
	c.n++
}

func (c *column[T]) at(i uint32) T { return c.blocks[i>>blockBits][i&(blockRows-1)] }

func (c *column[T]) drop() { *c = column[T]{} }

// rows are kernels as they were read.
type rows struct {
	name  column[uint32]
	start column[int64]  // ps after the origin of the lane's document
	dur   column[uint32] // ns, math.MaxUint32: in long
	lane  column[uint16]
	corr  column[uint32] // 0 none
	long  map[uint32]int64

	blocks column[uint32] // thread blocks of the launch, 0 unknown; empty until one is known
}

func (r *rows) len() int { return r.name.n }

func (r *rows) add(name uint32, startPS, durPS int64, lane uint16, corr, blocks uint32) {
	ns := durationNS(durPS)
	short := uint32(math.MaxUint32)
	if ns < math.MaxUint32 {
		short = uint32(ns)
	} else {
		if r.long == nil {
			r.long = map[uint32]int64{}
		}
		r.long[uint32(r.name.n)] = ns
	}
	if blocks > 0 || r.blocks.n > 0 {
		for r.blocks.n < r.name.n {
			r.blocks.add(0)
		}
		r.blocks.add(blocks)
	}
	r.name.add(name)
	r.start.add(startPS)
	r.dur.add(short)
	r.lane.add(lane)
	r.corr.add(corr)
}

// durationNS rounds to the nearest ns; a negative duration is none.
func durationNS(ps int64) int64 {
	if ps > math.MaxInt64-500 {
		return ps / 1000
	}
	return max(0, (ps+500)/1000)
}

func (r *rows) durNS(i uint32) int64 {
	if d := r.dur.at(i); d != math.MaxUint32 {
		return int64(d)
	}
	return r.long[i]
}

// Limits of what is kept beside the kernels.
const (
	maxNames     = 1 << 20
	maxNameBytes = 64 << 20
	maxLanes     = math.MaxUint16
)

// names numbers texts by first appearance.
type names struct {
	id    map[string]uint32
	all   []string
	bytes int
}

// number gives the number of a text.
func (n *names) number(path string, text []byte) (uint32, error) {
	if id, ok := n.id[string(text)]; ok {
		return id, nil
	}
	if n.id == nil {
		n.id = map[string]uint32{}
	}
	n.bytes += len(text)
	if len(n.all) >= maxNames || n.bytes > maxNameBytes {
		return 0, fault.New(fault.Limit, "more than %d different names, or more than %d bytes of them", maxNames, maxNameBytes).WithPath(path)
	}
	s := string(text)
	n.id[s] = uint32(len(n.all))
	n.all = append(n.all, s)
	return n.id[s], nil
}
