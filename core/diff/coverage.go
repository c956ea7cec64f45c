package diff

import (
	"context"
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// How a part of two recordings was compared, as documents say it.
const (
	byEvents   = "events"   // event by event
	byLeader   = "leader"   // event by event, with the decision of one lane of each warp
	byDigest   = "digest"   // by hashes: whether it is equal, not how it differs
	byContents = "contents" // element by element
	byCounts   = "counts"   // by how many events there were, which can tell that it differs and never that it does not
	byNothing  = "nothing"  // it was not recorded on both sides
	byRequest  = "not-asked"
	byShape    = "other-shape" // not at all: warps do not correspond
)

// Agreement says how far one part of two recordings agrees.
type Agreement string

// The agreements.
const (
	Agrees           Agreement = "yes"
	AgreesInNoise    Agreement = "noise"   // equal runs differ in the same places
	Differs          Agreement = "no"      // also where what differs was accepted or does not count
	AgreementUnknown Agreement = "unknown" // it was not compared
)

// Coverage is what was compared: the recordings are the same in this, and nothing is said of the rest.
type Coverage struct {
	Text        string         `json:"text"` // "control flow of 48 events, 5 stores and 3 arrays by digest; values not recorded"
	ControlFlow FlowCoverage   `json:"control_flow"`
	Outputs     OutputCoverage `json:"outputs"`
	Values      ValueCoverage  `json:"values"`
	Missing     []string       `json:"missing"` // what was required and not compared: "outputs"
}

// FlowCoverage is what was compared of the way that the warps took.
type FlowCoverage struct {
	By      string    `json:"by"`       // "counts" (that differ) | "events" | "leader" (one lane of each warp decides) | "digest" | "nothing" | "other-shape"
	EventsA int64     `json:"events_a"` // that happened, kept or hashed
	EventsB int64     `json:"events_b"`
	KeptA   int64     `json:"kept_a"` // of them, that are in the recording
	KeptB   int64     `json:"kept_b"`
	Agrees  Agreement `json:"agrees"` // "yes" | "noise" | "no" | "unknown"
}

// OutputCoverage is what was compared of what the kernel wrote.
type OutputCoverage struct {
	By       string    `json:"by"`      // "contents" | "digest" | "nothing"
	Stores   int64     `json:"stores"`  // places in the program that wrote, atomics included
	Digests  bool      `json:"digests"` // arrays were compared, where any was written
	Arrays   int64     `json:"arrays"`  // arguments that were written, and compared
	After    int64     `json:"after"`   // of these, by what their memory held after the launch, whoever wrote it; compared with its like alone
	Chunks   int64     `json:"chunks"`  // of these arrays
	Elements int64     `json:"elements"`
	Agrees   Agreement `json:"agrees"`
	Limits   []string  `json:"limits"` // what the kernel wrote and nothing is known of, in sentences

	LargestError *LargestError `json:"largest_error,omitempty"` // that a tolerance let pass

	untold int64 // arrays whose memory does not tell
}

// LargestError is how far apart elements are that a tolerance let pass.
type LargestError struct {
	Absolute float64 `json:"absolute"` // the largest, of the element that is named
	Relative float64 `json:"relative"` // the largest of any element
	ULPs     float64 `json:"ulps"`     // likewise, of floats
	Array    string  `json:"array"`
	Element  int64   `json:"element"`
	ValueA   string  `json:"value_a"`
	ValueB   string  `json:"value_b"`
}

// ValueCoverage is what was compared of the values on the way.
type ValueCoverage struct {
	By     string    `json:"by"` // "events" | "not-asked" | "nothing" | "other-shape"
	Agrees Agreement `json:"agrees"`
}

// Recorded reports whether both recordings hold values, compared or not.
func (c ValueCoverage) Recorded() bool { return c.By != byNothing && c.By != byShape }

// heldBy is what one recording holds of the way that its warps took.
type heldBy struct {
	events int64 // that happened, kept or not
	kept   int64
	hashed int64 // warps that left a hash of their way
	values bool
	leader bool // the decision of one lane only
	digest bool // the recording was asked for hashes only
}

// holds finds out what a recording holds of the way that its warps took.
func holds(ctx context.Context, t *warptrace.Trace) (heldBy, error) {
	h := t.Header()
	out := heldBy{leader: !h.Taken, digest: h.Mode == warptrace.ModeDigest, values: h.Version == 1 || h.Mode == warptrace.ModeValues || h.Mode == warptrace.ModeUnknown}
	if h.Version == 1 {
		return out, nil // its events are counted while they are compared
	}
	index, err := t.Index(ctx)
	if err != nil {
		return out, err
	}
	for i := range index {
		w := &index[i]
		out.kept += int64(w.Events)
		out.events += int64(min(w.Total, 1<<40))
		if w.HasRolling {
			out.hashed++
		}
	}
	return out, nil
}

// writes reports whether a kernel has a statement that stores to global memory, or an atomic on it.
func writes(sites *site.Table) bool {
	for i := range sites.Len() {
		if kind := sites.At(i).Kind; kind == site.GlobalStore || kind == site.Atomic {
			return true
		}
	}
	return false
}

// recorded is what both recordings hold.
type recorded struct {
	held   [2]heldBy // by A and B
	writes bool      // some statement of either kernel stores to global memory, by its sites
}

// lookAt finds out what recordings hold, once their events were compared.
func lookAt(ctx context.Context, a, b *warptrace.Trace, stats *Stats) (c recorded, err error) {
	for k, t := range []*warptrace.Trace{a, b} {
		if c.held[k], err = holds(ctx, t); err != nil {
			return c, err
		}
		c.writes = c.writes || writes(t.Sites())
	}
	for k, kept := range []int64{stats.EventsA, stats.EventsB} {
		if h := &c.held[k]; h.events == 0 {
			h.kept, h.events = kept, kept
		}
	}
	return c, nil
}

// coverage says what was compared.
func (r *Result) coverage(rows *rowTally) Coverage {
	shape := r.OtherShape != ""
	c := Coverage{ControlFlow: r.recorded.flow(shape, rows), Outputs: r.outputs.coverage(), Values: r.recorded.values(shape, r.Options.Values, rows), Missing: []string{}}
	old := r.A.Version == 1 || r.B.Version == 1
	for aspect, by := range [aspects]string{c.ControlFlow.By, c.Outputs.By, c.Values.By} {
		if r.Options.demands(aspectKind(aspect), old) && (by == byNothing || by == byShape && r.Options.Require.Has(aspectKind(aspect)) || by == byRequest && aspectKind(aspect) == AspectValues) {
			c.Missing = append(c.Missing, aspectKind(aspect).String())
		}
	}
	c.Text = c.text()
	return c
}

// demands reports whether an aspect must have been recorded. Format v1 has no place for outputs: what it holds is the coverage, unless
// outputs were asked for by name. old: one of the recordings is of that format.
func (o *Options) demands(a aspectKind, old bool) bool {
	if a == AspectOutputs && o.Require == 0 && old {
		return false
	}
	return o.requires(a)
}

// restsOnOutputs reports whether "the same" needs what the kernel wrote: some statement writes, and outputs were asked for by name or both
// recordings could hold them.
func (o *Options) restsOnOutputs(writes bool, a, b *warptrace.Header) bool {
	asked := o.Require != 0 || !holdsWayAlone(a) && !holdsWayAlone(b)
	return writes && o.requires(AspectOutputs) && asked
}

// holdsWayAlone reports whether a recording is of format v1, or was, or is of no kernel that ran.
func holdsWayAlone(h *warptrace.Header) bool {
	return h.Version == 1 || h.Means == warptrace.MeansConverted || h.Means == warptrace.MeansGenerated
}

// nothing reports whether neither recording holds an event.
func (c *recorded) nothing() bool { return c.held[0].events+c.held[1].events == 0 }

// flow says how the way of the warps was compared. shape: warps do not correspond.
func (c *recorded) flow(shape bool, rows *rowTally) FlowCoverage {
	a, b := &c.held[0], &c.held[1]
	out := FlowCoverage{By: byEvents, EventsA: a.events, EventsB: b.events, KeptA: a.kept, KeptB: b.kept, Agrees: AgreementUnknown}
	switch {
	case shape:
		out.By = byShape
		return out
	case a.kept+b.kept == 0 && a.hashed > 0 && b.hashed > 0:
		out.By = byDigest
	case a.kept+b.kept == 0 && a.events+b.events > 0 || a.digest != b.digest && a.kept*b.kept == 0:
		if out.By = byNothing; rows.unlocated > 0 { // counts only, or hashes beside events
			out.By = byCounts
		}
	case a.leader || b.leader:
		out.By = byLeader
	}
	if out.By != byNothing {
		out.Agrees = rows.agree(func(k RowKind) bool { return k != RowValue }, rows.unlocated > 0)
	}
	return out
}

// values says whether values were compared.
func (c *recorded) values(shape, asked bool, rows *rowTally) ValueCoverage {
	switch {
	case shape:
		return ValueCoverage{byShape, AgreementUnknown}
	case asked && rows.all[RowValue] > 0: // whatever the headers say
	case !c.held[0].values || !c.held[1].values:
		return ValueCoverage{byNothing, AgreementUnknown}
	case !asked:
		return ValueCoverage{byRequest, AgreementUnknown}
	}
	return ValueCoverage{byEvents, rows.agree(func(k RowKind) bool { return k == RowValue }, false)}
}

// text says it in words.
func (c *Coverage) text() string {
	var compared, missing, asked []string
	switch f := &c.ControlFlow; f.By {
	case byEvents:
		compared = append(compared, "control flow of "+f.compared())
	case byLeader:
		compared = append(compared, "control flow of "+f.compared()+" (one lane of each warp)")
	case byDigest:
		compared = append(compared, "control flow of "+eventsOf(f.EventsA, f.EventsB)+" by digest")
	case byCounts:
		compared = append(compared, "how many events there were: "+eventsOf(f.EventsA, f.EventsB))
	case byShape:
		asked = append(asked, "control flow")
	default:
		missing = append(missing, "control flow")
	}
	switch o := &c.Outputs; o.By {
	case byContents:
		compared = append(compared, counted(o.Stores, "store"), counted(o.Arrays, "array")+" by contents")
	case byDigest:
		if o.Digests {
			compared = append(compared, counted(o.Stores, "store"), counted(o.Arrays, "array")+" by digest")
			break
		}
		compared = append(compared, counted(o.Stores, "store")+" by sums")
		if o.After > 0 {
			compared = append(compared, counted(o.After, "array")+" by contents after the launch")
		} else {
			asked = append(asked, "arrays")
		}
		if o.untold > 0 && o.After > 0 {
			asked = append(asked, counted(o.untold, "array"))
		}
	case byRequest:
		asked = append(asked, "outputs")
	default:
		missing = append(missing, "outputs")
	}
	switch c.Values.By {
	case byEvents:
		compared = append(compared, "values")
	case byRequest, byShape:
		asked = append(asked, "values")
	default:
		missing = append(missing, "values")
	}
	var parts []string
	if len(compared) > 0 {
		parts = append(parts, inWords(compared))
	}
	if len(missing) > 0 {
		parts = append(parts, inWords(missing)+" not recorded")
	}
	if len(asked) > 0 {
		parts = append(parts, inWords(asked)+" not compared")
	}
	return strings.Join(parts, "; ")
}

func eventsOf(a, b int64) string {
	if a == b {
		return counted(a, "event")
	}
	return fmt.Sprintf("%d and %d events", a, b)
}

// compared says how many events were compared, of how many that happened where these are more.
func (f *FlowCoverage) compared() string {
	if f.KeptA == f.EventsA && f.KeptB == f.EventsB {
		return eventsOf(f.EventsA, f.EventsB)
	}
	if f.KeptA == f.KeptB && f.EventsA == f.EventsB {
		return fmt.Sprintf("%d of %s", f.KeptA, counted(f.EventsA, "event"))
	}
	return fmt.Sprintf("%d of %d and %d of %d events", f.KeptA, f.EventsA, f.KeptB, f.EventsB)
}

// InPart reports whether events were compared, and not all that happened are in both recordings.
func (f *FlowCoverage) InPart() bool {
	return f.Agrees != AgreementUnknown && f.By != byDigest && f.By != byShape && (f.KeptA < f.EventsA || f.KeptB < f.EventsB)
}

// inWords joins words: "x", "x and y", "x, y and z".
func inWords(words []string) string {
	last := len(words) - 1
	if last <= 0 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
