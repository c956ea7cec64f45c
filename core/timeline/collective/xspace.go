package collective

import (
	"context"
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/timeline/event"
	"github.com/prlx-go/prlx/core/timeline/hlo"
	"github.com/prlx-go/prlx/core/timeline/xspace"
)

// Options are what extraction needs to know beside the trace.
type Options struct {
	Node    int32  // number that spans carry
	Rank    *int64 // rank of the node; nil: as the trace says, if it does
	StartNS int64  // instant from which normalised times of an XSpace count
	Limit   int    // executions kept; default MaxSpans
}

// maxModules is how many compiled programs of a trace are read for their collectives.
const maxModules = 1 << 14

// FromXSpace finds the collectives in an XSpace. An event is one when its program says so: its name, or its hlo_op, is exactly
// that of a collective instruction of its module. Kernels of NCCL and RCCL without a program are judged by their name.
func FromXSpace(ctx context.Context, src *file.Source, space *xspace.Space, opt Options) (*Part, error) {
	x := &xspaceReader{part: newPart(opt.Limit), opt: opt, src: src, byProgram: map[string]*hlo.Module{}, byName: map[string]*hlo.Module{}, ordinals: map[int64]int32{}}
	if opt.Rank != nil {
		x.part.Ranks[opt.Node] = int(*opt.Rank)
	}
	for i := range space.Planes {
		if p := &space.Planes[i]; strings.HasPrefix(p.Name, xspace.PlaneMetadata) {
			if err := x.modules(ctx, p); err != nil {
				return nil, err
			}
		}
	}
	x.collectNames()
	for i := range space.Planes {
		if err := x.plane(ctx, &space.Planes[i]); err != nil {
			return nil, err
		}
	}
	x.part.finish()
	return x.part, nil
}

type xspaceReader struct {
	part      *Part
	opt       Options
	src       *file.Source
	byProgram map[string]*hlo.Module // by "name(program id)"
	byName    map[string]*hlo.Module // by name; nil where two programs share one
	names     map[string]bool        // names of all collective instructions
	ordinals  map[int64]int32        // device ordinal on host lines -> device number within the node
	count     int
}

// modules reads the HLO protos of a metadata plane.
func (x *xspaceReader) modules(ctx context.Context, p *xspace.Plane) error {
	return xspace.EventMetadata(ctx, x.src, p, func(m *xspace.EventMeta) error {
		for i := range m.Stats {
			st := &m.Stats[i]
			if st.Kind != xspace.StatBytes || !isProtoStat(st.Name) {
				continue
			}
			if x.count++; x.count > maxModules {
				x.part.warn(fmt.Sprintf("only the first %d compiled programs are searched for collectives", maxModules))
				return nil
			}
			mod, err := hlo.Read(ctx, x.src, st.Offset, st.Offset+st.Length)
			if err != nil {
				x.part.warn(fmt.Sprintf("the program %s is damaged: its collectives are not known", m.Name))
				continue
			}
			for _, w := range mod.Warnings {
				x.part.warn(m.Name + ": " + w)
			}
			x.byProgram[m.Name] = mod
			if _, twice := x.byName[mod.Name]; twice {
				x.byName[mod.Name] = nil
			} else {
				x.byName[mod.Name] = mod
			}
		}
		return nil
	})
}

func isProtoStat(name string) bool {
	return strings.EqualFold(name, "Hlo Proto") || strings.EqualFold(name, "hlo_proto")
}

func (x *xspaceReader) collectNames() {
	x.names = map[string]bool{}
	for _, m := range x.byProgram {
		for i := range m.Ops {
			x.names[m.Ops[i].Name] = true
		}
	}
}

// plane reads the collectives of one plane. Planes without a name that could be one are not read.
func (x *xspaceReader) plane(ctx context.Context, p *xspace.Plane) error {
	isHost, isDevice := strings.HasPrefix(p.Name, xspace.PlaneHostCPU), strings.HasPrefix(p.Name, "/device:")
	if p.Events == 0 || !isHost && !isDevice {
		return nil
	}
	names, err := xspace.LoadEventNames(ctx, x.src, p, xspace.NameOptions{})
	if err != nil {
		return err
	}
	var candidates xspace.IDSet
	names.Each(func(id int64, name string) {
		if x.candidate(name, isDevice) {
			candidates.Add(id)
		}
	})
	if candidates.Len() == 0 {
		return nil
	}
	stats, err := xspace.LoadStatNames(ctx, x.src, p, xspace.NameOptions{})
	if err != nil {
		return err
	}
	opt := xspace.EventOptions{EventNames: names, StatNames: stats, Only: &candidates}
	device := deviceOf(p.Name)
	for k := range p.Lines {
		l := &p.Lines[k]
		if l.Timed() == 0 || !isOps(p.Name, l) {
			continue
		}
		if err := xspace.EventsOf(ctx, x.src, p, l, opt, func(e *xspace.Event) error {
			if candidates.Has(e.MetadataID) && !e.Aggregated {
				x.event(p, l, e, device)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// isOps reports whether a line holds executions: on TPU planes only the line of operations does, the others repeat them.
func isOps(plane string, l *xspace.Line) bool {
	if !strings.HasPrefix(plane, "/device:TPU:") {
		return true
	}
	return l.Name == "XLA Ops" || l.Name == "Async XLA Ops"
}

// candidate reports whether events of a name may be collectives.
func (x *xspaceReader) candidate(name string, isDevice bool) bool {
	if x.names[instructionOf(name)] {
		return true
	}
	if !isDevice {
		return false
	}
	_, isOp := hlo.OpcodeInName(instructionOf(name))
	return isOp || isNCCL(name)
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
func (x *xspaceReader) event(p *xspace.Plane, l *xspace.Line, e *xspace.Event, device int32) {
	f := factsOf(e)
	name := instructionOf(e.Name())
	if f.op != "" {
		name = f.op
	}
	op, ok := x.opOf(name, e.Name(), &f)
	if !ok {
		return
	}
	base := l.TimestampNS
	if base < xspace.AbsoluteNS {
		base += x.opt.StartNS
	}
	s := event.Span{Node: x.opt.Node, Device: device, Plane: int32(p.Index), Line: int32(l.Index), Op: op, HasRun: f.hasRun, Run: f.run}
	s.StartNS = base + floorNS(e.OffsetPS)
	s.EndNS = base + ceilNS(addSat(e.OffsetPS, e.DurationPS))
	if device < 0 {
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
	program            string
	run, ordinal       int64
	hasRun, hasOrdinal bool
}

func factsOf(e *xspace.Event) eventFacts {
	var f eventFacts
	for it := e.Stats(); it.Next(); {
		st := it.Stat()
		switch st.Name {
		case "hlo_op":
			f.op = strings.Clone(st.Text())
		case "hlo_module":
			f.module = strings.Clone(st.Text())
		case "program_id":
			f.program = st.Text()
		case "run_id":
			f.run, f.hasRun = runID(st)
		case "device_ordinal":
			f.ordinal, f.hasOrdinal = st.Integer()
		}
	}
	return f
}

// runID reads a run_id, which producers write as int64 or uint64 and which may be negative.
func runID(st *xspace.Stat) (int64, bool) {
	switch st.Kind {
	case xspace.StatInt:
		return st.Int, true
	case xspace.StatUint:
		return int64(st.Uint), true
	}
	return 0, false
}

// module finds the program of an event: by name and id, else by the name alone where it is the only one.
func (x *xspaceReader) module(f *eventFacts) *hlo.Module {
	if f.module == "" {
		return nil
	}
	if m := x.byProgram[f.module+"("+f.program+")"]; m != nil {
		return m
	}
	name, _, _ := strings.Cut(f.module, "(")
	return x.byName[name]
}

// opOf returns the operation of an event, ok false when it is none.
func (x *xspaceReader) opOf(name, shown string, f *eventFacts) (int32, bool) {
	if m := x.module(f); m != nil {
		o := m.Op(name)
		if o == nil || o.HostTransfer {
			if isNCCL(shown) { // a fusion or a call of the program that ran NCCL: which of its collectives is not known
				x.part.Unknown++
			}
			return 0, false
		}
		return x.part.op(opID{key: m.Name + "/" + o.Name, variant: m.Fingerprint}, func() Op { return fromHLO(m, o) }), true
	}
	kind, phase, guessed := guess(name, shown)
	if !guessed {
		return 0, false
	}
	key := name
	if f.module != "" {
		key = f.module + "/" + name
	}
	return x.part.op(opID{key: key}, func() Op { return Op{Key: key, Kind: kind, Phase: phase, Guess: true} }), true
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
		{"AllReduce", event.AllReduce}, {"AllGather", event.AllGather}, {"ReduceScatter", event.ReduceScatter}, {"AllToAll", event.AllToAll},
		{"Broadcast", event.Broadcast}, {"SendRecv", event.SendRecv}, {"Reduce", event.Reduce},
	} {
		if strings.Contains(name, k.text) {
			return k.kind
		}
	}
	return event.Unknown
}

// fromHLO describes a collective instruction.
func fromHLO(m *hlo.Module, o *hlo.Op) Op {
	op := Op{Key: m.Name + "/" + o.Name, Kind: o.Kind, Variant: m.Fingerprint, Devices: m.Devices, Phase: o.Phase, Sends: o.Sends, Rooted: true}
	if o.Start != "" {
		op.Start = m.Name + "/" + o.Start
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
