package combine

import (
	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/verdict"
)

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
	Limit *int `json:"limit" takes:"whole" also:"-n" default:"10" setting:"own"`
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
	given := req.Offsets != "" || len(req.Probes) > 0 || req.Declared != ""
	ref, err := findReference(nodes, req.Reference)
	if err != nil {
		return nil, err
	}
	in, err := settle(j, &req.Request, nodes, out, ref, preparing{tied: given && req.applies(), asXSpaces: given})
	if err != nil {
		return nil, err
	}
	ev := untold(in)
	var r *related
	if !given {
		r, err = relateAsRecorded(in)
	} else if ev, err = gather(j, in, gathering{judging: true}); err == nil {
		r, err = relate(j, in, ev)
	}
	if err != nil {
		return nil, err
	}
	at, err := placeNodes(in, r, ev.devices)
	if err != nil {
		return nil, err
	}
	m := ev.relation.matched
	var matching remarks
	if m == nil {
		if m, matching, err = match(j, in, in.found, wanting{}); err != nil {
			return nil, err
		}
	}
	all, err := collective.CheckAll(j.Context(), m.Matched, []collective.Clock{at.clock(in, ev.devices)}, collective.CheckOptions{Worst: limit})
	if err != nil {
		return nil, err
	}
	noted := noteMatching(m.Part, m, all)
	var said remarks
	said.add(in.said, ev.said, r.said, at.said, matching, noted.said)
	return validation(in, r, all, m.Matched, noted.unjudged, said), nil
}

// validation makes the document. unjudged is how many executions are beyond the limit, said what was said on the way.
func validation(in *inputs, r *related, all *collective.Judged, m *collective.Matched, unjudged int64, said remarks) *ValidateDocument {
	v := all.Verdicts[0]
	d := &ValidateDocument{
		Schema: ValidateSchema, Groups: v.Groups, Violated: v.Violated, Consistent: v.Consistent, Undecidable: v.Undecidable,
		Unmatched: all.UnmatchedCount(), Worst: []WorstGroup{}, ByKind: []KindVerdicts{}, Lost: []Unmatched{},
		Notes: append([]string{}, said.notes...), Warnings: append([]string{}, said.warnings...),
	}
	d.Passed, d.Status = verdicts(v).passed(), StatusInconclusive
	if d.Passed == nil {
		d.Warnings = append(d.Warnings, nothingJudged(v.Groups, all.UnmatchedCount()))
	} else if d.Status = StatusPassed; !*d.Passed {
		d.Status = StatusViolated
	}
	d.Skipped, d.Files, d.Ranks = in.skipped, in.files, in.ranks
	for _, n := range in.nodes {
		if n.salvaged != nil {
			d.Salvaged = append(d.Salvaged, SalvagedInput{n.ID, n.salvaged})
			d.Warnings = append(d.Warnings, n.ID+": "+n.salvaged.Sentence())
		}
	}
	d.Verdict = d.verdict()
	for _, w := range v.Worst {
		d.Worst = append(d.Worst, WorstGroup{
			Key: w.Key, Kind: w.Kind.String(), Occurrence: w.Occurrence, Verdict: w.Judgement.String(), GapNS: w.GapNS, BoundNS: boundOf(in, r, w),
			Nodes: [2]string{in.slot(w.Ended), in.slot(w.Began)},
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
	if d.Conclusion = conclusionOf(in, r, d, m, unjudged); d.Conclusion.Outcome == verdict.Inconclusive {
		d.Passed, d.Status = nil, StatusInconclusive
	}
	return d
}

// boundOf is how far off the gap of a group can be, nil where nobody has bounded the clock of one of its ends. Within a node it is 0.
func boundOf(in *inputs, r *related, w collective.Worst) *int64 {
	if w.Ended.Node != w.Began.Node {
		for _, s := range []collective.Slot{w.Ended, w.Began} {
			if r.nodes[in.nodeOf(s.Node)].unknown {
				return nil
			}
		}
	}
	return &w.BoundNS
}
