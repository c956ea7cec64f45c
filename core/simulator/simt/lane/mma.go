package lane

import (
	"errors"
	"math"
)

const mmaDoc = "m16n8k16 m16n8k8 of f16 (accumulators f16, f32) and bf16; m16n8k8 m16n8k4 of tf32; m16n8k32 m16n8k16 m8n8k16 of s8 and u8, m8n8k32 m16n8k32 m16n8k64 of s4 and u4, .satfinite; " +
	"m8n8k128 m16n8k128 m16n8k256 of b1 (.xor.popc .and.popc); " +
	"m8n8k4 m16n8k4 m16n8k8 m16n8k16 of f64"

// mmaApprox says how the order of the sums can show. The bound holds for numbers without overflow: n products are added with at
// most n+1 roundings here, and a tensor core cuts off each addend at no less than 24 bits below the largest.
const mmaApprox = "f16, bf16, tf32: products are exact, those of eight consecutive k are added as a tree of float32 and then to the accumulator; a tensor " +
	"core aligns and truncates. Results differ by at most k+2 units of 2^-23 of the sum of magnitudes |c| + |a*b| (f16 accumulators: one more " +
	"rounding to f16). f64 is a chain of fma in ascending k. Integers are exact"

var errPartial = errors.New("mma needs all lanes of the warp")

// mmaShape is a form of the product: each register of a lane holds per elements of A and B, consecutive in k.
type mmaShape struct {
	rows, k  int
	elements map[string]bool
	a, b, c  int // registers of each of a lane, c and d of 32 or 64 bits
	per      int // elements in a register of a and b
}

var mmaShapes = map[string][]mmaShape{
	"m16n8k16": {
		{16, 16, map[string]bool{"f16": true, "bf16": true}, 4, 2, 4, 2},
		{16, 16, map[string]bool{"s8": true, "u8": true}, 2, 1, 4, 4},
		{16, 16, map[string]bool{"f64": true}, 8, 4, 4, 1},
	},
	"m16n8k8": {
		{16, 8, map[string]bool{"f16": true, "bf16": true}, 2, 1, 4, 2},
		{16, 8, map[string]bool{"tf32": true}, 4, 2, 4, 1},
		{16, 8, map[string]bool{"f64": true}, 4, 2, 4, 1},
	},
	"m16n8k4": {
		{16, 4, map[string]bool{"tf32": true}, 2, 1, 4, 1},
		{16, 4, map[string]bool{"f64": true}, 2, 1, 4, 1},
	},
	"m16n8k32": {
		{16, 32, map[string]bool{"s8": true, "u8": true}, 4, 2, 4, 4},
		{16, 32, map[string]bool{"s4": true, "u4": true}, 2, 1, 4, 8},
	},
	"m8n8k16":   {{8, 16, map[string]bool{"s8": true, "u8": true}, 1, 1, 2, 4}},
	"m8n8k32":   {{8, 32, map[string]bool{"s4": true, "u4": true}, 1, 1, 2, 8}},
	"m16n8k64":  {{16, 64, map[string]bool{"s4": true, "u4": true}, 4, 2, 4, 8}},
	"m8n8k128":  {{8, 128, map[string]bool{"b1": true}, 1, 1, 2, 32}},
	"m16n8k128": {{16, 128, map[string]bool{"b1": true}, 2, 1, 4, 32}},
	"m16n8k256": {{16, 256, map[string]bool{"b1": true}, 4, 2, 4, 32}},
	"m8n8k4":    {{8, 4, map[string]bool{"f64": true}, 1, 1, 2, 1}},
}

func decodeMMA(d *decoder) (Form, bool) {
	popc, operation := d.take("popc"), d.oneOf("xor", "and")
	c, b, a, result := d.typ(), d.typ(), d.typ(), d.typ()
	ok := d.take("sync") && d.take("aligned") && d.take("row") && d.take("col") && result == c
	saturate := d.take("satfinite")
	for _, s := range mmaShapes[d.typ()] {
		if !ok || !s.elements[a] {
			continue
		}
		switch {
		case a == "b1":
			return s.form(R32, s.c, s.small(a, b, operation, false)), b == a && c == "s32" && popc && operation != "" && !saturate
		case popc || operation != "":
			return Form{}, false
		case a == "s4" || a == "u4":
			return s.form(R32, s.c, either(s.wider(a, b, c, saturate), s.small(a, b, "", saturate))), (b == "s4" || b == "u4") && c == "s32"
		case a == "f64":
			return s.form(R64, s.c, either(s.wider(a, b, c, false), s.double)), b == a && c == "f64" && !saturate
		case a == "s8" || a == "u8":
			return s.form(R32, s.c, either(s.wider(a, b, c, saturate), s.integer(a, b, saturate))), (b == "s8" || b == "u8") && c == "s32"
		case c == "f32":
			return s.form(R32, s.c, either(s.wider(a, b, c, false), s.single(a))).near(), b == a && !saturate
		case c == "f16":
			return s.form(R32, s.c/2, either(s.wider(a, b, c, false), s.halves)).near(), a == "f16" && b == a && !saturate
		}
	}
	return Form{}, false
}

// either is the first of two products that there is.
func either(first, second func(r *Regs, v []int32)) func(r *Regs, v []int32) {
	if first != nil {
		return first
	}
	return second
}

// near marks a product whose sums depend on their order.
func (f Form) near() Form {
	f.Approx = mmaApprox
	return f
}

// form makes the form of a product that has c accumulator registers.
func (s mmaShape) form(bank Bank, c int, run func(r *Regs, v []int32)) Form {
	f := Form{UsesVec: true}
	for range c {
		f.Out = append(f.Out, bank)
	}
	for range s.a + s.b + c {
		f.In = append(f.In, bank)
	}
	f.Warp = func(r *Regs, o *Operands, active uint32) error {
		if active == math.MaxUint32 {
			run(r, o.Vec)
			return nil
		}
		var keep32 [4][Lanes]uint32
		var keep64 [4][Lanes]uint64
		for i, reg := range o.Vec[:c] {
			if bank == R64 {
				keep64[i] = r.R64[reg]
			} else {
				keep32[i] = r.R32[reg]
			}
		}
		run(r, o.Vec)
		for i, reg := range o.Vec[:c] {
			for l := range Lanes {
				switch {
				case active>>l&1 != 0:
				case bank == R64:
					r.R64[reg][l] = keep64[i][l]
				default:
					r.R32[reg][l] = keep32[i][l]
				}
			}
		}
		return errPartial
	}
	return f
}

// placeA, placeB and placeC are the place of element e of register n of a lane: of A (row, k), of B (k, column), of C (row, column).
func (s mmaShape) placeA(lane, n, e int) (row, k int) {
	row = lane >> 2
	if s.rows == 16 {
		row += n & 1 * 8
		n >>= 1
	}
	return row, n*4*s.per + lane&3*s.per + e
}

func (s mmaShape) placeB(lane, n, e int) (k, column int) {
	return n*4*s.per + lane&3*s.per + e, lane >> 2
}

func placeC(lane, n int) (row, column int) { return lane>>2 + n>>1*8, lane&3*2 + n&1 }

// tiles are A and B by groups of eight k, and the accumulators. B is by k, then by column.
type tiles struct {
	a [2][16][8]float32
	b [2][8][8]float32
	c [16][8]float32
}

// addProductsInGo is what addProducts does. The conversions keep the compiler from fusing a product with a sum.
func addProductsInGo(c, a *[16][8]float32, b *[8][8]float32) {
	for m := range c {
		row, sums := &a[m], &c[m]
		for n := range sums {
			var p [8]float32
			for k := range p {
				p[k] = float32(row[k] * b[k][n])
			}
			sums[n] += ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]))
		}
	}
}

// transpose turns columns into rows.
func transpose(to, from *[8][8]float32) {
	for g := range from {
		v := &from[g]
		to[0][g], to[1][g], to[2][g], to[3][g] = v[0], v[1], v[2], v[3]
		to[4][g], to[5][g], to[6][g], to[7][g] = v[4], v[5], v[6], v[7]
	}
}

// smallHalf makes the float32 of an f16 that is neither infinite nor NaN: the exponent is put right by a product.
func smallHalf(h uint32) float32 {
	return math.Float32frombits(h&0x8000<<16|h&0x7fff<<13) * 0x1p112
}

// The three functions that follow put four words of two elements into a row of eight.

func rowOfHalves(row *[8]float32, x *[4]uint32) {
	row[0], row[1] = smallHalf(x[0]), smallHalf(x[0]>>16)
	row[2], row[3] = smallHalf(x[1]), smallHalf(x[1]>>16)
	row[4], row[5] = smallHalf(x[2]), smallHalf(x[2]>>16)
	row[6], row[7] = smallHalf(x[3]), smallHalf(x[3]>>16)
}

func rowOfAnyHalves(row *[8]float32, x *[4]uint32) {
	for i, v := range x {
		row[2*i], row[2*i+1] = math.Float32frombits(widen16(v)), math.Float32frombits(widen16(v>>16))
	}
}

func rowOfBrains(row *[8]float32, x *[4]uint32) {
	row[0], row[1] = math.Float32frombits(x[0]<<16), math.Float32frombits(x[0]&^0xffff)
	row[2], row[3] = math.Float32frombits(x[1]<<16), math.Float32frombits(x[1]&^0xffff)
	row[4], row[5] = math.Float32frombits(x[2]<<16), math.Float32frombits(x[2]&^0xffff)
	row[6], row[7] = math.Float32frombits(x[3]<<16), math.Float32frombits(x[3]&^0xffff)
}

// load16 loads A and B of two elements a word: eight rows of four lanes from each register.
func (t *tiles) load16(r *Regs, a, b []int32, brain bool) {
	for n, reg := range a {
		eightRows((*[8][8]float32)(t.a[n>>1&1][n&1*8:]), &r.R32[reg], brain)
	}
	for n, reg := range b {
		var columns [8][8]float32
		eightRows(&columns, &r.R32[reg], brain)
		transpose(&t.b[n&1], &columns)
	}
}

// rowsOfHalvesInGo loads eight rows of halves, and returns something else than 0 when one of them is an infinity or a NaN.
func rowsOfHalvesInGo(rows *[8][8]float32, x *[Lanes]uint32) (special uint32) {
	for g := range rows {
		v := (*[4]uint32)(x[4*g:])
		rowOfHalves(&rows[g], v)
		for _, w := range v {
			special |= w&0x7c007c00 + 0x04000400
		}
	}
	return special & 0x80008000
}

func rowsOfBrainsInGo(rows *[8][8]float32, x *[Lanes]uint32) {
	for g := range rows {
		rowOfBrains(&rows[g], (*[4]uint32)(x[4*g:]))
	}
}

func eightRows(rows *[8][8]float32, x *[Lanes]uint32, brain bool) {
	if brain {
		rowsOfBrains(rows, x)
		return
	}
	if rowsOfHalves(rows, x) == 0 {
		return
	}
	for g := range rows { // an infinity or a NaN
		rowOfAnyHalves(&rows[g], (*[4]uint32)(x[4*g:]))
	}
}

// loadTF32 loads A and B of words whose low 13 bits do not count.
func (t *tiles) loadTF32(r *Regs, a, b []int32) {
	for n, reg := range a {
		fourColumns((*[8][8]float32)(t.a[0][n&1*8:]), &r.R32[reg], n>>1)
	}
	var columns [8][8]float32
	for n, reg := range b {
		fourColumns(&columns, &r.R32[reg], n)
	}
	transpose(&t.b[0], &columns)
}

func fourColumns(rows *[8][8]float32, x *[Lanes]uint32, half int) {
	for g := range rows {
		row, v := (*[4]float32)(rows[g][half&1*4:]), (*[4]uint32)(x[4*g:])
		for i := range row {
			row[i] = math.Float32frombits(v[i] &^ 0x1fff)
		}
	}
}

// loadC and storeC move the accumulators: two registers hold eight rows.
func loadC(rows *[8][8]float32, even, odd *[Lanes]uint32) { interleave(rows, even, odd) }

func interleaveInGo(rows *[8][8]float32, even, odd *[Lanes]uint32) {
	for g := range rows {
		row, x, y := &rows[g], (*[4]uint32)(even[4*g:]), (*[4]uint32)(odd[4*g:])
		for i := range x {
			row[2*i], row[2*i+1] = math.Float32frombits(x[i]), math.Float32frombits(y[i])
		}
	}
}

func storeC(rows *[8][8]float32, even, odd *[Lanes]uint32) {
	for g := range rows {
		row, x, y := &rows[g], (*[4]uint32)(even[4*g:]), (*[4]uint32)(odd[4*g:])
		for i := range x {
			x[i], y[i] = bits32(row[2*i]), bits32(row[2*i+1])
		}
	}
}

// split gives the registers of A, B and C.
func (s mmaShape) split(v []int32, c int) (d, a, b, acc []int32) {
	return v[:c], v[c : c+s.a], v[c+s.a : c+s.a+s.b], v[c+s.a+s.b:]
}

// single is the product with accumulators of 32 bits.
func (s mmaShape) single(element string) func(r *Regs, v []int32) {
	return func(r *Regs, v []int32) {
		d, a, b, c := s.split(v, s.c)
		var t tiles
		if element == "tf32" {
			t.loadTF32(r, a, b)
		} else {
			t.load16(r, a, b, element == "bf16")
		}
		upper, lower := (*[8][8]float32)(t.c[:8]), (*[8][8]float32)(t.c[8:])
		loadC(upper, &r.R32[c[0]], &r.R32[c[1]])
		loadC(lower, &r.R32[c[2]], &r.R32[c[3]])
		addProducts(&t.c, &t.a[0], &t.b[0])
		if s.k == 16 {
			addProducts(&t.c, &t.a[1], &t.b[1])
		}
		storeC(upper, &r.R32[d[0]], &r.R32[d[1]])
		storeC(lower, &r.R32[d[2]], &r.R32[d[3]])
	}
}

// halves is the product with accumulators of f16: they are rounded once, at the end.
func (s mmaShape) halves(r *Regs, v []int32) {
	d, a, b, c := s.split(v, s.c/2)
	var t tiles
	t.load16(r, a, b, false)
	for n, reg := range c {
		for l, x := range &r.R32[reg] {
			row := &t.c[(l>>2+n*8)&15]
			row[l&3*2], row[l&3*2+1] = math.Float32frombits(widen16(x)), math.Float32frombits(widen16(x>>16))
		}
	}
	addProducts(&t.c, &t.a[0], &t.b[0])
	if s.k == 16 {
		addProducts(&t.c, &t.a[1], &t.b[1])
	}
	for n, reg := range d {
		to := &r.R32[reg]
		for l := range to {
			row := &t.c[(l>>2+n*8)&15]
			to[l] = half(bits32(row[l&3*2])) | half(bits32(row[l&3*2+1]))<<16
		}
	}
}

// integer is the product of bytes: exact, then cut to 32 bits or to the nearest of them.
func (s mmaShape) integer(a, b string, saturate bool) func(r *Regs, v []int32) {
	return func(r *Regs, v []int32) {
		d, regA, regB, c := s.split(v, s.c)
		var left [16][32]int64
		var pairs [4][32]int64
		for n, reg := range regA {
			for l, x := range &r.R32[reg] {
				row, k := s.placeA(l, n, 0)
				bytesOf((*[4]int64)(left[row&15][k&28:]), x, a == "s8")
			}
		}
		for n, reg := range regB {
			for l, x := range &r.R32[reg] {
				k, column := s.placeB(l, n, 0)
				var column4 [4]int64
				bytesOf(&column4, x, b == "s8")
				for i, y := range column4 {
					pairs[column>>1&3][(k+i)&31] += y << (column & 1 * 32)
				}
			}
		}
		var products [16][8]int32
		for m := range s.rows {
			multiplyBytes(&products[m&15], &left[m&15], &pairs)
		}
		var sums [4][Lanes]uint32
		for n, reg := range c {
			for l, x := range &r.R32[reg] {
				row, column := placeC(l, n)
				total := int64(int32(x)) + int64(products[row&15][column&7])
				if saturate {
					total = int64(saturate32(total))
				}
				sums[n&3][l] = uint32(total)
			}
		}
		for n, reg := range d {
			r.R32[reg] = sums[n&3]
		}
	}
}

// multiplyBytes multiplies a row with four pairs of columns. A pair is one number of 64 bits, so a product is two; the lower one
// borrows from the upper one when it is negative.
func multiplyBytes(to *[8]int32, row *[32]int64, pairs *[4][32]int64) {
	for n := range pairs {
		q, both := &pairs[n], int64(0)
		for i := 0; i < len(row); i += 4 {
			both += row[i]*q[i] + row[i+1]*q[i+1] + row[i+2]*q[i+2] + row[i+3]*q[i+3]
		}
		to[2*n], to[2*n+1] = int32(both), int32((both-int64(int32(both)))>>32)
	}
}

func bytesOf(to *[4]int64, x uint32, signed bool) {
	for i := range to {
		if v := uint8(x >> (8 * i)); signed {
			to[i] = int64(int8(v))
		} else {
			to[i] = int64(v)
		}
	}
}

// double is the product of doubles.
func (s mmaShape) double(r *Regs, v []int32) {
	d, regA, regB, c := s.split(v, s.c)
	var left, right [16][16]float64
	for n, reg := range regA {
		for l, x := range &r.R64[reg] {
			row, k := s.placeA(l, n, 0)
			left[row&15][k&15] = math.Float64frombits(x)
		}
	}
	for n, reg := range regB {
		for l, x := range &r.R64[reg] {
			k, column := s.placeB(l, n, 0)
			right[column&15][k&15] = math.Float64frombits(x)
		}
	}
	var sums [4][Lanes]uint64
	for n, reg := range c {
		for l, x := range &r.R64[reg] {
			row, column := placeC(l, n)
			sum := math.Float64frombits(x)
			for k := range s.k {
				sum = math.FMA(left[row&15][k&15], right[column&15][k&15], sum)
			}
			sums[n&3][l] = bits64(sum)
		}
	}
	for n, reg := range d {
		r.R64[reg] = sums[n&3]
	}
}
