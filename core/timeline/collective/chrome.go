package collective

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/timeline/chrometrace"
	"github.com/prlx-go/prlx/core/timeline/event"
	"github.com/prlx-go/prlx/core/timeline/hlo"
)

// maxGroupRanks bounds the members of a process group that are read from its text.
const maxGroupRanks = 1 << 17

// FromChrome finds the collectives in a Chrome trace. Kernels of NCCL and RCCL are what PyTorch's profiler wrote beside them: the
// collective's name, its process group and the group's ranks. Traces of before that have only the range "nccl:all_to_all" in
// which the kernel was launched, or only the kernel's name, which is flagged. Operations of compiled programs (JAX) come without
// their program in this format and count only under XLA's own names.
func FromChrome(ctx context.Context, src *file.Source, trace *chrometrace.Trace, opt Options) (*Part, error) {
	c := &chromeReader{part: newPart(opt.Limit), opt: opt, trace: trace, devices: map[int64]int32{}}
	switch {
	case opt.Rank != nil:
		c.part.Ranks[opt.Node] = int(*opt.Rank)
	case trace.Rank() >= 0:
		c.part.Ranks[opt.Node] = trace.Rank()
	}
	if err := chrometrace.Events(ctx, src, trace, c.want, c.visit); err != nil {
		return nil, err
	}
	if err := c.placeLaunched(ctx, src); err != nil {
		return nil, err
	}
	if c.unknown > 0 {
		c.part.Unknown += c.unknown
		c.part.warn(fmt.Sprintf("%d operations of compiled programs come without their program: collectives among them are not known", c.unknown))
	}
	c.part.finish()
	return c.part, nil
}

type chromeReader struct {
	part     *Part
	opt      Options
	trace    *chrometrace.Trace
	devices  map[int64]int32 // device as recorded -> number within the node
	unknown  int64
	launched []launched
	ranges   []launchRange
}

// launched is a kernel whose collective is to be learned from the range that launched it.
type launched struct {
	correlation int64
	stream      int64
	kernel      event.Kind
	span        event.Span
}

// launchRange is a range like "nccl:all_to_all" on a host thread.
type launchRange struct {
	process    int
	thread     string
	start, end chrometrace.Instant
	name       string
}

func (c *chromeReader) want(phase byte, cat, name []byte) bool {
	if phase != 'X' {
		return false
	}
	switch {
	case isKernel(cat):
		return isNCCL(string(name))
	case string(cat) == "user_annotation":
		return strings.HasPrefix(string(name), "nccl:")
	}
	return len(cat) == 0 && !strings.HasPrefix(string(name), "end: ")
}

func isKernel(cat []byte) bool { return string(cat) == "kernel" || string(cat) == "Kernel" }

func (c *chromeReader) visit(e *chrometrace.Event) error {
	if !e.Timed {
		return nil
	}
	switch {
	case isKernel(e.Cat):
		c.kernel(e)
	case len(e.Cat) > 0:
		if len(c.ranges) < c.part.limit && e.Process != nil {
			c.ranges = append(c.ranges, launchRange{e.Process.Index, string(e.TID), e.Start, e.End, string(e.Name)})
		}
	default:
		c.compiled(e)
	}
	return nil
}

// span makes the execution of an event on a device.
func (c *chromeReader) span(e *chrometrace.Event, device int64) event.Span {
	d, ok := c.devices[device]
	if !ok {
		d = int32(len(c.devices))
		c.devices[device] = d
	}
	s := event.Span{Node: c.opt.Node, Device: d, StartNS: e.Start.NS, EndNS: e.End.NS}
	if e.End.PS > 0 {
		s.EndNS = addSat(s.EndNS, 1)
	}
	if e.Process != nil {
		s.Plane = int32(e.Process.Index)
	}
	return s
}

// kernel adds a NCCL kernel, or keeps it until the ranges are known.
func (c *chromeReader) kernel(e *chrometrace.Event) {
	device, _ := e.ArgInt("device")
	s := c.span(e, device)
	if name, ok := e.Arg("Collective name"); ok {
		c.recorded(e, s, collectiveName(string(name)))
		return
	}
	l := launched{span: s, kernel: kindInKernel(string(e.Name))}
	l.correlation, _ = e.ArgInt("correlation")
	l.stream, _ = e.ArgInt("stream")
	if len(c.part.Spans)+len(c.launched) >= c.part.limit {
		c.part.Dropped++
		return
	}
	c.launched = append(c.launched, l)
}

// recorded adds a kernel that carries its collective's metadata.
func (c *chromeReader) recorded(e *chrometrace.Event, s event.Span, name string) {
	group, _ := e.Arg("Process Group Name")
	key := "group " + string(group)
	if description, ok := e.Arg("Process Group Description"); ok && len(description) > 0 && string(description) != "undefined" {
		key += " (" + string(description) + ")"
	}
	ranks := c.ranks(e, string(group))
	size, _ := e.ArgInt("Group size")
	kind := kindOfCollective(name)
	var source, target int64
	sends := name == "send"
	if kind == event.SendRecv {
		var ok bool
		if source, target, ok = c.ends(e, sends); !ok {
			kind = event.Unknown
		} else {
			key += fmt.Sprintf(" %d->%d", source, target)
			name, ranks = "sendrecv", []int64{source, target}
		}
	}
	if kind == event.AllToAll && hasZero(e, "In split size", "Out split size") {
		kind, name = event.Unknown, name+" with empty parts" // not everyone gives to everyone
	}
	key += "/" + name
	s.Size, _ = e.ArgInt("In msg nelems")
	if seq, ok := e.ArgInt("Seq"); ok && kind != event.SendRecv {
		s.HasRun, s.Run = true, seq
	}
	s.Op = c.part.op(opID{key: key, extra: fmt.Sprint(kind, ranks, size, sends)}, func() Op {
		op := Op{Key: key, Kind: kind, Ranked: true, Size: int(min(max(size, 0), maxGroupRanks)), Sends: sends && kind == event.SendRecv}
		if len(ranks) > 0 {
			op.Groups = [][]int64{ranks}
		}
		if kind == event.SendRecv {
			op.Pairs = []hlo.Pair{{Source: source, Target: target}}
		}
		return op
	})
	if size != 1 {
		c.part.add(s)
	}
}

// ends returns the global ranks of a send or receive.
func (c *chromeReader) ends(e *chrometrace.Event, sends bool) (source, target int64, ok bool) {
	self, known := c.part.Ranks[c.opt.Node]
	peerArg := "Src Rank"
	if sends {
		peerArg = "Dst Rank"
	}
	peer, has := e.ArgInt(peerArg)
	if !known || !has || peer < 0 || peer == int64(self) {
		return 0, 0, false
	}
	if sends {
		return int64(self), peer, true
	}
	return peer, int64(self), true
}

// ranks returns the members of a process group: as written beside the kernel, else from the trace's list of groups.
func (c *chromeReader) ranks(e *chrometrace.Event, group string) []int64 {
	if text, ok := e.Arg("Process Group Ranks"); ok {
		if out, ok := parseInts(string(text)); ok && len(out) > 0 {
			return out
		}
	}
	if c.trace.Distributed == nil {
		return nil
	}
	for _, g := range c.trace.Distributed.Groups {
		if g.Name == group && len(g.Ranks) == g.Size && g.Size > 0 {
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

func hasZero(e *chrometrace.Event, keys ...string) bool {
	for _, k := range keys {
		if text, ok := e.Arg(k); ok {
			if list, ok := parseInts(string(text)); !ok && len(text) > 0 || slices.Contains(list, 0) {
				return true
			}
		}
	}
	return false
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
func (c *chromeReader) placeLaunched(ctx context.Context, src *file.Source) error {
	names := map[int64]string{}
	if len(c.launched) > 0 && len(c.ranges) > 0 {
		pending := map[int64]bool{}
		for _, l := range c.launched {
			pending[l.correlation] = true
		}
		want := func(phase byte, cat, _ []byte) bool {
			return phase == 'X' && (string(cat) == "cuda_runtime" || string(cat) == "cuda_driver" || string(cat) == "Runtime")
		}
		if err := chrometrace.Events(ctx, src, c.trace, want, func(e *chrometrace.Event) error {
			if n, ok := e.ArgInt("correlation"); ok && pending[n] && e.Timed && e.Process != nil {
				if r := c.around(e); r != nil {
					names[n] = r.name
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	for _, l := range c.launched {
		s := l.span
		id := opID{key: fmt.Sprintf("stream %d/%s", l.stream, l.kernel)}
		op := Op{Key: id.key, Kind: l.kernel, Ranked: true, Guess: true}
		if name, ok := names[l.correlation]; ok {
			name = collectiveName(name)
			id.key = fmt.Sprintf("stream %d/%s", l.stream, name)
			op = Op{Key: id.key, Kind: kindOfCollective(name), Ranked: true}
		}
		if op.Kind == event.SendRecv {
			op.Kind = event.Unknown // nothing says between whom
		}
		s.Op = c.part.op(id, func() Op { return op })
		c.part.add(s)
	}
	c.launched = nil
	return nil
}

// around returns the innermost range on the event's thread that holds its start.
func (c *chromeReader) around(e *chrometrace.Event) *launchRange {
	var best *launchRange
	for i := range c.ranges {
		r := &c.ranges[i]
		if r.process == e.Process.Index && r.thread == string(e.TID) && !e.Start.Before(r.start) && !r.end.Before(e.Start) &&
			(best == nil || best.start.Before(r.start)) {
			best = r
		}
	}
	return best
}

// compiled adds an operation of a compiled program.
func (c *chromeReader) compiled(e *chrometrace.Event) {
	isDevice := e.Process != nil && strings.HasPrefix(e.Process.Name, "/device:")
	op, ok := e.Arg("hlo_op")
	if !ok && !(isDevice && isNCCL(string(e.Name))) {
		return
	}
	name := string(op)
	kind, phase, guessed := guess(name, string(e.Name))
	if !guessed || phase != hlo.Whole {
		if ok {
			c.unknown++
		}
		return
	}
	key := name
	if key == "" {
		key = kind.String()
	}
	if module, ok := e.Arg("hlo_module"); ok {
		key = string(module) + "/" + key
	}
	device, ok := e.ArgInt("device_ordinal")
	if !ok && isDevice {
		device = int64(deviceOf(e.Process.Name))
	}
	s := c.span(e, device)
	s.Run, s.HasRun = e.ArgInt("run_id")
	s.Op = c.part.op(opID{key: key}, func() Op { return Op{Key: key, Kind: kind, Guess: true} })
	c.part.add(s)
}
