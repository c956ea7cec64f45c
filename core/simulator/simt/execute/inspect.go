package execute

import (
	"context"
	"fmt"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// Checks that are made on request watch what warps pass as an Observer does, so that a launch without them costs nothing more:
// races between lanes of a warp, and accesses outside of the view that was passed.

// inspector observes a launch for these checks, and for who else observes it.
type inspector struct {
	r      *Running
	inner  Observer // nil nobody
	wanted []bool   // by instruction: inner wants to see it
	lanes  bool
	views  bool
}

// inspected is who observes a launch, with the checks that its options ask for.
func (r *Running) inspected() Observer {
	o := &r.options
	if !o.WarpRaces && !o.Views {
		return r.observer
	}
	return &inspector{r: r, inner: r.observer, wanted: make([]bool, len(r.Kernel.Code)), lanes: o.WarpRaces, views: o.Views}
}

// Wants is part of Observer.
func (s *inspector) Wants(at int32) bool {
	s.wanted[at] = s.inner != nil && s.inner.Wants(at)
	in := &s.r.Kernel.Code[at]
	orders := in.Kind == code.KindBarrier || in.Kind == code.KindFence || in.Kind == code.KindMbarrier || in.Meet != code.MeetNobody
	return s.wanted[at] || s.lanes && orders || in.Kind == code.KindLoad || in.Kind == code.KindStore || in.Kind == code.KindAtomic ||
		in.Kind == code.KindCopyAsync
}

// Open is part of Observer.
func (s *inspector) Open(b *Block) BlockObserver {
	seen := &inspecting{s: s}
	if s.inner != nil {
		seen.inner = s.inner.Open(b)
	}
	if s.lanes {
		seen.lanes = memory.NewLanes(len(b.warps), b.kernel.Shared+b.Running.Request.SharedBytes)
	}
	return seen
}

// Close is part of Observer.
func (s *inspector) Close(ctx context.Context, b *Block, seen BlockObserver) error {
	if s.inner == nil {
		return nil
	}
	return s.inner.Close(ctx, b, seen.(*inspecting).inner)
}

// Finish is part of Observer.
func (s *inspector) Finish(r *Running, result *Result) error {
	if s.inner == nil {
		return nil
	}
	return s.inner.Finish(r, result)
}

// inspecting observes one block.
type inspecting struct {
	s     *inspector
	inner BlockObserver
	lanes *memory.Lanes // nil: not asked for
}

// After is part of BlockObserver.
func (i *inspecting) After(b *Block, w *Warp, at int32, active, taken uint32) {
	if i.inner != nil && i.s.wanted[at] {
		i.inner.After(b, w, at, active, taken)
	}
}

// Before is part of BlockObserver.
func (i *inspecting) Before(b *Block, w *Warp, at int32, active, taken uint32) {
	if i.inner != nil && i.s.wanted[at] {
		i.inner.Before(b, w, at, active, taken)
	}
	if taken == 0 {
		return
	}
	in := &b.code[at]
	if i.s.views {
		b.checkViews(w, in, at, taken)
	}
	if i.lanes != nil {
		b.checkLanes(i.lanes, w, in, at, taken)
	}
}

// checkLanes looks at what orders lanes of a warp, and at what they do in shared memory.
func (b *Block) checkLanes(s *memory.Lanes, w *Warp, in *code.Inst, at int32, taken uint32) {
	switch {
	case in.Kind == code.KindFence:
		s.Fence()
	case in.Kind == code.KindBarrier:
		if whole := w.live&^w.ending()&^taken == 0; whole && !b.kernel.Barriers[in.Detail].Arrive {
			s.Meet(w.Index, w.live, w.live)
			return
		}
		s.Tell(w.Index, taken, !b.kernel.Barriers[in.Detail].Arrive)
	case in.Kind == code.KindMbarrier:
		s.Tell(w.Index, taken, false)
	case in.Meet == code.MeetMask:
		for left := taken; left != 0; {
			same := w.alike(in, left)
			left &^= same
			s.Meet(w.Index, (w.members(in, same)|same)&w.live, w.live)
		}
	case in.Meet == code.MeetWarp:
		s.Meet(w.Index, taken, w.live)
	case in.Kind == code.KindLoad || in.Kind == code.KindStore || in.Kind == code.KindAtomic:
		b.checkLaneAccess(s, w, in, at, taken)
	}
}

func (b *Block) checkLaneAccess(s *memory.Lanes, w *Warp, in *code.Inst, at int32, taken uint32) {
	t := in.Mem
	order := t.Order
	if in.Kind == code.KindAtomic {
		order = max(order, memory.Relaxed)
	}
	if s.Orders(order) {
		s.Tell(w.Index, taken, false)
	}
	if in.Hidden || t.Space != ptx.Shared && t.Space != ptx.Generic {
		return
	}
	if t.Space == ptx.Generic && !w.inShared(t, taken) {
		return
	}
	f := b.mem.LookAtLanes(s, &w.Regs, t, w.Index, taken, in.Kind == code.KindStore, in.Kind == code.KindAtomic)
	if f != nil {
		b.fault(w, at, f)
	}
}

// inShared reports whether the generic addresses of lanes are all those of shared memory.
func (w *Warp) inShared(t *memory.Transfer, lanes uint32) bool {
	for m := lanes; m != 0; m &= m - 1 {
		if address := w.addressOf(t, first(m)); address-memory.SharedWindow >= memory.LocalWindow-memory.SharedWindow {
			return false
		}
	}
	return true
}

// addressOf is the address of one lane's access.
func (w *Warp) addressOf(t *memory.Transfer, l int) uint64 {
	switch {
	case t.Absolute:
		return uint64(t.Offset)
	case t.Narrow:
		return uint64(w.Regs.R32[t.Address][l] + uint32(t.Offset))
	}
	return w.Regs.R64[t.Address][l] + uint64(t.Offset)
}

// checkViews looks whether an access leaves the view of an array that its pointer was passed for, and stays in the array.
func (b *Block) checkViews(w *Warp, in *code.Inst, at int32, taken uint32) {
	t, bytes := in.Mem, uint64(0)
	switch in.Kind {
	case code.KindLoad, code.KindStore, code.KindAtomic:
		bytes = uint64(t.Elem * t.Count)
	case code.KindCopyAsync:
		c := &b.Running.copies[in.Detail]
		t, bytes = &c.From, uint64(c.Bytes)
	default:
		return
	}
	if t.Legal == 0 || in.Hidden || t.Part != 0 {
		return
	}
	var found *memory.Fault
	for m := taken; m != 0; m &= m - 1 {
		l := first(m)
		n := bytes
		if in.Kind == code.KindCopyAsync {
			if size := b.Running.copies[in.Detail].Size; size >= 0 {
				n = min(n, uint64(w.Regs.R32[size][l]))
			}
		}
		f := b.Running.leavesView(t.Legal, w.addressOf(t, l), n)
		switch {
		case f == nil:
		case found == nil:
			found = f
			f.Lane, f.Lanes, f.Store, f.Atomic = l, 1<<l, in.Kind == code.KindStore || in.Kind == code.KindAtomic, in.Kind == code.KindAtomic
		default:
			found.Lanes |= 1 << l
		}
	}
	if found != nil {
		b.fault(w, at, found)
	}
}

// leavesView is what is wrong with an access of n bytes by a pointer that derives from some parameters, nil nothing: it is in a view of
// one of them, or outside of all arrays.
func (r *Running) leavesView(legal, address, n uint64) *memory.Fault {
	allocation, offset := r.Global.Host(address)
	if allocation < 0 || allocation >= r.FirstVariable || n == 0 || offset+n > uint64(len(r.Request.Memory[allocation].Bytes)) {
		return nil
	}
	var f *memory.Fault
	for i := range r.Request.Params {
		a := &r.Request.Params[i]
		if legal>>min(i, 63)&1 == 0 || a.Allocation != allocation {
			continue
		}
		if len(a.View) != 2 {
			return nil
		}
		host := r.Request.Memory[allocation].Host
		begin, end := a.View[0]-host, a.View[1]-host
		if offset >= begin && offset+n <= end {
			return nil
		}
		says := fmt.Sprintf("reaches %s beyond its end", bytesText(offset+n-min(end, offset+n)))
		if offset < begin {
			says = fmt.Sprintf("begins %s before its start", bytesText(begin-offset))
		}
		f = &memory.Fault{
			Check: memory.OutsideView, Address: address, Bytes: int(n), Nearest: nameOf(a, i), Size: end - begin, Says: says,
			Other: memory.Party{Warp: -1, Inst: -1},
		}
	}
	return f
}

func nameOf(a *Argument, number int) string {
	if a.Name != "" {
		return a.Name
	}
	return fmt.Sprintf("argument %d", number)
}

// sayFreed makes an access out of bounds one of freed memory if an array was there once. Only loaded and bare addresses are those of
// the process: others never lead there.
func (r *Running) sayFreed(f *memory.Fault) {
	if f.Check != memory.OutOfBounds || f.Address >= memory.SharedWindow || f.Nearest == "shared memory" || f.Nearest == "local memory" {
		return
	}
	freed := func(name string, from, bytes uint64) {
		f.Check, f.Nearest, f.Distance, f.Size = memory.UseAfterFree, name, 0, bytes
		f.Says = fmt.Sprintf("%s (%s), %s behind its start", orNone(name), bytesText(bytes), bytesText(f.Address-from))
	}
	for i := range r.Request.Freed {
		if old := &r.Request.Freed[i]; f.Address-old.Address < old.Bytes {
			freed(old.Name, old.Address, old.Bytes)
			return
		}
	}
	if s := r.Request.Standing; s != nil {
		if old, ok := s.Freed(f.Address); ok {
			freed(old.Name, old.Host, old.Bytes)
		}
	}
}
