package xspace

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// eventFields are the top-level fields of one event that matter to time. Positions are into the buffer it was parsed from.
type eventFields struct {
	metadata int64
	off, dur int64 // offset_ps and duration_ps; 0 when absent
	num      int64 // num_occurrences
	// offPos and durPos are where the last occurrence of the value begins, 0 when there is none (a tag precedes a value, so 0 is
	// free); offEnd and durEnd where it ends.
	offPos, offEnd int
	durPos, durEnd int
	aggregated     bool // num_occurrences came last of the two
}

// wireFault says what is wrong with a message, and where in the buffer.
type wireFault struct {
	pos  int
	what string
}

// payload reads the length at b[i] and returns where the message begins and ends; end is -1 when the length is no varint of 64 bits
// or no message of this file.
func payload(b []byte, i int) (begin, end int) {
	if c := b[i]; c < 0x80 {
		return i + 1, i + 1 + int(c)
	}
	v, n := uvarintLong(b, i)
	if n == 0 || v > segmentSize {
		return i + n, -1
	}
	return i + n, i + n + int(v)
}

const highBits = 0x8080808080808080

// parseUsual reads an event as nearly all are: metadata_id, offset_ps and duration_ps, once each and in this order, none longer
// than eight bytes, and then nothing but stats of less than 128 bytes. Any other event, damaged ones too, is left to parseEvent.
// The metadata id is left out: it is the varint at b[i+1].
func parseUsual(b []byte, i, end int, ev *eventFields) bool {
	b = b[:end+pad]
	x := binary.LittleEndian.Uint64(b[i:]) // tag and metadata_id
	stop := ^x & (highBits &^ 0xff)
	off := i + 2 + bits.TrailingZeros64(stop)>>3 // after the varint and the next tag
	y := binary.LittleEndian.Uint64(b[off:])
	stopY := ^y & highBits
	dur := off + 2 + bits.TrailingZeros64(stopY)>>3
	z := binary.LittleEndian.Uint64(b[dur:])
	stopZ := ^z & highBits
	j := dur + 1 + bits.TrailingZeros64(stopZ)>>3
	if stop == 0 || stopY == 0 || stopZ == 0 || byte(x) != 1<<3|wireVarint || b[off-1] != 2<<3|wireVarint || b[dur-1] != 3<<3|wireVarint {
		return false
	}
	ev.off, ev.offPos, ev.offEnd = int64(squeeze(y&(stopY^(stopY-1)))), off, dur-1
	ev.dur, ev.durPos, ev.durEnd = int64(squeeze(z&(stopZ^(stopZ-1)))), dur, j
	ev.aggregated = false
	for j < end {
		head := binary.LittleEndian.Uint16(b[j:])
		if head&0x80ff != 4<<3|wireLen {
			return false
		}
		j += 2 + int(head>>8)
	}
	return j == end
}

// parseEvent reads the event in b[i:end]. b must have pad bytes after end.
func parseEvent(b []byte, i, end int, ev *eventFields) *wireFault {
	*ev = eventFields{}
	for i < end {
		var n int
		var v uint64
		start := i
		i++
		switch b[start] {
		case 1<<3 | wireVarint:
			v, n = uvarint(b, i)
			ev.metadata = int64(v)
		case 2<<3 | wireVarint:
			v, n = uvarint(b, i)
			ev.off, ev.offPos, ev.offEnd, ev.aggregated = int64(v), i, i+n, false
		case 3<<3 | wireVarint:
			v, n = uvarint(b, i)
			ev.dur, ev.durPos, ev.durEnd = int64(v), i, i+n
		case 4<<3 | wireLen:
			v, n = uvarint(b, i)
			if i+n > end || v > uint64(end-i-n) {
				return lengthFault(start, n)
			}
			i += int(v)
		case 5<<3 | wireVarint:
			v, n = uvarint(b, i)
			ev.num, ev.aggregated = int64(v), true
		default:
			next, bad := parseOther(b, start, end, ev)
			if bad != nil {
				return bad
			}
			i, n = next-1, 1
		}
		if n == 0 {
			return &wireFault{start, "a varint is longer than 64 bits"}
		}
		i += n
	}
	if i != end {
		return &wireFault{end, "a field is cut off by the end of its message"}
	}
	return nil
}

func lengthFault(pos, n int) *wireFault {
	if n == 0 {
		return &wireFault{pos, "a length is longer than 64 bits"}
	}
	return &wireFault{pos, "a field claims more bytes than its message has left"}
}

// parseOther reads a field that the fast loop does not know: an unknown one, or a known one with a tag in more bytes than it
// needs. It returns the position after the field.
func parseOther(b []byte, start, end int, ev *eventFields) (int, *wireFault) {
	t, bad := parseTag(b, start, end)
	if bad != nil {
		return 0, bad
	}
	if t.wire == wireVarint {
		v, i, e := int64(t.v), t.val, t.end
		switch t.num {
		case 1:
			ev.metadata = v
		case 2:
			ev.off, ev.offPos, ev.offEnd, ev.aggregated = v, i, e, false
		case 3:
			ev.dur, ev.durPos, ev.durEnd = v, i, e
		case 5:
			ev.num, ev.aggregated = v, true
		}
	}
	return t.end, nil
}

// span is one field in a buffer.
type span struct {
	num, wire int
	start     int // of the tag
	afterTag  int
	val, end  int // of the value
	v         uint64
}

// parseTag reads the field at b[start:end] whatever it is.
func parseTag(b []byte, start, end int) (s span, bad *wireFault) {
	tag, n := uvarint(b, start)
	s.start, s.afterTag = start, start+n
	if n == 0 || s.afterTag > end {
		return s, &wireFault{start, "a field tag is cut off or longer than 64 bits"}
	}
	if tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return s, &wireFault{start, fmt.Sprintf("field number %d is not valid", tag>>3)}
	}
	s.num, s.wire, s.val = int(tag>>3), int(tag&7), s.afterTag
	switch s.wire {
	case wireVarint:
		s.v, n = uvarint(b, s.val)
		s.end = s.val + n
	case wireFixed64:
		s.end = s.val + 8
	case wireFixed32:
		s.end = s.val + 4
	case wireLen:
		s.v, n = uvarint(b, s.val)
		s.val += n
		if n == 0 || s.val > end || s.v > uint64(end-s.val) {
			return s, lengthFault(start, n)
		}
		s.end = s.val + int(s.v)
		return s, nil
	default:
		return s, &wireFault{start, fmt.Sprintf("field %d has wire type %d, which no XSpace uses", s.num, s.wire)}
	}
	if s.end > end || n == 0 {
		return s, &wireFault{start, fmt.Sprintf("field %d is cut off by the end of its message", s.num)}
	}
	return s, nil
}
