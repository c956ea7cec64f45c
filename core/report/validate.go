package report

import (
	"fmt"
	"html/template"
	"io"
	"strconv"
	"sync"

	"github.com/prlx-go/prlx/core/timeline/combine"
)

var (
	validateTemplate = sync.OnceValue(func() *template.Template { return parsed("validate.html") })
	validatePolicy   = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'" // no script
)

// validatePage is what the template of verdicts shows.
type validatePage struct {
	pageHead
	Lead            string
	Tiles           []tile
	Worst           []worstRow
	WorstLeftOut    string
	Kinds           []kindRow
	Lost            []lostRow
	LostLeftOut     string
	Warnings, Notes []string
}

type worstRow struct{ Key, Kind, Occurrence, Verdict, Gap, Bound, Ended, Began string }

type kindRow struct{ Kind, Groups, Violated, Consistent, Undecidable string }

type lostRow struct{ Key, Count, Reason string }

// Validate writes the verdicts on the collectives of a run as one HTML file.
func Validate(w io.Writer, doc *combine.ValidateDocument) error {
	return validateTemplate().Execute(w, newValidatePage(doc))
}

func newValidatePage(doc *combine.ValidateDocument) *validatePage {
	p := &validatePage{
		pageHead: pageHead{Title: "Order of collectives", Said: clean(doc.Status, 40), Policy: validatePolicy, Style: template.CSS(pageCSS())},
		Lead:     clean(doc.Verdict, 2000), Warnings: bounded(doc.Warnings, "warnings"), Notes: bounded(doc.Notes, "notes"),
	}
	switch doc.Status {
	case combine.StatusPassed:
		p.Status, p.StatusText = combine.StatusAligned, "no collective is impossible, and at least one could be judged"
	case combine.StatusViolated:
		p.Status, p.StatusText = combine.StatusUnaligned, "a collective is impossible on these clocks"
	default:
		p.Status, p.StatusText = combine.StatusDegraded, "no collective could be judged"
	}
	impossible := tile{Label: "impossible", Value: count(doc.Violated), Detail: "of " + plural(doc.Groups, "collective", "collectives"), Class: "good"}
	if doc.Violated > 0 {
		impossible.Class = "bad"
	}
	p.Tiles = []tile{
		impossible,
		{Label: "consistent", Value: count(doc.Consistent), Detail: "possible on these clocks"},
		{Label: "undecidable", Value: count(doc.Undecidable), Detail: "the clocks do not tell"},
		{Label: "unmatched", Value: count(doc.Unmatched), Detail: "executions without partners"},
	}
	for i := range doc.Worst[:min(len(doc.Worst), maxRows)] {
		p.Worst = append(p.Worst, newWorstRow(&doc.Worst[i]))
	}
	p.WorstLeftOut = leftOut(len(doc.Worst))
	for _, k := range doc.ByKind {
		p.Kinds = append(p.Kinds, kindRow{clean(k.Kind, 60), count(k.Groups), count(k.Violated), count(k.Consistent), count(k.Undecidable)})
	}
	for _, u := range doc.Lost[:min(len(doc.Lost), maxRows)] {
		p.Lost = append(p.Lost, lostRow{clean(u.Key, 200), count(u.Count), clean(u.Reason, 300)})
	}
	p.LostLeftOut = leftOut(len(doc.Lost))
	return p
}

func newWorstRow(w *combine.WorstGroup) worstRow {
	verdict := clean(w.Verdict, 40)
	if verdict == "violated" {
		verdict = "impossible"
	}
	r := worstRow{
		Key: clean(w.Key, 200), Kind: clean(w.Kind, 60), Occurrence: strconv.Itoa(w.Occurrence), Verdict: verdict,
		Gap: duration(w.GapNS), Bound: "–", Ended: clean(w.Nodes[0], 60), Began: clean(w.Nodes[1], 60),
	}
	if w.BoundNS > 0 {
		r.Bound = duration(w.BoundNS)
	}
	return r
}

// leftOut says how many rows a table lacks.
func leftOut(rows int) string {
	if rows <= maxRows {
		return ""
	}
	return fmt.Sprintf("%s in the JSON document.", plural(rows-maxRows, "more row is", "more rows are"))
}
