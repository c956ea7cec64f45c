package simt

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A structured program is made of the statements of a language with blocks: if and else, loops of every form with break and
// continue, switch, calls, returns, ends and traps anywhere, and instructions by which lanes look at each other. It exists twice: as
// PTX, one instruction a line, and as operations of the slow twin, which know nothing of blocks of instructions and their graph.

const (
	structuredRegisters = 5
	structuredWords     = 8  // of the output of a thread
	structuredCounter   = 16 // words in front of all others: a counter for each block
	structuredGrid      = 2
	structuredSpins     = 4       // statements in which lanes spin, at most
	structuredSpinSeeds = 1 << 32 // from this seed on, programs have such statements
)

// cell is the memory of one lane in one function: it stays between calls, as registers do.
type cell struct {
	r     [structuredRegisters]uint32
	p     [2]bool
	mask  uint32    // of lanes that exchange values
	given uint32    // to who called
	count [16]int32 // of loops
	bound [16]int32
}

// operation is what a lane does at one place of the source. line is the instruction of the PTX that is watched there, 0 none.
type structuredOp struct {
	line  int
	kind  structuredKind
	guard int                         // predicate, -1 none
	not   bool                        // guard must be false
	when  func(*twinLane, *cell) bool // likewise what the guard is, where no predicate of the cell holds it
	do    func(*twinLane, *cell)      // opDo
	to    int                         // where lanes go that decide so
	cases []int                       // of a switch
	index func(*cell) uint32          // likewise
	empty bool                        // the text has nothing for it
	loop  int                         // loops that are left on the way
	meet  *meeting                    // opMeet
	call  *structuredFunction         // opCall
	give  func(*cell) uint32          // argument of a call, or the result of a return
	take  func(*cell, uint32)         // what becomes of the result
	word  func(*cell) (int, uint32)   // opStore
	try   func(*twinLane) bool        // opSpin: one look
}

type structuredKind int

const (
	opDo structuredKind = iota
	opStore
	opGo    // to another place further down
	opEnter // a loop
	opAgain // the next pass of it
	opSwitch
	opMeet // with the lanes that are here
	opAtomic
	opSpin // until a word of memory is as wanted
	opCall
	opReturn
	opEnd
	opTrap
)

// structuredFunction is a function in the form of the twin.
type structuredFunction struct {
	number int
	ops    []structuredOp
	join   map[int]int  // that is known, as what follows
	meets  map[int]bool // lanes look at each other from there on
	next   [][]int      // operations that can come behind each
}

// structured writes a program in both forms.
type structured struct {
	*rand.Rand
	text      strings.Builder
	line      int
	label     int
	functions []*structuredFunction
	f         *structuredFunction
	entry     bool
	loops     []structuredLoop // around the statement that is written
	depth     int              // of statements
	left      int              // statements that may still be written
	counters  int              // of loops of the function
	end       string           // label of the joint return
	toEnd     []int            // operations that go there
	waits     bool             // lanes wait for each other; no loop is entered in its midst, for which order in the text and in time differ
	groups    bool             // lanes that exchange values in both arms of a branch do so in two groups
	products  bool             // matrix instructions take the place of barriers
	spins     bool             // lanes spin on what other lanes write
	spinWords int              // statements of that kind; each has as many words as a warp has lanes
	form      structuredForm
}

const structuredProduct = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d0, %d1}, {%d2}, {%d3}, {%d0, %d1};"

// structuredForm says how the text of a program stands to its source.
type structuredForm int

const (
	inOrder        structuredForm = iota // in its order
	scattered                            // blocks of instructions stand anywhere; no loops, nothing that depends on the order of lanes
	scatteredLoops                       // likewise with loops; lanes do not look at each other
)

// structuredLoop is a loop that is being written; its places are known when it is whole.
type structuredLoop struct {
	out, next     string
	toOut, toNext []int // operations that go there
}

func (s *structured) put(format string, arguments ...any) int {
	fmt.Fprintf(&s.text, format+"\n", arguments...)
	s.line++
	return s.line
}

func (s *structured) fresh() string {
	s.label++
	return fmt.Sprintf("L%d", s.label)
}

func (s *structured) op(o structuredOp) int {
	s.f.ops = append(s.f.ops, o)
	return len(s.f.ops) - 1
}

func (s *structured) reg() int { return s.IntN(structuredRegisters) }

// here makes operations lead to the next one that is written.
func (s *structured) here(ops ...int) {
	for _, i := range ops {
		s.f.ops[i].to = len(s.f.ops)
	}
}

// condition writes a predicate that differs between lanes more often than not, and returns its number.
func (s *structured) condition() int {
	p, a := s.IntN(2), s.reg()
	mask := uint32([]int{1, 2, 4, 8, 16, 3, 5, 6, 12, 24, 31}[s.IntN(11)])
	name, than := []string{"eq", "ne", "lt"}[s.IntN(3)], uint32(s.IntN(3))
	s.put("and.b32 %%t, %%r%d, %d;", a, mask)
	s.put("setp.%s.u32 %%p%d, %%t, %d;", name, p, than)
	s.op(structuredOp{guard: -1, do: func(_ *twinLane, c *cell) {
		v := c.r[a] & mask
		c.p[p] = name == "eq" && v == than || name == "ne" && v != than || name == "lt" && v < than
	}})
	return p
}

// branch writes a jump of the lanes whose predicate is as asked.
func (s *structured) branch(p int, not bool, label string) int {
	mark := map[bool]string{false: "", true: "!"}[not]
	line := s.put("@%s%%p%d bra %s;", mark, p, label)
	return s.op(structuredOp{line: line, kind: opGo, guard: p, not: not})
}

func (s *structured) jump(label string) int {
	s.put("bra.uni %s;", label)
	return s.op(structuredOp{kind: opGo, guard: -1})
}

func (s *structured) at(label string) { s.put("%s:", label) }

// block writes some statements.
func (s *structured) block() {
	s.depth++
	for range 1 + s.IntN(3) {
		if s.left--; s.left < 0 {
			break
		}
		s.statement()
	}
	s.depth--
}

// statement writes one statement of any kind.
func (s *structured) statement() {
	nested := s.depth < 5
	switch n := s.IntN(20); {
	case n < 4:
		s.compute()
	case n < 6:
		s.store()
	case n < 9 && s.depth == 1 && s.spins && s.waits && s.entry && s.spinWords < structuredSpins && s.IntN(2) == 0:
		s.spin()
	case n < 8 && s.depth == 1 && s.entry && s.waits && s.IntN(3) == 0:
		s.exchange()
	case n < 8:
		s.meet()
	case n < 11 && nested:
		s.choice()
	case n < 13 && nested && len(s.loops) < 3 && s.counters < 12 && s.form != scattered:
		s.loop()
	case n < 14 && nested:
		s.selection()
	case n < 15:
		s.callSome()
	case n < 17 && len(s.loops) > 0:
		s.jumpOut()
	case n < 18:
		s.leave()
	case n < 19 && s.IntN(6) == 0 && s.form == inOrder:
		s.trap()
	default:
		s.compute()
	}
}

func (s *structured) compute() {
	d, a, b, k := s.reg(), s.reg(), s.reg(), s.Uint32()&63
	guard, mark := -1, ""
	if s.IntN(4) == 0 {
		guard = s.condition()
		mark = fmt.Sprintf("@%%p%d ", guard)
	}
	type form struct {
		text string
		do   func(c *cell) uint32
	}
	f := []form{
		{fmt.Sprintf("add.s32 %%r%d, %%r%d, %%r%d;", d, a, b), func(c *cell) uint32 { return c.r[a] + c.r[b] }},
		{fmt.Sprintf("xor.b32 %%r%d, %%r%d, %d;", d, a, k), func(c *cell) uint32 { return c.r[a] ^ k }},
		{fmt.Sprintf("sub.s32 %%r%d, %%r%d, %%r%d;", d, a, b), func(c *cell) uint32 { return c.r[a] - c.r[b] }},
		{fmt.Sprintf("shr.u32 %%r%d, %%r%d, 1;", d, a), func(c *cell) uint32 { return c.r[a] >> 1 }},
		{fmt.Sprintf("mad.lo.s32 %%r%d, %%r%d, 5, %d;", d, a, k), func(c *cell) uint32 { return c.r[a]*5 + k }},
	}[s.IntN(5)]
	s.put("%s%s", mark, f.text)
	s.op(structuredOp{guard: guard, do: func(_ *twinLane, c *cell) { c.r[d] = f.do(c) }})
}

func (s *structured) store() {
	a, word := s.reg(), s.IntN(structuredWords)
	guard, mark := -1, ""
	if s.IntN(4) == 0 {
		guard = s.condition()
		mark = fmt.Sprintf("@%%p%d ", guard)
	}
	line := s.put("%sst.global.b32 [%%own+%d], %%r%d;", mark, 4*word, a)
	s.op(structuredOp{line: line, kind: opStore, guard: guard, word: func(c *cell) (int, uint32) { return word, c.r[a] }})
}

// meet writes an instruction by which lanes look at each other.
func (s *structured) meet() {
	if s.form == scatteredLoops {
		s.compute()
		return
	}
	a, d := s.reg(), s.reg()
	m := &meeting{name: "activemask", full: s.waits && s.IntN(2) == 0, source: a, target: d}
	m.line = s.put("activemask.b32 %%r%d;", d)
	s.op(structuredOp{line: m.line, kind: opMeet, guard: -1, meet: m})
	names := []string{"ballot", "redux", "match", "shfl", "shfl", "atom", "bar"}
	if s.form != inOrder { // what depends on what lanes did elsewhere is left out
		names = names[:3]
	}
	other := *m
	other.name = names[s.IntN(len(names))]
	mask := "%m"
	if other.full {
		mask = "-1"
	}
	if !other.full && other.name != "atom" && other.name != "bar" || other.name == "shfl" {
		line := s.put("activemask.b32 %%m;")
		s.op(structuredOp{line: line, kind: opMeet, guard: -1, meet: &meeting{line: line, name: "activemask", target: -1}})
	}
	switch other.name {
	case "ballot":
		p := s.condition()
		other.predicate = p
		other.line = s.put("vote.sync.ballot.b32 %%r%d, %%p%d, %s;", d, p, mask)
	case "redux":
		other.line = s.put("redux.sync.add.u32 %%r%d, %%r%d, %s;", d, a, mask)
	case "match":
		other.line = s.put("match.any.sync.b32 %%r%d, %%r%d, %s;", d, a, mask)
	case "shfl":
		other.by = s.IntN(32)
		other.line = s.put("shfl.sync.bfly.b32 %%r%d, %%r%d, %d, 31, %s;", d, a, other.by, mask)
	case "atom":
		line := s.put("atom.global.add.u32 %%r%d, [%%counter], %%r%d;", d, a)
		s.op(structuredOp{line: line, kind: opAtomic, guard: -1, meet: &other})
		return
	case "bar":
		if other.line = s.put("%s", map[bool]string{false: "bar.sync 0;", true: structuredProduct}[s.products]); s.products {
			other.name = "mma"
		}
	}
	s.op(structuredOp{line: other.line, kind: opMeet, guard: -1, meet: &other})
	if other.name == "shfl" { // what a lane holds that is elsewhere is undefined: 0 takes its place
		s.put("mov.u32 %%t, %%laneid;")
		s.put("xor.b32 %%t, %%t, %d;", other.by)
		s.put("shr.u32 %%t, %%m, %%t;")
		s.put("and.b32 %%t, %%t, 1;")
		s.put("mul.lo.s32 %%r%d, %%r%d, %%t;", d, d)
	}
}

// work writes what lanes do on their way out.
func (s *structured) work() {
	for range 1 + s.IntN(2) {
		switch s.IntN(4) {
		case 0:
			s.compute()
		case 1:
			s.meet()
		default:
			s.store()
		}
	}
}

// selection writes a switch over a table of labels; cases fall through or break.
func (s *structured) selection() {
	a, end := s.reg(), s.fresh()
	n := 2 + s.IntN(3)
	labels := make([]string, 4)
	for i := range labels {
		labels[i] = fmt.Sprintf("%sC%d", end, min(i, n-1))
	}
	s.put("and.b32 %%t, %%r%d, 3;", a)
	s.put("%sT: .branchtargets %s;", end, strings.Join(labels, ", "))
	line := s.put("brx.idx %%t, %sT;", end)
	at := s.op(structuredOp{line: line, kind: opSwitch, guard: -1, index: func(c *cell) uint32 { return c.r[a] & 3 }})
	var over []int
	var cases []int
	for i := range n {
		s.at(fmt.Sprintf("%sC%d", end, i))
		cases = append(cases, len(s.f.ops))
		s.block()
		if s.IntN(3) > 0 {
			over = append(over, s.jump(end))
		}
	}
	for len(cases) < 4 {
		cases = append(cases, cases[n-1])
	}
	s.f.ops[at].cases = cases
	s.at(end)
	s.here(over...)
}

// callSome writes a call of a function that is written already.
func (s *structured) callSome() {
	var known []*structuredFunction
	for _, f := range s.functions {
		if f != s.f {
			known = append(known, f)
		}
	}
	if len(known) == 0 {
		s.compute()
		return
	}
	f, a, d := known[s.IntN(len(known))], s.reg(), s.reg()
	guard, mark := -1, ""
	if s.IntN(3) == 0 {
		guard = s.condition()
		mark = fmt.Sprintf("@%%p%d ", guard)
	}
	s.put("{")
	s.put(".param .b64 where;")
	s.put(".param .b32 what;")
	s.put(".param .b32 back;")
	s.put("st.param.b64 [where], %%own;")
	s.put("st.param.b32 [what], %%r%d;", a)
	s.put("%scall (back), f%d, (where, what);", mark, f.number)
	s.put("%sld.param.b32 %%r%d, [back];", mark, d)
	s.put("}")
	s.op(structuredOp{
		kind: opCall, guard: guard, call: f, give: func(c *cell) uint32 { return c.r[a] }, take: func(c *cell, v uint32) { c.r[d] = v },
	})
}

// leave writes a return or an end of the thread.
func (s *structured) leave() {
	p := s.condition()
	kind, text := opEnd, "exit;"
	if s.IntN(2) == 0 {
		kind, text = opReturn, "ret;"
	}
	if kind == opEnd && !s.entry && s.IntN(2) == 0 {
		kind, text = opReturn, "ret;"
	}
	a := s.reg()
	give := func(c *cell) uint32 { return c.r[a] }
	result := func() {
		if kind == opReturn && !s.entry {
			s.put("st.param.b32 [result], %%r%d;", a)
		}
	}
	if s.IntN(3) == 0 {
		result()
		line := s.put("@%%p%d %s", p, text)
		s.op(structuredOp{line: line, kind: kind, guard: p, give: give})
		return
	}
	skip := s.fresh()
	over := s.branch(p, true, skip)
	if s.IntN(3) > 0 {
		s.work()
	}
	result()
	if kind == opReturn && s.IntN(2) == 0 {
		s.put("bra.uni %s;", s.end)
		if s.entry { // lanes that only wait for the end of the kernel count as ended
			s.op(structuredOp{kind: kind, guard: -1, give: give})
		} else {
			s.op(structuredOp{guard: -1, do: func(_ *twinLane, c *cell) { c.given = give(c) }})
			s.toEnd = append(s.toEnd, s.op(structuredOp{kind: opGo, guard: -1, loop: len(s.loops)}))
		}
	} else {
		line := s.put("%s", text)
		s.op(structuredOp{line: line, kind: kind, guard: -1, give: give})
	}
	s.here(over)
	s.at(skip)
}

// trap writes a trap that few lanes come to.
func (s *structured) trap() {
	p := s.condition()
	if s.IntN(2) == 0 {
		line := s.put("@%%p%d trap;", p)
		s.op(structuredOp{line: line, kind: opTrap, guard: p})
		return
	}
	skip := s.fresh()
	over := s.branch(p, true, skip)
	line := s.put("trap;")
	s.op(structuredOp{line: line, kind: opTrap, guard: -1})
	s.here(over)
	s.at(skip)
}

// declare writes what every function begins with.
func (s *structured) declare() {
	s.put(".reg .pred %%p<2>;")
	s.put(".reg .b32 %%r<%d>, %%c<16>, %%n<16>, %%t, %%m;", structuredRegisters)
	s.put(".reg .f64 %%d<4>;")
	s.put(".reg .b64 %%own, %%counter, %%a;")
	if s.spins {
		s.put(".reg .b64 %%flags, %%f;")
		s.put(".reg .b32 %%s;")
		s.put(".reg .pred %%q;")
	}
}

// function writes one function that is called, or the kernel.
func (s *structured) function(entry bool, statements int) {
	s.f = &structuredFunction{number: len(s.functions)}
	s.functions = append(s.functions, s.f)
	s.entry, s.left, s.counters, s.end, s.toEnd = entry, statements, 0, s.fresh(), nil
	if entry {
		s.put(".visible .entry k(.param .u64 out, .param .u32 n)")
		s.put("{")
		s.declare()
		s.put("ld.param.u64 %%own, [out];")
		s.put("mov.u32 %%t, %%ctaid.x;")
		s.put("mul.wide.u32 %%a, %%t, 4;")
		s.put("add.s64 %%counter, %%own, %%a;")
		s.put("mad.lo.s32 %%t, %%t, 32, 0;")
		s.put("mov.u32 %%m, %%tid.x;")
		s.put("add.s32 %%t, %%t, %%m;")
		s.put("mul.wide.u32 %%a, %%t, %d;", 4*structuredWords)
		s.put("add.s64 %%own, %%own, %%a;")
		s.put("add.s64 %%own, %%own, %d;", 4*structuredCounter)
		if s.spins {
			s.put("ld.param.u64 %%flags, [out];")
			s.put("mov.u32 %%s, %%ctaid.x;")
			s.put("mul.wide.u32 %%f, %%s, %d;", 4*32*structuredSpins)
			s.put("add.s64 %%flags, %%flags, %%f;")
			s.put("add.s64 %%flags, %%flags, %d;", 4*(structuredCounter+structuredGrid*32*structuredWords))
		}
		for i := range structuredRegisters {
			s.put("mad.lo.s32 %%r%d, %%t, %d, %d;", i, structuredSeed(i), i)
		}
	} else {
		s.put(".func (.param .b32 result) f%d(.param .b64 own, .param .b32 x)", s.f.number)
		s.put("{")
		s.declare()
		s.put("ld.param.b64 %%own, [own];")
		s.put("ld.param.b32 %%r0, [x];")
		s.put("mov.u32 %%t, %%ctaid.x;")
		s.put("mul.wide.u32 %%a, %%t, %d;", 4*structuredWords*32)
		s.put("sub.s64 %%counter, %%own, %%a;")
		s.put("mul.wide.u32 %%a, %%t, 4;")
		s.put("add.s64 %%counter, %%counter, %%a;")
		s.put("mov.u32 %%t, %%tid.x;")
		s.put("mul.wide.u32 %%a, %%t, %d;", 4*structuredWords)
		s.put("sub.s64 %%counter, %%counter, %%a;")
		s.put("sub.s64 %%counter, %%counter, %d;", 4*structuredCounter)
		s.put("xor.b32 %%r1, %%r0, %%t;")
	}
	for s.left > 0 {
		s.block()
	}
	for i := range structuredRegisters {
		if !entry {
			break
		}
		line := s.put("st.global.b32 [%%own+%d], %%r%d;", 4*i, i)
		s.op(structuredOp{line: line, kind: opStore, guard: -1, word: func(c *cell) (int, uint32) { return i, c.r[i] }})
	}
	if !entry {
		s.put("st.param.b32 [result], %%r2;")
	}
	s.op(structuredOp{guard: -1, do: func(_ *twinLane, c *cell) { c.given = c.r[2] }})
	s.here(s.toEnd...)
	s.op(structuredOp{kind: opReturn, guard: -1, give: func(c *cell) uint32 { return c.given }})
	s.at(s.end)
	s.put("ret;")
	s.put("}")
}

// structuredSeed makes registers begin with values that differ between lanes in several ways.
func structuredSeed(i int) int { return []int{1, 3, 7, 37, 11}[i] }

// newStructured writes a program.
func newStructured(seed uint64) *structured {
	s := &structured{Rand: rand.New(rand.NewPCG(seed, 77))}
	if n := s.IntN(6); n < 2 {
		s.form = scattered + structuredForm(n)
	}
	s.waits = s.form == inOrder && s.IntN(3) > 0
	s.groups, s.products, s.spins = seed%4 == 2, seed%4 == 3, seed >= structuredSpinSeeds
	for _, line := range strings.Split(strings.TrimSpace(preamble), "\n") {
		s.put("%s", line)
	}
	for range s.IntN(3) {
		s.function(false, 2+s.IntN(8))
	}
	s.function(true, 4+s.IntN(30))
	if s.form != inOrder {
		s.scatter()
	}
	return s
}
