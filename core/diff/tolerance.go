package diff

import (
	"math"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// tolerance says how far two values may be apart and still be equal, by type. The zero Tolerance asks for equal bits.
//
// Its spelling is a list such as "f16:ulp=2,f32:rel=1e-5+abs=1e-9". An entry without a type is for every float type. Several
// bounds of one type add up: values are equal as soon as one of them is kept. Integers and pointers are exact unless abs is given
// for their type by name. The values of v1 have no type ("bits"); a tolerance for bits means that they are f32. Hashes over lanes
// are equal or not, whatever the tolerance.
type tolerance struct {
	text   string
	bounds []bound // by ValueType; empty: all exact
}

// bound is what one type tolerates; an absent part is 0, which only equal values keep.
type bound struct {
	ulp      uint64
	rel, abs float64
}

const toleranceHint = `write "exact", "ulp=2", "rel=1e-5", "abs=1e-8", several joined by "+", and per type "f16:ulp=2,f32:rel=1e-5"`

// ParseTolerance reads the spelling of a tolerance. "" and "exact" are the zero Tolerance.
func ParseTolerance(text string) (tolerance, error) {
	t := tolerance{text: strings.TrimSpace(text)}
	if t.text == "" || t.text == "exact" {
		return tolerance{}, nil
	}
	if len(t.text) > 4096 {
		return tolerance{}, fault.Usagef("the tolerance has %d characters, 4096 are read", len(t.text)).WithHint(toleranceHint)
	}
	t.bounds = make([]bound, len(warptrace.ValueTypeNames()))
	for entry := range strings.SplitSeq(t.text, ",") {
		if problem := t.add(strings.TrimSpace(entry)); problem != "" {
			return tolerance{}, fault.Usagef("tolerance %q: %s", clippedWord(entry), problem).WithHint(toleranceHint)
		}
	}
	return t, nil
}

// add reads one entry and returns what is wrong with it, "" for nothing.
func (t *tolerance) add(entry string) string {
	name, rest, typed := strings.Cut(entry, ":")
	if !typed {
		name, rest = "", entry
	}
	types, problem := tolerant(strings.TrimSpace(name), typed)
	if problem != "" {
		return problem
	}
	if strings.TrimSpace(rest) == "exact" {
		for _, at := range types {
			t.bounds[at] = bound{}
		}
		return ""
	}
	for term := range strings.SplitSeq(rest, "+") {
		how, amount, ok := strings.Cut(strings.TrimSpace(term), "=")
		if !ok {
			return strconv.Quote(clippedWord(term)) + " has no amount"
		}
		for _, at := range types {
			if problem := t.bounds[at].set(how, amount, isFloat(at) || at == warptrace.TypeBits); problem != "" {
				return problem
			}
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
	kind, ok := warptrace.ParseValueType(name)
	switch {
	case !ok:
		return nil, "unknown type" + nearName(name, warptrace.ValueTypeNames()[1:])
	case kind == warptrace.TypeNone || kind == warptrace.TypeHash || kind == warptrace.TypeBool:
		return nil, "values of type " + name + " are equal or not"
	}
	return []warptrace.ValueType{kind}, ""
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

// usable refuses a tolerance that would do nothing: values of format v1 have no type.
func usable(t *tolerance, r *Result) error {
	if t.exact() || r.A.Version != 1 || r.B.Version != 1 || t.bounds[warptrace.TypeBits] != (bound{}) {
		return nil
	}
	return fault.Usagef("the tolerance %q does nothing: both recordings are of format v1, whose values have no type", clippedWord(t.text)).
		WithPath(r.PathB).WithHint(`write "bits:rel=1e-5" or "bits:ulp=4", which takes their values for 32-bit floats`)
}

// String is the spelling that it was parsed from.
func (t tolerance) String() string { return t.text }

// loosens reports whether values of a type need not be equal in every bit.
func (t tolerance) loosens(kind warptrace.ValueType) bool {
	return int(kind) < len(t.bounds) && t.bounds[kind] != (bound{})
}

// exact reports whether only equal bits are equal, NaN aside.
func (t tolerance) exact() bool { return len(t.bounds) == 0 }

func isFloat(t warptrace.ValueType) bool {
	switch t { //nolint:exhaustive // the others are no floats
	case warptrace.TypeF16, warptrace.TypeBF16, warptrace.TypeF32, warptrace.TypeF64, warptrace.TypeF8E4, warptrace.TypeF8E5:
		return true
	}
	return false
}

// same reports whether two values of one type are equal within the tolerance.
func (t tolerance) same(kind warptrace.ValueType, a, b uint64, nan naNPolicy) bool {
	var limit bound
	if int(kind) < len(t.bounds) {
		limit = t.bounds[kind]
	}
	if kind == warptrace.TypeBits && limit != (bound{}) {
		kind = warptrace.TypeF32
	}
	if kind == warptrace.TypeNone {
		return true // there is no value
	}
	mask := ^uint64(0) >> (64 - kind.Bits())
	a, b = a&mask, b&mask
	if x, y, float := warptrace.Floats(a, b, kind); float {
		return sameFloat(kind, a, b, x, y, limit, nan)
	}
	return a == b || limit.abs > 0 && float64(integerGap(kind, a, b)) <= limit.abs
}

// integerGap is the distance of two integers of a type.
func integerGap(kind warptrace.ValueType, a, b uint64) uint64 {
	if warptrace.Signed(kind) {
		flip := uint64(1) << (kind.Bits() - 1) // the order of signed integers is that of unsigned ones with the sign bit flipped
		a, b = a^flip, b^flip
	}
	return max(a, b) - min(a, b)
}

func sameFloat(kind warptrace.ValueType, a, b uint64, x, y float64, limit bound, nan naNPolicy) bool {
	if math.IsNaN(x) || math.IsNaN(y) {
		switch nan {
		case naNEqual:
			return math.IsNaN(x) && math.IsNaN(y)
		case naNBits:
			return a == b
		}
		return false
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
	return gap <= limit.abs || gap <= limit.rel*max(math.Abs(x), math.Abs(y)) || warptrace.ULPs(a, b, kind) <= limit.ulp
}
