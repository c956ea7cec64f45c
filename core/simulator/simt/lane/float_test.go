package lane

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
)

// value is a pattern as an exact number; ok is false for infinities and NaNs.
func value(f format, x uint64) (v *big.Rat, ok bool) {
	m, e := x&(1<<f.mantissa-1), int(x>>f.mantissa&(1<<f.exponent-1))
	if e == 1<<f.exponent-1 {
		return nil, false
	}
	if e > 0 {
		m |= 1 << f.mantissa
	} else {
		e = 1
	}
	v = scaled(new(big.Int).SetUint64(m), e-(1<<(f.exponent-1)-1)-f.mantissa)
	if isNegative(f, x) {
		v.Neg(v)
	}
	return v, true
}

func isNegative(f format, x uint64) bool { return x>>(f.exponent+f.mantissa)&1 != 0 }
func isNaN(f format, x uint64) bool      { return x&(1<<(f.exponent+f.mantissa)-1) > f.infinity() }
func isInf(f format, x uint64) bool      { return x&(1<<(f.exponent+f.mantissa)-1) == f.infinity() }

// scaled is m * 2^e.
func scaled(m *big.Int, e int) *big.Rat {
	v := new(big.Rat).SetInt(m)
	p := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(max(e, -e))))
	if e < 0 {
		return v.Quo(v, p)
	}
	return v.Mul(v, p)
}

// refRound rounds an exact number that is not zero: it counts how many steps of the format fit, and looks at what is left.
func refRound(f format, v *big.Rat, mode string) uint64 {
	sign := uint64(0)
	if v.Sign() < 0 {
		sign = 1 << (f.exponent + f.mantissa)
	}
	a := new(big.Rat).Abs(v)
	e := a.Num().BitLen() - a.Denom().BitLen() // 2^e is a or up to twice as much
	if scaled(big.NewInt(1), e).Cmp(a) > 0 {
		e--
	}
	least := 2 - 1<<(f.exponent-1)
	e = max(e, least)
	step := scaled(big.NewInt(1), e-f.mantissa)
	count := new(big.Rat).Quo(a, step)
	n, rest := new(big.Int).QuoRem(count.Num(), count.Denom(), new(big.Int))
	if rest.Sign() != 0 {
		half := new(big.Rat).SetFrac(new(big.Int).Lsh(rest, 1), count.Denom()).Cmp(big.NewRat(1, 1))
		if mode == "rn" && (half > 0 || half == 0 && n.Bit(0) == 1) || mode == "rna" && half >= 0 || mode == "rp" && sign == 0 || mode == "rm" && sign != 0 {
			n.Add(n, big.NewInt(1))
		}
	}
	if n.BitLen() > f.mantissa+1 {
		n.Rsh(n, 1)
		e++
	}
	if e > 1<<(f.exponent-1)-1 {
		if mode == "rz" || mode == "rm" && sign == 0 || mode == "rp" && sign != 0 {
			return sign | f.infinity() - 1
		}
		return sign | f.infinity()
	}
	m := n.Uint64()
	if m < 1<<f.mantissa {
		return sign | m
	}
	return sign | uint64(e-least+1)<<f.mantissa | m&(1<<f.mantissa-1)
}

// proxy is a pattern for which only being zero, infinite, NaN and the sign count.
func proxy(f format, x uint64) float64 {
	switch {
	case isNaN(f, x):
		return math.NaN()
	case isInf(f, x) && isNegative(f, x):
		return math.Inf(-1)
	case isInf(f, x):
		return math.Inf(1)
	}
	v, _ := value(f, x)
	s, _ := new(big.Rat).SetInt64(int64(v.Sign())).Float64()
	if isNegative(f, x) {
		return math.Copysign(s, -1)
	}
	return s
}

// refArithmetic is an operation of IEEE 754 on patterns, worked out with exact numbers.
func refArithmetic(op string, f format, in []uint64, mode string) uint64 {
	for _, x := range in {
		if isNaN(f, x) {
			if f == formatF64 {
				return x | 1<<51
			}
			return f.nan
		}
	}
	var p [3]float64
	var v [3]*big.Rat
	finite := true
	for i, x := range in {
		p[i] = proxy(f, x)
		r, ok := value(f, x)
		v[i], finite = r, finite && ok
	}
	var special float64 // right for infinities, NaNs and signs of zeros where no number cancels another
	exact := new(big.Rat)
	switch op {
	case "add":
		special = p[0] + p[1]
	case "sub":
		special = p[0] - p[1]
	case "mul":
		special = p[0] * p[1]
	case "fma":
		special = p[0]*p[1] + p[2]
	case "div":
		special = p[0] / p[1]
	}
	if !finite || op == "div" && v[1].Sign() == 0 {
		if special != special {
			return f.nan
		}
		return formatOfSpecial(f, special)
	}
	switch op {
	case "add":
		exact.Add(v[0], v[1])
	case "sub":
		exact.Sub(v[0], v[1])
	case "mul":
		exact.Mul(v[0], v[1])
	case "fma":
		exact.Add(exact.Mul(v[0], v[1]), v[2])
	case "div":
		exact.Quo(v[0], v[1])
	}
	if exact.Sign() != 0 {
		return refRound(f, exact, mode)
	}
	negative := math.Signbit(special)
	switch op {
	case "add", "sub", "fma":
		first, second := p[0], p[1]
		if op == "fma" {
			first, second = p[0]*p[1], p[2]
		}
		if op == "sub" {
			second = -second
		}
		if math.Signbit(first) != math.Signbit(second) {
			negative = mode == "rm"
		} else {
			negative = math.Signbit(first)
		}
	}
	if negative {
		return 1 << (f.exponent + f.mantissa)
	}
	return 0
}

// formatOfSpecial is an infinity or a zero.
func formatOfSpecial(f format, v float64) uint64 {
	x := uint64(0)
	if math.IsInf(v, 0) {
		x = f.infinity()
	}
	if math.Signbit(v) {
		x |= 1 << (f.exponent + f.mantissa)
	}
	return x
}

func refFlush(f format, x uint64) uint64 {
	if v, ok := value(f, x); ok && v.Sign() != 0 && new(big.Rat).Abs(v).Cmp(scaled(big.NewInt(1), 2-1<<(f.exponent-1))) < 0 {
		return x & (1 << (f.exponent + f.mantissa))
	}
	return x
}

func refSat(f format, x uint64) uint64 {
	one := refRound(f, big.NewRat(1, 1), "rn")
	v, ok := value(f, x)
	switch {
	case isNaN(f, x) || isNegative(f, x):
		return 0
	case !ok || v.Cmp(big.NewRat(1, 1)) > 0:
		return one
	}
	return x
}

var testFormats = map[string]struct {
	format format
	letter string
}{"f16": {formatF16, "h"}, "bf16": {formatBF16, "h"}, "f32": {formatF32, "r"}, "f64": {formatF64, "d"}}

func TestArithmeticRoundsTheExactResultOnce(t *testing.T) {
	for _, text := range []string{
		"add.f32", "add.rz.f32", "add.rm.f32", "add.rp.f32", "add.rn.ftz.f32", "add.sat.f32", "add.rz.ftz.sat.f32", "sub.f32", "sub.rn.ftz.f32", "sub.rm.f32",
		"mul.f32", "mul.rn.ftz.f32", "mul.rz.f32", "mul.rp.f32", "mul.ftz.sat.f32", "fma.rn.f32", "fma.rz.f32", "fma.rm.f32", "fma.rp.f32", "fma.rn.ftz.f32",
		"fma.rz.ftz.f32", "fma.rn.sat.f32", "div.rn.f32", "div.rz.f32", "div.rm.f32", "div.rp.f32", "div.rn.ftz.f32", "div.full.f32",
		"add.f64", "add.rz.f64", "add.rm.f64", "add.rp.f64", "sub.f64", "sub.rm.f64", "mul.f64", "mul.rz.f64", "mul.rm.f64", "mul.rp.f64", "fma.rn.f64",
		"fma.rz.f64", "fma.rm.f64", "fma.rp.f64", "div.rn.f64", "div.rz.f64", "div.rm.f64", "div.rp.f64",
		"add.f16", "add.rn.ftz.f16", "sub.f16", "mul.f16", "mul.sat.f16", "fma.rn.f16", "fma.rn.ftz.f16", "fma.rn.sat.f16", "fma.rn.relu.f16",
		"add.f16x2", "mul.f16x2", "sub.f16x2", "fma.rn.f16x2", "add.bf16", "sub.bf16x2", "mul.bf16", "fma.rn.bf16", "fma.rn.bf16x2", "fma.rn.relu.bf16",
	} {
		parts := strings.Split(text, ".")
		op, typ, packed := parts[0], parts[len(parts)-1], 1
		if element, ok := strings.CutSuffix(typ, "x2"); ok {
			typ, packed = element, 2
		}
		has := func(mod string) bool { return strings.Contains(text+".", "."+mod+".") }
		mode := "rn"
		for _, m := range []string{"rz", "rm", "rp"} {
			if has(m) {
				mode = m
			}
		}
		f, letter := testFormats[typ].format, testFormats[typ].letter
		if packed == 2 {
			letter = "r"
		}
		arity := 2
		if op == "fma" {
			arity = 3
		}
		want := func(in []uint64) uint64 {
			list := append([]uint64{}, in...)
			for i := range list {
				if has("ftz") {
					list[i] = refFlush(f, list[i])
				}
			}
			x := refArithmetic(op, f, list, mode)
			if has("sat") {
				x = refSat(f, x)
			}
			if has("relu") && isNegative(f, x) && !isNaN(f, x) {
				x = 0
			}
			if has("ftz") {
				x = refFlush(f, x)
			}
			return x
		}
		kinds := strings.Repeat(letter, arity)
		inputs := inputsOf(kinds, 20)
		if packed == 2 {
			inputs = append(inputs, packedInputs(arity)...)
		}
		line := text + " " + operands(letter+kinds) + ";"
		for i, got := range eval(t, line, inputs) {
			expect := uint64(0)
			for p := range packed {
				var in []uint64
				for _, x := range inputs[i] {
					if packed == 2 {
						x = x >> (16 * p) & 0xffff
					}
					in = append(in, x)
				}
				expect |= want(in) << (16 * p)
			}
			if got[0] != expect {
				t.Errorf("%s of %x is %x, want %x", line, inputs[i], got[0], expect)
				break
			}
		}
	}
}

// packedInputs are pairs of the edges of 16 bits.
func packedInputs(arity int) [][]uint64 {
	var out [][]uint64
	halves := inputsOf(strings.Repeat("h", arity), 21)
	for i := 0; i+1 < len(halves); i += 2 {
		var v []uint64
		for n := range arity {
			v = append(v, halves[i][n]|halves[i+1][n]<<16)
		}
		out = append(out, v)
	}
	return out
}

// TestRootsAreTheNearest squares: of two neighbours, the root is the one whose square is on the right side.
func TestRootsAreTheNearest(t *testing.T) {
	for _, typ := range []string{"f32", "f64"} {
		f, letter := testFormats[typ].format, testFormats[typ].letter
		inputs := inputsOf(letter, 22)
		for _, mode := range []string{"rn", "rz", "rm", "rp"} {
			for i, got := range eval(t, "sqrt."+mode+"."+typ+" "+operands(letter+letter)+";", inputs) {
				x := inputs[i][0]
				v, ok := value(f, x)
				switch {
				case isNaN(f, x) && f == formatF64:
					if got[0] != x|1<<51 {
						t.Fatalf("sqrt of %x is %x", x, got[0])
					}
					continue
				case isNaN(f, x) || isNegative(f, x) && (!ok || v.Sign() != 0):
					if got[0] != f.nan {
						t.Fatalf("sqrt of %x is %x, want a NaN", x, got[0])
					}
					continue
				case !ok || v.Sign() == 0:
					if got[0] != x {
						t.Fatalf("sqrt of %x is %x", x, got[0])
					}
					continue
				}
				root, _ := value(f, got[0])
				below, _ := value(f, got[0]-1)
				above, _ := value(f, got[0]+1)
				square := func(a, b *big.Rat) *big.Rat { // of the middle
					m := new(big.Rat).Add(a, b)
					m.Quo(m, big.NewRat(2, 1))
					return m.Mul(m, m)
				}
				var right bool
				switch mode {
				case "rn":
					right = square(below, root).Cmp(v) <= 0 && square(root, above).Cmp(v) >= 0
				case "rp":
					right = square(root, root).Cmp(v) >= 0 && square(below, below).Cmp(v) < 0
				default:
					right = square(root, root).Cmp(v) <= 0 && square(above, above).Cmp(v) > 0
				}
				if !right {
					t.Fatalf("sqrt.%s.%s of %x is %x", mode, typ, x, got[0])
				}
			}
			one := refRound(f, big.NewRat(1, 1), "rn")
			for i, got := range eval(t, "rcp."+mode+"."+typ+" "+operands(letter+letter)+";", inputs) {
				if want := refArithmetic("div", f, []uint64{one, inputs[i][0]}, mode); got[0] != want {
					t.Fatalf("rcp.%s.%s of %x is %x, want %x", mode, typ, inputs[i], got[0], want)
				}
			}
		}
	}
}

func TestSignsAreBits(t *testing.T) {
	for _, c := range []struct {
		text, in string
		want     func(v []uint64) uint64
	}{
		{"abs.f32 %f0, %f1;", "r", func(v []uint64) uint64 { return v[0] & 0x7fffffff }},
		{"abs.ftz.f32 %f0, %f1;", "r", func(v []uint64) uint64 { return refFlush(formatF32, v[0]) & 0x7fffffff }},
		{"abs.f64 %g0, %g1;", "d", func(v []uint64) uint64 { return v[0] & (1<<63 - 1) }},
		{"neg.f32 %f0, %f1;", "r", func(v []uint64) uint64 { return v[0] ^ 1<<31 }},
		{"neg.ftz.f32 %f0, %f1;", "r", func(v []uint64) uint64 { return refFlush(formatF32, v[0]) ^ 1<<31 }},
		{"neg.f64 %g0, %g1;", "d", func(v []uint64) uint64 { return v[0] ^ 1<<63 }},
		{"neg.f16 %h0, %h1;", "h", func(v []uint64) uint64 { return v[0] ^ 1<<15 }},
		{"neg.bf16x2 %r0, %r1;", "r", func(v []uint64) uint64 { return v[0] ^ 0x80008000 }},
		{"abs.bf16 %h0, %h1;", "h", func(v []uint64) uint64 { return v[0] & 0x7fff }},
		{"abs.f16x2 %r0, %r1;", "r", func(v []uint64) uint64 { return v[0] & 0x7fff7fff }},
		{"copysign.f32 %f0, %f1, %f2;", "rr", func(v []uint64) uint64 { return v[0]&(1<<31) | v[1]&0x7fffffff }},
		{"copysign.f64 %g0, %g1, %g2;", "dd", func(v []uint64) uint64 { return v[0]&(1<<63) | v[1]&(1<<63-1) }},
	} {
		inputs := inputsOf(c.in, 23)
		for i, got := range eval(t, c.text, inputs) {
			if want := c.want(inputs[i]); got[0] != want {
				t.Fatalf("%s of %x is %x, want %x", c.text, inputs[i], got[0], want)
			}
		}
	}
}

func TestMinimaAndMaxima(t *testing.T) {
	for _, text := range []string{
		"min.f32", "max.f32", "min.ftz.f32", "max.NaN.f32", "min.ftz.NaN.f32", "max.xorsign.abs.f32", "min.NaN.xorsign.abs.f32", "min.f64", "max.f64",
		"min.f16", "max.f16", "max.ftz.f16", "min.NaN.f16", "max.bf16", "min.bf16", "max.NaN.xorsign.abs.bf16", "min.xorsign.abs.f16",
	} {
		parts := strings.Split(text, ".")
		f, letter := testFormats[parts[len(parts)-1]].format, testFormats[parts[len(parts)-1]].letter
		inputs := inputsOf(letter+letter, 24)
		for i, got := range eval(t, text+" "+operands(letter+letter+letter)+";", inputs) {
			x, y := inputs[i][0], inputs[i][1]
			if strings.Contains(text, "ftz") {
				x, y = refFlush(f, x), refFlush(f, y)
			}
			sign := uint64(1) << (f.exponent + f.mantissa)
			product := (x ^ y) & sign
			if strings.Contains(text, "xorsign") {
				x, y = x&^sign, y&^sign
			}
			var want uint64
			xNaN, yNaN := isNaN(f, x), isNaN(f, y)
			switch {
			case xNaN && yNaN && f == formatF64:
				want = x | 1<<51
			case xNaN && yNaN, (xNaN || yNaN) && strings.Contains(text, "NaN"):
				want = f.nan
			case xNaN:
				want = y
			case yNaN:
				want = x
			default:
				want = y
				if less(f, x, y) == (parts[0] == "min") {
					want = x
				}
			}
			if strings.Contains(text, "xorsign") && !isNaN(f, want) {
				want |= product
			}
			if got[0] != want {
				t.Fatalf("%s of %x is %x, want %x", text, inputs[i], got[0], want)
			}
		}
	}
}

// less orders numbers and infinities, -0 before +0.
func less(f format, x, y uint64) bool {
	key := func(x uint64) *big.Int {
		m := new(big.Int).SetUint64(x & (1<<(f.exponent+f.mantissa) - 1))
		if isNegative(f, x) {
			return m.Not(m)
		}
		return m
	}
	return key(x).Cmp(key(y)) < 0
}

// refDouble rounds a double.
func refDouble(f format, v float64, mode string) uint64 {
	switch {
	case v != v:
		return f.nan
	case v == 0 || math.IsInf(v, 0):
		return formatOfSpecial(f, v)
	}
	return refRound(f, new(big.Rat).SetFloat64(v), mode)
}

func TestClassesOfFloats(t *testing.T) {
	for _, typ := range []string{"f32", "f64"} {
		f, letter := testFormats[typ].format, testFormats[typ].letter
		inputs := inputsOf(letter, 26)
		for name, want := range map[string]func(x uint64) bool{
			"finite":     func(x uint64) bool { return !isNaN(f, x) && !isInf(f, x) },
			"infinite":   func(x uint64) bool { return isInf(f, x) },
			"number":     func(x uint64) bool { return !isNaN(f, x) },
			"notanumber": func(x uint64) bool { return isNaN(f, x) },
			"normal":     func(x uint64) bool { v, ok := value(f, x); return ok && v.Sign() != 0 && refFlush(f, x) == x },
			"subnormal":  func(x uint64) bool { return refFlush(f, x) != x },
		} {
			for i, got := range eval(t, fmt.Sprintf("testp.%s.%s %%p0, %%%s1;", name, typ, letter), inputs) {
				if (got[0] == 1) != want(inputs[i][0]) {
					t.Fatalf("testp.%s.%s of %x is %d", name, typ, inputs[i], got[0])
				}
			}
		}
	}
}
