package kernels

import (
	"math"

	"github.com/prlx-go/prlx/core/fault"
)

// gather collects what a file says, in the order of the file. finish.go makes a Trace of it.
type gather struct {
	path     string
	opt      Options
	rows     rows
	names    names    // of kernels
	texts    names    // of marks
	says     []saying // by number of text
	lanes    []lane
	laneOf   map[string]uint16 // by process and thread, see chrome.go and xspace.go
	procs    []process
	procOf   map[string]uint16
	origins  []origin
	marks    []rawMark
	launches launches
	losses   Losses
	warnings []string
	dropNVTX bool // there were too many ranges of the user
	called   bool // there are calls that launch
	plain    bool // processes stand for devices
}

// lane is one queue of a device: a thread of a trace, a line of an XSpace.
type lane struct {
	proc   uint16
	thread string
	stream string // name
	device string // where a process holds several
	rows   int
	skip   bool     // not part of the sequence after all
	marks  MarkKind // its events are marks
}

// process is one pid of one document, or one plane.
type process struct {
	document int
	pid      string // as written
	name     string
	labels   string
	threads  map[string]string // names by tid

	rank   int // set by finish, with what follows
	host   string
	device string
	group  uint16 // processes of one rank share correlation ids
}

// origin is where the picoseconds of a document count from.
type origin struct {
	set    bool
	us     int64 // as written in the document
	baseNS int64 // what the document counts from

	absolute int64 // ns, set by finish, with what follows
	shiftPS  int64 // to the axis of the first document
}

// rawMark is a mark before it was tied to a sequence.
type rawMark struct {
	text       uint32
	kind       MarkKind
	proc       uint16
	lane       uint16 // of the device, noLane on the host
	start, end int64  // ps after the origin of the document
}

const noLane = math.MaxUint16

// launches are calls that started kernels, with their correlation ids.
type launches struct {
	at    column[int64] // ps after the origin
	corr  column[uint32]
	proc  column[uint16]
	graph map[graphKey]bool // launches of graphs
}

type graphKey struct {
	group uint16 // a process until finish has set groups
	corr  uint32
}

// Limits of what is kept of marks.
const (
	maxMarks       = 1 << 18 // annotations; above, the ranges of the user go
	maxGraphMarks  = 1 << 17 // graph launches as marks; above, none of them
	maxGraphs      = 1 << 22 // launches of graphs known from calls
	defaultKernels = 1 << 28
)

func newGather(path string, opt Options) *gather {
	if opt.MaxKernels <= 0 || opt.MaxKernels > math.MaxUint32-1 {
		opt.MaxKernels = defaultKernels
	}
	return &gather{path: path, opt: opt, laneOf: map[string]uint16{}, procOf: map[string]uint16{}, launches: launches{graph: map[graphKey]bool{}}}
}

// ps places a time of a document on its axis. ok is false beyond 106 days from its first kernel, mark or launch.
func (g *gather) ps(document int, us int64, ps int32) (int64, bool) {
	for len(g.origins) <= document {
		g.origins = append(g.origins, origin{})
	}
	o := &g.origins[document]
	if !o.set {
		o.set, o.us = true, us
	}
	d := us - o.us // parsed times are below 2^54 us
	const most = math.MaxInt64/1_000_000 - 1
	if d > most/2 || d < -most/2 {
		return 0, false
	}
	return d*1_000_000 + int64(ps), true
}

// kernel adds a kernel.
func (g *gather) kernel(name []byte, startPS, durPS int64, lane uint16, corr, blocks uint32) error {
	if g.rows.len() >= g.opt.MaxKernels {
		return fault.New(fault.Limit, "more than %d kernels", g.opt.MaxKernels).WithPath(g.path).WithHint("cut the trace to a shorter time, or raise the limit")
	}
	id, err := g.names.number(g.path, name)
	if err != nil {
		return err
	}
	g.rows.add(id, startPS, durPS, lane, corr, blocks)
	g.lanes[lane].rows++
	return nil
}

// mark adds an annotation. When there are too many, the ranges of the user go: all of them, so that what stays does not depend on order.
func (g *gather) mark(m rawMark, text []byte) error {
	id, err := g.texts.number(g.path, text)
	if err != nil {
		return err
	}
	m.text = id
	g.learn()
	if m.kind == "" {
		m.kind = g.says[id].kind
	}
	if m.kind == NVTX && g.dropNVTX {
		g.losses.LostMarks++
		return nil
	}
	g.marks = append(g.marks, m)
	if len(g.marks) <= maxMarks {
		return nil
	}
	if g.dropNVTX {
		return fault.New(fault.Limit, "more than %d steps and modules are annotated", maxMarks).WithPath(g.path)
	}
	g.dropNVTX = true
	kept := g.marks[:0]
	for _, m := range g.marks {
		if m.kind != NVTX {
			kept = append(kept, m)
		}
	}
	g.losses.LostMarks += int64(len(g.marks) - len(kept))
	g.marks = kept
	return nil
}

// learn reads the texts that are new.
func (g *gather) learn() {
	for i := len(g.says); i < len(g.texts.all); i++ {
		g.says = append(g.says, read(g.texts.all[i]))
	}
}

// launch adds a call that started kernels.
func (g *gather) launch(atPS int64, corr uint32, proc uint16, graph bool) {
	if corr == 0 {
		return
	}
	g.called = true
	if g.launches.at.n >= g.opt.MaxKernels {
		g.losses.LostLaunches++
		return
	}
	g.launches.at.add(atPS)
	g.launches.corr.add(corr)
	g.launches.proc.add(proc)
	if graph {
		if len(g.launches.graph) < maxGraphs {
			g.launches.graph[graphKey{proc, corr}] = true
		} else {
			g.losses.LostLaunches++
		}
	}
}

// process finds or adds a pid of a document.
func (g *gather) process(document int, pid []byte) (uint16, error) {
	key := append(append(make([]byte, 0, 64), byte(document), byte(document>>8)), pid...)
	if p, ok := g.procOf[string(key)]; ok {
		return p, nil
	}
	if len(g.procs) >= maxLanes || len(pid) > 1<<12 {
		return 0, fault.New(fault.Limit, "more than %d processes, or a pid of more than 4 KiB", maxLanes).WithPath(g.path)
	}
	p := uint16(len(g.procs))
	g.procOf[string(key)] = p
	g.procs = append(g.procs, process{document: document, pid: string(pid)})
	return p, nil
}

// lane finds or adds a thread of a process.
func (g *gather) lane(proc uint16, tid []byte) (uint16, error) {
	key := append(append(make([]byte, 0, 64), byte(proc), byte(proc>>8)), tid...)
	if l, ok := g.laneOf[string(key)]; ok {
		return l, nil
	}
	if len(g.lanes) >= maxLanes || len(tid) > 1<<12 {
		return 0, fault.New(fault.Limit, "more than %d streams, or a tid of more than 4 KiB", maxLanes).WithPath(g.path)
	}
	l := uint16(len(g.lanes))
	g.laneOf[string(key)] = l
	g.lanes = append(g.lanes, lane{proc: proc, thread: string(tid)})
	return l, nil
}

func (g *gather) warn(text string) { g.warnings = append(g.warnings, text) }
