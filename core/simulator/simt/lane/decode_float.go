package lane

import "math"

// formatOf is the format of a type of 16 bits and how many are in a register, 0 for other types.
func formatOf(t string) (format, int) {
	switch t {
	case "f16":
		return formatF16, 1
	case "f16x2":
		return formatF16, 2
	case "bf16":
		return formatBF16, 1
	case "bf16x2":
		return formatBF16, 2
	}
	return format{}, 0
}

// float decodes an arithmetic operation on floats.
func (d *decoder) float(name, t string, arity int) (Form, bool) {
	var s shape
	s.mode, _ = d.mode()
	if f, parts := formatOf(t); parts > 0 {
		s.ftz, s.sat, s.relu = d.take("ftz"), d.take("sat"), d.take("relu")
		op := narrow[name]
		return form(exact16(f, parts, arity, s, op), t, []string{t, t, t}[:arity]...), op != nil && arity > 1 && name != "div" && s.mode == nearest
	}
	in := []string{t, t, t}[:arity]
	switch {
	case t == "f64" && s.mode == nearest:
		return loop(name+".f64", t, in...)
	case t == "f64":
		return form(exact64(name, arity, s.mode), t, in...), true
	case t != "f32":
		return Form{}, false
	case s.mode == nearest:
		return loop(name+d.mask("ftz")+d.mask("sat")+".f32", t, in...)
	}
	s.ftz, s.sat = d.take("ftz"), d.take("sat")
	return form(exact32(narrow[name], arity, s), t, in...), true
}

func decodeFma(d *decoder) (Form, bool) { return d.float("fma", d.typ(), 3) }

func decodeRoot(d *decoder) (Form, bool) {
	t, name := d.typ(), d.in.Op.Name
	if d.take("approx") {
		if t == "f32" {
			return loop(name+d.mask("ftz")+".f32", t, t)
		}
		return loop(name+".approx"+d.mask("ftz")+"."+t, t, t)
	}
	return d.float(name, t, 1)
}

func decodeAbs(d *decoder) (Form, bool) {
	t, name := d.typ(), d.in.Op.Name
	if f, parts := formatOf(t); parts > 0 {
		ftz := d.take("ftz")
		sign := uint32(0x8000)
		return form(patterns16(parts, 1, func(x, _ uint32) uint32 {
			if ftz {
				x = uint32(f.flush(uint64(x)))
			}
			if name == "neg" {
				return x ^ sign
			}
			return x &^ sign
		}), t, t), true
	}
	if name == "neg" && isWord(t) && t[0] == 's' {
		return loop("neg."+unsigned(t), t, t)
	}
	return loop(name+d.mask("ftz")+"."+t, t, t)
}

func decodeCopysign(d *decoder) (Form, bool) {
	t := d.typ()
	return loop("copysign."+t, t, t, t)
}

func decodeMinMax(d *decoder) (Form, bool) {
	t, name := d.typ(), d.in.Op.Name
	if isWord(t) || t == "f64" {
		return loop(name+"."+t, t, t, t)
	}
	ftz, nan := d.mask("ftz"), d.mask("NaN")
	if d.take("xorsign") {
		if !d.take("abs") {
			return Form{}, false
		}
		return d.minMaxSigned(name, t, ftz != "", nan != "")
	}
	if t == "f32" && len(d.in.Operands) == 4 {
		two := allLoops[name+ftz+nan+".f32"]
		return form(ofThree(two), t, t, t, t), two != nil
	}
	if t == "f32" {
		return loop(name+ftz+nan+".f32", t, t, t)
	}
	f, parts := formatOf(t)
	return form(patterns16(parts, 2, minMax16(f, name, ftz != "", nan != "")), t, t, t), parts > 0
}

// ofThree applies an operation of two inputs, whose order does not matter, to three. The result may stand in one of them.
func ofThree(two Func) Func {
	return func(r *Regs, o *Operands) {
		first, second, last := o.A, o.B, o.C
		if o.C == o.D {
			first, last = o.C, o.A
		}
		two(r, &Operands{D: o.D, A: first, B: second})
		two(r, &Operands{D: o.D, A: o.D, B: last})
	}
}

// minMaxSigned is .xorsign.abs: of the magnitudes, with the sign that a product would have.
func (d *decoder) minMaxSigned(name, t string, ftz, nan bool) (Form, bool) {
	if f, parts := formatOf(t); parts > 0 {
		op := minMax16(f, name, ftz, nan)
		return form(patterns16(parts, 2, func(x, y uint32) uint32 {
			v := op(x&0x7fff, y&0x7fff)
			if uint64(v) > f.infinity() {
				return v
			}
			return v | (x^y)&0x8000
		}), t, t, t), true
	}
	if t != "f32" {
		return Form{}, false
	}
	return form(func(r *Regs, o *Operands) {
		d, a, b := &r.R32[o.D], &r.R32[o.A], &r.R32[o.B]
		for i := range d {
			x, y := a[i], b[i]
			if ftz {
				x, y = flush(x), flush(y)
			}
			p, q := math.Float32frombits(x&0x7fffffff), math.Float32frombits(y&0x7fffffff)
			v := max32(p, q)
			if name == "min" {
				v = min32(p, q)
			}
			if v != v || nan && (p != p || q != q) {
				d[i] = nan32
				continue
			}
			d[i] = math.Float32bits(v) | (x^y)&0x80000000
		}
	}, t, t, t), true
}

func minMax16(f format, name string, ftz, nan bool) func(x, y uint32) uint32 {
	inf := uint32(f.infinity())
	return func(x, y uint32) uint32 {
		if ftz {
			x, y = uint32(f.flush(uint64(x))), uint32(f.flush(uint64(y)))
		}
		xNaN, yNaN := x&0x7fff > inf, y&0x7fff > inf
		switch {
		case xNaN && yNaN || nan && (xNaN || yNaN):
			return uint32(f.nan)
		case xNaN:
			return y
		case yNaN:
			return x
		}
		if (order16(x) < order16(y)) == (name == "min") {
			return x
		}
		return y
	}
}

// order16 orders patterns as the numbers are ordered, -0 below +0.
func order16(x uint32) int32 {
	if x&0x8000 != 0 {
		return -int32(x&0x7fff) - 1
	}
	return int32(x)
}

// approximations are the functions that are approximate on formats of 16 bits.
var approximations = map[string]func(float64) float64{"ex2": math.Exp2, "tanh": math.Tanh}

func decodeApprox(d *decoder) (Form, bool) {
	t, name := d.typ(), d.in.Op.Name
	if !d.take("approx") {
		return Form{}, false
	}
	if f, parts := formatOf(t); parts > 0 {
		fn := approximations[name]
		op := func(x, _, _ float64, _ rounding) float64 { return fn(x) }
		return form(exact16(f, parts, 1, shape{ftz: d.take("ftz")}, op), t, t), fn != nil
	}
	return loop(name+".approx"+d.mask("ftz")+"."+t, t, t)
}

func decodeTestp(d *decoder) (Form, bool) {
	t := d.typ()
	f := map[string]format{"f32": formatF32, "f64": formatF64}[t]
	test := d.oneOf("finite", "infinite", "number", "notanumber", "normal", "subnormal")
	return form(func(r *Regs, o *Operands) {
		m := uint32(0)
		for i := range Lanes {
			x := uint64(0)
			if f == formatF64 {
				x = r.R64[o.A][i]
			} else {
				x = uint64(r.R32[o.A][i])
			}
			m |= bit(f.is(test, x)) << i
		}
		r.P[o.D] = m
	}, "pred", t), f.exponent > 0 && test != ""
}

func (f format) is(test string, x uint64) bool {
	x &= 1<<(f.exponent+f.mantissa) - 1
	inf := f.infinity()
	switch test {
	case "finite":
		return x < inf
	case "infinite":
		return x == inf
	case "number":
		return x <= inf
	case "notanumber":
		return x > inf
	case "normal":
		return x < inf && x >= 1<<f.mantissa
	}
	return x < 1<<f.mantissa && x != 0
}
