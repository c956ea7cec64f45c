package lane

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// wordsOf runs an instruction on words, the same in every lane, and returns what lane 3 gets.
func wordsOf(t *testing.T, text string, inputs ...uint32) uint32 {
	t.Helper()
	b := newBench(t, text)
	for i, v := range inputs {
		for l := range Lanes {
			b.regs.R32[b.in[i].at][l] = v
		}
	}
	b.form.Lanewise(&b.regs, &b.ops)
	return b.regs.R32[b.out[0].at][3]
}

func TestRareFormsOfIntegers(t *testing.T) {
	for _, c := range []struct {
		text   string
		inputs []uint32
		want   uint32
	}{
		{"dp4a.u32.u32 %r0, %r1, %r2, %r3;", []uint32{0x01020304, 0xff010203, 1000}, 1000 + 1*255 + 2*1 + 3*2 + 4*3},
		{"dp4a.s32.s32 %r0, %r1, %r2, %r3;", []uint32{0x0102fd04, 0xff010203, 10}, 10 - 1 + 2 - 6 + 12},
		{"dp4a.u32.s32 %r0, %r1, %r2, %r3;", []uint32{0xff000000, 0xff000000, 0}, 0xffffff01},
		{"dp2a.lo.u32.u32 %r0, %r1, %r2, %r3;", []uint32{0x00020101, 0x09080706, 1}, 1 + 257*6 + 2*7},
		{"dp2a.hi.s32.u32 %r0, %r1, %r2, %r3;", []uint32{0xffff0003, 0x09080706, 0}, 3*8 - 9},
		{"fns.b32 %r0, %r1, %r2, %r3;", []uint32{0b10110100, 0, 2}, 4},
		{"fns.b32 %r0, %r1, %r2, %r3;", []uint32{0b10110100, 5, 1}, 5},
		{"fns.b32 %r0, %r1, %r2, %r3;", []uint32{0b10110100, 6, 0xffffffff}, 5},
		{"fns.b32 %r0, %r1, %r2, %r3;", []uint32{0b10110100, 6, 0xfffffffd}, 2},
		{"fns.b32 %r0, %r1, %r2, %r3;", []uint32{0b10110100, 6, 9}, 0xffffffff},
		{"fns.b32 %r0, %r1, %r2, %r3;", []uint32{0b10110100, 2, 0}, 2},
		{"fns.b32 %r0, %r1, %r2, %r3;", []uint32{0b10110100, 3, 0}, 0xffffffff},
		{"bmsk.clamp.b32 %r0, %r1, %r2;", []uint32{4, 8}, 0xff0},
		{"bmsk.clamp.b32 %r0, %r1, %r2;", []uint32{4, 99}, 0xfffffff0},
		{"bmsk.clamp.b32 %r0, %r1, %r2;", []uint32{40, 3}, 0},
		{"bmsk.wrap.b32 %r0, %r1, %r2;", []uint32{40, 35}, 0x700},
		{"szext.clamp.s32 %r0, %r1, %r2;", []uint32{0x1f8, 9}, 0xfffffff8},
		{"szext.clamp.u32 %r0, %r1, %r2;", []uint32{0xffffff, 9}, 0x1ff},
		{"szext.clamp.s32 %r0, %r1, %r2;", []uint32{0x80000001, 77}, 0x80000001},
		{"szext.wrap.u32 %r0, %r1, %r2;", []uint32{0xffffff, 33}, 1},
		{"szext.wrap.s32 %r0, %r1, %r2;", []uint32{0xffffff, 32}, 0},
		{"mul24.hi.u32 %r0, %r1, %r2;", []uint32{0xff123456, 0xabcdef}, uint32(uint64(0x123456) * 0xabcdef >> 16)},
		{"mul24.hi.s32 %r0, %r1, %r2;", []uint32{0x00ffffff, 0x10000}, 0xffffffff},
		{"mad24.hi.u32 %r0, %r1, %r2, %r3;", []uint32{0x100000, 0x100000, 7}, 1<<24 + 7},
		{"mad24.hi.sat.s32 %r0, %r1, %r2, %r3;", []uint32{0x7fffff, 0x7fffff, 0x7fffffff}, 0x7fffffff},
		{"cvt.pack.sat.s16.s32 %r0, %r1, %r2;", []uint32{70000, 0xfffffffe}, 0x7ffffffe},
		{"cvt.pack.sat.u16.s32 %r0, %r1, %r2;", []uint32{5, 0xfffffffe}, 0x00050000},
		{"cvt.pack.sat.u8.s32.b32 %r0, %r1, %r2, %r3;", []uint32{300, 7, 0xabcd1234}, 0x1234ff07},
		{"cvt.pack.sat.s4.s32.b32 %r0, %r1, %r2, %r3;", []uint32{0xffffff00, 9, 1}, 0x187},
	} {
		if got := wordsOf(t, c.text, c.inputs...); got != c.want {
			t.Errorf("%s of %x is %x, want %x", c.text, c.inputs, got, c.want)
		}
	}
}

func TestLop3WithAPredicate(t *testing.T) {
	for _, c := range []struct {
		operation string
		a, q      uint32
		want      uint32
	}{{"or", 0, 0xf0, 0xf0}, {"or", 1, 0xf0, 0xffffffff}, {"and", 1, 0xf0, 0xf0}, {"and", 0, 0xf0, 0}} {
		b := newBench(t, "lop3."+c.operation+".b32 %r0|%p0, %r1, %r2, %r3, 0x80, %p1;")
		for l := range Lanes {
			b.regs.R32[b.in[0].at][l], b.regs.R32[b.in[1].at][l], b.regs.R32[b.in[2].at][l] = c.a, 3, 5
		}
		b.regs.P[b.in[4].at] = c.q
		b.form.Lanewise(&b.regs, &b.ops)
		if got := b.regs.P[b.out[1].at]; got != c.want || b.regs.R32[b.out[0].at][9] != c.a {
			t.Errorf("%s: %x, want %x", c.operation, got, c.want)
		}
	}
}

func TestMoveMatrixTransposes(t *testing.T) {
	b := newBench(t, "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;")
	for l := range uint32(Lanes) { // element (row, column) is 16 * row + column
		b.regs.R32[b.in[0].at][l] = l/4*16 + l%4*2 | (l/4*16+l%4*2+1)<<16
	}
	if err := b.form.Warp(&b.regs, &b.ops, 1<<Lanes-1); err != nil {
		t.Fatal(err)
	}
	for l, v := range b.regs.R32[b.out[0].at] {
		row, column := uint32(l/4), uint32(l%4*2)
		if want := column*16 + row | ((column+1)*16+row)<<16; v != want {
			t.Errorf("lane %d has %x, want %x", l, v, want)
		}
	}
}

// TestProductsOfPartsOfBytes follows the tables of the manual: which row, column and k an element of a register is.
func TestProductsOfPartsOfBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for _, c := range []struct {
		shape, types string
		a, b, c      int
	}{
		{"m8n8k32", "s32.s4.u4.s32", 1, 1, 2},
		{"m16n8k32", "s32.u4.s4.s32", 2, 1, 4},
		{"m16n8k64", "satfinite.s32.s4.s4.s32", 4, 2, 4},
		{"m16n8k64", "s32.u4.u4.s32", 4, 2, 4},
		{"m8n8k128", "s32.b1.b1.s32.xor.popc", 1, 1, 2},
		{"m16n8k128", "s32.b1.b1.s32.and.popc", 2, 1, 4},
		{"m16n8k256", "s32.b1.b1.s32.xor.popc", 4, 2, 4},
	} {
		list := func(n, from int) string {
			s := ""
			for i := range n {
				s += fmt.Sprintf(", %%r%d", from+i)
			}
			return "{" + s[2:] + "}"
		}
		b := newBench(t, fmt.Sprintf("mma.sync.aligned.%s.row.col.%s %s, %s, %s, %s;", c.shape, c.types, list(c.c, 0), list(c.a, 8), list(c.b, 16), list(c.c, 24)))
		width, per := 4, 8
		if c.types[4] == 'b' {
			width, per = 1, 32
		}
		var x [16][256]int64
		var y [256][8]int64
		number := func(v uint32, signed bool) int64 {
			if signed && v >= 8 {
				return int64(v) - 16
			}
			return int64(v)
		}
		signs := [2]bool{c.types == "s32.s4.u4.s32" || c.types[0] == 's' && c.types[1] == 'a', c.types == "s32.u4.s4.s32" || c.types[0] == 's' && c.types[1] == 'a'}
		for l := range Lanes {
			for n := range c.a {
				v := rng.Uint32()
				b.regs.R32[b.in[n].at][l] = v
				row, first := l/4+n%2*8, n/2*4*per
				if c.c == 2 {
					row, first = l/4, 0
				}
				for e := range per {
					x[row][first+l%4*per+e] = number(v>>(e*width)&(1<<width-1), signs[0])
				}
			}
			for n := range c.b {
				v := rng.Uint32()
				b.regs.R32[b.in[c.a+n].at][l] = v
				for e := range per {
					y[n*4*per+l%4*per+e][l/4] = number(v>>(e*width)&(1<<width-1), signs[1])
				}
			}
			for n := range c.c {
				b.regs.R32[b.in[c.a+c.b+n].at][l] = 0x7fffff00 + uint32(n*l)
			}
		}
		if err := b.form.Warp(&b.regs, &b.ops, 1<<Lanes-1); err != nil {
			t.Fatal(err)
		}
		for l := range Lanes {
			for n := range c.c {
				row, column := l/4+n/2*8, l%4*2+n%2
				sum := int64(0x7fffff00) + int64(n*l)
				for k := range y {
					switch {
					case c.types[len(c.types)-8:] == "xor.popc":
						sum += int64(bits.OnesCount8(uint8(x[row][k] ^ y[k][column])))
					default:
						sum += x[row][k] * y[k][column]
					}
				}
				want := uint32(sum)
				if c.types[1] == 'a' {
					want = uint32(min(sum, 0x7fffffff))
				}
				if got := b.regs.R32[b.out[n].at][l]; got != want {
					t.Fatalf("%s %s: row %d, column %d is %x, want %x", c.shape, c.types, row, column, got, want)
				}
			}
		}
	}
}
