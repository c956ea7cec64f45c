package memory

import (
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// The functions here are the checks in their fast form: they say whether an access is beyond doubt. When it is not, the caller
// looks at it lane by lane; what was noted by then stays true. They are for weak accesses.

// readSpan checks a read of whole granules.
func (s *shadow) readSpan(first, end uint32) bool {
	cells := s.cells[first:end]
	state := s.state[first:end][:len(cells)]
	now, all, me, stamp := s.now, s.all, s.me, s.stamp
	for i := range cells {
		c := &cells[i]
		if st := state[i]; st&(extraordinary|allWritten) != allWritten {
			if st&(allPending|allWritten) != allWritten || !s.join(first+uint32(i)) {
				return false
			}
		}
		if w := c.write; w>>tickShift > all && uint32(w)&^me != 0 {
			return false
		}
		if r := c.read; r>>(tickShift-1) == now<<1 { // of this tick, and weak
			c.read = r | uint64(me)
		} else {
			c.read = stamp
		}
	}
	return true
}

// writeSpan checks a write of whole granules.
func (s *shadow) writeSpan(first, end uint32) bool {
	cells := s.cells[first:end]
	state := s.state[first:end][:len(cells)]
	all, me, stamp := s.all, s.me, s.stamp
	for i := range cells {
		c := &cells[i]
		if st := state[i]; st&extraordinary != 0 {
			if st&allPending != 0 || !s.join(first+uint32(i)) {
				return false
			}
		}
		w, r := c.write, c.read
		if w>>tickShift > all && uint32(w)&^me != 0 || r>>tickShift > all && uint32(r)&^me != 0 {
			return false
		}
		c.write, c.read = stamp, 0
		state[i] = allWritten
	}
	return true
}

// readWord checks a read of an aligned word.
func (s *shadow) readWord(address uint32) bool {
	g, w := address/granule, address/4%4
	st := s.state[g]
	if need := uint32(0xf) << (4 * w); st&(need|pendingBit<<w) != need {
		return false
	}
	if st&(byteBit<<w) != 0 {
		return s.readBytes(address, 4)
	}
	if st&splitBit == 0 {
		s.split(g)
	}
	c := &s.words[4*g+w]
	if w := c.write; w>>tickShift > s.all && uint32(w)&^s.me != 0 {
		return false
	}
	if r := c.read; r>>(tickShift-1) == s.now<<1 { // of this tick, and weak
		c.read = r | uint64(s.me)
	} else {
		c.read = s.stamp
	}
	return true
}

// writeWord checks a write of an aligned word.
func (s *shadow) writeWord(address uint32) bool {
	g, i := address/granule, address/4%4
	st := s.state[g]
	if st&(pendingBit<<i) != 0 {
		return false
	}
	if st&(byteBit<<i) != 0 {
		return s.writeBytes(address, 4)
	}
	if st&splitBit == 0 {
		s.split(g)
		st |= splitBit
	}
	c := &s.words[4*g+i]
	w, r := c.write, c.read
	if w>>tickShift > s.all && uint32(w)&^s.me != 0 || r>>tickShift > s.all && uint32(r)&^s.me != 0 {
		return false
	}
	c.write, c.read = s.stamp, 0
	s.state[g] = st | 0xf<<(4*i)
	return true
}

// readGranule checks a read of a whole granule.
func (s *shadow) readGranule(g uint32) bool {
	c := &s.cells[g]
	if s.state[g]&(extraordinary|allWritten) != allWritten || c.write>>tickShift > s.all && uint32(c.write)&^s.me != 0 {
		return s.readSpan(g, g+1)
	}
	if r := c.read; r>>(tickShift-1) == s.now<<1 {
		c.read = r | uint64(s.me)
	} else {
		c.read = s.stamp
	}
	return true
}

// readBytes checks a read of bytes of one word, which have cells of their own then.
func (s *shadow) readBytes(address, n uint32) bool {
	g, w := address/granule, address/4%4
	if need := (uint32(1)<<n - 1) << (address % granule); s.state[g]&(need|pendingBit<<w) != need {
		return false
	}
	s.split(g)
	s.splitWord(g, w)
	cells, known := s.bytes[address:address+n], s.all<<tickShift|(1<<tickShift-1)
	for i := range cells {
		if c := &cells[i]; c.write > known && uint32(c.write)&^s.me != 0 {
			return false
		}
	}
	for i := range cells {
		cells[i].read = noted(cells[i].read, s.now<<1, s.stamp, s.me)
	}
	return true
}

// writeBytes checks a write of bytes of one word, likewise.
func (s *shadow) writeBytes(address, n uint32) bool {
	g, w := address/granule, address/4%4
	if s.state[g]&(pendingBit<<w) != 0 {
		return false
	}
	s.split(g)
	s.splitWord(g, w)
	cells, known := s.bytes[address:address+n], s.all<<tickShift|(1<<tickShift-1)
	for i := range cells {
		c := &cells[i]
		if c.write > known && uint32(c.write)&^s.me != 0 || c.read > known && uint32(c.read)&^s.me != 0 {
			return false
		}
	}
	for i := range cells {
		cells[i] = cell{write: s.stamp}
	}
	s.state[g] |= (uint32(1)<<n - 1) << (address % granule)
	return true
}

// readLanes checks reads of lanes that are not one span; their bounds and alignment are right.
func readLanes[T word](s *shadow, a *[lane.Lanes]T, off T, width, mask uint32) bool {
	switch width {
	case 1, 2:
		for m := mask; m != 0; m &= m - 1 {
			if !s.readBytes(uint32(a[bits.TrailingZeros32(m)&31]+off), width) {
				return false
			}
		}
		return true
	case 4:
		return readWords(s, a, off, mask)
	case 8:
		return readPairs(s, a, off, mask)
	case 16, 32, 64:
		for m := mask; m != 0; m &= m - 1 {
			at := uint32(a[bits.TrailingZeros32(m)&31] + off)
			for end := at + width; at < end; at += granule {
				if !s.readGranule(at / granule) {
					return false
				}
			}
		}
		return true
	}
	return false
}

// readWords is readWord for the lanes of mask.
func readWords[T word](s *shadow, a *[lane.Lanes]T, off T, mask uint32) bool {
	state, words := s.state, s.words
	now, every, me, stamp := s.now, s.all, s.me, s.stamp
	for m := mask; m != 0; m &= m - 1 {
		at := uint32(a[bits.TrailingZeros32(m)&31] + off)
		w := at / 4 % 4
		need := uint32(0xf)<<(4*w) | splitBit
		if state[at/granule]&(need|(pendingBit|byteBit)<<w) != need {
			if !s.readWord(at) {
				return false
			}
			continue
		}
		c := &words[at/4]
		if w := c.write; w>>tickShift > every && uint32(w)&^me != 0 {
			return false
		}
		if r := c.read; r>>(tickShift-1) == now<<1 {
			c.read = r | uint64(me)
		} else {
			c.read = stamp
		}
	}
	return true
}

// readPairs is readWord of two words of each of the lanes of mask, which lie in one granule.
func readPairs[T word](s *shadow, a *[lane.Lanes]T, off T, mask uint32) bool {
	state, words := s.state, s.words
	now, known, me, stamp := s.now<<1, s.all<<tickShift|(1<<tickShift-1), s.me, s.stamp
	for m := mask; m != 0; m &= m - 1 {
		at := uint32(a[bits.TrailingZeros32(m)&31] + off)
		w := at / 4 % 4
		need := uint32(0xff)<<(4*w) | splitBit
		pair := (*[2]cell)(words[at/4:])
		c, d := &pair[0], &pair[1]
		if state[at/granule]&(need|3*(pendingBit|byteBit)<<w) != need ||
			c.write > known && uint32(c.write)&^me != 0 || d.write > known && uint32(d.write)&^me != 0 {
			if !s.readWord(at) || !s.readWord(at+4) {
				return false
			}
			continue
		}
		c.read = noted(c.read, now, stamp, me)
		d.read = noted(d.read, now, stamp, me)
	}
	return true
}

// noted is the mark of the readers of a cell with one more, who has the stamp.
func noted(r, now, stamp uint64, me uint32) uint64 {
	if r>>(tickShift-1) == now { // of this tick, and weak
		return r | uint64(me)
	}
	return stamp
}

// writeLanes checks writes of lanes that are not one span; their bounds and alignment are right.
func writeLanes[T word](s *shadow, a *[lane.Lanes]T, off T, width, mask uint32) bool {
	switch width {
	case 1, 2:
		for m := mask; m != 0; m &= m - 1 {
			if !s.writeBytes(uint32(a[bits.TrailingZeros32(m)&31]+off), width) {
				return false
			}
		}
		return true
	case 4:
		return writeWords(s, a, off, mask)
	case 8:
		return writePairs(s, a, off, mask)
	case 16, 32, 64:
		for m := mask; m != 0; m &= m - 1 {
			at := uint32(a[bits.TrailingZeros32(m)&31] + off)
			for end := at + width; at < end; at += granule {
				if !s.writeGranule(at / granule) {
					return false
				}
			}
		}
		return true
	}
	return false
}

// writeWords is writeWord for the lanes of mask.
func writeWords[T word](s *shadow, a *[lane.Lanes]T, off T, mask uint32) bool {
	state, words := s.state, s.words
	every, me, stamp := s.all, s.me, s.stamp
	for m := mask; m != 0; m &= m - 1 {
		at := uint32(a[bits.TrailingZeros32(m)&31] + off)
		w := at / 4 % 4
		st := &state[at/granule]
		if *st&(splitBit|(pendingBit|byteBit)<<w) != splitBit {
			if !s.writeWord(at) {
				return false
			}
			continue
		}
		c := &words[at/4]
		before, r := c.write, c.read
		if before>>tickShift > every && uint32(before)&^me != 0 || r>>tickShift > every && uint32(r)&^me != 0 {
			return false
		}
		c.write, c.read = stamp, 0
		*st |= 0xf << (4 * w)
	}
	return true
}

// writePairs is writeWord of two words of each of the lanes of mask, which lie in one granule.
func writePairs[T word](s *shadow, a *[lane.Lanes]T, off T, mask uint32) bool {
	state, words := s.state, s.words
	known, me, stamp := s.all<<tickShift|(1<<tickShift-1), s.me, s.stamp
	for m := mask; m != 0; m &= m - 1 {
		at := uint32(a[bits.TrailingZeros32(m)&31] + off)
		w := at / 4 % 4
		st, pair := &state[at/granule], (*[2]cell)(words[at/4:])
		c, d := &pair[0], &pair[1]
		if *st&(splitBit|3*(pendingBit|byteBit)<<w) != splitBit ||
			(c.write > known && uint32(c.write)&^me != 0 || c.read > known && uint32(c.read)&^me != 0 ||
				d.write > known && uint32(d.write)&^me != 0 || d.read > known && uint32(d.read)&^me != 0) {
			if !s.writeWord(at) || !s.writeWord(at+4) {
				return false
			}
			continue
		}
		*c, *d = cell{write: stamp}, cell{write: stamp}
		*st |= 0xff << (4 * w)
	}
	return true
}

// writeGranule checks a write of a whole granule.
func (s *shadow) writeGranule(g uint32) bool {
	c := &s.cells[g]
	w, r := c.write, c.read
	if s.state[g]&extraordinary != 0 || w>>tickShift > s.all && uint32(w)&^s.me != 0 || r>>tickShift > s.all && uint32(r)&^s.me != 0 {
		return s.writeSpan(g, g+1)
	}
	c.write, c.read = s.stamp, 0
	s.state[g] = allWritten
	return true
}
