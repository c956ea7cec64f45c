package lane

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// mma.m8n8k4 of f16 computes four products of small whole numbers, which every order of sums gives exactly. Where elements lie is
// written as the manual does.
func TestFourProductsOfAWarp(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 4))
	small := func() float32 { return float32(random.IntN(17) - 8) }
	for _, c := range []struct{ layoutA, layoutB, d, c string }{
		{"row", "col", "f32", "f32"},
		{"row", "row", "f32", "f32"},
		{"col", "col", "f32", "f32"},
		{"col", "row", "f32", "f32"},
		{"row", "col", "f16", "f16"},
		{"col", "row", "f32", "f16"},
	} {
		wide := map[string]string{"f32": "{%%r%d, %%r%d, %%r%d, %%r%d, %%r%d, %%r%d, %%r%d, %%r%d}", "f16": "{%%r%d, %%r%d, %%r%d, %%r%d}"}
		next := 0
		registers := func(form string) string {
			var list []any
			for range map[string]int{"f32": 8, "f16": 4, "two": 2}[form] {
				list = append(list, next)
				next++
			}
			if form == "two" {
				return fmt.Sprintf("{%%r%d, %%r%d}", list...)
			}
			return fmt.Sprintf(wide[form], list...)
		}
		text := fmt.Sprintf("mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s %s, %s, %s, %s;", c.layoutA, c.layoutB, c.d, c.c,
			registers(c.d), registers("two"), registers("two"), registers(c.c))
		b := newBench(t, text)
		var x [4][8][4]float32
		var y [4][4][8]float32
		var z [4][8][8]float32
		for p := range 4 {
			for i := range 8 {
				for j := range 8 {
					z[p][i][j] = small()
					x[p][i][j%4], y[p][i%4][j] = small(), small()
				}
			}
		}
		place := func(l, i int, typ string) (row, column int) {
			if typ == "f32" {
				row, column = l&1+i&2, i&4+l&2+i&1
			} else {
				row, column = l%4, i
			}
			if l >= 16 {
				row += 4
			}
			return row, column
		}
		put := func(at, l, i int, v float32) {
			b.regs.R32[b.in[at+i/2].at][l] |= half(bits32(v)) << (16 * (i % 2))
		}
		for l := range Lanes {
			for i := range b.in {
				b.regs.R32[b.in[i].at][l] = 0
			}
		}
		for l := range Lanes {
			p, high := l%16/4, l/16*4
			for i := range 4 {
				if c.layoutA == "row" {
					put(0, l, i, x[p][l%4+high][i])
				} else {
					put(0, l, i, x[p][i+high][l%4])
				}
				if c.layoutB == "row" {
					put(2, l, i, y[p][l%4][i+high])
				} else {
					put(2, l, i, y[p][i][l%4+high])
				}
			}
			for i := range 8 {
				row, column := place(l, i, c.c)
				if c.c == "f32" {
					b.regs.R32[b.in[4+i].at][l] = math.Float32bits(z[p][row][column])
				} else {
					put(4, l, i, z[p][row][column])
				}
			}
		}
		if err := b.form.Warp(&b.regs, &b.ops, math.MaxUint32); err != nil {
			t.Fatal(err)
		}
		for l := range Lanes {
			for i := range 8 {
				row, column := place(l, i, c.d)
				p := l % 16 / 4
				want := z[p][row][column]
				for k := range 4 {
					want += x[p][row][k] * y[p][k][column]
				}
				got := float32(0)
				if c.d == "f32" {
					got = math.Float32frombits(b.regs.R32[b.out[i].at][l])
				} else {
					got = math.Float32frombits(widen16(b.regs.R32[b.out[i/2].at][l] >> (16 * (i % 2)) & 0xffff))
				}
				if got != want {
					t.Fatalf("%s: lane %d, element %d is %v, want %v", text, l, i, got, want)
				}
			}
		}
		if err := b.form.Warp(&b.regs, &b.ops, 1); err == nil {
			t.Errorf("%s: a part of the warp is no error", text)
		}
	}
	for _, text := range []string{
		"mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r6,%r7}, {%r8,%r9,%r10,%r11,%r12,%r13,%r14,%r15};",
		"mma.sync.aligned.m8n8k4.row.f32.f16.f16.f32 {%r0}, {%r4,%r5}, {%r6,%r7}, {%r8};",
	} {
		in, function := instruction(t, text)
		if _, err := Decode(in, function); err == nil {
			t.Errorf("%s is executed", text)
		}
	}
}
