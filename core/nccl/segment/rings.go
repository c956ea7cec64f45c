package segment

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

func anchor(b []byte) Anchor {
	return Anchor{u64(b, 0), i64(b, 8), i64(b, 16), i64(b, 24), u64(b, 32)}
}

// readAnchors takes those that are whole: the oldest makes room for the newest, and one may be written just now.
func (f *File) readAnchors(h []byte) error {
	return f.readRing(h, ring{"readings of the clocks", 80, 48, 216, f.soundAnchor}, func(e []byte) { f.Anchors = append(f.Anchors, anchor(e[8:])) })
}

func (f *File) readMasks(h []byte) error {
	return f.readRing(h, ring{"changes of what is recorded", 96, 32, 224, f.soundMask}, func(e []byte) {
		f.Masks = append(f.Masks, Mask{u64(e, 8), u32(e, 16), u32(e, 20), u32(e, 24)})
	})
}

// ring is a table whose oldest entries make room for new ones.
type ring struct {
	of                 string // what its entries are
	at, least, written int    // in the header: where it lies, of at least how many bytes an entry is, and how many were written
	sound              func(e []byte) bool
}

// readRing visits the entries of such a table by their numbers. Of a recording with checksums all that were written must be there. Of a process that
// records, what seems lost is looked for again.
func (f *File) readRing(h []byte, r ring, visit func(e []byte)) error {
	var there [][]byte
	var harm string
	before := u64(h, r.written)
	for try := range sameAgain {
		if try > 0 {
			time.Sleep(meanwhile)
		}
		var after uint64
		var err error
		if there, after, harm, err = f.ring(h, r, before); err != nil {
			return err
		}
		if harm == "" || f.State == Ended {
			break
		}
		before = after
	}
	for _, e := range there {
		visit(e)
	}
	if harm != "" {
		f.Harm = append(f.Harm, harm)
	}
	return nil
}

// ring is one try of readRing: the entries that are there, how many were written by the time that they had been read, and what is wrong with that. So
// many were written before. One is being written just now in the place of the oldest, perhaps.
func (f *File) ring(h []byte, r ring, before uint64) (there [][]byte, after uint64, harm string, err error) {
	used := before
	if f.Checked {
		used = mostTable // how many were written may be wrong, too
	}
	if err := f.table(h, r.at, r.least, used, func(e []byte) { there = append(there, e) }); err != nil || len(there) == 0 {
		return nil, 0, "", err
	}
	if after = before; f.State != Ended {
		var now [8]byte
		if err := f.fill(now[:], int64(r.written)); err != nil {
			return nil, 0, "", err
		}
		after = u64(now[:], 0)
	}
	size, last := uint64(len(there)), uint64(0)
	there = slices.DeleteFunc(there, func(e []byte) bool {
		n := u64(e, 0)
		return n == 0 || !f.Checked && n > before || !r.sound(e)
	})
	for _, e := range there {
		last = max(last, u64(e, 0))
	}
	there = slices.DeleteFunc(there, func(e []byte) bool { return u64(e, 0)+size <= last })
	slices.SortStableFunc(there, func(a, b []byte) int { return cmp.Compare(u64(a, 0), u64(b, 0)) })
	least := min(last, size)
	if last > size && f.State != Ended {
		least-- // the oldest may be making room
	}
	if visited := uint64(len(there)); f.Checked && (visited < least || last < before || last > after+1) {
		harm = fmt.Sprintf("of %d %s that were written %d are there", max(last, before), r.of, visited)
	}
	return there, after, harm, nil
}
