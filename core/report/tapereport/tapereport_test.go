package tapereport

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/tape"
	"github.com/prlx-go/prlx/core/tape/comparing"
	"github.com/prlx-go/prlx/core/verdict"
)

// differs is a document with one of everything; name stands wherever a tape has text.
func differs(name string) *comparing.Document {
	var e verdict.Evidence
	e.Looked("operators", 7)
	e.Missed("steps of A", 2, name)
	at := &tape.At{Step: 3, Phase: "backward", Module: name, Class: name, Operator: "aten.mm.default" + name, Rank: 1}
	first := comparing.Difference{Kind: "input", A: at, B: at, Tensor: name, ValueA: name, Text: "got another " + name}
	alone := comparing.Difference{Kind: "inserted", B: at, Follows: true, Text: name}
	return &comparing.Document{
		Schema: comparing.Schema, Status: "diverged", Conclusion: e.Compare(true, first.Text), Verdict: first.Text, Facts: []comparing.FactDiffer{{Name: name, A: "1", B: "2"}},
		First: &first, Total: 9, Followers: 4, Differences: []comparing.Difference{first, alone},
		Ranks: []comparing.Rank{
			{Rank: 0, Steps: 2, Operators: 7, Differing: 9, First: &first, NotFiniteB: &tape.Maker{At: *at, NaN: 3, Text: "made 3 NaN " + name}}, {Rank: 1},
		},
	}
}

func TestPageSaysWhatTheDocumentSays(t *testing.T) {
	var b bytes.Buffer
	if err := Write("html", &b, differs("layers.2")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`data-outcome="differs"`, "Got another layers.2.", "The runs were not set up alike", "made 3 NaN layers.2", "aten.mm.default", "inserted, may follow",
		"7 more differences are not listed.", "By rank", "2 steps of A",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if err := Write("pdf", &b, differs("x")); err == nil {
		t.Error("a format that is not there was written")
	}
}

// FuzzPage makes pages of whatever is a document: no panic, and no markup of its own.
func FuzzPage(f *testing.F) {
	for _, d := range []*comparing.Document{differs("layers.2"), differs("<script>alert(1)</script>\x1b[31m"), {}} {
		text, err := json.Marshal(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var d comparing.Document
		if json.Unmarshal(text, &d) != nil {
			return
		}
		var b bytes.Buffer
		if err := Write("html", &b, &d); err != nil {
			t.Fatal(err)
		}
		if page := strings.ToLower(b.String()); strings.Contains(page, "<script") || strings.Contains(page, "zgotmplz") {
			t.Error("a document became markup")
		}
	})
}
