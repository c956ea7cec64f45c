package collective

import (
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/hlo"
	"github.com/prlx-go/prlx/core/trace/source"
)

// markedPlane is a process that was a plane of an XSpace, as the mark says.
type markedPlane struct {
	aligned.Plane
	threads map[string]bool // tids with executions; nil: all
}

// planesOf returns by process what the mark says of its plane; a process of which it says nothing has no kind.
func planesOf(layout []*source.Process, said []aligned.Plane) []markedPlane {
	byPID := make(map[string]int, len(layout))
	for i, p := range layout {
		byPID[strings.Trim(p.TextID, `"`)] = i
	}
	out := make([]markedPlane, len(layout))
	for _, p := range said {
		i, ok := byPID[strconv.FormatInt(p.Process, 10)]
		if !ok {
			continue
		}
		out[i].Plane = p
		for _, tid := range p.Threads {
			if out[i].threads == nil {
				out[i].threads = make(map[string]bool, len(p.Threads))
			}
			out[i].threads[strconv.Itoa(tid)] = true
		}
	}
	return out
}

// execution adds an event of a process that was a plane of an XSpace, if it is a collective.
func (c *recordedReader) execution(e *source.OperationEvent) {
	p := &c.planes[e.Process]
	kind := p.Kind
	if kind == "" || p.threads != nil && !p.threads[c.thread(&e.Span)] {
		return
	}
	shown := string(e.Name)
	if name, ok := e.Args.Arg("long_name"); ok { // events are shown under their display name
		shown = string(name)
	}
	if !c.candidate(shown, kind) {
		return
	}
	device := int32(-1)
	if kind != aligned.PlaneHost {
		device = max(p.Device, 0)
		if p.DeviceID != nil {
			c.part.DeviceIDs[Slot{c.opt.Node, device}] = *p.DeviceID
		}
	}
	o := operationOf(shown, e.Args)
	c.add(kind, &o, event.Span{Device: device, Plane: e.Process, Line: max(e.Line, 0), StartNS: e.Start.NS, EndNS: e.EndNS})
}

// thread is the id of the line of an event as written, "" where it has none.
func (c *recordedReader) thread(s *source.Span) string {
	if s.Line < 0 {
		return ""
	}
	return c.layout[s.Process].Lines[s.Line].TextID
}

// operationOf finds in the args what the event says of its operation.
func operationOf(name string, e source.Args) source.Operation {
	f := source.Operation{Name: name}
	op, _ := e.Arg("hlo_op")
	module, _ := e.Arg("hlo_module")
	f.Op, f.Module = strings.TrimPrefix(string(op), "%"), string(module)
	f.Program, f.HasProgram = bitsOf(e, "program_id")
	f.Run, f.HasRun = bitsOf(e, "run_id")
	f.Ordinal, f.HasOrdinal = e.ArgInt("device_ordinal")
	return f
}

// bitsOf reads an id, which may be beyond int64.
func bitsOf(e source.Args, key string) (int64, bool) {
	if v, ok := e.ArgInt(key); ok {
		return v, true
	}
	text, _ := e.Arg(key)
	v, err := strconv.ParseUint(string(text), 10, 64)
	return int64(v), err == nil
}

// isCompiled reports whether a process is a plane of an XSpace, whose host and device lines hold operations of compiled programs.
func isCompiled(p *source.Process) bool {
	name := planeOf(p)
	return strings.HasPrefix(name, "/host:CPU") || strings.HasPrefix(name, "/device:")
}

// planeOf is the name of the plane that a process was: its own, or in a merged trace what its labels begin with.
func planeOf(p *source.Process) string {
	if plane, _, ok := strings.Cut(p.Labels, ", plane "); ok {
		return plane
	}
	return p.Name
}

// compiled adds an operation of a compiled program of which nothing else is known.
func (c *recordedReader) compiled(e *source.OperationEvent) {
	shown, process := string(e.Name), c.layout[e.Process]
	plane := planeOf(process)
	isDevice := strings.HasPrefix(plane, "/device:")
	if strings.HasPrefix(shown, "end: ") || !isCompiled(process) {
		return
	}
	op, ok := e.Args.Arg("hlo_op")
	if !ok && !(isDevice && isNCCL(shown)) {
		return
	}
	key := string(op)
	kind, phase, guessed := guess(key, shown)
	if !guessed || phase != hlo.Whole {
		c.unknown++
		return
	}
	if key == "" {
		key = kind.String()
	}
	if module, ok := e.Args.Arg("hlo_module"); ok {
		key = string(module) + "/" + key
	}
	device, ok := e.Args.ArgInt("device_ordinal")
	if !ok && isDevice {
		device = int64(source.DeviceNumber(plane))
	}
	s := c.span(&e.Span, device)
	s.Run, s.HasRun = e.Args.ArgInt("run_id")
	s.Op = c.part.op(opID{key: key}, func() Op { return Op{Key: key, Kind: kind, Guess: true} })
	c.part.add(s)
}
