package kernelreport

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/diff"
)

// FuzzReports: whatever a document says, every report of it is written and is well-formed.
func FuzzReports(f *testing.F) {
	for _, doc := range []*diff.Document{sample(), identical(), inPlace(), nasty("<b>\n::x\x00")} {
		b, err := json.Marshal(shortened(doc))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"first":{"lane_values":[{"lane":-1},{"lane":99}],"lanes":[-5,1000],"mask_a":"0xffffffffffffffff","warp_idx":-3},"a":{"wave_size":1073741824,"warps_per_block":4294967295}}`))
	f.Add([]byte(`{"divergences":[{"kind":"ExtraEvents","count":9223372036854775807,"event_idx":9223372036854775807,"warp_idx":9223372036854775807},{"kind":"Path","count":-1,"count_b":9223372036854775807}],"a":{"warp_slots":18446744073709551615}}`))
	f.Add([]byte(`{"sources":[{"file":"a","first_line":-9223372036854775808,"lines":["x"]}],"first":{"source_location":"a:f:1:1","kind":"Branch"},"total_divergences":-1,"clusters_omitted":-9}`))
	f.Add([]byte(`{"sites":[{"breakdown":{"":1,"<":2}}],"clusters":[{"id":-1,"warp_ranges":"0-18446744073709551615"}],"explanation":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var doc diff.Document
		if json.Unmarshal(b, &doc) != nil {
			t.Skip()
		}
		checkReports(t, &doc)
	})
}

// shortened is a document with little of everything: fuzzing is as fast as its inputs are short.
func shortened(doc *diff.Document) *diff.Document {
	less := func(d *diff.Divergence) {
		d.LaneValues, d.History = d.LaneValues[:min(1, len(d.LaneValues))], d.History[:min(2, len(d.History))]
	}
	if doc.First != nil {
		less(doc.First)
	}
	for i := range doc.Clusters {
		less(&doc.Clusters[i].First)
	}
	doc.Divergences, doc.Sites = doc.Divergences[:min(4, len(doc.Divergences))], doc.Sites[:min(3, len(doc.Sites))]
	for i := range doc.Divergences {
		less(&doc.Divergences[i])
	}
	for i := range doc.Sources {
		doc.Sources[i].Lines = doc.Sources[i].Lines[:min(6, len(doc.Sources[i].Lines))]
	}
	return doc
}

var strayTag = regexp.MustCompile(`<(?:script|img|iframe)\b`)

func checkReports(t *testing.T, doc *diff.Document) {
	wellFormedXML(t, render(t, "junit", doc))
	for _, format := range []string{"sarif", "chrome", "json"} {
		wellFormedJSON(t, render(t, format, doc))
	}
	if rows, err := csv.NewReader(bytes.NewReader(render(t, "csv", doc))).ReadAll(); err != nil || len(rows) != len(doc.Divergences)+1 {
		t.Fatalf("CSV: %d rows, %v", len(rows), err)
	}
	for _, line := range strings.Split(strings.TrimSuffix(string(render(t, "github", doc)), "\n"), "\n") {
		if !strings.HasPrefix(line, "::") || strings.ContainsAny(line, "\r") {
			t.Fatalf("no annotation: %q", line)
		}
	}
	render(t, "markdown", doc)
	page := pageOf(t, doc)
	if n := len(strayTag.FindAllString(page, -1)); n != 2 {
		t.Fatalf("%d elements that run or load, want the two of the page", n)
	}
	dataOf(t, page)
	nested(t, page)
	for b := render(t, "perfetto", doc); len(b) > 0; {
		_, _, n := protowire.ConsumeField(b)
		if n < 0 {
			t.Fatal("the Perfetto trace is no protobuf")
		}
		b = b[n:]
	}
}

var (
	element = regexp.MustCompile(`<(/?)([a-z][a-z0-9]*)(?:\s(?:[^<>"]|"[^"]*")*)?>`)
	void    = map[string]bool{"meta": true, "input": true}
)

// nested checks that every element of a page ends where it should; what stands inside of script and style is no markup.
func nested(t *testing.T, page string) {
	t.Helper()
	page = regexp.MustCompile(`(?s)(<(?:script|style)[^>]*>).*?(</(?:script|style)>)`).ReplaceAllString(page, "$1$2")
	var open []string
	for _, m := range element.FindAllStringSubmatch(page, -1) {
		switch {
		case void[m[2]]:
		case m[1] == "":
			open = append(open, m[2])
		case len(open) == 0 || open[len(open)-1] != m[2]:
			t.Fatalf("</%s> ends %v", m[2], open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Fatalf("%v are not ended", open)
	}
}

func TestReportsOfEveryDocumentAreNested(t *testing.T) {
	for name, doc := range documents() {
		t.Run(name, func(t *testing.T) { nested(t, pageOf(t, doc)) })
	}
}

// FuzzNames: whatever a recording calls its kernels, files and values, it stays text.
func FuzzNames(f *testing.F) {
	for _, s := range []string{hostile, "", "]]>", "<!--", "-->", "</style>", "{{.}}", "=1", "a\"b'c", "::error::x", "```", "C:\\a.cu", "\U0001F600\uFEFF\x7f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) { checkReports(t, shortened(nasty(name))) })
}
