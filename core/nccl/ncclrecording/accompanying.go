package ncclrecording

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/tracks"
	"github.com/prlx-go/prlx/core/trace/source"
)

var (
	_ source.Accompanying = (*Recording)(nil)
	_ source.Recorded     = (*Recording)(nil)
)

// processOf says which process a recording is of. Of one that drives several GPUs no rank is meant; else it is that in the largest communicator.
func processOf(t *tracks.Tracks) source.ProcessID {
	one := t.Job.Recordings[0]
	id := source.ProcessID{Host: one.Host, PID: int64(one.PID)}
	if len(t.Job.Ranks) == 1 && t.Job.Ranks[0].World >= 0 {
		rank := int64(t.Job.Ranks[0].World)
		id.Rank = &rank
	}
	return id
}

// Process is the process that was recorded.
func (r *Recording) Process() source.ProcessID { return r.Of }

// Move moves all instants. It is for before they are read: what has been drawn is moved as well.
func (r *Recording) Move(ns int64) {
	r.MovedNS += ns
	r.once, r.drawn, r.err = sync.Once{}, nil, nil
	r.Said.StartNS, r.Said.StopNS = r.Said.StartNS+ns, r.Said.StopNS+ns
	r.Said.First.NS, r.Said.Last.NS = r.Said.First.NS+ns, r.Said.Last.NS+ns
	for i := range r.Processes {
		for _, l := range r.Processes[i].Lines {
			l.TimestampNS += ns
		}
	}
}

// kernel is one kernel: what its channels did for all operations that it executed.
type kernel struct {
	source.Execution
	ops   int
	first int32 // operation
}

// kernels are those of a recording, in order of time.
func kernels(one *operation.Recording) []kernel {
	type launch struct{ member, launch, occurrence, op int32 }
	at := map[launch]int{}
	var out []kernel
	for i := range one.Ops {
		op := &one.Ops[i]
		k := launch{op.Member, op.Launch, op.Occurrence, -1}
		if op.Launch < 0 || op.Kind == operation.Collective {
			k.op = int32(i)
		}
		n, ok := at[k]
		for c := op.KernelFrom; c < op.KernelTo; c++ {
			one := &one.Kernels[c]
			if one.StartNS <= 0 || one.StopNS < one.StartNS || !one.Stopped {
				continue
			}
			if !ok {
				n, ok = len(out), true
				at[k] = n
				out = append(out, kernel{Execution: source.Execution{StartNS: one.StartNS, EndNS: one.StopNS, BoundNS: one.BoundNS}, first: int32(i)})
			}
			x := &out[n]
			x.StartNS, x.EndNS = min(x.StartNS, one.StartNS), max(x.EndNS, one.StopNS)
			if x.BoundNS >= 0 {
				x.BoundNS = max(x.BoundNS, one.BoundNS)
			}
			if one.BoundNS < 0 {
				x.BoundNS = -1
			}
		}
		if ok {
			out[n].ops++
			if out[n].Function = one.Name(op.Func); op.Kind != operation.Collective {
				out[n].Function = "SendRecv"
			}
		}
	}
	slices.SortStableFunc(out, func(a, b kernel) int { return cmp.Compare(a.StartNS, b.StartNS) })
	return out
}

// Executed visits the kernels of NCCL. Collectives of one group are one kernel as well, and are visited as one each: their stamps tell.
func (r *Recording) Executed(ctx context.Context, src *file.Source, visit func(k *source.Execution)) error {
	t, err := r.draw(ctx, src)
	if err != nil {
		return err
	}
	last := source.Execution{}
	for _, k := range kernels(t.Job.Recordings[0]) {
		if k.Execution != last {
			visit(&k.Execution)
		}
		last = k.Execution
	}
	return nil
}

// Communication visits the collectives, as one that matches those of other recordings: by communicator, function, sequence and occurrence.
func (r *Recording) Communication(ctx context.Context, src *file.Source, visit func(k *source.Communication)) (omitted int64, err error) {
	t, err := r.draw(ctx, src)
	if err != nil {
		return 0, err
	}
	one := t.Job.Recordings[0]
	if len(t.Job.Ranks) > 1 {
		return 0, nil // several ranks, and nodes are one
	}
	for _, k := range kernels(one) {
		op := &one.Ops[k.first]
		if op.Kind != operation.Collective || op.Member < 0 || int(op.Member) >= len(one.Members) {
			continue
		}
		m := &one.Members[op.Member]
		if m.ID == 0 || m.Ranks < 2 {
			continue
		}
		c := &source.Communication{
			Name: "nccl " + k.Function, Collective: strings.ToLower(k.Function), Group: "nccl " + strconv.FormatUint(m.ID, 16), Description: m.Name, GroupSize: int64(m.Ranks),
			Elements: int64(op.Count), ID: int64(tracks.Number(m.ID, one.Name(op.Func), op.Sequence, uint64(op.Occurrence))), HasCollective: true, HasID: true,
		}
		c.Process, c.Line = 0, 0
		c.Start, c.EndNS = source.Instant{NS: k.StartNS}, k.EndNS
		visit(c)
	}
	return 0, nil
}

// Around visits nothing: operations carry their names.
func (*Recording) Around(context.Context, *file.Source, source.AroundVisitor) error { return nil }

// Groups are not recorded.
func (*Recording) Groups(context.Context, *file.Source) (map[string]*source.Distributed, error) {
	return nil, nil
}

// WriteXSpace writes the recording as an XSpace.
func (r *Recording) WriteXSpace(ctx context.Context, src *file.Source, w io.Writer) error {
	t, err := r.draw(ctx, src)
	if err != nil {
		return err
	}
	return t.WriteXSpace(ctx, w)
}

// FlowEnds visits the flows of the recording, and what its proxies send to those of others and receive from them.
func (r *Recording) FlowEnds(ctx context.Context, src *file.Source, visit func(e *source.FlowEnd)) error {
	t, err := r.draw(ctx, src)
	if err != nil {
		return err
	}
	one := t.Job.Recordings[0]
	end := func(n uint64, begins bool, p tracks.Place, ns int64) {
		visit(&source.FlowEnd{Number: n, Begins: begins, Process: p.Process, Line: p.Line, NS: ns})
	}
	for i := range t.Flows {
		f := &t.Flows[i]
		n := tracks.Number(uint64(one.PID), one.BootID, uint64(one.Cookie), uint64(i))
		end(n, true, f.From, f.FromNS)
		end(n, false, f.To, f.ToNS)
	}
	for pi := range t.Processes {
		for li := range t.Processes[pi].Lines {
			for si := range t.Processes[pi].Lines[li].Slices {
				s := &t.Processes[pi].Lines[li].Slices[si]
				if s.Kind != tracks.Proxy {
					continue
				}
				if n, ok := wayOf(one, &one.Proxies[s.Index]); ok {
					at := s.StartNS + 1
					if !one.Proxies[s.Index].Send {
						at = max(s.StopNS-1, s.StartNS) // it has come when the receiver is done: so no flow goes back in time
					}
					end(n, one.Proxies[s.Index].Send, tracks.Place{Process: int32(pi), Line: int32(li), Slice: int32(si)}, at)
				}
			}
		}
	}
	return nil
}

// wayOf is the number that a send and its receive share; false: it is not known whose they are.
func wayOf(one *operation.Recording, p *operation.ProxyOp) (uint64, bool) {
	if p.Foreign || p.Op < 0 || int(p.Op) >= len(one.Ops) || p.Member < 0 || int(p.Member) >= len(one.Members) {
		return 0, false
	}
	m, op := &one.Members[p.Member], &one.Ops[p.Op]
	if m.ID == 0 || m.Rank < 0 {
		return 0, false
	}
	from, to := m.Rank, p.Peer
	if !p.Send {
		from, to = to, from
	}
	function := one.Name(op.Func)
	if op.Kind != operation.Collective {
		function = "SendRecv"
	}
	return tracks.Number(m.ID, function, op.Sequence, uint64(op.Occurrence), uint64(from), uint64(to), uint64(p.Channel)), true
}
