// Package ncclreport makes a page of what NCCL did in a job (prlx.nccl/1) and of what holds it up (prlx.nccl-diagnose/1), of both or of one: tables.go its
// tables, matrix.go who waited for whom, timeline.go the operations that took longest. A page is a function of the documents alone, and asks for nothing.
//
// What recordings may contain reaches a page escaped and bounded. The same documents give the same bytes.
package ncclreport

import (
	"embed"
	"fmt"
	"io"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/nccl/diagnosing"
	"github.com/prlx-go/prlx/core/nccl/dividing"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/report/formats"
	"github.com/prlx-go/prlx/core/report/sheet"
	"github.com/prlx-go/prlx/core/report/webpage"
	"github.com/prlx-go/prlx/core/verdict"
)

//go:embed assets
var assets embed.FS

// What a page holds at most.
const (
	maxRanks    = 360 // rows of the table of ranks
	maxRows     = 240 // of any other table
	firstRows   = 24  // rows that are shown at first
	maxFindings = 40
	maxLines    = 60 // warnings, notes
	maxText     = 1200
	maxName     = 60
)

// Job is what a page is made of. One of both may be nil.
type Job struct {
	Report    *dividing.Document
	Diagnosis *diagnosing.Document
}

var (
	kit          = sheet.NewKit(assets)
	pageTemplate = kit.Template("page.html")
)

var table = formats.Table[func(io.Writer, Job) error]{
	{Name: "html", Endings: []string{".html", ".htm"}, Write: func(w io.Writer, job Job) error { return pageTemplate().Execute(w, newPage(job)) }},
	{Name: "json", Endings: []string{".json"}, Write: writeJSON},
}

// Formats lists the names that Write takes.
func Formats() []string { return table.Names() }

// FormatOf tells the format from the ending of a path.
func FormatOf(path string) (name string, ok bool) { return table.Of(path) }

// Write writes the page, or the document that is there: the report's, else the diagnosis's.
func Write(name string, w io.Writer, job Job) error {
	if job.Report == nil && job.Diagnosis == nil {
		return fault.New(fault.Internal, "a page of no document")
	}
	write, err := table.Named(name)
	if err != nil {
		return err
	}
	return write(w, job)
}

func writeJSON(w io.Writer, job Job) error {
	if job.Report == nil {
		return formats.JSON(w, job.Diagnosis)
	}
	return formats.JSON(w, job.Report)
}

// page is what the template shows.
type page struct {
	webpage.Head
	Word, Tone, Verdict string
	Conclusion          verdict.Verdict // of the diagnosis; none: the page says where time went
	Looked              []string        // at what
	Tiles               []webpage.Tile
	Findings            []finding
	MoreFindings        string
	First               []sheet.Table // what stands still comes before all else
	Map                 *sheet.Map    // who waited for whom
	Pictures            []picture
	Parts               []part
	Tables              []sheet.Table
	Limits              []string
	Notes               sheet.Sentences
}

// finding is something that is wrong, with what it rests on.
type finding struct {
	Class, Sentence string
	Certain         bool
	Detail          []string
}

func newPage(job Job) *page {
	p := &page{Tone: "amber", Notes: sheet.Sentences{ID: "chosen", Title: "What was chosen"}}
	if d := job.Diagnosis; d != nil {
		p.diagnosis(d)
	}
	if d := job.Report; d != nil {
		p.report(d, job.Diagnosis)
	}
	if d := job.Diagnosis; d != nil {
		p.Tables = append(p.Tables, qualityTable(d), processTable(d))
	}
	p.Head = kit.Head("NCCL: "+p.Word, sheet.Script(kit, p.Map))
	p.First, p.Tables = folded(p.First, firstRows/2), folded(p.Tables, firstRows)
	p.Limits, p.Notes.List = once(p.Limits), once(p.Notes.List)
	return p
}

// folded are the tables that have rows, with as many of these as are shown at first.
func folded(tables []sheet.Table, first int) []sheet.Table {
	tables = slices.DeleteFunc(tables, func(t sheet.Table) bool { return len(t.Rows) == 0 })
	for i := range tables {
		tables[i].Fold(first)
	}
	return tables
}

// diagnosis puts what is wrong at the top.
func (p *page) diagnosis(d *diagnosing.Document) {
	p.Word, p.Verdict = foreign.Clean(d.Status, 40), figure.Sentence(foreign.Clean(d.Verdict, maxText))
	switch d.Status {
	case diagnosing.StatusCulprit:
		p.Tone = "bad"
	case diagnosing.StatusNothing:
		p.Tone, p.Word = "good", "nothing wrong"
	}
	p.Conclusion = foreign.Verdict(d.Conclusion)
	for i := range d.Findings[:min(len(d.Findings), maxFindings)] {
		f := &d.Findings[i]
		one := finding{foreign.Clean(f.Class, maxName), figure.Sentence(foreign.Clean(f.Sentence, maxText)), f.Certain, nil}
		for _, s := range f.Detail[:min(len(f.Detail), maxLines)] {
			one.Detail = append(one.Detail, figure.Sentence(foreign.Clean(s, maxText)))
		}
		p.Findings = append(p.Findings, one)
	}
	p.MoreFindings = moreRows(len(d.Findings), maxFindings)
	p.First = append(p.First, stuckTable(d), chainTable(d))
	p.Looked = append(p.Looked, looked(&d.Looked))
	p.Limits = append(p.Limits, sentences(d.Warnings)...)
	p.Notes.List = append(p.Notes.List, sentences(d.Notes)...)
	p.Notes.List = append(p.Notes.List, sentences(d.Advice)...)
}

// report puts where the time went below.
func (p *page) report(d *dividing.Document, blamed *diagnosing.Document) {
	said := figure.Sentence(foreign.Clean(d.Verdict, maxText))
	if p.Verdict == "" {
		p.Word, p.Verdict = "report", said
	} else {
		p.Looked = append([]string{said}, p.Looked...)
	}
	p.Looked = append(p.Looked, "Stragglers: "+figure.Sentence(foreign.Clean(d.Stragglers, maxText)))
	if whole := d.Time.Total(); whole > 0 {
		for _, part := range partsOf(&d.Time) {
			p.Tiles = append(p.Tiles, webpage.Tile{Label: part.Name, Value: percent(part.NS, whole), Detail: figure.Duration(part.NS) + ": " + part.Meaning})
		}
		p.Parts = partsOf(&d.Time)
	}
	p.Map = matrixOf(d)
	p.Pictures = picturesOf(d)
	p.Tables = append(p.Tables, linkTable(d, blamed), rankTable(d), classTable(d), bandwidthTable(d), proxyTable(d), clockTable(d))
	p.Limits = append(p.Limits, sentences(d.Warnings)...)
	p.Notes.List = append(p.Notes.List, sentences(d.Notes)...)
}

// looked says at what a diagnosis looked.
func looked(l *diagnosing.Looked) string {
	if l.Operations == 0 {
		return "No operation was looked at."
	}
	return fmt.Sprintf("Looked at: %s, of which %s came to an end, %s did not, and of %s it is not recorded; %s of kernels, %s of proxies, %s. Stalls: %s. Mismatches: %s. Stragglers: %s. Slow links: %s.",
		figure.Plural(l.Operations, "operation", "operations"), figure.Count(l.Complete), figure.Count(l.Unfinished), figure.Count(l.Unknown), figure.Plural(l.Kernels, "channel", "channels"),
		figure.Plural(l.Proxies, "operation", "operations"), figure.Plural(l.Steps, "step", "steps"), foreign.Clean(l.Stalls, maxName), foreign.Clean(l.Mismatches, maxName),
		foreign.Clean(l.Stragglers, maxName), foreign.Clean(l.Links, maxName))
}

// sentences makes sentences of foreign text.
func sentences(list []string) []string {
	var out []string
	for _, s := range list[:min(len(list), maxLines)] {
		out = append(out, figure.Sentence(foreign.Clean(s, maxText)))
	}
	return out
}

// once leaves out what both documents say.
func once(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// moreRows says how many rows a table lacks.
func moreRows(all, most int) string {
	if all <= most {
		return ""
	}
	return figure.Plural(all-most, "more is", "more are") + " in the JSON document."
}
