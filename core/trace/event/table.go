package event

import (
	"cmp"
	"slices"
)

// defaultRows is how many rows a Table takes unless told otherwise: 16 Mi rows, 576 MiB of columns when full.
const defaultRows = 16 << 20

// Row is one event of a timeline.
type Row struct {
	Node, Plane, Line int32 // by index: the node in the request, the plane in its file, the line in its plane
	Name              string
	StartNS           int64 // absolute ns, rounded down
	StartPS           int32 // 0..999: what StartNS left away
	DurationPS        int64 // ps
	Count             int64 // occurrences of an aggregated event that has no time of its own, else 1
}

// Table holds events as columns, up to a limit; rows beyond it are counted, not kept.
type Table struct {
	Names   names // dictionary of the name column
	Dropped int64 // rows beyond the limit

	limit             int
	node, plane, line []int32
	name              []int32
	startNS           []int64
	startPS           []int32
	durationPS        []int64
	count             []int64
}

// NewTable returns an empty table of at most rows rows; rows <= 0 means defaultRows.
func NewTable(rows int) *Table {
	if rows <= 0 {
		rows = defaultRows
	}
	return &Table{limit: rows}
}

// Len returns the number of rows kept.
func (t *Table) Len() int { return len(t.startNS) }

// Append adds a row and reports whether it was kept.
func (t *Table) Append(r Row) bool {
	if len(t.startNS) >= t.limit {
		t.Dropped++
		return false
	}
	t.node = append(t.node, r.Node)
	t.plane = append(t.plane, r.Plane)
	t.line = append(t.line, r.Line)
	t.name = append(t.name, t.Names.id(r.Name))
	t.startNS = append(t.startNS, r.StartNS)
	t.startPS = append(t.startPS, r.StartPS)
	t.durationPS = append(t.durationPS, r.DurationPS)
	t.count = append(t.count, r.Count)
	return true
}

// Column is one column: exactly one of I32 and I64 is set. Dictionary is set for a column of numbers that stand for strings.
type Column struct {
	Name       string
	I32        []int32
	I64        []int64
	Dictionary []string
}

// columns returns the columns in their fixed order. They alias the table.
func (t *Table) columns() []Column {
	return []Column{
		{Name: "node", I32: t.node},
		{Name: "plane", I32: t.plane},
		{Name: "line", I32: t.line},
		{Name: "name", I32: t.name, Dictionary: t.Names.All()},
		{Name: "start_ns", I64: t.startNS},
		{Name: "start_ps", I32: t.startPS},
		{Name: "duration_ps", I64: t.durationPS},
		{Name: "count", I64: t.count},
	}
}

// Column returns the column of a name, an empty one where there is none.
func (t *Table) Column(name string) Column {
	for _, c := range t.columns() {
		if c.Name == name {
			return c
		}
	}
	return Column{}
}

// SortByStart orders rows by start, longer first where starts are equal (parents before children), else as they came.
func (t *Table) SortByStart() {
	order := make([]int32, t.Len())
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.startNS[a], t.startNS[b]), cmp.Compare(t.startPS[a], t.startPS[b]),
			cmp.Compare(t.durationPS[b], t.durationPS[a]))
	})
	for _, c := range []*[]int32{&t.node, &t.plane, &t.line, &t.name, &t.startPS} {
		*c = reorder(*c, order)
	}
	for _, c := range []*[]int64{&t.startNS, &t.durationPS, &t.count} {
		*c = reorder(*c, order)
	}
}

func reorder[T any](col []T, order []int32) []T {
	out := make([]T, len(col))
	for i, from := range order {
		out[i] = col[from]
	}
	return out
}
