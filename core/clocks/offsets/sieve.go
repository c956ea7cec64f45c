package offsets

// sieve tells facts that follow from others, and from how fast clocks can run: of one pair of clocks and a short time, the one that leaves the least
// room mostly says all that the others do. A program without them has the same solutions.
type sieve struct {
	f         *frame
	low, high []float64 // how fast the line of each clock can run, ns a second; 0 of the reference, which has none
	best      map[sieved]firm
	stretches float64
}

// sieved is a pair of clocks and a stretch of the frame.
type sieved struct {
	giver, taker int32
	stretch      int32
}

// firm is the fact of a pair and stretch that leaves the least room.
type firm struct{ left, enter float64 }

// sieveStretches is into how many a frame is divided.
const sieveStretches = 64

func newSieve(f *frame, p *linearProgram, free []int32, stretches int) *sieve {
	s := &sieve{f: f, low: make([]float64, len(f.track)), high: make([]float64, len(f.track)), best: map[sieved]firm{}, stretches: float64(stretches)}
	for n, c := range free {
		s.low[c], s.high[c] = p.low[2*n+1], p.high[2*n+1]
	}
	return s
}

func (s *sieve) at(x, y *seen) sieved {
	stretch := int32((y.left + s.f.edge()) / (2*s.f.edge() + 1) * s.stretches)
	return sieved{x.clock, y.clock, stretch}
}

// see notes a fact: that y left after x had entered.
func (s *sieve) see(x, y *seen) {
	at := s.at(x, y)
	if b, ok := s.best[at]; !ok || y.left-x.enter < b.left-b.enter {
		s.best[at] = firm{y.left, x.enter}
	}
}

// follows reports whether a fact follows from the firmest of its pair and stretch: by as much as both lines can have gone apart between them, the
// one leaves less room.
func (s *sieve) follows(x, y *seen) bool {
	b := s.best[s.at(x, y)]
	if y.left == b.left && x.enter == b.enter {
		return false
	}
	apart := reach(s.low[y.clock], s.high[y.clock], (y.left-b.left)/1e9) + reach(-s.high[x.clock], -s.low[x.clock], (x.enter-b.enter)/1e9)
	return b.left-b.enter+apart <= y.left-x.enter
}

// reach is the most that a line gains in some seconds, either way in time, at a rate between two.
func reach(low, high, seconds float64) float64 { return max(low*seconds, high*seconds) }
