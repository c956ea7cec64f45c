package memory

import "math/bits"

// shadow remembers of every byte of shared memory whether it was written, who accessed it since, and whether a cp.async is to
// write it. Accesses of whole aligned 16 bytes, a granule, need one cell; where a granule is accessed in parts it has a cell for
// each word of 4 bytes, and where a word is accessed in parts, one for each byte.
//
// Time is counted in ticks: one more for each barrier. A barrier of the whole block orders everything before it with everything
// behind it. A barrier of some warps orders these; seen says for each pair what one knows of the other.
type shadow struct {
	state []uint32 // by granule, see below
	cells []cell   // by granule
	words []cell   // by word, of granules that are split
	bytes []cell   // by byte, of words that are split; made when the first is

	now    uint64                    // the tick, in 1..lastTick
	all    uint64                    // what happened up to this tick is known to all
	seen   [maxWarps][]uint64        // of one warp: what it knows of each other one, beyond all; nil: nothing
	sent   map[int]*[maxWarps]uint64 // by barrier: what warps brought that did not wait
	sync   map[uint32]*[maxWarps]uint64
	order  *order // of warps in global memory, nil nobody asks
	fenced bool   // a fence was executed: relaxed accesses may order others

	written uint64    // the last tick in which anybody may have written
	later   []reading // reads that are not in cells yet: see reading.go

	// of the access that is checked now
	me     uint32 // its warp, as a bit
	warp   int
	strong bool
	stamp  uint64
}

const (
	granule  = 16
	maxWarps = 32
	lastTick = 1<<16 - 1
)

// State of a granule: a bit for each byte that was written, a bit for each word that a cp.async is to write, whether its words
// have cells of their own, and which of its words have cells for their bytes.
const (
	allWritten    uint32 = 0xffff
	pendingBit    uint32 = 1 << 16
	allPending    uint32 = 0xf * pendingBit
	splitBit      uint32 = 1 << 20
	byteBit       uint32 = 1 << 21
	allBytes      uint32 = 0xf * byteBit
	extraordinary        = allPending | splitBit
)

// cell is who accessed some bytes: the last writer, and the readers since.
//
// A mark has the tick in its highest 16 bits, then a bit for accesses that are not weak, the instruction in 15 bits (all ones:
// unknown), and a bit for each warp. Several warps are writers when they wrote the same value, or atomically.
type cell struct{ write, read uint64 }

const (
	tickShift        = 48
	strongBit uint64 = 1 << 47
	instShift        = 32
	instMask  uint64 = 1<<15 - 1
)

func newShadow(size uint64) *shadow {
	n := (size + granule - 1) / granule
	return &shadow{state: make([]uint32, n), cells: make([]cell, n), words: make([]cell, n*4), now: 1}
}

// forget makes all memory unwritten, as a new block finds it.
func (s *shadow) forget() {
	clear(s.state)
	s.sent, s.sync, s.fenced = nil, nil, false
	s.barrier()
}

// barrier orders everything before it with everything after it.
func (s *shadow) barrier() {
	s.all = s.now
	s.later = s.later[:0] // which all know of
	s.tick()
}

// tick begins the next tick. When ticks run out all that is remembered is dropped: a race between what was before and what comes
// is missed then unless a barrier of the whole block came anyway.
func (s *shadow) tick() {
	if s.now++; s.now <= lastTick {
		return
	}
	clear(s.cells)
	clear(s.words)
	clear(s.bytes)
	for i := range s.seen {
		clear(s.seen[i])
	}
	s.sent, s.sync = nil, nil
	s.now, s.all, s.written, s.later = 1, 0, 0, s.later[:0]
}

// begin says whose access the next ones are, which may write.
func (s *shadow) begin(warp int, inst int32, order Order) {
	s.beginRead(warp, inst, order)
	s.written = s.now
}

// beginRead is begin of accesses that only read.
func (s *shadow) beginRead(warp int, inst int32, order Order) {
	if len(s.later) > 0 {
		s.settle()
	}
	s.warp, s.me, s.strong = warp, 1<<warp, order != Weak
	s.stamp = s.stampOf(warp, inst)
	if s.strong {
		s.stamp |= strongBit
	}
}

// stampOf is the mark of a weak access now.
func (s *shadow) stampOf(warp int, inst int32) uint64 {
	return s.now<<tickShift | min(uint64(uint32(inst)), instMask)<<instShift | 1<<warp
}

// raced returns the warps of a mark that the current access is not ordered with.
func (s *shadow) raced(mark uint64) uint32 {
	tick := mark >> tickShift
	others := uint32(mark) &^ s.me
	if tick <= s.all || others == 0 || s.strong && mark&strongBit != 0 {
		return 0
	}
	if known := s.seen[s.warp]; known != nil {
		for m := others; m != 0; m &= m - 1 {
			if w := bits.TrailingZeros32(m); known[w] >= tick {
				others &^= 1 << w
			}
		}
	}
	return others
}

// party is the first warp of those that a mark raced with.
func party(mark uint64, warps uint32, store bool) Party {
	inst := int32(mark >> instShift & instMask)
	if inst == int32(instMask) {
		inst = -1
	}
	return Party{Warp: int32(bits.TrailingZeros32(warps)), Inst: inst, Store: store}
}

// note notes a reader. Weak readers push out those that are not: of these, fewer can race.
func (s *shadow) note(c *cell) {
	switch {
	case c.read>>tickShift != s.now:
		c.read = s.stamp
	case (c.read&strongBit != 0) == s.strong:
		c.read |= uint64(s.me)
	case !s.strong:
		c.read = s.stamp
	}
}

// read checks a read of a cell, and notes it.
func (s *shadow) read(c *cell) (Party, bool) {
	w := s.raced(c.write)
	if w != 0 && (c.write&strongBit != 0 || c.write&uint64(s.me) == 0) { // the same value as others wrote: no matter whose it is
		p := party(c.write, w, true)
		s.note(c)
		return p, false
	}
	s.note(c)
	return Party{}, true
}

// write checks a write of a cell, and notes it. Writers of the value that is there already do not race with one another.
func (s *shadow) write(c *cell, same bool) (p Party, ok bool) {
	ok = true
	joins := false
	if w := s.raced(c.write); w != 0 {
		if same && !s.strong && c.write&strongBit == 0 {
			joins = true
		} else {
			p, ok = party(c.write, w, true), false
		}
	}
	if r := s.raced(c.read); r != 0 && ok {
		if joins {
			r &^= uint32(c.write)
		}
		if r != 0 {
			p, ok = party(c.read, r, false), false
		}
	}
	current := c.write>>tickShift == s.now
	switch {
	case joins && current:
		c.write |= uint64(s.me)
	case joins:
	case current && s.strong && c.write&strongBit != 0:
		c.write, c.read = s.stamp|uint64(uint32(c.write)), 0
	case current && s.strong && uint32(c.write) == s.me: // the weak write of this warp just before is still there to race with
		c.write, c.read = s.stamp&^strongBit, 0
	default:
		c.write, c.read = s.stamp, 0
	}
	return p, ok
}

// part is a cell with the bytes that it stands for, as distances from the start of an access.
type part struct {
	c     *cell
	at, n uint32
}

// maxParts is how many cells an access of 64 bytes can have when it is not aligned.
const maxParts = 80

// parts lists the cells of n bytes at an address.
func (s *shadow) parts(address, n uint32, list []part) []part {
	for at := uint32(0); at < n; {
		g := (address + at) / granule
		from := (address + at) % granule
		count := min(granule-from, n-at)
		switch {
		case count == granule && s.state[g]&splitBit == 0:
			list = append(list, part{&s.cells[g], at, granule})
		default:
			s.split(g)
			list = s.wordParts(g, from, count, at, list)
		}
		at += count
	}
	return list
}

func (s *shadow) wordParts(g, from, count, at uint32, list []part) []part {
	for end := from + count; from < end; {
		w := from / 4
		n := min(4-from%4, end-from)
		if n == 4 && s.state[g]&(byteBit<<w) == 0 {
			list = append(list, part{&s.words[4*g+w], at, 4})
		} else {
			s.splitWord(g, w)
			for i := range n {
				list = append(list, part{&s.bytes[granule*g+from+i], at + i, 1})
			}
		}
		from, at = from+n, at+n
	}
	return list
}

// split gives the words of a granule cells of their own.
func (s *shadow) split(g uint32) {
	if s.state[g]&splitBit != 0 {
		return
	}
	s.state[g] |= splitBit
	words := (*[4]cell)(s.words[4*g:])
	c := s.cells[g]
	words[0], words[1], words[2], words[3] = c, c, c, c
}

func (s *shadow) splitWord(g, w uint32) {
	if s.state[g]&(byteBit<<w) != 0 {
		return
	}
	if s.bytes == nil {
		s.bytes = make([]cell, len(s.state)*granule)
	}
	s.state[g] |= byteBit << w
	c := s.words[4*g+w]
	for i := range uint32(4) {
		s.bytes[granule*g+4*w+i] = c
	}
}

// old reports whether nobody can race any more with what cells of a granule remember, so that it need not stay split.
func (s *shadow) old(g uint32) bool {
	st := s.state[g]
	for w := range uint32(4) {
		c := &s.words[4*g+w]
		if st&(byteBit<<w) == 0 {
			if c.write>>tickShift > s.all || c.read>>tickShift > s.all {
				return false
			}
			continue
		}
		for i := range uint32(4) {
			c := &s.bytes[granule*g+4*w+i]
			if c.write>>tickShift > s.all || c.read>>tickShift > s.all {
				return false
			}
		}
	}
	return true
}

// join makes a granule whole again if nothing in it differs, and reports whether it is.
func (s *shadow) join(g uint32) bool {
	if s.state[g]&splitBit == 0 {
		return true
	}
	if !s.old(g) {
		return false
	}
	s.state[g] &^= splitBit | allBytes
	s.cells[g] = cell{}
	return true
}
