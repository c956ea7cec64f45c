package sites

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// Limits of the provenance of one operand.
const (
	provenanceDepth = 5
	provenanceNodes = 12
	maxInputs       = 4
)

// operand is an operand of a site with its provenance.
func (l *List) operand(flow *dataflow, o *ptx.Operand, at int32, role string) site.Operand {
	nodes := provenanceNodes
	out := l.origin(flow, o, at, provenanceDepth, &nodes)
	out.Role = role
	return *out
}

// origin finds where an operand comes from.
func (l *List) origin(flow *dataflow, o *ptx.Operand, at int32, depth int, nodes *int) *site.Operand {
	out := &site.Operand{}
	*nodes--
	switch o.Kind {
	case ptx.Immediate:
		out.Origin, out.Name = site.FromConstant, immediateText(o)
	case ptx.Special:
		out.Origin, out.Name = site.FromProgramID, o.Symbol
	case ptx.IsSymbol:
		out.Origin, out.Name = site.FromConstant, o.Symbol
	case ptx.Address:
		if o.Reg >= 0 {
			l.register(flow, o.Reg, at, depth, nodes, out)
		} else {
			out.Origin, out.Name = site.FromConstant, o.Symbol+offsetText(o)
		}
	case ptx.IsRegister:
		l.register(flow, o.Reg, at, depth, nodes, out)
	case ptx.Vector, ptx.Pair:
		if len(o.Elems) > 0 {
			return l.origin(flow, &o.Elems[0], at, depth, nodes)
		}
	}
	return out
}

func offsetText(o *ptx.Operand) string {
	if o.Offset == 0 && o.Symbol != "" {
		return ""
	}
	if o.Symbol == "" {
		return strconv.FormatInt(o.Offset, 10)
	}
	text := strconv.FormatInt(o.Offset, 10)
	if o.Offset > 0 {
		text = "+" + text
	}
	return text
}

func immediateText(o *ptx.Operand) string {
	switch o.Float {
	case 32:
		return warptrace.FormatValue(o.Bits, warptrace.TypeF32)
	case 64:
		return strconv.FormatFloat(math.Float64frombits(o.Bits), 'g', -1, 64)
	}
	return strconv.FormatInt(int64(o.Bits), 10)
}

func (l *List) register(flow *dataflow, register, at int32, depth int, nodes *int, out *site.Operand) {
	def := flow.definition(register, at)
	switch {
	case def.inst >= 0:
		l.result(flow, def.inst, depth, nodes, out)
		return
	case def.carried:
		out.Origin, out.Name = site.FromCarried, flow.f.Registers[register].Name
	case len(def.all) > 0:
		out.Origin, out.Name = site.FromArith, "one of several"
	default:
		return // never written
	}
	for _, w := range def.all {
		if depth <= 0 || *nodes <= 0 || len(out.Inputs) == maxInputs || def.carried && w >= at {
			return
		}
		var input site.Operand
		*nodes--
		l.result(flow, w, depth-1, nodes, &input)
		out.Inputs = append(out.Inputs, input)
	}
}

// fromLanes are the instructions whose result comes from other lanes.
var fromLanes = map[string]bool{"shfl": true, "vote": true, "redux": true, "match": true, "activemask": true}

// result is the origin of what an instruction writes.
func (l *List) result(flow *dataflow, at int32, depth int, nodes *int, out *site.Operand) {
	in := &flow.f.Insts[at]
	inputs := in.Operands[min(in.Outputs, len(in.Operands)):]
	switch name := in.Op.Name; {
	case (name == "mov" || name == "cvta" || name == "cvt") && len(inputs) == 1 && inputs[0].Kind != ptx.Vector && (depth > 0 || inputs[0].Kind != ptx.IsRegister):
		*out = *l.origin(flow, &inputs[0], at, max(0, depth-1), nodes)
		return
	case name == "ld" && len(inputs) > 0 && isParam(in):
		l.parameter(flow, &inputs[0], at, out)
		return
	case name == "ld" || name == "ldu" || name == "ldmatrix":
		out.Origin = site.FromLoad
	case name == "atom":
		out.Origin = site.FromAtomic
	case fromLanes[name]:
		out.Origin = site.FromShuffle
	case name == "createpolicy":
		out.Origin = site.FromConstant
	default:
		out.Origin = site.FromArith
	}
	out.Name = in.Op.Full
	if frames := chainOf(l.module, flow.f, in.Location); len(frames) > 0 && frames[0].Line > 0 {
		out.Where = frames[0]
	}
	if out.Origin == site.FromLoad || out.Origin == site.FromAtomic {
		l.sources = append(l.sources, Place{flow.f, at})
		out.Site = site.Key(len(l.sources))
		return
	}
	for i := range inputs {
		if depth > 0 && *nodes > 0 && len(out.Inputs) < maxInputs {
			out.Inputs = append(out.Inputs, *l.origin(flow, &inputs[i], at, depth-1, nodes))
		}
	}
	counted(in, out)
}

// counted makes of a counter of a loop, which is stepped and then compared, what it is: carried around the loop.
func counted(in *ptx.Inst, out *site.Operand) {
	if in.Op.Name != "add" && in.Op.Name != "sub" || len(out.Inputs) != 2 {
		return
	}
	for i := range out.Inputs {
		step := &out.Inputs[1-i]
		if out.Inputs[i].Origin == site.FromCarried && (step.Origin == site.FromConstant || step.Origin == site.FromArgument || step.Origin == site.FromProgramID) {
			out.Origin, out.Name = site.FromCarried, strings.TrimSpace(out.Inputs[i].Name+" "+in.Op.Name+" "+step.Name)
			out.Inputs = out.Inputs[i].Inputs
			return
		}
	}
}

func isParam(in *ptx.Inst) bool {
	return slices.Contains(in.Op.Mods, "param") || slices.Contains(in.Op.Mods, "param::entry") || slices.Contains(in.Op.Mods, "param::func")
}

// parameter is the origin of what was loaded from parameter space: an argument of the kernel or function, or the result of a call.
func (l *List) parameter(flow *dataflow, address *ptx.Operand, at int32, out *site.Operand) {
	for i := range flow.f.Params {
		if flow.f.Params[i].Name != address.Symbol {
			continue
		}
		out.Origin, out.Name = site.FromArgument, address.Symbol
		if flow.f.Entry && i < len(l.arguments) && l.arguments[i] != "" {
			out.Name = l.arguments[i]
		}
		if address.Offset != 0 {
			out.Name += "+" + strconv.FormatInt(address.Offset, 10)
		}
		return
	}
	out.Origin = site.FromCall
	if call := flow.calls[at]; call >= 0 {
		if g := l.called(&flow.f.Insts[call]); g != nil {
			out.Name = g.Name
		}
	}
}
