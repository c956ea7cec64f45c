// Package snapshot reads two clocks of one host together, again and again while a program runs: the system clock (CLOCK_REALTIME),
// on which host threads and probes are, and the clock of a tracer. From such pairs combine makes the map of one to the other.
//
// A pair is bracketed: the system clock is read before and after the tracer's, the middle of the two is taken, and their distance is
// kept as the width. Of several brackets the narrowest counts, for a thread may be preempted between two readings. Clocks, timer and
// what becomes of the pairs are given by the caller. The C library under runtime/snapshot does the same for programs that are not Go;
// both write what docs/formats/snapshot-pairs.md describes.
package snapshot

import (
	"errors"
	"fmt"
	"math"
)

// WideNS is the width from which a bracket is called wide: snapshot_pair.md asks for less than 5 us between the two clocks.
const WideNS = 5000

// DefaultTries is how many brackets a pair is the narrowest of.
const DefaultTries = 8

// Pair is one reading of both clocks, in ns.
type Pair struct {
	SysNS    int64 // the middle of the two readings of the system clock
	TracerNS int64
	WidthNS  int64 // between the two readings of the system clock
}

// Wide reports whether the two readings of the system clock lie so far apart that the pair says little.
func (p Pair) Wide() bool { return p.WidthNS > WideNS }

// Clock is something that can be read, in ns.
type Clock struct {
	Name string // as files write it: "CLOCK_MONOTONIC", "TSC", "CUPTI"
	Now  func() (int64, error)

	TicksPerSecond int64 // of a counter that was turned into ns by this rate; 0 of a clock that counts ns itself
}

// errSystemClock is what is said of brackets of which none is usable: the system clock was set back in each of them.
var errSystemClock = errors.New("the system clock went back between two readings, in every try")

// Read takes one pair: the narrowest of several brackets.
func Read(system, tracer Clock, tries int) (Pair, error) {
	best := Pair{WidthNS: math.MaxInt64}
	for range max(1, tries) {
		before, err := system.Now()
		if err != nil {
			return Pair{}, fmt.Errorf("%s: %w", system.Name, err)
		}
		at, err := tracer.Now()
		if err != nil {
			return Pair{}, fmt.Errorf("%s: %w", tracer.Name, err)
		}
		after, err := system.Now()
		if err != nil {
			return Pair{}, fmt.Errorf("%s: %w", system.Name, err)
		}
		if width := after - before; width >= 0 && width < best.WidthNS { // a clock that is set back between them gives no bracket
			best = Pair{SysNS: before + width/2, TracerNS: at, WidthNS: width}
		}
	}
	if best.WidthNS == math.MaxInt64 {
		return Pair{}, errSystemClock
	}
	return best, nil
}
