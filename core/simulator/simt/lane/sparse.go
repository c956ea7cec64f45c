package lane

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// sparseDoc is what mma.sp has.
const sparseDoc = "; .sp and .sp::ordered_metadata of m16n8k16 m16n8k32 of f16 (accumulators f16, f32) and bf16, m16n8k8 m16n8k16 of tf32, m16n8k32 m16n8k64 of s8 and u8, " +
	"m16n8k128 of s4 and u4"

// sparseShape is a form of mma.sp: half of the elements of each row of A are there, in registers as those of a dense product with half the k.
// Metadata says where they stand. A chunk of a row has four bits of it: two numbers of two bits, which say the places of its two elements
// among four, or of its two pairs of elements among four pairs; of tf32 a chunk has one element, whose place the upper bit of the first says.
//
// Who has the metadata: of f16, bf16 and tf32 a lane has four chunks of a row in its lower half and of the row eight further down in its upper half, and
// the selector names the lane of a group of four, or the pair of lanes of which the second has the next four chunks. Of s8 and s4 a lane has eight
// chunks of one row, and the next one those of the row eight further down; the second pair of a group has the rest of the rows, where there is one, or the
// selector names the pair.
type sparseShape struct {
	mmaShape
	selectors uint32 // how many lanes, or pairs of them, may have the metadata
	chunk     int    // elements of A that it has
	pair      int    // that stand together
}

var sparseShapes = map[string][]sparseShape{
	"m16n8k8":  {{mmaShape{16, 8, map[string]bool{"tf32": true}, 2, 2, 4, 1}, 4, 1, 1}},
	"m16n8k16": {{mmaShape{16, 16, map[string]bool{"f16": true, "bf16": true}, 2, 2, 4, 2}, 4, 2, 1}, {mmaShape{16, 16, map[string]bool{"tf32": true}, 4, 4, 4, 1}, 2, 1, 1}},
	"m16n8k32": {{mmaShape{16, 32, map[string]bool{"f16": true, "bf16": true}, 4, 4, 4, 2}, 2, 2, 1}, {mmaShape{16, 32, map[string]bool{"s8": true, "u8": true}, 2, 2, 4, 4}, 2, 2, 1}},
	"m16n8k64": {{mmaShape{16, 64, map[string]bool{"s8": true, "u8": true}, 4, 4, 4, 4}, 1, 2, 1}},
	"m16n8k128": {
		{mmaShape{16, 128, map[string]bool{"s4": true, "u4": true}, 4, 4, 4, 8}, 1, 4, 2},
	},
}

// MetadataError says that metadata of a sparse matrix names no places.
type MetadataError struct {
	Lanes uint32 // that have it
	text  string
}

func (e *MetadataError) Error() string { return e.text }

// sparse is a form with its types.
type sparse struct {
	sparseShape
	a, b     string
	narrow   bool // accumulators of f16
	saturate bool
	ordered  bool
	selector int
}

func decodeSparse(d *decoder) (Form, bool) {
	s := sparse{ordered: d.take("sp::ordered_metadata")}
	ok := s.ordered || d.take("sp")
	s.saturate = d.take("satfinite")
	c, b, a, result := d.typ(), d.typ(), d.typ(), d.typ()
	ok = d.take("sync") && d.take("aligned") && d.take("row") && d.take("col") && result == c && ok
	list := sparseShapes[d.typ()]
	at := slices.IndexFunc(list, func(s sparseShape) bool { return s.elements[a] })
	if !ok || at < 0 {
		return Form{}, false
	}
	s.sparseShape, s.a, s.b, s.narrow = list[at], a, b, c == "f16"
	selector, known := d.immediate(len(d.in.Operands) - 1)
	s.selector = int(selector)
	f := Form{UsesVec: true, Warp: s.run, Out: make([]Bank, s.registersC()), In: make([]Bank, s.mmaShape.a+s.mmaShape.b+s.registersC()+2)}
	switch {
	case !known || selector >= s.selectors:
		return Form{}, false
	case s.isFloat():
		f.Approx = mmaApprox
		return f, b == a && (c == "f32" || c == "f16" && a == "f16") && !s.saturate
	}
	return f, s.elements[b] && c == "s32"
}

func (s *sparse) isFloat() bool { return s.per <= 2 }

// registersC is how many registers accumulators have.
func (s *sparse) registersC() int {
	if s.narrow {
		return 2
	}
	return s.c
}

// run computes the product for the lanes that are there.
func (s *sparse) run(r *Regs, o *Operands, active uint32) error {
	d, regA, regB, regC := s.split(o.Vec, s.registersC())
	metadata := &r.R32[regC[len(regC)-2]]
	var columns [16][64]uint8
	err := s.places(&columns, metadata)
	var sums [4][Lanes]uint32
	if s.isFloat() {
		s.floats(r, regA, regB, regC, &columns, &sums)
	} else {
		s.integers(r, regA, regB, regC, &columns, &sums)
	}
	for n, reg := range d {
		for m := active; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			r.R32[reg][l] = sums[n][l]
		}
	}
	if active != math.MaxUint32 {
		return errPartial
	}
	return err
}

// chunkAt is the metadata of a chunk of a row: in which lane, and from which bit on.
func (s *sparse) chunkAt(row, chunk int) (l, bit int) {
	group := row & 7 << 2
	if !s.isFloat() {
		return group + (s.selector+chunk>>3)*2 + row>>3, chunk & 7 * 4
	}
	lanes := 4 / int(s.selectors)
	return group + s.selector*lanes + chunk>>2, row>>3*16 + chunk&3*4
}

// places finds the column of each element of A.
func (s *sparse) places(columns *[16][64]uint8, metadata *[Lanes]uint32) error {
	var wrong *MetadataError
	for row := range columns {
		for k := range s.k / 2 {
			chunk := k / s.chunk
			l, bit := s.chunkAt(row, chunk)
			code := int(metadata[l] >> bit & 15)
			if k%s.chunk == 0 && !s.names(code) {
				if wrong == nil {
					wrong = &MetadataError{text: fmt.Sprintf("bits %d to %d of the metadata of lane %d are 0b%04b, which names no places of elements of A", bit, bit+3, l, code)}
				}
				wrong.Lanes |= 1 << l
			}
			place := code >> (k % s.chunk / s.pair * 2) & 3
			if s.chunk == 1 {
				place >>= 1
			}
			columns[row][k] = uint8(2*s.chunk*chunk + place*s.pair + k%s.pair)
		}
	}
	if wrong == nil {
		return nil
	}
	return wrong
}

// names reports whether four bits of metadata name places.
func (s *sparse) names(code int) bool {
	first, second := code&3, code>>2
	switch {
	case s.chunk == 1:
		return code == 0b0100 || code == 0b1110
	case s.ordered:
		return first < second
	}
	return first != second
}

// floats is the product of floating-point numbers, whose sums have the order of those of a dense one with half the k.
func (s *sparse) floats(r *Regs, regA, regB, regC []int32, columns *[16][64]uint8, sums *[4][Lanes]uint32) {
	var left [16][16]float32
	var right [8][32]float32
	each(r, regA, s.placeA, s.per, func(row, k int, word uint32, e int) { left[row][k] = s.number(word, e) })
	each(r, regB, s.placeB, s.per, func(k, column int, word uint32, e int) { right[column][k] = s.number(word, e) })
	for n := range 4 {
		for l := range Lanes {
			row, column := placeC(l, n)
			sum := s.accumulator(r, regC, n, l)
			for from := 0; from < s.k/2; from += 8 {
				var p [8]float32
				for i := range min(8, s.k/2-from) {
					p[i] = float32(left[row][from+i] * right[column][columns[row][from+i]])
				}
				sum += ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]))
			}
			if s.narrow {
				sums[n/2][l] |= half(bits32(sum)) << (n % 2 * 16)
			} else {
				sums[n][l] = bits32(sum)
			}
		}
	}
}

// number is one of the numbers of a word.
func (s *sparse) number(word uint32, e int) float32 {
	switch s.a {
	case "f16":
		return math.Float32frombits(widen16(word >> (16 * e)))
	case "bf16":
		return math.Float32frombits(word >> (16 * e) << 16)
	}
	return math.Float32frombits(word &^ 0x1fff)
}

// accumulator is element n of C that a lane has.
func (s *sparse) accumulator(r *Regs, regC []int32, n, l int) float32 {
	if s.narrow {
		return math.Float32frombits(widen16(r.R32[regC[n/2]][l] >> (n % 2 * 16)))
	}
	return math.Float32frombits(r.R32[regC[n]][l])
}

// integers is the product of integers, which is exact.
func (s *sparse) integers(r *Regs, regA, regB, regC []int32, columns *[16][64]uint8, sums *[4][Lanes]uint32) {
	width := 32 / s.per
	number := func(word uint32, e int, kind string) int64 {
		return signedOf(uint64(word>>(e*width)&(1<<width-1)), width, kind[0] == 's')
	}
	var left [16][64]int64
	var right [8][128]int64
	each(r, regA, s.placeA, s.per, func(row, k int, word uint32, e int) { left[row][k] = number(word, e, s.a) })
	each(r, regB, s.placeB, s.per, func(k, column int, word uint32, e int) { right[column][k] = number(word, e, s.b) })
	for n := range 4 {
		for l := range Lanes {
			row, column := placeC(l, n)
			sum := int64(int32(r.R32[regC[n]][l]))
			for k, v := range left[row][:s.k/2] {
				sum += v * right[column][columns[row][k]]
			}
			if s.saturate {
				sum = int64(saturate32(sum))
			}
			sums[n][l] = uint32(sum)
		}
	}
}

// each visits the elements of a matrix with their places.
func each(r *Regs, registers []int32, place func(lane, n, e int) (int, int), per int, visit func(i, j int, word uint32, e int)) {
	for n, reg := range registers {
		for l, word := range &r.R32[reg] {
			for e := range per {
				i, j := place(l, n, e)
				visit(i, j, word, e)
			}
		}
	}
}
