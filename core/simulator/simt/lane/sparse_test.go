package lane

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/testing/sweep"
)

// sparseTest is a form of mma.sp. Where its elements are follows the PTX ISA, "Matrix fragments for multiply-accumulate operation with
// sparse matrix A" (rows and columns of the fragments are in its text), and agrees with others that were made to run on GPUs:
//
//   - elements of A and B of every form: the fragments that TileLang loads (mma_sp_layout.py), those of MLIR's test of m16n8k32 on an sm_80;
//   - what four bits of metadata mean, of all four kinds of elements: how CUTLASS expands a matrix for its reference (host_uncompress.h);
//   - which lane has which metadata: the manual shows it in figures only. m16n8k32 of f16 and m16n8k16 of tf32: what MLIR's test loads, and how
//     CUTLASS orders metadata for ldmatrix (reorder_meta in host_reorder.h), whose rows of four words go to four lanes; m16n8k64 of s8 and m16n8k128 of s4:
//     reorder_meta again, and TileLang's metadata_32bit_load_32x1_to_shared_16x2_layout_8bit, and the layouts of the same shapes of sm_120 in CuTe
//     (mma_traits_sm120_sparse.hpp); m16n8k16 of f16 and m16n8k8 of tf32: the test of TVM's tirx_harness. All of these and m16n8k32 of s8: the layouts of a
//     fork of CuTe for sm_80 (mma_traits_sm80_sparse.hpp).
//
// Of m16n8k64 of s4 that fork alone says it, of what it had not run: it is refused.
type sparseTest struct {
	mods      string
	registers int // of A and of B each
	bits      int // of an element
	selector  int
	owner     func(group, row, chunk int) (lane, bit int)
	elementA  func(rng *rand.Rand) (bits uint64, value *big.Rat)
	elementB  func(rng *rand.Rand) (bits uint64, value *big.Rat)
	elementC  func(rng *rand.Rand) (bits uint64, value *big.Rat)
	packedC   bool
	check     func(got uint64, exact, magnitude *big.Rat) error
}

// one, two and all are the lanes of a group of four that have the metadata.
func one(selector int) func(group, row, chunk int) (int, int) {
	return func(group, row, chunk int) (int, int) { return 4*group + selector, 16*row + 4*chunk }
}

func two(selector int) func(group, row, chunk int) (int, int) {
	return func(group, row, chunk int) (int, int) {
		return 4*group + 2*selector + chunk/4, 16*row + 4*(chunk%4)
	}
}

func twoRows(selector int) func(group, row, chunk int) (int, int) {
	return func(group, row, chunk int) (int, int) { return 4*group + 2*selector + row, 4 * chunk }
}

func all(group, row, chunk int) (int, int) { return 4*group + 2*(chunk/8) + row, 4 * (chunk % 8) }

func sparseTests() (list []sparseTest) {
	h, bf, w := floatElement(formatF16, 0, 4), floatElement(formatBF16, 0, 4), floatElement(formatF32, 0, 8)
	tf, s, u := floatElement(formatTF32, 13, 4), byteElement(true), byteElement(false)
	small := func(signed bool) func(rng *rand.Rand) (uint64, *big.Rat) {
		return func(rng *rand.Rand) (uint64, *big.Rat) {
			x := rng.Uint64() & 15
			if signed && x > 7 {
				return x, new(big.Rat).SetInt64(int64(x) - 16)
			}
			return x, new(big.Rat).SetInt64(int64(x))
		}
	}
	for selector := range 4 {
		list = append(
			list,
			sparseTest{"m16n8k16.row.col.f32.f16.f16.f32", 2, 16, selector, one(selector), h, h, w, false, within(formatF32, 8)},
			sparseTest{"m16n8k16.row.col.f16.f16.f16.f16", 2, 16, selector, one(selector), h, h, h, true, within(formatF16, 8)},
			sparseTest{"m16n8k16.row.col.f32.bf16.bf16.f32", 2, 16, selector, one(selector), bf, bf, w, false, within(formatF32, 8)},
			sparseTest{"m16n8k8.row.col.f32.tf32.tf32.f32", 2, 32, selector, one(selector), tf, tf, w, false, within(formatF32, 4)},
		)
	}
	for selector := range 2 {
		list = append(
			list,
			sparseTest{"m16n8k32.row.col.f32.f16.f16.f32", 4, 16, selector, two(selector), h, h, w, false, within(formatF32, 16)},
			sparseTest{"m16n8k32.row.col.f16.f16.f16.f16", 4, 16, selector, two(selector), h, h, h, true, within(formatF16, 16)},
			sparseTest{"m16n8k32.row.col.f32.bf16.bf16.f32", 4, 16, selector, two(selector), bf, bf, w, false, within(formatF32, 16)},
			sparseTest{"m16n8k16.row.col.f32.tf32.tf32.f32", 4, 32, selector, two(selector), tf, tf, w, false, within(formatF32, 8)},
			sparseTest{"m16n8k32.row.col.s32.s8.u8.s32", 2, 8, selector, twoRows(selector), s, u, wordElement, false, wrapped},
			sparseTest{"m16n8k32.row.col.satfinite.s32.s8.s8.s32", 2, 8, selector, twoRows(selector), s, s, wordElement, false, saturated},
		)
	}
	return append(
		list,
		sparseTest{"m16n8k64.row.col.s32.s8.s8.s32", 4, 8, 0, all, s, s, wordElement, false, wrapped},
		sparseTest{"m16n8k64.row.col.satfinite.s32.u8.s8.s32", 4, 8, 0, all, u, s, wordElement, false, saturated},
		sparseTest{"m16n8k64.row.col.s32.s8.u8.s32.satfinite", 4, 8, 0, all, s, u, wordElement, false, saturated},
		sparseTest{"m16n8k128.row.col.s32.s4.s4.s32", 4, 4, 0, all, small(true), small(true), wordElement, false, wrapped},
		sparseTest{"m16n8k128.row.col.satfinite.s32.u4.s4.s32", 4, 4, 0, all, small(false), small(true), wordElement, false, saturated},
	)
}

// text is the instruction with its registers.
func (c *sparseTest) text(variant string) string {
	at := 0
	group := func(n int) string {
		var list []string
		for range n {
			list = append(list, fmt.Sprintf("%%r%d", at))
			at++
		}
		return "{" + strings.Join(list, ",") + "}"
	}
	n := 4
	if c.packedC {
		n = 2
	}
	return fmt.Sprintf("mma.%s.sync.aligned.%s %s, %s, %s, %s, %%r%d, %d;", variant, c.mods, group(n), group(c.registers), group(c.registers), group(n), at, c.selector)
}

// codesOf are the places that one chunk may name, as metadata and as a list: of the elements of A that the chunk has among those of the row.
func codesOf(bits int, ordered bool) (codes []uint32, places [][]int) {
	if bits == 32 {
		return []uint32{0b0100, 0b1110}, [][]int{{0}, {1}}
	}
	for first := range 4 {
		for second := range 4 {
			if first == second || ordered && first > second {
				continue
			}
			codes = append(codes, uint32(second<<2|first))
			if bits == 4 {
				places = append(places, []int{2 * first, 2*first + 1, 2 * second, 2*second + 1})
			} else {
				places = append(places, []int{first, second})
			}
		}
	}
	return codes, places
}

// TestSparseProductsAreThoseOfTheExpandedMatrix fills the fragments element by element, expands A, and compares with exact sums of products.
func TestSparseProductsAreThoseOfTheExpandedMatrix(t *testing.T) {
	rng := rand.New(rand.NewPCG(62, 1))
	for _, c := range sparseTests() {
		for _, variant := range []string{"sp", "sp::ordered_metadata"} {
			c.compare(t, rng, variant)
		}
	}
}

func (c *sparseTest) compare(t *testing.T, rng *rand.Rand, variant string) {
	t.Helper()
	in, fn := instruction(t, c.text(variant))
	form, err := Decode(in, fn)
	if err != nil {
		t.Fatalf("%s: %v", c.text(variant), err)
	}
	v := benchOf(form)
	v.fill(in)
	per, codes, places := 32/c.bits, []uint32(nil), [][]int(nil)
	codes, places = codesOf(c.bits, variant != "sp")
	chunk := len(places[0]) // elements of A in it
	width := c.registers * 4 * per
	for range sweep.Of(3, 10) {
		var a, b, sums [16][128]*big.Rat
		metadata := v.in[len(v.in)-2]
		for l := range Lanes { // of lanes that have none it does not count
			v.put(metadata, l, rng.Uint64())
		}
		var chosen [16][32]int
		for row := range 16 {
			for i := range width / 2 / chunk {
				chosen[row][i] = rng.IntN(len(codes))
				l, bit := c.owner(row%8, row/8, i)
				v.put(metadata, l, v.get(metadata, l)&^(15<<bit)|uint64(codes[chosen[row][i]])<<bit)
			}
		}
		for l := range Lanes {
			for n, r := range v.in[:c.registers] {
				word := uint64(0)
				for e := range per {
					x, exact := c.elementA(rng)
					word |= x << (c.bits * e)
					row, firstColumn := l/4+n%2*8, l%4*2*per+n/2*8*per // as the text of the manual has it
					at := firstColumn/2 + e                            // among the elements that are there
					a[row][at/chunk*2*chunk+places[chosen[row][at/chunk]][at%chunk]] = exact
				}
				v.put(r, l, word)
			}
			for n, r := range v.in[c.registers : 2*c.registers] {
				word := uint64(0)
				for e := range per {
					x, exact := c.elementB(rng)
					word |= x << (c.bits * e)
					b[l/4][4*per*n+l%4*per+e] = exact
				}
				v.put(r, l, word)
			}
		}
		perC, bitsC := 1, 32
		if c.packedC {
			perC, bitsC = 2, 16
		}
		placeC := func(l, i int) (row, column int) { return l/4 + i/2*8, l%4*2 + i%2 }
		for l := range Lanes {
			for n, r := range v.in[2*c.registers : len(v.in)-2] {
				word := uint64(0)
				for e := range perC {
					x, exact := c.elementC(rng)
					word |= x << (bitsC * e)
					row, column := placeC(l, n*perC+e)
					sums[row][column] = exact
				}
				v.put(r, l, word)
			}
		}
		if err := v.run(); err != nil {
			t.Fatalf("%s: %v", c.mods, err)
		}
		for l := range Lanes {
			for n, r := range v.out {
				for e := range perC {
					row, column := placeC(l, n*perC+e)
					exact, magnitude := new(big.Rat).Set(sums[row][column]), new(big.Rat).Abs(sums[row][column])
					for k := range width {
						if a[row][k] != nil {
							p := new(big.Rat).Mul(a[row][k], b[column][k])
							exact.Add(exact, p)
							magnitude.Add(magnitude, p.Abs(p))
						}
					}
					if err := c.check(v.get(r, l)>>(bitsC*e)&(1<<bitsC-1), exact, magnitude); err != nil {
						t.Fatalf("%s, selector %d: element %d, %d: %v", c.mods, c.selector, row, column, err)
					}
				}
			}
		}
	}
}

// What stands in B where A has no element does not count: an infinity there makes no NaN.
// CUTLASS writes .satfinite at the end.
func TestSatfiniteMayStandAtTheEnd(t *testing.T) {
	v := newBench(t, "mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32.satfinite {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r6}, {%r0,%r1,%r2,%r3};")
	for l := range Lanes {
		for i, r := range v.in {
			v.put(r, l, []uint64{0x01010101, 0x01010101, 0x01010101, 0x7ffffff8, 0x7ffffff0, 0x7fffffef, 5}[i])
		}
	}
	if err := v.run(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{0x7fffffff, 0x7fffffff, 0x7fffffff, 21} {
		if got := v.get(v.out[i], 9); got != want {
			t.Errorf("register %d is %x, want %x", i, got, want)
		}
	}
}

func TestSparseProductsLookAtNoOtherElements(t *testing.T) {
	c := sparseTests()[0]
	v := newBench(t, c.text("sp"))
	for l := range Lanes {
		for _, r := range v.in[:2] {
			v.put(r, l, 0x3c003c00)
		}
		v.put(v.in[2], l, 0x7c003c00) // rows 0, 2, 4 and 6 of B are ones, the odd ones infinities
		v.put(v.in[3], l, 0x7c003c00)
		v.put(v.in[8], l, 0x88888888) // elements 0 and 2
	}
	if err := v.run(); err != nil {
		t.Fatal(err)
	}
	for l := range Lanes {
		for _, r := range v.out {
			if got := v.get(r, l); got != 0x41000000 {
				t.Fatalf("lane %d has %08x, want 8", l, got)
			}
		}
	}
}

func TestMetadataThatNamesNoPlacesIsAnError(t *testing.T) {
	for _, c := range []struct {
		form    int
		variant string
		code    uint64
		wrong   bool
	}{
		{0, "sp", 0b0101, true},
		{0, "sp", 0b0001, false}, // second before first
		{0, "sp::ordered_metadata", 0b0001, true},
		{0, "sp::ordered_metadata", 0b0100, false},
		{3, "sp", 0b1110, false},
		{3, "sp", 0b1000, true},
	} {
		v := newBench(t, sparseTests()[c.form].text(c.variant))
		for l := range Lanes {
			v.put(v.in[len(v.in)-2], l, 0x44444444)
		}
		v.put(v.in[len(v.in)-2], 8, 0x44444444&^(15<<20)|c.code<<20)
		err := v.run()
		if bad := (*MetadataError)(nil); errors.As(err, &bad) != c.wrong || c.wrong && (bad.Lanes != 1<<8 || !strings.Contains(bad.Error(), "bits 20 to 23 of the metadata of lane 8")) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Where the metadata of some forms is has no second source, and some selectors name no lanes.
func TestSparseFormsThatAreRefused(t *testing.T) {
	four, two := "{%r0,%r1,%r2,%r3}", "{%r4,%r5}"
	for _, text := range []string{
		"mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 " + four + "," + two + "," + two + "," + four + ",%r6,2;",
		"mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 " + four + "," + two + "," + two + "," + four + ",%r6,0;",
		"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + four + "," + two + "," + two + "," + four + ",%r6,4;",
		"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + four + "," + two + "," + two + "," + four + ",%r6,%r7;",
		"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 " + four + "," + four + "," + four + "," + four + ",%r6,2;",
		"mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 " + four + "," + four + "," + four + "," + four + ",%r6,1;",
		"mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s4.s32 " + four + "," + four + "," + four + "," + four + ",%r6,0;",
		"mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32 " + four + "," + four + "," + four + "," + four + ",%r6,0;",
	} {
		in, fn := instruction(t, text)
		if _, err := Decode(in, fn); err == nil {
			t.Errorf("%s is executed", text)
		}
	}
}
