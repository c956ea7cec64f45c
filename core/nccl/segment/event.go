package segment

// Event is what a start record says of an event. Fields that its type, or its version of the interface, does not have are zero.
type Event struct {
	Type    uint64 // as NCCL passed it; bit 15 is ProxyDiag in version 6
	Version int
	Code    int
	Handle  uint64
	Context uint64
	Parent  uint64
	Rank    int32
	Ticks   uint64

	// Collectives, point-to-point and API events, copy engines.
	Sequence, SendBuffer, ReceiveBuffer, Count, ParentGroup, UserTag, TrafficBytes, CommHash, Stream uint64
	Root, Peer, CollNet, NVLS                                                                        int32
	Func, Datatype, Algorithm, Protocol, Variant, Name, Strategy                                     Text
	// In version 1 Func, Datatype, Algorithm and Protocol are NCCL's enumerators.
	FuncNumber, DatatypeNumber, AlgorithmNumber, ProtocolNumber, ReduceOp uint32
	Channels, Warps                                                       uint8
	Captured, Symmetric                                                   uint8 // bool, as NCCL left it

	// Proxy operations and steps.
	PID, Steps, ChunkBytes, IsSend, Step int32
	Channel                              uint8
	RCCL                                 []byte // what RCCL's version 6 adds, 64 bytes

	GPUTimeNS                      uint64 // kernels: the GPU's clock
	Phase                          uint8
	PhaseName                      Text
	GroupDepth                     int32
	BatchSize, Batches, CESequence uint32
	IntraSync, Complete            uint8
	Ranks, Ops                     int32
	Bytes                          uint64

	NetID      int64
	NetData    uint64 // the address that NCCL passed
	Descriptor []byte // 40 bytes of IB, 24 of a socket, where there was one

	Raw []byte // of types that are not known: what follows the rank
}

// unionBytes is how long the part of a descriptor is that depends on the type, by version.
var unionBytes = [8]int{0, 96, 104, 96, 80, 88, 88, 112}

// bodySlots is how many slots the body of an event has at least, by code.
var bodySlots = map[int]int{1: 4, 2: 2, 3: 1, 6: 0, 7: 2, 8: 1, 9: 2, 10: 2, 11: 1, 12: 3, 13: 1, 14: 1, 15: 1, CodeNetIB: 2, CodeNetSocket: 2}

// Event is the event that a record starts. ok is false where its body is shorter than the event's.
func (f *File) Event(r *Record) (e Event, ok bool, err error) {
	ok, err = f.EventInto(&e, r)
	return e, ok, err
}

// EventInto is Event into what its caller has already.
func (f *File) EventInto(e *Event, r *Record) (ok bool, err error) {
	*e = Event{Version: r.Version, Code: r.Code, Handle: r.ID, Parent: r.Value, Ticks: r.Ticks, Context: r.Context}
	if r.Comm >= 0 {
		e.Context = uint64(f.Cookie)<<48 | codeContext<<42 | uint64(r.Comm+1)
	}
	switch {
	case r.Extended:
		e.Rank = r.Rank
	case !r.RankZero && r.Comm >= 0 && r.Comm < len(f.Comms):
		e.Rank = f.Comms[r.Comm].Rank
	}
	number := int32(r.Extra)
	if r.Extended {
		number = r.Number
	}
	if r.Raw || r.Code > 15 && r.Code != CodeNetIB && r.Code != CodeNetSocket {
		e.Type = r.RawType
		n := unionBytes[r.Version]
		if n > len(r.Body) {
			return false, nil
		}
		e.Raw = r.Body[:n]
		return true, nil
	}
	e.Type = 1 << r.Code
	if r.Code == CodeNetIB || r.Code == CodeNetSocket {
		e.Type = 1 << 7
	}
	if len(r.Body) < bodySlots[r.Code]*slotBytes || r.Code == 6 && r.Version >= 4 && len(r.Body) < slotBytes {
		return false, nil
	}
	err = f.texts.body(e, r, number)
	return err == nil, err
}

// body reads what depends on the code of an event.
func (t *texts) body(e *Event, r *Record, number int32) error {
	b := r.Body
	switch r.Code {
	case 1:
		return t.coll(e, b)
	case 2:
		return t.p2p(e, b)
	case 3:
		e.PID, e.Peer, e.Steps, e.ChunkBytes, e.IsSend = int32(u32(b, 0)), int32(u32(b, 4)), int32(u32(b, 8)), int32(u32(b, 12)), int32(u32(b, 16))
		e.Channel = b[20]
		if len(b) >= 3*slotBytes {
			e.RCCL = b[slotBytes : 3*slotBytes]
		}
	case 4:
		e.Step = number
	case 6:
		e.Channel = uint8(number)
		if len(b) > 0 {
			e.GPUTimeNS = u64(b, 0)
		}
	case 7, CodeNetIB, CodeNetSocket:
		net(e, r.Code, b)
	case 8:
		e.GroupDepth, e.Captured = int32(u32(b, 8)), b[16]
	case 9, 10:
		return t.api(e, b)
	case 11:
		e.Stream = u64(b, 0)
	case 12:
		return t.copyEngine(e, b)
	case 13:
		e.Ranks, e.Complete = int32(u32(b, 8)), b[16]
	case 14:
		e.Bytes, e.Ops, e.IntraSync = u64(b, 0), int32(u32(b, 8)), b[16]
	case 15:
		e.GPUTimeNS, e.Channel, e.Phase = u64(b, 0), b[16], b[17]
		return t.all([]uint32{u32(b, 12)}, &e.PhaseName)
	}
	return nil
}

func (t *texts) all(numbers []uint32, into ...*Text) error {
	for i, n := range numbers {
		one, err := t.text(n)
		if err != nil {
			return err
		}
		*into[i] = one
	}
	return nil
}

// named reads texts from version 2 on, enumerators in version 1.
func (t *texts) named(version int, numbers []uint32, values []*uint32, into ...*Text) error {
	if version > 1 {
		return t.all(numbers, into...)
	}
	for i, n := range numbers {
		*values[i] = n
	}
	return nil
}

func (t *texts) coll(e *Event, b []byte) error {
	e.Sequence, e.SendBuffer, e.ReceiveBuffer, e.Count = u64(b, 0), u64(b, 8), u64(b, 16), u64(b, 24)
	e.ParentGroup, e.UserTag, e.TrafficBytes, e.CommHash = u64(b, 32), u64(b, 40), u64(b, 48), u64(b, 56)
	e.Root, e.ReduceOp, e.CollNet, e.NVLS = int32(u32(b, 64)), u32(b, 92), int32(u32(b, 96)), int32(u32(b, 100))
	e.Channels, e.Warps, e.Symmetric = b[104], b[105], b[106]
	err := t.named(
		e.Version, []uint32{u32(b, 68), u32(b, 72), u32(b, 76), u32(b, 80)},
		[]*uint32{&e.FuncNumber, &e.DatatypeNumber, &e.AlgorithmNumber, &e.ProtocolNumber}, &e.Func, &e.Datatype, &e.Algorithm, &e.Protocol,
	)
	if err != nil {
		return err
	}
	return t.all([]uint32{u32(b, 84), u32(b, 88)}, &e.Variant, &e.Name)
}

func (t *texts) p2p(e *Event, b []byte) error {
	e.SendBuffer, e.Count, e.ParentGroup, e.CommHash, e.UserTag = u64(b, 0), u64(b, 8), u64(b, 16), u64(b, 24), u64(b, 32)
	e.Peer, e.Channels = int32(u32(b, 48)), b[56]
	if err := t.named(e.Version, []uint32{u32(b, 40), u32(b, 44)}, []*uint32{&e.FuncNumber, &e.DatatypeNumber}, &e.Func, &e.Datatype); err != nil {
		return err
	}
	return t.all([]uint32{u32(b, 52)}, &e.Name)
}

func (t *texts) api(e *Event, b []byte) error {
	e.Count, e.Stream, e.UserTag, e.Root, e.Captured = u64(b, 0), u64(b, 8), u64(b, 16), int32(u32(b, 32)), b[36]
	return t.all([]uint32{u32(b, 24), u32(b, 28)}, &e.Func, &e.Datatype)
}

func (t *texts) copyEngine(e *Event, b []byte) error {
	e.Sequence, e.SendBuffer, e.ReceiveBuffer, e.Count, e.Stream, e.UserTag = u64(b, 0), u64(b, 8), u64(b, 16), u64(b, 24), u64(b, 32), u64(b, 40)
	e.Root, e.BatchSize, e.Batches, e.CESequence, e.IntraSync = int32(u32(b, 60)), u32(b, 64), u32(b, 68), u32(b, 72), b[76]
	return t.all([]uint32{u32(b, 48), u32(b, 52), u32(b, 56)}, &e.Func, &e.Datatype, &e.Strategy)
}

func net(e *Event, code int, b []byte) {
	e.NetID, e.NetData = i64(b, 0), u64(b, 8)
	if e.NetData == 0 {
		return
	}
	switch code {
	case CodeNetIB:
		e.Descriptor = b[16:56]
	case CodeNetSocket:
		e.Descriptor = b[16:40]
	}
}
