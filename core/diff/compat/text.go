package compat

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Texts of original prlx 0.5: its JSON is indented by two spaces, escapes as little as JSON allows and leaves other alphabets as
// they are; its CSV quotes a field that has a comma, and escapes nothing.

const hexDigits = "0123456789abcdef"

// hex8 is how original prlx 0.5 prints ids and masks.
func hex8(n uint32) string {
	var b [10]byte
	b[0], b[1] = '0', 'x'
	for i := 9; i >= 2; i-- {
		b[i] = hexDigits[n&15]
		n >>= 4
	}
	return string(b[:])
}

func hex16(n uint64) string {
	return hex8(uint32(n>>32)) + hex8(uint32(n))[2:]
}

// lossy is text with what is not UTF-8 replaced, one mark for each broken sequence.
func lossy(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			n = brokenLength(s)
		}
		b.WriteRune(r)
		s = s[n:]
	}
	return b.String()
}

// brokenLength is how many bytes of a sequence that ends too early belong together: as long as a valid sequence starts with them.
func brokenLength(s string) int {
	for n := 1; n < utf8.UTFMax && n < len(s); n++ {
		if utf8.FullRuneInString(s[:n]) || !startsRune(s[:n+1]) {
			return n
		}
	}
	return min(len(s), utf8.UTFMax-1)
}

// startsRune reports whether bytes can be the beginning of a rune.
func startsRune(s string) bool { return !utf8.FullRuneInString(s) || utf8.ValidString(s) }

// quote is a JSON string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range lossy(s) {
		switch {
		case r == '"', r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r < 0x20:
			b.WriteString(`\u00`)
			b.WriteByte(hexDigits[r>>4])
			b.WriteByte(hexDigits[r&15])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// printer writes indented JSON in the order it is told.
type printer struct {
	b     []byte
	depth int
	empty bool // nothing stands in the innermost object or array yet
}

func (p *printer) open(bracket byte) {
	p.b = append(p.b, bracket)
	p.depth++
	p.empty = true
}

func (p *printer) close(bracket byte) {
	p.depth--
	if !p.empty {
		p.line()
	}
	p.b = append(p.b, bracket)
	p.empty = false
}

func (p *printer) line() {
	p.b = append(p.b, '\n')
	for range p.depth {
		p.b = append(p.b, ' ', ' ')
	}
}

// item begins an element of an array.
func (p *printer) item() {
	if !p.empty {
		p.b = append(p.b, ',')
	}
	p.empty = false
	p.line()
}

// key begins a field of an object.
func (p *printer) key(name string) {
	p.item()
	p.b = append(p.b, '"')
	p.b = append(p.b, name...)
	p.b = append(p.b, '"', ':', ' ')
}

func (p *printer) raw(text string) { p.b = append(p.b, text...) }

func (p *printer) text(name, value string) {
	p.key(name)
	p.raw(quote(value))
}

func (p *printer) number(name string, value int64) {
	p.key(name)
	p.b = strconv.AppendInt(p.b, value, 10)
}

// float writes whole microseconds the way a floating-point number is printed.
func (p *printer) float(name string, value int64) {
	p.number(name, value)
	p.raw(".0")
}

func (p *printer) truth(name string, value bool) {
	p.key(name)
	p.b = strconv.AppendBool(p.b, value)
}

func (p *printer) numbers(name string, values ...uint32) {
	p.key(name)
	p.open('[')
	for _, value := range values {
		p.item()
		p.b = strconv.AppendUint(p.b, uint64(value), 10)
	}
	p.close(']')
}
