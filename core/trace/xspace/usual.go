package xspace

import (
	"encoding/binary"
	"math/bits"

	"github.com/prlx-go/prlx/core/trace/clock"
)

// A usual event begins with metadata_id, offset_ps and duration_ps, once each and in this order, none longer than eight bytes; behind
// them come stats. Nearly all events are usual. They are read, mapped and written some at a time, so that each of these is a short
// loop; of the rest of an event nothing is looked at but its length.

// batchEvents is how many events are taken at a time: what is known of them fits the first-level cache together with their bytes.
const batchEvents = 128

// usualBatch are usual events that follow one another in a buffer.
type usualBatch struct {
	n        int
	place    [batchEvents + 1]usualPlace // and where the last one ends
	off, dur [batchEvents]int64          // in ps, as stored

	newOff, newDur [batchEvents]int64
}

// usualPlace says where an event begins in the buffer and, from there, its fields: 32 bits of the one, 8 of each of the others.
type usualPlace uint64

func placeOf(begin, head, off, dur, rest int) usualPlace {
	return usualPlace(uint32(begin)) | usualPlace(head)<<32 | usualPlace(off)<<40 | usualPlace(dur)<<48 | usualPlace(rest)<<56
}

func (p usualPlace) begin() int { return int(uint32(p)) }
func (p usualPlace) head() int  { return int(p >> 32 & 0xff) } // bytes of tag and length
func (p usualPlace) off() int   { return int(p >> 40 & 0xff) } // value of offset_ps
func (p usualPlace) dur() int   { return int(p >> 48 & 0xff) } // tag of duration_ps
func (p usualPlace) rest() int  { return int(p >> 56) }        // stats

// read takes the usual events in b[i:n] up to the first other field, or as many as fit, and returns where it stopped. Whether other
// fields than stats come behind duration_ps it does not look.
func (u *usualBatch) read(b []byte, i, n int) int {
	b = b[:n+pad]
	k := 0
	for ; k < batchEvents && i < n; k++ {
		w := (*[pad]byte)(b[i:])
		head, length := 2, int(w[1])
		if length >= 0x80 {
			if w[2] >= 0x80 {
				break
			}
			head, length = 3, length&0x7f|int(w[2])<<7
		}
		// The masks change nothing; they show the compiler that no position leaves the window.
		x := binary.LittleEndian.Uint64(w[head:]) // tag and metadata_id
		stop := ^x & (highBits &^ 0xff)
		off := head + 2 + bits.TrailingZeros64(stop)>>3 // after the varint and the next tag
		y := binary.LittleEndian.Uint64(w[off&15:])
		stopY := ^y & highBits
		dur := off + 1 + bits.TrailingZeros64(stopY)>>3
		z := binary.LittleEndian.Uint64(w[(dur+1)&31:])
		stopZ := ^z & highBits
		rest := dur + 2 + bits.TrailingZeros64(stopZ)>>3
		to := i + head + length
		if w[0] != 4<<3|wireLen || byte(x) != 1<<3|wireVarint || w[(off-1)&15] != 2<<3|wireVarint || w[dur&31] != 3<<3|wireVarint ||
			stop == 0 || stopY == 0 || stopZ == 0 || i+rest > to || to > n {
			break
		}
		u.place[k] = placeOf(i, head, off, dur, rest)
		u.off[k] = int64(squeeze(y & (stopY ^ (stopY - 1))))
		u.dur[k] = int64(squeeze(z & (stopZ ^ (stopZ - 1))))
		i = to
	}
	u.n, u.place[k] = k, placeOf(i, 0, 0, 0, 0)
	return i
}

// stats reports of how many events, from the first, nothing but stats of less than 128 bytes come behind duration_ps.
func (u *usualBatch) stats(b []byte) int {
	for k := range u.n {
		j, end := u.place[k].begin()+u.place[k].rest(), u.place[k+1].begin()
		for j < end {
			head := binary.LittleEndian.Uint16(b[j:])
			if head&0x80ff != 4<<3|wireLen {
				return k
			}
			j += 2 + int(head>>8)
		}
		if j != end {
			return k
		}
	}
	return u.n
}

// onlyMaps reports whether the edit does nothing to events but map and watch them.
func (t *transform) onlyMaps() bool { return t.keepAll && t.stats.none() }

// mapBatch maps the events of a batch.
func (t *transform) mapBatch(u *usualBatch) {
	t.counts.Events += int64(u.n)
	if t.cursor == nil {
		u.newOff, u.newDur = u.off, u.dur
		t.tell(u, 0, u.n)
		return
	}
	t.counts.Mapped += int64(u.n)
	for k := 0; k < u.n; {
		from, s := k, t.cursor.Stretch(u.off[k])
		if k = u.mapBy(&s, from); k == from {
			t.mapOne(u, from)
			k++
		}
		if t.observe != nil {
			t.seen.Bounds = t.cursor.Bounds(u.off[from])
			t.tell(u, from, k)
		}
	}
}

// mapBy maps the events from one on that a stretch holds, from begin to end, and returns where it stopped.
func (u *usualBatch) mapBy(s *clock.Stretch, from int) int {
	stretch, k := *s, from
	for ; k < u.n; k++ {
		off, end := u.off[k], u.off[k]+u.dur[k]
		if !stretch.Holds(off) || !stretch.Holds(end) {
			break
		}
		at := stretch.Map(off)
		u.newOff[k], u.newDur[k] = at, stretch.Map(end)-at
	}
	return k
}

// mapOne maps an event that begins and ends in different intervals of the map, or saturates.
func (t *transform) mapOne(u *usualBatch, k int) {
	off, dur := u.off[k], u.dur[k]
	at := t.cursor.Map(off)
	if u.newOff[k], u.newDur[k] = at, 0; dur == 0 {
		return
	}
	end := t.cursor.Map(off + dur)
	if dur = end - at; dur < 0 { // ends do not come before starts: the difference does not fit
		t.counts.Saturated++
		dur = subSat(end, at)
	}
	u.newDur[k] = dur
}

// tell shows events of a batch to the watcher.
func (t *transform) tell(u *usualBatch, from, to int) {
	if t.observe != nil && from < to {
		t.seen.OldPS, t.seen.NewPS = u.off[from:to], u.newOff[from:to]
		t.observe(&t.seen)
	}
}

// grown returns how many bytes longer the events become, and counts those that move.
func (u *usualBatch) grown(c *counts) (bytes int) {
	for k := range u.n {
		p, grow := u.place[k], 0
		if u.newOff[k] != u.off[k] {
			c.Moved++
			grow = uvarintSize(uint64(u.newOff[k])) - (p.dur() - p.off())
		}
		if u.newDur[k] != u.dur[k] {
			grow += uvarintSize(uint64(u.newDur[k])) - (p.rest() - p.dur() - 1)
		}
		if grow != 0 {
			old := u.place[k+1].begin() - p.begin()
			bytes += eventSize(old-p.head()+grow) - old
		}
	}
	return bytes
}

// most is how many bytes the events can take when they are written.
func (u *usualBatch) most() int64 {
	return int64(u.place[u.n].begin()-u.place[0].begin()) + int64(u.n)*(2*maxVarint+2)
}

// emit writes the events of b at dst[o], counts those that move, and returns the position after them. dst has room for most bytes and
// the slack.
func (u *usualBatch) emit(dst []byte, o int, b []byte, c *counts) int {
	for k := range u.n {
		p, off, dur := u.place[k], u.newOff[k], u.newDur[k]
		if off != u.off[k] {
			c.Moved++
		}
		i, to := p.begin(), u.place[k+1].begin()
		offSize, durSize := uvarintSize(uint64(off)), uvarintSize(uint64(dur))
		offGrown, durGrown := offSize-(p.dur()-p.off()), durSize-(p.rest()-p.dur()-1)
		if uint64(off|dur)>>56 != 0 || offGrown != 0 && off == u.off[k] || durGrown != 0 && dur == u.dur[k] {
			o = u.emitOne(dst, o, b, k) // too long, or stored in more bytes than it takes and not changed
			continue
		}
		from, d := (*[pad]byte)(b[i:]), (*[pad]byte)(dst[o:])
		*(*[16]byte)(d[:16]) = *(*[16]byte)(from[:16]) // all before offset_ps
		at := p.off() & 15
		binary.LittleEndian.PutUint64(d[at:], spread(uint64(off))|continued[offSize&15])
		at += offSize & 15
		d[at] = 3<<3 | wireVarint
		binary.LittleEndian.PutUint64(d[at+1:], spread(uint64(dur))|continued[durSize&15])
		at += 1 + durSize&15
		*(*[16]byte)(d[at:]) = *(*[16]byte)(from[p.rest()&31:])
		begin := o
		o += at
		if stats := i + p.rest(); to-stats > 16 {
			copyShort(dst, o+16, b, stats+16, to)
		}
		o += to - i - p.rest()
		if offGrown+durGrown != 0 {
			o = fixLength(dst, begin, p.head(), o)
		}
	}
	return o
}

// emitOne writes one event of the batch, whatever its values: what did not change as it is stored.
func (u *usualBatch) emitOne(dst []byte, o int, b []byte, k int) int {
	p, off, dur := u.place[k], u.newOff[k], u.newDur[k]
	begin, i, to := o, p.begin(), u.place[k+1].begin()
	o = copyShort(dst, o, b, i, i+p.off())
	if off != u.off[k] {
		o = putUvarint(dst, o, uint64(off))
	} else {
		o = copyShort(dst, o, b, i+p.off(), i+p.dur())
	}
	if dur != u.dur[k] {
		dst[o] = 3<<3 | wireVarint
		o = putUvarint(dst, o+1, uint64(dur))
	} else {
		o = copyShort(dst, o, b, i+p.dur(), i+p.rest())
	}
	if o = copyShort(dst, o, b, i+p.rest(), to); o-begin != to-i {
		o = fixLength(dst, begin, p.head(), o)
	}
	return o
}

// fixLength writes the length of the message that begins head bytes behind dst[begin] and ends at o; it may move it.
func fixLength(dst []byte, begin, head, o int) int {
	n := o - begin - head
	if head == 2 && n < 0x80 {
		dst[begin+1] = byte(n)
		return o
	}
	if grow := 1 + uvarintSize(uint64(n)) - head; grow != 0 {
		copy(dst[begin+head+grow:o+grow], dst[begin+head:o])
		o += grow
	}
	putLong(dst, begin+1, uint64(n)) // putUvarint writes beyond the length
	return o
}
