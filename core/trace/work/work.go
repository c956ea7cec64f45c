// Package work is what devices did, as the reader of a trace found it in one pass: kernels as columns, the calls that launched them, and
// the marks that say what they belong to, in the order of the file. Readers of formats fill a Found; package kernels makes of it what
// the search for cycles needs. Columns stand for the rows of a hot loop: no interface lies between a reader and them.
package work

import (
	"math"

	"github.com/prlx-go/prlx/core/fault"
)

// Found collects what a file says, in the order of the file.
type Found struct {
	Path      string
	Options   Options
	Rows      Rows
	Names     Names    // of kernels
	Texts     Names    // of marks
	Scopes    Names    // ranges around launches, as recorders write them beside kernels
	Says      []Saying // by number of text, as Options.Read says
	Lanes     []Lane
	laneOf    map[string]uint16 // by process and thread
	Processes []Process
	procOf    map[string]uint16
	Origins   []Origin
	Marks     []RawMark
	Launches  Launches
	Losses    Losses
	Warnings  []string
	dropNVTX  bool // there were too many ranges of the user
	Called    bool // there are calls that launch
	Plain     bool // processes stand for devices
	World     int  // ranks of the job, as the recorder says it; 0 unknown
}

// Lane is one queue of a device: a thread of a trace, a line of an XSpace.
type Lane struct {
	Process uint16
	Thread  string
	Stream  string // name
	Device  string // where a process holds several
	Rows    int
	Skip    bool     // not part of the sequence after all
	Marks   MarkKind // its events are marks
}

// Process is one pid of one document, or one plane.
type Process struct {
	Document int
	PID      string // as written
	Name     string
	Labels   string
	Threads  map[string]string // names by tid

	Rank   int // -1 unknown; set when the file was read, with what follows
	Host   string
	Device string
	Group  uint16 // processes of one rank share correlation ids
}

// Origin is where the picoseconds of a document count from.
type Origin struct {
	Set    bool
	US     int64 // as written in the document
	BaseNS int64 // what the document counts from

	AbsoluteNS int64 // ns, set when the file was read, with what follows
	ShiftPS    int64 // to the axis of the first document
}

// RawMark is a mark before it was tied to a sequence.
type RawMark struct {
	Text       uint32
	Kind       MarkKind
	Process    uint16
	Lane       uint16 // of the device, NoLane on the host
	Start, End int64  // ps after the origin of the document
}

// NoLane is the lane of a mark on the host.
const NoLane = math.MaxUint16

// Launches are calls that started kernels, with their correlation ids.
type Launches struct {
	At      Column[int64] // ps after the origin
	Corr    Column[uint32]
	Process Column[uint16]
	Graph   map[GraphKey]bool // launches of graphs
}

// GraphKey is a launch of a graph.
type GraphKey struct {
	Group uint16 // the place of a process, whose group counts when all were read
	Corr  uint32
}

// Limits of what is kept of marks.
const (
	maxMarks       = 1 << 18 // annotations; above, the ranges of the user go
	MaxGraphs      = 1 << 22 // launches of graphs known from calls
	defaultKernels = 1 << 28
)

// New starts a Found for a file.
func New(path string, opt Options) *Found {
	if opt.MaxKernels <= 0 || opt.MaxKernels > math.MaxUint32-1 {
		opt.MaxKernels = defaultKernels
	}
	return &Found{Path: path, Options: opt, laneOf: map[string]uint16{}, procOf: map[string]uint16{}, Launches: Launches{Graph: map[GraphKey]bool{}}}
}

// PS places a time of a document on its axis. ok is false beyond 106 days from its first kernel, mark or launch.
func (g *Found) PS(document int, us int64, ps int32) (int64, bool) {
	for len(g.Origins) <= document {
		g.Origins = append(g.Origins, Origin{})
	}
	o := &g.Origins[document]
	if !o.Set {
		o.Set, o.US = true, us
	}
	d := us - o.US // parsed times are below 2^54 us
	const most = math.MaxInt64/1_000_000 - 1
	if d > most/2 || d < -most/2 {
		return 0, false
	}
	return d*1_000_000 + int64(ps), true
}

// Kernel adds a kernel.
func (g *Found) Kernel(name []byte, startPS, durPS int64, lane uint16, corr, blocks uint32) error {
	id, err := g.Names.Number(g.Path, name)
	if err != nil {
		return err
	}
	return g.Numbered(id, startPS, durPS, lane, corr, blocks)
}

// Numbered adds a kernel whose name has a number in Names.
func (g *Found) Numbered(name uint32, startPS, durPS int64, lane uint16, corr, blocks uint32) error {
	if g.Rows.Len() >= g.Options.MaxKernels {
		return fault.New(fault.Limit, "more than %d kernels", g.Options.MaxKernels).WithPath(g.Path).WithHint("cut the trace to a shorter time, or raise the limit")
	}
	g.Rows.add(name, startPS, durPS, lane, corr, blocks)
	g.Lanes[lane].Rows++
	return nil
}

// Scoped says what was written beside the kernel that was added last of the ranges around its launch.
func (g *Found) Scoped(text []byte) error {
	n, err := g.Scopes.Number(g.Path, text)
	if err != nil {
		return err
	}
	for g.Rows.Scopes.N < g.Rows.Len()-1 {
		g.Rows.Scopes.add(0)
	}
	g.Rows.Scopes.add(n + 1)
	return nil
}

// Mark adds an annotation. When there are too many, the ranges of the user go: all of them, so that what stays does not depend on order.
func (g *Found) Mark(m RawMark, text []byte) error {
	id, err := g.Texts.Number(g.Path, text)
	if err != nil {
		return err
	}
	m.Text = id
	g.Learn()
	if m.Kind == "" {
		m.Kind = g.Says[id].Kind
	}
	if m.Kind == NVTX && g.dropNVTX {
		g.Losses.LostMarks++
		return nil
	}
	g.Marks = append(g.Marks, m)
	if len(g.Marks) <= maxMarks {
		return nil
	}
	if g.dropNVTX {
		return fault.New(fault.Limit, "more than %d steps and modules are annotated", maxMarks).WithPath(g.Path)
	}
	g.dropNVTX = true
	kept := g.Marks[:0]
	for _, m := range g.Marks {
		if m.Kind != NVTX {
			kept = append(kept, m)
		}
	}
	g.Losses.LostMarks += int64(len(g.Marks) - len(kept))
	g.Marks = kept
	return nil
}

// Learn reads the texts that are new.
func (g *Found) Learn() {
	for i := len(g.Says); i < len(g.Texts.All); i++ {
		g.Says = append(g.Says, g.Options.Read(g.Texts.All[i]))
	}
}

// Launch adds a call that started kernels.
func (g *Found) Launch(atPS int64, corr uint32, proc uint16, graph bool) {
	if corr == 0 {
		return
	}
	g.Called = true
	if g.Launches.At.N >= g.Options.MaxKernels {
		g.Losses.LostLaunches++
		return
	}
	g.Launches.At.add(atPS)
	g.Launches.Corr.add(corr)
	g.Launches.Process.add(proc)
	if graph {
		if len(g.Launches.Graph) < MaxGraphs {
			g.Launches.Graph[GraphKey{proc, corr}] = true
		} else {
			g.Losses.LostLaunches++
		}
	}
}

// Process finds or adds a pid of a document.
func (g *Found) Process(document int, pid []byte) (uint16, error) {
	key := append(append(make([]byte, 0, 64), byte(document), byte(document>>8)), pid...)
	if p, ok := g.procOf[string(key)]; ok {
		return p, nil
	}
	if len(g.Processes) >= MaxLanes || len(pid) > 1<<12 {
		return 0, fault.New(fault.Limit, "more than %d processes, or a pid of more than 4 KiB", MaxLanes).WithPath(g.Path)
	}
	p := uint16(len(g.Processes))
	g.procOf[string(key)] = p
	g.Processes = append(g.Processes, Process{Document: document, PID: string(pid)})
	return p, nil
}

// Lane finds or adds a thread of a process.
func (g *Found) Lane(proc uint16, tid []byte) (uint16, error) {
	key := append(append(make([]byte, 0, 64), byte(proc), byte(proc>>8)), tid...)
	if l, ok := g.laneOf[string(key)]; ok {
		return l, nil
	}
	if len(g.Lanes) >= MaxLanes || len(tid) > 1<<12 {
		return 0, fault.New(fault.Limit, "more than %d streams, or a tid of more than 4 KiB", MaxLanes).WithPath(g.Path)
	}
	l := uint16(len(g.Lanes))
	g.laneOf[string(key)] = l
	g.Lanes = append(g.Lanes, Lane{Process: proc, Thread: string(tid)})
	return l, nil
}

// Warn adds a sentence to what the reader noticed.
func (g *Found) Warn(text string) { g.Warnings = append(g.Warnings, text) }
