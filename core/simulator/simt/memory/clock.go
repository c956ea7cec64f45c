package memory

import "math/bits"

// What orders warps besides barriers of the whole block: barriers of some of its warps, and accesses that acquire and release.

// knows returns what a warp knows of the others, to be changed.
func (s *shadow) knows(warp int) []uint64 {
	if s.seen[warp] == nil {
		s.seen[warp] = make([]uint64, maxWarps)
	}
	return s.seen[warp]
}

// raise adds what one knows to what another knows.
func raise(to, from []uint64) {
	for i, v := range from {
		to[i] = max(to[i], v)
	}
}

// meet orders what the warps did with what they will do. What came by arrive is known to them too.
func (s *shadow) meet(barrier int, warps uint32) {
	var known [maxWarps]uint64
	if sent := s.sent[barrier]; sent != nil {
		known = *sent
		delete(s.sent, barrier)
	}
	for m := warps; m != 0; m &= m - 1 {
		w := bits.TrailingZeros32(m)
		raise(known[:], s.seen[w])
		known[w] = s.now
	}
	for m := warps; m != 0; m &= m - 1 {
		raise(s.knows(bits.TrailingZeros32(m)), known[:])
	}
	s.tick()
}

// arrive leaves at a barrier what a warp did so far, for those that wait there.
func (s *shadow) arrive(barrier, warp int) {
	if s.sent == nil {
		s.sent = map[int]*[maxWarps]uint64{}
	}
	sent := s.sent[barrier]
	if sent == nil {
		sent = new([maxWarps]uint64)
		s.sent[barrier] = sent
	}
	raise(sent[:], s.seen[warp])
	sent[warp] = s.now
	s.tick()
}

// acquire lets the warp know what was released at an address.
func (s *shadow) acquire(address uint32) {
	if s.order != nil {
		s.order.read(s.warp, s.order.sharedKey(address), Acquire, true)
	}
	if sync := s.sync[address]; sync != nil {
		raise(s.knows(s.warp), sync[:])
	}
}

// release leaves at an address what the warp did so far.
func (s *shadow) release(address uint32, inst int32, order Order) {
	if s.order != nil {
		s.order.write(s.warp, s.order.sharedKey(address), Release, true)
	}
	if s.sync == nil {
		s.sync = map[uint32]*[maxWarps]uint64{}
	}
	sync := s.sync[address]
	if sync == nil {
		sync = new([maxWarps]uint64)
		s.sync[address] = sync
	}
	raise(sync[:], s.seen[s.warp])
	sync[s.warp] = s.now
	s.tick()
	s.begin(s.warp, inst, order)
}

// acquires and releases say what an access of an order does. A fence makes relaxed accesses of the block do both, which may hide
// a race and never invents one.
func (s *shadow) acquires(o Order) bool {
	return o == Acquire || o == AcqRel || o == Relaxed && s.fenced
}

func (s *shadow) releases(o Order) bool {
	return o == Release || o == AcqRel || o == Relaxed && s.fenced
}
