package snapshot

import (
	"errors"
	"math/bits"
	"time"
)

// calibrationNS is how long the counter is compared with the monotonic clock: pairs tell its rate exactly, so this only has to be near.
const calibrationNS = int64(20 * time.Millisecond)

// tsc is the processor's time stamp counter in ns, by the rate that it had when this was called.
func tsc() (Clock, error) {
	if !hasTSC {
		return Clock{}, errors.New("this processor has no time stamp counter that prlx reads")
	}
	start, from := time.Now(), readTSC()
	time.Sleep(time.Duration(calibrationNS))
	took, to := time.Since(start), readTSC()
	if to <= from || took <= 0 {
		return Clock{}, errors.New("the time stamp counter does not run")
	}
	hz := scaled(to-from, int64(time.Second), int64(took))
	if hz < int64(time.Millisecond) {
		return Clock{}, errors.New("the time stamp counter does not run")
	}
	return Clock{Name: "TSC", TicksPerSecond: hz, Now: func() (int64, error) { return scaled(readTSC(), int64(time.Second), hz), nil }}, nil
}

// scaled is v * times / by without overflow between, the largest number where the result has no room. None of them is negative.
func scaled(v, times, by int64) int64 {
	hi, lo := bits.Mul64(uint64(v), uint64(times))
	if hi >= uint64(by) {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(hi, lo, uint64(by))
	return int64(min(q, 1<<63-1))
}
