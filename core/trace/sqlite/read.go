package sqlite

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/prlx-go/prlx/core/fault"
)

// Row is one row during a visit. It and its texts are valid until the visit returns.
type Row struct {
	ID     int64
	body   []byte
	at     []int32 // where the values begin
	kind   []uint64
	rowID  int
	fields int
}

// Read visits the rows of a table in the order of their numbers.
func (d *Database) Read(ctx context.Context, t *Table, visit func(r *Row) error) error {
	if t.keyed {
		return fault.New(fault.Format, "table %s has no row numbers (WITHOUT ROWID), which no profiler writes", t.Name).WithPath(d.src.Path())
	}
	n := len(t.Columns)
	r := &reader{d: d, t: t, row: Row{at: make([]int32, n), kind: make([]uint64, n), rowID: t.rowID}}
	return r.walk(ctx, t.root, 0, visit)
}

// reader reads the rows of one table.
type reader struct {
	d     *Database
	t     *Table
	block []byte // what was read last of the file, and where it begins
	from  int64
	seen  int64 // pages visited, which cannot be more than the file has
	spill []byte
	row   Row
}

// blockBytes is read at once.
const blockBytes = 256 << 10

// page returns a page, valid until the next call.
func (r *reader) page(number uint32) ([]byte, error) {
	if number == 0 || int64(number) > r.d.pages {
		return nil, r.d.damaged(max(number, 1), "table %s refers to page %d of %d", r.t.Name, number, r.d.pages)
	}
	size := int64(r.d.pageSize)
	off := (int64(number) - 1) * size
	if off < r.from || off+size > r.from+int64(len(r.block)) {
		if r.block == nil {
			r.block = make([]byte, 0, min(r.d.pages*size, max(r.d.ahead, size)))
		}
		n := min(int64(cap(r.block)), r.d.pages*size-off)
		r.block, r.from = r.block[:n], off
		if got, err := r.d.src.ReadAt(r.block, off); int64(got) < n {
			r.block = r.block[:0]
			return nil, err
		}
	}
	return r.block[off-r.from:][:size], nil
}

// once counts a visited page.
func (r *reader) once(number uint32) error {
	if r.seen++; r.seen > r.d.pages {
		return r.d.damaged(number, "the pages of table %s refer to each other in circles", r.t.Name)
	}
	return nil
}

// The kinds of pages of a table.
const (
	interiorPage = 5
	leafPage     = 13
)

// cells returns the places of what a page holds. page begins with a header of the database on page 1, which head skips.
func (r *reader) cells(page []byte, number uint32) (kind byte, cells []byte, right uint32, err error) {
	head := 0
	if number == 1 {
		head = headerBytes
	}
	n := int(binary.BigEndian.Uint16(page[head+3:]))
	kind = page[head]
	first := head + 8
	if kind == interiorPage {
		right = binary.BigEndian.Uint32(page[head+8:])
		first += 4
	}
	if kind != interiorPage && kind != leafPage || first+2*n > r.d.usable {
		return 0, nil, 0, r.d.damaged(number, "page %d of table %s is of kind %d with %d cells", number, r.t.Name, kind, n)
	}
	return kind, page[first : first+2*n], right, nil
}

// walk visits the rows below a page.
func (r *reader) walk(ctx context.Context, number uint32, depth int, visit func(r *Row) error) error {
	if depth > maxDepth {
		return r.d.damaged(number, "table %s is more than %d pages deep", r.t.Name, maxDepth)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.once(number); err != nil {
		return err
	}
	page, err := r.page(number)
	if err != nil {
		return err
	}
	kind, cells, right, err := r.cells(page, number)
	if err != nil {
		return err
	}
	if kind == leafPage {
		return r.leaf(page, number, len(cells)/2, visit)
	}
	below := make([]uint32, 0, len(cells)/2+1)
	for ; len(cells) > 0; cells = cells[2:] {
		at := int(binary.BigEndian.Uint16(cells))
		if at+4 > r.d.usable {
			return r.d.damaged(number, "a cell of page %d lies behind its end", number)
		}
		below = append(below, binary.BigEndian.Uint32(page[at:]))
	}
	for _, child := range append(below, right) {
		if err := r.walk(ctx, child, depth+1, visit); err != nil {
			return err
		}
	}
	return nil
}

// leaf visits the rows of a page. A row that goes on on other pages moves the block that was read: the page is asked for anew.
func (r *reader) leaf(page []byte, number uint32, n int, visit func(r *Row) error) error {
	for i := range n {
		spilled, err := r.decode(page, number, i)
		if err != nil {
			return err
		}
		if err := visit(&r.row); err != nil {
			return err
		}
		if spilled {
			if page, err = r.page(number); err != nil {
				return err
			}
		}
	}
	return nil
}

// decode makes cell i of a page the row. spilled: it has read other pages.
func (r *reader) decode(page []byte, number uint32, i int) (spilled bool, err error) {
	first := 8
	if number == 1 {
		first += headerBytes
	}
	at := int(binary.BigEndian.Uint16(page[first+2*i:]))
	usable := page[:r.d.usable]
	size, n := varint(usable[min(at, len(usable)):])
	id, m := varint(usable[min(at+n, len(usable)):])
	if n == 0 || m == 0 || size > maxPayload {
		return false, r.d.damaged(number, "row %d of page %d has a length of %d bytes", i, number, size)
	}
	body := usable[at+n+m:]
	if local := r.local(int(size)); local < int(size) {
		if local+4 > len(body) {
			return false, r.d.damaged(number, "row %d of page %d ends behind it", i, number)
		}
		if body, err = r.overflow(body[:local], binary.BigEndian.Uint32(body[local:]), int(size)); err != nil {
			return true, err
		}
		spilled = true
	} else if int(size) > len(body) {
		return false, r.d.damaged(number, "row %d of page %d ends behind it", i, number)
	}
	r.row.ID, r.row.body = int64(id), body[:size]
	if !r.row.fieldsOf() {
		return spilled, r.d.damaged(number, "the values of row %d of page %d are longer than the row", i, number)
	}
	return spilled, nil
}

// local is how many bytes of a row of so many stand on its own page.
func (r *reader) local(size int) int {
	most := r.d.usable - 35
	if size <= most {
		return size
	}
	least := (r.d.usable-12)*32/255 - 23
	if n := least + (size-least)%(r.d.usable-4); n <= most {
		return n
	}
	return least
}

// overflow gathers a row that goes on on other pages.
func (r *reader) overflow(local []byte, next uint32, size int) ([]byte, error) {
	r.spill = append(r.spill[:0], local...)
	for len(r.spill) < size {
		if err := r.once(next); err != nil {
			return nil, err
		}
		page, err := r.page(next)
		if err != nil {
			return nil, err
		}
		part := page[4:r.d.usable]
		r.spill = append(r.spill, part[:min(len(part), size-len(r.spill))]...)
		next = binary.BigEndian.Uint32(page)
	}
	return r.spill, nil
}

// fieldsOf finds where the values of the row lie. Rows may have fewer than the table has columns, which were added later.
func (r *Row) fieldsOf() bool {
	head, n := varint(r.body)
	if n == 0 || head > uint64(len(r.body)) || head < uint64(n) {
		return false
	}
	at := int(head)
	types := r.body[n:head]
	r.fields = 0
	for len(types) > 0 && r.fields < len(r.at) {
		kind, n := varint(types)
		if n == 0 {
			return false
		}
		types = types[n:]
		r.at[r.fields], r.kind[r.fields] = int32(at), kind
		r.fields++
		if kind < 12 {
			at += sizes[kind]
		} else if length := (kind - 12) / 2; length <= maxPayload {
			at += int(length)
		} else {
			return false
		}
		if at > len(r.body) {
			return false
		}
	}
	return true
}

// sizes are the bytes of values that have one size.
var sizes = [12]int{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0}

// varint reads an integer of up to nine bytes, of which the first eight have seven bits each. n is 0 where it is cut.
func varint(b []byte) (v uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	for i := 0; i < len(b) && i < 8; i++ {
		v = v<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return v, i + 1
		}
	}
	if len(b) < 9 {
		return 0, 0
	}
	return v<<8 | uint64(b[8]), 9
}

// Null reports whether the row has no value in a column: column may be -1.
func (r *Row) Null(column int) bool {
	return column < 0 || column != r.rowID && (column >= r.fields || r.kind[column] == 0)
}

// Int returns an integer, 0 where there is none.
func (r *Row) Int(column int) int64 {
	if column < 0 || column >= r.fields {
		return 0
	}
	kind := r.kind[column]
	b := r.body[r.at[column]:]
	switch kind {
	case 0:
		if column == r.rowID {
			return r.ID
		}
	case 1:
		return int64(int8(b[0]))
	case 2:
		return int64(int16(binary.BigEndian.Uint16(b)))
	case 3:
		return int64(int8(b[0]))<<16 | int64(b[1])<<8 | int64(b[2])
	case 4:
		return int64(int32(binary.BigEndian.Uint32(b)))
	case 5:
		return int64(int16(binary.BigEndian.Uint16(b)))<<32 | int64(binary.BigEndian.Uint32(b[2:]))
	case 6:
		return int64(binary.BigEndian.Uint64(b))
	case 7:
		if v := math.Float64frombits(binary.BigEndian.Uint64(b)); v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	case 9:
		return 1
	}
	return 0
}

// Text returns a text or the bytes of a blob, nil where there is neither.
func (r *Row) Text(column int) []byte {
	if column < 0 || column >= r.fields || r.kind[column] < 12 {
		return nil
	}
	n := int(r.kind[column]-12) / 2
	return r.body[r.at[column]:][:n]
}
