package diff

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/verdict"
)

// The values of Document.Status.
const (
	StatusIdentical    = "identical"    // nothing differs in what was compared
	StatusSameResults  = "same-results" // the kernel wrote the same, in a different way
	StatusDiverged     = "diverged"
	StatusInconclusive = "inconclusive" // not enough was recorded to say "the same"
)

// Judgement is what a comparison comes to.
type Judgement struct {
	Status  string
	Passed  bool
	Total   int64 // divergences of every kind
	Counted int64 // those that count against the threshold
	ByKind  map[string]int64

	noise    int64
	coverage Coverage
	rows     int64 // of Total, those that are rows or warps, not outputs or findings
	why      []string
	missing  []verdict.Missing // what could have changed the answer, were the answer a pleasant one
}

// Judge says what the comparison comes to, with the marks that were set on rows so far.
func (r *Result) Judge() Judgement {
	rows := tallyRows(r.Rows, &r.Stats, &r.Options)
	v := Judgement{coverage: r.coverage(&rows), ByKind: breakdown(r.Stats.ByKind[:]), rows: rows.total(), noise: rows.noisy()}
	agrees := r.outputs.agrees()
	matters := func(k RowKind) bool { return r.Options.rowMatters(k, agrees) }
	counted := rows.counted(matters, r.Options.IgnoreActiveMask)
	others, count := countOthers(r.outputs, &r.findings, &r.Options)
	maps.Copy(counted, count)
	for _, n := range counted {
		v.Counted += n
	}
	v.Total = v.rows
	for kind, n := range others {
		v.ByKind[kind] = n
		v.Total += n
	}
	v.Status = r.status(&v)
	v.missing = r.missing(&v)
	allowed := r.Options.MaxDivergences.passes(counted)
	if len(v.missing) > 0 && (v.Status != StatusDiverged || allowed) {
		v.Status = StatusInconclusive
	}
	for _, m := range v.missing {
		v.why = append(v.why, m.Why)
	}
	if open := r.noiseOpen(v.Counted, rows.sum(&rows.undecided, matters)); open != "" {
		v.Status, v.why = StatusInconclusive, append(v.why, open)
		v.missing = append(v.missing, verdict.Missing{What: "equal runs", Why: open})
	}
	v.Passed = allowed && v.Status != StatusInconclusive
	return v
}

// conclude is the verdict with what it rests on.
func (r *Result) conclude(v *Judgement, why string) verdict.Verdict {
	var e verdict.Evidence
	c := &v.coverage
	if c.ControlFlow.Agrees != AgreementUnknown {
		e.Looked("warps", r.Stats.WarpsCompared)
		e.Looked("events", max(c.ControlFlow.EventsA, c.ControlFlow.EventsB))
	}
	if c.Outputs.By == byDigest || c.Outputs.By == byContents {
		e.Looked("stores", c.Outputs.Stores)
		e.Looked("arrays", c.Outputs.Arrays)
	}
	for _, m := range v.missing {
		if m.Count != nil {
			e.Missed(m.What, *m.Count, m.Why)
		} else {
			e.Lacks(m.What, m.Why)
		}
	}
	switch {
	case v.Status == StatusInconclusive:
		return e.Open(why)
	case !v.Passed:
		return e.Compare(true, why)
	case v.Status == StatusDiverged:
		return e.Check(false, why)
	}
	return e.Compare(false, why)
}

// status is the verdict in one word, before it is asked whether enough was recorded to say it.
func (r *Result) status(v *Judgement) string {
	c := &v.coverage
	way := c.ControlFlow.Agrees == Differs || c.Values.Agrees == Differs || r.outputs.storesAgree() == Differs
	switch {
	case c.Outputs.Agrees == Differs || r.findings.differ():
		return StatusDiverged
	case !way && r.OtherShape != "" && c.Outputs.Agrees != AgreementUnknown:
		return StatusSameResults
	case !way:
		return StatusIdentical
	case len(c.Outputs.Limits) > 0:
	case c.Outputs.Agrees == Agrees || c.Outputs.Agrees == AgreesInNoise && r.outputs.storesAgree() == Agrees:
		return StatusSameResults
	}
	return StatusDiverged
}

// missing is what was not looked at, or says nothing, and could have changed the answer.
func (r *Result) missing(v *Judgement) (list []verdict.Missing) {
	lacks := func(what, why string) { list = append(list, verdict.Missing{What: what, Why: why}) }
	for _, why := range r.Undecided {
		lacks("evidence", why)
	}
	v.coverage.missing(&r.Options, r.recorded.nothing(), r.Options.restsOnOutputs(r.recorded.writes, r.A, r.B), lacks)
	outputs := r.Options.requires(AspectOutputs) && (v.coverage.Outputs.Agrees == Agrees || v.coverage.Outputs.Agrees == AgreesInNoise)
	list = append(list, missingLosses([2]*warptrace.Losses{&r.LossesA, &r.LossesB}, outputs)...)
	list = append(list, r.damage.missing()...)
	if o := r.outputs; o != nil {
		list = append(list, o.missing()...)
		if r.Baseline != nil {
			for _, why := range o.untold() {
				lacks("values that were stored", why)
			}
		}
	}
	return append(list, r.findings.missing()...)
}

// missing is what was not looked at of what the kernel wrote.
func (o *outputs) missing() (list []verdict.Missing) {
	missed := func(what string, count int64, why string) {
		list = append(list, verdict.Missing{What: what, Count: &count, Why: why})
	}
	for i := range o.arrays {
		if p := &o.arrays[i]; p.untested > 0 {
			missed("chunks of "+p.name(), p.untested, "the contents of "+p.name()+" were not recorded, and a tolerance needs them (--outputs)")
		}
	}
	for _, why := range openMemory(o.arrays, o.inNoSum) {
		list = append(list, verdict.Missing{What: "what was written", Why: why})
	}
	if lost := max(o.inNoSum[0], o.inNoSum[1]); lost > 0 && o.sums && !o.withArrays {
		where := "arrays were not compared"
		if o.withAfter {
			where = "may have gone to memory that no argument has"
		}
		missed("stores", int64(min(lost, 1<<62)), fmt.Sprintf("%d stores of A and %d of B are in no sum, and %s", o.inNoSum[0], o.inNoSum[1], where))
	}
	return list
}

// missing says of findings of both sides why nothing passes with them: what a kernel computes that reads out of bounds is
// no measure, and of a finding of one side it is not known whether the other has it.
func (f *findings) missing() (list []verdict.Missing) {
	for _, f := range f.document()[len(f.order):] {
		if f.Both {
			list = append(list, verdict.Missing{What: "defined results", Why: "both runs have findings: " + f.sentence()})
		} else {
			list = append(list, verdict.Missing{What: f.Check + " in the other run", Why: f.sentence() + ", and the other was not checked for it"})
		}
		if len(list) == 4 {
			break
		}
	}
	return list
}

// missing says which parts were not compared at all. nothing: neither recording holds an event; rests: "the same" needs what the kernel wrote.
func (c *Coverage) missing(opt *Options, nothing, rests bool, lacks func(what, why string)) {
	flow := c.ControlFlow.Agrees != AgreementUnknown && c.ControlFlow.EventsA+c.ControlFlow.EventsB > 0
	outputs := c.Outputs.Agrees != AgreementUnknown
	looked := c.Outputs.By == byDigest || c.Outputs.By == byContents
	wrote := looked && c.Outputs.Stores+c.Outputs.Arrays > 0 // and a tolerance lacks contents
	switch {
	case wrote && !outputs:
	case !flow && !outputs && nothing && looked:
		lacks("events and stores", "neither recording holds an event, and the kernel wrote nothing")
	case !flow && !outputs && nothing:
		lacks("events and outputs", "neither recording holds an event, nor what the kernel wrote")
	case !flow && !outputs:
		lacks("events", "what the recordings hold cannot be compared: one holds hashes, or both hold counts only")
	case !outputs && looked && opt.requires(AspectOutputs):
		lacks("stores", "no store and no array of either run was seen: what the kernel computes was not compared (--require control-flow compares its way alone)")
	case !outputs && c.Outputs.By == byNothing && rests:
		lacks("stores", "what the kernel wrote was not recorded on both sides: no store and no array was compared (--require control-flow compares its way alone)")
	case !outputs && !opt.requires(AspectControlFlow) && opt.requires(AspectOutputs):
		lacks("outputs", "what the kernel wrote was not recorded on both sides, or it wrote nothing")
	}
}

// missingLosses are the losses that could have changed the answer: those of a recording without its end, and events where outputs do not
// tell that the results are the same.
func missingLosses(losses [2]*warptrace.Losses, outputs bool) (list []verdict.Missing) {
	for side, l := range losses {
		name := [2]string{"A", "B"}[side]
		switch {
		case l.Truncated:
			list = append(list, verdict.Missing{What: "the end of " + name, Why: name + ": the file has no end"})
		case outputs:
		case l.Dropped > 0:
			list = append(list, verdict.Missing{What: "events of " + name, Why: fmt.Sprintf("%s: %s lost", name, plural(l.Dropped, "event was", "events were"))})
		case l.SampleRate > 1:
			list = append(list, verdict.Missing{What: "events of " + name, Why: fmt.Sprintf("%s: one event in %d was kept", name, l.SampleRate)})
		}
	}
	return list
}

// verdict is the result in one sentence, with what was compared and what limits it.
func (r *Result) verdict(v *Judgement) string {
	limits := limitsOf(&r.LossesA, &r.LossesB, &r.Stats)
	within := ""
	if e := v.coverage.Outputs.LargestError; e != nil && v.coverage.Outputs.Agrees != Differs {
		within = fmt.Sprintf("; largest error within the tolerance: %.3g (relative %.3g), %s[%d]: %s in A, %s in B", e.Absolute, e.Relative, e.Array, e.Element, e.ValueA, e.ValueB)
	}
	if limits != "" {
		limits = " (" + limits + ")"
	}
	compared := within + "; compared: " + v.coverage.Text + limits
	switch v.Status {
	case StatusInconclusive:
		return "cannot tell whether they differ: " + strings.Join(v.why, "; ") + compared
	case StatusSameResults:
		return "same results; " + r.way(v) + compared
	case StatusDiverged:
		return r.diverges(v) + compared
	}
	asFar := ""
	if limits != "" {
		asFar = " as far as recorded"
	}
	switch {
	case v.Total > 0 && v.rows == 0 && r.outputs != nil:
		return "the recordings are the same but for noise: equal runs differ in " + inWords(r.outputs.noisyNames()) + ", too" + compared
	case v.Total > 0:
		return fmt.Sprintf("all %s are noise: equal runs show them too", counted(v.Total, "divergence")) + compared
	case r.Stats.ReorderedRows > 0:
		return "every thread did the same; " + r.Stats.otherOrder() + compared
	case r.Stats.Filtered > 0:
		return fmt.Sprintf("what was looked at is the same%s (%s left out on request)", asFar, counted(r.Stats.Filtered, "divergence")) + compared
	}
	return "the recordings are the same" + asFar + ": " + v.coverage.Text + limits + within
}

// way says where two recordings with the same results part.
func (r *Result) way(v *Judgement) string {
	switch {
	case r.OtherShape != "":
		return "warps do not correspond: " + r.OtherShape
	case v.coverage.ControlFlow.Agrees == Differs && r.First >= 0:
		return "control flow differs " + r.place(&r.Rows[r.First])
	case v.coverage.ControlFlow.Agrees == Differs:
		return "control flow differs"
	case v.coverage.Values.Agrees == Differs && r.First >= 0:
		return "values differ " + r.place(&r.Rows[r.First])
	case v.coverage.Values.Agrees == Differs:
		return "values differ"
	}
	text := "something else was stored on the way"
	if c := r.outputs.firstChange(-1); c != nil {
		text += r.outputs.storedBy(&FirstOutput{Store: c.place(r.Sites)})
	}
	return text
}

// diverges says how two recordings differ.
func (r *Result) diverges(v *Judgement) string {
	var parts []string
	if v.rows > 0 {
		text := fmt.Sprintf("%s of %d diverge", counted(r.Stats.WarpsDiverged, "warp"), r.Stats.WarpsCompared)
		if n := int64(len(r.Clusters)) + r.ClustersOmitted; n > 1 {
			text += fmt.Sprintf(", in %d ways", n)
		} else if r.Stats.WarpsDiverged > 1 {
			text += ", all in the same way"
		}
		if r.First >= 0 {
			text += ", first " + r.place(&r.Rows[r.First])
		}
		parts = append(parts, text)
	}
	if v.coverage.Outputs.Agrees == Differs {
		if text := r.outputs.sentence(); text != "" {
			parts = append(parts, text)
		}
	}
	for _, f := range r.findings.document() {
		if !f.Noise && f.differs {
			parts = append(parts, f.sentence())
			break
		}
	}
	if v.coverage.Outputs.Agrees == Differs && v.coverage.ControlFlow.Agrees == Agrees && v.rows == 0 && v.coverage.ControlFlow.EventsA+v.coverage.ControlFlow.EventsB > 0 {
		parts = append(parts, "control flow does not differ")
	}
	if r.OtherShape != "" {
		parts = append(parts, "warps do not correspond: "+r.OtherShape)
	}
	if v.noise > 0 {
		parts = append(parts, explainedOf(v.noise, v.rows))
	}
	if v.Counted < v.Total-v.noise {
		parts = append(parts, fmt.Sprintf("%d of %s", v.Counted, plural(v.Total, "divergence counts", "divergences count")))
	}
	return strings.Join(parts, "; ")
}

// place says where a row is.
func (r *Result) place(row *Row) string {
	where := "at an unknown site"
	if at := siteOfRow(row); at != None {
		where = "at " + cmp.Or(r.Sites[at].line(), r.Sites[at].Name())
	}
	return fmt.Sprintf("%s, warp %d, event %d", where, row.Warp, row.EventA)
}

// droppedShare is the share of events that found no room: all only where none did.
func droppedShare(l *warptrace.Losses) string {
	percent := 100 * float64(l.Dropped) / float64(l.Dropped+l.Events)
	switch {
	case l.Events == 0:
		return "100 %"
	case percent >= 99:
		return fmt.Sprintf("%.1f %%", min(percent, 99.9))
	}
	return fmt.Sprintf("%.2g %%", percent)
}

// limitsOf says what was not recorded, "" when everything was.
func limitsOf(a, b *warptrace.Losses, stats *Stats) string {
	var parts []string
	add := func(side string, l *warptrace.Losses, fewer int64) {
		if l.Dropped > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s dropped", side, droppedShare(l)))
		}
		if l.SampleRate > 1 {
			parts = append(parts, fmt.Sprintf("%s: one event in %d was kept", side, l.SampleRate))
		}
		if l.Truncated {
			part := side + ": the file has no end"
			if fewer > 0 {
				part += ", " + counted(fewer, "warp") + " fewer"
			}
			parts = append(parts, part)
		}
	}
	add("A", a, stats.WarpsB-stats.WarpsA)
	add("B", b, stats.WarpsA-stats.WarpsB)
	return strings.Join(parts, ", ")
}
