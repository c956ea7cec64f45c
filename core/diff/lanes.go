package diff

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// laneOrder finds out whether two warps did the same in every lane, although their events stand in another order: divergent paths
// that were executed in another order, or with other lanes together, or code that stands elsewhere in another build.
type laneOrder struct {
	a, b           [64]uint64
	movedA, movedB map[uint32]*[64]uint64 // of sites that moved, each by itself
}

// same reports whether every lane passed the same sites with the same decisions (and values, where they count) in the same order
// on both sides. Where lanes decided is known only for the leader (no taken masks), the leader's decision counts for all. A site of
// moved has an order of its own: only with itself, and where it stores to shared memory with the barriers.
func (o *laneOrder) same(p *streams, keys keysOf, al alignment, rows []Row, moved map[uint32]struct{}) bool {
	if len(al.edits) == 0 || al.startA+al.startB > 0 {
		return false
	}
	taken := p.a.taken && p.b.taken
	var sum uint64 // over lanes and events, whatever their order: cheap, and hardly ever 0 by chance
	for k := range rows {
		r := &rows[k]
		if r.Kind == RowValue {
			return false
		}
		if k > 0 && rows[k-1].EventA == r.EventA && rows[k-1].EventB == r.EventB {
			continue // one pair of events that differs in two ways
		}
		for i := range int(r.Count) {
			sum += laneSum(&p.a, int(r.EventA)+i, orderKey(&p.a, int(r.EventA)+i, keys.keyA(int(r.EventA)+i), moved), taken)
		}
		for j := range int(r.CountB) {
			sum -= laneSum(&p.b, int(r.EventB)+j, orderKey(&p.b, int(r.EventB)+j, keys.keyB(int(r.EventB)+j), moved), taken)
		}
	}
	if sum != 0 {
		return false
	}
	o.a, o.b = [64]uint64{}, [64]uint64{}
	clear(o.movedA)
	clear(o.movedB)
	barriers := uint64(0)
	for i := int(rows[0].EventA); i < p.a.n; i++ {
		barriers = o.add(&o.a, &o.movedA, &p.a, i, keys.keyA(i), moved, barriers, taken, p.values)
	}
	barriers = 0
	for j := int(rows[0].EventB); j < p.b.n; j++ {
		barriers = o.add(&o.b, &o.movedB, &p.b, j, keys.keyB(j), moved, barriers, taken, p.values)
	}
	return o.a == o.b && sameMoved(o.movedA, o.movedB)
}

// anyBarrier is the key of every barrier where code moved: a barrier is as good as another one.
const anyBarrier = ^uint32(0)

// orderKey is the key of an event for the order of its lanes.
func orderKey(s *stream, i int, key uint32, moved map[uint32]struct{}) uint32 {
	if moved != nil && s.kind(i) == site.Barrier {
		return anyBarrier
	}
	return key
}

// add appends an event to what each of its lanes did: at a site that moved, or at a barrier where any did, only to what it did there. A
// store to shared memory counts with the barriers in front of it, of which it returns the number: across a barrier, others see it or not.
func (o *laneOrder) add(
	lanes *[64]uint64, of *map[uint32]*[64]uint64, s *stream, i int, key uint32, moved map[uint32]struct{}, barriers uint64, taken, values bool,
) uint64 {
	if moved == nil {
		project(lanes, s, i, key, taken, values)
		return 0
	}
	key = orderKey(s, i, key, moved)
	if _, is := moved[key]; is || key == anyBarrier {
		lanes = own(of, key)
	}
	project(lanes, s, i, key, taken, values)
	switch s.kind(i) {
	case site.Barrier:
		barriers++
	case site.SharedStore:
		for lane := range lanes {
			lanes[lane] += mix(barriers + 1)
		}
	}
	return barriers
}

// own is what lanes did at one site that moved.
func own(of *map[uint32]*[64]uint64, key uint32) *[64]uint64 {
	if *of == nil {
		*of = make(map[uint32]*[64]uint64)
	}
	if (*of)[key] == nil {
		(*of)[key] = new([64]uint64)
	}
	return (*of)[key]
}

func sameMoved(a, b map[uint32]*[64]uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for key, lanes := range a {
		if other := b[key]; other == nil || *other != *lanes {
			return false
		}
	}
	return true
}

// laneSum is a number for what each active lane did at an event, added up.
func laneSum(s *stream, i int, key uint32, taken bool) uint64 {
	active := s.active(i)
	if !taken {
		return uint64(bits.OnesCount64(active)) * mix(uint64(key)<<8|uint64(s.dir(i)))
	}
	yes := bits.OnesCount64(active & s.takenOf(i))
	no := bits.OnesCount64(active) - yes
	return uint64(yes)*mix(uint64(key)<<8|1) + uint64(no)*mix(uint64(key)<<8)
}

// project appends an event to the hash of each active lane.
func project(lanes *[64]uint64, s *stream, i int, key uint32, taken, values bool) {
	did := uint64(key)<<8 | uint64(s.dir(i))
	var yes uint64
	if taken {
		did = uint64(key) << 8
		yes = s.takenOf(i)
	}
	if values {
		v, kind := s.value(i)
		did ^= mix(v + uint64(kind))
	}
	for active := s.active(i); active != 0; active &= active - 1 {
		lane := bits.TrailingZeros64(active)
		lanes[lane] = mix(lanes[lane]*0x9e3779b97f4a7c15 + did ^ yes>>lane&1)
	}
}

// laneSnapshot finds the snapshot of an event; nil when there is none.
func laneSnapshot(w *warptrace.Warp, event int) *warptrace.Snapshot {
	if w == nil {
		return nil
	}
	at, ok := slices.BinarySearchFunc(w.Snapshots, int32(event), func(s warptrace.Snapshot, e int32) int { return cmp.Compare(s.Event, e) })
	if !ok {
		return nil
	}
	return &w.Snapshots[at]
}

// addSnapshotLanes finds the lanes that differ from what the lanes held, where masks do not tell.
func addSnapshotLanes(r *Row, p *streams) {
	if r.Lanes != 0 || r.Count == 0 || r.CountB == 0 || r.Kind == RowPath {
		return
	}
	a, b := laneSnapshot(p.a.w, int(r.EventA)), laneSnapshot(p.b.w, int(r.EventB))
	if a == nil || b == nil {
		return
	}
	for lane := range 64 {
		if otherOperands(a, b, lane) {
			r.Lanes |= 1 << lane
		}
	}
}

// otherOperands reports whether a lane held other bits on the two sides.
func otherOperands(a, b *warptrace.Snapshot, lane int) bool {
	if (a.Active&b.Active)>>lane&1 == 0 {
		return false
	}
	return operand(a.Lhs, lane) != operand(b.Lhs, lane) || operand(a.Rhs, lane) != operand(b.Rhs, lane)
}

func operand(of []uint64, lane int) uint64 {
	if lane < len(of) {
		return of[lane]
	}
	return 0
}
