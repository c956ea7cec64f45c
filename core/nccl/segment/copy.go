package segment

import (
	"context"
	"encoding/binary"
	"io"
	"time"
)

// Copied is what Copy wrote.
type Copied struct {
	Bytes    int64
	Segments int
	Retaken  int // segments that the recorder took again each time they were read; they are left empty
}

const copyTries = 4

// Copy writes the recording as it is now, and of one that was cut what there is. Of a process that goes on recording, each segment is one that was: what the recorder changes while
// it is read is read again. The head and the tables come last, so that they have whatever the segments refer to.
func (f *File) Copy(ctx context.Context, out io.WriterAt) (Copied, error) {
	if f.State == Making {
		return f.copyMaking(out)
	}
	c := Copied{Segments: f.segments, Bytes: f.offset + int64(f.segments)*f.size}
	buf := make([]byte, f.size)
	if there := int(max(0, (f.src.Size()-f.offset)/f.size)); c.Segments > there {
		c.Segments, c.Bytes = there, f.src.Size()
	}
	for i := range c.Segments {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		at := f.offset + int64(i)*f.size
		ok, err := f.still(buf, at)
		if err != nil {
			return c, err
		}
		if !ok {
			c.Retaken++
			clear(buf)
		}
		if _, err := out.WriteAt(buf, at); err != nil {
			return c, err
		}
	}
	if rest := f.offset + int64(c.Segments)*f.size; c.Bytes > rest { // the part of a segment that a cut left
		part := buf[:c.Bytes-rest]
		if err := f.fill(part, rest); err != nil {
			return c, err
		}
		if _, err := out.WriteAt(part, rest); err != nil {
			return c, err
		}
	}
	tables := min(f.offset, c.Bytes) // a cut may have left less than lies before the first segment
	for at := int64(0); at < tables; at += f.size {
		part := buf[:min(f.size, tables-at)]
		if err := f.fill(part, at); err != nil {
			return c, err
		}
		if at == 0 {
			binary.LittleEndian.PutUint32(part[40:], uint32(f.segments)) // there may be more by now
			binary.LittleEndian.PutUint64(part[atOpened:], f.Opened)
		}
		if _, err := out.WriteAt(part, at); err != nil {
			return c, err
		}
	}
	return c, nil
}

// still reads a segment; false where it was taken again each time. One that seems damaged is read again, as read does.
func (f *File) still(buf []byte, at int64) (bool, error) {
	var now [8]byte
	same := false
	for try := range copyTries {
		if try > 0 && same {
			time.Sleep(meanwhile)
		}
		if err := f.fill(buf, at); err != nil {
			return false, err
		}
		if err := f.fill(now[:], at+8); err != nil {
			return false, err
		}
		if same = u64(buf, 8) == binary.LittleEndian.Uint64(now[:]); !same {
			continue
		}
		s := f.segment(0, buf)
		if _, what := f.trust(&s, buf[:segmentHead+s.Slots*slotBytes]); what != corrupt || f.State == Ended {
			break
		}
	}
	return same, nil
}

// copyMaking copies a file that is being made, of which nothing counts.
func (f *File) copyMaking(out io.WriterAt) (Copied, error) {
	buf := make([]byte, 1<<16)
	for at := int64(0); at < f.src.Size(); at += int64(len(buf)) {
		part := buf[:min(int64(len(buf)), f.src.Size()-at)]
		if err := f.fill(part, at); err != nil {
			return Copied{}, err
		}
		if _, err := out.WriteAt(part, at); err != nil {
			return Copied{}, err
		}
	}
	return Copied{Bytes: f.src.Size()}, nil
}
