package lane

import "math/bits"

// integer is every type that integer instructions have.
type integer interface {
	uint16 | int16 | uint32 | int32 | uint64 | int64
}

// quotient divides as hardware does: by zero it is all ones, and the lowest number by -1 is itself.
func quotient[T integer](x, y T) T {
	if y == 0 {
		return ^y
	}
	return x / y
}

// remainder belongs to quotient; by zero it is all ones too.
func remainder[T integer](x, y T) T {
	if y == 0 {
		return ^y
	}
	return x % y
}

func zeroIs1[T uint16 | uint32 | uint64](x T) T {
	if x == 0 {
		return 1
	}
	return 0
}

// bit is 1 for true; the compiler makes it one instruction.
func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

func saturate32(x int64) int32 { return int32(min(max(x, -1<<31), 1<<31-1)) }

func high64(x, y uint64) uint64 {
	h, _ := bits.Mul64(x, y)
	return h
}

func highSigned64(x, y int64) int64 {
	h, _ := bits.Mul64(uint64(x), uint64(y))
	return int64(h) - x>>63&y - y>>63&x
}

func extract32(x, position, length uint32) uint32 {
	return x >> (position & 255) & (1<<(length&255) - 1)
}

func extract64(x uint64, position, length uint32) uint64 {
	return x >> (position & 255) & (1<<(length&255) - 1)
}

func extractSigned32(x int32, position, length uint32) int32 {
	position, length = position&255, length&255
	switch {
	case length == 0:
		return 0
	case position+length >= 32:
		return x >> position
	}
	return x << (32 - position - length) >> (32 - length)
}

func extractSigned64(x int64, position, length uint32) int64 {
	position, length = position&255, length&255
	switch {
	case length == 0:
		return 0
	case position+length >= 64:
		return x >> position
	}
	return x << (64 - position - length) >> (64 - length)
}

// insert puts the low bits of x into y.
func insert[T uint32 | uint64](x, y T, position, length uint32) T {
	m := (T(1)<<(length&255) - 1) << (position & 255)
	return y&^m | x<<(position&255)&m
}

// shiftAmount32 is how far the highest bit is from the top, all ones when there is none.
func shiftAmount32(x uint32) uint32 {
	if x == 0 {
		return ^uint32(0)
	}
	return uint32(bits.LeadingZeros32(x))
}

func shiftAmount64(x uint64) uint32 {
	if x == 0 {
		return ^uint32(0)
	}
	return uint32(bits.LeadingZeros64(x))
}

func bfi32(r *Regs, o *Operands) {
	d, a, b, c, e := &r.R32[o.D], &r.R32[o.A], &r.R32[o.B], &r.R32[o.C], &r.R32[o.E]
	for i := range d {
		d[i] = insert(a[i], b[i], c[i], e[i])
	}
}

func bfi64(r *Regs, o *Operands) {
	d, a, b, c, e := &r.R64[o.D], &r.R64[o.A], &r.R64[o.B], &r.R32[o.C], &r.R32[o.E]
	for i := range d {
		d[i] = insert(a[i], b[i], c[i], e[i])
	}
}

func selp32(r *Regs, o *Operands) {
	d, a, b, p := &r.R32[o.D], &r.R32[o.A], &r.R32[o.B], r.P[o.C]
	for i := range d {
		x, y := a[i], b[i]
		d[i] = y ^ (x^y)&-(p&1)
		p >>= 1
	}
}

func selp64(r *Regs, o *Operands) {
	d, a, b, p := &r.R64[o.D], &r.R64[o.A], &r.R64[o.B], uint64(r.P[o.C])
	for i := range d {
		x, y := a[i], b[i]
		d[i] = y ^ (x^y)&-(p&1)
		p >>= 1
	}
}

func movP(r *Regs, o *Operands)  { r.P[o.D] = r.P[o.A] }
func notP(r *Regs, o *Operands)  { r.P[o.D] = ^r.P[o.A] }
func andP(r *Regs, o *Operands)  { r.P[o.D] = r.P[o.A] & r.P[o.B] }
func orP(r *Regs, o *Operands)   { r.P[o.D] = r.P[o.A] | r.P[o.B] }
func xorP(r *Regs, o *Operands)  { r.P[o.D] = r.P[o.A] ^ r.P[o.B] }
func mov32(r *Regs, o *Operands) { r.R32[o.D] = r.R32[o.A] }
func mov64(r *Regs, o *Operands) { r.R64[o.D] = r.R64[o.A] }

// permute is prmt in its general form: each of four numbers of 4 bits picks a byte of the eight, or 8 copies of its sign.
func permute(a, b, selector uint32) (d uint32) {
	all := uint64(b)<<32 | uint64(a)
	for i := range 4 {
		s := selector >> (4 * i)
		v := uint32(all >> (s & 7 * 8) & 0xff)
		if s&8 != 0 {
			v = -(v >> 7) & 0xff
		}
		d |= v << (8 * i)
	}
	return d
}

// permuteModes are the selectors of prmt's named forms by the two low bits of the third operand.
var permuteModes = map[string][4]uint32{
	"f4e":  {0x3210, 0x4321, 0x5432, 0x6543},
	"b4e":  {0x5670, 0x6701, 0x7012, 0x0123},
	"rc8":  {0x0000, 0x1111, 0x2222, 0x3333},
	"ecl":  {0x3210, 0x3211, 0x3222, 0x3333},
	"ecr":  {0x0000, 0x1110, 0x2210, 0x3210},
	"rc16": {0x1010, 0x3232, 0x1010, 0x3232},
}

func prmtLanes(r *Regs, o *Operands) {
	d, a, b, c := &r.R32[o.D], &r.R32[o.A], &r.R32[o.B], &r.R32[o.C]
	for i := range d {
		d[i] = permute(a[i], b[i], c[i])
	}
}

// prmtFixed is prmt with a selector that the text has, without copies of signs.
func prmtFixed(selector uint32) Func {
	s0, s1, s2, s3 := selector&7*8, selector>>4&7*8, selector>>8&7*8, selector>>12&7*8
	return func(r *Regs, o *Operands) {
		d, a, b := &r.R32[o.D], &r.R32[o.A], &r.R32[o.B]
		for i := range d {
			v := uint64(b[i])<<32 | uint64(a[i])
			d[i] = uint32(v>>(s0&63)&0xff | v>>(s1&63)&0xff<<8 | v>>(s2&63)&0xff<<16 | v>>(s3&63)<<24)
		}
	}
}

func prmtMode(modes [4]uint32) Func {
	return func(r *Regs, o *Operands) {
		d, a, b, c := &r.R32[o.D], &r.R32[o.A], &r.R32[o.B], &r.R32[o.C]
		for i := range d {
			d[i] = permute(a[i], b[i], modes[c[i]&3])
		}
	}
}

// lop3 is any function of three bits: bit 4a+2b+c of the table is its value.
func lop3(table uint32) Func {
	var m [8]uint32
	for i := range m {
		m[i] = -(table >> i & 1)
	}
	m0, m1, m2, m3, m4, m5, m6, m7 := m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7]
	return func(r *Regs, o *Operands) {
		d, a, b, c := &r.R32[o.D], &r.R32[o.A], &r.R32[o.B], &r.R32[o.C]
		for i := range d {
			x, y, z := a[i], b[i], c[i]
			p := (m0^(m0^m1)&z)&^y | (m2^(m2^m3)&z)&y
			q := (m4^(m4^m5)&z)&^y | (m6^(m6^m7)&z)&y
			d[i] = p&^x | q&x
		}
	}
}

// packed are mov with vectors: the parts of a register, the lowest first.
func pack64(r *Regs, o *Operands) {
	d, a, b := &r.R64[o.D], &r.R32[o.A], &r.R32[o.B]
	for i := range d {
		d[i] = uint64(b[i])<<32 | uint64(a[i])
	}
}

func unpack64(r *Regs, o *Operands) {
	a := r.R64[o.A]
	d, d2 := &r.R32[o.D], &r.R32[o.D2]
	for i := range d {
		d[i], d2[i] = uint32(a[i]), uint32(a[i]>>32)
	}
}

// packParts makes one register of several of 8 or 16 bits, listed in Vec behind the result.
func packParts(result Bank, width int) Func {
	return func(r *Regs, o *Operands) {
		var v [Lanes]uint64
		for n, reg := range o.Vec[1:] {
			a := &r.R32[reg]
			for i := range v {
				v[i] |= uint64(a[i]) & (1<<width - 1) << (n * width)
			}
		}
		if result == R64 {
			r.R64[o.Vec[0]] = v
			return
		}
		d := &r.R32[o.Vec[0]]
		for i := range d {
			d[i] = uint32(v[i])
		}
	}
}

// unpackParts is the way back: results first in Vec.
func unpackParts(source Bank, width int) Func {
	return func(r *Regs, o *Operands) {
		var v [Lanes]uint64
		last := o.Vec[len(o.Vec)-1]
		if source == R64 {
			v = r.R64[last]
		} else {
			for i, x := range r.R32[last] {
				v[i] = uint64(x)
			}
		}
		for n, reg := range o.Vec[:len(o.Vec)-1] {
			d := &r.R32[reg]
			for i := range d {
				d[i] = uint32(v[i] >> (n * width) & (1<<width - 1))
			}
		}
	}
}
