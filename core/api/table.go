package api

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
)

// table is a result in columns. An operation builds one, attaches it to its job under a name with attachTable, and the caller
// finds it under "tables" in the document, copies its columns into memory of its own and releases it.
type table struct {
	rows    int
	columns []column
}

// column is one column: values, and which of them are there. Of the value slices one is set, by type.
type column struct {
	name, unit string
	kind       string // "int64", "int32", "float64", "bool" or "string"
	ints       []int64
	shorts     []int32 // also the codes of a string column
	floats     []float64
	bools      []bool
	texts      *stringColumn
	valid      []bool // nil: every value is there
}

// newTable returns a table of rows rows and no columns yet.
func newTable(rows int) *table { return &table{rows: rows} }

// Rows is the number of rows.
func (t *table) Rows() int { return t.rows }

func (t *table) add(c column, n int) {
	if n != t.rows || (c.valid != nil && len(c.valid) != t.rows) {
		panic(fmt.Sprintf("column %q has %d values (%d valid flags), the table %d rows", c.name, n, len(c.valid), t.rows))
	}
	t.columns = append(t.columns, c)
}

// Int64 adds a column. unit is "ns", "ps", "bytes" or ""; valid says which values are there, nil means all. The table keeps
// the slices.
func (t *table) Int64(name, unit string, values []int64, valid []bool) {
	t.add(column{name: name, unit: unit, kind: "int64", ints: values, valid: valid}, len(values))
}

// int32 adds a column of small integers.
func (t *table) int32(name, unit string, values []int32, valid []bool) {
	t.add(column{name: name, unit: unit, kind: "int32", shorts: values, valid: valid}, len(values))
}

// float64 adds a column of measured ratios and differences, never of instants.
func (t *table) float64(name, unit string, values []float64, valid []bool) {
	t.add(column{name: name, unit: unit, kind: "float64", floats: values, valid: valid}, len(values))
}

// bool adds a column of flags.
func (t *table) bool(name string, values []bool, valid []bool) {
	t.add(column{name: name, kind: "bool", bools: values, valid: valid}, len(values))
}

// codes adds a column of text that exists already as numbers of a dictionary; a code outside it is a missing value.
func (t *table) codes(name string, codes []int32, dictionary []string) {
	var known stringColumn
	for _, text := range dictionary {
		known.append(text) // the dictionary may hold a text twice
	}
	values := known
	values.codes = make([]int32, len(codes))
	for i, code := range codes {
		if code < 0 || int(code) >= len(dictionary) {
			values.codes[i], values.missing = missingCode, true
			continue
		}
		values.codes[i] = known.codes[code]
	}
	t.strings(name, &values)
}

// strings adds a column of text.
func (t *table) strings(name string, values *stringColumn) {
	if values.offsets == nil { // no row has a value
		values.offsets = []int64{0}
	}
	t.add(column{name: name, kind: "string", shorts: values.codes, texts: values, valid: values.valid()}, len(values.codes))
}

// stringColumn is a column of text under construction: each distinct text is kept once. The zero value is ready to use.
type stringColumn struct {
	codes   []int32
	known   map[string]int32
	offsets []int64 // where in text each distinct value begins; one more at the end
	text    []byte
	missing bool
}

const missingCode = -1

// append adds a row. What is not UTF-8 is replaced by U+FFFD.
func (s *stringColumn) append(text string) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	code, ok := s.known[text]
	if !ok {
		if s.known == nil {
			s.known, s.offsets = make(map[string]int32), []int64{0}
		}
		code = int32(len(s.known))
		s.known[strings.Clone(text)] = code
		s.text = append(s.text, text...)
		s.offsets = append(s.offsets, int64(len(s.text)))
	}
	s.codes = append(s.codes, code)
}

// appendMissing adds a row without a value.
func (s *stringColumn) appendMissing() {
	s.codes = append(s.codes, missingCode)
	s.missing = true
}

func (s *stringColumn) valid() []bool {
	if !s.missing {
		return nil
	}
	valid := make([]bool, len(s.codes))
	for i, code := range s.codes {
		valid[i] = code != missingCode
	}
	return valid
}

// attachTable leaves a table beside the job's document, under "tables" and its name.
func attachTable(j *job.Job, name string, t *table) { j.Attach(name, t) }

// TableReference is how a document names a table.
type TableReference struct {
	ID      int64             `json:"id"`
	Rows    int               `json:"rows"`
	Columns []ColumnReference `json:"columns"`
}

// ColumnReference describes a column; the caller allocates by it.
type ColumnReference struct {
	Name      string `json:"name"`
	Type      string `json:"type"` // "int64", "int32", "float64", "bool" or "string" (codes of int32, -1 when missing)
	Unit      string `json:"unit,omitempty"`
	Nullable  bool   `json:"nullable,omitempty"`   // there is a part partValid
	Values    int    `json:"values,omitempty"`     // string: distinct values
	TextBytes int    `json:"text_bytes,omitempty"` // string: bytes of UTF-8 of all distinct values
}

func (c *column) reference() ColumnReference {
	r := ColumnReference{Name: c.name, Type: c.kind, Unit: c.unit, Nullable: c.valid != nil}
	if c.texts != nil {
		r.Values, r.TextBytes = len(c.texts.known), len(c.texts.text)
	}
	return r
}

// The parts of a column that Fill copies, all little-endian.
const (
	partData    = 0 // the values; for strings the codes
	partValid   = 1 // one byte a row: 1 when the value is there
	partOffsets = 2 // strings: int64, where each distinct value begins in the text, and its end
	partText    = 3 // strings: UTF-8
)

// What Fill returns instead of a number of bytes.
const (
	fillNoTable = -1 // released, or never there
	fillNoPart  = -2 // no such column or part
	fillSize    = -3 // the caller's buffer has not the part's size
)

// size is the length of a part in bytes, -1 when the column has no such part.
func (c *column) size(part int) int {
	rows := len(c.ints) + len(c.shorts) + len(c.floats) + len(c.bools)
	switch {
	case part == partData && (c.kind == "int64" || c.kind == "float64"):
		return 8 * rows
	case part == partData && c.kind == "bool":
		return rows
	case part == partData:
		return 4 * rows
	case part == partValid && c.valid != nil:
		return rows
	case part == partOffsets && c.texts != nil:
		return 8 * (len(c.texts.known) + 1)
	case part == partText && c.texts != nil:
		return len(c.texts.text)
	}
	return -1
}

// copyPart writes a part into p, which has its size.
func (c *column) copyPart(part int, p []byte) {
	switch part {
	case partValid:
		copyBools(p, c.valid)
	case partOffsets:
		copyInts(p, c.texts.offsets)
	case partText:
		copy(p, c.texts.text)
	default:
		copyInts(p, c.ints)
		copyBools(p, c.bools)
		for i, v := range c.shorts {
			binary.LittleEndian.PutUint32(p[4*i:], uint32(v))
		}
		for i, v := range c.floats {
			binary.LittleEndian.PutUint64(p[8*i:], math.Float64bits(v))
		}
	}
}

func copyInts(p []byte, values []int64) {
	for i, v := range values {
		binary.LittleEndian.PutUint64(p[8*i:], uint64(v))
	}
}

func copyBools(p []byte, values []bool) {
	for i, v := range values {
		p[i] = 0
		if v {
			p[i] = 1
		}
	}
}

// tableStore keeps tables until they are released. Ids count up and are never reused: a stale one is an error.
type tableStore struct {
	mu     sync.Mutex
	last   int64
	tables map[int64]*table
}

// publish stores the attached tables and adds their references to the document, which must be a JSON object, as its last key.
func (s *tableStore) publish(doc []byte, attached map[string]any) ([]byte, error) {
	if len(attached) == 0 {
		return doc, nil
	}
	references := make(map[string]TableReference, len(attached))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tables == nil {
		s.tables = make(map[int64]*table)
	}
	for _, name := range slices.Sorted(maps.Keys(attached)) {
		t, ok := attached[name].(*table)
		if !ok {
			return nil, fault.New(fault.Internal, "attachment %q is a %T, not a table", name, attached[name])
		}
		r := TableReference{Rows: t.rows, Columns: []ColumnReference{}}
		for i := range t.columns {
			r.Columns = append(r.Columns, t.columns[i].reference())
		}
		s.last++
		r.ID = s.last
		s.tables[r.ID] = t
		references[name] = r
	}
	text, err := encode(references)
	if err != nil {
		return nil, err
	}
	body, ok := bytes.CutSuffix(bytes.TrimSpace(doc), []byte("}"))
	if !ok {
		return nil, fault.New(fault.Internal, "a document with tables is not a JSON object")
	}
	if !bytes.HasSuffix(body, []byte("{")) {
		body = append(body[:len(body):len(body)], ',')
	}
	return slices.Concat(body, []byte(`"tables":`), text, []byte("}")), nil
}

// fill copies a part of a column into p, which must have exactly its size, and returns the size or a negative code.
func (s *tableStore) fill(id int64, column, part int, p []byte) int64 {
	s.mu.Lock()
	t := s.tables[id]
	s.mu.Unlock()
	if t == nil {
		return fillNoTable
	}
	if column < 0 || column >= len(t.columns) {
		return fillNoPart
	}
	switch c := &t.columns[column]; c.size(part) {
	case -1:
		return fillNoPart
	case len(p):
		c.copyPart(part, p)
		return int64(len(p))
	}
	return fillSize
}

func (s *tableStore) release(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.tables[id]
	delete(s.tables, id)
	return ok
}
