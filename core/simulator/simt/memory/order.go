package memory

import "maps"

// Happens-before of warps, for the search for races in global memory. Every warp of every block has a clock, which advances when it lets
// others know what it did; what a warp knows of the clocks of others says which of their accesses happened before its next one. Barriers
// let warps of a block know of each other. Across blocks it needs a pair of accesses to one address: one that releases, or a relaxed one
// behind a fence, and one that acquires, or a relaxed one before a fence. Both must name a scope that holds the other's warp.

// clocks are those of warps, by block and warp.
type clocks map[uint64]uint32

func clockOf(block uint32, warp int) uint64 { return uint64(block)<<5 | uint64(warp) }

// learn adds what others know; of one block only, if near says so.
func (c clocks) learn(from clocks, near bool, block uint32) {
	for key, at := range from {
		if (!near || uint32(key>>5) == block) && c[key] < at {
			c[key] = at
		}
	}
}

// published is what was released at one address.
type published struct {
	wide    clocks            // to all blocks
	near    map[uint32]clocks // to the warps of one block
	version uint32            // how often
}

// order is what the warps of one block know.
type order struct {
	watch *watch
	block uint32
	all   []uint32 // by warp: the clock up to which all know what it did
	warps []warpOrder
	sent  map[int]clocks // by barrier: what warps brought that did not wait
	blind bool           // accesses order nothing: barriers alone do
}

type warpOrder struct {
	now      uint32
	knows    clocks            // of other warps, beyond what all know; nil nothing
	released [2]clocks         // what it could let others know at its last fence: of the scope of the block, of a wider one
	seen     [2]clocks         // what relaxed accesses found, for the next fence, by their scope
	joined   map[uint64]uint32 // by address: the version that it knows
}

// What scopes are called here.
const (
	near = 0
	wide = 1
)

func scopeOf(block bool) int {
	if block {
		return near
	}
	return wide
}

// begin makes the order that of a block which nobody has told anything.
func (o *order) begin(w *watch, block uint32, warps int) {
	o.watch, o.block, o.sent, o.blind = w, block, nil, w.blind
	if len(o.warps) != warps {
		o.warps, o.all = make([]warpOrder, warps), make([]uint32, warps)
	}
	for i := range o.warps {
		o.warps[i], o.all[i] = warpOrder{now: 1}, 0
	}
}

// before reports whether an access happened before what a warp does now.
func (o *order) before(a *accessed, warp int) bool {
	if a.block == o.block && (int(a.warp) == warp || o.all[a.warp] >= a.clock) {
		return true
	}
	known := o.warps[warp].knows
	return known != nil && known[clockOf(a.block, int(a.warp))] >= a.clock
}

// told is all that a warp can let others know.
func (o *order) told(warp int) clocks {
	w := &o.warps[warp]
	all := make(clocks, len(w.knows)+len(o.all))
	for i, at := range o.all {
		if at > 0 {
			all[clockOf(o.block, i)] = at
		}
	}
	all.learn(w.knows, false, 0)
	all[clockOf(o.block, warp)] = w.now
	return all
}

// learn adds what others know to what a warp knows.
func (w *warpOrder) learn(from clocks, near bool, block uint32) {
	if w.knows == nil && len(from) > 0 {
		w.knows = clocks{}
	}
	w.knows.learn(from, near, block)
}

// meetAll is meet of all warps of the block where none knows more than the others of any other block, and reports whether that is so.
func (o *order) meetAll(barrier int, warps uint32) bool {
	if whole := ^uint32(0) >> (maxWarps - len(o.warps)); warps&whole != whole || o.sent[barrier] != nil {
		return false
	}
	for i := range o.warps {
		if w := &o.warps[i]; w.knows != nil || w.released[near] != nil || w.seen[near] != nil || w.seen[wide] != nil {
			return false
		}
	}
	for i := range o.warps {
		o.all[i] = o.warps[i].now
		o.warps[i].now++
	}
	return true
}

// meet lets warps know of each other, and of what others brought to the barrier. What fences of one of them made ready for others, all of
// them may tell from now on: it left the block before the barrier.
func (o *order) meet(barrier int, warps uint32) {
	if o.meetAll(barrier, warps) {
		return
	}
	all := o.sent[barrier]
	delete(o.sent, barrier)
	if all == nil {
		all = clocks{}
	}
	var released, seen [2]clocks
	for i := range o.warps {
		if w := &o.warps[i]; warps>>i&1 != 0 {
			all.learn(w.knows, false, 0)
			all[clockOf(o.block, i)] = w.now
			for scope := range released {
				released[scope] = union(released[scope], w.released[scope])
				seen[scope] = union(seen[scope], w.seen[scope])
			}
		}
	}
	for i := range o.warps {
		if w := &o.warps[i]; warps>>i&1 != 0 {
			w.learn(all, false, 0)
			w.now++
			w.released, w.seen = released, [2]clocks{maps.Clone(seen[near]), maps.Clone(seen[wide])}
		}
	}
}

// union is what two sets of clocks know together; nil is nothing, and neither is changed.
func union(a, b clocks) clocks {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	all := maps.Clone(a)
	all.learn(b, false, 0)
	return all
}

// arrive leaves at a barrier what a warp knows.
func (o *order) arrive(barrier, warp int) {
	if o.sent == nil {
		o.sent = map[int]clocks{}
	}
	if o.sent[barrier] == nil {
		o.sent[barrier] = clocks{}
	}
	o.sent[barrier].learn(o.told(warp), false, 0)
	o.warps[warp].now++
}

// fence makes what relaxed accesses found known, and what is known now ready for those that follow.
func (o *order) fence(warp int, block bool) {
	if o.blind {
		return
	}
	w := &o.warps[warp]
	scope := scopeOf(block)
	w.learn(w.seen[near], false, 0)
	w.learn(w.seen[wide], block, o.block)
	w.seen = [2]clocks{}
	w.released[near] = o.told(warp)
	if scope == wide {
		w.released[wide] = w.released[near]
	}
	w.now++
}

// read is an access that may acquire what was released at an address.
func (o *order) read(warp int, address uint64, how Order, block bool) {
	p := o.watch.published[address]
	if p == nil || how == Weak || how == Release || o.blind {
		return
	}
	w := &o.warps[warp]
	acquires := how == Acquire || how == AcqRel
	key := address<<1 | uint64(scopeOf(!acquires))
	if w.joined[key] == p.version {
		return
	}
	if w.joined == nil {
		w.joined = map[uint64]uint32{}
	}
	w.joined[key] = p.version
	if scope := scopeOf(block); !acquires {
		if w.seen[scope] == nil {
			w.seen[scope] = clocks{}
		}
		w.seen[scope].learn(p.wide, block, o.block)
		w.seen[scope].learn(p.near[o.block], false, 0)
		return
	}
	w.learn(p.wide, block, o.block)
	w.learn(p.near[o.block], false, 0)
}

// write is an access that may release at an address what a warp knows.
func (o *order) write(warp int, address uint64, how Order, block bool) {
	if o.blind {
		return
	}
	w := &o.warps[warp]
	var all clocks
	scope := scopeOf(block)
	switch how {
	case Release, AcqRel:
		all = o.told(warp)
		w.now++
	case Relaxed:
		if all = w.released[scope]; all == nil && scope == wide {
			all, scope = w.released[near], near
		}
	}
	if all == nil {
		return
	}
	p := o.watch.published[address]
	if p == nil {
		p = &published{wide: clocks{}, near: map[uint32]clocks{}}
		o.watch.published[address] = p
	}
	p.version++
	if scope == wide {
		p.wide.learn(all, false, 0)
		return
	}
	if p.near[o.block] == nil {
		p.near[o.block] = clocks{}
	}
	p.near[o.block].learn(all, false, 0)
}

// sharedKey is the address of shared memory of a block, as the order of warps has it. No global memory has such addresses.
func (o *order) sharedKey(address uint32) uint64 {
	return 1<<62 | uint64(o.block)<<20 | uint64(address)&(1<<20-1)
}
