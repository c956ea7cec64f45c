package job

import (
	"math/bits"
	"sync"
)

// Share is a part of a stage's total whose work is counted in another unit, or only roughly: what is added moves the stage on in
// proportion, never beyond the part, and Done fills it up.
type Share struct {
	stage      *stage
	whole, all int64 // of the stage's total, and of the part's own unit

	mu         sync.Mutex
	done, told int64
}

// Share makes a part of the current stage: whole of its total, for all units of work.
func (p *Progress) Share(whole, all int64) *Share {
	s := &Share{whole: max(whole, 0), all: max(all, 1)}
	if p != nil {
		s.stage = p.current()
	}
	return s
}

// Add counts n more units of the part's work as done.
func (s *Share) Add(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = min(s.done+max(n, 0), s.all)
	high, low := bits.Mul64(uint64(s.done), uint64(s.whole))
	share, _ := bits.Div64(high, low, uint64(s.all))
	s.tell(int64(share))
}

// Done counts the whole part as done.
func (s *Share) Done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = s.all
	s.tell(s.whole)
}

func (s *Share) tell(share int64) {
	if s.stage != nil && share > s.told {
		s.stage.done.Add(share - s.told)
	}
	s.told = max(s.told, share)
}
