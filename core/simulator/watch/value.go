package watch

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// The values of Value.Origin.
const (
	originArgument = "argument"
	originLoad     = "load"
	originAtomic   = "atomic"
	originLanes    = "lanes" // of other lanes: a shuffle, a vote
	originArith    = "arith"
	originCarried  = "carried" // written at several places: around a loop, or on several ways
	originConstant = "constant"
	originSpecial  = "program-id"
	originVariable = "variable"
	originCall     = "call"
	originUnset    = "unset"
)

// source is a register that a stop shows, with all that is known before the launch.
type source struct {
	register code.Register
	mask     uint64 // of its type
	value    Value
}

// origins knows where the registers of a kernel come from and who takes them.
type origins struct {
	kernel *code.Kernel
	launch *execute.Launch
	makers map[code.Register][]int32
	takers map[code.Register][]int32
	fixed  map[code.Register]*code.Constant
	widest map[Outcome]int // of what a line makes and does not take; nil until somebody asks
}

func newOrigins(k *code.Kernel, l *execute.Launch) *origins {
	o := &origins{kernel: k, launch: l, makers: map[code.Register][]int32{}, takers: map[code.Register][]int32{}, fixed: map[code.Register]*code.Constant{}}
	for i := range k.Code {
		in := &k.Code[i]
		for _, r := range in.Outs {
			o.makers[r] = append(o.makers[r], int32(i))
		}
		for _, r := range in.Ins {
			o.takers[r] = append(o.takers[r], int32(i))
		}
		if in.Guard >= 0 {
			o.takers[code.P(in.Guard)] = append(o.takers[code.P(in.Guard)], int32(i))
		}
	}
	for i := range k.Constants {
		c := &k.Constants[i]
		o.fixed[code.Register{Bank: c.Bank, Index: c.Slot}] = c
	}
	return o
}

// line finds the instructions of a place, what they take from elsewhere and what they make.
func (o *origins) line(p Place) *line {
	l := &line{place: p, lanes: math.MaxUint32, takes: map[int32][]source{}, makes: map[int32][]source{}, within: map[int32]bool{}}
	if p.Lane != nil {
		l.lanes = 1 << (uint(*p.Lane) % lane.Lanes)
	}
	for i := range o.kernel.Code {
		at, in := int32(i), &o.kernel.Code[i]
		if in.Hidden || o.kernel.Origin(at).PTX() == nil || p.at(o.kernel.Where(at)) == nil {
			continue
		}
		l.within[at] = true
	}
	made := map[code.Register]bool{}
	for i := range o.kernel.Code {
		at := int32(i)
		if !l.within[at] {
			continue
		}
		in := &o.kernel.Code[i]
		l.takes[at] = o.takes(at, in, made)
		for k, r := range in.Outs {
			made[r] = true
			s := o.source(at, r, o.name(at, k, true), true)
			s.value.Made = true
			l.makes[at] = append(l.makes[at], s)
		}
	}
	return l
}

// takes are the registers that an instruction takes from elsewhere; numbers that stand in the text say nothing.
func (o *origins) takes(at int32, in *code.Inst, made map[code.Register]bool) []source {
	var list []source
	for k, r := range in.Ins {
		if c := o.fixed[r]; made[r] || c != nil && c.From == code.FromLiteral {
			continue
		}
		list = append(list, o.source(at, r, o.name(at, k, false), false))
	}
	if guard := code.P(in.Guard); in.Guard >= 0 && !made[guard] && o.fixed[guard] == nil {
		text := o.kernel.Origin(at)
		list = append(list, o.source(at, guard, code.RegisterName(text.Function, text.PTX().Guard), false))
	}
	return list
}

// source is a register that an instruction of a line takes or makes.
func (o *origins) source(at int32, r code.Register, name string, made bool) source {
	s := source{register: r, value: Value{Register: name, Instruction: clipped(o.kernel.Text(at))}}
	s.value.Type = o.typeOf(at, r, made, true)
	s.mask = maskOf(s.value.Type, r.Bank)
	from := r
	if made {
		o.result(at, &s.value, 0)
	} else {
		o.origin(from, &s.value, 0)
	}
	s.value.Results = o.wide(r, &s.value)
	return s
}

// maxFollowed bounds how many moves an origin is followed through.
const maxFollowed = 16

// origin says where what is in a register comes from.
func (o *origins) origin(r code.Register, v *Value, depth int) {
	if c := o.fixed[r]; c != nil {
		o.constant(c, v)
		return
	}
	switch makers := o.makers[r]; len(makers) {
	case 0:
		v.Origin = originUnset
	case 1:
		o.result(makers[0], v, depth)
	default:
		last := makers[len(makers)-1]
		if o.oneLine(makers) { // as a load that is guarded, in front of which stands what other lanes get
			o.result(last, v, depth)
			return
		}
		v.Origin = originCarried
		o.where(last, v)
	}
}

// oneLine reports whether instructions come from one line of the source.
func (o *origins) oneLine(list []int32) bool {
	var first Value
	o.where(list[0], &first)
	for _, at := range list[1:] {
		var other Value
		if o.where(at, &other); first.Where == nil || other.Where == nil || first.Where.File != other.Where.File || first.Where.Line != other.Where.Line {
			return false
		}
	}
	return true
}

// result says what an instruction makes.
func (o *origins) result(at int32, v *Value, depth int) {
	in, text := &o.kernel.Code[at], o.kernel.Origin(at).PTX()
	o.where(at, v)
	if text == nil {
		v.Origin = originArith
		return
	}
	switch name := text.Op.Name; {
	case (name == "mov" || name == "cvta" || name == "cvt" || name == "ld" && in.Mem == nil) && o.moved(in) != nil && depth < maxFollowed:
		o.origin(*o.moved(in), v, depth+1)
	case name == "ld" || name == "ldu" || name == "ldmatrix":
		v.Origin, v.Name = originLoad, o.arrayOf(in)
	case name == "atom":
		v.Origin, v.Name = originAtomic, o.arrayOf(in)
	case name == "shfl" || name == "vote" || name == "redux" || name == "match" || name == "activemask":
		v.Origin = originLanes
	case name == "call":
		v.Origin = originCall
	default:
		v.Origin = originArith
	}
}

// moved is the one register that an instruction reads, beside numbers; nil where there are others, or none.
func (o *origins) moved(in *code.Inst) *code.Register {
	var found *code.Register
	for i := range in.Ins {
		if c := o.fixed[in.Ins[i]]; c != nil && c.From == code.FromLiteral && len(in.Ins) > 1 {
			continue
		}
		if found != nil {
			return nil
		}
		found = &in.Ins[i]
	}
	return found
}

// arrayOf is the argument through which an access goes, where there is only one.
func (o *origins) arrayOf(in *code.Inst) string {
	if in.Mem == nil {
		return ""
	}
	switch in.Mem.Space {
	case ptx.Shared:
		return "shared memory"
	case ptx.Local:
		return "local memory"
	}
	if i := bits.TrailingZeros64(in.Mem.Legal); bits.OnesCount64(in.Mem.Legal) == 1 && i < 63 && i < len(o.launch.Params) {
		return o.argument(i)
	}
	return ""
}

func (o *origins) argument(i int) string {
	if i < len(o.launch.Params) && o.launch.Params[i].Name != "" {
		return clipped(o.launch.Params[i].Name)
	}
	return clipped(o.kernel.Entry.Params[i].Name)
}

func (o *origins) constant(c *code.Constant, v *Value) {
	switch c.From {
	case code.FromLiteral:
		v.Origin = originConstant
	case code.FromParam:
		v.Origin, v.Name = originArgument, o.argument(c.Number)
		if c.Bits > 0 {
			v.Name += fmt.Sprintf("+%d", c.Bits)
		}
	case code.FromVariable:
		v.Origin, v.Name = originVariable, ""
		if names := o.kernel.Module.Variables; c.Number < len(names) {
			v.Name = clipped(names[c.Number].Name)
		}
	default:
		v.Origin, v.Name = originSpecial, specialName(c.Number)
	}
}

// specialName is what PTX calls a special register.
func specialName(n int) string {
	for first, name := range map[int]string{code.SpecialTID: "%tid", code.SpecialNTID: "%ntid", code.SpecialCTAID: "%ctaid", code.SpecialNCTAID: "%nctaid"} {
		if n >= first && n < first+3 {
			return name + "." + "xyz"[n-first:n-first+1]
		}
	}
	if n == code.SpecialLane {
		return "%laneid"
	}
	return ""
}

// where notes the line of an instruction; a move does not hide that of what it moves.
func (o *origins) where(at int32, v *Value) {
	if chain := o.kernel.Where(at); len(chain) > 0 && chain[0].Line > 0 {
		v.Where = &Frame{Function: clipped(chain[0].Function), File: chain[0].File, Line: chain[0].Line, Column: chain[0].Column}
	}
}

// name is what the PTX calls an operand of an instruction: the one with the number among those written, or those read.
func (o *origins) name(at int32, number int, written bool) string {
	in, text := &o.kernel.Code[at], o.kernel.Origin(at)
	t := text.PTX()
	n := min(t.Outputs, len(t.Operands))
	operands, want := t.Operands[n:], len(in.Ins)
	if written {
		operands, want = t.Operands[:n], len(in.Outs)
	}
	var names []string
	spell(text.Function, operands, &names)
	if len(names) != want || number >= len(names) {
		return ""
	}
	return names[number]
}

// spell lists registers by name, and what else an instruction reads as "".
func spell(f *ptx.Function, operands []ptx.Operand, names *[]string) {
	for i := range operands {
		switch p := &operands[i]; p.Kind {
		case ptx.Vector, ptx.Pair, ptx.Arguments:
			spell(f, p.Elems, names)
		case ptx.IsRegister:
			*names = append(*names, code.RegisterName(f, p.Reg))
		case ptx.Address:
			if p.Reg >= 0 {
				*names = append(*names, code.RegisterName(f, p.Reg))
			}
		case ptx.Immediate, ptx.Special, ptx.IsSymbol:
			*names = append(*names, "")
		}
	}
}

// typeOf is the type of a value as the instruction that makes or takes it says. One that only says how many bits there are asks the others.
func (o *origins) typeOf(at int32, r code.Register, made, ask bool) string {
	if r.Bank == lane.P {
		return "pred"
	}
	found := o.stated(at, r, made)
	if !ask || !strings.HasPrefix(found, "b") || found == "bf16" || found == "bf16x2" {
		return found
	}
	for _, list := range []struct {
		at   []int32
		made bool
	}{{o.makers[r], true}, {o.takers[r], false}} {
		for _, other := range list.at[:min(len(list.at), maxFollowed)] {
			t := o.stated(other, r, list.made)
			if code.WidthOf(t) == code.WidthOf(found) && !strings.HasPrefix(t, "b") || t == "bf16" && found == "b16" || t == "bf16x2" && found == "b32" {
				return t
			}
		}
	}
	return found
}

// stated is the type that an instruction states for what it writes or reads.
func (o *origins) stated(at int32, r code.Register, made bool) string {
	whole := "b32"
	if r.Bank == lane.R64 {
		whole = "b64"
	}
	text := o.kernel.Origin(at).PTX()
	if text == nil {
		return whole
	}
	in := &o.kernel.Code[at]
	if !made && in.Mem != nil && in.Mem.Address == r.Index && r.Bank == lane.R64 {
		return whole // an address
	}
	first, last := "", ""
	for _, m := range text.Op.Mods {
		if code.WidthOf(m) == 0 {
			continue
		}
		if first == "" {
			first = m
		}
		last = m
	}
	t := last
	if made && (text.Op.Name == "cvt" || text.Op.Name == "set") {
		t = first
	}
	wide := code.WidthOf(t) > 32
	switch {
	case t == "" || text.Op.Name == "mov": // which moves bits, whatever type it states
		return whole
	case r.Bank == lane.R64 && !wide && made: // mul.wide
		return t[:1] + "64"
	case wide != (r.Bank == lane.R64):
		return whole
	}
	return t
}

func maskOf(t string, bank lane.Bank) uint64 {
	if n := code.WidthOf(t); n > 0 && n < 64 {
		return 1<<n - 1
	}
	if bank == lane.P {
		return 1
	}
	return math.MaxUint64
}

// point makes offsets of addresses, where those of all lanes point into one array.
func (v *Value) point(r *execute.Running) {
	array := -1
	offsets := make([]uint64, len(v.Bits))
	for i, a := range v.Bits {
		n, offset := r.Global.Host(a)
		if n < 0 || n >= len(r.Request.Memory) || array >= 0 && n != array {
			return
		}
		array, offsets[i] = n, offset
	}
	if array >= 0 {
		v.Type, v.Array, v.Bits = "ptr", clipped(r.Request.Memory[array].Name), offsets
	}
}

func (p *Place) text() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// textBytes is how much of a text of the program a stop holds.
const textBytes = 200

func clipped(s string) string {
	if len(s) > textBytes {
		return strings.ToValidUTF8(s[:textBytes], "") + "..."
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
