package simt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/kernel/ptx"
	"github.com/prlx-go/prlx/core/kernel/simt/memory"
)

// findings are what the checks found, once for each instruction and check. Each worker has its own; merge joins them, so that
// the first of all is kept whatever the order in which blocks ran.
type findings struct {
	byPlace map[spot]*sighting
	total   int64
}

// spot is an instruction and a check. Instructions are those of the text, so that what the binder adds does not count twice.
type spot struct {
	origin int32
	check  Check
}

// sighting is one finding: how often, and what it was the first time in the order of blocks and warps.
type sighting struct {
	count int64
	block uint64
	warp  int
	Finding
}

func newFindings() *findings { return &findings{byPlace: map[spot]*sighting{}} }

// add counts a finding. describe is called when it is the first one of its place.
func (f *findings) add(at spot, block uint64, warp int, describe func() Finding) {
	f.total++
	s := f.byPlace[at]
	switch {
	case s == nil:
		s = &sighting{block: block, warp: warp, Finding: describe()}
		f.byPlace[at] = s
	case block < s.block || block == s.block && warp < s.warp:
		s.block, s.warp, s.Finding = block, warp, describe()
	}
	s.count++
}

// merge adds another worker's findings.
func (f *findings) merge(other *findings) {
	for at, s := range other.byPlace {
		mine := f.byPlace[at]
		if mine == nil {
			f.byPlace[at] = s
			continue
		}
		count := mine.count + s.count
		if s.block < mine.block || s.block == mine.block && s.warp < mine.warp {
			*mine = *s
		}
		mine.count = count
	}
	f.total += other.total
}

// list returns at most limit findings by order of instruction, and how often those beyond were found.
func (f *findings) list(limit int) (list []Finding, more int64) {
	places := make([]spot, 0, len(f.byPlace))
	for at := range f.byPlace {
		places = append(places, at)
	}
	slices.SortFunc(places, func(a, b spot) int {
		return cmp.Or(cmp.Compare(a.origin, b.origin), strings.Compare(string(a.check), string(b.check)))
	})
	for i, at := range places {
		s := f.byPlace[at]
		if i >= limit {
			more += s.count
			continue
		}
		s.Finding.Count = s.count
		list = append(list, s.Finding)
	}
	return list, more
}

// report notes what a check found at an instruction.
func (b *block) report(check Check, w *warp, at int32, lanes uint32, message string) {
	b.note(check, w, at, lanes, nil, func() string { return message })
}

// note is report with a message that is made when it is needed.
func (b *block) note(check Check, w *warp, at int32, lanes uint32, fault *memory.Fault, message func() string) {
	k := b.kernel
	b.found.add(spot{k.code[at].origin, check}, b.linear, w.index, func() Finding {
		f := Finding{
			Check: check, Kernel: k.name, Where: k.where(at), Text: k.text(at),
			Block: b.index, Warp: w.index, Lanes: lanes, Message: message(),
		}
		o := k.origins[k.code[at].origin]
		f.Inst, f.Function = o.index, o.function.Name
		if lanes != 0 {
			f.Lane = first(lanes)
		}
		if fault != nil {
			copied := *fault
			f.Fault, f.Lane = &copied, fault.Lane
		}
		return f
	})
	if b.launch.options.StopAtFirst {
		b.ended = true
	}
}

// where is the source of an instruction of the code.
func (k *kernel) where(at int32) []Frame {
	o := k.origins[k.code[at].origin]
	if int(o.index) >= len(o.function.Insts) {
		return nil
	}
	chain := sourceOf(k.module, o.function.Insts[o.index].Location)
	if n := len(chain); n > 0 && chain[n-1].Function == "" {
		chain[n-1].Function = o.function.Name
	}
	return chain
}

// text is an instruction of the code as the text of the module has it, in one spelling.
func (k *kernel) text(at int32) string {
	o := k.origins[k.code[at].origin]
	if int(o.index) >= len(o.function.Insts) {
		return "ret"
	}
	return instText(o.function, &o.function.Insts[o.index])
}

// instText spells an instruction.
func instText(f *ptx.Function, in *ptx.Inst) string {
	var s strings.Builder
	if in.Guard >= 0 {
		s.WriteString("@")
		if in.GuardNot {
			s.WriteString("!")
		}
		s.WriteString(registerName(f, in.Guard) + " ")
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

func registerName(f *ptx.Function, r int32) string {
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
		s.WriteString(registerName(f, o.Reg))
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
			s.WriteString(registerName(f, o.Reg))
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
