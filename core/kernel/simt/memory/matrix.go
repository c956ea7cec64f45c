package memory

import (
	"encoding/binary"

	"github.com/prlx-go/prlx/core/kernel/simt/lane"
)

// A matrix of ldmatrix and stmatrix has 8 rows of 8 elements of 16 bits; a row is 16 aligned bytes of shared memory, and the
// address of row i of matrix m is that of lane 8m+i. Lane l has the elements 2(l%4) and 2(l%4)+1 of row l/4; with .trans those of
// column l/4.
const (
	rowBytes = 16
	rows     = 8
)

// LoadMatrix executes ldmatrix: t.Count matrices (1, 2 or 4) from shared memory into t.Regs. Rows that fault read 0.
func (b *Block) LoadMatrix(r *lane.Regs, t *Transfer, warp int, mask uint32) *Fault {
	if b.shadow != nil {
		b.shadow.begin(warp, t.Inst, Weak)
	}
	if t.Narrow && mask == fullMask && b.loadRows(r, t) {
		return nil
	}
	a := addresses(r, t, &b.room)
	off := uint64(t.Offset)
	var found faults
	var kept [4][lane.Lanes]uint32
	if mask != fullMask {
		for m := range t.Count {
			kept[m] = r.R32[t.Regs[m]]
		}
	}
	for m := range t.Count {
		d := &r.R32[t.Regs[m]]
		var row [rows]*[rowBytes]byte
		for i := range rows {
			row[i] = b.loadRow(&found, t, rows*m+i, a[rows*m+i]+off)
		}
		if t.Trans {
			transposed(d, &row)
			continue
		}
		for i, p := range row {
			e := (*[4]uint32)(d[4*i:])
			e[0] = binary.LittleEndian.Uint32(p[0:4])
			e[1] = binary.LittleEndian.Uint32(p[4:8])
			e[2] = binary.LittleEndian.Uint32(p[8:12])
			e[3] = binary.LittleEndian.Uint32(p[12:16])
		}
	}
	if mask != fullMask {
		for m := range t.Count {
			d := &r.R32[t.Regs[m]]
			for l := range d {
				if mask>>l&1 == 0 {
					d[l] = kept[m][l]
				}
			}
		}
	}
	return found.first
}

// loadRows is LoadMatrix where nothing is in doubt; it reports whether that is so. What it noted by then stays true.
func (b *Block) loadRows(r *lane.Regs, t *Transfer) bool {
	var at [lane.Lanes]uint32
	used := at[:rows*t.Count]
	size, off, bad := uint32(len(b.shared)), uint32(t.Offset), uint32(0)
	if size < rowBytes {
		return false
	}
	for i, v := range r.R32[t.Address][:len(used)] {
		v += off
		used[i] = v
		bad |= v % rowBytes
		if v > size-rowBytes {
			return false
		}
	}
	if bad != 0 || b.shadow != nil && !b.shadow.readRows(used) {
		return false
	}
	for m := range t.Count {
		d := &r.R32[t.Regs[m]]
		if from := (*[rows]uint32)(used[rows*m:]); t.Trans {
			var row [rows]*[rowBytes]byte
			for i := range row {
				row[i] = (*[rowBytes]byte)(b.shared[from[i]:])
			}
			transposed(d, &row)
		} else {
			for i, v := range from {
				p, e := (*[rowBytes]byte)(b.shared[v:]), (*[4]uint32)(d[4*i:])
				x, y := binary.LittleEndian.Uint64(p[0:8]), binary.LittleEndian.Uint64(p[8:16])
				e[0], e[1], e[2], e[3] = uint32(x), uint32(x>>32), uint32(y), uint32(y>>32)
			}
		}
	}
	return true
}

// readRows checks reads of whole granules beyond doubt.
func (s *shadow) readRows(at []uint32) bool {
	state, cells := s.state, s.cells
	now, every, me, stamp := s.now<<1, s.all, s.me, s.stamp
	for _, v := range at {
		g := v / granule
		c := &cells[g]
		if w := c.write; state[g]&(extraordinary|allWritten) != allWritten || w>>tickShift > every && uint32(w)&^me != 0 {
			if !s.readGranule(g) {
				return false
			}
			continue
		}
		if r := c.read; r>>(tickShift-1) == now {
			c.read = r | uint64(me)
		} else {
			c.read = stamp
		}
	}
	return true
}

// transposed gives lane l the elements of column l/4: four columns of two rows at a time.
func transposed(d *[lane.Lanes]uint32, row *[rows]*[rowBytes]byte) {
	for k := 0; k < rows; k += 2 {
		low, high := row[k], row[k+1]
		to := (*[29]uint32)(d[k/2:])
		x, y := binary.LittleEndian.Uint64(low[0:8]), binary.LittleEndian.Uint64(high[0:8])
		to[0], to[4] = uint32(x)&0xffff|uint32(y)<<16, uint32(x)>>16|uint32(y)&^0xffff
		x, y = x>>32, y>>32
		to[8], to[12] = uint32(x)&0xffff|uint32(y)<<16, uint32(x)>>16|uint32(y)&^0xffff
		x, y = binary.LittleEndian.Uint64(low[8:16]), binary.LittleEndian.Uint64(high[8:16])
		to[16], to[20] = uint32(x)&0xffff|uint32(y)<<16, uint32(x)>>16|uint32(y)&^0xffff
		x, y = x>>32, y>>32
		to[24], to[28] = uint32(x)&0xffff|uint32(y)<<16, uint32(x)>>16|uint32(y)&^0xffff
	}
}

// noRow is what a row that faults reads.
var noRow [rowBytes]byte

// loadRow checks a row and returns its bytes.
func (b *Block) loadRow(found *faults, t *Transfer, l int, address uint64) *[rowBytes]byte {
	if address-SharedWindow < windowSize { // a generic address
		address -= SharedWindow
	}
	if size := uint64(len(b.shared)); address >= size || size-address < rowBytes || address%rowBytes != 0 {
		b.checkShared(found, l, address, rowBytes, loads)
		return &noRow
	}
	if s := b.shadow; s != nil && !s.readGranule(uint32(address/granule)) {
		b.readShared(found, t, l, uint32(address), rowBytes)
	}
	return (*[rowBytes]byte)(b.shared[address:])
}

// StoreMatrix executes stmatrix: t.Count matrices from t.Regs into shared memory. Rows that fault, or whose
// lane is not in mask, are not written.
func (b *Block) StoreMatrix(r *lane.Regs, t *Transfer, warp int, mask uint32) *Fault {
	a := addresses(r, t, &b.room)
	off := uint64(t.Offset)
	if b.shadow != nil {
		b.shadow.begin(warp, t.Inst, Weak)
	}
	var found faults
	for m := range t.Count {
		d := &r.R32[t.Regs[m]]
		for i := range rows {
			if mask>>(rows*m+i)&1 == 0 {
				continue
			}
			var row [rowBytes]byte
			for j := range rows {
				v := d[4*i+j/2] >> (16 * (j % 2))
				if t.Trans {
					v = d[4*j+i/2] >> (16 * (i % 2))
				}
				binary.LittleEndian.PutUint16(row[2*j:], uint16(v))
			}
			b.storeRow(&found, t, rows*m+i, a[rows*m+i]+off, &row)
		}
	}
	return found.first
}

func (b *Block) storeRow(found *faults, t *Transfer, l int, address uint64, row *[rowBytes]byte) {
	if address-SharedWindow < windowSize {
		address -= SharedWindow
	}
	if !b.checkShared(found, l, address, rowBytes, stores) {
		return
	}
	if s := b.shadow; s != nil && !s.writeSpan(uint32(address/granule), uint32(address/granule)+1) {
		b.writeShared(found, t, l, uint32(address), row[:])
	}
	copy(b.shared[address:], row[:])
}
