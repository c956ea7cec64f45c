package chrometrace

// A program that records writes events of one kind alike: the same keys in the same order, the same blanks, and only the values differ.
// A shape is what such an event looks like: texts that are the same in each, with a value behind each of them but the last. An event of
// a known shape is read text by text, and its values by the lexer's own rules; whatever fits is what the lexer would have accepted, with
// the same values at the same places, because brackets, keys and commas are in the texts, which it accepted once. All else is read by the
// lexer, token by token. Values that stay the same for a while (a process, a device) become part of the texts too, in a variant of the
// shape that is tried first.

// Limits of what is kept of shapes.
const (
	maxShapes     = 24
	maxShapeTexts = 64
	maxShapeBytes = 4 << 10
	maxFixed      = 64 // the longest ph or cat that is part of a text
)

// place is a position of an event: so many bytes behind where a text of its shape begins.
type place struct{ text, off int32 }

// placed says where the value of a field is.
type placed struct {
	field    field
	from, to place
}

type shape struct {
	texts  []string
	inArgs []bool // by text: the value behind it is an arg
	fields []placed
	last   place // behind the last value of the event
	args   []argPlace

	usual  *shape // the variant, nil for none
	gain   int    // how often the variant fitted more often than not
	wait   int    // events until values are looked at, below 0 while they are
	values []string
}

// argPlace says where the value of an arg is.
type argPlace struct {
	key      string // as written, without quotes
	from, to place
}

// shapes are those of the events that a lexer read last.
type shapes struct {
	known   []*shape
	follows [maxShapes]uint8 // after an event of a shape, the shape of the one that came next
	recent  int              // shape of the last event, -1 for none
	oldest  int              // of known, which makes room
	credit  int              // grows with events that have a known shape and shrinks with others: without credit shapes rest
	resting int              // events until they are tried again
	at      [maxShapeTexts]int32
	objects bool // the event that was read last has values that may be objects, or have some in them
}

const (
	mostCredit = 256
	missCost   = 4
	restFor    = 2048

	lookedAt  = 64   // events that have to agree in a value for it to become part of the text
	lookAgain = 1024 // events until values are looked at again
)

func newShapes() *shapes { return &shapes{recent: -1, credit: mostCredit} }

// find returns the shape of the event at i and the index behind it, nil where no known shape fits. Where the texts begin is in s.at.
func (s *shapes) find(l *lexer, i int) (*shape, int) {
	if s.resting > 0 {
		s.resting--
		return nil, 0
	}
	guess := -1
	if s.recent >= 0 {
		guess = int(s.follows[s.recent])
		if known, end := s.either(l, s.known[guess], i); known != nil {
			s.hit(guess)
			return known, end
		}
	}
	for k := range s.known {
		if k == guess {
			continue
		}
		if known, end := s.either(l, s.known[k], i); known != nil {
			s.hit(k)
			return known, end
		}
	}
	return nil, 0
}

// either reads the event at i as one of the variant of a shape, or of the shape.
func (s *shapes) either(l *lexer, known *shape, i int) (*shape, int) {
	if u := known.usual; u != nil {
		if end := s.fit(l, u, i); end >= 0 {
			known.gain = min(known.gain+1, mostCredit)
			return u, end
		}
	}
	end := s.fit(l, known, i)
	if end < 0 {
		return nil, 0
	}
	if known.usual == nil {
		s.look(l, known)
	} else if known.gain -= missCost; known.gain < 0 {
		known.usual, known.wait = nil, lookAgain
	}
	return known, end
}

func (s *shapes) hit(k int) {
	if s.recent >= 0 {
		s.follows[s.recent] = uint8(k)
	}
	s.recent = k
	s.credit = min(s.credit+1, mostCredit)
}

// look looks at the values of an event that has just been read, and makes a variant of its shape when some stayed the same.
func (s *shapes) look(l *lexer, known *shape) {
	switch known.wait--; {
	case known.wait >= 0:
		return
	case known.wait == -1:
		known.values = make([]string, len(known.texts)-1)
		for k := range known.values {
			known.values[k] = string(s.value(l, known, k))
		}
		return
	}
	for k, v := range known.values {
		if v != "" && string(s.value(l, known, k)) != v {
			known.values[k] = ""
		}
	}
	if known.wait <= -lookedAt {
		known.usual, known.gain = known.with(known.values), lookedAt
		known.values, known.wait = nil, lookAgain
	}
}

// value is the text of the value behind text k of the event that was read last.
func (s *shapes) value(l *lexer, known *shape, k int) []byte {
	return l.b[int(s.at[k])+len(known.texts[k]) : s.at[k+1]]
}

// with returns the variant of a shape that has values in its texts, "" for those that stay values; nil where that gains little.
func (known *shape) with(values []string) *shape {
	made := &shape{}
	moved := make([]place, len(known.texts)) // where texts begin
	text := ""
	for k, t := range known.texts {
		moved[k] = place{int32(len(made.texts)), int32(len(text))}
		text += t
		if k < len(values) && plain(values[k]) {
			text += values[k]
			continue
		}
		made.texts = append(made.texts, text)
		if k < len(values) {
			made.inArgs = append(made.inArgs, known.inArgs[k])
		}
		text = ""
	}
	const leastGain = 3
	if len(known.texts)-len(made.texts) < leastGain {
		return nil
	}
	to := func(p place) place { return place{moved[p.text].text, moved[p.text].off + p.off} }
	for _, p := range known.fields {
		made.fields = append(made.fields, placed{p.field, to(p.from), to(p.to)})
	}
	for _, p := range known.args {
		made.args = append(made.args, argPlace{p.key, to(p.from), to(p.to)})
	}
	made.last = to(known.last)
	return made
}

// plain reports whether a value is one that nothing is counted of, and no object or list that may have some in it.
func plain(value string) bool {
	l := lexer{b: append([]byte(value), ',')}
	if value == "" || value[0] == '{' || value[0] == '[' && l.numbers(0) < 0 {
		return false
	}
	return l.value(0, 0) == len(value) && l.lenient == (leniency{})
}

// fit reads the event at i as one of a shape and returns the index behind it, a number below 0 where it is none. It leaves no trace in
// the lexer's counts then.
func (s *shapes) fit(l *lexer, known *shape, i int) int {
	b := l.b
	before := l.lenient
	s.objects = false
	last := len(known.texts) - 1
	for k, text := range known.texts {
		s.at[k&(maxShapeTexts-1)] = int32(i)
		if len(b)-i < len(text) || string(b[i:i+len(text)]) != text {
			break
		}
		i += len(text)
		if k == last {
			return i
		}
		if i >= len(b) {
			break
		}
		switch c := b[i]; {
		case c == '"':
			i = l.str(i + 1)
		case c-'1' < 9:
			i = l.number(i + 1)
		case c == '{' || c == '[':
			base := eventDepth
			if known.inArgs[k] {
				base++
			}
			end := incomplete
			if c == '[' {
				end = l.numbers(i)
			}
			if end < 0 {
				s.objects = true
				l.begin(base)
				end = l.walk(i, base)
			}
			i = end
		default:
			i = l.scalar(i)
		}
		if i < 0 {
			break
		}
	}
	l.lenient = before
	return incomplete
}

// fill sets the fields of an event that find read.
func (s *shapes) fill(known *shape, f *fields, start, end int) {
	*f = fields{start: start, end: end, last: s.index(known.last)}
	for i := range known.fields {
		p := &known.fields[i]
		f.at[p.field] = s.span(p.from, p.to)
	}
}

func (s *shapes) index(p place) int { return int(s.at[p.text&(maxShapeTexts-1)] + p.off) }

func (s *shapes) span(from, to place) span {
	return span{s.at[from.text&(maxShapeTexts-1)] + from.off, s.at[to.text&(maxShapeTexts-1)] + to.off}
}

// learn keeps the shape of the event [start, end), which the lexer has just read and found nothing unusual about.
func (s *shapes) learn(l *lexer, start, end int) {
	if s.resting > 0 {
		return
	}
	if s.credit -= missCost; s.credit < 0 {
		s.credit, s.resting = mostCredit/2, restFor
	}
	made := shapeOf(l.b[start:end])
	if made == nil {
		return
	}
	k := len(s.known)
	if k < maxShapes {
		s.known = append(s.known, made)
	} else {
		k = s.oldest
		s.known[k] = made
		s.oldest = (s.oldest + 1) % maxShapes
	}
	s.follows[k] = uint8(k)
	s.hit(k)
}

// shaper makes a shape of the text of an event.
type shaper struct {
	l     lexer
	made  shape
	begun int // where the present text begins
	bytes int
}

// shapeOf makes the shape of an event that the lexer accepts; nil where there is something about it that a shape cannot say.
func shapeOf(event []byte) *shape {
	m := &shaper{l: lexer{b: event}}
	if !m.object(0, eventDepth, m.field) || m.l.lenient != (leniency{}) {
		return nil
	}
	m.made.texts = append(m.made.texts, string(event[m.begun:]))
	if len(m.made.texts) > maxShapeTexts || m.bytes+len(event)-m.begun > maxShapeBytes {
		return nil
	}
	return &m.made
}

// place is where index i of the event is.
func (m *shaper) place(i int) place {
	return place{int32(len(m.made.texts)), int32(i - m.begun)}
}

// value ends the present text in front of a value at i and returns where it is, and the index behind it, below 0 where it has none.
func (m *shaper) value(i, depth int) (from, to place, end int) {
	from = m.place(i)
	before := m.l.lenient
	if end = m.l.value(i, depth); end < 0 || len(m.made.texts) >= maxShapeTexts {
		return from, to, incomplete
	}
	m.l.lenient = before // what values hold is counted whenever they are read
	m.made.texts = append(m.made.texts, string(m.l.b[m.begun:i]))
	m.made.inArgs = append(m.made.inArgs, depth > eventDepth)
	m.bytes += i - m.begun
	m.begun = end
	return from, m.place(end), end
}

// object goes over the members of the object at i. member reads a value and returns the index behind it.
func (m *shaper) object(i, depth int, member func(key []byte, i int) int) bool {
	b := m.l.b
	if i = m.l.space(i + 1); i < len(b) && b[i] == '}' {
		return false // empty: nobody needs a shape for it
	}
	for i < len(b) && b[i] == '"' {
		k := i + 1
		if i = m.l.str(k); i < 0 {
			return false
		}
		key := b[k : i-1]
		for _, c := range key {
			if c == '\\' {
				return false
			}
		}
		if i = m.l.space(i); i >= len(b) || b[i] != ':' {
			return false
		}
		if i = member(key, m.l.space(i+1)); i < 0 {
			return false
		}
		m.made.last = m.place(i)
		if i = m.l.space(i); i >= len(b) {
			return false
		}
		if b[i] == '}' {
			return depth > eventDepth || i+1 == len(b)
		}
		if b[i] != ',' {
			return false
		}
		i = m.l.space(i + 1)
	}
	return false
}

// field reads a value of the event.
func (m *shaper) field(key []byte, i int) int {
	b := m.l.b
	if i >= len(b) || string(key) == "traceEvents" { // walker.event takes it for a document
		return incomplete
	}
	which := fieldOf(key)
	if which == noField {
		_, _, end := m.value(i, eventDepth)
		return end
	}
	if end := m.fixed(which, i); end >= 0 {
		return end
	}
	if which == fieldArgs && b[i] == '{' {
		return m.argsObject(i)
	}
	from, to, end := m.value(i, eventDepth)
	if end >= 0 {
		m.made.fields = append(m.made.fields, placed{which, from, to})
	}
	return end
}

// fixed makes the ph and cat of an event a part of its shape.
func (m *shaper) fixed(which field, i int) int {
	b := m.l.b
	if which != fieldPh && which != fieldCat || b[i] != '"' {
		return incomplete
	}
	end := m.l.str(i + 1)
	if end < 0 || end-i > maxFixed {
		return incomplete
	}
	for _, c := range b[i:end] {
		if c == '\\' || c < ' ' {
			return incomplete
		}
	}
	m.made.fields = append(m.made.fields, placed{which, m.place(i), m.place(end)})
	return end
}

// argsObject makes the keys of the args a part of the shape.
func (m *shaper) argsObject(i int) int {
	from := m.place(i)
	b, end := m.l.b, incomplete
	if j := m.l.space(i + 1); j < len(b) && b[j] == '}' {
		end = j + 1
	} else {
		ok := m.object(i, eventDepth+1, func(key []byte, i int) int {
			if i >= len(b) {
				return incomplete
			}
			from, to, after := m.value(i, eventDepth+1)
			m.made.args = append(m.made.args, argPlace{string(key), from, to})
			end = after
			return after
		})
		if !ok {
			return incomplete
		}
		end = m.l.space(end) + 1
	}
	m.made.fields = append(m.made.fields, placed{fieldArgs, from, m.place(end)})
	return end
}
