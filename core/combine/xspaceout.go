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
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/source"
)

// measured is a node's output, sized.
type measured struct {
	edit *source.Edit
	source.Measured
	at int64 // where the node's bytes begin in a single file
}

// retimer returns the trace as what is written in its own format; chooseFormat has refused others.
func (n *Node) retimer() source.Retimer { return n.Trace.(source.Retimer) }

// measure sizes every node's output, counts what happens to its events and finds the collectives. name adds names to the edit of each node.
func (t *task) measure(name func(k int, e *source.Edit)) ([]measured, error) {
	out := make([]measured, len(t.nodes))
	t.stage("align")
	stats := make([][]*align.Stats, len(t.nodes))
	for _, k := range t.referenceFirst() { // naming counts
		out[k].edit, stats[k] = t.plans[k].Edit(t.zeroNS, t.keep, t.eventStats(k))
		name(k, out[k].edit)
		if err := t.addMark(k, t.nodes[k].retimer(), out[k].edit, len(t.parties()) > 1); err != nil {
			return nil, err
		}
	}
	err := t.eachNode(func(ctx context.Context, k int, workers int) (err error) {
		n := t.nodes[k]
		share := t.share(k)
		defer share.Done()
		out[k].edit.Workers, out[k].edit.Progress = workers, share.Add
		found, err := n.watch(ctx, out[k].edit, len(t.nodes), len(t.parties()) > 1 && t.found == nil)
		if err != nil {
			return err
		}
		if out[k].Measured, err = n.retimer().Measure(ctx, n.Src, out[k].edit); err != nil {
			return withPath(err, n.Path)
		}
		n.take(found)
		n.count(stats[k])
		return nil
	})
	return out, err
}

// eventStats names the stats that the events of node k receive. Where nothing is known of the error of its times, no bound is stated.
func (t *task) eventStats(k int) (add align.EventStats) {
	if t.req.CorrectionStat {
		add.Correction = correctionStatName
	}
	if t.req.BoundStat && t.nodes[k].absolute && !t.boundUnknown(k) {
		add.Bound = boundStatName
	}
	return add
}

// count puts the counts of a node's lines into its result.
func (n *Node) count(stats []*align.Stats) {
	var total align.Stats
	for _, s := range stats {
		total.Merge(s)
	}
	n.Result.EventsDropped = total.Events - total.Aggregated - total.Timed
	n.kept = total.Timed
	n.Result.fill(&total)
}

// writeNode writes the aligned file of node k, alone in a file of its own, and counts what happens to its events. With collectives it
// finds those, too, where they are not found part by part.
func (t *task) writeNode(ctx context.Context, k, workers int, collectives bool, create func() (*file.Output, error)) (Output, error) {
	n := t.nodes[k]
	edit, stats := t.plans[k].Edit(t.zeroNS, t.keep, t.eventStats(k))
	share := t.share(k)
	defer share.Done()
	edit.Workers, edit.Progress = workers, share.Add
	if err := t.addMark(k, n.retimer(), edit, false); err != nil {
		return Output{}, err
	}
	found, err := n.watch(ctx, edit, len(t.nodes), collectives)
	if err != nil {
		return Output{}, err
	}
	o, bytes, err := n.retimer().WriteFile(ctx, n.Src, edit, create)
	if err != nil {
		return Output{}, withPath(err, n.Path)
	}
	defer o.Abort()
	n.take(found)
	n.count(stats)
	if bytes, err = t.addCounters(k, o, bytes); err != nil {
		return Output{}, err
	}
	sum, err := checksum(o, bytes)
	if err != nil {
		return Output{}, err
	}
	return Output{Path: filepath.Base(o.Path()), Format: "xplane", Bytes: bytes, SHA256: sum}, o.Commit()
}

// watch makes an edit find the collectives of the trace, where they are wanted and not found part by part. take takes them.
func (n *Node) watch(ctx context.Context, e *source.Edit, nodes int, collectives bool) (*collective.Extraction, error) {
	trace, ok := n.Trace.(source.Compiled)
	if !ok || !collectives || n.places != nil || n.found != nil {
		return nil, nil
	}
	opt := n.options(0, nodes)
	found, err := collective.BeginCompiled(ctx, n.Src, trace, opt)
	if err != nil {
		return nil, withPath(err, n.Path)
	}
	e.Operations = &source.OperationReading{StartNS: opt.StartNS, Visitor: found.Visitor()}
	return found, nil
}

func (n *Node) take(found *collective.Extraction) {
	if found != nil {
		n.found = []*collective.Part{found.Finish()}
	}
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

// eachNode runs f for every node, as many at once as there are workers; a node gets more than one worker when there are fewer
// nodes than workers.
func (t *task) eachNode(f func(ctx context.Context, k, workers int) error) error {
	group, ctx := safe.NewGroup(t.job.Context())
	group.SetLimit(t.job.Workers())
	per := max(1, t.job.Workers()/len(t.nodes))
	for k := range t.nodes {
		group.Go(func() error { return f(ctx, k, per) })
	}
	return group.Wait()
}

// writeRun writes a run directory: one aligned XSpace a node, and alignment.json.
func (t *task) writeRun() error {
	names, err := runNames(t.nodes)
	if err != nil {
		return err
	}
	dir, err := file.CreateDir(t.req.Output, t.req.Overwrite)
	if err != nil {
		return err
	}
	defer dir.Abort()
	t.stage("write")
	outputs := make([]Output, len(t.nodes))
	err = t.eachNode(func(ctx context.Context, k, workers int) (err error) {
		create := func() (*file.Output, error) { return dir.Create(names[k]) }
		if outputs[k], err = t.writeNode(ctx, k, workers, len(t.parties()) > 1 && t.found == nil, create); err != nil {
			return err
		}
		if n := outputs[k].Bytes; n > maxSingleBytes {
			t.nodes[k].warn("the file of this node has %d bytes: protobuf readers stop at 2 GiB; cut it with a time range", n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.doc.Outputs = outputs
	if err := t.judgeCollectives(); err != nil {
		return err
	}
	if err := t.conclude(); err != nil {
		return err
	}
	if err := t.writeReports(func(name string) (*file.Output, error) { return dir.Create(name) }, ""); err != nil {
		return err
	}
	return dir.Commit()
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
func (t *task) writeSingle() error {
	out, err := file.Create(t.req.Output, t.req.Overwrite)
	if err != nil {
		return err
	}
	defer out.Abort()
	names := newNamer(t.req.naming)
	parts, err := t.measure(func(k int, e *source.Edit) { t.rename(names, k, e) })
	if err != nil {
		return err
	}
	var total int64
	counters := make([][]byte, len(parts))
	for k := range parts {
		parts[k].at = total
		counters[k] = t.counterPlane(k, names.viewerID())
		total += parts[k].Bytes() + int64(len(counters[k]))
	}
	if total > maxSingleBytes {
		return fault.New(fault.Limit, "the combined XSpace would have %d bytes; protobuf readers stop at %d", total, maxSingleBytes).WithPath(t.req.Output).
			WithHint("write a run directory instead (--format run), or cut it with --time-range")
	}
	t.stage("write")
	err = t.eachNode(func(ctx context.Context, k, workers int) error {
		n, share := t.nodes[k], t.share(k)
		defer share.Done()
		parts[k].edit.Progress = share.Add
		if err := parts[k].WriteAt(ctx, n.Src, out, parts[k].at, workers); err != nil {
			return withPath(err, n.Path)
		}
		_, err := out.WriteAt(counters[k], parts[k].at+parts[k].Bytes())
		return err
	})
	if err != nil {
		return err
	}
	sum, err := checksum(out, total)
	if err != nil {
		return err
	}
	t.doc.Outputs = []Output{{Path: filepath.Base(t.req.Output), Format: "xplane", Bytes: total, SHA256: sum}}
	if err := t.judgeCollectives(); err != nil {
		return err
	}
	if err := t.conclude(); err != nil {
		return err
	}
	return t.commitWithReports(out)
}

// shard turns one XSpace into a run directory, of the same name without its ending, when it would hold more devices than trace
// viewers tell apart in one file. A run directory has no such limit.
func (t *task) shard() {
	if t.format != FormatXPlane || t.req.naming != viewer {
		return
	}
	devices := 0
	for _, n := range t.nodes {
		for _, p := range n.layout {
			if _, _, ok := source.Device(p.Name); ok {
				devices++
			}
		}
	}
	if devices <= maxViewerID+1 {
		return
	}
	file := t.req.Output
	t.format = FormatRun
	t.req.Output = strings.TrimSuffix(strings.TrimSuffix(file, ".pb"), ".xplane")
	if t.req.Output == file {
		t.req.Output += "_run"
	}
	t.req.Notes = append(t.req.Notes, fmt.Sprintf("%d devices do not fit one XSpace, of which trace viewers show %d: a run directory is written instead, %s",
		devices, maxViewerID+1, filepath.Base(t.req.Output)))
}

// rename gives the planes of node k their names and ids in a single file. The reference comes first in every scheme.
func (t *task) rename(names *namer, k int, e *source.Edit) {
	n := t.nodes[k]
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
			if t.req.naming == tagged {
				e.Planes[i].SetStats = append(e.Planes[i].SetStats, t.tagStats(n, part)...)
			}
			if t.req.naming == rocmCode && number > 0 && n.parts() == 1 {
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

// referenceFirst returns the indexes of the nodes, the reference's first.
func (t *task) referenceFirst() []int {
	order := []int{t.ref}
	for k := range t.nodes {
		if k != t.ref {
			order = append(order, k)
		}
	}
	return order
}

func (t *task) tagStats(n *Node, part int) []source.NewStat {
	number, host, offset := n.Number, n.Host, n.Result.OffsetNS
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
