package lane

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// layout says which element of a matrix is in register n, part e of a lane, as the tables of the PTX ISA do.
type layout func(lane, n, e int) (row, column int)

// The layouts are written down one by one; g is the group of four lanes, t the lane in it.
var layouts = map[string]struct{ a, b, c layout }{
	"m16n8k16.16": {
		func(l, n, e int) (int, int) {
			i := 2*n + e
			row, col := l/4, l%4*2+i%2
			if i == 2 || i == 3 || i == 6 || i == 7 {
				row += 8
			}
			if i >= 4 {
				col += 8
			}
			return row, col
		},
		func(l, n, e int) (int, int) { return l%4*2 + e + 8*n, l / 4 },
		func(l, n, e int) (int, int) { return l/4 + n/2*8, l%4*2 + n%2 },
	},
	"m16n8k8.16": {
		func(l, n, e int) (int, int) { return l/4 + 8*n, l%4*2 + e },
		func(l, _, e int) (int, int) { return l%4*2 + e, l / 4 },
		func(l, n, e int) (int, int) { return l/4 + n/2*8, l%4*2 + n%2 },
	},
	"m16n8k8.32": {
		func(l, n, _ int) (int, int) { return l/4 + n%2*8, l%4 + n/2*4 },
		func(l, n, _ int) (int, int) { return l%4 + 4*n, l / 4 },
		func(l, n, _ int) (int, int) { return l/4 + n/2*8, l%4*2 + n%2 },
	},
	"m16n8k4.32": {
		func(l, n, _ int) (int, int) { return l/4 + 8*n, l % 4 },
		func(l, _, _ int) (int, int) { return l % 4, l / 4 },
		func(l, n, _ int) (int, int) { return l/4 + n/2*8, l%4*2 + n%2 },
	},
	"m16n8k32.8": {
		func(l, n, e int) (int, int) {
			i := 4*n + e
			row, col := l/4, l%4*4+i&3
			if i >= 4 && i < 8 || i >= 12 {
				row += 8
			}
			if i >= 8 {
				col += 16
			}
			return row, col
		},
		func(l, n, e int) (int, int) { return l%4*4 + e + 16*n, l / 4 },
		func(l, n, _ int) (int, int) { return l/4 + n/2*8, l%4*2 + n%2 },
	},
	"m16n8k16.8": {
		func(l, n, e int) (int, int) { return l/4 + 8*n, l%4*4 + e },
		func(l, _, e int) (int, int) { return l%4*4 + e, l / 4 },
		func(l, n, _ int) (int, int) { return l/4 + n/2*8, l%4*2 + n%2 },
	},
	"m8n8k16.8": {
		func(l, _, e int) (int, int) { return l / 4, l%4*4 + e },
		func(l, _, e int) (int, int) { return l%4*4 + e, l / 4 },
		func(l, n, _ int) (int, int) { return l / 4, l%4*2 + n },
	},
	"m8n8k4.64": {
		func(l, _, _ int) (int, int) { return l / 4, l % 4 },
		func(l, _, _ int) (int, int) { return l % 4, l / 4 },
		func(l, n, _ int) (int, int) { return l / 4, l%4*2 + n },
	},
	"m16n8k16.64": {
		func(l, n, _ int) (int, int) {
			if n%2 == 0 {
				return l / 4, n*2 + l%4
			}
			return l/4 + 8, n*2 - 2 + l%4
		},
		func(l, n, _ int) (int, int) { return l%4 + 4*n, l / 4 },
		func(l, n, _ int) (int, int) { return l/4 + n/2*8, l%4*2 + n%2 },
	},
}

// mmaTest is a form with how its registers are filled.
type mmaTest struct {
	mods, layout string
	a, b, c      int // registers
	bits         int // of an element of A and B
	elementA     func(rng *rand.Rand) (bits uint64, value *big.Rat)
	elementB     func(rng *rand.Rand) (bits uint64, value *big.Rat)
	elementC     func(rng *rand.Rand) (bits uint64, value *big.Rat)
	packedC      bool
	check        func(got uint64, exact, magnitude *big.Rat) error
}

func floatElement(f format, shift int, scale float64) func(rng *rand.Rand) (uint64, *big.Rat) {
	return func(rng *rand.Rand) (uint64, *big.Rat) {
		x := refDouble(f, (rng.Float64()-0.5)*scale, "rn")
		v, _ := value(f, x)
		return x << shift, v
	}
}

func byteElement(signed bool) func(rng *rand.Rand) (uint64, *big.Rat) {
	return func(rng *rand.Rand) (uint64, *big.Rat) {
		x := rng.Uint64() & 255
		if signed {
			return x, new(big.Rat).SetInt64(int64(int8(x)))
		}
		return x, new(big.Rat).SetInt64(int64(x))
	}
}

func wordElement(rng *rand.Rand) (uint64, *big.Rat) {
	x := int32(rng.Uint32()) >> (rng.IntN(4) * 4)
	if rng.IntN(4) == 0 {
		x = math.MaxInt32 - int32(rng.IntN(1000))
	}
	return uint64(uint32(x)), new(big.Rat).SetInt64(int64(x))
}

// within is the bound that the table of opcodes states: k+2 units of 2^-23 of the magnitudes, half of a step of f16 more.
func within(f format, k int64) func(got uint64, exact, magnitude *big.Rat) error {
	return func(got uint64, exact, magnitude *big.Rat) error {
		v, ok := value(f, got)
		if !ok {
			return fmt.Errorf("%x is not a number", got)
		}
		bound := new(big.Rat).Mul(magnitude, big.NewRat(k+2, 1<<23))
		if f == formatF16 {
			bound.Add(bound, new(big.Rat).Mul(magnitude, big.NewRat(1, 1<<11)))
			bound.Add(bound, big.NewRat(1, 1<<25))
		}
		if d := new(big.Rat).Sub(v, exact); d.Abs(d).Cmp(bound) > 0 {
			return fmt.Errorf("%s is off by more than the bound from %s", v.FloatString(9), exact.FloatString(9))
		}
		return nil
	}
}

func wrapped(got uint64, exact, _ *big.Rat) error {
	if want := pattern(32, exact.Num()); got != want {
		return fmt.Errorf("%x, want %x", got, want)
	}
	return nil
}

func saturated(got uint64, exact, _ *big.Rat) error {
	if want := pattern(32, clampTo("s32", exact.Num())); got != want {
		return fmt.Errorf("%x, want %x", got, want)
	}
	return nil
}

func closeDouble(got uint64, exact, magnitude *big.Rat) error {
	v, _ := value(formatF64, got)
	if d := new(big.Rat).Sub(v, exact); d.Abs(d).Cmp(new(big.Rat).Mul(magnitude, big.NewRat(17, 1<<53))) > 0 {
		return fmt.Errorf("%x is too far from %s", got, exact.FloatString(20))
	}
	return nil
}

func mmaTests() []mmaTest {
	h, bf, w, d := floatElement(formatF16, 0, 4), floatElement(formatBF16, 0, 4), floatElement(formatF32, 0, 8), floatElement(formatF64, 0, 2)
	tf := floatElement(formatTF32, 13, 4)
	s, u := byteElement(true), byteElement(false)
	return []mmaTest{
		{"m16n8k16.row.col.f32.f16.f16.f32", "m16n8k16.16", 4, 2, 4, 16, h, h, w, false, within(formatF32, 16)},
		{"m16n8k16.row.col.f32.bf16.bf16.f32", "m16n8k16.16", 4, 2, 4, 16, bf, bf, w, false, within(formatF32, 16)},
		{"m16n8k16.row.col.f16.f16.f16.f16", "m16n8k16.16", 4, 2, 2, 16, h, h, h, true, within(formatF16, 16)},
		{"m16n8k8.row.col.f32.f16.f16.f32", "m16n8k8.16", 2, 1, 4, 16, h, h, w, false, within(formatF32, 8)},
		{"m16n8k8.row.col.f16.f16.f16.f16", "m16n8k8.16", 2, 1, 2, 16, h, h, h, true, within(formatF16, 8)},
		{"m16n8k8.row.col.f32.bf16.bf16.f32", "m16n8k8.16", 2, 1, 4, 16, bf, bf, w, false, within(formatF32, 8)},
		{"m16n8k8.row.col.f32.tf32.tf32.f32", "m16n8k8.32", 4, 2, 4, 32, tf, tf, w, false, within(formatF32, 8)},
		{"m16n8k4.row.col.f32.tf32.tf32.f32", "m16n8k4.32", 2, 1, 4, 32, tf, tf, w, false, within(formatF32, 4)},
		{"m16n8k32.row.col.s32.s8.s8.s32", "m16n8k32.8", 4, 2, 4, 8, s, s, wordElement, false, wrapped},
		{"m16n8k32.row.col.satfinite.s32.s8.s8.s32", "m16n8k32.8", 4, 2, 4, 8, s, s, wordElement, false, saturated},
		{"m16n8k32.row.col.s32.u8.s8.s32", "m16n8k32.8", 4, 2, 4, 8, u, s, wordElement, false, wrapped},
		{"m16n8k16.row.col.satfinite.s32.s8.u8.s32", "m16n8k16.8", 2, 1, 4, 8, s, u, wordElement, false, saturated},
		{"m8n8k16.row.col.s32.u8.u8.s32", "m8n8k16.8", 1, 1, 2, 8, u, u, wordElement, false, wrapped},
		{"m8n8k4.row.col.f64.f64.f64.f64", "m8n8k4.64", 1, 1, 2, 64, d, d, d, false, closeDouble},
		{"m16n8k8.row.col.f64.f64.f64.f64", "m16n8k8.32", 4, 2, 4, 64, d, d, d, false, closeDouble},
		{"m16n8k16.row.col.f64.f64.f64.f64", "m16n8k16.64", 8, 4, 4, 64, d, d, d, false, closeDouble},
	}
}

// text is the instruction with its registers.
func (c mmaTest) text() string {
	reg, at := "r", 0
	if c.bits == 64 {
		reg = "d"
	}
	group := func(n int) string {
		var list []string
		for range n {
			list = append(list, fmt.Sprintf("%%%s%d", reg, at))
			at++
		}
		return "{" + strings.Join(list, ",") + "}"
	}
	return "mma.sync.aligned." + c.mods + " " + group(c.c) + ", " + group(c.a) + ", " + group(c.b) + ", " + group(c.c) + ";"
}

// TestMatrixProducts fills the fragments element by element, and compares with exact sums of products.
func TestMatrixProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(60, 1))
	for _, c := range mmaTests() {
		v := newBench(t, c.text())
		per := max(1, 32/c.bits)
		place := layouts[c.layout]
		var a, b, sums [32][32]*big.Rat
		fill := func(regs []register, per, bits int, at layout, to *[32][32]*big.Rat, element func(rng *rand.Rand) (uint64, *big.Rat)) {
			for l := range Lanes {
				for n, r := range regs {
					word := uint64(0)
					for e := range per {
						x, exact := element(rng)
						word |= x << (bits * e)
						row, column := at(l, n, e)
						if to[row][column] != nil {
							t.Fatalf("%s: element %d, %d twice", c.mods, row, column)
						}
						to[row][column] = exact
					}
					v.put(r, l, word)
				}
			}
		}
		perC, bitsC, atC := 1, 32, place.c
		if c.packedC {
			perC, bitsC = 2, 16
			atC = func(l, n, e int) (int, int) { return place.c(l, 2*n+e, 0) }
		}
		for range 20 {
			a, b, sums = [32][32]*big.Rat{}, [32][32]*big.Rat{}, [32][32]*big.Rat{}
			fill(v.in[:c.a], per, c.bits, place.a, &a, c.elementA)
			fill(v.in[c.a:c.a+c.b], per, c.bits, place.b, &b, c.elementB)
			fill(v.in[c.a+c.b:], perC, bitsC, atC, &sums, c.elementC)
			if err := v.run(); err != nil {
				t.Fatal(err)
			}
			for l := range Lanes {
				for n, r := range v.out {
					for e := range perC {
						row, column := atC(l, n, e)
						exact, magnitude := new(big.Rat).Set(sums[row][column]), new(big.Rat).Abs(sums[row][column])
						for k := range 32 {
							if a[row][k] != nil {
								p := new(big.Rat).Mul(a[row][k], b[k][column])
								exact.Add(exact, p)
								magnitude.Add(magnitude, p.Abs(p))
							}
						}
						got := v.get(r, l)
						if c.packedC {
							got = got >> (16 * e) & 0xffff
						}
						if err := c.check(got, exact, magnitude); err != nil {
							t.Fatalf("%s: element %d, %d: %v", c.mods, row, column, err)
						}
					}
				}
			}
		}
	}
}

func TestMatrixProductsOfInfinitiesAndDenormals(t *testing.T) {
	v := newBench(t, mmaTests()[0].text())
	f32 := func(x float32) uint64 { return uint64(math.Float32bits(x)) }
	// Row 0 of A and column 0 of B, k 0 and 1, are in lane 0.
	for _, c := range []struct{ a, b, c, want uint64 }{
		{0x3c00, 0x7c00, 0, 0x7f800000},           // 1 * inf
		{0x0001, 0x3c00, 0, 0x33800000},           // 2^-24 * 1
		{0x83ff, 0x0001, 0, f32(-1023 * 0x1p-48)}, // denormals
		{0x7c00, 0x0000, 0x3f800000, 0x7fffffff},  // inf * 0
		{0x7e01, 0x3c00, 0, 0x7fffffff},           // NaN
		{0x7bff, 0x7bff, 0, f32(65504 * 65504)},
		{0x3c00, 0xbc00, 0x3f800000, 0},          // 1 - 1
		{0xfc00, 0x3c00, 0x7f800000, 0x7fffffff}, // inf - inf
	} {
		v.put(v.in[0], 0, c.a)
		v.put(v.in[4], 0, c.b)
		v.put(v.in[6], 0, c.c)
		if err := v.run(); err != nil {
			t.Fatal(err)
		}
		if got := v.get(v.out[0], 0); got != c.want {
			t.Errorf("%04x * %04x + %08x is %08x, want %08x", c.a, c.b, c.c, got, c.want)
		}
	}
	if err := v.form.Warp(&v.regs, &v.ops, 0x7fffffff); err == nil {
		t.Error("a product without lane 31 is no error")
	}
}

// TestProductsInAssemblyAreThoseInGo compares bit by bit, NaNs apart, which are made one later.
func TestProductsInAssemblyAreThoseInGo(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 1))
	for range 2000 {
		var a, c [16][8]float32
		var b [8][8]float32
		for _, rows := range [][][8]float32{a[:], b[:], c[:]} {
			for i := range rows {
				for j := range rows[i] {
					rows[i][j] = math.Float32frombits(rng.Uint32()&0x8fffffff | 0x30000000*uint32(rng.IntN(2)))
				}
			}
		}
		d := c
		addProducts(&c, &a, &b)
		addProductsInGo(&d, &a, &b)
		for i := range c {
			for j := range c[i] {
				if bits32(c[i][j]) != bits32(d[i][j]) {
					t.Fatalf("element %d, %d is %x, in Go %x", i, j, c[i][j], d[i][j])
				}
			}
		}
	}
}

// What is written in assembly loads and places every pattern of bits as its twin in Go does.
func TestRowsAreThoseOfGo(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	bitsOf := func(rows *[8][8]float32) (out [64]uint32) {
		for i := range out {
			out[i] = math.Float32bits(rows[i/8][i%8])
		}
		return out
	}
	for round := range 4000 {
		var x, y [Lanes]uint32
		for i := range x {
			x[i], y[i] = rng.Uint32(), rng.Uint32()
			if round%2 == 0 { // no infinity and no NaN, as a rule
				x[i] &= 0xbfffbfff
			}
		}
		if round < 64 { // one of them, anywhere
			x[round/2] |= 0x7c00 << (round % 2 * 16)
		}
		var got, want [8][8]float32
		a, b := rowsOfHalves(&got, &x), rowsOfHalvesInGo(&want, &x)
		if (a == 0) != (b == 0) || bitsOf(&got) != bitsOf(&want) {
			t.Fatalf("halves %x: %x, special %x; in Go %x, %x", x, bitsOf(&got), a, bitsOf(&want), b)
		}
		rowsOfBrains(&got, &x)
		rowsOfBrainsInGo(&want, &x)
		if bitsOf(&got) != bitsOf(&want) {
			t.Fatalf("brains %x: %x, in Go %x", x, bitsOf(&got), bitsOf(&want))
		}
		interleave(&got, &x, &y)
		interleaveInGo(&want, &x, &y)
		if bitsOf(&got) != bitsOf(&want) {
			t.Fatalf("%x and %x: %x, in Go %x", x, y, bitsOf(&got), bitsOf(&want))
		}
	}
}
