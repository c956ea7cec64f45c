package warptracetest

import "math/bits"

// Random is splitmix64: the sequence of a seed never changes, whatever the Go version.
type Random struct{ state uint64 }

// NewRandom returns the random numbers of a seed and a purpose.
func NewRandom(seed uint64, purpose ...uint64) *Random {
	r := &Random{state: seed}
	for _, p := range purpose {
		r.state = mix(r.state ^ mix(p+0x9e3779b97f4a7c15))
	}
	return r
}

func (r *Random) Next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	return mix(r.state)
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Below returns a number from 0 to n-1.
func (r *Random) Below(n int) int {
	hi, _ := bits.Mul64(r.Next(), uint64(n))
	return int(hi)
}

// Between returns a number from lo to hi.
func (r *Random) Between(lo, hi int) int { return lo + r.Below(hi-lo+1) }

// chance is true in one of n cases.
func (r *Random) chance(n int) bool { return r.Below(n) == 0 }

// share returns a number from 0 to below 1.
func (r *Random) share() float64 { return float64(r.Next()>>11) / (1 << 53) }

func (r *Random) shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, r.Below(i+1))
	}
}
