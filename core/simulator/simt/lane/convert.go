package lane

import (
	"math"
	"strconv"
	"strings"
)

// integral are the roundings of a float to an integer.
var integral = map[string]func(float64) float64{"rni": math.RoundToEven, "rzi": math.Trunc, "rmi": math.Floor, "rpi": math.Ceil}

// decodeCvt decodes conversions: the frequent ones are loops, the others go lane by lane.
func decodeCvt(d *decoder) (Form, bool) {
	if len(d.mods) < 2 {
		return Form{}, false
	}
	if d.take("pack") {
		return d.decodePack()
	}
	from, to := d.typ(), d.typ()
	if isInteger(from) && isInteger(to) && from[0] != 'b' && to[0] != 'b' {
		return d.cvtInteger(from, to)
	}
	if len(d.mods) == 0 || len(d.mods) == 1 && (d.mods[0] == "rn" || d.mods[0] == "rna" || integral[d.mods[0]] != nil) {
		key := "cvt." + strings.Join(append(d.mods, to, from), ".")
		in := []string{from}
		if to == "f16x2" || to == "bf16x2" {
			in = append(in, from)
		}
		if f, ok := loop(key, to, in...); ok {
			d.mods = nil
			return f, true
		}
	}
	c := conversion{from: from, to: to, round: integral[d.oneOf("rni", "rzi", "rmi", "rpi")]}
	var given bool
	if c.mode, given = d.mode(); !given && d.take("rna") {
		c.mode = away
	}
	c.ftz, c.sat, c.relu, c.satFinite = d.take("ftz"), d.take("sat"), d.take("relu"), d.take("satfinite")
	return c.form(d)
}

// cvtInteger decodes a conversion between integers. A signed result of fewer bits than its register is extended to it.
func (d *decoder) cvtInteger(from, to string) (Form, bool) {
	width := d.width(0, max(16, widthOf(to)))
	if !d.take("sat") {
		f, ok := loop("cvt."+to+"."+from, to, from)
		if to[0] == 's' && width > max(16, widthOf(to)) && bankOf(to) == R32 && width <= 32 {
			narrowed := f.Lanewise
			shift := 32 - widthOf(to)
			f.Lanewise = func(r *Regs, o *Operands) {
				narrowed(r, o)
				d := &r.R32[o.D]
				for i := range d {
					d[i] = uint32(int32(d[i]<<shift) >> shift)
				}
			}
		}
		return f, ok
	}
	get, low, high := integerReader(from), int64(0), uint64(1)<<widthOf(to)-1
	if to[0] == 's' {
		high >>= 1
		low = -int64(high) - 1
	}
	return form(func(r *Regs, o *Operands) {
		for i := range Lanes {
			negative, magnitude := get(r, o.A, i)
			v := min(magnitude, high)
			if negative {
				v = uint64(max(-int64(magnitude-1)-1, low))
			}
			putInteger(r, o.D, i, v, to, width)
		}
	}, to, from), true
}

// widthOf is the bits of a type by its name.
func widthOf(t string) int {
	n, _ := strconv.Atoi(strings.TrimLeft(t, "bfsu"))
	return n
}

// integerReader gives the sign and the magnitude of an integer register.
func integerReader(t string) func(r *Regs, reg int32, i int) (bool, uint64) {
	shift := 64 - widthOf(t)
	return func(r *Regs, reg int32, i int) (bool, uint64) {
		var x uint64
		if bankOf(t) == R64 {
			x = r.R64[reg][i]
		} else {
			x = uint64(r.R32[reg][i])
		}
		if x <<= shift; t[0] == 's' {
			if v := int64(x) >> shift; v < 0 {
				return true, -uint64(v)
			}
		}
		return false, x >> shift
	}
}

// putInteger writes an integer of a type into a register of a width.
func putInteger(r *Regs, reg int32, i int, v uint64, t string, width int) {
	shift := 64 - widthOf(t)
	if t[0] == 's' {
		v = uint64(int64(v<<shift) >> shift)
	} else {
		v = v << shift >> shift
	}
	switch {
	case bankOf(t) == R64:
		r.R64[reg][i] = v
	case width <= 16:
		r.R32[reg][i] = uint32(v & 0xffff)
	default:
		r.R32[reg][i] = uint32(v)
	}
}

// conversion is one that has a float on a side.
type conversion struct {
	shape
	from, to string
	round    func(float64) float64 // to an integral number, nil: not
}

// scalars are the formats of floats by the name of the type.
var scalars = map[string]format{"f16": formatF16, "bf16": formatBF16, "tf32": formatTF32, "f32": formatF32, "f64": formatF64}

// float reads a register as a double.
func (c conversion) float(r *Regs, reg int32, i int) float64 {
	switch c.from {
	case "f64":
		return math.Float64frombits(r.R64[reg][i])
	case "f32":
		x := r.R32[reg][i]
		if c.ftz {
			x = flush(x)
		}
		return float64(math.Float32frombits(x))
	}
	return scalars[c.from].widen(r.R32[reg][i] & 0xffff)
}

// pattern is a double in the format of the result.
func (c conversion) pattern(f format, v float64) uint64 {
	x := f.from(v, c.mode)
	if f == formatF64 && v != v {
		x = payload(v)
	}
	if c.satFinite && v == v {
		if sign := uint64(1) << (f.exponent + f.mantissa); x&^sign == f.infinity() {
			x--
		}
	}
	s := c.shape
	s.ftz = s.ftz && f == formatF32
	return s.out(f, x)
}

func (c conversion) form(d *decoder) (Form, bool) {
	width := d.width(0, max(16, widthOf(c.to)))
	target, toFloat := scalars[c.to]
	_, fromFloat := scalars[c.from]
	fromFloat = fromFloat && c.from != "tf32"
	switch {
	case strings.HasSuffix(c.to, "x2"), strings.HasSuffix(c.from, "x2"):
		return c.packed()
	case isInteger(c.from) && c.from[0] != 'b' && toFloat && c.to != "tf32":
		get := integerReader(c.from)
		return form(func(r *Regs, o *Operands) {
			for i := range Lanes {
				negative, magnitude := get(r, o.A, i)
				c.put(r, o.D, i, c.out(target, target.round(negative, magnitude, 0, false, c.mode)))
			}
		}, c.to, c.from), true
	case fromFloat && isInteger(c.to) && c.to[0] != 'b' && c.round != nil:
		ofNaN := uint64(0)
		if c.from == "f64" || widthOf(c.to) == 64 {
			ofNaN = 1 << (widthOf(c.to) - 1)
		}
		convert := toUnsigned
		if c.to[0] == 's' {
			convert = toSigned
		}
		return form(func(r *Regs, o *Operands) {
			for i := range Lanes {
				putInteger(r, o.D, i, convert(c.round(c.float(r, o.A, i)), widthOf(c.to), ofNaN), c.to, width)
			}
		}, c.to, c.from), true
	case fromFloat && toFloat:
		return form(func(r *Regs, o *Operands) {
			for i := range Lanes {
				v := c.float(r, o.A, i)
				if c.round != nil {
					v = c.round(v)
				}
				x := c.pattern(target, v)
				if c.to == "tf32" {
					x <<= 13
					if v != v {
						x = nan32
					}
				}
				c.put(r, o.D, i, x)
			}
		}, c.to, c.from), c.round == nil || c.from == c.to
	}
	return Form{}, false
}

func (c conversion) put(r *Regs, reg int32, i int, x uint64) {
	if c.to == "f64" {
		r.R64[reg][i] = x
		return
	}
	r.R32[reg][i] = uint32(x)
}

// packed are the conversions of two numbers at once: the first input is the high half of the result.
func (c conversion) packed() (Form, bool) {
	if c.round != nil || c.sat {
		return Form{}, false
	}
	f, parts := formatOf(c.to)
	small := c.to == "e4m3x2" || c.to == "e5m2x2"
	switch {
	case c.from == "f32" && parts == 2:
		return form(func(r *Regs, o *Operands) {
			for i := range Lanes {
				r.R32[o.D][i] = uint32(c.pattern(f, c.float(r, o.A, i))<<16 | c.pattern(f, c.float(r, o.B, i)))
			}
		}, c.to, "f32", "f32"), true
	case c.from == "f32" && small && c.satFinite && c.mode == nearest:
		return form(func(r *Regs, o *Operands) {
			for i := range Lanes {
				r.R32[o.D][i] = c.tiny(c.float(r, o.A, i))<<8 | c.tiny(c.float(r, o.B, i))
			}
		}, c.to, "f32", "f32"), true
	case c.from == "f16x2" && small && c.satFinite && c.mode == nearest:
		return form(func(r *Regs, o *Operands) {
			for i := range Lanes {
				x := r.R32[o.A][i]
				r.R32[o.D][i] = c.tiny(formatF16.widen(x>>16))<<8 | c.tiny(formatF16.widen(x&0xffff))
			}
		}, c.to, c.from), true
	case c.to == "f16x2" && (c.from == "e4m3x2" || c.from == "e5m2x2") && c.mode == nearest:
		return form(func(r *Regs, o *Operands) {
			for i := range Lanes {
				x := r.R32[o.A][i]
				high, low := c.pattern(formatF16, untiny(c.from, x>>8&0xff)), c.pattern(formatF16, untiny(c.from, x&0xff))
				r.R32[o.D][i] = uint32(high<<16 | low)
			}
		}, c.to, c.from), true
	}
	return Form{}, false
}

// tiny rounds to 8 bits; what is too large becomes the largest number.
func (c conversion) tiny(v float64) uint32 {
	if v != v {
		return 0x7f
	}
	if c.relu && math.Signbit(v) {
		v = 0
	}
	sign := uint32(0)
	if math.Signbit(v) {
		sign, v = 0x80, -v
	}
	if c.to == "e5m2x2" {
		return sign | uint32(min(formatE5M2.from(v, nearest), 0x7b))
	}
	// e4m3 has no infinity: its exponents go on where those of a format with 5 bits do, 2^8 below.
	return sign | uint32(format{5, 3, 0}.from(min(v, 448)/256, nearest))
}

func untiny(t string, x uint32) float64 {
	if t == "e5m2x2" {
		return formatF16.widen(x << 8)
	}
	if x&0x7f == 0x7f {
		return math.NaN()
	}
	e, m := int(x>>3&15), float64(x&7)
	if e > 0 {
		m += 8
	}
	v := math.Ldexp(m, max(e, 1)-10)
	if x&0x80 != 0 {
		v = math.Copysign(v, -1)
	}
	return v
}
