package warptracetest

import (
	"math"
	"math/bits"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// dataItems is the length of the arrays that a launch reads; indices wrap around.
const dataItems = 1 << 13

// maxEvents ends a warp that would not end: programs with bugs may loop for long, not for ever.
const maxEvents = 1 << 22

// world is what the warps of a launch share.
type world struct {
	p       *Program
	l       Launch
	x, y    []uint64
	tickets []int64 // counters that all warps share
}

func newWorld(p *Program, l Launch) *world {
	w := &world{p: p, l: l, x: make([]uint64, dataItems), y: make([]uint64, dataItems), tickets: make([]int64, 64)}
	r := NewRandom(l.Data, 2)
	for i := range w.x {
		w.x[i] = uint64(r.Below(256))
		w.y[i] = uint64(math.Float32bits(float32(r.share())))
		if p.Config.Structured {
			w.x[i], w.y[i] = uint64(i*37&63*4), uint64(math.Float32bits(float32(i&15)/16))
		}
	}
	return w
}

// recording lists the warps that record.
func (w *world) recording() []int {
	numbers := make([]int, 0, w.l.Warps)
	for n := range w.l.Warps {
		if w.l.Share <= 0 || NewRandom(w.l.Data, 3, uint64(n)).share() < w.l.Share {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// schedule is the order in which warps run.
func (w *world) schedule(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if w.l.Run != 0 {
		NewRandom(w.l.Run, 4).shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	return order
}

func (w *world) argument(name string) int64 {
	threads := int64(w.l.Warps * w.l.Wave)
	switch name {
	case "n":
		if w.p.Config.Endless {
			return threads
		}
		return threads - 13 // some lanes of the last warp have nothing to do
	case "stride":
		return 96
	case "cols":
		return 27
	case "block_size":
		return int64(w.l.WarpsPerBlock * w.l.Wave)
	case "tiles":
		if w.p.Config.Endless {
			return math.MaxInt32
		}
		return 4
	}
	panic("warptracetest: no argument " + name)
}

// machine executes one warp after the other.
type machine struct {
	*world
	width   int
	full    uint64 // all lanes
	number  uint64 // of the warp
	block   uint64
	threads vec // threadIdx.x
	lanes   vec
	regs    []vec
	free    []vec // scratch, of one statement
	used    int
	left    uint64 // lanes that returned
	done    bool   // the budget is spent
	tile    []uint64
	counts  [32]int64 // counters of the warp's own
	out     *warptrace.Warp
	limit   int
	clock   *Random
	garbage *Random
	history int
	snaps   int
	writes  *written // nil: nobody asks
	seq     uint32   // snapshots so far
	histSeq uint32
}

func newMachine(w *world) *machine {
	m := &machine{world: w, width: w.l.Wave, regs: make([]vec, w.p.registers), free: make([]vec, 32)}
	m.full = math.MaxUint64 >> (64 - m.width)
	m.limit = maxEvents
	if w.l.Events > 0 {
		m.limit = w.l.Events
	}
	m.history, m.snaps = w.l.History, w.l.Snapshots
	for i := range m.lanes {
		m.lanes[i] = uint64(i)
	}
	m.tile = make([]uint64, 2*w.l.WarpsPerBlock*w.l.Wave)
	return m
}

// warp runs one warp and fills out.
func (m *machine) warp(number uint64, out *warptrace.Warp) {
	m.number, m.block = number, number/uint64(m.l.WarpsPerBlock)
	first := number % uint64(m.l.WarpsPerBlock) * uint64(m.width)
	for i := range m.width {
		m.threads[i] = first + uint64(i)
	}
	m.left, m.done, m.seq, m.histSeq = 0, false, 0, 0
	m.counts = [32]int64{}
	clear(m.tile)
	m.clock, m.garbage = NewRandom(m.l.Run, 5, number), NewRandom(m.l.Data, 6, number, m.l.Run)
	m.out = out
	out.WarpInfo = warptrace.WarpInfo{Warp: number}
	m.reserve(out)
	if m.l.Outputs {
		m.writes = &written{warp: number}
	}
	m.run(m.p.kernel.body, m.full)
	out.Events = uint32(out.Len())
	out.Stored = out.Events
	out.Dropped = out.Total - uint64(out.Events)
	m.tidyRings(out)
}

func (m *machine) reserve(w *warptrace.Warp) {
	n := 256
	if m.p.Config.Endless {
		n = m.limit
	}
	if cap(w.Site) < n {
		w.Site, w.Kind, w.Dir, w.Aux = make([]uint32, 0, n), make([]site.Kind, 0, n), make([]uint8, 0, n), make([]uint16, 0, n)
		w.Active, w.Taken, w.Value = make([]uint64, 0, n), make([]uint64, 0, n), make([]uint64, 0, n)
		w.Type = make([]warptrace.ValueType, 0, n)
	}
	w.Site, w.Kind, w.Dir, w.Aux = w.Site[:0], w.Kind[:0], w.Dir[:0], w.Aux[:0]
	w.Active, w.Taken, w.Value, w.Type = w.Active[:0], w.Taken[:0], w.Value[:0], w.Type[:0]
	w.History, w.Snapshots = nil, nil
}

func (m *machine) scratch() *vec {
	v := &m.free[m.used]
	m.used++
	return v
}

func (m *machine) fill(x uint64) *vec {
	v := m.scratch()
	for i := range v[:m.width] {
		v[i] = x
	}
	return v
}

func (m *machine) arg(name string) int64 { return m.argument(name) }

// run executes statements for the lanes of mask and returns those that reach the end.
func (m *machine) run(body []*stmt, mask uint64) uint64 {
	for _, s := range body {
		if mask == 0 || m.done {
			return mask
		}
		m.used = 0
		mask = m.step(s, mask)
	}
	return mask
}

func (m *machine) step(s *stmt, mask uint64) uint64 {
	switch s.kind {
	case stAssign:
		m.assignment(s, mask)
	case stLoad:
		m.set(s.dst, m.gather(s, mask, m.eval(s.index)), mask)
	case stIf:
		taken, lhs, rhs := m.test(s.cond)
		taken &= mask
		m.compared(s, mask, taken, lhs, rhs)
		rest := mask &^ taken
		return m.run(s.body, taken) | m.run(s.other, rest)
	case stFor:
		return m.loop(s, mask)
	case stSwitch:
		return m.choose(s, mask)
	case stSelect:
		holds, lhs, rhs := m.test(s.cond)
		m.compared(s, mask, holds&mask, lhs, rhs)
		v := m.gather(s, mask, m.eval(s.index))
		for i := range m.width {
			v[i] &= -(holds >> i & 1)
		}
		m.set(s.dst, v, mask)
	case stStore:
		m.store(s, mask)
	case stAtomic:
		m.atomic(s, mask)
	case stReduce:
		m.reduce(s, mask)
	case stClock:
		t := m.fill(uint64(m.clock.Below(1024)))
		m.set(s.dst, t, mask)
		m.event(s, mask, mask, 0, t, warptrace.TypeU32)
	case stBarrier:
		if m.l.Barriers {
			m.event(s, mask, mask, 0, nil, warptrace.TypeNone)
		}
	case stReturn:
		m.left |= mask
		return 0
	case stBreak:
		return 0
	case stCall:
		return m.inlined(s, mask)
	}
	return mask
}

func (m *machine) assignment(s *stmt, mask uint64) {
	if s.garbage {
		v := m.scratch()
		for i := range m.width {
			v[i] = uint64(m.garbage.Below(256))
		}
		m.set(s.dst, v, mask)
		return
	}
	m.set(s.dst, m.eval(s.src), mask)
}

// set writes a register in the lanes of mask.
func (m *machine) set(to *variable, v *vec, mask uint64) {
	r := &m.regs[to.reg]
	if mask == m.full {
		copy(r[:m.width], v[:m.width])
		return
	}
	for rest := mask; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		r[i] = v[i]
	}
}

func (m *machine) loop(s *stmt, mask uint64) uint64 {
	m.set(s.dst, m.fill(0), mask)
	counter := &m.regs[s.dst.reg]
	for live := mask; live != 0 && !m.done; {
		m.used = 0
		taken, lhs, rhs := m.test(s.cond)
		taken &= live
		m.compared(s, live, taken, lhs, rhs)
		live = m.run(s.body, taken)
		for rest := live; rest != 0; rest &= rest - 1 {
			counter[bits.TrailingZeros64(rest)]++
		}
	}
	return mask &^ m.left
}

// choose runs a switch: the cases in their order, each with its lanes.
func (m *machine) choose(s *stmt, mask uint64) uint64 {
	v := *m.eval(s.src)
	leader := bits.TrailingZeros64(mask)
	var lanes [8]uint64
	for rest := mask; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		lanes[min(int(v[i]), len(s.cases)-1)] |= 1 << i
	}
	of := min(int(v[leader]), len(s.cases)-1)
	m.event(s, mask, lanes[of], uint8(of), &v, warptrace.TypeI32)
	var reached uint64
	for i, c := range s.cases {
		reached |= m.run(c, lanes[i])
	}
	return reached
}

func (m *machine) inlined(s *stmt, mask uint64) uint64 {
	for i, a := range s.args {
		m.used = 0
		m.set(s.call.params[i], m.eval(a), mask)
	}
	mask = m.run(s.inner, mask)
	m.set(s.dst, &m.regs[s.call.result.reg], mask)
	return mask
}

// gather loads one element a lane.
func (m *machine) gather(s *stmt, mask uint64, index *vec) *vec {
	v := m.scratch()
	switch s.array.name {
	case "tile":
		for i := range m.width {
			v[i] = m.tile[index[i]%uint64(len(m.tile))]
		}
	case "y":
		for i := range m.width {
			v[i] = m.y[index[i]%dataItems]
		}
	default:
		for i := range m.width {
			v[i] = m.x[index[i]%dataItems]
		}
	}
	if s.kind == stLoad && m.l.Loads {
		m.event(s, mask, mask, 0, v, s.array.typ)
		m.snapshot(s, mask, warptrace.RoleLoad, s.array.typ, index, v)
	}
	if s.feeds && s.kind == stLoad {
		m.flow(s, v[bits.TrailingZeros64(mask)])
	}
	return v
}

func (m *machine) store(s *stmt, mask uint64) {
	index, v := m.eval(s.index), m.eval(s.src)
	if s.array.name == "tile" {
		for rest := mask; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros64(rest)
			m.tile[index[i]%uint64(len(m.tile))] = v[i]
		}
	}
	m.wrote(s, mask, index, v, s.array.typ)
	m.event(s, mask, mask, 0, v, s.src.typ)
	m.snapshot(s, mask, warptrace.RoleStore, s.src.typ, index, v)
}

// atomic adds in the order of lanes and yields the old values.
func (m *machine) atomic(s *stmt, mask uint64) {
	index, operand, old := m.eval(s.index), m.eval(s.src), m.scratch()
	for rest := mask; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		counter := &m.counts[index[i]%uint64(len(m.counts))]
		if !s.own {
			counter = &m.tickets[index[i]%uint64(len(m.tickets))]
		}
		old[i] = uint64(*counter)
		*counter += int64(operand[i])
	}
	if s.dst != nil {
		m.set(s.dst, old, mask)
	}
	m.wrote(s, mask, index, operand, warptrace.TypeI32)
	m.event(s, mask, mask, 0, old, warptrace.TypeI32)
	m.snapshot(s, mask, warptrace.RoleAtomic, warptrace.TypeI32, operand, old)
}

// reduce sums the active lanes, from the first to the last or in a tree.
func (m *machine) reduce(s *stmt, mask uint64) {
	v := m.eval(s.src)
	var terms [64]float32
	n := 0
	for rest := mask; rest != 0; rest &= rest - 1 {
		terms[n] = math.Float32frombits(uint32(v[bits.TrailingZeros64(rest)]))
		n++
	}
	sum := float32(0)
	if s.tree {
		for step := 1; step < n; step *= 2 {
			for i := 0; i+step < n; i += 2 * step {
				terms[i] += terms[i+step]
			}
		}
		sum = terms[0]
	} else {
		for _, t := range terms[:n] {
			sum += t
		}
	}
	out := m.fill(uint64(math.Float32bits(sum)))
	m.set(s.dst, out, mask)
	m.event(s, mask, mask, 0, out, warptrace.TypeF32)
	m.snapshot(s, mask, warptrace.RoleValue, warptrace.TypeF32, v, nil)
}
