package lane

import (
	"math/big"
	"strings"
	"testing"
)

// number is a pattern as the integer that a type makes of it.
func number(t string, x uint64) *big.Int {
	w := uint(widthOf(t))
	v := new(big.Int).SetUint64(x & (^uint64(0) >> (64 - w)))
	if t[0] == 's' && v.Bit(int(w-1)) != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), w))
	}
	return v
}

// pattern is an integer modulo 2^width.
func pattern(width uint, v *big.Int) uint64 {
	return new(big.Int).And(v, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), width), big.NewInt(1))).Uint64()
}

type intCase struct {
	op   string   // without the type
	out  int      // 0: width of the type, 1: twice, 32: 32 bits
	on   []string // types
	in   string   // t: of the type, w: twice as wide, r: 32 bits
	want func(v []*big.Int, width uint, t string) *big.Int
}

func clampTo(t string, v *big.Int) *big.Int {
	w := uint(widthOf(t))
	low, high := big.NewInt(0), new(big.Int).Lsh(big.NewInt(1), w)
	if t[0] == 's' {
		low, high = new(big.Int).Neg(new(big.Int).Rsh(high, 1)), new(big.Int).Rsh(high, 1)
	}
	high.Sub(high, big.NewInt(1))
	if v.Cmp(low) < 0 {
		return low
	}
	if v.Cmp(high) > 0 {
		return high
	}
	return v
}

func bin(f func(z, x, y *big.Int) *big.Int) func(v []*big.Int, _ uint, _ string) *big.Int {
	return func(v []*big.Int, _ uint, _ string) *big.Int { return f(new(big.Int), v[0], v[1]) }
}

var intTypes, signedTypes, bitTypes, wordTypes = []string{"u16", "s16", "u32", "s32", "u64", "s64"}, []string{"s16", "s32", "s64"},
	[]string{"b16", "b32", "b64"}, []string{"u32", "s32", "u64", "s64"}

// allTypes are those of integers with and without a sign, and of bits: forms that only differ in them are compared, too.
var allTypes = append(append([]string{}, intTypes...), bitTypes...)

// amount is a shift: what is beyond the width shifts everything out.
func amount(x *big.Int, width uint) uint {
	if x.Cmp(big.NewInt(int64(width))) >= 0 {
		return width
	}
	return uint(x.Uint64())
}

var intCases = []intCase{
	{"add", 0, allTypes, "tt", bin((*big.Int).Add)},
	{"sub", 0, allTypes, "tt", bin((*big.Int).Sub)},
	{"mul.lo", 0, allTypes, "tt", bin((*big.Int).Mul)},
	{"mul.hi", 0, intTypes, "tt", func(v []*big.Int, w uint, _ string) *big.Int {
		return new(big.Int).Rsh(new(big.Int).Mul(v[0], v[1]), w)
	}},
	{"mul.wide", 1, intTypes[:4], "tt", bin((*big.Int).Mul)},
	{"mad.lo", 0, allTypes, "ttt", func(v []*big.Int, _ uint, _ string) *big.Int {
		return new(big.Int).Add(new(big.Int).Mul(v[0], v[1]), v[2])
	}},
	{"mad.hi", 0, intTypes, "ttt", func(v []*big.Int, w uint, _ string) *big.Int {
		return new(big.Int).Add(new(big.Int).Rsh(new(big.Int).Mul(v[0], v[1]), w), v[2])
	}},
	{"mad.wide", 1, intTypes[:4], "ttw", func(v []*big.Int, _ uint, _ string) *big.Int {
		return new(big.Int).Add(new(big.Int).Mul(v[0], v[1]), v[2])
	}},
	{"add.sat", 0, []string{"s32"}, "tt", func(v []*big.Int, _ uint, t string) *big.Int { return clampTo(t, new(big.Int).Add(v[0], v[1])) }},
	{"sub.sat", 0, []string{"s32"}, "tt", func(v []*big.Int, _ uint, t string) *big.Int { return clampTo(t, new(big.Int).Sub(v[0], v[1])) }},
	{"mad.hi.sat", 0, []string{"s32"}, "ttt", func(v []*big.Int, w uint, t string) *big.Int {
		return clampTo(t, new(big.Int).Add(new(big.Int).Rsh(new(big.Int).Mul(v[0], v[1]), w), v[2]))
	}},
	{"mul24.lo", 0, []string{"u32", "s32"}, "tt", func(v []*big.Int, _ uint, t string) *big.Int {
		a, b := number(t[:1]+"24", v[0].Uint64()), number(t[:1]+"24", v[1].Uint64())
		if t == "s32" {
			a, b = number("s24", pattern(24, v[0])), number("s24", pattern(24, v[1]))
		}
		return new(big.Int).Mul(a, b)
	}},
	{"mad24.lo", 0, []string{"u32", "s32"}, "ttt", func(v []*big.Int, _ uint, t string) *big.Int {
		a, b := number(t[:1]+"24", pattern(24, v[0])), number(t[:1]+"24", pattern(24, v[1]))
		return new(big.Int).Add(new(big.Int).Mul(a, b), v[2])
	}},
	{"sad", 0, intTypes, "ttt", func(v []*big.Int, _ uint, _ string) *big.Int {
		d := new(big.Int).Sub(v[0], v[1])
		return d.Add(d.Abs(d), v[2])
	}},
	{"div", 0, intTypes, "tt", func(v []*big.Int, _ uint, _ string) *big.Int {
		if v[1].Sign() == 0 {
			return big.NewInt(-1)
		}
		return new(big.Int).Quo(v[0], v[1])
	}},
	{"rem", 0, intTypes, "tt", func(v []*big.Int, _ uint, _ string) *big.Int {
		if v[1].Sign() == 0 {
			return big.NewInt(-1)
		}
		return new(big.Int).Rem(v[0], v[1])
	}},
	{"abs", 0, signedTypes, "t", func(v []*big.Int, _ uint, _ string) *big.Int { return new(big.Int).Abs(v[0]) }},
	{"neg", 0, intTypes, "t", func(v []*big.Int, _ uint, _ string) *big.Int { return new(big.Int).Neg(v[0]) }},
	{"min", 0, intTypes, "tt", func(v []*big.Int, _ uint, _ string) *big.Int {
		if v[0].Cmp(v[1]) < 0 {
			return v[0]
		}
		return v[1]
	}},
	{"max", 0, intTypes, "tt", func(v []*big.Int, _ uint, _ string) *big.Int {
		if v[0].Cmp(v[1]) > 0 {
			return v[0]
		}
		return v[1]
	}},
	{"and", 0, bitTypes, "tt", bin((*big.Int).And)},
	{"or", 0, bitTypes, "tt", bin((*big.Int).Or)},
	{"xor", 0, bitTypes, "tt", bin((*big.Int).Xor)},
	{"not", 0, bitTypes, "t", func(v []*big.Int, _ uint, _ string) *big.Int { return new(big.Int).Not(v[0]) }},
	{"cnot", 0, bitTypes, "t", func(v []*big.Int, _ uint, _ string) *big.Int { return big.NewInt(int64(1 - min(1, v[0].BitLen()))) }},
	{"shl", 0, []string{"b16", "b32", "b64", "u16", "u32", "u64"}, "tr", func(v []*big.Int, w uint, _ string) *big.Int { return new(big.Int).Lsh(v[0], amount(v[1], w)) }},
	{"shr", 0, allTypes, "tr", func(v []*big.Int, w uint, _ string) *big.Int { return new(big.Int).Rsh(v[0], amount(v[1], w)) }},
	{"bfe", 0, wordTypes, "trr", func(v []*big.Int, w uint, t string) *big.Int {
		pos, length := v[1].Uint64()&255, v[2].Uint64()&255
		sign := uint(0)
		if t[0] == 's' && length > 0 {
			sign = v[0].Bit(int(min(pos+length-1, uint64(w-1))))
		}
		d := new(big.Int)
		for i := range uint64(w) {
			bit := sign
			if i < length && pos+i < uint64(w) {
				bit = patternBit(v[0], w, uint(pos+i))
			}
			d.SetBit(d, int(i), bit)
		}
		return d
	}},
	{"bfi", 0, []string{"b32", "b64"}, "ttrr", func(v []*big.Int, w uint, _ string) *big.Int {
		pos, length := v[2].Uint64()&255, v[3].Uint64()&255
		d := new(big.Int).Set(v[1])
		for i := range length {
			if pos+i < uint64(w) {
				d.SetBit(d, int(pos+i), patternBit(v[0], w, uint(i)))
			}
		}
		return d
	}},
	{"brev", 0, []string{"b32", "b64"}, "t", func(v []*big.Int, w uint, _ string) *big.Int {
		d := new(big.Int)
		for i := range w {
			d.SetBit(d, int(w-1-i), v[0].Bit(int(i)))
		}
		return d
	}},
	{"clz", 32, []string{"b32", "b64"}, "t", func(v []*big.Int, w uint, _ string) *big.Int { return big.NewInt(int64(w) - int64(v[0].BitLen())) }},
	{"popc", 32, []string{"b32", "b64"}, "t", func(v []*big.Int, _ uint, _ string) *big.Int {
		return big.NewInt(int64(strings.Count(v[0].Text(2), "1")))
	}},
	{"bfind", 32, wordTypes, "t", func(v []*big.Int, _ uint, _ string) *big.Int { return big.NewInt(int64(highest(v[0]))) }},
	{"bfind.shiftamt", 32, wordTypes, "t", func(v []*big.Int, w uint, _ string) *big.Int {
		if h := highest(v[0]); h >= 0 {
			return big.NewInt(int64(w) - 1 - int64(h))
		}
		return big.NewInt(-1)
	}},
}

// highest is the highest bit that differs from the sign, -1 none.
func highest(v *big.Int) int {
	if v.Sign() < 0 {
		v = new(big.Int).Not(v)
	}
	return v.BitLen() - 1
}

func patternBit(v *big.Int, width, i uint) uint { return uint(pattern(width, v) >> i & 1) }

var letterOf = map[uint]byte{16: 'h', 32: 'r', 64: 'd'}

func TestIntegersAreThoseOfBigIntegers(t *testing.T) {
	for _, c := range intCases {
		for _, typ := range c.on {
			width := uint(widthOf(typ))
			out := width
			switch c.out {
			case 1:
				out *= 2
			case 32:
				out = 32
			}
			kinds, types := "", []string{}
			for i := range c.in {
				switch c.in[i] {
				case 't':
					kinds, types = kinds+string(letterOf[width]), append(types, typ)
				case 'w':
					kinds, types = kinds+string(letterOf[2*width]), append(types, wider(typ))
				case 'r':
					kinds, types = kinds+"r", append(types, "u32")
				}
			}
			text := c.op + "." + typ + " " + operands(string(letterOf[out])+kinds) + ";"
			inputs := inputsOf(kinds, 1)
			for i, got := range eval(t, text, inputs) {
				var v []*big.Int
				for n, x := range inputs[i] {
					v = append(v, number(types[n], x))
				}
				if want := pattern(out, c.want(v, width, typ)); got[0] != want {
					t.Errorf("%s of %x is %x, want %x", text, inputs[i], got[0], want)
					break
				}
			}
		}
	}
}

func TestFunnelShiftsAreThoseOf64Bits(t *testing.T) {
	inputs := inputsOf("rrr", 2)
	for _, c := range []struct {
		op   string
		want func(both *big.Int, n uint) uint64
	}{
		{"shf.l.wrap", func(both *big.Int, n uint) uint64 { return pattern(64, both.Lsh(both, n&31)) >> 32 }},
		{"shf.l.clamp", func(both *big.Int, n uint) uint64 { return pattern(64, both.Lsh(both, min(n, 32))) >> 32 }},
		{"shf.r.wrap", func(both *big.Int, n uint) uint64 { return pattern(32, both.Rsh(both, n&31)) }},
		{"shf.r.clamp", func(both *big.Int, n uint) uint64 { return pattern(32, both.Rsh(both, min(n, 32))) }},
	} {
		for i, got := range eval(t, c.op+".b32 %r0, %r1, %r2, %r3;", inputs) {
			in := inputs[i]
			both := new(big.Int).SetUint64(in[1]<<32 | in[0])
			if want := c.want(both, uint(in[2])); got[0] != want {
				t.Fatalf("%s of %x is %x, want %x", c.op, in, got[0], want)
			}
		}
	}
}

func TestPermutePicksBytes(t *testing.T) {
	byteOf := func(in []uint64, n uint64) uint64 {
		if n < 4 {
			return in[0] >> (8 * n) & 255
		}
		return in[1] >> (8 * (n - 4)) & 255
	}
	check := func(text string, inputs [][]uint64, pick func(in []uint64, place uint64) uint64) {
		t.Helper()
		for i, got := range eval(t, text, inputs) {
			want := uint64(0)
			for place := range uint64(4) {
				want |= pick(inputs[i], place) << (8 * place)
			}
			if got[0] != want {
				t.Fatalf("%s of %x is %x, want %x", text, inputs[i], got[0], want)
			}
		}
	}
	general := func(in []uint64, place uint64) uint64 {
		s := in[2] >> (4 * place) & 15
		v := byteOf(in, s&7)
		if s < 8 {
			return v
		}
		return v >> 7 * 255
	}
	three, two := inputsOf("rrr", 3), [][]uint64{}
	for _, in := range three {
		two = append(two, in[:2])
	}
	check("prmt.b32 %r0, %r1, %r2, %r3;", three, general)
	for _, s := range []uint64{0x3340, 0x5410, 0x7632, 0x0123, 0x7654, 0xba98} {
		check("prmt.b32 %r0, %r1, %r2, "+big.NewInt(int64(s)).String()+";", two, func(in []uint64, place uint64) uint64 {
			return general([]uint64{in[0], in[1], s}, place)
		})
	}
	// What the named forms do, as sentences of the PTX ISA: n is the low two bits of the third operand.
	for mode, from := range map[string]func(n, place uint64) uint64{
		"f4e":  func(n, place uint64) uint64 { return n + place },
		"b4e":  func(n, place uint64) uint64 { return (n - place) & 7 },
		"rc8":  func(n, _ uint64) uint64 { return n },
		"ecl":  func(n, place uint64) uint64 { return max(n, place) },
		"ecr":  func(n, place uint64) uint64 { return min(n, place) },
		"rc16": func(n, place uint64) uint64 { return n&1*2 + place&1 },
	} {
		check("prmt.b32."+mode+" %r0, %r1, %r2, %r3;", three, func(in []uint64, place uint64) uint64 { return byteOf(in, from(in[2]&3, place)) })
	}
}

func TestLop3IsItsTable(t *testing.T) {
	inputs := inputsOf("rrr", 4)[:64]
	for table := range uint64(256) {
		text := "lop3.b32 %r0, %r1, %r2, %r3, " + big.NewInt(int64(table)).String() + ";"
		for i, got := range eval(t, text, inputs) {
			want := uint64(0)
			for b := range 32 {
				at := inputs[i][0]>>b&1<<2 | inputs[i][1]>>b&1<<1 | inputs[i][2]>>b&1
				want |= table >> at & 1 << b
			}
			if got[0] != want {
				t.Fatalf("%s of %x is %x, want %x", text, inputs[i], got[0], want)
			}
		}
	}
}

func TestMovPacksAndUnpacks(t *testing.T) {
	for _, c := range []struct {
		text, in  string
		width     int
		wantParts bool
	}{
		{"mov.b64 %d0, {%r1, %r2};", "rr", 32, false},
		{"mov.b64 %d0, {%h1, %h2, %h3, %h4};", "hhhh", 16, false},
		{"mov.b32 %r0, {%h1, %h2};", "hh", 16, false},
		{"mov.b64 {%r1, %r2}, %d0;", "d", 32, true},
		{"mov.b64 {%h1, %h2, %h3, %h4}, %d0;", "d", 16, true},
		{"mov.b32 {%h1, %h2}, %r0;", "r", 16, true},
	} {
		inputs := inputsOf(c.in, 5)
		for i, got := range eval(t, c.text, inputs) {
			whole, parts := got, inputs[i]
			if c.wantParts {
				whole, parts = inputs[i], got
			}
			for n, part := range parts {
				if want := whole[0] >> (n * c.width) & (1<<c.width - 1); part != want {
					t.Fatalf("%s of %x is %x", c.text, inputs[i], got)
				}
			}
		}
	}
	for _, c := range []struct{ text, in string }{
		{"mov.u16 %h0, %h1;", "h"}, {"mov.b32 %r0, %r1;", "r"}, {"mov.f32 %f0, %f1;", "r"}, {"mov.u64 %d0, %d1;", "d"}, {"mov.f64 %g0, %g1;", "d"}, {"mov.pred %p0, %p1;", "p"},
	} {
		inputs := inputsOf(c.in, 6)
		for i, got := range eval(t, c.text, inputs) {
			if got[0] != inputs[i][0] {
				t.Fatalf("%s of %x is %x", c.text, inputs[i], got)
			}
		}
	}
}

func TestCarriesGoFromWordToWord(t *testing.T) {
	for _, c := range []struct {
		low, high string
		want      func(x, y, z *big.Int) *big.Int
	}{
		{"add.cc.u32 %r0, %r1, %r2;", "addc.cc.u32 %r0, %r1, %r2;", func(x, y, _ *big.Int) *big.Int { return x.Add(x, y) }},
		{"sub.cc.u32 %r0, %r1, %r2;", "subc.u32 %r0, %r1, %r2;", func(x, y, _ *big.Int) *big.Int { return x.Sub(x, y) }},
	} {
		low, high := newBench(t, c.low), newBench(t, c.high)
		for _, v := range inputsOf("dd", 7) {
			for i := range 2 {
				low.put(low.in[i], 5, v[i]&0xffffffff)
				high.put(high.in[i], 5, v[i]>>32)
			}
			low.regs.Carry = ^uint32(0) &^ (1 << 5)
			if err := low.form.Warp(&low.regs, &low.ops, 1<<5); err != nil {
				t.Fatal(err)
			}
			if low.regs.Carry|1<<5 != ^uint32(0) {
				t.Fatalf("the carry of other lanes is %x", low.regs.Carry)
			}
			high.regs.Carry = low.regs.Carry
			if err := high.form.Warp(&high.regs, &high.ops, 1<<5); err != nil {
				t.Fatal(err)
			}
			got := high.get(high.out[0], 5)<<32 | low.get(low.out[0], 5)
			want := pattern(64, c.want(new(big.Int).SetUint64(v[0]), new(big.Int).SetUint64(v[1]), nil))
			if got != want {
				t.Fatalf("%s %s of %x is %x, want %x", c.low, c.high, v, got, want)
			}
		}
	}
	// 32 x 32 + 64, as Triton prints it: the low word sets the carry, the high word adds it.
	low, high := newBench(t, "mad.lo.cc.u32 %r0, %r1, %r2, %r3;"), newBench(t, "madc.hi.u32 %r0, %r1, %r2, %r3;")
	for _, v := range inputsOf("rrd", 8) {
		for i, x := range []uint64{v[0], v[1], v[2] & 0xffffffff} {
			low.put(low.in[i], 9, x)
		}
		for i, x := range []uint64{v[0], v[1], v[2] >> 32} {
			high.put(high.in[i], 9, x)
		}
		_ = low.run()
		high.regs.Carry = low.regs.Carry
		_ = high.run()
		if got, want := high.get(high.out[0], 9)<<32|low.get(low.out[0], 9), v[0]*v[1]+v[2]; got != want {
			t.Fatalf("mad.lo.cc, madc.hi of %x is %x, want %x", v, got, want)
		}
	}
}

func TestSelections(t *testing.T) {
	for _, c := range []struct{ text, in string }{
		{"selp.b16 %h0, %h1, %h2, %p3;", "hhp"}, {"selp.b32 %r0, %r1, %r2, %p3;", "rrp"}, {"selp.f32 %f0, %f1, %f2, %p3;", "rrp"}, {"selp.b64 %d0, %d1, %d2, %p3;", "ddp"},
	} {
		inputs := inputsOf(c.in, 9)
		for i, got := range eval(t, c.text, inputs) {
			if want := inputs[i][1-inputs[i][2]]; got[0] != want {
				t.Fatalf("%s of %x is %x, want %x", c.text, inputs[i], got[0], want)
			}
		}
	}
	for _, c := range []struct {
		text, in string
		first    func(x uint64) bool
	}{
		{"slct.u32.s32 %r0, %r1, %r2, %r3;", "rrr", func(x uint64) bool { return x < 1<<31 }},
		{"slct.b64.s32 %d0, %d1, %d2, %r3;", "ddr", func(x uint64) bool { return x < 1<<31 }},
		{"slct.f32.f32 %f0, %f1, %f2, %f3;", "rrr", func(x uint64) bool { return x <= 0x7f800000 || x == 1<<31 }},
		{"slct.ftz.u32.f32 %r0, %r1, %r2, %f3;", "rrr", func(x uint64) bool { return x <= 0x7f800000 || x >= 1<<31 && x < 1<<31+1<<23 }},
	} {
		inputs := inputsOf(c.in, 10)
		for i, got := range eval(t, c.text, inputs) {
			want := inputs[i][1]
			if c.first(inputs[i][2]) {
				want = inputs[i][0]
			}
			if got[0] != want {
				t.Fatalf("%s of %x is %x, want %x", c.text, inputs[i], got[0], want)
			}
		}
	}
	for op, want := range map[string]func(x, y uint64) uint64{
		"and": func(x, y uint64) uint64 { return x * y }, "or": func(x, y uint64) uint64 { return max(x, y) }, "xor": func(x, y uint64) uint64 { return (x + y) % 2 },
	} {
		inputs := inputsOf("pp", 11)
		for i, got := range eval(t, op+".pred %p0, %p1, %p2;", inputs) {
			if got[0] != want(inputs[i][0], inputs[i][1]) {
				t.Fatalf("%s.pred of %v is %d", op, inputs[i], got[0])
			}
		}
	}
	inputs := inputsOf("p", 12)
	for i, got := range eval(t, "not.pred %p0, %p1;", inputs) {
		if got[0] == inputs[i][0] {
			t.Fatalf("not.pred of %d is %d", inputs[i][0], got[0])
		}
	}
}
