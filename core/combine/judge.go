package combine

import (
	"context"
	"fmt"
	"strconv"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/verdict"
)

// extract finds the collectives of the trace, a part for each node that it holds. nodes is how many traces there are.
func (n *Node) extract(ctx context.Context, nodes int) ([]*collective.Part, error) {
	if n.found != nil {
		return n.found, nil
	}
	var err error
	switch trace := n.Trace.(type) {
	case source.Compiled:
		n.found, err = n.extractCompiled(ctx, nodes)
	case source.Recorded:
		n.found, err = n.extractRecorded(ctx, trace, nodes)
	default: // its format says nothing of collectives
		for part := range n.parts() {
			n.found = append(n.found, collective.Empty(n.options(part, nodes)))
		}
	}
	return n.found, withPath(err, n.Path)
}

// mostSpans is how many executions of collectives are kept of all nodes together; tests keep fewer.
var mostSpans = collective.MaxSpans

// byLotAlone leaves out what else is kept; tests compare.
var byLotAlone = false

// options are what extraction needs to know of one part of the trace.
func (n *Node) options(part, nodes int) collective.Options {
	opt := collective.Options{Node: int32(part), Limit: collective.PerNode(mostSpans, nodes*n.parts()), Rank: n.Rank, StartNS: n.start, Rest: n.rest}
	if n.parts() > 1 {
		opt.Rank = n.member(part).Rank
	}
	return opt
}

func (n *Node) extractCompiled(ctx context.Context, nodes int) (found []*collective.Part, err error) {
	n.programs = nil
	for part, view := range n.views() {
		one, err := collective.FromCompiled(ctx, n.Src, view, n.options(part, nodes))
		if err != nil {
			return nil, err
		}
		found, n.programs = append(found, one), append(n.programs, one.Programs)
	}
	return found, nil
}

// views returns a trace with compiled programs as its parts, under the names that processes had in the recording; nil for others.
func (n *Node) views() []source.Compiled {
	trace, ok := n.Trace.(source.Compiled)
	switch {
	case !ok:
		return nil
	case n.places == nil:
		return []source.Compiled{trace}
	}
	var out []source.Compiled
	for _, processes := range n.places.ByNode(n.parts()) {
		out = append(out, trace.Part(processes, n.places.Names))
	}
	return out
}

// recorded lists the processes under the names that they had in the recording.
func (n *Node) recorded() []*source.Process {
	trace, ok := n.Trace.(source.Compiled)
	if !ok || n.places == nil {
		return n.layout
	}
	all := make([]int, len(n.layout))
	for i := range all {
		all[i] = i
	}
	return trace.Part(all, n.places.Names).Layout()
}

func (n *Node) extractRecorded(ctx context.Context, trace source.Recorded, nodes int) ([]*collective.Part, error) {
	opts := make([]collective.Options, n.parts())
	var said map[string]*source.Distributed
	if len(opts) > 1 {
		var err error
		if said, err = trace.Groups(ctx, n.Src); err != nil {
			return nil, err
		}
	}
	compiled := make([]*collective.Compiled, len(opts))
	if n.mark != nil {
		var err error
		if compiled, err = collective.ReadCompiled(n.mark); err != nil {
			return nil, err
		}
	}
	for part := range opts {
		opts[part] = n.options(part, nodes)
		opts[part].Distributed = n.groups
		opts[part].Compiled = compiled[part]
		if len(opts) > 1 {
			opts[part].Distributed = said[n.member(part).ID]
		}
		if n.isMerged() {
			opts[part].Distributed = n.groupsOfAll()
		}
	}
	return collective.FromRecordedNodes(ctx, n.Src, trace, n.nodesOfProcesses(), opts)
}

// match finds the collectives of all nodes and matches them.
func (t *task) match() (*collective.Matched, error) {
	if t.found != nil {
		return t.found, nil
	}
	if err := t.extractAll(); err != nil {
		return nil, err
	}
	if t.clocksToo {
		if err := t.recallShortest(); err != nil {
			return nil, err
		}
	}
	parts := t.parts()
	for i, p := range parts {
		p.Renumber(int32(i))
	}
	joined := collective.Join(parts...)
	for _, n := range t.nodes {
		n.found = nil // its executions are in joined; twice is too much for long recordings
		if t.format != FormatChrome {
			n.programs = nil
		}
	}
	var err error
	t.found, err = collective.Match(t.job.Context(), joined)
	return t.found, err
}

// extractAll finds the collectives of all nodes.
func (t *task) extractAll() error {
	t.stage("collectives")
	return t.eachNode(func(ctx context.Context, k, _ int) error {
		_, err := t.nodes[k].extract(ctx, len(t.nodes))
		t.job.Progress().Add(t.nodes[k].bytes())
		return err
	})
}

// parts are what was found, by party.
func (t *task) parts() (out []*collective.Part) {
	for _, p := range t.parties() {
		out = append(out, t.nodes[p.node].found[p.part])
	}
	return out
}

// recallShortest takes back, of executions that there was no room for, those that were short somewhere: they bound the clocks best, and a lot
// finds few of them. Where traces are read elsewhere the lot has to do.
func (t *task) recallShortest() error {
	devices, full := map[collective.Slot]bool{}, false
	for i, p := range t.parts() {
		full = full || p.Halvings > 0
		for k := range p.Spans {
			devices[collective.Slot{Node: int32(i), Device: p.Spans[k].Device}] = true
		}
	}
	if !full || byLotAlone {
		return nil
	}
	for _, n := range t.nodes {
		if n.Src == nil {
			t.note("the traces hold more executions of collectives than there is room for, and are read elsewhere: the clocks rest on those that a lot drew")
			return nil
		}
	}
	wanted := collective.Wanted(t.parts(), mostSpans*3/4/max(1, len(devices)))
	t.shortest = len(wanted)
	return collective.Recall(t.parts(), wanted)
}

// judgeCollectives counts impossible orders before and after alignment, and explains the node that was asked for.
func (t *task) judgeCollectives() error {
	if len(t.parties()) < 2 {
		return t.explain()
	}
	m, err := t.match()
	if err != nil {
		return err
	}
	var within func(*collective.Matched) *collective.Matched
	if k := t.keep; k != nil {
		within = func(m *collective.Matched) *collective.Matched { return m.Within(t.clockOf(), k.FromNS, k.ToNS) }
		m = within(m)
	}
	t.matched = m
	all, err := collective.CheckAll(t.job.Context(), t.found, []collective.Clock{nil, t.clockOf()}, collective.CheckOptions{Within: within, Workers: t.job.Workers()})
	if err != nil {
		return err
	}
	before, after := verdicts(all.Verdicts[0]), verdicts(all.Verdicts[1])
	t.doc.Collectives = &Collectives{Groups: all.Groups, Unmatched: all.UnmatchedCount(), Before: before, After: after, Passed: after.passed()}
	if t.doc.Collectives.Passed == nil {
		t.warn("%s", nothingJudged(all.Groups, all.UnmatchedCount()))
	}
	t.noteMatching(m.Part, all)
	t.doc.Collectives.Unjudged = t.unjudged
	return t.explain()
}

// nothingJudged says that collectives neither support the alignment nor contradict it, and why.
func nothingJudged(groups, unmatched int) string {
	switch {
	case groups > 0:
		return fmt.Sprintf("none of the %d collectives could be judged: the clocks are not known well enough, or it is not recorded who gives to whom", groups)
	case unmatched > 0:
		return fmt.Sprintf("no collective could be judged: the partners of %d executions are in no other trace, or are unknown", unmatched)
	}
	return "no collective could be judged: the traces hold none that is recognised"
}

func verdicts(v *collective.Verdict) Verdicts {
	return Verdicts{Violated: v.Violated, Consistent: v.Consistent, Undecidable: v.Undecidable}
}

func (t *task) noteMatching(p *collective.Part, all *collective.Judged) {
	t.doc.Notes = append(t.doc.Notes, all.Assumptions...)
	t.doc.Warnings = append(t.doc.Warnings, p.Warnings...)
	if d := p.Thinned; d > 0 {
		shortest := ""
		if t.shortest > 0 {
			shortest = fmt.Sprintf(", and %d that were the shortest of their operation and time somewhere", t.shortest)
		}
		drawn := fmt.Sprintf("one launch in %d, over the whole time%s", uint64(1)<<p.Halvings, shortest)
		switch {
		case all.Rest == 0:
			t.note("%s, was looked at: %d executions of collectives are beyond the limit of %d", drawn, d, mostSpans)
		case t.clocksToo:
			t.note("the clocks rest on %s: %d executions of collectives are beyond the limit of %d, and verdicts alone look at them", drawn, d, mostSpans)
		}
	}
	if d := p.Dropped; d > 0 {
		t.warn("%d executions of collectives are beyond the limit and were not judged", d)
		t.unjudged = d
	}
}

// ValidateSchema is the schema of ValidateDocument.
const ValidateSchema = "prlx.validate/1"

// The values of ValidateDocument.Status.
const (
	StatusPassed       = "passed"       // no collective is impossible, at least one is possible, and nothing is missing
	StatusViolated     = "violated"     // a collective is impossible
	StatusInconclusive = "inconclusive" // nothing could be judged, or something is missing
)

// ValidateRequest is what validate is asked for. Without clock files the traces are judged as they are: raw or aligned.
type ValidateRequest struct {
	Request
	// Rows in the table of the worst collectives.
	Limit *int `json:"limit" takes:"whole" default:"10" setting:"own"`
}

// ValidateDocument is prlx.validate/1.
type ValidateDocument struct {
	Schema      string          `json:"schema"`
	Status      string          `json:"status"` // passed, violated, inconclusive
	Conclusion  verdict.Verdict `json:"conclusion"`
	Verdict     string          `json:"verdict"`
	Passed      *bool           `json:"passed"` // null: nothing could be judged
	Groups      int             `json:"groups"`
	Violated    int             `json:"violated"`
	Consistent  int             `json:"consistent"`
	Undecidable int             `json:"undecidable"`
	Unmatched   int             `json:"unmatched"`
	Worst       []WorstGroup    `json:"worst"`
	ByKind      []KindVerdicts  `json:"by_kind"`
	Lost        []Unmatched     `json:"unmatched_by_key"`
	Notes       []string        `json:"notes"`
	Warnings    []string        `json:"warnings"`

	Files    *Ledger         `json:"files"`              // what became of every file that the inputs stand for
	Ranks    *Ranks          `json:"ranks"`              // how many there are, and how many have a trace
	Skipped  []Unreadable    `json:"skipped,omitempty"`  // inputs that cannot be read and were left out
	Salvaged []SalvagedInput `json:"salvaged,omitempty"` // inputs that were cut, of which what is complete was judged
}

// SalvagedInput is a trace that was cut, and what was lost of it.
type SalvagedInput struct {
	ID string `json:"id"`
	*source.Salvaged
}

// WorstGroup is one group with an impossible or undecidable order.
type WorstGroup struct {
	Key        string    `json:"key"`
	Kind       string    `json:"kind"`
	Occurrence int       `json:"occurrence"`
	Verdict    string    `json:"verdict"`
	GapNS      int64     `json:"gap_ns"`   // negative: somebody ended that long before another, whom it needed, began
	BoundNS    *int64    `json:"bound_ns"` // how far off the gap can be; null: nobody has bounded the clocks
	Nodes      [2]string `json:"nodes"`    // who ended early, who began late
}

// KindVerdicts counts groups of one kind by verdict.
type KindVerdicts struct {
	Kind   string `json:"kind"`
	Groups int    `json:"groups"`
	Verdicts
}

// Unmatched counts executions of one operation that have no partners.
type Unmatched struct {
	Key    string `json:"key"`
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// Validate judges the order of the collectives of several traces.
func Validate(j *job.Job, req ValidateRequest) (*ValidateDocument, error) {
	if err := req.normalize(); err != nil {
		return nil, err
	}
	limit := 20
	if req.Limit != nil {
		limit = *req.Limit
	}
	if limit < 0 || limit > 1<<20 {
		return nil, fault.Usagef("limit is %d, expected 0 to %d", limit, 1<<20)
	}
	nodes, out, err := load(j, req.Inputs, req.loading())
	if err != nil {
		return nil, err
	}
	defer closeAll(nodes)
	t := &task{job: j, req: &req.Request, nodes: nodes, doc: &Document{}, judging: true}
	t.noteMerged()
	t.sayLeftOut(out)
	if t.ref, err = findReference(nodes, req.Reference); err != nil {
		return nil, err
	}
	if req.Offsets != "" || len(req.Probes) > 0 || req.Declared != "" {
		err = t.learnClocks()
	} else {
		err = t.agreeOnReference()
	}
	if err != nil {
		return nil, err
	}
	if err := t.place(); err != nil {
		return nil, err
	}
	m, err := t.match()
	if err != nil {
		return nil, err
	}
	all, err := collective.CheckAll(j.Context(), m, []collective.Clock{t.clockOf()}, collective.CheckOptions{Worst: limit})
	if err != nil {
		return nil, err
	}
	t.noteMatching(m.Part, all)
	return t.validation(all, m), nil
}

func (t *task) validation(all *collective.Judged, m *collective.Matched) *ValidateDocument {
	v := all.Verdicts[0]
	d := &ValidateDocument{
		Schema: ValidateSchema, Groups: v.Groups, Violated: v.Violated, Consistent: v.Consistent, Undecidable: v.Undecidable,
		Unmatched: all.UnmatchedCount(), Worst: []WorstGroup{}, ByKind: []KindVerdicts{}, Lost: []Unmatched{},
		Notes: append([]string{}, t.doc.Notes...), Warnings: append([]string{}, t.doc.Warnings...),
	}
	d.Passed, d.Status = verdicts(v).passed(), StatusInconclusive
	if d.Passed == nil {
		d.Warnings = append(d.Warnings, nothingJudged(v.Groups, all.UnmatchedCount()))
	} else if d.Status = StatusPassed; !*d.Passed {
		d.Status = StatusViolated
	}
	d.Skipped, d.Files, d.Ranks = t.doc.Skipped, t.doc.Files, t.doc.Ranks
	for _, n := range t.nodes {
		if n.salvaged != nil {
			d.Salvaged = append(d.Salvaged, SalvagedInput{n.ID, n.salvaged})
			d.Warnings = append(d.Warnings, n.ID+": "+n.salvaged.Sentence())
		}
	}
	d.Verdict = d.verdict()
	for _, w := range v.Worst {
		d.Worst = append(d.Worst, WorstGroup{
			Key: w.Key, Kind: w.Kind.String(), Occurrence: w.Occurrence, Verdict: w.Judgement.String(), GapNS: w.GapNS, BoundNS: t.boundOf(w),
			Nodes: [2]string{t.slot(w.Ended), t.slot(w.Began)},
		})
	}
	for k := event.Unknown; k <= event.SendRecv; k++ {
		if c, ok := v.ByKind[k]; ok {
			d.ByKind = append(d.ByKind, KindVerdicts{Kind: k.String(), Groups: c.Groups, Verdicts: Verdicts{Violated: c.Violated, Consistent: c.Consistent, Undecidable: c.Undecidable}})
		}
	}
	for _, u := range all.Unmatched {
		d.Lost = append(d.Lost, Unmatched(u))
	}
	if d.Conclusion = t.validated(d, m); d.Conclusion.Outcome == verdict.Inconclusive {
		d.Passed, d.Status = nil, StatusInconclusive
	}
	return d
}

// boundOf is how far off the gap of a group can be, nil where nobody has bounded the clock of one of its ends. Within a node it is 0.
func (t *task) boundOf(w collective.Worst) *int64 {
	if w.Ended.Node != w.Began.Node {
		for _, s := range []collective.Slot{w.Ended, w.Began} {
			if k := t.parties()[s.Node].node; t.boundUnknown(k) {
				return nil
			}
		}
	}
	return &w.BoundNS
}

// slot names a device of a node; the device is left out where the node has only one in the trace.
func (t *task) slot(s collective.Slot) string {
	id := t.parties()[s.Node].id
	if s.Device != 0 {
		id += "/" + strconv.Itoa(int(s.Device))
	}
	return id
}
