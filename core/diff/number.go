package diff

import (
	"math"
	"sync"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Elements of arrays as numbers. Every float of the types below is a float64, and every integer a sign with 64 bits, so that elements of two
// types are compared by value.

// floatFormat is how a type of floats lays out its bits.
type floatFormat struct {
	exponent, mantissa uint
	finite             bool // no infinities: all ones is NaN, and rounding beyond the largest number ends there
}

var floatFormats = map[warptrace.ValueType]floatFormat{
	warptrace.TypeF64: {11, 52, false}, warptrace.TypeF32: {8, 23, false}, warptrace.TypeF16: {5, 10, false}, warptrace.TypeBF16: {8, 7, false},
	warptrace.TypeF8E4: {4, 3, true}, warptrace.TypeF8E5: {5, 2, false},
}

// beyond are the bits of what is larger than every number of the format: infinity, or NaN where it has none.
func (f floatFormat) beyond() uint64 {
	if f.finite {
		return 1<<(f.exponent+f.mantissa) - 1
	}
	return (1<<f.exponent - 1) << f.mantissa
}

// round gives the bits of the nearest float of the format, ties to even. fits is false where x is a number beyond the largest.
func (f floatFormat) round(x float64) (bits uint64, fits bool) {
	sign := uint64(0)
	if math.Signbit(x) {
		sign = 1 << (f.exponent + f.mantissa)
	}
	x = math.Abs(x)
	switch {
	case x == 0:
		return sign, true
	case math.IsInf(x, 0), math.IsNaN(x):
		return sign | f.beyond(), true
	}
	bias := 1<<(f.exponent-1) - 1
	_, exponent := math.Frexp(x)
	exponent = max(exponent-1, 1-bias)
	steps := math.RoundToEven(math.Ldexp(x, int(f.mantissa)-exponent))
	// Consecutive floats have consecutive bits, subnormal numbers and carries into the exponent included.
	bits = uint64(exponent-1+bias)<<f.mantissa + uint64(steps)
	if bits >= f.beyond() {
		return sign | f.beyond(), false
	}
	return sign | bits, true
}

// coarser is the type by whose steps elements of two types are apart: that of the coarser floats, of a float beside an integer that of the
// float, of integers the narrower one; TypeNone where either is not known.
func coarser(a, b warptrace.ValueType) warptrace.ValueType {
	if a == warptrace.TypeNone || b == warptrace.TypeNone {
		return warptrace.TypeNone
	}
	x, floatA := floatFormats[a]
	y, floatB := floatFormats[b]
	switch {
	case floatA && floatB && x.mantissa != y.mantissa:
		if x.mantissa < y.mantissa {
			return a
		}
		return b
	case floatA != floatB:
		if floatA {
			return a
		}
		return b
	case a.Bits() != b.Bits():
		if a.Bits() < b.Bits() {
			return a
		}
		return b
	}
	return min(a, b)
}

// number is the value of one element.
type number struct {
	isFloat  bool
	x        float64 // of a float
	negative bool    // of an integer, with its magnitude
	size     uint64
}

// numberOf reads an element of a type.
func numberOf(bits uint64, t warptrace.ValueType) number {
	if x, ok := floatOf(bits, t); ok {
		return number{isFloat: true, x: x}
	}
	if width := t.Bits(); width < 64 && t != warptrace.TypeBool {
		bits &= 1<<width - 1
	}
	if warptrace.Signed(t) {
		if v := warptrace.SignExtend(bits, t); v < 0 {
			return number{negative: true, size: -uint64(v)}
		}
	}
	return number{size: bits}
}

// float is the value as a float, rounded where it is an integer of more than 53 bits.
func (n number) float() float64 {
	switch {
	case n.isFloat:
		return n.x
	case n.negative:
		return -float64(n.size)
	}
	return float64(n.size)
}

// whole is a float as an integer, where it is one of at most 64 bits.
func (n number) whole() (number, bool) {
	if !n.isFloat {
		return n, true
	}
	if size := math.Abs(n.x); size < 1<<64 && size == math.Trunc(size) {
		return number{negative: n.x < 0, size: uint64(size)}, true
	}
	return n, false
}

// apart is how far apart two finite values are: 0 only where they are equal, never more than the largest float64.
func apart(a, b number) float64 {
	if a.isFloat && b.isFloat {
		return min(math.Abs(a.x-b.x), math.MaxFloat64)
	}
	x, wholeA := a.whole()
	y, wholeB := b.whole()
	switch {
	case !wholeA || !wholeB:
		return min(math.Abs(a.float()-b.float()), math.MaxFloat64)
	case x.negative == y.negative:
		return float64(max(x.size, y.size) - min(x.size, y.size))
	}
	return float64(x.size) + float64(y.size)
}

// relatively is how far apart two values are that differ by gap, as a share of the larger one.
func relatively(gap, x, y float64) float64 {
	most := max(math.Abs(x), math.Abs(y))
	if gap == math.MaxFloat64 {
		return math.Abs(x/most - y/most)
	}
	return gap / most
}

// smallFloats are the values of all floats of 8 and 16 bits, by their bits.
var smallFloats = map[warptrace.ValueType]func() []float64{
	warptrace.TypeF16: tableOf(warptrace.TypeF16), warptrace.TypeBF16: tableOf(warptrace.TypeBF16),
	warptrace.TypeF8E4: tableOf(warptrace.TypeF8E4), warptrace.TypeF8E5: tableOf(warptrace.TypeF8E5),
}

func tableOf(t warptrace.ValueType) func() []float64 {
	return sync.OnceValue(func() []float64 {
		table := make([]float64, 1<<t.Bits())
		for i := range table {
			table[i], _ = warptrace.Float(uint64(i), t)
		}
		return table
	})
}

// floatOf is warptrace.Float, by a table where there are few floats.
func floatOf(bits uint64, t warptrace.ValueType) (float64, bool) {
	switch t { //nolint:exhaustive // the others are in the table, or no floats
	case warptrace.TypeF32:
		return float64(math.Float32frombits(uint32(bits))), true
	case warptrace.TypeF64:
		return math.Float64frombits(bits), true
	}
	if table := smallFloats[t]; table != nil {
		return table()[bits&(1<<t.Bits()-1)], true
	}
	return 0, false
}
