package collective

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/hlo"
	"github.com/prlx-go/prlx/core/trace/source"
)

// maxGroupRanks bounds the members of a process group that are read from its text.
const maxGroupRanks = 1 << 17

// FromRecordedNodes finds the collectives in a trace whose recorder wrote of them. Kernels of NCCL and RCCL are what PyTorch's profiler wrote
// beside them: the collective's name, its process group and the group's ranks. Traces of before that have only the range
// "nccl:all_to_all" in which the kernel was launched, or only the kernel's name, which is flagged. Operations of compiled programs (JAX)
// are what the mark says of their programs; without one they count only under XLA's own names.
//
// A trace may hold several nodes, a part for each: nodeOf says by process whose it is, -1 for nobody's. nil: everything is the first one's.
func FromRecordedNodes(ctx context.Context, src *file.Source, trace source.Recorded, nodeOf []int, opts []Options) ([]*Part, error) {
	layout, whole := trace.Layout(), trace.Facts().Distributed
	readers := make([]*recordedReader, len(opts))
	for k, opt := range opts {
		readers[k] = newRecordedReader(layout, whole, opt)
	}
	of := func(s *source.Span) *recordedReader {
		switch {
		case nodeOf == nil:
			return readers[0]
		case s.Process < 0 || nodeOf[s.Process] < 0:
			return nil
		}
		return readers[nodeOf[s.Process]]
	}
	omitted, err := trace.Communication(ctx, src, func(k *source.Communication) {
		if c := of(&k.Span); c != nil {
			c.kernel(k)
		}
	})
	if err != nil {
		return nil, err
	}
	readers[0].part.Dropped += omitted
	launches := slices.ContainsFunc(readers, func(c *recordedReader) bool { return len(c.launched) > 0 })
	compiled := slices.ContainsFunc(readers, func(c *recordedReader) bool { return c.planes != nil })
	hosts := false
	for _, c := range readers {
		hosts = c.hosts() || hosts
	}
	if launches || compiled || hosts || slices.ContainsFunc(layout, isCompiled) {
		v := around(readers, of, launches)
		if hosts {
			v.Executed = func(x *source.Call) {
				if c := of(&x.Span); c != nil && c.onHost {
					c.hosted(x)
				}
			}
		}
		if err := trace.Around(ctx, src, v); err != nil {
			return nil, err
		}
	}
	parts := make([]*Part, len(readers))
	for k, c := range readers {
		parts[k] = c.finish()
	}
	return parts, nil
}

// around hands what lies around kernels to the readers.
func around(readers []*recordedReader, of func(*source.Span) *recordedReader, launches bool) source.AroundVisitor {
	for _, c := range readers {
		c.expect()
	}
	return source.AroundVisitor{
		Launches: launches,
		Call: func(x *source.Call) {
			if c := of(&x.Span); c != nil && x.HasCorrelation && c.pending[x.Correlation] && len(c.calls) < c.part.limit {
				c.calls = append(c.calls, *x)
			}
		},
		Range: func(x *source.Call) {
			if c := of(&x.Span); c != nil && len(c.ranges) < c.part.limit {
				c.ranges = append(c.ranges, *x)
			}
		},
		Operation: func(o *source.OperationEvent) {
			c := of(&o.Span)
			switch {
			case c == nil:
			case c.planes != nil:
				c.execution(o)
			default:
				c.compiled(o)
			}
		},
	}
}

func newRecordedReader(layout []*source.Process, whole *source.Distributed, opt Options) *recordedReader {
	c := &recordedReader{part: begin(opt), opt: opt, layout: layout, devices: map[int64]int32{}, distributed: whole}
	if opt.Distributed != nil {
		c.distributed = opt.Distributed
	}
	switch {
	case opt.Rank != nil:
		c.part.Ranks[opt.Node] = int(*opt.Rank)
	case c.distributed != nil && c.distributed.Rank >= 0:
		c.part.Ranks[opt.Node] = c.distributed.Rank
	}
	if opt.Compiled != nil {
		c.executions, c.planes = newExecutions(c.part, opt.Node, opt.Compiled.programs), planesOf(layout, opt.Compiled.planes)
	}
	return c
}

// expect notes whose launches are looked for.
func (c *recordedReader) expect() {
	c.pending = map[int64]bool{}
	for _, l := range c.launched {
		c.pending[l.correlation] = true
	}
}

func (c *recordedReader) finish() *Part {
	c.placeLaunched()
	if c.unknown > 0 {
		c.part.Unknown += c.unknown
		c.part.warn(fmt.Sprintf("%d operations of compiled programs come without their program: collectives among them are not known", c.unknown))
	}
	c.executions.finish()
	c.part.finish()
	return c.part
}

type recordedReader struct {
	executions // where planes are known

	planes []markedPlane // by process; nil: the mark says nothing of compiled programs

	part   *Part
	opt    Options
	layout []*source.Process

	distributed *source.Distributed
	onHost      bool // its collectives were executed on threads of the host

	devices  map[int64]int32 // device as recorded -> number within the node
	unknown  int64
	launched []launched
	pending  map[int64]bool // correlations of launched
	calls    []source.Call
	ranges   []source.Call
}

// launched is a kernel whose collective is to be learned from the range that launched it.
type launched struct {
	correlation int64
	stream      int64
	kernel      event.Kind
	span        event.Span
}

// span makes the execution of an event on a device.
func (c *recordedReader) span(at *source.Span, device int64) event.Span {
	d, ok := c.devices[device]
	if !ok {
		d = int32(len(c.devices))
		c.devices[device] = d
	}
	return event.Span{Node: c.opt.Node, Device: d, Plane: max(at.Process, 0), Line: max(at.Line, 0), StartNS: at.Start.NS, EndNS: at.EndNS}
}

// kernel adds a NCCL kernel, or keeps it until the ranges are known.
func (c *recordedReader) kernel(k *source.Communication) {
	s := c.span(&k.Span, k.Device)
	if k.HasCollective {
		c.recorded(k, s)
		return
	}
	if len(c.part.Spans)+len(c.launched) >= c.part.limit {
		c.part.Dropped++
		return
	}
	c.launched = append(c.launched, launched{correlation: k.Correlation, stream: k.Stream, kernel: kindInKernel(k.Name), span: s})
}

// recorded adds a kernel that carries its collective's metadata.
func (c *recordedReader) recorded(a *source.Communication, s event.Span) {
	name := collectiveName(a.Collective)
	key := "group " + a.Group
	if a.Description != "" && a.Description != "undefined" {
		key += " (" + a.Description + ")"
	}
	ranks, kind, sends := c.ranks(a), kindOfCollective(name), name == "send"
	var ends hlo.Pair
	switch {
	case kind == event.SendRecv:
		var ok bool
		if ends, ok = c.ends(a, sends); ok {
			key += fmt.Sprintf(" %d->%d", ends.Source, ends.Target)
			name, ranks = "sendrecv", []int64{ends.Source, ends.Target}
		} else {
			kind = event.Unknown
		}
	case kind == event.AllToAll && (mayHoldZero(a.InSplit) || mayHoldZero(a.OutSplit)):
		kind, name = event.Unknown, name+" with empty parts" // not everyone gives to everyone
	}
	key += "/" + name
	s.Size, s.ElementBytes = a.Elements, a.ElementBytes
	byID := false
	switch {
	case kind == event.SendRecv: // each end counts its own
	case a.HasID && (!a.HasSeq || len(ranks) == 0): // groups of one name whose ranks are not written have one Seq, and an id each
		byID, s.HasRun, s.Run = true, true, a.ID
	case a.HasSeq:
		s.HasRun, s.Run = true, a.Seq
	}
	s.Op = c.part.op(opID{key: key, extra: fmt.Sprint(kind, ranks, a.GroupSize, sends, byID)}, func() Op {
		op := Op{Key: key, Kind: kind, Ranked: true, Size: int(min(max(a.GroupSize, 0), maxGroupRanks)), Sends: sends && kind == event.SendRecv}
		if kind != event.SendRecv && !byID { // ids count nothing
			op.Chain = fmt.Sprint(a.Group, ranks)
		}
		if len(ranks) > 0 {
			op.Groups = [][]int64{ranks}
		}
		if kind == event.SendRecv {
			op.Pairs = []hlo.Pair{ends}
		}
		return op
	})
	if a.GroupSize != 1 {
		c.part.add(s)
	}
}

// ends returns the global ranks of a send or receive.
func (c *recordedReader) ends(a *source.Communication, sends bool) (hlo.Pair, bool) {
	rank, known := c.part.Ranks[c.opt.Node]
	self := int64(rank)
	p := hlo.Pair{Source: a.Source, Target: self}
	has := a.HasSource
	if sends {
		p, has = hlo.Pair{Source: self, Target: a.Target}, a.HasTarget
	}
	return p, known && has && p.Source >= 0 && p.Target >= 0 && p.Source != p.Target
}

// ranks returns the members of a process group: as written beside the kernel, else from the trace's list of groups.
func (c *recordedReader) ranks(a *source.Communication) []int64 {
	if out, ok := parseInts(a.Ranks); ok && len(out) > 0 {
		return out
	}
	if c.distributed == nil {
		return nil
	}
	for _, g := range c.distributed.Groups {
		if g.Name == a.Group && len(g.Ranks) == g.Size && g.Size > 0 {
			out := make([]int64, len(g.Ranks))
			for i, r := range g.Ranks {
				out[i] = int64(r)
			}
			return out
		}
	}
	return nil
}

// parseInts reads a list like "[0, 1]". A shortened one ("[0, 1, ...]") is refused.
func parseInts(s string) ([]int64, bool) {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != '[' || s[len(s)-1] != ']' {
		return nil, false
	}
	var out []int64
	for _, field := range strings.Split(s[1:len(s)-1], ",") {
		if field = strings.TrimSpace(field); field == "" {
			continue
		}
		v, err := strconv.ParseInt(field, 10, 64)
		if err != nil || len(out) >= maxGroupRanks {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

// mayHoldZero reports whether a list of split sizes has, or may have, an empty part.
func mayHoldZero(text string) bool {
	list, ok := parseInts(text)
	return text != "" && !ok || slices.Contains(list, 0)
}

// collectiveName brings the spellings of PyTorch's versions together: "_allgather_base", "nccl:all_gather_base" and
// "all_gather" are one operation.
func collectiveName(name string) string {
	name = strings.TrimPrefix(name, "nccl:")
	name = strings.ToLower(strings.ReplaceAll(name, "_", ""))
	for _, suffix := range []string{"coalesced", "base", "oop", "single", "intotensor", "tensor", "sparse"} {
		name = strings.TrimSuffix(name, suffix)
	}
	if name == "alltoallv" {
		return "alltoall"
	}
	return name
}

// kindOfCollective returns the kind behind a name that collectiveName made.
func kindOfCollective(name string) event.Kind {
	switch name {
	case "allreduce":
		return event.AllReduce
	case "allgather":
		return event.AllGather
	case "reducescatter":
		return event.ReduceScatter
	case "alltoall":
		return event.AllToAll
	case "barrier":
		return event.Barrier
	case "broadcast":
		return event.Broadcast
	case "reduce":
		return event.Reduce
	case "gather":
		return event.Gather
	case "scatter":
		return event.Scatter
	case "send", "recv":
		return event.SendRecv
	}
	return event.Unknown
}

// placeLaunched finds the collective of each kernel that carries none: the range on the host around the call that launched it.
func (c *recordedReader) placeLaunched() {
	slices.SortFunc(c.ranges, compareCalls)
	ranges := map[int64]*source.Call{}
	for i := range c.calls {
		if r := c.around(&c.calls[i]); r != nil {
			ranges[c.calls[i].Correlation] = r
		}
	}
	for _, l := range c.launched {
		s := l.span
		op := Op{Key: fmt.Sprintf("stream %d/%s", l.stream, l.kernel), Kind: l.kernel, Ranked: true, Guess: true}
		if r := ranges[l.correlation]; r != nil {
			name := collectiveName(r.Name)
			s.Size = elements(r.Shapes)
			op = Op{Key: fmt.Sprintf("stream %d/%s", l.stream, name), Kind: kindOfCollective(name), Ranked: true}
		}
		if op.Kind == event.SendRecv {
			op.Kind = event.Unknown // nothing says between whom
		}
		op.Chain = fmt.Sprintf("stream %d", l.stream)
		s.Op = c.part.op(opID{key: op.Key}, func() Op { return op })
		c.part.add(s)
	}
	c.launched, c.calls, c.ranges, c.pending = nil, nil, nil, nil
}

func compareCalls(a, b source.Call) int {
	return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Start.NS, b.Start.NS),
		cmp.Compare(a.Start.PS, b.Start.PS), cmp.Compare(b.EndNS, a.EndNS))
}

// around returns the innermost range around a call, nil when there is none. Ranges nest little, so looking back a
// few is enough.
func (c *recordedReader) around(x *source.Call) *source.Call {
	at, _ := slices.BinarySearchFunc(c.ranges, *x, func(r, x source.Call) int {
		return cmp.Or(cmp.Compare(r.Process, x.Process), cmp.Compare(r.Line, x.Line), cmp.Compare(r.Start.NS, x.Start.NS), cmp.Compare(r.Start.PS, x.Start.PS), -1)
	})
	for i := at - 1; i >= 0 && i >= at-8; i-- {
		r := &c.ranges[i]
		if r.Process != x.Process || r.Line != x.Line {
			break
		}
		if r.EndNS >= x.Start.NS {
			return r
		}
	}
	return nil
}

// elements returns the number of elements of the one tensor in a list of shapes like "[[2, 3]]", 0 when it is not known or
// there are several.
func elements(dims string) int64 {
	dims = strings.TrimSpace(dims)
	open, end := strings.LastIndexByte(dims, '['), strings.IndexByte(dims, ']')
	if !strings.HasPrefix(dims, "[[") || open != 1 || end < open {
		return 0
	}
	list, ok := parseInts(dims[open : end+1])
	if !ok || len(list) == 0 {
		return 0
	}
	n := int64(1)
	for _, d := range list {
		if d <= 0 || n > (1<<62)/d {
			return 0
		}
		n *= d
	}
	return n
}
