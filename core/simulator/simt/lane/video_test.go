package lane

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// videoTwin does what the manual writes for video instructions, in numbers of any size.
type videoTwin struct {
	op, second, compare string
	da, aa, ba          string // types
	dsel, asel, bsel    string
	sat, wrap           bool
}

func twinPart(x uint32, sel, typ string) *big.Int {
	bits := fmt.Sprintf("%032b", x) // the first is the highest
	switch {
	case sel == "h0":
		bits = bits[16:]
	case sel == "h1":
		bits = bits[:16]
	case sel != "":
		n := int(sel[1] - '0')
		bits = bits[32-8*n-8 : 32-8*n]
	}
	v, _ := new(big.Int).SetString(bits, 2)
	if typ == "s32" && bits[0] == '1' {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(len(bits))))
	}
	return v
}

func low32(v *big.Int) uint32 {
	return uint32(new(big.Int).And(v, big.NewInt(0xffffffff)).Uint64())
}

func (w *videoTwin) do(a, b, c uint32) uint32 {
	ta, tb := twinPart(a, w.asel, w.aa), twinPart(b, w.bsel, w.ba)
	v := new(big.Int)
	switch w.op {
	case "vadd":
		v.Add(ta, tb)
	case "vsub":
		v.Sub(ta, tb)
	case "vabsdiff":
		v.Abs(v.Sub(ta, tb))
	case "vmin":
		if v = ta; tb.Cmp(ta) < 0 {
			v = tb
		}
	case "vmax":
		if v = ta; tb.Cmp(ta) > 0 {
			v = tb
		}
	case "vshl", "vshr":
		n := tb.Uint64()
		if w.wrap {
			n %= 32
		} else if n > 32 {
			n = 32
		}
		if w.op == "vshl" {
			v.Lsh(ta, uint(n))
		} else {
			v.Rsh(ta, uint(n))
		}
	case "vset":
		order := ta.Cmp(tb)
		if w.compare == "eq" && order == 0 || w.compare == "lt" && order < 0 || w.compare == "ge" && order >= 0 {
			v.SetInt64(1)
		}
	}
	if w.sat {
		bits := uint(map[byte]int{'b': 8, 'h': 16}[(w.dsel + " ")[0]])
		if bits == 0 {
			bits = 32
		}
		least, most := new(big.Int), new(big.Int).Lsh(big.NewInt(1), bits)
		if w.da == "s32" {
			most.Rsh(most, 1)
			least.Neg(most)
		}
		most.Sub(most, big.NewInt(1))
		if v.Cmp(least) < 0 {
			v = least
		}
		if v.Cmp(most) > 0 {
			v = most
		}
	}
	t := low32(v)
	switch w.second {
	case "add":
		return t + c
	case "min", "max":
		x, y := twinPart(t, "", w.da), twinPart(c, "", w.da)
		if (x.Cmp(y) < 0) == (w.second == "min") {
			return t
		}
		return c
	}
	switch w.dsel {
	case "":
		return t
	case "h0":
		return t&0xffff | c&0xffff0000
	case "h1":
		return t<<16 | c&0xffff
	}
	n := 8 * int(w.dsel[1]-'0')
	return t&0xff<<n | c&^(0xff<<n)
}

var interesting = []uint32{0, 1, 2, 31, 32, 33, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x80ff7f01}

// Scalar video instructions against the steps of the manual, with every selector.
func TestVideoInstructions(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	for range 6000 {
		w := videoTwin{op: pick("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"), da: pick("u32", "s32"), aa: pick("u32", "s32"), ba: pick("u32", "s32")}
		w.asel, w.bsel = pick("", "b0", "b1", "b2", "b3", "h0", "h1"), pick("", "b0", "b1", "b2", "b3", "h0", "h1")
		mods, types := "", "."+w.da+"."+w.aa+"."+w.ba
		switch w.op {
		case "vshl", "vshr":
			w.ba, w.wrap = "u32", random.IntN(2) == 0
			types = "." + w.da + "." + w.aa + ".u32"
			if mods = ".clamp"; w.wrap {
				mods = ".wrap"
			}
		case "vset":
			w.da, w.compare = "u32", pick("eq", "lt", "ge")
			types, mods = "."+w.aa+"."+w.ba, "."+w.compare
		}
		if w.op != "vset" && random.IntN(2) == 0 {
			w.sat = true
			types += ".sat"
		}
		if random.IntN(3) == 0 {
			w.second = pick("add", "min", "max")
			mods += "." + w.second
		} else {
			w.dsel = pick("", "b0", "b1", "b2", "b3", "h0", "h1")
		}
		dot := func(sel string) string {
			if sel == "" {
				return ""
			}
			return "." + sel
		}
		text := w.op + types + mods + " %r0" + dot(w.dsel) + ", %r1" + dot(w.asel) + ", %r2" + dot(w.bsel)
		inputs := []uint32{0, 0}
		if w.second != "" || w.dsel != "" {
			text += ", %r3"
			inputs = append(inputs, 0)
		}
		for i := range inputs {
			if inputs[i] = interesting[random.IntN(len(interesting))]; random.IntN(2) == 0 {
				inputs[i] = random.Uint32()
			}
		}
		c := uint32(0)
		if len(inputs) == 3 {
			c = inputs[2]
		}
		if got, want := wordsOf(t, text+";", inputs...), w.do(inputs[0], inputs[1], c); got != want {
			t.Fatalf("%s of %x is %x, want %x", text, inputs, got, want)
		}
	}
}

// vmad against numbers of any size.
func TestVideoMultiply(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 9))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	for range 4000 {
		aa, ba, neg, scale := pick("u32", "s32"), pick("u32", "s32"), pick("", "", "a", "b", "c", "po"), pick("", ".shr7", ".shr15")
		sat := pick("", ".sat")
		asel, bsel := pick("", "h1", "b2"), pick("", "h0", "b3")
		var in [3]uint32
		for i := range in {
			if in[i] = interesting[random.IntN(len(interesting))]; random.IntN(2) == 0 {
				in[i] = random.Uint32()
			}
		}
		sign := func(name string) string {
			if neg == name {
				return "-"
			}
			return ""
		}
		suffix := func(sel string) string { return strings.TrimSuffix("."+sel, ".") }
		po := ""
		if neg == "po" {
			po = ".po"
		}
		text := "vmad.s32." + aa + "." + ba + po + sat + scale + " %r0, " + sign("a") + "%r1" + suffix(asel) + ", " + sign("b") + "%r2" + suffix(bsel) + ", " + sign("c") + "%r3;"
		signed := aa == "s32" || ba == "s32" || neg == "a" || neg == "b" || neg == "c"
		typ := "u32"
		if signed {
			typ = "s32"
		}
		v := new(big.Int).Mul(twinPart(in[0], asel, aa), twinPart(in[1], bsel, ba))
		c := twinPart(in[2], "", typ)
		switch neg { // -x is the complement and one
		case "a", "b":
			v.Neg(v)
		case "c":
			c = new(big.Int).Add(twinPart(^in[2], "", typ), big.NewInt(1))
		case "po":
			v.Add(v, big.NewInt(1))
		}
		v.Add(v, c)
		v.Rsh(v, map[string]uint{"": 0, ".shr7": 7, ".shr15": 15}[scale])
		if sat != "" {
			least, most := big.NewInt(0), big.NewInt(0xffffffff)
			if signed {
				least, most = big.NewInt(-0x80000000), big.NewInt(0x7fffffff)
			}
			if v.Cmp(least) < 0 {
				v = least
			}
			if v.Cmp(most) > 0 {
				v = most
			}
		}
		if got, want := wordsOf(t, text, in[:]...), low32(v); got != want {
			t.Fatalf("%s of %x is %x, want %x", text, in, got, want)
		}
	}
}

// The instructions on halves and bytes: the examples are worked out by hand.
func TestVideoInstructionsOnHalvesAndBytes(t *testing.T) {
	for _, c := range []struct {
		text    string
		a, b, d uint32
		want    uint32
	}{
		{"vadd2.s32.s32.s32 %r0, %r1, %r2, %r3;", 0x0001ffff, 0x00020003, 0, 0x00030002},
		{"vadd2.s32.s32.s32.sat %r0, %r1, %r2, %r3;", 0x7fff8000, 0x0001ffff, 0, 0x7fff8000},
		{"vadd2.u32.u32.u32.sat %r0.h0, %r1, %r2, %r3;", 0x1234ffff, 0x00010001, 0xabcd0000, 0xabcdffff},
		{"vadd2.u32.u32.u32.add %r0, %r1, %r2, %r3;", 0x00010002, 0x00030004, 100, 110},
		{"vsub2.s32.u32.u32.add %r0, %r1, %r2, %r3;", 0x00010002, 0x00030004, 100, 96},
		{"vadd2.u32.u32.u32 %r0, %r1.h01, %r2.h33, %r3;", 0x00010002, 0x00300040, 0, 0x00320031},
		{"vavrg2.s32.s32.s32 %r0, %r1, %r2, %r3;", 0x0001fffd, 0x0002fffe, 0, 0x0002fffd},
		{"vabsdiff2.u32.u32.u32 %r0, %r1, %r2, %r3;", 0x00010005, 0x00040002, 0, 0x00030003},
		{"vmin2.s32.s32.s32 %r0, %r1, %r2, %r3;", 0x0001ffff, 0x00020003, 0, 0x0001ffff},
		{"vmax2.u32.u32.u32 %r0, %r1, %r2, %r3;", 0x0001ffff, 0x00020003, 0, 0x0002ffff},
		{"vset2.s32.s32.lt %r0, %r1, %r2, %r3;", 0x0001ffff, 0x00010003, 0, 1},
		{"vset2.u32.u32.gt.add %r0, %r1, %r2, %r3;", 0x0002ffff, 0x00010003, 7, 9},
		{"vadd4.u32.u32.u32 %r0, %r1, %r2, %r3;", 0x010203ff, 0x10203002, 0, 0x11223301},
		{"vadd4.u32.u32.u32.sat %r0.b20, %r1, %r2, %r3;", 0x010203ff, 0x10203002, 0xaabbccdd, 0xaa22ccff},
		{"vsub4.s32.s32.s32.sat %r0, %r1, %r2, %r3;", 0x80017f00, 0x0102ff80, 0, 0x80ff7f7f},
		{"vabsdiff4.u32.u32.u32.add %r0, %r1, %r2, %r3;", 0x01020304, 0x04030201, 1000, 1008},
		{"vadd4.u32.u32.u32 %r0, %r1.b0123, %r2.b7777, %r3;", 0x01020304, 0x10000000, 0, 0x14131211},
		{"vset4.s32.s32.eq %r0, %r1, %r2, %r3;", 0x01020304, 0x01000300, 0, 0x01000100},
		{"vavrg4.u32.u32.u32 %r0, %r1, %r2, %r3;", 0xff000102, 0xff010203, 0, 0xff010203},
		{"vmin4.s32.s32.s32 %r0, %r1, %r2, %r3;", 0x807f0001, 0x00000000, 0, 0x80000000},
		{"vmax4.s32.s32.s32 %r0, %r1, %r2, %r3;", 0x807f0001, 0x00000000, 0, 0x007f0001},
	} {
		if got := wordsOf(t, c.text, c.a, c.b, c.d); got != c.want {
			t.Errorf("%s of %08x %08x %08x is %08x, want %08x", c.text, c.a, c.b, c.d, got, c.want)
		}
	}
	for _, text := range []string{
		"vadd2.s32.s32.s32 %r0, %r1, %r2;", "vadd2.s32.s32.s32 %r0, %r1.h04, %r2, %r3;", "vadd4.s32.s32.s32 %r0.b00, %r1, %r2, %r3;",
		"vadd.s32.s32.s32 %r0.h0, %r1, %r2;", "vadd.s32.s32.s32 %r0, %r1.h10, %r2;", "vshl.s32.s32.s32.clamp %r0, %r1, %r2;", "vadd.s32.s32 %r0, %r1, %r2;",
		"vset.s32.s32 %r0, %r1, %r2;", "vmad.s32.s32.s32 %r0, %r1, %r2;", "vmad.s32.s32.s32.po %r0, -%r1, %r2, %r3;", "vadd.s32.s32.s32 %r0, -%r1, %r2;",
	} {
		in, function := instruction(t, text)
		if _, err := Decode(in, function); err == nil {
			t.Errorf("%s is executed", text)
		}
	}
}
