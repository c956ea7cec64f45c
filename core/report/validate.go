package report

import (
	"fmt"
	"io"
	"strconv"

	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/report/webpage"
)

// validatePage is what the template of verdicts shows.
type validatePage struct {
	pageHead
	Lead            string
	Tiles           []webpage.Tile
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
		pageHead: pageHead{What: "Order of collectives", Said: foreign.Clean(doc.Status, 40), Conclusion: foreign.Verdict(doc.Conclusion)},
		Lead:     foreign.Clean(doc.Verdict, 2000), Warnings: bounded(doc.Warnings, "warnings"), Notes: bounded(doc.Notes, "notes"),
	}
	p.Head = kit.Head(p.What+": "+p.Said, "")
	switch doc.Status {
	case combine.StatusPassed:
		p.Status, p.StatusText = combine.StatusAligned, "no collective is impossible, and at least one could be judged"
	case combine.StatusViolated:
		p.Status, p.StatusText = combine.StatusUnaligned, "a collective is impossible on these clocks"
	default:
		p.Status, p.StatusText = combine.StatusDegraded, "no collective could be judged"
	}
	impossible := webpage.Tile{Label: "impossible", Value: figure.Count(doc.Violated), Detail: "of " + figure.Plural(doc.Groups, "collective", "collectives"), Class: "good"}
	if doc.Violated > 0 {
		impossible.Class = "bad"
	}
	p.Tiles = []webpage.Tile{
		impossible,
		{Label: "consistent", Value: figure.Count(doc.Consistent), Detail: "possible on these clocks"},
		{Label: "undecidable", Value: figure.Count(doc.Undecidable), Detail: "the clocks do not tell"},
		{Label: "unmatched", Value: figure.Count(doc.Unmatched), Detail: "executions without partners"},
	}
	for i := range doc.Worst[:min(len(doc.Worst), maxRows)] {
		p.Worst = append(p.Worst, newWorstRow(&doc.Worst[i]))
	}
	p.WorstLeftOut = leftOut(len(doc.Worst))
	for _, k := range doc.ByKind {
		p.Kinds = append(p.Kinds, kindRow{foreign.Clean(k.Kind, 60), figure.Count(k.Groups), figure.Count(k.Violated), figure.Count(k.Consistent), figure.Count(k.Undecidable)})
	}
	for _, u := range doc.Lost[:min(len(doc.Lost), maxRows)] {
		p.Lost = append(p.Lost, lostRow{foreign.Clean(u.Key, 200), figure.Count(u.Count), foreign.Clean(u.Reason, 300)})
	}
	p.LostLeftOut = leftOut(len(doc.Lost))
	return p
}

func newWorstRow(w *combine.WorstGroup) worstRow {
	verdict := foreign.Clean(w.Verdict, 40)
	if verdict == "violated" {
		verdict = "impossible"
	}
	r := worstRow{
		Key: foreign.Clean(w.Key, 200), Kind: foreign.Clean(w.Kind, 60), Occurrence: strconv.Itoa(w.Occurrence), Verdict: verdict,
		Gap: duration(w.GapNS), Bound: "–", Ended: foreign.Clean(w.Nodes[0], 60), Began: foreign.Clean(w.Nodes[1], 60),
	}
	switch {
	case w.BoundNS == nil:
		r.Bound = "unknown"
	case *w.BoundNS > 0:
		r.Bound = duration(*w.BoundNS)
	}
	return r
}

// leftOut says how many rows a table lacks.
func leftOut(rows int) string {
	if rows <= maxRows {
		return ""
	}
	return fmt.Sprintf("%s in the JSON document.", figure.Plural(rows-maxRows, "more row is", "more rows are"))
}
