package tracks

import (
	"fmt"

	"github.com/prlx-go/prlx/core/nccl/operation"
)

// lines collects the slices of one rank.
type lines struct {
	b               *builder
	r               *operation.Recording
	recording, seat int32
	drafts          map[string]*draft
}

// mine reports whether a member of a communicator is this rank.
func (l *lines) mine(member int32) bool {
	return member >= 0 && int(member) < len(l.r.Members) && l.r.Members[member].Seat == l.seat
}

// add draws a slice. What has no end goes on to the end of the recording.
func (l *lines) add(line string, order int, s Slice) {
	if s.StartNS <= 0 {
		l.b.t.Timeless++
		return
	}
	if s.StopNS <= 0 {
		s.StopNS, s.Open = l.r.LastNS, true
	}
	s.StopNS = max(s.StopNS, s.StartNS+1) // viewers bind flows to what has a length
	d := l.drafts[line]
	if d == nil {
		d = &draft{name: line, order: order}
		l.drafts[line] = d
	}
	d.all = append(d.all, s)
}

// The order of lines.
const (
	callsFirst = iota
	thenOperations
	thenKernels
	thenSends
	thenReceives
	thenSteps
)

// calls draws what the program called, and launches.
func (l *lines) calls() {
	r := l.r
	for i := range r.Groups {
		if g := &r.Groups[i]; l.mine(g.Member) {
			l.add("calls", callsFirst, Slice{Name: "group", StartNS: g.StartNS, StopNS: g.StopNS, Kind: Group, Index: int32(i)})
		}
	}
	for i := range r.APIs {
		if a := &r.APIs[i]; l.mine(a.Member) {
			l.add("calls", callsFirst, Slice{Name: "nccl" + r.Name(a.Func), StartNS: a.StartNS, StopNS: a.StopNS, Kind: API, Index: int32(i)})
		}
	}
	for i := range r.Launch {
		if k := &r.Launch[i]; l.mine(k.Member) {
			l.add("calls", callsFirst, Slice{Name: "launch", StartNS: k.StartNS, StopNS: k.StopNS, Kind: Launch, Index: int32(i)})
		}
	}
}

// operations draws operations from when they were scheduled to when all that is known of them had ended, and their kernels.
func (l *lines) operations() {
	r := l.r
	for i := range r.Ops {
		op := &r.Ops[i]
		if !l.mine(op.Member) {
			continue
		}
		s := Slice{Name: l.title(op), StartNS: op.StartNS, StopNS: op.StopNS, Kind: Operation, Index: int32(i)}
		s.StopNS, s.Open = l.end(op)
		comm := l.comm(op.Member)
		l.add("operations of "+comm, thenOperations, s)
		for k := op.KernelFrom; k < op.KernelTo; k++ {
			kernel := &r.Kernels[k]
			one := Slice{Name: s.Name, StartNS: kernel.StartNS, StopNS: kernel.StopNS, Kind: Kernel, Index: k}
			if one.StartNS == 0 { // nobody has looked at its clock
				one.StartNS, one.StopNS = kernel.CallStartNS, kernel.CallStopNS
			}
			if !kernel.Stopped {
				one.StopNS = 0
			}
			l.add(fmt.Sprintf("kernels of %s, channel %02d", comm, kernel.Channel), thenKernels, one)
		}
	}
}

// end is when the last part of an operation had ended, and whether one has not.
func (l *lines) end(op *operation.Op) (ns int64, open bool) {
	ns, open = op.StopNS, op.StopNS == 0
	for k := op.KernelFrom; k < op.KernelTo; k++ {
		kernel := &l.r.Kernels[k]
		ns, open = max(ns, kernel.StopNS), open || !kernel.Stopped
	}
	for k := op.ProxyFrom; k < op.ProxyTo; k++ {
		ns, open = max(ns, l.r.Proxies[k].StopNS), open || l.r.Proxies[k].StopNS == 0
	}
	if open {
		return l.r.LastNS, true
	}
	return ns, false
}

// title is what an operation is called: "AllReduce #12", "Send to 3".
func (l *lines) title(op *operation.Op) string {
	name := l.r.Name(op.Func)
	switch op.Kind {
	case operation.Send:
		return fmt.Sprintf("Send to %d", op.Peer)
	case operation.Recv:
		return fmt.Sprintf("Recv from %d", op.Peer)
	}
	if op.Occurrence > 0 {
		return fmt.Sprintf("%s #%d.%d", name, op.Sequence, op.Occurrence)
	}
	return fmt.Sprintf("%s #%d", name, op.Sequence)
}

// comm is what a member's communicator is called.
func (l *lines) comm(member int32) string {
	m := &l.r.Members[member]
	if c := m.Comm; c >= 0 && int(c) < len(l.b.t.Job.Comms) {
		return l.b.t.Job.Comms[c].Name
	}
	if m.Name != "" {
		return m.Name
	}
	return fmt.Sprintf("%#x", m.ID)
}

// proxies draws what proxy threads sent and received, and the steps that are listed.
func (l *lines) proxies() {
	r := l.r
	for i := range r.Proxies {
		p := &r.Proxies[i]
		member := p.Member
		if p.Foreign && l.seat != 0 || !p.Foreign && !l.mine(member) {
			continue
		}
		comm, name := "other processes (PXN)", ""
		if member >= 0 && int(member) < len(r.Members) {
			comm = l.comm(member)
		}
		if p.Op >= 0 && int(p.Op) < len(r.Ops) {
			name = " " + l.title(&r.Ops[p.Op])
		}
		verb, way, order := "recv", "from", thenReceives
		if p.Send {
			verb, way, order = "send", "to", thenSends
		}
		line := fmt.Sprintf("%s %s rank %d of %s, channel %02d", verb, way, p.Peer, comm, p.Channel)
		l.add(line, order, Slice{Name: verb + name, StartNS: p.StartNS, StopNS: p.StopNS, Kind: Proxy, Index: int32(i)})
		for k := p.StepFrom; k < p.StepTo; k++ {
			s := &r.Steps[k]
			l.add("steps: "+line, thenSteps, Slice{Name: fmt.Sprintf("step %d", s.Number), StartNS: s.StartNS, StopNS: s.StopNS, Kind: Step, Index: k})
		}
	}
}
