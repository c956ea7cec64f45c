package llir

import (
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// function reads the one that begins at a line, and returns the number of the line that closes it.
func (m *module) function(head int) (int, error) {
	end := head + 1
	for end < len(m.lines) && (m.lines[end].to-m.lines[end].from != 1 || m.text[m.lines[end].from] != '}') {
		end++
	}
	if end == len(m.lines) {
		return 0, m.broken(head, "the function is not closed")
	}
	f := &function{head: head, defined: make(map[string]int32, end-head), scope: -1}
	if err := m.head(f); err != nil {
		return 0, err
	}
	f.end = end
	f.Insts = make([]inst, 0, end-head)
	f.Blocks = append(f.Blocks, block{})
	for i := head + 1; i < end; i++ {
		last, err := m.bodyLine(f, i)
		if err != nil {
			return 0, err
		}
		i = last
	}
	f.Blocks[len(f.Blocks)-1].End = int32(len(f.Insts))
	m.declared[f.Name] = true
	m.Functions = append(m.Functions, f)
	return end, nil
}

func (m *module) broken(line int, what string) error {
	return fault.New(fault.Format, "line %d: %s", line+1, what)
}

// head reads a line such as
//
//	define ptx_kernel void @add(ptr addrspace(1) %0, i32 %1) local_unnamed_addr #0 !dbg !4 {
func (m *module) head(f *function) error {
	line := m.at(m.lines[f.head])
	if !strings.HasSuffix(line, "{") {
		return m.broken(f.head, "a function that does not open its body on its line")
	}
	at := strings.IndexByte(line, '@')
	if f.Name = symbol(line); f.Name == "" {
		return m.broken(f.head, "a function without a name")
	}
	f.Kernel = strings.Contains(line[:at], "ptx_kernel ") || strings.Contains(line[:at], "amdgpu_kernel ")
	open := strings.IndexByte(line[at:], '(')
	if open < 0 {
		return m.broken(f.head, "a function without parameters")
	}
	open += at
	shut := closing(line, open)
	if shut < 0 {
		return m.broken(f.head, "the parameters are not closed")
	}
	f.params = span{m.lines[f.head].from + open + 1, m.lines[f.head].from + shut}
	for i, text := range parts(line[open+1 : shut]) {
		p := param(text)
		f.Params = append(f.Params, p)
		if p.Name != "" {
			f.defined[p.Name] = int32(-1 - i)
		}
	}
	tail := line[shut+1:]
	if i := strings.IndexByte(tail, '#'); i >= 0 {
		if n, ok := decimal(tail[i+1:]); ok {
			f.Group = "#" + itoa(n)
		}
	}
	if i := strings.Index(tail, "!dbg !"); i >= 0 {
		if n, ok := decimal(tail[i+6:]); ok {
			f.scope = n
		}
	}
	return nil
}

// closing is where the bracket that opens at a place closes, -1 nowhere. Strings do not count.
func closing(s string, open int) int {
	depth, quoted := 0, false
	for i := open; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '[' || c == '{' || c == '<':
			depth++
		case c == ')' || c == ']' || c == '}' || c == '>':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// parts splits a list at its commas, leaving alone those inside of brackets and strings.
func parts(s string) []string {
	var list []string
	depth, quoted, from := 0, false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '[' || c == '{' || c == '<':
			depth++
		case c == ')' || c == ']' || c == '}' || c == '>':
			depth--
		case c == ',' && depth == 0:
			list = append(list, strings.TrimSpace(s[from:i]))
			from = i + 1
		}
	}
	if rest := strings.TrimSpace(s[from:]); rest != "" {
		list = append(list, rest)
	}
	return list
}

// param reads "ptr addrspace(1) nofree readnone %4".
func param(text string) parameter {
	p := parameter{}
	if i := strings.LastIndexByte(text, '%'); i >= 0 && !strings.ContainsAny(text[i:], " )") {
		p.Name, text = text[i:], strings.TrimSpace(text[:i])
	}
	n := typeEnd(text)
	p.Type, p.Attrs = text[:n], strings.TrimSpace(text[n:])
	return p
}

// typeEnd is where the type at the start of a text ends.
func typeEnd(s string) int {
	if s == "" {
		return 0
	}
	switch s[0] {
	case '<', '[', '{', '(':
		return closing(s, 0) + 1
	case '%':
		return 1 + nameEnd(s[1:])
	}
	n := nameEnd(s)
	if s[:n] == "ptr" && strings.HasPrefix(s[n:], " addrspace(") {
		return n + 1 + max(strings.IndexByte(s[n+1:], ')'), 0) + 1
	}
	if strings.HasPrefix(s[n:], "(") { // target("...")
		return closing(s, n) + 1
	}
	return n
}

// bodyLine reads a line of a body, and returns the number of the last line that belongs to it.
func (m *module) bodyLine(f *function, i int) (int, error) {
	line := m.at(m.lines[i])
	if line == "" || line[0] == ';' {
		return i, nil
	}
	if line[0] != ' ' {
		return i, m.label(f, line, i)
	}
	if len(f.Insts) >= maxInsts {
		return i, fault.New(fault.Limit, "function %s has more than %d instructions", f.Name, maxInsts)
	}
	s := strings.TrimLeft(line, " ")
	if strings.HasPrefix(s, "#dbg_") || s == "" || s[0] == ';' { // a debug record is no instruction
		return i, nil
	}
	in := inst{Debug: -1, line: i, last: i, block: int32(len(f.Blocks) - 1)}
	if s[0] == '%' {
		n := 1 + localEnd(s[1:])
		rest, ok := strings.CutPrefix(s[n:], " = ")
		if !ok {
			return i, m.broken(i, "a result without an instruction")
		}
		in.Name, s = s[:n], rest
	}
	s, in.Debug = attachments(s)
	if s != "" && (s[0] == 't' || s[0] == 'm' || s[0] == 'n') {
		for _, prefix := range [...]string{"tail ", "musttail ", "notail "} {
			s = strings.TrimPrefix(s, prefix)
		}
	}
	n := nameEnd(s)
	if n == 0 {
		return i, m.broken(i, "a line that is not an instruction")
	}
	in.Op, in.Rest = s[:n], strings.TrimLeft(s[n:], " ")
	if in.Op == "switch" && strings.HasSuffix(in.Rest, "[") {
		for in.last++; in.last < f.end && strings.TrimSpace(m.at(m.lines[in.last])) != "" && strings.TrimSpace(m.at(m.lines[in.last]))[0] != ']'; in.last++ {
		}
		if in.last >= f.end {
			return i, m.broken(i, "a switch that is not closed")
		}
		_, in.Debug = attachments(m.at(m.lines[in.last]))
	}
	if in.Name != "" {
		if _, twice := f.defined[in.Name]; twice {
			return i, m.broken(i, "the name "+in.Name+" is given twice")
		}
		f.defined[in.Name] = int32(len(f.Insts))
	}
	f.Insts = append(f.Insts, in)
	return in.last, nil
}

// localEnd is where a name behind a % ends; it may stand in quotes.
func localEnd(s string) int {
	if strings.HasPrefix(s, `"`) {
		if i := strings.IndexByte(s[1:], '"'); i >= 0 {
			return i + 2
		}
	}
	return nameEnd(s)
}

// attachments cuts off the metadata behind an instruction, and finds !dbg in it.
func attachments(s string) (string, int32) {
	debug := int32(-1)
	i := lastDebug(s)
	if i < 0 {
		return s, debug
	}
	if n, ok := decimal(s[i+8:]); ok {
		debug = n
	}
	return s[:i], debug
}

// lastDebug is where the last ", !dbg !" of a text begins, -1 nowhere. It looks for the last sign first, which is nearly always its own.
func lastDebug(s string) int {
	const mark = ", !dbg !"
	for end := len(s); ; {
		i := strings.LastIndexByte(s[:end], '!')
		if i < 0 {
			return -1
		}
		if from := i + 1 - len(mark); from >= 0 && s[from:i+1] == mark {
			return from
		}
		end = i
	}
}

// label reads "22:   ; preds = ..." and begins a block.
func (m *module) label(f *function, line string, i int) error {
	n := localEnd(line)
	if n == 0 || !strings.HasPrefix(line[n:], ":") {
		return m.broken(i, "a line in a function that is neither a label nor an instruction")
	}
	if len(f.Blocks) >= maxBlocks {
		return fault.New(fault.Limit, "function %s has more than %d blocks", f.Name, maxBlocks)
	}
	last := &f.Blocks[len(f.Blocks)-1]
	if last.End = int32(len(f.Insts)); last.End == last.First && len(f.Blocks) == 1 && last.Label == "" {
		last.Label = line[:n]
		return nil
	}
	f.Blocks = append(f.Blocks, block{Label: line[:n], First: int32(len(f.Insts))})
	return nil
}

func itoa(n int32) string {
	var b [12]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}
