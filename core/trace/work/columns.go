package work

import (
	"math"

	"github.com/prlx-go/prlx/core/fault"
)

// A block of a column holds 1 << BlockBits rows. Blocks grow a column without copying it.
const (
	BlockBits = 16
	blockRows = 1 << BlockBits
)

// Column is one property of all kernels read, in the order of the file.
type Column[T any] struct {
	Blocks [][]T
	N      int
}

// add appends a value.
func (c *Column[T]) add(v T) {
	if c.N&(blockRows-1) == 0 {
		c.Blocks = append(c.Blocks, make([]T, 0, blockRows))
	}
	last := &c.Blocks[len(c.Blocks)-1]
	*last = append(*last, v)
	c.N++
}

// At returns the value of a row.
func (c *Column[T]) At(i uint32) T { return c.Blocks[i>>BlockBits][i&(blockRows-1)] }

// Drop lets go of the column.
func (c *Column[T]) Drop() { *c = Column[T]{} }

// Rows are kernels as they were read.
type Rows struct {
	Name  Column[uint32]
	Start Column[int64]  // ps after the origin of the lane's document
	Dur   Column[uint32] // ns, math.MaxUint32: in Long
	Lane  Column[uint16]
	Corr  Column[uint32] // 0 none
	Long  map[uint32]int64

	Scopes Column[uint32] // number in Found.Scopes plus 1, 0 none; empty until one is known
	Blocks Column[uint32] // thread blocks of the launch, 0 unknown; empty until one is known
}

// Len is the number of kernels.
func (r *Rows) Len() int { return r.Name.N }

// add appends a kernel.
func (r *Rows) add(name uint32, startPS, durPS int64, lane uint16, corr, blocks uint32) {
	ns := durationNS(durPS)
	short := uint32(math.MaxUint32)
	if ns < math.MaxUint32 {
		short = uint32(ns)
	} else {
		if r.Long == nil {
			r.Long = map[uint32]int64{}
		}
		r.Long[uint32(r.Name.N)] = ns
	}
	if blocks > 0 || r.Blocks.N > 0 {
		for r.Blocks.N < r.Name.N {
			r.Blocks.add(0)
		}
		r.Blocks.add(blocks)
	}
	r.Name.add(name)
	r.Start.add(startPS)
	r.Dur.add(short)
	r.Lane.add(lane)
	r.Corr.add(corr)
}

// durationNS rounds to the nearest ns; a negative duration is none.
func durationNS(ps int64) int64 {
	if ps > math.MaxInt64-500 {
		return ps / 1000
	}
	return max(0, (ps+500)/1000)
}

// DurNS is the duration of kernel i.
func (r *Rows) DurNS(i uint32) int64 {
	if d := r.Dur.At(i); d != math.MaxUint32 {
		return int64(d)
	}
	return r.Long[i]
}

// Limits of what is kept beside the kernels.
const (
	maxNames     = 1 << 20
	MaxNameBytes = 64 << 20
	MaxLanes     = math.MaxUint16
)

// Names numbers texts by first appearance.
type Names struct {
	id    map[string]uint32
	All   []string
	bytes int
}

// Number gives the number of a text.
func (n *Names) Number(path string, text []byte) (uint32, error) {
	if id, ok := n.id[string(text)]; ok {
		return id, nil
	}
	if n.id == nil {
		n.id = map[string]uint32{}
	}
	n.bytes += len(text)
	if len(n.All) >= maxNames || n.bytes > MaxNameBytes {
		return 0, fault.New(fault.Limit, "more than %d different names, or more than %d bytes of them", maxNames, MaxNameBytes).WithPath(path)
	}
	s := string(text)
	n.id[s] = uint32(len(n.All))
	n.All = append(n.All, s)
	return n.id[s], nil
}
