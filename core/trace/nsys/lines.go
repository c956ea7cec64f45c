package nsys

import (
	"context"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/sqlite"
)

// lines are the rows of one process by line: where they lie in the file, 8 bytes each.
type lines struct {
	t     *trace
	book  *book
	names *names
	of    [][]section // by line
}

// section is the rows of one table on one line.
type section struct {
	view   *view
	places []sqlite.Place
}

// Open goes through the tables once and notes where the rows of a process lie.
func (t *trace) Open(ctx context.Context, src *file.Source, p *source.Process, _ *source.Lost) (source.Lines, error) {
	b, err := open(ctx, src)
	if err != nil {
		return nil, err
	}
	l := &lines{t: t, book: b, of: make([][]section, len(p.Lines))}
	if l.names, err = b.names(ctx); err != nil {
		return nil, err
	}
	device := p.GPU >= 0
	for _, v := range b.views {
		if v.role.onDevice() != device {
			continue
		}
		found := make([]section, len(p.Lines))
		err := b.db.Read(ctx, v.table, func(r *sqlite.Row) error {
			spot, ok := t.Places[v.lane(r)]
			if _, _, timed := v.time(r); timed && ok && int(spot.Process) == p.Index && int(spot.Line) < len(found) {
				found[spot.Line].places = append(found[spot.Line].places, r.Place)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for i := range found {
			if found[i].view = v; len(found[i].places) > 0 {
				l.of[i] = append(l.of[i], found[i])
			}
		}
	}
	return l, nil
}

// Bytes is how much of the file a line takes, about.
func (l *lines) Bytes(line *source.Line) int64 { return line.Events * 100 }

// Line visits the events of one line, table by table.
func (l *lines) Line(ctx context.Context, line *source.Line, visit func(e *source.Event) error) error {
	one := &visited{}
	for _, s := range l.of[line.Index] {
		rows := l.book.db.Rows(s.view.table)
		for i, p := range s.places {
			if i%1024 == 0 && ctx.Err() != nil {
				return fault.FromIO(l.book.path, ctx.Err())
			}
			r, err := rows.At(p)
			if err != nil {
				return err
			}
			s.view.event(r, l.names, one)
			one.event.Line = int32(line.Index)
			if err := visit(&one.event); err != nil {
				return err
			}
		}
	}
	return nil
}
