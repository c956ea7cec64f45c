package watch

import (
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

const (
	maxMakers = 8 // of a register whose results are told
	maxFrames = 4 // of a chain
)

// results are the lines whose outcome a register holds, for each instruction that makes it: of the chain of lines of that instruction, innermost
// first, those at which nothing takes the register, for what a line takes itself is only a step on its way. A number that is put into the
// register, as in front of a loop, is left out. nil: none is known.
func (o *origins) results(r code.Register) [][]Outcome {
	makers := o.makers[r]
	if o.fixed[r] != nil || len(makers) == 0 || len(makers) > maxMakers {
		return nil
	}
	var out [][]Outcome
	for _, at := range makers {
		if moved := o.copied(at); moved != nil {
			if c := o.fixed[*moved]; c != nil && c.From == code.FromLiteral && len(makers) > 1 {
				continue
			}
		}
		frames := o.resultsOf(at, r, -1, 0)
		if len(frames) == 0 {
			return nil
		}
		out = append(out, frames)
	}
	return out
}

// wide is results without those of lines that make something wider, too: what is narrower is then a step on the way, an offset where the line
// makes an address. What was loaded is no step.
func (o *origins) wide(r code.Register, v *Value) [][]Outcome {
	found := o.results(r)
	if v.Origin == originLoad || v.Origin == originAtomic {
		return found
	}
	o.measure()
	for i := range found {
		found[i] = slices.DeleteFunc(found[i], func(at Outcome) bool {
			return widthOf(r, v.Type) < o.widest[at.line()]
		})
		if len(found[i]) == 0 {
			return nil
		}
	}
	return found
}

// measure fills in widest: of what is computed, not of copies.
func (o *origins) measure() {
	if o.widest != nil {
		return
	}
	o.widest = map[Outcome]int{}
	for i := range o.kernel.Code {
		at, in := int32(i), &o.kernel.Code[i]
		if in.Hidden || o.kernel.Origin(at).PTX() == nil || o.copied(at) != nil {
			continue
		}
		for _, r := range in.Outs {
			for _, line := range o.resultsOf(at, r, -1, 0) {
				o.widest[line.line()] = max(o.widest[line.line()], widthOf(r, o.typeOf(at, r, true, true)))
			}
		}
	}
}

// line is an outcome without what is said of it.
func (l *Outcome) line() Outcome { return Outcome{File: l.File, Line: l.Line} }

// widthOf is how many bits a value has.
func widthOf(r code.Register, t string) int {
	switch {
	case r.Bank == lane.P:
		return 1
	case r.Bank == lane.R64:
		return 64
	}
	if n := code.WidthOf(t); n > 0 && n < 32 {
		return int(n)
	}
	return 32
}

// resultsOf is results of one instruction; what via takes does not count.
func (o *origins) resultsOf(at int32, r code.Register, via int32, depth int) []Outcome {
	source := o.copied(at)
	var found []Outcome
	switch {
	case source == nil:
		found = o.outcomes(at)
	case o.fixed[*source] != nil:
		if told(o.fixed[*source]) {
			found = o.outcomes(at)
		}
	case len(o.makers[*source]) == 1 && depth < maxFollowed:
		found = o.resultsOf(o.makers[*source][0], *source, at, depth+1)
	}
	if len(o.makers[r]) > 1 && source != nil { // carried around a loop: the next pass takes it
		return found
	}
	kept := found[:0]
	for i := range found {
		switch o.takenAt(r, &found[i], via, 0) {
		case steps:
			found[i].Steps = true
			kept = append(kept, found[i])
		case notTaken:
			kept = append(kept, found[i])
		}
	}
	return kept
}

// taking is how a line takes a register.
type taking int

const (
	notTaken taking = iota
	steps           // to add numbers of the text to it
	taken
)

// takenAt is how a line takes a register, itself or a copy of it.
func (o *origins) takenAt(r code.Register, line *Outcome, via int32, depth int) taking {
	found := notTaken
	for _, at := range o.takers[r] {
		if at == via || !passes(o.kernel.Where(at), line) {
			continue
		}
		switch copied := o.copied(at); {
		case o.adds(at):
			found = max(found, steps)
		case copied == nil || depth >= maxFollowed:
			return taken
		default:
			if out := o.kernel.Code[at].Outs[0]; len(o.makers[out]) == 1 {
				found = max(found, o.takenAt(out, line, -1, depth+1))
			}
		}
	}
	return found
}

// adds reports whether an instruction adds a number of the text to a register.
func (o *origins) adds(at int32) bool {
	in, text := &o.kernel.Code[at], o.kernel.Origin(at).PTX()
	if text == nil || text.Op.Name != "or" && text.Op.Name != "add" && text.Op.Name != "xor" {
		return false
	}
	for _, r := range in.Ins {
		if c := o.fixed[r]; c != nil && c.From == code.FromLiteral {
			return true
		}
	}
	return false
}

// told reports whether a line that copies a constant has it as its outcome. Numbers of threads are read by any line that lays elements out, and
// whichever does so first has them for all.
func told(c *code.Constant) bool {
	return c.From == code.FromLiteral || c.From != code.FromParam && c.From != code.FromVariable && strings.HasPrefix(specialName(c.Number), "%ctaid")
}

// copied is the register of which an instruction makes a copy, maybe in a wider type; nil where it does something else.
func (o *origins) copied(at int32) *code.Register {
	in, text := &o.kernel.Code[at], o.kernel.Origin(at).PTX()
	if text == nil || len(in.Outs) != 1 {
		return nil
	}
	switch name := text.Op.Name; {
	case name == "mov", name == "cvta", name == "cvt" && widens(text.Op.Mods), name == "ld" && in.Mem == nil:
		return o.moved(in)
	}
	return nil
}

// widens reports whether a conversion, of which the first type is what it makes and the last what it takes, loses nothing.
func widens(mods []string) bool {
	var types []string
	for _, m := range mods {
		if code.WidthOf(m) > 0 {
			types = append(types, m)
		}
	}
	if len(types) < 2 || code.WidthOf(types[0]) < code.WidthOf(types[len(types)-1]) {
		return false
	}
	isFloat := func(t string) bool { return t[0] == 'f' || strings.HasPrefix(t, "bf") }
	return isFloat(types[0]) == isFloat(types[len(types)-1])
}

// passes reports whether a line is in a chain.
func passes(chain []site.Frame, line *Outcome) bool {
	for i := range chain {
		if chain[i].Line == line.Line && chain[i].File == line.File {
			return true
		}
	}
	return false
}

// outcomes are the lines of the chain of an instruction.
func (o *origins) outcomes(at int32) []Outcome {
	op := ""
	if text := o.kernel.Origin(at).PTX(); text != nil {
		op = text.Op.Name
	}
	chain := o.kernel.Where(at)
	var out []Outcome
	for i := range chain[:min(len(chain), maxFrames)] {
		if f := &chain[i]; f.Line > 0 {
			out = append(out, Outcome{File: f.File, Line: f.Line, Op: op})
		}
	}
	return out
}
