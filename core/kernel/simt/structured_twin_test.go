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

func (l *twinLane) cell() *cell {
	c := l.cells[l.f]
	if c == nil {
		c = &cell{}
		l.cells[l.f] = c
	}
	return c
}

// run lets the lanes that are furthest behind do one operation, each for itself, until none is left.
func (w *twinWarp) run() {
	for !w.over {
		var group []*twinLane
		for _, l := range w.lanes {
			switch {
			case l.done:
			case len(group) == 0 || l.before(group[0]) < 0:
				group = append(group[:0], l)
			case l.before(group[0]) == 0:
				group = append(group, l)
			}
		}
		if len(group) == 0 {
			return
		}
		w.step(group)
	}
}

func lanesOf32(group []*twinLane) (mask uint32) {
	for _, l := range group {
		mask |= 1 << l.number
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

func (w *twinWarp) step(group []*twinLane) {
	o := &group[0].f.ops[group[0].at]
	active, taken := lanesOf32(group), uint32(0)
	for _, l := range group {
		if o.guard < 0 || l.cell().p[o.guard] != o.not {
			taken |= 1 << l.number
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
		w.meet(o.meet, group, active)
	}
	for _, l := range group {
		if taken>>l.number&1 == 0 {
			l.at++
			continue
		}
		w.act(o, l)
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
			return
		}
		v := o.give(c)
		back := l.calls[len(l.calls)-1]
		l.calls = l.calls[:len(l.calls)-1]
		l.f, l.at, l.inside = back.f, back.at, l.inside[:back.inside]
		l.f.ops[l.at-1].take(l.cell(), v)
	case opEnd:
		l.done = true
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

// meet lets the lanes that are there look at each other.
func (w *twinWarp) meet(m *meeting, group []*twinLane, active uint32) {
	live := w.live()
	if m.name == "bar" {
		if active != live {
			w.note(m.line, execute.CheckBarrier, active)
		}
		if live != w.born {
			w.note(m.line, execute.CheckBarrier, active)
		}
		return
	}
	mask := active
	if m.full {
		mask = ^uint32(0)
	}
	f := group[0].f
	var before [32]uint32
	for _, l := range w.lanes {
		if c := l.cells[f]; c != nil {
			before[l.number] = c.r[m.source]
		}
	}
	wrong := m.name != "activemask" && mask&^active != 0
	for _, l := range group {
		c, v := l.cell(), uint32(0)
		switch m.name {
		case "activemask":
			v = active
		case "ballot":
			for _, o := range group {
				if o.cell().p[m.predicate] {
					v |= 1 << o.number
				}
			}
		case "redux":
			for _, o := range group {
				v += before[o.number]
			}
		case "match":
			for _, o := range group {
				if before[o.number] == before[l.number] {
					v |= 1 << o.number
				}
			}
		case "shfl":
			from := l.number ^ m.by
			if v = before[from]; active>>from&1 == 0 {
				v, wrong = 0, true
			}
		}
		if m.target >= 0 {
			c.r[m.target] = v
		}
	}
	if wrong && active != live {
		w.note(m.line, execute.CheckBadShuffle, active)
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
