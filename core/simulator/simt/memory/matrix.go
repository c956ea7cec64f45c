package memory

import (
	"encoding/binary"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// A matrix of ldmatrix and stmatrix has 8 rows of 8 elements of 16 bits; a row is 16 aligned bytes of shared memory, and the
// address of row i of matrix m is that of lane 8m+i. Lane l has the elements 2(l%4) and 2(l%4)+1 of row l/4; with .trans those of
// column l/4.
const (
	rowBytes   = 16
	matrixRows = 8
)

// LoadMatrix executes ldmatrix: t.Count matrices (1, 2 or 4) from shared memory into t.Regs. Rows that fault read 0. k is what is known of the
// addresses, nil nothing.
func (b *Block) LoadMatrix(r *lane.Regs, t *Transfer, warp int, mask uint32, k *Places) *Fault {
	if k != nil && mask == fullMask && b.loadRows(r, t, warp, k) {
		return nil
	}
	if b.shadow != nil {
		b.shadow.beginRead(warp, t.Inst, Weak)
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
		var row [matrixRows]*[rowBytes]byte
		for i := range matrixRows {
			row[i] = b.loadRow(&found, t, matrixRows*m+i, a[matrixRows*m+i]+off)
		}
		if t.Trans {
			lane.Transpose(d, &row)
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
func (b *Block) loadRows(r *lane.Regs, t *Transfer, warp int, k *Places) bool {
	at, off := &r.R32[t.Address], uint32(t.Offset)
	_, high, ok := k.extent()
	if size := uint32(len(b.shared)); !ok || !k.aligned || size < rowBytes || high > size-rowBytes {
		return false
	}
	if s := b.shadow; s != nil && !s.readLater(at, matrixRows*t.Count, off, warp, t.Inst) {
		if s.beginRead(warp, t.Inst, Weak); !s.readRows(at[:matrixRows*t.Count], off) {
			return false
		}
	}
	var to [4]*[lane.Lanes]uint32
	for m := range t.Count {
		to[m&3] = &r.R32[t.Regs[m]]
	}
	from := *at // which the matrices may overwrite
	if t.Trans {
		lane.Columns(&to, t.Count, b.shared, &from, off)
	} else {
		lane.Rows(&to, t.Count, b.shared, &from, off)
	}
	return true
}

// readRows checks reads of whole granules beyond doubt.
func (s *shadow) readRows(at []uint32, off uint32) bool {
	state, cells := s.state, s.cells
	now, known, me, stamp := s.now<<1, s.all<<tickShift|(1<<tickShift-1), s.me, s.stamp
	for _, v := range at {
		g := (v + off) / granule
		c := &cells[g]
		if w := c.write; state[g]&(extraordinary|allWritten) != allWritten || w > known && uint32(w)&^me != 0 {
			if !s.readGranule(g) {
				return false
			}
			continue
		}
		c.read = noted(c.read, now, stamp, me)
	}
	return true
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
		for i := range matrixRows {
			if mask>>(matrixRows*m+i)&1 == 0 {
				continue
			}
			var row [rowBytes]byte
			for j := range matrixRows {
				v := d[4*i+j/2] >> (16 * (j % 2))
				if t.Trans {
					v = d[4*j+i/2] >> (16 * (i % 2))
				}
				binary.LittleEndian.PutUint16(row[2*j:], uint16(v))
			}
			b.storeRow(&found, t, matrixRows*m+i, a[matrixRows*m+i]+off, &row)
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
