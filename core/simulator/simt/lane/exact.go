package lane

import (
	"math"
	"math/big"
	"math/bits"
)

// rounding is a mode of rounding.
type rounding uint8

const (
	nearest rounding = iota // ties to even
	away                    // nearest, ties away from zero
	toZero
	down
	up
)

var roundings = map[string]rounding{"rn": nearest, "rna": away, "rz": toZero, "rm": down, "rp": up}

// format is a binary floating-point format.
type format struct {
	exponent, mantissa int
	nan                uint64
}

var (
	formatF16  = format{5, 10, nan16}
	formatBF16 = format{8, 7, nan16}
	formatTF32 = format{8, 10, nan32 >> 13}
	formatF32  = format{8, 23, nan32}
	formatF64  = format{11, 52, nan64}
	formatE5M2 = format{5, 2, 0x7f}
)

func (f format) infinity() uint64 { return (1<<f.exponent - 1) << f.mantissa }

// round gives the pattern of m * 2^e, or of a number a little above when more is set, rounded.
func (f format) round(negative bool, m uint64, e int, more bool, mode rounding) uint64 {
	sign := uint64(0)
	if negative {
		sign = 1 << (f.exponent + f.mantissa)
	}
	if m == 0 {
		return sign
	}
	lead := bits.LeadingZeros64(m)
	m, e = m<<lead, e-lead
	if more {
		m |= 1 // at least 10 bits of m are rounded away
	}
	least := 2 - 1<<(f.exponent-1) // exponent of the smallest normal number
	high := e + 63
	drop := 63 - f.mantissa
	if high < least {
		drop += least - high
	}
	var q, rest, middle uint64
	switch {
	case drop < 64:
		q, rest, middle = m>>drop, m&(1<<drop-1), 1<<(drop-1)
	case drop == 64:
		rest, middle = m, 1<<63
	default:
		rest, middle = 1, 2
	}
	if roundsUp(mode, negative, rest, middle, q&1 != 0) {
		q++
	}
	q += uint64(max(high-least, 0)) << f.mantissa
	if q >= f.infinity() {
		q = f.infinity()
		if mode == toZero || mode == down && !negative || mode == up && negative {
			q--
		}
	}
	return sign | q
}

func roundsUp(mode rounding, negative bool, rest, middle uint64, odd bool) bool {
	switch mode {
	case nearest:
		return rest > middle || rest == middle && odd
	case away:
		return rest >= middle
	case down:
		return negative && rest != 0
	case up:
		return !negative && rest != 0
	}
	return false
}

// from rounds a double.
func (f format) from(v float64, mode rounding) uint64 {
	b := math.Float64bits(v)
	switch {
	case v != v:
		return f.nan
	case math.IsInf(v, 0):
		return b>>63<<(f.exponent+f.mantissa) | f.infinity()
	}
	e, m := int(b>>52&0x7ff), b&(1<<52-1)
	if e != 0 {
		m |= 1 << 52
	} else {
		e = 1
	}
	return f.round(b>>63 != 0, m, e-1075, false, mode)
}

// near is from for 16 bits and the nearest: by way of a float32 that is rounded to odd, which is faster.
func (f format) near(v float64) uint64 {
	b := math.Float64bits(v)
	e := b >> 52 & 0x7ff
	if e-(1023-126) >= 254 { // no normal float32
		return f.from(v, nearest)
	}
	x := uint32(b>>63)<<31 | uint32(e-(1023-127))<<23 | uint32(b>>29)&0x7fffff | bit(b&(1<<29-1) != 0)
	if f.exponent == 5 {
		return uint64(half(x))
	}
	return uint64(brain(x))
}

// clamp is .sat of a pattern.
func (f format) clamp(x uint64) uint64 {
	one := uint64(1<<(f.exponent-1)-1) << f.mantissa
	magnitude := x & (1<<(f.exponent+f.mantissa) - 1)
	switch {
	case magnitude > f.infinity(), x != magnitude:
		return 0
	}
	return min(x, one)
}

// flush makes a zero of a denormal.
func (f format) flush(x uint64) uint64 {
	if x&f.infinity() == 0 {
		return x & (1 << (f.exponent + f.mantissa))
	}
	return x
}

// relu makes +0 of a negative number, and leaves NaN.
func (f format) relu(x uint64) uint64 {
	if x>>(f.exponent+f.mantissa) != 0 && x&(1<<(f.exponent+f.mantissa)-1) <= f.infinity() {
		return 0
	}
	return x
}

// sum is x+y as a double that rounds to fewer bits as the exact sum does, with the sign that an exact zero has in a mode.
func sum(x, y float64, mode rounding) float64 {
	s := x + y
	if s == 0 && mode == down && (math.Signbit(x) || math.Signbit(y)) {
		return math.Copysign(0, -1)
	}
	return oddSum(x, y, s)
}

// arithmetic is an operation on doubles whose result rounds to fewer bits as the exact result does.
type arithmetic func(x, y, z float64, mode rounding) float64

// narrow are the operations on formats of up to 24 bits: their products are exact.
var narrow = map[string]arithmetic{
	"add": func(x, y, _ float64, mode rounding) float64 { return sum(x, y, mode) },
	"sub": func(x, y, _ float64, mode rounding) float64 { return sum(x, -y, mode) },
	"mul": func(x, y, _ float64, _ rounding) float64 { return x * y },
	"fma": func(x, y, z float64, mode rounding) float64 { return sum(float64(x*y), z, mode) },
	"div": func(x, y, _ float64, _ rounding) float64 { return quotientOdd(x, y) },
	"rcp": func(x, _, _ float64, _ rounding) float64 { return quotientOdd(1, x) },
	"sqrt": func(x, _, _ float64, _ rounding) float64 {
		s := math.Sqrt(x)
		if x == 0 || s != s || math.IsInf(s, 0) {
			return s
		}
		return odd(s, math.FMA(-s, s, x))
	},
}

func quotientOdd(x, y float64) float64 {
	q := x / y
	if q == 0 || q != q || math.IsInf(q, 0) || math.IsInf(y, 0) {
		return q
	}
	e := math.FMA(-q, y, x)
	if y < 0 {
		e = -e
	}
	return odd(q, e)
}

// directed is an operation in double precision that does not round to the nearest.
func directed(name string, mode rounding, x, y, z float64) uint64 {
	var near float64
	if x != x || y != y || z != z {
		return payload(x, y, z)
	}
	switch name {
	case "add":
		near = x + y
	case "sub":
		y = -y
		name, near = "add", x+y
	case "mul":
		near = x * y
	case "fma":
		near = math.FMA(x, y, z)
	case "div":
		near = x / y
	case "rcp":
		near, name = 1/x, "div"
		x, y = 1, x
	case "sqrt":
		near = math.Sqrt(x)
	}
	if math.IsInf(x, 0) || math.IsInf(y, 0) || math.IsInf(z, 0) || near != near || name == "div" && y == 0 {
		return bits64(near)
	}
	exact := new(big.Float).SetPrec(5000).SetMode(big.ToZero)
	a, b := big.NewFloat(x), big.NewFloat(y)
	switch name {
	case "add":
		exact.Add(a, b)
	case "mul":
		exact.Mul(a, b)
	case "fma":
		exact.Mul(a, b)
		exact.Add(exact, big.NewFloat(z))
	case "div":
		exact.SetPrec(128).Quo(a, b)
	case "sqrt":
		exact.SetPrec(256).Sqrt(a)
	}
	if exact.Sign() == 0 {
		if near == 0 && mode == down && name != "mul" && name != "div" && (x != 0 || math.Signbit(x) || math.Signbit(y) || math.Signbit(z)) {
			return zeroDown(name, x, y, z)
		}
		return math.Float64bits(near)
	}
	var m big.Float
	m.SetPrec(64).SetMode(big.ToZero).Set(exact)
	e := m.MantExp(&m)
	m.SetMantExp(&m, 64)
	low, _ := m.Abs(&m).Uint64()
	return formatF64.round(exact.Signbit(), low, e-64, exact.Acc() != big.Exact || m.Acc() != big.Exact || exact.MinPrec() > 64, mode)
}

// zeroDown is the sign of an exact zero when rounding down: +0 only as the sum of two of it.
func zeroDown(name string, x, y, z float64) uint64 {
	first, second := x, y
	switch name {
	case "fma":
		first, second = x*y, z
		if first == 0 && x != 0 && y != 0 {
			first = math.Copysign(1, x) * math.Copysign(1, y)
		}
	case "sqrt":
		return math.Float64bits(x)
	}
	if math.Signbit(first) || math.Signbit(second) {
		return 1 << 63
	}
	return 0
}

// widenTo is a number of a format of 16 bits as a double.
func (f format) widen(x uint32) float64 {
	if f == formatF16 {
		return float64(math.Float32frombits(widen16(x)))
	}
	return float64(math.Float32frombits(x << 16))
}

// shape is how an instruction on floats changes what goes in and what comes out.
type shape struct {
	mode      rounding
	ftz, sat  bool
	relu      bool
	satFinite bool
}

func (s shape) in(f format, x uint64) uint64 {
	if s.ftz {
		return f.flush(x)
	}
	return x
}

func (s shape) out(f format, x uint64) uint64 {
	if s.sat {
		x = f.clamp(x)
	}
	if s.relu {
		x = f.relu(x)
	}
	if s.ftz {
		x = f.flush(x)
	}
	return x
}

// exact32 is an operation on float32 by way of doubles.
func exact32(op arithmetic, arity int, s shape) Func {
	return func(r *Regs, o *Operands) {
		in := [3]int32{o.A, o.B, o.C}
		var v [3]float64
		for i := range Lanes {
			for n := range arity {
				v[n] = float64(math.Float32frombits(uint32(s.in(formatF32, uint64(r.R32[in[n]][i])))))
			}
			r.R32[o.D][i] = uint32(s.out(formatF32, formatF32.from(op(v[0], v[1], v[2], s.mode), s.mode)))
		}
	}
}

// exact64 is an operation on doubles that does not round to the nearest.
func exact64(name string, arity int, mode rounding) Func {
	return func(r *Regs, o *Operands) {
		in := [3]int32{o.A, o.B, o.C}
		var v [3]float64
		for i := range Lanes {
			for n := range arity {
				v[n] = math.Float64frombits(r.R64[in[n]][i])
			}
			r.R64[o.D][i] = directed(name, mode, v[0], v[1], v[2])
		}
	}
}

// exact16 is an operation on one number of 16 bits, or on two in a register.
func exact16(f format, parts, arity int, s shape, op arithmetic) Func {
	return func(r *Regs, o *Operands) {
		in := [3]int32{o.A, o.B, o.C}
		var v [3]float64
		for i := range Lanes {
			d := uint32(0)
			for p := range parts {
				for n := range arity {
					v[n] = f.widen(uint32(s.in(f, uint64(r.R32[in[n]][i]>>(16*p)&0xffff))))
				}
				d |= uint32(s.out(f, f.near(op(v[0], v[1], v[2], nearest)))) << (16 * p)
			}
			r.R32[o.D][i] = d
		}
	}
}

// patterns16 is an operation on patterns of 16 bits.
func patterns16(parts, arity int, op func(x, y uint32) uint32) Func {
	return func(r *Regs, o *Operands) {
		second := o.B
		if arity == 1 {
			second = o.A
		}
		d, a, b := &r.R32[o.D], &r.R32[o.A], &r.R32[second]
		for i := range d {
			v := op(a[i]&0xffff, b[i]&0xffff)
			if parts == 2 {
				v |= op(a[i]>>16, b[i]>>16) << 16
			}
			d[i] = v
		}
	}
}
