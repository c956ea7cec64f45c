package kernelreport

import (
	"fmt"
	"io"
	"strings"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/junit"
)

// maxCases bounds the cases of one suite; the verdict's case says what is left out.
const maxCases = 2000

// jUnit writes one suite, named after the kernel. Its first case is the verdict, which fails when the comparison did. Behind it
// stands a case for every site that differs; its name is the location, so that the history of a case survives from run to run.
// Noise is skipped. Where the comparison passed all the same, within a threshold say, no case fails.
func jUnit(w io.Writer, doc *diff.Document, _ Options) error {
	suite := junit.Suite{Name: suiteName(doc.A.Kernel), Properties: propertiesOf(doc)}
	suite.Cases = append(suite.Cases, verdictCase(doc))
	suite.Cases = append(suite.Cases, siteCases(doc)...)
	return junit.Write(w, "prlx diff", []junit.Suite{suite})
}

func suiteName(kernel string) string {
	if kernel == "" {
		return "unnamed kernel"
	}
	return clean(kernel, maxName)
}

func propertiesOf(doc *diff.Document) *junit.Properties {
	p := &junit.Properties{}
	add := func(name, value string) {
		if value != "" {
			p.List = append(p.List, junit.Property{Name: name, Value: clean(value, maxText)})
		}
	}
	add("a", doc.A.Path)
	add("b", doc.B.Path)
	add("status", doc.Status)
	add("outcome", string(doc.Conclusion.Outcome))
	add("total_divergences", number(doc.TotalDivergences))
	add("counted_divergences", number(doc.CountedDivergences))
	add("threshold", number(doc.Threshold))
	add("warps_compared", number(doc.WarpsCompared))
	add("warps_diverged", number(doc.WarpsDiverged))
	if doc.Coverage != nil {
		add("coverage", doc.Coverage.Text)
	}
	return p
}

func verdictCase(doc *diff.Document) junit.Case {
	c := junit.Case{Name: "verdict", Class: suiteName(doc.A.Kernel)}
	text := plainVerdict(doc)
	switch {
	case doc.Status == statusInconclusive:
		c.Error = &junit.Failure{Message: clean(doc.Verdict, maxText), Type: statusInconclusive, Text: text}
	case (doc.Status == statusDiverged || doc.Status == statusSameResults) && !doc.Passed:
		c.Failure = &junit.Failure{Message: clean(doc.Verdict, maxText), Type: doc.Status, Text: text}
	default:
		c.SystemOut = &junit.Text{Text: text}
	}
	return c
}

func siteCases(doc *diff.Document) []junit.Case {
	first := map[string]*diff.Cluster{}
	for i := range doc.Clusters {
		f := &doc.Clusters[i].First
		if first[f.SiteID+f.SourceLocation] == nil {
			first[f.SiteID+f.SourceLocation] = &doc.Clusters[i]
		}
	}
	var out []junit.Case
	names := map[string]int{}
	rest := findings(doc)
	for i := range doc.Sites[:min(len(doc.Sites), maxCases)] {
		s := &doc.Sites[i]
		name := clean(siteName(s.SiteID, s.SourceLocation), maxName)
		if p := placeOf(s.SourceLocation); p.known() && p.Function != "" {
			name += " in " + clean(p.Function, maxName)
		}
		if names[name]++; names[name] > 1 {
			name += " #" + figure.Count(names[name])
		}
		var b strings.Builder
		var kindNames []string
		quietest := reordered
		for ; len(rest) > 0 && rest[0].site == s; rest = rest[1:] {
			quietest = min(quietest, rest[0].loudest)
			b.WriteString(rest[0].sentence(doc) + "\n")
			kindNames = append(kindNames, clean(rest[0].kind, 40))
		}
		if cl := first[s.SiteID+s.SourceLocation]; cl != nil {
			b.WriteString("\n" + plainDivergence(&cl.First, doc))
		}
		c := junit.Case{Name: name, Class: suiteName(doc.A.Kernel) + ".sites"}
		text := b.String()
		message := breakdown(s.Breakdown) + " in " + figure.Plural(s.Warps, "warp", "warps")
		switch {
		case quietest.quiet():
			c.Skipped, c.SystemOut = &junit.Skipped{Message: quietest.why()}, &junit.Text{Text: text}
		case doc.Passed:
			c.Skipped, c.SystemOut = &junit.Skipped{Message: "within what is accepted: " + message}, &junit.Text{Text: text}
		default:
			c.Failure = &junit.Failure{Message: message, Type: strings.Join(kindNames, ","), Text: text}
		}
		out = append(out, c)
	}
	return append(out, outputCases(doc, names)...)
}

// outputCases has a case for each array, statement and finding that differs.
func outputCases(doc *diff.Document, names map[string]int) []junit.Case {
	var out []junit.Case
	all := outputFindings(doc)
	for i := range all[:min(len(all), maxCases)] {
		f := &all[i]
		name := clean(f.kind, 40)
		if f.site.SiteID != "" || f.site.SourceLocation != "" {
			name += " at " + clean(siteName(f.site.SiteID, f.site.SourceLocation), maxName)
		}
		if names[name]++; names[name] > 1 {
			name += " #" + figure.Count(names[name])
		}
		c := junit.Case{Name: name, Class: suiteName(doc.A.Kernel) + ".outputs"}
		text := f.sentence(doc)
		switch {
		case f.loudest.quiet():
			c.Skipped, c.SystemOut = &junit.Skipped{Message: f.loudest.why()}, &junit.Text{Text: text + "\n"}
		case doc.Passed:
			c.Skipped, c.SystemOut = &junit.Skipped{Message: "within what is accepted: " + text}, &junit.Text{Text: text + "\n"}
		default:
			c.Failure = &junit.Failure{Message: text, Type: clean(f.kind, 40), Text: text + "\n"}
		}
		out = append(out, c)
	}
	return out
}

// plainVerdict is the whole story in lines of text: verdict, first divergence, explanation, what limits it.
func plainVerdict(doc *diff.Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", clean(doc.Verdict, maxText))
	if text := plainGiven(doc); text != "" {
		b.WriteString("\ngiven differently:\n" + text)
	}
	if doc.First != nil {
		b.WriteString("\n" + plainDivergence(doc.First, doc))
	}
	if text := plainEdited(doc, maxPlainEdits); text != "" {
		b.WriteString("\nedits:\n" + text)
	}
	if text := plainOutputs(doc); text != "" {
		b.WriteString("\noutputs:\n" + text)
	}
	if e := doc.Explanation; e != nil {
		fmt.Fprintf(&b, "\nwhy (%s, %s): %s\n", clean(e.Class, 40), clean(e.Confidence, 40), clean(e.Summary, maxText))
		for i := range e.Chain[:min(len(e.Chain), 50)] {
			l := &e.Chain[i]
			fmt.Fprintf(&b, "  %s: %s\n", clean(l.What, 40), clean(l.Text, maxText))
		}
	}
	if list := limits(doc); len(list) > 0 {
		b.WriteString("\nlimits:\n")
		for _, s := range list {
			b.WriteString("  " + s + "\n")
		}
	}
	if n := len(doc.Sites) - maxCases; n > 0 {
		fmt.Fprintf(&b, "\n%s have no case here.\n", figure.Plural(n, "site", "sites"))
	}
	return b.String()
}

// maxPlainEdits is how many edited lines stand in a report of text.
const maxPlainEdits = 40

// plainDivergence is one divergence in lines of text, with the source line, the lanes and their operands.
func plainDivergence(d *diff.Divergence, doc *diff.Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s\n  %s\n  %s\n", clean(d.Kind, 40), clean(siteName(d.SiteID, d.SourceLocation), maxName), what(d), where(d, doc))
	if inside := insideText(d.Inside); inside != "" {
		fmt.Fprintf(&b, "  %s\n", inside)
	}
	b.WriteString(plainSource(doc, placesOf(d)))
	if len(d.Lanes) > 0 {
		fmt.Fprintf(&b, "  lanes that differ: %s\n", ranges(d.Lanes[:min(len(d.Lanes), maxLanes)]))
	}
	b.WriteString(plainLanes(d))
	return b.String()
}

// plainSource is the line of a place, of either side where they are not the same.
func plainSource(doc *diff.Document, s sited) string {
	var b strings.Builder
	for _, l := range listings(doc, s) {
		for _, row := range l.Rows {
			if !row.Here {
				continue
			}
			if l.Side != "" {
				b.WriteString("  " + l.Side)
			}
			fmt.Fprintf(&b, "  %5d | %s", row.Number, clean(row.Before+row.Mark+row.After, maxName))
			if l.Warning != "" {
				b.WriteString("   (" + l.Warning + ")")
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// plainLanes is the lane table as text: the lanes that differ, and which others there are.
func plainLanes(d *diff.Divergence) string {
	if len(d.LaneValues) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  lane  A: state  %-15s %-15s  B: state  %-15s rhs\n", "lhs", "rhs", "lhs")
	var equal []int
	for i := range d.LaneValues[:min(len(d.LaneValues), maxLanes)] {
		v := &d.LaneValues[i]
		if !v.Differs {
			equal = append(equal, v.Lane)
			continue
		}
		line := fmt.Sprintf("  %4d  %-8s  %-15s %-15s  %-8s  %-15s %s", v.Lane, laneState(v.ActiveA, v.TakenA), clean(v.LhsA, 40), clean(v.RhsA, 40),
			laneState(v.ActiveB, v.TakenB), clean(v.LhsB, 40), clean(v.RhsB, 40))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if len(equal) > 0 {
		fmt.Fprintf(&b, "  lanes that do not differ: %s\n", ranges(equal))
	}
	return b.String()
}

func laneState(active bool, taken *bool) string {
	switch {
	case !active:
		return "idle"
	case taken == nil:
		return "active"
	case *taken:
		return "taken"
	}
	return "not"
}
