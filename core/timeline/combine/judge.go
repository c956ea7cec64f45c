package combine

import (
	"context"
	"strconv"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/timeline/collective"
	"github.com/prlx-go/prlx/core/timeline/event"
)

// extract finds the collectives of the node; k is its index, nodes how many there are.
func (n *Node) extract(ctx context.Context, k, nodes int) (*collective.Part, error) {
	if n.part != nil {
		return n.part, nil
	}
	opt := collective.Options{Node: int32(k), Limit: collective.PerNode(nodes)}
	if n.Rank != nil {
		opt.Rank = n.Rank
	}
	var err error
	if n.Space != nil {
		opt.StartNS = n.start
		n.part, err = collective.FromXSpace(ctx, n.Src, n.Space, opt)
	} else {
		n.part, err = collective.FromChrome(ctx, n.Src, n.Trace, opt)
	}
	return n.part, withPath(err, n.Path)
}

// match finds the collectives of all nodes and matches them.
func (t *task) match() (*collective.Matched, error) {
	t.job.Progress().SetStage("collectives")
	err := t.eachNode(func(ctx context.Context, k, _ int) error {
		_, err := t.nodes[k].extract(ctx, k, len(t.nodes))
		return err
	})
	if err != nil {
		return nil, err
	}
	parts := make([]*collective.Part, len(t.nodes))
	for k, n := range t.nodes {
		n.part.Renumber(int32(k))
		parts[k] = n.part
	}
	joined := collective.Join(parts...)
	for _, n := range t.nodes {
		n.part = nil // its executions are in joined; twice is too much for long recordings
	}
	return collective.Match(t.job.Context(), joined)
}

// clockOf returns the clock of all executions: through the plan of the line that each was recorded on.
func (t *task) clockOf() collective.Clock {
	return func(s *event.Span, ns int64) (int64, int64) {
		n := t.nodes[s.Node]
		if n.Space == nil {
			y, bound, _ := n.Clocks.Wall.At(ns)
			return y, bound
		}
		return t.plans[s.Node].Lines[s.Plane][s.Line].At(ns)
	}
}

// judgeCollectives counts impossible orders before and after alignment.
func (t *task) judgeCollectives() error {
	if len(t.nodes) < 2 {
		return nil
	}
	m, err := t.match()
	if err != nil {
		return err
	}
	t.matched = m
	var v [2]*collective.Verdict // before and after
	group, ctx := safe.NewGroup(t.job.Context())
	group.SetLimit(t.job.Workers())
	for k, clock := range []collective.Clock{nil, t.clockOf()} {
		group.Go(func() (err error) {
			v[k], err = collective.Check(ctx, m, clock, 0)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	t.doc.Collectives = &Collectives{Groups: len(m.Groups), Unmatched: m.UnmatchedCount(), Before: verdicts(v[0]), After: verdicts(v[1])}
	t.noteMatching(m)
	return nil
}

func verdicts(v *collective.Verdict) Verdicts {
	return Verdicts{Violated: v.Violated, Consistent: v.Consistent, Undecidable: v.Undecidable}
}

func (t *task) noteMatching(m *collective.Matched) {
	t.doc.Notes = append(t.doc.Notes, m.Assumptions...)
	t.doc.Warnings = append(t.doc.Warnings, m.Part.Warnings...)
	if d := m.Part.Dropped; d > 0 {
		t.warn("%d executions of collectives are beyond the limit and were not judged", d)
	}
}

// ValidateSchema is the schema of ValidateDocument.
const ValidateSchema = "prlx.validate/1"

// ValidateRequest is what validate is asked for. Without clock files the traces are judged as they are: raw or aligned.
type ValidateRequest struct {
	Request
	Limit *int `json:"limit"` // rows of worst; default 20
}

// ValidateDocument is prlx.validate/1.
type ValidateDocument struct {
	Schema      string         `json:"schema"`
	Groups      int            `json:"groups"`
	Violated    int            `json:"violated"`
	Consistent  int            `json:"consistent"`
	Undecidable int            `json:"undecidable"`
	Unmatched   int            `json:"unmatched"`
	Worst       []WorstGroup   `json:"worst"`
	ByKind      []KindVerdicts `json:"by_kind"`
	Lost        []Unmatched    `json:"unmatched_by_key"`
	Notes       []string       `json:"notes"`
	Warnings    []string       `json:"warnings"`
}

// WorstGroup is one group with an impossible or undecidable order.
type WorstGroup struct {
	Key        string    `json:"key"`
	Kind       string    `json:"kind"`
	Occurrence int       `json:"occurrence"`
	Verdict    string    `json:"verdict"`
	GapNS      int64     `json:"gap_ns"` // negative: somebody ended that long before another, whom it needed, began
	BoundNS    int64     `json:"bound_ns"`
	Nodes      [2]string `json:"nodes"` // who ended early, who began late
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
	nodes, err := Load(j, req.Inputs)
	if err != nil {
		return nil, err
	}
	defer CloseAll(nodes)
	t := &task{job: j, req: &req.Request, nodes: nodes, doc: &Document{}}
	if t.ref, err = FindReference(nodes, req.Reference); err != nil {
		return nil, err
	}
	clock := collective.AsRecorded
	if req.Offsets != "" || len(req.Probes) > 0 || req.Declared != "" {
		if err := t.learnClocks(); err != nil {
			return nil, err
		}
		if err := t.place(); err != nil {
			return nil, err
		}
		clock = t.clockOf()
	}
	m, err := t.match()
	if err != nil {
		return nil, err
	}
	v, err := collective.Check(j.Context(), m, clock, limit)
	if err != nil {
		return nil, err
	}
	t.noteMatching(m)
	return t.validation(m, v), nil
}

func (t *task) validation(m *collective.Matched, v *collective.Verdict) *ValidateDocument {
	d := &ValidateDocument{
		Schema: ValidateSchema, Groups: v.Groups, Violated: v.Violated, Consistent: v.Consistent, Undecidable: v.Undecidable,
		Unmatched: m.UnmatchedCount(), Worst: []WorstGroup{}, ByKind: []KindVerdicts{}, Lost: []Unmatched{},
		Notes: append([]string{}, t.doc.Notes...), Warnings: append([]string{}, t.doc.Warnings...),
	}
	for _, w := range v.Worst {
		d.Worst = append(d.Worst, WorstGroup{
			Key: w.Key, Kind: w.Kind.String(), Occurrence: w.Occurrence, Verdict: w.Judgement.String(), GapNS: w.GapNS, BoundNS: w.BoundNS,
			Nodes: [2]string{t.slot(w.Ended), t.slot(w.Began)},
		})
	}
	for k := event.Unknown; k <= event.SendRecv; k++ {
		if c, ok := v.ByKind[k]; ok {
			d.ByKind = append(d.ByKind, KindVerdicts{Kind: k.String(), Groups: c.Groups, Verdicts: Verdicts{Violated: c.Violated, Consistent: c.Consistent, Undecidable: c.Undecidable}})
		}
	}
	for _, u := range m.Unmatched {
		d.Lost = append(d.Lost, Unmatched(u))
	}
	return d
}

// slot names a device of a node; the device is left out where the node has only one in the trace.
func (t *task) slot(s collective.Slot) string {
	id := t.nodes[s.Node].ID
	if s.Device != 0 {
		id += "/" + strconv.Itoa(int(s.Device))
	}
	return id
}
