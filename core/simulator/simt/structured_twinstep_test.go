package simt

import (
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/simulator/simt/execute"
)

func (w *twinWarp) step(group []*twinLane, forced bool) {
	f, from, calls := group[0].f, group[0].at, len(group[0].calls)
	o := &f.ops[from]
	active, taken := lanesOf32(group), uint32(0)
	for _, l := range group {
		if o.when != nil && o.when(l, l.cell()) || o.when == nil && (o.guard < 0 || l.cell().p[o.guard] != o.not) {
			taken |= 1 << l.number
		}
	}
	if o.kind == opMeet && !forced && w.await(o.meet, group) {
		return
	}
	w.vain = w.vain && o.kind == opSpin
	if o.line != 0 {
		w.passed[o.line] = append(w.passed[o.line], passed{active, taken})
	}
	if o.kind == opTrap && taken != 0 {
		w.note(o.line, "trap", taken)
		w.over = true
		return
	}
	if o.kind == opMeet {
		w.meet(o.meet, group, group)
	}
	for _, l := range group {
		l.waits, l.again = false, false
		if taken>>l.number&1 == 0 {
			l.at++
			continue
		}
		w.act(o, l)
	}
	if o.kind == opGo || o.kind == opSwitch || o.kind == opSpin {
		w.divide(f, from, calls, group)
		if o.kind == opGo && o.to == from+1 && taken != 0 && taken != active { // both ways end at once, one before the other
			w.wake()
		}
	}
}

// await reports whether lanes that look at each other do not go on now: some that they name may still come. Each waits for those that
// it names itself.
func (w *twinWarp) await(m *meeting, group []*twinLane) bool {
	may := w.live() &^ w.leaving()
	if !m.isMasked() {
		return m.name != "activemask" && w.awaitWarp(group)
	}
	mixed := slices.ContainsFunc(group, func(l *twinLane) bool { return !l.namesAs(group[0]) })
	if mask := w.named(m, group); mask&may&^lanesOf32(group) == 0 {
		for _, l := range group {
			if !mixed && (may|lanesOf32(group))&^mask == 0 {
				l.loose = nil
			}
		}
		return false
	}
	if !mixed && w.joinWaiting(group) {
		return true
	}
	w.stay(group)
	for i, l := range group {
		if !slices.ContainsFunc(group[:i], l.namesAs) {
			w.exchange(l)
		}
	}
	return true
}

// stay lets lanes wait where they are.
func (w *twinWarp) stay(group []*twinLane) {
	for _, l := range group {
		l.waits = true
	}
	w.vain = false
	w.wake()
}

// awaitWarp does so at an instruction of the whole warp: lanes that looked in vain may still come.
func (w *twinWarp) awaitWarp(group []*twinLane) bool {
	if w.joinWaiting(group) {
		return true
	}
	if w.live()&^lanesOf32(group) == 0 || !slices.ContainsFunc(w.lanes, func(l *twinLane) bool { return l.yields && !l.done }) {
		return false
	}
	w.stay(group)
	return true
}

// lowest and highest are the numbers of lanes in a mask; -1 there is none.
func lowest(mask uint32) int {
	if mask == 0 {
		return -1
	}
	return bits.TrailingZeros32(mask)
}

func highest(mask uint32) int { return bits.Len32(mask) - 1 }

// namesAs reports whether two lanes at one place name the same lanes.
func (l *twinLane) namesAs(o *twinLane) bool {
	at := l.f.ops[l.at]
	return at.kind != opMeet || !at.meet.kept || l.cell().mask == o.cell().mask
}

// joinWaiting adds a group to lanes that wait where it is for the same ones.
func (w *twinWarp) joinWaiting(group []*twinLane) (joined bool) {
	for _, l := range w.lanes {
		if l.waits && !l.done && l.sameLine(group[0]) && l.namesAs(group[0]) {
			l.waits, joined = false, true
		}
	}
	return joined
}

// isMasked reports whether lanes wait at an instruction for those that it names.
func (m *meeting) isMasked() bool {
	return m.name != "activemask" && m.name != "bar" && m.name != "mma"
}

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

// exchange lets all lanes go on that wait at instructions of one kind for the same lanes as one of them, when all have come.
func (w *twinWarp) exchange(first *twinLane) bool {
	m := first.f.ops[first.at].meet
	if !m.isMasked() {
		return false
	}
	mask := w.named(m, []*twinLane{first})
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
		return false
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
	return true
}

// exchangeAll lets all lanes go on that wait for lanes which have ended by now, and reports whether there were any.
func (w *twinWarp) exchangeAll() (any bool) {
	for _, l := range w.lanes {
		if l.waits && !l.done && w.exchange(l) {
			any = true
		}
	}
	return any
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
	case opSpin:
		if l.yields = !o.try(l); l.yields {
			l.at--
		} else {
			w.vain = false
		}
	case opGo:
		l.inside, l.at = l.inside[:len(l.inside)-2*o.loop], o.to
	case opEnter:
		l.inside = append(l.inside, l.at-1, 0)
	case opAgain:
		l.inside[len(l.inside)-1]++
		l.at, l.again = o.to, true
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
	if m.name == "mma" {
		if group[0].loose != nil || active != live || live != w.born {
			w.note(m.line, "convergence", active)
		}
		return
	}
	if m.name == "bar" {
		if active != live {
			w.note(m.line, "barrier-divergence", active)
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
	may := live &^ w.leaving()
	wrong := m.name != "activemask" && mask&^there&may != 0
	for _, l := range group {
		c, v, peers := l.cell(), uint32(0), all
		if m.kept {
			peers = slices.DeleteFunc(slices.Clone(all), func(o *twinLane) bool { return o.cell().mask != c.mask })
		}
		switch m.name {
		case "activemask":
			v = active
			if m.target < 0 {
				c.mask = active
			}
		case "ballot":
			for _, o := range peers {
				if yes[o.number] {
					v |= 1 << o.number
				}
			}
		case "redux":
			for _, o := range peers {
				v += before[o.number]
			}
		case "match":
			for _, o := range peers {
				if before[o.number] == before[l.number] {
					v |= 1 << o.number
				}
			}
		case "shfl":
			from := l.number ^ m.by
			wrong = wrong || (there>>from&1 == 0 || m.kept && c.mask>>from&1 == 0) && there != may
			if v = before[from]; c.mask>>from&1 == 0 { // as the text has it
				v = 0
			}
		}
		if m.target >= 0 {
			c.r[m.target] = v
		}
	}
	if wrong {
		w.note(m.line, "bad-shuffle", there)
	}
}
