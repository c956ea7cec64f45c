// Package llir reads LLVM IR as text, the way Triton prints it between LLVM 21 and 24, and inserts calls of the recorder.
//
// It parses what recording touches (functions, blocks, the instructions that decide or write, debug locations, attribute groups) and
// leaves the rest alone: what it does not know is copied byte for byte. It is no verifier of IR, but what it returns has a structure
// that was checked, because Triton ends the process on a text that does not parse.
package llir

import (
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// maxText bounds the text of a module in bytes.
const maxText = 256 << 20

// maxBlocks bounds the blocks of one function, maxInsts its instructions.
const (
	maxBlocks = 1 << 20
	maxInsts  = 1 << 23
)

// module is one text.
type module struct {
	text       string
	lines      []span
	Functions  []*function
	declared   map[string]bool // names after @, of functions and globals
	metadata   map[int32]span  // !7 = ...: what stands behind the sign
	attributes map[string]int  // #0 -> number of its line
	memo       map[int32]*location
}

// span is a piece of the text.
type span struct{ from, to int }

func (m *module) at(s span) string { return m.text[s.from:s.to] }

// function is one that has a body.
type function struct {
	Name   string
	Kernel bool   // ptx_kernel or amdgpu_kernel
	Group  string // of its attributes: "#0", "" none
	Params []parameter
	Insts  []inst
	Blocks []block

	head    int              // number of the line that begins it
	params  span             // between the parentheses
	end     int              // number of the line that closes it
	defined map[string]int32 // names with their % -> instruction, or -1-i for parameter i
	scope   int32            // !dbg of its head, -1 none
}

// parameter is a parameter.
type parameter struct {
	Type  string // "ptr addrspace(1)"
	Attrs string // "nofree readnone captures(none)"
	Name  string // "%5"
}

// block is a basic block: instructions First up to but without End.
type block struct {
	Label      string // without its colon; "" the first one, where it has no name
	First, End int32
}

// inst is one instruction.
type inst struct {
	Name  string // "%7", "" where it has no result
	Op    string // "icmp"; of calls "call", without tail
	Rest  string // what follows the opcode, without attachments of metadata
	Debug int32  // !dbg, -1 none
	block int32
	line  int // number of its first line
	last  int // and of its last one, which differs for a switch
}

// read reads a text.
func read(text string) (*module, error) {
	if len(text) > maxText {
		return nil, fault.New(fault.Limit, "the module has %d bytes, at most %d are read", len(text), maxText)
	}
	m := &module{
		text: text, declared: map[string]bool{}, metadata: map[int32]span{}, attributes: map[string]int{}, memo: map[int32]*location{},
	}
	m.split()
	for i := 0; i < len(m.lines); i++ {
		line := m.at(m.lines[i])
		if line == "" {
			continue
		}
		switch line[0] {
		case 'd':
			if strings.HasPrefix(line, "define ") {
				end, err := m.function(i)
				if err != nil {
					return nil, err
				}
				i = end
			} else if strings.HasPrefix(line, "declare ") {
				if name := symbol(line); name != "" {
					m.declared[name] = true
				}
			}
		case '!':
			m.node(m.lines[i], line)
		case '@':
			if name := symbol(line); name != "" {
				m.declared[name] = true
			}
		case 'a':
			if rest, ok := strings.CutPrefix(line, "attributes #"); ok {
				number, _, _ := strings.Cut(rest, " ")
				m.attributes["#"+number] = i
			}
		}
	}
	if len(m.Functions) == 0 {
		return nil, fault.New(fault.Format, "no function has a body").WithHint("this is no LLVM IR of a kernel")
	}
	return m, nil
}

// split finds the lines.
func (m *module) split() {
	m.lines = make([]span, 0, len(m.text)/48+8)
	for from := 0; from < len(m.text); {
		to := strings.IndexByte(m.text[from:], '\n')
		if to < 0 {
			m.lines = append(m.lines, span{from, len(m.text)})
			return
		}
		m.lines = append(m.lines, span{from, from + to})
		from += to + 1
	}
}

// symbol is the first name after an @ of a line, without quotes.
func symbol(line string) string {
	i := strings.IndexByte(line, '@')
	if i < 0 {
		return ""
	}
	rest := line[i+1:]
	if strings.HasPrefix(rest, `"`) {
		name, _, ok := strings.Cut(rest[1:], `"`)
		if !ok {
			return ""
		}
		return name
	}
	return rest[:nameEnd(rest)]
}

// nameEnd is where a name without quotes ends.
func nameEnd(s string) int {
	for i := 0; i < len(s); i++ {
		if !isName(s[i]) {
			return i
		}
	}
	return len(s)
}

func isName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '$' || c == '-'
}

// node notes a line of metadata: !7 = ...
func (m *module) node(at span, line string) {
	id, ok := decimal(line[1:])
	if !ok {
		return
	}
	if i := strings.Index(line, " = "); i >= 0 {
		m.metadata[id] = span{at.from + i + 3, at.to}
	}
}

// decimal reads the number at the start of a text.
func decimal(s string) (int32, bool) {
	n, i := int64(0), 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		if n = 10*n + int64(s[i]-'0'); n > 1<<30 {
			return 0, false
		}
	}
	return int32(n), i > 0
}
