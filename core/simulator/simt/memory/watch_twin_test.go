package memory_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// ledger looks for races in global memory as slowly and as plainly as can be: each byte has a list of who accessed it, and each warp a table
// of the clocks of all others, which is copied whenever somebody tells them.
type ledger struct {
	bytes     []entry
	published map[uint64]*release
}

type entry struct {
	writer  *visit
	loaded  int32
	silent  bool
	readers [10]*visit
}

type visit struct {
	block        uint32
	warp         int
	clock        uint32
	inst         int32
	strong, near bool
}

type table map[[2]int]uint32

func (t table) with(others ...table) table {
	all := table{}
	for _, o := range append(others, t) {
		for key, at := range o {
			all[key] = max(all[key], at)
		}
	}
	return all
}

func (t table) of(near bool, block uint32) table {
	all := table{}
	for key, at := range t {
		if !near || key[0] == int(block) {
			all[key] = at
		}
	}
	return all
}

type release struct {
	wide table
	near map[uint32]table
}

// witness is what the warps of one block know.
type witness struct {
	*ledger
	block uint32
	warps [4]struct {
		now            uint32
		knows          table
		released, seen [2]table
	}
	sent map[int]table
}

func (l *ledger) witness(block uint32) *witness {
	w := &witness{ledger: l, block: block, sent: map[int]table{}}
	for i := range w.warps {
		w.warps[i].now = 1
	}
	return w
}

func (w *witness) told(warp int) table {
	return w.warps[warp].knows.with(table{{int(w.block), warp}: w.warps[warp].now})
}

func (w *witness) meet(barrier int, warps uint32) {
	all := w.sent[barrier]
	delete(w.sent, barrier)
	var released, seen [2]table
	for i := range w.warps {
		if warps>>i&1 != 0 {
			all = all.with(w.told(i))
			for s := range 2 {
				if w.warps[i].released[s] != nil {
					released[s] = released[s].with(w.warps[i].released[s])
				}
				seen[s] = seen[s].with(w.warps[i].seen[s])
			}
		}
	}
	for i := range w.warps {
		if x := &w.warps[i]; warps>>i&1 != 0 {
			x.knows, x.released, x.seen = all, released, seen
			x.now++
		}
	}
}

func (w *witness) arrive(barrier, warp int) {
	w.sent[barrier] = w.sent[barrier].with(w.told(warp))
	w.warps[warp].now++
}

func (w *witness) fence(warp int, near bool) {
	x := &w.warps[warp]
	x.knows = x.knows.with(x.seen[0], x.seen[1].of(near, w.block))
	x.seen = [2]table{}
	x.released[0] = w.told(warp)
	if !near {
		x.released[1] = x.released[0]
	}
	x.now++
}

func scope(near bool) int {
	if near {
		return 0
	}
	return 1
}

func (w *witness) acquires(warp int, address uint64, t *memory.Transfer) {
	p := w.published[address]
	if p == nil || t.Order == memory.Weak || t.Order == memory.Release {
		return
	}
	x := &w.warps[warp]
	if all := p.wide.of(t.Block, w.block).with(p.near[w.block]); t.Order == memory.Relaxed {
		x.seen[scope(t.Block)] = x.seen[scope(t.Block)].with(all)
	} else {
		x.knows = x.knows.with(all)
	}
}

func (w *witness) releases(warp int, address uint64, t *memory.Transfer) {
	x := &w.warps[warp]
	var all table
	to := scope(t.Block)
	switch t.Order {
	case memory.Release, memory.AcqRel:
		all = w.told(warp)
		x.now++
	case memory.Relaxed:
		if all = x.released[to]; all == nil && to == 1 {
			all, to = x.released[0], 0
		}
	}
	if all == nil {
		return
	}
	p := w.published[address]
	if p == nil {
		p = &release{near: map[uint32]table{}}
		w.published[address] = p
	}
	if to == 1 {
		p.wide = p.wide.with(all)
	} else {
		p.near[w.block] = p.near[w.block].with(all)
	}
}

func (w *witness) before(a *visit, warp int) bool {
	return a.block == w.block && a.warp == warp || w.warps[warp].knows[[2]int{int(a.block), a.warp}] >= a.clock
}

func (w *witness) rival(a, b *visit) bool {
	return !w.before(a, b.warp) && !(a.strong && b.strong && (a.block == b.block || !a.near && !b.near))
}

// visits is one byte of an access.
func (w *witness) visits(e *entry, who *visit, reads, writes, same bool) (rival *visit) {
	copies := !writes && e.writer != nil && e.loaded == who.inst+1 && e.writer.block == who.block
	if e.writer != nil && !same && !copies && !(e.silent && !writes) && w.rival(e.writer, who) {
		rival = e.writer
	}
	if !writes {
		for i, a := range e.readers {
			if a == nil || w.before(a, who.warp) && (a.strong || !who.strong) {
				e.readers[i] = who
				break
			}
		}
		return rival
	}
	loaded := int32(0)
	for _, a := range e.readers {
		if a != nil && a.block == who.block && a.warp == who.warp {
			loaded = a.inst + 1
		}
	}
	for _, a := range e.readers {
		if a != nil && !same && rival == nil && !(a.block == who.block && a.inst+1 == loaded) && w.rival(a, who) && !w.repeats(e, a, who) {
			rival = a
		}
	}
	if same && e.writer != nil {
		return rival
	}
	e.writer, e.loaded, e.silent = who, loaded, same
	if !same {
		e.readers = [10]*visit{}
	}
	return rival
}

// repeats reports whether another warp of a reader's block did the same before.
func (w *witness) repeats(e *entry, reader, who *visit) bool {
	if reader.block != who.block && e.writer != nil && e.loaded == reader.inst+1 && e.writer.block == reader.block && w.before(e.writer, who.warp) {
		return true
	}
	for _, a := range e.readers {
		if a != nil && reader.block != who.block && a.block == reader.block && a.inst == reader.inst && w.before(a, who.warp) {
			return true
		}
	}
	return false
}

// access is one of all lanes of mask; it says which lanes race, and with whom the first of them.
func (w *witness) access(t *memory.Transfer, warp int, mask uint32, at *[lane.Lanes]int, data []byte, value *[lane.Lanes]uint32, reads, writes bool) (lanes uint32, other *visit) {
	n := t.Elem
	who := &visit{w.block, warp, w.warps[warp].now, t.Inst, t.Order != memory.Weak, t.Block}
	for l := range lane.Lanes {
		if mask>>l&1 == 0 {
			continue
		}
		if reads {
			w.acquires(warp, uint64(at[l]), t)
		}
		var rival *visit
		if writes && !reads && !who.strong {
			for j := range l {
				if mask>>j&1 != 0 && at[j] == at[l] && string(valueBytes(value[j], n)) != string(valueBytes(value[l], n)) {
					rival = who
				}
			}
		}
		for i := range n {
			piece := i / min(n, 4) * min(n, 4)
			same := writes && !reads && !who.strong && string(data[at[l]+piece:][:min(n, 4)]) == string(valueBytes(value[l], n)[piece:][:min(n, 4)])
			if r := w.visits(&w.bytes[at[l]+i], who, reads, writes, same); rival == nil {
				rival = r
			}
		}
		if rival != nil {
			if lanes |= 1 << l; other == nil {
				other = rival
			}
		}
		if writes {
			w.releases(warp, uint64(at[l]), t)
		}
	}
	return lanes, other
}

func valueBytes(v uint32, n int) []byte {
	return []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24), byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}[:n]
}

// TestRacesAreThoseOfTheTwin runs random accesses of several blocks in turn. PRLX_RACE_PROGRAMS says how many programs.
func TestRacesAreThoseOfTheTwin(t *testing.T) {
	programs := 400
	if n, err := strconv.Atoi(os.Getenv("PRLX_RACE_PROGRAMS")); err == nil {
		programs = n
	}
	t.Cleanup(func() { memory.KeepLittle(1 << 14) })
	raced, clean := 0, 0
	for seed := range uint64(programs) {
		memory.KeepLittle([]int{4, 1 << 14}[seed%2])
		r, c := raceProgram(t, seed)
		raced, clean = raced+r, clean+c
	}
	if raced < programs || clean < programs {
		t.Errorf("%d accesses race and %d do not: the programs say little", raced, clean)
	}
}

func raceProgram(t *testing.T, seed uint64) (raced, clean int) {
	random := rand.New(rand.NewPCG(seed, 43))
	data := make([]byte, 10000)
	g, err := memory.NewGlobal([]memory.Allocation{{Name: "x", Host: hostX, Bytes: data}})
	if err != nil {
		t.Fatal(err)
	}
	g.Arguments([]int{0})
	g.Watch()
	base := g.Pointer(0, hostX)
	twin := &ledger{bytes: make([]entry, len(data)), published: map[uint64]*release{}}
	var blocks [3]*memory.Block
	var witnesses [3]*witness
	next := uint32(0)
	begin := func(i int) {
		blocks[i].Reset()
		blocks[i].Number(next)
		witnesses[i] = twin.witness(next)
		next++
	}
	for i := range blocks {
		if blocks[i], err = memory.NewBlock(g, memory.Shape{Warps: 4}); err != nil {
			t.Fatal(err)
		}
		begin(i)
	}
	log := ""
	starts := []int{0, 128, 4000, 4080, 4096, 8100}
	for step := range 150 {
		i, warp := random.IntN(len(blocks)), random.IntN(4)
		b, w := blocks[i], witnesses[i]
		switch random.IntN(24) {
		case 0:
			set := uint32(random.IntN(16)) | uint32(random.IntN(2)*15)
			log += fmt.Sprintf("block %d meets %04b\n", w.block, set)
			b.Meet(1, set)
			w.meet(1, set)
			continue
		case 1:
			log += fmt.Sprintf("block %d warp %d arrives\n", w.block, warp)
			b.Arrive(1, warp)
			w.arrive(1, warp)
			continue
		case 2, 3:
			near := random.IntN(3) == 0
			log += fmt.Sprintf("block %d warp %d fence, near %v\n", w.block, warp, near)
			b.Fence(warp, near)
			w.fence(warp, near)
			continue
		case 4:
			begin(i)
			continue
		}
		n := []int{1, 2, 4, 4, 4, 8}[random.IntN(6)]
		tr := vector(ptx.Global, n, 1)
		tr.Inst = int32(random.IntN(6))
		reads, writes := true, random.IntN(3) == 0
		if !writes && random.IntN(2) == 0 {
			reads, writes = false, true
		}
		atomic := reads && writes
		if atomic {
			n = 4
			tr = vector(ptx.Global, n, 1)
			tr.Order = []memory.Order{memory.Relaxed, memory.Acquire, memory.Release, memory.AcqRel}[random.IntN(4)]
		} else if random.IntN(6) == 0 {
			if tr.Order = memory.Relaxed; random.IntN(2) == 0 {
				tr.Order = map[bool]memory.Order{true: memory.Acquire, false: memory.Release}[reads]
			}
		}
		tr.Block = tr.Order != memory.Weak && random.IntN(3) == 0
		var at [lane.Lanes]int
		var value [lane.Lanes]uint32
		start, stride := starts[random.IntN(len(starts))]+random.IntN(3)*8, []int{n, n, 2 * n, 0, 64}[random.IntN(5)]
		few := random.IntN(3)
		regs := registers()
		for l := range lane.Lanes {
			at[l] = start/n*n + l*stride
			if few == 0 {
				at[l] = start/n*n + random.IntN(40)*n
			}
			at[l] = min(at[l], len(data)-8) / n * n
			if value[l] = uint32(random.IntN(2)); few == 1 {
				value[l] = uint32(step)
			}
			regs.R64[0][l] = base + uint64(at[l])
			regs.R32[1][l] = value[l]
			regs.R64[1][l] = uint64(value[l]) | uint64(value[l])<<32
		}
		mask := []uint32{^uint32(0), 1, 0xffff, 0x7ffffffe, random.Uint32() | 1}[random.IntN(5)]
		log += fmt.Sprintf("block %d warp %d inst %d: %d bytes, order %d near %v, read %v write %v, mask %08x at %v of %v\n", w.block, warp, tr.Inst, n, tr.Order, tr.Block, reads, writes, mask, at, value)
		lanes, other := w.access(tr, warp, mask, &at, data, &value, reads, writes)
		var f *memory.Fault
		switch {
		case atomic:
			f = b.Atomic(regs, tr, &memory.AtomicOp{Kind: memory.Exch, Type: ptx.B32}, warp, mask)
		case writes:
			f = b.Store(regs, tr, warp, mask)
		default:
			f = b.Load(regs, tr, warp, mask)
		}
		var got uint32
		if f != nil {
			got = f.Lanes
		}
		if got != lanes {
			t.Fatalf("seed %d: lanes %08x race, of the twin %08x\n%s", seed, got, lanes, log)
		}
		if f == nil {
			clean++
			continue
		}
		raced++
		if f.Other.Warp != int32(other.warp) || f.Other.Inst != other.inst || f.Other.Block != int64(other.block) {
			t.Fatalf("seed %d: a race with %+v, of the twin with %+v\n%s", seed, f.Other, other, log)
		}
	}
	return raced, clean
}
