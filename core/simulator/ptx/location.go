package ptx

import (
	"bytes"
	"path"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// locations is what the parser knows of source lines.
type locations struct {
	location  int32 // of the next instruction, -1 unknown
	files     map[uint64]int32
	known     map[locationKey]int32
	callers   map[place]int32 // in this function: the last location given out at a place
	bases     map[string]int32
	strings   map[string]int
	debugText []byte // .debug_str
}

// locationKey finds a location that was seen before.
type locationKey struct {
	place
	function string
	inlined  int32
}

type place struct {
	file         int32
	line, column uint32
}

// fileOf returns the index in Module.Files of a file's number.
func (p *parser) fileOf(number uint64) int32 {
	i, ok := p.files[number]
	if !ok {
		i = int32(len(p.m.Files))
		p.files[number] = i
		p.m.Files = append(p.m.Files, "")
	}
	return i
}

// file reads .file 1 "path", or with the directory apart.
func (p *parser) file() {
	number, _ := p.number()
	name := p.quoted(".file")
	if p.peek() == '"' {
		name = path.Join(name, p.quoted(".file"))
	}
	if p.accept(',') { // time and size
		p.number()
		p.expect(',', "the time of .file")
		p.number()
	}
	if p.err == nil {
		p.m.Files[p.fileOf(number)] = strings.Clone(strings.ReplaceAll(name, `\\`, `\`))
	}
}

// loc reads a .loc to the end of its line:
//
//	.loc 1 15 13                                                        // kernels.py:15:13
//	.loc 2 168 27                                                       // standard.py:168:27 @[ kernels.py:15:19 ]
//	.loc 2 216 16, function_name $L__info_string0, inlined_at 1 15 13   // standard.py:216:16
//
// Inside inline assembly LLVM counts lines of the assembly as lines of the source, so nothing there is believed.
func (p *parser) loc() {
	line := p.line
	text, comment, _ := strings.Cut(p.restOfLine(), "//")
	if p.asm {
		return
	}
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' || r == '\r' })
	at, ok := p.placeOf(fields)
	if !ok {
		p.fail(line, ".loc needs a file, a line and a column")
		return
	}
	key := locationKey{place: at, inlined: -1}
	for i := 3; i < len(fields); i++ {
		switch fields[i] {
		case "function_name":
			if i+1 < len(fields) {
				key.function = p.intern(strings.Join(fields[i+1:min(len(fields), indexOf(fields, "inlined_at"))], ""))
			}
		case "inlined_at":
			caller, ok := p.placeOf(fields[i+1:])
			if !ok {
				p.fail(line, "inlined_at needs a file, a line and a column")
				return
			}
			key.inlined = p.callerAt(caller)
		}
	}
	if key.inlined < 0 {
		if _, chain, ok := strings.Cut(comment, "@["); ok {
			key.inlined = p.chainOf(chain, line)
		}
	}
	p.location = p.locate(key, line)
	p.callers[at] = p.location
}

func indexOf(fields []string, want string) int {
	for i, f := range fields {
		if f == want {
			return i
		}
	}
	return len(fields)
}

func (p *parser) placeOf(fields []string) (place, bool) {
	if len(fields) < 3 {
		return place{}, false
	}
	var n [3]uint64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseUint(fields[i], 10, 32); err != nil {
			return place{}, false
		}
	}
	return place{p.fileOf(n[0]), uint32(n[1]), uint32(n[2])}, true
}

// callerAt is the location of a call: the last one at that place, or a new one that is inlined nowhere.
func (p *parser) callerAt(at place) int32 {
	if l, ok := p.callers[at]; ok {
		return l
	}
	return p.locate(locationKey{place: at, inlined: -1}, p.line)
}

// maxChain bounds the chain of inlining that a comment may have.
const maxChain = 64

// chainOf reads "kernels.py:15:19 ]" and the longer "a.py:3:4 @[ b.py:15:19 ] ]", and returns the innermost caller.
func (p *parser) chainOf(comment string, line int) int32 {
	parts := strings.Split(comment, "@[")
	if len(parts) > maxChain {
		return -1
	}
	inlined := int32(-1)
	for i := len(parts) - 1; i >= 0; i-- {
		part := strings.TrimSpace(strings.TrimRight(parts[i], "] \t\r"))
		rest, column, ok1 := cutLast(part)
		file, row, ok2 := cutLast(rest)
		if !ok1 || !ok2 || file == "" {
			continue
		}
		inlined = p.locate(locationKey{place: place{p.baseOf(file), row, column}, inlined: inlined}, line)
	}
	return inlined
}

func cutLast(s string) (before string, n uint32, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	v, err := strconv.ParseUint(s[i+1:], 10, 32)
	return s[:i], uint32(v), err == nil
}

// baseOf stands for a file of which only a comment gives the name. The names of files come at the end of the text, so it is
// negative until then: -2 the first.
func (p *parser) baseOf(name string) int32 {
	i, ok := p.bases[name]
	if !ok {
		i = -2 - int32(len(p.bases))
		p.bases[p.intern(name)] = i
	}
	return i
}

// locate numbers a location.
func (p *parser) locate(key locationKey, line int) int32 {
	if i, ok := p.known[key]; ok {
		return i
	}
	if len(p.m.Locations) == maxLocations {
		p.refuse(line, fault.Limit, "the PTX has more than %d source locations", maxLocations)
		return -1
	}
	i := int32(len(p.m.Locations))
	p.known[key] = i
	p.m.Locations = append(p.m.Locations, Location{File: key.file, Line: key.line, Column: key.column, Function: key.function, Inlined: key.inlined})
	return i
}

// section reads .section name { ... }; of the debug information only the table of strings is kept.
func (p *parser) section() {
	line := p.line
	p.skip()
	name := p.dotted()
	if !p.expect('{', ".section") {
		return
	}
	for {
		switch c := p.peek(); {
		case c == 0:
			p.fail(line, "the section %.40s has no end", name)
			return
		case c == '}':
			p.pos++
			return
		case name != ".debug_str":
			for p.pos < len(p.text) && !strings.ContainsRune("}\n/", rune(p.text[p.pos])) {
				p.pos++
			}
			if p.pos < len(p.text) && p.text[p.pos] == '/' && !strings.HasPrefix(p.text[p.pos:], "//") {
				p.pos++
			}
		default:
			p.stringItem(line)
		}
	}
}

// stringItem reads one line of .debug_str: a label, or bytes.
func (p *parser) stringItem(line int) {
	if p.peek() != '.' {
		label := p.word()
		if label == "" || !p.accept(':') {
			p.fail(p.line, "expected a label or .b8 in .debug_str, got %s", p.next())
			return
		}
		p.strings[label] = len(p.debugText)
		return
	}
	if word := p.dotted(); word != ".b8" {
		p.fail(p.line, "expected .b8 in .debug_str, got %.40s", word)
		return
	}
	for {
		v, _ := p.number()
		p.debugText = append(p.debugText, byte(v))
		if !p.accept(',') {
			return
		}
	}
}

// finishLocations puts in the names of files and functions that were not known when they were used.
func (p *parser) finishLocations() {
	byBase := map[string]int32{}
	for i, f := range p.m.Files {
		base := f[strings.LastIndexAny(f, `/\`)+1:]
		if _, taken := byBase[base]; taken {
			byBase[base] = -1 // two files have this name: which one is not known
		} else {
			byBase[base] = int32(i)
		}
	}
	files := make([]int32, len(p.bases))
	for number := range files {
		files[number] = -1
	}
	for name, n := range p.bases {
		if i, ok := byBase[name]; ok && i >= 0 {
			files[-2-n] = i
		}
	}
	for _, name := range sortedByNumber(p.bases) {
		if n := p.bases[name]; files[-2-n] < 0 {
			files[-2-n] = int32(len(p.m.Files))
			p.m.Files = append(p.m.Files, name)
		}
	}
	for i := range p.m.Locations {
		l := &p.m.Locations[i]
		if l.File <= -2 {
			l.File = files[-2-l.File]
		}
		if l.Function != "" {
			l.Function = p.stringAt(l.Function)
		}
	}
}

func sortedByNumber(bases map[string]int32) []string {
	names := make([]string, len(bases))
	for name, n := range bases {
		names[-2-n] = name
	}
	return names
}

// maxName bounds the name of a function in the debug information.
const maxName = 4096

// stringAt is the string at a label, or a number of bytes behind it: "$L__info_string0+8".
func (p *parser) stringAt(label string) string {
	label, offset, _ := strings.Cut(label, "+")
	at, ok := p.strings[label]
	n, err := strconv.ParseUint("0"+offset, 10, 32)
	if !ok || err != nil || n > uint64(len(p.debugText)-at) {
		return ""
	}
	rest := p.debugText[at+int(n):]
	rest = rest[:min(len(rest), maxName)]
	if end := bytes.IndexByte(rest, 0); end >= 0 {
		rest = rest[:end]
	}
	return p.intern(string(rest))
}
