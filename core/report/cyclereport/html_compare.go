package cyclereport

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/report/webpage"
	"github.com/prlx-go/prlx/core/verdict"
)

// compareHTML writes a comparison as one page that needs nothing else: no network, no library, no script.
func compareHTML(w io.Writer, d *cycledoc.CompareDocument, _ Options) error {
	return compareTemplate().Execute(w, newComparePage(d))
}

type comparePage struct {
	webpage.Head
	A, B       string
	Conclusion verdict.Verdict
	Verdict    string
	Tiles      []webpage.Tile
	Limits     []string
	Gates      []gateRow
	Account    []accountRow
	Costs      *costTable
	Savings    *costTable
	Pairs      []pairRow
	Details    []pairDetail
	Footer     string
}

type costTable struct {
	Label, Note string
	Rows        []costRow
}

type costRow struct{ What, Class, Step, Tone, Change, P, Color, Bar string }

type pairRow struct {
	Name, Anchor, Level, Count, WallA, WallB, Change, Tone, Verdict, GapA, GapB, Kinds, Alike string
}

type pairDetail struct {
	Anchor, Name, Size, Note, RowsNote string
	Open                               bool
	Account                            []accountRow
	Rows                               []compareRow
}

type compareRow struct {
	Kind, MeanA, MeanB, Change, Tone, Verdict, Step string
	A, B                                            []string
}

func newComparePage(d *cycledoc.CompareDocument) *comparePage {
	p := &comparePage{
		A: clean(base(d.A.Input.Path), maxName), B: clean(base(d.B.Input.Path), maxName), Verdict: clean(d.Verdict, maxText),
		Limits: compareLimits(d), Conclusion: foreign.Verdict(d.Conclusion), Footer: footer(d.Schema),
	}
	p.Head = kit.Head("cycles: "+p.A+" beside "+p.B, "")
	p.Tiles = compareTiles(d)
	p.Gates = gateRows(d)
	p.Account = accountRows(&d.Account)
	p.Costs = newCosts(d.Regressions, "what costs time", "slower")
	p.Savings = newCosts(d.Improvements, "what saves time", "faster")
	for i := range d.Pairs[:min(len(d.Pairs), maxPageClasses)] {
		x := &d.Pairs[i]
		row := pairRow{
			Name: clean(pairName(x), maxName), Level: clean(x.Level, 40), Count: figure.Count(x.A.Count) + " / " + figure.Count(x.B.Count), WallA: figure.Duration(x.Wall.ANS), WallB: figure.Duration(x.Wall.BNS),
			Change: change(x.Wall.Relative), Tone: toneOf(x.Wall.Verdict), Verdict: clean(x.Wall.Verdict, 60), GapA: figure.Duration(x.Gap.ANS), GapB: figure.Duration(x.Gap.BNS),
			Kinds: kindsText(&x.Kinds), Alike: percent(x.Similarity),
		}
		if i < maxPageDetails {
			row.Anchor = pairAnchor(i)
			p.Details = append(p.Details, newPairDetail(i, x))
		}
		p.Pairs = append(p.Pairs, row)
	}
	return p
}

func pairAnchor(i int) string { return "pair-" + strconv.Itoa(i) }

func toneOf(verdict string) string {
	if verdict == "slower" || verdict == "faster" {
		return verdict
	}
	return ""
}

func compareTiles(d *cycledoc.CompareDocument) []webpage.Tile {
	var out []webpage.Tile
	if len(d.Pairs) > 0 {
		x := &d.Pairs[0]
		class := ""
		switch x.Wall.Verdict {
		case "slower":
			class = "hot"
		case "faster":
			class = "cool"
		}
		out = append(out,
			webpage.Tile{Label: clean(x.A.Name, 60), Value: change(x.Wall.Relative), Detail: fmt.Sprintf("%s, was %s", figure.Duration(x.Wall.BNS), figure.Duration(x.Wall.ANS)), Class: class},
			webpage.Tile{Label: "time between kernels", Value: signed(x.Gap.DeltaNS), Detail: fmt.Sprintf("%s, was %s", figure.Duration(x.Gap.BNS), figure.Duration(x.Gap.ANS))},
		)
	}
	if n := len(d.Regressions); n > 0 {
		out = append(out, webpage.Tile{Label: "regressions", Value: figure.Count(n), Detail: signed(sumOf(d.Regressions)) + " a step"})
	}
	if n := len(d.Improvements); n > 0 {
		out = append(out, webpage.Tile{Label: "improvements", Value: figure.Count(n), Detail: signed(sumOf(d.Improvements)) + " a step"})
	}
	return append(out, webpage.Tile{Label: "classes paired", Value: figure.Count(len(d.Pairs)), Detail: fmt.Sprintf("only in A %d, only in B %d", len(d.OnlyA), len(d.OnlyB))})
}

// sumOf is what several rows cost together.
func sumOf(costs []cycledoc.Cost) float64 {
	total := 0.0
	for i := range costs {
		total += costs[i].StepNS
	}
	return total
}

// costWidth is the length of the bar of the most expensive row.
const costWidth = 120

func newCosts(costs []cycledoc.Cost, label, tone string) *costTable {
	if len(costs) == 0 {
		return nil
	}
	most := 0.0
	for i := range costs {
		most = max(most, math.Abs(costs[i].StepNS))
	}
	t := &costTable{Label: label}
	color := "c1"
	if tone == "faster" {
		color = "c2"
	}
	for i := range costs[:min(len(costs), maxPageCosts)] {
		c := &costs[i]
		t.Rows = append(t.Rows, costRow{
			What: clean(costText(c), 2*maxName), Class: clean(c.Class, maxName), Step: signed(c.StepNS), Tone: tone, Change: relativeOf(c), P: chance(c.P), Color: color,
			Bar: strconv.FormatFloat(costWidth*math.Abs(c.StepNS)/max(1, most), 'f', 1, 64),
		})
	}
	if n := len(costs) - maxPageCosts; n > 0 {
		t.Note = fmt.Sprintf("%s more, %s together, are in the JSON document.", figure.Plural(n, "row", "rows"), signed(sumOf(costs[maxPageCosts:])))
	}
	return t
}

// costText is what costs, and what that belongs to where the document says it.
func costText(c *cycledoc.Cost) string {
	if c.Module == "" {
		return c.What
	}
	return c.What + " in " + c.Module
}

func newPairDetail(i int, x *cycledoc.ClassPair) pairDetail {
	out := pairDetail{
		Anchor: pairAnchor(i), Name: clean(pairName(x), maxName), Size: fmt.Sprintf("%s / %s kernels", figure.Count(x.A.Period), figure.Count(x.B.Period)), Note: clean(figure.Sentence(x.Note), maxText), Open: i == 0,
	}
	out.Account = accountRows(&x.Account)
	if x.Rotation > 0 {
		out.Note = joinNotes(out.Note, fmt.Sprintf("B starts at its slot %d where A starts at 0.", x.Rotation))
	}
	rows := x.Rows
	if len(rows) > maxPageRows { // those that changed first
		var kept, rest []cycledoc.PairRow
		for k := range rows {
			if r := &rows[k]; r.Kind != "exact" || toneOf(r.Change.Verdict) != "" {
				kept = append(kept, *r)
			} else {
				rest = append(rest, *r)
			}
		}
		if room := maxPageRows - len(kept); room > 0 {
			kept = append(kept, rest[:min(len(rest), room)]...)
		}
		rows = kept[:min(len(kept), maxPageRows)]
		out.RowsNote = fmt.Sprintf("%s of %s rows, those that changed first; JSON has all.", figure.Count(len(rows)), figure.Count(len(x.Rows)))
	}
	for k := range rows {
		r := &rows[k]
		row := compareRow{Kind: clean(r.Kind, 40), Verdict: shortVerdict(r.Change.Verdict), Tone: toneOf(r.Change.Verdict), Step: signed(r.StepNS), A: names(r.A), B: names(r.B)}
		if len(r.A) > 0 {
			row.MeanA = figure.Duration(r.Change.ANS)
		}
		if len(r.B) > 0 {
			row.MeanB = figure.Duration(r.Change.BNS)
		}
		if len(r.A) > 0 && len(r.B) > 0 {
			row.Change = change(r.Change.Relative)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// shortVerdict leaves room in a table of hundreds of rows.
func shortVerdict(v string) string {
	switch v {
	case "no significant change":
		return ""
	case "not enough repetitions":
		return "too few"
	}
	return clean(v, 60)
}

func names(slots []cycledoc.RowSlot) []string {
	var out []string
	for i := range slots[:min(len(slots), 8)] {
		out = append(out, clean(slots[i].Name, maxName))
	}
	if n := len(slots) - 8; n > 0 {
		out = append(out, "and "+figure.Count(n)+" more")
	}
	return out
}
