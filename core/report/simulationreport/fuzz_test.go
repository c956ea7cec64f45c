package simulationreport

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/diff/simulated"
)

// FuzzPage makes pages of whatever is a document, and compares it with another: no panic, no markup of its own, and a size that opens.
func FuzzPage(f *testing.F) {
	for _, d := range []*simulated.Document{softmax(""), faster(""), softmax(hostile), {}} {
		text, err := json.Marshal(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"kernels":[{"kernel":"f","lines":[{"file":"a.py","line":4294967295}],"texts":{"functions":[{"file":"a.py","first_line":4294967295,"text":"x\ny\nz"}]},"touched":{"grid":[4294967295,4294967295,4294967295],"arrays":[{"name":"x","shape":[-1,0],"read":{"width":1,"blocks":[3],"first":[9223372036854775807],"last":[-5]}}]}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d simulated.Document
		if json.Unmarshal(text, &d) != nil {
			return
		}
		var b bytes.Buffer
		if err := Write("html", &b, &d); err != nil {
			t.Fatal(err)
		}
		other := softmax("")
		for _, both := range [][2]*simulated.Document{{&d, other}, {other, &d}, {&d, &d}} {
			if err := WriteComparison("html", &b, simulated.Compare(both[0], both[1], nil)); err != nil {
				t.Fatal(err)
			}
		}
		if page := strings.ToLower(b.String()); strings.Contains(page, "<script") || strings.Contains(page, "zgotmplz") {
			t.Error("a document became markup")
		}
		if b.Len() > 64<<20+8*len(text) {
			t.Errorf("%d bytes of pages of %d", b.Len(), len(text))
		}
	})
}
