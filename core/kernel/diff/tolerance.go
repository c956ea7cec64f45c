package diff

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/kernel/warptrace"
)

// Tolerance says how far apart two values of a type may be and still be equal. The zero Tolerance is exact. Make one with
// ParseTolerance.
type Tolerance struct {
	all    Rule
	byType map[warptrace.ValueType]Rule
}

// Rule is the tolerance of one type. Values are equal when any of the parts that are set is satisfied.
type Rule struct {
	ULP uint64  // steps between floats of the type; 0: not used
	Rel float64 // of the larger magnitude; 0: not used
	Abs float64 // 0: not used
}

const toleranceHint = `write "exact", "ulp=2", "rel=1e-5", "abs=1e-8", several joined by "+", and per type "f16:ulp=2,f32:rel=1e-5"`

// ParseTolerance reads a tolerance: rules for single types before a colon, one rule for all other floats without. Integers are
// compared exactly unless a rule names their type, and then by abs.
func ParseTolerance(text string) (Tolerance, error) {
	t := Tolerance{byType: map[warptrace.ValueType]Rule{}}
	if strings.TrimSpace(text) == "" {
		return Tolerance{}, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, ruleText, typed := strings.Cut(strings.TrimSpace(part), ":")
		if !typed {
			name, ruleText = "", name
		}
		rule, err := parseRule(text, ruleText)
		if err != nil {
			return Tolerance{}, err
		}
		if name == "" {
			t.all = rule
			continue
		}
		typ, ok := warptrace.ParseValueType(strings.TrimSpace(name))
		if !ok {
			return Tolerance{}, fault.Usagef("tolerance %q: no type is called %q", text, name).WithHint("types are %s", strings.Join(warptrace.ValueTypeNames(), ", "))
		}
		t.byType[typ] = rule
	}
	return t, nil
}

func parseRule(whole, text string) (Rule, error) {
	var r Rule
	for term := range strings.SplitSeq(text, "+") {
		key, number, _ := strings.Cut(strings.TrimSpace(term), "=")
		var err error
		switch key {
		case "exact":
			if number != "" || strings.Contains(text, "+") {
				return r, fault.Usagef("tolerance %q: exact stands alone", whole).WithHint(toleranceHint)
			}
		case "ulp":
			r.ULP, err = strconv.ParseUint(number, 10, 63)
		case "rel":
			r.Rel, err = strconv.ParseFloat(number, 64)
		case "abs":
			r.Abs, err = strconv.ParseFloat(number, 64)
		default:
			return r, fault.Usagef("tolerance %q: %q is no rule", whole, term).WithHint(toleranceHint)
		}
		if err != nil || r.Rel < 0 || r.Abs < 0 || math.IsNaN(r.Rel+r.Abs) || math.IsInf(r.Rel+r.Abs, 0) {
			return r, fault.Usagef("tolerance %q: %q is no usable number", whole, number).WithHint(toleranceHint)
		}
	}
	return r, nil
}

// Equal reports whether two values of a type are equal under the tolerance and the policy for NaN.
func (t *Tolerance) Equal(a, b uint64, typ warptrace.ValueType, nan NaNPolicy) bool {
	x, y, float := warptrace.Floats(a, b, typ)
	if !float {
		if a == b {
			return true
		}
		r, named := t.byType[typ]
		return named && r.Abs > 0 && withinInt(a, b, typ, r.Abs)
	}
	if math.IsNaN(x) || math.IsNaN(y) {
		switch nan {
		case NaNEqual:
			return math.IsNaN(x) && math.IsNaN(y)
		case NaNBits:
			return a == b
		}
		return false
	}
	if a == b || x == y { // +0 and -0 too
		return true
	}
	r, named := t.byType[typ]
	if !named {
		r = t.all
	}
	if math.IsInf(x, 0) || math.IsInf(y, 0) {
		return false
	}
	d := math.Abs(x - y)
	return r.Abs > 0 && d <= r.Abs || r.Rel > 0 && d <= r.Rel*max(math.Abs(x), math.Abs(y)) || r.ULP > 0 && warptrace.ULPs(a, b, typ) <= r.ULP
}

// withinInt compares integers by their distance, which may need 65 bits.
func withinInt(a, b uint64, typ warptrace.ValueType, limit float64) bool {
	if warptrace.Signed(typ) {
		x, y := warptrace.SignExtend(a, typ), warptrace.SignExtend(b, typ)
		if x < y {
			x, y = y, x
		}
		return float64(uint64(x)-uint64(y)) <= limit
	}
	return float64(max(a, b)-min(a, b)) <= limit
}

// Exact reports whether nothing but equal values are equal.
func (t *Tolerance) Exact() bool {
	return t.all == Rule{} && !slices.ContainsFunc(ruleValues(t.byType), func(r Rule) bool { return r != Rule{} })
}

func ruleValues(m map[warptrace.ValueType]Rule) []Rule {
	out := make([]Rule, 0, len(m))
	for _, r := range m {
		out = append(out, r)
	}
	return out
}
