package warptracetest

import (
	"math"
	"strconv"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// op is what an expression does.
type op uint8

const (
	opConst op = iota
	opVar
	opThread // threadIdx.x
	opBlock  // blockIdx.x
	opLane
	opArg // kernel argument that is a number
	opAdd
	opSub
	opMul
	opAnd
	opXor
	opShr
	opHalf // rounded through half precision and back
	opFAdd
	opFMul
)

var opText = map[op]string{opAdd: "+", opSub: "-", opMul: "*", opAnd: "&", opXor: "^", opShr: ">>", opFAdd: "+", opFMul: "*"}

// expr is an expression without side effects: loads are statements of their own.
type expr struct {
	op   op
	a, b *expr
	k    int64 // opConst: the value (of floats, their bits)
	v    *variable
	name string // opArg
	typ  warptrace.ValueType
}

// variable is a register of every lane.
type variable struct {
	name  string
	typ   warptrace.ValueType
	reg   int
	def   *expr // what it was assigned last in the order of the text
	from  *stmt // the load, atomic or reduction that it comes from
	loops int   // nesting of loops at its declaration
	carry bool  // assigned inside a loop that it is declared outside of
	argOf bool  // parameter of an inlined function
}

func constant(k int64) *expr         { return &expr{op: opConst, k: k, typ: warptrace.TypeI32} }
func use(v *variable) *expr          { return &expr{op: opVar, v: v, typ: v.typ} }
func leaf(o op) *expr                { return &expr{op: o, typ: warptrace.TypeI32} }
func combine(o op, a, b *expr) *expr { return &expr{op: o, a: a, b: b, typ: a.typ} }

func floatConstant(f float32) *expr {
	return &expr{op: opConst, k: int64(math.Float32bits(f)), typ: warptrace.TypeF32}
}

func throughHalf(a *expr) *expr { return &expr{op: opHalf, a: a, typ: warptrace.TypeF32} }

// String is the expression in the source text.
func (e *expr) String() string {
	switch e.op {
	case opConst:
		if e.typ == warptrace.TypeF32 {
			return strconv.FormatFloat(float64(math.Float32frombits(uint32(e.k))), 'f', -1, 32) + "f"
		}
		return strconv.FormatInt(e.k, 10)
	case opVar:
		return e.v.name
	case opThread:
		return "threadIdx.x"
	case opBlock:
		return "blockIdx.x"
	case opLane:
		return "lane_id()"
	case opArg:
		return e.name
	case opHalf:
		return "float(half(" + e.a.String() + "))"
	}
	return e.a.nested() + " " + opText[e.op] + " " + e.b.nested()
}

func (e *expr) nested() string {
	if e.op >= opAdd && e.op != opHalf {
		return "(" + e.String() + ")"
	}
	return e.String()
}

// cond is a compare of two expressions.
type cond struct {
	pred     site.Compare
	lhs, rhs *expr
}

// The compares that programs use, numbered as LLVM does.
const (
	cmpEQ  site.Compare = 32
	cmpNE  site.Compare = 33
	cmpSGT site.Compare = 38
	cmpSGE site.Compare = 39
	cmpSLT site.Compare = 40
	cmpSLE site.Compare = 41
	cmpOGT site.Compare = 2
	cmpOLT site.Compare = 4
)

var compares = map[site.Compare]struct{ text, llvm string }{
	cmpEQ: {"==", "icmp eq i32"}, cmpNE: {"!=", "icmp ne i32"}, cmpSGT: {">", "icmp sgt i32"}, cmpSGE: {">=", "icmp sge i32"},
	cmpSLT: {"<", "icmp slt i32"}, cmpSLE: {"<=", "icmp sle i32"}, cmpOGT: {">", "fcmp ogt float"}, cmpOLT: {"<", "fcmp olt float"},
}

func (c *cond) String() string {
	return c.lhs.nested() + " " + compares[c.pred].text + " " + c.rhs.nested()
}

// vec is one value a lane: integers sign-extended, floats as their bits.
type vec [64]uint64

// eval computes an expression for the lanes of a warp, active or not. The result may be a register: it is not written to.
func (m *machine) eval(e *expr) *vec {
	switch e.op {
	case opVar:
		return &m.regs[e.v.reg]
	case opConst:
		return m.fill(uint64(e.k))
	case opArg:
		return m.fill(uint64(m.arg(e.name)))
	case opBlock:
		return m.fill(m.block)
	case opThread:
		return &m.threads
	case opLane:
		return &m.lanes
	}
	out := m.scratch()
	a := m.eval(e.a)
	if e.op == opHalf {
		for i, v := range a[:m.width] {
			out[i] = uint64(math.Float32bits(roundToHalf(math.Float32frombits(uint32(v)))))
		}
		return out
	}
	b := m.eval(e.b)
	n := m.width
	x, y, z := a[:n], b[:n], out[:n]
	switch e.op {
	case opAdd:
		for i := range z {
			z[i] = uint64(int64(int32(x[i] + y[i])))
		}
	case opSub:
		for i := range z {
			z[i] = uint64(int64(int32(x[i] - y[i])))
		}
	case opMul:
		for i := range z {
			z[i] = uint64(int64(int32(x[i] * y[i])))
		}
	case opAnd:
		for i := range z {
			z[i] = x[i] & y[i]
		}
	case opXor:
		for i := range z {
			z[i] = x[i] ^ y[i]
		}
	case opShr:
		for i := range z {
			z[i] = uint64(int64(x[i]) >> (y[i] & 31))
		}
	case opFAdd:
		for i := range z {
			z[i] = uint64(math.Float32bits(math.Float32frombits(uint32(x[i])) + math.Float32frombits(uint32(y[i]))))
		}
	case opFMul:
		for i := range z {
			z[i] = uint64(math.Float32bits(math.Float32frombits(uint32(x[i])) * math.Float32frombits(uint32(y[i]))))
		}
	}
	return out
}

// roundToHalf rounds to the nearest half-precision number, ties to even. The generator's values stay in its normal range.
func roundToHalf(f float32) float32 {
	const dropped = 23 - 10
	b := math.Float32bits(f)
	b += 1<<(dropped-1) - 1 + b>>dropped&1
	return math.Float32frombits(b &^ (1<<dropped - 1))
}

// test evaluates a compare: the lanes where it holds, and its operands.
func (m *machine) test(c *cond) (holds uint64, lhs, rhs *vec) {
	lhs, rhs = m.eval(c.lhs), m.eval(c.rhs)
	x, y := lhs[:m.width], rhs[:m.width]
	var bit uint64
	switch c.pred {
	case cmpEQ, cmpNE:
		for i := range x {
			if x[i] == y[i] {
				bit |= 1 << i
			}
		}
	case cmpSLT, cmpSGE:
		for i := range x {
			if int64(x[i]) < int64(y[i]) {
				bit |= 1 << i
			}
		}
	case cmpSGT, cmpSLE:
		for i := range x {
			if int64(x[i]) > int64(y[i]) {
				bit |= 1 << i
			}
		}
	case cmpOGT:
		for i := range x {
			if math.Float32frombits(uint32(x[i])) > math.Float32frombits(uint32(y[i])) {
				bit |= 1 << i
			}
		}
	case cmpOLT:
		for i := range x {
			if math.Float32frombits(uint32(x[i])) < math.Float32frombits(uint32(y[i])) {
				bit |= 1 << i
			}
		}
	}
	if c.pred == cmpNE || c.pred == cmpSGE || c.pred == cmpSLE {
		bit = ^bit
	}
	return bit & m.full, lhs, rhs
}
