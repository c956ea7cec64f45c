// Package tapereport turns a comparison of two trainings (prlx.steps-diff/1) into a page. A page is a function of the document alone, has no
// script, and asks for nothing. What tapes may contain reaches it escaped and bounded; the same document gives the same bytes.
package tapereport

import (
	"embed"
	"io"

	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/report/formats"
	"github.com/prlx-go/prlx/core/report/webpage"
	"github.com/prlx-go/prlx/core/tape"
	"github.com/prlx-go/prlx/core/tape/comparing"
	"github.com/prlx-go/prlx/core/verdict"
)

//go:embed assets
var assets embed.FS

// What a page holds at most.
const (
	maxRows = 200
	maxText = 800 // characters of a sentence
	maxName = 200
)

var (
	kit          = webpage.NewKit(assets)
	pageTemplate = kit.Template("page.html")
)

var table = formats.Table[func(io.Writer, *comparing.Document) error]{
	{Name: "html", Endings: []string{".html", ".htm"}, Write: func(w io.Writer, d *comparing.Document) error {
		return pageTemplate().Execute(w, newPage(d))
	}},
	{Name: "json", Endings: []string{".json"}, Write: func(w io.Writer, d *comparing.Document) error { return formats.JSON(w, d) }},
}

// Formats lists the names that Write takes.
func Formats() []string { return table.Names() }

// FormatOf tells the format from the ending of a path.
func FormatOf(path string) (name string, ok bool) { return table.Of(path) }

// Write writes the report of a comparison.
func Write(name string, w io.Writer, d *comparing.Document) error {
	write, err := table.Named(name)
	if err != nil {
		return err
	}
	return write(w, d)
}

// page is what the template shows.
type page struct {
	webpage.Head
	Conclusion verdict.Verdict
	Verdict    string
	Tiles      []webpage.Tile
	Facts      []factRow
	NotFinite  []string
	Rows       []row
	More       string
	Ranks      []rankRow
}

type factRow struct{ Name, A, B string }

type row struct{ Kind, Step, Phase, Where, Operator, Text string }

type rankRow struct{ Rank, A, B, Steps, Operators, Differing, First string }

func newPage(d *comparing.Document) *page {
	p := &page{Conclusion: foreign.Verdict(d.Conclusion), Verdict: figure.Sentence(foreign.Clean(d.Verdict, maxText))}
	p.Head = kit.Head("Two trainings: "+foreign.Clean(d.Status, 40), "")
	for _, f := range d.Facts[:min(len(d.Facts), maxRows)] {
		p.Facts = append(p.Facts, factRow{foreign.Clean(f.Name, maxName), foreign.Clean(f.A, maxName), foreign.Clean(f.B, maxName)})
	}
	var operators, steps int64
	for i := range d.Ranks {
		r := &d.Ranks[i]
		operators, steps = operators+r.Operators, steps+r.Steps
		if i < maxRows {
			p.Ranks = append(p.Ranks, rankOf(r))
		}
		for _, m := range []struct {
			side  string
			maker *tape.Maker
		}{{"A", r.NotFiniteA}, {"B", r.NotFiniteB}} {
			if m.maker != nil && len(p.NotFinite) < maxRows {
				p.NotFinite = append(p.NotFinite, m.side+": "+foreign.Clean(m.maker.Text, maxText))
			}
		}
	}
	if len(d.Ranks) < 2 {
		p.Ranks = nil
	}
	for i := range d.Differences[:min(len(d.Differences), maxRows)] {
		p.Rows = append(p.Rows, rowOf(&d.Differences[i]))
	}
	if n := d.Total - int64(len(p.Rows)); n > 0 {
		p.More = figure.Plural(n, "more difference is", "more differences are") + " not listed."
	}
	p.Tiles = []webpage.Tile{
		{Label: "steps", Value: figure.Count(steps), Detail: "that both have"},
		{Label: "operators", Value: figure.Count(operators), Detail: "compared"},
		{Label: "differ", Value: figure.Count(d.Total), Detail: figure.Plural(d.Followers, "of them can follow", "of them can follow") + " from the first", Class: tone(d.Total)},
	}
	return p
}

func tone(n int64) string {
	if n > 0 {
		return "bad"
	}
	return "good"
}

func rowOf(d *comparing.Difference) row {
	r := row{Kind: foreign.Clean(string(d.Kind), 40), Text: foreign.Clean(d.Text, maxText)}
	at := d.A
	if at == nil {
		at = d.B
	}
	if d.Follows {
		r.Kind += ", may follow"
	}
	if at != nil {
		r.Step, r.Phase, r.Where = figure.Count(at.Step), foreign.Clean(at.Phase, 40), foreign.Clean(at.Module, maxName)
		r.Operator = foreign.Clean(at.Operator, maxName)
	}
	return r
}

func rankOf(r *comparing.Rank) rankRow {
	row := rankRow{
		Rank: figure.Count(r.Rank), A: foreign.Clean(r.A, maxName), B: foreign.Clean(r.B, maxName), Steps: figure.Count(r.Steps),
		Operators: figure.Count(r.Operators), Differing: figure.Count(r.Differing),
	}
	if r.First != nil {
		row.First = foreign.Clean(r.First.Text, maxText)
	}
	return row
}
