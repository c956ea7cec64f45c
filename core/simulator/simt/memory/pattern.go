package memory

import "github.com/prlx-go/prlx/core/simulator/simt/lane"

// Pattern remembers how the addresses of whole warps lay at one instruction: in a loop they lie as before, moved by one distance. What
// does not depend on where they lie is then known: whether they are aligned, how far they reach, how many sectors they touch. Two patterns
// are kept of each kind, because warps often differ in one bit of their number.
type Pattern struct {
	places        [2]Places
	sources       [2]Sources
	place, source uint8 // the one that was used last
}

// Places are addresses of 32 bits in shared memory.
type Places struct {
	at        [lane.Lanes]uint32 // the registers, where they were when this was learned
	low, high uint32             // of the addresses
	aligned   bool               // to 16 bytes, all of them
	apart     bool               // and no two are those of one piece of 16 bytes
	whole     bool               // and these pieces follow one another, in any order
	known     bool
	by        uint32 // how far they are from there now, a multiple of 16

	// What whoever counts conflicts of banks found: they do not change by a distance of a multiple of 16 bytes where an access has no more.
	Counted   bool
	Conflicts uint64
}

// Sources are addresses of 64 bits in global memory.
type Sources struct {
	at        [lane.Lanes]uint64
	low, high uint64
	aligned   bool
	known     bool
	by        uint64 // a multiple of 32
	Sectors   int    // of accesses of 16 bytes
}

// Places returns what is known of the addresses of a transfer, all lanes of which are active: it must be Narrow and not Absolute. It is true
// until the next call.
func (p *Pattern) Places(r *lane.Regs, t *Transfer) *Places {
	at := &r.R32[t.Address]
	if k := &p.places[p.place]; k.follow(at) {
		return k
	}
	p.place ^= 1
	k := &p.places[p.place]
	if !k.follow(at) {
		k.learn(at, uint32(t.Offset))
	}
	return k
}

func (k *Places) follow(at *[lane.Lanes]uint32) bool {
	by, same := lane.Moved(at, &k.at)
	k.by = by
	return same && by%granule == 0 && k.known
}

func (k *Places) learn(at *[lane.Lanes]uint32, off uint32) {
	*k = Places{at: *at, known: true}
	var set uint32
	k.low, k.high, set = extent(at, off, fullMask)
	k.aligned = set%granule == 0
	k.apart = k.aligned && apart(at, off, k.low)
	k.whole = k.apart && k.high-k.low == (lane.Lanes-1)*granule
}

// apart reports whether no two of some aligned addresses, of which low is the least, are equal; false where they are too far from each other.
func apart(at *[lane.Lanes]uint32, off, low uint32) bool {
	var there [16]uint64
	for _, v := range at {
		g := (v + off - low) / granule
		if g >= 64*uint32(len(there)) || there[g/64]>>(g%64)&1 != 0 {
			return false
		}
		there[g/64] |= 1 << (g % 64)
	}
	return true
}

// extent returns the least and the greatest address now. It reports false where some have wrapped around since.
func (k *Places) extent() (low, high uint32, ok bool) {
	low, high = k.low+k.by, k.high+k.by
	return low, high, low <= high
}

// Sources returns what is known of the addresses that a copy of 16 bytes reads, all lanes of which are active: they are neither Narrow nor
// Absolute.
func (p *Pattern) Sources(r *lane.Regs, t *Transfer) *Sources {
	at := &r.R64[t.Address]
	if k := &p.sources[p.source]; k.follow(at) {
		return k
	}
	p.source ^= 1
	k := &p.sources[p.source]
	if !k.follow(at) {
		k.learn(at, uint64(t.Offset))
		k.Sectors = Sectors(r, t, fullMask)
	}
	return k
}

func (k *Sources) follow(at *[lane.Lanes]uint64) bool {
	by, same := lane.Moved64(at, &k.at)
	k.by = by
	return same && by%sectorBytes == 0 && k.known
}

func (k *Sources) learn(at *[lane.Lanes]uint64, off uint64) {
	*k = Sources{at: *at, known: true}
	var set uint64
	k.low, k.high, set = extent(at, off, fullMask)
	k.aligned = set%granule == 0
}

func (k *Sources) extent() (low, high uint64, ok bool) {
	low, high = k.low+k.by, k.high+k.by
	return low, high, low <= high
}
