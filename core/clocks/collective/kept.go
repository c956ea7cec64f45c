package collective

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/hlo"
)

// What is kept of a trace that holds more executions than there is room for. All nodes keep the same launches: those that a lot draws by their
// number, over the whole time, and those that a caller wants, because somebody saw that they were short. The number of an execution that has
// none is its turn: how many of its operation its device executed before.

// Seat is an operation on one device.
type Seat struct {
	Op int32
	Slot
}

// Turn counts executions without a number.
type Turn struct {
	Count   int64
	LastNS  int64 // when the latest began
	Jumbled bool  // one began before the one that was recorded before it: whose turn it was is not known
}

// launch is a launch of an operation, by whatever it is matched.
type launch struct {
	Op  uint64 // of the key, and of whether launches have numbers
	Run int64
}

// launch returns the launch of an execution.
func (p *Part) launch(s *event.Span) launch {
	for i := len(p.hashes); i <= int(s.Op); i++ {
		h := fnv.New64a()
		if o := &p.Ops[i]; o.Phase == hlo.Done {
			h.Write([]byte(o.Start))
		} else {
			h.Write([]byte(o.Key))
		}
		p.hashes = append(p.hashes, h.Sum64()&^1)
	}
	l := launch{p.hashes[s.Op], s.Run}
	if s.HasRun {
		l.Op |= 1
	}
	return l
}

// add keeps an execution. When the part is full, half of the launches are left out over the whole time. Where launches are not what fills it,
// the latest executions are left out, so that every device keeps all that it executed before one instant.
func (p *Part) add(s event.Span) {
	if !s.HasRun {
		s.Run = p.turn(&s)
	}
	for len(p.Spans)+len(p.paired) >= p.limit && p.takes(&s) {
		p.shrink()
	}
	if p.short != nil {
		p.short.take(p, &s)
	}
	switch {
	case p.takes(&s):
	case !p.draws(&s):
		p.leave(&s)
		return
	default:
		p.Dropped++
		return
	}
	p.keep(s)
}

// leave puts an execution with the rest.
func (p *Part) leave(s *event.Span) {
	p.Thinned++
	if p.rest != nil {
		p.rest.put(p.id, s)
	}
}

// turn counts an execution without a number, and returns how many came before it.
func (p *Part) turn(s *event.Span) int64 {
	at := Seat{s.Op, Slot{s.Node, s.Device}}
	t, seen := p.Turns[at]
	t.Jumbled = t.Jumbled || seen && s.StartNS < t.LastNS
	t.LastNS = s.StartNS
	t.Count++
	p.Turns[at] = t
	return t.Count - 1
}

// takes reports whether an execution is none of those that are left out.
func (p *Part) takes(s *event.Span) bool {
	return p.draws(s) && (!p.cut || s.StartNS < p.horizonNS)
}

// draws reports whether the launch of an execution is kept.
func (p *Part) draws(s *event.Span) bool {
	return drawn(s.Run, p.Halvings) || p.wanted != nil && p.wanted[p.launch(s)]
}

// drawn reports whether a launch is kept after launches were halved so many times. A launch that is kept was kept after each time before.
func drawn(run int64, halvings uint8) bool {
	return scatter(run)&(1<<halvings-1) == 0
}

// scatter makes bits of a number that all depend on all of its own.
func scatter(run int64) uint64 {
	v := uint64(run) * 0x9e3779b97f4a7c15
	v = (v ^ v>>32) * 0xd6e8feb86659fd93
	return v ^ v>>32
}

// mostHalvings leaves one launch of four billion: then it is not launches that fill the part.
const mostHalvings = 32

// thin leaves out half of the launches.
func (p *Part) thin(halvings uint8) {
	if p.short == nil {
		p.short = newShortest(max(p.limit/8, 16))
		for _, list := range [][]event.Span{p.Spans, p.paired} {
			for i := range list {
				p.short.take(p, &list[i])
			}
		}
	}
	p.Halvings = max(p.Halvings, halvings)
	out := func(s event.Span) bool {
		if p.draws(&s) {
			return false
		}
		p.leave(&s)
		return true
	}
	p.Spans, p.paired = slices.DeleteFunc(p.Spans, out), slices.DeleteFunc(p.paired, out)
}

// shrink makes room: by launches, else by the latest quarter, at least one.
func (p *Part) shrink() {
	before := len(p.Spans) + len(p.paired)
	for p.Halvings < mostHalvings {
		if p.thin(p.Halvings + 1); len(p.Spans)+len(p.paired) < before {
			return
		}
	}
	p.shorten()
}

// shorten leaves out the latest quarter of the executions, at least one.
func (p *Part) shorten() {
	starts := make([]int64, 0, len(p.Spans)+len(p.paired))
	for _, list := range [][]event.Span{p.Spans, p.paired} {
		for i := range list {
			starts = append(starts, list[i].StartNS)
		}
	}
	slices.Sort(starts)
	p.cut, p.horizonNS = true, starts[len(starts)*3/4]
	before := len(starts)
	late := func(s event.Span) bool { return s.StartNS >= p.horizonNS }
	p.Spans, p.paired = slices.DeleteFunc(p.Spans, late), slices.DeleteFunc(p.paired, late)
	p.Dropped += int64(before - len(p.Spans) - len(p.paired))
}

// short is a launch that took little on a device: who entered last waited for nobody, and left when all others did. It says most of the clocks.
type short struct {
	launch
	AtNS   int64
	TookNS int64
}

// shortest keeps the shortest launches of each operation in each of some stretches of time, which are made longer when they become too many.
type shortest struct {
	most  int
	shift uint // a stretch is 2^shift ns
	cells map[cell][shortOnes]short
	begun map[begun]event.Span // the latest start of operations that are a start and a done
}

type begun struct {
	op uint64
	Slot
}

type cell struct {
	op uint64
	at int64
}

const (
	// shortOnes is how many launches of an operation are kept of each stretch of time.
	shortOnes = 2
	// firstShift makes the first stretches half a second.
	firstShift = 29
)

func newShortest(most int) *shortest {
	return &shortest{most: most, shift: firstShift, cells: map[cell][shortOnes]short{}, begun: map[begun]event.Span{}}
}

func (x *shortest) take(p *Part, s *event.Span) {
	l, startNS := p.launch(s), s.StartNS
	at := begun{l.Op, Slot{s.Node, s.Device}}
	switch p.Ops[s.Op].Phase {
	case hlo.Start:
		x.begun[at] = *s
		return
	case hlo.Done:
		start, ok := x.begun[at]
		if !ok || start.Run != s.Run {
			return
		}
		startNS = start.StartNS
	}
	x.put(short{l, startNS, s.EndNS - startNS})
	for len(x.cells)*shortOnes > x.most && x.shift < 62 {
		x.widen()
	}
}

func (x *shortest) put(s short) {
	at := cell{s.Op, s.AtNS >> x.shift}
	list, seen := x.cells[at]
	if !seen {
		for i := range list {
			list[i].TookNS = math.MaxInt64
		}
	}
	for i := range list {
		if list[i].TookNS < math.MaxInt64 && list[i].launch == s.launch { // another device of the node
			list[i].TookNS = min(list[i].TookNS, s.TookNS)
			x.cells[at] = list
			return
		}
	}
	for i := range list {
		if s.TookNS < list[i].TookNS {
			s, list[i] = list[i], s
		}
	}
	x.cells[at] = list
}

// widen makes the stretches twice as long.
func (x *shortest) widen() {
	old := x.list()
	x.shift++
	x.cells = map[cell][shortOnes]short{}
	for _, s := range old {
		x.put(s)
	}
}

// list returns the launches by operation, time and number.
func (x *shortest) list() []short {
	var out []short
	for _, list := range x.cells {
		for _, s := range list {
			if s.TookNS < math.MaxInt64 {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b short) int {
		return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.AtNS, b.AtNS), cmp.Compare(a.Run, b.Run))
	})
	return out
}

// Wanted returns the launches that say most of the clocks of all parts over their whole time, at most about so many: those that are short
// somewhere. It is empty where every launch was kept.
func Wanted(parts []*Part, most int) map[launch]bool {
	out := map[launch]bool{}
	full := 0
	for _, p := range parts {
		if len(p.Shortest) > 0 {
			full++
		}
	}
	for _, p := range parts {
		if len(p.Shortest) == 0 {
			continue
		}
		x := newShortest(max(most/full, shortOnes))
		for _, s := range p.Shortest {
			x.put(s)
		}
		for len(x.cells)*shortOnes > x.most && x.shift < 62 {
			x.widen()
		}
		for _, s := range x.list() {
			out[s.launch] = true
		}
	}
	return out
}
