package xspace

import (
	"encoding/binary"
	"math/bits"
)

// Wire types of the protobuf encoding.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireLen     = 2
	wireFixed32 = 5
)

// maxVarint is the longest encoding of a 64-bit varint.
const maxVarint = 10

// pad is how many readable bytes must follow the valid part of a buffer, so that decoders may load whole words.
const pad = 64

// uvarint decodes the varint at b[i]. n is its length, 0 when it is longer than 64 bits. b must have pad bytes after its
// valid part; the caller checks that i+n does not pass the end of the message.
func uvarint(b []byte, i int) (v uint64, n int) {
	if c := b[i]; c < 0x80 {
		return uint64(c), 1
	}
	return uvarintLong(b, i)
}

// uvarintLong decodes eight bytes at a time: it finds the last byte of the varint and squeezes out the continuation bits.
func uvarintLong(b []byte, i int) (v uint64, n int) {
	x := binary.LittleEndian.Uint64(b[i:])
	m := ^x & 0x8080808080808080
	if m == 0 {
		return uvarintTail(b, i, x)
	}
	n = bits.TrailingZeros64(m)>>3 + 1
	return squeeze(x & (m ^ (m - 1))), n
}

// uvarintTail finishes a varint of nine or ten bytes whose first eight are x.
func uvarintTail(b []byte, i int, x uint64) (v uint64, n int) {
	v = squeeze(x)
	c := b[i+8]
	v |= uint64(c&0x7f) << 56
	if c < 0x80 {
		return v, 9
	}
	if c = b[i+9]; c > 1 {
		return 0, 0
	}
	return v | uint64(c)<<63, 10
}

// squeeze joins the low seven bits of each byte.
func squeeze(x uint64) uint64 {
	x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
	x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
	return x&0x000000000fffffff | x&0x0fffffff00000000>>4
}

// uvarintSize returns the length of the shortest encoding of v.
func uvarintSize(v uint64) int { return (bits.Len64(v|1)*9 + 64) >> 6 }

// putUvarint writes the shortest encoding of v at b[i] and returns the position after it. b must have pad bytes of room.
func putUvarint(b []byte, i int, v uint64) int {
	if v >= 1<<56 {
		return putLong(b, i, v)
	}
	n := uvarintSize(v)
	binary.LittleEndian.PutUint64(b[i:], spread(v)|continued[n&15])
	return i + n
}

func putLong(b []byte, i int, v uint64) int {
	for v >= 0x80 {
		b[i] = byte(v) | 0x80
		v >>= 7
		i++
	}
	b[i] = byte(v)
	return i + 1
}

// spread puts seven bits of v < 2^56 into each byte: a varint without its continuation bits.
func spread(v uint64) uint64 {
	v = v&0x000000000fffffff | v&0x00fffffff0000000<<4
	v = v&0x00003fff00003fff | v&0x0fffc0000fffc000<<2
	return v&0x007f007f007f007f | v&0x3f803f803f803f80<<1
}

// continued holds the continuation bits of a varint of n bytes.
var continued = [16]uint64{2: 0x80, 3: 0x8080, 4: 0x808080, 5: 0x80808080, 6: 0x8080808080, 7: 0x808080808080, 8: 0x80808080808080}

// copyShort copies b[from:to] to dst[i] in blocks of 16 bytes, which may overrun on both sides by less than pad, and
// returns the position after the copy.
func copyShort(dst []byte, i int, b []byte, from, to int) int {
	n := to - from
	if n > 256 {
		copy(dst[i:i+n], b[from:to])
		return i + n
	}
	for k := 0; k < n; k += 16 {
		copy16(dst[i+k:], b[from+k:])
	}
	return i + n
}

// copy16 copies 16 bytes through two words, which the compiler does not turn into a call.
func copy16(dst, b []byte) {
	from, to := (*[16]byte)(b), (*[16]byte)(dst)
	x, y := binary.LittleEndian.Uint64(from[:]), binary.LittleEndian.Uint64(from[8:])
	binary.LittleEndian.PutUint64(to[:], x)
	binary.LittleEndian.PutUint64(to[8:], y)
}

// appendTag, appendVarint and appendBytes build the few messages that edits add.
func appendTag(b []byte, num, wire int) []byte { return binary.AppendUvarint(b, uint64(num<<3|wire)) }

func appendVarint(b []byte, num int, v uint64) []byte {
	return binary.AppendUvarint(appendTag(b, num, wireVarint), v)
}

func appendBytes[T string | []byte](b []byte, num int, v T) []byte {
	return append(binary.AppendUvarint(appendTag(b, num, wireLen), uint64(len(v))), v...)
}
