package collective

import (
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/timeline/aligned"
	"github.com/prlx-go/prlx/core/timeline/event"
	"github.com/prlx-go/prlx/core/timeline/source/chrometrace"
	"github.com/prlx-go/prlx/core/timeline/source/hlo"
)

// chromePlane is a process that was a plane of an XSpace, as the mark says.
type chromePlane struct {
	aligned.Plane
	threads map[string]bool // tids with executions; nil: all
}

// planesOf returns by process what the mark says of its plane; a process of which it says nothing has no kind.
func planesOf(trace *chrometrace.Trace, said []aligned.Plane) []chromePlane {
	byPID := make(map[string]int, len(trace.Processes))
	for i, p := range trace.Processes {
		byPID[strings.Trim(p.PID, `"`)] = i
	}
	out := make([]chromePlane, len(trace.Processes))
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
func (c *chromeReader) execution(e *chrometrace.Event) {
	p := &c.planes[e.Process.Index]
	kind := planeKind(p.Kind)
	if kind == otherPlane || e.Phase != 'X' || p.threads != nil && !p.threads[string(e.TID)] {
		return
	}
	shown := string(e.Name)
	if name, ok := e.Arg("long_name"); ok { // events are shown under their display name
		shown = string(name)
	}
	if !c.candidate(shown, kind) {
		return
	}
	device := int32(-1)
	if kind != hostPlane {
		device = max(p.Device, 0)
		if p.DeviceID != nil {
			c.part.DeviceIDs[Slot{c.opt.Node, device}] = *p.DeviceID
		}
	}
	f := factsOfArgs(e)
	c.add(kind, shown, &f, event.Span{Device: device, Plane: int32(e.Process.Index), Line: int32(max(e.Thread, 0)), StartNS: e.Start.NS, EndNS: endOf(e)})
}

// factsOfArgs finds in the args what factsOf finds in the stats.
func factsOfArgs(e *chrometrace.Event) eventFacts {
	var f eventFacts
	op, _ := e.Arg("hlo_op")
	module, _ := e.Arg("hlo_module")
	f.op, f.module = strings.TrimPrefix(string(op), "%"), string(module)
	f.program, f.hasProgram = bitsOf(e, "program_id")
	f.run, f.hasRun = bitsOf(e, "run_id")
	f.ordinal, f.hasOrdinal = e.ArgInt("device_ordinal")
	return f
}

// bitsOf reads an id, which may be beyond int64.
func bitsOf(e *chrometrace.Event, key string) (int64, bool) {
	if v, ok := e.ArgInt(key); ok {
		return v, true
	}
	text, _ := e.Arg(key)
	v, err := strconv.ParseUint(string(text), 10, 64)
	return int64(v), err == nil
}

// isCompiled reports whether a process is a plane of an XSpace, whose host and device lines hold operations of compiled programs.
func isCompiled(p *chrometrace.Process) bool {
	name := planeOf(p)
	return strings.HasPrefix(name, "/host:CPU") || strings.HasPrefix(name, "/device:")
}

// planeOf is the name of the plane that a process was: its own, or in a merged trace what its labels begin with.
func planeOf(p *chrometrace.Process) string {
	if plane, _, ok := strings.Cut(p.Labels, ", plane "); ok {
		return plane
	}
	return p.Name
}

// compiled adds an operation of a compiled program of which nothing else is known.
func (c *chromeReader) compiled(e *chrometrace.Event) {
	shown := string(e.Name)
	plane := planeOf(e.Process)
	isDevice := strings.HasPrefix(plane, "/device:")
	if strings.HasPrefix(shown, "end: ") || !isCompiled(e.Process) {
		return
	}
	op, ok := e.Arg("hlo_op")
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
	if module, ok := e.Arg("hlo_module"); ok {
		key = string(module) + "/" + key
	}
	device, ok := e.ArgInt("device_ordinal")
	if !ok && isDevice {
		device = int64(deviceOf(plane))
	}
	s := c.span(e, device)
	s.Run, s.HasRun = e.ArgInt("run_id")
	s.Op = c.part.op(opID{key: key}, func() Op { return Op{Key: key, Kind: kind, Guess: true} })
	c.part.add(s)
}
