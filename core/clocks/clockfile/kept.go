package clockfile

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// UTC is the reference of clocks that are kept by NTP.
const UTC = "UTC"

const (
	// kernelGrowthPPB is how fast the error of a clock is taken to grow where nobody states it: what the kernel itself assumes.
	kernelGrowthPPB = 500_000
	// leastGrowthPPB: no clock is believed to be steadier.
	leastGrowthPPB = 1000
	// leastTrustNS is the error from which what a system says of its clock says nothing.
	leastTrustNS = int64(1e9)
)

// Kept returns how far, at most, a system clock was from what it is kept to between two instants of it, as the system says: by reference, UTC
// and PTP grandmasters. What was unsynchronized once, or states no maximum, is left out, and so is the clock of a hypervisor, for nothing says
// which one that is. A daemon that keeps the clock is asked rather than the kernel, which knows only what the daemon told it.
func Kept(states []SystemClock, firstNS, lastNS int64) map[string]int64 {
	daemon := slices.ContainsFunc(states, func(s SystemClock) bool { return s.reference() == UTC && s.Source != "adjtimex" })
	of := map[string][]SystemClock{}
	for _, s := range states {
		if r := s.reference(); r == UTC && (!daemon || s.Source != "adjtimex") || strings.HasPrefix(r, "PTP ") {
			of[r] = append(of[r], s)
		}
	}
	out := map[string]int64{}
	for reference, list := range of {
		if most, ok := mostError(list, firstNS, lastNS); ok {
			out[reference] = most
		}
	}
	return out
}

func (s *SystemClock) reference() string {
	if s.Reference == "" {
		return UTC
	}
	return s.Reference
}

// mostError is the largest error of a clock of which one source has stated something again and again.
func mostError(states []SystemClock, firstNS, lastNS int64) (int64, bool) {
	states = slices.Clone(states)
	slices.SortStableFunc(states, func(a, b SystemClock) int { return cmp.Compare(a.SysNS, b.SysNS) })
	most, growth, gap := int64(0), int64(0), max(0, states[0].SysNS-firstNS, lastNS-states[len(states)-1].SysNS)
	for i, s := range states {
		if !s.Synchronized || s.MaxErrorNS <= 0 {
			return 0, false
		}
		if s.GrowthPPB <= 0 {
			s.GrowthPPB = kernelGrowthPPB
		}
		most, growth = max(most, s.MaxErrorNS), max(growth, leastGrowthPPB, s.GrowthPPB)
		if i > 0 {
			gap = max(gap, s.SysNS-states[i-1].SysNS)
		}
	}
	grown := float64(gap/1_000_000+1) * float64(growth) / 1000
	if most > leastTrustNS || grown > float64(leastTrustNS) {
		return 0, false
	}
	most += int64(math.Ceil(grown))
	return most, most <= leastTrustNS
}
