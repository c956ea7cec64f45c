package memory

import (
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// private is memory of which every lane has its own.
type private struct {
	size    uint64   // bytes of a lane
	data    []byte   // by warp, by lane
	written []uint64 // a bit for each byte, in the same order; nil when nobody asks
	words   uint64   // of written, of a lane
	used    []bool   // by warp: anything was stored
}

func (p *private) make(warps int, size uint64, checks bool) {
	p.size = size
	p.words = (size + 63) / 64
	p.data = make([]byte, uint64(warps)*lane.Lanes*size)
	p.used = make([]bool, warps)
	if checks {
		p.written = make([]uint64, uint64(warps)*lane.Lanes*p.words)
	}
}

// reset clears what warps have stored.
func (p *private) reset() {
	for w, used := range p.used {
		if !used {
			continue
		}
		p.used[w] = false
		clear(p.data[uint64(w)*lane.Lanes*p.size:][:lane.Lanes*p.size])
		if p.written != nil {
			clear(p.written[uint64(w)*lane.Lanes*p.words:][:lane.Lanes*p.words])
		}
	}
}

// bytes of one lane, nil when they are not all there.
func (p *private) bytes(warp, l int, at, n uint64) []byte {
	if at >= p.size || n > p.size-at {
		return nil
	}
	base := uint64(warp*lane.Lanes+l)*p.size + at
	return p.data[base : base+n]
}

// place returns the bytes of one lane's access, nil when it faults.
func (p *private) place(found *faults, warp, l int, at, width uint64, u use) []byte {
	q := p.bytes(warp, l, at, width)
	kind := OutOfBounds
	if q != nil {
		if at&(width-1) == 0 {
			return q
		}
		kind = Misaligned
	}
	if f := found.add(kind, l, at, width, u); f != nil {
		f.nearLocal(p.size)
	}
	return nil
}

func (f *Fault) nearLocal(size uint64) {
	f.Nearest, f.Size = "local memory", size
	f.Distance = distance(f.Address, uint64(f.Bytes), size)
}

// bitsOf returns the word of written that an access has its bits in, and these.
func (p *private) bitsOf(warp, l int, at, width uint64) (*uint64, uint64) {
	return &p.written[uint64(warp*lane.Lanes+l)*p.words+at/64], ^uint64(0) >> (64 - width) << (at % 64)
}

func (p *private) load(r *lane.Regs, t *Transfer, a *[lane.Lanes]uint64, off uint64, warp int, mask uint32) *Fault {
	width := uint64(t.Elem * t.Count)
	var found faults
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		at := a[l] + off
		q := p.place(&found, warp, l, at, width, loads)
		if q == nil {
			t.clear(r, l)
			continue
		}
		if p.written != nil {
			if w, need := p.bitsOf(warp, l, at, width); *w&need != need {
				if f := found.add(UninitialisedLocal, l, at, width, loads); f != nil {
					f.nearLocal(p.size)
				}
			}
		}
		t.get(r, l, q)
	}
	return found.first
}

func (p *private) store(r *lane.Regs, t *Transfer, a *[lane.Lanes]uint64, off uint64, warp int, mask uint32) *Fault {
	width := uint64(t.Elem * t.Count)
	var found faults
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		at := a[l] + off
		q := p.place(&found, warp, l, at, width, stores)
		if q == nil {
			continue
		}
		if p.written != nil {
			w, set := p.bitsOf(warp, l, at, width)
			*w |= set
		}
		p.used[warp] = true
		t.put(r, l, q)
	}
	return found.first
}

// ForgetLocal makes n bytes of local memory from an address on unwritten in the lanes of mask: a function that is called finds
// its variables so.
func (b *Block) ForgetLocal(warp int, mask uint32, from, n uint64) {
	p := &b.local
	if p.written == nil {
		return
	}
	end := min(from+n, p.size)
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		for at := from; at < end; at++ {
			w, bit := p.bitsOf(warp, l, at, 1)
			*w &^= bit
		}
	}
}
