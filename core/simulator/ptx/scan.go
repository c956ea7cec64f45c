package ptx

import (
	"math"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// scanner walks over the text. After the first error it stands at the end, so that every loop over the text ends by itself.
type scanner struct {
	name string // of the text, for errors
	text string
	pos  int
	line int
	err  error
	asm  bool // between "// begin inline asm" and "// end inline asm"
	asms int32
}

const hint = "the reader knows PTX as Triton and clang print it; a file that was edited or cut is not"

// fail notes the first error.
func (s *scanner) fail(line int, format string, args ...any) {
	if s.err == nil {
		s.err = fault.Linef(s.name, line, format, args...).WithHint(hint)
	}
	s.pos = len(s.text)
}

// refuse is fail for what is PTX but more than the reader reads.
func (s *scanner) refuse(line int, kind fault.Kind, format string, args ...any) {
	if s.err == nil {
		e := fault.New(kind, format, args...)
		e.Path, e.Line = s.name, line
		s.err = e
	}
	s.pos = len(s.text)
}

// skip passes white space and comments, and notices where inline assembly begins and ends.
func (s *scanner) skip() {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == '\n':
			s.line++
			s.pos++
		case c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f':
			s.pos++
		case c == '/' && strings.HasPrefix(s.text[s.pos:], "//"):
			s.marker(strings.TrimSpace(s.restOfLine()[2:]))
		case c == '/' && strings.HasPrefix(s.text[s.pos:], "/*"):
			n := strings.Index(s.text[s.pos+2:], "*/")
			if n < 0 {
				s.fail(s.line, "the comment has no end")
				return
			}
			s.line += strings.Count(s.text[s.pos:s.pos+2+n], "\n")
			s.pos += n + 4
		default:
			return
		}
	}
}

func (s *scanner) marker(comment string) {
	switch comment {
	case "begin inline asm":
		if !s.asm {
			s.asm = true
			s.asms++
		}
	case "end inline asm":
		s.asm = false
	}
}

// restOfLine takes what is left of the line, without its end.
func (s *scanner) restOfLine() string {
	rest := s.text[s.pos:]
	if n := strings.IndexByte(rest, '\n'); n >= 0 {
		rest = rest[:n]
	}
	s.pos += len(rest)
	return rest
}

// peek is the next character that is not space, 0 at the end.
func (s *scanner) peek() byte {
	s.skip()
	if s.pos >= len(s.text) {
		return 0
	}
	return s.text[s.pos]
}

// accept takes a character if it comes next.
func (s *scanner) accept(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

// expect takes a character that must come next.
func (s *scanner) expect(c byte, after string) bool {
	if s.accept(c) {
		return true
	}
	s.fail(s.line, "expected %q after %s, got %s", c, after, s.next())
	return false
}

// next describes what comes next, for errors.
func (s *scanner) next() string {
	if s.peek() == 0 {
		return "the end of the text"
	}
	rest := s.text[s.pos:min(len(s.text), s.pos+24)]
	if n := strings.IndexAny(rest, " \t\r\n,;"); n > 0 {
		rest = rest[:n]
	}
	return strconv.Quote(rest)
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '%'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// word takes a name: of a register, variable, function or label; "" when none comes next.
func (s *scanner) word() string {
	if c := s.peek(); c == 0 || isDigit(c) {
		return ""
	}
	from := s.pos
	for s.pos < len(s.text) && isWord(s.text[s.pos]) {
		s.pos++
	}
	return s.text[from:s.pos]
}

// name takes a name that must come next.
func (s *scanner) needName(after string) string {
	w := s.word()
	if w == "" {
		s.fail(s.line, "expected a name after %s, got %s", after, s.next())
	}
	return w
}

// dotted takes an opcode or directive: words with dots and double colons between them.
func (s *scanner) dotted() string {
	from := s.pos
	for s.pos < len(s.text) {
		if c := s.text[s.pos]; !isWord(c) && c != '.' && c != ':' {
			break
		}
		s.pos++
	}
	return s.text[from:s.pos]
}

// quoted takes a text in quotation marks.
func (s *scanner) quoted(after string) string {
	if !s.expect('"', after) {
		return ""
	}
	from := s.pos
	for s.pos < len(s.text) && s.text[s.pos] != '\n' {
		switch s.text[s.pos] {
		case '\\':
			s.pos++
		case '"':
			s.pos++
			return s.text[from : s.pos-1]
		}
		s.pos++
	}
	s.pos = min(s.pos, len(s.text))
	s.fail(s.line, "the text in quotation marks has no end")
	return ""
}

// number takes a number, with its sign. float is as Operand.Float.
func (s *scanner) number() (bits uint64, float uint8) {
	negative := s.accept('-')
	if c := s.peek(); !isDigit(c) && c != '.' {
		s.fail(s.line, "expected a number, got %s", s.next())
		return 0, 0
	}
	from := s.pos
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		exponent := (c == '+' || c == '-') && s.pos > from && s.text[s.pos-1]|0x20 == 'e' && !hasPrefixFold(s.text[from:], "0x") && !hasPrefixFold(s.text[from:], "0f") && !hasPrefixFold(s.text[from:], "0d")
		if !isWord(c) && c != '.' && !exponent {
			break
		}
		s.pos++
	}
	word := s.text[from:s.pos]
	bits, float, ok := parseNumber(word)
	if !ok {
		s.fail(s.line, "%.40q is not a number that fits", word)
	}
	switch {
	case negative && float == 32:
		bits ^= 1 << 31
	case negative && float == 64:
		bits ^= 1 << 63
	case negative:
		bits = -bits
	}
	return bits, float
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// parseNumber reads 12, 12U, 0x1f, 0b101, 017, 0f3f800000, 0d3ff0000000000000 and 1.5e3, which has double precision.
func parseNumber(word string) (bits uint64, float uint8, ok bool) {
	hex := func(digits string, width int) (uint64, bool) {
		v, err := strconv.ParseUint(digits, 16, 64)
		return v, err == nil && len(digits) == width
	}
	switch {
	case hasPrefixFold(word, "0f"):
		bits, ok = hex(word[2:], 8)
		return bits, 32, ok
	case hasPrefixFold(word, "0d"):
		bits, ok = hex(word[2:], 16)
		return bits, 64, ok
	}
	base, digits := 10, strings.TrimSuffix(word, "U")
	switch {
	case hasPrefixFold(word, "0x"):
		base, digits = 16, digits[2:]
	case hasPrefixFold(word, "0b"):
		base, digits = 2, digits[2:]
	case strings.ContainsAny(word, ".eE"):
		f, err := strconv.ParseFloat(word, 64)
		return math.Float64bits(f), 64, err == nil && !strings.Contains(word, "_")
	case len(digits) > 1 && digits[0] == '0':
		base, digits = 8, digits[1:]
	}
	v, err := strconv.ParseUint(digits, base, 64)
	return v, 0, err == nil
}
