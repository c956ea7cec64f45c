package lane

import (
	"math"
	"math/bits"
)

// The NaNs that hardware makes.
const (
	nan16    = 0x7fff
	nan32    = 0x7fffffff
	nan64    = 0xfff8000000000000
	denormal = 0x7f800000 // no bit of the exponent: zero or denormal
)

// bits32 is the pattern of a result: every NaN is the one NaN.
func bits32(x float32) uint32 {
	if x != x {
		return nan32
	}
	return math.Float32bits(x)
}

// bits64 is the pattern of a result that no NaN went into.
func bits64(x float64) uint64 {
	if x != x {
		return nan64
	}
	return math.Float64bits(x)
}

// keep64 is the pattern of a result of x and y: double precision keeps the payload of a NaN, that of the first operand first.
func keep64(v, x, y float64) uint64 {
	if v != v {
		return payload(x, y)
	}
	return math.Float64bits(v)
}

func keepOf3(v, x, y, z float64) uint64 {
	if v != v {
		return payload(x, y, z)
	}
	return math.Float64bits(v)
}

func payload(list ...float64) uint64 {
	for _, x := range list {
		if x != x {
			return math.Float64bits(x) | 1<<51
		}
	}
	return nan64
}

// flush makes a zero of a denormal and keeps its sign.
func flush(x uint32) uint32 {
	if x&denormal == 0 {
		return x & (1 << 31)
	}
	return x
}

// clamp32 is .sat: NaN becomes 0, and so does -0.
func clamp32(x float32) float32 {
	if !(x > 0) {
		return 0
	}
	return min(x, 1)
}

// oddSum is p+c rounded to odd: exact, or the one of the two doubles around it whose last bit is set. Rounding that to fewer bits
// gives what rounding the exact sum gives. s is p+c.
func oddSum(p, c, s float64) float64 {
	if math.IsInf(s, 0) || s != s {
		return s
	}
	t := s - p
	e := (p - (s - t)) + (c - t) // s+e is the exact sum
	return odd(s, e)
}

// odd moves s, to which the exact value is s+e with a small e, to the neighbour that is odd.
func odd(s, e float64) float64 {
	b := math.Float64bits(s)
	if e == 0 || b&1 != 0 {
		return s
	}
	if (e > 0) == (s > 0) {
		return math.Float64frombits(b + 1)
	}
	return math.Float64frombits(b - 1)
}

// min32 is the smaller; of a NaN and a number it is the number, and -0 is below +0.
func min32(x, y float32) float32 {
	switch {
	case x < y || y != y:
		return x
	case x == 0 && y == 0 && math.Float32bits(x)>>31 != 0:
		return x
	}
	return y
}

func max32(x, y float32) float32 {
	switch {
	case x > y || y != y:
		return x
	case x == 0 && y == 0 && math.Float32bits(x)>>31 == 0:
		return x
	}
	return y
}

func min64(x, y float64) float64 {
	switch {
	case x != x:
		return y
	case y != y:
		return x
	}
	return min(x, y)
}

func max64(x, y float64) float64 {
	switch {
	case x != x:
		return y
	case y != y:
		return x
	}
	return max(x, y)
}

// half rounds the bits of a float32 to the nearest of 16 bits (5 of the exponent), ties to even.
func half(x uint32) uint32 {
	sign, e := x>>16&0x8000, x&0x7fffffff
	switch {
	case e-0x38800000 < 0x47000000-0x38800000: // a normal number at least, no infinity before rounding
		return sign | (e+0xfff+(e>>13&1)-0x38000000)>>13
	case e >= 0x38800000:
		if e > denormal {
			return nan16
		}
		return sign | min((e+0xfff+(e>>13&1)-0x38000000)>>13, 0x7c00)
	case e < 0x33000000: // below half of the smallest
		return sign
	}
	m, shift := e&0x7fffff|0x800000, 126-e>>23
	v := m >> shift
	rest := m << (32 - shift)
	if rest > 1<<31 || rest == 1<<31 && v&1 != 0 {
		v++
	}
	return sign | v
}

// brain rounds the bits of a float32 to the nearest bf16, ties to even.
func brain(x uint32) uint32 {
	if x&0x7fffffff > denormal {
		return nan16
	}
	return (x + 0x7fff + x>>16&1) >> 16
}

// widen16 are the bits of the float32 that an f16 is.
func widen16(h uint32) uint32 { return halves[h&0xffff] }

// halves are the bits of all f16 as float32.
var halves = func() *[1 << 16]uint32 {
	t := new([1 << 16]uint32)
	for h := range t {
		t[h] = widen(uint32(h))
	}
	return t
}()

func widen(h uint32) uint32 {
	sign, e, m := h&0x8000<<16, h>>10&31, h&0x3ff
	switch {
	case e == 31 && m != 0:
		return nan32
	case e == 31:
		return sign | denormal
	case e != 0:
		return sign | (e+112)<<23 | m<<13
	case m == 0:
		return sign
	}
	n := uint32(bits.Len32(m)) // the number is m * 2^-24
	return sign | (n+102)<<23 | m<<(24-n)&0x7fffff
}

// tensorFloat rounds to 10 bits of the mantissa, ties away from zero.
func tensorFloat(x uint32) uint32 {
	if x&0x7fffffff > denormal {
		return nan32
	}
	if x&denormal == denormal {
		return x
	}
	return (x + 0x1000) &^ 0x1fff
}

// truncate32 is the integer nearest to zero, the nearest there is when it is out of range, 0 for NaN.
func truncate32(x float32) int32 {
	if x >= -1<<31 && x < 1<<31 {
		return int32(x)
	}
	return int32(toSigned(float64(x), 32, 0))
}

// toSigned is the integral x as an integer of a width, or the nearest there is; of is what NaN becomes.
func toSigned(x float64, width int, of uint64) uint64 {
	limit := math.Ldexp(1, width-1)
	switch {
	case x != x:
		return of
	case x >= limit:
		return 1<<(width-1) - 1
	case x < -limit:
		return -(uint64(1) << (width - 1))
	}
	return uint64(int64(x))
}

// toUnsigned is toSigned for integers without sign.
func toUnsigned(x float64, width int, of uint64) uint64 {
	switch {
	case x != x:
		return of
	case x >= math.Ldexp(1, width):
		return 1<<width - 1
	case x <= 0:
		return 0
	case x >= 1<<63:
		return uint64(x-1<<63) + 1<<63
	}
	return uint64(x)
}
