package lane

import (
	"maps"
	"slices"

	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// families are set in init: their functions refer to the table.
var families map[string]family

func init() {
	families = map[string]family{
		"mov":        {decodeMov, "pred, b16, u16, s16, b32, u32, s32, f32, b64, u64, s64, f64; packing and unpacking {a, b, ...} of b16, b32, b64", ""},
		"add":        {decodeAdd, "u16 s16 u32 s32 u64 s64, .sat.s32, .cc; f32 f64 f16 f16x2 bf16 bf16x2 with .rn .rz .rm .rp .ftz .sat", ""},
		"sub":        {decodeAdd, "as add", ""},
		"addc":       {decodeCarry, ".cc u32 s32 u64 s64", ""},
		"subc":       {decodeCarry, ".cc u32 s32 u64 s64", ""},
		"madc":       {decodeCarry, ".lo .hi .cc u32 s32 u64 s64", ""},
		"mul":        {decodeMul, ".lo .hi .wide of integers; floats as add", ""},
		"mad":        {decodeMad, ".lo .hi .wide, .hi.sat.s32, .lo.cc, .hi.cc; f32 and f64 as fma", ""},
		"mul24":      {decodeMul24, ".lo .hi u32 s32", ""},
		"mad24":      {decodeMul24, ".lo .hi u32 s32, .hi.sat.s32", ""},
		"sad":        {decodeSad, "u16 s16 u32 s32 u64 s64", ""},
		"div":        {decodeDiv, "integers (by zero: all ones); f32 and f64 .rn .rz .rm .rp .ftz, f32 .full .approx", ".full and .approx are rounded correctly, a GPU within 2 ulp"},
		"rem":        {decodeRem, "integers (by zero: all ones)", ""},
		"abs":        {decodeAbs, "s16 s32 s64 f32 f64 f16 f16x2 bf16 bf16x2, .ftz", ""},
		"neg":        {decodeAbs, "as abs", ""},
		"min":        {decodeMinMax, "integers, f32 f64 f16 f16x2 bf16 bf16x2 with .ftz .NaN .xorsign.abs; of three f32", ""},
		"max":        {decodeMinMax, "as min", ""},
		"and":        {decodeLogic, "pred b16 b32 b64", ""},
		"or":         {decodeLogic, "pred b16 b32 b64", ""},
		"xor":        {decodeLogic, "pred b16 b32 b64", ""},
		"not":        {decodeNot, "pred b16 b32 b64", ""},
		"cnot":       {decodeNot, "b16 b32 b64", ""},
		"shl":        {decodeShift, "b16 b32 b64", ""},
		"shr":        {decodeShift, "b16 b32 b64 u16 u32 u64 s16 s32 s64", ""},
		"shf":        {decodeFunnel, ".l .r with .wrap .clamp, b32", ""},
		"bfe":        {decodeField, "u32 s32 u64 s64", ""},
		"bfi":        {decodeField, "b32 b64", ""},
		"brev":       {decodeBits, "b32 b64", ""},
		"clz":        {decodeBits, "b32 b64", ""},
		"popc":       {decodeBits, "b32 b64", ""},
		"bfind":      {decodeBits, "u32 s32 u64 s64, .shiftamt", ""},
		"prmt":       {decodePermute, "b32, also .f4e .b4e .rc8 .ecl .ecr .rc16", ""},
		"lop3":       {decodeLop3, "b32, also .or .and of a predicate", ""},
		"setp":       {decodeSetp, "all comparisons of b16 to b64, u, s, f32 f64 f16 f16x2 bf16 bf16x2, .ftz, .and .or .xor, p|q", ""},
		"set":        {decodeSet, "results u32 s32 f32 of all comparisons; f16 f16x2 bf16 bf16x2 of their own kind", ""},
		"selp":       {decodeSelect, "b16 to b64, u, s, f32 f64", ""},
		"slct":       {decodeSlct, "b16 to b64, u, s, f32 f64, by s32 or f32, .ftz", ""},
		"cvta":       {decodeCvta, "to or from a space whose addresses are generic", ""},
		"cvt":        {decodeCvt, "between all integers and f32 f64 f16 bf16; f16x2 bf16x2 tf32 e4m3x2 e5m2x2; every rounding, .ftz .sat .relu .satfinite; .pack.sat", ""},
		"fma":        {decodeFma, "f32 f64 f16 f16x2 bf16 bf16x2, .rn .rz .rm .rp .ftz .sat .relu", ""},
		"rcp":        {decodeRoot, "f32 f64 .rn .rz .rm .rp .ftz .approx", ".approx f32 is rounded correctly, a GPU within 1 ulp; f64 keeps the high word"},
		"sqrt":       {decodeRoot, "f32 f64 .rn .rz .rm .rp .ftz .approx", ".approx is rounded correctly, a GPU within 1 ulp"},
		"rsqrt":      {decodeApprox, "f32 f64 .approx .ftz", "within 0.51 ulp of the exact value, a GPU within 2^-22.9 relative"},
		"ex2":        {decodeApprox, "f32 f16 f16x2 bf16 bf16x2 .approx .ftz", "within 0.51 ulp of the exact value, a GPU within 2 ulp"},
		"lg2":        {decodeApprox, "f32 .approx .ftz", "within 0.51 ulp of the exact value, a GPU within 2^-22 absolute or relative"},
		"sin":        {decodeApprox, "f32 .approx .ftz", "within 0.51 ulp of the exact value, a GPU within 2^-20.5 absolute in [-pi, pi]"},
		"cos":        {decodeApprox, "f32 .approx .ftz", "within 0.51 ulp of the exact value, a GPU within 2^-20.5 absolute in [-pi, pi]"},
		"tanh":       {decodeApprox, "f32 f16 f16x2 bf16 bf16x2 .approx", "within 0.51 ulp of the exact value, a GPU within 2^-11 relative"},
		"testp":      {decodeTestp, "f32 f64", ""},
		"vote":       {decodeVote, ".sync .all .any .uni .ballot", ""},
		"match":      {decodeMatch, ".sync .any .all b32 b64", ""},
		"shfl":       {decodeShuffle, ".sync .up .down .bfly .idx b32, with p", ""},
		"redux":      {decodeRedux, ".sync .add .min .max u32 s32, .and .or .xor b32", ""},
		"dp4a":       {decodeDot, "u32 s32, of u32 s32", ""},
		"dp2a":       {decodeDot, ".lo .hi u32 s32, of u32 s32", ""},
		"fns":        {decodeFns, "b32", ""},
		"bmsk":       {decodeMask, ".clamp .wrap b32", ""},
		"szext":      {decodeMask, ".clamp .wrap u32 s32", ""},
		"movmatrix":  {decodeMoveMatrix, ".sync.aligned.m8n8.trans.b16", ""},
		"mma":        {decodeAnyMMA, mmaDoc + quadsDoc + sparseDoc, mmaApprox},
		"wmma":       {decodeWmma, WmmaDoc, mmaApprox},
		"copysign":   {decodeCopysign, "f32 f64", ""},
		"activemask": {decodeActive, "b32", ""},
		"elect":      {decodeElect, ".sync", ""},
	}
	maps.Copy(families, videoFamilies())
}

func decodeMov(d *decoder) (Form, bool) {
	t := d.typ()
	if t == "f16x2" || t == "bf16x2" || t == "f16" || t == "bf16" {
		t = "b32"
	}
	ops := d.in.Operands
	switch {
	case len(ops) == 2 && ops[0].Kind == ptx.Vector:
		return d.unpack(t, len(ops[0].Elems))
	case len(ops) == 2 && ops[1].Kind == ptx.Vector:
		return d.pack(t, len(ops[1].Elems))
	case t == "pred":
		return form(movP, t, t), true
	case bankOf(t) == R64:
		return form(quickest("mov.64", mov64), t, t), true
	case isInteger(t) || t == "f32":
		return form(quickest("mov.32", mov32), t, t), true
	}
	return Form{}, false
}

func bitsOf(t string) int { return map[string]int{"b16": 16, "b32": 32, "b64": 64}[t] }

func (d *decoder) unpack(t string, parts int) (Form, bool) {
	width := bitsOf(t)
	if t == "b64" && parts == 2 {
		return Form{Lanewise: unpack64, Out: []Bank{R32, R32}, In: []Bank{R64}}, true
	}
	if width == 0 || parts != 2 && parts != 4 && parts != 8 || width/parts < 8 || width/parts > 16 {
		return Form{}, false
	}
	run := unpackParts(bankOf(t), width/parts)
	if t == "b32" && parts == 2 {
		run = quickest("unpack.16", run)
	}
	return Form{Lanewise: run, Out: make([]Bank, parts), In: []Bank{bankOf(t)}, UsesVec: true}, true
}

func (d *decoder) pack(t string, parts int) (Form, bool) {
	width := bitsOf(t)
	if t == "b64" && parts == 2 {
		return form(pack64, t, "b32", "b32"), true
	}
	if width == 0 || parts != 2 && parts != 4 && parts != 8 || width/parts < 8 || width/parts > 16 {
		return Form{}, false
	}
	run := packParts(bankOf(t), width/parts)
	if t == "b32" && parts == 2 {
		run = quickest("pack.16", run)
	}
	return Form{Lanewise: run, Out: []Bank{bankOf(t)}, In: make([]Bank, parts), UsesVec: true}, true
}

func decodeAdd(d *decoder) (Form, bool) {
	t, name := d.typ(), d.in.Op.Name
	if !isWord(t) {
		return d.float(name, t, 2)
	}
	if d.take("cc") {
		d.mods = append(d.mods, "cc", t)
		return decodeCarry(d)
	}
	if d.take("sat") {
		return loop(name+".sat."+t, t, t, t)
	}
	return loop(name+"."+unsigned(t), t, t, t)
}

func decodeMul(d *decoder) (Form, bool) {
	t := d.typ()
	if !isWord(t) {
		return d.float("mul", t, 2)
	}
	switch d.oneOf("lo", "hi", "wide") {
	case "lo":
		return loop("mul.lo."+unsigned(t), t, t, t)
	case "hi":
		return loop("mul.hi."+t, t, t, t)
	case "wide":
		return loop("mul.wide."+t, wider(t), t, t)
	}
	return Form{}, false
}

func wider(t string) string {
	switch t[1:] {
	case "16":
		return t[:1] + "32"
	case "32":
		return t[:1] + "64"
	}
	return t
}

func decodeMad(d *decoder) (Form, bool) {
	t := d.typ()
	if !isWord(t) {
		return d.float("fma", t, 3)
	}
	half := d.oneOf("lo", "hi", "wide")
	switch {
	case d.take("cc"):
		d.mods = append(d.mods, half, "cc", t)
		return decodeCarry(d)
	case half == "lo":
		return loop("mad.lo."+unsigned(t), t, t, t, t)
	case half == "hi" && d.take("sat"):
		return loop("mad.hi.sat."+t, t, t, t, t)
	case half == "hi":
		return loop("mad.hi."+t, t, t, t, t)
	case half == "wide":
		return loop("mad.wide."+t, wider(t), t, t, wider(t))
	}
	return Form{}, false
}

func decodeMul24(d *decoder) (Form, bool) {
	t := d.typ()
	if d.take("hi") {
		return d.decodeHigh24(t)
	}
	if !d.take("lo") {
		return Form{}, false
	}
	if d.in.Op.Name == "mul24" {
		return loop("mul24.lo."+t, t, t, t)
	}
	return loop("mad24.lo."+t, t, t, t, t)
}

func decodeSad(d *decoder) (Form, bool) {
	t := d.typ()
	return loop("sad."+t, t, t, t, t)
}

func decodeDiv(d *decoder) (Form, bool) {
	t := d.typ()
	if isWord(t) {
		return loop("div."+t, t, t, t)
	}
	if t == "f32" {
		if d.take("full") {
			f, ok := loop("div"+d.mask("ftz")+".f32", t, t, t)
			f.Approx = families["div"].approx
			return f, ok
		}
		if d.take("approx") {
			return loop("div.approx"+d.mask("ftz")+".f32", t, t, t)
		}
	}
	return d.float("div", t, 2)
}

func decodeRem(d *decoder) (Form, bool) {
	t := d.typ()
	return loop("rem."+t, t, t, t)
}

func decodeLogic(d *decoder) (Form, bool) {
	t, name := d.typ(), d.in.Op.Name
	if t == "pred" {
		return form(map[string]Func{"and": andP, "or": orP, "xor": xorP}[name], t, t, t), true
	}
	if t == "" || t[0] != 'b' {
		return Form{}, false
	}
	return loop(name+"."+unsigned(t), t, t, t)
}

func decodeNot(d *decoder) (Form, bool) {
	t := d.typ()
	if t == "pred" && d.in.Op.Name == "not" {
		return form(notP, t, t), true
	}
	if t == "" || t[0] != 'b' {
		return Form{}, false
	}
	return loop(d.in.Op.Name+"."+unsigned(t), t, t)
}

func decodeShift(d *decoder) (Form, bool) {
	t := d.typ()
	if !isWord(t) {
		return Form{}, false
	}
	key := t
	if t[0] == 'b' {
		key = unsigned(t)
	}
	return loop(d.in.Op.Name+"."+key, t, t, "u32")
}

func decodeFunnel(d *decoder) (Form, bool) {
	t := d.typ()
	return loop("shf."+d.oneOf("l", "r")+"."+d.oneOf("wrap", "clamp")+"."+t, t, t, t, t)
}

func decodeField(d *decoder) (Form, bool) {
	t := d.typ()
	if d.in.Op.Name == "bfe" {
		return loop("bfe."+t, t, t, "u32", "u32")
	}
	switch t {
	case "b32":
		return form(bfi32, t, t, t, "u32", "u32"), true
	case "b64":
		return form(bfi64, t, t, t, "u32", "u32"), true
	}
	return Form{}, false
}

func decodeBits(d *decoder) (Form, bool) {
	t, name := d.typ(), d.in.Op.Name
	out := "u32"
	if name == "brev" {
		out = t
	}
	return loop(name+d.mask("shiftamt")+"."+t, out, t)
}

func decodePermute(d *decoder) (Form, bool) {
	const t = "b32" // the mode stands behind the type
	if !d.take(t) {
		return Form{}, false
	}
	if mode := d.oneOf(slices.Collect(maps.Keys(permuteModes))...); mode != "" {
		return form(prmtMode(permuteModes[mode]), t, t, t, t), true
	}
	if s, ok := d.immediate(3); ok && s&0x8888 == 0 {
		return form(prmtFixed(s), t, t, t, t), true
	}
	return form(prmtLanes, t, t, t, t), true
}

func decodeLop3(d *decoder) (Form, bool) {
	t := d.typ()
	table, ok := d.immediate(4)
	if operation := d.oneOf("or", "and"); operation != "" {
		return d.decodeLop3Predicate(operation, table), ok && t == "b32" && table < 256
	}
	return form(lop3(table), t, t, t, t, t), ok && t == "b32" && table < 256
}

func decodeSelect(d *decoder) (Form, bool) {
	t := d.typ()
	switch {
	case bankOf(t) == R64:
		return form(quickest("selp.64", selp64), t, t, t, "pred"), true
	case isWord(t) || t == "f32":
		return form(quickest("selp.32", selp32), t, t, t, "pred"), true
	}
	return Form{}, false
}

func decodeCvta(d *decoder) (Form, bool) {
	d.take("to")
	t := d.typ()
	// Shared and local addresses need the simulator's windows; only the space whose addresses are generic is a plain copy.
	return form(quickest("mov.64", mov64), t, t), d.oneOf("global", "const", "param") != "" && t == "u64"
}
