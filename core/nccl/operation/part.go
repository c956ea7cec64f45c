package operation

import "strings"

// Codes of events, for Recording.Records.
const (
	CodeColl      = 1
	CodeP2P       = 2
	codeProxyOp   = 3
	CodeProxyStep = 4
	codeKernel    = 6
)

// SeenNS is how late the host is taken to see what a GPU did, where the GPU's clock is not fitted: NCCL's threads poll every few microseconds.
const SeenNS = 50_000

// Progress is how far a member has got with an operation.
type Progress uint8

// How far a member has got, as far as its recording tells.
const (
	Called   Progress = iota // it was scheduled; whether it began is not recorded
	Queued                   // it was scheduled and its kernel has not begun, which would have been recorded
	Running                  // it has begun and not ended
	Finished                 // it has ended
)

// Extent is when a member executed an operation, and how far it has got.
type Extent struct {
	Progress Progress
	CalledNS int64 // the call began; without API events, it was scheduled
	BeganNS  int64 // first evidence of its kernel or proxies; 0 none
	EndedNS  int64 // the true end: of the last kernel channel or proxy operation; 0 not ended, or not known
	MovedNS  int64 // the last event of any kind
	BoundNS  int64 // how far off began and ended can be; -1 unknown
	Kernels  bool  // kernels tell it
	Proxies  bool  // proxy operations tell it
}

// Extent works out when a member executed an operation.
func (r *Recording) Extent(op *Op) Extent {
	e := Extent{CalledNS: op.StartNS, MovedNS: max(op.StartNS, op.StopNS), BoundNS: -1}
	replay := op.Captured && op.Occurrence > 0
	if op.API >= 0 && !replay {
		e.CalledNS = min(e.CalledNS, r.APIs[op.API].StartNS)
	}
	began, ended, open := r.kernels(op, &e)
	proxied, done, busy := r.proxies(op, &e)
	if began == 0 || proxied > 0 && !e.Kernels {
		began = max(began, proxied)
	}
	e.BeganNS = began
	waits := r.KernelsTold && !e.Kernels && r.records(codeKernel, e.CalledNS) && op.Kind != CopyEngine && !(op.Kind != Collective && op.Peer == r.rankOf(op))
	switch {
	case waits && done == 0:
		e.Progress, e.BeganNS = Queued, 0
	case open || busy:
		e.Progress = Running
	case e.Kernels:
		e.Progress, e.EndedNS = Finished, max(ended, done)
	case e.Proxies:
		e.Progress, e.EndedNS = Finished, done
	}
	return e
}

// rankOf is the rank of an operation's member in its communicator; -2 unknown.
func (r *Recording) rankOf(op *Op) int32 {
	if op.Member < 0 || int(op.Member) >= len(r.Members) {
		return -2
	}
	return r.Members[op.Member].Rank
}

// kernels looks at the channels of an operation's kernel.
func (r *Recording) kernels(op *Op, e *Extent) (began, ended int64, open bool) {
	for i := op.KernelFrom; i < op.KernelTo; i++ {
		k := &r.Kernels[i]
		if !e.Kernels || k.StartNS < began {
			began = k.StartNS
		}
		e.BoundNS = max(e.BoundNS, k.BoundNS)
		e.Kernels, open = true, open || !k.Stopped
		ended = max(ended, k.StopNS)
		e.MovedNS = max(e.MovedNS, k.CallStartNS, k.CallStopNS)
	}
	return began, ended, open
}

// proxies looks at the proxy operations of an operation. Only those of networks end: one that has not, of an operation whose kernels have,
// says nothing.
func (r *Recording) proxies(op *Op, e *Extent) (began, ended int64, open bool) {
	for i := op.ProxyFrom; i < op.ProxyTo; i++ {
		p := &r.Proxies[i]
		at := max(p.ProgressNS, p.FirstNS)
		if p.ProgressNS > 0 && p.FirstNS > 0 {
			at = min(p.ProgressNS, p.FirstNS)
		}
		if at > 0 && (began == 0 || at < began) {
			began = at
		}
		e.Proxies = true
		ended = max(ended, p.StopNS)
		e.MovedNS = max(e.MovedNS, p.StartNS, p.ProgressNS, p.LastNS, p.StopNS)
		open = open || p.StopNS == 0 && !e.Kernels
	}
	return began, ended, open
}

// TypeBytes is the size of an element, 0 of a type that is not known.
func TypeBytes(name string) int64 {
	name = strings.ToLower(strings.TrimPrefix(name, "nccl"))
	switch name {
	case "int8", "char", "uint8", "float8e4m3", "float8e5m2":
		return 1
	case "float16", "half", "bfloat16":
		return 2
	case "int32", "int", "uint32", "float32", "float":
		return 4
	case "int64", "uint64", "float64", "double":
		return 8
	}
	return 0
}
