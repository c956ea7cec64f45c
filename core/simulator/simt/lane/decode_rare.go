package lane

import (
	"math"
	"math/bits"
)

// The forms of this file are rare: their loops are written as functions of one lane.

// threeWords is a form of up to three words.
func threeWords(inputs int, f func(x, y, z uint32) uint32) Form {
	return Form{Lanewise: func(r *Regs, o *Operands) {
		x, y, z := &r.R32[o.A], &r.R32[o.B], &r.R32[o.C]
		d := &r.R32[o.D]
		for l := range d {
			d[l] = f(x[l], y[l], z[l])
		}
	}, Out: []Bank{R32}, In: make([]Bank, inputs)}
}

// decodeDot is dp4a and dp2a: sums of products of bytes, or of halves and bytes.
func decodeDot(d *decoder) (Form, bool) {
	typeB, typeA := d.typ(), d.typ()
	signedA, signedB := typeA == "s32", typeB == "s32"
	ok := (signedA || typeA == "u32") && (signedB || typeB == "u32")
	if d.in.Op.Name == "dp4a" {
		return threeWords(3, func(x, y, sum uint32) uint32 {
			for i := 0; i < 32; i += 8 {
				sum += uint32(signedOf(uint64(x>>i&0xff), 8, signedA) * signedOf(uint64(y>>i&0xff), 8, signedB))
			}
			return sum
		}), ok
	}
	half := d.oneOf("lo", "hi")
	return threeWords(3, func(x, y, sum uint32) uint32 {
		if half == "hi" {
			y >>= 16
		}
		for i := range 2 {
			sum += uint32(signedOf(uint64(x>>(16*i)&0xffff), 16, signedA) * signedOf(uint64(y>>(8*i)&0xff), 8, signedB))
		}
		return sum
	}), ok && half != ""
}

// decodeFns is fns.b32: the place of the n-th bit that is set, from a base on.
func decodeFns(d *decoder) (Form, bool) {
	return threeWords(3, nthSet), d.typ() == "b32"
}

func nthSet(mask, base, offset uint32) uint32 {
	n, step, at := int32(offset), 1, int(base)
	switch {
	case n == 0:
		if base < 32 && mask>>base&1 != 0 {
			return base
		}
		return math.MaxUint32
	case n < 0:
		n, step = -n, -1
	}
	for ; at >= 0 && at < 32; at += step {
		if mask>>at&1 != 0 {
			if n--; n == 0 {
				return uint32(at)
			}
		}
	}
	return math.MaxUint32
}

// decodeMask is bmsk and szext.
func decodeMask(d *decoder) (Form, bool) {
	t, mode := d.typ(), d.oneOf("clamp", "wrap")
	if mode == "" {
		return Form{}, false
	}
	if d.in.Op.Name == "bmsk" {
		return threeWords(2, func(from, width, _ uint32) uint32 {
			if mode == "wrap" {
				from, width = from&31, width&31
			}
			return uint32((uint64(1)<<min(width, 32) - 1) << min(from, 32))
		}), t == "b32"
	}
	return threeWords(2, func(x, n, _ uint32) uint32 {
		if mode == "wrap" {
			n &= 31
		}
		if n = min(n, 32); n == 0 {
			return 0
		}
		return uint32(signedOf(uint64(x)&(1<<n-1), int(n), t == "s32"))
	}), t == "s32" || t == "u32"
}

// decodeHigh24 is the high part of a product of 24 bits: bits 16 to 47.
func (d *decoder) decodeHigh24(t string) (Form, bool) {
	signed, saturate := t == "s32", d.take("sat")
	product := func(x, y uint32) int64 {
		return signedOf(uint64(x&0xffffff), 24, signed) * signedOf(uint64(y&0xffffff), 24, signed) >> 16
	}
	if d.in.Op.Name == "mul24" {
		return threeWords(2, func(x, y, _ uint32) uint32 { return uint32(product(x, y)) }), (signed || t == "u32") && !saturate
	}
	return threeWords(3, func(x, y, z uint32) uint32 {
		if saturate {
			return uint32(saturate32(product(x, y) + int64(int32(z))))
		}
		return uint32(product(x, y)) + z
	}), (signed || t == "u32") && (!saturate || signed)
}

// decodeLop3Predicate is lop3 with an operation on a predicate: p says whether the result has any bit, combined with q.
func (d *decoder) decodeLop3Predicate(operation string, table uint32) Form {
	logic := lop3(table)
	return Form{UsesVec: true, Out: []Bank{R32, P}, In: []Bank{R32, R32, R32, R32, P}, Lanewise: func(r *Regs, o *Operands) {
		v := o.Vec
		q := r.P[v[6]]
		logic(r, &Operands{D: v[0], A: v[2], B: v[3], C: v[4], E: v[5]})
		var any uint32
		for l, x := range &r.R32[v[0]] {
			any |= bit(x != 0) << l
		}
		if operation == "or" {
			r.P[v[1]] = any | q
		} else {
			r.P[v[1]] = any & q
		}
	}}
}

// decodePack is cvt.pack: two numbers cut to a smaller type, into the low bits; of small ones a third operand gives the bits above.
func (d *decoder) decodePack() (Form, bool) {
	three := d.take("b32")
	from, to := d.typ(), d.typ()
	widths := map[string]int{"u16": 16, "s16": 16, "u8": 8, "s8": 8, "u4": 4, "s4": 4, "u2": 2, "s2": 2}
	width := widths[to]
	if !d.take("sat") || from != "s32" || width == 0 || three != (width < 16) {
		return Form{}, false
	}
	low, high := int64(0), int64(1)<<width-1
	if to[0] == 's' {
		low, high = -1<<(width-1), 1<<(width-1)-1
	}
	cut := func(x uint32) uint32 { return uint32(max(low, min(high, int64(int32(x))))) & (1<<width - 1) }
	inputs := 2
	if three {
		inputs = 3
	}
	return threeWords(inputs, func(x, y, z uint32) uint32 {
		if !three {
			z = 0
		}
		return uint32(uint64(z)<<(2*width)) | cut(x)<<width | cut(y)
	}), true
}

// decodeMoveMatrix is movmatrix: a matrix of 8 times 8 halves, transposed.
func decodeMoveMatrix(d *decoder) (Form, bool) {
	ok := d.take("sync") && d.take("aligned") && d.take("m8n8") && d.take("trans") && d.take("b16")
	return Form{Out: []Bank{R32}, In: []Bank{R32}, Warp: func(r *Regs, o *Operands, active uint32) error {
		from := r.R32[o.A]
		at := func(row, column int) uint32 { return from[row*4+column/2] >> (16 * (column % 2)) & 0xffff }
		for l := range Lanes {
			if active>>l&1 != 0 {
				r.R32[o.D][l] = at(l%4*2, l/4) | at(l%4*2+1, l/4)<<16
			}
		}
		if active != math.MaxUint32 {
			return errPartial
		}
		return nil
	}}, ok
}

// small is the product of numbers of 4 bits or of bits: sums of products, or the number of bits that a logical operation leaves.
func (s mmaShape) small(a, b, operation string, saturate bool) func(r *Regs, v []int32) {
	width := 32 / s.per
	return func(r *Regs, v []int32) {
		d, regA, regB, c := s.split(v, s.c)
		var sums [4][Lanes]uint32
		for n := range c {
			for l := range Lanes {
				row, column := placeC(l, n)
				sum := int64(int32(r.R32[c[n]][l]))
				for i := range regB { // the words of a row of A and of a column of B
					for q := range 4 {
						x, y := r.R32[regA[s.wordOfA(row, i)]][row%8*4+q], r.R32[regB[i]][column*4+q]
						sum += smallProduct(x, y, width, operation, a[0] == 's', b[0] == 's')
					}
				}
				if saturate {
					sum = int64(saturate32(sum))
				}
				sums[n][l] = uint32(sum)
			}
		}
		for n, reg := range d {
			r.R32[reg] = sums[n]
		}
	}
}

// wordOfA is the register that has the i-th group of words of a row.
func (s mmaShape) wordOfA(row, i int) int {
	if s.rows == 8 {
		return i
	}
	return 2*i + row/8
}

func smallProduct(x, y uint32, width int, operation string, signedX, signedY bool) (sum int64) {
	switch operation {
	case "xor":
		return int64(bits.OnesCount32(x ^ y))
	case "and":
		return int64(bits.OnesCount32(x & y))
	}
	for i := 0; i < 32; i += width {
		m := uint32(1)<<width - 1
		sum += signedOf(uint64(x>>i&m), width, signedX) * signedOf(uint64(y>>i&m), width, signedY)
	}
	return sum
}
