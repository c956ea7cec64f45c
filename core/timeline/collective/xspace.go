package collective

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/timeline/event"
	"github.com/prlx-go/prlx/core/timeline/source/chrometrace"
	"github.com/prlx-go/prlx/core/timeline/source/hlo"
	"github.com/prlx-go/prlx/core/timeline/source/xspace"
)

// Options are what extraction needs to know beside the trace.
type Options struct {
	Node    int32  // number that spans carry
	Rank    *int64 // rank of the node; nil: as the trace says, if it does
	StartNS int64  // instant from which normalised times of an XSpace count
	Limit   int    // executions kept; default MaxSpans

	Distributed *chrometrace.DistributedInfo // of a Chrome trace's node; nil: what the document says
}

// FromXSpace finds the collectives in an XSpace. An event is one when its program says so: its name, or its hlo_op, is exactly
// that of a collective instruction of its module. Kernels of NCCL and RCCL without a program are judged by their name.
func FromXSpace(ctx context.Context, src *file.Source, space *xspace.Space, opt Options) (*Part, error) {
	x := &xspaceReader{part: newPart(opt.Limit), opt: opt, src: src, ordinals: map[int64]int32{}}
	if opt.Rank != nil {
		x.part.Ranks[opt.Node] = int(*opt.Rank)
	}
	if err := x.programs.read(ctx, src, space, x.part.warn); err != nil {
		return nil, err
	}
	for i := range space.Planes {
		if err := x.plane(ctx, &space.Planes[i]); err != nil {
			return nil, err
		}
	}
	if x.ambiguous > 0 {
		x.part.Unknown += x.ambiguous
		x.part.warn(fmt.Sprintf("%d executions belong to one of several programs of the same name: their collectives are not known", x.ambiguous))
	}
	x.part.finish()
	return x.part, nil
}

type xspaceReader struct {
	part      *Part
	opt       Options
	src       *file.Source
	programs  programs
	ordinals  map[int64]int32 // device ordinal on host lines -> device number within the node
	ambiguous int64
}

// planeKind is what a plane's events are.
type planeKind uint8

const (
	otherPlane planeKind = iota
	hostPlane            // operations of compiled programs on host threads, with their hlo_op
	kernels              // kernels on streams, with the hlo_op that launched them
	operations           // operations themselves, in a line of their own
)

// kindOf tells planes apart. A GPU plane whose kernels were not recorded has a line of operations, as TPU planes have.
func kindOf(p *xspace.Plane) planeKind {
	switch {
	case strings.HasPrefix(p.Name, xspace.PlaneHostCPU):
		return hostPlane
	case strings.HasPrefix(p.Name, "/device:TPU:"):
		return operations
	case !strings.HasPrefix(p.Name, "/device:"):
		return otherPlane
	}
	for i := range p.Lines {
		if l := &p.Lines[i]; l.Timed() > 0 && !derivedLine(l.Name) {
			return kernels
		}
	}
	return operations
}

const lineOfOperations = "XLA Ops"

// derivedLine reports whether a line of a device plane was made from the others by the profiler.
func derivedLine(name string) bool {
	switch name {
	case lineOfOperations, "Async XLA Ops", "XLA Modules", "XLA TraceMe", "Steps", "Framework Ops", "Framework Name Scope", "TensorFlow Ops",
		"TensorFlow Name Scope", "Source code", "Source Code", "Launch Stats":
		return true
	}
	return false
}

// holdsExecutions reports whether a line is one of those whose events are counted; the others repeat them.
func (k planeKind) holdsExecutions(l *xspace.Line) bool {
	switch k {
	case hostPlane:
		return true
	case kernels:
		return !derivedLine(l.Name)
	}
	return l.Name == lineOfOperations
}

// plane reads the collectives of one plane. Events are looked at when their name may be that of a collective.
func (x *xspaceReader) plane(ctx context.Context, p *xspace.Plane) error {
	kind := kindOf(p)
	if p.Events == 0 || kind == otherPlane {
		return nil
	}
	names, err := xspace.LoadEventNames(ctx, x.src, p, xspace.NameOptions{})
	if err != nil {
		return err
	}
	candidates, only := map[int64]bool{}, &xspace.IDSet{}
	names.Each(func(id int64, name string) {
		if x.candidate(name, kind) {
			candidates[id] = true
			only.Add(id)
		}
	})
	if len(candidates) == 0 {
		return nil
	}
	stats, err := xspace.LoadStatNames(ctx, x.src, p, xspace.NameOptions{})
	if err != nil {
		return err
	}
	opt := xspace.EventOptions{EventNames: names, StatNames: stats, Only: only}
	at := place{kind: kind, plane: int32(p.Index), device: deviceOf(p.Name)}
	if kind == operations {
		if at.programs, err = programsOfEvents(ctx, x.src, p, candidates); err != nil {
			return err
		}
	}
	if id, ok := globalID(p); ok {
		x.part.DeviceIDs[Slot{x.opt.Node, at.device}] = id
	}
	for k := range p.Lines {
		l := &p.Lines[k]
		if l.Timed() == 0 || !kind.holdsExecutions(l) {
			continue
		}
		at.line = l
		if err := xspace.EventsOf(ctx, x.src, p, l, opt, func(e *xspace.Event) error {
			if only.Has(e.MetadataID) && !e.Aggregated {
				x.event(&at, e)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// place is where events are while they are visited.
type place struct {
	kind     planeKind
	plane    int32
	device   int32 // -1 on host planes
	line     *xspace.Line
	programs map[int64]int64 // program id by event metadata, where events do not carry it
}

// globalID returns the number of a TPU plane's core among all of the job's: its core_details stat has it as the global id of
// the chip (5) and of the core (6). Where the two differ it is not known which of them programs mean.
func globalID(p *xspace.Plane) (int64, bool) {
	st := p.Stat("core_details")
	if st == nil || st.Kind != xspace.StatBytes || int64(len(st.Bytes)) != st.Length {
		return 0, false
	}
	var id [2]int64
	for b := st.Bytes; len(b) > 0; {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return 0, false
		}
		if typ == protowire.VarintType && (num == 5 || num == 6) {
			v, _ := protowire.ConsumeVarint(b[n:])
			id[num-5] = int64(v)
		}
		m := protowire.ConsumeFieldValue(num, typ, b[n:])
		if m < 0 {
			return 0, false
		}
		b = b[n+m:]
	}
	return id[0], id[0] == id[1]
}

// candidate reports whether events of a name may be collectives.
func (x *xspaceReader) candidate(name string, kind planeKind) bool {
	instruction := instructionOf(name)
	if x.programs.names[instruction] {
		return true
	}
	_, isOp := hlo.OpcodeInName(instruction)
	return isOp || kind == kernels && isNCCL(name)
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

// deviceOf returns the ordinal in "/device:GPU:3", -1 for other planes.
func deviceOf(plane string) int32 {
	rest, ok := strings.CutPrefix(plane, "/device:")
	if !ok {
		return -1
	}
	_, num, _ := strings.Cut(rest, ":")
	var d int32
	if _, err := fmt.Sscanf(num, "%d", &d); err != nil || d < 0 {
		return 0
	}
	return d
}

// event adds one event if it is a collective.
func (x *xspaceReader) event(at *place, e *xspace.Event) {
	f := factsOf(e)
	shown := e.Name()
	if at.kind == hostPlane && f.op == "" {
		return // a function or range of that name, not an operation
	}
	if id, ok := at.programs[e.MetadataID]; ok && !f.hasProgram {
		f.program, f.hasProgram = id, true
	}
	if f.op == "" && !(at.kind == kernels && isNCCL(shown)) {
		f.op = instructionOf(shown)
	}
	op, ok := x.opOf(at.kind, shown, &f)
	if !ok {
		return
	}
	base := at.line.TimestampNS
	if base < xspace.AbsoluteNS {
		base = addSat(base, x.opt.StartNS)
	}
	s := event.Span{Node: x.opt.Node, Device: at.device, Plane: at.plane, Line: int32(at.line.Index), Op: op, HasRun: f.hasRun, Run: f.run}
	s.StartNS = addSat(base, floorNS(e.OffsetPS))
	s.EndNS = addSat(base, ceilNS(addSat(e.OffsetPS, e.DurationPS)))
	if at.device < 0 {
		s.Device = x.deviceNumber(f.ordinal, f.hasOrdinal)
	}
	x.part.add(s)
}

// deviceNumber gives small numbers to the device ordinals of host lines, in order of appearance, and keeps the global id.
func (x *xspaceReader) deviceNumber(ordinal int64, ok bool) int32 {
	if !ok {
		return 0
	}
	d, seen := x.ordinals[ordinal]
	if !seen {
		d = int32(len(x.ordinals))
		x.ordinals[ordinal] = d
		x.part.DeviceIDs[Slot{x.opt.Node, d}] = ordinal
	}
	return d
}

// eventFacts are the stats of an event that matter here.
type eventFacts struct {
	op, module         string
	program            int64
	run, ordinal       int64
	hasRun, hasOrdinal bool
	hasProgram         bool
}

func factsOf(e *xspace.Event) eventFacts {
	var f eventFacts
	for it := e.Stats(); it.Next(); {
		st := it.Stat()
		switch st.Name {
		case "hlo_op":
			f.op = strings.TrimPrefix(strings.Clone(st.Text()), "%")
		case "hlo_module":
			f.module = strings.Clone(st.Text())
		case "program_id":
			f.program, f.hasProgram = bits(st)
		case "run_id":
			f.run, f.hasRun = bits(st)
		case "device_ordinal":
			f.ordinal, f.hasOrdinal = st.Integer()
		}
	}
	return f
}

// bits reads an id, which producers write as int64 or uint64 and which may be negative in the one and huge in the other.
func bits(st *xspace.Stat) (int64, bool) {
	switch st.Kind {
	case xspace.StatInt:
		return st.Int, true
	case xspace.StatUint:
		return int64(st.Uint), true
	}
	v, ok := st.Integer()
	return v, ok
}

// opOf returns the operation of an event, ok false when it is none.
func (x *xspaceReader) opOf(kind planeKind, shown string, f *eventFacts) (int32, bool) {
	m, known := x.programs.find(f)
	switch {
	case known && m == nil:
		x.ambiguous++
		return 0, false
	case known && f.op != "":
		o := m.Op(f.op)
		if o == nil || o.HostTransfer {
			if isNCCL(shown) { // an operation of the program ran NCCL and is no collective: which one it stands for is not known
				x.part.Unknown++
			}
			return 0, false
		}
		if kind == kernels && o.Phase == hlo.Done {
			return 0, false
		}
		id := opID{key: m.Name + "/" + o.Name, variant: m.Fingerprint}
		return x.part.op(id, func() Op {
			op := fromHLO(m, o)
			if kind == kernels { // the kernel that a start launches is the collective, from begin to end
				op.Phase, op.Start = hlo.Whole, ""
			}
			return op
		}), true
	}
	k, phase, guessed := guess(f.op, shown)
	if !guessed || phase != hlo.Whole {
		return 0, false
	}
	key := f.op
	if key == "" {
		key = "nccl " + k.String()
	}
	if f.module != "" {
		key = f.module + "/" + key
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

func floorNS(ps int64) int64 {
	if ps < 0 {
		return -((-ps + 999) / 1000)
	}
	return ps / 1000
}

func ceilNS(ps int64) int64 { return -floorNS(-ps) }

// Renumber gives the part's spans another node number: parts are made before the nodes are put in order.
func (p *Part) Renumber(node int32) {
	for i := range p.Spans {
		p.Spans[i].Node = node
	}
	ids := make(map[Slot]int64, len(p.DeviceIDs))
	for s, id := range p.DeviceIDs {
		ids[Slot{node, s.Device}] = id
	}
	p.DeviceIDs = ids
	for old, r := range p.Ranks {
		if old != node {
			delete(p.Ranks, old)
			p.Ranks[node] = r
		}
	}
}
