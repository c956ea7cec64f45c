package diff

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/edits"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// edited is the clues of two texts of a kernel, and what came of a test.
func edited(a, b string, tested *Tested) *clues {
	text := func(s string) *warptrace.Texts {
		return &warptrace.Texts{Functions: []warptrace.Text{{Function: "k", File: "k.py", FirstLine: 1, Text: s}}}
	}
	r := &Result{TextsA: text(a), TextsB: text(b)}
	r.Changes = edits.Between(r.TextsA, r.TextsB)
	return &clues{r: r, launchClues: launchClues{given: r.Given, changes: r.Changes}, code: codeClues{changes: r.Changes, tested: tested}}
}

const (
	before = "def k(x):\n    a = x + 1\n    b = a * 2\n    store(b)\n"
	tidied = "def k(x):\n    a = 1 + x\n    b = a * 3\n    store(b)\n"
	broken = "def k(x):\n    a = x + 1\n    b = a * 3\n    store(b)\n"
)

func TestOfSeveralChangedStatementsNoneIsSureWithoutATest(t *testing.T) {
	if c := edited(before, broken, nil); c.guessed() || len(c.code.changedStatements()) != 1 {
		t.Errorf("one statement: got %v", c.code.changedStatements())
	}
	if c := edited(before, tidied, nil); !c.guessed() || len(c.code.changedStatements()) != 2 {
		t.Errorf("two statements: got %v", c.code.changedStatements())
	}
	sure := &Tested{Candidates: []TestedChange{{Side: "B", File: "k.py", Line: 3, Repairs: true, Breaks: true}}, Sure: true}
	if edited(before, tidied, sure).guessed() {
		t.Error("a test told them apart")
	}
	sure.Sure = false
	if !edited(before, tidied, sure).guessed() {
		t.Error("a test that several statements passed is no proof")
	}
	sure.Best = -1
	if !edited(before, tidied, sure).guessed() {
		t.Error("a test that no statement passed is no proof")
	}
}

func TestWhatWouldTellStatementsApartIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		tested *Tested
		want   string
	}{
		"nothing was run":  {nil, "record both with --inputs SIZE"},
		"it could not run": {&Tested{Best: -1, WhyNot: "no inputs"}, "no inputs"},
		"none was it":      {&Tested{Best: -1, Runs: 9}, "none of them alone, in 9 runs"},
	} {
		missing := edited(before, tidied, c.tested).code.missingTest()
		if len(missing) != 1 || !strings.Contains(missing[0], c.want) || !strings.Contains(missing[0], "2 changed statements") {
			t.Errorf("%s: got %q", name, missing)
		}
	}
	if got := edited(before, broken, nil).code.missingTest(); got != nil {
		t.Errorf("one statement: got %q", got)
	}
}
