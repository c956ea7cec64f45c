package code

import (
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// Where is the source of an instruction of the code, innermost first.
func (k *Kernel) Where(at int32) []site.Frame {
	o := k.Origin(at)
	in := o.PTX()
	if in == nil {
		return nil
	}
	chain := SourceOf(k.Module, in.Location)
	if n := len(chain); n > 0 && chain[n-1].Function == "" {
		chain[n-1].Function = o.Function.Name
	}
	return chain
}

// Text is an instruction of the code as the text of the module has it, in one spelling.
func (k *Kernel) Text(at int32) string {
	o := k.Origin(at)
	if in := o.PTX(); in != nil {
		return Text(o.Function, in)
	}
	return "ret"
}

// Text spells an instruction of a function.
func Text(f *ptx.Function, in *ptx.Inst) string {
	var s strings.Builder
	if in.Guard >= 0 {
		s.WriteString("@")
		if in.GuardNot {
			s.WriteString("!")
		}
		s.WriteString(RegisterName(f, in.Guard) + " ")
	}
	s.WriteString(in.Op.Full)
	for i := range in.Operands {
		if i > 0 {
			s.WriteString(",")
		}
		s.WriteString(" ")
		writeOperand(&s, f, &in.Operands[i])
	}
	return s.String()
}

// RegisterName is what the text calls a register, "?" if there is none.
func RegisterName(f *ptx.Function, r int32) string {
	if r < 0 || int(r) >= len(f.Registers) {
		return "?"
	}
	return f.Registers[r].Name
}

func writeOperand(s *strings.Builder, f *ptx.Function, o *ptx.Operand) {
	list := func(open, separator, end string) {
		s.WriteString(open)
		for i := range o.Elems {
			if i > 0 {
				s.WriteString(separator)
			}
			writeOperand(s, f, &o.Elems[i])
		}
		s.WriteString(end)
	}
	switch o.Kind {
	case ptx.IsRegister:
		if o.Not {
			s.WriteString("!")
		}
		if o.Neg {
			s.WriteString("-")
		}
		s.WriteString(RegisterName(f, o.Reg))
	case ptx.Immediate:
		switch o.Float {
		case 32:
			fmt.Fprintf(s, "0f%08X", o.Bits)
		case 64:
			fmt.Fprintf(s, "0d%016X", o.Bits)
		default:
			fmt.Fprintf(s, "%d", int64(o.Bits))
		}
	case ptx.Vector:
		list("{", ", ", "}")
	case ptx.Pair:
		list("", "|", "")
	case ptx.Arguments:
		list("(", ", ", ")")
	case ptx.Address:
		s.WriteString("[" + o.Symbol)
		if o.Reg >= 0 {
			s.WriteString(RegisterName(f, o.Reg))
		}
		if o.Offset != 0 && (o.Symbol != "" || o.Reg >= 0) {
			fmt.Fprintf(s, "%+d", o.Offset)
		} else if o.Symbol == "" && o.Reg < 0 {
			fmt.Fprintf(s, "%d", o.Offset)
		}
		s.WriteString("]")
	case ptx.IsSymbol, ptx.Special:
		s.WriteString(o.Symbol)
	case ptx.Label:
		fmt.Fprintf(s, "@%d", o.Target)
	case ptx.Sink:
		s.WriteString("_")
	}
}

// maxFrames bounds a chain of inlined calls.
const maxFrames = 64

// SourceOf is what a location of a module stands for, innermost first.
func SourceOf(m *ptx.Module, location int32) []site.Frame {
	var chain []site.Frame
	for location >= 0 && int(location) < len(m.Locations) && len(chain) < maxFrames {
		l := &m.Locations[location]
		f := site.Frame{Function: l.Function, Line: l.Line, Column: l.Column}
		if l.File >= 0 && int(l.File) < len(m.Files) {
			f.File = m.Files[l.File]
		}
		chain = append(chain, f)
		location = l.Inlined
	}
	return chain
}

// WidthOf is how many bits a type has by its spelling in PTX, 0 for what is not a type.
func WidthOf(t string) int {
	switch t {
	case "b8", "u8", "s8":
		return 8
	case "b16", "u16", "s16", "f16", "bf16":
		return 16
	case "b32", "u32", "s32", "f32", "f16x2", "bf16x2", "tf32":
		return 32
	case "b64", "u64", "s64", "f64":
		return 64
	case "b128":
		return 128
	case "pred":
		return 1
	}
	return 0
}
