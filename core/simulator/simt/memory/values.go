package memory

import (
	"encoding/binary"
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// word is what a register of an address holds.
type word interface{ uint32 | uint64 }

// addresses returns the address register of a transfer as 64-bit values, in room where it has to make them.
func addresses(r *lane.Regs, t *Transfer, room *[lane.Lanes]uint64) *[lane.Lanes]uint64 {
	switch {
	case t.Absolute:
		*room = [lane.Lanes]uint64{}
	case t.Narrow:
		for l, v := range &r.R32[t.Address] {
			room[l] = uint64(v + uint32(t.Offset)) // 32-bit addresses wrap
			room[l] -= uint64(t.Offset)            // the caller adds it
		}
	default:
		return &r.R64[t.Address]
	}
	return room
}

// dense reports whether every lane's address follows the one before without a gap.
func dense[T word](a *[lane.Lanes]T, width T) bool {
	if a[lane.Lanes-1]-a[0] != (lane.Lanes-1)*width {
		return false
	}
	var differs T
	for l := 0; l < lane.Lanes; l += 4 {
		b := (*[4]T)(a[l : l+4])
		first := a[0] + T(l)*width
		differs |= (b[0] ^ first) | (b[1] ^ (first + width)) | (b[2] ^ (first + 2*width)) | (b[3] ^ (first + 3*width))
	}
	return differs == 0
}

// extent returns the least and the greatest address of the lanes, and all their bits.
func extent[T word](a *[lane.Lanes]T, off T, mask uint32) (low, high, set T) {
	if mask == fullMask {
		low = a[0] + off
		for _, v := range a {
			v += off
			low, high, set = min(low, v), max(high, v), set|v
		}
		return low, high, set
	}
	low = a[bits.TrailingZeros32(mask)] + off
	for m := mask; m != 0; m &= m - 1 {
		v := a[bits.TrailingZeros32(m)] + off
		low, high, set = min(low, v), max(high, v), set|v
	}
	return low, high, set
}

// plain reports whether elements go into registers as they are: 4 bytes into 32 bits, 8 into 64, all registers there.
func (t *Transfer) plain() bool {
	if t.Elem < 4 || t.Wide && t.Elem == 4 || t.Count > 4 {
		return false
	}
	for _, reg := range t.Regs[:t.Count] {
		if reg < 0 {
			return false
		}
	}
	return true
}

// get loads one lane from p, which holds the whole vector.
func (t *Transfer) get(r *lane.Regs, l int, p []byte) {
	for i, reg := range t.Regs[:t.Count] {
		if reg < 0 {
			continue
		}
		v := element(p[i*t.Elem:], t.Elem)
		if t.Signed {
			shift := 64 - 8*t.Elem
			v = uint64(int64(v<<shift) >> shift)
		}
		switch {
		case t.Elem == 8 || t.Wide:
			r.R64[reg][l] = v
		case t.Half:
			r.R32[reg][l] = uint32(uint16(v))
		default:
			r.R32[reg][l] = uint32(v)
		}
	}
}

// put stores one lane into p, which holds the whole vector.
func (t *Transfer) put(r *lane.Regs, l int, p []byte) {
	for i, reg := range t.Regs[:t.Count] {
		if reg < 0 {
			continue
		}
		if t.Elem == 8 || t.Wide {
			setElement(p[i*t.Elem:], t.Elem, r.R64[reg][l])
		} else {
			setElement(p[i*t.Elem:], t.Elem, uint64(r.R32[reg][l]))
		}
	}
}

// clear sets what one lane loads to 0.
func (t *Transfer) clear(r *lane.Regs, l int) {
	for _, reg := range t.Regs[:t.Count] {
		switch {
		case reg < 0:
		case t.Elem == 8 || t.Wide:
			r.R64[reg][l] = 0
		default:
			r.R32[reg][l] = 0
		}
	}
}

func element(p []byte, n int) uint64 {
	switch n {
	case 1:
		return uint64(p[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(p))
	case 4:
		return uint64(binary.LittleEndian.Uint32(p))
	}
	return binary.LittleEndian.Uint64(p)
}

func setElement(p []byte, n int, v uint64) {
	switch n {
	case 1:
		p[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(p, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(p, uint32(v))
	default:
		binary.LittleEndian.PutUint64(p, v)
	}
}

// loadDense loads all lanes from bytes that follow one another.
func (t *Transfer) loadDense(r *lane.Regs, p []byte) {
	if t.halves() {
		t.loadDenseHalves(r, p)
		return
	}
	if !t.plain() {
		width := t.Elem * t.Count
		for l := range lane.Lanes {
			t.get(r, l, p[l*width:])
		}
		return
	}
	switch {
	case t.Elem == 4 && t.Count == 1:
		load4(&r.R32[t.Regs[0]], (*[128]byte)(p))
	case t.Elem == 4 && t.Count == 2:
		a, b, p := &r.R32[t.Regs[0]], &r.R32[t.Regs[1]], (*[256]byte)(p)
		for l := range a {
			v := binary.LittleEndian.Uint64(p[8*l:])
			a[l], b[l] = uint32(v), uint32(v>>32)
		}
	case t.Elem == 4:
		a, b, c, d := &r.R32[t.Regs[0]], &r.R32[t.Regs[1]], &r.R32[t.Regs[2]], &r.R32[t.Regs[3]]
		for l := range a {
			q := (*[16]byte)(p[16*l:])
			v, w := binary.LittleEndian.Uint64(q[0:8]), binary.LittleEndian.Uint64(q[8:16])
			a[l], b[l], c[l], d[l] = uint32(v), uint32(v>>32), uint32(w), uint32(w>>32)
		}
	default:
		width := 8 * t.Count
		for i, reg := range t.Regs[:t.Count] {
			d := &r.R64[reg]
			for l := range d {
				d[l] = binary.LittleEndian.Uint64(p[width*l+8*i:])
			}
		}
	}
}

func load4(d *[lane.Lanes]uint32, p *[4 * lane.Lanes]byte) {
	for l := 0; l < lane.Lanes; l += 8 {
		e, q := (*[8]uint32)(d[l:l+8]), (*[32]byte)(p[4*l:4*l+32])
		e[0] = binary.LittleEndian.Uint32(q[0:4])
		e[1] = binary.LittleEndian.Uint32(q[4:8])
		e[2] = binary.LittleEndian.Uint32(q[8:12])
		e[3] = binary.LittleEndian.Uint32(q[12:16])
		e[4] = binary.LittleEndian.Uint32(q[16:20])
		e[5] = binary.LittleEndian.Uint32(q[20:24])
		e[6] = binary.LittleEndian.Uint32(q[24:28])
		e[7] = binary.LittleEndian.Uint32(q[28:32])
	}
}

// storeDense stores all lanes into bytes that follow one another.
func (t *Transfer) storeDense(r *lane.Regs, p []byte) {
	if t.halves() {
		t.storeDenseHalves(r, p)
		return
	}
	if !t.plain() {
		width := t.Elem * t.Count
		for l := range lane.Lanes {
			t.put(r, l, p[l*width:])
		}
		return
	}
	switch {
	case t.Elem == 4 && t.Count == 1:
		store4(&r.R32[t.Regs[0]], (*[128]byte)(p))
	case t.Elem == 4 && t.Count == 2:
		a, b, p := &r.R32[t.Regs[0]], &r.R32[t.Regs[1]], (*[256]byte)(p)
		for l := range a {
			binary.LittleEndian.PutUint64(p[8*l:], uint64(a[l])|uint64(b[l])<<32)
		}
	case t.Elem == 4:
		a, b, c, d := &r.R32[t.Regs[0]], &r.R32[t.Regs[1]], &r.R32[t.Regs[2]], &r.R32[t.Regs[3]]
		for l := range a {
			q := (*[16]byte)(p[16*l:])
			binary.LittleEndian.PutUint64(q[0:8], uint64(a[l])|uint64(b[l])<<32)
			binary.LittleEndian.PutUint64(q[8:16], uint64(c[l])|uint64(d[l])<<32)
		}
	default:
		width := 8 * t.Count
		for i, reg := range t.Regs[:t.Count] {
			d := &r.R64[reg]
			for l := range d {
				binary.LittleEndian.PutUint64(p[width*l+8*i:], d[l])
			}
		}
	}
}

func store4(d *[lane.Lanes]uint32, p *[4 * lane.Lanes]byte) {
	for l := 0; l < lane.Lanes; l += 8 {
		e, q := (*[8]uint32)(d[l:l+8]), (*[32]byte)(p[4*l:4*l+32])
		binary.LittleEndian.PutUint32(q[0:4], e[0])
		binary.LittleEndian.PutUint32(q[4:8], e[1])
		binary.LittleEndian.PutUint32(q[8:12], e[2])
		binary.LittleEndian.PutUint32(q[12:16], e[3])
		binary.LittleEndian.PutUint32(q[16:20], e[4])
		binary.LittleEndian.PutUint32(q[20:24], e[5])
		binary.LittleEndian.PutUint32(q[24:28], e[6])
		binary.LittleEndian.PutUint32(q[28:32], e[7])
	}
}

// loadLanes loads the lanes of mask. All of their bytes are in p, whose first byte has the address base.
func loadLanes[T word](t *Transfer, r *lane.Regs, p []byte, base uint64, a *[lane.Lanes]T, off T, mask uint32) {
	if t.halves() {
		loadHalves(t, r, p, base, a, off, mask)
		return
	}
	if !t.plain() {
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			t.get(r, l, p[uint64(a[l]+off)-base:])
		}
		return
	}
	switch {
	case t.Elem == 4 && t.Count == 1:
		d := &r.R32[t.Regs[0]]
		if mask == fullMask {
			for l, v := range a {
				d[l] = binary.LittleEndian.Uint32(p[uint64(v+off)-base:])
			}
			return
		}
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			d[l] = binary.LittleEndian.Uint32(p[uint64(a[l]+off)-base:])
		}
	case t.Elem == 4 && t.Count == 2:
		d, e := &r.R32[t.Regs[0]], &r.R32[t.Regs[1]]
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			v := binary.LittleEndian.Uint64(p[uint64(a[l]+off)-base:])
			d[l], e[l] = uint32(v), uint32(v>>32)
		}
	case t.Elem == 4:
		d, e, f, g := &r.R32[t.Regs[0]], &r.R32[t.Regs[1]], &r.R32[t.Regs[2]], &r.R32[t.Regs[3]]
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			q := (*[16]byte)(p[uint64(a[l]+off)-base:])
			v, w := binary.LittleEndian.Uint64(q[0:8]), binary.LittleEndian.Uint64(q[8:16])
			d[l], e[l], f[l], g[l] = uint32(v), uint32(v>>32), uint32(w), uint32(w>>32)
		}
	default:
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			q := p[uint64(a[l]+off)-base:]
			for i, reg := range t.Regs[:t.Count] {
				r.R64[reg][l] = binary.LittleEndian.Uint64(q[8*i:])
			}
		}
	}
}

// storeLanes stores the lanes of mask, in ascending order. All of their bytes are in p, whose first byte has the address base.
func storeLanes[T word](t *Transfer, r *lane.Regs, p []byte, base uint64, a *[lane.Lanes]T, off T, mask uint32) {
	if t.halves() {
		storeHalves(t, r, p, base, a, off, mask)
		return
	}
	if !t.plain() {
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			t.put(r, l, p[uint64(a[l]+off)-base:])
		}
		return
	}
	switch {
	case t.Elem == 4 && t.Count == 1:
		d := &r.R32[t.Regs[0]]
		if mask == fullMask {
			for l, v := range a {
				binary.LittleEndian.PutUint32(p[uint64(v+off)-base:], d[l])
			}
			return
		}
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			binary.LittleEndian.PutUint32(p[uint64(a[l]+off)-base:], d[l])
		}
	case t.Elem == 4 && t.Count == 2:
		d, e := &r.R32[t.Regs[0]], &r.R32[t.Regs[1]]
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			binary.LittleEndian.PutUint64(p[uint64(a[l]+off)-base:], uint64(d[l])|uint64(e[l])<<32)
		}
	case t.Elem == 4:
		d, e, f, g := &r.R32[t.Regs[0]], &r.R32[t.Regs[1]], &r.R32[t.Regs[2]], &r.R32[t.Regs[3]]
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			q := (*[16]byte)(p[uint64(a[l]+off)-base:])
			binary.LittleEndian.PutUint64(q[0:8], uint64(d[l])|uint64(e[l])<<32)
			binary.LittleEndian.PutUint64(q[8:16], uint64(f[l])|uint64(g[l])<<32)
		}
	default:
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			q := p[uint64(a[l]+off)-base:]
			for i, reg := range t.Regs[:t.Count] {
				binary.LittleEndian.PutUint64(q[8*i:], r.R64[reg][l])
			}
		}
	}
}
