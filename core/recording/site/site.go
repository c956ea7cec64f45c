// Package site names the places of a kernel where a warp can decide or leave a mark: conditional branches, predicates, stores,
// atomics and, on request, loads, barriers, entry and exit.
//
// A recording refers to its sites by number; this package says what the numbers mean: the source location with the chain of
// inlining, the kind, and where the operands come from. It holds the ids and the site map (prlx-sites.json) of format v1, the
// keys of format v2, and the remapping of sites between builds. It knows nothing of events.
package site

// Kind says what happens at a site. The values 0 to 6 are those of format v1.
type Kind uint8

// The kinds of sites.
const (
	Branch      Kind = 0  // conditional branch
	SharedStore Kind = 1  // store to shared memory
	Atomic      Kind = 2  // atomic read-modify-write or compare-and-swap
	Entry       Kind = 3  // function entry
	Exit        Kind = 4  // function exit
	Switch      Kind = 5  // multi-way branch
	GlobalStore Kind = 6  // store to global memory
	Predicate   Kind = 7  // compare whose result guards memory accesses or selects, not a branch
	Load        Kind = 8  // load
	Barrier     Kind = 9  // block-wide barrier
	Value       Kind = 10 // a value that was asked for
)

// kindNames are the spellings in documents and on the command line.
var kindNames = [...]string{
	Branch: "branch", SharedStore: "shared-store", Atomic: "atomic", Entry: "entry", Exit: "exit", Switch: "switch",
	GlobalStore: "global-store", Predicate: "predicate", Load: "load", Barrier: "barrier", Value: "value",
}

// String returns the spelling in documents, "kind-200" for a kind that this version does not know.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind-" + itoa(uint64(k))
}

func itoa(n uint64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// Frame is one source location. Line 0 means unknown.
type Frame struct {
	Function string // as in the module (mangled where the language mangles)
	File     string // as the debug information says; the directory joined when it is known
	Line     uint32 // 1-based
	Column   uint32 // 1-based, 0 unknown
}

// Key is the 64-bit name of a site in format v2: a hash of module-independent facts (function, chain of locations, kind,
// occurrence), so that it stays the same in a rebuild that does not move the line.
type Key uint64

// Origin says where an operand of a site comes from, found by walking a few steps back through definitions.
type Origin uint8

// The origins of operands.
const (
	FromUnknown   Origin = 0
	FromConstant  Origin = 1
	FromArgument  Origin = 2 // kernel argument
	FromProgramID Origin = 3 // block, warp or thread index
	FromLoad      Origin = 4
	FromAtomic    Origin = 5
	FromCarried   Origin = 6 // carried around a loop (phi)
	FromShuffle   Origin = 7 // another lane: shuffle, vote, reduction
	FromCall      Origin = 8
	FromArith     Origin = 9 // arithmetic on several origins; see Operand.Inputs
)

// Operand is one operand of a site and its provenance.
type Operand struct {
	Role   string // "lhs", "rhs", "address", "value", "expected", "condition"
	Type   string // LLVM spelling: "i32", "f16", "ptr"
	Origin Origin
	Name   string // argument name, constant, or name of the intrinsic
	Site   Key    // the load or atomic that it comes from, when that is a site of the same table; else 0
	Where  Frame  // location of the origin, zero when unknown
	Inputs []Operand
}

// Site is one place in a kernel.
type Site struct {
	ID         uint32 // format v1: FNV-1a-32 of the location; 0 in recordings of v2 that were never v1
	Key        Key    // format v2
	Kind       Kind
	Chain      []Frame // innermost first: the location itself, then the call sites into which it was inlined; may be empty
	Occurrence uint32  // counts sites with the same function, chain and kind in their module, from 0
	Ordinal    int32   // format v1: position among the sites of one function and kind; -1 unknown
	Compare    Compare
	Operands   []Operand
	Text       string // the instruction in short, such as "icmp slt i32"; "" unknown
	Code       uint32 // hash over what it computes, alike from PTX and LLVM IR: observe.CodeHash; 0 unknown
	Shape      uint32 // hash over what the instruction computes, without names, registers and lines; 0 unknown

	shown int // position in Chain of the frame that names the site to its user; set by the table
}

// Compare is the predicate of a compare, numbered as LLVM does: fcmp 0 to 15, icmp 32 to 41. NoCompare means there is none.
type Compare uint8

// NoCompare is the Compare of a site that compares nothing, or of which that is not known.
const NoCompare Compare = 255

// Where returns the innermost location, the zero Frame when nothing is known.
func (s *Site) Where() Frame {
	if len(s.Chain) == 0 {
		return Frame{}
	}
	return s.Chain[0]
}
