package lane

import (
	"maps"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/simulator/ptx"
)

//go:generate go run ./gen

// family decodes the instructions of one name. It takes the modifiers that it understands; one that is left over is refused.
type family struct {
	decode func(d *decoder) (Form, bool)
	doc    string // forms that the simulator supports
	approx string
}

// decoder is an instruction of which parts have been understood.
type decoder struct {
	in   *ptx.Inst
	fn   *ptx.Function
	mods []string
}

// Decode says what an instruction does. fn is the function that it stands in, for the widths of its registers; without one they
// are those of the types. An instruction that the simulator does not support is an error of kind Incompatible.
func Decode(in *ptx.Inst, fn *ptx.Function) (Form, error) {
	f, ok := families[in.Op.Name]
	if !ok {
		return Form{}, fault.New(fault.Incompatible, "the simulator does not support the instruction %s", in.Op.Name)
	}
	d := &decoder{in: in, fn: fn, mods: slices.Clone(in.Op.Mods)}
	form, ok := f.decode(d)
	if !ok || len(d.mods) > 0 {
		return Form{}, fault.New(fault.Incompatible, "the simulator does not support the form %s of %s", in.Op.Full, in.Op.Name)
	}
	form.Family = in.Op.Name
	if form.Approx == "" && (slices.Contains(in.Op.Mods, "approx") || slices.Contains(in.Op.Mods, "full")) {
		form.Approx = f.approx
	}
	return form, nil
}

// take removes a modifier and reports whether it was there.
func (d *decoder) take(mod string) bool {
	at := slices.Index(d.mods, mod)
	if at < 0 {
		return false
	}
	d.mods = slices.Delete(d.mods, at, at+1)
	return true
}

// oneOf removes the first modifier that is one of a list, "" when there is none.
func (d *decoder) oneOf(mods ...string) string {
	for _, m := range d.mods {
		if slices.Contains(mods, m) {
			d.take(m)
			return m
		}
	}
	return ""
}

// typ removes the last modifier, which is the type.
func (d *decoder) typ() string {
	if len(d.mods) == 0 {
		return ""
	}
	t := d.mods[len(d.mods)-1]
	d.mods = d.mods[:len(d.mods)-1]
	return t
}

// mode removes the mode of rounding; nearest when there is none.
func (d *decoder) mode() (rounding, bool) {
	m := d.oneOf("rn", "rz", "rm", "rp")
	return roundings[m], m != ""
}

// mask removes .ftz and gives it as it stands in the names of loops.
func (d *decoder) mask(mod string) string {
	if d.take(mod) {
		return "." + mod
	}
	return ""
}

// bankOf is the bank of a type by its name.
func bankOf(t string) Bank {
	switch {
	case t == "pred":
		return P
	case strings.HasSuffix(t, "64"):
		return R64
	}
	return R32
}

// unsigned is the name of the type of the same width in loops that do not look at signs.
func unsigned(t string) string { return "u" + t[1:] }

func isInteger(t string) bool {
	return len(t) > 1 && slices.Contains(widths, t[1:]) && strings.Contains("bus", t[:1])
}

var widths = []string{"8", "16", "32", "64"}

func isWord(t string) bool { return isInteger(t) && t[1:] != "8" }

// allLoops are the generated loops and those written by hand, allCompares the comparisons.
var (
	allLoops    = merged(append(generatedLoops, handLoops)...)
	allCompares = merged(generatedCompares...)
)

func merged[F any](list ...map[string]F) map[string]F {
	all := map[string]F{}
	for _, m := range list {
		maps.Copy(all, m)
	}
	return all
}

// loop is a generated loop as a form, with the banks of its result and inputs.
func loop(key, out string, in ...string) (Form, bool) {
	f := quickest(key, allLoops[key])
	return form(f, out, in...), f != nil
}

// quickest is the loop with vectors of a key if the processor has them and there is one, else the one in Go.
func quickest(key string, inGo Func) Func {
	if f := wideLoops[key]; wide && f != nil {
		return f
	}
	return inGo
}

// form is a lanewise form with at most one result and four inputs.
func form(f Func, out string, in ...string) Form {
	v := Form{Lanewise: f, Out: []Bank{bankOf(out)}}
	for _, t := range in {
		v.In = append(v.In, bankOf(t))
	}
	return v
}

// immediate is an operand's value when the text has it.
func (d *decoder) immediate(n int) (uint32, bool) {
	if n >= len(d.in.Operands) || d.in.Operands[n].Kind != ptx.Immediate || d.in.Operands[n].Float != 0 {
		return 0, false
	}
	return uint32(d.in.Operands[n].Bits), true
}

// width is the bits of the register that an operand is, of when it is none or unknown.
func (d *decoder) width(n, of int) int {
	if d.fn == nil || n >= len(d.in.Operands) {
		return of
	}
	o := d.in.Operands[n]
	if o.Kind != ptx.IsRegister || o.Reg < 0 || int(o.Reg) >= len(d.fn.Registers) {
		return of
	}
	switch d.fn.Registers[o.Reg].Type {
	case ptx.B8, ptx.U8, ptx.S8:
		return 8
	case ptx.B16, ptx.U16, ptx.S16, ptx.F16, ptx.BF16:
		return 16
	case ptx.B64, ptx.U64, ptx.S64, ptx.F64:
		return 64
	}
	return 32
}

// familyDoc is a row in the table of opcodes.
type familyDoc struct {
	Name   string // "add"
	Forms  string // which of its forms the simulator knows
	Approx string // how results may differ from a GPU's, "" not at all
}

// Families are the instructions of this package, by name.
func Families() []familyDoc {
	var out []familyDoc
	for _, name := range slices.Sorted(maps.Keys(families)) {
		f := families[name]
		out = append(out, familyDoc{name, f.doc, f.approx})
	}
	return out
}
