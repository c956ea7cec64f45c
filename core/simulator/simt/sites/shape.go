package sites

import (
	"hash/fnv"

	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// shapes are hashes over what the instructions of a function compute: opcodes, constants, arguments by their position, and the same of
// the instructions that made their operands. Names, registers and lines do not count, so that two builds of one source have the same.
// What comes around a loop, or from several ways, counts by the instructions that write it only.
type shapes struct {
	flow *dataflow
	of   []uint64 // of each instruction that was looked at
	done []bool
}

// Marks of what no instruction stands for.
const (
	shapeConstant = iota + 1
	shapeFloat
	shapeNamed
	shapeParameter
	shapeNever   // never written
	shapeCarried // around a loop
	shapeSeveral // by several ways
	shapeLater   // written behind its use
	shapeList
	shapeAddress
	shapeNot
	shapeGuard
)

func newShapes(flow *dataflow) *shapes {
	s := &shapes{flow: flow, of: make([]uint64, len(flow.f.Insts)), done: make([]bool, len(flow.f.Insts))}
	for i := range flow.f.Insts {
		s.of[i] = s.instruction(int32(i))
		s.done[i] = true
	}
	return s
}

// joined adds a number to a hash, in order.
func joined(h, v uint64) uint64 {
	h = (h ^ v) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

func hashOfText(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}

// instruction is the shape of one instruction. The guard of an access to memory does not count: a mask is a site of its own.
func (s *shapes) instruction(at int32) uint64 {
	in := &s.flow.f.Insts[at]
	h := hashOfText(in.Op.Full)
	inputs := in.Operands[min(in.Outputs, len(in.Operands)):]
	if len(inputs) == 2 && commutes[in.Op.Name] {
		h = joined(h, joined(1, s.operand(&inputs[0], at))+joined(1, s.operand(&inputs[1], at)))
	} else {
		for i := range inputs {
			h = joined(h, s.operand(&inputs[i], at))
		}
	}
	if in.Guard >= 0 && !leaves(in) && !touchesMemory(in) {
		h = joined(joined(h, shapeGuard), s.decision(in.Guard, at, in.GuardNot))
	}
	return h
}

// commutes are the instructions whose two operands can change places: compilers order them by where their values were made.
var commutes = map[string]bool{"add": true, "mul": true, "and": true, "or": true, "xor": true, "min": true, "max": true}

func touchesMemory(in *ptx.Inst) bool {
	switch in.Op.Name {
	case "ld", "ldu", "ldmatrix", "st", "atom", "red", "cp":
		return true
	}
	return false
}

// decision is the shape of a predicate, or of its opposite.
func (s *shapes) decision(register, at int32, not bool) uint64 {
	h := s.register(register, at)
	if not {
		h = joined(h, shapeNot)
	}
	return h
}

func (s *shapes) operand(o *ptx.Operand, at int32) uint64 {
	switch o.Kind {
	case ptx.IsRegister:
		return s.decision(o.Reg, at, o.Not || o.Neg)
	case ptx.Immediate:
		return joined(joined(shapeConstant, o.Bits), uint64(o.Float)*shapeFloat)
	case ptx.Address:
		h := joined(shapeAddress, uint64(o.Offset))
		if o.Reg >= 0 {
			h = joined(h, s.register(o.Reg, at))
		}
		return joined(h, s.symbol(o.Symbol))
	case ptx.Vector, ptx.Pair, ptx.Arguments:
		h := uint64(shapeList)
		for i := range o.Elems {
			h = joined(h, s.operand(&o.Elems[i], at))
		}
		return h
	case ptx.Label:
		return shapeNamed // where a branch leads is not what it computes
	}
	return s.symbol(o.Symbol)
}

// symbol is a name; parameters count by their position, because their names hold that of the kernel.
func (s *shapes) symbol(name string) uint64 {
	for i := range s.flow.f.Params {
		if s.flow.f.Params[i].Name == name {
			return joined(shapeParameter, uint64(i))
		}
	}
	return joined(shapeNamed, hashOfText(name))
}

// register is the shape of the value that a register has at an instruction.
func (s *shapes) register(register, at int32) uint64 {
	def := s.flow.definition(register, at)
	switch {
	case def.inst >= 0:
		return s.result(def.inst, register)
	case len(def.all) == 0:
		return shapeNever
	}
	h := uint64(shapeSeveral)
	if def.carried {
		h = shapeCarried
	}
	for _, w := range def.all[:min(len(def.all), maxInputs)] {
		h = joined(h, s.result(w, register))
	}
	return joined(h, uint64(len(def.all)))
}

// result is the shape of what an instruction writes to a register.
func (s *shapes) result(at, register int32) uint64 {
	in := &s.flow.f.Insts[at]
	h := joined(shapeLater, hashOfText(in.Op.Full))
	if s.done[at] {
		h = s.of[at]
	}
	n := uint64(0)
	eachWritten(in, func(r int32) {
		if n++; r == register {
			h = joined(h, n)
		}
	})
	return h
}

// short is a shape as sites have it: 0 means that there is none.
func short(h uint64) uint32 { return max(1, uint32(h^h>>32)) }
