package stragglerreport

import (
	"bufio"
	"fmt"
	"io"

	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/straggler"
)

const (
	maxMarkdownRows = 20 // of a table: what a comment or a step summary holds
)

// markdown writes a summary for a comment or a step of a build: the verdict, the time of all operations divided, ranks, links, steps and communicators.
func markdown(w io.Writer, d *straggler.Document, _ Options) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "### Stragglers\n\n%s\n", inline(clean(d.Verdict, maxText)))
	fmt.Fprintf(out, "\n**%s**\n", foreign.Verdict(d.Conclusion).Outcome)
	if d.Operations.Count > 0 {
		markdownTime(out, d)
		markdownRanks(out, d.Ranks)
		markdownLinks(out, d.Links)
		markdownSteps(out, d.Steps)
		markdownGroups(out, d.Groups)
	}
	markdownList(out, "What limits this", d.Warnings)
	markdownList(out, "What was chosen", d.Notes)
	return out.Flush()
}

func markdownTime(out *bufio.Writer, d *straggler.Document) {
	all, whole := parts(d.Time), d.Time.Total()
	out.WriteString("\n| time of all ranks in operations | | share | when |\n|---|---:|---:|---|\n")
	for _, p := range all {
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", p.name, figure.Duration(p.ns), percent(float64(p.ns)/float64(max(whole, 1))), p.meaning)
	}
	fmt.Fprintf(out, "| together | %s | | |\n", figure.Duration(whole))
}

func markdownRanks(out *bufio.Writer, ranks []straggler.RankCost) {
	if len(ranks) == 0 {
		return
	}
	out.WriteString("\n| rank | host | blamed | cost | of the time | gain | last | steps | waited | what took longer |\n|---|---|---|---:|---:|---:|---:|---:|---:|---|\n")
	for i := range ranks[:min(len(ranks), maxMarkdownRows)] {
		r := &ranks[i]
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %d of %d | %d | %s | %s |\n", name(r.ID), name(hostOf(r)), yes(r.Blamed), figure.Duration(r.CostNS), percent(r.Share),
			figure.Duration(r.GainNS), r.Last, r.Operations, r.Steps, figure.Duration(r.Time.WaitingNS), name(causeOf(r)))
	}
	more(out, len(ranks), "rank", "ranks")
}

func markdownLinks(out *bufio.Writer, links []straggler.LinkCost) {
	if len(links) == 0 {
		return
	}
	out.WriteString("\n| slow link | blamed | cost | of the time | operations |\n|---|---|---:|---:|---:|\n")
	for i := range links[:min(len(links), maxMarkdownRows)] {
		l := &links[i]
		fmt.Fprintf(out, "| %s | %s | %s | %s | %d |\n", inline(linkName(l)), yes(l.Blamed), figure.Duration(l.CostNS), percent(l.Share), l.Times)
	}
	more(out, len(links), "link", "links")
}

// markdownSteps lists the steps in which somebody was late, most expensive first.
func markdownSteps(out *bufio.Writer, steps []straggler.StepCost) {
	late := lateSteps(steps)
	if len(late) == 0 {
		return
	}
	out.WriteString("\n| step | took | most expensive rank | cost | what took longer |\n|---|---:|---|---:|---|\n")
	for _, s := range late[:min(len(late), maxMarkdownRows)] {
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", name(s.Name), figure.Duration(s.ToNS-s.FromNS), name(s.Critical), figure.Duration(s.CostNS), name(s.Cause))
	}
	more(out, len(late), "step", "steps")
}

func markdownGroups(out *bufio.Writer, groups []straggler.GroupCost) {
	if len(groups) == 0 {
		return
	}
	out.WriteString("\n| communicator | operations | last rank certain | transfer | waiting | late launch | profiler start | undecided |\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for i := range groups[:min(len(groups), maxMarkdownRows)] {
		g := &groups[i]
		fmt.Fprintf(out, "| %s | %d | %d |", name(g.Group), g.Operations, g.Told)
		for _, p := range parts(g.Time) {
			fmt.Fprintf(out, " %s |", figure.Duration(p.ns))
		}
		out.WriteByte('\n')
	}
	more(out, len(groups), "communicator", "communicators")
}

func markdownList(out *bufio.Writer, title string, list []string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(out, "\n**%s:**\n\n", title)
	for _, s := range list[:min(len(list), maxMarkdownRows)] {
		out.WriteString("- " + inline(figure.Sentence(clean(s, maxText))) + "\n")
	}
	more(out, len(list), "line", "lines")
}

// more says how many rows a table has beyond those that are shown.
func more(out *bufio.Writer, all int, one, many string) {
	if n := all - maxMarkdownRows; n > 0 {
		fmt.Fprintf(out, "\n%s more.\n", figure.Plural(n, one, many))
	}
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// name is foreign text in a cell.
func name(s string) string { return inline(clean(s, maxName)) }

// inline is text within a line of Markdown.
func inline(s string) string { return foreign.Markdown(s) }
