package diff

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/kernel/warptrace"
)

// Tolerance says how far two values may be apart and still be equal, by type. The zero Tolerance asks for equal bits.
//
// Its spelling is a list such as "f16:ulp=2,f32:rel=1e-5,abs=1e-9". An entry without a type is for every float type. Several
// entries of one type add up: values are equal as soon as one of them is kept. Integers and pointers are exact unless abs is given
// for their type by name. The values of v1 have no type ("bits"); a tolerance for bits means that they are f32. Hashes over lanes
// are equal or not, whatever the tolerance.
type Tolerance struct {
	text   string
	bounds []bound // by ValueType; empty: all exact
}

// bound is what one type tolerates; an absent part is 0, which only equal values keep.
type bound struct {
	ulp      uint64
	rel, abs float64
}

// typeNames spell the value types, in documents and tolerances.
var typeNames = [...]string{
	warptrace.TypeNone: "none", warptrace.TypeBits: "bits", warptrace.TypeI8: "i8", warptrace.TypeI16: "i16", warptrace.TypeI32: "i32",
	warptrace.TypeI64: "i64", warptrace.TypeU8: "u8", warptrace.TypeU16: "u16", warptrace.TypeU32: "u32", warptrace.TypeU64: "u64",
	warptrace.TypeF16: "f16", warptrace.TypeBF16: "bf16", warptrace.TypeF32: "f32", warptrace.TypeF64: "f64", warptrace.TypePtr: "ptr",
	warptrace.TypeHash: "hash", warptrace.TypeBool: "bool", warptrace.TypeF8E4: "f8e4m3", warptrace.TypeF8E5: "f8e5m2",
}

// TypeName spells a value type as documents do: "f16", "i32", "hash"; "type-200" for one that this version does not know.
func TypeName(t warptrace.ValueType) string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "type-" + strconv.Itoa(int(t))
}

const toleranceHint = `expected for instance "f16:ulp=2,f32:rel=1e-5": a type (f16, bf16, f32, f64, f8e4m3, f8e5m2, bits, or with abs an integer type), then ulp=N, rel=X, abs=X or exact`

// ParseTolerance reads the spelling of a tolerance. "" and "exact" are the zero Tolerance.
func ParseTolerance(text string) (Tolerance, error) {
	t := Tolerance{text: strings.TrimSpace(text)}
	if t.text == "" || t.text == "exact" {
		return Tolerance{}, nil
	}
	if len(t.text) > 4096 {
		return Tolerance{}, fault.Usagef("the tolerance has %d characters, 4096 are read", len(t.text)).WithHint(toleranceHint)
	}
	t.bounds = make([]bound, len(typeNames))
	for entry := range strings.SplitSeq(t.text, ",") {
		if problem := t.add(strings.TrimSpace(entry)); problem != "" {
			return Tolerance{}, fault.Usagef("tolerance %q: %s", clippedWord(entry), problem).WithHint(toleranceHint)
		}
	}
	return t, nil
}

// add reads one entry and returns what is wrong with it, "" for nothing.
func (t *Tolerance) add(entry string) string {
	name, rest, typed := strings.Cut(entry, ":")
	if !typed {
		name, rest = "", entry
	}
	types, problem := tolerant(name, typed)
	if problem != "" {
		return problem
	}
	if rest == "exact" {
		for _, at := range types {
			t.bounds[at] = bound{}
		}
		return ""
	}
	how, amount, ok := strings.Cut(rest, "=")
	if !ok {
		return "no amount"
	}
	for _, at := range types {
		if problem := t.bounds[at].set(how, amount, isFloat(at) || at == warptrace.TypeBits); problem != "" {
			return problem
		}
	}
	return ""
}

// tolerant lists the types that an entry is for.
func tolerant(name string, typed bool) ([]warptrace.ValueType, string) {
	if !typed {
		return []warptrace.ValueType{
			warptrace.TypeF16, warptrace.TypeBF16, warptrace.TypeF32, warptrace.TypeF64, warptrace.TypeF8E4, warptrace.TypeF8E5,
		}, ""
	}
	at := slices.Index(typeNames[:], name)
	switch warptrace.ValueType(max(at, 0)) { //nolint:exhaustive // the others are fine
	case warptrace.TypeNone, warptrace.TypeHash, warptrace.TypeBool:
		if at < 0 {
			return nil, "unknown type" + nearName(name, typeNames[1:])
		}
		return nil, "values of type " + name + " are equal or not"
	}
	return []warptrace.ValueType{warptrace.ValueType(at)}, ""
}

func (b *bound) set(how, amount string, float bool) string {
	if !float && how != "abs" {
		return "integers are exact unless abs is given"
	}
	if how == "ulp" {
		n, err := strconv.ParseUint(amount, 10, 32)
		if err != nil {
			return "ulp is " + strconv.Quote(clippedWord(amount)) + ", expected a whole number"
		}
		b.ulp = max(b.ulp, n)
		return ""
	}
	x, err := strconv.ParseFloat(amount, 64)
	if err != nil || !(x >= 0) || math.IsInf(x, 0) {
		return how + " is " + strconv.Quote(clippedWord(amount)) + ", expected a number from 0 on"
	}
	switch how {
	case "rel":
		b.rel = max(b.rel, x)
	case "abs":
		b.abs = max(b.abs, x)
	default:
		return "unknown measure " + strconv.Quote(clippedWord(how)) + nearName(how, []string{"ulp", "rel", "abs", "exact"})
	}
	return ""
}

// String is the spelling that it was parsed from.
func (t Tolerance) String() string { return t.text }

// Exact reports whether only equal bits are equal, NaN aside.
func (t Tolerance) Exact() bool { return len(t.bounds) == 0 }

func isFloat(t warptrace.ValueType) bool {
	switch t { //nolint:exhaustive // the others are no floats
	case warptrace.TypeF16, warptrace.TypeBF16, warptrace.TypeF32, warptrace.TypeF64, warptrace.TypeF8E4, warptrace.TypeF8E5:
		return true
	}
	return false
}

// Same reports whether two values of one type are equal within the tolerance.
func (t Tolerance) Same(kind warptrace.ValueType, a, b uint64, nan NaNPolicy) bool {
	var limit bound
	if int(kind) < len(t.bounds) {
		limit = t.bounds[kind]
	}
	if kind == warptrace.TypeBits && limit != (bound{}) {
		kind = warptrace.TypeF32
	}
	if isFloat(kind) {
		return sameFloat(kind, a, b, limit, nan)
	}
	mask := ^uint64(0) >> (64 - max(widthOf(kind), 1))
	if a, b = a&mask, b&mask; a == b {
		return true
	}
	return limit.abs > 0 && float64(integerGap(kind, a, b)) <= limit.abs
}

// integerGap is the distance of two integers of a type.
func integerGap(kind warptrace.ValueType, a, b uint64) uint64 {
	if kind >= warptrace.TypeI8 && kind <= warptrace.TypeI64 {
		flip := uint64(1) << (widthOf(kind) - 1) // the order of signed integers is that of unsigned ones with the sign bit flipped
		a, b = a^flip, b^flip
	}
	return max(a, b) - min(a, b)
}

func sameFloat(kind warptrace.ValueType, a, b uint64, limit bound, nan NaNPolicy) bool {
	mask := ^uint64(0) >> (64 - widthOf(kind))
	a, b = a&mask, b&mask
	x, y := Float(kind, a), Float(kind, b)
	if math.IsNaN(x) || math.IsNaN(y) {
		switch nan {
		case NaNEqual:
			return math.IsNaN(x) && math.IsNaN(y)
		case NaNBits:
			return a == b
		case NaNNever:
			return false
		}
	}
	if a == b || limit == (bound{}) {
		return a == b // exact means the bits: -0 is not +0
	}
	if x == y {
		return true
	}
	if math.IsInf(x, 0) || math.IsInf(y, 0) {
		return false // infinity is no neighbour of the largest finite number
	}
	gap := math.Abs(x - y)
	return gap <= limit.abs || gap <= limit.rel*max(math.Abs(x), math.Abs(y)) || ulps(kind, a, b) <= limit.ulp
}

// ulps is the number of steps between two finite floats of a type; -0 and +0 are none apart.
func ulps(kind warptrace.ValueType, a, b uint64) uint64 {
	sign := uint64(1) << (widthOf(kind) - 1)
	if a&sign != b&sign {
		s, carry := bits.Add64(a&^sign, b&^sign, 0)
		if carry != 0 {
			return math.MaxUint64
		}
		return s
	}
	return max(a, b) - min(a, b)
}

// widthOf is the number of bits of a type, 64 where it has no width of its own.
func widthOf(kind warptrace.ValueType) uint {
	switch kind { //nolint:exhaustive // the others are 64 bits wide
	case warptrace.TypeBool:
		return 1
	case warptrace.TypeI8, warptrace.TypeU8, warptrace.TypeF8E4, warptrace.TypeF8E5:
		return 8
	case warptrace.TypeI16, warptrace.TypeU16, warptrace.TypeF16, warptrace.TypeBF16:
		return 16
	case warptrace.TypeI32, warptrace.TypeU32, warptrace.TypeF32, warptrace.TypeBits:
		return 32
	}
	return 64
}

// Float returns the number that the bits of a float type stand for; exact, since all of them fit into float64.
func Float(kind warptrace.ValueType, v uint64) float64 {
	switch kind { //nolint:exhaustive // the others are no floats
	case warptrace.TypeF64:
		return math.Float64frombits(v)
	case warptrace.TypeF32, warptrace.TypeBits:
		return float64(math.Float32frombits(uint32(v)))
	case warptrace.TypeBF16:
		return float64(math.Float32frombits(uint32(v) << 16))
	case warptrace.TypeF16:
		return smallFloat(v, 5, 10, true)
	case warptrace.TypeF8E5:
		return smallFloat(v, 5, 2, true)
	case warptrace.TypeF8E4:
		return smallFloat(v, 4, 3, false)
	}
	return math.NaN()
}

// smallFloat decodes a float with so many bits of exponent and mantissa. Without infinities (e4m3) the largest exponent is an
// ordinary one, of which only the last mantissa is NaN.
func smallFloat(v uint64, exponent, mantissa uint, infinities bool) float64 {
	e := int(v >> mantissa & (1<<exponent - 1))
	m := v & (1<<mantissa - 1)
	top, bias := 1<<exponent-1, 1<<(exponent-1)-1
	var x float64
	switch {
	case e == top && infinities && m == 0:
		x = math.Inf(1)
	case e == top && infinities, e == top && m == 1<<mantissa-1:
		return math.NaN()
	case e == 0:
		x = math.Ldexp(float64(m), 1-bias-int(mantissa))
	default:
		x = math.Ldexp(float64(m|1<<mantissa), e-bias-int(mantissa))
	}
	if v>>(exponent+mantissa)&1 != 0 {
		x = -x
	}
	return x
}

// FormatValue prints a value as its type prints: integers in decimal, floats with the fewest digits that read back as the same
// bits, pointers, hashes and bits of unknown meaning in hexadecimal. A value of no type is "".
func FormatValue(kind warptrace.ValueType, v uint64) string {
	v &= ^uint64(0) >> (64 - max(widthOf(kind), 1))
	switch kind { //nolint:exhaustive // below
	case warptrace.TypeNone:
		return ""
	case warptrace.TypeBool:
		return strconv.FormatBool(v != 0)
	case warptrace.TypeI8, warptrace.TypeI16, warptrace.TypeI32, warptrace.TypeI64:
		shift := 64 - widthOf(kind)
		return strconv.FormatInt(int64(v<<shift)>>shift, 10)
	case warptrace.TypeU8, warptrace.TypeU16, warptrace.TypeU32, warptrace.TypeU64, warptrace.TypeBits:
		return strconv.FormatUint(v, 10)
	}
	if isFloat(kind) {
		return formatFloat(kind, v)
	}
	return "0x" + strconv.FormatUint(v, 16)
}

// formatFloat finds the shortest decimal that is nearer to the value than to its neighbours of the type.
func formatFloat(kind warptrace.ValueType, v uint64) string {
	x := Float(kind, v)
	switch {
	case kind == warptrace.TypeF64 || math.IsNaN(x) || math.IsInf(x, 0):
		return strconv.FormatFloat(x, 'g', -1, 64)
	case kind == warptrace.TypeF32:
		return strconv.FormatFloat(x, 'g', -1, 32)
	}
	sign := uint64(1) << (widthOf(kind) - 1)
	up, down := Float(kind, v&^sign+1), 0.0
	if v&^sign != 0 {
		down = Float(kind, v&^sign-1)
	}
	size := math.Abs(x)
	if math.IsNaN(up) || math.IsInf(up, 0) {
		up = 2*size - down
	}
	for digits := 1; digits < 10; digits++ {
		text := strconv.FormatFloat(x, 'g', digits, 64)
		y, err := strconv.ParseFloat(text, 64)
		if y = math.Abs(y); err == nil && y < (size+up)/2 && (y > (size+down)/2 || size == 0) {
			short, err := strconv.ParseFloat(text, 64)
			if err == nil {
				return strconv.FormatFloat(short, 'g', -1, 64)
			}
		}
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
