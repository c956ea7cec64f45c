// Package sqlite reads whole tables of SQLite databases, as profilers write them: no query, no index, no change. The format is that of
// https://www.sqlite.org/fileformat2.html; docs/formats/sqlite.md says which part of it is read.
//
// A table is a tree of pages. Every page of it is visited once at most, and rows are handed over one by one, so that memory does not grow
// with the file, and a file whose pages point in circles ends with an error.
package sqlite

import (
	"context"
	"encoding/binary"
	"os"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// magic is how a database begins.
const magic = "SQLite format 3\x00"

const (
	headerBytes = 100
	maxPayload  = 1 << 26 // of a row, of which profilers write hundreds of bytes
	maxTables   = 1 << 14
	maxColumns  = 1 << 12
	maxDepth    = 24 // of a tree; SQLite's own limit is 20
)

// Database is a database that was opened for reading. It does not own its source and holds no page.
type Database struct {
	src      *file.Source
	pageSize int
	usable   int // bytes of a page without what extensions reserve
	pages    int64
	tables   []*Table
	ahead    int64 // bytes that are read at once
}

// Table is one table of a database.
type Table struct {
	Name    string
	Columns []string // in the order of the rows
	root    uint32
	rowID   int // place of the column that is the number of the row, -1 none
	keyed   bool
}

// Open reads the header and the schema of a database. A file that another process is still writing, so that rows of it stand in a log beside it, is
// refused with what to do.
func Open(ctx context.Context, src *file.Source) (*Database, error) {
	head, err := src.Head(headerBytes)
	if err != nil {
		return nil, err
	}
	if len(head) < headerBytes || string(head[:len(magic)]) != magic {
		return nil, fault.Formatf(src.Path(), 0, "the header of a SQLite database is missing")
	}
	d := &Database{src: src, pageSize: int(binary.BigEndian.Uint16(head[16:])), ahead: blockBytes}
	if d.pageSize == 1 {
		d.pageSize = 1 << 16
	}
	d.usable = d.pageSize - int(head[20])
	if d.pageSize < 512 || d.pageSize&(d.pageSize-1) != 0 || d.usable < 480 {
		return nil, fault.Formatf(src.Path(), 16, "pages of %d bytes, %d of them reserved", d.pageSize, head[20])
	}
	if code := binary.BigEndian.Uint32(head[56:]); code > 1 {
		return nil, fault.Formatf(src.Path(), 56, "the text of the database is UTF-16, which no profiler writes")
	}
	d.pages = src.Size() / int64(d.pageSize)
	if promised := int64(binary.BigEndian.Uint32(head[28:])); promised > d.pages && binary.BigEndian.Uint32(head[24:]) == binary.BigEndian.Uint32(head[92:]) {
		return nil, fault.Formatf(src.Path(), src.Size(), "the database is cut: %d of %d pages of %d bytes are there", d.pages, promised, d.pageSize).
			WithHint("copy or export it again")
	}
	if err := d.settled(); err != nil {
		return nil, err
	}
	return d, d.schema(ctx)
}

// settled refuses a database beside which a log holds what was written last.
func (d *Database) settled() error {
	if d.src.Compression() != "" {
		return nil
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		if st, err := os.Stat(d.src.Path() + suffix); err == nil && st.Size() > 0 {
			return fault.New(fault.Format, "rows of the database stand in %s beside it: whoever writes it has not closed it", d.src.Path()+suffix).
				WithPath(d.src.Path()).WithHint("end the program that writes it, or write a copy: sqlite3 IN 'VACUUM INTO \"OUT\"'")
		}
	}
	return nil
}

// schema reads the names of tables and columns.
func (d *Database) schema(ctx context.Context) error {
	master := &Table{Name: "sqlite_master", Columns: []string{"type", "name", "tbl_name", "rootpage", "sql"}, root: 1, rowID: -1}
	return d.Read(ctx, master, func(r *Row) error {
		root := r.Int(3)
		if string(r.Text(0)) != "table" || root <= 0 {
			return nil
		}
		if len(d.tables) >= maxTables {
			return fault.New(fault.Limit, "more than %d tables", maxTables).WithPath(d.src.Path())
		}
		t := &Table{Name: string(r.Text(1)), root: uint32(root)}
		if int64(t.root) != root || root > d.pages {
			return d.damaged(1, "table %s lies on page %d of %d", t.Name, root, d.pages)
		}
		if !t.define(string(r.Text(4))) {
			return d.damaged(1, "the columns of table %s cannot be read", t.Name)
		}
		d.tables = append(d.tables, t)
		return nil
	})
}

// Tables lists the tables in the order of the schema. They belong to the database.
func (d *Database) Tables() []*Table { return d.tables }

// Table returns the table of a name, which is told in any case of letters; nil where there is none.
func (d *Database) Table(name string) *Table {
	for _, t := range d.tables {
		if strings.EqualFold(t.Name, name) {
			return t
		}
	}
	return nil
}

// Column returns the place of a column, -1 where the table has none of the name.
func (t *Table) Column(name string) int {
	for i, c := range t.Columns {
		if strings.EqualFold(c, name) {
			return i
		}
	}
	return -1
}

// damaged is the error for a page that makes no sense.
func (d *Database) damaged(page uint32, format string, args ...any) *fault.Error {
	return fault.Formatf(d.src.Path(), int64(page-1)*int64(d.pageSize), "the database is damaged: "+format, args...).WithHint("copy or export it again")
}
