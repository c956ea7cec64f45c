package kernelreport

import (
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/diff"
)

// maxGiven is how many properties of arguments a report lists.
const maxGiven = 60

// givenRow is a property of what the two launches were given, where it differs.
type givenRow struct{ Name, What, A, B, Note string }

func givenRows(doc *diff.Document) []givenRow {
	rows := make([]givenRow, 0, min(len(doc.Given), maxGiven))
	for i := range doc.Given[:min(len(doc.Given), maxGiven)] {
		g := &doc.Given[i]
		rows = append(rows, givenRow{clean(g.Name, maxName), clean(g.What, 40), clean(g.A, maxName), clean(g.B, maxName), clean(g.Note, maxText)})
	}
	return rows
}

// plainGiven is the same in lines of text.
func plainGiven(doc *diff.Document) string {
	var b strings.Builder
	for _, row := range givenRows(doc) {
		fmt.Fprintf(&b, "  %s, %s: %s in A, %s in B", row.Name, row.What, dashed(row.A), dashed(row.B))
		if row.Note != "" {
			fmt.Fprintf(&b, " (%s)", row.Note)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func dashed(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
