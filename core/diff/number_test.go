package diff

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

var smallTypes = []warptrace.ValueType{warptrace.TypeF16, warptrace.TypeBF16, warptrace.TypeF8E4, warptrace.TypeF8E5}

var floatTypes = append([]warptrace.ValueType{warptrace.TypeF32, warptrace.TypeF64}, smallTypes...)

// byDefinition decodes a small float from the text of its definition: sign, exponent, fraction.
func byDefinition(bits uint64, exponentBits, fractionBits int, infinities bool) float64 {
	sign, e, f := 1.0, int(bits>>fractionBits)&(1<<exponentBits-1), float64(bits&(1<<fractionBits-1))/float64(int(1)<<fractionBits)
	if bits>>(exponentBits+fractionBits) != 0 {
		sign = -1
	}
	bias := 1<<(exponentBits-1) - 1
	switch {
	case infinities && e == 1<<exponentBits-1 && f == 0:
		return math.Inf(int(sign))
	case infinities && e == 1<<exponentBits-1, !infinities && bits&(1<<(exponentBits+fractionBits)-1) == 1<<(exponentBits+fractionBits)-1:
		return math.NaN()
	case e == 0:
		return sign * f * math.Pow(2, float64(1-bias))
	}
	return sign * (1 + f) * math.Pow(2, float64(e-bias))
}

func TestSmallFloatsAreReadByTheirDefinition(t *testing.T) {
	for _, c := range []struct {
		kind               warptrace.ValueType
		exponent, fraction int
		infinities         bool
	}{{warptrace.TypeF16, 5, 10, true}, {warptrace.TypeBF16, 8, 7, true}, {warptrace.TypeF8E4, 4, 3, false}, {warptrace.TypeF8E5, 5, 2, true}} {
		for bits := range uint64(1) << c.kind.Bits() {
			got, _ := floatOf(bits, c.kind)
			if want := byDefinition(bits, c.exponent, c.fraction, c.infinities); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Fatalf("%s %#x: got %g, want %g", c.kind, bits, got, want)
			}
		}
	}
}

// TestRoundingFindsTheNearestFloat holds the rounding against a search among all floats of a type.
func TestRoundingFindsTheNearestFloat(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 20260927))
	for _, kind := range smallTypes {
		var values []float64 // finite, ascending
		for bits := range uint64(1) << (kind.Bits() - 1) {
			if x, _ := floatOf(bits, kind); !math.IsNaN(x) && !math.IsInf(x, 0) {
				values = append(values, x)
			}
		}
		if !slices.IsSorted(values) {
			t.Fatalf("%s: the floats do not ascend with their bits", kind)
		}
		most := len(values) - 1
		over := values[most] + (values[most]-values[most-1])/2 // from here on the largest is not the nearest
		try := func(x float64) {
			bits, fits := floatFormats[kind].round(x)
			i, _ := slices.BinarySearch(values, math.Abs(x))
			want := uint64(i)
			if i > 0 && (i > most || math.Abs(x)-values[i-1] < values[i]-math.Abs(x) || math.Abs(x)-values[i-1] == values[i]-math.Abs(x) && i%2 == 1) {
				want = uint64(i - 1)
			}
			wantFits := math.Abs(x) < over || math.Abs(x) == over && most%2 == 0
			if !wantFits {
				want = uint64(most + 1)
			}
			if math.Signbit(x) {
				want |= 1 << (kind.Bits() - 1)
			}
			if bits != want || fits != wantFits {
				t.Errorf("%g as %s: got %#x, fits %v, want %#x, %v", x, kind, bits, fits, want, wantFits)
			}
		}
		for i := range min(most, 3000) {
			k := most - i
			for _, x := range []float64{values[k], -values[k], (values[k] + values[k-1]) / 2, math.Nextafter((values[k]+values[k-1])/2, 0), math.Nextafter((values[k]+values[k-1])/2, 1e300)} {
				try(x)
			}
		}
		for range 20_000 {
			try(math.Ldexp(random.Float64()-0.5, random.IntN(320)-170))
		}
		for _, x := range []float64{over, math.Nextafter(over, 0), -over, 1e300, 5e-324, math.Copysign(0, -1), values[1] / 2, values[1] / 4, 0.75 * values[1]} {
			try(x)
		}
	}
	for range 20_000 {
		x := math.Ldexp(random.Float64()-0.5, random.IntN(400)-200)
		bits, fits := floatFormats[warptrace.TypeF32].round(x)
		if want := uint64(math.Float32bits(float32(x))); bits != want || fits == math.IsInf(float64(float32(x)), 0) {
			t.Fatalf("%g as f32: got %#x, want %#x", x, bits, want)
		}
		if bits, fits := floatFormats[warptrace.TypeF64].round(x); bits != math.Float64bits(x) || !fits {
			t.Fatalf("%g as f64: got %#x, want %#x", x, bits, math.Float64bits(x))
		}
	}
}

// randomBits are bits of a type, near those of others and near the ends more often than chance has them.
func randomBits(random *rand.Rand, kind warptrace.ValueType) uint64 {
	if kind == warptrace.TypeBool {
		return random.Uint64() & 1
	}
	mask := ^uint64(0) >> (64 - kind.Bits())
	switch random.IntN(6) {
	case 0:
		return []uint64{0, 1 << (kind.Bits() - 1), mask, mask >> 1, mask >> 2, 1}[random.IntN(6)]
	case 1:
		return (uint64(random.IntN(8)) - 4) & mask
	case 2, 3:
		if f, ok := floatFormats[kind]; ok {
			bits, _ := f.round(float64(random.IntN(41)-20) / 4)
			return bits
		}
		return uint64(random.IntN(11)-5) & mask
	}
	return random.Uint64() & mask
}

// exact is an element as a number without bounds; nil where it is none.
func exact(bits uint64, kind warptrace.ValueType) *big.Float {
	x, isFloat := floatOf(bits, kind)
	switch {
	case isFloat && (math.IsNaN(x) || math.IsInf(x, 0)):
		return nil
	case isFloat:
		return new(big.Float).SetPrec(3000).SetFloat64(x)
	case warptrace.Signed(kind):
		return new(big.Float).SetPrec(3000).SetInt64(warptrace.SignExtend(bits, kind))
	}
	return new(big.Float).SetPrec(3000).SetUint64(bits)
}

// steps counts floats from one to the other, one after the other; -1 where there are more than most.
func stepsOneByOne(a, b uint64, kind warptrace.ValueType, most int) int {
	next := func(bits uint64) uint64 {
		sign := uint64(1) << (kind.Bits() - 1)
		switch {
		case bits == sign: // -0
			return 1
		case bits&sign != 0:
			return bits - 1
		}
		return bits + 1
	}
	x, _ := floatOf(a, kind)
	y, _ := floatOf(b, kind)
	if x > y {
		a, x, y = b, y, x
	}
	for n := range most + 1 {
		if x == y {
			return n
		}
		a = next(a)
		x, _ = floatOf(a, kind)
	}
	return -1
}

// TestMeasuresAreThoseOfASlowTwin measures pairs of elements of all types against numbers without bounds and floats counted one by one.
func TestMeasuresAreThoseOfASlowTwin(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 8))
	types := append([]warptrace.ValueType{
		warptrace.TypeI8, warptrace.TypeI16, warptrace.TypeI32, warptrace.TypeI64, warptrace.TypeU8, warptrace.TypeU16, warptrace.TypeU32, warptrace.TypeU64,
	}, floatTypes...)
	stepped := 0
	for range 60_000 {
		kinds := [2]warptrace.ValueType{types[random.IntN(len(types))], types[random.IntN(len(types))]}
		if random.IntN(2) == 0 {
			kinds[1] = kinds[0]
		}
		a, b := randomBits(random, kinds[0]), randomBits(random, kinds[1])
		if kinds[0] == kinds[1] && random.IntN(2) == 0 {
			b = (a + uint64(random.IntN(7)) - 3) & (^uint64(0) >> (64 - kinds[0].Bits()))
		}
		got := measureTwo(kinds, a, b)
		want := exactly(kinds, a, b)
		steps := -1
		if k := got.kind; isFloat(k) && isFloat(kinds[0]) && isFloat(kinds[1]) && got.m.ulps.by > 0 && got.m.ulps.by <= 300 {
			x, _ := floatOf(a, kinds[0])
			y, _ := floatOf(b, kinds[1])
			ra, _ := floatFormats[k].round(x)
			rb, _ := floatFormats[k].round(y)
			steps = stepsOneByOne(ra, rb, k, 400)
			stepped++
		}
		if got.m.mismatched != want.mismatched || got.m.nan != want.nan || got.m.infinite != want.infinite || got.m.infinities != want.infinities || got.m.sameValue != want.sameValue ||
			!near(got.m.absolute.by, want.absolute) || !near(got.m.relative.by, want.relative) || steps >= 0 && got.m.ulps.by != float64(steps) {
			t.Fatalf("%s %#x and %s %#x: got %+v, want %+v, %d steps", kinds[0], a, kinds[1], b, got.m, want, steps)
		}
	}
	if stepped < 5000 {
		t.Errorf("steps were counted of %d pairs only", stepped)
	}
}

func near(x, y float64) bool { return x == y || math.Abs(x-y) <= 4e-16*max(x, y) }

type twoMeasured struct {
	m    measured
	kind warptrace.ValueType
}

// measureTwo measures an array of one element.
func measureTwo(kinds [2]warptrace.ValueType, a, b uint64) twoMeasured {
	names := map[warptrace.ValueType]string{}
	for name, kind := range elementTypes {
		if name != "u1" {
			names[kind] = "*" + name
		}
	}
	arrays, kept := [2]warptrace.Array{}, [2]warptrace.Contents{}
	for side, v := range []uint64{a, b} {
		x, c := leftArray{typ: names[kinds[side]], size: int(kinds[side].Bits()) / 8, values: []uint64{v}}.contents()
		arrays[side], kept[side] = x, c[0]
	}
	m := newMeasure(&arrayPair{a: &arrays[0], b: &arrays[1]}, &Options{})
	out, _ := m.chunk(&kept[0], &kept[1])
	return twoMeasured{out, m.kind}
}

// apartness is what the slow twin says.
type apartness struct {
	mismatched, infinities, sameValue int64
	nan, infinite                     [2]int64
	absolute, relative                float64
}

func exactly(kinds [2]warptrace.ValueType, a, b uint64) (out apartness) {
	x, y := exact(a, kinds[0]), exact(b, kinds[1])
	fa, _ := floatOf(a, kinds[0])
	fb, _ := floatOf(b, kinds[1])
	sameType := kinds[0] == kinds[1]
	if sameType && a == b {
		return out
	}
	out.mismatched = 1
	switch {
	case x != nil && y != nil && x.Cmp(y) == 0, x == nil && y == nil && (fa == fb || math.IsNaN(fa) && math.IsNaN(fb)):
		if !sameType {
			return apartness{}
		}
		out.sameValue = 1
	case math.IsNaN(fa):
		out.nan[0] = 1
	case math.IsNaN(fb):
		out.nan[1] = 1
	case x == nil && y == nil:
		out.infinities = 1
	case x == nil:
		out.infinite[0] = 1
	case y == nil:
		out.infinite[1] = 1
	default:
		gap := new(big.Float).SetPrec(3000).Sub(x, y)
		gap.Abs(gap)
		most := new(big.Float).Abs(x)
		if other := new(big.Float).Abs(y); other.Cmp(most) > 0 {
			most = other
		}
		out.absolute, _ = gap.Float64()
		out.absolute = min(out.absolute, math.MaxFloat64)
		out.relative, _ = new(big.Float).Quo(gap, most).Float64()
	}
	return out
}
