package nccltest

// Codes of events.
const (
	Coll       = 1
	P2P        = 2
	ProxyOp    = 3
	ProxyStep  = 4
	ProxyCtrl  = 5
	KernelCh   = 6
	GroupAPI   = 8
	CollAPI    = 9
	P2PAPI     = 10
	Launch     = 11
	NetIB      = 18
	startEvent = 1
	stopEvent  = 2
	stateEvent = 3
)

// Stop writes the end of an event.
func (t *Thread) Stop(ns int64, handle uint64) {
	t.Add(Record{NS: ns, Handle: handle, Comm: -1, Kind: stopEvent, Code: uint8(handle >> 42 & 63)})
}

// State writes a state of an event.
func (t *Thread) State(ns int64, handle uint64, state uint8, value uint64) {
	t.Add(Record{NS: ns, Handle: handle, Value: value, Comm: -1, Kind: stateEvent, Code: state, Args: true, Extra: uint16(handle >> 42 & 63)})
}

func (t *Thread) start(ns int64, comm, code int, parent uint64, extra uint16, body []byte) uint64 {
	h := t.f.Handle(code)
	t.Add(Record{NS: ns, Handle: h, Value: parent, Comm: comm, Kind: startEvent, Code: uint8(code), Extra: extra, Body: body})
	return h
}

// GroupAPI begins a group of calls.
func (t *Thread) GroupAPI(ns int64, comm int) uint64 {
	body := make([]byte, 32)
	le.PutUint32(body[8:], 1)
	return t.start(ns, comm, GroupAPI, 0, 0, body)
}

// Call is a call of an operation.
type Call struct {
	Func, Datatype string
	Count          uint64
	Root           int32
	Stream         uint64
	Captured       bool
}

// API begins a call; p2p: of ncclSend or ncclRecv.
func (t *Thread) API(ns int64, comm int, group uint64, p2p bool, c Call) uint64 {
	body := make([]byte, 64)
	le.PutUint64(body, c.Count)
	le.PutUint64(body[8:], c.Stream)
	le.PutUint32(body[24:], t.f.Text(c.Func))
	le.PutUint32(body[28:], t.f.Text(c.Datatype))
	le.PutUint32(body[32:], uint32(c.Root))
	if c.Captured {
		body[36] = 1
	}
	code := CollAPI
	if p2p {
		code = P2PAPI
	}
	return t.start(ns, comm, code, group, 0, body)
}

// Launch begins a launch of a kernel.
func (t *Thread) Launch(ns int64, comm int, group, stream uint64) uint64 {
	body := make([]byte, 32)
	le.PutUint64(body, stream)
	return t.start(ns, comm, Launch, group, 0, body)
}

// Collective is what NCCL says of a collective that it schedules.
type Collective struct {
	Func, Datatype, Algorithm, Protocol string
	Sequence, Count                     uint64
	Root                                int32
	Channels                            uint8
}

// Coll begins a collective.
func (t *Thread) Coll(ns int64, comm int, api uint64, c Collective) uint64 {
	body := make([]byte, 128)
	le.PutUint64(body, c.Sequence)
	le.PutUint64(body[24:], c.Count)
	le.PutUint32(body[64:], uint32(c.Root))
	for i, s := range []string{c.Func, c.Datatype, c.Algorithm, c.Protocol} {
		le.PutUint32(body[68+4*i:], t.f.Text(s))
	}
	body[104], body[105] = c.Channels, 16
	return t.start(ns, comm, Coll, api, 0, body)
}

// P2P begins a send or a receive.
func (t *Thread) P2P(ns int64, comm int, api uint64, function, datatype string, count uint64, peer int32) uint64 {
	body := make([]byte, 64)
	le.PutUint64(body[8:], count)
	le.PutUint32(body[40:], t.f.Text(function))
	le.PutUint32(body[44:], t.f.Text(datatype))
	le.PutUint32(body[48:], uint32(peer))
	body[56] = 1
	return t.start(ns, comm, P2P, api, 0, body)
}

// Kernel begins an operation's part of a channel. The host sees it at ns.
func (t *Thread) Kernel(ns int64, comm int, op uint64, channel uint16, gpuNS int64) uint64 {
	body := make([]byte, 32)
	le.PutUint64(body, uint64(gpuNS))
	return t.start(ns, comm, KernelCh, op, channel, body)
}

// KernelStop ends it.
func (t *Thread) KernelStop(ns int64, kernel uint64, gpuNS int64) {
	t.State(ns, kernel, 22, uint64(gpuNS))
	t.Stop(ns, kernel)
}

// ProxyOp begins a proxy operation.
func (t *Thread) ProxyOp(ns int64, comm int, op uint64, peer, steps, chunk int32, channel uint8, send bool) uint64 {
	body := make([]byte, 32)
	le.PutUint32(body, t.f.PID)
	le.PutUint32(body[4:], uint32(peer))
	le.PutUint32(body[8:], uint32(steps))
	le.PutUint32(body[12:], uint32(chunk))
	if send {
		le.PutUint32(body[16:], 1)
	}
	body[20] = channel
	return t.start(ns, comm, ProxyOp, op, 0, body)
}

// ProxyOpFor begins a proxy operation for another process of the host (PXN), whose operation it is.
func (t *Thread) ProxyOpFor(ns int64, of *File, op uint64, peer, steps int32, channel uint8) uint64 {
	body := make([]byte, 32)
	le.PutUint32(body, of.PID)
	le.PutUint32(body[4:], uint32(peer))
	le.PutUint32(body[8:], uint32(steps))
	le.PutUint32(body[12:], 1<<19)
	le.PutUint32(body[16:], 1)
	body[20] = channel
	return t.start(ns, -1, ProxyOp, op, 0, body)
}

// Step begins a step of a proxy operation.
func (t *Thread) Step(ns int64, comm int, proxy uint64, number uint16) uint64 {
	return t.start(ns, comm, ProxyStep, proxy, number, nil)
}

// IB begins a request of the InfiniBand plug-in.
func (t *Thread) IB(ns int64, comm int, step uint64, device uint32) uint64 {
	body := make([]byte, 64)
	le.PutUint64(body, 0x10001)
	le.PutUint64(body[8:], 1)
	le.PutUint32(body[16+8:], device)
	return t.start(ns, comm, NetIB, step, 0, body)
}
