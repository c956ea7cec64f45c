package lane

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// bench is an instruction with registers of its own, one for each operand: it is decoded from a text, and run.
type bench struct {
	regs Regs
	ops  Operands
	form Form
	out  []register
	in   []register
}

// register is one of a bench's, by bank and index.
type register struct {
	bank Bank
	at   int32
}

var declared = `.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<33>; .reg .f32 %f<9>; .reg .b64 %d<33>; .reg .f64 %g<9>;`

// instruction reads one instruction from its text. Registers are %p (predicates), %h (16 bits), %r, %f (32), %d, %g (64).
func instruction(t testing.TB, text string) (*ptx.Inst, *ptx.Function) {
	t.Helper()
	module := ".version 8.7\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n" + declared + "\n" + text + "\nret;\n}\n"
	m, err := ptx.Read(context.Background(), "test", []byte(module))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &m.Functions[0].Insts[0], m.Functions[0]
}

// newBench decodes an instruction and gives every operand a register; immediates hold their value.
func newBench(t testing.TB, text string) *bench {
	t.Helper()
	in, fn := instruction(t, text)
	form, err := Decode(in, fn)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	b := benchOf(form)
	b.fill(in)
	return b
}

// benchOf gives every operand of a form a register.
func benchOf(form Form) *bench {
	b := &bench{form: form}
	b.regs.P = make([]uint32, 1)
	var flat []int32
	add := func(bank Bank) register {
		r := register{bank: bank}
		switch bank {
		case R32:
			r.at = int32(len(b.regs.R32))
			b.regs.R32 = append(b.regs.R32, [Lanes]uint32{})
		case R64:
			r.at = int32(len(b.regs.R64))
			b.regs.R64 = append(b.regs.R64, [Lanes]uint64{})
		case P:
			r.at = int32(len(b.regs.P))
			b.regs.P = append(b.regs.P, 0)
		}
		flat = append(flat, r.at)
		return r
	}
	for _, bank := range form.Out {
		b.out = append(b.out, add(bank))
	}
	for _, bank := range form.In {
		b.in = append(b.in, add(bank))
	}
	if form.UsesVec {
		b.ops.Vec = flat
	} else {
		for i, to := range []*int32{&b.ops.D, &b.ops.D2}[:len(b.out)] {
			*to = b.out[i].at
		}
		for i, to := range []*int32{&b.ops.A, &b.ops.B, &b.ops.C, &b.ops.E}[:len(b.in)] {
			*to = b.in[i].at
		}
	}
	return b
}

// fill puts immediates into their registers.
func (b *bench) fill(in *ptx.Inst) {
	n := 0
	for _, o := range in.Operands[in.Outputs:] {
		if o.Kind == ptx.Vector {
			n += len(o.Elems)
			continue
		}
		if o.Kind == ptx.Immediate {
			for l := range Lanes {
				b.put(b.in[n], l, o.Bits)
			}
		}
		n++
	}
}

func (b *bench) put(r register, lane int, v uint64) {
	switch r.bank {
	case R32:
		b.regs.R32[r.at][lane] = uint32(v)
	case R64:
		b.regs.R64[r.at][lane] = v
	case P:
		b.regs.P[r.at] = b.regs.P[r.at]&^(1<<lane) | uint32(v&1)<<lane
	}
}

func (b *bench) get(r register, lane int) uint64 {
	switch r.bank {
	case R32:
		return uint64(b.regs.R32[r.at][lane])
	case R64:
		return b.regs.R64[r.at][lane]
	}
	return uint64(b.regs.P[r.at] >> lane & 1)
}

func (b *bench) run() error {
	if b.form.Warp != nil {
		return b.form.Warp(&b.regs, &b.ops, 1<<Lanes-1)
	}
	b.form.Lanewise(&b.regs, &b.ops)
	return nil
}

// eval runs a list of inputs through an instruction, 32 at a time, and gives the results of each.
func eval(t testing.TB, text string, inputs [][]uint64) [][]uint64 {
	t.Helper()
	b := newBench(t, text)
	var out [][]uint64
	for len(inputs) > 0 {
		n := min(len(inputs), Lanes)
		for l, values := range inputs[:n] {
			for i, v := range values {
				b.put(b.in[i], l, v)
			}
		}
		if err := b.run(); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for l := range n {
			var results []uint64
			for _, r := range b.out {
				results = append(results, b.get(r, l))
			}
			out = append(out, results)
		}
		inputs = inputs[n:]
	}
	return out
}

// kindsOf maps the letters of test tables to a width of values and the registers of that width.
var letters = map[byte]struct {
	width int
	reg   string
}{'p': {1, "%p"}, 'h': {16, "%h"}, 'r': {32, "%r"}, 'd': {64, "%d"}}

// operands makes the text of an instruction's operands from letters: "rrh" is %r0, %r1, %h2.
func operands(kinds string) string {
	var parts []string
	for i := range kinds {
		parts = append(parts, fmt.Sprintf("%s%d", letters[kinds[i]].reg, i))
	}
	return strings.Join(parts, ", ")
}

// edges are values of a width at which something happens: of integers, and of floats of every format.
func edges(width int) []uint64 {
	list := []uint64{0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 100, 127, 128, 255, 256, 1000}
	for _, shift := range []int{7, 8, 15, 16, 23, 31, 32, 52, 63} {
		if shift < width {
			list = append(list, 1<<shift, 1<<shift-1, 1<<shift+1, -(uint64(1) << shift), ^(uint64(1) << shift))
		}
	}
	list = append(list, ^uint64(0), ^uint64(1), 1<<(width-1)|1)
	if f, ok := map[int]format{16: formatF16, 32: formatF32, 64: formatF64}[width]; ok {
		inf, one := f.infinity(), uint64(1<<(f.exponent-1)-1)<<f.mantissa
		for _, x := range []uint64{
			inf, inf - 1, inf + 1, inf | 1<<(f.mantissa-1), f.nan, one, one + 1, one - 1, 1 << f.mantissa, 1<<f.mantissa - 1, one | 1<<(f.mantissa-1),
			one + 1<<f.mantissa, one + 3<<(f.mantissa-1), one - 1<<f.mantissa, one + uint64(f.mantissa)<<f.mantissa, one + uint64(f.mantissa+1)<<f.mantissa + 1, 3,
			one + 31<<f.mantissa, one + 63<<f.mantissa,
		} {
			list = append(list, x, x|1<<(f.exponent+f.mantissa))
		}
	}
	for i := range list {
		list[i] &= ^uint64(0) >> (64 - width)
	}
	return list
}

// samples is how many random inputs every test adds to the edges.
const samples = 400

// inputsOf are combinations of edges, and random values: of one or two inputs all pairs of edges, of three a sample.
func inputsOf(kinds string, seed uint64) [][]uint64 {
	rng := rand.New(rand.NewPCG(seed, uint64(len(kinds))))
	pick := func(width int) uint64 {
		mask := ^uint64(0) >> (64 - width)
		list := edges(width)
		switch rng.IntN(4) {
		case 0:
			return rng.Uint64() & mask
		case 1:
			return rng.Uint64() >> rng.IntN(64) & mask
		case 2: // floats of similar size
			f := map[int]format{16: formatF16, 32: formatF32, 64: formatF64}[width]
			if f.exponent == 0 {
				return rng.Uint64() & mask
			}
			e := uint64(1<<(f.exponent-1)-4) + rng.Uint64N(8)
			return (e<<f.mantissa | rng.Uint64()&(1<<f.mantissa-1) | rng.Uint64()&1<<(f.exponent+f.mantissa)) & mask
		}
		return list[rng.IntN(len(list))]
	}
	var out [][]uint64
	if len(kinds) == 2 && kinds[0] != 'p' && kinds[1] != 'p' {
		for _, x := range edges(letters[kinds[0]].width) {
			for _, y := range edges(letters[kinds[1]].width) {
				out = append(out, []uint64{x, y})
			}
		}
	}
	if len(kinds) == 1 {
		for _, x := range edges(letters[kinds[0]].width) {
			out = append(out, []uint64{x})
		}
	}
	for range samples {
		var v []uint64
		for i := range kinds {
			v = append(v, pick(letters[kinds[i]].width))
		}
		out = append(out, v)
	}
	return out
}
