// Package webpage is what the pages of all reports share: the head, the base of their style sheets, the parts that every page has (tiles, what
// limits a result) and what a page may do. A page is one file that needs nothing else: no network, no library, no server.
//
// A room of reports embeds its own templates, style and script, makes a Kit of them, and lets what its templates show embed the Head.
package webpage

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io/fs"
	"strings"
	"sync"
)

//go:embed assets
var assets embed.FS

// Head is what a page begins with: {{template "head" .}}.
type Head struct {
	Title  string // of the window
	Policy string // what the page may do
	Style  template.CSS
	Script template.JS // the script that stands at the end of the page, where there is one
}

// Tile is one of the figures below the title of a page: {{template "tiles" .Tiles}}.
type Tile struct {
	Label, Value, Detail string
	From                 string // what it was before, where it changed
	Class                string // good, bad, hot, amber, or one of the room's own
	Link                 string // where the figure leads, on the page
}

// Kit is a room's embedded files, made into what its pages are written with. What it gives is prepared when it is first asked for, and once:
// no command pays for pages that it does not write.
type Kit struct {
	assets fs.FS
	style  func() string
}

// NewKit is the kit of a room whose files lie in the folder assets of the file system: the styles of these names follow the base; none named is
// page.css.
func NewKit(files fs.FS, styles ...string) *Kit {
	if len(styles) == 0 {
		styles = []string{"page.css"}
	}
	return &Kit{assets: files, style: sync.OnceValue(func() string {
		text := Asset(assets, "base.css")
		for _, name := range styles {
			text += Asset(files, name)
		}
		return Unindented(text)
	})}
}

// Head is the head of a page of that title that runs this script and no other; "" is none.
func (k *Kit) Head(title, script string) Head {
	policy := "default-src 'none'; style-src " + hashOf(k.style())
	if script != "" {
		policy += "; script-src " + hashOf(script)
	}
	return Head{Title: title, Policy: policy + "; base-uri 'none'; form-action 'none'", Style: template.CSS(k.style()), Script: template.JS(script)}
}

// Template is the template of that name among the room's files, beside all its other templates and the parts that pages share.
func (k *Kit) Template(name string) func() *template.Template {
	return sync.OnceValue(func() *template.Template {
		shared := template.Must(template.New("parts").Parse(Asset(assets, "parts.html")))
		return template.Must(shared.ParseFS(k.assets, "assets/*.html")).Lookup(name)
	})
}

// Script is the text of a script among the room's files.
func (k *Kit) Script(name string) func() string {
	return sync.OnceValue(func() string { return Unindented(Asset(k.assets, name)) })
}

// Asset is the text of a file of the folder assets, which is there: it was embedded when the program was built.
func Asset(files fs.FS, name string) string {
	b, err := fs.ReadFile(files, "assets/"+name)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Unindented drops indentation, a good part of style sheets and scripts.
func Unindented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimLeft(line, " "))
	}
	return b.String()
}

// hashOf is how a policy names a style sheet or a script that is part of the page.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
