package api

import (
	"strings"

	"github.com/prlx-go/prlx/core/timeline/event"
)

// EventTable makes a Table of timeline events. It keeps the columns of t. A name that ends in _ns or _ps says the unit.
func EventTable(t *event.Table) *Table {
	// The columns of a table without rows are nil and do not tell their types; those of any other table do.
	typical := event.NewTable(1)
	typical.Append(event.Row{Name: "any"})
	out := NewTable(t.Len())
	for i, c := range t.Columns() {
		unit := ""
		if _, suffix, ok := strings.Cut(c.Name, "_"); ok && (suffix == "ns" || suffix == "ps") {
			unit = suffix
		}
		switch like := typical.Columns()[i]; {
		case like.Dictionary != nil:
			out.Codes(c.Name, c.I32, c.Dictionary)
		case like.I64 != nil:
			out.Int64(c.Name, unit, c.I64, nil)
		default:
			out.Int32(c.Name, unit, c.I32, nil)
		}
	}
	return out
}
