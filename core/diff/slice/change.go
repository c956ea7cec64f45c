package slice

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// Kind is what kind of thing two builds do differently.
type Kind string

// The kinds of changes.
const (
	Unknown    Kind = ""
	Barrier    Kind = "barrier"     // one build has a barrier where the other has none
	LostAtomic Kind = "lost-atomic" // one build updates memory in one step, the other loads and stores
	OtherStep  Kind = "operation"   // both update memory in one step, in different ways
	Rounding   Kind = "rounding"    // the same computation with other rounding
	Loop       Kind = "loop"        // how often a loop runs
	Choice     Kind = "choice"      // which elements or lanes: addresses, masks and branches
	Formula    Kind = "formula"     // what is computed of the same elements
)

// Change is what two builds do differently at some lines.
type Change struct {
	Kind  Kind
	Texts []string // what was seen, a sentence each
	Whole bool     // Rounding: to whole numbers
}

// features are what one side has at the lines in question that the other does not compute.
type features struct {
	barriers int
	updates  map[string]bool // by what they do
	stores   bool            // to global memory
	reads    map[int]bool    // parameters whose memory is loaded
	floats   map[string]bool // operations on floats, a multiplication and an addition for one in one step
	narrow   bool            // of these, any in 16 bits or fewer
	rounds   bool            // converts to 16 bits or fewer
	wide     bool            // where it begins, whole numbers are multiplied in 64 bits
	whole32  bool            // and in fewer
	whole    bool            // rounds to whole numbers
	clamps   bool            // nothing but what rounding to whole numbers needs
	index    []string        // instructions that compute which elements or lanes
	data     []string        // instructions that compute with what was loaded
	rest     []string        // what moves data between lanes and warps: the compiler lays that out for each build
	carried  bool            // what a loop carries is computed with
	begin    []int32         // where it begins: none of their operands is computed differently here
}

// At says what is done differently at lines of both sides. Without lines it looks at where both sides begin to differ.
func (c *Comparison) At(a, b []Line) Change {
	var of [2]features
	for k, lines := range [2][]Line{a, b} {
		of[k] = c.Sides[k].features(lines, len(a)+len(b) == 0)
	}
	x, y := &of[0], &of[1]
	if len(x.begin)+len(y.begin) == 0 && len(a)+len(b) > 0 {
		return c.At(nil, nil) // these lines have no code of their own: what they change shows where others use it
	}
	out := Change{}
	say := func(k Kind, format string, args ...any) Change {
		out.Kind = k
		out.Texts = append(out.Texts, fmt.Sprintf(format, args...))
		return out
	}
	switch {
	case x.barriers != y.barriers && len(x.begin)+len(y.begin) == x.barriers+y.barriers:
		return say(Barrier, "%s has %d barriers there that the other build has not", sideOf(x.barriers > y.barriers), max(x.barriers, y.barriers))
	case len(x.updates) > 0 != (len(y.updates) > 0) && (x.stores || y.stores):
		return say(LostAtomic, "%s updates memory in one step (%s), the other loads and stores", sideOf(len(x.updates) > 0), names(x.updates, y.updates))
	case len(x.updates) > 0 && len(y.updates) > 0 && !maps.Equal(x.updates, y.updates):
		return say(OtherStep, "A does %s, B does %s", names(x.updates), names(y.updates))
	}
	if text := c.rounded(x, y); text != "" {
		out.Whole = x.whole || y.whole
		return say(Rounding, "%s", text)
	}
	for k, side := range []*features{x, y} {
		for p := range side.reads {
			if !of[1-k].reads[p] && !c.Sides[1-k].readsAt(p, [2][]Line{a, b}[1-k]) {
				return say(Formula, "only %s reads %s there", sideOf(k == 0), c.Sides[k].code.parameterName(p))
			}
		}
	}
	if x.wide != y.wide && (x.whole32 || y.whole32) && maps.Equal(x.floats, y.floats) {
		out.Texts = append(out.Texts, fmt.Sprintf("only %s multiplies whole numbers in 64 bits there: what does not fit 32 wraps on the other side", sideOf(x.wide)))
	}
	loops := len(x.data)+len(y.data) == 0 &&
		(c.Sides[0].testsLoop(x.begin) || c.Sides[1].testsLoop(y.begin) || len(c.Sides[0].code.loops) != len(c.Sides[1].code.loops))
	switch {
	case len(x.data)+len(y.data) > 0:
		if x.carried != y.carried {
			out.Texts = append(out.Texts, fmt.Sprintf("%s computes with what the loop carries", sideOf(x.carried)))
		}
		return say(Formula, "A computes %s, B %s", listed(x.data), listed(y.data))
	case loops:
		return say(Loop, "the test of a loop depends on what differs: A computes %s, B %s", listed(x.index), listed(y.index))
	case len(x.index)+len(y.index) > 0:
		return say(Choice, "A computes %s, B %s, which chooses elements and lanes", listed(x.index), listed(y.index))
	}
	wholeA, wholeB := c.Sides[0].differing(), c.Sides[1].differing() // no place tells: what all of it has in common with other rounding
	if text := rounded(&wholeA, &wholeB); text != "" {
		return say(Rounding, "%s", text)
	}
	return out
}

func sideOf(a bool) string {
	if a {
		return "A"
	}
	return "B"
}

func names(sets ...map[string]bool) string {
	var all []string
	for _, s := range sets {
		all = append(all, slices.Sorted(maps.Keys(s))...)
	}
	return strings.Join(all, ", ")
}

// listed names instructions, each once.
func listed(ops []string) string {
	if len(ops) == 0 {
		return "nothing of the kind"
	}
	ops = slices.Compact(slices.Sorted(slices.Values(ops)))
	if len(ops) > 4 {
		return strings.Join(ops[:4], ", ") + ", ..."
	}
	return strings.Join(ops, ", ")
}

// rounded is rounded of the lines in question, or of where both sides begin to differ: a cast can take effect behind the line that has it.
func (c *Comparison) rounded(x, y *features) string {
	if text := rounded(x, y); text != "" {
		return text
	}
	fromA, fromB := c.Sides[0].features(nil, true), c.Sides[1].features(nil, true)
	if len(x.begin)+len(y.begin) == 0 || !onlyCasts(x) || !onlyCasts(y) {
		return ""
	}
	return rounded(&fromA, &fromB)
}

// onlyCasts reports whether nothing begins to differ at the lines in question but conversions of floats.
func onlyCasts(f *features) bool {
	return len(f.index) == 0 && !slices.ContainsFunc(f.data, func(op string) bool { return !strings.HasPrefix(op, "cvt.") })
}

// rounded says that both sides do the same with other rounding, "" when they do not.
func rounded(x, y *features) string {
	switch {
	case (x.whole || y.whole) && x.clamps && y.clamps && len(x.index)+len(y.index) == 0:
		return "both turn it into whole numbers, with other rounding or other limits"
	case !contains(x.floats, y.floats) && !contains(y.floats, x.floats):
		return ""
	case x.narrow != y.narrow:
		return fmt.Sprintf("only %s computes with 16 bits, or multiplies matrices with fewer than 32; but for that the operations are the same", sideOf(x.narrow))
	case x.rounds != y.rounds && maps.Equal(x.floats, y.floats):
		return fmt.Sprintf("only %s rounds to 16 bits; but for that the operations are the same", sideOf(x.rounds))
	}
	return ""
}

func contains(all, some map[string]bool) bool {
	for k := range some {
		if !all[k] {
			return false
		}
	}
	return true
}

// moves are instructions that hand data on as it is.
var moves = map[string]bool{"mov": true, "shfl": true, "prmt": true, "bar": true, "createpolicy": true, "cvta": true, "ldmatrix": true}

func (s *Side) features(lines []Line, all bool) features {
	f := features{updates: map[string]bool{}, reads: map[int]bool{}, floats: map[string]bool{}, clamps: true}
	here := map[int32]bool{}
	for _, i := range s.differ {
		here[i] = slices.Contains(lines, s.code.lineOf(i)) || all && s.first[i]
	}
	for _, i := range s.differ {
		if !here[i] {
			continue
		}
		one := &s.code.insts[i]
		s.all(&f, one)
		if !slices.ContainsFunc(one.uses, func(u use) bool {
			return slices.ContainsFunc(u.from, func(d definition) bool { return here[d.inst] && d.inst != i })
		}) {
			f.begin = append(f.begin, i)
			s.begins(&f, i)
		}
	}
	return f
}

// differing takes all that a side alone computes.
func (s *Side) differing() features {
	f := features{updates: map[string]bool{}, reads: map[int]bool{}, floats: map[string]bool{}, clamps: true}
	for _, i := range s.differ {
		s.all(&f, &s.code.insts[i])
	}
	return f
}

// all takes any instruction of the lines in question.
func (s *Side) all(f *features, one *instruction) {
	switch {
	case one.op.barrier:
		f.barriers++
	case one.op.memory == updates:
		f.updates[one.op.name] = true
	case one.op.memory == stores && one.op.space != ptx.Shared:
		f.stores = true
	case one.op.memory == loads && one.op.space != ptx.Shared:
		for p := range len(s.code.f.Params) {
			if one.bases>>min(p, otherBases)&1 == 1 {
				f.reads[p] = true
			}
		}
	}
	switch {
	case one.op.memory != noMemory || moves[one.in.Op.Name]:
	case one.op.toWhole:
		f.whole = true
	case one.op.rounds:
		f.rounds = f.rounds || one.op.narrow
	case one.op.float && one.in.Op.Name != "selp" && one.in.Op.Name != "setp":
		f.narrow = f.narrow || one.op.narrow
		if one.in.Op.Name == "fma" || one.in.Op.Name == "mad" || one.op.product {
			f.floats["mul"], f.floats["add"] = true, true
		} else {
			f.floats[one.in.Op.Name] = true
		}
		f.clamps = f.clamps && (one.in.Op.Name == "min" || one.in.Op.Name == "max" || one.in.Op.Name == "add" && s.withConstant(one))
	case one.in.Op.Name != "cvt" && one.in.Op.Name != "setp" && one.in.Op.Name != "selp":
		f.clamps = false
	}
}

// multiplies notes in how many bits whole numbers are multiplied: that is where they wrap. A product of 32 bits that is 64 wide does not.
func (f *features) multiplies(one *instruction) {
	mods := one.in.Op.Mods
	if one.in.Op.Name != "mul" && one.in.Op.Name != "mad" || len(mods) == 0 {
		return
	}
	wide := slices.Contains(mods, "wide") || strings.HasSuffix(mods[len(mods)-1], "64")
	f.wide, f.whole32 = f.wide || wide, f.whole32 || !wide
}

// withConstant reports whether an operand is a number that the code gives.
func (s *Side) withConstant(one *instruction) bool {
	return slices.ContainsFunc(one.in.Operands, func(o ptx.Operand) bool { return o.Kind == ptx.Immediate }) ||
		slices.ContainsFunc(one.uses, func(u use) bool { return s.code.constant(&u) })
}

// begins takes an instruction none of whose operands is computed at the lines in question.
func (s *Side) begins(f *features, at int32) {
	one := &s.code.insts[at]
	f.multiplies(one)
	for k := range one.uses {
		f.carried = f.carried || slices.ContainsFunc(one.uses[k].from, func(d definition) bool { return d.carried })
	}
	name := one.in.Op.Full
	switch {
	case one.op.barrier || moves[one.in.Op.Name] || one.op.memory != noMemory && one.op.space == ptx.Shared:
	case one.op.branch:
		f.index = append(f.index, name)
	case one.op.memory != noMemory:
		if s.otherElements(one) {
			f.index = append(f.index, name)
		}
	case s.code.laneBit(at):
		f.rest = append(f.rest, name)
	case one.in.Op.Name == "setp":
		if !one.fromData || one.branches {
			f.index = append(f.index, name)
		} else {
			f.data = append(f.data, name)
		}
	case one.in.Op.Name == "selp" && (s.exchanges(one) || !one.chooses && !one.fromData && !one.op.float):
		f.rest = append(f.rest, name)
	case one.in.Op.Name == "selp" && !one.chooses:
		if s.dataIn(&one.uses[len(one.uses)-1]) || s.sameMask(one) {
			f.data = append(f.data, name)
		} else {
			f.index = append(f.index, name)
		}
	case one.op.float && !one.op.copies:
		f.data = append(f.data, name)
	case one.chooses:
		f.index = append(f.index, name)
	case one.fromData:
		f.data = append(f.data, name)
	default:
		f.rest = append(f.rest, name)
	}
}

// otherElements reports whether an access goes to other elements or by other lanes, or leaves something else in those that do not load.
func (s *Side) otherElements(one *instruction) bool {
	unknown := func(u use) bool { return !s.other.values[u.hash] && !s.code.constant(&u) }
	if !slices.ContainsFunc(one.uses, unknown) {
		return true // the operands are known to the other build: it has another mask, or none
	}
	return slices.ContainsFunc(one.uses, func(u use) bool { return u.role != asInput && unknown(u) })
}

// sameMask reports whether the other build selects by the same predicate, too, so that something else is selected.
func (s *Side) sameMask(one *instruction) bool {
	return s.other.selects[one.uses[len(one.uses)-1].hash]
}

func (s *Side) dataIn(u *use) bool {
	return slices.ContainsFunc(u.from, func(d definition) bool { return s.code.insts[d.inst].fromData })
}

// exchanges reports whether an instruction is one of two selects that hand two values on crosswise, or selects by a bit of the thread's
// number: that is how lanes exchange data, not what a kernel chooses.
func (s *Side) exchanges(one *instruction) bool {
	if len(one.uses) != 3 {
		return false
	}
	if slices.ContainsFunc(one.uses[2].from, func(d definition) bool { return s.code.laneBit(d.inst) }) {
		return true
	}
	return s.swaps[[3]uint64{one.uses[1].hash, one.uses[0].hash, one.uses[2].hash}]
}

// laneBit reports whether a predicate is one bit of a number of the thread.
func (c *Code) laneBit(at int32) bool {
	one := &c.insts[at]
	if one.in.Op.Name != "setp" || one.fromData || len(one.uses) != 1 || !slices.ContainsFunc(one.in.Op.Mods, func(m string) bool { return m == "eq" || m == "ne" }) {
		return false
	}
	return !slices.ContainsFunc(one.uses[0].from, func(d definition) bool {
		masked := &c.insts[d.inst]
		return masked.in.Op.Name != "and" || len(masked.uses) != 1
	})
}

// selects are the operands of all selects between two registers.
func (c *Code) selects() map[[3]uint64]bool {
	found := map[[3]uint64]bool{}
	for i := range c.insts {
		if one := &c.insts[i]; one.in.Op.Name == "selp" && len(one.uses) == 3 {
			found[[3]uint64{one.uses[0].hash, one.uses[1].hash, one.uses[2].hash}] = true
		}
	}
	return found
}

// readsAt reports whether a side loads memory of a parameter at lines, or anywhere where there are none.
func (s *Side) readsAt(p int, lines []Line) bool {
	for i := range s.code.insts {
		one := &s.code.insts[i]
		if one.op.memory == loads && one.bases>>min(p, otherBases)&1 == 1 && (len(lines) == 0 || slices.Contains(lines, s.code.lineOf(int32(i)))) {
			return true
		}
	}
	return false
}

func (c *Code) parameterName(p int) string { return c.f.Params[p].Name }

// testsLoop reports whether the test of a loop is computed of some instructions.
func (s *Side) testsLoop(of []int32) bool {
	return slices.ContainsFunc(of, func(i int32) bool { return s.tests[i] })
}

// loopTests are the instructions that the tests of loops are computed of, memory left aside. The line of a loop has its test, and the
// question whether it is entered at all.
func (c *Code) loopTests() set {
	lines := map[Line]bool{}
	for _, l := range c.loops {
		lines[c.lineOf(l.branch)] = true
	}
	in := make(set, len(c.insts))
	var queue []int32
	add := func(i int32) {
		if !in[i] && c.insts[i].op.memory == noMemory {
			in[i] = true
			queue = append(queue, i)
		}
	}
	for i := range c.insts {
		if c.insts[i].op.branch && lines[c.lineOf(int32(i))] {
			add(int32(i))
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for k := range c.insts[at].uses {
			for _, d := range c.insts[at].uses[k].from {
				add(d.inst)
			}
		}
	}
	return in
}
