package chrometrace

import "bytes"

// anotherList is the result of walker.event for an object that is not an event but a document: a text that was cut and goes on with
// another trace.
const anotherList = -1 << 62

// events reads a list from behind its opening bracket to behind its closing one, or to the end of the text.
func (w *walker) events() error {
	for {
		c, err := w.next()
		switch {
		case err != nil:
			return err
		case w.atEnd():
			w.res.Truncated = w.res.Truncated || !w.doc().Array // the format lets a bare list end without its bracket
			return nil
		case c == ']':
			w.i++
			return nil
		case c == ',':
			w.i++
			continue
		case c == '{':
			err = w.element()
		case c == 'n' && bytes.HasPrefix(w.lex.b[w.i:], []byte("null")):
			w.i += 4
			w.res.Empty++
		default:
			err = w.resync(w.i)
		}
		if err != nil {
			return err
		}
	}
}

// element reads the event at w.i and leaves w.i behind it.
func (w *walker) element() error {
	for {
		r := w.event(w.i)
		if r >= 0 {
			w.i = r
			return nil
		}
		switch r {
		case incomplete:
			ok, err := w.fill(w.i)
			if err != nil {
				return err
			}
			if !ok {
				w.res.Truncated = true
				w.i = len(w.lex.b)
				return nil
			}
		case failed:
			return w.e.visitErr
		case anotherList:
			w.res.Truncated = true
			w.res.Documents = append(w.res.Documents, walkedDocument{})
			if len(w.res.Documents) > maxDocuments {
				return w.document('{')
			}
			w.i++
			_, err := w.object()
			return err
		default:
			return w.resync(max(badPos(r), w.i+1))
		}
	}
}

// resync skips damaged text from position i: to the next place that looks like the beginning of an event of the list, or like the end of it.
func (w *walker) resync(i int) error {
	w.res.Skipped++
	const context = 64 // bytes around a bracket that decide
	for {
		b := w.lex.b
		for i < len(b) {
			k := bytes.IndexAny(b[i:], "{]")
			if k < 0 {
				i = len(b)
				break
			}
			if i += k; i+context > len(b) && !w.end {
				break
			}
			if w.begins(i) {
				w.i = i
				return nil
			}
			i++
		}
		w.i = i
		keep := max(0, i-context)
		ended := w.end
		if _, err := w.fill(keep); err != nil {
			return err
		}
		if ended {
			w.i = len(w.lex.b)
			return nil
		}
		i -= keep
	}
}

// begins reports whether the bracket at i looks like the beginning of an event, or like the end of the list.
func (w *walker) begins(i int) bool {
	b := w.lex.b
	before := i - 1
	for before >= 0 && b[before] <= ' ' {
		before--
	}
	after := w.lex.space(i + 1)
	if before < 0 || b[before] != ',' && b[before] != '}' {
		return false
	}
	if b[i] == '{' {
		return after < len(b) && b[after] == '"'
	}
	if after < len(b) && b[after] == '}' {
		after = w.lex.space(after + 1)
	}
	return after >= len(b)
}

// ends are the bytes that end a number or literal.
var ends = func() (t [256]bool) {
	for c := range ' ' + 1 {
		t[c] = true
	}
	for _, c := range []byte(`,:{}[]"`) {
		t[c] = true
	}
	return t
}()

// bare returns the end of a number or literal that starts at i: anything up to a blank, a comma or a bracket.
func bare(b []byte, i int) int {
	for i < len(b) && !ends[b[i]] {
		i++
	}
	return i
}

// failed is the result of walker.event where Visit returned an error.
const failed = -1<<62 + 1

// event reads the event object that starts at i and visits it when it is wanted. It returns the index behind it, or a result below 0.
func (w *walker) event(i int) int {
	if known, end := w.lex.shapes.find(&w.lex, i); known != nil {
		w.lex.shapes.fill(known, &w.f, i, end)
		w.e.known = known
		if w.lex.shapes.objects { // findArg looks into them
			w.e.known = nil
		}
		return w.whole(w.ask(i), end)
	}
	w.e.known = nil
	start := i
	b, f := w.lex.b, &w.f
	*f = fields{start: i, last: i + 1}
	i = w.lex.space(i + 1)
	if i >= len(b) {
		return incomplete
	}
	if b[i] == '}' {
		w.res.Empty++
		return i + 1
	}
	interest, asked := take, false
	for {
		if b[i] != '"' {
			return badAt(i)
		}
		k := i + 1
		if i = w.lex.str(k); i < 0 {
			return i
		}
		key := b[k : i-1]
		which := fieldOf(key)
		if i >= len(b) || b[i] != ':' {
			if i = w.lex.space(i); i >= len(b) {
				return incomplete
			}
			if b[i] != ':' {
				return badAt(i)
			}
		}
		i++
		if i < len(b) && b[i] == ' ' {
			i++
		}
		if i >= len(b) || b[i] <= ' ' {
			if i = w.lex.space(i); i >= len(b) {
				return incomplete
			}
		}
		v := i
		switch b[i] {
		case '"':
			i = w.lex.str(i + 1)
		case '{', '[':
			if which == noField && b[i] == '[' && string(key) == "traceEvents" {
				return anotherList
			}
			s := skipFrom(b[i])
			i = s.run(b, i)
		default:
			if i = bare(b, v); i == v {
				return badAt(v)
			}
		}
		if i < 0 {
			return i
		}
		if which != noField {
			f.at[which] = span{int32(v), int32(i)}
			if interest != pass && (which == fieldCat || which == fieldPh || which == fieldName) {
				if !asked && f.at[fieldCat].set() && f.at[fieldPh].set() {
					asked = true
					interest = w.ask(start)
				}
				if asked && interest == byName && f.at[fieldName].set() {
					interest = w.byName()
				}
				if interest == pass {
					s := skipper{open: '{', close: '}', depth: 1}
					if i = s.run(b, i); i >= 0 {
						w.count()
					}
					return i
				}
			}
		}
		if i < len(b) && b[i] <= ' ' {
			i = w.lex.space(i)
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
				if i = w.lex.space(i); i >= len(b) {
					return incomplete
				}
			}
		case '}':
			i++
			if !asked {
				interest = w.ask(start)
			}
			if interest != pass {
				w.lex.shapes.learn(&w.lex, start, i)
			}
			return w.whole(interest, i)
		default:
			return badAt(i)
		}
	}
}

// ask asks Want about the event at i, once: an event that the window cuts is read again.
func (w *walker) ask(i int) interest {
	if at := w.offset(i); at != w.askedAt {
		b, f := w.lex.b, &w.f
		w.askedAt, w.answer = at, w.opt.Want(f.phase(b), textOf(f.at[fieldCat].of(b)))
	}
	return w.answer
}

// whole counts an event that was read to its end, and visits it where it is wanted.
func (w *walker) whole(interest interest, end int) int {
	w.count()
	if interest == byName {
		interest = w.byName()
	}
	if interest == take && !w.visit() {
		return failed
	}
	return end
}

func (w *walker) byName() interest {
	b, f := w.lex.b, &w.f
	if w.opt.Name(f.phase(b), textOf(f.at[fieldCat].of(b)), textOf(f.at[fieldName].of(b))) {
		return take
	}
	return pass
}

func (w *walker) count() {
	w.res.Events++
	w.doc().Events++
}

// visit hands the event over. It reports false on an error.
func (w *walker) visit() bool {
	b, f, e := w.lex.b, &w.f, &w.e
	*e = walked{
		Phase: f.phase(b), Cat: textOf(f.at[fieldCat].of(b)), PID: f.at[fieldPID].of(b), TID: f.at[fieldTID].of(b),
		Document: len(w.res.Documents) - 1, rawName: f.at[fieldName].of(b), argsText: f.at[fieldArgs].of(b), known: e.known, w: w,
	}
	if ts := parseNumber(f.at[fieldTS].of(b)); f.at[fieldTS].set() && ts.ok {
		e.TS, e.HasTS = micros{ts.us, ts.ps}, true
	}
	if dur := parseNumber(f.at[fieldDur].of(b)); f.at[fieldDur].set() && dur.ok {
		e.Dur, e.HasDur = micros{dur.us, dur.ps}, true
	}
	e.visitErr = w.opt.Visit(e)
	return e.visitErr == nil
}

// findArg returns the text of a member of an object, nil where absent. It looks for the key as text first: of the many args of a kernel
// one or two are wanted.
func findArg(l *lexer, obj []byte, key string) []byte {
	if len(obj) == 0 || obj[0] != '{' {
		return nil
	}
	for i := 0; ; {
		k := bytes.Index(obj[i:], []byte(key))
		if k < 0 {
			return nil
		}
		at := i + k
		i = at + len(key)
		if obj[at-1] != '"' || i >= len(obj) || obj[i] != '"' {
			continue
		}
		l.b = obj
		v := l.space(i + 1)
		if v >= len(obj) || obj[v] != ':' {
			continue
		}
		if v = l.space(v + 1); v >= len(obj) {
			return nil
		}
		end := v
		switch obj[v] {
		case '"':
			end = l.str(v + 1)
		case '{', '[':
			s := skipFrom(obj[v])
			end = s.run(obj, v)
		default:
			end = bare(obj, v)
		}
		if end > v {
			return obj[v:end]
		}
		return nil
	}
}
