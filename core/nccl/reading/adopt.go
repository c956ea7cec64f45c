package reading

import "github.com/prlx-go/prlx/core/nccl/operation"

// What a proxy does for another process of its host (PXN) is recorded by the process that does it, with the handle of an operation of the
// other one. Here it is tied to that operation: a copy of it, with its steps, goes into the recording that has the operation.

// foreign is a proxy operation of another process.
type foreign struct{ recording, proxy int32 }

// claim is a handle of another process of a host. Handles of one host can be alike where two processes drew the same cookie.
type claim struct {
	boot   string
	handle uint64
}

// adopt ties proxy operations to the operations of other processes that they were done for.
func adopt(all []*operation.Recording) {
	wanted := map[claim][]foreign{}
	for ri, r := range all {
		for pi := range r.Proxies {
			if p := &r.Proxies[pi]; p.Foreign && r.BootID != "" {
				k := claim{r.BootID, p.Parent}
				wanted[k] = append(wanted[k], foreign{int32(ri), int32(pi)})
			}
		}
	}
	if len(wanted) == 0 {
		return
	}
	found := map[claim][]owner{}
	for ri, r := range all {
		for oi := range r.Ops {
			k := claim{r.BootID, r.Ops[oi].Handle}
			if _, ok := wanted[k]; ok && r.Ops[oi].Kind != operation.CopyEngine {
				found[k] = append(found[k], owner{int32(ri), int32(oi)})
			}
		}
	}
	adopted := map[int32]bool{}
	for ri, r := range all { // in their order, and not in the map's
		for pi := range r.Proxies {
			p := &r.Proxies[pi]
			if !p.Foreign {
				continue
			}
			o, ok := ownerOf(all, p, found[claim{r.BootID, p.Parent}])
			if !ok || o.recording == int32(ri) {
				continue
			}
			p.Other = o.recording
			take(all[o.recording], o.op, r, pi, int32(ri))
			adopted[o.recording] = true
		}
	}
	for ri := range adopted {
		layProxies(all[ri])
	}
}

// owner is an operation that has the handle.
type owner struct{ recording, op int32 }

// ownerOf picks the operation that a proxy operation belongs to. The number of the process, which NCCL passes, decides where several have
// the handle; alone it says little: a process in another namespace or a forked one passes another.
func ownerOf(all []*operation.Recording, p *operation.ProxyOp, from []owner) (owner, bool) {
	if len(from) == 1 {
		return from[0], true
	}
	var one owner
	n := 0
	for _, o := range from {
		if all[o.recording].PID == uint32(p.PID) {
			one, n = o, n+1
		}
	}
	return one, n == 1
}

// take copies a proxy operation and its steps into the recording whose operation it is. Both count from CLOCK_REALTIME as it was when each
// began; CLOCK_MONOTONIC, which they share, relates them.
func take(to *operation.Recording, op int32, from *operation.Recording, proxy int, doer int32) {
	d := to.WallOffsetNS - from.WallOffsetNS
	shift := func(ns int64) int64 { return ns + d }
	p := from.Proxies[proxy]
	p.Foreign, p.Adopted, p.Other, p.Op, p.Member = false, true, doer, op, to.Ops[op].Member
	p.Shift(shift)
	at := int32(len(to.Proxies))
	for i := p.StepFrom; i < p.StepTo; i++ {
		s := from.Steps[i]
		s.Proxy = at
		s.Shift(shift)
		to.Steps = append(to.Steps, s)
	}
	to.Proxies = append(to.Proxies, p)
}
