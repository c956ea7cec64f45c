package reading

import (
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/segment"
)

// liveStep is a step that has not ended. Those of a proxy operation are a list, oldest first.
type liveStep struct {
	handle     uint64
	proxy      int32
	prev, next int32 // of the list; next of a free slot is the next free one
	operation.Step
}

// proxyLive is a proxy operation while its steps come and go.
type proxyLive struct {
	first, last int32 // of its open steps
	open        int
	cursorNS    int64 // up to which its time has been given to stages
}

const mostLooked = 64 // open steps of an operation that a start is compared with: NCCL has 8 in flight at most

// startStep takes the start of a step. NCCL starts a step anew each time it polls for it in vain.
func (b *builder) startStep(r *segment.Record, ns int64) {
	p := b.find(r.Value)
	if p < 0 || codeOf(r.Value) != codeProxyOp {
		b.out.Loss.Orphans++
		return
	}
	number := int32(r.Extra)
	if r.Extended {
		number = r.Number
	}
	live, op := &b.live[p], &b.out.Proxies[p]
	for at, looked := live.last, 0; at >= 0 && looked < mostLooked; at, looked = b.steps[at].prev, looked+1 {
		if s := &b.steps[at]; s.Number == number {
			s.Retries++
			op.Retries++
			s.handle = r.ID
			b.h.set(r.ID, at)
			return
		}
	}
	b.spend(p, ns)
	if op.FirstNS == 0 {
		op.FirstNS = ns
	}
	op.LastNS = max(op.LastNS, ns)
	op.Begun++
	at := b.free
	if at >= 0 {
		b.free = b.steps[at].next
	} else {
		at = int32(len(b.steps))
		b.steps = append(b.steps, liveStep{})
	}
	b.steps[at] = liveStep{handle: r.ID, proxy: p, prev: live.last, next: operation.None, Step: operation.Step{Proxy: p, Number: number, Open: true, StartNS: ns, StageNS: ns}}
	if live.last >= 0 {
		b.steps[live.last].next = at
	} else {
		live.first = at
	}
	live.last = at
	live.open++
	b.h.set(r.ID, at)
}

// spend gives the time of a proxy operation, up to an instant, to the stage of its oldest step.
func (b *builder) spend(p int32, ns int64) {
	live, op := &b.live[p], &b.out.Proxies[p]
	if live.cursorNS > 0 && ns > live.cursorNS {
		stage := operation.StageNone
		if live.first >= 0 {
			stage = b.steps[live.first].Stage
		}
		op.StageNS[stage] += ns - live.cursorNS
	}
	live.cursorNS = max(live.cursorNS, ns)
}

// stages are those that states begin.
var stages = [32]operation.Stage{
	8: operation.SendGPUWait, 9: operation.SendWait, 10: operation.RecvWait, 11: operation.RecvFlushWait, 12: operation.RecvGPUWait, 20: operation.SendPeerWait,
}

// stepState takes a state of a step.
func (b *builder) stepState(at int32, state uint32, value uint64, ns int64) {
	s := &b.steps[at]
	if state >= uint32(len(stages)) || stages[state] == operation.StageNone {
		return
	}
	stage, op := stages[state], &b.out.Proxies[s.proxy]
	op.LastNS = max(op.LastNS, ns)
	if stage == s.Stage {
		s.Retries++
		op.Retries++
		return
	}
	b.spend(s.proxy, ns)
	op.SumNS[s.Stage] += max(ns-s.StageNS, 0)
	s.Stage, s.StageNS = stage, ns
	s.Entered[stage] = ns
	switch stage {
	case operation.SendWait:
		once(&op.SentNS, ns)
	case operation.RecvFlushWait, operation.RecvGPUWait:
		once(&op.CameNS, ns)
	}
	if stage == operation.RecvGPUWait {
		op.HandedNS = max(op.HandedNS, ns)
	}
	if bytes := int64(value); (stage == operation.SendWait || stage == operation.RecvFlushWait) && bytes > 0 && bytes < 1<<40 {
		s.Bytes = bytes
	}
}

// stopStep takes the end of a step.
func (b *builder) stopStep(at int32, ns int64) {
	s := &b.steps[at]
	p := s.proxy
	live, op := &b.live[p], &b.out.Proxies[p]
	b.spend(p, ns)
	op.SumNS[s.Stage] += max(ns-s.StageNS, 0)
	op.Finished++
	op.Bytes += s.Bytes
	op.LastNS = max(op.LastNS, ns)
	op.Stage = s.Stage
	s.Open, s.StopNS = false, ns
	if len(b.out.Steps) < b.opt.Steps {
		b.out.Steps = append(b.out.Steps, s.Step)
	} else {
		b.out.Loss.StepsLeftOut++
	}
	for prev, looked := s.prev, 0; prev >= 0 && looked < mostLooked; looked++ { // steps end in order: the stops of these were lost
		before := b.steps[prev].prev
		if b.steps[prev].Number < s.Number {
			b.out.Loss.Orphans++
			b.unlink(live, prev)
		}
		prev = before
	}
	b.unlink(live, at)
}

// unlink takes a step out of the list of its operation, and frees its slot.
func (b *builder) unlink(live *proxyLive, at int32) {
	s := &b.steps[at]
	if s.prev >= 0 {
		b.steps[s.prev].next = s.next
	} else {
		live.first = s.next
	}
	if s.next >= 0 {
		b.steps[s.next].prev = s.prev
	} else {
		live.last = s.prev
	}
	live.open--
	*s = liveStep{next: b.free}
	b.free = at
}

// leave lists the steps of an operation that are open. Of one that has ended they are not open: their stops were lost.
func (b *builder) leave(p int32, lastNS int64) {
	live, op := &b.live[p], &b.out.Proxies[p]
	if op.StopNS > 0 {
		b.spend(p, op.StopNS)
		b.out.Loss.Orphans += live.open
		return
	}
	if live.first >= 0 {
		op.Stage = b.steps[live.first].Stage
	}
	b.spend(p, lastNS)
	for at := live.first; at >= 0; at = b.steps[at].next {
		s := &b.steps[at]
		op.SumNS[s.Stage] += max(lastNS-s.StageNS, 0)
		b.out.Steps = append(b.out.Steps, s.Step)
	}
}
