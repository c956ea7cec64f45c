package lane

import (
	"math/bits"
	"slices"
)

// decodeCarry decodes operations that set or use the carry: add.cc, addc, sub.cc, subc, mad.cc, madc. They are of kind Warp, so
// that lanes that are not active keep their carry. After a subtraction the carry is the borrow.
func decodeCarry(d *decoder) (Form, bool) {
	t := d.typ()
	set := d.take("cc")
	high := d.oneOf("lo", "hi") == "hi"
	var name string
	use := false
	switch d.in.Op.Name {
	case "addc", "subc", "madc":
		name, use = d.in.Op.Name[:3], true
	default:
		name = d.in.Op.Name
	}
	if !slices.Contains([]string{"u32", "s32", "u64", "s64", "b32", "b64"}, t) {
		return Form{}, false
	}
	in := []Bank{bankOf(t), bankOf(t)}
	if name == "mad" {
		in = append(in, bankOf(t))
	}
	signed := t[0] == 's'
	width := 32
	if bankOf(t) == R64 {
		width = 64
	}
	one := func(x, y, z, carry uint64) (uint64, uint64) {
		if width == 32 {
			return carry32(name, high, signed, uint32(x), uint32(y), uint32(z), uint32(carry))
		}
		return carry64(name, high, signed, x, y, z, carry)
	}
	return Form{Out: []Bank{bankOf(t)}, In: in, Warp: func(r *Regs, o *Operands, active uint32) error {
		get := func(reg int32, i int) uint64 {
			if width == 64 {
				return r.R64[reg][i]
			}
			return uint64(r.R32[reg][i])
		}
		for m := active; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			carry, z := uint64(0), uint64(0)
			if use {
				carry = uint64(r.Carry >> i & 1)
			}
			if name == "mad" {
				z = get(o.C, i)
			}
			v, out := one(get(o.A, i), get(o.B, i), z, carry)
			if width == 64 {
				r.R64[o.D][i] = v
			} else {
				r.R32[o.D][i] = uint32(v)
			}
			if set {
				r.Carry = r.Carry&^(1<<i) | uint32(out)<<i
			}
		}
		return nil
	}}, true
}

func carry32(name string, high, signed bool, x, y, z, carry uint32) (uint64, uint64) {
	var v, out uint32
	switch name {
	case "add":
		v, out = bits.Add32(x, y, carry)
	case "sub":
		v, out = bits.Sub32(x, y, carry)
	default:
		p := uint64(x) * uint64(y)
		if signed {
			p = uint64(int64(int32(x)) * int64(int32(y)))
		}
		if high {
			p >>= 32
		}
		v, out = bits.Add32(uint32(p), z, carry)
	}
	return uint64(v), uint64(out)
}

func carry64(name string, high, signed bool, x, y, z, carry uint64) (uint64, uint64) {
	switch name {
	case "add":
		return bits.Add64(x, y, carry)
	case "sub":
		return bits.Sub64(x, y, carry)
	}
	p := x * y
	if high {
		p = high64(x, y)
		if signed {
			p = uint64(highSigned64(int64(x), int64(y)))
		}
	}
	return bits.Add64(p, z, carry)
}
