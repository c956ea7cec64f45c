package compile

import (
	"math"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// partMask rounds an address down to that of its word.
const partMask = ^uint64(memory.WordBytes - 1)

// partsOf finds the loops of compare-and-swap that compilers make of atomics on a part of a word: the register of the word's
// address, which is a pointer rounded down, and the register of that pointer. Both are written once, so that the pointer is still
// there when the word is accessed.
func partsOf(f *ptx.Function) map[int32]int32 {
	written := make([]uint8, len(f.Registers))
	pointers, words := map[int32]int32{}, map[int32]bool{}
	for i := range f.Insts {
		in := &f.Insts[i]
		for j := range in.Operands[:min(in.Outputs, len(in.Operands))] {
			for _, o := range elements(&in.Operands[j]) {
				if o.Kind == ptx.IsRegister && o.Reg >= 0 && int(o.Reg) < len(written) {
					written[o.Reg] = min(written[o.Reg], math.MaxUint8-1) + 1
				}
			}
		}
		switch {
		case in.Op.Full == "and.b64" && len(in.Operands) == 3 && in.Operands[1].Kind == ptx.IsRegister &&
			in.Operands[2].Kind == ptx.Immediate && in.Operands[2].Bits == partMask:
			pointers[in.Operands[0].Reg] = in.Operands[1].Reg
		case in.Op.Name == "atom" && hasMod(in.Op, "cas") && typeOf(in.Op) == "b32" && len(in.Operands) > 1:
			words[in.Operands[1].Reg] = true
		}
	}
	for word, pointer := range pointers {
		if !words[word] || written[word] != 1 || written[pointer] != 1 {
			delete(pointers, word)
		}
	}
	return pointers
}

// notePart notices that an access is a part of such a loop.
func (f *bound) notePart(o *ptx.Operand, t *memory.Transfer) {
	if t.Elem != memory.WordBytes || t.Count != 1 || t.Narrow || o.Kind != ptx.Address || o.Reg < 0 {
		return
	}
	if f.parts == nil {
		f.parts = partsOf(f.f)
	}
	if pointer, ok := f.parts[o.Reg]; ok && f.registers[pointer].Bank == lane.R64 {
		t.Part = f.registers[pointer].Index + 1
	}
}
