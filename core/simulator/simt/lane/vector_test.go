package lane

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// narrowly decodes without vectors of 256 bits.
func narrowly(t testing.TB, text string) Form {
	t.Helper()
	defer func(before bool) { wide = before }(wide)
	wide = false
	in, fn := instruction(t, text)
	f, err := Decode(in, fn)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// wideMMATests are all products that are also written for vectors of 256 bits, by their modifiers: bits of an element, registers of A, B, C.
var wideMMATests = []struct {
	mods    string
	bits    int
	a, b, c int
}{
	{"m16n8k16.row.col.f32.f16.f16.f32", 16, 4, 2, 4},
	{"m16n8k8.row.col.f32.f16.f16.f32", 16, 2, 1, 4},
	{"m16n8k16.row.col.f16.f16.f16.f16", 16, 4, 2, 2},
	{"m16n8k8.row.col.f16.f16.f16.f16", 16, 2, 1, 2},
	{"m16n8k16.row.col.f32.bf16.bf16.f32", 16, 4, 2, 4},
	{"m16n8k8.row.col.f32.bf16.bf16.f32", 16, 2, 1, 4},
	{"m16n8k8.row.col.f32.tf32.tf32.f32", 32, 4, 2, 4},
	{"m16n8k4.row.col.f32.tf32.tf32.f32", 32, 2, 1, 4},
	{"m16n8k32.row.col.s32.s8.s8.s32", 8, 4, 2, 4},
	{"m16n8k32.row.col.satfinite.s32.s8.u8.s32", 8, 4, 2, 4},
	{"m16n8k32.row.col.satfinite.s32.u8.s8.s32", 8, 4, 2, 4},
	{"m16n8k16.row.col.s32.u8.u8.s32", 8, 2, 1, 4},
	{"m16n8k16.row.col.satfinite.s32.s8.s8.s32", 8, 2, 1, 4},
	{"m8n8k16.row.col.s32.s8.u8.s32", 8, 1, 1, 2},
	{"m8n8k16.row.col.satfinite.s32.u8.s8.s32", 8, 1, 1, 2},
	{"m8n8k32.row.col.s32.s4.s4.s32", 4, 1, 1, 2},
	{"m8n8k32.row.col.satfinite.s32.u4.s4.s32", 4, 1, 1, 2},
	{"m16n8k32.row.col.s32.s4.u4.s32", 4, 2, 1, 4},
	{"m16n8k64.row.col.s32.u4.u4.s32", 4, 4, 2, 4},
	{"m16n8k64.row.col.satfinite.s32.s4.s4.s32", 4, 4, 2, 4},
	{"m8n8k4.row.col.f64.f64.f64.f64", 64, 1, 1, 2},
	{"m16n8k4.row.col.f64.f64.f64.f64", 64, 2, 1, 4},
	{"m16n8k8.row.col.f64.f64.f64.f64", 64, 4, 2, 4},
	{"m16n8k16.row.col.f64.f64.f64.f64", 64, 8, 4, 4},
}

// awkward are patterns of one element: infinities, NaNs with and without payloads, zeros, denormals, the largest and the least.
var awkward = map[int][]uint64{
	4:  {0, 1, 7, 8, 15},
	8:  {0, 1, 0x7f, 0x80, 0xff},
	16: {0, 0x8000, 1, 0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e01, 0xfd23, 0x3c00, 0x7f80, 0xff80, 0x7f81, 0x0080, 0x7f7f, 0x3f80},
	32: {
		0, 1 << 31, 1, 0x1fff, 0x2000, 0x7f800000, 0xff800000, 0x7fc12345, 0xffa00001, 0x7f7fe000, 0xff7fffff, 0x00800000, 0x3f800000, 0x7fffffff,
		0x80000000, 0x7ffffff0, 0x80000100, 0x20000000, 0x5f000000,
	},
	64: {
		0, 1 << 63, 1, 0x7ff0 << 48, 0xfff0 << 48, 0x7ff8<<48 | 5, 0xfff4<<48 | 9, 0x7fef<<48 | 0xffffffffffff, 0x3ff0 << 48, 0x0010 << 48, 0x5fe0 << 48,
		0x1ff0 << 48,
	},
}

// packWord is a word of elements as choose makes them.
func packWord(bits, width int, choose func() uint64) (v uint64) {
	for at := 0; at < width; at += bits {
		v |= (choose() & (1<<bits - 1)) << at
	}
	return v
}

// fillProduct gives all registers of a product values of a kind: plain numbers, any patterns, or awkward ones among them.
func fillProduct(r *Regs, bits, kind int, rng *rand.Rand) {
	choose := func(bits int) func() uint64 {
		return func() uint64 {
			switch {
			case kind == 1 || bits < 16:
				return rng.Uint64()
			case kind == 2 && rng.IntN(4) == 0:
				return awkward[bits][rng.IntN(len(awkward[bits]))]
			}
			x := (rng.Float64() - 0.5) * math.Exp2(float64(rng.IntN(20)-10))
			switch bits {
			case 16:
				return uint64(half(math.Float32bits(float32(x))))
			case 32:
				return uint64(math.Float32bits(float32(x)))
			}
			return math.Float64bits(x)
		}
	}
	for i := range r.R32 {
		element := bits
		if i%3 == 0 && bits < 16 {
			element = 32 // accumulators among them
		}
		for l := range r.R32[i] {
			r.R32[i][l] = uint32(packWord(element, 32, choose(element)))
		}
	}
	for i := range r.R64 {
		for l := range r.R64[i] {
			r.R64[i][l] = choose(64)()
		}
	}
}

// TestWideProductsAreTheNarrowOnes compares all bits of all registers, with registers of their own and with some that are operands twice.
func TestWideProductsAreTheNarrowOnes(t *testing.T) {
	if !wide {
		t.Skip("this processor has no AVX2")
	}
	rng := rand.New(rand.NewPCG(90, 1))
	for _, c := range wideMMATests {
		text := mmaTest{mods: c.mods, bits: c.bits, a: c.a, b: c.b, c: c.c}.text()
		in, fn := instruction(t, text)
		form, err := Decode(in, fn)
		if err != nil {
			t.Fatal(err)
		}
		slow := narrowly(t, text)
		for round := range 99 {
			fast, reference := benchOf(form), benchOf(slow)
			fillProduct(&fast.regs, c.bits, round%3, rng)
			if round%5 == 4 { // accumulators or factors in place, or in another's place
				shuffleOperands(fast, rng)
			}
			reference.ops = fast.ops
			copy(reference.regs.R32, fast.regs.R32)
			copy(reference.regs.R64, fast.regs.R64)
			active := ^uint32(0)
			if round%11 == 10 {
				active = rng.Uint32()
			}
			_ = form.Warp(&fast.regs, &fast.ops, active)
			_ = slow.Warp(&reference.regs, &reference.ops, active)
			if got := differing(&fast.regs, &reference.regs); got != "" {
				t.Fatalf("%s, round %d: %s", c.mods, round, got)
			}
		}
	}
}

// shuffleOperands makes results stand where operands do.
func shuffleOperands(b *bench, rng *rand.Rand) {
	n := len(b.out)
	for i, at := range rng.Perm(len(b.ops.Vec) - n)[:min(n, len(b.ops.Vec)-n)] {
		b.ops.Vec[i] = b.ops.Vec[n+at]
	}
}

func differing(a, b *Regs) string {
	var said []string
	for i := range a.R32 {
		for l := range a.R32[i] {
			if a.R32[i][l] != b.R32[i][l] {
				said = append(said, fmt.Sprintf("register %d lane %d: %08x, want %08x", i, l, a.R32[i][l], b.R32[i][l]))
			}
		}
	}
	for i := range a.R64 {
		for l := range a.R64[i] {
			if a.R64[i][l] != b.R64[i][l] {
				said = append(said, fmt.Sprintf("register %d lane %d: %016x, want %016x", i, l, a.R64[i][l], b.R64[i][l]))
			}
		}
	}
	return strings.Join(said[:min(len(said), 3)], "; ")
}

// withoutKey are the loops in Go that have no key, by those of their twins.
var withoutKey = map[string]Func{
	"mov.32": mov32, "mov.64": mov64, "selp.32": selp32, "selp.64": selp64, "pack.16": packParts(R32, 16), "unpack.16": unpackParts(R32, 16),
}

// fillLoops gives registers for loops values: small numbers, such as shifts have, floats, awkward patterns.
func fillLoops(r *Regs, kind int, rng *rand.Rand) {
	fillProduct(r, 32, kind%3, rng)
	for i := range r.R32 {
		for l := range r.R32[i] {
			switch kind % 5 {
			case 3:
				r.R32[i][l] = uint32(rng.IntN(70))
			case 4:
				r.R32[i][l] &= 0xffff
			}
		}
	}
	for i := range r.P {
		r.P[i] = rng.Uint32()
	}
}

// TestLoopsWithVectorsAreThoseInGo compares every loop with vectors with the one in Go that it takes the place of, also where results
// stand in the place of operands.
func TestLoopsWithVectorsAreThoseInGo(t *testing.T) {
	if !wide {
		t.Skip("this processor has no AVX2")
	}
	rng := rand.New(rand.NewPCG(91, 1))
	pick := func() int32 { return int32(rng.IntN(5)) }
	for key, fast := range wideLoops {
		slow := allLoops[key]
		if slow == nil {
			slow = withoutKey[key]
		}
		if slow == nil {
			t.Errorf("%s takes the place of nothing", key)
			continue
		}
		for round := range 150 {
			var a, b Regs
			for _, r := range []*Regs{&a, &b} {
				r.R32, r.R64, r.P = make([][Lanes]uint32, 5), make([][Lanes]uint64, 5), make([]uint32, 5)
			}
			fillLoops(&a, round, rng)
			copy(b.R32, a.R32)
			copy(b.R64, a.R64)
			copy(b.P, a.P)
			o := Operands{D: pick(), D2: pick(), A: pick(), B: pick(), C: pick(), Vec: []int32{0, 1, pick()}}
			if key == "pack.16" {
				o.Vec = []int32{pick(), pick(), pick()}
			}
			fast(&a, &o)
			slow(&b, &o)
			if got := differing(&a, &b); got != "" {
				t.Fatalf("%s %+v, round %d: %s", key, o, round, got)
			}
		}
	}
}

// TestComparisonsWithVectorsAreThoseInGo is the same for comparisons.
func TestComparisonsWithVectorsAreThoseInGo(t *testing.T) {
	if !wide {
		t.Skip("this processor has no AVX2")
	}
	rng := rand.New(rand.NewPCG(92, 1))
	for key, fast := range wideCompares {
		slow := allCompares[key]
		if slow == nil {
			t.Errorf("%s takes the place of nothing", key)
			continue
		}
		for round := range 150 {
			r := Regs{R32: make([][Lanes]uint32, 2)}
			fillLoops(&r, round, rng)
			for l := range Lanes {
				if rng.IntN(3) == 0 {
					r.R32[1][l] = r.R32[0][l]
				}
			}
			if got, want := fast(&r, 0, 1), slow(&r, 0, 1); got != want {
				t.Fatalf("%s, round %d: %08x, want %08x, of %08x and %08x", key, round, got, want, r.R32[0], r.R32[1])
			}
		}
	}
}
