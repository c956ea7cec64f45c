package lane

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
)

// regOf is a register that holds a type: bytes stand in registers of 16 bits.
func regOf(t string) string {
	switch widthOf(t) {
	case 8, 16:
		return "h"
	case 64:
		return "d"
	}
	return "r"
}

func TestIntegersConvertToIntegers(t *testing.T) {
	all := []string{"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"}
	for _, to := range all {
		for _, from := range all {
			for _, sat := range []string{"", ".sat"} {
				in, out := regOf(from), regOf(to)
				text := fmt.Sprintf("cvt%s.%s.%s %%%s0, %%%s1;", sat, to, from, out, in)
				inputs := inputsOf(in, 40)
				for i, got := range eval(t, text, inputs) {
					v := number(from, inputs[i][0])
					if sat != "" {
						v = clampTo(to, v)
					}
					v = number(to, pattern(uint(widthOf(to)), v)) // cut, then extended to the register
					if want := pattern(uint(letters[out[0]].width), v); got[0] != want {
						t.Fatalf("%s of %x is %x, want %x", text, inputs[i], got[0], want)
					}
				}
			}
		}
	}
	for _, c := range []struct {
		text     string
		in, want uint64
	}{
		{"cvt.s8.s32 %r0, %r1;", 0x1280, 0xffffff80}, {"cvt.s16.s32 %r0, %r1;", 0x18000, 0xffff8000}, {"cvt.s16.s64 %r0, %d1;", 0x1ffff, 0xffffffff}, {"cvt.u8.u32 %r0, %r1;", 0x1ff, 0xff},
	} {
		if got := eval(t, c.text, [][]uint64{{c.in}})[0][0]; got != c.want {
			t.Errorf("%s of %x is %x, want %x", c.text, c.in, got, c.want)
		}
	}
}

func TestIntegersConvertToFloats(t *testing.T) {
	for _, from := range []string{"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"} {
		for _, to := range []string{"f16", "bf16", "f32", "f64"} {
			for _, mode := range []string{"rn", "rz", "rm", "rp"} {
				f, in := testFormats[to].format, regOf(from)
				text := fmt.Sprintf("cvt.%s.%s.%s %%%s0, %%%s1;", mode, to, from, testFormats[to].letter, in)
				inputs := inputsOf(in, 41)
				for i, got := range eval(t, text, inputs) {
					v, want := number(from, inputs[i][0]), uint64(0)
					if v.Sign() != 0 {
						want = refRound(f, new(big.Rat).SetInt(v), mode)
					}
					if got[0] != want {
						t.Fatalf("%s of %x is %x, want %x", text, inputs[i], got[0], want)
					}
				}
			}
		}
	}
}

// refIntegral rounds to an integer.
func refIntegral(v *big.Rat, mode string) *big.Int {
	floor := new(big.Int).Div(v.Num(), v.Denom()) // the denominator is above 0: Div rounds down
	rest := new(big.Rat).Sub(v, new(big.Rat).SetInt(floor))
	up := false
	switch half := rest.Cmp(big.NewRat(1, 2)); mode {
	case "rni":
		up = half > 0 || half == 0 && floor.Bit(0) == 1
	case "rzi":
		up = v.Sign() < 0 && rest.Sign() != 0
	case "rpi":
		up = rest.Sign() != 0
	}
	if up {
		floor.Add(floor, big.NewInt(1))
	}
	return floor
}

func TestFloatsConvertToIntegers(t *testing.T) {
	for _, from := range []string{"f16", "bf16", "f32", "f64", "ftz.f32"} {
		for _, to := range []string{"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"} {
			for _, mode := range []string{"rni", "rzi", "rmi", "rpi"} {
				name, ftz := strings.CutPrefix(from, "ftz.")
				f, in, out := testFormats[name].format, testFormats[name].letter, regOf(to)
				flushed := ""
				if ftz {
					flushed = ".ftz"
				}
				text := fmt.Sprintf("cvt.%s%s.%s.%s %%%s0, %%%s1;", mode, flushed, to, name, out, in)
				inputs := inputsOf(in, 42)
				for i, got := range eval(t, text, inputs) {
					x := inputs[i][0]
					if ftz {
						x = refFlush(f, x)
					}
					var v *big.Int
					switch r, ok := value(f, x); {
					case isNaN(f, x) && (name == "f64" || widthOf(to) == 64):
						v = new(big.Int).Lsh(big.NewInt(1), uint(widthOf(to)-1))
					case isNaN(f, x):
						v = new(big.Int)
					case !ok:
						v = new(big.Int).Lsh(big.NewInt(1), 2000)
						if isNegative(f, x) {
							v.Neg(v)
						}
						v = clampTo(to, v)
					default:
						v = clampTo(to, refIntegral(r, mode))
					}
					v = number(to, pattern(uint(widthOf(to)), v))
					if want := pattern(uint(letters[out[0]].width), v); got[0] != want {
						t.Fatalf("%s of %x is %x, want %x", text, inputs[i], got[0], want)
					}
				}
			}
		}
	}
}

func TestFloatsConvertToFloats(t *testing.T) {
	for _, c := range []struct{ mods, to, from string }{
		{"", "f32", "f16"},
		{"", "f32", "bf16"},
		{"", "f64", "f32"},
		{"", "f64", "f16"},
		{"", "f64", "bf16"},
		{".ftz", "f64", "f32"},
		{".sat", "f32", "f16"},
		{".rn", "f16", "f32"},
		{".rz", "f16", "f32"},
		{".rm", "f16", "f32"},
		{".rp", "f16", "f32"},
		{".rn", "bf16", "f32"},
		{".rz", "bf16", "f32"},
		{".rn.relu", "bf16", "f32"},
		{".rn.relu", "f16", "f32"},
		{".rn.ftz", "f16", "f32"},
		{".rn", "f32", "f64"},
		{".rz", "f32", "f64"},
		{".rm", "f32", "f64"},
		{".rp", "f32", "f64"},
		{".rn.ftz", "f32", "f64"},
		{".rn.sat", "f32", "f64"},
		{".rn", "f16", "f64"},
		{".sat", "f32", "f32"},
		{".ftz", "f32", "f32"},
		{".rn", "bf16", "f16"},
		{".rz.satfinite", "f16", "f32"},
	} {
		f, g := testFormats[c.from].format, testFormats[c.to].format
		mode := "rn"
		for _, m := range []string{"rz", "rm", "rp"} {
			if strings.Contains(c.mods, m) {
				mode = m
			}
		}
		text := fmt.Sprintf("cvt%s.%s.%s %%%s0, %%%s1;", c.mods, c.to, c.from, testFormats[c.to].letter, testFormats[c.from].letter)
		inputs := inputsOf(testFormats[c.from].letter, 43)
		for i, got := range eval(t, text, inputs) {
			x := inputs[i][0]
			if strings.Contains(c.mods, "ftz") && c.from == "f32" {
				x = refFlush(f, x)
			}
			var want uint64
			switch v, ok := value(f, x); {
			case isNaN(f, x) && c.to == "f64":
				want = x>>(f.exponent+f.mantissa)<<63 | g.infinity() | x<<(52-f.mantissa)&(1<<52-1) | 1<<51
				if c.from != "f32" {
					want = got[0] // which NaN is not written down
				}
			case isNaN(f, x):
				want = g.nan
			case ok && v.Sign() != 0:
				want = refRound(g, v, mode)
				if strings.Contains(c.mods, "satfinite") && isInf(g, want) {
					want--
				}
			default:
				if !ok {
					want = g.infinity()
					if strings.Contains(c.mods, "satfinite") {
						want--
					}
				}
				if isNegative(f, x) {
					want |= 1 << (g.exponent + g.mantissa)
				}
			}
			if strings.Contains(c.mods, "sat") && !strings.Contains(c.mods, "satfinite") {
				want = refSat(g, want)
			}
			if strings.Contains(c.mods, "relu") && isNegative(g, want) && !isNaN(g, want) {
				want = 0
			}
			if strings.Contains(c.mods, "ftz") && c.to == "f32" {
				want = refFlush(g, want)
			}
			if got[0] != want {
				t.Fatalf("%s of %x is %x, want %x", text, inputs[i], got[0], want)
			}
		}
	}
}

func TestFloatsRoundToIntegralFloats(t *testing.T) {
	for _, typ := range []string{"f32", "ftz.f32", "f64", "f16"} {
		name, ftz := strings.CutPrefix(typ, "ftz.")
		f, letter := testFormats[name].format, testFormats[name].letter
		for _, mode := range []string{"rni", "rzi", "rmi", "rpi"} {
			flushed := ""
			if ftz {
				flushed = ".ftz"
			}
			text := fmt.Sprintf("cvt.%s%s.%s.%s %%%s0, %%%s1;", mode, flushed, name, name, letter, letter)
			inputs := inputsOf(letter, 44)
			for i, got := range eval(t, text, inputs) {
				x := inputs[i][0]
				if ftz {
					x = refFlush(f, x)
				}
				want := x
				switch v, ok := value(f, x); {
				case isNaN(f, x) && f == formatF64:
					want = x | 1<<51
				case isNaN(f, x):
					want = f.nan
				case ok:
					n := refIntegral(v, mode)
					want = x & (1 << (f.exponent + f.mantissa))
					if n.Sign() != 0 {
						want = refRound(f, new(big.Rat).SetInt(n), "rn")
					}
				}
				if got[0] != want {
					t.Fatalf("%s of %x is %x, want %x", text, inputs[i], got[0], want)
				}
			}
		}
	}
}

func TestTensorFloatsHaveTenBits(t *testing.T) {
	inputs := inputsOf("r", 45)
	for i, got := range eval(t, "cvt.rna.tf32.f32 %r0, %f1;", inputs) {
		x, want := inputs[i][0], uint64(nan32)
		switch v, ok := value(formatF32, x); {
		case ok && v.Sign() != 0:
			want = refRound(formatTF32, v, "rna") << 13
		case !isNaN(formatF32, x):
			want = x
		}
		if got[0] != want {
			t.Fatalf("cvt.rna.tf32.f32 of %x is %x, want %x", x, got[0], want)
		}
	}
}

func TestTwoFloatsConvertAtOnce(t *testing.T) {
	for _, c := range []struct{ text, typ, mode string }{
		{"cvt.rn.f16x2.f32", "f16", "rn"}, {"cvt.rz.f16x2.f32", "f16", "rz"}, {"cvt.rn.bf16x2.f32", "bf16", "rn"}, {"cvt.rz.bf16x2.f32", "bf16", "rz"}, {"cvt.rn.relu.f16x2.f32", "f16", "rn"},
	} {
		f := testFormats[c.typ].format
		inputs := inputsOf("rr", 46)
		for i, got := range eval(t, c.text+" %r0, %f1, %f2;", inputs) {
			want := uint64(0)
			for n, shift := range []int{16, 0} {
				x := inputs[i][n]
				h := f.nan
				switch v, ok := value(formatF32, x); {
				case ok && v.Sign() != 0:
					h = refRound(f, v, c.mode)
				case !isNaN(formatF32, x):
					h = formatOfSpecial(f, proxy(formatF32, x))
				}
				if strings.Contains(c.text, "relu") && isNegative(f, h) {
					h = 0
				}
				want |= h << shift
			}
			if got[0] != want {
				t.Fatalf("%s of %x is %x, want %x", c.text, inputs[i], got[0], want)
			}
		}
	}
}

// bytesE4M3 and bytesE5M2 are what the 8 bits mean, written out from their definition.
func valueOf8(t string, x uint64) (*big.Rat, bool) {
	e, m, least := int(x>>3&15), int64(x&7), -6-3
	if t == "e5m2" {
		e, m, least = int(x>>2&31), int64(x&3), -14-2
		if e == 31 {
			return nil, false
		}
		if e > 0 {
			m += 4
		}
	} else {
		if e == 15 && m == 7 {
			return nil, false
		}
		if e > 0 {
			m += 8
		}
	}
	v := scaled(big.NewInt(m), least+max(e-1, 0))
	if x&0x80 != 0 {
		v.Neg(v)
	}
	return v, true
}

func TestFloatsOf8Bits(t *testing.T) {
	for typ, largest := range map[string]uint64{"e4m3": 0x7e, "e5m2": 0x7b} {
		var every [][]uint64
		for x := range uint64(1 << 16) {
			every = append(every, []uint64{x})
		}
		for i, got := range eval(t, "cvt.rn.f16x2."+typ+"x2 %r0, %h1;", every) {
			for p := range 2 {
				x := every[i][0] >> (8 * p) & 255
				want := uint64(nan16)
				switch v, ok := valueOf8(typ, x); {
				case ok && v.Sign() != 0:
					want = refRound(formatF16, v, "rn")
				case ok:
					want = x << 8 & 0x8000
				case x&3 == 0:
					want = x << 8 // an infinity of e5m2
				}
				if h := got[0] >> (16 * p) & 0xffff; h != want {
					t.Fatalf("%s %x is %x as f16, want %x", typ, x, h, want)
				}
			}
		}
		top, _ := valueOf8(typ, largest)
		inputs := inputsOf("rr", 47)
		for e := uint64(100); e < 145; e++ {
			for m := range uint64(64) {
				inputs = append(inputs, []uint64{e<<23 | m<<17, 1<<31 | e<<23 | m<<17 | 1})
			}
		}
		for i, got := range eval(t, "cvt.rn.satfinite."+typ+"x2.f32 %h0, %f1, %f2;", inputs) {
			for n, shift := range []int{8, 0} {
				x, h := inputs[i][n], got[0]>>shift&255
				v, ok := value(formatF32, x)
				if isNaN(formatF32, x) {
					if h&0x7f != 0x7f {
						t.Fatalf("a NaN is %x as %s", h, typ)
					}
					continue
				}
				if (h&0x80 != 0) != isNegative(formatF32, x) {
					t.Fatalf("%x is %x as %s", x, h, typ)
				}
				if !ok || new(big.Rat).Abs(v).Cmp(top) >= 0 {
					if h&0x7f != largest {
						t.Fatalf("%x is %x as %s, want %x", x, h, typ, largest)
					}
					continue
				}
				if !nearest8(typ, h&0x7f, largest, new(big.Rat).Abs(v)) {
					t.Fatalf("%x is %x as %s", x, h, typ)
				}
			}
		}
	}
}

// nearest8 reports whether no neighbour is nearer, and that ties are even.
func nearest8(typ string, h, largest uint64, v *big.Rat) bool {
	at, _ := valueOf8(typ, h)
	off := func(x *big.Rat) *big.Rat { d := new(big.Rat).Sub(x, v); return d.Abs(d) }
	for _, n := range []uint64{h - 1, h + 1} {
		if n > largest {
			continue
		}
		other, _ := valueOf8(typ, n)
		if c := off(other).Cmp(off(at)); c < 0 || c == 0 && h&1 == 1 {
			return false
		}
	}
	return true
}
