package memory

import (
	"encoding/binary"
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// Elements of 16 bits, as matrices of half precision are stored: a register holds one, a lane's bytes up to four.

// halves reports whether a transfer is one of one, two or four such elements that go into registers as they are, all registers there.
func (t *Transfer) halves() bool {
	if t.Elem != 2 || t.Count > 4 || t.Wide || t.Signed {
		return false
	}
	for _, reg := range t.Regs[:t.Count] {
		if reg < 0 {
			return false
		}
	}
	return true
}

// loadHalves is loadLanes of such a transfer.
func loadHalves[T word](t *Transfer, r *lane.Regs, p []byte, base uint64, a *[lane.Lanes]T, off T, mask uint32) {
	switch t.Count {
	case 1:
		d := &r.R32[t.Regs[0]]
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			d[l] = uint32(binary.LittleEndian.Uint16(p[uint64(a[l]+off)-base:]))
		}
	case 2:
		d, e := &r.R32[t.Regs[0]], &r.R32[t.Regs[1]]
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			v := binary.LittleEndian.Uint32(p[uint64(a[l]+off)-base:])
			d[l], e[l] = v&0xffff, v>>16
		}
	default:
		d, e, f, g := &r.R32[t.Regs[0]], &r.R32[t.Regs[1]], &r.R32[t.Regs[2]], &r.R32[t.Regs[3]]
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			v := binary.LittleEndian.Uint64(p[uint64(a[l]+off)-base:])
			d[l], e[l], f[l], g[l] = uint32(v&0xffff), uint32(v>>16&0xffff), uint32(v>>32&0xffff), uint32(v>>48)
		}
	}
}

// storeHalves is storeLanes of such a transfer.
func storeHalves[T word](t *Transfer, r *lane.Regs, p []byte, base uint64, a *[lane.Lanes]T, off T, mask uint32) {
	switch t.Count {
	case 1:
		d := &r.R32[t.Regs[0]]
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			binary.LittleEndian.PutUint16(p[uint64(a[l]+off)-base:], uint16(d[l]))
		}
	case 2:
		d, e := &r.R32[t.Regs[0]], &r.R32[t.Regs[1]]
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			binary.LittleEndian.PutUint32(p[uint64(a[l]+off)-base:], d[l]&0xffff|e[l]<<16)
		}
	default:
		d, e, f, g := &r.R32[t.Regs[0]], &r.R32[t.Regs[1]], &r.R32[t.Regs[2]], &r.R32[t.Regs[3]]
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			low, high := d[l]&0xffff|e[l]<<16, f[l]&0xffff|g[l]<<16
			binary.LittleEndian.PutUint64(p[uint64(a[l]+off)-base:], uint64(low)|uint64(high)<<32)
		}
	}
}

// loadDenseHalves is loadDense of such a transfer.
func (t *Transfer) loadDenseHalves(r *lane.Regs, p []byte) {
	switch t.Count {
	case 1:
		d, q := &r.R32[t.Regs[0]], (*[2 * lane.Lanes]byte)(p)
		for l := range d {
			d[l] = uint32(binary.LittleEndian.Uint16(q[2*l : 2*l+2]))
		}
	case 2:
		d, e, q := &r.R32[t.Regs[0]], &r.R32[t.Regs[1]], (*[4 * lane.Lanes]byte)(p)
		for l := range d {
			v := binary.LittleEndian.Uint32(q[4*l : 4*l+4])
			d[l], e[l] = v&0xffff, v>>16
		}
	default:
		d, e, f, g := &r.R32[t.Regs[0]], &r.R32[t.Regs[1]], &r.R32[t.Regs[2]], &r.R32[t.Regs[3]]
		q := (*[8 * lane.Lanes]byte)(p)
		for l := range d {
			v := binary.LittleEndian.Uint64(q[8*l : 8*l+8])
			d[l], e[l], f[l], g[l] = uint32(v&0xffff), uint32(v>>16&0xffff), uint32(v>>32&0xffff), uint32(v>>48)
		}
	}
}

// storeDenseHalves is storeDense of such a transfer.
func (t *Transfer) storeDenseHalves(r *lane.Regs, p []byte) {
	switch t.Count {
	case 1:
		d, q := &r.R32[t.Regs[0]], (*[2 * lane.Lanes]byte)(p)
		for l, v := range d {
			binary.LittleEndian.PutUint16(q[2*l:2*l+2], uint16(v))
		}
	case 2:
		d, e, q := &r.R32[t.Regs[0]], &r.R32[t.Regs[1]], (*[4 * lane.Lanes]byte)(p)
		for l, v := range d {
			binary.LittleEndian.PutUint32(q[4*l:4*l+4], v&0xffff|e[l]<<16)
		}
	default:
		d, e, f, g := &r.R32[t.Regs[0]], &r.R32[t.Regs[1]], &r.R32[t.Regs[2]], &r.R32[t.Regs[3]]
		q := (*[8 * lane.Lanes]byte)(p)
		for l, v := range d {
			low, high := v&0xffff|e[l]<<16, f[l]&0xffff|g[l]<<16
			binary.LittleEndian.PutUint64(q[8*l:8*l+8], uint64(low)|uint64(high)<<32)
		}
	}
}
