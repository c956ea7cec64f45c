// Package lane computes: what a PTX instruction that touches registers only does to the lanes of one warp. Arithmetic,
// conversions, selections, votes, shuffles and matrix products are here; memory, control flow and scheduling are not.
//
// Every operation is bit-exact with the PTX ISA for integers and for IEEE operations; the approximations (ex2, rcp, ...) are
// documented beside their function with the error that they have.
package lane

import "github.com/prlx-go/prlx/core/simulator/ptx"

// Lanes is the number of lanes of a warp.
const Lanes = 32

// Regs are the registers of one warp: registers of up to 32 bits, of 64 bits, and predicates as one bit a lane. A register of 8
// or 16 bits stands in the low bits of a 32-bit one, and its high bits are zero.
type Regs struct {
	R32 [][Lanes]uint32
	R64 [][Lanes]uint64
	P   []uint32

	Carry uint32 // of add.cc and the like, one bit a lane
}

// Bank says in which of the three a register is.
type Bank uint8

// The banks.
const (
	R32 Bank = iota
	R64
	P
)

// BankOf is the bank of registers of a type.
func BankOf(t ptx.Type) Bank {
	switch t {
	case ptx.Pred:
		return P
	case ptx.B64, ptx.U64, ptx.S64, ptx.F64:
		return R64
	}
	return R32
}

// Operands are the registers of one instruction, as indices into their banks. Up to two results are D and D2 and up to four
// inputs A, B, C and E; a Form with more lists all of them, results first, in Vec. Immediates are registers too: the binder
// puts them into registers that nobody writes.
type Operands struct {
	D, D2      int32
	A, B, C, E int32
	Vec        []int32
}

// Func executes a lanewise operation: it computes all 32 lanes, whatever is in those that are not active, and cannot fail. The
// machine keeps what the inactive lanes had.
type Func func(r *Regs, o *Operands)

// WarpFunc executes an operation in which lanes see each other. It writes the active lanes only and returns what the program
// did wrong (a shuffle that names lanes that are not there), nil usually.
type WarpFunc func(r *Regs, o *Operands, active uint32) error

// Form is what an instruction does: one of Lanewise and Warp is set.
type Form struct {
	Lanewise Func
	Warp     WarpFunc
	Out, In  []Bank // of all operands, vectors and pairs flattened in the order of the text
	UsesVec  bool   // Operands.Vec lists them all
	Family   string // "add", "cvt", "mma": a row in the table of opcodes
	Approx   string // how the result may differ from a GPU's, "" not at all
}
