package xspace

import (
	"context"

	"github.com/prlx-go/prlx/core/file"
)

// EventMeta is one entry of a plane's event metadata.
type EventMeta struct {
	ID             int64
	Name           string
	DisplayName    string
	Offset, Length int64   // of the message in the file
	Stats          []xStat // names resolved; values of statStr and statBytes are not read: Offset and Length say where they lie
}

// maxMetaStats is how many stats of one entry are kept.
const maxMetaStats = 4096

// EventMetadata visits the event metadata of a plane in stored order, with its stats. It is where profilers keep what belongs to
// a name and not to one event: the HLO proto of a compiled program, for one.
func EventMetadata(ctx context.Context, src *file.Source, p *Plane, visit func(*EventMeta) error) error {
	names, err := LoadStatNames(ctx, src, p, NameOptions{})
	if err != nil {
		return err
	}
	return walkTable(ctx, src, p, 4, p.eventNames, func(r *reader, id int64, value field) error {
		m := &EventMeta{ID: id, Offset: value.val, Length: value.length()}
		if err := r.eventMeta(value, m); err != nil {
			return err
		}
		for i := range m.Stats {
			m.Stats[i].resolve(names)
		}
		return visit(m)
	})
}

// eventMeta reads the fields of an XEventMetadata message: name = 2, display_name = 4, stats = 5.
func (r *reader) eventMeta(value field, m *EventMeta) error {
	for {
		f, ok, err := r.next(value.end)
		if err != nil || !ok {
			return err
		}
		switch {
		case f.is(2, wireLen):
			m.Name, err = r.text(f, maxTextLength)
		case f.is(4, wireLen):
			m.DisplayName, err = r.text(f, maxTextLength)
		case f.is(5, wireLen) && len(m.Stats) < maxMetaStats:
			var st xStat
			if st, err = r.rangedStat(f); err == nil {
				m.Stats = append(m.Stats, st)
			}
		}
		if err != nil {
			return err
		}
		r.skip(f)
	}
}

// rangedStat reads an XStat without its text or bytes.
func (r *reader) rangedStat(stat field) (xStat, error) {
	var st xStat
	for {
		f, ok, err := r.next(stat.end)
		if err != nil || !ok {
			return st, err
		}
		if f.is(1, wireVarint) {
			st.MetadataID = int64(f.v)
		} else if st.value(f.num, f.wire, f.v) && f.wire == wireLen {
			st.Offset, st.Length = f.val, f.length()
		}
		r.skip(f)
	}
}
