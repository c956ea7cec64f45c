// Package sites finds the sites of a kernel: the places of its text at which a recording can observe something, with what they
// compare or access and where their operands come from. flow.go follows values through a function, origin.go says where an operand
// comes from, shape.go hashes what is computed, type.go finds out what kinds of values registers hold.
package sites

import (
	"slices"

	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// List is the sites of a kernel.
type List struct {
	Sites []site.Site
	Marks []Mark // of each site: what must be looked at to observe it

	module    *ptx.Module
	arguments []string // names
	functions map[string]*ptx.Function
	loads     map[Place]int // sites of loads and atomics
	shapes    *shapes       // of the function that is looked at
	hashes    *observe.Hashes[value]
	sources   []Place // until keys are known, Operand.Site is the number of a load or atomic here, plus one
}

// Place is an instruction of a module.
type Place struct {
	Function *ptx.Function
	Inst     int32
}

// Mark is the place of a site: the instruction, and of a decision the compare behind it.
type Mark struct {
	Place
	Kind    site.Kind
	By      decision
	Compare int32 // instruction of the function, -1 none: nothing is known of its operands
	Safe    bool  // the operands of the compare are still in their registers when the site is passed
	Types   [2]warptrace.ValueType
}

// decision says which predicate of an instruction decides, where one does.
type decision uint8

// The decisions.
const (
	ByGuard  decision = iota
	BySelect          // the predicate of selp, its last input
)

// Find lists the sites of a kernel, with names for its arguments (none, or "" for one: that of the PTX). It walks through the kernel and what it calls, in the order of the text: the kernel first, then functions as they are
// called.
func Find(m *ptx.Module, entry *ptx.Function, arguments []string) *List {
	l := &List{module: m, arguments: arguments, functions: map[string]*ptx.Function{}, loads: map[Place]int{}}
	for _, f := range m.Functions {
		l.functions[f.Name] = f
	}
	queue, seen := []*ptx.Function{entry}, map[*ptx.Function]bool{entry: true}
	for len(queue) > 0 {
		f := queue[0]
		queue = queue[1:]
		l.function(f)
		for i := range f.Insts {
			if g := l.called(&f.Insts[i]); g != nil && !g.Extern && !seen[g] {
				seen[g] = true
				queue = append(queue, g)
			}
		}
	}
	l.shapes, l.hashes = nil, nil
	site.AssignKeys(l.Sites)
	for i := range l.Sites {
		l.resolve(l.Sites[i].Operands)
	}
	return l
}

// Table is the sites as recordings have them.
func (l *List) Table() *site.Table { return site.NewTable(l.Sites) }

// resolve puts keys where operands name loads and atomics. Those of memory that is not a site have none.
func (l *List) resolve(operands []site.Operand) {
	for i := range operands {
		o := &operands[i]
		if o.Site != 0 {
			at, ok := l.loads[l.sources[o.Site-1]]
			if o.Site = 0; ok {
				o.Site = l.Sites[at].Key
			}
		}
		l.resolve(o.Inputs)
	}
}

// called is the function that an instruction calls by name, nil none.
func (l *List) called(in *ptx.Inst) *ptx.Function {
	if in.Op.Name == "call" {
		for i := range in.Operands {
			if in.Operands[i].Kind == ptx.IsSymbol {
				return l.functions[in.Operands[i].Symbol]
			}
		}
	}
	return nil
}

// function adds the sites of one function. A predicate is a site where it is first used in a block; further uses of the same
// value say nothing new.
func (l *List) function(f *ptx.Function) {
	flow := newDataflow(f)
	l.shapes, l.hashes = newShapes(flow), observe.NewHashes[value](view{l, flow})
	for i := range f.Blocks {
		used := map[int32]bool{}
		for at := f.Blocks[i].First; at < f.Blocks[i].End; at++ {
			in := &f.Insts[at]
			if in.Guard >= 0 && !leaves(in) {
				l.predicate(flow, used, at, in.Guard, in.GuardNot, ByGuard)
			}
			if in.Op.Name == "selp" && len(in.Operands) == 4 && in.Operands[3].Kind == ptx.IsRegister {
				l.predicate(flow, used, at, in.Operands[3].Reg, in.Operands[3].Not, BySelect)
			}
			l.instruction(flow, at)
			eachWritten(in, func(r int32) { delete(used, r) })
		}
	}
}

// leaves reports whether a guarded instruction is a branch in all but name.
func leaves(in *ptx.Inst) bool {
	switch in.Op.Name {
	case "bra", "brx", "ret", "exit":
		return true
	}
	return false
}

// predicate adds the first use of a predicate in a block.
func (l *List) predicate(flow *dataflow, used map[int32]bool, at, register int32, not bool, by decision) {
	if used[register] {
		return
	}
	used[register] = true
	l.decision(flow, at, site.Predicate, register, not, by)
}

// decision adds a branch or a predicate with what it compares.
func (l *List) decision(flow *dataflow, at int32, kind site.Kind, register int32, not bool, by decision) {
	s, m := l.begin(flow.f, at, kind)
	m.By = by
	text := flow.f.Insts[at].Op.Full
	if c, ok := flow.compareOf(register, at, not); ok {
		in := &flow.f.Insts[c.inst]
		m.Compare, m.Safe, m.Types = c.inst, c.safe, c.types
		s.Compare, text = c.predicate, in.Op.Full
		for i, role := range []string{"lhs", "rhs"} {
			o := l.operand(flow, &in.Operands[1+i], c.inst, role)
			o.Type = spelling(c.types[i])
			s.Operands = append(s.Operands, o)
		}
		s.Code = l.codeHash(&s, c.inst, &in.Operands[1], &in.Operands[2])
	} else if d := flow.definition(register, at); d.inst >= 0 || len(d.all) > 0 {
		if d.inst >= 0 {
			text = flow.f.Insts[d.inst].Op.Full
		}
		s.Operands = append(s.Operands, l.condition(flow, register, at))
		s.Code = l.codeHash(&s, at, &ptx.Operand{Kind: ptx.IsRegister, Reg: register})
	}
	if not {
		text = "!" + text
	}
	if made := flow.definition(register, at).inst; kind == site.Predicate && made >= 0 {
		if frames := chainOf(l.module, flow.f, flow.f.Insts[made].Location); frames[0].Line > 0 {
			s.Chain = frames // a mask belongs to the line that makes it
		}
	}
	s.Text, s.Shape = text, short(l.shapes.decision(register, at, not))
	l.end(s, m)
}

func (l *List) condition(flow *dataflow, register, at int32) site.Operand {
	o := ptx.Operand{Kind: ptx.IsRegister, Reg: register}
	out := l.operand(flow, &o, at, "condition")
	out.Type = "i1"
	return out
}

// instruction adds the site that an instruction is by itself.
func (l *List) instruction(flow *dataflow, at int32) {
	in := &flow.f.Insts[at]
	switch in.Op.Name {
	case "bra", "ret", "exit":
		if in.Guard >= 0 {
			l.decision(flow, at, site.Branch, in.Guard, in.GuardNot, ByGuard)
		}
	case "brx":
		l.simple(flow, at, site.Switch, "index")
	case "bar", "barrier":
		if !slices.Contains(in.Op.Mods, "warp") {
			l.simple(flow, at, site.Barrier)
		}
	case "st":
		if kind, ok := storeKind(in); ok {
			l.simple(flow, at, kind, "address", "value")
		}
	case "cp":
		if len(in.Operands) > 1 {
			l.simple(flow, at, site.SharedStore, "address", "source")
		}
	case "atom":
		roles := []string{"", "address", "value"}
		if slices.Contains(in.Op.Mods, "cas") {
			roles = []string{"", "address", "expected", "value"}
		}
		l.simple(flow, at, site.Atomic, roles...)
	case "red":
		l.simple(flow, at, site.Atomic, "address", "value")
	case "ld", "ldu", "ldmatrix":
		if !isParam(in) && !slices.Contains(in.Op.Mods, "local") {
			l.simple(flow, at, site.Load, "", "address")
		}
	}
}

// storeKind is the kind of a store, if it is a site. Memory of one thread and of calls is not.
func storeKind(in *ptx.Inst) (site.Kind, bool) {
	for _, mod := range in.Op.Mods {
		switch mod {
		case "shared", "shared::cta":
			return site.SharedStore, true
		case "local", "param", "param::entry", "param::func":
			return 0, false
		}
	}
	return site.GlobalStore, true
}

// simple adds a site whose operands are those of the instruction; a role of "" leaves one out.
func (l *List) simple(flow *dataflow, at int32, kind site.Kind, roles ...string) {
	in := &flow.f.Insts[at]
	s, m := l.begin(flow.f, at, kind)
	s.Text, s.Shape = in.Op.Full, short(l.shapes.of[at])
	for i, role := range roles {
		if role == "" || i >= len(in.Operands) {
			continue
		}
		o := l.operand(flow, &in.Operands[i], at, role)
		t := flow.accessType(in, i)
		if role == "address" || role == "source" {
			o.Type = "ptr"
		} else {
			o.Type = spelling(t)
			m.Types[0] = t
		}
		s.Operands = append(s.Operands, o)
	}
	var operands []*ptx.Operand
	for i := range roles {
		if roles[i] != "" && i < len(in.Operands) {
			operands = append(operands, &in.Operands[i])
		}
	}
	s.Code = l.codeHash(&s, at, operands...)
	if kind == site.Load {
		m.Types[0] = flow.accessType(in, 0)
	}
	if kind == site.Load || kind == site.Atomic {
		l.loads[m.Place] = len(l.Sites)
	}
	l.end(s, m)
}

func (l *List) begin(f *ptx.Function, at int32, kind site.Kind) (site.Site, Mark) {
	s := site.Site{Kind: kind, Chain: chainOf(l.module, f, f.Insts[at].Location), Ordinal: -1, Compare: site.NoCompare}
	return s, Mark{Place: Place{f, at}, Kind: kind, Compare: -1}
}

func (l *List) end(s site.Site, m Mark) {
	l.Sites = append(l.Sites, s)
	l.Marks = append(l.Marks, m)
}

// maxFrames bounds the chain of a site.
const maxFrames = 64

// chainOf is the chain of source locations, innermost first. Code whose function is not named belongs to the function that it
// stands in: Triton inlines its library under the kernel's name.
func chainOf(m *ptx.Module, f *ptx.Function, location int32) []site.Frame {
	var chain []site.Frame
	for location >= 0 && int(location) < len(m.Locations) && len(chain) < maxFrames {
		at := &m.Locations[location]
		frame := site.Frame{Function: at.Function, Line: at.Line, Column: at.Column}
		if frame.Function == "" {
			frame.Function = f.Name
		}
		if at.File >= 0 && int(at.File) < len(m.Files) {
			frame.File = m.Files[at.File]
		}
		chain = append(chain, frame)
		location = at.Inlined
	}
	if len(chain) == 0 {
		chain = []site.Frame{{Function: f.Name}}
	}
	return chain
}
