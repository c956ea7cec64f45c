package collective

import (
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/hlo"
	"github.com/prlx-go/prlx/core/trace/source"
)

// Options are what extraction needs to know beside the trace.
type Options struct {
	Node    int32  // number that spans carry
	Rank    *int64 // rank of the node; nil: as the trace says, if it does
	StartNS int64  // instant from which times count that are not absolute
	Limit   int    // executions kept; default MaxSpans

	Rest *Rest // takes what there is no room for; nil: it is left out

	// Of a node whose recorder wrote of collectives.
	Distributed *source.Distributed // nil: what the document says
	Compiled    *Compiled           // nil: no mark says what its programs were
}

// executions are the operations of compiled programs that one node executed, in whatever format they were recorded: it says of an
// event, whose facts its reader has found, whether it is a collective and which.
type executions struct {
	part      *Part
	node      int32
	programs  *Programs
	ordinals  map[int64]int32 // device ordinal on host lines -> device number within the node
	ambiguous int64
}

func newExecutions(part *Part, node int32, programs *Programs) executions {
	return executions{part: part, node: node, programs: programs, ordinals: map[int64]int32{}}
}

// candidate reports whether events of a name may be collectives.
func (x *executions) candidate(name string, kind string) bool {
	instruction := instructionOf(name)
	if x.programs.names[instruction] {
		return true
	}
	_, isOp := hlo.OpcodeInName(instruction)
	return isOp || kind == aligned.PlaneKernels && isNCCL(name)
}

// instructionOf returns the instruction's name of an event named after it: TPU events carry its whole text.
func instructionOf(name string) string {
	if strings.HasPrefix(name, "%") {
		name, _, _ = strings.Cut(name[1:], " ")
	}
	return name
}

func isNCCL(name string) bool {
	return strings.Contains(name, "nccl") || strings.Contains(name, "rccl") || strings.Contains(name, "NCCL") || strings.Contains(name, "RCCL")
}

// add adds an operation if it is a collective; s says where and when. The device of an event on a host line (-1) is
// the one that it names itself.
func (x *executions) add(kind string, o *source.Operation, s event.Span) {
	if kind == aligned.PlaneHost && o.Op == "" {
		return // a function or range of that name, not an operation
	}
	if o.Op == "" && !(kind == aligned.PlaneKernels && isNCCL(o.Name)) {
		o.Op = instructionOf(o.Name)
	}
	op, ok := x.opOf(kind, o)
	if !ok {
		return
	}
	s.Node, s.Op, s.HasRun, s.Run = x.node, op, o.HasRun, o.Run
	if s.Device < 0 {
		s.Device = x.deviceNumber(o.Ordinal, o.HasOrdinal)
	}
	x.part.add(s)
}

// finish says what could not be told.
func (x *executions) finish() {
	if x.ambiguous > 0 {
		x.part.Unknown += x.ambiguous
		x.part.warn(fmt.Sprintf("%d executions belong to one of several programs of the same name: their collectives are not known", x.ambiguous))
	}
}

// deviceNumber gives small numbers to the device ordinals of host lines, in order of appearance, and keeps the global id.
func (x *executions) deviceNumber(ordinal int64, ok bool) int32 {
	if !ok {
		return 0
	}
	d, seen := x.ordinals[ordinal]
	if !seen {
		d = int32(len(x.ordinals))
		x.ordinals[ordinal] = d
		x.part.DeviceIDs[Slot{x.node, d}] = ordinal
	}
	return d
}

// opOf returns the operation of an event, ok false when it is none.
func (x *executions) opOf(kind string, f *source.Operation) (int32, bool) {
	m, known := x.programs.find(f)
	switch {
	case known && m == nil:
		x.ambiguous++
		return 0, false
	case known && f.Op != "":
		o := m.Op(f.Op)
		if o == nil || o.HostTransfer {
			if isNCCL(f.Name) { // an operation of the program ran NCCL and is no collective: which one it stands for is not known
				x.part.Unknown++
			}
			return 0, false
		}
		if kind == aligned.PlaneKernels && o.Phase == hlo.Done {
			return 0, false
		}
		id := opID{key: m.Name + "/" + o.Name, variant: m.Fingerprint}
		return x.part.op(id, func() Op {
			op := fromHLO(m, o)
			if kind == aligned.PlaneKernels { // the kernel that a start launches is the collective, from begin to end
				op.Phase, op.Start = hlo.Whole, ""
			}
			return op
		}), true
	}
	k, phase, guessed := guess(f.Op, f.Name)
	if !guessed || phase != hlo.Whole {
		return 0, false
	}
	key := f.Op
	if key == "" {
		key = "nccl " + k.String()
	}
	if f.Module != "" {
		key = f.Module + "/" + key
	}
	return x.part.op(opID{key: key}, func() Op { return Op{Key: key, Kind: k, Guess: true} }), true
}

// guess reads the kind from a name: XLA's default instruction names, else NCCL's kernel names.
func guess(name, shown string) (event.Kind, hlo.Phase, bool) {
	if opcode, ok := hlo.OpcodeInName(name); ok {
		kind, phase, _ := hlo.OpcodeOf(opcode)
		if phase == hlo.Whole {
			return kind, phase, true
		}
		return event.Unknown, hlo.Whole, false
	}
	if isNCCL(shown) {
		if k := kindInKernel(shown); k != event.Unknown {
			return k, hlo.Whole, true
		}
	}
	return event.Unknown, hlo.Whole, false
}

// kindInKernel reads the kind from the name of a NCCL or RCCL kernel ("ncclDevKernel_AllReduce_Sum_f32_RING_LL").
func kindInKernel(name string) event.Kind {
	for _, k := range []struct {
		text string
		kind event.Kind
	}{
		{"AllReduce", event.AllReduce},
		{"AllGather", event.AllGather},
		{"ReduceScatter", event.ReduceScatter},
		{"AllToAll", event.AllToAll},
		{"Broadcast", event.Broadcast},
		{"SendRecv", event.SendRecv},
		{"Reduce", event.Reduce},
	} {
		if strings.Contains(name, k.text) {
			return k.kind
		}
	}
	return event.Unknown
}

// fromHLO describes a collective instruction.
func fromHLO(m *hlo.Module, o *hlo.Op) Op {
	op := Op{Key: keyOf(m, o), Kind: o.Kind, Variant: m.Fingerprint, Devices: m.Devices, Phase: o.Phase, Sends: o.Sends, Rooted: true}
	if start := m.Op(o.Start); start != nil {
		op.Start = keyOf(m, start)
	}
	var err error
	if op.Groups, err = m.Members(o); err != nil {
		op.Broken = "its replica groups are damaged"
	}
	if o.Kind.Paired() {
		if op.Pairs, err = m.Transfers(o); err != nil {
			op.Broken = "its source-target pairs are damaged"
		}
	}
	return op
}

// keyOf names an operation. A send and its receive are two instructions of one channel.
func keyOf(m *hlo.Module, o *hlo.Op) string {
	if o.Kind == event.SendRecv {
		return fmt.Sprintf("%s/channel %d", m.Name, o.ChannelID)
	}
	return m.Name + "/" + o.Name
}
