package slice

import (
	"slices"

	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// Why says why a line is the one to look at, the surest first.
type Why int

// The reasons to name a line.
const (
	None           Why = iota
	ChangedBegins      // it was changed, and computes something else of operands that both builds have
	ChangedDiffers     // it was changed, and its code differs
	ChangedFeeds       // it was changed, and what is computed differently depends on it; its own code is the same
	CodeBegins         // its code computes something else of operands that both builds have
	CodeDiffers        // its code differs
)

// Place is the line to look at.
type Place struct {
	Side int // 0: of A, 1: of B
	Line Line
	Why  Why
}

// Place finds the line at which two builds begin to compute something else on the way to what differs. changed are the lines that differ
// in the text of either side, nil where that is not known; sameConstants says that both were compiled for the same constants, so that
// only the text can be why code differs. ok is false where both builds compute the same.
func (c *Comparison) Place(changed [2][]Line, sameConstants bool) (p Place, ok bool) {
	for _, why := range []Why{ChangedBegins, ChangedDiffers, ChangedFeeds, CodeBegins, CodeDiffers} {
		for _, k := range []int{1, 0} { // where B has code of its own, that is what was run instead
			if l, found := c.lineWhy(k, why, changed[k], sameConstants); found {
				return Place{k, l, why}, true
			}
		}
	}
	return Place{}, false
}

// lineWhy is the first line of a side that a reason holds of.
func (c *Comparison) lineWhy(k int, why Why, changed []Line, sameConstants bool) (Line, bool) {
	s := &c.Sides[k]
	if why == ChangedFeeds {
		if !sameConstants || c.same() {
			return Line{}, false
		}
		return s.nearest(changed)
	}
	for _, l := range s.Lines() {
		is := slices.Contains(changed, l)
		switch {
		case why == ChangedBegins && is && s.Begins(l), why == ChangedDiffers && is, why == CodeBegins && s.Begins(l), why == CodeDiffers:
			return l, true
		}
	}
	return Line{}, false
}

// nearest is the changed line that the code which differs depends on by the fewest steps.
func (s *Side) nearest(changed []Line) (Line, bool) {
	if len(changed) == 0 {
		return Line{}, false
	}
	seen := map[int32]bool{}
	queue := slices.Clone(s.differ)
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		if l := s.code.lineOf(at); slices.Contains(changed, l) {
			return l, true
		}
		one := &s.code.insts[at]
		for k := range one.uses {
			for _, d := range one.uses[k].from {
				queue = append(queue, d.inst)
			}
		}
		queue = append(queue, one.control...)
	}
	return Line{}, false
}

// Uses is the first line of a side that uses what a parameter, by its position, holds on the way to what differs: what is loaded from it where it
// is an address, else the number itself. at is the position of the instruction. ok is false where nothing does.
func (c *Comparison) Uses(side, p int) (l Line, at int, ok bool) {
	s := &c.Sides[side]
	if p < 0 || p >= len(s.code.f.Params) {
		return l, 0, false
	}
	bit := uint64(1) << min(p, otherBases)
	for i := range s.code.insts {
		one := &s.code.insts[i]
		if !s.in[i] || s.code.lineOf(int32(i)).Number == 0 {
			continue
		}
		switch {
		case s.code.f.Params[p].Pointer:
			if one.bases&bit != 0 && (one.op.memory == updates || one.op.memory == loads && one.op.space != ptx.Param) {
				return s.code.lineOf(int32(i)), i, true
			}
		case one.op.copies || one.op.memory == loads:
		case slices.ContainsFunc(one.uses, func(u use) bool { return s.code.isParameter(&u, p) }):
			return s.code.lineOf(int32(i)), i, true
		}
	}
	return l, 0, false
}

// isParameter reports whether a register holds a parameter.
func (c *Code) isParameter(u *use, p int) bool {
	return slices.ContainsFunc(u.from, func(d definition) bool {
		one := &c.insts[d.inst]
		if one.op.memory == loads && one.op.space == ptx.Param {
			return slices.ContainsFunc(one.in.Operands, func(o ptx.Operand) bool { return o.Kind == ptx.Address && c.parameter(o.Symbol) == p })
		}
		return false
	})
}

// Way lists the lines through which what differs depends on a line, in the order of the code, without the line itself.
func (s *Side) Way(from Line) []Line {
	reached := map[int32]bool{}
	var way []Line
	for range 2 { // what a loop carries is written behind its use
		for i := range s.code.insts {
			one := &s.code.insts[i]
			at := int32(i)
			if !s.in[i] {
				continue
			}
			l := s.code.lineOf(at)
			if l == from || slices.ContainsFunc(one.uses, func(u use) bool {
				return slices.ContainsFunc(u.from, func(d definition) bool { return reached[d.inst] })
			}) {
				reached[at] = true
			}
		}
	}
	seen := map[Line]bool{from: true}
	for i := range s.code.insts {
		if l := s.code.lineOf(int32(i)); reached[int32(i)] && l.Number > 0 && !seen[l] {
			seen[l] = true
			way = append(way, l)
		}
	}
	return way
}

// Every lists the lines of a side that have code, in its order.
func (s *Side) Every() []Line {
	var lines []Line
	seen := map[Line]bool{}
	for i := range s.code.insts {
		if l := s.code.lineOf(int32(i)); l.Number > 0 && !seen[l] {
			seen[l] = true
			lines = append(lines, l)
		}
	}
	return lines
}
