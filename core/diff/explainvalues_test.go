package diff

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/diff/slice"
	"github.com/prlx-go/prlx/core/recording/edits"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// What an explanation is made of, each value written down by hand.

func TestWhatWasGivenIsACauseOnlyWhereNothingElseDiffers(t *testing.T) {
	n := Given{Name: "n", What: givenValue, A: "1", B: "2", at: [2]int{-1, -1}}
	data := Given{Name: "x", What: givenContents, at: [2]int{0, 0}}
	edited := &edits.Changes{Functions: []edits.Function{{}}}
	build := func(hash string) *warptrace.Header { return &warptrace.Header{ModuleHash: hash} }
	for name, c := range map[string]struct {
		launch launchClues
		want   string
	}{
		"the same text":           {launchClues{given: []Given{n}, changes: &edits.Changes{}, headers: [2]*warptrace.Header{build("a"), build("b")}}, "n"},
		"the same build":          {launchClues{given: []Given{n}, headers: [2]*warptrace.Header{build("a"), build("a")}}, "n"},
		"two builds":              {launchClues{given: []Given{n}, headers: [2]*warptrace.Header{build("a"), build("b")}}, ""},
		"an edited text":          {launchClues{given: []Given{n}, changes: edited, headers: [2]*warptrace.Header{build("a"), build("a")}}, ""},
		"an array that it reads":  {launchClues{given: []Given{data}, changes: &edits.Changes{}, headers: [2]*warptrace.Header{build(""), build("")}}, "x"},
		"an array that it writes": {launchClues{given: []Given{data}, changes: &edits.Changes{}, headers: [2]*warptrace.Header{build(""), build("")}, written: [2]*warptrace.Outputs{{Arrays: []warptrace.Array{{Name: "x"}}}}}, ""},
	} {
		got := ""
		if g := c.launch.causeBy(nil); g != nil {
			got = g.Name
		}
		if got != c.want {
			t.Errorf("%s: the cause is %q, want %q", name, got, c.want)
		}
	}
}

func TestALoopIsTestedByWhatItCarries(t *testing.T) {
	compare := func(bound site.Origin) *warpClues {
		s := &site.Site{Operands: []site.Operand{{Role: "lhs", Origin: site.FromCarried}, {Role: "rhs", Origin: bound}}}
		return &warpClues{at: spot{kind: site.Branch, siteA: s}}
	}
	for bound, want := range map[site.Origin]bool{site.FromArgument: true, site.FromConstant: true, site.FromLoad: false, site.FromAtomic: false} {
		if got := compare(bound).loopTest(); got != want {
			t.Errorf("a bound that comes from %v: %v", bound, got)
		}
	}
	w := compare(site.FromArgument)
	if w.at.kind = site.Load; w.loopTest() {
		t.Error("a load tests no loop")
	}
	if w.from = (spot{ok: true, ia: 3}); w.isRoot() {
		t.Error("data differs at event 3, and the divergence is at event 0")
	}
	if w.from = (spot{}); !w.isRoot() {
		t.Error("no data differs before the divergence")
	}
}

func TestAStatementSaysWhyItIsOne(t *testing.T) {
	of := [2]*warptrace.Header{{Kernel: "k"}, {Kernel: "k"}}
	const ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n"
	code, err := slice.Read(t.Context(), "code", []byte(ptx), "k")
	if err != nil {
		t.Fatal(err)
	}
	k := codeClues{compared: slice.Compare(code, code, nil, nil), ok: true, place: slice.Place{Side: 1, Line: slice.Line{File: "d/k.py", Number: 9}, Why: slice.CodeDiffers}}
	s := k.statement(of, nil)
	if s == nil || s.Side != "B" || s.SourceLocation != "d/k.py:k:9:0" || s.Why != "its code differs" || k.placeOfStatement() != "k.py:9 in B" {
		t.Errorf("%+v", s)
	}
	k.tested = &Tested{Runs: 4, Candidates: []TestedChange{{Side: "B", Breaks: true}}}
	if s = k.statement(of, nil); !strings.Contains(s.Why, "tried in 4 runs") || !strings.Contains(s.Why, "A with it") {
		t.Errorf("after a test: %s", s.Why)
	}
	if s = (&codeClues{}).statement(of, nil); s != nil {
		t.Errorf("without code: %+v", s)
	}
}
