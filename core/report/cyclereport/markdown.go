package cyclereport

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/lazyregexp"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/verdict"
)

// What a comment or a step summary holds at most.
const (
	maxMarkdownRows = 20
)

// markdown writes a summary for a comment or a step of a build: the verdict, the classes, the most expensive kernels of a step.
func markdown(w io.Writer, d *cycledoc.Document, _ Options) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "### Cycles of %s\n\n%s%s\n", inline(clean(base(d.Input.Path), maxName)), outcome(&d.Conclusion), inline(clean(d.Verdict, maxText)))
	all := classes(d)
	if len(all) > 0 {
		out.WriteString("\n| class | level | count | kernels | wall p50 | p99 | busy | gap | phase | confidence |\n|---|---|---:|---:|---:|---:|---:|---:|---|---:|\n")
		for _, c := range all[:min(len(all), maxMarkdownRows)] {
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", inline(clean(c.Name, maxName)), inline(clean(levelName(d, c), maxName)), figure.Count(c.Count), figure.Count(c.Period),
				figure.Duration(c.WallNS.P50), figure.Duration(c.WallNS.P99), figure.Duration(c.BusyNS.Mean), figure.Duration(c.GapNS.Mean), inline(phaseWord(c)), percent(c.Confidence))
		}
		if n := len(all) - maxMarkdownRows; n > 0 {
			fmt.Fprintf(out, "\n%s more.\n", figure.Plural(n, "class", "classes"))
		}
		markdownKernels(out, all[0])
		markdownModules(out, all[0])
	}
	if len(d.RankTotals) > 0 {
		out.WriteString("\n| rank | steps | slowest in | beyond the median there |\n|---|---:|---:|---:|\n")
		for i := range d.RankTotals[:min(len(d.RankTotals), maxMarkdownRows)] {
			r := &d.RankTotals[i]
			fmt.Fprintf(out, "| %s | %s | %s | %s |\n", inline(where(d, r.Rank, r.Device)), figure.Count(r.Steps), figure.Count(r.Slowest), figure.Duration(r.ExcessNS))
		}
	}
	markdownMissing(out, &d.Conclusion)
	markdownLimits(out, limits(d))
	return out.Flush()
}

func markdownKernels(out *bufio.Writer, c *cycledoc.Class) {
	fmt.Fprintf(out, "\n**What %s costs:**\n\n| kernel | times | mean | share |\n|---|---:|---:|---:|\n", inline(clean(c.Name, maxName)))
	sums := bySignature(c)
	for _, s := range sums[:min(len(sums), maxMarkdownRows)] {
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", inline(clean(s.name, maxName)), figure.Count(s.slots), figure.Duration(s.meanNS/float64(max(1, s.slots))), percent(s.share))
	}
	if n := len(sums) - maxMarkdownRows; n > 0 {
		fmt.Fprintf(out, "\n%s more.\n", figure.Plural(n, "kernel", "kernels"))
	}
}

// layerNumber is the number of a module that others stand in.
var layerNumber = lazyregexp.New(`\[\d+\] / `)

// markdownModules writes what modules cost, those of all layers together; nothing where the document does not say what kernels belong to.
func markdownModules(out *bufio.Writer, c *cycledoc.Class) {
	at := map[string]int{}
	var sums []signatureSum
	known := false
	for i := range c.Kernels {
		s := &c.Kernels[i]
		name := layerNumber.ReplaceAllString(s.Module, " / ")
		known = known || name != ""
		k, ok := at[name]
		if !ok {
			k = len(sums)
			at[name] = k
			sums = append(sums, signatureSum{name: cmp.Or(name, "not known")})
		}
		sums[k].slots++
		sums[k].meanNS += s.MeanNS
		sums[k].share += s.Share
	}
	if !known {
		return
	}
	slices.SortStableFunc(sums, func(a, b signatureSum) int { return cmp.Compare(b.meanNS, a.meanNS) })
	fmt.Fprintf(out, "\n**What its modules cost:**\n\n| module | kernels | together | share |\n|---|---:|---:|---:|\n")
	for _, s := range sums[:min(len(sums), maxMarkdownRows)] {
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", inline(clean(s.name, maxName)), figure.Count(s.slots), figure.Duration(s.meanNS), percent(s.share))
	}
	if n := len(sums) - maxMarkdownRows; n > 0 {
		fmt.Fprintf(out, "\n%s more.\n", figure.Plural(n, "module", "modules"))
	}
}

// signatureSum is all slots of one signature.
type signatureSum struct {
	name   string
	slots  int
	meanNS float64 // sum of the means
	share  float64
}

// bySignature adds up the slots of a class by signature, most expensive first.
func bySignature(c *cycledoc.Class) []signatureSum {
	at := map[string]int{}
	var out []signatureSum
	for i := range c.Kernels {
		s := &c.Kernels[i]
		k, ok := at[s.Signature]
		if !ok {
			k = len(out)
			at[s.Signature] = k
			out = append(out, signatureSum{name: s.Signature})
		}
		out[k].slots++
		out[k].meanNS += s.MeanNS
		out[k].share += s.Share
	}
	slices.SortStableFunc(out, func(a, b signatureSum) int {
		switch {
		case a.meanNS > b.meanNS:
			return -1
		case a.meanNS < b.meanNS:
			return 1
		}
		return 0
	})
	return out
}

// phaseWord is the phase of a class with its score; where several readings are close, all of them.
func phaseWord(c *cycledoc.Class) string {
	var words []string
	for _, r := range c.PhaseReadings {
		words = append(words, fmt.Sprintf("%s (%.2f)", clean(r.Phase, 40), r.Score))
	}
	text := strings.Join(words, " or ")
	switch {
	case c.Phase == cycledoc.PhaseUnknown || c.Phase == "":
		if len(words) < 2 {
			return "unknown"
		}
		return "unknown: " + text
	case text == "":
		text = fmt.Sprintf("%s (%.2f)", clean(c.Phase, 40), c.PhaseScore)
	}
	if c.PhaseByPosition {
		text += ", by position alone"
	}
	return text
}

// outcome is the verdict in one word, in front of its sentence; nothing where a document of an earlier version has none.
func outcome(v *verdict.Verdict) string {
	if v.Outcome == "" {
		return ""
	}
	return "**" + string(foreign.Verdict(*v).Outcome) + "**: "
}

// markdownMissing lists what could have changed the verdict.
func markdownMissing(out *bufio.Writer, v *verdict.Verdict) {
	if len(v.Missing) == 0 {
		return
	}
	out.WriteString("\n**What is missing for the verdict:**\n\n")
	for _, m := range v.Missing[:min(len(v.Missing), maxMarkdownRows)] {
		out.WriteString("- " + inline(clean(m.String(), maxText)) + "\n")
	}
}

func markdownLimits(out *bufio.Writer, list []string) {
	if len(list) == 0 {
		return
	}
	out.WriteString("\n**What limits this:**\n\n")
	for _, s := range list {
		out.WriteString("- " + inline(s) + "\n")
	}
}

// compareMarkdown writes a summary of a comparison: the verdict, the pairs, what costs and what saves most.
func compareMarkdown(w io.Writer, d *cycledoc.CompareDocument, _ Options) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "### Cycles of %s beside %s\n\n%s%s\n", inline(clean(base(d.A.Input.Path), maxName)), inline(clean(base(d.B.Input.Path), maxName)), outcome(&d.Conclusion), inline(clean(d.Verdict, maxText)))
	markdownGates(out, d)
	if len(d.Pairs) > 0 {
		out.WriteString("\n| class | level | A | B | wall | gap A | gap B | verdict | kernels |\n|---|---|---:|---:|---:|---:|---:|---|---|\n")
		for i := range d.Pairs[:min(len(d.Pairs), maxMarkdownRows)] {
			p := &d.Pairs[i]
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", inline(clean(pairName(p), maxName)), inline(clean(p.Level, maxName)), figure.Duration(p.Wall.ANS), figure.Duration(p.Wall.BNS),
				inline(change(p.Wall.Relative)), figure.Duration(p.Gap.ANS), figure.Duration(p.Gap.BNS), inline(clean(p.Wall.Verdict, 60)), inline(kindsText(&p.Kinds)))
		}
	}
	if rows := accountRows(&d.Account); len(rows) > 0 {
		out.WriteString("\n**Where the time went:**\n\n| what | time | kernels |\n|---|---:|---:|\n")
		for _, row := range rows {
			fmt.Fprintf(out, "| %s | %s | %s |\n", inline(clean(row.What, maxName)), inline(row.Time), row.Rows)
		}
	}
	table := func(title string, costs []cycledoc.Cost) {
		if len(costs) == 0 {
			return
		}
		fmt.Fprintf(out, "\n**%s:**\n\n| what | class | a step | change | p |\n|---|---|---:|---:|---:|\n", title)
		for i := range costs[:min(len(costs), maxMarkdownRows)] {
			c := &costs[i]
			what := clean(costText(c), 2*maxName)
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", inline(what), inline(clean(c.Class, maxName)), inline(signed(c.StepNS)), inline(relativeOf(c)), inline(chance(c.P)))
		}
		if n := len(costs) - maxMarkdownRows; n > 0 {
			fmt.Fprintf(out, "| %s more | | %s | | |\n", figure.Plural(n, "row", "rows"), inline(signed(sumOf(costs[maxMarkdownRows:]))))
		}
	}
	table("Costs time", d.Regressions)
	table("Saves time", d.Improvements)
	markdownMissing(out, &d.Conclusion)
	markdownLimits(out, compareLimits(d))
	return out.Flush()
}

func pairName(p *cycledoc.ClassPair) string {
	if p.A.Name == p.B.Name {
		return p.A.Name
	}
	return p.A.Name + " → " + p.B.Name
}

func kindsText(k *cycledoc.RowKinds) string {
	var parts []string
	for _, x := range []struct {
		n    int
		word string
	}{{k.Exact, "exact"}, {k.Similar, "similar"}, {k.Fused, "fused"}, {k.Split, "split"}, {k.Replaced, "replaced"}, {k.Removed, "removed"}, {k.Added, "added"}} {
		if x.n > 0 {
			parts = append(parts, figure.Count(x.n)+" "+x.word)
		}
	}
	return strings.Join(parts, ", ")
}

// relativeOf is empty where a side has no time to compare with.
func relativeOf(c *cycledoc.Cost) string {
	if c.Relative == 0 || math.Abs(c.Relative) == 1 {
		return ""
	}
	return change(c.Relative)
}

// chance writes a p-value; 1 means that nothing was tested.
func chance(p float64) string {
	switch {
	case p >= 1:
		return ""
	case p < 1e-4:
		return "< 0.0001"
	}
	return fmt.Sprintf("%.4f", p)
}

func compareLimits(d *cycledoc.CompareDocument) []string {
	var out []string
	for _, w := range d.Warnings {
		out = append(out, clean(figure.Sentence(w), maxText))
	}
	for _, s := range []struct {
		name string
		list []cycledoc.ClassBrief
	}{{"A", d.OnlyA}, {"B", d.OnlyB}} {
		for i := range s.list[:min(len(s.list), maxMarkdownRows)] {
			c := &s.list[i]
			noun := "kernels"
			if c.Period == 1 {
				noun = "kernel"
			}
			out = append(out, clean(fmt.Sprintf("Only %s has %s: %d × %d %s, %s each.", s.name, c.Name, c.Count, c.Period, noun, figure.Duration(c.WallNS)), maxText))
		}
	}
	return out
}

// base is the last part of a path.
func base(path string) string {
	if i := strings.LastIndexAny(path, `/\`); i >= 0 && i+1 < len(path) {
		return path[i+1:]
	}
	return path
}

// inline is text within a line of Markdown.
func inline(s string) string { return foreign.Markdown(s) }
