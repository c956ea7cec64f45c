package warptracetest

import (
	"os"
	"path/filepath"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Config says which program to make. The zero value of a field takes the default.
type Config struct {
	Seed   uint64
	Kernel string // name of the kernel, default made up from the seed
	Depth  int    // nesting of branches and loops, default 3
	Size   int    // random statements at the outermost level, default 6
	Noise  int    // places whose outcome depends on Launch.Run: tickets taken by atomics, clocks; default none
	// Race adds a race for a ticket whose winner depends on Launch.Run. Unlike those of Noise it is not in Recording.Noise:
	// it is the bug "race".
	Race bool
	// Structured programs read data that repeats from warp to warp, so that values are counters and addresses more than noise.
	Structured bool
	// Comments, unless 0, is the seed of comments between the statements: another build of the same program, whose lines moved.
	Comments uint64
	// Portable programs do the same in every thread whatever the width of a warp: they have no reductions. Old values of atomics still
	// count by warp.
	Portable bool
	// Endless programs repeat their main loop until Launch.Events events are there, and no lane leaves it early.
	Endless bool
}

func (c Config) withDefaults() Config {
	if c.Depth == 0 {
		c.Depth = 3
	}
	if c.Size == 0 {
		c.Size = 6
	}
	return c
}

// Program is a kernel that can be run. It does not change once made.
type Program struct {
	Config Config
	Name   string
	Bug    *Bug // what WithBug did, nil: nothing

	files     []File
	kernel    *function
	functions []*function
	sites     []site.Site
	table     *site.Table
	arms      []arm // by site: what it is nested in
	noise     []int // sites whose outcome depends on the run
	registers int   // how many variables
	bugs      map[string]seeded
	arrays    []*array
	shared    bool // an atomic is shared between warps: they must run in the order of the schedule
}

// File is one file of the program's source.
type File struct {
	Name string
	Text string
}

// Sites is the table of the program's sites, whether a launch records them or not. Warp.Site of the package's recordings counts in
// it.
func (p *Program) Sites() *site.Table { return p.table }

// Files are the sources, so that reports can show them.
func (p *Program) Files() []File { return p.files }

// WriteSource writes the sources into a directory.
func (p *Program) WriteSource(dir string) error {
	for _, f := range p.files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(f.Text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// arm says which branch of which site a site stands in.
type arm struct {
	site int // -1: in none
	kind armKind
}

type armKind uint8

const (
	armTaken    armKind = iota // then, or the body of a loop
	armNotTaken                // else
	armActive                  // a case of a switch: some of the active lanes
)

// array is memory: of the launch (x), of the block (tile) or shared by all (counters).
type array struct {
	name  string
	index int
	typ   warptrace.ValueType
	modul int32 // integers are from 0 to below this
}

// function is a piece of source: the kernel or something inlined into it.
type function struct {
	name   string // as written
	symbol string // mangled
	file   string
	params []*variable
	result *variable
	body   []*stmt
}

type stmtKind uint8

const (
	stAssign stmtKind = iota
	stLoad
	stIf
	stFor
	stSwitch
	stSelect // dst = cond ? load : 0
	stStore
	stAtomic
	stReduce
	stBarrier
	stReturn
	stBreak
	stCall
	stClock
)

// stmt is one statement: one line of the source, and what is nested in it.
type stmt struct {
	kind  stmtKind
	site  int // in the table; -1: none
	cond  *cond
	dst   *variable
	src   *expr // value
	index *expr
	array *array
	body  []*stmt
	other []*stmt   // else
	cases [][]*stmt // of a switch; the last is the default
	call  *function
	args  []*expr
	inner []*stmt // of a call: the body inlined, with sites of its own

	declares bool // the assignment declares its variable
	global   bool // of a store: to global memory
	own      bool // of an atomic: on an address of the warp's own
	racy     bool // its outcome depends on the run
	garbage  bool // the bug "uninit": the variable starts with what was there
	tree     bool // of a reduction: in the order of a tree
	feeds    bool // of a load: a compare depends on it

	operands []prov
	function *function
	line     int
	column   int
}

// prov is an operand's provenance before sites have numbers.
type prov struct {
	operand site.Operand
	from    *stmt
	inputs  []prov
}

// provenance walks back from an expression.
func provenance(role string, e *expr, depth int) prov {
	p := prov{operand: site.Operand{Role: role, Type: llvmType(e.typ)}}
	o := &p.operand
	switch e.op {
	case opConst:
		o.Origin, o.Name = site.FromConstant, e.String()
	case opArg:
		o.Origin, o.Name = site.FromArgument, e.name
	case opThread, opBlock, opLane:
		o.Origin, o.Name = site.FromProgramID, e.String()
	case opVar:
		return ofVariable(p, e.v, depth)
	default:
		if e.op == opHalf {
			o.Type = "half"
		}
		o.Origin, o.Name = site.FromArith, e.String()
		for _, in := range []*expr{e.a, e.b} {
			if in != nil && depth > 0 {
				p.inputs = append(p.inputs, provenance("", in, depth-1))
			}
		}
	}
	return p
}

func ofVariable(p prov, v *variable, depth int) prov {
	p.operand.Name = v.name
	switch {
	case v.from != nil:
		p.from = v.from
		v.from.feeds = true
		p.operand.Origin = map[stmtKind]site.Origin{
			stLoad: site.FromLoad, stSelect: site.FromLoad, stAtomic: site.FromAtomic, stReduce: site.FromShuffle, stClock: site.FromCall,
		}[v.from.kind]
	case v.argOf:
		p.operand.Origin = site.FromArith
	case v.carry:
		p.operand.Origin = site.FromCarried
	case v.def != nil && depth > 0:
		in := provenance(p.operand.Role, v.def, depth-1)
		in.operand.Name = v.name
		return in
	}
	if v.def != nil && depth > 0 && v.from == nil {
		p.inputs = append(p.inputs, provenance("", v.def, depth-1))
	}
	return p
}

func llvmType(t warptrace.ValueType) string {
	switch t {
	case warptrace.TypeF32:
		return "float"
	case warptrace.TypePtr:
		return "ptr"
	}
	return t.String()
}
