package fatbinary

import "errors"

var errLZ4 = errors.New("the compressed text is damaged")

const shortestMatch = 4

// inflateLZ4 inflates one block of LZ4 to n bytes: sequences of literals, each followed by a match further up.
func inflateLZ4(b []byte, n int) ([]byte, error) {
	out := make([]byte, 0, min(n, 256*len(b))) // a block inflates by 255 at most
	for len(b) > 0 {
		token := b[0]
		literals, rest, ok := length(int(token>>4), b[1:])
		if !ok || literals > len(rest) || literals > n-len(out) {
			return nil, errLZ4
		}
		out, b = append(out, rest[:literals]...), rest[literals:]
		if len(b) == 0 {
			break // the last sequence has no match
		}
		if len(b) < 2 {
			return nil, errLZ4
		}
		back := int(b[0]) | int(b[1])<<8
		match, rest, ok := length(int(token&15), b[2:])
		match += shortestMatch
		if !ok || back == 0 || back > len(out) || match > n-len(out) {
			return nil, errLZ4
		}
		for range match { // bytes may be copied that this match wrote
			out = append(out, out[len(out)-back])
		}
		b = rest
	}
	if len(out) != n {
		return nil, errLZ4
	}
	return out, nil
}

// length is a length that begins in a token and goes on in bytes of which the last is not 255.
func length(n int, b []byte) (int, []byte, bool) {
	if n < 15 {
		return n, b, true
	}
	for i, v := range b {
		n += int(v)
		if v != 255 {
			return n, b[i+1:], true
		}
	}
	return 0, nil, false
}
