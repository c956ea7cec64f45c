package slice

import (
	"hash/fnv"
	"slices"

	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// Marks of what no instruction stands for.
const (
	markImmediate = iota + 1
	markFloat
	markNamed
	markParameter
	markNever
	markSeveral
	markCarried
	markNot
	markGuard
	markAddress
	markList
	markBefore
	markResult
)

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

// commutes are the instructions whose two operands can change places: compilers order them by where their values were made.
var commutes = map[string]bool{"add": true, "mul": true, "and": true, "or": true, "xor": true, "min": true, "max": true}

// hashAll hashes all instructions in the order of the text. What comes around a loop counts by what it began with.
func (c *Code) hashAll() {
	for i := range c.insts {
		c.insts[i].hash = c.hashOf(int32(i))
	}
}

// hashOf hashes one instruction, and on the way the values of the registers that it reads.
func (c *Code) hashOf(at int32) uint64 {
	one := &c.insts[at]
	in := one.in
	for k := range one.uses {
		one.uses[k].hash = c.valueHash(&one.uses[k])
	}
	inputs := in.Operands[min(in.Outputs, len(in.Operands)):]
	next := 0
	if one.op.copies {
		return c.operandHash(&inputs[0], one, &next)
	}
	if in.Op.Name == "ld" && one.op.space == ptx.Param && len(inputs) == 1 {
		return c.parameterHash(&inputs[0])
	}
	h := hashOfText(in.Op.Full)
	if len(inputs) == 2 && commutes[in.Op.Name] {
		h = joined(h, joined(1, c.operandHash(&inputs[0], one, &next))+joined(1, c.operandHash(&inputs[1], one, &next)))
	} else {
		for k := range inputs {
			h = joined(h, c.operandHash(&inputs[k], one, &next))
		}
	}
	for ; next < len(one.uses); next++ {
		mark := uint64(markBefore)
		if one.uses[next].role == asGuard {
			if mark = markGuard; in.GuardNot {
				mark = markNot
			}
		}
		h = joined(h, joined(mark, one.uses[next].hash))
	}
	return h
}

// valueHash hashes the value that a register has: what made it, or what can have.
func (c *Code) valueHash(u *use) uint64 {
	var straight []uint64
	carried := false
	for _, d := range u.from {
		if d.carried {
			carried = true
			continue
		}
		straight = append(straight, c.insts[d.inst].hash)
	}
	switch {
	case len(u.from) == 0:
		return markNever
	case len(straight) == 1 && !carried:
		return straight[0]
	}
	slices.Sort(straight)
	h := uint64(markSeveral)
	if carried {
		h = markCarried
	}
	for _, s := range slices.Compact(straight) {
		h = joined(h, s)
	}
	return h
}

// resultHash tells the results of an instruction apart that has several.
func (c *Code) resultHash(at, register int32) uint64 {
	in := c.insts[at].in
	n, h := uint64(0), c.insts[at].hash
	many := 0
	eachWritten(in, func(int32) { many++ })
	if many > 1 {
		eachWritten(in, func(r int32) {
			if n++; r == register {
				h = joined(joined(h, markResult), n)
			}
		})
	}
	return h
}

// operandHash hashes an operand; next is the position of its first register among the uses.
func (c *Code) operandHash(o *ptx.Operand, one *instruction, next *int) uint64 {
	switch o.Kind {
	case ptx.IsRegister:
		h := c.registerHash(one, next, o.Reg)
		if o.Not || o.Neg {
			h = joined(h, markNot)
		}
		return h
	case ptx.Immediate:
		return joined(joined(markImmediate, o.Bits), uint64(o.Float)*markFloat)
	case ptx.Address:
		h := joined(markAddress, uint64(o.Offset))
		if o.Reg >= 0 {
			h = joined(h, c.registerHash(one, next, o.Reg))
		}
		return joined(h, c.symbolHash(o.Symbol))
	case ptx.Vector, ptx.Pair, ptx.Arguments:
		h := uint64(markList)
		for i := range o.Elems {
			h = joined(h, c.operandHash(&o.Elems[i], one, next))
		}
		return h
	case ptx.Label:
		return markNamed // where a branch leads is not what it computes
	}
	return c.symbolHash(o.Symbol)
}

// registerHash is the hash of the register that is read next.
func (c *Code) registerHash(one *instruction, next *int, register int32) uint64 {
	u := &one.uses[*next]
	*next++
	if len(u.from) == 1 && !u.from[0].carried {
		u.hash = c.resultHash(u.from[0].inst, register)
	}
	return u.hash
}

func (c *Code) symbolHash(name string) uint64 {
	if i := c.parameter(name); i >= 0 {
		return joined(markParameter, uint64(i))
	}
	return joined(markNamed, hashOfText(name))
}

// parameterHash is the hash of a parameter that is loaded: its position, and where in it.
func (c *Code) parameterHash(o *ptx.Operand) uint64 {
	return joined(c.symbolHash(o.Symbol), uint64(o.Offset))
}

// parameter is the position of a parameter of the kernel, -1 none.
func (c *Code) parameter(name string) int {
	return slices.IndexFunc(c.f.Params, func(v ptx.Variable) bool { return v.Name == name })
}
