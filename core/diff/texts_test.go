package diff

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/edits"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

func textOfKernel(constant string, lines ...string) *warptrace.Texts {
	return &warptrace.Texts{
		Functions: []warptrace.Text{{File: "/k/k.py", Function: "k", FirstLine: 5, Text: strings.Join(lines, "\n") + "\n"}},
		Constants: []warptrace.Constant{{Name: "BLOCK", Value: constant}},
	}
}

func TestADocumentSaysWhetherTheFirstLineWasEdited(t *testing.T) {
	before := []string{"def k(x):", "    a = load(x)", "    if a > 1:", "        store(a)"}
	after := []string{"def k(x):", "    # higher", "    a = load(x)", "    if a > 2:", "        store(a)"}
	for what, c := range map[string]struct {
		a, b     *warptrace.Texts
		location string
		only     string
		first    string
		text     string
	}{
		"the line": {
			textOfKernel("1", before...), textOfKernel("1", after...), "/k/k.py:k:7:3", "", firstEdited,
			"edited: A k.py:7, B k.py:8; k.py:7 (B: k.py:8), the line that differs first, is one of them",
		},
		"another line": {
			textOfKernel("1", before...), textOfKernel("1", after...), "/k/k.py:k:8:3", "", firstSame,
			"edited: A k.py:7, B k.py:8; k.py:8 (B: k.py:9), the line that differs first, is the same in both texts",
		},
		"a line of B": {
			textOfKernel("1", before...), textOfKernel("1", after...), "/k/k.py:k:8:3", "B", firstEdited,
			"edited: A k.py:7, B k.py:8; k.py:8 (A: k.py:7), the line that differs first, is one of them",
		},
		"a line of nobody": {textOfKernel("1", before...), textOfKernel("1", after...), "/lib/s.py:f:8:3", "", firstUnknown, "edited: A k.py:7, B k.py:8"},
		"nothing":          {textOfKernel("1", before...), textOfKernel("1", before...), "/k/k.py:k:8:3", "", firstSame, "both sides have the same text"},
		"a constant": {
			textOfKernel("1", before...), textOfKernel("2", before...), "/k/k.py:k:8:3", "", firstSame,
			"both sides have the same text, compiled for another BLOCK (1 and 2)",
		},
	} {
		r := &Result{TextsA: c.a, TextsB: c.b, Changes: edits.Between(c.a, c.b)}
		d := &Document{First: &Divergence{SourceLocation: c.location, InTrace: c.only}, Edits: editsOf(r.Changes)}
		d.tellFirst(r.Changes)
		if d.Edits.First != c.first || d.Edits.Text != c.text {
			t.Errorf("%s: %s: %s", what, d.Edits.First, d.Edits.Text)
		}
	}
	r := &Result{}
	d := &Document{Edits: editsOf(r.Changes)}
	if d.tellFirst(r.Changes); d.Edits != nil {
		t.Errorf("edits of texts that are not known: %+v", d.Edits)
	}
}

func TestEditsInADocumentAreBounded(t *testing.T) {
	r := &Result{Changes: edits.Between(textOfKernel("1", "def k(x):"), textOfKernel("1", "def k(x):\n"+strings.Repeat("    a = a + 1\n", 1000)+strings.Repeat("b", 1000)))}
	e := editsOf(r.Changes)
	if n := len(e.Functions[0].Hunks[0].B); n != maxEditedLines || e.Omitted != 1001-maxEditedLines {
		t.Errorf("%d lines, %d omitted", n, e.Omitted)
	}
}

func TestASiteOnAnotherLineInBHasBothPlaces(t *testing.T) {
	at := func(line uint32) *site.Site {
		return &site.Site{Chain: []site.Frame{{Function: "k", File: "/k/k.py", Line: line, Column: 3}}}
	}
	for _, c := range []struct {
		ref  SiteRef
		inB  string
		only string
	}{
		{SiteRef{Site: at(7), SiteB: at(8)}, "/k/k.py:k:8:3", ""},
		{SiteRef{Site: at(7), SiteB: at(7)}, "", ""},
		{SiteRef{Site: at(7), LocalB: -1}, "", "A"},
		{SiteRef{Site: at(7), LocalA: -1}, "", "B"},
	} {
		if got := c.ref.locationB(); got != c.inB {
			t.Errorf("in B %q, want %q", got, c.inB)
		}
		if got := c.ref.only(); got != c.only {
			t.Errorf("only in %q, want %q", got, c.only)
		}
	}
}
