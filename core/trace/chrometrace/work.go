package chrometrace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/work"
)

// class is what the category of an event makes of it.
type class uint8

const (
	unknownClass class = iota // not a category of a profiler: taken for kernels where a file has nothing else
	uselessClass
	kernelClass
	copyClass
	hostMark
	deviceMark
	runtimeClass
	operatorClass // in 2021 steps were operators
)

// classOf sorts categories, in the spellings of every year.
func classOf(cat string) class {
	switch strings.ToLower(cat) {
	case "":
		return unknownClass
	case "kernel", "concurrent_kernel", "mtia_ccp_events":
		return kernelClass
	case "gpu_memcpy", "gpu_memset", "memcpy", "memset":
		return copyClass
	case "user_annotation":
		return hostMark
	case "gpu_user_annotation":
		return deviceMark
	case "cuda_runtime", "cuda_driver", "runtime", "driver", "hip_runtime", "hip_driver", "mtia_runtime", "xpu_runtime", "xpu_driver", "privateuse1_runtime":
		return runtimeClass
	case "operator", "cpu_op":
		return operatorClass
	case "python_function", "overhead", "cpu_instant_event", "trace", "ac2g", "async", "async_cpu_to_gpu", "fwdbwd", "external_correlation",
		"python_call", "cuda_profiler_range", "glow_runtime", "cuda_sync", "mtia_workloadd", "collective_comm", "hpu_op", "__metadata", "ipu_op":
		return uselessClass
	}
	return unknownClass
}

// workReader turns the events of a Chrome trace into rows.
type workReader struct {
	g       *work.Found // of kernels
	other   *work.Found // of events of unknown categories; nil once a profiler's category was seen
	classes map[string]class
	recent  [6]seenClass
	oldest  int // of recent

	names     map[*work.Found]*spelledNames
	namesOf   *work.Found // lastNames are names[namesOf]
	lastNames *spelledNames

	lastPID, lastTID []byte
	lastDoc          int
	lastProc         uint16
	lastLane         uint16
	lastOf           *work.Found

	halves []half
}

type seenClass struct {
	cat   string
	class class
	known bool
}

// half is the begin or the end of an event that is written as two.
type half struct {
	of     *work.Found
	name   uint32 // in of.names, or of.texts for marks
	what   class
	ps     int64
	lane   uint16
	corr   uint32
	begin  bool
	number int // place among the halves, for equal times
}

const (
	maxHalves = 1 << 22
	maxStack  = 1 << 16 // bytes of the ranges beside one kernel
)

// readWork opens a stream of Chrome JSON and reads what devices did.
func readWork(j *job.Job, path string, opt work.Options) (*work.Found, error) {
	in := opt.Stream
	if in == nil {
		var err error
		if in, err = file.OpenStream(j.Context(), path); err != nil {
			return nil, err
		}
	}
	defer in.Close()
	j.Progress().SetStage("read")
	j.Progress().SetTotal(max(0, in.DiskSize()))
	done := int64(0)
	return Work(j.Context(), in, path, opt, func() {
		j.Progress().Add(in.Consumed() - done)
		done = in.Consumed()
	})
}

// Work reads what devices did from a stream of Chrome JSON, in every shape that recorders and viewers write.
func Work(ctx context.Context, r io.Reader, path string, opt work.Options, progress func()) (*work.Found, error) {
	c := &workReader{g: work.New(path, opt), other: work.New(path, opt), classes: map[string]class{}, names: map[*work.Found]*spelledNames{}}
	res, err := walk(ctx, r, walkOptions{
		Path: path, MaxEvent: 16 << 20, Want: c.want, Name: c.wantName, Visit: c.visit, Progress: progress,
	})
	if err != nil {
		return nil, err
	}
	if err := c.pair(); err != nil {
		return nil, err
	}
	g := &worked{c.g}
	if g.Rows.Len() == 0 && c.other != nil && c.other.Rows.Len() > 0 {
		g = &worked{c.choose()}
	}
	g.report(res)
	return g.Found, g.describe(res)
}

// worked is what was read, until it is described.
type worked struct{ *work.Found }

// report says what the walk left out.
func (g *worked) report(res *walkResult) {
	l := &g.Losses
	l.Events, l.Skipped = res.Events, res.Skipped
	l.Documents = int64(max(0, len(res.Documents)-1))
	l.Truncated = res.Truncated
	if res.Truncated {
		l.TruncatedAt = res.Bytes
		g.Warn(fmt.Sprintf("the file ends inside of a document, at byte %d: what was recorded after that is missing", res.Bytes))
	}
	if l.Documents > 0 {
		g.Warn(fmt.Sprintf("the file holds %d documents one behind another: all were read", len(res.Documents)))
	}
	if res.Skipped > 0 {
		g.Warn(fmt.Sprintf("%d places of the file are no events and were skipped", res.Skipped))
	}
	if res.Trailing > 0 {
		g.Warn(fmt.Sprintf("%d bytes behind the trace are no trace", res.Trailing))
	}
}

// class is classOf with the categories seen last at hand.
func (c *workReader) class(cat []byte) class {
	for i := range c.recent {
		if r := &c.recent[i]; r.known && string(cat) == r.cat {
			return r.class
		}
	}
	k, ok := c.classes[string(cat)]
	if !ok {
		k = classOf(string(cat))
		if len(c.classes) < 4096 && len(cat) < 4096 {
			c.classes[string(cat)] = k
		}
	}
	c.recent[c.oldest] = seenClass{string(cat), k, true}
	c.oldest = (c.oldest + 1) % len(c.recent)
	return k
}

func (c *workReader) want(phase byte, cat []byte) interest {
	switch phase {
	case 'M':
		return take
	case 'X', 'B', 'E':
	default:
		return pass
	}
	k := c.class(cat)
	if k != unknownClass && c.other != nil {
		c.other = nil // a profiler's file
	}
	if phase != 'X' { // what a thread begins and ends belongs together, wanted or not
		return take
	}
	switch k {
	case kernelClass, hostMark, deviceMark:
		return take
	case copyClass:
		if c.g.Options.Copies {
			return take
		}
		c.g.Losses.Copies++
		return pass
	case runtimeClass, operatorClass:
		return byName
	case unknownClass:
		if c.other != nil {
			return take
		}
	}
	return pass
}

func (c *workReader) wantName(_ byte, cat, name []byte) bool {
	if c.class(cat) == operatorClass {
		return bytes.HasPrefix(name, []byte("ProfilerStep"))
	}
	return bytes.Contains(name, []byte("aunch")) || c.g.Options.Copies && bytes.Contains(name, []byte("Mem"))
}

func (c *workReader) visit(e *walked) error {
	if e.Phase == 'M' {
		return c.metadata(e)
	}
	k := c.class(e.Cat)
	g := c.g
	if k == unknownClass && c.other != nil {
		g = c.other
	}
	if e.Phase != 'X' {
		if k == unknownClass && c.other == nil {
			k = uselessClass
		}
		return c.half(g, k, e)
	}
	timed := e.HasTS && (e.HasDur || k == runtimeClass)
	var at int64
	if timed {
		at, timed = g.PS(e.Document, e.TS.US, e.TS.PS)
	}
	const mostUS = 9_000_000_000_000 // 104 days
	if !timed || e.Dur.US > mostUS {
		if k == kernelClass || k == copyClass || k == unknownClass {
			g.Losses.Unusable++
		}
		return nil
	}
	dur := max(0, e.Dur.US)*1_000_000 + int64(e.Dur.PS)
	if e.Dur.US < 0 {
		dur = 0
		if k == kernelClass || k == unknownClass {
			g.Losses.Negative++
		}
	}
	l, err := c.lane(g, e)
	if err != nil {
		return err
	}
	p := g.Lanes[l].Process
	switch k {
	case runtimeClass:
		g.Launch(at, correlation(e), p, bytes.Contains(e.Name(), []byte("GraphLaunch")))
		return nil
	case hostMark, operatorClass:
		return g.Mark(work.RawMark{Process: p, Lane: work.NoLane, Start: at, End: at + dur}, e.Name())
	case deviceMark:
		return g.Mark(work.RawMark{Process: p, Lane: l, Start: at, End: at + dur}, e.Name())
	}
	name, err := c.nameOf(g, e)
	if err != nil {
		return err
	}
	if err := g.Numbered(name, at, dur, l, correlation(e), blocks(e)); err != nil || !g.Options.Scopes {
		return err
	}
	if stack, ok := e.arg("call_stack"); ok && len(stack) <= maxStack { // of Proton
		return g.Scoped(stack)
	}
	return nil
}

// spelledNames are the numbers of names by how files write them: kernels come again and again in the same order, and most names need not
// be decoded, or looked up, to be known.
type spelledNames struct {
	of    map[string]*spelledName
	bytes int
	last  *spelledName
}

type spelledName struct {
	text   string
	number uint32
	next   *spelledName // the one that came behind it last
}

// nameOf numbers the name of a kernel.
func (c *workReader) nameOf(g *work.Found, e *walked) (uint32, error) {
	s := c.lastNames
	if c.namesOf != g {
		if s = c.names[g]; s == nil {
			s = &spelledNames{of: map[string]*spelledName{}}
			c.names[g] = s
		}
		c.namesOf, c.lastNames = g, s
	}
	raw := e.rawName
	if len(raw) < 2 || raw[0] != '"' {
		return g.Names.Number(g.Path, e.Name())
	}
	raw = raw[1 : len(raw)-1]
	if s.last != nil && s.last.next != nil && s.last.next.text == string(raw) {
		s.last = s.last.next
		return s.last.number, nil
	}
	found := s.of[string(raw)]
	if found == nil {
		number, err := g.Names.Number(g.Path, e.Name())
		if err != nil {
			return 0, err
		}
		found = &spelledName{text: g.Names.All[number], number: number}
		if found.text != string(raw) {
			if s.bytes += len(raw); s.bytes > work.MaxNameBytes {
				return number, nil
			}
			found.text = string(raw)
		}
		s.of[found.text] = found
	}
	if s.last != nil {
		s.last.next = found
	}
	s.last = found
	return found.number, nil
}

// correlation is the id that a kernel shares with the call that launched it; 0 where it has none.
func correlation(e *walked) uint32 {
	n, _ := e.argUint("correlation")
	return uint32(n)
}

// blocks is how many thread blocks a kernel has, of its arg "grid": [x, y, z]; 0 where it has none that can be read.
func blocks(e *walked) uint32 {
	text, _ := e.arg("grid")
	product, n, numbers := uint64(1), uint64(0), 0
	digit := false
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			n, digit = min(10*n+uint64(c-'0'), math.MaxUint32), true
		case c == ',' || c == ']':
			if !digit {
				return 0
			}
			product, n, digit = min(product*n, math.MaxUint32), 0, false
			numbers++
		case c != '[' && c != ' ':
			return 0
		}
	}
	if numbers == 0 || numbers > 3 || digit {
		return 0
	}
	return uint32(product)
}

// lane finds the stream of an event.
func (c *workReader) lane(g *work.Found, e *walked) (uint16, error) {
	if c.lastOf == g && c.lastDoc == e.Document && bytes.Equal(c.lastPID, e.PID) && bytes.Equal(c.lastTID, e.TID) {
		return c.lastLane, nil
	}
	p, err := g.Process(e.Document, e.PID)
	if err != nil {
		return 0, err
	}
	l, err := g.Lane(p, e.TID)
	if err != nil {
		return 0, err
	}
	c.lastOf, c.lastDoc, c.lastLane, c.lastProc = g, e.Document, l, p
	c.lastPID, c.lastTID = append(c.lastPID[:0], e.PID...), append(c.lastTID[:0], e.TID...)
	return l, nil
}

// metadata keeps the names of processes and threads.
func (c *workReader) metadata(e *walked) error {
	for _, g := range []*work.Found{c.g, c.other} {
		if g == nil || len(e.PID) == 0 {
			continue
		}
		p, err := g.Process(e.Document, e.PID)
		if err != nil {
			return err
		}
		proc := &g.Processes[p]
		text := func(key string) string {
			v, _ := e.arg(key)
			return string(v[:min(len(v), 1<<10)])
		}
		switch string(e.Name()) {
		case "process_name":
			proc.Name = text("name")
		case "process_labels":
			proc.Labels = text("labels")
		case "thread_name":
			if proc.Threads == nil {
				proc.Threads = map[string]string{}
			}
			if len(proc.Threads) >= work.MaxLanes {
				return fault.New(fault.Limit, "more than %d threads are named", work.MaxLanes).WithPath(g.Path)
			}
			proc.Threads[string(e.TID)] = text("name")
		}
	}
	return nil
}

// half keeps the begin or end of an event until all were read: the two need not stand in order.
func (c *workReader) half(g *work.Found, k class, e *walked) error {
	if k == runtimeClass || k == operatorClass {
		k = uselessClass
	}
	if k == copyClass && !g.Options.Copies {
		k = uselessClass
		if e.Phase == 'B' {
			g.Losses.Copies++
		}
	}
	for _, of := range []*work.Found{c.g, c.other} { // an end names neither category nor kernel: it ends what its thread began
		if of == nil || e.Phase == 'B' && of != g {
			continue
		}
		var at int64
		ok := e.HasTS
		if ok {
			at, ok = of.PS(e.Document, e.TS.US, e.TS.PS)
		}
		if !ok {
			of.Losses.Unusable++
			return nil
		}
		l, err := c.lane(of, e)
		if err != nil {
			return err
		}
		if len(c.halves) >= maxHalves {
			return fault.New(fault.Limit, "more than %d begins and ends of events", maxHalves).WithPath(of.Path)
		}
		h := half{of: of, ps: at, lane: l, begin: e.Phase == 'B', what: k, number: len(c.halves)}
		if h.begin && k != uselessClass {
			table := &of.Names
			if k == hostMark || k == deviceMark {
				table = &of.Texts
			}
			if h.name, err = table.Number(of.Path, e.Name()); err != nil {
				return err
			}
			of.Learn()
			h.corr = correlation(e)
		}
		c.halves = append(c.halves, h)
	}
	return nil
}
