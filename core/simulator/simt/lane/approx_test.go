package lane

import (
	"math"
	"math/big"
	"strings"
	"testing"
)

// TestApproximationsAreClose compares with functions in high precision: to the nearest float32, one unit more for what double
// precision leaves.
func TestApproximationsAreClose(t *testing.T) {
	for name, exact := range map[string]func(float64) float64{
		"ex2": func(x float64) float64 { return math.Pow(2, x) }, "lg2": math.Log2, "sin": func(x float64) float64 { return refSine(x, 0) }, "cos": func(x float64) float64 { return refSine(x, 1) },
		"rsqrt": func(x float64) float64 { return math.Pow(x, -0.5) }, "rcp": func(x float64) float64 { return 1 / x },
		"sqrt": math.Sqrt, "tanh": func(x float64) float64 { return -math.Expm1(-2*x) / (math.Exp(-2*x) + 1) },
	} {
		for _, ftz := range []string{"", ".ftz"} {
			if name == "tanh" && ftz != "" {
				continue
			}
			text := name + ".approx" + ftz + ".f32 %f0, %f1;"
			inputs := inputsOf("r", 25)
			worst := 0.0
			for i, got := range eval(t, text, inputs) {
				in := inputs[i][0]
				if ftz != "" {
					in = refFlush(formatF32, in)
				}
				want := exact(float64(math.Float32frombits(uint32(in))))
				if name == "rsqrt" && math.Float32frombits(uint32(in)) == 0 {
					want = math.Copysign(math.Inf(1), float64(math.Float32frombits(uint32(in))))
				}
				if name == "rsqrt" && math.Float32frombits(uint32(in)) < 0 {
					want = math.NaN()
				}
				if name == "tanh" && math.IsInf(float64(math.Float32frombits(uint32(in))), -1) {
					want = -1
				}
				x := math.Float32frombits(uint32(got[0]))
				near := bits32(float32(want))
				if ftz != "" {
					near = flush(near)
				}
				if name == "tanh" && want != want && x == x && math.Abs(float64(x)) == 1 {
					continue // the reference overflows
				}
				if distance := math.Abs(float64(order32(near)) - float64(order32(uint32(got[0])))); distance > 1 || (x != x) != (want != want) {
					t.Fatalf("%s of %x is %x, want %x", text, in, got[0], near)
				}
				if a := math.Abs(want); a >= 0x1p-126 && a < 0x1p127 { // in units of the last place of the exact value
					_, e := math.Frexp(a)
					worst = max(worst, math.Abs(float64(x)-want)/math.Ldexp(1, e-24))
				}
			}
			if worst > 0.51 {
				t.Errorf("%s is %v units off", text, worst)
			}
		}
	}
}

// refSine sums the series after taking whole turns off, with 400 bits; quarter 1 makes it the cosine.
func refSine(x float64, quarter int64) float64 {
	if x != x || math.IsInf(x, 0) {
		return math.NaN()
	}
	if x == 0 {
		return x + float64(quarter)
	}
	number := func() *big.Float { return new(big.Float).SetPrec(400) }
	pi, _ := number().SetString("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651328")
	turn, half := number().Add(pi, pi), number().Quo(pi, number().SetInt64(2))
	turns, _ := number().Quo(number().SetFloat64(x), turn).Int(nil)
	at := number().Sub(number().SetFloat64(x), number().Mul(turn, number().SetInt(turns)))
	at.Add(at, number().Mul(half, number().SetInt64(quarter)))
	sum, term := number().Set(at), number().Set(at)
	for n := int64(2); n < 120; n += 2 {
		term.Mul(term, at).Mul(term, at).Quo(term, number().SetInt64(-n*(n+1)))
		sum.Add(sum, term)
	}
	v, _ := sum.Float64()
	return v
}

func order32(x uint32) int64 {
	if x>>31 != 0 {
		return -int64(x & 0x7fffffff)
	}
	return int64(x)
}

func TestDivisionByTheLargestIsZeroWhereApproximate(t *testing.T) {
	for _, c := range []struct{ x, y, want float32 }{
		{1, 3, 1.0 / 3},
		{1, 0x1p126, 0x1p-126},
		{5, 0x1.000002p126, 0},
		{-5, 0x1p127, float32(math.Copysign(0, -1))},
		{1, 0, float32(math.Inf(1))},
		{float32(math.Inf(1)), 0x1p127, float32(math.NaN())},
		{7, float32(math.Inf(1)), 0},
		{6, 2, 3},
	} {
		got := eval(t, "div.approx.f32 %f0, %f1, %f2;", [][]uint64{{uint64(math.Float32bits(c.x)), uint64(math.Float32bits(c.y))}})[0][0]
		if want := uint64(bits32(c.want)); got != want {
			t.Errorf("%v / %v is %x, want %x", c.x, c.y, got, want)
		}
	}
}

func TestApproximationsOf16Bits(t *testing.T) {
	for _, c := range []struct {
		text string
		f    format
		fn   func(float64) float64
	}{
		{"ex2.approx.f16", formatF16, math.Exp2}, {"ex2.approx.ftz.bf16", formatBF16, math.Exp2}, {"tanh.approx.f16", formatF16, math.Tanh}, {"tanh.approx.bf16", formatBF16, math.Tanh},
	} {
		var inputs [][]uint64
		for x := range uint64(1 << 16) {
			inputs = append(inputs, []uint64{x})
		}
		for i, got := range eval(t, c.text+" %h0, %h1;", inputs) {
			x := inputs[i][0]
			if strings.Contains(c.text, "ftz") {
				x = refFlush(c.f, x)
			}
			if isNaN(c.f, x) || isInf(c.f, x) {
				continue
			}
			v, _ := value(c.f, x)
			in, _ := v.Float64()
			if isNegative(c.f, x) && in == 0 {
				in = math.Copysign(0, -1)
			}
			want := refDouble(c.f, c.fn(in), "rn")
			if strings.Contains(c.text, "ftz") {
				want = refFlush(c.f, want)
			}
			if got[0] != want {
				t.Fatalf("%s of %x is %x, want %x", c.text, x, got[0], want)
			}
		}
	}
}
