package reading

import "github.com/prlx-go/prlx/core/nccl/operation"

// stop takes the end of an event; last: its start will not come any more.
func (b *builder) stop(handle uint64, ns int64, last bool) {
	code := codeOf(handle)
	if code == codeProxyCtrl {
		delete(b.ctrl, handle)
		return
	}
	if code == codeNet || code > codeCopyEngine {
		return
	}
	n := b.find(handle)
	if n < 0 {
		b.wait(later{handle: handle, ns: ns, stop: true}, code, last)
		return
	}
	switch code {
	case codeColl, codeP2P, codeCopyEngine:
		once(&b.out.Ops[n].StopNS, ns)
	case codeProxyOp:
		once(&b.out.Proxies[n].StopNS, ns)
	case codeProxyStep:
		b.stopStep(n, ns)
	case codeKernel:
		k := &b.out.Kernels[n]
		k.Stopped = true
		once(&k.CallStopNS, ns)
	case codeGroupAPI:
		once(&b.out.Groups[n].StopNS, ns)
	case codeCollAPI, codeP2PAPI:
		once(&b.out.APIs[n].StopNS, ns)
	case codeLaunch:
		once(&b.out.Launch[n].StopNS, ns)
	}
}

// once sets an instant that was not set: NCCL stops handles twice, and graphs stop those of their capture.
func once(at *int64, ns int64) {
	if *at == 0 {
		*at = ns
	}
}

// wait keeps what may be explained later. A step's start comes on the thread of its states: without it they are orphans.
func (b *builder) wait(l later, code int, last bool) {
	if last || code == codeProxyStep {
		b.out.Loss.Orphans++
		return
	}
	b.waiting = append(b.waiting, l)
}

// state takes a state of an event.
func (b *builder) state(handle uint64, state uint32, value uint64, number int32, ns int64, last bool) {
	code := codeOf(handle)
	if code == codeProxyCtrl {
		b.control(handle, state, value, ns)
		return
	}
	if code != codeProxyStep && code != codeProxyOp && code != codeKernel && code != codeGroupAPI {
		return
	}
	n := b.find(handle)
	if n < 0 {
		b.wait(later{handle: handle, value: value, ns: ns, state: state}, code, last)
		return
	}
	switch {
	case code == codeProxyStep:
		b.stepState(n, state, value, ns)
	case code == codeProxyOp:
		b.proxyState(n, state, value, number, ns)
	case code == codeKernel && state == stateKernelStop:
		k := &b.out.Kernels[n]
		k.Stopped = true
		once(&k.CallStopNS, ns)
		if value > 0 && value < 1<<62 {
			k.GPUStopNS = int64(value)
		}
	case code == codeGroupAPI && state == stateGroupedLast:
		once(&b.out.Groups[n].EnqueuedNS, ns)
	}
}

// proxyState takes a state of a proxy operation. Those up to 7 are of NCCL 2.23 to 2.26: they say how many steps have got so far.
func (b *builder) proxyState(n int32, state uint32, value uint64, number int32, ns int64) {
	op := &b.out.Proxies[n]
	switch {
	case state == stateInProgress:
		once(&op.ProgressNS, ns)
	case state <= stateOpDoneRecv:
		once(&op.ProgressNS, ns)
		op.LastNS = max(op.LastNS, ns)
		if b.live[n].open == 0 && op.Begun == 0 { // no steps are recorded beside them
			op.Stage = [8]operation.Stage{operation.SendGPUWait, operation.SendPeerWait, operation.SendWait, 0, operation.RecvWait, operation.RecvFlushWait, operation.RecvGPUWait, 0}[state]
		}
		if (state == stateOpDoneSend || state == stateOpDoneRecv) && number > 0 && op.Begun == 0 {
			op.Finished = max(op.Finished, number)
			op.Bytes = max(op.Bytes, int64(min(value, 1<<50)))
		}
	}
}

// control takes what a proxy thread says of itself.
func (b *builder) control(handle uint64, state uint32, value uint64, ns int64) {
	c, c0 := &b.out.Control, b.ctrl[handle]
	if c.FirstNS == 0 {
		c.FirstNS = ns
	}
	c.LastNS = max(c.LastNS, ns)
	switch state {
	case stateIdle:
		c.Idles++
	case stateSleep:
		c.Sleeps++
	case stateActive:
		if c0.state == stateIdle {
			c.IdleNS += max(ns-c0.ns, 0)
		}
	case stateWakeup:
		if c0.state == stateSleep {
			c.SleepNS += max(ns-c0.ns, 0)
		}
	case stateAppended:
		c.Appends++
		c.Appended += int(min(value, 1<<20))
	}
	b.ctrl[handle] = control{state, ns}
}
