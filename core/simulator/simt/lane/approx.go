package lane

import "math"

// The approximations of hardware come from tables that are not public. Here they are computed in double precision and rounded
// once, so they are at least as accurate as the PTX ISA promises, and their last bits differ from a GPU's.

// divApprox is x/y, but zero for the largest divisors, of which hardware's reciprocal is zero.
func divApprox(x, y float32) float32 {
	if math.Float32bits(y)&0x7fffffff > 0x7e800000 && !math.IsInf(float64(y), 0) && y == y { // above 2^126
		if math.IsInf(float64(x), 0) {
			return float32(math.NaN())
		}
		if x == x {
			return float32(math.Copysign(0, float64(x)) * float64(y))
		}
	}
	return x / y
}

func rsqrt32(x float32) float32 { return float32(rsqrt64(float64(x))) }

func rsqrt64(x float64) float64 { return 1 / math.Sqrt(x) }

// rcpApprox64 and rsqrtApprox64 compute the high word only, and flush denormals.
func rcpApprox64(x uint64) uint64 {
	return flush64(bits64(1/math.Float64frombits(flush64(x)))) &^ math.MaxUint32
}

func rsqrtApprox64(x uint64) uint64 {
	return flush64(bits64(rsqrt64(math.Float64frombits(flush64(x))))) &^ math.MaxUint32
}

func flush64(x uint64) uint64 {
	if x<<1>>53 == 0 {
		return x & (1 << 63)
	}
	return x
}

// steps is the size of the table of powers; between its entries a polynomial of the fourth degree is exact to 2^-42.
const steps = 64

var powers = func() (t [steps]float64) {
	for i := range t {
		t[i] = math.Exp2(float64(i) / steps)
	}
	return t
}()

// exp2of is 2^x.
func exp2of(x float32) float32 {
	v := float64(x)
	if !(v > -160 && v < 130) {
		switch {
		case v != v:
			return x
		case v > 0:
			return float32(math.Inf(1))
		}
		return 0
	}
	// Adding 1.5 * 2^52 / steps leaves the nearest multiple of 1/steps in the low bits.
	const round = 3 << 51 / steps
	shifted := v + round
	n := int64(math.Float64bits(shifted)&(1<<52-1)) - 1<<51
	z := (v - (shifted - round)) * math.Ln2
	p := 1 + z*(1+z*(0.5+z*(1.0/6+z*(1.0/24))))
	scale := math.Float64frombits(uint64(n>>6+1023) << 52)
	return float32(powers[n&(steps-1)] * p * scale)
}

// logSteps is the size of the table of logarithms, at the middles of the steps of the mantissa.
const logSteps = 128

var logs = func() (t [logSteps]struct{ inverse, log float64 }) {
	for i := range t {
		c := 1 + (float64(i)+0.5)/logSteps
		t[i].inverse, t[i].log = 1/c, math.Log2(c)
	}
	t[0].inverse, t[0].log = 1, 0 // log2 is exact at 1, and close to it as exact as away from it
	t[logSteps-1].inverse, t[logSteps-1].log = 0.5, 1
	return t
}()

// log2of is the logarithm of base 2.
func log2of(x float32) float32 {
	if !(x > 0) || x > math.MaxFloat32 {
		switch {
		case x == 0:
			return float32(math.Inf(-1))
		case x > 0:
			return x
		}
		return float32(math.NaN())
	}
	b := math.Float64bits(float64(x))
	e := float64(int64(b>>52) - 1023)
	m := math.Float64frombits(b&(1<<52-1) | 1023<<52)
	at := &logs[b>>45&(logSteps-1)]
	z := m*at.inverse - 1
	p := z * (1 + z*(-1.0/2+z*(1.0/3+z*(-1.0/4+z*(1.0/5+z*(-1.0/6))))))
	return float32((e + at.log) + p*math.Log2E)
}
