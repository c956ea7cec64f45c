// Package dividing says where the time of a job's NCCL operations went: by operation and rank, in parts that add up, with the rank that the
// others waited for; how fast data moved, and over which links slowly. It takes operations as `joining` matched them. Who was late, and what
// that cost, `straggler` computes of them.
package dividing

import (
	"github.com/prlx-go/prlx/core/nccl/operation"
)

// Parts is the time of one rank in one operation, from its call to its true end. The parts add up to it.
type Parts struct {
	LaunchNS     int64 `json:"launch_ns"`     // the host, from the call until the kernel was launched
	SchedulingNS int64 `json:"scheduling_ns"` // the launched kernel waited on the GPU for what was before it
	WaitingNS    int64 `json:"waiting_ns"`    // the kernel had begun, and that of the last rank had not
	KernelNS     int64 `json:"kernel_ns"`     // all had begun; the GPU worked, or nothing else is known to have
	ProxyNS      int64 `json:"proxy_ns"`      // the proxy thread had work and did none of the following
	CreditNS     int64 `json:"credit_ns"`     // the receiver gave no buffer
	NetworkNS    int64 `json:"network_ns"`    // the network sent, or had not brought what was awaited
	FlushNS      int64 `json:"flush_ns"`      // what came was flushed to the GPU
}

// Total is the time that was divided.
func (p *Parts) Total() int64 {
	return p.LaunchNS + p.SchedulingNS + p.WaitingNS + p.KernelNS + p.ProxyNS + p.CreditNS + p.NetworkNS + p.FlushNS
}

// Add adds parts.
func (p *Parts) Add(o *Parts) {
	p.LaunchNS += o.LaunchNS
	p.SchedulingNS += o.SchedulingNS
	p.WaitingNS += o.WaitingNS
	p.KernelNS += o.KernelNS
	p.ProxyNS += o.ProxyNS
	p.CreditNS += o.CreditNS
	p.NetworkNS += o.NetworkNS
	p.FlushNS += o.FlushNS
}

// whole is an operation of which all members are known to have begun and ended.
type whole struct {
	Match   int32
	Last    int32 // place in Job.Parts of the one that began last
	LeadNS  int64 // by how much it began after the one before
	BoundNS int64 // how far off that can be; -1 unknown
	BeganNS int64 // when the last one did
	EndedNS int64 // when the last one did
}

// extents works out when every part was executed, by place in Job.Parts.
func extents(job *operation.Job) []operation.Extent {
	out := make([]operation.Extent, len(job.Parts))
	for i := range job.Parts {
		p := &job.Parts[i]
		out[i] = job.Recordings[p.Recording].Extent(job.Op(p))
	}
	return out
}

// whole looks at an operation; false: a member has no part in it, or its begin or its end is not known.
func (d *division) whole(mi int32) (whole, bool) {
	m := &d.job.Matches[mi]
	w := whole{Match: mi, Last: m.From, BoundNS: -1}
	if m.Kind == operation.CopyEngine || int(m.To-m.From) < d.needed(m) {
		return w, false
	}
	second := int64(0)
	for i := m.From; i < m.To; i++ {
		e := &d.ext[i]
		if e.Progress != operation.Finished || e.BeganNS == 0 || e.EndedNS < e.BeganNS {
			return w, false
		}
		switch {
		case w.BeganNS == 0 || e.BeganNS > w.BeganNS:
			second, w.BeganNS, w.Last = w.BeganNS, e.BeganNS, i
		case e.BeganNS > second:
			second = e.BeganNS
		}
		w.EndedNS = max(w.EndedNS, e.EndedNS)
		w.BoundNS = max(w.BoundNS, d.boundOf(i))
	}
	w.LeadNS = w.BeganNS - second
	return w, true
}

// needed is how many members an operation has.
func (d *division) needed(m *operation.Match) int {
	if m.Kind == operation.Send {
		if p := &d.job.Parts[m.From]; d.job.Op(p).Peer == p.Seat {
			return 1
		}
		return 2
	}
	return int(d.job.Comms[m.Comm].Ranks)
}

// boundOf is how far off the instants of a part can be on the job's clock; -1 unknown.
func (d *division) boundOf(part int32) int64 {
	p := &d.job.Parts[part]
	host := d.job.Clocks[d.job.Ranks[p.Rank].Clock].BoundNS
	if host < 0 {
		return -1
	}
	return d.ownBoundOf(part) + host + d.job.Recordings[p.Recording].ClockBoundNS
}

// ownBoundOf is how far off they can be on the clock of their host.
func (d *division) ownBoundOf(part int32) int64 {
	if own := d.ext[part].BoundNS; own >= 0 {
		return own
	}
	return operation.SeenNS
}

// parts divides the time of one part of an operation of which all is known.
func (d *division) parts(w *whole, part int32) Parts {
	e, p := &d.ext[part], &d.job.Parts[part]
	r, op := d.job.Recordings[p.Recording], d.job.Op(p)
	at := e.CalledNS
	upTo := func(ns int64) int64 { // what follows what was given before
		ns = min(max(ns, at), e.EndedNS)
		took := ns - at
		at = ns
		return took
	}
	var out Parts
	if op.Launch >= 0 && op.Occurrence == 0 {
		out.LaunchNS = upTo(min(r.Launch[op.Launch].StopNS, e.BeganNS))
	} else {
		out.LaunchNS = upTo(min(op.StartNS, e.BeganNS))
	}
	out.SchedulingNS = upTo(e.BeganNS)
	out.WaitingNS = upTo(w.BeganNS)
	d.transfer(&out, r, op, at, e.EndedNS)
	return out
}

// transfer divides what is left when all have begun, by what the proxy operation that ended last did: its time is divided by the stage of its
// oldest step. Of what lies before, waiting for data explains most, so that is taken from there first; then the rest is scaled.
func (d *division) transfer(out *Parts, r *operation.Recording, op *operation.Op, from, to int64) {
	left := to - from
	if left <= 0 {
		return
	}
	last := (*operation.ProxyOp)(nil)
	for i := op.ProxyFrom; i < op.ProxyTo; i++ {
		if p := &r.Proxies[i]; p.StopNS > 0 && p.Begun > 0 && (last == nil || p.LastNS > last.LastNS) {
			last = p
		}
	}
	if last == nil {
		out.KernelNS += left
		return
	}
	stage := last.StageNS
	before := max(min(from, last.StopNS)-last.FirstNS, 0)
	for _, s := range []operation.Stage{operation.RecvWait, operation.SendGPUWait, operation.SendPeerWait, operation.StageNone, operation.RecvGPUWait, operation.SendWait, operation.RecvFlushWait} {
		took := min(before, stage[s])
		stage[s] -= took
		before -= took
	}
	total := int64(0)
	for _, ns := range stage {
		total += ns
	}
	into := [operation.Stages]*int64{
		operation.StageNone: &out.ProxyNS, operation.SendGPUWait: &out.KernelNS, operation.RecvGPUWait: &out.KernelNS, operation.SendPeerWait: &out.CreditNS,
		operation.SendWait: &out.NetworkNS, operation.RecvWait: &out.NetworkNS, operation.RecvFlushWait: &out.FlushNS,
	}
	given := int64(0)
	inProxy := min(left, total) // the kernel does the rest, before and after
	for s, ns := range stage {
		if total == 0 {
			break
		}
		share := int64(float64(ns) * (float64(inProxy) / float64(total)))
		*into[s] += share
		given += share
	}
	out.KernelNS += left - given
}

// division is a job while it is divided.
type division struct {
	job *operation.Job
	ext []operation.Extent
}
