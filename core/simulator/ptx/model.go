// Package ptx reads PTX, the assembly that Triton and clang print for NVIDIA GPUs: declarations, instructions, source lines and
// control flow. Read gives a Module whose names are resolved: registers are numbers, labels are indices of instructions, scopes
// inside inline assembly are gone. It knows nothing of what instructions do, only which operands they write.
package ptx

// Module is one PTX text.
type Module struct {
	Version     string // of the PTX language: "8.7"
	Target      string // "sm_80", "sm_90a"
	AddressSize int    // 32 or 64
	Files       []string
	Variables   []Variable // of the module: .global, .const, .shared; extern ones have Size 0
	Functions   []*Function
	Locations   []Location // what Inst.Location points to
}

// Function is an entry point (a kernel), a function, or the declaration of one that is elsewhere.
type Function struct {
	Name      string
	Entry     bool
	Extern    bool // no body: vprintf, malloc
	Line      int  // of its declaration in the PTX text, 1-based
	Params    []Variable
	Results   []Variable
	Registers []Register // by number; those of inner scopes are numbered like all others
	Variables []Variable // declared inside: .local, .shared, .param
	Insts     []Inst
	Blocks    []Block
	ReqNTID   [3]uint32 // .reqntid, zeros when absent
	MaxNTID   [3]uint32 // .maxntid, zeros when absent
}

// Space is a state space.
type Space uint8

// The state spaces. Generic is an address without a space.
const (
	Generic Space = iota
	Global
	Shared
	Local
	Const
	Param
	Reg
)

// Type is a fundamental type.
type Type uint8

// The types that registers and variables have.
const (
	NoType Type = iota
	Pred
	B8
	B16
	B32
	B64
	B128
	U8
	U16
	U32
	U64
	S8
	S16
	S32
	S64
	F16
	F16x2
	BF16
	BF16x2
	F32
	F64
)

// Register is a register of a function.
type Register struct {
	Name string // as written: "%r12"
	Type Type
}

// Variable is a variable or parameter in memory.
type Variable struct {
	Name    string
	Space   Space
	Type    Type
	Bytes   uint64 // size of the whole, arrays counted; 0: extern array of unknown length
	Align   uint32
	Pointer bool  // .param .ptr: an address
	Points  Space // what it points into, when Pointer
	Extern  bool
	Init    []byte // initial value, nil: zeros

	Pointers []Pointer // to functions, in the initial value
}

// Pointer is the address of a function in the initial value of a variable, of 8 bytes.
type Pointer struct {
	At   uint64 // offset in the variable
	Name string
}

// FunctionAddress is the address of the function with a number in Module.Functions. No variable has such addresses.
func FunctionAddress(number int) uint64 { return 1<<55 + uint64(number)*16 }

// FunctionNamed is the number of a function that has a body, -1 none.
func (m *Module) FunctionNamed(name string) int {
	for i, f := range m.Functions {
		if f.Name == name && !f.Extern {
			return i
		}
	}
	return -1
}

// Opcode is an instruction's name with its modifiers.
type Opcode struct {
	Name string   // "ld"
	Mods []string // "global", "v4", "b32", without dots, in the order of the text; "L1::evict_first" is one
	Full string   // "ld.global.v4.b32"
}

// operandKind tells operands apart.
type operandKind uint8

// The kinds of operands.
const (
	IsRegister operandKind = iota // Reg
	Immediate                     // Bits, Float
	Vector                        // Elems: { %r1, %r2 }
	Address                       // [Reg + Offset], [Symbol + Offset] or [Offset]
	IsSymbol                      // a variable or function by name
	Label                         // Target: index into Function.Insts
	Special                       // Symbol: "%tid.x", "%laneid", "WARP_SZ"
	Sink                          // _
	Pair                          // Elems: two results, written p|q
	Arguments                     // Elems: ( a, b ) of a call
)

// Operand is one operand.
type Operand struct {
	Kind   operandKind
	Reg    int32  // number of a register, -1 none
	Not    bool   // !%p
	Neg    bool   // -%r in front of a register, which PTX allows in few places
	Bits   uint64 // an immediate: two's complement of 64 bits, or the bits of a float
	Float  uint8  // an immediate: 32 (0f...), 64 (0d... and decimal), 0 an integer
	Symbol string
	Part   string // of a register in a video instruction: the bytes or halves that are meant, such as b0 or h10; "" all
	Offset int64
	Target int32
	Elems  []Operand
}

// Inst is one instruction.
type Inst struct {
	Op       Opcode
	Guard    int32 // predicate register, -1 none
	GuardNot bool  // @!%p
	Operands []Operand
	Outputs  int   // how many leading operands are written; a Pair or Vector counts as one
	Location int32 // index into Module.Locations, -1 unknown
	Line     int32 // in the PTX text, 1-based
	Asm      int32 // number of the inline assembly statement it stands in, from 0 in its function; -1 none
}

// Location is where in the source an instruction comes from. Inside inline assembly the lines that LLVM invents are not
// believed: the location is that of the statement.
type Location struct {
	File     int32 // index into Module.Files, -1 unknown
	Line     uint32
	Column   uint32
	Function string // of the inlined code, "" the kernel itself or unknown
	Inlined  int32  // location of the call into which it was inlined, -1 none
}

// Block is a basic block: instructions First up to but without End.
type Block struct {
	First, End int32
	Succ       []int32 // the taken side of a conditional branch first, then the next block
	Leaves     bool    // control may leave the function from its end: return, exit, trap, the end of the text
}
