package cyclereport

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/report/annotation"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/report/junit"
	"github.com/prlx-go/prlx/core/verdict"
)

const suiteName = "prlx cycles compare"

// compareJUnit writes one suite: a case for the verdict, which decides where there are no gates; one for each gate; one for each pair of classes,
// which fails where it became slower and there are no gates. What is open is an error: no case passes without evidence.
func compareJUnit(w io.Writer, d *cycledoc.CompareDocument, _ Options) error {
	suite := junit.Suite{Name: suiteName, Properties: suiteProperties(d)}
	suite.Cases = append(suite.Cases, verdictCase(d))
	if d.Gate != nil {
		for i := range d.Gate.Gates {
			suite.Cases = append(suite.Cases, gateCase(&d.Gate.Gates[i]))
		}
	}
	names := map[string]int{}
	for i := range d.Pairs[:min(len(d.Pairs), maxPageClasses)] {
		c := pairCase(d, &d.Pairs[i])
		if names[c.Name]++; names[c.Name] > 1 {
			c.Name += fmt.Sprintf(" #%d", names[c.Name])
		}
		suite.Cases = append(suite.Cases, c)
	}
	return junit.Write(w, suiteName, []junit.Suite{suite})
}

func suiteProperties(d *cycledoc.CompareDocument) *junit.Properties {
	out := &junit.Properties{}
	add := func(name, value string) {
		out.List = append(out.List, junit.Property{Name: name, Value: clean(value, maxText)})
	}
	add("status", d.Status)
	add("outcome", string(foreign.Verdict(d.Conclusion).Outcome))
	if d.Gate != nil {
		add("gate", string(foreign.Verdict(d.Gate.Verdict).Outcome))
	}
	add("a", d.A.Input.Path)
	add("b", d.B.Input.Path)
	add("baselines", strconv.Itoa(d.Options.Baselines))
	return out
}

func verdictCase(d *cycledoc.CompareDocument) junit.Case {
	c := junit.Case{Name: "verdict", Class: suiteName}
	message := clean(d.Verdict, maxText)
	text := message + "\n" + strings.Join(missingLines(&d.Conclusion), "")
	switch {
	case d.Gate != nil: // the gates decide
		c.SystemOut = &junit.Text{Text: text}
	case d.Conclusion.Bad():
		c.Failure = &junit.Failure{Message: message, Type: "differs", Text: text}
	case !d.Conclusion.Good():
		c.Error = &junit.Failure{Message: message, Type: "inconclusive", Text: text}
	default:
		c.SystemOut = &junit.Text{Text: text}
	}
	return c
}

func missingLines(v *verdict.Verdict) []string {
	var out []string
	for _, m := range v.Missing {
		out = append(out, "missing: "+clean(m.String(), maxText)+"\n")
	}
	return out
}

func gateCase(g *cycledoc.GateResult) junit.Case {
	c := junit.Case{Name: clean(g.Gate, maxName), Class: suiteName + ".gates"}
	message := clean(g.Why, maxText)
	switch g.Outcome {
	case verdict.Passed:
		c.SystemOut = &junit.Text{Text: message + "\n"}
	case verdict.Failed:
		c.Failure = &junit.Failure{Message: message, Type: "failed", Text: strings.Join(crossingLines(g), "\n") + "\n"}
	default:
		c.Error = &junit.Failure{Message: message, Type: "inconclusive"}
	}
	return c
}

func crossingLines(g *cycledoc.GateResult) []string {
	var out []string
	for i := range g.Crossed[:min(len(g.Crossed), maxMarkdownRows)] {
		out = append(out, crossingText(&g.Crossed[i]))
	}
	if n := len(g.Crossed) - len(out); n > 0 {
		out = append(out, figure.Plural(n, "more", "more"))
	}
	return out
}

func crossingText(x *cycledoc.Crossing) string {
	text := clean(x.What, maxText)
	if x.Class != "" && !strings.Contains(x.What, x.Class) {
		text = clean(x.Class, maxName) + ": " + text
	}
	if x.Relative != 0 {
		text += ", " + change(x.Relative)
	}
	if x.StepNS != 0 {
		text += ", " + signed(x.StepNS) + " a step"
	}
	return text
}

func pairCase(d *cycledoc.CompareDocument, p *cycledoc.ClassPair) junit.Case {
	c := junit.Case{Name: clean(p.Level+": "+pairName(p), maxName), Class: suiteName + ".pairs"}
	text := fmt.Sprintf("%s, now %s (%s): %s", figure.Duration(p.Wall.ANS), figure.Duration(p.Wall.BNS), change(p.Wall.Relative), clean(p.Wall.Verdict, maxName))
	if p.Limit != nil {
		text += fmt.Sprintf("; a change below %s could not have been seen", percent(*p.Limit))
	}
	switch {
	case d.Gate == nil && p.Wall.Verdict == "slower":
		c.Failure = &junit.Failure{Message: text, Type: "slower"}
	case d.Gate == nil && p.Limit == nil:
		c.Skipped = &junit.Skipped{Message: text}
	default:
		c.SystemOut = &junit.Text{Text: text + "\n"}
	}
	return c
}

// compareGitHub writes workflow commands: one for the verdict, one for each gate, and what costs most as warnings.
func compareGitHub(w io.Writer, d *cycledoc.CompareDocument, _ Options) error {
	out := bufio.NewWriter(w)
	levels := map[verdict.Outcome]string{verdict.Differs: annotation.Error, verdict.Failed: annotation.Error, verdict.Inconclusive: annotation.Warning}
	shown := map[string]int{}
	write := func(level, title, text string) {
		if shown[level]++; shown[level] <= annotation.Most {
			_ = annotation.Write(out, level, "", "prlx cycles: "+title, text) // what went wrong is said by Flush
		}
	}
	level := func(o verdict.Outcome) string {
		if l, ok := levels[o]; ok {
			return l
		}
		return annotation.Notice
	}
	if d.Gate == nil {
		write(level(d.Conclusion.Outcome), string(foreign.Verdict(d.Conclusion).Outcome), clean(d.Verdict, maxText))
	} else {
		write(annotation.Notice, string(foreign.Verdict(d.Conclusion).Outcome), clean(d.Verdict, maxText))
		for _, wanted := range []string{annotation.Error, annotation.Warning, annotation.Notice} {
			for i := range d.Gate.Gates {
				if g := &d.Gate.Gates[i]; level(g.Outcome) == wanted {
					write(wanted, clean(g.Gate, maxName)+" "+clean(string(g.Outcome), maxName), clean(g.Why, maxText))
				}
			}
		}
	}
	for i := range d.Regressions {
		x := &d.Regressions[i]
		text := clean(x.What, maxName) + " costs " + signed(x.StepNS) + " a step"
		if r := relativeOf(x); r != "" {
			text += " (" + r + ")"
		}
		write(annotation.Warning, clean(x.Class, maxName), text)
	}
	return out.Flush()
}

// gateRow is one gate as tables show it.
type gateRow struct{ Gate, Outcome, Tone, Why, Limit string }

func gateRows(d *cycledoc.CompareDocument) []gateRow {
	if d.Gate == nil {
		return nil
	}
	var out []gateRow
	for i := range d.Gate.Gates {
		g := &d.Gate.Gates[i]
		row := gateRow{Gate: clean(g.Gate, maxName), Outcome: string(foreign.Verdict(verdict.Verdict{Outcome: g.Outcome}).Outcome), Why: clean(g.Why, maxText)}
		switch g.Outcome {
		case verdict.Failed:
			row.Tone = "slower"
		case verdict.Passed:
			row.Tone = "faster"
		}
		if g.Limit != nil {
			row.Limit = percent(*g.Limit)
		}
		out = append(out, row)
	}
	return out
}

func markdownGates(out *bufio.Writer, d *cycledoc.CompareDocument) {
	rows := gateRows(d)
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(out, "\n**Gates: %s**\n\n| gate | outcome | why | seen from |\n|---|---|---|---:|\n", string(foreign.Verdict(d.Gate.Verdict).Outcome))
	for _, row := range rows {
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", inline(row.Gate), inline(row.Outcome), inline(row.Why), inline(row.Limit))
	}
}
