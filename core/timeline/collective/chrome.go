package collective

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/timeline/event"
	"github.com/prlx-go/prlx/core/timeline/source/chrometrace"
	"github.com/prlx-go/prlx/core/timeline/source/hlo"
)

// maxGroupRanks bounds the members of a process group that are read from its text.
const maxGroupRanks = 1 << 17

// FromChrome finds the collectives in a Chrome trace. Kernels of NCCL and RCCL are what PyTorch's profiler wrote beside them: the
// collective's name, its process group and the group's ranks. Traces of before that have only the range "nccl:all_to_all" in
// which the kernel was launched, or only the kernel's name, which is flagged. Operations of compiled programs (JAX) are what the mark
// says of their programs; without one they count only under XLA's own names.
func FromChrome(ctx context.Context, src *file.Source, trace *chrometrace.Trace, opt Options) (*Part, error) {
	parts, err := FromChromeNodes(ctx, src, trace, nil, []Options{opt})
	if err != nil {
		return nil, err
	}
	return parts[0], nil
}

// FromChromeNodes does what FromChrome does for a trace that holds several nodes, a part for each: nodeOf says by process whose it
// is, -1 for nobody's. nil: everything is the first one's.
func FromChromeNodes(ctx context.Context, src *file.Source, trace *chrometrace.Trace, nodeOf []int, opts []Options) ([]*Part, error) {
	readers := make([]*chromeReader, len(opts))
	for k, opt := range opts {
		readers[k] = newChromeReader(trace, opt)
	}
	readers[0].part.Dropped = trace.CollectivesOmitted
	of := func(e *chrometrace.Event) *chromeReader {
		switch {
		case nodeOf == nil:
			return readers[0]
		case e.Process == nil || nodeOf[e.Process.Index] < 0:
			return nil
		}
		return readers[nodeOf[e.Process.Index]]
	}
	err := chrometrace.CollectiveKernels(ctx, src, trace, func(e *chrometrace.Event) error {
		if c := of(e); c != nil {
			return c.kernel(e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	launches := slices.ContainsFunc(readers, func(c *chromeReader) bool { return len(c.launched) > 0 })
	compiled := slices.ContainsFunc(readers, func(c *chromeReader) bool { return c.planes != nil })
	if launches || compiled || slices.ContainsFunc(trace.Processes, isCompiled) {
		for _, c := range readers {
			c.expect()
		}
		isOther := func(phase byte, cat, name []byte) bool {
			return phase == 'X' && (len(cat) == 0 || launches && (isCall(cat) || isRange(cat, name)))
		}
		err := chrometrace.Events(ctx, src, trace, isOther, func(e *chrometrace.Event) error {
			if c := of(e); c != nil {
				return c.other(e)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	parts := make([]*Part, len(readers))
	for k, c := range readers {
		parts[k] = c.finish()
	}
	return parts, nil
}

func newChromeReader(trace *chrometrace.Trace, opt Options) *chromeReader {
	c := &chromeReader{part: newPart(opt.Limit), opt: opt, devices: map[int64]int32{}, distributed: trace.Distributed}
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
		c.executions, c.planes = newExecutions(c.part, opt.Node, opt.Compiled.programs), planesOf(trace, opt.Compiled.planes)
	}
	return c
}

// expect notes whose launches are looked for.
func (c *chromeReader) expect() {
	c.pending = map[int64]bool{}
	for _, l := range c.launched {
		c.pending[l.correlation] = true
	}
}

func (c *chromeReader) finish() *Part {
	c.placeLaunched()
	if c.unknown > 0 {
		c.part.Unknown += c.unknown
		c.part.warn(fmt.Sprintf("%d operations of compiled programs come without their program: collectives among them are not known", c.unknown))
	}
	c.executions.finish()
	c.part.finish()
	return c.part
}

type chromeReader struct {
	executions // where planes are known

	planes []chromePlane // by process; nil: the mark says nothing of compiled programs

	part *Part
	opt  Options

	distributed *chrometrace.DistributedInfo

	devices  map[int64]int32 // device as recorded -> number within the node
	unknown  int64
	launched []launched
	pending  map[int64]bool // correlations of launched
	calls    []call
	ranges   []call
}

// launched is a kernel whose collective is to be learned from the range that launched it.
type launched struct {
	correlation int64
	stream      int64
	kernel      event.Kind
	span        event.Span
}

// call is something on a host thread: the call that launched a kernel, or a range like "nccl:all_to_all" around it.
type call struct {
	process, thread int
	start           chrometrace.Instant
	endNS           int64
	correlation     int64
	name            string
	size            int64 // elements of a range's input, 0 unknown
}

func isCall(cat []byte) bool {
	return string(cat) == "cuda_runtime" || string(cat) == "cuda_driver" || string(cat) == "Runtime"
}

func isRange(cat, name []byte) bool {
	return string(cat) == "user_annotation" && bytes.HasPrefix(name, []byte("nccl:"))
}

// other takes what is no kernel: ranges and calls that launch, operations of compiled programs.
func (c *chromeReader) other(e *chrometrace.Event) error {
	if !e.Timed || e.Process == nil {
		return nil
	}
	switch {
	case len(e.Cat) == 0 && c.planes != nil:
		c.execution(e)
	case len(e.Cat) == 0:
		c.compiled(e)
	case isCall(e.Cat):
		if n, ok := e.ArgInt("correlation"); ok && c.pending[n] && len(c.calls) < c.part.limit {
			c.calls = append(c.calls, call{process: e.Process.Index, thread: e.Thread, start: e.Start, endNS: endOf(e), correlation: n})
		}
	case len(c.ranges) < c.part.limit:
		dims, _ := e.Arg("Input Dims")
		c.ranges = append(c.ranges, call{process: e.Process.Index, thread: e.Thread, start: e.Start, endNS: endOf(e), name: string(e.Name), size: elements(string(dims))})
	}
	return nil
}

// endOf returns the end of an event in ns, rounded up.
func endOf(e *chrometrace.Event) int64 {
	if e.End.PS > 0 {
		return addSat(e.End.NS, 1)
	}
	return e.End.NS
}

// kernelArgs are the args of a kernel that matter here; has says which of them are there.
type kernelArgs struct {
	has                                   map[string]bool
	collective, group, description, ranks string
	device, correlation, stream           int64
	size, elements, seq, source, target   int64
	emptyParts                            bool
}

func argsOf(e *chrometrace.Event) kernelArgs {
	a := kernelArgs{has: map[string]bool{}}
	for _, x := range []struct {
		key string
		to  *string
	}{
		{"Collective name", &a.collective},
		{"Process Group Name", &a.group},
		{"Process Group Description", &a.description},
		{"Process Group Ranks", &a.ranks},
	} {
		text, ok := e.Arg(x.key)
		*x.to, a.has[x.key] = string(text), ok
	}
	for _, x := range []struct {
		key string
		to  *int64
	}{
		{"device", &a.device},
		{"correlation", &a.correlation},
		{"stream", &a.stream},
		{"Group size", &a.size},
		{"In msg nelems", &a.elements},
		{"Seq", &a.seq},
		{"Src Rank", &a.source},
		{"Dst Rank", &a.target},
	} {
		*x.to, a.has[x.key] = e.ArgInt(x.key)
	}
	for _, key := range []string{"In split size", "Out split size"} {
		text, _ := e.Arg(key)
		a.emptyParts = a.emptyParts || mayHoldZero(string(text))
	}
	return a
}

// span makes the execution of an event on a device.
func (c *chromeReader) span(e *chrometrace.Event, device int64) event.Span {
	d, ok := c.devices[device]
	if !ok {
		d = int32(len(c.devices))
		c.devices[device] = d
	}
	s := event.Span{Node: c.opt.Node, Device: d, Line: int32(max(e.Thread, 0)), StartNS: e.Start.NS, EndNS: endOf(e)}
	if e.Process != nil {
		s.Plane = int32(e.Process.Index)
	}
	return s
}

// kernel adds a NCCL kernel, or keeps it until the ranges are known.
func (c *chromeReader) kernel(e *chrometrace.Event) error {
	if !e.Timed || e.Phase != 'X' {
		return nil
	}
	a := argsOf(e)
	s := c.span(e, a.device)
	if a.has["Collective name"] {
		c.recorded(&a, s)
		return nil
	}
	if len(c.part.Spans)+len(c.launched) >= c.part.limit {
		c.part.Dropped++
		return nil
	}
	c.launched = append(c.launched, launched{correlation: a.correlation, stream: a.stream, kernel: kindInKernel(string(e.Name)), span: s})
	return nil
}

// recorded adds a kernel that carries its collective's metadata.
func (c *chromeReader) recorded(a *kernelArgs, s event.Span) {
	name := collectiveName(a.collective)
	key := "group " + a.group
	if a.description != "" && a.description != "undefined" {
		key += " (" + a.description + ")"
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
	case kind == event.AllToAll && a.emptyParts:
		kind, name = event.Unknown, name+" with empty parts" // not everyone gives to everyone
	}
	key += "/" + name
	s.Size = a.elements
	if a.has["Seq"] && kind != event.SendRecv {
		s.HasRun, s.Run = true, a.seq
	}
	s.Op = c.part.op(opID{key: key, extra: fmt.Sprint(kind, ranks, a.size, sends)}, func() Op {
		op := Op{Key: key, Kind: kind, Ranked: true, Size: int(min(max(a.size, 0), maxGroupRanks)), Sends: sends && kind == event.SendRecv}
		if kind != event.SendRecv {
			op.Chain = fmt.Sprint(a.group, ranks)
		}
		if len(ranks) > 0 {
			op.Groups = [][]int64{ranks}
		}
		if kind == event.SendRecv {
			op.Pairs = []hlo.Pair{ends}
		}
		return op
	})
	if a.size != 1 {
		c.part.add(s)
	}
}

// ends returns the global ranks of a send or receive.
func (c *chromeReader) ends(a *kernelArgs, sends bool) (hlo.Pair, bool) {
	rank, known := c.part.Ranks[c.opt.Node]
	self := int64(rank)
	p := hlo.Pair{Source: a.source, Target: self}
	has := a.has["Src Rank"]
	if sends {
		p, has = hlo.Pair{Source: self, Target: a.target}, a.has["Dst Rank"]
	}
	return p, known && has && p.Source >= 0 && p.Target >= 0 && p.Source != p.Target
}

// ranks returns the members of a process group: as written beside the kernel, else from the trace's list of groups.
func (c *chromeReader) ranks(a *kernelArgs) []int64 {
	if out, ok := parseInts(a.ranks); ok && len(out) > 0 {
		return out
	}
	if c.distributed == nil {
		return nil
	}
	for _, g := range c.distributed.Groups {
		if g.Name == a.group && len(g.Ranks) == g.Size && g.Size > 0 {
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
func (c *chromeReader) placeLaunched() {
	slices.SortFunc(c.ranges, compareCalls)
	ranges := map[int64]*call{}
	for i := range c.calls {
		if r := c.around(&c.calls[i]); r != nil {
			ranges[c.calls[i].correlation] = r
		}
	}
	for _, l := range c.launched {
		s := l.span
		op := Op{Key: fmt.Sprintf("stream %d/%s", l.stream, l.kernel), Kind: l.kernel, Ranked: true, Guess: true}
		if r := ranges[l.correlation]; r != nil {
			name := collectiveName(r.name)
			s.Size = r.size
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

func compareCalls(a, b call) int {
	return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.thread, b.thread), cmp.Compare(a.start.NS, b.start.NS),
		cmp.Compare(a.start.PS, b.start.PS), cmp.Compare(b.endNS, a.endNS))
}

// around returns the innermost range around a call, nil when there is none. Ranges nest little, so looking back a
// few is enough.
func (c *chromeReader) around(x *call) *call {
	at, _ := slices.BinarySearchFunc(c.ranges, *x, func(r, x call) int {
		return cmp.Or(cmp.Compare(r.process, x.process), cmp.Compare(r.thread, x.thread), cmp.Compare(r.start.NS, x.start.NS), cmp.Compare(r.start.PS, x.start.PS), -1)
	})
	for i := at - 1; i >= 0 && i >= at-8; i-- {
		r := &c.ranges[i]
		if r.process != x.process || r.thread != x.thread {
			break
		}
		if r.endNS >= x.start.NS {
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
