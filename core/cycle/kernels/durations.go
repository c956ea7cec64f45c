package kernels

import "math"

// SetDurations gives the kernels of a sequence that was not read, but made, their durations in ns.
func (s *Sequence) SetDurations(ns []int64) {
	s.dur = make([]uint32, len(ns))
	s.long = nil
	for i, d := range ns {
		if d >= 0 && d < math.MaxUint32 {
			s.dur[i] = uint32(d)
			continue
		}
		if s.long == nil {
			s.long = map[int]int64{}
		}
		s.dur[i], s.long[i] = math.MaxUint32, max(0, d)
	}
}
