package simt

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
)

// thread is one thread of the slow twin: registers by number, its words of the output, its bytes of shared memory.
type thread struct {
	r   [twinRegisters]uint32
	d   [twinRegisters]uint64
	p   [twinRegisters]bool
	out [4]uint32
	own uint32
	pc  int
}

const (
	twinRegisters = 6
	twinBlock     = 48 // the second warp is half empty
)

// twinStep is one instruction of a random program: its text, and what it does to one thread.
type twinStep struct {
	text string
	do   func(t *thread)
}

// operation makes a step with registers chosen at random.
type operation func(g *generator) twinStep

type generator struct {
	*rand.Rand
}

func (g *generator) reg() int { return g.IntN(twinRegisters) }

// value is a register or an immediate: its text, and its value in a thread.
func (g *generator) value() (string, func(*thread) uint32) {
	if g.IntN(4) > 0 {
		i := g.reg()
		return fmt.Sprintf("%%r%d", i), func(t *thread) uint32 { return t.r[i] }
	}
	v := int32([]uint32{0, 1, 5, 31, 32, 33, 255, 0x7fffffff, 0x80000000, 0xffffffff, g.Uint32()}[g.IntN(11)])
	return fmt.Sprint(v), func(*thread) uint32 { return uint32(v) }
}

func binary32(name string, f func(a, b uint32) uint32) operation {
	return func(g *generator) twinStep {
		d, a := g.reg(), g.reg()
		text, b := g.value()
		return twinStep{fmt.Sprintf("%s %%r%d, %%r%d, %s;", name, d, a, text), func(t *thread) { t.r[d] = f(t.r[a], b(t)) }}
	}
}

func binary64(name string, f func(a, b uint64) uint64) operation {
	return func(g *generator) twinStep {
		d, a, b := g.reg(), g.reg(), g.reg()
		return twinStep{fmt.Sprintf("%s %%d%d, %%d%d, %%d%d;", name, d, a, b), func(t *thread) { t.d[d] = f(t.d[a], t.d[b]) }}
	}
}

func compare(name string, f func(a, b uint32) bool) operation {
	return func(g *generator) twinStep {
		d, a := g.reg(), g.reg()
		text, b := g.value()
		return twinStep{fmt.Sprintf("%s %%p%d, %%r%d, %s;", name, d, a, text), func(t *thread) { t.p[d] = f(t.r[a], b(t)) }}
	}
}

func logic(name string, f func(a, b bool) bool) operation {
	return func(g *generator) twinStep {
		d, a, b := g.reg(), g.reg(), g.reg()
		return twinStep{fmt.Sprintf("%s %%p%d, %%p%d, %%p%d;", name, d, a, b), func(t *thread) { t.p[d] = f(t.p[a], t.p[b]) }}
	}
}

// exact computes in unlimited precision and keeps the low bits.
func exact(f func(a, b *big.Int) *big.Int, signed bool, shift uint) func(a, b uint32) uint32 {
	widen := func(v uint32) *big.Int {
		if signed {
			return big.NewInt(int64(int32(v)))
		}
		return big.NewInt(int64(v))
	}
	return func(a, b uint32) uint32 {
		v := f(widen(a), widen(b))
		v.Rsh(v, shift)
		return uint32(new(big.Int).And(v, big.NewInt(math.MaxUint32)).Uint64())
	}
}

func add(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) }
func sub(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }
func mul(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }

// single rounds an exact result to single precision, to nearest even. Zeros, infinities and NaN are left to the caller.
func single(a, b uint32, f func(x, y *big.Float) *big.Float) (uint32, bool) {
	x, y := math.Float32frombits(a), math.Float32frombits(b)
	for _, v := range []float32{x, y} {
		if v != v || math.IsInf(float64(v), 0) || v == 0 {
			return 0, false
		}
	}
	v, _ := f(new(big.Float).SetPrec(600).SetFloat64(float64(x)), new(big.Float).SetPrec(600).SetFloat64(float64(y))).Float32()
	return math.Float32bits(v), v != 0
}

// floats is a binary operation of single precision. What is not exact arithmetic on finite numbers is what Go does, with any NaN
// being that of PTX.
func floats(name string, exactly func(x, y *big.Float) *big.Float, otherwise func(x, y float32) float32) operation {
	return binary32Registers(name, func(a, b uint32) uint32 {
		if v, ok := single(a, b, exactly); ok {
			return v
		}
		v := otherwise(math.Float32frombits(a), math.Float32frombits(b))
		if v != v {
			return 0x7fffffff
		}
		return math.Float32bits(v)
	})
}

func binary32Registers(name string, f func(a, b uint32) uint32) operation {
	return func(g *generator) twinStep {
		d, a, b := g.reg(), g.reg(), g.reg()
		return twinStep{fmt.Sprintf("%s %%r%d, %%r%d, %%r%d;", name, d, a, b), func(t *thread) { t.r[d] = f(t.r[a], t.r[b]) }}
	}
}

var operations = []operation{
	binary32("add.s32", exact(add, true, 0)), binary32("sub.s32", exact(sub, true, 0)), binary32("mul.lo.s32", exact(mul, true, 0)),
	binary32("mul.hi.s32", exact(mul, true, 32)), binary32("mul.hi.u32", exact(mul, false, 32)),
	binary32("and.b32", func(a, b uint32) uint32 { return a & b }), binary32("or.b32", func(a, b uint32) uint32 { return a | b }),
	binary32("xor.b32", func(a, b uint32) uint32 { return a ^ b }),
	binary32("min.s32", func(a, b uint32) uint32 { return uint32(min(int32(a), int32(b))) }),
	binary32("max.u32", func(a, b uint32) uint32 { return max(a, b) }),
	binary32("shl.b32", func(a, b uint32) uint32 { return uint32(uint64(a) << min(b, 32)) }),
	binary32("shr.u32", func(a, b uint32) uint32 { return uint32(uint64(a) >> min(b, 32)) }),
	binary32("shr.s32", func(a, b uint32) uint32 { return uint32(int64(int32(a)) >> min(b, 32)) }),
	binary64("add.s64", func(a, b uint64) uint64 { return a + b }), binary64("sub.s64", func(a, b uint64) uint64 { return a - b }),
	binary64("mul.lo.s64", func(a, b uint64) uint64 { _, low := bits.Mul64(a, b); return low }),
	binary64("xor.b64", func(a, b uint64) uint64 { return a ^ b }),
	floats("add.f32", func(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(600).Add(x, y) }, func(x, y float32) float32 { return x + y }),
	floats("mul.f32", func(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(600).Mul(x, y) }, func(x, y float32) float32 { return x * y }),
	compare("setp.lt.s32", func(a, b uint32) bool { return int32(a) < int32(b) }),
	compare("setp.gt.u32", func(a, b uint32) bool { return a > b }),
	compare("setp.ne.b32", func(a, b uint32) bool { return a != b }),
	logic("and.pred", func(a, b bool) bool { return a && b }), logic("or.pred", func(a, b bool) bool { return a || b }),
	logic("xor.pred", func(a, b bool) bool { return a != b }),
	func(g *generator) twinStep {
		d, a := g.reg(), g.reg()
		return twinStep{fmt.Sprintf("not.pred %%p%d, %%p%d;", d, a), func(t *thread) { t.p[d] = !t.p[a] }}
	},
	func(g *generator) twinStep {
		d, a, b, p := g.reg(), g.reg(), g.reg(), g.reg()
		return twinStep{fmt.Sprintf("selp.b32 %%r%d, %%r%d, %%r%d, %%p%d;", d, a, b, p), func(t *thread) {
			if t.p[p] {
				t.r[d] = t.r[a]
			} else {
				t.r[d] = t.r[b]
			}
		}}
	},
	func(g *generator) twinStep {
		d, a, b := g.reg(), g.reg(), g.reg()
		return twinStep{fmt.Sprintf("mul.wide.u32 %%d%d, %%r%d, %%r%d;", d, a, b), func(t *thread) { t.d[d] = uint64(t.r[a]) * uint64(t.r[b]) }}
	},
	func(g *generator) twinStep {
		d, a := g.reg(), g.reg()
		return twinStep{fmt.Sprintf("cvt.s64.s32 %%d%d, %%r%d;", d, a), func(t *thread) { t.d[d] = uint64(int64(int32(t.r[a]))) }}
	},
	func(g *generator) twinStep {
		d, a := g.reg(), g.reg()
		return twinStep{fmt.Sprintf("cvt.u32.u64 %%r%d, %%d%d;", d, a), func(t *thread) { t.r[d] = uint32(t.d[a]) }}
	},
	func(g *generator) twinStep {
		a, b, d := g.reg(), g.reg(), g.reg()
		return twinStep{fmt.Sprintf("mov.b64 %%d%d, {%%r%d, %%r%d};", d, a, b), func(t *thread) { t.d[d] = uint64(t.r[a]) | uint64(t.r[b])<<32 }}
	},
	func(g *generator) twinStep {
		i, word := g.reg(), g.IntN(4)
		return twinStep{fmt.Sprintf("st.global.b32 [%%own+%d], %%r%d;", 4*word, i), func(t *thread) { t.out[word] = t.r[i] }}
	},
	func(g *generator) twinStep {
		i, word := g.reg(), g.IntN(4)
		return twinStep{fmt.Sprintf("ld.global.b32 %%r%d, [%%own+%d];", i, 4*word), func(t *thread) { t.r[i] = t.out[word] }}
	},
	func(g *generator) twinStep {
		i := g.reg()
		return twinStep{fmt.Sprintf("st.shared.b32 [%%slot], %%r%d;", i), func(t *thread) { t.own = t.r[i] }}
	},
	func(g *generator) twinStep {
		i := g.reg()
		return twinStep{fmt.Sprintf("ld.shared.b32 %%r%d, [%%slot];", i), func(t *thread) { t.r[i] = t.own }}
	},
}

// program makes a random program without loops. Instructions may have guards, and branches go forward.
func (g *generator) program(n int) []twinStep {
	steps := make([]twinStep, n)
	for i := range steps {
		if g.IntN(8) == 0 { // a branch, also out of and into what other branches skip
			target, p, not := i+1+g.IntN(n-i), g.reg(), g.IntN(2) == 1
			text := fmt.Sprintf("@%%p%d bra L%d;", p, target)
			if not {
				text = strings.Replace(text, "@", "@!", 1)
			}
			steps[i] = twinStep{text, func(t *thread) {
				if t.p[p] != not {
					t.pc = target - 1
				}
			}}
			continue
		}
		steps[i] = operations[g.IntN(len(operations))](g)
		if g.IntN(4) == 0 {
			p, plain := g.reg(), steps[i]
			steps[i] = twinStep{fmt.Sprintf("@%%p%d %s", p, plain.text), func(t *thread) {
				if t.p[p] {
					plain.do(t)
				}
			}}
		}
	}
	return steps
}

// text is the program in PTX. Its registers begin with the thread's number in them, and it ends by storing all.
func programText(steps []twinStep) string {
	var s strings.Builder
	s.WriteString(preamble + ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n")
	fmt.Fprintf(&s, "\t.reg .pred %%p<%d>;\n\t.reg .b32 %%r<%d>;\n\t.reg .b64 %%d<%d>;\n", twinRegisters, twinRegisters, twinRegisters)
	s.WriteString("\t.reg .b64 %own, %a;\n\t.reg .b32 %slot, %t;\n\t.shared .align 4 .b8 tile[256];\n")
	fmt.Fprintf(&s, "\tld.param.u64 %%own, [out];\n\tmov.u32 %%t, %%tid.x;\n\tmul.wide.u32 %%a, %%t, %d;\n\tadd.s64 %%own, %%own, %%a;\n", 4*(4+3*twinRegisters+twinRegisters))
	s.WriteString("\tmov.u32 %slot, tile;\n\tshl.b32 %r0, %t, 2;\n\tadd.s32 %slot, %slot, %r0;\n\tst.shared.b32 [%slot], 0;\n")
	for i := range twinRegisters {
		fmt.Fprintf(&s, "\tmad.lo.s32 %%r%d, %%t, %d, %d;\n\tcvt.u64.u32 %%d%d, %%r%d;\n\tsetp.lt.s32 %%p%d, %%t, %d;\n", i, seedOf(i), i, i, i, i, 8*i)
	}
	for i, st := range steps {
		fmt.Fprintf(&s, "L%d:\n\t%s\n", i, st.text)
	}
	fmt.Fprintf(&s, "L%d:\n", len(steps))
	for i := range twinRegisters {
		at := 16 + 16*i
		fmt.Fprintf(&s, "\tst.global.b32 [%%own+%d], %%r%d;\n\tst.global.b64 [%%own+%d], %%d%d;\n\tselp.b32 %%t, 1, 0, %%p%d;\n\tst.global.b32 [%%own+%d], %%t;\n", at, i, at+8, i, i, at+4)
	}
	s.WriteString("\tret;\n}\n")
	return s.String()
}

// seedOf makes registers begin with values that differ between lanes, floating-point numbers of all sizes among them.
func seedOf(i int) int32 { return []int32{1, -77, 0x01234567, 0x4f000001, 1 << 27, 0x3f800001}[i] }

// answer is what the twin leaves of one thread.
func answer(steps []twinStep, number int) []byte {
	t := &thread{}
	for i := range twinRegisters {
		t.r[i] = uint32(number)*uint32(seedOf(i)) + uint32(i)
		t.d[i] = uint64(t.r[i])
		t.p[i] = number < 8*i
	}
	for t.pc = 0; t.pc < len(steps); t.pc++ {
		steps[t.pc].do(t)
	}
	var out []byte
	for _, v := range t.out {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	for i := range twinRegisters {
		out = binary.LittleEndian.AppendUint32(out, t.r[i])
		if t.p[i] {
			out = binary.LittleEndian.AppendUint32(out, 1)
		} else {
			out = binary.LittleEndian.AppendUint32(out, 0)
		}
		out = binary.LittleEndian.AppendUint64(out, t.d[i])
	}
	return out
}

// TestRandomProgramsAgreeWithASlowInterpreter runs random programs with guards and forward branches on the simulator and, thread by
// thread, on an interpreter of closures and big numbers.
func TestRandomProgramsAgreeWithASlowInterpreter(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 30
	}
	for seed := range uint64(n) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
		steps := g.program(4 + g.IntN(60))
		text := programText(steps)
		stride := 4 * (4 + 4*twinRegisters)
		data := make([]byte, twinBlock*stride)
		l := testLaunch(1, twinBlock, data, 0)
		l.Options.ScheduleSeed = seed
		r := mustRun(t, text, l)
		if len(r.Findings) != 0 {
			t.Fatalf("seed %d: findings %+v\n%s", seed, r.Findings, text)
		}
		for i := range twinBlock {
			got, want := data[i*stride:(i+1)*stride], answer(steps, i)
			if string(got) != string(want) {
				t.Fatalf("seed %d, thread %d: got\n%x\nwant\n%x\n%s", seed, i, got, want, text)
			}
		}
	}
}
