package stragglerreport

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/timeline/straggler"
)

// The elements of a JUnit report, as far as every reader of it agrees. Times are zero: a test's time is how long it ran, and none of these ran.
type junitSuites struct {
	XMLName  xml.Name   `xml:"testsuites"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Time     string     `xml:"time,attr"`
	Suite    junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	Class     string        `xml:"classname,attr"`
	Time      string        `xml:"time,attr"`
	Error     *junitFailure `xml:"error"`
	Failure   *junitFailure `xml:"failure"`
	SystemOut *junitText    `xml:"system-out"`
}

// junitText is text for people: its lines stay lines in the file.
type junitText struct {
	Text string `xml:",cdata"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",cdata"`
}

const (
	suiteName = "prlx stragglers"
	maxCases  = 4000 // ranks that have a case; the verdict's case says how many have none
)

// JUnit writes one suite: a case for the verdict, which is an error where nothing could be judged; one for the gate, where there is one, which
// fails when it is met; and one for each rank, which fails when it is the rank that met it. Without a gate nothing fails, whoever is blamed.
func JUnit(w io.Writer, d *straggler.Document, opt Options) error {
	suite := junitSuite{Name: suiteName, Time: "0", Properties: propertiesOf(d, opt)}
	suite.Cases = append(suite.Cases, verdictCase(d))
	if opt.MostPercent != nil {
		suite.Cases = append(suite.Cases, gateCase(d, opt))
	}
	suite.Cases = append(suite.Cases, rankCases(d, opt)...)
	suite.Tests = len(suite.Cases)
	for i := range suite.Cases {
		c := &suite.Cases[i]
		c.Time = "0"
		switch {
		case c.Error != nil:
			suite.Errors++
		case c.Failure != nil:
			suite.Failures++
		}
	}
	top := junitSuites{Name: suiteName, Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Time: "0", Suite: suite}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(top); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func propertiesOf(d *straggler.Document, opt Options) []junitProperty {
	var out []junitProperty
	add := func(name, value string) { out = append(out, junitProperty{name, clean(value, maxText)}) }
	add("status", d.Status)
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

func verdictCase(d *straggler.Document) junitCase {
	c := junitCase{Name: "verdict", Class: suiteName}
	text := plainVerdict(d)
	if d.Status == straggler.StatusInconclusive {
		c.Error = &junitFailure{Message: clean(d.Verdict, maxText), Type: d.Status, Text: text}
		return c
	}
	c.SystemOut = &junitText{text}
	return c
}

// gateName is a gate as it is typed.
func gateName(opt Options) string {
	return "rank-loss>" + strconv.FormatFloat(*opt.MostPercent, 'f', -1, 64) + "%"
}

func gateCase(d *straggler.Document, opt Options) junitCase {
	c := junitCase{Name: gateName(opt), Class: suiteName + ".gate"}
	var over []string
	for i := range d.Ranks {
		if r := &d.Ranks[i]; opt.Exceeds(r) {
			over = append(over, clean(r.ID, maxName)+" "+plainRank(r))
		}
	}
	if len(over) > 0 {
		c.Failure = &junitFailure{
			Message: figure.Plural(len(over), "rank", "ranks") + " cost more than " + strconv.FormatFloat(*opt.MostPercent, 'f', -1, 64) + " % of the time",
			Type:    "rank-loss", Text: strings.Join(over, "\n") + "\n",
		}
	}
	return c
}

func rankCases(d *straggler.Document, opt Options) []junitCase {
	var out []junitCase
	names := map[string]int{}
	for i := range d.Ranks[:min(len(d.Ranks), maxCases)] {
		r := &d.Ranks[i]
		c := junitCase{Name: clean(r.ID, maxName), Class: suiteName + ".ranks"}
		if names[c.Name]++; names[c.Name] > 1 {
			c.Name += fmt.Sprintf(" #%d", names[c.Name])
		}
		text := plainRank(r)
		if host := hostOf(r); host != "" {
			text += "; on " + clean(host, maxName)
		}
		if opt.Exceeds(r) {
			c.Failure = &junitFailure{Message: text, Type: "rank-loss", Text: text + "\n"}
		} else {
			c.SystemOut = &junitText{text + "\n"}
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
