// Package junit writes test reports in JUnit's XML, as far as every reader of it agrees (Jenkins' xunit schema, GitLab, Azure, GitHub
// actions). Times are zero: a verdict has no duration that would be the same on every run.
package junit

import (
	"encoding/xml"
	"io"
)

// Suite is one suite; Write counts its cases.
type Suite struct {
	Name       string      `xml:"name,attr"`
	Tests      int         `xml:"tests,attr"`
	Failures   int         `xml:"failures,attr"`
	Errors     int         `xml:"errors,attr"`
	Skipped    int         `xml:"skipped,attr"`
	Time       string      `xml:"time,attr"`
	Properties *Properties `xml:"properties"`
	Cases      []Case      `xml:"testcase"`
	SystemOut  *Text       `xml:"system-out"`
}

// Properties are facts of a suite; nil where it has none, for readers object to an empty list.
type Properties struct {
	List []Property `xml:"property"`
}

// Property is one fact.
type Property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// Case is one test. It passed where it has neither an error, nor a failure, nor was skipped.
type Case struct {
	Name      string   `xml:"name,attr"`
	Class     string   `xml:"classname,attr"`
	Time      string   `xml:"time,attr"`
	Skipped   *Skipped `xml:"skipped"`
	Error     *Failure `xml:"error"`
	Failure   *Failure `xml:"failure"`
	SystemOut *Text    `xml:"system-out"`
}

// Text is text for people: its lines stay lines in the file.
type Text struct {
	Text string `xml:",cdata"`
}

// Skipped says why a case did not run.
type Skipped struct {
	Message string `xml:"message,attr"`
}

// Failure is a failure or an error: in a word, by type, and at length.
type Failure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",cdata"`
}

type document struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Time     string   `xml:"time,attr"`
	Suites   []Suite  `xml:"testsuite"`
}

// Write fills in the counts of the suites and writes them under one name.
func Write(w io.Writer, name string, suites []Suite) error {
	top := document{Name: name, Time: "0", Suites: suites}
	for i := range suites {
		suites[i].count()
		top.Tests += suites[i].Tests
		top.Failures += suites[i].Failures
		top.Errors += suites[i].Errors
	}
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

// count fills in the counts; a case that has several outcomes counts as the worst.
func (s *Suite) count() {
	s.Time, s.Tests, s.Errors, s.Failures, s.Skipped = "0", len(s.Cases), 0, 0, 0
	for k := range s.Cases {
		c := &s.Cases[k]
		c.Time = "0"
		switch {
		case c.Error != nil:
			s.Errors++
		case c.Failure != nil:
			s.Failures++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
}
