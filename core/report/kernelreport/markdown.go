package kernelreport

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
)

// What a comment or a step summary holds at most.
const (
	maxMarkdownSites = 20
)

// markdown writes a summary for a step of a build or a comment: the verdict, the first divergence, the sites that differ.
func markdown(w io.Writer, doc *diff.Document, _ Options) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "### %s: %s\n\n%s\n", inline(suiteName(site.Readable(doc.A.Kernel))), inline(verdictWord(doc)), inline(clean(doc.Verdict, maxText)))
	if text := cmp.Or(computes(&doc.A), computes(&doc.B)); text != "" {
		fmt.Fprintf(out, "\n**Computes:** %s\n", inline(clean(text, maxText)))
	}
	if text := plainGiven(doc); text != "" {
		fmt.Fprintf(out, "\n**Given differently:**\n\n```text\n%s```\n", fenced(text))
	}
	if doc.First != nil {
		fmt.Fprintf(out, "\n**First:** %s at %s; %s; %s.\n\n```text\n%s```\n", inline(clean(doc.First.Kind, 40)),
			inline(clean(siteName(doc.First.SiteID, doc.First.SourceLocation), maxName)), inline(what(doc.First)), inline(where(doc.First, doc)), fenced(plainDivergence(doc.First, doc)))
	}
	if text := plainEdited(doc, maxPlainEdits); text != "" {
		fmt.Fprintf(out, "\n**Edits:**\n\n```text\n%s```\n", fenced(text))
	}
	if rows, note := outputRows(doc); len(rows) > 0 {
		out.WriteString("\n| what was written | at |\n|---|---|\n")
		for _, row := range rows[:min(len(rows), maxMarkdownSites)] {
			fmt.Fprintf(out, "| %s | %s |\n", inline(row.What), inline(row.Place))
		}
		if note != "" {
			fmt.Fprintf(out, "\n%s\n", inline(note))
		}
	}
	if e := doc.Explanation; e != nil {
		fmt.Fprintf(out, "\n**Why** (%s, %s): %s\n", inline(clean(e.Class, 40)), inline(clean(e.Confidence, 40)), inline(clean(e.Summary, maxText)))
	}
	if len(doc.Sites) > 0 {
		out.WriteString("\n| site | what | warps | divergences |\n|---|---|---:|---:|\n")
		for i := range doc.Sites[:min(len(doc.Sites), maxMarkdownSites)] {
			s := &doc.Sites[i]
			text := breakdown(s.Breakdown)
			if s.Noise {
				text += " (noise)"
			}
			fmt.Fprintf(out, "| %s | %s | %s | %s |\n", inline(clean(siteName(s.SiteID, s.SourceLocation), maxName)), inline(text), figure.Count(s.Warps), figure.Count(s.Divergences))
		}
		if n := len(doc.Sites) - maxMarkdownSites; n > 0 {
			fmt.Fprintf(out, "\n%s more differ.\n", figure.Plural(n, "site", "sites"))
		}
	}
	if list := limits(doc); len(list) > 0 {
		out.WriteString("\n**What limits this:**\n\n")
		for _, s := range list {
			out.WriteString("- " + inline(s) + "\n")
		}
	}
	return out.Flush()
}

// verdictWord is the verdict in a word or two.
func verdictWord(doc *diff.Document) string {
	switch {
	case doc.Status == statusIdentical:
		return statusIdentical
	case doc.Status == statusSameResults && doc.Passed:
		return "same results, passed"
	case doc.Status == statusSameResults:
		return "same results"
	case doc.Status == statusDiverged && doc.Passed:
		return "diverged, passed"
	case doc.Status == statusDiverged:
		return statusDiverged
	}
	return clean(doc.Status, 40)
}

// inline is text within a line of Markdown.
func inline(s string) string { return foreign.Markdown(s) }

// fenced keeps text from ending the block of code it stands in.
func fenced(s string) string { return strings.ReplaceAll(s, "```", "'''") }
