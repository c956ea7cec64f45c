package combine

import (
	"path/filepath"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/straggler"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// Evidence is what a result rests on, for reports.
type Evidence struct {
	Base    string // the directory that paths of the document are relative to
	Output  string // what to open: the run directory, or the file
	Nodes   []NodeEvidence
	Matched *collective.Matched // nil for one trace
	After   collective.Clock    // executions on the reference's clock
	Late    *straggler.Document // who was late, by the collectives alone; nil where no report was asked for or nothing could be judged
}

// NodeEvidence is the clock of one node.
type NodeEvidence struct {
	ID           string
	Wall         *clock.Map // its wall clock -> the reference's; nil is the identity
	FromNS, ToNS int64      // first and last instant of the trace on its own wall clock
}

// Run combines. The result is complete: files are in place under their final names, and alignment.json beside them.
func Run(j *job.Job, req Request) (*Document, *Evidence, error) {
	if err := req.normalize(); err != nil {
		return nil, nil, err
	}
	nodes, out, err := load(j, req.Inputs, req.loading())
	if err != nil {
		return nil, nil, err
	}
	defer closeAll(nodes)
	in, to, err := begin(j, &req, nodes, out)
	if err != nil {
		return nil, nil, err
	}
	c, err := decide(j, in, to)
	if err != nil {
		return nil, nil, err
	}
	w, jd, err := write(j, in, c)
	if err != nil {
		return nil, nil, err
	}
	defer w.abort()
	doc := draft(in, c)
	doc.judge(jd)
	doc.say(w.said)
	doc.Outputs, doc.ZeroNS = w.outputs, w.zeroNS
	err = doc.conclude(endingsOf(in, c, w.nodes), closing{
		ref: in.ref, aligned: c.marks.mark.Aligned, policy: req.Policy, usualNS: jd.whole.usual(),
		nothing: func(events int64) error {
			return nothingLeft(in.nodes[0].Path, c.at.keep, events, c.at.firstNS, func() (int64, int64) { return c.at.span(in.nodes) })
		},
	})
	if err != nil {
		return nil, nil, err
	}
	if err := w.commit(doc); err != nil {
		return nil, nil, err
	}
	e := evidenceOf(in, c, jd)
	if req.Report != "" {
		e.Late, err = whoWasLate(j, in, c, jd.matched)
	}
	return doc, e, err
}

// begin makes inputs of a checked request and its nodes, and decides where the result goes.
func begin(j *job.Job, req *Request, nodes []*Node, out []Unreadable) (in *inputs, to destination, err error) {
	ref := 0
	if len(nodes) > 1 {
		if ref, err = findReference(nodes, req.Reference); err != nil {
			return nil, to, err
		}
	}
	if to, err = chooseDestination(req, nodes); err != nil {
		return nil, to, err
	}
	if req.Explain != "" {
		if _, err := findNode(nodes, req.Explain); err != nil {
			return nil, to, err
		}
	}
	in, err = settle(j, req, nodes, out, ref, preparing{tied: req.applies(), asXSpaces: to.format != FormatChrome})
	return in, to, err
}

// write writes the outputs and judges the collectives. Of traces that are written in their own format the collectives are found in what is
// read to be written; else they come first.
func write(j *job.Job, in *inputs, c *clocks) (w *written, jd *judged, err error) {
	switch c.to.format {
	case FormatRun:
		w, err = writeRun(j, in, c)
	case FormatXPlane:
		w, err = writeSingle(j, in, c)
	case FormatChrome:
		if jd, err = judge(j, in, c, in.found); err != nil {
			return nil, nil, err
		}
		w, err = writeChrome(j, in, c, jd.programs(in))
		return w, jd, err
	default:
		return nil, nil, fault.New(fault.Internal, "combine: no writer for format %q", c.to.format)
	}
	if err != nil {
		return nil, nil, err
	}
	if jd, err = judge(j, in, c, w.findings(in.found)); err != nil {
		w.abort()
	}
	return w, jd, err
}

// programs are the compiled programs that were read to find collectives, by node and part.
func (d *judged) programs(in *inputs) (out [][]*collective.Programs) {
	if d.whole != nil {
		return d.whole.programs
	}
	for _, f := range in.found {
		out = append(out, f.programs)
	}
	return out
}

// evidenceOf is what a result rests on.
func evidenceOf(in *inputs, c *clocks, d *judged) *Evidence {
	e := &Evidence{Base: filepath.Dir(c.to.output), Output: c.to.output, Matched: d.matched, After: c.clock(in)}
	if len(in.parties) != len(in.nodes) { // collectives are of nodes inside merged traces, which the report does not know
		e.Matched = nil
	}
	if c.to.format == FormatRun {
		e.Base = c.to.output
	}
	for k, n := range in.nodes {
		ne := NodeEvidence{ID: n.ID, Wall: c.at.nodes[k].maps.Wall}
		ne.FromNS, ne.ToNS, _ = n.spanNS()
		e.Nodes = append(e.Nodes, ne)
	}
	return e
}
