package format

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Three formats are protobuf messages whose field 1 is a list of messages: XSpace (planes), Perfetto's Trace (packets) and
// SnapshotPairs (pairs). What the first messages of the list hold tells them apart.

// maxMessages is how many messages of the list are looked at.
const maxMessages = 256

// Field numbers of a Perfetto TracePacket that no plane has, with their wire types. Numbers up to 6 are those of planes.
var packetFields = map[protowire.Number]protowire.Type{
	8: protowire.VarintType, 10: protowire.VarintType, 13: protowire.VarintType, 41: protowire.VarintType, 42: protowire.VarintType,
	58: protowire.VarintType, 79: protowire.VarintType, 87: protowire.VarintType, 98: protowire.VarintType, // timestamp, sequence id and flags, clock id, pid
	9: protowire.BytesType, 11: protowire.BytesType, 12: protowire.BytesType, 33: protowire.BytesType, 34: protowire.BytesType,
	35: protowire.BytesType, 36: protowire.BytesType, 45: protowire.BytesType, 50: protowire.BytesType, 59: protowire.BytesType,
	60: protowire.BytesType, 72: protowire.BytesType, 89: protowire.BytesType, 96: protowire.BytesType, // events, interned data, configuration, statistics, descriptors
}

// evidence counts what the messages of the list can be.
type evidence struct {
	named   int // a plane with a name
	planes  int // nothing that a plane cannot have
	packets int // holds fields of a packet and nothing that only a plane has
	pairs   int // two integers
	texts   int // errors, warnings and host names of an XSpace
	strange int // a field that none of the three has
}

func ofMessages(head []byte) Kind {
	e := gather(head)
	switch {
	case e.packets > 0 && e.packets >= e.named:
		return Perfetto
	case e.named > 0:
		return XSpace
	case e.pairs > 0 && e.planes == 0 && e.strange == 0:
		return PairsMessage
	case (e.planes > 0 || e.texts > 0) && e.pairs == 0 && e.strange == 0:
		return XSpace
	}
	return Binary
}

// gather walks the fields of the outer message; the last one may be cut off by the end of head.
func gather(head []byte) evidence {
	var e evidence
	for n := 0; len(head) > 0 && n < maxMessages; n++ {
		num, typ, m := protowire.ConsumeTag(head)
		if m < 0 {
			e.strange++
			return e
		}
		head = head[m:]
		if typ != protowire.BytesType {
			if m = protowire.ConsumeFieldValue(num, typ, head); m < 0 || num != 2 && !sampled(num) || typ != protowire.VarintType { // sampling_period_ns
				e.strange++
				return e
			}
			head = head[m:]
			continue
		}
		length, m := protowire.ConsumeVarint(head)
		if m < 0 {
			e.strange++
			return e
		}
		head = head[m:]
		whole := length <= uint64(len(head))
		body := head
		if whole {
			body = head[:length]
		}
		switch {
		case num == 1:
			e.message(body, whole)
		case num <= 4 && printable(body, whole):
			e.texts++
		case sampled(num):
		default:
			e.strange++
		}
		if !whole {
			return e
		}
		head = head[length:]
	}
	return e
}

// sampled reports whether a field is one that prlx adds to SnapshotPairs.
func sampled(num protowire.Number) bool { return num >= 16 && num <= 31 }

// message judges one message of the list.
func (e *evidence) message(b []byte, whole bool) {
	empty := len(b) == 0
	var plane, packet, other bool // fields that only the one has, or neither
	var first, second, name bool  // integers 1 and 2, a name
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			other = other || whole
			break
		}
		rest := b[n:]
		m := protowire.ConsumeFieldValue(num, typ, rest)
		switch {
		case num == 1 && typ == protowire.VarintType:
			first = true
		case num == 2 && typ == protowire.VarintType:
			second = true
		case num == 2 && typ == protowire.BytesType:
			v, k := protowire.ConsumeBytes(rest)
			name = name || k >= 0 && len(v) > 0 && printable(v, true)
			plane = plane || k >= 0 && printable(v, true)
		case num >= 3 && num <= 6 && typ == protowire.BytesType:
			plane = plane || num != 6 // 6 is a plane's stats and a packet's clocks
		case num == 3 && typ == protowire.VarintType, num == 1 && typ == protowire.BytesType: // trusted_uid, ftrace_events
			packet = true
		default:
			if want, ok := packetFields[num]; ok && want == typ {
				packet = true
			} else if num <= 6 {
				other = true
			}
		}
		if m < 0 {
			other = other || whole
			break
		}
		b = rest[m:]
	}
	switch {
	case other:
		e.strange++
	case packet && !name:
		e.packets++
	case first && second && !plane:
		e.pairs++
	case name && !packet:
		e.named++
		e.planes++
	case !packet && !second && !empty:
		e.planes++
	}
}

// printable reports whether bytes are text without control characters; the last character may be cut off where they are not whole.
func printable(b []byte, whole bool) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n <= 1:
			return !whole && !utf8.FullRune(b)
		case r < ' ' || r == 0x7f:
			return false
		}
		b = b[n:]
	}
	return true
}
