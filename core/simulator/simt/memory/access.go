package memory

import (
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// Load loads the lanes of mask. Lanes that fault read 0.
func (g *Global) Load(r *lane.Regs, t *Transfer, mask uint32) *Fault {
	if mask == 0 {
		return nil
	}
	if t.Narrow || t.Absolute {
		var room [lane.Lanes]uint64
		return g.load(r, t, addresses(r, t, &room), mask)
	}
	return g.load(r, t, &r.R64[t.Address], mask)
}

// Store stores the lanes of mask in ascending order. Lanes that fault write nothing.
func (g *Global) Store(r *lane.Regs, t *Transfer, mask uint32) *Fault {
	if mask == 0 {
		return nil
	}
	if t.Narrow || t.Absolute {
		var room [lane.Lanes]uint64
		return g.store(r, t, addresses(r, t, &room), mask)
	}
	return g.store(r, t, &r.R64[t.Address], mask)
}

func (g *Global) load(r *lane.Regs, t *Transfer, a *[lane.Lanes]uint64, mask uint32) *Fault {
	width, off := uint64(t.Elem*t.Count), uint64(t.Offset)
	if mask == fullMask && dense(a, width) {
		low := a[0] + off
		high := low + lane.Lanes*width
		if in := g.within(low, high, t.Legal); in != nil && in.written == nil && low&(width-1) == 0 {
			t.loadDense(r, in.bytes[low-in.base:high-in.base])
			return nil
		}
	} else {
		low, high, set := extent(a, off, mask)
		if in := g.within(low, high+width, t.Legal); in != nil && in.written == nil && set&(width-1) == 0 {
			loadLanes(t, r, in.bytes, in.base, a, off, mask)
			return nil
		}
	}
	var found faults
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		address := a[l] + off
		if t.Part != 0 && g.loadPiece(r, t, l, address) {
			continue
		}
		if in := g.check(&found, t, l, address, width, loads); in != nil {
			in.checkWritten(&found, l, address, width, loads)
			t.get(r, l, in.bytes[address-in.base:])
		} else {
			t.clear(r, l)
		}
	}
	return found.first
}

func (g *Global) store(r *lane.Regs, t *Transfer, a *[lane.Lanes]uint64, mask uint32) *Fault {
	width, off := uint64(t.Elem*t.Count), uint64(t.Offset)
	if mask == fullMask && dense(a, width) {
		low := a[0] + off
		high := low + lane.Lanes*width
		if in := g.within(low, high, t.Legal); in != nil && in.written == nil && !in.readOnly && low&(width-1) == 0 {
			t.storeDense(r, in.bytes[low-in.base:high-in.base])
			return nil
		}
	} else {
		low, high, set := extent(a, off, mask)
		if in := g.within(low, high+width, t.Legal); in != nil && in.written == nil && !in.readOnly && set&(width-1) == 0 {
			storeLanes(t, r, in.bytes, in.base, a, off, mask)
			return nil
		}
	}
	var found faults
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		address := a[l] + off
		if in := g.check(&found, t, l, address, width, stores); in != nil {
			in.write(address, width)
			t.put(r, l, in.bytes[address-in.base:])
		}
	}
	return found.first
}

// checkWritten reports a read of bytes that nobody has written.
func (in *region) checkWritten(found *faults, l int, address, width uint64, u use) {
	if in.written == nil {
		return
	}
	for _, written := range in.written.bytes[address-in.base:][:width] {
		if !written {
			if f := found.add(UninitialisedGlobal, l, address, width, u); f != nil {
				f.near(in)
				f.Allocated = in.heap
			}
			return
		}
	}
}

// write notes that bytes were written.
func (in *region) write(address, width uint64) {
	if in.written == nil {
		return
	}
	for i := range in.written.bytes[address-in.base:][:width] {
		in.written.bytes[address-in.base+uint64(i)] = true
	}
}

// use is what an access does.
type use uint8

const (
	loads  use = 1
	stores use = 2
)

// check looks at the access of one lane and returns where it goes, nil when it must not.
func (g *Global) check(found *faults, t *Transfer, l int, address, width uint64, u use) *region {
	in := g.within(address, address+width, t.Legal)
	var kind Check
	switch {
	case in == nil && g.isNull(t.Legal, address):
		kind = NullPointer
	case in == nil:
		kind = OutOfBounds
	case address&(width-1) != 0:
		kind = Misaligned
	case u&stores != 0 && in.readOnly:
		kind = ReadOnlyWrite
	default:
		return in
	}
	if f := found.add(kind, l, address, width, u); f != nil && kind != NullPointer {
		g.place(f, t.Legal)
	}
	return nil
}

// isNull reports whether an address is meant to be that of nothing.
func (g *Global) isNull(legal, address uint64) bool {
	return address+nullPage < 2*nullPage || legal != 0 && legal&^g.null == 0
}

// place names the allocation that a fault is nearest to, of those that the pointer may point to.
func (g *Global) place(f *Fault, legal uint64) {
	if legal == 0 && g.heap.near(f) {
		return
	}
	holds := g.find(f.Address)
	inside := holds != nil && f.Address-holds.base < uint64(len(holds.bytes))
	if inside && (legal == 0 || legal&(holds.params|g.any) != 0) {
		f.near(holds)
		return
	}
	if inside {
		f.Inside = holds.name
	}
	best := ^uint64(0)
	for _, list := range [][]region{g.regions, g.aliases, g.standing} {
		for i := range list {
			in := &list[i]
			if legal != 0 && legal&(in.params|g.any) == 0 {
				continue
			}
			if d := in.away(f.Address); d < best {
				best = d
				f.near(in)
			}
		}
	}
	far := uint64(farAway)
	if f.Address < SharedWindow {
		far = farAwayOutside
	}
	if legal == 0 && best > far {
		f.Nearest, f.Distance, f.Size = "", 0, 0
	}
}

// From where on nothing is near an address that was loaded or computed from a number. Addresses of the process are outside of the
// machine's: what happens to lie around them differs from run to run, and says nothing.
const (
	farAway        = 1 << 36
	farAwayOutside = 1 << 12
)

// away is how far an address is from a region, on either side.
func (in *region) away(address uint64) uint64 {
	switch end := in.base + uint64(len(in.bytes)); {
	case address < in.base:
		return in.base - address
	case address >= end:
		return address - end
	}
	return 0
}

// near says where a fault is, seen from a region.
func (f *Fault) near(in *region) {
	f.Nearest, f.Size = in.name, uint64(len(in.bytes))
	f.Distance = distance(f.Address-in.base, uint64(f.Bytes), f.Size)
}

// distance of an access from memory of a size: what it reaches beyond the end, or how far before the start it begins.
func distance(at, n, size uint64) int64 {
	switch {
	case int64(at) < 0:
		return int64(at)
	case at+n > size:
		return int64(at + n - size)
	}
	return 0
}

// faults collects what one access of a warp did wrong: one Fault for each check, in the order of their first lanes.
type faults struct{ first *Fault }

// add notes a lane. It returns the fault when it is new, for the caller to say more.
func (s *faults) add(kind Check, l int, address, width uint64, u use) *Fault {
	at := &s.first
	for ; *at != nil; at = &(*at).Next {
		if (*at).Check == kind {
			(*at).Lanes |= 1 << l
			return nil
		}
	}
	*at = &Fault{
		Check: kind, Lanes: 1 << l, Lane: l, Address: address, Bytes: int(width),
		Store: u&stores != 0, Atomic: u == loads|stores, Other: Party{Warp: -1, Inst: -1},
	}
	return *at
}
