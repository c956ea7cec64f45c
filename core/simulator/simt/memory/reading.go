package memory

import "github.com/prlx-go/prlx/core/simulator/simt/lane"

// Between two barriers warps of a product of matrices only read what others wrote before the first. Such reads race with nothing as long as
// nobody writes, and are forgotten at the barrier. So they are written down whole, and come into the cells only if another access
// comes before it: every one says so by begin.

// reading is an access that read whole granules.
type reading struct {
	stamp uint64
	me    uint32
	off   uint32
	n     int // lanes that read, the first ones
	at    [lane.Lanes]uint32
}

// maxLater is how many accesses are written down at most.
const maxLater = 64

// readLater checks a read of whole granules by the first n lanes, and writes it down. It reports false when that is not enough; nothing is
// noted then.
func (s *shadow) readLater(at *[lane.Lanes]uint32, n int, off uint32, warp int, inst int32) bool {
	if s.written > s.all || len(s.later) == maxLater {
		return false
	}
	state := s.state
	var odd uint32
	for _, v := range at[:n] {
		odd |= state[(v+off)/granule]&(extraordinary|allWritten) ^ allWritten
	}
	if odd != 0 {
		return false
	}
	if s.later == nil {
		s.later = make([]reading, 0, maxLater)
	}
	s.later = s.later[:len(s.later)+1]
	r := &s.later[len(s.later)-1]
	r.stamp, r.me, r.off, r.n, r.at = s.stampOf(warp, inst), 1<<warp, off, n, *at
	return true
}

// settle notes in the cells what is written down, in the order in which it happened.
func (s *shadow) settle() {
	for i := range s.later {
		r := &s.later[i]
		tick := r.stamp >> tickShift << 1
		for _, v := range r.at[:r.n] {
			c := &s.cells[(v+r.off)/granule]
			c.read = noted(c.read, tick, r.stamp, r.me)
		}
	}
	s.later = s.later[:0]
}
