package stragglerreport

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/report/junit"
	"github.com/prlx-go/prlx/core/straggler"
)

const (
	suiteName = "prlx stragglers"
	maxCases  = 4000 // ranks that have a case; the verdict's case says how many have none
)

// jUnit writes one suite: a case for the verdict, which is an error where the verdict is open, and without a gate fails where somebody is blamed; one for the gate,
// where there is one, which fails when it is met, and is an error where the verdict is open; and one for each rank, which fails when it is the rank that met it.
func jUnit(w io.Writer, d *straggler.Document, opt Options) error {
	suite := junit.Suite{Name: suiteName, Time: "0", Properties: propertiesOf(d, opt)}
	suite.Cases = append(suite.Cases, verdictCase(d, opt))
	if opt.MostPercent != nil {
		suite.Cases = append(suite.Cases, gateCase(d, opt))
	}
	suite.Cases = append(suite.Cases, rankCases(d, opt)...)
	return junit.Write(w, suiteName, []junit.Suite{suite})
}

func propertiesOf(d *straggler.Document, opt Options) *junit.Properties {
	out := &junit.Properties{}
	add := func(name, value string) {
		out.List = append(out.List, junit.Property{Name: name, Value: clean(value, maxText)})
	}
	add("status", d.Status)
	add("outcome", string(foreign.Verdict(d.Conclusion).Outcome))
	add("clocks", d.Clocks)
	add("length_ns", strconv.FormatInt(d.LengthNS, 10))
	add("operations", strconv.Itoa(d.Operations.Count))
	add("told", strconv.Itoa(d.Operations.Told))
	for _, p := range parts(d.Time) {
		add(strings.ReplaceAll(p.name, " ", "_")+"_ns", strconv.FormatInt(p.ns, 10))
	}
	if opt.MostPercent != nil {
		add("gate", gateName(opt))
	}
	return out
}

func verdictCase(d *straggler.Document, opt Options) junit.Case {
	c := junit.Case{Name: "verdict", Class: suiteName}
	text := plainVerdict(d)
	switch {
	case d.Status != straggler.StatusBlamed && !d.Conclusion.Good():
		c.Error = &junit.Failure{Message: clean(d.Verdict, maxText), Type: straggler.StatusInconclusive, Text: text}
	case d.Status == straggler.StatusBlamed && opt.MostPercent == nil:
		c.Failure = &junit.Failure{Message: clean(d.Verdict, maxText), Type: d.Status, Text: text}
	default:
		c.SystemOut = &junit.Text{Text: text}
	}
	return c
}

// gateName is a gate as it is typed.
func gateName(opt Options) string {
	return "rank-loss>" + strconv.FormatFloat(*opt.MostPercent, 'f', -1, 64) + "%"
}

func gateCase(d *straggler.Document, opt Options) junit.Case {
	c := junit.Case{Name: gateName(opt), Class: suiteName + ".gate"}
	var over []string
	for i := range d.Ranks {
		if r := &d.Ranks[i]; opt.Exceeds(r) {
			over = append(over, clean(r.ID, maxName)+" "+plainRank(r))
		}
	}
	if len(over) > 0 {
		c.Failure = &junit.Failure{
			Message: figure.Plural(len(over), "rank", "ranks") + " cost more than " + strconv.FormatFloat(*opt.MostPercent, 'f', -1, 64) + " % of the time",
			Type:    "rank-loss", Text: strings.Join(over, "\n") + "\n",
		}
	} else if d.Status != straggler.StatusBlamed && !d.Conclusion.Good() {
		c.Error = &junit.Failure{Message: clean(d.Conclusion.Why, maxText), Type: straggler.StatusInconclusive}
	}
	return c
}

func rankCases(d *straggler.Document, opt Options) []junit.Case {
	var out []junit.Case
	names := map[string]int{}
	for i := range d.Ranks[:min(len(d.Ranks), maxCases)] {
		r := &d.Ranks[i]
		c := junit.Case{Name: clean(r.ID, maxName), Class: suiteName + ".ranks"}
		if names[c.Name]++; names[c.Name] > 1 {
			c.Name += fmt.Sprintf(" #%d", names[c.Name])
		}
		text := plainRank(r)
		if host := hostOf(r); host != "" {
			text += "; on " + clean(host, maxName)
		}
		if opt.Exceeds(r) {
			c.Failure = &junit.Failure{Message: text, Type: "rank-loss", Text: text + "\n"}
		} else {
			c.SystemOut = &junit.Text{Text: text + "\n"}
		}
		out = append(out, c)
	}
	return out
}

// plainVerdict is the answer and what limits it in lines of text.
func plainVerdict(d *straggler.Document) string {
	var b strings.Builder
	b.WriteString(clean(d.Verdict, maxText) + "\n")
	for i := range d.Links {
		if l := &d.Links[i]; l.Blamed {
			fmt.Fprintf(&b, "slow link: %s cost %s, %s of the time\n", linkName(l), figure.Duration(l.CostNS), percent(l.Share))
		}
	}
	for _, s := range d.Warnings {
		b.WriteString(figure.Sentence(clean(s, maxText)) + "\n")
	}
	if n := len(d.Ranks) - maxCases; n > 0 {
		fmt.Fprintf(&b, "%s no case here.\n", figure.Plural(n, "rank has", "ranks have"))
	}
	return b.String()
}
