package verdict

import (
	"encoding/json"
	"testing"
)

func TestNothingLookedAtIsNeverPleasant(t *testing.T) {
	for _, e := range []Evidence{{}, func() (e Evidence) { e.Looked("warps", 0); return }()} {
		if got := e.Compare(false, "the same").Outcome; got != Inconclusive {
			t.Errorf("compare of nothing: got %s", got)
		}
		if got := e.Check(false, "fine").Outcome; got != Inconclusive {
			t.Errorf("check of nothing: got %s", got)
		}
	}
}

func TestWhatIsMissingIsNamedAndKeepsTheAnswerOpen(t *testing.T) {
	var e Evidence
	e.LookedOf("ranks", 3, 4)
	v := e.Check(false, "no rank was late")
	if v.Outcome != Inconclusive || v.Why != "no rank was late; but ranks: not in the inputs" {
		t.Errorf("got %s: %s", v.Outcome, v.Why)
	}
	e.Missed("records", 12, "the segment is cut at byte 28000")
	if got, want := e.Check(false, "").Why, "ranks: not in the inputs; 12 records: the segment is cut at byte 28000"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWhatWasFoundStaysFoundWhateverIsMissing(t *testing.T) {
	var e Evidence
	e.Looked("warps", 1)
	e.Lacks("contents of arrays", "only digests were recorded")
	if got := e.Compare(true, "warp 0 differs").Outcome; got != Differs {
		t.Errorf("got %s", got)
	}
	if got := e.Open("digests differ").Outcome; got != Inconclusive {
		t.Errorf("got %s", got)
	}
}

func TestEvidenceThatIsWholeIsPleasant(t *testing.T) {
	var e Evidence
	e.LookedOf("warps", 4, 4)
	if v := e.Compare(false, "4 warps"); v.Outcome != Same || !v.Good() || v.Bad() || v.Tone() != "good" {
		t.Errorf("got %+v", v)
	}
	if v := e.Check(false, "4 warps"); v.Outcome != Passed || !v.Good() {
		t.Errorf("got %+v", v)
	}
	if v := e.Check(true, ""); v.Outcome != Failed || !v.Bad() || v.Tone() != "bad" {
		t.Errorf("got %+v", v)
	}
}

func TestAGateOfAnOpenVerdictIsOpenUnlessCrossed(t *testing.T) {
	var e Evidence
	open := e.Compare(false, "")
	if got := open.Gate(false, "below 5 %").Outcome; got != Inconclusive {
		t.Errorf("got %s", got)
	}
	if got := open.Gate(true, "7 % slower").Outcome; got != Failed {
		t.Errorf("got %s", got)
	}
	if got := (Verdict{}).Gate(false, "").Outcome; got != Inconclusive {
		t.Errorf("a document without a verdict: got %s", got)
	}
	e.Looked("steps", 40)
	if got := e.Compare(true, "").Gate(false, "3 % of 5 allowed").Outcome; got != Passed {
		t.Errorf("a difference below the gate: got %s", got)
	}
}

func TestAVerdictTravelsAsJSON(t *testing.T) {
	var e Evidence
	e.Looked("warps", 2)
	text, err := json.Marshal(e.Compare(false, "2 warps"))
	if want := `{"outcome":"same","why":"2 warps","looked":[{"what":"warps","count":2,"of":null}],"missing":[]}`; err != nil || string(text) != want {
		t.Errorf("got  %s, %v\nwant %s", text, err, want)
	}
}
