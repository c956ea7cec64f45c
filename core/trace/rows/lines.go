package rows

import (
	"context"
	"encoding/binary"
	"os"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

// spool is the events of a trace by line, in a temporary file that is gone with us: an event is the number of its name, start, duration, and
// its args as they are written.
type spool struct {
	disk   *os.File
	size   int64
	names  []string
	number map[string]uint64
	lines  map[spot]*spooled
	block  int // bytes of a line that are written at once
}

// spooled is one line of it.
type spooled struct {
	parts  []part
	buffer []byte
}

// part is a piece of a line in the file.
type part struct{ at, size int64 }

const (
	spoolMemory = 64 << 20 // for all lines together
	maxBlock    = 64 << 10
	maxNames    = 1 << 20 // that are numbered; others stand with their events
)

// events spools the events of all lines, once for all processes.
func (t *Trace) events(ctx context.Context, src *file.Source, lost *source.Lost) (*spool, error) {
	t.once.Lock()
	defer t.once.Unlock()
	if t.spooled != nil {
		return t.spooled, nil
	}
	disk, err := file.Unnamed() // closed when nobody refers to the trace any more
	if err != nil {
		return nil, err
	}
	s := &spool{disk: disk, number: map[string]uint64{}, lines: map[spot]*spooled{}, block: max(512, min(maxBlock, spoolMemory/max(1, len(t.Places))))}
	if err := t.visit(ctx, src, Ask{Args: true}, func(v visited) error { return s.add(v, lost) }); err != nil {
		disk.Close()
		return nil, err
	}
	for _, l := range s.lines {
		if err := s.flush(l); err != nil {
			disk.Close()
			return nil, err
		}
		l.buffer = nil
	}
	s.number, t.spooled = nil, s
	return s, nil
}

// add appends an event to its line.
func (s *spool) add(v visited, lost *source.Lost) error {
	l := s.lines[v.spot]
	if l == nil {
		l = &spooled{}
		s.lines[v.spot] = l
	}
	id, known := s.number[v.Name]
	if !known && len(s.names) < maxNames {
		s.names = append(s.names, v.Name)
		id, known = uint64(len(s.names)), true
		s.number[v.Name] = id
	}
	b := binary.AppendUvarint(l.buffer, id)
	if !known {
		b = append(binary.AppendUvarint(b, uint64(len(v.Name))), v.Name...)
	}
	b = binary.AppendUvarint(binary.AppendVarint(b, v.AtPS), uint64(v.DurPS))
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	if v.Args != nil {
		b = v.Args.AppendArgs(b, at+4, lost)
	}
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	if l.buffer = b; len(b) < s.block {
		return nil
	}
	return s.flush(l)
}

// flush writes what a line has in memory.
func (s *spool) flush(l *spooled) error {
	if len(l.buffer) == 0 {
		return nil
	}
	if _, err := s.disk.WriteAt(l.buffer, s.size); err != nil {
		return fault.FromIO(os.TempDir(), err).WithHint("set TMPDIR to a disk with more room: events are ordered by line there")
	}
	l.parts = append(l.parts, part{s.size, int64(len(l.buffer))})
	s.size += int64(len(l.buffer))
	l.buffer = l.buffer[:0]
	return nil
}

// lines are those of one process.
type lines struct {
	spool   *spool
	process int32
}

// Open brings the events of all lines into order, at its first call.
func (t *Trace) Open(ctx context.Context, src *file.Source, p *source.Process, lost *source.Lost) (source.Lines, error) {
	s, err := t.events(ctx, src, lost)
	return lines{s, int32(p.Index)}, err
}

// Bytes is how much of the file a line takes, about.
func (l lines) Bytes(line *source.Line) int64 { return line.Events * 100 }

// written is the args of an event, as they were spooled.
type written []byte

// AppendArgs appends them as members of a JSON object.
func (w *written) AppendArgs(dst []byte, open int, _ *source.Lost) []byte {
	if len(dst) > open && len(*w) > 0 {
		dst = append(dst, ',')
	}
	return append(dst, *w...)
}

// Line visits the events of one line in the order of the file.
func (l lines) Line(ctx context.Context, line *source.Line, visit func(e *source.Event) error) error {
	of := l.spool.lines[spot{l.process, int32(line.Index)}]
	if of == nil {
		return nil
	}
	var args written
	var block []byte
	e := &source.Event{}
	for _, p := range of.parts {
		if ctx.Err() != nil {
			return fault.FromIO(l.spool.disk.Name(), ctx.Err())
		}
		block = append(block[:0], make([]byte, p.size)...)
		if _, err := l.spool.disk.ReadAt(block, p.at); err != nil {
			return fault.FromIO(os.TempDir(), err)
		}
		for b := block; len(b) > 0; {
			id, n := binary.Uvarint(b)
			b = b[n:]
			var name string
			if id > 0 {
				name = l.spool.names[id-1]
			} else {
				size, n := binary.Uvarint(b)
				name, b = string(b[n:n+int(size)]), b[n+int(size):]
			}
			at, n := binary.Varint(b)
			b = b[n:]
			dur, n := binary.Uvarint(b)
			b = b[n:]
			size := binary.LittleEndian.Uint32(b)
			args, b = written(b[4:4+size]), b[4+size:]
			*e = source.Event{Process: l.process, Line: int32(line.Index), Name: name, OffsetPS: at, DurationPS: int64(dur), Timed: true, Count: 1, Args: &args}
			if err := visit(e); err != nil {
				return err
			}
		}
	}
	return nil
}
