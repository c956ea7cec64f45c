package xspace

import (
	"encoding/binary"
	"math/bits"
)

// usual reports whether a segment may go through usualEvents: Scan found nothing but usual events in it, and the edit does nothing
// but map them.
func (t *transform) usual(seg *segment) bool {
	return seg.usual && t.cursor != nil && t.keepAll && !t.hasStat
}

// usualEvents does what fields does for a usual segment. It reads of each event what changes, offset_ps and duration_ps, and
// copies the rest unread: most of the bytes of most files go through here.
func (e *emitter) usualEvents(p piece, seg *segment, b []byte) error {
	t, n := e.t, int(seg.n)
	dst, o := e.out, e.n
	for i := 0; i < n; {
		to := i + 2 + int(b[i+1])
		x := binary.LittleEndian.Uint64(b[i+2:]) // tag and metadata_id
		stop := ^x & (highBits &^ 0xff)
		off := i + 4 + bits.TrailingZeros64(stop)>>3 // where offset_ps begins
		y := binary.LittleEndian.Uint64(b[off:])
		stop = ^y & highBits
		dur := off + 2 + bits.TrailingZeros64(stop)>>3 // where duration_ps begins
		z := binary.LittleEndian.Uint64(b[dur:])
		stopZ := ^z & highBits
		rest := dur + 1 + bits.TrailingZeros64(stopZ)>>3 // where the stats begin
		if rest > to || to > n || b[i] != 4<<3|wireLen || b[off-1] != 2<<3|wireVarint || b[dur-1] != 3<<3|wireVarint {
			return changed(e.src, p.ref, seg.off+int64(i))
		}
		oldOff, oldDur := int64(squeeze(y&(stop^(stop-1)))), int64(squeeze(z&(stopZ^(stopZ-1))))
		t.off, t.dur = oldOff, oldDur
		t.mapUsual()
		if t.observe != nil {
			t.observe(oldOff, t.off, t.boundNS, t.coverage)
		}
		if o+2*maxVarint+(to-i)+emitSlack > len(dst) {
			e.n = o
			if err := e.room(int64(to - i + 2*maxVarint)); err != nil {
				return err
			}
			dst, o = e.out, e.n
		}
		begin := o
		o = copyShort(dst, o, b, i, off)
		if t.off != oldOff {
			t.counts.Moved++
			o = putUvarint(dst, o, uint64(t.off))
		} else {
			o = copyShort(dst, o, b, off, dur-1)
		}
		if t.dur != oldDur {
			dst[o] = 3<<3 | wireVarint
			o = putUvarint(dst, o+1, uint64(t.dur))
		} else {
			o = copyShort(dst, o, b, dur-1, rest)
		}
		o = copyShort(dst, o, b, rest, to)
		if grown := o - begin - 2; grown < 0x80 {
			dst[begin+1] = byte(grown)
		} else { // one more byte of length
			copy(dst[begin+3:o+1], dst[begin+2:o])
			dst[begin+1], dst[begin+2] = byte(grown)|0x80, byte(grown>>7)
			o++
		}
		i = to
	}
	e.n = o
	return nil
}

// mapUsual maps an event whose end fits an int64.
func (t *transform) mapUsual() {
	t.counts.Events++
	t.counts.Mapped++
	end := t.off + t.dur
	if t.observe != nil {
		t.off, t.boundNS, t.coverage = t.cursor.Sample(t.off)
	} else {
		t.off = t.cursor.Map(t.off)
	}
	if t.dur == 0 {
		return
	}
	end = t.cursor.Map(end)
	if t.dur = end - t.off; t.dur < 0 { // ends do not come before starts: the difference does not fit
		t.counts.Saturated++
		t.dur = subSat(end, t.off)
	}
}
