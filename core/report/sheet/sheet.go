// Package sheet is what pages of tables share beyond `webpage`: tables whose rows fold, and maps whose cells are read by mouse and keyboard.
package sheet

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/prlx-go/prlx/core/report/webpage"
)

//go:embed assets
var assets embed.FS

// NewKit is the kit of a room whose files lie in the folder assets of the file system. Its templates can use those of `webpage` and "table" (of *Table),
// "map" (of *Map), "sentences" (of Sentences) and "script" (of the page, where Map is a *Map); its style page.css follows that of tables and maps.
func NewKit(files embed.FS) *webpage.Kit {
	return webpage.NewKit(both{files})
}

// Script is the text of the script that reads out the cells of a map; "" where there is no map.
func Script(k *webpage.Kit, m *Map) string {
	if m == nil {
		return ""
	}
	return k.Script("map.js")()
}

// both are the files of a room and, beside them, ours.
type both struct{ own embed.FS }

// Open opens a file of the room, else one of ours.
func (b both) Open(name string) (fs.File, error) {
	f, err := b.own.Open(name)
	if err != nil {
		return assets.Open(name)
	}
	return f, nil
}

// ReadFile reads a file of the room, else one of ours; the room's style follows ours.
func (b both) ReadFile(name string) ([]byte, error) {
	own, err := b.own.ReadFile(name)
	if err != nil {
		return assets.ReadFile(name)
	}
	if name == "assets/page.css" {
		return append([]byte(webpage.Asset(assets, "sheet.css")), own...), nil
	}
	return own, nil
}

// ReadDir lists the files of both.
func (b both) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := b.own.ReadDir(name)
	if err != nil {
		return nil, err
	}
	ours, err := assets.ReadDir(name)
	return append(list, ours...), err
}

// Sentences are a section with a list.
type Sentences struct {
	ID, Title string
	List      []string
}

// Table is a table whose first column names the row.
type Table struct {
	ID, Title, Hint, More string
	Columns               []column
	Rows                  []Row
	Folded                []Row // those behind the first
}

// column is the head of a column.
type column struct {
	Name string
	Num  bool // right-aligned
}

// Row is one row.
type Row struct {
	Name, Small string
	Mark        string // what is wrong with it, "" nothing
	Cells       []cell
}

// cell is one cell.
type cell struct {
	Text string
	Num  bool
}

// Columns names columns; those that begin with a # are numbers.
func Columns(names ...string) []column {
	out := make([]column, len(names))
	for i, n := range names {
		out[i].Name, out[i].Num = strings.CutPrefix(n, "#")
	}
	return out
}

// Add adds a row with the texts of the columns behind its name.
func (t *Table) Add(row Row, texts ...string) {
	for i, text := range texts {
		row.Cells = append(row.Cells, cell{text, t.Columns[i+1].Num})
	}
	t.Rows = append(t.Rows, row)
}

// Fold leaves the first rows of a long table and folds the others.
func (t *Table) Fold(first int) {
	if len(t.Rows) > first+1 {
		t.Rows, t.Folded = t.Rows[:first], t.Rows[first:]
	}
}
