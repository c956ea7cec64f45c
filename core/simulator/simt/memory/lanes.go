package memory

import (
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// Lanes looks for races between lanes of one warp in the shared memory of a block: two instructions of which one writes what another
// lane reads or writes, with nothing between them at which the two lanes wait for each other. A warp executes such instructions one
// after the other where its lanes are together; a GPU since Volta does not promise that they are.
//
// No races are accesses of one instruction, writes of the value that is there, and accesses that are not weak among themselves.
// What orders lanes besides meeting each other - locks, flags, mbarriers - is followed roughly: from then on a lane knows all that
// lanes of its warp had said by then. That hides races and makes none up.
type Lanes struct {
	pages  []*[lanePage]laneCell
	warps  []laneWarp
	serial uint64
	fenced bool
}

const lanePage = 256

// laneWarp is what lanes of a warp know of each other. Time counts in ticks: one more whenever some of them tell the others.
type laneWarp struct {
	tick, all uint32                 // what happened up to tick all is known to all lanes
	knows     [lane.Lanes]*laneTicks // beyond that
	told      laneTicks              // what lanes left for those that come later
	late      uint32                 // lanes at a barrier: they learn what was told when they go on
}

type laneTicks [lane.Lanes]uint32

// laneCell is who accessed a byte: of the last warp, the lanes that wrote it last and those that have read it since.
type laneCell struct {
	writers, readers    uint32
	wrote, read         uint32 // ticks
	writeSerial         uint64
	writeInst, readInst int32
	warp                uint8
	strong, loose       bool // the writers
}

// NewLanes makes what a block needs that has so many warps and bytes of shared memory.
func NewLanes(warps int, shared uint64) *Lanes {
	s := &Lanes{pages: make([]*[lanePage]laneCell, (shared+lanePage-1)/lanePage), warps: make([]laneWarp, warps)}
	for i := range s.warps {
		s.warps[i].tick = 1
	}
	return s
}

// Meet says that lanes of a warp have waited for each other; live are those that have not ended.
func (s *Lanes) Meet(warp int, lanes, live uint32) {
	w := &s.warps[warp]
	w.wake(lanes)
	if live&^lanes == 0 {
		w.all = w.tick
		w.tick++
		return
	}
	var known laneTicks
	for m := lanes; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		known.raise(w.knows[l])
		known[l] = w.tick
	}
	for m := lanes; m != 0; m &= m - 1 {
		w.learn(bits.TrailingZeros32(m), &known)
	}
	w.tick++
}

// Tell says that lanes let others know what they did, and learn what others have told. Lanes that wait learn when they go on.
func (s *Lanes) Tell(warp int, lanes uint32, wait bool) {
	w := &s.warps[warp]
	w.wake(lanes)
	for m := lanes; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		w.told.raise(w.knows[l])
		w.told[l] = w.tick
	}
	w.tick++
	if w.late |= lanes; !wait {
		w.wake(lanes)
	}
}

// Fence says that relaxed accesses may order lanes from now on.
func (s *Lanes) Fence() { s.fenced = true }

// Orders reports whether an access of an order may tell lanes of others.
func (s *Lanes) Orders(o Order) bool { return o >= Acquire || o == Relaxed && s.fenced }

func (t *laneTicks) raise(by *laneTicks) {
	if by == nil {
		return
	}
	for i, v := range by {
		t[i] = max(t[i], v)
	}
}

func (w *laneWarp) learn(l int, what *laneTicks) {
	if w.knows[l] == nil {
		w.knows[l] = new(laneTicks)
	}
	w.knows[l].raise(what)
}

// wake lets lanes that were late learn what was told.
func (w *laneWarp) wake(lanes uint32) {
	for m := lanes & w.late; m != 0; m &= m - 1 {
		w.learn(bits.TrailingZeros32(m), &w.told)
	}
	w.late &^= lanes
}

// unknown are those of some lanes whose accesses at a tick lane l does not know of.
func (w *laneWarp) unknown(lanes uint32, tick uint32, l int) uint32 {
	lanes &^= 1 << l
	if tick <= w.all {
		return 0
	}
	if known := w.knows[l]; known != nil {
		for m := lanes; m != 0; m &= m - 1 {
			if o := bits.TrailingZeros32(m); known[o] >= tick {
				lanes &^= 1 << o
			}
		}
	}
	return lanes
}

// laneAccess is the access that is looked at.
type laneAccess struct {
	warp, l int
	inst    int32
	strong  bool // not weak
	loose   bool // of these: relaxed or volatile, and no atomic
	use     use

	together uint32 // lanes that execute the instruction
}

// LookAtLanes looks at an access of lanes to shared memory before it is done; what is out of bounds is left to others. atomic says that it
// loads and stores, store that it stores.
func (b *Block) LookAtLanes(s *Lanes, r *lane.Regs, t *Transfer, warp int, mask uint32, store, atomic bool) *Fault {
	u := loads
	switch {
	case atomic:
		u = loads | stores
	case store:
		u = stores
	}
	s.serial++
	w := &s.warps[warp]
	w.wake(mask)
	var room [lane.Lanes]uint64
	from := addresses(r, t, &room)
	n := uint64(t.Elem * t.Count)
	var found faults
	var value [64]byte
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		at := from[l] + uint64(t.Offset)
		if at-SharedWindow < windowSize {
			at -= SharedWindow
		}
		if at >= uint64(len(b.shared)) || n > uint64(len(b.shared))-at || at&(n-1) != 0 {
			continue
		}
		old := b.shared[at:][:n]
		if u == stores {
			copy(value[:n], old)
			t.put(r, l, value[:n])
		}
		a := laneAccess{warp: warp, l: l, inst: t.Inst, strong: atomic || t.Order != Weak, loose: !atomic && t.Order == Relaxed, use: u, together: mask}
		for i := range old {
			other, raced := s.touch(w, s.cell(at+uint64(i)), &a, u == stores && value[i] == old[i])
			if !raced {
				continue
			}
			if f := found.add(WarpRace, l, at, n, u); f != nil {
				f.nearShared(uint64(len(b.shared)))
				f.Other = other
			}
			break
		}
	}
	return found.first
}

func (s *Lanes) cell(at uint64) *laneCell {
	page := &s.pages[at/lanePage]
	if *page == nil {
		*page = new([lanePage]laneCell)
	}
	return &(*page)[at%lanePage]
}

// touch checks and notes one access of one byte, which wrote what was there if same says so.
func (s *Lanes) touch(w *laneWarp, c *laneCell, a *laneAccess, same bool) (other Party, raced bool) {
	if int(c.warp) != a.warp {
		*c = laneCell{warp: uint8(a.warp)}
	}
	party := func(lanes uint32, inst int32, store bool) {
		other = Party{Warp: int32(a.warp), Inst: inst, Store: store, Lane: int32(bits.TrailingZeros32(lanes))}
		raced = true
	}
	bit := uint32(1) << a.l
	if c.writers&bit == 0 && c.writeSerial != s.serial && !same {
		rivals := w.unknown(c.writers, c.wrote, a.l)
		if a.strong && c.strong { // a flag, or code that takes it for granted that lanes go in step
			if rivals &= a.together; !a.loose || !c.loose {
				rivals = 0
			}
		}
		if rivals != 0 {
			party(rivals, c.writeInst, true)
		}
	}
	if a.use&stores != 0 && !same && !raced {
		if rivals := w.unknown(c.readers, c.read, a.l); rivals != 0 {
			party(rivals, c.readInst, false)
		}
	}
	switch {
	case a.use&stores == 0 && a.strong: // such readers are not kept
	case a.use&stores == 0:
		if c.read != w.tick {
			c.readers = 0
		}
		c.readers, c.read, c.readInst = c.readers|bit, w.tick, a.inst
	case same && c.writers != 0:
	case c.writeSerial == s.serial:
		c.writers |= bit
	default:
		c.writers, c.wrote, c.writeInst, c.writeSerial, c.strong = bit, w.tick, a.inst, s.serial, a.strong
		c.loose = a.loose
		c.readers = 0
	}
	return other, raced
}
