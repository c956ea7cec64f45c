package slice

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// Line is a line of a source file.
type Line struct {
	File   string
	Number uint32
}

// Root finds the instructions of a site: those of its kind of access at its innermost place, else at the line that its user knows, else all
// instructions there.
func (c *Code) Root(s *site.Site) []int32 {
	if len(s.Chain) == 0 || s.Chain[0].Line == 0 {
		return nil
	}
	wants := func(one *instruction) bool {
		switch s.Kind {
		case site.GlobalStore, site.SharedStore:
			return one.op.memory == stores || one.op.memory == copying
		case site.Atomic:
			return one.op.memory == updates
		case site.Load:
			return one.op.memory == loads
		}
		return true
	}
	user := site.User(s.Chain)
	var exact, near, any []int32
	for i := range c.insts {
		one := &c.insts[i]
		switch {
		case len(one.chain) == 0:
		case one.chain[0].File == s.Chain[0].File && one.chain[0].Line == s.Chain[0].Line && one.chain[0].Column == s.Chain[0].Column && wants(one):
			exact = append(exact, int32(i))
		case user == nil || one.frame.File != user.File || one.frame.Line != user.Line:
		case wants(one):
			near = append(near, int32(i))
		default:
			any = append(any, int32(i))
		}
	}
	switch {
	case len(exact) > 0:
		return exact
	case len(near) > 0:
		return near
	}
	return any
}

// Places are the instructions that compute which elements of memory the instructions of a site access, and whether they do.
func (c *Code) Places(s *site.Site) []int32 {
	var found []int32
	for _, root := range c.Root(s) {
		one := &c.insts[root]
		found = append(found, one.control...)
		for k := range one.uses {
			if u := &one.uses[k]; u.role == asAddress || u.role == asGuard {
				for _, d := range u.from {
					found = append(found, d.inst)
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Comparison is what two builds compute differently on the way to what differs.
type Comparison struct {
	Sides [2]Side
}

// Side is one build in a Comparison.
type Side struct {
	code   *Code
	in     set            // what the roots depend on
	differ []int32        // of these, what the other build does not compute, ascending
	first  map[int32]bool // of these, those whose operands the other build computes, too
	lines  []Line         // that differ, in the order of their first instruction
	known  map[Line]bool  // those lines; true where one of first is on it
	other  hashes         // of the other build
	tests  set            // what the tests of loops are computed of
	swaps  map[[3]uint64]bool
}

// Compare follows the roots of both builds back.
func Compare(a, b *Code, rootsA, rootsB []int32) *Comparison {
	c := &Comparison{}
	c.Sides[0] = newSide(a, b, rootsA)
	c.Sides[1] = newSide(b, a, rootsB)
	return c
}

// same reports whether both builds compute the same on the way.
func (c *Comparison) same() bool { return len(c.Sides[0].differ)+len(c.Sides[1].differ) == 0 }

func newSide(c, other *Code, roots []int32) Side {
	known := other.hashes()
	s := Side{code: c, in: c.slice(roots), first: map[int32]bool{}, known: map[Line]bool{}, other: known, tests: c.loopTests(), swaps: c.selects()}
	s.withBarriers()
	counts := map[uint64]int{}
	for i := range c.insts {
		one := &c.insts[i]
		if !s.in[i] || one.op.copies || one.op.memory == loads && one.op.space == ptx.Param {
			continue
		}
		if one.op.barrier || one.op.memory == stores && one.op.space == ptx.Shared {
			counts[one.hash]++
		}
		if known.instructions[one.hash] >= max(1, counts[one.hash]) {
			continue
		}
		s.differ = append(s.differ, int32(i))
		s.first[int32(i)] = !slices.ContainsFunc(one.uses, func(u use) bool { return !known.values[u.hash] && !c.constant(&u) })
		l := c.lineOf(int32(i))
		if _, seen := s.known[l]; !seen && l.Number > 0 {
			s.lines = append(s.lines, l)
		}
		s.known[l] = s.known[l] || s.first[int32(i)]
	}
	return s
}

// withBarriers adds the barriers around what is loaded and was stored by the kernel.
func (s *Side) withBarriers() {
	stored := false
	for i := range s.code.insts {
		one := &s.code.insts[i]
		stored = stored || s.in[i] && (one.op.memory == stores || one.op.memory == copying)
	}
	for i := range s.code.insts {
		if stored && s.code.insts[i].op.barrier {
			s.in[i] = true
		}
	}
}

// hashes are what a Code computes.
type hashes struct {
	instructions map[uint64]int
	values       map[uint64]bool
	selects      map[uint64]bool // predicates of selects
}

func (c *Code) hashes() hashes {
	h := hashes{map[uint64]int{}, map[uint64]bool{markNever: true}, map[uint64]bool{}}
	for i := range c.insts {
		h.instructions[c.insts[i].hash]++
		h.values[c.insts[i].hash] = true
		for k := range c.insts[i].uses {
			h.values[c.insts[i].uses[k].hash] = true
		}
		if one := &c.insts[i]; one.in.Op.Name == "selp" && len(one.uses) > 0 {
			h.selects[one.uses[len(one.uses)-1].hash] = true
		}
	}
	return h
}

// constant reports whether a register holds a number that the text of the code gives: another number is no other way to compute it.
func (c *Code) constant(u *use) bool {
	return len(u.from) > 0 && !slices.ContainsFunc(u.from, func(d definition) bool {
		one := &c.insts[d.inst]
		return !one.op.copies || one.in.Operands[len(one.in.Operands)-1].Kind != ptx.Immediate
	})
}

func (c *Code) lineOf(at int32) Line {
	f := &c.insts[at].frame
	return Line{f.File, f.Line}
}

// Lines are the lines of a side whose code differs, those first that compute something else of the same operands, then in the order of the
// code.
func (s *Side) Lines() []Line {
	order := slices.Clone(s.lines)
	slices.SortStableFunc(order, func(x, y Line) int { return cmp.Compare(s.rank(x), s.rank(y)) })
	return order
}

func (s *Side) rank(l Line) int {
	if s.Begins(l) {
		return 0
	}
	return 1
}

// Begins reports whether a line computes something else of operands that both builds have.
func (s *Side) Begins(l Line) bool {
	return s.known[l]
}

// Writers are the instructions that store to what a parameter points to, by its position; to any memory but shared where it is -1.
func (c *Code) Writers(p int) []int32 {
	var found []int32
	for i := range c.insts {
		one := &c.insts[i]
		if (one.op.memory == stores || one.op.memory == updates) && one.op.space != ptx.Shared && (p < 0 || one.bases>>min(p, otherBases)&1 == 1) {
			found = append(found, int32(i))
		}
	}
	return found
}
