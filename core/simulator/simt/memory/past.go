package memory

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// past is who accessed global memory. Neighbours mostly have the same past, for a warp accesses many units at once: so a unit has the
// number of a state, and an access finds for each state, once, which one follows it. States do not change; those that no unit
// has any more are dropped now and then.
type past struct {
	states   []state    // by number; 0: nobody
	accesses []accessed // by number; 0: nobody
	crowds   []crowd    // by number; 0: nobody
	units    int        // of all pages
	most     int        // states, from which on some are dropped
	mixed    bool       // a block wrote what another one accesses
}

// accessed is one access of a warp.
type accessed struct {
	block  uint32
	clock  uint32 // of its warp
	inst   int32
	warp   uint8
	strong bool // an atomic, or another access that is not weak
	near   bool // of those, in the scope of its block
}

// state is who accessed a unit: the last writer, and those who read it since, by the numbers of their accesses. Of many readers some are
// kept: the first race with one of these is found, and some with others are not.
type state struct {
	writer  uint32
	readers [2]uint32
	crowd   uint32 // of more readers

	loaded      int32  // 1 + the instruction by which the writer's warp had read it before; 0 it had not
	wrote, read uint32 // which block ever did: 1 + its number; 0 none, several more than one
	silent      bool   // the writer wrote what was there
}

// crowd is readers of a unit, the first ones first; 0 none.
type crowd [8]uint32

const several = ^uint32(0)

// fewStates are kept in any case.
var fewStates = 1 << 14

func newPast() past {
	return past{states: make([]state, 1), accesses: make([]accessed, 1), crowds: make([]crowd, 1), most: fewStates}
}

// look is one access while it is looked at.
type look struct {
	order *order
	past  *past
	who   accessed
	use   use
	me    uint32 // the number of the access, 0 it has none yet

	recent    *watched // range
	key, next uint32   // the last step of a whole unit; key is 0 where there was none
	turn      uint32   // counts accesses
	steps     [8]struct{ turn, from, to uint32 }
	room      [lane.Lanes * 64]byte
}

// beginLook begins to look at an access of a warp at this moment.
func (b *Block) beginLook(t *Transfer, warp int, u use, strong bool) *look {
	k := b.look
	k.order, k.past = b.order, &b.order.watch.past
	k.who = accessed{block: b.order.block, clock: b.order.warps[warp].now, inst: t.Inst, warp: uint8(warp), strong: strong, near: t.Block}
	k.use, k.me, k.recent = u, 0, nil
	k.again()
	if len(k.past.states) >= k.past.most {
		b.order.watch.drop()
	}
	return k
}

// again forgets which states follow others.
func (k *look) again() {
	k.key = 0
	if k.turn++; k.turn == 0 { // numbers of turns are used up
		clear(k.steps[:])
		k.turn = 1
	}
}

// run looks at the bytes of lanes that follow each other, n of each; value is what weak accesses store, nil they do not.
func (k *look) run(found *faults, in *region, l int, address, n uint64, old, value []byte) {
	at := in.watchAddress() + address - in.base
	r := k.recent
	if r == nil || at < r.start || at >= r.end {
		if r = k.order.watch.find(at); r == nil {
			r = k.order.watch.add(in, at)
		}
		k.recent = r
	}
	if p := r.page(at - r.start); value == nil && p.numbers != nil && len(old) == 1<<p.unit && at&uint64(len(old)-1) == r.start&uint64(len(old)-1) {
		unit := &p.numbers[(at-r.start)%pageBytes>>p.unit]
		if v := *unit; v == k.key && v != 0 {
			*unit = k.next
			return
		}
		to, _, raced := k.step(*unit, false)
		if !raced {
			k.key, k.next, *unit = *unit, to, to
			return
		}
	}
	element := uint8(bits.TrailingZeros64(n | 4))
	for done := 0; done < len(old); {
		off := at + uint64(done) - r.start
		first := off % pageBytes
		more := min(pageBytes-int(first), len(old)-done)
		p := r.page(off)
		k.past.refine(p, uint8(bits.TrailingZeros64(first|uint64(more)|1<<largest)))
		var was, is []byte
		if value != nil {
			was, is = old[done:done+more], value[done:done+more]
			if p.unit > element && !uniform(was, is, p.unit, element) {
				k.past.refine(p, element)
			}
		}
		numbers := p.numbers[first>>p.unit : (first+uint64(more))>>p.unit]
		for i := 0; i < len(numbers); i++ {
			var raced bool
			var other Party
			if value == nil {
				i, other, raced = k.units(numbers, i)
			} else {
				i, other, raced = k.stored(numbers, i, p.unit, element, was, is)
			}
			if !raced {
				break
			}
			from, end := (uint64(done)+uint64(i)<<p.unit)/n, (uint64(done)+uint64(i+1)<<p.unit-1)/n
			for which := from; which <= end; which++ {
				k.raced(found, in, l+int(which), address+which*n, n, other)
			}
		}
		done += more
	}
}

// raced notes a race of a lane.
func (k *look) raced(found *faults, in *region, l int, address, n uint64, other Party) {
	if f := found.add(GlobalRace, l, address, n, k.use); f != nil {
		f.near(in)
		f.Other = other
	}
}

// refine gives a page units that are as small as an access needs.
func (p *past) refine(g *page, unit uint8) {
	if g.numbers != nil && g.unit <= unit {
		return
	}
	fine := make([]uint32, pageBytes>>unit)
	if g.numbers != nil {
		for i := range fine {
			fine[i] = g.numbers[i>>(g.unit-unit)]
		}
	}
	p.units += len(fine) - len(g.numbers)
	g.numbers, g.unit = fine, unit
}

// uniform reports whether in each unit a store changes all elements, or none.
func uniform(old, value []byte, unit, element uint8) bool {
	if element != 2 {
		return uniformSmall(old, value, unit, element)
	}
	for at := 0; at < len(old); at += 1 << unit {
		a, b := old[at:at+1<<unit], value[at:at+1<<unit]
		same := binary.LittleEndian.Uint32(a) == binary.LittleEndian.Uint32(b)
		for i := 4; i+4 <= len(a) && i+4 <= len(b); i += 4 {
			if (binary.LittleEndian.Uint32(a[i:]) == binary.LittleEndian.Uint32(b[i:])) != same {
				return false
			}
		}
	}
	return true
}

// uniformSmall is uniform of elements of one or two bytes.
func uniformSmall(old, value []byte, unit, element uint8) bool {
	for at := 0; at < len(old); at += 1 << unit {
		same := equal(old, value, at, element)
		for i := at + 1<<element; i < at+1<<unit; i += 1 << element {
			if equal(old, value, i, element) != same {
				return false
			}
		}
	}
	return true
}

// equal compares an element.
func equal(a, b []byte, at int, element uint8) bool {
	switch element {
	case 0:
		return a[at] == b[at]
	case 1:
		return *(*[2]byte)(a[at:]) == *(*[2]byte)(b[at:])
	}
	return *(*[4]byte)(a[at:]) == *(*[4]byte)(b[at:])
}

// units takes units from one on to their next states. It stops behind the last one, or at one that raced.
func (k *look) units(numbers []uint32, from int) (at int, other Party, raced bool) {
	key, next := ^uint32(0), uint32(0)
	for i := from; i < len(numbers); i++ {
		if v := numbers[i]; v != key {
			to, other, raced := k.step(v, false)
			if raced {
				numbers[i] = to
				return i, other, true
			}
			key, next = v, to
		}
		numbers[i] = next
	}
	return len(numbers), Party{}, false
}

// stored is units of a weak store, of which each changes all its elements or none.
func (k *look) stored(numbers []uint32, from int, unit, element uint8, old, value []byte) (at int, other Party, raced bool) {
	key, next := ^uint64(0), uint32(0)
	for i := from; i < len(numbers); i++ {
		v := uint64(numbers[i]) << 1
		same := equal(old, value, i<<unit&^(1<<element-1), element)
		if same {
			v |= 1
		}
		if v != key {
			to, other, raced := k.step(numbers[i], same)
			if raced {
				numbers[i] = to
				return i, other, true
			}
			key, next = v, to
		}
		numbers[i] = next
	}
	return len(numbers), Party{}, false
}

// step says which state follows another by the access, and who races with it.
func (k *look) step(from uint32, same bool) (to uint32, other Party, raced bool) {
	key := from << 1
	if same {
		key |= 1
	}
	c := &k.steps[key*0x9e3779b1>>29]
	if c.turn == k.turn && c.from == key {
		return c.to, Party{}, false
	}
	s := k.past.states[from]
	other, raced = k.access(&s, same)
	to = k.past.number(&s, from)
	if !raced {
		c.turn, c.from, c.to = k.turn, key, to
	}
	return to, other, raced
}

// number is that of a state: as it was, as one of the last ones, or a new one.
func (p *past) number(s *state, was uint32) uint32 {
	if p.states[was] == *s {
		return was
	}
	last := len(p.states) - 1
	for i := last; i > max(0, last-4); i-- {
		if p.states[i] == *s {
			return uint32(i)
		}
	}
	p.states = append(p.states, *s)
	return uint32(last + 1)
}

// access checks and notes the access to a unit, which wrote what was there if same says so.
//
// Compilers let several warps of a block load the same elements where one of them stores what comes of it, and throw away what the others
// loaded. So of warps of one block a load and a store do not race here if the warp that stores had read the unit by the same instruction,
// and a load of another block does not race with what comes after the same load of another warp of that block.
func (k *look) access(s *state, same bool) (other Party, raced bool) {
	p, who := k.past, &k.who
	k.touch(s)
	writer := &p.accesses[s.writer]
	copies := k.use&stores == 0 && s.loaded == who.inst+1 && writer.block == who.block
	if s.writer != 0 && !same && !copies && !(s.silent && k.use == loads) && k.rival(writer) {
		other, raced = k.party(writer, true), true
	}
	if k.use&stores == 0 {
		k.noteReader(s)
		return other, raced
	}
	loaded := int32(0)
	p.eachReader(s, func(a *accessed) {
		if a.block == who.block && a.warp == who.warp {
			loaded = a.inst + 1
		}
	})
	if !same {
		p.eachReader(s, func(a *accessed) {
			if !raced && !(a.block == who.block && a.inst+1 == loaded) && k.rival(a) && !k.repeats(s, a) {
				other, raced = k.party(a, false), true
			}
		})
	}
	if same && s.writer != 0 {
		return other, raced
	}
	s.writer, s.loaded, s.silent = k.mine(), loaded, same
	if !same {
		s.readers, s.crowd = [2]uint32{}, 0
	}
	return other, raced
}

// repeats reports whether another warp of its block did as a reader of another block did, before the access.
func (k *look) repeats(s *state, reader *accessed) (found bool) {
	if reader.block == k.who.block {
		return false
	}
	if writer := &k.past.accesses[s.writer]; s.loaded == reader.inst+1 && writer.block == reader.block && k.order.before(writer, int(k.who.warp)) {
		return true // and wrote since
	}
	k.past.eachReader(s, func(a *accessed) {
		found = found || a.block == reader.block && a.inst == reader.inst && k.order.before(a, int(k.who.warp))
	})
	return found
}

// touch notes which blocks ever accessed a unit.
func (k *look) touch(s *state) {
	if k.use&stores != 0 {
		join(&s.wrote, k.who.block+1)
	}
	if k.use&loads != 0 {
		join(&s.read, k.who.block+1)
	}
	if s.mixed() {
		k.past.mixed = true
	}
}

func (s *state) mixed() bool {
	return s.wrote != 0 && (s.wrote == several || s.read != 0 && s.read != s.wrote)
}

func join(to *uint32, who uint32) {
	switch *to {
	case 0:
		*to = who
	case who:
	default:
		if who != 0 {
			*to = several
		}
	}
}

// mine is the number of the access.
func (k *look) mine() uint32 {
	if k.me == 0 {
		k.past.accesses = append(k.past.accesses, k.who)
		k.me = uint32(len(k.past.accesses) - 1)
	}
	return k.me
}

func (p *past) eachReader(s *state, visit func(a *accessed)) {
	for _, number := range s.readers {
		if number != 0 {
			visit(&p.accesses[number])
		}
	}
	for _, number := range p.crowds[s.crowd] {
		if number != 0 {
			visit(&p.accesses[number])
		}
	}
}

// noteReader keeps a reader, in place of one that happened before it.
func (k *look) noteReader(s *state) {
	p := k.past
	gives := func(number uint32) bool {
		a := &p.accesses[number]
		return number == 0 || k.order.before(a, int(k.who.warp)) && (a.strong || !k.who.strong)
	}
	for i, number := range s.readers {
		if gives(number) {
			s.readers[i] = k.instead(number)
			return
		}
	}
	for i, number := range p.crowds[s.crowd] {
		if gives(number) {
			if to := k.instead(number); to != number {
				all := p.crowds[s.crowd]
				all[i] = to
				p.crowds = append(p.crowds, all)
				s.crowd = uint32(len(p.crowds) - 1)
			}
			return
		}
	}
}

// instead is the number of the access where another one was: the same if they are equal.
func (k *look) instead(was uint32) uint32 {
	if was != 0 && k.past.accesses[was] == k.who {
		return was
	}
	return k.mine()
}

// drop forgets states that no unit has, accesses that no state names, and readers likewise.
func (w *watch) drop() {
	p := &w.past
	states, accesses, crowds := make([]uint32, len(p.states)), make([]uint32, len(p.accesses)), make([]uint32, len(p.crowds))
	now := newPast()
	for i := range w.ranges {
		for _, c := range w.ranges[i].chapters {
			for j := range c {
				for n, v := range c[j].numbers {
					if v != 0 && states[v] == 0 {
						now.states = append(now.states, p.states[v])
						states[v] = uint32(len(now.states) - 1)
					}
					c[j].numbers[n] = states[v]
				}
			}
		}
	}
	access := func(number *uint32) {
		if *number != 0 && accesses[*number] == 0 {
			now.accesses = append(now.accesses, p.accesses[*number])
			accesses[*number] = uint32(len(now.accesses) - 1)
		}
		*number = accesses[*number]
	}
	for i := range now.states {
		s := &now.states[i]
		access(&s.writer)
		access(&s.readers[0])
		access(&s.readers[1])
		if s.crowd == 0 {
			continue
		}
		if crowds[s.crowd] == 0 {
			all := p.crowds[s.crowd]
			for n := range all {
				access(&all[n])
			}
			now.crowds = append(now.crowds, all)
			crowds[s.crowd] = uint32(len(now.crowds) - 1)
		}
		s.crowd = crowds[s.crowd]
	}
	now.units, now.mixed = p.units, p.mixed
	now.most = max(fewStates, min(3*len(now.states), len(now.states)+p.units))
	now.states = slices.Grow(now.states, now.most-len(now.states)+lane.Lanes)
	*p = now
}

// rival reports whether an earlier access and the one at hand race with each other.
func (k *look) rival(a *accessed) bool {
	if k.order.before(a, int(k.who.warp)) {
		return false
	}
	strong := a.strong && k.who.strong && (a.block == k.who.block || !a.near && !k.who.near)
	return !strong
}

func (k *look) party(a *accessed, store bool) Party {
	return Party{Warp: int32(a.warp), Inst: a.inst, Store: store, OtherBlock: a.block != k.who.block, Block: int64(a.block)}
}
