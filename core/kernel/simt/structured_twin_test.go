package simt

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/kernel/simt/code"
	"github.com/prlx-go/prlx/core/kernel/simt/execute"
)

// twinLane is one lane of the slow twin: where it is in the source, in which pass of which loops and in which calls, and its memory.
type twinLane struct {
	at     int // in the operations of the function
	f      *structuredFunction
	inside []int // of loops, each its place and its pass, and of calls, each its place
	calls  []twinCall
	cells  map[*structuredFunction]*cell
	number int
	done   bool
	splits []twinSide
	loose  *twinSplit
	waits  bool // for other lanes, at the operation where it is
	again  bool // it has come to the next pass of the innermost loop, and done nothing there
}

// twinSplit is a branch that divided lanes; twinSide is the way that one of them went.
type twinSplit struct {
	join   int // the operation at which all ways come together; that behind the last is the end of the function
	calls  int
	inside uint32 // lanes that have not come there
}

type twinSide struct {
	*twinSplit
	side int
}

// twinCall is where a lane goes on when a function returns.
type twinCall struct {
	f      *structuredFunction
	at     int
	inside int
}

// meeting is an instruction by which lanes look at each other.
type meeting struct {
	name           string
	line           int
	full           bool // the mask names all lanes of a warp, else those that are there
	kept           bool // the mask is what activemask said before
	source, target int
	predicate, by  int
}

// passed is what a group of lanes did at an instruction.
type passed struct{ active, taken uint32 }

func comparePassed(a, b passed) int {
	return cmp.Or(cmp.Compare(a.active, b.active), cmp.Compare(a.taken, b.taken))
}

// sight is what a check found at an instruction.
type sight struct {
	count int64
	lanes uint32
}

// place is a line and a check.
type foundAt struct {
	line  int
	check execute.Check
}

// twinBlock is one block of one warp.
type twinWarp struct {
	lanes   []*twinLane
	born    uint32
	passed  map[int][]passed
	found   map[foundAt]sight
	counter uint32
	words   [][structuredWords]uint32
	over    bool
}

// before reports whether a lane is further behind in the source than another one.
func (l *twinLane) before(o *twinLane) int {
	return slices.Compare(append(slices.Clip(l.inside), l.at), append(slices.Clip(o.inside), o.at))
}

// sameLine reports whether two lanes are at one place of the text, in whatever pass of the loops around it.
func (l *twinLane) sameLine(o *twinLane) bool {
	same := l.f == o.f && l.at == o.at && len(l.calls) == len(o.calls) && !l.done && !o.done
	for i := range l.calls {
		same = same && l.calls[i].f == o.calls[i].f && l.calls[i].at == o.calls[i].at
	}
	return same
}

func (l *twinLane) cell() *cell {
	c := l.cells[l.f]
	if c == nil {
		c = &cell{}
		l.cells[l.f] = c
	}
	return c
}

// run lets the lanes that are furthest behind do one operation, each for itself, until none is left. Lanes wait where a branch ends
// for those that it divided from them, and where they exchange values for those that they name.
func (w *twinWarp) run() {
	for !w.over {
		w.settle()
		ready := w.behind(func(l *twinLane) bool { return !l.waits && !l.parked() })
		waiting := w.behind(func(l *twinLane) bool { return l.waits })
		parked := w.behind(func(l *twinLane) bool { return !l.waits && l.parked() })
		switch {
		case len(ready) > 0:
			w.step(ready, false)
		case len(waiting) > 0:
			w.step(waiting, true)
		case len(parked) > 0:
			for _, l := range parked {
				for l.parked() {
					l.splits[len(l.splits)-1].inside &^= 1 << l.number
					l.pop()
				}
			}
		default:
			return
		}
	}
}

// behind are the lanes of a kind that are furthest behind, at one place.
func (w *twinWarp) behind(kind func(*twinLane) bool) (group []*twinLane) {
	for _, l := range w.lanes {
		switch {
		case l.done || !kind(l):
		case len(group) == 0 || l.before(group[0]) < 0:
			group = append(group[:0], l)
		case l.before(group[0]) == 0:
			group = append(group, l)
		}
	}
	return group
}

// parked reports whether a lane stands where the innermost branch ends that others are still in.
func (l *twinLane) parked() bool {
	n := len(l.splits)
	return n > 0 && l.splits[n-1].join == l.at && l.splits[n-1].calls == len(l.calls)
}

// pop leaves the innermost branch.
func (l *twinLane) pop() {
	last := len(l.splits) - 1
	if l.loose == l.splits[last].twinSplit {
		l.loose = nil
	}
	l.splits = l.splits[:last]
}

// settle brings lanes together that are at one place, and takes them out of branches that none is in any more.
func (w *twinWarp) settle() {
	for _, l := range w.lanes {
		for o := &l.f.ops[min(l.at, len(l.f.ops)-1)]; !l.done && o.empty; o = &l.f.ops[l.at] {
			w.act(o, l)
		}
	}
	for changed := true; changed; {
		changed = false
		for _, l := range w.lanes {
			for n := len(l.splits); n > 0 && !l.done; n = len(l.splits) {
				s := l.splits[n-1]
				if l.parked() && s.inside>>l.number&1 != 0 {
					s.inside &^= 1 << l.number
					changed = true
				}
				if s.inside != 0 {
					break
				}
				l.pop()
				changed = true
			}
		}
		waits := slices.ContainsFunc(w.lanes, func(l *twinLane) bool { return l.waits && !l.done })
		if waits {
			w.forgetPasses()
		}
		for i, l := range w.lanes {
			var group []*twinLane
			for _, o := range w.lanes[i:] {
				if l.sameLine(o) && l.waits == o.waits && (waits || o.before(l) == 0) {
					group = append(group, o)
				}
			}
			changed = meetTwins(group) || changed
		}
	}
}

// forgetPasses makes lanes that wait for each other forget how often they went round which loop: the next pass is behind the one
// in which somebody waits, and from then on only the place in the text counts.
func (w *twinWarp) forgetPasses() {
	for _, l := range w.lanes {
		calls, last := map[int]bool{}, -1
		for _, c := range l.calls {
			calls[c.inside] = true
		}
		for i := 0; i < len(l.inside); i++ {
			if calls[i] {
				last = -1
				continue
			}
			i++
			l.inside[i], last = 0, i
		}
		if last >= 0 && l.again {
			l.inside[last] = 1
		}
	}
}

// meetTwins gives lanes at one place one history: the branches that all of them are in.
func meetTwins(group []*twinLane) (changed bool) {
	if len(group) < 2 {
		return false
	}
	common, last := 0, group[0]
	for _, l := range group {
		if l.before(last) < 0 {
			last = l
		}
	}
	for _, l := range group {
		l.inside, l.again = slices.Clone(last.inside), last.again
	}
	same := func(of func(*twinLane) any) bool {
		return !slices.ContainsFunc(group, func(l *twinLane) bool { return of(l) != of(last) })
	}
	for {
		at := func(l *twinLane) any {
			if common < len(l.splits) {
				return l.splits[common]
			}
			return nil
		}
		if common == len(last.splits) || !same(at) {
			break
		}
		common++
	}
	split := func(l *twinLane) any {
		if common < len(l.splits) {
			return l.splits[common].twinSplit
		}
		return nil
	}
	var loose *twinSplit
	if common < len(last.splits) && same(split) {
		s := last.splits[common]
		if !(s.join == last.at && s.calls == len(last.calls)) {
			loose = s.twinSplit
		}
		common++
	}
	for _, l := range group {
		for k := range min(common, len(l.splits)) {
			if l.loose == l.splits[k].twinSplit && (loose == nil || !slices.ContainsFunc(l.splits[:k], func(s twinSide) bool { return s.twinSplit == loose })) {
				loose = l.loose
			}
		}
	}
	for _, l := range group {
		for len(l.splits) > common {
			l.splits[len(l.splits)-1].inside &^= 1 << l.number
			l.pop()
			changed = true
		}
		if common > 0 && l.splits[common-1] != last.splits[common-1] {
			l.splits = append(slices.Clone(l.splits[:common-1]), last.splits[common-1])
			changed = true
		}
		if l.loose != loose {
			l.loose, changed = loose, true
		}
	}
	return changed
}

// divide makes lanes that an operation sent to different places part.
func (w *twinWarp) divide(f *structuredFunction, from, calls int, group []*twinLane) {
	if !slices.ContainsFunc(group, func(l *twinLane) bool { return l.at != group[0].at }) {
		return
	}
	join := f.joinOf(from)
	if join < 0 {
		return
	}
	s := &twinSplit{join: join, calls: calls}
	for _, l := range group {
		s.inside |= 1 << l.number
		l.splits = append(slices.Clip(l.splits), twinSide{s, l.at})
	}
}

// gone takes a lane out of all branches, or those of the function that it leaves.
func (l *twinLane) gone(calls int) {
	for n := len(l.splits); n > 0 && l.splits[n-1].calls >= calls; n = len(l.splits) {
		l.splits[n-1].inside &^= 1 << l.number
		l.pop()
	}
}

func lanesOf32(group []*twinLane) (mask uint32) {
	for _, l := range group {
		mask |= 1 << l.number
	}
	return mask
}

// leaving are lanes that end without an operation at which they look at others.
func (w *twinWarp) leaving() (mask uint32) {
	for _, l := range w.lanes {
		if !l.done && len(l.calls) == 0 && !l.f.meetsFrom(l.at) {
			mask |= 1 << l.number
		}
	}
	return mask
}

func (w *twinWarp) live() (mask uint32) {
	for _, l := range w.lanes {
		if !l.done {
			mask |= 1 << l.number
		}
	}
	return mask
}

func (w *twinWarp) step(group []*twinLane, forced bool) {
	f, from, calls := group[0].f, group[0].at, len(group[0].calls)
	o := &f.ops[from]
	active, taken := lanesOf32(group), uint32(0)
	for _, l := range group {
		if o.guard < 0 || l.cell().p[o.guard] != o.not {
			taken |= 1 << l.number
		}
	}
	if o.kind == opMeet && !forced && w.joinWaiting(group) {
		return
	}
	if o.kind == opMeet && !forced && o.meet.isMasked() {
		if w.named(o.meet, group)&w.live()&^w.leaving()&^active != 0 {
			for _, l := range group {
				l.waits = true
			}
			w.exchange(group)
			return
		}
	}
	if o.line != 0 {
		w.passed[o.line] = append(w.passed[o.line], passed{active, taken})
	}
	if o.kind == opTrap && taken != 0 {
		w.note(o.line, execute.CheckTrap, taken)
		w.over = true
		return
	}
	if o.kind == opMeet {
		w.meet(o.meet, group, group)
	}
	for _, l := range group {
		l.waits, l.again = false, o.kind == opAgain
		if taken>>l.number&1 == 0 {
			l.at++
			continue
		}
		w.act(o, l)
	}
	if o.kind == opGo || o.kind == opSwitch {
		w.divide(f, from, calls, group)
	}
}

// joinWaiting adds a group to lanes that wait where it is.
func (w *twinWarp) joinWaiting(group []*twinLane) (joined bool) {
	for _, l := range w.lanes {
		if l.waits && !l.done && l.sameLine(group[0]) {
			l.waits, joined = false, true
		}
	}
	return joined
}

// isMasked reports whether lanes wait at an instruction for those that it names.
func (m *meeting) isMasked() bool { return m.name != "activemask" && m.name != "bar" }

// named are the lanes that a group names.
func (w *twinWarp) named(m *meeting, group []*twinLane) (mask uint32) {
	switch {
	case m.full:
		return ^uint32(0)
	case m.kept:
		for _, l := range group {
			mask |= l.cell().mask
		}
		return mask
	}
	return lanesOf32(group)
}

// exchange lets all lanes go on that wait at instructions of one kind for each other.
func (w *twinWarp) exchange(group []*twinLane) {
	m := group[0].f.ops[group[0].at].meet
	mask := w.named(m, group)
	var all []*twinLane
	var parts [][]*twinLane
	for _, l := range w.lanes {
		if l.done || !l.waits {
			continue
		}
		other := l.f.ops[l.at].meet
		if other.name != m.name || w.named(other, []*twinLane{l}) != mask {
			continue
		}
		all = append(all, l)
		at := slices.IndexFunc(parts, func(part []*twinLane) bool { return part[0].before(l) == 0 })
		if at < 0 {
			at = len(parts)
			parts = append(parts, nil)
		}
		parts[at] = append(parts[at], l)
	}
	if mask&w.live()&^w.leaving()&^lanesOf32(all) != 0 {
		return
	}
	slices.SortFunc(parts, func(a, b []*twinLane) int { return b[0].before(a[0]) })
	values := map[*twinLane]uint32{}
	for _, part := range parts {
		other := part[0].f.ops[part[0].at].meet
		w.passed[other.line] = append(w.passed[other.line], passed{lanesOf32(part), lanesOf32(part)})
		before := map[*twinLane]cell{}
		for _, l := range all {
			before[l] = *l.cell()
		}
		w.meet(other, part, all)
		for _, l := range part {
			values[l] = l.cell().r[max(0, other.target)]
		}
		for _, l := range all {
			*l.cell() = before[l]
		}
	}
	for _, l := range all {
		l.cell().r[max(0, l.f.ops[l.at].meet.target)] = values[l]
		l.waits = false
		l.at++
	}
}

// act lets one lane do an operation.
func (w *twinWarp) act(o *structuredOp, l *twinLane) {
	c := l.cell()
	l.at++
	switch o.kind {
	case opDo:
		o.do(l, c)
	case opStore:
		word, v := o.word(c)
		w.words[l.number][word] = v
	case opGo:
		l.inside, l.at = l.inside[:len(l.inside)-2*o.loop], o.to
	case opEnter:
		l.inside = append(l.inside, l.at-1, 0)
	case opAgain:
		l.inside[len(l.inside)-1]++
		l.at = o.to
	case opSwitch:
		l.at = o.cases[o.index(c)]
	case opAtomic:
		c.r[o.meet.target], w.counter = w.counter, w.counter+c.r[o.meet.source]
	case opCall:
		v := o.give(c)
		l.calls = append(l.calls, twinCall{l.f, l.at, len(l.inside)})
		l.inside = append(l.inside, l.at-1)
		l.f, l.at = o.call, 0
		called := l.cell()
		called.r[0], called.r[1] = v, v^uint32(l.number)
	case opReturn:
		if len(l.calls) == 0 {
			l.done = true
			l.gone(0)
			return
		}
		l.gone(len(l.calls))
		v := o.give(c)
		back := l.calls[len(l.calls)-1]
		l.calls = l.calls[:len(l.calls)-1]
		l.f, l.at, l.inside = back.f, back.at, l.inside[:back.inside]
		l.f.ops[l.at-1].take(l.cell(), v)
	case opEnd:
		l.done = true
		l.gone(0)
	}
}

func (w *twinWarp) note(line int, check execute.Check, lanes uint32) {
	s, known := w.found[foundAt{line, check}]
	if !known {
		s.lanes = lanes
	}
	s.count++
	w.found[foundAt{line, check}] = s
}

// meet lets the lanes of a group look at each other and at all others that do the same now.
func (w *twinWarp) meet(m *meeting, group, all []*twinLane) {
	live, active, there := w.live(), lanesOf32(group), lanesOf32(all)
	if m.name == "bar" {
		if active == live && group[0].loose != nil {
			w.note(m.line, execute.CheckConvergence, active)
		}
		if active != live {
			w.note(m.line, execute.CheckBarrier, active)
		}
		if live != w.born {
			w.note(m.line, execute.CheckBarrier, active)
		}
		return
	}
	mask := w.named(m, group)
	var before [32]uint32
	var yes [32]bool
	for _, l := range w.lanes {
		if c := l.cells[group[0].f]; c != nil {
			before[l.number] = c.r[m.source]
		}
	}
	for _, l := range all {
		own := m
		if l.waits {
			own = l.f.ops[l.at].meet
		}
		before[l.number], yes[l.number] = l.cell().r[own.source], l.cell().p[own.predicate]
	}
	wrong := m.name != "activemask" && mask&^there != 0
	for _, l := range group {
		c, v := l.cell(), uint32(0)
		switch m.name {
		case "activemask":
			v = active
			if m.target < 0 {
				c.mask = active
			}
		case "ballot":
			for _, o := range all {
				if yes[o.number] {
					v |= 1 << o.number
				}
			}
		case "redux":
			for _, o := range all {
				v += before[o.number]
			}
		case "match":
			for _, o := range all {
				if before[o.number] == before[l.number] {
					v |= 1 << o.number
				}
			}
		case "shfl":
			from := l.number ^ m.by
			wrong = wrong || there>>from&1 == 0
			if v = before[from]; c.mask>>from&1 == 0 { // as the text has it
				v = 0
			}
		}
		if m.target >= 0 {
			c.r[m.target] = v
		}
	}
	if wrong && there != live&^w.leaving() {
		w.note(m.line, execute.CheckBadShuffle, there)
	}
}

// lineWitness writes down what one block passes, by line.
type lineWitness struct {
	k       *code.Kernel
	watched map[int]bool
	blocks  map[uint64]map[int][]passed
}

func (s *lineWitness) lineOf(at int32) int {
	in := s.k.Origin(at).PTX()
	if s.k.Code[at].Hidden || in == nil {
		return 0
	}
	return int(in.Line)
}

func (s *lineWitness) Wants(at int32) bool { return s.watched[s.lineOf(at)] }

func (s *lineWitness) Open(*execute.Block) execute.BlockObserver { return s }

func (s *lineWitness) Close(context.Context, *execute.Block, execute.BlockObserver) error { return nil }

func (s *lineWitness) Finish(*execute.Running, *Result) error                     { return nil }
func (s *lineWitness) After(*execute.Block, *execute.Warp, int32, uint32, uint32) {}
func (s *lineWitness) Before(b *execute.Block, _ *execute.Warp, at int32, active, taken uint32) {
	if s.blocks[b.Linear] == nil {
		s.blocks[b.Linear] = map[int][]passed{}
	}
	line := s.lineOf(at)
	s.blocks[b.Linear][line] = append(s.blocks[b.Linear][line], passed{active, taken})
}

// checkStructured runs one program both ways and says how they differ, "" not at all.
func checkStructured(t *testing.T, seed uint64) (difference, text string) {
	s := newStructured(seed)
	text = s.text.String()
	const grid = 2
	threads := []int{32, 32, 20, 5}[s.IntN(4)]
	watched := map[int]bool{}
	for _, f := range s.functions {
		for i := range f.ops {
			if line := f.ops[i].line; line != 0 {
				watched[line] = true
			}
		}
	}
	data := make([]byte, 4*(structuredCounter+grid*32*structuredWords))
	p := mustLoad(t, text)
	k, err := p.bound("k")
	if err != nil {
		return err.Error(), text
	}
	witness := &lineWitness{k: k, watched: watched, blocks: map[uint64]map[int][]passed{}}
	l := testLaunch(grid, uint32(threads), data, 0)
	l.Options.Workers = 1
	r, err := execute.Run(nil, k, p.variables, l, witness)
	if err != nil {
		return err.Error(), text
	}
	found := map[foundAt]sight{}
	for _, f := range r.Findings {
		for _, function := range p.module.Functions {
			if function.Name == f.Function {
				found[foundAt{int(function.Insts[f.Inst].Line), f.Check}] = sight{f.Count, f.Lanes}
			}
		}
	}
	want := map[foundAt]sight{}
	for block := range grid {
		w := newTwinWarp(s, block, threads)
		w.run()
		for at, s := range w.found {
			if old, known := want[at]; known {
				s = sight{s.count + old.count, old.lanes}
			}
			want[at] = s
		}
		for line := range watched {
			got, want := witness.blocks[uint64(block)][line], w.passed[line]
			if s.form == scattered { // the order of two calls of a function is open
				slices.SortFunc(got, comparePassed)
				slices.SortFunc(want, comparePassed)
			}
			if s.form != scatteredLoops && !slices.Equal(got, want) {
				return fmt.Sprintf("block %d, line %d: passed %08x, want %08x", block, line, got, want), text
			}
		}
		if got := binary.LittleEndian.Uint32(data[4*block:]); got != w.counter {
			return fmt.Sprintf("block %d: counter %d, want %d", block, got, w.counter), text
		}
		for i := range w.words {
			for word, want := range w.words[i] {
				at := 4 * (structuredCounter + (block*32+i)*structuredWords + word)
				if got := binary.LittleEndian.Uint32(data[at:]); got != want {
					return fmt.Sprintf("block %d, lane %d, word %d: %08x, want %08x", block, i, word, got, want), text
				}
			}
		}
	}
	for at, want := range want {
		if found[at] != want {
			return fmt.Sprintf("line %d: %s %+v, want %+v", at.line, at.check, found[at], want), text
		}
	}
	if len(found) != len(want) {
		return fmt.Sprintf("findings %+v, want %+v", found, want), text
	}
	return "", text
}

func newTwinWarp(s *structured, block, threads int) *twinWarp {
	w := &twinWarp{passed: map[int][]passed{}, found: map[foundAt]sight{}, words: make([][structuredWords]uint32, threads)}
	entry := s.functions[len(s.functions)-1]
	for i := range threads {
		c := &cell{}
		for j := range c.r {
			c.r[j] = uint32((block*32+i)*structuredSeed(j) + j)
		}
		w.lanes = append(w.lanes, &twinLane{f: entry, number: i, cells: map[*structuredFunction]*cell{entry: c}})
		w.born |= 1 << i
	}
	return w
}

// Programs made of blocks, loops, switches and calls, with ways out of all of them, do what each lane does that follows the source
// by itself; where lanes look at each other, those are there that the source brings there. PRLX_STRUCTURED_PROGRAMS says how many
// programs, and from which seed on: "1000000:5000".
func TestStructuredProgramsAgreeWithLanesThatRunAlone(t *testing.T) {
	n, from := uint64(1500), uint64(0)
	if text := os.Getenv("PRLX_STRUCTURED_PROGRAMS"); text != "" {
		if _, err := fmt.Sscanf(text+":0", "%d:%d", &n, &from); err != nil {
			t.Fatalf("PRLX_STRUCTURED_PROGRAMS is %q: %v", text, err)
		}
	} else if testing.Short() {
		n = 100
	}
	wrong := 0
	for seed := from; seed < from+n; seed++ {
		if difference, text := checkStructured(t, seed); difference != "" {
			t.Errorf("seed %d: %s", seed, difference)
			if wrong++; wrong == 1 {
				t.Logf("\n%s", numbered(text))
			}
			if wrong > 10 {
				t.FailNow()
			}
		}
	}
	t.Logf("%d programs", n)
}

func numbered(text string) (out string) {
	line := 1
	for part := range strings.Lines(text) {
		out += strconv.Itoa(line) + "\t" + part
		line++
	}
	return out
}
