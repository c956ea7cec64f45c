package memory

// Happens-before of warps, for the search for races in global memory. Every warp of every block has a clock, which advances when it lets
// others know what it did; what a warp knows of the clocks of others says which of their accesses happened before its next one. Barriers
// let warps of a block know of each other. Across blocks it needs a pair of accesses to one address: one that releases, or a relaxed one
// behind a fence, and one that acquires, or a relaxed one before a fence. Both must name a scope that holds the other's warp.

// published is what was released at one address.
type published struct {
	wide    *known            // to all blocks
	near    map[uint32]*known // to the warps of one block
	version uint32            // how often
}

// order is what the warps of one block know.
type order struct {
	watch *watch
	block uint32
	all   []uint32 // by warp: the clock up to which all know what it did
	warps []warpOrder
	sent  map[int]*known // by barrier: what warps brought that did not wait
	blind bool           // accesses order nothing: barriers alone do
}

type warpOrder struct {
	now      uint32
	knows    *known           // of other warps, beyond what all know
	released [2]*known        // what it could let others know at its last fence: of the scope of the block, of a wider one
	seen     [2]*known        // what relaxed accesses found, for the next fence, by their scope
	joined   map[joint]uint32 // the version that it knows
}

// joint is an address, and how it was read.
type joint struct {
	address        uint64
	acquires, near bool
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
	k := o.warps[warp].knows
	return k != nil && o.watch.knows(k, a.block, int(a.warp), a.clock)
}

// told is all that a warp can let others know.
func (o *order) told(warp int) *known {
	w := &o.warps[warp]
	clocks := append([]uint32(nil), o.all...)
	clocks[warp] = w.now
	return o.watch.made(&known{block: o.block, clocks: clocks, first: w.knows})
}

// learn adds what others know, of this block alone if near says so.
func (o *order) learn(to **known, from *known, near bool) {
	if near {
		from = o.watch.within(from, o.block)
	}
	*to = o.watch.join(*to, from)
}

// meet lets warps know of each other, and of what others brought to the barrier. What fences of one of them made ready for others, all of
// them may tell from now on: it left the block before the barrier.
func (o *order) meet(barrier int, warps uint32) {
	all := o.sent[barrier]
	delete(o.sent, barrier)
	var released, seen [2]*known
	for i := range o.warps {
		if w := &o.warps[i]; warps>>i&1 != 0 {
			o.learn(&all, w.knows, false)
			for scope := range released {
				o.learn(&released[scope], w.released[scope], false)
				o.learn(&seen[scope], w.seen[scope], false)
			}
		}
	}
	if whole := ^uint32(0) >> (maxWarps - len(o.warps)); warps&whole != whole {
		clocks := make([]uint32, len(o.warps))
		for i := range o.warps {
			if warps>>i&1 != 0 {
				clocks[i] = o.warps[i].now
			}
		}
		all = o.watch.made(&known{block: o.block, clocks: clocks, first: all})
	} else {
		for i := range o.warps {
			o.all[i] = o.warps[i].now
		}
	}
	for i := range o.warps {
		if w := &o.warps[i]; warps>>i&1 != 0 {
			w.knows, w.released, w.seen = all, released, seen
			w.now++
		}
	}
}

// arrive leaves at a barrier what a warp knows.
func (o *order) arrive(barrier, warp int) {
	if o.sent == nil {
		o.sent = map[int]*known{}
	}
	o.sent[barrier] = o.watch.join(o.sent[barrier], o.told(warp))
	o.warps[warp].now++
}

// fence makes what relaxed accesses found known, and what is known now ready for those that follow.
func (o *order) fence(warp int, block bool) {
	if o.blind {
		return
	}
	w := &o.warps[warp]
	o.learn(&w.knows, w.seen[near], false)
	o.learn(&w.knows, w.seen[wide], block)
	w.seen = [2]*known{}
	if block { // what relaxed accesses found of other blocks counts only before a wider fence: they may find it again
		w.joined = nil
	}
	w.released[near] = o.told(warp)
	if scopeOf(block) == wide {
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
	key := joint{address, acquires, block}
	if w.joined[key] == p.version {
		return
	}
	if w.joined == nil {
		w.joined = map[joint]uint32{}
	}
	w.joined[key] = p.version
	to := &w.knows
	if !acquires {
		to = &w.seen[scopeOf(block)]
	}
	o.learn(to, p.wide, block)
	o.learn(to, p.near[o.block], false)
}

// write is an access that may release at an address what a warp knows.
func (o *order) write(warp int, address uint64, how Order, block bool) {
	if o.blind {
		return
	}
	w := &o.warps[warp]
	var all *known
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
		p = &published{}
		o.watch.published[address] = p
	}
	p.version++
	if scope == wide {
		p.wide = o.watch.join(p.wide, all)
		return
	}
	if p.near == nil {
		p.near = map[uint32]*known{}
	}
	p.near[o.block] = o.watch.join(p.near[o.block], all)
}

// sharedKey is the address of shared memory of a block, as the order of warps has it. No global memory has such addresses.
func (o *order) sharedKey(address uint32) uint64 {
	return 1<<62 | uint64(o.block)<<20 | uint64(address)&(1<<20-1)
}
