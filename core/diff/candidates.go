package diff

import (
	"fmt"
	"path"
	"slices"

	"github.com/prlx-go/prlx/core/diff/slice"
	"github.com/prlx-go/prlx/core/recording/edits"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Candidate is a changed statement that can be why runs differ.
type Candidate struct {
	SourceLocation string `json:"source_location"` // "file:function:line:column"; column 0: the line
	Side           string `json:"side"`            // "A" | "B": whose line that is
	Text           string `json:"text,omitempty"`
	Tried          bool   `json:"tried"`   // texts with this statement undone, and nothing else, were run on what A was given
	Repairs        bool   `json:"repairs"` // of these one wrote what A writes
	Breaks         bool   `json:"breaks"`  // A with this statement as B has it writes something else
}

// Tested is what came of running texts between those of A and B, in which one changed statement is undone.
type Tested struct {
	Runs       int            `json:"runs"`
	Candidates []TestedChange `json:"candidates"`
	Best       int            `json:"best"`    // among candidates: undone alone it makes B write what A writes; -1 none
	Sure       bool           `json:"sure"`    // no other does, and A with it writes something else
	WhyNot     string         `json:"why_not"` // why nothing could be run
}

// TestedChange is one statement that was undone.
type TestedChange struct {
	Side    string `json:"side"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Text    string `json:"text"`
	Tried   bool   `json:"tried"`
	Repairs bool   `json:"repairs"`
	Breaks  bool   `json:"breaks"`
}

// maxCandidates is how many changed statements a document lists.
const maxCandidates = 40

// best is the statement that a test names, nil none.
func (t *Tested) best() *TestedChange {
	if t == nil || t.Best < 0 || t.Best >= len(t.Candidates) {
		return nil
	}
	return &t.Candidates[t.Best]
}

// side is whose line a tested statement is.
func (t *TestedChange) side() edits.Side {
	if t.Side == sideNames[1] {
		return edits.SideB
	}
	return edits.SideA
}

// testedPlace is the place that a test names, instead of that which the code makes probable.
func (k *codeClues) testedPlace() (p slice.Place, ok bool) {
	best := k.tested.best()
	if best == nil || k.compared == nil {
		return p, false
	}
	side := int(best.side())
	line := slice.Line{File: best.File, Number: uint32(max(best.Line, 0))}
	for _, l := range k.compared.Sides[side].Every() { // as the code spells the file
		if l.Number == line.Number && path.Base(l.File) == path.Base(line.File) {
			line = l
			break
		}
	}
	return slice.Place{Side: side, Line: line, Why: slice.ChangedBegins}, true
}

// changeAt is what is done differently at the place of a test: at its line, and at that which stands for it on the other side.
func (k *codeClues) changeAt(p slice.Place) slice.Change {
	var lines [2][]slice.Line
	lines[p.Side] = []slice.Line{p.Line}
	at := edits.Line{Side: edits.Side(p.Side), File: p.Line.File, Line: int(p.Line.Number)}
	if other, ok := k.changes.Other(at); ok {
		lines[1-p.Side] = []slice.Line{{File: other.File, Number: uint32(other.Line)}}
	}
	return k.compared.At(lines[0], lines[1])
}

// candidates lists every changed statement: those of a test with what came of it, else all that the texts have.
func (k *codeClues) candidates(of [2]*warptrace.Header) []Candidate {
	var out []Candidate
	function := [2]string{of[0].Kernel, of[1].Kernel}
	if t := k.tested; t != nil && len(t.Candidates) > 0 {
		for i := range t.Candidates {
			one := &t.Candidates[i]
			out = append(out, Candidate{
				SourceLocation: fmt.Sprintf("%s:%s:%d:0", one.File, function[one.side()], one.Line), Side: sideNames[one.side()],
				Text: clippedLine(one.Text), Tried: one.Tried, Repairs: one.Repairs, Breaks: one.Breaks,
			})
		}
		return out[:min(len(out), maxCandidates)]
	}
	for _, at := range k.changedStatements() {
		one := Candidate{SourceLocation: fmt.Sprintf("%s:%s:%d:0", at.File, function[at.Side], at.Line), Side: sideNames[at.Side]}
		for _, text := range k.changes.Statement(at) {
			one.Text = clippedLine(text)
			break
		}
		out = append(out, one)
	}
	return out[:min(len(out), maxCandidates)]
}

// changedStatements are the statements of B that are others in A or are not there, and those of A that B lacks; those that only have other
// names for variables are none.
func (k *codeClues) changedStatements() []edits.Line {
	if k.changes == nil {
		return nil
	}
	lines := k.changes.ChangedLines(edits.SideB)
	for _, at := range k.changes.ChangedLines(edits.SideA) {
		if _, stands := k.changes.Other(at); !stands {
			lines = append(lines, at)
		}
	}
	return slices.DeleteFunc(lines, func(at edits.Line) bool { return k.changes.Renamed(at) })
}

// guessed reports whether a cause in the code is one of several that nobody has told apart: several statements were changed, or one was and
// what the launches were given differs, too. Then nothing is sure.
func (c *clues) guessed() bool {
	if t := c.code.tested; t.best() != nil {
		return !t.Sure
	}
	n := len(c.code.changedStatements())
	return n > 1 || n == 1 && c.otherwiseGiven() != ""
}

// ruleTested: texts between those of A and B were run, and one statement makes the difference.
func ruleTested(c *clues) []finding {
	if c.code.tested.best() == nil {
		return nil
	}
	to, ok := c.classOf(c.code.change.Kind)
	if !ok {
		to = formula // it makes the difference, and none of the others fits
	}
	text := fmt.Sprintf("with %s as the other version has it, and nothing else changed, B writes what A writes", c.code.placeOfStatement())
	return []finding{{to, earnedPoints, text}}
}

// missingTest is what would tell changed statements apart.
func (k *codeClues) missingTest() []string {
	t := k.tested
	n := len(k.changedStatements())
	switch {
	case t.best() != nil:
		return nil
	case n < 2 && t != nil && t.WhyNot != "": // it was asked for
		return []string{"a test of changed statements: " + t.WhyNot}
	case n < 2:
		return nil
	case t != nil && t.WhyNot != "":
		return []string{fmt.Sprintf("which of %d changed statements matters: %s", n, t.WhyNot)}
	case t != nil:
		return []string{fmt.Sprintf("which of %d changed statements matters: none of them alone, in %d runs of mixed texts", n, t.Runs)}
	}
	return []string{fmt.Sprintf("which of %d changed statements matters: record both with --inputs SIZE, and compare with --try", n)}
}
