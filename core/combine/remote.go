package combine

import (
	"bytes"
	"encoding/gob"
	"path/filepath"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/formats"
	"github.com/prlx-go/prlx/core/trace/source"
)

// Combining in four steps, so that the two that read traces can run where these lie: ScanNode (a node each), Plan (once),
// WriteNode (a node each), Finish (once). The result is that of Run, byte for byte. What travels is small: the structure of a
// trace and its collectives one way, clock maps the other.

// Scanned is what ScanNode found in one trace.
type Scanned struct {
	Path    string `json:"path"`
	Payload []byte `json:"payload"` // gob of scannedWire

	Unreadable *Unreadable `json:"unreadable,omitempty"` // instead: the trace is left out
}

type scannedWire struct {
	Host     string
	Rank     *int64
	Absolute bool
	Aligned  bool
	OnHost   bool
	Start    int64
	Format   string // of the trace, which follows
	Parts    []*collective.Part
	Mark     []byte         // the text of what the file says about itself
	Places   *source.Places // and what stands with its processes about that
	Salvaged *source.Salvaged
}

// ScanNode reads the structure of one trace. nodes is how many there are in all.
func ScanNode(j *job.Job, in Input, nodes int, opt LoadOptions) (*Scanned, error) {
	scanned, err := scanNode(j, in, nodes, opt.Salvage)
	if opt.SkipUnreadable && IsUnreadable(err) {
		u := UnreadableOf(in, err)
		return &Scanned{Path: in.Path, Unreadable: &u}, nil
	}
	return scanned, err
}

func scanNode(j *job.Job, in Input, nodes int, salvage bool) (*Scanned, error) {
	n, err := loadOne(j.Context(), j, in, j.Workers(), salvage)
	if err != nil {
		n.close()
		return nil, err
	}
	defer n.close()
	f, err := extract(j.Context(), n, nodes)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	wire := scannedWire{Host: n.Host, Rank: n.Rank, Absolute: n.absolute, Aligned: n.aligned, OnHost: n.onHost, Start: n.start, Format: n.format.Name, Parts: f.parts, Salvaged: n.salvaged}
	if err := wire.pack(n); err != nil {
		return nil, err
	}
	e := gob.NewEncoder(&b)
	if err := e.Encode(&wire); err != nil {
		return nil, err
	}
	if err := e.Encode(n.Trace); err != nil {
		return nil, err
	}
	return &Scanned{Path: in.Path, Payload: b.Bytes()}, nil
}

// pack takes what the file says about itself: maps travel as text.
func (w *scannedWire) pack(n *Node) (err error) {
	if n.mark == nil {
		return nil
	}
	w.Places = n.places
	w.Mark, err = n.mark.Text()
	return err
}

// unpackMark takes it back, for a trace of so many processes.
func (w *scannedWire) unpackMark(processes int) (marking, error) {
	if len(w.Mark) == 0 {
		return marking{}, nil
	}
	mark, err := aligned.Read(w.Mark)
	if err != nil {
		return marking{}, err
	}
	return newMarking(mark, w.Places, processes), nil
}

// NodeTask is what WriteNode needs: where a trace lies, its clocks, and where its part goes.
type NodeTask struct {
	Input  Input         `json:"input"`
	Clocks align.Clocks  `json:"clocks"`
	ZeroNS int64         `json:"zero_ns"`
	Keep   *align.Range  `json:"keep"`
	Mark   *aligned.Mark `json:"mark"` // what the output says of its nodes
	Stat   bool          `json:"correction_stat"`
	Bound  bool          `json:"bound_stat"`
	Drawn  string        `json:"drawn"` // the node's name on the curves of its clock; "" there are none
	Tracer bool          `json:"tracer_timebase"`
	Output string        `json:"output"`

	Salvage bool `json:"salvage"`
}

// NodeDone is what WriteNode did.
type NodeDone struct {
	Result NodeResult `json:"result"` // the counts; the rest is known to the plan
	Kept   int64      `json:"kept"`   // events with a time that were written
	Output Output     `json:"output"`
}

// RemotePlan is the state between Plan and Finish.
type RemotePlan struct {
	Tasks     []NodeTask   `json:"tasks"`
	Document  *Document    `json:"document"`
	Nodes     []NodeResult `json:"nodes"` // without the counts
	Degraded  []bool       `json:"degraded"`
	Reference int          `json:"reference"`
	Aligned   bool         `json:"aligned"` // some clock is corrected
	Policy    policy       `json:"policy"`
	Unknown   []bool       `json:"unknown"`    // by node: nothing is known of the error of its times
	LengthsNS []int64      `json:"lengths_ns"` // of the traces; 0 unknown
	UsualNS   int64        `json:"usual_ns"`   // the median length of a collective; 0: there is none
	Output    string       `json:"output"`
	Temporary string       `json:"temporary"`
	Overwrite bool         `json:"overwrite"`
}

// Plan decides clocks, zero and names from what ScanNode found, and begins the run directory. The caller must end it with Finish
// or Abandon.
func Plan(j *job.Job, req Request, scans []Scanned) (*RemotePlan, error) {
	if err := req.normalize(); err != nil {
		return nil, err
	}
	nodes, out, err := unpack(req.Inputs, scans)
	if err != nil {
		return nil, err
	}
	in, to, err := begin(j, &req, nodes, out)
	if err != nil {
		return nil, err
	}
	if to.format != FormatRun {
		return nil, fault.Usagef("an executor writes run directories only, not format %s", to.format).WithHint("use format=\"run\", or leave out the executor")
	}
	c, err := decide(j, in, to)
	if err != nil {
		return nil, err
	}
	jd, err := judge(j, in, c, in.found)
	if err != nil {
		return nil, err
	}
	names, err := runNames(in.nodes)
	if err != nil {
		return nil, err
	}
	dir, err := file.CreateDir(c.to.output, c.to.overwrite)
	if err != nil {
		return nil, err
	}
	doc := draft(in, c)
	doc.judge(jd)
	p := &RemotePlan{
		Document: doc, Reference: in.ref, Aligned: c.marks.mark.Aligned, Output: c.to.output, Temporary: dir.Temporary(), Overwrite: c.to.overwrite,
		Policy: req.Policy, UsualNS: jd.whole.usual(),
	}
	for k, n := range in.nodes {
		p.Tasks = append(p.Tasks, NodeTask{
			Input: Input{ID: n.ID, Path: n.Path}, Clocks: c.at.nodes[k].maps, ZeroNS: c.at.zeroNS, Keep: c.at.keep, Mark: c.marks.of(k), Stat: req.CorrectionStat,
			Bound: c.eventStats(in, k).Bound != "", Drawn: c.drawnAs(in, k), Tracer: req.timebase == align.TracerTime, Output: filepath.Join(dir.Temporary(), names[k]), Salvage: req.Salvage,
		})
		p.Nodes = append(p.Nodes, c.rowOf(in, k))
		p.Degraded = append(p.Degraded, c.nodes[k].degraded)
		p.Unknown = append(p.Unknown, c.nodes[k].unknown)
		p.LengthsNS = append(p.LengthsNS, n.lengthNS())
	}
	return p, nil
}

// unpack rebuilds nodes, without files, from what ScanNode found. out are those that it left out.
func unpack(inputs []Input, scans []Scanned) (nodes []*Node, out []Unreadable, err error) {
	if len(scans) != len(inputs) || len(scans) == 0 {
		return nil, nil, fault.Usagef("%d scans for %d inputs", len(scans), len(inputs))
	}
	var kept []Input
	for k, s := range scans {
		if s.Unreadable != nil {
			out = append(out, *s.Unreadable)
			continue
		}
		w, trace, err := decode(s.Payload)
		if err != nil {
			return nil, nil, fault.Usagef("scan %d is damaged: %v", k, err)
		}
		n := &Node{
			Path: s.Path, Host: w.Host, Rank: w.Rank, absolute: w.Absolute, aligned: w.Aligned, onHost: w.OnHost, start: w.Start, found: finding{parts: w.Parts},
			place: k, salvaged: w.Salvaged,
		}
		n.adopt(trace, formats.ByName(w.Format))
		if n.marking, err = w.unpackMark(len(n.layout)); err != nil {
			return nil, nil, fault.Usagef("scan %d is damaged: %v", k, err)
		}
		nodes, kept = append(nodes, n), append(kept, inputs[k])
	}
	if len(nodes) == 0 {
		return nil, nil, fault.New(fault.Format, "none of the %d traces can be read; of the first: %s", len(scans), out[0].Error).WithPath(scans[0].Path).WithHint("%s", out[0].Hint)
	}
	if err := nameNodes(nodes, kept); err != nil {
		return nil, nil, err
	}
	return sortNodes(nodes), out, nil
}

// decode reads the payload of a scan.
func decode(payload []byte) (*scannedWire, source.Trace, error) {
	var w scannedWire
	d := gob.NewDecoder(bytes.NewReader(payload))
	if err := d.Decode(&w); err != nil {
		return nil, nil, err
	}
	f := formats.ByName(w.Format)
	if f == nil {
		return nil, nil, fault.Usagef("format %q is not known", w.Format)
	}
	trace := f.Blank()
	return &w, trace, d.Decode(trace)
}

// WriteNode writes the aligned file of one node.
func WriteNode(j *job.Job, nt NodeTask) (*NodeDone, error) {
	n, err := loadOne(j.Context(), j, nt.Input, j.Workers(), nt.Salvage)
	if err != nil {
		n.close()
		return nil, err
	}
	defer n.close()
	if _, ok := n.Trace.(source.Retimer); !ok {
		return nil, fault.New(fault.Format, "is no XSpace any more").WithPath(nt.Input.Path)
	}
	if nt.Mark == nil || len(nt.Mark.Nodes) != n.parts() {
		return nil, fault.Usagef("the task's mark does not fit its trace")
	}
	o, done, err := nt.file(n).write(j.Context(), j, j.Workers(), func() (*file.Output, error) { return file.Create(nt.Output, false) })
	if err != nil {
		return nil, err
	}
	return &NodeDone{Result: done.counts, Kept: done.kept, Output: o}, nil
}

// file is what the task writes of its node.
func (nt *NodeTask) file(n *Node) *nodeFile {
	base := align.HostTime
	if nt.Tracer {
		base = align.TracerTime
	}
	f := &nodeFile{
		node: n, at: placedNode{maps: nt.Clocks, plan: n.plan(nt.Clocks, base)}, zeroNS: nt.ZeroNS, keep: nt.Keep, drawn: nt.Drawn, marks: marks{mark: nt.Mark}, traces: 1,
		stats: statsFor(&Request{CorrectionStat: nt.Stat, BoundStat: nt.Bound}, n.absolute),
	}
	for i := range nt.Mark.Nodes {
		f.mine = append(f.mine, i)
	}
	return f
}

// Finish puts the counts of all nodes into the document and the run directory in its place.
func Finish(p *RemotePlan, done []NodeDone) (*Document, error) {
	dir, err := file.ResumeDir(p.Temporary, p.Output, p.Overwrite)
	if err != nil {
		return nil, err
	}
	defer dir.Abort()
	if len(done) != len(p.Tasks) || len(done) == 0 || len(p.Unknown) != len(done) || len(p.Nodes) != len(done) || len(p.Degraded) != len(done) || len(p.LengthsNS) != len(done) {
		return nil, fault.Usagef("%d of %d nodes were written", len(done), len(p.Tasks))
	}
	doc := p.Document
	nodes := make([]ending, len(done))
	for k := range done {
		nodes[k] = ending{row: p.Nodes[k], kept: done[k].Kept, degraded: p.Degraded[k], unknown: p.Unknown[k], lengthNS: p.LengthsNS[k]}
		nodes[k].row.takeCounts(&done[k].Result)
		doc.Outputs = append(doc.Outputs, done[k].Output)
	}
	err = doc.conclude(nodes, closing{
		ref: p.Reference, aligned: p.Aligned, policy: p.Policy, usualNS: p.UsualNS,
		nothing: func(events int64) error {
			return nothingLeft(p.Tasks[0].Input.Path, p.Tasks[0].Keep, events, 0, nowhere)
		},
	})
	if err != nil {
		return nil, err
	}
	if err := doc.writeReports(func(name string) (*file.Output, error) { return dir.Create(name) }, ""); err != nil {
		return nil, err
	}
	return doc, dir.Commit()
}

// Abandon removes what Plan began.
func Abandon(p *RemotePlan) error {
	dir, err := file.ResumeDir(p.Temporary, p.Output, p.Overwrite)
	if err == nil {
		dir.Abort()
	}
	return err
}
