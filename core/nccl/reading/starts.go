package reading

import (
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/segment"
)

// start takes the start of an event.
func (b *builder) start(r *segment.Record, ns int64) error {
	switch r.Code {
	case codeGroup, segment.CodeUnknown, segment.CodeProxyDiag:
		return nil
	case codeProxyStep:
		b.startStep(r, ns)
		return nil
	case codeKernel:
		b.startKernel(r, ns)
		return nil
	case codeProxyCtrl:
		b.ctrl[r.ID] = control{ns: ns}
		return nil
	}
	e := &b.event
	ok, err := b.f.EventInto(e, r)
	if err != nil {
		return err
	}
	if !ok {
		b.out.Loss.Unreadable++
		return nil
	}
	b.startEvent(r, e, ns)
	return nil
}

func (b *builder) startEvent(r *segment.Record, e *segment.Event, ns int64) {
	m := b.member(r)
	if own := r.Comm >= 0 || r.Extended && uint16(r.Context>>48) == b.out.Cookie; own && (m < 0 || b.out.Members[m].Context == 0) {
		b.strays++
	}
	switch r.Code {
	case codeGroupAPI:
		b.h.set(r.ID, int32(len(b.groups)))
		b.groups = grown(b, b.groups, r.ID)
		b.out.Groups = grown(b, b.out.Groups, operation.Group{Member: m, Depth: e.GroupDepth, Captured: e.Captured != 0, StartNS: ns})
	case codeCollAPI, codeP2PAPI:
		b.h.set(r.ID, int32(len(b.apis)))
		b.apis = grown(b, b.apis, owned{handle: r.ID, parent: e.Parent})
		b.out.APIs = grown(b, b.out.APIs, operation.API{
			Member: m, Group: operation.None, Func: b.name(e.Func.Text), Datatype: b.name(e.Datatype.Text), Root: e.Root, P2P: r.Code == codeP2PAPI,
			Captured: e.Captured != 0, Count: e.Count, Stream: e.Stream, UserTag: e.UserTag, StartNS: ns,
		})
	case codeLaunch:
		b.h.set(r.ID, int32(len(b.launch)))
		b.launch = grown(b, b.launch, owned{handle: r.ID, parent: e.Parent})
		b.out.Launch = grown(b, b.out.Launch, operation.Launch{Member: m, Group: operation.None, Stream: e.Stream, StartNS: ns})
	case codeColl, codeP2P, codeCopyEngine:
		b.startOp(r.Code, e, m, ns)
	case codeProxyOp:
		b.startProxy(e, m, ns)
	case segment.CodeNetIB, segment.CodeNetSocket, codeNet:
		b.network(e)
	}
}

// startOp takes an operation that NCCL has scheduled.
func (b *builder) startOp(code int, e *segment.Event, m int32, ns int64) {
	op := operation.Op{
		Handle: e.Handle, Member: m, API: operation.None, Launch: operation.None, Channels: e.Channels, Sequence: e.Sequence, Count: e.Count, StartNS: ns,
	}
	function, datatype, algorithm, protocol := texts(e)
	if e.Version > 1 && function == "" && !e.Func.Lost { // NCCL names all
		b.strays++
	}
	op.Func, op.Datatype, op.Algorithm, op.Protocol = b.name(function), b.name(datatype), b.name(algorithm), b.name(protocol)
	op.Bytes = int64(min(e.Count, 1<<56)) * operation.TypeBytes(datatype)
	switch code {
	case codeP2P:
		op.Kind, op.Peer = operation.Send, e.Peer
		if function == "Recv" {
			op.Kind = operation.Recv
		}
		if e.Version == 4 {
			op.Channels = 0 // NCCL leaves it as it was
		}
	case codeCopyEngine:
		op.Kind, op.Peer = operation.CopyEngine, e.Root
	default:
		op.Peer = e.Root
	}
	b.h.set(e.Handle, int32(len(b.ops)))
	b.ops = grown(b, b.ops, owned{handle: e.Handle, parent: e.Parent})
	b.out.Ops = grown(b, b.out.Ops, op)
}

// NCCL 2.23 passes enumerators.
var (
	functions  = []string{"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv", "Send", "Recv"}
	datatypes  = []string{"ncclInt8", "ncclUint8", "ncclInt32", "ncclUint32", "ncclInt64", "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"}
	algorithms = []string{"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"}
	protocols  = []string{"LL", "LL128", "SIMPLE"}
)

func texts(e *segment.Event) (function, datatype, algorithm, protocol string) {
	if e.Version > 1 {
		return e.Func.Text, e.Datatype.Text, e.Algorithm.Text, e.Protocol.Text
	}
	of := func(list []string, n uint32) string {
		if int(n) < len(list) {
			return list[n]
		}
		return ""
	}
	function, datatype = of(functions, e.FuncNumber), of(datatypes, e.DatatypeNumber)
	if e.Code == codeColl {
		algorithm, protocol = of(algorithms, e.AlgorithmNumber), of(protocols, e.ProtocolNumber)
	}
	return function, datatype, algorithm, protocol
}

func (b *builder) startKernel(r *segment.Record, ns int64) {
	k := operation.Kernel{Op: operation.None, Channel: uint8(r.Extra), CallStartNS: ns, BoundNS: -1}
	if r.Extended {
		k.Channel = uint8(r.Number)
	}
	if r.Version >= 4 && len(r.Body) >= 8 {
		k.GPUStartNS = int64(little(r.Body))
	}
	b.h.set(r.ID, int32(len(b.kerns)))
	b.kerns = grown(b, b.kerns, owned{handle: r.ID, parent: r.Value})
	b.out.Kernels = grown(b, b.out.Kernels, k)
}

func little(b []byte) uint64 {
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 | uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

func (b *builder) startProxy(e *segment.Event, m int32, ns int64) {
	b.h.set(e.Handle, int32(len(b.out.Proxies)))
	b.out.Proxies = grown(b, b.out.Proxies, operation.ProxyOp{
		Handle: e.Handle, Op: operation.None, Parent: e.Parent, Member: m, Other: operation.None, PID: e.PID, Peer: e.Peer, StepsTotal: e.Steps, ChunkBytes: e.ChunkBytes,
		Channel: e.Channel, Send: e.IsSend != 0, Foreign: uint16(e.Parent>>48) != b.out.Cookie && e.Parent != 0, NIC: -1, StartNS: ns,
	})
	b.live = grown(b, b.live, proxyLive{first: operation.None, last: operation.None})
}

// network learns the device that a proxy operation goes through.
func (b *builder) network(e *segment.Event) {
	n := b.find(e.Parent)
	if n < 0 || e.Code != segment.CodeNetIB || len(e.Descriptor) < 16 {
		return
	}
	switch codeOf(e.Parent) {
	case codeProxyStep:
		n = b.steps[n].proxy
	case codeProxyOp:
	default:
		return
	}
	b.out.Proxies[n].NIC = int32(uint32(little(e.Descriptor[8:])&0xffffffff) & 0x7fffffff)
}
