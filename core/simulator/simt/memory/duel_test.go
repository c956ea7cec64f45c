package memory_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// choices are the bytes of a random program.
type choices struct{ data []byte }

func (c *choices) next(n int) int {
	if len(c.data) == 0 {
		return 0
	}
	v := int(c.data[0])
	c.data = c.data[1:]
	return v % n
}

// duel runs one program on the memory and on its twin.
type duel struct {
	t      *testing.T
	g      *memory.Global
	b      *memory.Block
	twin   *twin
	c      *choices
	regs   *lane.Regs
	unique uint64
	checks bool // else nothing is found in shared and local memory but bounds
	log    []string

	patterns map[string]*memory.Pattern // of what would be one instruction
}

const (
	twinWarps  = 3
	twinShared = 512 + 8
	twinLocal  = 72
)

func newDuel(t *testing.T, program []byte) *duel {
	d := &duel{t: t, c: &choices{program}, regs: registers(), checks: len(program)%5 != 0, patterns: map[string]*memory.Pattern{}}
	lengths, hosts := []int{1024, 96, 40}, []uint64{0x100000, 0x7f0000000010, 0x100000 + 1024}
	random := rand.New(rand.NewPCG(1, 2))
	w := &twin{size: twinLocal, local: map[[3]uint64]byte{}, shared: make([]sharedByte, twinShared)}
	for i, n := range lengths {
		bytes := make([]byte, n)
		for j := range bytes {
			bytes[j] = byte(random.Uint32())
		}
		w.allocations = append(w.allocations, memory.Allocation{Name: fmt.Sprint("a", i), Host: hosts[i], Bytes: bytes, ReadOnly: i == 1})
		w.global = append(w.global, slices.Clone(bytes))
	}
	var err error
	if d.g, err = memory.NewGlobal(w.allocations); err != nil {
		t.Fatal(err)
	}
	d.g.Arguments([]int{0, -1, 1, 2})
	ofParameter := []int{0, -1, 1, 2}
	w.legal = func(t *memory.Transfer, allocation int) bool {
		if t.Legal == 0 {
			return true
		}
		for i, a := range ofParameter {
			if t.Legal>>i&1 != 0 && (a < 0 || a == allocation) {
				return true
			}
		}
		return false
	}
	for i := range w.allocations {
		w.base = append(w.base, d.g.Pointer(i, hosts[i]))
	}
	w.lanes, w.order = make([][lane.Lanes]laneCopies, twinWarps), make([][]*twinCopy, twinWarps)
	if d.b, err = memory.NewBlock(d.g, memory.Shape{Warps: twinWarps, Shared: twinShared, Local: twinLocal, Checks: d.checks}); err != nil {
		t.Fatal(err)
	}
	if len(program)%2 == 1 { // it must change nothing of the rest
		d.g.Watch()
		d.b.Number(0)
	}
	d.twin = w
	return d
}

// transfer chooses what kind of access comes next, and puts addresses into the registers.
func (d *duel) transfer() *memory.Transfer {
	c := d.c
	t := vector([]ptx.Space{ptx.Shared, ptx.Shared, ptx.Shared, ptx.Global, ptx.Global, ptx.Local, ptx.Generic}[c.next(7)], 0, 0)
	shape := [][2]int{{4, 1}, {4, 4}, {4, 2}, {1, 1}, {2, 1}, {8, 1}, {8, 2}, {2, 4}, {4, 8}, {1, 4}, {2, 2}, {8, 4}}[c.next(12)]
	t.Elem, t.Count = shape[0], shape[1]
	t.Signed, t.Half, t.Wide = c.next(4) == 0, t.Elem <= 2 && c.next(4) == 0, t.Elem < 8 && c.next(5) == 0
	t.Half = t.Half && !t.Wide
	t.Narrow = (t.Space == ptx.Shared || t.Space == ptx.Local) && c.next(2) == 0
	t.Offset = int64([]int{0, 0, 16, -16, 4}[c.next(5)])
	if t.Space == ptx.Shared && c.next(12) == 0 {
		t.Order = memory.Relaxed
	}
	if c.next(8) == 0 {
		t.Regs[c.next(t.Count)] = -1
	}
	t.Inst = int32(len(d.log))
	if t.Space == ptx.Global {
		t.Legal = []uint64{0, 1, 2, 4, 5, 8}[c.next(6)]
	}
	d.addresses(t)
	if c.next(20) == 19 {
		t.Absolute, t.Narrow, t.Offset = true, false, int64(d.address(t, 0))
	}
	return t
}

func (d *duel) addresses(t *memory.Transfer) {
	c := d.c
	width := uint64(t.Elem * t.Count)
	if c.next(10) == 0 {
		t.Address = 1 // a load overwrites its own address
	}
	start, reach := uint64(0), uint64(len(d.twin.shared))
	switch t.Space {
	case ptx.Local:
		reach = twinLocal
	case ptx.Global, ptx.Generic:
		i := c.next(3)
		start, reach = d.twin.base[i], uint64(len(d.twin.allocations[i].Bytes))
		if c.next(4) == 0 {
			start = d.twin.allocations[i].Host
		}
		if t.Space == ptx.Generic && c.next(2) == 0 {
			start, reach = memory.SharedWindow, twinShared
		}
		if t.Space == ptx.Generic && c.next(3) == 0 {
			start, reach = memory.LocalWindow, twinLocal
		}
	}
	first := uint64(c.next(64)) * 16
	pattern := c.next(6)
	for l := range uint64(lane.Lanes) {
		at := first + l*width
		switch pattern {
		case 1:
			at = first
		case 2:
			at = first + (l*7%32)*width
		case 3:
			at = uint64(c.next(256)) * 4
		case 4:
			at = first + l*width*2
		}
		if width < reach && pattern != 5 {
			at %= reach - width + 1
			at -= at % width
		}
		if c.next(60) == 59 {
			at = []uint64{reach, reach - width/2, at + 1, -width, 1 << 40}[c.next(5)]
		}
		address := start + at
		if c.next(200) == 199 {
			address = 0
		}
		d.regs.R64[t.Address][l] = address - uint64(t.Offset)
		d.regs.R32[t.Address][l] = uint32(address - uint64(t.Offset))
	}
}

func (d *duel) mask() uint32 {
	switch d.c.next(4) {
	case 0:
		return uint32(d.c.next(256)) * 0x01010101
	case 1:
		return 1 << d.c.next(32)
	}
	return all
}

func (d *duel) address(t *memory.Transfer, l int) uint64 {
	if t.Absolute {
		return uint64(t.Offset)
	}
	if t.Narrow {
		return uint64(d.regs.R32[t.Address][l] + uint32(t.Offset))
	}
	return d.regs.R64[t.Address][l] + uint64(t.Offset)
}

// run executes the program.
func (d *duel) run() {
	for len(d.c.data) > 0 && len(d.log) < 400 {
		warp := d.c.next(twinWarps)
		switch d.c.next(12) {
		case 0, 1, 2, 3:
			d.load(warp)
		case 4, 5, 6, 7:
			d.store(warp)
		case 8:
			d.copyAsync(warp)
		case 9:
			mask := d.mask()
			d.logf("warp %d commits %08x", warp, mask)
			d.b.Commit(warp, mask)
			d.twin.commit(warp, mask)
		case 10:
			mask, n := d.mask(), d.c.next(4)-1
			d.logf("warp %d waits %08x for all but %d", warp, mask, n)
			d.b.Wait(warp, mask, n)
			d.twin.wait(warp, mask, n)
		case 11:
			switch d.c.next(4) {
			case 0, 1:
				d.logf("barrier")
				d.b.Barrier()
				d.twin.barrier()
			case 2:
				d.loadMatrix(warp)
			case 3:
				d.storeMatrix(warp)
			}
		}
	}
	for i := range d.twin.global {
		if got, want := d.twin.allocations[i].Bytes, d.twin.global[i]; !slices.Equal(got, want) {
			d.failf("allocation %d at the end: got %x, want %x", i, got, want)
		}
	}
}

func (d *duel) logf(format string, args ...any) { d.log = append(d.log, fmt.Sprintf(format, args...)) }

func (d *duel) failf(format string, args ...any) {
	d.t.Helper()
	d.t.Fatalf("%s\nafter %d operations, the last: %v", fmt.Sprintf(format, args...), len(d.log), d.log[max(0, len(d.log)-6):])
}

func (d *duel) compare(fault *memory.Fault, want *expected) {
	d.t.Helper()
	got := map[memory.Check]uint32{}
	for f := fault; f != nil; f = f.Next {
		got[f.Check] |= f.Lanes
	}
	checks := []memory.Check{
		memory.OutOfBounds, memory.Misaligned, memory.UninitialisedShared, memory.UninitialisedLocal, memory.StaleAsyncCopy,
		memory.ReadOnlyWrite, memory.NullPointer, memory.SharedRace,
	}
	if !d.checks {
		checks = []memory.Check{memory.OutOfBounds, memory.Misaligned, memory.ReadOnlyWrite, memory.NullPointer}
	}
	for _, c := range checks {
		if c == memory.SharedRace && want.open {
			continue
		}
		if got[c] != want.lanes[c] {
			d.failf("check %d: got lanes %08x, want %08x", c, got[c], want.lanes[c])
		}
	}
}

func (d *duel) load(warp int) {
	t, mask := d.transfer(), d.mask()
	d.logf("warp %d loads %+v mask %08x", warp, *t, mask)
	want := &expected{lanes: map[memory.Check]uint32{}}
	after := registers()
	copy(after.R32, d.regs.R32)
	copy(after.R64, d.regs.R64)
	for l := range lane.Lanes {
		if mask>>l&1 == 0 {
			continue
		}
		value := d.twin.load(want, t, warp, l, d.address(t, l))
		for i, reg := range t.Regs[:t.Count] {
			if reg < 0 {
				continue
			}
			var v int64
			if value != nil {
				v = integer(value[i*t.Elem:][:t.Elem], t.Signed)
			}
			switch {
			case t.Elem == 8 || t.Wide:
				after.R64[reg][l] = uint64(v)
			case t.Half:
				after.R32[reg][l] = uint32(uint16(v))
			default:
				after.R32[reg][l] = uint32(v)
			}
		}
	}
	d.compare(d.b.Load(d.regs, t, warp, mask), want)
	d.compareRegisters(after)
}

func (d *duel) compareRegisters(want *lane.Regs) {
	d.t.Helper()
	for i := range want.R32 {
		for l := range lane.Lanes {
			if got, want := d.regs.R32[i][l], want.R32[i][l]; got != want {
				d.failf("R32[%d] lane %d: got %x, want %x", i, l, got, want)
			}
			if got, want := d.regs.R64[i][l], want.R64[i][l]; got != want {
				d.failf("R64[%d] lane %d: got %x, want %x", i, l, got, want)
			}
		}
	}
}

// integer is the number that little-endian bytes say.
func integer(p []byte, signed bool) int64 {
	var v int64
	for i := len(p) - 1; i >= 0; i-- {
		v = v<<8 | int64(p[i])
		if signed && i == len(p)-1 {
			v = int64(int8(p[i]))
		}
	}
	return v
}

func (d *duel) store(warp int) {
	t, mask := d.transfer(), d.mask()
	for i := range t.Regs {
		t.Regs[i] = int32(10 + i)
	}
	d.logf("warp %d stores %+v mask %08x", warp, *t, mask)
	want := &expected{lanes: map[memory.Check]uint32{}}
	for l := range lane.Lanes {
		for i := range t.Count {
			d.unique += 0x9e3779b97f4a7c15
			d.regs.R64[10+i][l], d.regs.R32[10+i][l] = d.unique, uint32(d.unique>>32)
		}
		if mask>>l&1 == 0 {
			continue
		}
		var value []byte
		for i := range t.Count {
			v := uint64(d.regs.R32[10+i][l])
			if t.Elem == 8 || t.Wide {
				v = d.regs.R64[10+i][l]
			}
			value = append(value, binary.LittleEndian.AppendUint64(nil, v)[:t.Elem]...)
		}
		d.twin.store(want, t, warp, l, d.address(t, l), value)
	}
	d.compare(d.b.Store(d.regs, t, warp, mask), want)
}

func (d *duel) copyAsync(warp int) {
	n := []int{16, 16, 4, 8}[d.c.next(4)]
	to := &memory.Transfer{Space: ptx.Shared, Elem: 4, Count: n / 4, Narrow: true, Inst: int32(len(d.log))}
	d.addresses(to)
	toRegs := d.regs.R32[to.Address]
	from := &memory.Transfer{Space: ptx.Global, Elem: 4, Count: n / 4, Address: 0}
	d.addresses(from)
	to.Address = 0
	d.regs.R32[0] = toRegs
	c := &memory.Copy{To: *to, From: *from, Bytes: n, Size: -1}
	if d.c.next(2) == 0 {
		c.Size = 30
		for l := range lane.Lanes {
			d.regs.R32[30][l] = uint32(d.c.next(n + 2))
		}
	}
	mask := d.mask()
	for l := range lane.Lanes { // which of two lanes that copy to one place is last is open
		for before := range l {
			if d.regs.R32[0][l] == d.regs.R32[0][before] {
				mask &^= 1 << l
			}
		}
	}
	d.logf("warp %d copies %+v mask %08x", warp, *c, mask)
	want := &expected{lanes: map[memory.Check]uint32{}}
	for l := range lane.Lanes {
		if mask>>l&1 == 0 {
			continue
		}
		size := n
		if c.Size >= 0 {
			size = min(n, int(d.regs.R32[30][l]))
		}
		data := make([]byte, n)
		source := d.address(from, l)
		if size > 0 {
			if !d.twin.checkGlobal(want, from, l, source, uint64(size), uint64(n), false) {
				continue
			}
			copy(data, d.twin.bytesGlobal(from, source, size))
		}
		at := d.address(to, l)
		if !d.twin.checkShared(want, l, at, uint64(n)) {
			continue
		}
		d.twin.touchAll(want, l, at, n, touch{warp: warp, write: true}, nil)
		for i := range n {
			d.twin.shared[at+uint64(i)].pending = true
		}
		d.twin.order[warp] = append(d.twin.order[warp], &twinCopy{lane: l, to: at, data: data, group: -1})
	}
	var source *memory.Sources
	var place *memory.Places
	if mask == all && c.Patterned() {
		k := d.pattern("copy", to, from)
		source, place = k.Sources(d.regs, &c.From), k.Places(d.regs, &c.To)
	}
	d.compare(d.b.CopyAsync(d.regs, c, warp, mask, source, place), want)
}

// pattern is that of an instruction: all that stays the same of it tells it from others.
func (d *duel) pattern(name string, to, from *memory.Transfer) *memory.Pattern {
	key := fmt.Sprint(name, to.Offset, from.Offset, to.Count)
	if d.patterns[key] == nil {
		d.patterns[key] = new(memory.Pattern)
	}
	return d.patterns[key]
}

func (d *duel) storeMatrix(warp int) {
	t := &memory.Transfer{Space: ptx.Shared, Elem: 4, Count: []int{1, 2, 4}[d.c.next(3)], Trans: d.c.next(2) == 0, Regs: [8]int32{1, 2, 3, 4}}
	rows := &memory.Transfer{Space: ptx.Shared, Elem: 4, Count: 4}
	d.addresses(rows)
	t.Address, t.Offset = 0, rows.Offset
	d.regs.R64[0] = d.regs.R64[rows.Address]
	mask := d.mask()
	for m := range t.Count {
		for l := range lane.Lanes {
			d.unique += 0x9e3779b97f4a7c15
			d.regs.R32[1+m][l] = uint32(d.unique >> 32)
		}
	}
	d.logf("warp %d stores matrices %+v mask %08x", warp, *t, mask)
	want := &expected{lanes: map[memory.Check]uint32{}}
	for m := range t.Count {
		var matrix [8][8]uint16
		for l, v := range d.regs.R32[1+m] {
			a, b := uint16(v), uint16(v>>16)
			if t.Trans {
				matrix[2*(l%4)][l/4], matrix[2*(l%4)+1][l/4] = a, b
			} else {
				matrix[l/4][2*(l%4)], matrix[l/4][2*(l%4)+1] = a, b
			}
		}
		for i := range 8 {
			l := 8*m + i
			if mask>>l&1 == 0 {
				continue
			}
			var value []byte
			for _, v := range matrix[i] {
				value = binary.LittleEndian.AppendUint16(value, v)
			}
			d.twin.store(want, rows, warp, l, d.address(t, l), value)
		}
	}
	d.compare(d.b.StoreMatrix(d.regs, t, warp, mask), want)
}

func (d *duel) loadMatrix(warp int) {
	t := &memory.Transfer{Space: ptx.Shared, Elem: 4, Count: []int{1, 2, 4}[d.c.next(3)], Trans: d.c.next(2) == 0, Regs: [8]int32{1, 2, 3, 4}, Narrow: true}
	rows := &memory.Transfer{Space: ptx.Shared, Elem: 4, Count: 4, Narrow: true}
	d.addresses(rows)
	t.Address, t.Offset = 0, rows.Offset
	d.regs.R32[0] = d.regs.R32[rows.Address]
	mask := d.mask()
	d.logf("warp %d loads matrices %+v mask %08x", warp, *t, mask)
	want := &expected{lanes: map[memory.Check]uint32{}}
	after := slices.Clone(d.regs.R32)
	for m := range t.Count {
		var matrix [8][8]uint16
		for i := range 8 {
			l := 8*m + i
			value := d.twin.load(want, rows, warp, l, d.address(t, l))
			for j := range 8 {
				if value != nil {
					matrix[i][j] = binary.LittleEndian.Uint16(value[2*j:])
				}
			}
		}
		for l := range lane.Lanes {
			if mask>>l&1 == 0 {
				continue
			}
			a, b := matrix[l/4][2*(l%4)], matrix[l/4][2*(l%4)+1]
			if t.Trans {
				a, b = matrix[2*(l%4)][l/4], matrix[2*(l%4)+1][l/4]
			}
			after[t.Regs[m]][l] = uint32(a) | uint32(b)<<16
		}
	}
	var place *memory.Places
	if mask == all {
		place = d.pattern("matrix", t, t).Places(d.regs, t)
	}
	d.compare(d.b.LoadMatrix(d.regs, t, warp, mask, place), want)
	d.compareRegisters(&lane.Regs{R32: after, R64: d.regs.R64})
}

func TestMemoryIsItsTwin(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 5))
		program := make([]byte, 4000+seed%5)
		for i := range program {
			program[i] = byte(random.Uint32())
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { newDuel(t, program).run() })
	}
}

func FuzzMemory(f *testing.F) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 6))
		program := make([]byte, 600)
		for i := range program {
			program[i] = byte(random.Uint32())
		}
		f.Add(program)
	}
	f.Fuzz(func(t *testing.T, program []byte) { newDuel(t, program).run() })
}
