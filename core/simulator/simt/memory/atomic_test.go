package memory_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// atomically does one atomic on a value in memory and returns what it left, and the old value that lane 0 saw.
func atomically(t *testing.T, space ptx.Space, op memory.AtomicOp, elem int, a, b, c uint64) (left, old uint64) {
	t.Helper()
	p := make([]byte, 8)
	binary.LittleEndian.PutUint64(p, a)
	g, err := memory.NewGlobal([]memory.Allocation{{Name: "p", Host: 1 << 20, Bytes: p}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := memory.NewBlock(g, memory.Shape{Warps: 1, Shared: 8})
	if err != nil {
		t.Fatal(err)
	}
	r, tr := registers(), vector(space, elem, 1)
	r.R64[0][0] = g.Pointer(0, 1<<20)
	if space == ptx.Shared {
		r.R64[0][0], r.R64[10][0], r.R32[10][0] = 0, a, uint32(a)
		store := *tr
		store.Regs[0] = 10
		clean(t, m.Store(r, &store, 0, 1))
	}
	r.R64[10][0], r.R32[10][0], r.R64[20][0], r.R32[20][0] = b, uint32(b), c, uint32(c)
	clean(t, m.Atomic(r, tr, &op, 0, 1))
	old = uint64(r.R32[1][0])
	if elem == 8 {
		old = r.R64[1][0]
	}
	clean(t, m.Load(r, &memory.Transfer{Space: space, Elem: elem, Count: 1, Regs: [8]int32{2}}, 0, 1))
	left = uint64(r.R32[2][0])
	if elem == 8 {
		left = r.R64[2][0]
	}
	return left, old
}

var integerTypes = []struct {
	t      ptx.Type
	bits   uint
	signed bool
}{{ptx.U32, 32, false}, {ptx.S32, 32, true}, {ptx.B32, 32, false}, {ptx.U64, 64, false}, {ptx.S64, 64, true}, {ptx.B64, 64, false}}

// integerAtomic is what the PTX ISA says in numbers without width.
func integerAtomic(kind memory.AtomicKind, a, b, c *big.Int) *big.Int {
	one := big.NewInt(1)
	switch kind {
	case memory.Add:
		return new(big.Int).Add(a, b)
	case memory.Min:
		if a.Cmp(b) < 0 {
			return a
		}
		return b
	case memory.Max:
		if a.Cmp(b) > 0 {
			return a
		}
		return b
	case memory.And:
		return new(big.Int).And(a, b)
	case memory.Or:
		return new(big.Int).Or(a, b)
	case memory.Xor:
		return new(big.Int).Xor(a, b)
	case memory.Inc:
		if a.Cmp(b) >= 0 {
			return new(big.Int)
		}
		return new(big.Int).Add(a, one)
	case memory.Dec:
		if a.Sign() == 0 || a.Cmp(b) > 0 {
			return b
		}
		return new(big.Int).Sub(a, one)
	case memory.CAS:
		if a.Cmp(b) == 0 {
			return c
		}
		return a
	}
	return b
}

func TestIntegerAtomicsEqualBigIntegers(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	edges := []uint64{0, 1, 2, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1<<63 - 1, 1 << 63, ^uint64(0), ^uint64(0) - 1}
	pick := func() uint64 {
		if random.IntN(2) == 0 {
			return edges[random.IntN(len(edges))]
		}
		return random.Uint64() >> random.IntN(64)
	}
	for _, ty := range integerTypes {
		number := func(v uint64) *big.Int {
			v = v << (64 - ty.bits) >> (64 - ty.bits)
			n := new(big.Int).SetUint64(v)
			if ty.signed && v>>(ty.bits-1) != 0 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), ty.bits))
			}
			return n
		}
		modulus := new(big.Int).Lsh(big.NewInt(1), ty.bits)
		for kind := memory.Add; kind <= memory.CAS; kind++ {
			for range 150 {
				a, b, c := pick(), pick(), pick()
				if random.IntN(3) == 0 {
					b = a
				}
				space := []ptx.Space{ptx.Global, ptx.Shared}[random.IntN(2)]
				left, old := atomically(t, space, memory.AtomicOp{Kind: kind, Type: ty.t}, int(ty.bits/8), a, b, c)
				want := new(big.Int).Mod(integerAtomic(kind, number(a), number(b), number(c)), modulus).Uint64()
				if left != want || old != a<<(64-ty.bits)>>(64-ty.bits) {
					t.Fatalf("atomic %d type %d on %#x with %#x, %#x: left %#x, want %#x; old %#x", kind, ty.t, a, b, c, left, want, old)
				}
			}
		}
	}
}

func TestFloatSumsAreRoundedOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	edges := []uint32{0, 1 << 31, 1, 0x80000001, 0x7fffff, 0x800000, 0x80800000, 0x3f800000, 0x7f7fffff, 0xff7fffff, 0x33800000}
	pick := func() uint32 {
		if random.IntN(2) == 0 {
			return edges[random.IntN(len(edges))]
		}
		return random.Uint32()&^0x40000000 | uint32(random.IntN(2))<<30
	}
	finite := func(v uint32) bool { return v&0x7f800000 != 0x7f800000 }
	small := func(v uint32) bool { return v&0x7f800000 == 0 && v&0x7fffff != 0 }
	for range 4000 {
		a, b := pick(), pick()
		if !finite(a) || !finite(b) {
			continue
		}
		for _, space := range []ptx.Space{ptx.Global, ptx.Shared} {
			x, y := a, b
			if space == ptx.Global && small(x) {
				x &= 1 << 31
			}
			if space == ptx.Global && small(y) {
				y &= 1 << 31
			}
			exact := new(big.Float).SetPrec(400).SetFloat64(float64(math.Float32frombits(x)))
			exact.Add(exact, new(big.Float).SetFloat64(float64(math.Float32frombits(y))))
			sum, _ := exact.Float32()
			want := math.Float32bits(sum)
			if want<<1 == 0 { // big.Float has its own zeros
				want = 0
				if x>>31 != 0 && y>>31 != 0 {
					want = 1 << 31
				}
			}
			if space == ptx.Global && small(want) {
				want &= 1 << 31
			}
			left, _ := atomically(t, space, memory.AtomicOp{Kind: memory.Add, Type: ptx.F32}, 4, uint64(a), uint64(b), 0)
			if uint32(left) != want {
				t.Fatalf("space %d: %08x + %08x = %08x, want %08x", space, a, b, left, want)
			}
		}
	}
	nan, _ := atomically(t, ptx.Global, memory.AtomicOp{Kind: memory.Add, Type: ptx.F32}, 4, 0x7f800000, 0xff800000, 0)
	if nan != 0x7fffffff {
		t.Errorf("inf - inf = %08x, want the canonical NaN", nan)
	}
	double, _ := atomically(t, ptx.Global, memory.AtomicOp{Kind: memory.Add, Type: ptx.F64}, 8, math.Float64bits(0.1), math.Float64bits(0.2), 0)
	if double != math.Float64bits(0.30000000000000004) {
		t.Errorf("0.1 + 0.2 = %016x", double)
	}
	tiny, _ := atomically(t, ptx.Global, memory.AtomicOp{Kind: memory.Add, Type: ptx.F64}, 8, 1, 1, 0)
	if tiny != 2 {
		t.Errorf("subnormals of f64 are kept: got %016x", tiny)
	}
}

// halfFormat lists all finite numbers of a format of 16 bits, by their bits without the sign.
type halfFormat struct {
	name     string
	one, two ptx.Type
	fraction uint
	values   []*big.Float
}

func newHalfFormat(name string, one, two ptx.Type, fraction uint) *halfFormat {
	h := &halfFormat{name: name, one: one, two: two, fraction: fraction}
	bias := 1<<(14-fraction) - 1
	for v := 0; v < (1<<(15-fraction)-1)<<fraction; v++ {
		exponent, f := v>>fraction, v&(1<<fraction-1)
		if exponent > 0 {
			f |= 1 << fraction
		} else {
			exponent = 1
		}
		h.values = append(h.values, new(big.Float).SetPrec(600).SetMantExp(big.NewFloat(float64(f)), exponent-bias-int(fraction)))
	}
	return h
}

func (h *halfFormat) number(v uint16) *big.Float {
	x := new(big.Float).SetPrec(600).Set(h.values[v&0x7fff])
	if v>>15 != 0 {
		x.Neg(x)
	}
	return x
}

// nearest looks the number up between its neighbours; half the step beyond the last one is infinity.
func (h *halfFormat) nearest(x *big.Float, sign uint16) uint16 {
	magnitude := new(big.Float).Abs(x)
	low, high := 0, len(h.values)
	for high-low > 1 {
		if middle := (low + high) / 2; h.values[middle].Cmp(magnitude) <= 0 {
			low = middle
		} else {
			high = middle
		}
	}
	below := h.values[low]
	step := new(big.Float).Sub(h.values[1], h.values[0])
	if low+1 < len(h.values) {
		step.Sub(h.values[low+1], below)
	} else {
		step.Sub(below, h.values[low-1])
	}
	rest := new(big.Float).SetPrec(600).Sub(magnitude, below)
	switch c := rest.Add(rest, rest).Cmp(step); {
	case c > 0, c == 0 && low%2 == 1:
		low++
	}
	return sign | uint16(low)
}

func TestHalfSumsAreRoundedOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for _, h := range []*halfFormat{newHalfFormat("f16", ptx.F16, ptx.F16x2, 10), newHalfFormat("bf16", ptx.BF16, ptx.BF16x2, 7)} {
		last := uint16(len(h.values) - 1)
		edges := []uint16{0, 0x8000, 1, 0x8001, last, last | 0x8000, 1 << h.fraction, 1<<h.fraction - 1, last - 1}
		pick := func() uint16 {
			if random.IntN(3) == 0 {
				return edges[random.IntN(len(edges))]
			}
			return uint16(random.IntN(len(h.values))) | uint16(random.IntN(2))<<15
		}
		sum := func(a, b uint16) uint16 {
			x, y := h.number(a), h.number(b)
			exact := new(big.Float).SetPrec(600).Add(x, y)
			sign := uint16(0)
			if exact.Sign() < 0 || exact.Sign() == 0 && a&b>>15 != 0 {
				sign = 0x8000
			}
			return h.nearest(exact, sign)
		}
		for range 3000 {
			a, b, c, d := pick(), pick(), pick(), pick()
			if random.IntN(2) == 0 {
				b = a ^ 0x8000 ^ uint16(random.IntN(8))
				if b&0x7fff > last {
					b = 0
				}
			}
			left, _ := atomically(t, ptx.Global, memory.AtomicOp{Kind: memory.Add, Type: h.one}, 2, uint64(a), uint64(b), 0)
			if want := sum(a, b); uint16(left) != want {
				t.Fatalf("%s: %04x + %04x = %04x, want %04x", h.name, a, b, left, want)
			}
			left, _ = atomically(t, ptx.Shared, memory.AtomicOp{Kind: memory.Add, Type: h.two}, 4, uint64(a)|uint64(c)<<16, uint64(b)|uint64(d)<<16, 0)
			if want := uint32(sum(a, b)) | uint32(sum(c, d))<<16; uint32(left) != want {
				t.Fatalf("%sx2: got %08x, want %08x", h.name, left, want)
			}
		}
		infinity := uint64(len(h.values))
		if nan, _ := atomically(t, ptx.Global, memory.AtomicOp{Kind: memory.Add, Type: h.one}, 2, infinity, infinity|0x8000, 0); nan != 0x7fff {
			t.Errorf("%s: inf - inf = %04x, want 7fff", h.name, nan)
		}
		if got, _ := atomically(t, ptx.Global, memory.AtomicOp{Kind: memory.Add, Type: h.one}, 2, infinity, 1, 0); got != infinity {
			t.Errorf("%s: inf + tiny = %04x", h.name, got)
		}
	}
}

func TestFloatMinimaPreferNumbersAndMinusZero(t *testing.T) {
	for _, tc := range []struct {
		kind    memory.AtomicKind
		a, b, x uint64
	}{
		{memory.Min, 0x3c00, 0x4000, 0x3c00},
		{memory.Max, 0x3c00, 0x4000, 0x4000},
		{memory.Min, 0x7e00, 0x4000, 0x4000},
		{memory.Max, 0x3c00, 0x7e00, 0x3c00},
		{memory.Min, 0, 0x8000, 0x8000},
		{memory.Min, 0x8000, 0, 0x8000},
		{memory.Max, 0, 0x8000, 0},
		{memory.Max, 0x8000, 0, 0},
		{memory.Min, 0xbc00, 0xfc00, 0xfc00},
		{memory.Max, 0x7e00, 0x7e01, 0x7fff},
	} {
		if got, _ := atomically(t, ptx.Global, memory.AtomicOp{Kind: tc.kind, Type: ptx.F16}, 2, tc.a, tc.b, 0); got != tc.x {
			t.Errorf("kind %d of %04x and %04x = %04x, want %04x", tc.kind, tc.a, tc.b, got, tc.x)
		}
	}
}

func TestLanesDoAtomicsInAscendingOrder(t *testing.T) {
	for _, space := range []ptx.Space{ptx.Global, ptx.Shared, ptx.Generic} {
		s := newBench(t)
		clean(t, s.store(0, ptx.Shared, 4, 0, 0))
		tr := vector(space, 4, 1)
		for l := range lane.Lanes {
			s.r.R64[0][l] = s.g.Pointer(0, hostX)
			if space == ptx.Shared {
				s.r.R64[0][l] = 0
			}
			if space == ptx.Generic {
				s.r.R64[0][l] = memory.SharedWindow
			}
			s.r.R32[10][l] = uint32(l)
			s.r.R32[1][l] = 99
		}
		clean(t, s.b.Atomic(s.r, tr, &memory.AtomicOp{Kind: memory.Exch, Type: ptx.B32}, 0, 0xf0f0f0f0))
		before := uint32(0)
		for l := range lane.Lanes {
			if 0xf0f0f0f0>>l&1 == 0 {
				if s.r.R32[1][l] != 99 {
					t.Errorf("space %d: lane %d took no part and got %d", space, l, s.r.R32[1][l])
				}
				continue
			}
			if got := s.r.R32[1][l]; got != before {
				t.Errorf("space %d: lane %d saw %d, want %d", space, l, got, before)
			}
			before = uint32(l)
		}
	}
}

func TestReductionsWriteNoRegister(t *testing.T) {
	s := newBench(t)
	tr := vector(ptx.Global, 8, 1)
	tr.Regs = [8]int32{-1, -1, -1, -1, -1, -1, -1, -1}
	s.one(s.g.Pointer(0, hostX), tr)
	s.r.R64[10][0] = 5
	kept := fmt.Sprint(s.r.R64, s.r.R32)
	clean(t, s.b.Atomic(s.r, tr, &memory.AtomicOp{Kind: memory.Add, Type: ptx.U64}, 0, 1))
	if fmt.Sprint(s.r.R64, s.r.R32) != kept {
		t.Error("registers changed")
	}
	if s.x[0] != 5 {
		t.Errorf("x[0] = %d, want 5", s.x[0])
	}
}

func TestVectorAtomics(t *testing.T) {
	s := newBench(t)
	tr := vector(ptx.Global, 4, 4)
	s.one(s.g.Pointer(0, hostX), tr)
	for i := range 4 {
		s.r.R32[10+i][0] = math.Float32bits(float32(i + 1))
	}
	op := &memory.AtomicOp{Kind: memory.Add, Type: ptx.F32}
	clean(t, s.b.Atomic(s.r, tr, op, 0, 1))
	clean(t, s.b.Atomic(s.r, tr, op, 0, 1))
	for i := range 4 {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(s.x[4*i:])); got != float32(2*(i+1)) {
			t.Errorf("element %d: got %v, want %v", i, got, 2*(i+1))
		}
		if got := math.Float32frombits(s.r.R32[1+i][0]); got != float32(i+1) {
			t.Errorf("old element %d: got %v, want %v", i, got, i+1)
		}
	}
	tr.Offset = 8
	want(t, s.b.Atomic(s.r, tr, op, 0, 1), memory.Misaligned, "x", 0)
	if s.r.R32[1][0] != 0 {
		t.Error("a lane that faults reads 0")
	}
}

func TestALaneOutOfBoundsKeepsNoOtherFromItsAtomic(t *testing.T) {
	for _, tc := range []struct {
		space ptx.Space
		base  func(s *bench) uint64
		size  uint64
		name  string
	}{
		{ptx.Shared, func(*bench) uint64 { return 0 }, 256, "shared memory"},
		{ptx.Global, func(s *bench) uint64 { return s.g.Pointer(0, hostX) }, 256, "x"},
	} {
		s := newBench(t)
		if tc.space == ptx.Shared {
			clean(t, s.store(0, ptx.Shared, 4, 8, 5))
		}
		tr := vector(tc.space, 4, 1)
		for l := range 2 {
			s.r.R64[0][l] = tc.base(s) + []uint64{tc.size, 8}[l]
			s.r.R32[10][l], s.r.R32[1][l] = 7, 99
		}
		f := s.b.Atomic(s.r, tr, &memory.AtomicOp{Kind: memory.Exch, Type: ptx.B32}, 0, 3)
		want(t, f, memory.OutOfBounds, tc.name, 4)
		clean(t, s.load(0, tc.space, 4, tc.base(s)+8))
		if got := s.r.R32[1][0]; got != 7 {
			t.Errorf("%s: lane 1 left %d, want 7", tc.name, got)
		}
	}
}
