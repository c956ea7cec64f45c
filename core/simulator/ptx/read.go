package ptx

import (
	"context"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// Limits of one text. Large kernels have some 20,000 instructions and 3 MB of text.
const (
	maxText      = 64 << 20
	maxInsts     = 1 << 20
	maxOperands  = 1 << 22
	maxLocations = 1 << 20
	initPerByte  = 16 // bytes of initial values for each byte of text
	maxDepth     = 16 // scopes
)

// Read reads a PTX text. The name is what errors call it. Time and memory grow with the length of the text only; what is not PTX is
// refused with its line.
func Read(ctx context.Context, name string, text []byte) (*Module, error) {
	if len(text) > maxText {
		return nil, fault.New(fault.Limit, "the PTX has %d bytes; at most %d are read", len(text), maxText).WithPath(name)
	}
	p := &parser{
		scanner: scanner{name: name, text: string(text), line: 1}, ctx: ctx, m: &Module{AddressSize: 64},
		opcodes: map[string]Opcode{}, interned: map[string]string{}, symbols: map[string]int{}, functions: map[string]int{},
		locations: locations{
			files: map[uint64]int32{}, strings: map[string]int{}, known: map[locationKey]int32{}, bases: map[string]int32{},
		},
	}
	p.module()
	if p.err == nil {
		p.finish()
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.m, nil
}

// parser holds what is known while a text is read. It has a method for each rule of the grammar, all over one position in the text, which they
// move: so it has many.
type parser struct {
	scanner
	locations
	ctx       context.Context
	m         *Module
	opcodes   map[string]Opcode
	interned  map[string]string
	symbols   map[string]int // variables of the module: index into Module.Variables
	functions map[string]int // index into Module.Functions
	pending   []reference    // names that must turn out to be functions

	f      *Function // that is being read
	video  bool      // the instruction is one whose operands may be parts of registers
	scopes []scope
	tables [][]reference     // of branch targets
	params map[paramKey]bool // variables in parameter space that calls declare
	used   map[string]bool   // names of its variables, and of those of its scopes that are closed

	weak bool // the directive may stand in several texts that were linked, of which the first counts

	insts, operands, registerCount, initial int // of the whole text, against the limits
}

// reference is a name that was used before what it names was seen.
type reference struct {
	name string
	line int
}

// intern returns a copy of a name that does not hold the text in memory.
func (p *parser) intern(name string) string {
	if known, ok := p.interned[name]; ok {
		return known
	}
	own := strings.Clone(name)
	p.interned[own] = own
	return own
}

// module reads the directives outside of functions.
func (p *parser) module() {
	for p.peek() != 0 {
		if p.f = nil; p.ctx.Err() != nil {
			p.err = fault.Of(p.ctx.Err())
			return
		}
		if p.accept(';') {
			continue
		}
		if p.peek() != '.' {
			p.fail(p.line, "expected a directive outside of functions, got %s", p.next())
			return
		}
		line, word := p.line, p.dotted()
		extern := false
		p.weak = false
		for p.peek() == '.' && linking[word] {
			extern = extern || word == ".extern"
			p.weak = p.weak || word == ".weak" || word == ".common"
			line, word = p.line, p.dotted()
		}
		p.directive(word, extern, line)
	}
}

// linking are the directives that stand in front of others.
var linking = map[string]bool{".visible": true, ".extern": true, ".weak": true, ".common": true}

func (p *parser) directive(word string, extern bool, line int) {
	switch word {
	case ".version":
		p.m.Version = p.intern(strings.TrimSpace(withoutComment(p.restOfLine())))
	case ".target":
		p.m.Target = p.intern(strings.TrimSpace(strings.Split(withoutComment(p.restOfLine()), ",")[0]))
	case ".address_size":
		if n, _ := p.number(); n == 32 || n == 64 {
			p.m.AddressSize = int(n)
		} else {
			p.fail(line, ".address_size is %d, expected 32 or 64", n)
		}
	case ".file":
		p.file()
	case ".loc":
		p.restOfLine() // outside of functions it says nothing
	case ".section":
		p.section()
	case ".pragma":
		p.quoted(word)
		p.expect(';', word)
	case ".entry", ".func":
		p.function(word == ".entry", extern, line)
	case ".global", ".const", ".shared":
		p.moduleVariable(word, extern, line)
	default:
		p.refuse(line, fault.Incompatible, "directive %.40s is not read", word)
	}
}

func withoutComment(line string) string {
	line, _, _ = strings.Cut(line, "//")
	return line
}

// finish resolves what could not be resolved on the way.
func (p *parser) finish() {
	for _, r := range p.pending {
		if _, ok := p.functions[r.name]; !ok {
			p.fail(r.line, "nothing is declared with the name %.80s", r.name)
			return
		}
	}
	p.finishLocations()
	if p.m.Version == "" || p.m.Target == "" {
		p.fail(1, "the text has no .version or no .target")
	}
}
