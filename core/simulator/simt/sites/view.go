package sites

import (
	"strconv"

	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// view shows the values of a function to package observe.
type view struct {
	l    *List
	flow *dataflow
}

// value is a register at an instruction, what an instruction writes, or the number of a thread.
type value struct {
	register, at int32  // at is the instruction before which the register is looked at
	made         bool   // at is the instruction that makes it
	special      string // "%tid.x"
}

// Source is what makes a value.
func (v view) Source(of value) observe.Source[value] {
	switch {
	case of.special != "":
		return observe.Source[value]{Origin: site.FromProgramID, Name: of.special}
	case of.made:
		return v.result(of.at)
	}
	def := v.flow.definition(of.register, of.at)
	if def.inst >= 0 {
		return v.result(def.inst)
	}
	s := observe.Source[value]{Origin: site.FromArith}
	if def.carried {
		s.Origin = site.FromCarried
	}
	for _, w := range def.all {
		s.Inputs = append(s.Inputs, value{at: w, made: true})
	}
	return s
}

// result is what an instruction writes.
func (v view) result(at int32) observe.Source[value] {
	in := &v.flow.f.Insts[at]
	inputs := in.Operands[min(in.Outputs, len(in.Operands)):]
	s := observe.Source[value]{Origin: site.FromArith, Name: in.Op.Full}
	switch name := in.Op.Name; {
	case name == "ld" && len(inputs) > 0 && isParam(in):
		s.Origin, s.Name = site.FromCall, ""
		for i := range v.flow.f.Params {
			if v.flow.f.Params[i].Name == inputs[0].Symbol {
				s.Origin, s.Name = site.FromArgument, "%"+strconv.Itoa(i)
			}
		}
		return s
	case name == "ld" || name == "ldu" || name == "ldmatrix":
		s.Origin = site.FromLoad
		return s
	case name == "atom":
		s.Origin = site.FromAtomic
		return s
	case fromLanes[name]:
		s.Origin, s.Lanes = site.FromShuffle, lanesOf(in, inputs)
		return s
	case name == "createpolicy":
		s.Origin = site.FromConstant
		return s
	}
	for i := range inputs {
		s.Inputs = valuesOf(&inputs[i], at, s.Inputs)
	}
	if in.Guard >= 0 && in.Outputs > 0 { // lanes without the guard keep what they had
		eachWritten(in, func(r int32) { s.Inputs = v.before(r, at, s.Inputs) })
	}
	return s
}

// lanesOf is from which lanes a shuffle takes its value, where that is a constant: "bfly 16".
func lanesOf(in *ptx.Inst, inputs []ptx.Operand) string {
	if in.Op.Name != "shfl" || len(in.Op.Mods) < 2 || len(inputs) < 2 || inputs[1].Kind != ptx.Immediate || inputs[1].Float != 0 {
		return ""
	}
	return in.Op.Mods[1] + " " + strconv.FormatUint(inputs[1].Bits, 10)
}

// before adds what a register held before a guarded instruction wrote it.
func (v view) before(register, at int32, to []value) []value {
	for _, w := range v.flow.writes[register] {
		if w != at {
			to = append(to, value{at: w, made: true})
		}
	}
	return to
}

// valuesOf adds the values of an operand of an instruction; constants and symbols are none.
func valuesOf(o *ptx.Operand, at int32, to []value) []value {
	switch o.Kind {
	case ptx.Special:
		return append(to, value{special: o.Symbol})
	case ptx.IsRegister, ptx.Address:
		if o.Reg >= 0 {
			to = append(to, value{register: o.Reg, at: at})
		}
	}
	for i := range o.Elems {
		to = valuesOf(&o.Elems[i], at, to)
	}
	return to
}

// codeHash is that of a site with some operands of an instruction.
func (l *List) codeHash(s *site.Site, at int32, operands ...*ptx.Operand) uint32 {
	var values []value
	for _, o := range operands {
		values = valuesOf(o, at, values)
	}
	ty := ""
	if len(s.Operands) > 0 {
		ty = s.Operands[0].Type
	}
	return l.hashes.Of(s.Kind, s.Compare, ty, values...)
}
