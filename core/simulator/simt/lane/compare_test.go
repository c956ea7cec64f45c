package lane

import (
	"fmt"
	"strings"
	"testing"
)

// refCompare compares patterns: integers as numbers, floats as exact numbers.
func refCompare(name, t string, x, y uint64) bool {
	if isInteger(t) {
		sign := number(t, x).Cmp(number(t, y))
		return holds(map[string]string{"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}[name]+name, sign)
	}
	f := testFormats[t].format
	if isNaN(f, x) || isNaN(f, y) {
		return name == "nan" || len(name) == 3 && name != "num"
	}
	switch name {
	case "num":
		return true
	case "nan":
		return false
	}
	return holds(name, numeric(f, x, y))
}

func holds(name string, sign int) bool {
	switch name[:2] {
	case "eq":
		return sign == 0
	case "ne":
		return sign != 0
	case "lt":
		return sign < 0
	case "le":
		return sign <= 0
	case "gt":
		return sign > 0
	}
	return sign >= 0
}

// numeric orders numbers and infinities; zeros are equal.
func numeric(f format, x, y uint64) int {
	zero := func(x uint64) bool { v, ok := value(f, x); return ok && v.Sign() == 0 }
	switch {
	case x == y || zero(x) && zero(y):
		return 0
	case less(f, x, y):
		return -1
	}
	return 1
}

func TestComparisons(t *testing.T) {
	names := map[string][]string{
		"b16": {"eq", "ne"}, "b32": {"eq", "ne"}, "b64": {"eq", "ne"},
		"s16": {"eq", "ne", "lt", "le", "gt", "ge"}, "s32": {"eq", "ne", "lt", "le", "gt", "ge"}, "s64": {"eq", "ne", "lt", "le", "gt", "ge"},
		"u16": {"eq", "lo", "ls", "hi", "hs", "lt"}, "u32": {"ne", "lo", "ls", "hi", "hs", "lt", "le", "gt", "ge"}, "u64": {"ne", "lt", "le", "gt", "ge", "hs"},
	}
	for _, typ := range []string{"f32", "f64", "f16", "bf16"} {
		names[typ] = []string{"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}
	}
	for typ, list := range names {
		letter := string(letterOf[uint(widthOf(typ))])
		inputs := inputsOf(letter+letter, 30)
		for _, name := range list {
			for _, ftz := range []string{"", ".ftz"} {
				if ftz != "" && typ != "f32" && typ != "f16" {
					continue
				}
				text := "setp." + name + ftz + "." + typ + " " + operands("p"+letter+letter) + ";"
				for i, got := range eval(t, text, inputs) {
					x, y := inputs[i][0], inputs[i][1]
					if ftz != "" {
						x, y = refFlush(testFormats[typ].format, x), refFlush(testFormats[typ].format, y)
					}
					if want := refCompare(name, typ, x, y); (got[0] == 1) != want {
						t.Fatalf("%s of %x is %d", text, inputs[i], got[0])
					}
				}
			}
		}
	}
}

func TestComparisonsCombineWithAPredicate(t *testing.T) {
	inputs := inputsOf("rrp", 31)
	for op, combined := range map[string]func(x, y bool) bool{
		"and": func(x, y bool) bool { return x && y }, "or": func(x, y bool) bool { return x || y }, "xor": func(x, y bool) bool { return x != y },
	} {
		for _, second := range []string{"", "|%p4"} {
			text := fmt.Sprintf("setp.lt.%s.s32 %%p0%s, %%r1, %%r2, %%p3;", op, second)
			for i, got := range eval(t, text, inputs) {
				is, c := int32(inputs[i][0]) < int32(inputs[i][1]), inputs[i][2] == 1
				if (got[0] == 1) != combined(is, c) || second != "" && (got[1] == 1) != combined(!is, c) {
					t.Fatalf("%s of %x is %v", text, inputs[i], got)
				}
			}
		}
	}
	for i, got := range eval(t, "setp.ge.u32 %p0|%p1, %r1, %r2;", inputsOf("rr", 32)) {
		in := inputsOf("rr", 32)[i : i+1]
		if (got[0] == 1) != (in[0][0] >= in[0][1]) || got[0] == got[1] {
			t.Fatalf("setp p|q of %x is %v", in[0], got)
		}
		if i > 100 {
			break
		}
	}
	pairs := packedInputs(2)
	for i, got := range eval(t, "setp.ltu.f16x2 %p0|%p1, %r1, %r2;", pairs) {
		x, y := pairs[i][0], pairs[i][1]
		if (got[0] == 1) != refCompare("ltu", "f16", x&0xffff, y&0xffff) || (got[1] == 1) != refCompare("ltu", "f16", x>>16, y>>16) {
			t.Fatalf("setp.ltu.f16x2 of %x is %v", pairs[i], got)
		}
	}
}

func TestSetWritesTheTruthValueOfItsType(t *testing.T) {
	for _, c := range []struct {
		text, in, typ string
		yes           uint64
	}{
		{"set.lt.u32.s32 %r0, %r1, %r2;", "rr", "s32", 0xffffffff},
		{"set.gtu.f32.f32 %f0, %f1, %f2;", "rr", "f32", 0x3f800000},
		{"set.eq.s32.f64 %r0, %g1, %g2;", "dd", "f64", 0xffffffff},
		{"set.le.f16.f16 %h0, %h1, %h2;", "hh", "f16", 0x3c00},
		{"set.nan.bf16.bf16 %h0, %h1, %h2;", "hh", "bf16", 0x3f80},
		{"set.ge.u32.f16 %r0, %h1, %h2;", "hh", "f16", 0xffffffff},
	} {
		name := strings.Split(c.text, ".")[1]
		inputs := inputsOf(c.in, 33)
		for i, got := range eval(t, c.text, inputs) {
			want := uint64(0)
			if refCompare(name, c.typ, inputs[i][0], inputs[i][1]) {
				want = c.yes
			}
			if got[0] != want {
				t.Fatalf("%s of %x is %x, want %x", c.text, inputs[i], got[0], want)
			}
		}
	}
	for typ, one := range map[string]uint64{"f16": 0x3c00, "bf16": 0x3f80} {
		pairs := packedInputs(2)
		for i, got := range eval(t, fmt.Sprintf("set.nan.%sx2.%sx2 %%r0, %%r1, %%r2;", typ, typ), pairs) {
			want := uint64(0)
			for p := range 2 {
				if refCompare("nan", typ, pairs[i][0]>>(16*p)&0xffff, pairs[i][1]>>(16*p)&0xffff) {
					want |= one << (16 * p)
				}
			}
			if got[0] != want {
				t.Fatalf("set.nan.%sx2 of %x is %x, want %x", typ, pairs[i], got[0], want)
			}
		}
	}
	inputs := inputsOf("rrp", 34)
	for i, got := range eval(t, "set.gt.and.s32.u32 %r0, %r1, %r2, %p3;", inputs) {
		if (got[0] == 0xffffffff) != (inputs[i][0] > inputs[i][1] && inputs[i][2] == 1) {
			t.Fatalf("set.gt.and of %x is %x", inputs[i], got[0])
		}
	}
}
