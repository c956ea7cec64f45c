package chrometrace

import (
	"encoding/binary"
	"math/bits"
)

// maxDepth is how deep containers may nest, the limit that encoding/json has too.
const maxDepth = 10000

// Results of the lexer below zero: the text goes on after the buffer, or the byte at a position does not belong there.
const incomplete = -1

// badAt encodes "the byte at i does not belong there" as a result below incomplete.
func badAt(i int) int { return -2 - i }

// badPos decodes badAt.
func badPos(r int) int { return -2 - r }

// leniency counts what strict JSON forbids and real producers write; such text is read and copied as it is.
type leniency struct {
	ControlChars int64 // raw control characters inside strings
	BadEscapes   int64 // backslashes followed by what is not an escape
	Literals     int64 // NaN, Infinity and their like where a number should be
	EmptyEvents  int64 // {} or null where an event should be (JAX ends its list with {})
	Trailing     int64 // a comma before the closing bracket of the event list
	Unclosed     bool  // a bare array without its closing bracket, which the Chrome format allows; also what a cut file looks like
}

// add merges the counts of a part into the whole.
func (l *leniency) add(o leniency) {
	l.ControlChars += o.ControlChars
	l.BadEscapes += o.BadEscapes
	l.Literals += o.Literals
	l.EmptyEvents += o.EmptyEvents
	l.Trailing += o.Trailing
	l.Unclosed = l.Unclosed || o.Unclosed
}

// lexer walks JSON text in a buffer without building anything. Its methods take and return indexes into b; a negative
// result is incomplete or badAt. Containers are walked with an explicit stack, so nesting costs one bit a level, and the
// walk can be resumed when the buffer was refilled (see walk).
type lexer struct {
	b       []byte
	lenient leniency
	tooDeep bool
	shapes  *shapes // of the events read so far; nil: every event is read token by token

	// state of walk
	stack [maxDepth/64 + 1]uint64 // bit set: object
	depth int
	phase phase
	tok   int // where the unfinished token starts
}

type phase uint8

const (
	phaseValue      phase = iota // a value must follow
	phaseFirstValue              // a value or ]
	phaseFirstKey                // a key or }
	phaseKey                     // a key must follow
	phaseColon                   // : must follow
	phaseAfter                   // , or a closing bracket
	phaseDone
)

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
	quotes   = 0x2222222222222222
	slashes  = 0x5c5c5c5c5c5c5c5c
	spaces   = 0x2020202020202020
)

// space skips white space from i. It returns len(b) at the end of the buffer.
func (l *lexer) space(i int) int {
	b := l.b
	for i < len(b) {
		switch b[i] {
		case ' ', '\n':
			i++
			for i+8 <= len(b) && binary.LittleEndian.Uint64(b[i:]) == spaces {
				i += 8
			}
		case '\t', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// str skips a string whose opening quote is at i-1 and returns the index after the closing quote.
func (l *lexer) str(i int) int {
	b := l.b
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		q, s := x^quotes, x^slashes
		m := ((q-lowBits)&^q | (s-lowBits)&^s | (x-spaces)&^x) & highBits
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		if b[i] == '"' {
			return i + 1
		}
		return l.oddStr(i)
	}
	return l.oddStr(i)
}

// oddStr goes on with a string at its first escape or control character, or near the end of the buffer. A string that turns out
// incomplete leaves no trace in the counts, because it will be read again.
func (l *lexer) oddStr(i int) int {
	b, before := l.b, l.lenient
	for i < len(b) {
		if i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			q, s := x^quotes, x^slashes
			m := ((q-lowBits)&^q | (s-lowBits)&^s | (x-spaces)&^x) & highBits
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\' || c < ' ':
			if i = l.special(i); i < 0 {
				l.lenient = before
				return i
			}
		default:
			i++
		}
	}
	l.lenient = before
	return incomplete
}

// special skips an escape or a raw control character inside a string.
func (l *lexer) special(i int) int {
	b := l.b
	if b[i] != '\\' {
		if b[i] < ' ' {
			l.lenient.ControlChars++
		}
		return i + 1
	}
	if i+1 >= len(b) {
		return incomplete
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if i+6 > len(b) {
			return incomplete
		}
		for _, c := range b[i+2 : i+6] {
			if hexDigit(c) < 0 {
				l.lenient.BadEscapes++
				return i + 2
			}
		}
		return i + 6
	}
	l.lenient.BadEscapes++
	return i + 2
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// scalar skips a number or a literal that starts at i. One that touches the end of the buffer is incomplete.
func (l *lexer) scalar(i int) int {
	b := l.b
	start := i
	if b[i] == '-' {
		i++
		if i >= len(b) {
			return incomplete
		}
	}
	c := b[i]
	if c < '0' || c > '9' {
		return l.literal(start, i)
	}
	if c != '0' {
		return l.number(i + 1)
	}
	return l.fraction(i + 1)
}

// number goes on with a number behind its first digit, which is not 0.
func (l *lexer) number(i int) int {
	b := l.b
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i < len(b) && b[i] != '.' && b[i]|0x20 != 'e' {
		return i
	}
	return l.fraction(i)
}

// fraction goes on with a number behind the digits in front of its point.
func (l *lexer) fraction(i int) int {
	b := l.b
	if i < len(b) && b[i] == '.' {
		i++
		if i < len(b) && b[i]-'0' > 9 {
			return badAt(i)
		}
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i < len(b) && b[i]-'0' > 9 {
			return badAt(i)
		}
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
	}
	if i >= len(b) {
		return incomplete
	}
	return i
}

var literals = [...]struct {
	text   string
	signed bool // may follow a minus, and is not strict JSON
}{{"true", false}, {"false", false}, {"null", false}, {"NaN", true}, {"nan", true}, {"Infinity", true}, {"inf", true}}

// literal skips true, false, null or a spelling of a number that is not finite; start is before a minus.
func (l *lexer) literal(start, i int) int {
	b := l.b
	for _, w := range literals {
		if b[i] != w.text[0] || (start != i && !w.signed) {
			continue
		}
		if rest := len(b) - i; rest < len(w.text) {
			if string(b[i:]) == w.text[:rest] {
				return incomplete
			}
			continue
		}
		if string(b[i:i+len(w.text)]) == w.text {
			if w.signed {
				l.lenient.Literals++
			}
			return i + len(w.text)
		}
	}
	return badAt(i)
}

// value skips one value that starts at i (no white space before it), at a depth below base.
func (l *lexer) value(i, base int) int {
	if i >= len(l.b) {
		return incomplete
	}
	switch l.b[i] {
	case '"':
		return l.str(i + 1)
	case '{', '[':
		return l.container(i, base)
	}
	return l.scalar(i)
}

// container skips the object or list that starts at i, at a depth below base.
func (l *lexer) container(i, base int) int {
	if l.b[i] == '[' {
		if end := l.numbers(i); end >= 0 {
			return end
		}
	}
	l.begin(base)
	return l.walk(i, base)
}

// numbers skips a list of natural numbers, as that of a grid or of dimensions; below 0 it is another one, or incomplete.
func (l *lexer) numbers(i int) int {
	b := l.b
	for {
		if i++; i < len(b) && b[i] == ' ' {
			i++
		}
		switch {
		case i >= len(b):
			return incomplete
		case b[i] == '0':
			i++
		case b[i]-'1' < 9:
			for i++; i < len(b) && b[i]-'0' <= 9; i++ {
			}
		default:
			return incomplete
		}
		if i >= len(b) || b[i] != ',' {
			break
		}
	}
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	return incomplete
}

// begin prepares walk for a value nested base levels deep.
func (l *lexer) begin(base int) { l.depth, l.phase = base, phaseValue }

func (l *lexer) push(object bool) bool {
	if l.depth >= maxDepth {
		l.tooDeep = true
		return false
	}
	w, bit := l.depth>>6, uint64(1)<<(l.depth&63)
	if object {
		l.stack[w] |= bit
	} else {
		l.stack[w] &^= bit
	}
	l.depth++
	return true
}

func (l *lexer) inObject() bool {
	d := l.depth - 1
	return l.stack[d>>6]>>(d&63)&1 == 1
}

// walk skips one value and all in it, from i, down to the depth that begin was given. When the buffer ends inside it, walk
// returns incomplete and may be called again, once more bytes were appended, at l.tok.
func (l *lexer) walk(i, base int) int {
	b := l.b
	for {
		if i < len(b) && b[i] == ' ' { // one blank is the usual white space between tokens
			i++
		}
		if i >= len(b) || b[i] <= ' ' {
			if i = l.space(i); i >= len(b) {
				l.tok = i
				return incomplete
			}
		}
		l.tok = i
		c := b[i]
		switch l.phase {
		case phaseAfter:
			object := l.inObject()
			switch {
			case c == ',':
				i++
				if l.phase = phaseValue; object {
					l.phase = phaseKey
				}
				continue
			case c == '}' && object, c == ']' && !object:
				i++
				l.depth--
			default:
				return badAt(i)
			}
		case phaseFirstKey, phaseKey:
			switch {
			case c == '"':
				r := l.str(i + 1)
				if r < 0 {
					return r
				}
				i = r
				l.phase = phaseColon
				if i < len(b) && b[i] == ':' { // the usual spelling, without a turn of the loop
					i++
					l.phase = phaseValue
				}
				continue
			case c == '}' && l.phase == phaseFirstKey:
				i++
				l.depth--
			default:
				return badAt(i)
			}
		case phaseColon:
			if c != ':' {
				return badAt(i)
			}
			i++
			l.phase = phaseValue
			continue
		default: // phaseValue, phaseFirstValue
			switch {
			case c == '"':
				r := l.str(i + 1)
				if r < 0 {
					return r
				}
				i = r
			case c == '{' || c == '[':
				if !l.push(c == '{') {
					return badAt(i)
				}
				i++
				if l.phase = phaseFirstValue; c == '{' {
					l.phase = phaseFirstKey
				}
				continue
			case c == ']' && l.phase == phaseFirstValue:
				i++
				l.depth--
			default:
				r := l.scalar(i)
				if r < 0 {
					return r
				}
				i = r
			}
		}
		l.phase = phaseAfter
		if l.depth == base {
			l.phase = phaseDone
			return i
		}
	}
}
