package combine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

// writeChrome writes one Chrome JSON of all nodes, compressed where its name ends in .gz or .zst.
func (t *task) writeChrome() error {
	out, err := file.Create(t.req.Output, t.req.Overwrite)
	if err != nil {
		return err
	}
	defer out.Abort()
	t.stage("write")
	sum := sha256.New()
	sized := &sizeWriter{w: io.MultiWriter(out, sum)}
	name := strings.ToLower(t.req.Output)
	var to io.Writer = sized
	finish := func() error { return nil }
	if strings.HasSuffix(name, ".zst") {
		z, err := zstd.NewWriter(sized, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			return err
		}
		to, finish = z, z.Close
	}
	list, err := newListWriter(to, strings.HasSuffix(name, ".gz"), t.job.Workers())
	if err != nil {
		return err
	}
	d, err := t.chromeDocument()
	if err != nil {
		return err
	}
	if err := d.write(t.job.Context(), list); err != nil {
		return err
	}
	if err := list.Close(); err != nil {
		return err
	}
	if err := finish(); err != nil {
		return err
	}
	t.doc.Outputs = []Output{{Path: filepath.Base(t.req.Output), Format: string(FormatChrome), Bytes: sized.n, SHA256: hexSum(sum)}}
	if err := t.conclude(); err != nil {
		return err
	}
	return t.commitWithReports(out)
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
	*task
	parts []chromePart // by node

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

// chromeDocument decides processes and ids of every node.
func (t *task) chromeDocument() (*chromeDocument, error) {
	d := &chromeDocument{task: t, parts: make([]chromePart, len(t.nodes)), nextPID: 1}
	if t.alone() && t.nodes[0].text != nil && t.untouched(t.nodes[0]) { // then its times stay as they are
		t.zeroNS = t.nodes[0].facts.StartNS
		t.doc.ZeroNS, t.mark.ZeroNS = t.zeroNS, t.zeroNS
	}
	ids := d.namespaces()
	for k, n := range t.nodes {
		p := &d.parts[k]
		var err error
		if n.text == nil {
			if p.cross, err = d.crossing(k); err != nil {
				return nil, err
			}
			if err := d.markCompiled(k, p.cross); err != nil {
				return nil, err
			}
			continue
		}
		e := t.chromeEdit(k)
		if !t.alone() {
			e.Processes, e.IDs, e.DropEmpty = d.processes(k), ids[k], true
			d.markProcesses(k, e.Processes)
			n.clocksOfDevices(&e)
			if err := d.keepCompiled(k, e.Processes); err != nil {
				return nil, err
			}
		} else if n.clocksOfDevices(&e); !t.untouched(n) && n.mark == nil {
			t.markKept()
			if e.Mark, err = t.mark.Text(); err != nil {
				return nil, err
			}
		}
		if p.rewriter, err = n.text.Rewriter(e); err != nil {
			return nil, err
		}
		p.workers = make([]source.Worker, max(1, t.job.Workers()))
		p.counts = make([]source.TextCounts, len(p.workers))
	}
	d.settlePrograms()
	return d, nil
}

// markProcesses notes in the mark which processes of the output are whose.
func (d *chromeDocument) markProcesses(k int, edits []source.TextProcess) {
	n := d.nodes[k]
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
		one := &d.mark.Nodes[d.mine[k][part]]
		one.Processes = append(one.Processes, pid)
		if n.devices[int32(i)] != nil {
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
func (n *Node) clocksOfDevices(e *source.TextEdit) {
	if len(n.devices) == 0 {
		return
	}
	if e.Processes == nil {
		e.Processes = make([]source.TextProcess, len(n.layout))
	}
	for p := range n.devices {
		e.Processes[p].Clock = n.deviceClock(p)
	}
	e.Sample = true
}

func setThreads(one *aligned.Node, pid string, tids []int) {
	if one.TracerThreads == nil {
		one.TracerThreads = map[string][]int{}
	}
	one.TracerThreads[pid] = tids
}

// untouched reports whether no time of the node changes.
func (t *task) untouched(n *Node) bool {
	return n.Clocks.Wall.IsIdentity() && len(n.devices) == 0 && !t.external && t.keep == nil && !t.req.CorrectionStat && !t.req.BoundStat
}

// chromeEdit says where the times of a Chrome trace go.
func (t *task) chromeEdit(k int) source.TextEdit {
	n, e := t.nodes[k], source.TextEdit{}
	shift := int64(0)
	if n.absolute {
		e.Clock = clock.Compose(nil, n.Clocks.Wall)
		if n.stays() {
			e.Clock = n.statedAlike()
		}
		e.OutputBaseNS = &t.zeroNS
		e.Sample = len(e.Clock.Knots()) > 0
	} else { // its own zero becomes the output's
		shift = t.zeroNS - n.facts.StartNS
	}
	add := t.eventStats(k)
	e.CorrectionArg, e.BoundArg = add.Correction, add.Bound
	if k := t.keep; k != nil {
		if k.FromNS != math.MinInt64 {
			from := k.FromNS - shift
			e.KeepFromNS = &from
		}
		if k.ToNS != math.MaxInt64 {
			to := k.ToNS - shift
			e.KeepToNS = &to
		}
	}
	return e
}

// namespaces puts the flow and async ids of every node into a range of its own; the reference keeps its ids.
func (d *chromeDocument) namespaces() []source.TextIDs {
	out := make([]source.TextIDs, len(d.nodes))
	const room = 1 << 53 // viewers read numbers as float64
	next := uint64(0)
	for i, k := range d.referenceFirst() {
		n := d.nodes[k]
		if n.text == nil {
			continue
		}
		document := n.text.Document()
		if i > 0 {
			out[k] = source.TextIDs{Offset: next, HexOffset: uint64(i) << 48, Prefix: n.tag + ":"}
		}
		span := document.MaxID() + 1
		if limit := uint64(room / len(d.nodes)); span > limit || span == 0 {
			span = limit
			if len(d.nodes) > 1 {
				n.warn("flow ids reach %d: ids of different nodes may meet", document.MaxID())
			}
		}
		next += span
		if refs := document.StackRefs(); i > 0 && refs > 0 {
			n.warn("%d events refer to stack frames, which stay under prlx.nodes and are not shown", refs)
		}
	}
	return out
}

// processes gives the processes of a Chrome trace small pids of their own, names that say whose they are, and their places.
func (d *chromeDocument) processes(k int) []source.TextProcess {
	n := d.nodes[k]
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
		for k := range d.nodes {
			if err := d.pieces(k, yield); err != nil {
				return withPath(err, d.nodes[k].Path)
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
	for k := range d.nodes {
		if x := d.parts[k].cross; x != nil {
			x.conclude()
			continue
		}
		d.concludeChrome(k)
	}
	return nil
}

// single returns the rewriter of the only input when that is text: its document stays around the events.
func (d *chromeDocument) single() source.Rewriter {
	if !d.alone() {
		return nil
	}
	return d.parts[0].rewriter
}

// pieces yields the pieces of one node.
func (d *chromeDocument) pieces(k int, yield func(int64, maker) error) error {
	if x := d.parts[k].cross; x != nil {
		return x.pieces(yield)
	}
	n, p := d.nodes[k], &d.parts[k]
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
	n, p := d.nodes[k], &d.parts[k]
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
	n, p := d.nodes[k], &d.parts[k]
	var c source.TextCounts
	for i := range p.counts {
		c.Add(&p.counts[i])
	}
	r := &n.Result
	r.Events, r.EventsCorrected, r.EventsDropped = c.Events, c.Corrected, c.Dropped
	n.kept = n.facts.Timed - c.Dropped
	r.EventsClamped, r.EventsInStep = c.Clamped, c.InStep
	r.SnapshotExtrapolations, r.OffsetExtrapolations = c.Extrapolated, c.ExtrapolatedThen
	r.MinCorrectionNS, r.MaxCorrectionNS = c.MinNS, c.MaxNS
	r.Coverage = 1
	if c.Timed > 0 {
		r.Coverage = float64(c.Timed-c.Uncovered) / float64(c.Timed)
	}
	r.BoundNS = Bounds{P50: c.Bounds.Quantile(0.5), P99: c.Bounds.Quantile(0.99), Max: c.Bounds.Max()}
	r.Warnings = append(r.Warnings, p.rewriter.Remarks(&c)...)
}

// stated reports whether the output states a top-level key itself.
func stated(key string) bool {
	switch key {
	case "traceEvents", "baseTimeNanoseconds", "displayTimeUnit", "schemaVersion", "prlx", aligned.KeyMark:
		return true
	}
	return false
}

// head writes the document up to the list's opening bracket: the reference's keys, and times for all.
func (d *chromeDocument) head(ctx context.Context, w io.Writer) error {
	if r := d.single(); r != nil {
		return withPath(r.Head(ctx, d.nodes[0].Src, w), d.nodes[0].Path)
	}
	ref := d.nodes[d.ref]
	version := "1"
	if ref.text != nil {
		if said := ref.text.Document().Value("schemaVersion"); json.Valid(said) && utf8.Valid(said) {
			version = string(said)
		}
	}
	if _, err := fmt.Fprintf(w, "{\n\"schemaVersion\": %s,\n\"displayTimeUnit\": \"ns\",\n", version); err != nil {
		return err
	}
	if d.zeroNS != 0 {
		if _, err := fmt.Fprintf(w, "\"baseTimeNanoseconds\": %d,\n", d.zeroNS); err != nil {
			return err
		}
	}
	if ref.text != nil {
		if err := writeKeys(ctx, w, ref, func(key string) bool { return !stated(key) }); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\"traceEvents\": [\n")
	return err
}

// writeKeys copies the keys of a document that want accepts, each followed by a comma.
func writeKeys(ctx context.Context, w io.Writer, n *Node, want func(key string) bool) error {
	return withPath(n.text.Document().CopyKeys(ctx, n.Src, w, want), n.Path)
}

// tail closes the list and adds what the other documents said. It stands at the end because readers look for the rank in the
// first lines.
func (d *chromeDocument) tail(ctx context.Context, w io.Writer) error {
	if r := d.single(); r != nil {
		n := d.nodes[0]
		gap, err := r.Gap(n.Src, r.Pieces())
		if err == nil {
			_, err = w.Write(gap)
		}
		if err == nil {
			err = r.Tail(ctx, n.Src, w)
		}
		return withPath(err, n.Path)
	}
	if _, err := io.WriteString(w, "\n],\n\"prlx\": {\"nodes\": ["); err != nil {
		return err
	}
	for k, n := range d.nodes {
		open := "\n{\"id\":"
		if k > 0 {
			open = ",\n{\"id\":"
		}
		text := source.AppendString([]byte(open), n.ID)
		if n.Rank != nil {
			text = strconv.AppendInt(append(text, `,"rank":`...), *n.Rank, 10)
		}
		if n.Host != "" {
			text = source.AppendString(append(text, `,"host":`...), n.Host)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		if err := d.document(ctx, w, k); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "}"); err != nil {
			return err
		}
	}
	text, err := d.mark.Text()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n]},\n\"%s\": %s\n}\n", aligned.KeyMark, text)
	return err
}

// document writes what the document of a node said: all but the events; of the reference only what could not stand at the top.
func (d *chromeDocument) document(ctx context.Context, w io.Writer, k int) error {
	n := d.nodes[k]
	if n.text == nil || k == d.ref && !n.text.Document().Has("prlx") {
		return nil
	}
	if _, err := io.WriteString(w, ",\n\"document\":{\n"); err != nil {
		return err
	}
	want := func(key string) bool { return key == "prlx" || k != d.ref && !stated(key) }
	if err := writeKeys(ctx, w, n, want); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\"baseTimeNanoseconds\":%d}", n.facts.StartNS)
	return err
}

// overlaps reports whether an event lies in the range to keep.
func overlaps(keep *align.Range, start, end source.Instant) bool {
	if keep == nil {
		return true
	}
	return start.NS <= keep.ToNS && end.NS >= keep.FromNS
}
