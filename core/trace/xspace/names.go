package xspace

import (
	"context"
	"math"

	"github.com/prlx-go/prlx/core/file"
)

// names is a table of metadata names of one plane, by id.
type names struct {
	low     []int32 // index into text + 1, for small ids
	high    map[int64]int32
	text    []string
	Omitted int64 // entries that did not fit the limit
}

// NameOptions bounds LoadEventNames and LoadStatNames.
type NameOptions struct {
	IDs        map[int64]bool // only these; nil: all
	LimitBytes int64          // what the table may take, entries beyond are counted in Omitted; default 32 MiB
}

const (
	lowIDs           = 1 << 20
	defaultNameLimit = 32 << 20
)

// lookup returns the name of an id.
func (t *names) lookup(id int64) (string, bool) {
	var at int32
	if t == nil {
		return "", false
	}
	if id >= 0 && id < int64(len(t.low)) {
		at = t.low[id]
	} else if id < 0 || id >= lowIDs {
		at = t.high[id]
	}
	if at == 0 {
		return "", false
	}
	return t.text[at-1], true
}

// name returns the name of an id, "" when it is not in the table.
func (t *names) name(id int64) string {
	s, _ := t.lookup(id)
	return s
}

func (t *names) set(id int64, name string) {
	t.text = append(t.text, name)
	at := int32(len(t.text))
	if id < 0 || id >= lowIDs {
		if t.high == nil {
			t.high = make(map[int64]int32)
		}
		t.high[id] = at
		return
	}
	if id >= int64(len(t.low)) {
		grown := make([]int32, max(id+1, min(2*int64(len(t.low)), lowIDs)))
		copy(grown, t.low)
		t.low = grown
	}
	t.low[id] = at
}

// LoadEventNames reads the names of a plane's event metadata (what events point to with their MetadataID).
func LoadEventNames(ctx context.Context, src *file.Source, p *Plane, opt NameOptions) (*names, error) {
	return loadNames(ctx, src, p, 4, p.eventNames, opt)
}

// LoadStatNames reads the names of a plane's stat metadata: the names of stats and the values of references.
func LoadStatNames(ctx context.Context, src *file.Source, p *Plane, opt NameOptions) (*names, error) {
	return loadNames(ctx, src, p, 5, p.statNames, opt)
}

func loadNames(ctx context.Context, src *file.Source, p *Plane, num int, table extent, opt NameOptions) (*names, error) {
	if opt.LimitBytes <= 0 {
		opt.LimitBytes = defaultNameLimit
	}
	names := &names{}
	var held int64
	err := walkTable(ctx, src, p, num, table, func(r *reader, id int64, value field) error {
		if opt.IDs != nil && !opt.IDs[id] {
			return nil
		}
		name, err := r.metadataName(value)
		if err != nil {
			return err
		}
		if held += int64(len(name)) + textOverhead; held > opt.LimitBytes || len(names.text) == math.MaxInt32 {
			held -= int64(len(name)) + textOverhead
			names.Omitted++
			return nil
		}
		names.set(id, name)
		return nil
	})
	return names, err
}

// metadataName reads field 2 of an event or stat metadata message.
func (r *reader) metadataName(value field) (name string, err error) {
	for {
		f, ok, err := r.next(value.end)
		if err != nil || !ok {
			return name, err
		}
		if f.is(2, wireLen) {
			if name, err = r.text(f, maxTextLength); err != nil {
				return name, err
			}
		}
		r.skip(f)
	}
}

// walkTable visits the entries of a plane's map field num; value is the metadata message, at whose payload the reader stands.
// Later entries of the same key replace earlier ones, so visit must let the last one win.
func walkTable(ctx context.Context, src *file.Source, p *Plane, num int, table extent, visit func(r *reader, id int64, value field) error) error {
	r := newReader(ctx, src, place{plane: p.Index, line: -1, event: -1, part: tablePart(num)})
	r.seek(table.start)
	for {
		f, ok, err := r.next(table.end)
		if err != nil || !ok {
			return err
		}
		if f.is(num, wireLen) {
			id, value, err := r.entry(f)
			if err != nil {
				return err
			}
			r.seek(value.val)
			if err := visit(r, id, value); err != nil {
				return err
			}
		}
		r.skip(f)
	}
}

func tablePart(num int) string {
	if num == 4 {
		return "event metadata"
	}
	return "stat metadata"
}

// entry reads the key of a map entry and finds its value, which may come first. Without a value it is an empty message.
func (r *reader) entry(e field) (key int64, value field, err error) {
	value = field{val: e.end, end: e.end}
	for {
		f, ok, err := r.next(e.end)
		if err != nil || !ok {
			return key, value, err
		}
		switch {
		case f.is(1, wireVarint):
			key = int64(f.v)
		case f.is(2, wireLen):
			value = f
		}
		r.skip(f)
	}
}

// stat reads an XStat; at most limit bytes of a string or of bytes are kept, in memory of their own.
func (r *reader) stat(stat field, limit int) (st xStat, err error) {
	for {
		f, ok, err := r.next(stat.end)
		if err != nil || !ok {
			return st, err
		}
		if f.is(1, wireVarint) {
			st.MetadataID = int64(f.v)
		} else if st.value(f.num, f.wire, f.v) && f.wire == wireLen {
			st.Offset, st.Length = f.val, f.length()
			b, err := r.payload(f, limit)
			if err != nil {
				return st, err
			}
			st.Bytes = append([]byte(nil), b...)
		}
		r.skip(f)
	}
}

// each visits the entries, in no particular order.
func (t *names) each(visit func(id int64, name string)) {
	for id, at := range t.low {
		if at != 0 {
			visit(int64(id), t.text[at-1])
		}
	}
	for id, at := range t.high {
		visit(id, t.text[at-1])
	}
}
