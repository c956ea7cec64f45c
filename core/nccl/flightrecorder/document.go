package flightrecorder

import (
	"fmt"
	"maps"
	"slices"

	"github.com/prlx-go/prlx/core/verdict"
)

// schema is the schema of Document.
const schema = "prlx.nccl-flight/1"

// Document is prlx.nccl-flight/1: what the dumps of a job's ranks say when they are laid side by side.
type Document struct {
	Schema     string            `json:"schema"`
	Status     string            `json:"status"` // culprit, nothing (all that was compared matches) or inconclusive, as of prlx.nccl-diagnose/1
	Verdict    string            `json:"verdict"`
	Conclusion verdict.Verdict   `json:"conclusion"`
	Dumps      int               `json:"dumps"`
	Ranks      []int             `json:"ranks"`
	NoDump     []int             `json:"no_dump"` // ranks that groups name and that gave none
	Versions   []string          `json:"versions"`
	Entries    int               `json:"entries"`
	Findings   []FindingDocument `json:"findings"` // what explains others first
	Chain      []string          `json:"chain"`    // who waits for whom, to the root
	Cycle      bool              `json:"cycle"`    // the chain comes back to where it began: a deadlock
	Groups     []GroupDocument   `json:"groups"`
	Warnings   []string          `json:"warnings"`
}

// FindingDocument is something wrong with one operation.
type FindingDocument struct {
	Class     string          `json:"class"`   // ended, never-arrived, mismatch, stuck or unrecorded, as of prlx.nccl-diagnose/1
	Differs   string          `json:"differs"` // of a mismatch: operation, size or type
	Group     string          `json:"group"`
	Sequence  int64           `json:"sequence"`
	Operation string          `json:"operation"`
	Ranks     []int           `json:"ranks"`   // the culprits
	Waiting   []int           `json:"waiting"` // who is in it and has not completed it
	NoDump    []int           `json:"no_dump"` // members that gave no dump
	Even      bool            `json:"even"`    // parts of equal size disagree: nobody can say which is wrong
	Detail    string          `json:"detail"`
	Sentence  string          `json:"sentence"`
	Frames    []FrameDocument `json:"frames"` // where the first culprit is, or was last, innermost first
}

// FrameDocument is a place in the program.
type FrameDocument struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int64  `json:"line"`
}

// GroupDocument is what was looked at in a process group.
type GroupDocument struct {
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Ranks       []int              `json:"ranks"`
	Guessed     bool               `json:"guessed"` // no dump lists its members
	From        int64              `json:"from"`    // numbers of operations that could be compared
	To          int64              `json:"to"`
	Compared    int                `json:"compared"`
	Matched     int                `json:"matched"`
	Undecided   int                `json:"undecided"`
	Sends       int                `json:"sends"`
	Paired      int                `json:"paired"`
	Standings   []StandingDocument `json:"standings"`
}

// StandingDocument is how far a rank has come in a group.
type StandingDocument struct {
	Rank       int    `json:"rank"`
	First      int64  `json:"first"` // numbers that its dump still holds
	Last       int64  `json:"last"`
	Operation  string `json:"operation"` // the last
	State      string `json:"state"`
	Operations int    `json:"operations"`
	Unfinished int    `json:"unfinished"`
}

// classNames are the classes as the diagnosis of NCCL's own recordings calls them.
var classNames = map[class]string{
	wrongOperation: "mismatch", wrongSize: "mismatch", wrongType: "mismatch", restarted: "ended", missing: "never-arrived", unmatched: "never-arrived",
	unfinished: "stuck", hung: "stuck", unrecorded: "unrecorded",
}

var differences = map[class]string{wrongOperation: "operation", wrongSize: "size", wrongType: "type"}

// Document is the result as a document.
func (r *Result) Document() *Document {
	d := &Document{
		Schema: schema, Status: statusInconclusive, Verdict: r.Verdict, Dumps: r.Dumps, Ranks: list(r.Ranks), NoDump: list(r.NoDump), Versions: list(r.Versions), Entries: r.Entries,
		Findings: []FindingDocument{}, Chain: list(r.Chain), Cycle: r.Cycle, Groups: []GroupDocument{}, Warnings: list(r.Warnings),
	}
	switch {
	case r.Passed:
		d.Status = statusNothing
	case r.Cycle || slices.ContainsFunc(r.Findings, func(f finding) bool { return len(f.Ranks) > 0 }):
		d.Status = statusCulprit
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		one := FindingDocument{
			Class: classNames[f.Class], Differs: differences[f.Class], Group: f.Group, Sequence: f.Sequence, Operation: f.Op, Ranks: list(f.Ranks), Waiting: list(f.Waiting), NoDump: list(f.NoDump),
			Even: f.Even, Detail: f.Detail, Sentence: f.Sentence, Frames: []FrameDocument{},
		}
		for _, at := range f.At {
			one.Frames = append(one.Frames, FrameDocument(at))
		}
		d.Findings = append(d.Findings, one)
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		one := GroupDocument{
			Name: g.Name, Description: g.Description, Ranks: list(g.Ranks), Guessed: g.Guessed, From: g.From, To: g.To, Compared: g.Compared, Matched: g.Matched,
			Undecided: g.Undecided, Sends: g.Sends, Paired: g.Paired, Standings: []StandingDocument{},
		}
		for _, s := range g.Standings {
			one.Standings = append(one.Standings, StandingDocument{s.Rank, s.First, s.Last, s.Op, s.State.String(), s.Operations, s.Unfinished})
		}
		d.Groups = append(d.Groups, one)
	}
	if d.Conclusion = r.conclude(d.Status); d.Conclusion.Outcome == verdict.Inconclusive {
		d.Status, d.Verdict = statusInconclusive, d.Conclusion.Why
	}
	return d
}

// conclude says what the verdict rests on. A culprit stays one whatever other ranks gave no dump, unless entries of its own dump are not known.
func (r *Result) conclude(status string) verdict.Verdict {
	var e verdict.Evidence
	ranks, guessed := int64(len(r.Ranks)), len(r.Groups) == 0
	for i := range r.Groups {
		guessed = guessed || r.Groups[i].Guessed
	}
	if total := ranks + int64(len(r.NoDump)); guessed {
		e.Looked("ranks", ranks)
		e.Lacks("other ranks", fmt.Sprintf("%d seen, total unknown: not every group of the dumps lists its members", ranks))
	} else {
		e.LookedOf("ranks", ranks, total)
	}
	for _, rank := range r.NoDump {
		why, ok := r.unread[rank]
		if !ok {
			why = "it gave no dump"
		}
		e.Missed(fmt.Sprintf("dump of rank %d", rank), 1, why)
	}
	for _, rank := range slices.Sorted(maps.Keys(r.unread)) {
		if !slices.Contains(r.NoDump, rank) {
			e.Missed("dump", 1, r.unread[rank])
		}
	}
	compared, undecided, sends, paired := 0, 0, 0, 0
	for i := range r.Groups {
		g := &r.Groups[i]
		compared, undecided, sends, paired = compared+g.Compared, undecided+g.Undecided, sends+g.Sends, paired+g.Paired
	}
	e.Looked("operations", int64(compared))
	if sends > 0 {
		e.Looked("sends", int64(paired))
	}
	if compared+paired == 0 {
		e.Lacks("operations", "none is in the dumps of two ranks of its group")
	}
	if undecided > 0 {
		e.Missed("operations", int64(undecided), "not all members gave a dump that can be compared, or sizes may differ")
	}
	for _, rank := range r.Ranks {
		if n := r.skipped[rank]; n > 0 {
			e.Missed(fmt.Sprintf("entries of rank %d", rank), int64(n), "they name no group or no operation")
		}
	}
	if status == statusCulprit {
		for i := range r.Findings {
			if slices.ContainsFunc(r.Findings[i].Ranks, func(rank int) bool { return r.skipped[rank] > 0 }) {
				return e.Open(r.Verdict + "; but not every entry of that dump is known")
			}
		}
		return e.Check(true, r.Verdict)
	}
	if len(r.Findings) > 0 { // something is wrong, and nobody can be named
		return e.Open(r.Verdict)
	}
	return e.Check(false, r.Verdict)
}

// The values of Document.Status, as of prlx.nccl-diagnose/1.
const (
	statusCulprit      = "culprit"
	statusNothing      = "nothing"
	statusInconclusive = "inconclusive"
)

// list is a list that is not null in a document.
func list[T any](of []T) []T { return append([]T{}, of...) }
