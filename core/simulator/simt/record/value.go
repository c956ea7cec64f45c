package record

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// laneValues are the lanes of one register of 32 or 64 bits.
type laneValues struct {
	narrow *[lane.Lanes]uint32
	wide   *[lane.Lanes]uint64
}

func lanesOf(w *execute.Warp, s code.Register) laneValues {
	if s.Bank == lane.R64 {
		return laneValues{wide: &w.Regs.R64[s.Index]}
	}
	return laneValues{narrow: &w.Regs.R32[s.Index]}
}

func (v laneValues) at(l int) uint64 {
	if v.wide != nil {
		return v.wide[l]
	}
	return uint64(v.narrow[l])
}

// widthMask keeps the low bytes of a value.
func widthMask(bytes int) uint64 {
	if bytes >= 8 {
		return math.MaxUint64
	}
	return 1<<(8*bytes) - 1
}

// read copies the values of a register; lanes that are not asked for are 0.
func (o *blockRecorder) read(into *[lane.Lanes]uint64, w *execute.Warp, s code.Register, lanes uint32, width int) {
	v, mask := lanesOf(w, s), widthMask(width)
	for l := range into {
		into[l] = v.at(l) & mask & -uint64(lanes>>l&1)
	}
}

// readInto is read that leaves the other lanes as they are.
func (o *blockRecorder) readInto(into *[lane.Lanes]uint64, w *execute.Warp, s code.Register, lanes uint32, width int) {
	v, mask := lanesOf(w, s), widthMask(width)
	for l := range into {
		if lanes>>l&1 != 0 {
			into[l] = v.at(l) & mask
		}
	}
}

// addresses finds where an access goes.
func (o *blockRecorder) addresses(w *execute.Warp, s *step, lanes uint32) {
	t := s.in.Mem
	if s.in.Kind == code.KindCopyAsync {
		t = &o.copies[s.in.Detail].To
	}
	o.addressesOf(&o.address, w, t, lanes)
}

func (o *blockRecorder) addressesOf(into *[lane.Lanes]uint64, w *execute.Warp, t *memory.Transfer, lanes uint32) {
	from := code.R64(t.Address)
	if t.Narrow {
		from.Bank = lane.R32
	}
	for l := range into {
		into[l] = 0
		if lanes>>l&1 == 0 {
			continue
		}
		a := uint64(t.Offset)
		if !t.Absolute {
			a += lanesOf(w, from).at(l)
		}
		if t.Space != ptx.Shared && t.Space != ptx.Local {
			a = o.recorder.pointers.name(o.global, a, t.Legal)
		}
		into[l] = a
	}
}

// pointers gives global addresses names that do not change from run to run. Where an array lies in the process says nothing about
// the kernel, and neither does how the caller numbers arrays, so an address is the number of a pointer argument, from 1, in the
// bits from 40 on, and how far it is from there.
type pointers struct {
	arguments []uint64         // the simulator's address of each parameter, 0 none
	into      map[int][]uint32 // parameters that point into an allocation, by their addresses
	variables int              // allocations from here on are variables of the module
}

const (
	argumentShift  = 40
	variablePlace  = 1 << 62
	registeredMark = 1 << 61
)

func newPointers(r *execute.Running) *pointers {
	p := &pointers{into: map[int][]uint32{}, variables: r.FirstVariable}
	for i := range r.Request.Params {
		a := &r.Request.Params[i]
		if a.Allocation < 0 {
			p.arguments = append(p.arguments, 0)
			continue
		}
		p.arguments = append(p.arguments, r.Global.Pointer(a.Allocation, a.Bits))
		p.into[a.Allocation] = append(p.into[a.Allocation], uint32(i))
	}
	for _, list := range p.into {
		slices.SortStableFunc(list, func(a, b uint32) int { return cmp.Compare(p.arguments[a], p.arguments[b]) })
	}
	return p
}

// name is what a recording calls an address. legal says which arguments it derives from, as Transfer.Legal does.
func (p *pointers) name(global *memory.Global, a, legal uint64) uint64 {
	if i := bits.TrailingZeros64(legal); bits.OnesCount64(legal) == 1 && i < min(63, len(p.arguments)) && p.arguments[i] != 0 {
		return uint64(i+1)<<argumentShift + a - p.arguments[i]
	}
	n, offset := global.Host(a)
	if n < 0 {
		return a
	}
	if n >= p.variables {
		return variablePlace | uint64(n-p.variables)<<argumentShift + offset
	}
	list := p.into[n]
	if len(list) == 0 {
		return registeredMark | uint64(n)<<argumentShift + offset
	}
	best := list[0]
	for _, i := range list { // the last that is not beyond the address
		if p.arguments[i] <= a {
			best = i
		}
	}
	return uint64(best+1)<<argumentShift + a - p.arguments[best]
}

// hashLanes adds the values of lanes to a hash.
func hashLanes(h uint64, v *[lane.Lanes]uint64, lanes uint32) uint64 {
	return warptrace.HashLanes(h, v[:], uint64(lanes))
}

// element is the register of one element of an access.
func element(s *step, i int) (code.Register, bool) {
	if s.in.Kind == code.KindMatrix {
		return s.in.Outs[i], true
	}
	return code.Register{Bank: bankOfElement(s.in), Index: s.in.Mem.Regs[i]}, s.in.Mem.Regs[i] >= 0
}

func (s *step) elements() int {
	if s.in.Kind == code.KindMatrix {
		return len(s.in.Outs)
	}
	return s.in.Mem.Count
}

// store records a store by the lanes that store: a hash over their addresses and values, and in a recording of values these.
func (o *blockRecorder) store(w *execute.Warp, s *step, lanes uint32) {
	if lanes == 0 {
		return
	}
	o.addresses(w, s, lanes)
	h := hashLanes(warptrace.HashStart, &o.address, lanes)
	if s.what == stepCopy {
		o.copied(w, s, lanes, h)
		return
	}
	h = o.hashElements(w, s, lanes, h)
	if o.event(w, s, lanes, lanes, 0, h, warptrace.TypeHash) {
		o.snapshots(w, s, lanes, warptrace.RoleStore)
	}
}

// copied records an asynchronous copy to shared memory: where it goes and what it takes it from.
func (o *blockRecorder) copied(w *execute.Warp, s *step, lanes uint32, h uint64) {
	o.addressesOf(&o.operand, w, &o.copies[s.in.Detail].From, lanes)
	h = hashLanes(h, &o.operand, lanes)
	if o.event(w, s, lanes, lanes, 0, h, warptrace.TypeHash) {
		o.snapshot(w, s, lanes, warptrace.RoleStore, warptrace.TypePtr, &o.address, &o.operand)
	}
}

// load records a load after it happened: a hash over the values.
func (o *blockRecorder) load(w *execute.Warp, s *step, lanes uint32) {
	if lanes == 0 {
		return
	}
	if o.event(w, s, lanes, lanes, 0, o.hashElements(w, s, lanes, warptrace.HashStart), warptrace.TypeHash) {
		o.snapshots(w, s, lanes, warptrace.RoleLoad)
	}
}

func (o *blockRecorder) hashElements(w *execute.Warp, s *step, lanes uint32, h uint64) uint64 {
	for i := range s.elements() {
		if from, ok := element(s, i); ok {
			o.read(&o.operand, w, from, lanes, s.width)
			h = hashLanes(h, &o.operand, lanes)
		}
	}
	return h
}

// snapshots keeps addresses and values of all elements, one snapshot each.
func (o *blockRecorder) snapshots(w *execute.Warp, s *step, lanes uint32, role warptrace.SnapshotRole) {
	for i := range s.elements() {
		if from, ok := element(s, i); ok {
			o.read(&o.operand, w, from, lanes, s.width)
			o.snapshot(w, s, lanes, role, s.types, &o.address, &o.operand)
		}
		for rest := lanes; rest != 0; rest &= rest - 1 {
			o.address[lowest(rest)] += uint64(s.width)
		}
	}
}

// atomic records an atomic after it happened: the value is what the leader found, or what it brought where nobody asks for that.
func (o *blockRecorder) atomic(w *execute.Warp, s *step, lanes uint32) {
	if lanes == 0 {
		return
	}
	old, ok := element(s, 0)
	value := o.operand[lowest(lanes)]
	if ok {
		value = lanesOf(w, old).at(lowest(lanes)) & widthMask(s.width)
	}
	if !o.event(w, s, lanes, lanes, 0, value, s.types) {
		return
	}
	if !ok {
		o.snapshot(w, s, lanes, warptrace.RoleAtomic, s.types, &o.operand, nil)
		return
	}
	o.read(&o.address, w, old, lanes, s.width)
	o.snapshot(w, s, lanes, warptrace.RoleAtomic, s.types, &o.operand, &o.address)
}

// arena hands out room for the values of lanes, in pieces that are used again for the next block.
type arena struct {
	pieces [][]uint64
	piece  int
	used   int
}

const arenaPiece = 1 << 13

func (a *arena) reset() { a.piece, a.used = 0, 0 }

func (a *arena) bytes() int64 { return int64(len(a.pieces)) * 8 * arenaPiece }

// take copies the values of lanes; the others are 0.
func (a *arena) take(v *[lane.Lanes]uint64, lanes uint32) []uint64 {
	if len(a.pieces) == 0 || a.used == arenaPiece {
		if len(a.pieces) > 0 {
			a.piece++
		}
		if a.piece == len(a.pieces) {
			a.pieces = append(a.pieces, make([]uint64, arenaPiece))
		}
		a.used = 0
	}
	out := a.pieces[a.piece][a.used : a.used+lane.Lanes : a.used+lane.Lanes]
	a.used += lane.Lanes
	for l := range out {
		out[l] = v[l] & -uint64(lanes>>l&1)
	}
	return out
}

// lowest is the first lane of a mask that is not empty.
func lowest(lanes uint32) int { return bits.TrailingZeros32(lanes) }
