package warptracetest

import (
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

var kernelNames = []string{"softmax_rows", "gather_topk", "layernorm_fwd", "histogram", "segment_scan", "attention_tail"}

// builder makes a random program.
type builder struct {
	*Random
	c       Config
	p       *Program
	f       *function // being written
	loops   int       // nesting of loops
	names   map[string]int
	ints    []*variable // in scope, of the function being written
	x, y    *array
	tile    *array
	out     *array
	counts  *array
	helpers []*function

	rowStartBug seeded
}

// NewProgram makes a program. Equal configs give equal programs.
func NewProgram(c Config) *Program {
	p := write(c)
	p.layout()
	return p
}

// write makes the program's statements. They have no lines and sites yet, so that a bug can be put in.
func write(c Config) *Program {
	c = c.withDefaults()
	b := &builder{Random: NewRandom(c.Seed, 1), c: c, names: map[string]int{}}
	b.p = &Program{Config: c, Name: c.Kernel, bugs: map[string]seeded{}}
	if b.p.Name == "" {
		b.p.Name = kernelNames[b.Below(len(kernelNames))]
	}
	b.memory()
	b.helpers = []*function{b.rowStart(), b.clampHelper(), b.stepHelper()}
	b.mainFunction()
	b.p.functions = append(slices.Clone(b.helpers), b.p.kernel)
	return b.p
}

func (b *builder) memory() {
	add := func(name string, typ warptrace.ValueType, below int32) *array {
		a := &array{name: name, index: len(b.p.arrays), typ: typ, modul: below}
		b.p.arrays = append(b.p.arrays, a)
		return a
	}
	b.x, b.y = add("x", warptrace.TypeI32, 256), add("y", warptrace.TypeF32, 0)
	b.tile, b.out, b.counts = add("tile", warptrace.TypeI32, 0), add("out", warptrace.TypeI32, 0), add("counts", warptrace.TypeI32, 0)
}

// fresh returns a new variable of the function being written.
func (b *builder) fresh(name string, typ warptrace.ValueType) *variable {
	key := b.f.name + "." + name
	n := b.names[key]
	b.names[key]++
	if n > 0 {
		name = fmt.Sprintf("%s%d", name, n)
	}
	v := &variable{name: name, typ: typ, reg: b.p.registers, loops: b.loops}
	b.p.registers++
	return v
}

func newStmt(k stmtKind) *stmt { return &stmt{kind: k, site: -1} }

// assign gives a variable a value. Inside a loop that the variable is declared outside of, it is carried around.
func (b *builder) assign(v *variable, e *expr) *stmt {
	s := newStmt(stAssign)
	s.dst, s.src = v, e
	v.def, v.from = e, nil
	v.carry = v.carry || b.loops > v.loops
	return s
}

func (b *builder) declare(name string, e *expr) (*variable, *stmt) {
	v := b.fresh(name, e.typ)
	s := b.assign(v, e)
	s.declares = true
	return v, s
}

func (b *builder) load(name string, from *array, index *expr) (*variable, *stmt) {
	v := b.fresh(name, from.typ)
	s := newStmt(stLoad)
	s.dst, s.array, s.index, s.declares = v, from, index, true
	s.operands = []prov{provenance("address", index, 3)}
	v.from = s
	return v, s
}

// conditional makes a statement that compares.
func (b *builder) conditional(k stmtKind, pred site.Compare, lhs, rhs *expr) *stmt {
	s := newStmt(k)
	s.cond = &cond{pred: pred, lhs: lhs, rhs: rhs}
	s.operands = []prov{provenance("lhs", lhs, 3), provenance("rhs", rhs, 3)}
	return s
}

func (b *builder) store(to *array, index, value *expr, global bool) *stmt {
	s := newStmt(stStore)
	s.array, s.index, s.src, s.global = to, index, value, global
	s.operands = []prov{provenance("address", index, 3), provenance("value", value, 3)}
	return s
}

// forLoop counts a new variable from 0 while it compares to bound.
func (b *builder) forLoop(name string, bound *expr, body func(i *variable) []*stmt) *stmt {
	b.loops++
	i := b.fresh(name, warptrace.TypeI32)
	i.loops = b.loops - 1
	i.def, i.carry = constant(0), true
	s := b.conditional(stFor, cmpSLT, use(i), bound)
	s.dst = i
	s.body = body(i)
	b.loops--
	return s
}

// inScope runs body and forgets the variables that it declared.
func (b *builder) inScope(body func() []*stmt) []*stmt {
	n := len(b.ints)
	out := body()
	b.ints = b.ints[:n]
	return out
}

// thread is the number of the thread in the launch.
func thread() *expr {
	return combine(opAdd, combine(opMul, leaf(opBlock), argument("block_size")), leaf(opThread))
}

func argument(name string) *expr { return &expr{op: opArg, name: name, typ: warptrace.TypeI32} }

// mainFunction writes the kernel: bounds, a loop over tiles with everything inside, a result.
func (b *builder) mainFunction() {
	b.f = &function{name: b.p.Name, symbol: b.p.Name, file: b.p.Name + ".cu"}
	b.p.kernel = b.f
	tid, s := b.declare("tid", thread())
	body := []*stmt{s}
	if !b.c.Endless {
		leave := b.conditional(stIf, cmpSGE, use(tid), argument("n"))
		leave.body = []*stmt{newStmt(stReturn)}
		body = append(body, leave)
	}
	acc, s := b.declare("acc", constant(0))
	acc.carry = true
	body = append(body, s)
	b.ints = append(b.ints, tid, acc)
	tiles := argument("tiles")
	body = append(body, b.forLoop("t", tiles, func(t *variable) []*stmt {
		b.ints = append(b.ints, t)
		var pieces [][]*stmt
		for _, f := range b.features(tid, acc, t) {
			pieces = append(pieces, b.inScope(f))
		}
		for range b.c.Size {
			pieces = append(pieces, b.inScope(func() []*stmt { return b.statements(tid, acc, 1) }))
		}
		b.shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		return slices.Concat(pieces...)
	}))
	body = append(body, b.store(b.out, use(tid), use(acc), true))
	b.f.body = body
}

// statements writes one random construct.
func (b *builder) statements(tid, acc *variable, depth int) []*stmt {
	deeper := func() []*stmt {
		return b.inScope(func() []*stmt {
			out := b.touch(tid, acc)
			if depth < b.c.Depth {
				for range b.Between(1, 2) {
					out = append(out, b.statements(tid, acc, depth+1)...)
				}
			}
			return out
		})
	}
	switch b.Below(9) {
	case 0, 1:
		return b.branchOnData(tid, acc, deeper)
	case 2:
		s := b.conditional(stIf, cmpEQ, combine(opAnd, leaf(opLane), constant(int64(b.Between(1, 7)))), constant(0))
		s.body = deeper()
		return []*stmt{s}
	case 3:
		return []*stmt{b.forLoop("k", constant(int64(b.Between(2, 4))), func(*variable) []*stmt { return deeper() })}
	case 4:
		return b.loopOnData(tid, acc, deeper)
	case 5:
		return b.switchOnData(tid, acc, deeper)
	case 6:
		return b.callHelper(tid, acc)
	case 7:
		return b.exitOnData(tid, acc)
	}
	return b.touch(tid, acc)
}

// someIndex is an expression over what is in scope.
func (b *builder) someIndex(tid *variable) *expr {
	v := b.ints[b.Below(len(b.ints))]
	return combine(opAdd, combine(opMul, use(tid), constant(int64(b.Between(1, 5)))), use(v))
}

// branchOnData writes: v = x[...]; if (v < c) {...} else {...}
func (b *builder) branchOnData(tid, acc *variable, deeper func() []*stmt) []*stmt {
	v, load := b.load("v", b.x, b.someIndex(tid))
	s := b.conditional(stIf, []site.Compare{cmpSLT, cmpSGT, cmpNE}[b.Below(3)], use(v), constant(int64(b.Between(40, 215))))
	s.body = deeper()
	if b.chance(2) {
		s.other = deeper()
	}
	return []*stmt{load, s}
}

// loopOnData writes: len = x[...] & 7; for (...; j < len; ...) { ...; if (acc > c) break; }
func (b *builder) loopOnData(tid, acc *variable, deeper func() []*stmt) []*stmt {
	v, load := b.load("deg", b.x, b.someIndex(tid))
	loop := b.forLoop("j", combine(opAnd, use(v), constant(int64([]int{3, 7}[b.Below(2)]))), func(*variable) []*stmt {
		body := deeper()
		if b.chance(2) {
			stop := b.conditional(stIf, cmpEQ, combine(opAnd, use(acc), constant(15)), constant(int64(b.Below(16))))
			stop.body = []*stmt{newStmt(stBreak)}
			body = append(body, stop)
		}
		return body
	})
	return []*stmt{load, loop}
}

func (b *builder) switchOnData(tid, acc *variable, deeper func() []*stmt) []*stmt {
	v, load := b.load("mode", b.x, b.someIndex(tid))
	s := newStmt(stSwitch)
	s.src = combine(opAnd, use(v), constant(3))
	s.operands = []prov{provenance("condition", s.src, 3)}
	for range b.Between(2, 4) {
		s.cases = append(s.cases, deeper())
	}
	return []*stmt{load, s}
}

func (b *builder) callHelper(tid, acc *variable) []*stmt {
	s := newStmt(stCall)
	s.call = b.helpers[1+b.Below(len(b.helpers)-1)]
	s.args = []*expr{use(acc), b.someIndex(tid)}
	s.dst = acc
	acc.def, acc.from, acc.carry = nil, nil, true
	return []*stmt{s}
}

// exitOnData lets some lanes leave the kernel, seldom.
func (b *builder) exitOnData(tid, acc *variable) []*stmt {
	if b.c.Endless {
		return b.touch(tid, acc)
	}
	v, load := b.load("flag", b.x, b.someIndex(tid))
	s := b.conditional(stIf, cmpEQ, use(v), constant(int64(b.Below(256))))
	s.body = []*stmt{b.store(b.out, use(tid), use(acc), true), newStmt(stReturn)}
	return []*stmt{load, s}
}

// touch writes something without a branch.
func (b *builder) touch(tid, acc *variable) []*stmt {
	switch b.Below(5) {
	case 0:
		return []*stmt{b.store(b.out, use(tid), use(acc), true)}
	case 1:
		s := newStmt(stAtomic)
		s.array, s.index, s.src, s.own = b.counts, combine(opAnd, use(acc), constant(7)), constant(1), true
		s.operands = []prov{provenance("address", s.index, 3), provenance("value", s.src, 1)}
		return []*stmt{s}
	case 2:
		v := b.fresh("w", warptrace.TypeI32)
		s := b.conditional(stSelect, cmpSLT, b.someIndex(tid), argument("n"))
		s.dst, s.array, s.index, s.declares = v, b.x, s.cond.lhs, true
		v.from = s
		return []*stmt{s, b.assign(acc, combine(opAdd, use(acc), use(v)))}
	case 3:
		v, load := b.load("u", b.x, b.someIndex(tid))
		return []*stmt{load, b.assign(acc, combine(opXor, use(acc), use(v)))}
	}
	return []*stmt{b.assign(acc, combine(opAdd, use(acc), constant(int64(b.Between(1, 9)))))}
}
