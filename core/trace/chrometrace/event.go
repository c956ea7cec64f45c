package chrometrace

import (
	"bytes"
	"unicode/utf8"
)

// span is the place of a value's text in a buffer: [s, e). The zero span is an absent value.
type span struct{ s, e int32 }

func (p span) of(b []byte) []byte { return b[p.s:p.e] }
func (p span) set() bool          { return p.e > p.s }

// field is one of the keys of an event that this package looks at.
type field uint8

// The fields. noField is a key that does not matter here.
const (
	fieldName field = iota
	fieldCat
	fieldPh
	fieldPID
	fieldTID
	fieldTS
	fieldDur
	fieldID
	fieldID2
	fieldBindID
	fieldArgs
	fieldSF
	fieldESF
	noField
)

// fields are the values of one event object that this package looks at, as places in the buffer that holds it.
type fields struct {
	at         [noField]span
	start, end int  // the object, from { to after }
	last       int  // after the last value (after { in an empty object)
	repeated   bool // a key that matters occurs twice; the last one counts
}

// empty reports whether the element says nothing: {} or null.
func (f *fields) empty() bool { return f.last <= f.start+1 }

// phase returns the event's type: the one ASCII character of ph, or 0 where ph is absent or something else.
func (f *fields) phase(b []byte) byte {
	text := f.at[fieldPh].of(b)
	if len(text) < 3 || text[0] != '"' {
		return 0
	}
	c := text[1]
	if len(text) > 3 {
		if text = textOf(text); len(text) != 1 {
			return 0
		}
		c = text[0]
	}
	if c >= utf8.RuneSelf {
		return 0
	}
	return c
}

// event reads the event object that starts at i, where b[i] is its opening brace, and returns the index after it.
func (l *lexer) event(i int, f *fields) int {
	if l.shapes == nil {
		return l.tokens(i, f)
	}
	if known, end := l.shapes.find(l, i); known != nil {
		l.shapes.fill(known, f, i, end)
		return end
	}
	end := l.tokens(i, f)
	if end >= 0 && !f.repeated && !f.empty() {
		l.shapes.learn(l, i, end)
	}
	return end
}

// tokens is event, token by token.
func (l *lexer) tokens(i int, f *fields) int {
	b := l.b
	*f = fields{start: i, last: i + 1}
	i = l.space(i + 1)
	if i >= len(b) {
		return incomplete
	}
	if b[i] == '}' {
		f.end = i + 1
		return i + 1
	}
	for {
		if b[i] != '"' {
			return badAt(i)
		}
		k := i + 1
		if i = l.str(k); i < 0 {
			return i
		}
		which := fieldOf(b[k : i-1])
		if i < len(b) && b[i] == ':' {
			i++
		} else {
			if i = l.space(i); i >= len(b) {
				return incomplete
			}
			if b[i] != ':' {
				return badAt(i)
			}
			i++
		}
		if i < len(b) && b[i] == ' ' {
			i++
		}
		if i < len(b) && b[i] <= ' ' {
			i = l.space(i)
		}
		v := i
		if i = l.value(i, eventDepth); i < 0 {
			return i
		}
		f.last = i
		if which != noField {
			f.repeated = f.repeated || f.at[which].set()
			f.at[which] = span{int32(v), int32(i)}
		}
		if i < len(b) && b[i] <= ' ' {
			i = l.space(i)
		}
		if i >= len(b) {
			return incomplete
		}
		switch b[i] {
		case ',':
			if i++; i < len(b) && b[i] == ' ' {
				i++
			}
			if i >= len(b) || b[i] <= ' ' {
				if i = l.space(i); i >= len(b) {
					return incomplete
				}
			}
		case '}':
			f.end = i + 1
			return i + 1
		default:
			return badAt(i)
		}
	}
}

// eventDepth is how deep the values of an event are nested: document, list, event.
const eventDepth = 3

// fieldOf returns the field of a key.
func fieldOf(key []byte) field {
	switch string(key) {
	case "ph":
		return fieldPh
	case "ts":
		return fieldTS
	case "id":
		return fieldID
	case "sf":
		return fieldSF
	case "pid":
		return fieldPID
	case "tid":
		return fieldTID
	case "dur":
		return fieldDur
	case "cat":
		return fieldCat
	case "id2":
		return fieldID2
	case "esf":
		return fieldESF
	case "name":
		return fieldName
	case "args":
		return fieldArgs
	case "bind_id":
		return fieldBindID
	}
	for _, c := range key {
		if c == '\\' { // a key spelled with escapes is still that key
			if plain := unescape(nil, key); len(plain) != len(key) {
				return fieldOf(dropBackslashes(plain))
			}
			return noField
		}
	}
	return noField
}

// dropBackslashes guards fieldOf against looking twice at a key that contains a real backslash: no key that matters does.
func dropBackslashes(key []byte) []byte {
	for _, c := range key {
		if c == '\\' {
			return nil
		}
	}
	return key
}

// textOf returns the text of a JSON value: a string without quotes and escapes, anything else as it is written. The result
// may share memory with raw.
func textOf(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return raw
	}
	raw = raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') >= 0 {
		return unescape(nil, raw)
	}
	return raw
}

// textInto is textOf with room for what has to be decoded.
func textInto(room *[]byte, raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' || bytes.IndexByte(raw, '\\') < 0 {
		return textOf(raw)
	}
	*room = unescape((*room)[:0], raw[1:len(raw)-1])
	return *room
}

// unescape appends the text of a string's inside. Backslashes that begin no known escape stay as they are; halves of surrogate pairs become
// U+FFFD.
func unescape(dst, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' || i+1 >= len(raw) {
			dst = append(dst, c)
			continue
		}
		i++
		switch c = raw[i]; c {
		case '"', '\\', '/':
			dst = append(dst, c)
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, ok := hex4(raw[i+1:])
			if !ok {
				dst = append(dst, '\\', 'u')
				continue
			}
			i += 4
			if 0xd800 <= r && r < 0xdc00 && i+2 < len(raw) && raw[i+1] == '\\' && raw[i+2] == 'u' {
				if low, ok := hex4(raw[i+3:]); ok && 0xdc00 <= low && low < 0xe000 {
					r = (r-0xd800)<<10 | (low - 0xdc00) + 0x10000
					i += 6
				}
			}
			if 0xd800 <= r && r < 0xe000 {
				r = utf8.RuneError
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, '\\', c)
		}
	}
	return dst
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		d := hexDigit(c)
		if d < 0 {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

// lookup finds a key in the text of a valid JSON object and returns where its value is in b; obj is the object's place. The
// last of equal keys counts, as in most readers.
func lookup(l *lexer, obj span, key string) (span, bool) {
	var found span
	l.members(obj, func(k []byte, v span) bool {
		if string(k) == key {
			found = v
		}
		return true
	})
	return found, found.set()
}

// members calls visit with the decoded key and the value's place of each member of an object that was already walked.
func (l *lexer) members(obj span, visit func(key []byte, value span) bool) {
	b := l.b
	if !obj.set() || b[obj.s] != '{' {
		return
	}
	kept := l.lenient // these bytes were counted when they were first read
	defer func() { l.lenient = kept }()
	i := l.space(int(obj.s) + 1)
	for i < int(obj.e) && b[i] == '"' {
		k := i + 1
		if i = l.str(k); i < 0 {
			return
		}
		key := textOf(b[k-1 : i])
		if i = l.space(i); i >= len(b) || b[i] != ':' {
			return
		}
		v := l.space(i + 1)
		if i = l.value(v, eventDepth+1); i < 0 {
			return
		}
		if !visit(key, span{int32(v), int32(i)}) {
			return
		}
		if i = l.space(i); i >= len(b) || b[i] != ',' {
			return
		}
		i = l.space(i + 1)
	}
}
