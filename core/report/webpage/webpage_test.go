package webpage

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prlx-go/prlx/core/verdict"
)

var room = fstest.MapFS{
	"assets/page.css":  {Data: []byte(".own {\n  color: red;\n}\n")},
	"assets/page.html": {Data: []byte(`{{template "head" .}}<body>{{template "tiles" .Tiles}}{{template "limits" .Limits}}{{with .Script}}<script>{{.}}</script>{{end}}</body></html>`)},
	"assets/page.js":   {Data: []byte("  let a = \"b\";\n")},
}

func written(t *testing.T, k *Kit, script string, tiles []Tile, limits []string) string {
	t.Helper()
	var b strings.Builder
	shown := struct {
		Head
		Tiles  []Tile
		Limits []string
	}{k.Head("<b>a & b</b>", script), tiles, limits}
	if err := k.Template("page.html")().Execute(&b, shown); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPage(t *testing.T) {
	k := NewKit(room)
	got := written(t, k, k.Script("page.js")(), []Tile{{Label: "ranks", Value: "8", Detail: "of 8", Class: "good", Link: "#ranks"}, {Label: "x", Value: "<1>", From: "7"}}, []string{"a < b"})
	for _, want := range []string{
		"<title>&lt;b&gt;a &amp; b&lt;/b&gt;</title>", "\n.own {\ncolor: red;\n}\n</style>", `<a class="value good" href="#ranks">8</a><small>of 8</small>`,
		`<span class="value "><span class="from">7 →</span> &lt;1&gt;</span>`, "<li>a &lt; b</li>", "<script>let a = \"b\";\n</script>", "script-src &#39;sha256-",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got[strings.Index(got, "</style>"):])
		}
	}
	if strings.Contains(got, "unsafe-inline") {
		t.Error("the page may have styles that nobody asked for")
	}
}

func TestPageWithNothing(t *testing.T) {
	got := written(t, NewKit(room), "", nil, nil)
	if strings.Contains(got, "<dl") || strings.Contains(got, "<section") || strings.Contains(got, "script-src") {
		t.Errorf("parts that have nothing to show:\n%s", got[strings.Index(got, "</style>"):])
	}
}

func TestStylesOfTheirOwnNames(t *testing.T) {
	files := fstest.MapFS{"assets/a.css": {Data: []byte(".a {}")}, "assets/b.css": {Data: []byte(".b {}")}}
	if got := string(NewKit(files, "b.css", "a.css").Head("t", "").Style); !strings.HasSuffix(got, "}\n.b {}.a {}") {
		t.Errorf("the style ends with %q", got[len(got)-20:])
	}
}

func TestPolicyFollowsTheText(t *testing.T) {
	k := NewKit(room)
	if a, b := k.Head("t", "1").Policy, k.Head("t", "2").Policy; a == b {
		t.Error("two scripts, one policy")
	}
}

func TestBadgeShowsTheOutcomeAndWhatItRestsOn(t *testing.T) {
	k := NewKit(fstest.MapFS{
		"assets/page.css":  {Data: []byte("")},
		"assets/page.html": {Data: []byte(`{{template "badge" .}}{{template "rests" .}}`)},
	})
	write := func(v verdict.Verdict) string {
		var b strings.Builder
		if err := k.Template("page.html")().Execute(&b, v); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	var e verdict.Evidence
	e.LookedOf("ranks", 3, 4)
	got := write(e.Check(false, ""))
	for _, want := range []string{`<span class="pill amber" data-outcome="inconclusive">inconclusive</span>`, "<li>3 of 4 ranks looked at</li>", `<li class="amber">ranks: not in the inputs</li>`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if got := strings.TrimSpace(write(verdict.Verdict{})); got != "" {
		t.Errorf("a document without a verdict has a badge: %s", got)
	}
}
