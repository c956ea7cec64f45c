package chrometrace

import (
	"io"
	"unicode/utf8"
)

// What real producers write and strict JSON forbids is read (see Lenient), but not written: one NaN makes viewers refuse a merged file as a whole.
// In strings control characters become escapes, a backslash that escapes nothing is doubled, and a byte that is not UTF-8 becomes U+FFFD.
// NaN and infinities become null.

// strict makes text strict JSON. Text may come in pieces that end anywhere; flush ends it.
type strict struct {
	inString bool
	going    func(c byte) bool // what goes on with the number or the long word that the text has come to; nil: it is at none
	rest     []byte            // of the last piece: a word, an escape or a character that may go on
	notUTF8  int64             // bytes that were replaced
}

const longestRest = len("-Infinity")

// text appends the strict text of a piece to dst.
func (s *strict) text(dst, piece []byte) []byte {
	b := piece
	if len(s.rest) > 0 {
		b = append(s.rest, piece...)
		s.rest = nil
	}
	for i := 0; i < len(b); {
		var n int
		if s.inString {
			dst, n = s.insideString(dst, b[i:])
		} else {
			dst, n = s.outside(dst, b[i:])
		}
		if n == 0 { // what is there may go on in the next piece
			s.rest = append([]byte(nil), b[i:]...)
			return dst
		}
		i += n
	}
	return dst
}

// flush appends what waited for more.
func (s *strict) flush(dst []byte) []byte {
	if len(s.rest) == 0 {
		return dst
	}
	rest := append(s.rest, make([]byte, longestRest)...) // bytes that continue nothing
	n := len(s.rest)
	s.rest = nil
	for i := 0; i < n; {
		before := len(dst)
		var took int
		if s.inString {
			dst, took = s.insideString(dst, rest[i:])
		} else {
			dst, took = s.outside(dst, rest[i:])
		}
		if i+took > n { // a character that was cut
			return append(dst[:before], "\ufffd"...)
		}
		i += max(took, 1)
	}
	return dst
}

// outside takes text up to the next string or word, and returns how much it took; 0: a word that may go on.
func (s *strict) outside(dst, b []byte) ([]byte, int) {
	if s.going != nil { // up to its end, so that an exponent is no word
		n := 0
		for n < len(b) && s.going(b[n]) {
			n++
		}
		if n < len(b) {
			s.going = nil
		}
		if n > 0 {
			return append(dst, b[:n]...), n
		}
	}
	for i, c := range b {
		switch {
		case c == '"':
			s.inString = true
			return append(dst, b[:i+1]...), i + 1
		case c == '-' || isLetter(c):
			if i > 0 {
				return append(dst, b[:i]...), i
			}
			return s.word(dst, b)
		case '0' <= c && c <= '9':
			s.going = isNumber
			return append(dst, b[:i+1]...), i + 1
		}
	}
	return append(dst, b...), len(b)
}

func isNumber(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

func isLetter(c byte) bool { return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' }

// word takes a literal, or the minus of a number.
func (s *strict) word(dst, b []byte) ([]byte, int) {
	n := 1
	for n < len(b) && isLetter(b[n]) {
		n++
	}
	switch {
	case n < len(b) && notFinite(b[:n]):
		return append(dst, "null"...), n
	case n == len(b) && n <= longestRest:
		return dst, 0
	case n == len(b):
		s.going = isLetter
	}
	return append(dst, b[:n]...), n
}

// notFinite reports whether the text of a value is a spelling of a number that is not finite.
func notFinite(text []byte) bool {
	if len(text) > 0 && text[0] == '-' {
		text = text[1:]
	}
	switch string(text) {
	case "NaN", "nan", "Infinity", "inf":
		return true
	}
	return false
}

// insideString takes text up to the end of a string or to what has to be repaired, and returns how much it took; 0: an escape or a character
// that may go on.
func (s *strict) insideString(dst, b []byte) ([]byte, int) {
	i := 0
	for i < len(b) && b[i] >= ' ' && b[i] < utf8.RuneSelf && b[i] != '"' && b[i] != '\\' {
		i++
	}
	dst = append(dst, b[:i]...)
	if i > 0 {
		return dst, i
	}
	switch c := b[0]; {
	case c == '"':
		s.inString = false
		return append(dst, c), 1
	case c == '\\':
		return escape(dst, b)
	case c < ' ':
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15]), 1
	case !utf8.FullRune(b):
		return dst, 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 {
		s.notUTF8++
		return append(dst, "\ufffd"...), 1
	}
	return append(dst, b[:n]...), n
}

const hexDigits = "0123456789abcdef"

// escape takes an escape, or a backslash that begins none.
func escape(dst, b []byte) ([]byte, int) {
	if len(b) == 1 {
		return dst, 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return append(dst, b[:2]...), 2
	case 'u':
		for k := 2; k < 6; k++ {
			if k == len(b) {
				return dst, 0
			}
			if hexDigit(b[k]) < 0 {
				return append(dst, '\\', '\\'), 1
			}
		}
		return append(dst, b[:6]...), 6
	}
	return append(dst, '\\', '\\'), 1
}

// strictWriter writes strict text. A byte order mark at its begin is left out.
type strictWriter struct {
	w     io.Writer
	s     strict
	begun bool
	buf   []byte
}

// Write writes a piece.
func (w *strictWriter) Write(p []byte) (int, error) {
	text := p
	if !w.begun && len(p) > 0 {
		w.begun = true
		if len(p) >= 3 && string(p[:3]) == "\xef\xbb\xbf" {
			text = p[3:]
		}
	}
	w.buf = w.s.text(w.buf[:0], text)
	if _, err := w.w.Write(w.buf); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush writes what waited for more.
func (w *strictWriter) flush() error {
	_, err := w.w.Write(w.s.flush(nil))
	return err
}

// strictly calls write with a writer that makes its text strict, and counts what was not UTF-8.
func (t *trace) strictly(dst io.Writer, write func(w io.Writer) error) error {
	w := &strictWriter{w: dst}
	err := write(w)
	if err == nil {
		err = w.flush()
	}
	t.notUTF8 += w.s.notUTF8
	return err
}

// plain reports whether the scan met nothing that strict JSON forbids. Which bytes are UTF-8 it does not look at.
func (l *leniency) plain() bool { return l.ControlChars+l.BadEscapes+l.Literals == 0 }

// placeless reports whether the ts or the dur of an event is NaN or an infinity: it has no place on a line.
func (f *fields) placeless(b []byte) bool {
	return notFinite(f.at[fieldTS].of(b)) || notFinite(f.at[fieldDur].of(b))
}
