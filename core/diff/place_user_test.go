package diff

import (
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// What stands in a library is named by the line that calls it, in every place of a document that names one.
func TestDocumentsNameTheUsersLine(t *testing.T) {
	table := site.NewTable([]site.Site{{Key: 1, Chain: []site.Frame{
		{Function: "reduce", File: "/x/triton/language/standard.py", Line: 314, Column: 12}, {Function: "k", File: "k.py", Line: 12, Column: 3},
	}}})
	r := &Result{A: &warptrace.Header{WaveSize: 32}, B: &warptrace.Header{WaveSize: 32}, Sites: []SiteRef{{ID: 1, Wide: true, Site: table.At(0)}}}
	d := r.divergence(&Row{Kind: RowValue, Count: 1, CountB: 1})
	if d.SourceLocation != "k.py:k:12:3" || len(d.Inside) != 1 || d.Inside[0] != "/x/triton/language/standard.py:reduce:314:12" {
		t.Errorf("a divergence is at %s, inside %v", d.SourceLocation, d.Inside)
	}
	if got := r.Sites[0].line(); got != "k.py:12" {
		t.Errorf("a verdict says %s, want k.py:12", got)
	}
	if got := placeOf(table.At(0), "1"); got != "k.py:12" {
		t.Errorf("an explanation says %s, want k.py:12", got)
	}
	found := foundCount{first: &warptrace.Finding{File: "/x/triton/language/standard.py", Line: 314}, at: table.At(0)}
	if got := found.place(); got != "k.py:k:12:3" {
		t.Errorf("a finding is at %s, want k.py:k:12:3", got)
	}
}
