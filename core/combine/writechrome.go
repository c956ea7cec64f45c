package combine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

// writeChrome writes one Chrome JSON of all nodes, compressed where its name ends in .gz or .zst. programs are the compiled programs of the nodes'
// parts, as far as they were read before.
func writeChrome(j *job.Job, in *inputs, c *clocks, programs [][]*collective.Programs) (*written, error) {
	out, err := file.Create(c.to.output, c.to.overwrite)
	if err != nil {
		return nil, err
	}
	w, err := fillChrome(j, in, c, programs, out)
	if err != nil {
		out.Abort()
		return nil, err
	}
	w.abort = out.Abort
	w.commit = func(doc *Document) error { return doc.commitWithReports(out, c.to) }
	return w, nil
}

// fillChrome writes the JSON to a file.
func fillChrome(j *job.Job, in *inputs, c *clocks, programs [][]*collective.Programs, out *file.Output) (*written, error) {
	in.stage(j, "write")
	sum := sha256.New()
	sized := &sizeWriter{w: io.MultiWriter(out, sum)}
	name := strings.ToLower(c.to.output)
	var to io.Writer = sized
	finish := func() error { return nil }
	if strings.HasSuffix(name, ".zst") {
		z, err := zstd.NewWriter(sized, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			return nil, err
		}
		to, finish = z, z.Close
	}
	list, err := newListWriter(to, strings.HasSuffix(name, ".gz"), j.Workers())
	if err != nil {
		return nil, err
	}
	d, err := newChromeDocument(j, in, c, programs)
	if err != nil {
		return nil, err
	}
	if err := d.write(j.Context(), list); err != nil {
		return nil, err
	}
	if err := list.Close(); err != nil {
		return nil, err
	}
	if err := finish(); err != nil {
		return nil, err
	}
	outputs := []Output{{Path: filepath.Base(c.to.output), Format: string(FormatChrome), Bytes: sized.n, SHA256: hexSum(sum)}}
	return &written{outputs: outputs, zeroNS: d.zeroNS, nodes: d.done, said: d.said}, nil
}

type sizeWriter struct {
	w io.Writer
	n int64
}

func (s *sizeWriter) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.n += int64(n)
	return n, err
}

// chromeDocument is one JSON being made.
type chromeDocument struct {
	job    *job.Job
	in     *inputs
	c      *clocks
	marks  marks // completed by what the output calls processes
	zeroNS int64
	parts  []chromePart  // by node
	done   []writtenNode // by node
	said   remarks

	flowsDrawn, flowsBack int64 // flows of recordings that were written, and that would go back in time

	programs aligned.ProgramTable
	nextPID  int64
	nextSort int64
}

// chromePart is the share of one node: a text that is rewritten, or a trace that crosses over line by line.
type chromePart struct {
	rewriter source.Rewriter
	workers  []source.Worker     // by worker
	counts   []source.TextCounts // by worker
	cross    *crossing
}

// newChromeDocument decides processes and ids of every node.
func newChromeDocument(j *job.Job, in *inputs, c *clocks, programs [][]*collective.Programs) (*chromeDocument, error) {
	d := &chromeDocument{job: j, in: in, c: c, marks: c.marks.copied(), zeroNS: c.at.zeroNS, parts: make([]chromePart, len(in.nodes)), done: make([]writtenNode, len(in.nodes)), nextPID: 1}
	if in.alone() && in.nodes[0].text != nil && d.untouched(0) { // then its times stay as they are
		d.zeroNS = in.nodes[0].facts.StartNS
		d.marks.mark.ZeroNS = d.zeroNS
	}
	ids := d.namespaces()
	for k, n := range in.nodes {
		p := &d.parts[k]
		var err error
		if n.text == nil {
			var known []*collective.Programs
			if programs != nil {
				known = programs[k]
			}
			if p.cross, err = d.crossing(k); err == nil {
				err = d.markCompiled(k, p.cross, known)
			}
		} else {
			err = d.rewrite(k, ids[k])
		}
		if err != nil {
			return nil, err
		}
	}
	d.settlePrograms()
	return d, nil
}

// rewrite decides what becomes of a Chrome trace.
func (d *chromeDocument) rewrite(k int, ids source.TextIDs) (err error) {
	n, p := d.in.nodes[k], &d.parts[k]
	e := d.chromeEdit(k)
	if !d.in.alone() {
		e.Processes, e.IDs, e.DropEmpty = d.processes(k), ids, true
		d.markProcesses(k, e.Processes)
		d.clocksOfDevices(k, &e)
		if err := d.keepCompiled(k, e.Processes); err != nil {
			return err
		}
	} else if d.clocksOfDevices(k, &e); !d.untouched(k) && n.mark == nil {
		n.markKept(d.marks.mark)
		if e.Mark, err = d.marks.mark.Text(); err != nil {
			return err
		}
	}
	if p.rewriter, err = n.text.Rewriter(e); err != nil {
		return err
	}
	p.workers = make([]source.Worker, max(1, d.job.Workers()))
	p.counts = make([]source.TextCounts, len(p.workers))
	return nil
}

// markProcesses notes in the mark which processes of the output are whose.
func (d *chromeDocument) markProcesses(k int, edits []source.TextProcess) {
	n := d.in.nodes[k]
	of := n.nodesOfProcesses()
	for i := range edits {
		part := 0
		if of != nil {
			part = of[i]
		}
		pid, err := strconv.ParseInt(edits[i].PID, 10, 64)
		if err != nil || part < 0 {
			continue
		}
		one := &d.marks.mark.Nodes[d.marks.mine[k][part]]
		one.Processes = append(one.Processes, pid)
		if d.c.devices[k].maps[int32(i)] != nil {
			setThreads(one, edits[i].PID, threadsOf(n.layout[i], edits[i].TIDs))
		}
		if n.mark == nil || n.mark.Nodes[part].TracerThreads == nil {
			continue
		}
		if tids := n.mark.Nodes[part].TracerThreads[unquoted(n.layout[i].TextID)]; len(tids) > 0 {
			setThreads(one, edits[i].PID, tids)
		}
	}
}

// threadsOf are the numbers of all threads of a process, as they are written.
func threadsOf(p *source.Process, renamed map[string]string) (tids []int) {
	for _, l := range p.Lines {
		text := l.TextID
		if to, ok := renamed[text]; ok {
			text = to
		}
		if v, err := strconv.Atoi(text); err == nil {
			tids = append(tids, v)
		}
	}
	return tids
}

// clocksOfDevices makes an edit put the events of devices through the clocks of their own.
func (d *chromeDocument) clocksOfDevices(k int, e *source.TextEdit) {
	n, devices := d.in.nodes[k], &d.c.devices[k]
	if len(devices.maps) == 0 {
		return
	}
	if e.Processes == nil {
		e.Processes = make([]source.TextProcess, len(n.layout))
	}
	for p := range devices.maps {
		e.Processes[p].Clock = devices.onReference(p, d.c.at.nodes[k].maps.Wall)
	}
	e.Sample = true
}

func setThreads(one *aligned.Node, pid string, tids []int) {
	if one.TracerThreads == nil {
		one.TracerThreads = map[string][]int{}
	}
	one.TracerThreads[pid] = tids
}

// untouched reports whether no time of node k changes.
func (d *chromeDocument) untouched(k int) bool {
	req := d.in.req
	return d.c.at.nodes[k].maps.Wall.IsIdentity() && len(d.c.devices[k].maps) == 0 && !d.c.external && d.c.at.keep == nil && !req.CorrectionStat && !req.BoundStat
}

// chromeEdit says where the times of a Chrome trace go.
func (d *chromeDocument) chromeEdit(k int) source.TextEdit {
	n, e, wall := d.in.nodes[k], source.TextEdit{}, d.c.at.nodes[k].maps.Wall
	shift := int64(0)
	if n.absolute {
		e.Clock = clock.Compose(nil, wall)
		if n.stays(wall) {
			e.Clock = n.statedAlike()
		}
		e.OutputBaseNS = &d.zeroNS
		e.Sample = len(e.Clock.Knots()) > 0
	} else { // its own zero becomes the output's
		shift = d.zeroNS - n.facts.StartNS
	}
	add := d.c.eventStats(d.in, k)
	e.CorrectionArg, e.BoundArg = add.Correction, add.Bound
	if keep := d.c.at.keep; keep != nil {
		if keep.FromNS != math.MinInt64 {
			from := keep.FromNS - shift
			e.KeepFromNS = &from
		}
		if keep.ToNS != math.MaxInt64 {
			to := keep.ToNS - shift
			e.KeepToNS = &to
		}
	}
	return e
}

// namespaces puts the flow and async ids of every node into a range of its own; the reference keeps its ids.
func (d *chromeDocument) namespaces() []source.TextIDs {
	out := make([]source.TextIDs, len(d.in.nodes))
	const room = 1 << 53 // viewers read numbers as float64
	next := uint64(0)
	for i, k := range d.in.referenceFirst() {
		n := d.in.nodes[k]
		if n.text == nil {
			continue
		}
		document := n.text.Document()
		if i > 0 {
			out[k] = source.TextIDs{Offset: next, HexOffset: uint64(i) << 48, Prefix: n.tag + ":"}
		}
		span := document.MaxID() + 1
		if limit := uint64(room / len(d.in.nodes)); span > limit || span == 0 {
			span = limit
			if len(d.in.nodes) > 1 {
				d.done[k].warnings.say("flow ids reach %d: ids of different nodes may meet", document.MaxID())
			}
		}
		next += span
		if refs := document.StackRefs(); i > 0 && refs > 0 {
			d.done[k].warnings.say("%d events refer to stack frames, which stay under prlx.nodes and are not shown", refs)
		}
	}
	return out
}

// processes gives the processes of a Chrome trace small pids of their own, names that say whose they are, and their places.
func (d *chromeDocument) processes(k int) []source.TextProcess {
	n := d.in.nodes[k]
	edits := make([]source.TextProcess, len(n.layout))
	order := make([]int, len(edits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := n.layout[a].Place, n.layout[b].Place
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	for i, p := range n.layout {
		edits[i].PID, edits[i].TIDs = strconv.FormatInt(d.nextPID, 10), threadNumbers(p)
		d.nextPID++
	}
	of := n.nodesOfProcesses()
	for _, i := range order {
		p, e, part := n.layout[i], &edits[i], -1
		if of != nil {
			part = of[i]
		}
		pid := unquoted(p.TextID)
		what := p.Name
		if p.GPU >= 0 {
			what = "GPU " + strconv.Itoa(p.GPU)
		} else if what == "" {
			what = pid
		}
		name, labels, place := d.processNamed(k, part, p.Name, what), "pid "+pid, d.nextSort
		if p.Labels != "" {
			labels = p.Labels + ", " + labels
		}
		e.Name, e.Labels, e.SortIndex = &name, &labels, &place
		d.nextSort++
	}
	return edits
}

// threadNumbers gives numbers to the threads of a process whose tids viewers would mix up: text, which loses its name where two
// processes use the same, and what does not fit 32 bits, which becomes 0. nil: there are none.
func threadNumbers(p *source.Process) map[string]string {
	taken := make(map[uint64]bool, len(p.Lines))
	var odd []string
	for _, l := range p.Lines {
		if v, err := strconv.ParseUint(l.TextID, 10, 32); err == nil {
			taken[v] = true
		} else {
			odd = append(odd, l.TextID)
		}
	}
	if len(odd) == 0 {
		return nil
	}
	out := make(map[string]string, len(odd))
	next := uint64(1)
	for _, tid := range odd {
		for taken[next] {
			next++
		}
		out[tid] = strconv.FormatUint(next, 10)
		next++
	}
	return out
}

// unquoted returns the text of a pid, which is a number or a string.
func unquoted(raw string) string {
	var s string
	if strings.HasPrefix(raw, `"`) && json.Unmarshal([]byte(raw), &s) == nil {
		return s
	}
	return raw
}

// processName says whose process it is: "node1 rank 3 · host · GPU 0".
func processName(n *Node, what string) string {
	name := n.tag
	if n.Rank != nil && !strings.HasPrefix(n.tag, "rank") {
		name += " rank " + strconv.FormatInt(*n.Rank, 10)
	}
	for _, s := range []string{n.Host, what} {
		if s != "" && s != n.ID {
			name += " · " + s
		}
	}
	return name
}

// write writes the whole document and fills in the results of the nodes.
func (d *chromeDocument) write(ctx context.Context, list *listWriter) error {
	if err := d.head(ctx, list); err != nil {
		return err
	}
	err := assemble(d.job, list, func(yield func(int64, maker) error) error {
		for k := range d.in.nodes {
			if err := d.pieces(k, yield); err != nil {
				return withPath(err, d.in.nodes[k].Path)
			}
		}
		if err := d.flows(yield); err != nil {
			return err
		}
		return d.clockProcess(yield)
	})
	if err != nil {
		return err
	}
	if err := d.tail(ctx, list); err != nil {
		return err
	}
	d.sayFlows()
	for k := range d.in.nodes {
		if x := d.parts[k].cross; x != nil {
			x.conclude(&d.done[k])
			continue
		}
		d.concludeChrome(k)
	}
	return nil
}

// single returns the rewriter of the only input when that is text: its document stays around the events.
func (d *chromeDocument) single() source.Rewriter {
	if !d.in.alone() {
		return nil
	}
	return d.parts[0].rewriter
}

// pieces yields the pieces of one node.
func (d *chromeDocument) pieces(k int, yield func(int64, maker) error) error {
	if x := d.parts[k].cross; x != nil {
		return x.pieces(yield)
	}
	n, p := d.in.nodes[k], &d.parts[k]
	for i := range p.rewriter.Pieces() {
		err := yield(3*p.rewriter.Bytes(i), func(w *pieceWorker) error {
			return withPath(d.chunk(w, k, i), n.Path)
		})
		if err != nil {
			return err
		}
	}
	if text, added := p.rewriter.Added(nil); added > 0 {
		return yield(int64(len(text)), func(w *pieceWorker) error { return w.emit([]byte(",\n"), text) })
	}
	return nil
}

// chunk rewrites piece i of node k.
func (d *chromeDocument) chunk(w *pieceWorker, k, i int) error {
	n, p := d.in.nodes[k], &d.parts[k]
	if err := w.ctx.Err(); err != nil {
		return err
	}
	gap, err := p.rewriter.Gap(n.Src, i)
	if err != nil {
		return err
	}
	if p.workers[w.id] == nil {
		p.workers[w.id] = p.rewriter.Worker()
	}
	text, err := p.workers[w.id].Piece(n.Src, i, w.buffer(), &w.raw, &p.counts[w.id])
	if err != nil {
		return err
	}
	d.job.Progress().Add(p.rewriter.Bytes(i))
	return w.emit(gap, text)
}

// concludeChrome fills in the result of a Chrome trace.
func (d *chromeDocument) concludeChrome(k int) {
	n, p := d.in.nodes[k], &d.parts[k]
	var c source.TextCounts
	for i := range p.counts {
		c.Add(&p.counts[i])
	}
	w := &d.done[k]
	r := &w.counts
	r.Events, r.EventsCorrected, r.EventsDropped = c.Events, c.Corrected, c.Dropped
	w.kept = n.facts.Timed - c.Dropped
	r.EventsClamped, r.EventsInStep = c.Clamped, c.InStep
	r.SnapshotExtrapolations, r.OffsetExtrapolations = c.Extrapolated, c.ExtrapolatedThen
	r.MinCorrectionNS, r.MaxCorrectionNS = c.MinNS, c.MaxNS
	r.Coverage = 1
	if c.Timed > 0 {
		r.Coverage = float64(c.Timed-c.Uncovered) / float64(c.Timed)
	}
	r.BoundNS = Bounds{P50: c.Bounds.Quantile(0.5), P99: c.Bounds.Quantile(0.99), Max: c.Bounds.Max()}
	w.warnings = append(w.warnings, p.rewriter.Remarks(&c)...)
}

// overlaps reports whether an event lies in the range to keep.
func overlaps(keep *align.Range, start, end source.Instant) bool {
	if keep == nil {
		return true
	}
	return start.NS <= keep.ToNS && end.NS >= keep.FromNS
}
