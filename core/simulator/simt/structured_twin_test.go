package simt

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/simulator/simt/execute"
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
	yields bool // it looked in vain at what other lanes may change
	ended  int  // the branches that it was in when it came to where the innermost one ends, and others had not; 0 it is not there
	warp   *twinWarp
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
	flags   [32 * structuredSpins]uint32
	vain    bool       // those that yielded have had their turn since another lane did something
	divided *twinSplit // the branch that divided lanes just now
	over    bool
	group   []*twinLane // room
}

// before reports whether a lane is further behind in the source than another one.
func (l *twinLane) before(o *twinLane) int {
	for i := 0; ; i++ {
		a, b, inside := l.at, o.at, false
		if i < len(l.inside) {
			a, inside = l.inside[i], true
		}
		if i < len(o.inside) {
			b, inside = o.inside[i], true
		}
		switch {
		case a != b || !inside:
			return cmp.Compare(a, b)
		case i >= len(l.inside):
			return -1
		case i >= len(o.inside):
			return 1
		}
	}
}

// sameLine reports whether two lanes are at one place of the text, in whatever pass of the loops around it.
func (l *twinLane) sameLine(o *twinLane) bool {
	same := l.f == o.f && l.at == o.at && len(l.calls) == len(o.calls) && !l.done && !o.done
	for i := 0; same && i < len(l.calls); i++ {
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
		ready := w.behind(func(l *twinLane) bool { return !l.waits && !l.yields && !l.parked() })
		yields := w.behind(func(l *twinLane) bool { return l.yields })
		waiting := w.behind(func(l *twinLane) bool { return l.waits })
		parked := w.behind(func(l *twinLane) bool { return !l.waits && !l.yields && l.parked() })
		switch {
		case len(ready) > 0:
			w.step(ready, false)
		case w.exchangeAll():
		case len(yields) > 0 && (len(parked) == 0 || !w.vain):
			w.wake()
			w.vain = true
		case len(yields) > 0:
			w.release(parked)
		case len(waiting) > 0:
			w.step(waiting, true)
		case len(parked) > 0:
			w.release(parked)
		default:
			return
		}
	}
}

// release lets lanes go on from where a branch ends that others are still in.
func (w *twinWarp) release(group []*twinLane) {
	w.vain = false
	for _, l := range group {
		for l.parked() {
			l.splits[len(l.splits)-1].inside &^= 1 << l.number
			l.pop()
		}
		l.ended = 0
	}
}

// wake gives those another turn that looked in vain.
func (w *twinWarp) wake() {
	for _, l := range w.lanes {
		l.yields = false
	}
}

// behind are the lanes of a kind that are furthest behind, at one place.
func (w *twinWarp) behind(kind func(*twinLane) bool) (group []*twinLane) {
	for _, l := range w.lanes {
		switch {
		case l.done || !kind(l):
		case len(group) == 0 || l.before(group[0]) < 0:
			group = append(group[:0], l)
		case l.before(group[0]) == 0 && (!l.waits || l.namesAs(group[0])):
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
	for _, l := range w.lanes { // lanes that a branch sends to its end come there before the others
		if !l.done && l.parked() && l.splits[len(l.splits)-1].twinSplit == w.divided {
			w.wake()
		}
	}
	w.divided = nil
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
		waits := slices.ContainsFunc(w.lanes, func(l *twinLane) bool { return (l.waits || l.yields) && !l.done })
		if waits {
			w.forgetPasses()
		}
		var grouped uint32
		for i, l := range w.lanes {
			if grouped>>l.number&1 != 0 || l.done {
				continue
			}
			group := w.group[:0]
			for _, o := range w.lanes[i:] {
				if l.sameLine(o) && l.waits == o.waits && (!l.waits || l.namesAs(o)) && (waits || o.before(l) == 0) {
					group = append(group, o)
					grouped |= 1 << o.number
				}
			}
			w.group = group
			changed = meetTwins(group) || changed
			if slices.ContainsFunc(group, func(l *twinLane) bool { return !l.yields }) {
				for _, l := range group {
					l.yields = false
				}
			}
		}
	}
	for _, l := range w.lanes {
		switch n := len(l.splits); {
		case l.done || !l.parked():
			l.ended = 0
		case l.ended != n:
			l.ended = n
			w.wake()
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
		if !slices.Equal(l.inside, last.inside) {
			l.inside = slices.Clone(last.inside)
		}
		l.again = last.again
	}
	same := func(whole bool) bool { // all are in the branch that the last one is in, and on its way
		return common < len(last.splits) && !slices.ContainsFunc(group, func(l *twinLane) bool {
			return common >= len(l.splits) || l.splits[common].twinSplit != last.splits[common].twinSplit ||
				whole && l.splits[common].side != last.splits[common].side
		})
	}
	for same(true) {
		common++
	}
	var loose *twinSplit
	if same(false) {
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
	w.divided = s
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
