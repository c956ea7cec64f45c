package memory

import "github.com/prlx-go/prlx/core/simulator/simt/lane"

// Compilers do atomics on 1 or 2 bytes, where the GPU lacks them, as a loop of compare-and-swap on the aligned word around them.
// The word may reach beyond the array: on a GPU there is always memory around one, and the loop writes back what it has read of
// it. Here the bytes beyond read as zeros and are never written; what counts is that those that the loop is for are in bounds.

// WordBytes is the size of such a word.
const WordBytes = 4

// piece is the bytes of a word that lie in an array.
type piece struct {
	in    *region
	bytes []byte // of the array
	first uint64 // where they begin in the word
}

// pieceOf returns what of the word at an address is in bounds. ok is false when the access is not for a part of a word, or when
// that part is not in bounds.
func (g *Global) pieceOf(r *lane.Regs, t *Transfer, l int, address uint64) (p piece, ok bool) {
	if t.Part == 0 {
		return p, false
	}
	own := r.R64[t.Part-1][l]
	if own&^(WordBytes-1) != address {
		return p, false
	}
	in := g.within(own, own+1, t.Legal)
	if in == nil {
		return p, false
	}
	low := max(address, in.base)
	high := min(address+WordBytes, in.base+uint64(len(in.bytes)))
	return piece{in: in, bytes: in.bytes[low-in.base : high-in.base], first: low - address}, true
}

// loadPiece loads a word that is partly in bounds and reports whether it was one.
func (g *Global) loadPiece(r *lane.Regs, t *Transfer, l int, address uint64) bool {
	p, ok := g.pieceOf(r, t, l, address)
	if !ok {
		return false
	}
	var word [WordBytes]byte
	copy(word[p.first:], p.bytes)
	t.get(r, l, word[:])
	return true
}

// atomicPiece does an atomic on a word that is partly in bounds and reports whether it was one. To change bytes beyond the array is
// out of bounds.
func (g *Global) atomicPiece(found *faults, r *lane.Regs, t *Transfer, op *AtomicOp, l int, address uint64) bool {
	p, ok := g.pieceOf(r, t, l, address)
	if !ok {
		return false
	}
	kind := ReadOnlyWrite
	if !p.in.readOnly {
		var word [WordBytes]byte
		inside := word[p.first:][:len(p.bytes)]
		copy(inside, p.bytes)
		op.lane(r, t, l, word[:], flushes)
		done := [WordBytes]byte{}
		copy(done[:], inside)
		clear(inside)
		if word == [WordBytes]byte{} {
			copy(p.bytes, done[:])
			return true
		}
		kind = OutOfBounds
	}
	if f := found.add(kind, l, address, WordBytes, loads|stores); f != nil {
		g.place(f, t.Legal)
	}
	t.clear(r, l)
	return true
}
