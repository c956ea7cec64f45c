package warptrace

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// valueTypes are the spellings and widths of value types.
var valueTypes = [typeCount]struct {
	name string
	bits uint
}{
	TypeNone: {"none", 0}, TypeBits: {"bits", 32}, TypeI8: {"i8", 8}, TypeI16: {"i16", 16}, TypeI32: {"i32", 32}, TypeI64: {"i64", 64},
	TypeU8: {"u8", 8}, TypeU16: {"u16", 16}, TypeU32: {"u32", 32}, TypeU64: {"u64", 64}, TypeF16: {"f16", 16}, TypeBF16: {"bf16", 16},
	TypeF32: {"f32", 32}, TypeF64: {"f64", 64}, TypePtr: {"ptr", 64}, TypeHash: {"hash", 64}, TypeBool: {"bool", 1}, TypeF8E4: {"f8e4m3", 8},
	TypeF8E5: {"f8e5m2", 8},
}

// String returns the spelling in documents.
func (t ValueType) String() string {
	if t >= typeCount {
		return "type-" + strconv.Itoa(int(t))
	}
	return valueTypes[t].name
}

// Bits is the width of a value, 0 when it has none.
func (t ValueType) Bits() uint {
	if t >= typeCount {
		return 64
	}
	return valueTypes[t].bits
}

// ParseValueType finds a type by its spelling.
func ParseValueType(name string) (ValueType, bool) {
	for t := range typeCount {
		if valueTypes[t].name == name {
			return t, true
		}
	}
	return 0, false
}

// ValueTypeNames lists the spellings.
func ValueTypeNames() []string {
	names := make([]string, 0, typeCount)
	for t := range typeCount {
		names = append(names, valueTypes[t].name)
	}
	return names
}

// Signed reports whether a type is a signed integer.
func Signed(t ValueType) bool { return t >= TypeI8 && t <= TypeI64 }

// SignExtend widens a signed integer of a type.
func SignExtend(v uint64, t ValueType) int64 {
	n := 64 - t.Bits()
	return int64(v<<n) >> n
}

// minifloat is a float format narrower than 32 bits.
type minifloat struct {
	exponent, mantissa uint
	finite             bool // e4m3: no infinities, all ones is NaN
}

var minifloats = map[ValueType]minifloat{
	TypeF16: {5, 10, false}, TypeBF16: {8, 7, false}, TypeF8E4: {4, 3, true}, TypeF8E5: {5, 2, false},
}

// Float returns a value of a float type as float64, which holds every one of them exactly; ok is false for other types.
func Float(v uint64, t ValueType) (f float64, ok bool) {
	switch t {
	case TypeF32:
		return float64(math.Float32frombits(uint32(v))), true
	case TypeF64:
		return math.Float64frombits(v), true
	case TypeF16, TypeBF16, TypeF8E4, TypeF8E5:
		return minifloats[t].value(v), true
	}
	return 0, false
}

func (m minifloat) value(v uint64) float64 {
	fraction := v & (1<<m.mantissa - 1)
	exponent := v >> m.mantissa & (1<<m.exponent - 1)
	sign := 1.0
	if v>>(m.mantissa+m.exponent)&1 == 1 {
		sign = -1
	}
	bias := 1<<(m.exponent-1) - 1
	top := uint64(1)<<m.exponent - 1
	switch {
	case exponent == top && m.finite && fraction == 1<<m.mantissa-1, exponent == top && !m.finite && fraction != 0:
		return math.NaN()
	case exponent == top && !m.finite:
		return math.Inf(int(sign))
	case exponent == 0:
		return sign * math.Ldexp(float64(fraction), 1-bias-int(m.mantissa))
	}
	return sign * math.Ldexp(float64(fraction|1<<m.mantissa), int(exponent)-bias-int(m.mantissa))
}

// Floats is Float of two values at once.
func Floats(a, b uint64, t ValueType) (x, y float64, ok bool) {
	if x, ok = Float(a, t); !ok {
		return 0, 0, false
	}
	y, _ = Float(b, t)
	return x, y, true
}

// ULPs counts the floats of a type that lie between two of its values, plus one; 0 when they are equal. +0 and -0 are one value.
// Neither value may be NaN.
func ULPs(a, b uint64, t ValueType) uint64 {
	x, y := ordinal(a, t.Bits()), ordinal(b, t.Bits())
	if x < y {
		x, y = y, x
	}
	return uint64(x) - uint64(y)
}

// ordinal numbers the floats of a width in ascending order, 0 for zero.
func ordinal(v uint64, bits uint) int64 {
	magnitude := int64(v & (1<<(bits-1) - 1))
	if v>>(bits-1)&1 == 1 {
		return -magnitude
	}
	return magnitude
}

// appendValue appends a value as its type prints: integers in decimal, floats in the fewest digits that give the same value back,
// bits, pointers and hashes in hexadecimal.
func appendValue(dst []byte, v uint64, t ValueType) []byte {
	if f, ok := Float(v, t); ok {
		width := 64
		if t != TypeF64 {
			width = 32
		}
		return strconv.AppendFloat(dst, f, 'g', -1, width)
	}
	switch {
	case t == TypeNone:
		return append(dst, '-')
	case t == TypeBool:
		return strconv.AppendBool(dst, v&1 == 1)
	case Signed(t):
		return strconv.AppendInt(dst, SignExtend(v, t), 10)
	case t == TypeBits:
		return strconv.AppendUint(dst, v, 10)
	case slices.Contains([]ValueType{TypeU8, TypeU16, TypeU32, TypeU64}, t):
		return strconv.AppendUint(dst, v, 10)
	}
	return strconv.AppendUint(append(dst, "0x"...), v, 16)
}

// FormatValue is appendValue as a string.
func FormatValue(v uint64, t ValueType) string { return string(appendValue(nil, v, t)) }

// ElementBytes is the size of what a pointer of a type points to, 1 where that is not known.
func ElementBytes(ty string) uint32 {
	name, ok := strings.CutPrefix(ty, "*")
	switch {
	case !ok, strings.HasPrefix(name, "fp8"):
		return 1
	case strings.HasPrefix(name, "*"):
		return 8
	}
	width, err := strconv.Atoi(strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz"))
	if err == nil && (width == 16 || width == 32 || width == 64) {
		return uint32(width / 8)
	}
	return 1
}
