package foreign_test

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/verdict"
)

func TestAVerdictOfADocumentIsFitForPeople(t *testing.T) {
	var e verdict.Evidence
	e.Looked("ranks\x1b[31m", 3)
	for i := range 100 {
		e.Lacks("rank "+strings.Repeat("9", i), "gone\u202e")
	}
	got := foreign.Verdict(e.Check(false, ""))
	if got.Outcome != verdict.Inconclusive || got.Looked[0].What != "ranks\ufffd[31m" || len(got.Missing) != 40 || got.Missing[0].Why != "gone\ufffd" {
		t.Errorf("got %+v", got)
	}
	for _, outcome := range []verdict.Outcome{"", "fine", "<b>passed"} {
		if got := foreign.Verdict(verdict.Verdict{Outcome: outcome}).Outcome; got != verdict.Inconclusive {
			t.Errorf("%q: got %s", outcome, got)
		}
	}
	if got := foreign.Verdict(verdict.Verdict{Outcome: verdict.Passed}).Outcome; got != verdict.Passed {
		t.Errorf("got %s", got)
	}
}
