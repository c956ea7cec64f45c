package simt

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/simt/execute"
)

// wmmaCase is a product of fragments whose elements are small whole numbers, so that every sum is exact.
type wmmaCase struct {
	shape, a, b, c, d string
	mods              string // of the product
}

// Where the matrices lie in the array of these tests.
const (
	wmmaB     = 4096
	wmmaC     = 8192
	wmmaD     = 12288
	wmmaBytes = 16384
)

// wmmaBits are the bits of elements.
var wmmaBits = map[string]int{"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "f64": 64}

// patternOf is a small whole number as an element.
func patternOf(v int, element string) uint64 {
	switch element {
	case "f16":
		if v == 0 {
			return 0
		}
		bits := math.Float32bits(float32(v))
		return uint64(bits>>16&0x8000 | (bits>>13&0x3fc00+bits>>13&0x3ff-112<<10)&0x7fff)
	case "bf16":
		return uint64(math.Float32bits(float32(v)) >> 16)
	case "tf32", "f32":
		return uint64(math.Float32bits(float32(v)))
	case "f64":
		return math.Float64bits(float64(v))
	}
	return uint64(v) & (1<<wmmaBits[element] - 1)
}

// putElement writes an element of some bits at a number of elements.
func putElement(data []byte, at, bits int, v uint64) {
	switch {
	case bits < 8:
		data[at*bits/8] |= byte(v << (at * bits % 8))
	default:
		var all [8]byte
		binary.LittleEndian.PutUint64(all[:], v)
		copy(data[at*bits/8:], all[:bits/8])
	}
}

// wmmaText is a kernel that loads three fragments, multiplies and stores. Layouts are those of A, B, C and D, stride what follows the extents.
func wmmaText(c wmmaCase, layouts [4]string, strides [4]int, shared bool) string {
	bank := func(element string) string {
		if element == "f64" {
			return "rd"
		}
		return "r"
	}
	registers := func(n, first int, element string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("%%%sx%d", bank(element), first+i))
		}
		return "{" + strings.Join(list, ", ") + "}"
	}
	m, n, k := wmmaExtent(c.shape)
	count := func(elements int, element string) int {
		if element == "f16" && elements >= 0 {
			return 8
		}
		return max(1, max(elements, -elements)/32*wmmaBits[element]/max(32, wmmaBits[element]))
	}
	na, nb, nc, nd := count(m*k, c.a), count(k*n, c.b), count(-m*n, c.c), count(-m*n, c.d)
	space, base, prologue := ".global", "%rd1", ""
	if shared {
		space, base = ".shared", "%r20"
		prologue = fmt.Sprintf("\t.shared .align 128 .b8 tile[%d];\n\tmov.u32 %%r20, tile;\n\tshl.b32 %%r1, %%r31, 2;\nCOPY:\n\tcvt.u64.u32 %%rd2, %%r1;\n\tadd.s64 %%rd3, %%rd1, %%rd2;\n"+
			"\tld.global.u32 %%r2, [%%rd3];\n\tadd.u32 %%r3, %%r20, %%r1;\n\tst.shared.u32 [%%r3], %%r2;\n\tadd.u32 %%r1, %%r1, 128;\n\tsetp.lt.u32 %%p1, %%r1, %d;\n\t@%%p1 bra COPY;\n\tbar.warp.sync -1;\n", wmmaBytes, wmmaBytes)
	}
	stride := func(i int) string {
		if strides[i] == 0 {
			return ""
		}
		return fmt.Sprintf(", %d", strides[i])
	}
	var s strings.Builder
	s.WriteString("\t.reg .b32 %rx<80>;\n\t.reg .b64 %rdx<80>;\n" + prologue)
	load := func(what string, i, first, n, at int, element string) {
		fmt.Fprintf(&s, "\twmma.load.%s.sync.aligned.%s.%s%s.%s %s, [%s+%d]%s;\n", what, layouts[i], c.shape, space, element, registers(n, first, element), base, at, stride(i))
	}
	load("a", 0, 0, na, 0, c.a)
	load("b", 1, 20, nb, wmmaB, c.b)
	load("c", 2, 40, nc, wmmaC, c.c)
	types := strings.Join([]string{c.d, c.a, c.b, c.c}, ".")
	if c.a == "f16" {
		types = c.d + "." + c.c
	}
	before, after, _ := strings.Cut(c.mods, "|")
	fmt.Fprintf(&s, "\twmma.mma%s.sync.aligned.%s.%s.%s.%s%s %s, %s, %s, %s;\n", before, layouts[0], layouts[1], c.shape, types, after,
		registers(nd, 60, c.d), registers(na, 0, c.a), registers(nb, 20, c.b), registers(nc, 40, c.c))
	fmt.Fprintf(&s, "\twmma.store.d.sync.aligned.%s.%s.global.%s [%%rd1+%d], %s%s;\n", layouts[3], c.shape, c.d, wmmaD, registers(nd, 60, c.d), stride(3))
	return entry(s.String())
}

func wmmaExtent(shape string) (m, n, k int) {
	if _, err := fmt.Sscanf(shape, "m%dn%dk%d", &m, &n, &k); err != nil {
		panic(err)
	}
	return m, n, k
}

// TestFragmentsAndTheirProducts multiplies matrices of every shape and type in every layout, from global and from shared memory.
func TestFragmentsAndTheirProducts(t *testing.T) {
	var cases []wmmaCase
	for _, shape := range []string{"m16n16k16", "m32n8k16", "m8n32k16"} {
		for _, c := range []string{"f16", "f32"} {
			for _, d := range []string{"f16", "f32"} {
				cases = append(cases, wmmaCase{shape, "f16", "f16", c, d, ""})
			}
		}
		cases = append(cases, wmmaCase{shape, "bf16", "bf16", "f32", "f32", ""}, wmmaCase{shape, "s8", "u8", "s32", "s32", ""},
			wmmaCase{shape, "u8", "u8", "s32", "s32", "|.satfinite"}, wmmaCase{shape, "s8", "s8", "s32", "s32", ""})
	}
	cases = append(cases, wmmaCase{"m16n16k8", "tf32", "tf32", "f32", "f32", ""}, wmmaCase{"m8n8k4", "f64", "f64", "f64", "f64", ""},
		wmmaCase{"m8n8k4", "f64", "f64", "f64", "f64", "|.rn"}, wmmaCase{"m8n8k32", "s4", "u4", "s32", "s32", ""},
		wmmaCase{"m8n8k128", "b1", "b1", "s32", "s32", ".xor.popc"}, wmmaCase{"m8n8k128", "b1", "b1", "s32", "s32", ".and.popc"})
	rng := rand.New(rand.NewPCG(13, 3))
	for number, c := range cases {
		for layout := range 16 {
			var layouts [4]string
			for i := range layouts {
				layouts[i] = [2]string{"row", "col"}[layout>>i&1]
			}
			if wmmaBits[c.a] < 8 && (layouts[0] != "row" || layouts[1] != "col") {
				continue
			}
			tryFragments(t, rng, c, layouts, (number+layout)%2 == 0, layout%3 == 0)
		}
	}
}

func tryFragments(t *testing.T, rng *rand.Rand, c wmmaCase, layouts [4]string, shared, padded bool) {
	t.Helper()
	m, n, k := wmmaExtent(c.shape)
	data := make([]byte, wmmaBytes)
	extents := [4][2]int{{m, k}, {k, n}, {m, n}, {m, n}}
	var strides, widths [4]int
	for i, e := range extents {
		if widths[i] = e[1]; layouts[i] == "col" {
			widths[i] = e[0]
		}
		if padded {
			widths[i] += 128 / min(128, []int{wmmaBits[c.a], wmmaBits[c.b], wmmaBits[c.c], wmmaBits[c.d]}[i])
			strides[i] = widths[i]
		}
	}
	place := func(i, row, column int) int {
		if layouts[i] == "col" {
			return column*widths[i] + row
		}
		return row*widths[i] + column
	}
	fill := func(i, start int, element string) [][]int {
		low := -3
		if element[0] == 'u' || element == "b1" {
			low = 0
		}
		high := 4
		if element == "b1" {
			high = 2
		}
		list := make([][]int, extents[i][0])
		for row := range list {
			list[row] = make([]int, extents[i][1])
			for column := range list[row] {
				v := low + rng.IntN(high-low)
				list[row][column] = v
				putElement(data[start:], place(i, row, column), wmmaBits[element], patternOf(v, element))
			}
		}
		return list
	}
	a, b, sums := fill(0, 0, c.a), fill(1, wmmaB, c.b), fill(2, wmmaC, c.c)
	text := wmmaText(c, layouts, strides, shared)
	r := mustRun(t, text, testLaunch(1, 32, data, 0))
	if len(r.Findings) > 0 {
		t.Fatalf("%v %v: findings %v\n%s", c, layouts, r.Findings, text)
	}
	for i := range m {
		for j := range n {
			want := sums[i][j]
			for x := range k {
				switch {
				case c.a != "b1":
					want += a[i][x] * b[x][j]
				case strings.HasPrefix(c.mods, ".and"):
					want += a[i][x] & b[x][j]
				default:
					want += a[i][x] ^ b[x][j]
				}
			}
			bits := wmmaBits[c.d]
			var got [8]byte
			copy(got[:], data[wmmaD+place(3, i, j)*bits/8:][:bits/8])
			if v := binary.LittleEndian.Uint64(got[:]); v != patternOf(want, c.d) {
				t.Fatalf("%v %v shared %t padded %t: element %d, %d is %x, want %x (%d)", c, layouts, shared, padded, i, j, v, patternOf(want, c.d), want)
			}
		}
	}
}

func TestFragmentsAreChecked(t *testing.T) {
	list := "{%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}"
	for name, c := range map[string]struct {
		body string
		size int
		want execute.Check
	}{
		"beyond the end":     {"\twmma.load.a.sync.aligned.row.m16n16k16.global.f16 " + list + ", [%rd1], 16;", 500, "out-of-bounds"},
		"a part of the warp": {"\tsetp.lt.u32 %p1, %r31, 7;\n\t@%p1 wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " + list + ", [%rd1], 16;", 512, "convergence"},
		"not written":        {"\t.shared .align 128 .b8 tile[512];\n\twmma.load.a.sync.aligned.row.m16n16k16.shared.f16 " + list + ", [tile];", 512, "uninitialised-shared"},
		"misaligned":         {"\twmma.load.a.sync.aligned.row.m16n16k16.global.f16 " + list + ", [%rd1+8], 16;", 1024, "misaligned"},
	} {
		r := mustRun(t, entry(c.body), testLaunch(1, 32, make([]byte, c.size), 0))
		if len(r.Findings) == 0 || r.Findings[0].Check != c.want {
			t.Errorf("%s: findings %v, want %s", name, r.Findings, c.want)
		}
	}
	for _, text := range []string{
		"wmma.load.a.sync.aligned.row.m16n16k8.global.f16 " + list + ", [%rd1]", "wmma.mma.sync.aligned.row.row.m8n8k32.s32.s4.s4.s32 {%r1, %r2}, {%r3}, {%r4}, {%r5, %r6}",
		"wmma.load.b.sync.aligned.row.m8n8k128.global.b1 {%r1}, [%rd1]", "wmma.mma.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%r1, %r2}, {%r3}, {%r4}, {%r5, %r6}",
		"wmma.store.d.sync.aligned.row.m16n16k16.global.bf16 [%rd1], {%r1, %r2, %r3, %r4}",
	} {
		if mustLoad(t, entry("\t"+text+";")).Check("k") == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
