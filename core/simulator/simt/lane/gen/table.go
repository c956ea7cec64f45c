package main

import "strings"

// each makes one operation for each type, $t being the type and $u the unsigned one of its size.
func each(key string, types []string, arity int, expr string) []op {
	var out []op
	for _, t := range types {
		in := make([]string, arity)
		for i := range in {
			in[i] = t
		}
		out = append(out, op{key + "." + t, t, in, strings.ReplaceAll(expr, "$t", goType[t])})
	}
	return out
}

var goType = map[string]string{
	"u8": "uint8", "s8": "int8", "u16": "uint16", "s16": "int16", "u32": "uint32", "s32": "int32", "u64": "uint64", "s64": "int64",
	"f32": "float32", "f64": "float64",
}

var (
	words    = []string{"u16", "u32", "u64"}
	signs    = []string{"s16", "s32", "s64"}
	integral = []string{"u16", "s16", "u32", "s32", "u64", "s64"}
)

func integers() []op {
	var out []op
	add := func(list ...[]op) {
		for _, l := range list {
			out = append(out, l...)
		}
	}
	add(
		each("add", words, 2, "x + y"), each("sub", words, 2, "x - y"), each("mul.lo", words, 2, "x * y"), each("mad.lo", words, 3, "x*y + z"),
		each("and", words, 2, "x & y"), each("or", words, 2, "x | y"), each("xor", words, 2, "x ^ y"), each("not", words, 1, "^x"),
		each("cnot", words, 1, "zeroIs1(x)"), each("neg", words, 1, "-x"), each("mov", []string{"u32", "u64"}, 1, "x"),
		each("abs", signs, 1, "max(x, -x)"), each("min", integral, 2, "min(x, y)"), each("max", integral, 2, "max(x, y)"),
		each("div", integral, 2, "quotient(x, y)"), each("rem", integral, 2, "remainder(x, y)"),
	)
	for _, t := range integral {
		u := "u" + t[1:]
		out = append(out, op{"sad." + t, u, []string{t, t, u}, "z + " + goType[u] + "(max(x, y)-min(x, y))"})
		out = append(out, op{"shr." + t, t, []string{t, "u32"}, "x >> y"})
		if t == u {
			out = append(out, op{"shl." + t, t, []string{t, "u32"}, "x << y"})
		}
	}
	out = append(out,
		op{"add.sat.s32", "s32", []string{"s32", "s32"}, "saturate32(int64(x) + int64(y))"},
		op{"sub.sat.s32", "s32", []string{"s32", "s32"}, "saturate32(int64(x) - int64(y))"},
		op{"bfe.u32", "u32", []string{"u32", "u32", "u32"}, "extract32(x, y, z)"},
		op{"bfe.s32", "s32", []string{"s32", "u32", "u32"}, "extractSigned32(x, y, z)"},
		op{"brev.b32", "u32", []string{"u32"}, "bits.Reverse32(x)"},
		op{"clz.b32", "u32", []string{"u32"}, "uint32(bits.LeadingZeros32(x))"},
		op{"popc.b32", "u32", []string{"u32"}, "uint32(bits.OnesCount32(x))"},
		op{"bfind.u32", "u32", []string{"u32"}, "uint32(bits.Len32(x)) - 1"},
		op{"bfind.s32", "u32", []string{"s32"}, "uint32(bits.Len32(uint32(x^x>>31))) - 1"},
		op{"bfind.shiftamt.u32", "u32", []string{"u32"}, "shiftAmount32(x)"},
		op{"bfind.shiftamt.s32", "u32", []string{"s32"}, "shiftAmount32(uint32(x ^ x>>31))"},
		op{"shf.l.wrap.b32", "u32", []string{"u32", "u32", "u32"}, "uint32((uint64(y)<<32 | uint64(x)) << (z & 31) >> 32)"},
		op{"shf.l.clamp.b32", "u32", []string{"u32", "u32", "u32"}, "uint32((uint64(y)<<32 | uint64(x)) << min(z, 32) >> 32)"},
		op{"shf.r.wrap.b32", "u32", []string{"u32", "u32", "u32"}, "uint32((uint64(y)<<32 | uint64(x)) >> (z & 31))"},
		op{"shf.r.clamp.b32", "u32", []string{"u32", "u32", "u32"}, "uint32((uint64(y)<<32 | uint64(x)) >> min(z, 32))"},
	)
	return out
}

// wides mix sizes, or need halves of products.
func wides() []op {
	out := []op{
		{"bfe.u64", "u64", []string{"u64", "u32", "u32"}, "extract64(x, y, z)"},
		{"bfe.s64", "s64", []string{"s64", "u32", "u32"}, "extractSigned64(x, y, z)"},
		{"brev.b64", "u64", []string{"u64"}, "bits.Reverse64(x)"},
		{"clz.b64", "u32", []string{"u64"}, "uint32(bits.LeadingZeros64(x))"},
		{"popc.b64", "u32", []string{"u64"}, "uint32(bits.OnesCount64(x))"},
		{"bfind.u64", "u32", []string{"u64"}, "uint32(bits.Len64(x)) - 1"},
		{"bfind.s64", "u32", []string{"s64"}, "uint32(bits.Len64(uint64(x^x>>63))) - 1"},
		{"bfind.shiftamt.u64", "u32", []string{"u64"}, "shiftAmount64(x)"},
		{"bfind.shiftamt.s64", "u32", []string{"s64"}, "shiftAmount64(uint64(x ^ x>>63))"},
		{"mul.hi.u64", "u64", []string{"u64", "u64"}, "high64(x, y)"},
		{"mul.hi.s64", "s64", []string{"s64", "s64"}, "highSigned64(x, y)"},
		{"mad.hi.u64", "u64", []string{"u64", "u64", "u64"}, "high64(x, y) + z"},
		{"mad.hi.s64", "s64", []string{"s64", "s64", "s64"}, "highSigned64(x, y) + z"},
		{"mad.hi.sat.s32", "s32", []string{"s32", "s32", "s32"}, "saturate32(int64(x)*int64(y)>>32 + int64(z))"},
		{"mul24.lo.u32", "u32", []string{"u32", "u32"}, "(x & 0xffffff) * (y & 0xffffff)"},
		{"mul24.lo.s32", "s32", []string{"s32", "s32"}, "(x << 8 >> 8) * (y << 8 >> 8)"},
		{"mad24.lo.u32", "u32", []string{"u32", "u32", "u32"}, "(x & 0xffffff) * (y & 0xffffff) + z"},
		{"mad24.lo.s32", "s32", []string{"s32", "s32", "s32"}, "(x << 8 >> 8) * (y << 8 >> 8) + z"},
	}
	for _, t := range []string{"u16", "s16", "u32", "s32"} {
		wide := map[string]string{"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}[t]
		width := t[1:]
		product := goType[wide] + "(x)*" + goType[wide] + "(y)"
		out = append(
			out,
			op{"mul.wide." + t, wide, []string{t, t}, product},
			op{"mad.wide." + t, wide, []string{t, t, wide}, product + " + z"},
			op{"mul.hi." + t, t, []string{t, t}, goType[t] + "((" + product + ") >> " + width + ")"},
			op{"mad.hi." + t, t, []string{t, t, t}, goType[t] + "((" + product + ")>>" + width + ") + z"},
		)
	}
	return out
}

// floats are the operations that round to nearest; the others go through exact.go.
func floats() []op {
	var out []op
	type form struct{ mods, in, out string }
	forms := []form{{"", "f32", "f32"}, {".ftz", "z32", "z32"}, {".sat", "f32", "t32"}, {".ftz.sat", "z32", "q32"}}
	for _, f := range forms {
		for _, o := range []struct {
			name, expr string
		}{{"add", "x + y"}, {"sub", "x - y"}, {"mul", "x * y"}} {
			out = append(out, op{o.name + f.mods + ".f32", f.out, []string{f.in, f.in}, o.expr})
		}
	}
	for _, f := range forms[:2] {
		two, one := []string{f.in, f.in}, []string{f.in}
		out = append(
			out,
			op{"div" + f.mods + ".f32", f.out, two, "x / y"},
			op{"div.approx" + f.mods + ".f32", f.out, two, "divApprox(x, y)"},
			op{"sqrt" + f.mods + ".f32", f.out, one, "float32(math.Sqrt(float64(x)))"},
			op{"rcp" + f.mods + ".f32", f.out, one, "1 / x"},
			op{"rsqrt.approx" + f.mods + ".f32", f.out, one, "rsqrt32(x)"},
			op{"ex2.approx" + f.mods + ".f32", f.out, one, "exp2of(x)"},
			op{"lg2.approx" + f.mods + ".f32", f.out, one, "log2of(x)"},
			op{"sin.approx" + f.mods + ".f32", f.out, one, "float32(math.Sin(float64(x)))"},
			op{"cos.approx" + f.mods + ".f32", f.out, one, "float32(math.Cos(float64(x)))"},
			op{"min" + f.mods + ".f32", f.out, two, "min32(x, y)"},
			op{"max" + f.mods + ".f32", f.out, two, "max32(x, y)"},
			op{"min" + f.mods + ".NaN.f32", f.out, two, "min(x, y)"},
			op{"max" + f.mods + ".NaN.f32", f.out, two, "max(x, y)"},
		)
	}
	return append(
		out,
		op{"tanh.approx.f32", "f32", []string{"f32"}, "float32(math.Tanh(float64(x)))"},
		op{"abs.f32", "u32", []string{"u32"}, "x & 0x7fffffff"},
		op{"neg.f32", "u32", []string{"u32"}, "x ^ 0x80000000"},
		op{"abs.ftz.f32", "u32", []string{"u32"}, "flush(x) & 0x7fffffff"},
		op{"neg.ftz.f32", "u32", []string{"u32"}, "flush(x) ^ 0x80000000"},
		op{"copysign.f32", "u32", []string{"u32", "u32"}, "x&0x80000000 | y&0x7fffffff"},
		op{"copysign.f64", "u64", []string{"u64", "u64"}, "x&(1<<63) | y&(1<<63-1)"},
		op{"abs.f64", "u64", []string{"u64"}, "x & (1<<63 - 1)"},
		op{"neg.f64", "u64", []string{"u64"}, "x ^ 1<<63"},
		op{"add.f64", "f64", []string{"f64", "f64"}, "x + y"},
		op{"sub.f64", "f64", []string{"f64", "f64"}, "x - y"},
		op{"mul.f64", "f64", []string{"f64", "f64"}, "x * y"},
		op{"fma.f64", "f64", []string{"f64", "f64", "f64"}, "math.FMA(x, y, z)"},
		op{"div.f64", "f64", []string{"f64", "f64"}, "x / y"},
		op{"sqrt.f64", "f64", []string{"f64"}, "math.Sqrt(x)"},
		op{"rcp.f64", "f64", []string{"f64"}, "1 / x"},
		op{"rcp.approx.ftz.f64", "u64", []string{"u64"}, "rcpApprox64(x)"},
		op{"rsqrt.approx.f64", "f64", []string{"f64"}, "rsqrt64(x)"},
		op{"rsqrt.approx.ftz.f64", "u64", []string{"u64"}, "rsqrtApprox64(x)"},
		op{"min.f64", "f64", []string{"f64", "f64"}, "min64(x, y)"},
		op{"max.f64", "f64", []string{"f64", "f64"}, "max64(x, y)"},
	)
}

// conversions are those that are frequent enough for a loop of their own; convert.go does the others.
func conversions() []op {
	var out []op
	all := []string{"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"}
	for _, to := range all {
		for _, from := range all {
			out = append(out, op{"cvt." + to + "." + from, to, []string{from}, goType[to] + "(x)"})
		}
	}
	for _, from := range all {
		out = append(
			out,
			op{"cvt.rn.f32." + from, "f32", []string{from}, "float32(x)"},
			op{"cvt.rn.f64." + from, "f64", []string{from}, "float64(x)"},
		)
	}
	return append(
		out,
		op{"cvt.f64.f32", "u64", []string{"f32"}, "math.Float64bits(float64(x))"},
		op{"cvt.rn.f32.f64", "f32", []string{"f64"}, "float32(x)"},
		op{"cvt.f32.f16", "u32", []string{"u32"}, "widen16(x)"},
		op{"cvt.f32.bf16", "f32", []string{"u32"}, "math.Float32frombits(x << 16)"},
		op{"cvt.rn.bf16.f32", "u32", []string{"u32"}, "brain(x)"},
		op{"cvt.rn.bf16x2.f32", "u32", []string{"u32", "u32"}, "brain(x)<<16 | brain(y)"},
		op{"cvt.rna.tf32.f32", "u32", []string{"u32"}, "tensorFloat(x)"},
		op{"cvt.rzi.s32.f32", "s32", []string{"f32"}, "truncate32(x)"},
		op{"cvt.rni.f32.f32", "f32", []string{"f32"}, "float32(math.RoundToEven(float64(x)))"},
		op{"cvt.rmi.f32.f32", "f32", []string{"f32"}, "float32(math.Floor(float64(x)))"},
		op{"cvt.rpi.f32.f32", "f32", []string{"f32"}, "float32(math.Ceil(float64(x)))"},
		op{"cvt.rzi.f32.f32", "f32", []string{"f32"}, "float32(math.Trunc(float64(x)))"},
	)
}

// compare is a comparison of two registers that gives one bit a lane.
type compare struct {
	key  string
	in   string
	expr string
}

func comparisons() []compare {
	var out []compare
	symbols := []struct{ name, symbol string }{{"eq", "=="}, {"ne", "!="}, {"lt", "<"}, {"le", "<="}, {"gt", ">"}, {"ge", ">="}}
	for _, t := range integral {
		for i, s := range symbols {
			if i >= 2 || t[0] == 'u' {
				out = append(out, compare{"setp." + s.name + "." + t, t, "x " + s.symbol + " y"})
			}
		}
	}
	for _, t := range []string{"f32", "f64", "ftz.f32"} {
		in := strings.ReplaceAll(t, "ftz.f", "z")
		for _, s := range symbols {
			ordered := "x " + s.symbol + " y"
			unordered := ordered
			switch s.name { // of the ordered comparisons only != is true of NaN
			case "ne":
				ordered = "x < y || x > y"
			case "eq":
				unordered = "!(x < y || x > y)"
			case "lt", "le", "gt", "ge":
				unordered = "!(x " + map[string]string{"lt": ">=", "le": ">", "gt": "<=", "ge": "<"}[s.name] + " y)"
			}
			out = append(out, compare{"setp." + s.name + "." + t, in, ordered}, compare{"setp." + s.name + "u." + t, in, unordered})
		}
		out = append(out, compare{"setp.num." + t, in, "x == x && y == y"}, compare{"setp.nan." + t, in, "x != x || y != y"})
	}
	return out
}
