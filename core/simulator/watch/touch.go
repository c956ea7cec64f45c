package watch

import (
	"context"
	"math/bits"
	"strconv"
	"strings"
	"sync"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// A map of an array has at most mapSide cells in each direction: nobody sees more in a picture.
const (
	mapSide   = 64
	mapCells  = mapSide * mapSide
	mapWords  = mapCells / 64
	mapArrays = 16 // arrays with a map
)

// Layout is how an allocation is laid out, as its owner says: the elements lie in rows of so many columns. The zero Layout says nothing.
type Layout struct {
	Shape        []int64 `json:"shape"` // of the whole allocation, in row-major order; none: not known
	ElementBytes int64   `json:"element_bytes"`
}

// Touched says which blocks touched which elements of which array of a launch.
type Touched struct {
	Arrays     []TouchedArray `json:"arrays"`      // in the order of the arguments; without a map those that nobody touched
	MoreArrays int            `json:"more_arrays"` // that have no map
	Blocks     uint64         `json:"blocks"`      // that were looked at
}

// TouchedArray is the map of one array: cells of Cell rows and columns of elements, row by row.
type TouchedArray struct {
	Name         string   `json:"name"`
	Type         string   `json:"type"` // of the argument, "" not known
	Bytes        int64    `json:"bytes"`
	ElementBytes int64    `json:"element_bytes"`
	Shape        []int64  `json:"shape"`   // null: not known, the map then wraps
	Rows         int64    `json:"rows"`    // of elements
	Columns      int64    `json:"columns"` // of elements
	CellRows     int64    `json:"cell_rows"`
	CellColumns  int64    `json:"cell_columns"`
	Read         *CellMap `json:"read"`  // null: no block did
	Written      *CellMap `json:"write"` // null: no block did; atomics read and write
}

// CellMap says of each cell which blocks touched it: how many different ones, and the lowest and the highest by number.
type CellMap struct {
	Width  int      `json:"width"` // cells of a row
	Blocks []uint64 `json:"blocks"`
	First  []int64  `json:"first"` // -1: none
	Last   []int64  `json:"last"`
}

// touch is the Observer.
type touch struct {
	layouts []Layout // by allocation; may be short
	copies  []memory.Copy
	want    []bool
	done    func(*Touched)

	mu     sync.Mutex
	arrays []*touchedArray // by allocation; nil: no map
	more   int
	blocks uint64
	free   []*touchBlock
}

type touchedArray struct {
	TouchedArray
	width uint64
	maps  [2]*cells // read, written
}

type cell struct{ blocks, first, last uint64 }

type cells [mapCells]cell

// ObserveTouch observes which blocks touch which elements of the arrays of the launch. layouts are those of its allocations, by their order; done gets
// what was seen once all blocks have ended.
func ObserveTouch(k *code.Kernel, l *execute.Launch, layouts []Layout, done func(*Touched)) execute.Observer {
	t := &touch{layouts: layouts, copies: k.Copies, done: done, want: make([]bool, len(k.Code))}
	for i := range k.Code {
		t.want[i] = !k.Code[i].Hidden && isGlobalAccess(&k.Code[i])
	}
	for i := range l.Memory {
		if len(t.arrays)-t.more >= mapArrays {
			t.more++
			t.arrays = append(t.arrays, nil)
			continue
		}
		t.arrays = append(t.arrays, t.array(l, i))
	}
	return t
}

func isGlobalAccess(in *code.Inst) bool {
	switch in.Kind {
	case code.KindCopyAsync:
		return true
	case code.KindLoad, code.KindStore, code.KindAtomic:
		return in.Mem.Space == ptx.Global || in.Mem.Space == ptx.Generic || in.Mem.Space == ptx.Const
	}
	return false
}

// array lays out the map of an allocation.
func (t *touch) array(l *execute.Launch, i int) *touchedArray {
	m := &l.Memory[i]
	a := &touchedArray{TouchedArray: TouchedArray{Name: m.Name, Bytes: int64(len(m.Bytes)), ElementBytes: 1}}
	for k := range l.Params {
		if p := &l.Params[k]; p.Allocation == i {
			a.Type, a.ElementBytes = p.Type, elementBytes(p.Type)
			break
		}
	}
	var shape []int64
	if i < len(t.layouts) {
		if n := t.layouts[i].ElementBytes; n > 0 && n <= 16 {
			a.ElementBytes = n
		}
		shape = t.layouts[i].Shape
	}
	elements := max((a.Bytes+a.ElementBytes-1)/a.ElementBytes, 1)
	if columns, ok := columnsOf(shape, elements); ok {
		a.Shape, a.Columns, a.Rows = shape, columns, elements/columns
		a.CellColumns, a.CellRows = divide(a.Columns, mapSide), divide(a.Rows, mapSide)
	} else {
		a.CellColumns, a.CellRows = divide(elements, mapCells), 1
		a.Columns = min(mapSide*a.CellColumns, elements)
		a.Rows = divide(elements, a.Columns)
	}
	a.width = uint64(divide(a.Columns, a.CellColumns))
	return a
}

// columnsOf is how many elements lie in a row of an array of two or more dimensions; ok is false where the shape says nothing, or is not
// that of all elements.
func columnsOf(shape []int64, elements int64) (columns int64, ok bool) {
	if len(shape) < 2 {
		return 0, false
	}
	n := int64(1)
	for _, d := range shape {
		if d <= 0 || n > elements/d {
			return 0, false
		}
		n *= d
	}
	return shape[len(shape)-1], n == elements
}

// divide rounds up.
func divide(a, b int64) int64 { return (a + b - 1) / b }

// elementBytes is the size of what a pointer of a type points to, by Triton's spelling or NumPy's: 1 where that says nothing.
func elementBytes(ty string) int64 {
	digits := strings.TrimLeft(strings.TrimPrefix(ty, "*"), "abcdefghijklmnopqrstuvwxyz")
	if n, err := strconv.Atoi(digits); err == nil && n > 8 && n <= 128 {
		return int64(n) / 8
	}
	return 1
}

// Wants looks at accesses of global memory.
func (t *touch) Wants(at int32) bool { return t.want[at] }

// Open takes a block that begins.
func (t *touch) Open(*execute.Block) execute.BlockObserver {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last := len(t.free) - 1; last >= 0 {
		b := t.free[last]
		t.free = t.free[:last]
		return b
	}
	return &touchBlock{of: t, marks: make([][2]*[mapWords]uint64, len(t.arrays))}
}

// Close adds what a block touched to the maps.
func (t *touch) Close(_ context.Context, b *execute.Block, seen execute.BlockObserver) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.blocks++
	s := seen.(*touchBlock)
	for i := range s.marks {
		for kind, marks := range s.marks[i] {
			if marks == nil {
				continue
			}
			a := t.arrays[i]
			if a.maps[kind] == nil {
				a.maps[kind] = new(cells)
			}
			a.maps[kind].add(marks, b.Linear)
			clear(marks[:])
		}
	}
	t.free = append(t.free, s)
	return nil
}

// add notes that a block touched the cells that are marked.
func (m *cells) add(marks *[mapWords]uint64, block uint64) {
	for i, word := range marks {
		for ; word != 0; word &= word - 1 {
			c := &m[64*i+bits.TrailingZeros64(word)]
			if c.blocks == 0 {
				c.first, c.last = block, block
			}
			c.blocks++
			c.first, c.last = min(c.first, block), max(c.last, block)
		}
	}
}

// Finish hands over what was seen. The order of blocks makes no difference.
func (t *touch) Finish(*execute.Running, *execute.Result) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := &Touched{Arrays: []TouchedArray{}, MoreArrays: t.more, Blocks: t.blocks}
	for _, a := range t.arrays {
		if a == nil {
			continue
		}
		a.Read, a.Written = a.maps[0].document(a), a.maps[1].document(a)
		seen.Arrays = append(seen.Arrays, a.TouchedArray)
	}
	t.done(seen)
	return nil
}

func (m *cells) document(a *touchedArray) *CellMap {
	if m == nil {
		return nil
	}
	n := int(a.width) * int(divide(a.Rows, a.CellRows))
	d := &CellMap{Width: int(a.width), Blocks: make([]uint64, n), First: make([]int64, n), Last: make([]int64, n)}
	for i := range n {
		c := &m[i]
		if d.First[i], d.Last[i] = -1, -1; c.blocks > 0 {
			d.Blocks[i], d.First[i], d.Last[i] = c.blocks, int64(c.first), int64(c.last)
		}
	}
	return d
}

// touchBlock marks the cells that one block touches.
type touchBlock struct {
	of    *touch
	marks [][2]*[mapWords]uint64 // by allocation: read, written
}

// Before marks what an access is about to touch.
func (s *touchBlock) Before(b *execute.Block, w *execute.Warp, at int32, _, taken uint32) {
	in := &b.Running.Code[at]
	if in.Kind == code.KindCopyAsync {
		s.copy(b, w, &s.of.copies[in.Detail], taken)
		return
	}
	n := uint64(in.Mem.Elem * in.Mem.Count)
	for lanes := taken; lanes != 0; lanes &= lanes - 1 {
		a := addressOf(w, in.Mem, bits.TrailingZeros32(lanes))
		if in.Kind != code.KindStore {
			s.mark(b.Running.Global, a, n, 0)
		}
		if in.Kind != code.KindLoad {
			s.mark(b.Running.Global, a, n, 1)
		}
	}
}

// copy marks what an asynchronous copy reads.
func (s *touchBlock) copy(b *execute.Block, w *execute.Warp, c *memory.Copy, taken uint32) {
	for lanes := taken; lanes != 0; lanes &= lanes - 1 {
		l, n := bits.TrailingZeros32(lanes), uint64(c.Bytes)
		if c.Size >= 0 {
			n = min(n, uint64(w.Regs.R32[c.Size][l]))
		}
		s.mark(b.Running.Global, addressOf(w, &c.From, l), n, 0)
	}
}

// After has nothing to look at.
func (s *touchBlock) After(*execute.Block, *execute.Warp, int32, uint32, uint32) {}

// addressOf is where the access of a lane goes.
func addressOf(w *execute.Warp, t *memory.Transfer, l int) uint64 {
	switch {
	case t.Absolute:
		return uint64(t.Offset)
	case t.Narrow:
		return uint64(w.Regs.R32[t.Address][l]) + uint64(t.Offset)
	}
	return w.Regs.R64[t.Address][l] + uint64(t.Offset)
}

// mark notes n bytes from an address on, as far as they lie in an array that has a map.
func (s *touchBlock) mark(g *memory.Global, address, n uint64, kind int) {
	i, offset := g.Host(address)
	if i < 0 || i >= len(s.of.arrays) || s.of.arrays[i] == nil || n == 0 {
		return
	}
	a := s.of.arrays[i]
	marks := s.marks[i][kind]
	if marks == nil {
		marks = new([mapWords]uint64)
		s.marks[i][kind] = marks
	}
	size := uint64(a.ElementBytes)
	last := (min(offset+n, uint64(a.Bytes)) - 1) / size
	for e := offset / size; e <= last; e++ {
		row, column := e/uint64(a.Columns), e%uint64(a.Columns)
		at := row/uint64(a.CellRows)*a.width + column/uint64(a.CellColumns)
		marks[at/64] |= 1 << (at % 64)
	}
}
