package combine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/source"
)

// written is what came of the inputs: files that are complete and not yet in their place.
type written struct {
	outputs []Output
	zeroNS  int64         // the instant from which their times count
	nodes   []writtenNode // by node
	said    remarks

	commit func(*Document) error // puts the files into their place, and the document beside them
	abort  func()                // removes what is not in its place
}

// writtenNode is what happened to the events of one node.
type writtenNode struct {
	counts   NodeResult // the counts alone
	kept     int64      // events with a time that are in the output
	found    finding    // of its collectives on the way
	warnings sentences
}

// findings are what was found of collectives: on the way, else before.
func (w *written) findings(before findings) findings {
	out := make(findings, len(w.nodes))
	for k := range out {
		if out[k] = w.nodes[k].found; out[k].parts == nil {
			out[k] = before[k]
		}
	}
	return out
}

// nodeFile is what is written of one node as an XSpace.
type nodeFile struct {
	node   *Node
	at     placedNode
	zeroNS int64
	keep   *align.Range
	stats  align.EventStats
	drawn  string // its name on the curves of its clock; "" there are none
	marks  marks
	mine   []int // its nodes in the mark
	shared bool  // the file holds other nodes too
	watch  bool  // its collectives are found on the way
	traces int   // how many there are in all
}

// fileOf is what is written of node k.
func (c *clocks) fileOf(in *inputs, k int, shared bool) *nodeFile {
	return &nodeFile{
		node: in.nodes[k], at: c.at.nodes[k], zeroNS: c.at.zeroNS, keep: c.at.keep, stats: c.eventStats(in, k), drawn: c.drawnAs(in, k), marks: c.marks, mine: c.marks.mine[k],
		shared: shared, watch: len(in.parties) > 1 && c.matched == nil && in.found[k].parts == nil, traces: len(in.nodes),
	}
}

// retimer returns the trace as what is written in its own format; chooseFormat has refused others.
func (n *Node) retimer() source.Retimer { return n.Trace.(source.Retimer) }

// tally is a node's output on its way.
type tally struct {
	edit  *source.Edit
	stats []*align.Stats
	found *collective.Extraction // nil: collectives are not found on the way
}

// measured is a node's output, sized.
type measured struct {
	source.Measured
	edit *source.Edit
	at   int64 // where the node's bytes begin in a single file
}

// edit says what happens to the bytes of the node. name gives planes other names; nil: they keep theirs.
func (f *nodeFile) edit(name func(*source.Edit)) (t tally, err error) {
	t.edit, t.stats = f.at.plan.Edit(f.zeroNS, f.keep, f.stats)
	if name != nil {
		name(t.edit)
	}
	return t, f.addMark(t.edit)
}

// addMark makes the edit write what was done to the node.
func (f *nodeFile) addMark(e *source.Edit) error {
	n := f.node
	if len(n.layout) == 0 {
		return nil
	}
	r, tracer := n.retimer(), f.at.plan.TracerLinesOf()
	var planes [][]int // by part; nil: all are the only one's
	if n.places != nil {
		planes = n.places.ByNode(n.parts())
	}
	for part, i := range f.mine {
		text, err := f.marks.mark.Of(i).Text()
		if err != nil {
			return err
		}
		m := source.NodeMark{Text: text, Plane: r.MarkPlane()}
		if f.shared || len(f.mine) > 1 {
			m.ID = f.marks.mark.Nodes[i].ID
		}
		if n.places != nil {
			m.Plane = n.places.At[part]
		} else if n.absolute {
			m.StartNS = f.zeroNS
			m.StopNS, _, _ = f.at.maps.Wall.At(n.facts.StopNS)
		}
		if planes != nil {
			m.Planes = planes[part]
		} else {
			for j := range n.layout {
				m.Planes = append(m.Planes, j)
			}
		}
		r.AddMark(e, m, tracer)
	}
	return nil
}

// measure sizes the output and counts what happens to its events.
func (f *nodeFile) measure(ctx context.Context, j *job.Job, t tally, workers int) (out measured, done writtenNode, err error) {
	n, share := f.node, f.node.share(j)
	defer share.Done()
	out.edit = t.edit
	out.edit.Workers, out.edit.Progress = workers, share.Add
	if t.found, err = f.begin(ctx, t.edit); err != nil {
		return out, done, err
	}
	if out.Measured, err = n.retimer().Measure(ctx, n.Src, t.edit); err != nil {
		return out, done, withPath(err, n.Path)
	}
	return out, t.done(), nil
}

// write writes the aligned file of the node, alone in a file of its own.
func (f *nodeFile) write(ctx context.Context, j *job.Job, workers int, create func() (*file.Output, error)) (out Output, done writtenNode, err error) {
	n, share := f.node, f.node.share(j)
	defer share.Done()
	t, err := f.edit(nil)
	if err != nil {
		return out, done, err
	}
	t.edit.Workers, t.edit.Progress = workers, share.Add
	if t.found, err = f.begin(ctx, t.edit); err != nil {
		return out, done, err
	}
	o, bytes, err := n.retimer().WriteFile(ctx, n.Src, t.edit, create)
	if err != nil {
		return out, done, withPath(err, n.Path)
	}
	defer o.Abort()
	done = t.done()
	counters := f.counterPlane(n.freePlane())
	if _, err := o.WriteAt(counters, bytes); err != nil {
		return out, done, err
	}
	bytes += int64(len(counters))
	sum, err := checksum(o, bytes)
	if err != nil {
		return out, done, err
	}
	return Output{Path: filepath.Base(o.Path()), Format: "xplane", Bytes: bytes, SHA256: sum}, done, o.Commit()
}

// begin makes an edit find the collectives of the trace, where they are wanted and not found part by part; nil: they are not.
func (f *nodeFile) begin(ctx context.Context, e *source.Edit) (*collective.Extraction, error) {
	n := f.node
	trace, ok := n.Trace.(source.Compiled)
	if !ok || !f.watch || n.places != nil {
		return nil, nil
	}
	opt := n.options(0, f.traces)
	found, err := collective.BeginCompiled(ctx, n.Src, trace, opt)
	if err != nil {
		return nil, withPath(err, n.Path)
	}
	e.Operations = &source.OperationReading{StartNS: opt.StartNS, Visitor: found.Visitor()}
	return found, nil
}

// done is what happened to the events, when all were read.
func (t *tally) done() (w writtenNode) {
	w.count(t.stats)
	if t.found != nil {
		w.found.parts = []*collective.Part{t.found.Finish()}
	}
	return w
}

// count takes the counts of a node's lines.
func (w *writtenNode) count(stats []*align.Stats) {
	var total align.Stats
	for _, s := range stats {
		total.Merge(s)
	}
	w.counts.EventsDropped = total.Events - total.Aggregated - total.Timed
	w.kept = total.Timed
	w.counts.fill(&total)
}

// checksum reads back what was written: lengths are corrected after the bytes behind them.
func checksum(o *file.Output, n int64) (string, error) {
	sum := sha256.New()
	buf := make([]byte, min(n, 256<<10))
	for off := int64(0); off < n; {
		b := buf[:min(n-off, int64(len(buf)))]
		if _, err := o.ReadAt(b, off); err != nil {
			return "", err
		}
		sum.Write(b)
		off += int64(len(b))
	}
	return hexSum(sum), nil
}

func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// writeRun writes a run directory: one aligned XSpace a node.
func writeRun(j *job.Job, in *inputs, c *clocks) (*written, error) {
	names, err := runNames(in.nodes)
	if err != nil {
		return nil, err
	}
	dir, err := file.CreateDir(c.to.output, c.to.overwrite)
	if err != nil {
		return nil, err
	}
	w := &written{outputs: make([]Output, len(in.nodes)), nodes: make([]writtenNode, len(in.nodes)), zeroNS: c.at.zeroNS, abort: dir.Abort}
	in.stage(j, "write")
	err = in.eachNode(j, func(ctx context.Context, k, workers int) (err error) {
		create := func() (*file.Output, error) { return dir.Create(names[k]) }
		if w.outputs[k], w.nodes[k], err = c.fileOf(in, k, false).write(ctx, j, workers, create); err != nil {
			return err
		}
		if n := w.outputs[k].Bytes; n > maxSingleBytes {
			w.nodes[k].warnings.say("the file of this node has %d bytes: protobuf readers stop at 2 GiB; cut it with a time range", n)
		}
		return nil
	})
	if err != nil {
		dir.Abort()
		return nil, err
	}
	w.commit = func(doc *Document) error {
		if err := doc.writeReports(func(name string) (*file.Output, error) { return dir.Create(name) }, ""); err != nil {
			return err
		}
		return dir.Commit()
	}
	return w, nil
}

// runNames returns the file names of a run directory: the host as recorded, as XProf shows it; where hosts repeat (several
// processes of one host) or are missing, the node's id.
func runNames(nodes []*Node) ([]string, error) {
	seen := map[string]int{}
	for _, n := range nodes {
		seen[strings.ToLower(clean(n.Host))]++
	}
	out := make([]string, len(nodes))
	used := map[string]bool{}
	for k, n := range nodes {
		stem := clean(n.Host)
		if stem == "" || seen[strings.ToLower(stem)] > 1 {
			stem = clean(n.ID)
		}
		if stem == "" || used[strings.ToLower(stem)] {
			stem = fmt.Sprintf("node%d", k)
		}
		used[strings.ToLower(stem)] = true
		out[k] = stem + ".xplane.pb"
	}
	return out, nil
}

// clean makes a host name or id fit for a file name.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, s)
	s = strings.TrimLeft(s, ".")
	return s[:min(len(s), 200)]
}

// writeSingle writes one XSpace: a message whose repeated fields are the planes, so the nodes' outputs follow one another.
func writeSingle(j *job.Job, in *inputs, c *clocks) (*written, error) {
	out, err := file.Create(c.to.output, c.to.overwrite)
	if err != nil {
		return nil, err
	}
	w, err := fillSingle(j, in, c, out)
	if err != nil {
		out.Abort()
		return nil, err
	}
	w.zeroNS, w.abort = c.at.zeroNS, out.Abort
	w.commit = func(doc *Document) error { return doc.commitWithReports(out, c.to) }
	return w, nil
}

// fillSingle writes the planes of all nodes to a file.
func fillSingle(j *job.Job, in *inputs, c *clocks, out *file.Output) (*written, error) {
	w := &written{nodes: make([]writtenNode, len(in.nodes))}
	names := newNamer(in.req.naming)
	files, parts, err := measureAll(j, in, c, names, w.nodes)
	if err != nil {
		return nil, err
	}
	var total int64
	counters := make([][]byte, len(parts))
	for k := range parts {
		parts[k].at = total
		counters[k] = files[k].counterPlane(names.viewerID())
		total += parts[k].Bytes() + int64(len(counters[k]))
	}
	if total > maxSingleBytes {
		return nil, fault.New(fault.Limit, "the combined XSpace would have %d bytes; protobuf readers stop at %d", total, maxSingleBytes).WithPath(c.to.output).
			WithHint("write a run directory instead (--format run), or cut it with --time-range")
	}
	in.stage(j, "write")
	err = in.eachNode(j, func(ctx context.Context, k, workers int) error {
		n, share := in.nodes[k], in.nodes[k].share(j)
		defer share.Done()
		parts[k].edit.Progress = share.Add
		if err := parts[k].WriteAt(ctx, n.Src, out, parts[k].at, workers); err != nil {
			return withPath(err, n.Path)
		}
		_, err := out.WriteAt(counters[k], parts[k].at+parts[k].Bytes())
		return err
	})
	if err != nil {
		return nil, err
	}
	sum, err := checksum(out, total)
	if err != nil {
		return nil, err
	}
	w.outputs = []Output{{Path: filepath.Base(c.to.output), Format: "xplane", Bytes: total, SHA256: sum}}
	return w, nil
}

// measureAll sizes every node's output, counts what happens to its events and finds the collectives, which it puts into done.
func measureAll(j *job.Job, in *inputs, c *clocks, names *namer, done []writtenNode) ([]*nodeFile, []measured, error) {
	files, parts, tallies := make([]*nodeFile, len(in.nodes)), make([]measured, len(in.nodes)), make([]tally, len(in.nodes))
	in.stage(j, "align")
	for _, k := range in.referenceFirst() { // naming counts
		files[k] = c.fileOf(in, k, len(in.parties) > 1)
		var err error
		if tallies[k], err = files[k].edit(func(e *source.Edit) { names.rename(in.nodes[k], c.nodes[k].offsetNS, e) }); err != nil {
			return nil, nil, err
		}
	}
	return files, parts, in.eachNode(j, func(ctx context.Context, k, workers int) (err error) {
		parts[k], done[k], err = files[k].measure(ctx, j, tallies[k], workers)
		return err
	})
}

// rename gives the planes of a node, whose clock is ahead by offsetNS, their names and ids in a single file. The reference comes first in every scheme.
func (names *namer) rename(n *Node, offsetNS int64, e *source.Edit) {
	for _, part := range n.partsReferenceFirst() {
		number, tag := names.nodes, n.tag
		names.nodes++
		if n.parts() > 1 {
			tag = n.mark.Nodes[part].ID
		}
		for i := range n.layout {
			p := *n.layout[i]
			if n.places != nil {
				if n.places.NodeOf[i] != part {
					continue
				}
				p.Name = n.places.Names[i]
			}
			to := names.plane(&p, number, tag)
			if to.keep {
				continue
			}
			e.Planes[i].Name, e.Planes[i].ID = &to.name, &to.id
			if names.scheme == tagged {
				e.Planes[i].SetStats = append(e.Planes[i].SetStats, tagStats(n, part, offsetNS)...)
			}
			if names.scheme == rocmCode && number > 0 && n.parts() == 1 {
				renumberLines(&p, &e.Planes[i], number)
			}
		}
	}
}

// partsReferenceFirst returns the parts of the trace, that of the node whose clock they are on first.
func (n *Node) partsReferenceFirst() []int {
	order := make([]int, n.parts())
	for i := range order {
		order[i] = i
	}
	if len(order) > 1 {
		if i := slices.IndexFunc(n.mark.Nodes, func(one aligned.Node) bool { return one.ID == n.mark.Reference }); i > 0 {
			order = slices.Insert(slices.Delete(order, i, i+1), 0, i)
		}
	}
	return order
}

// tagStats are what a plane says of its node in the tagged scheme.
func tagStats(n *Node, part int, offsetNS int64) []source.NewStat {
	number, host, offset := n.Number, n.Host, offsetNS
	if n.parts() > 1 {
		one := &n.mark.Nodes[part]
		number, host, offset = givenIdentity(one.ID).Number, one.Host, one.OffsetNS
	}
	return []source.NewStat{
		{Name: "node_id", Kind: source.StatInt, Int: int64(max(number, 0))},
		{Name: "hostname", Kind: source.StatStr, Text: host},
		{Name: "clock_skew_ns", Kind: source.StatInt, Int: offset},
	}
}

// renumberLines does to lines what XLA's `trace_combiner` does: ids a million apart a node, names that carry the node.
func renumberLines(p *source.Process, e *source.PlaneEdit, number int) {
	for j := range p.Lines {
		l, le := p.Lines[j], &e.Lines[j]
		id := l.ID + int64(number)*1_000_000
		le.ID, le.DisplayID = &id, &id
		if strings.HasPrefix(p.Name, hostCPU) {
			base := l.Name
			if base == "" {
				base = fmt.Sprintf("line_%d", l.ID)
			}
			shown := l.DisplayName
			if shown == "" {
				shown = fmt.Sprintf("line_%d", l.ID)
			}
			name, display := fmt.Sprintf("/node:%d/%s", number, base), fmt.Sprintf("Node %d: %s", number, shown)
			le.Name, le.DisplayName = &name, &display
		}
	}
}
