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
	a := addresses(r, t, &b.room)
	off := uint64(t.Offset)
	if b.shadow != nil {
		b.shadow.begin(warp, t.Inst, Weak)
	}
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

// transposed gives lane l the elements of column l/4.
func transposed(d *[lane.Lanes]uint32, row *[rows]*[rowBytes]byte) {
	for k := 0; k < rows; k += 2 {
		low, high := row[k], row[k+1]
		for j := range rows {
			d[4*j+k/2] = uint32(binary.LittleEndian.Uint16(low[2*j:])) | uint32(binary.LittleEndian.Uint16(high[2*j:]))<<16
		}
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
