package lane

import (
	"math"
	"slices"
)

// quadsDoc is what mma.m8n8k4 of f16 has: four products at once, each by the lanes of a quad and of that 16 lanes on.
const quadsDoc = "; m8n8k4 of f16 (accumulators f16, f32; .row and .col)"

// decodeAnyMMA decodes mma.
func decodeAnyMMA(d *decoder) (Form, bool) {
	if last := len(d.mods) - 1; last > 0 && d.mods[last] == "satfinite" { // assemblers take it at the end, too
		d.mods = slices.Insert(d.mods[:last], 0, "satfinite")
	}
	switch {
	case slices.Contains(d.mods, "m8n8k4") && slices.Contains(d.mods, "f16"):
		return decodeQuads(d)
	case slices.Contains(d.mods, "sp"), slices.Contains(d.mods, "sp::ordered_metadata"):
		return decodeSparse(d)
	}
	return decodeMMA(d)
}

// quads is mma.m8n8k4 of f16.
type quads struct {
	columnA, rowB bool // how A and B lie
	wideC, wideD  bool // accumulators of 32 bits
}

func decodeQuads(d *decoder) (Form, bool) {
	c, b, a, result := d.typ(), d.typ(), d.typ(), d.typ()
	layoutA, layoutB := d.oneOf("row", "col"), d.oneOf("row", "col")
	ok := d.take("sync") && d.take("aligned") && d.take("m8n8k4") && a == "f16" && b == "f16" && layoutA != "" && layoutB != ""
	ok = ok && (c == "f16" || c == "f32") && (result == "f32" || result == "f16" && c == "f16")
	q := quads{layoutA == "col", layoutB == "row", c == "f32", result == "f32"}
	f := Form{UsesVec: true, Approx: mmaApprox, Out: make([]Bank, q.registers(q.wideD)), In: make([]Bank, 4+q.registers(q.wideC))}
	f.Warp = func(r *Regs, o *Operands, active uint32) error {
		q.run(r, o.Vec, active)
		if active != math.MaxUint32 {
			return errPartial
		}
		return nil
	}
	return f, ok
}

// registers of an accumulator: eight elements a lane.
func (q quads) registers(wide bool) int {
	if wide {
		return 8
	}
	return 4
}

// placeA, placeB and placeC are where element i of a lane is in the product of its quad.
func (q quads) placeA(l, i int) (row, k int) {
	if q.columnA {
		return i + l>>4*4, l & 3
	}
	return l&3 + l>>4*4, i
}

func (q quads) placeB(l, i int) (k, column int) {
	if q.rowB {
		return l & 3, i + l>>4*4
	}
	return i, l&3 + l>>4*4
}

func (q quads) placeC(l, i int, wide bool) (row, column int) {
	if wide {
		return l&1 + i&2 + l>>4*4, i&4 + l&2 + i&1
	}
	return l&3 + l>>4*4, i
}

func (q quads) run(r *Regs, v []int32, active uint32) {
	n := q.registers(q.wideD)
	to, a, b, c := v[:n], v[n:n+2], v[n+2:n+4], v[n+4:]
	var mA, mB [4][8][4]float32 // by quad; B by column
	var mC [4][8][8]float32
	element := func(regs []int32, l, i int) float32 {
		return math.Float32frombits(widen16(r.R32[regs[i/2]][l] >> (16 * (i & 1)) & 0xffff))
	}
	for l := range Lanes {
		quad := l >> 2 & 3
		for i := range 4 {
			row, k := q.placeA(l, i)
			mA[quad][row][k] = element(a, l, i)
			k, column := q.placeB(l, i)
			mB[quad][column][k] = element(b, l, i)
		}
		for i := range 8 {
			row, column := q.placeC(l, i, q.wideC)
			if q.wideC {
				mC[quad][row][column] = math.Float32frombits(r.R32[c[i]][l])
			} else {
				mC[quad][row][column] = element(c, l, i)
			}
		}
	}
	for l := range Lanes {
		if active>>l&1 == 0 {
			continue
		}
		quad := l >> 2 & 3
		var word uint32
		for i := range 8 {
			row, column := q.placeC(l, i, q.wideD)
			x, y := &mA[quad][row], &mB[quad][column]
			sum := mC[quad][row][column] + ((float32(x[0]*y[0]) + float32(x[1]*y[1])) + (float32(x[2]*y[2]) + float32(x[3]*y[3])))
			if q.wideD {
				r.R32[to[i]][l] = math.Float32bits(sum)
				continue
			}
			word |= half(bits32(sum)) << (16 * (i & 1))
			if i&1 == 1 {
				r.R32[to[i/2]][l], word = word, 0
			}
		}
	}
}
