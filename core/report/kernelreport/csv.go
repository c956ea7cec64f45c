package kernelreport

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/report/foreign"
)

// A column of the writeCSV report. Text columns hold what recordings say, numbers what we counted.
type column struct {
	name  string
	value func(*diff.Divergence) string
	text  bool
}

// columns are the described ones first, in the described order, ours behind them.
var columns = []column{
	{"warp_idx", func(d *diff.Divergence) string { return number(d.WarpIdx) }, false},
	{"event_idx", func(d *diff.Divergence) string { return number(d.EventIdx) }, false},
	{"site_id", func(d *diff.Divergence) string { return d.SiteID }, true},
	{"kind", func(d *diff.Divergence) string { return d.Kind }, true},
	{"details", details, true},
	{"source_location", func(d *diff.Divergence) string { return d.SourceLocation }, true},
	{"event_idx_b", func(d *diff.Divergence) string { return number(d.EventIdxB) }, false},
	{"site_kind", func(d *diff.Divergence) string { return d.SiteKind }, true},
	{"site_b", func(d *diff.Divergence) string { return d.SiteB }, true},
	{"source_location_b", func(d *diff.Divergence) string { return d.LocationB }, true},
	{"occurrence", func(d *diff.Divergence) string { return number(d.Occurrence) }, false},
	{"occurrence_b", func(d *diff.Divergence) string { return number(d.OccurrenceB) }, false},
	{"count", func(d *diff.Divergence) string { return number(d.Count) }, false},
	{"count_b", func(d *diff.Divergence) string { return number(d.CountB) }, false},
	{"mask_a", func(d *diff.Divergence) string { return d.MaskA }, true},
	{"mask_b", func(d *diff.Divergence) string { return d.MaskB }, true},
	{"taken_a", func(d *diff.Divergence) string { return d.TakenA }, true},
	{"taken_b", func(d *diff.Divergence) string { return d.TakenB }, true},
	{"value_a", func(d *diff.Divergence) string { return d.ValueA }, true},
	{"value_b", func(d *diff.Divergence) string { return d.ValueB }, true},
	{"bits_a", func(d *diff.Divergence) string { return d.BitsA }, true},
	{"bits_b", func(d *diff.Divergence) string { return d.BitsB }, true},
	{"value_type", func(d *diff.Divergence) string { return d.ValueType }, true},
	{"lanes", func(d *diff.Divergence) string { return ranges(d.Lanes) }, false},
	{"cluster", func(d *diff.Divergence) string { return number(d.Cluster) }, false},
	{"follows", func(d *diff.Divergence) string { return strconv.FormatBool(d.Follows) }, false},
	{"noise", func(d *diff.Divergence) string { return strconv.FormatBool(d.Noise) }, false},
	{"accepted", func(d *diff.Divergence) string { return strconv.FormatBool(d.Accepted) }, false},
	{"reordered", func(d *diff.Divergence) string { return strconv.FormatBool(d.Reordered) }, false},
}

// writeCSV writes one row per divergence that the document lists, with a header. Quoting follows RFC 4180; lines end with a line feed.
// Text that a spreadsheet would take for a formula gets an apostrophe in front.
func writeCSV(w io.Writer, doc *diff.Document, _ Options) error {
	out := csv.NewWriter(w)
	row := make([]string, len(columns))
	for i := range columns {
		row[i] = columns[i].name
	}
	if err := out.Write(row); err != nil {
		return err
	}
	for i := range doc.Divergences {
		for k := range columns {
			row[k] = columns[k].value(&doc.Divergences[i])
			if columns[k].text {
				row[k] = harmless(row[k])
			}
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	for _, extra := range outputRecords(doc) {
		if err := out.Write(extra); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// outputRecords are the rows for what differs among outputs, stores and findings: without a warp and an event, which are -1.
func outputRecords(doc *diff.Document) [][]string {
	var out [][]string
	all := outputFindings(doc)
	for i := range all {
		f := &all[i]
		d := diff.Divergence{
			WarpIdx: -1, EventIdx: -1, EventIdxB: -1, SiteID: f.site.SiteID, Kind: f.kind, SourceLocation: f.site.SourceLocation, SiteKind: f.site.SiteKind,
			Count: f.count, Cluster: -1, Noise: f.site.Noise,
		}
		row := make([]string, len(columns))
		for k := range columns {
			if row[k] = columns[k].value(&d); columns[k].text {
				row[k] = harmless(row[k])
			}
			if columns[k].name == "details" {
				row[k] = harmless(f.sentence(doc))
			}
		}
		out = append(out, row)
	}
	return out
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// harmless keeps a spreadsheet from evaluating a text, and readers of lines from seeing control characters. Numbers are left
// alone, negative ones too.
func harmless(s string) string {
	s = foreign.Fit(s)
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return foreign.Cell(s)
}

// details are original prlx 0.5's: what differs, as "name=value" pairs.
func details(d *diff.Divergence) string {
	switch d.Kind {
	case diff.KindBranch:
		return "dir_a=" + dir(d.DirA) + " dir_b=" + dir(d.DirB)
	case diff.KindActiveMask:
		return fmt.Sprintf("mask_a=%s mask_b=%s", d.MaskA, d.MaskB)
	case diff.KindValue:
		return fmt.Sprintf("val_a=%s val_b=%s", d.ValueA, d.ValueB)
	case diff.KindPath:
		return fmt.Sprintf("site_a=%s site_b=%s", d.SiteID, d.SiteB)
	case diff.KindExtraEvents:
		return fmt.Sprintf("count=%d in_trace=%s", d.Count, d.InTrace)
	}
	return ""
}

func dir(d *uint8) string {
	if d == nil {
		return ""
	}
	return strconv.Itoa(int(*d))
}
