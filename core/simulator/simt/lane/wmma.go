package lane

import (
	"math"
	"math/bits"
	"strings"
)

// A fragment of wmma is a matrix spread over the registers of a warp. The manual leaves open how; here lane l holds the elements of which
// the numbers begin with l times as many as a lane has, in the order of the layout that it is loaded with; an accumulator is always
// by rows. Fragments of f16 have more registers than they need on some shapes: these repeat the others.

// WmmaDoc says which forms there are.
const WmmaDoc = ".load .store .mma .sync.aligned: m16n16k16 m32n8k16 m8n32k16 of f16 (accumulators f16, f32), bf16, s8 and u8; m16n16k8 of tf32; m8n8k4 of f64; " +
	"m8n8k32 of s4 and u4; m8n8k128 of b1 (.xor.popc .and.popc); .row .col, .satfinite, with and without a stride, global, shared and generic"

// wmmaShapes are m, n and k by their spelling, with the elements that they are for.
var wmmaShapes = map[string]struct {
	m, n, k  int
	elements string
}{
	"m16n16k16": {16, 16, 16, "f16 bf16 s8 u8"}, "m32n8k16": {32, 8, 16, "f16 bf16 s8 u8"}, "m8n32k16": {8, 32, 16, "f16 bf16 s8 u8"},
	"m16n16k8": {16, 16, 8, "tf32"}, "m8n8k4": {8, 8, 4, "f64"}, "m8n8k32": {8, 8, 32, "s4 u4"}, "m8n8k128": {8, 8, 128, "b1"},
}

var wmmaBits = map[string]int{"f16": 16, "bf16": 16, "s8": 8, "u8": 8, "tf32": 32, "f64": 64, "s4": 4, "u4": 4, "b1": 1, "f32": 32, "s32": 32}

// Fragment is a matrix of wmma.
type Fragment struct {
	Rows, Columns int
	Bits          int // of an element
	Registers     int // of a lane
	Needed        int // of these: the others repeat them
}

// FragmentOf is the fragment of a matrix (a, b, c or d) of a shape; ok is false when there is none.
func FragmentOf(matrix, shape, element string) (f Fragment, ok bool) {
	s, known := wmmaShapes[shape]
	f.Bits = wmmaBits[element]
	switch matrix {
	case "a":
		f.Rows, f.Columns = s.m, s.k
	case "b":
		f.Rows, f.Columns = s.k, s.n
	default:
		f.Rows, f.Columns = s.m, s.n
	}
	if !known || f.Bits == 0 {
		return f, false
	}
	f.Needed = max(1, f.Each()*f.Bits/max(32, f.Bits))
	f.Registers = f.Needed
	inputs := strings.Fields(s.elements)
	if matrix == "a" || matrix == "b" {
		if element == "f16" {
			f.Registers = 8
		}
		return f, contains(inputs, element)
	}
	switch element {
	case "f32":
		return f, inputs[0] == "f16" || inputs[0] == "tf32"
	case "f16":
		return f, inputs[0] == "f16"
	case "s32":
		return f, contains(inputs, "s8") || contains(inputs, "s4") || contains(inputs, "b1")
	}
	return f, element == "f64" && inputs[0] == "f64"
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// Each is how many elements a lane has.
func (f *Fragment) Each() int { return f.Rows * f.Columns / Lanes }

// element is an element of a fragment by its number.
func (f *Fragment) element(r *Regs, regs []int32, number int) uint64 {
	each := f.Each()
	l, at := number/each&31, number%each*f.Bits
	if f.Bits == 64 {
		return r.R64[regs[at/64]][l]
	}
	return uint64(r.R32[regs[at/32]][l]>>(at%32)) & (1<<f.Bits - 1)
}

// wmma is a product of fragments.
type wmma struct {
	a, b, c, d     Fragment
	typeA, typeB   string
	typeC, typeD   string
	rowsA, columnB bool
	k              int
	saturate, and  bool
}

func decodeWmma(d *decoder) (Form, bool) {
	var p wmma
	if !d.take("mma") || !d.take("sync") || !d.take("aligned") {
		return Form{}, false
	}
	p.saturate = d.take("satfinite")
	operation := d.oneOf("xor", "and")
	p.and = operation == "and"
	popc := d.take("popc")
	nearest := d.take("rn")
	var layouts []string
	for range 2 {
		layouts = append(layouts, d.oneOf("row", "col"))
	}
	p.rowsA, p.columnB = layouts[0] == "row", layouts[1] == "col"
	if len(d.mods) == 0 || layouts[0] == "" || layouts[1] == "" {
		return Form{}, false
	}
	shape := d.mods[0]
	types := d.mods[1:]
	d.mods = nil
	switch len(types) {
	case 2:
		p.typeD, p.typeA, p.typeB, p.typeC = types[0], "f16", "f16", types[1]
	case 4:
		p.typeD, p.typeA, p.typeB, p.typeC = types[0], types[1], types[2], types[3]
	default:
		return Form{}, false
	}
	p.k = wmmaShapes[shape].k
	var ok [4]bool
	p.a, ok[0] = FragmentOf("a", shape, p.typeA)
	p.b, ok[1] = FragmentOf("b", shape, p.typeB)
	p.c, ok[2] = FragmentOf("c", shape, p.typeC)
	p.d, ok[3] = FragmentOf("d", shape, p.typeD)
	if ok != [4]bool{true, true, true, true} || !p.allowed(popc && operation != "", popc || operation != "", nearest) {
		return Form{}, false
	}
	return p.form(), true
}

// allowed says which types go together.
func (p *wmma) allowed(whole, some, nearest bool) bool {
	integer := p.typeA[0] == 's' || p.typeA[0] == 'u'
	same := p.typeA == p.typeB && p.typeC == p.typeD
	straight := p.rowsA && p.columnB
	switch {
	case p.saturate && !(integer || p.typeA == "f16"), nearest && p.typeA != "f64", some && p.typeA != "b1":
		return false
	case p.typeA == "b1":
		return whole && same && straight && p.typeC == "s32"
	case integer:
		return p.a.Bits == p.b.Bits && p.typeC == "s32" && p.typeD == "s32" && (p.a.Bits == 8 || straight)
	case p.typeA == "f16":
		return p.typeA == p.typeB
	case p.typeA == "f64":
		return same && p.typeC == "f64"
	}
	return same && p.typeC == "f32"
}

func (p *wmma) form() Form {
	bank := R32
	if p.typeA == "f64" {
		bank = R64
	}
	f := Form{UsesVec: true}
	for range p.d.Registers {
		f.Out = append(f.Out, bank)
	}
	for range p.a.Registers + p.b.Registers + p.c.Registers {
		f.In = append(f.In, bank)
	}
	if p.typeA == "f16" || p.typeA == "bf16" || p.typeA == "tf32" {
		f = f.near()
	}
	f.Warp = func(r *Regs, o *Operands, active uint32) error {
		d, a := o.Vec[:p.d.Registers], o.Vec[p.d.Registers:]
		b := a[p.a.Registers:]
		c := b[p.b.Registers:]
		if bank == R64 {
			p.double(r, d, a, b, c, active)
		} else {
			p.store(r, d, p.product(r, a, b, c), active)
		}
		if active != math.MaxUint32 {
			return errPartial
		}
		return nil
	}
	return f
}

// left and right are the numbers of elements of A and B in their fragments.
func (p *wmma) left(i, k int) int {
	if p.rowsA {
		return i*p.a.Columns + k
	}
	return k*p.a.Rows + i
}

func (p *wmma) right(k, j int) int {
	if p.columnB {
		return j*p.b.Rows + k
	}
	return k*p.b.Columns + j
}

// product is the new accumulator as patterns of 32 bits, by rows.
func (p *wmma) product(r *Regs, a, b, c []int32) []uint32 {
	out := make([]uint32, p.c.Rows*p.c.Columns)
	for e := range out {
		out[e] = uint32(p.c.element(r, c, e))
	}
	switch {
	case p.typeA == "b1":
		p.addBits(r, a, b, out)
	case p.a.Bits < 16:
		p.addIntegers(r, a, b, out)
	default:
		p.addFloats(r, a, b, out)
	}
	return out
}

func (p *wmma) addBits(r *Regs, a, b []int32, out []uint32) {
	for e := range out {
		x, y := r.R32[a[0]], r.R32[b[0]] // four lanes hold a row of A, four a column of B
		i, j := e/8, e%8
		for q := range 4 {
			both := x[4*i+q] ^ y[4*j+q]
			if p.and {
				both = x[4*i+q] & y[4*j+q]
			}
			out[e] += uint32(bits.OnesCount32(both))
		}
	}
}

// signedOf is the number that some low bits say.
func signedOf(v uint64, width int, signed bool) int64 {
	if signed {
		return int64(v<<(64-width)) >> (64 - width)
	}
	return int64(v)
}

func (p *wmma) addIntegers(r *Regs, a, b []int32, out []uint32) {
	for e := range out {
		i, j := e/p.c.Columns, e%p.c.Columns
		sum := int64(int32(out[e]))
		for k := range p.k {
			sum += signedOf(p.a.element(r, a, p.left(i, k)), p.a.Bits, p.typeA[0] == 's') *
				signedOf(p.b.element(r, b, p.right(k, j)), p.b.Bits, p.typeB[0] == 's')
		}
		if out[e] = uint32(sum); p.saturate {
			out[e] = uint32(saturate32(sum))
		}
	}
}

// floatOf is an element as float32.
func floatOf(v uint64, element string) float32 {
	switch element {
	case "f16":
		return math.Float32frombits(widen16(uint32(v)))
	case "bf16":
		return math.Float32frombits(uint32(v) << 16)
	case "tf32":
		return math.Float32frombits(uint32(v) &^ 0x1fff)
	}
	return math.Float32frombits(uint32(v))
}

// addFloats adds as mma does: the products of eight consecutive k as a tree, then to the accumulator.
func (p *wmma) addFloats(r *Regs, a, b []int32, out []uint32) {
	for i0 := 0; i0 < p.c.Rows; i0 += 16 {
		for j0 := 0; j0 < p.c.Columns; j0 += 8 {
			var sums [16][8]float32
			rows := min(16, p.c.Rows-i0)
			for i := range rows {
				for j := range 8 {
					sums[i][j] = floatOf(uint64(out[(i0+i)*p.c.Columns+j0+j]), p.typeC)
				}
			}
			for k0 := 0; k0 < p.k; k0 += 8 {
				var x [16][8]float32
				var y [8][8]float32
				for k := range 8 {
					for i := range rows {
						x[i][k] = floatOf(p.a.element(r, a, p.left(i0+i, k0+k)), p.typeA)
					}
					for j := range 8 {
						y[k][j] = floatOf(p.b.element(r, b, p.right(k0+k, j0+j)), p.typeB)
					}
				}
				addProducts(&sums, &x, &y)
			}
			for i := range rows {
				for j := range 8 {
					out[(i0+i)*p.c.Columns+j0+j] = p.rounded(sums[i][j])
				}
			}
		}
	}
}

// rounded is a sum as the result has it. With .satfinite it is no infinity.
func (p *wmma) rounded(sum float32) uint32 {
	v := bits32(sum)
	if p.typeD == "f16" {
		v = half(v)
		if p.saturate && v&0x7fff == 0x7c00 {
			v--
		}
		return v
	}
	if p.saturate && v&0x7fffffff == 0x7f800000 {
		v--
	}
	return v
}

// store puts an accumulator into the registers of the active lanes.
func (p *wmma) store(r *Regs, d []int32, values []uint32, active uint32) {
	each := p.d.Each()
	for n, reg := range d {
		to := &r.R32[reg]
		for l := range to {
			if active>>l&1 == 0 {
				continue
			}
			if p.d.Bits == 32 {
				to[l] = values[l*each+n]
			} else {
				to[l] = values[l*each+2*n] | values[l*each+2*n+1]<<16
			}
		}
	}
}

// double is the product of doubles, a chain of fma in ascending k.
func (p *wmma) double(r *Regs, d, a, b, c []int32, active uint32) {
	var sums [64]uint64
	for e := range sums {
		sum := math.Float64frombits(p.c.element(r, c, e))
		for k := range p.k {
			sum = math.FMA(math.Float64frombits(p.a.element(r, a, p.left(e/8, k))), math.Float64frombits(p.b.element(r, b, p.right(k, e%8))), sum)
		}
		sums[e] = bits64(sum)
	}
	for n, reg := range d {
		for l := range Lanes {
			if active>>l&1 != 0 {
				r.R64[reg][l] = sums[2*l+n&1]
			}
		}
	}
}
