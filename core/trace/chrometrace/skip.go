package chrometrace

import (
	"encoding/binary"
	"math/bits"
)

// skipper finds the end of a container without looking at what is in it: it counts one kind of bracket outside of strings, eight
// bytes at a time where none is near. Run may be called again with the bytes that follow.
type skipper struct {
	open, close byte
	depth       int
	inString    bool
	escaped     bool
}

// skipFrom returns a skipper for the container whose opening bracket is c.
func skipFrom(c byte) skipper {
	if c == '[' {
		return skipper{open: '[', close: ']'}
	}
	return skipper{open: '{', close: '}'}
}

// run skips from i and returns the index behind the bracket that brings the depth to 0, or incomplete after it has taken all of b.
func (k *skipper) run(b []byte, i int) int {
	open, shut := uint64(k.open)*lowBits, uint64(k.close)*lowBits
	var quoted uint64 // 1 inside of a string
	if k.inString {
		quoted = 1
	}
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		s, o, c := x^slashes, x^open, x^shut
		if ((s-lowBits)&^s|(o-lowBits)&^o|(c-lowBits)&^c)&highBits == 0 && !k.escaped {
			q := x ^ quotes
			q = ^((q&^uint64(highBits) + ^uint64(highBits)) | q) & highBits // exact, unlike the test above
			quoted ^= uint64(bits.OnesCount64(q)) & 1
			i += 8
			continue
		}
		k.inString = quoted == 1
		end := k.step(b, i, i+8)
		if end >= 0 {
			return end
		}
		if quoted = 0; k.inString {
			quoted = 1
		}
		i += 8
	}
	k.inString = quoted == 1
	return k.step(b, i, len(b))
}

// step is run byte by byte over b[i:end].
func (k *skipper) step(b []byte, i, end int) int {
	for ; i < end; i++ {
		c := b[i]
		switch {
		case k.escaped:
			k.escaped = false
		case c == '"':
			k.inString = !k.inString
		case k.inString:
			k.escaped = c == '\\'
		case c == k.open:
			k.depth++
		case c == k.close:
			if k.depth--; k.depth <= 0 {
				return i + 1
			}
		}
	}
	return incomplete
}
