package memory

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// MbarrierKind is what an instruction does with an mbarrier object.
type MbarrierKind uint8

// The kinds.
const (
	MbarrierInit       MbarrierKind = iota // t.Data: the count
	MbarrierInvalidate                     //
	MbarrierArrive                         // t.Data: the count, -1: 1; t.Regs: the state before, of lane.R64
	MbarrierDrop                           // as an arrival, and expects as many less from the next phase on
	MbarrierCopied                         // what cp.async says when its copies are there, which it had said it would
	MbarrierTest                           // t.Data: a state; t.Regs: a predicate
	MbarrierParity                         // t.Data: a parity; t.Regs: a predicate
)

// An mbarrier object is 8 bytes of shared memory. What they hold is nobody's business but ours: arrivals that are pending, arrivals that a
// phase expects, the number of the phase, and a mark by which an object is known.
const (
	mbarrierBytes           = 8
	mbarrierCount           = 1<<20 - 1
	mbarrierExpected        = 20
	mbarrierPhase           = 40
	mbarrierMark            = 60
	mbarrierKnown    uint64 = 0xb
)

// MbarrierOp is one instruction on mbarrier objects.
type MbarrierOp struct {
	Kind       MbarrierKind
	NoComplete bool // an arrival that must not complete the phase
}

// Number is the instruction as a number, of which MbarrierOf makes it again.
func (op MbarrierOp) Number() int32 { return int32(op.Kind)<<1 | int32(bit(op.NoComplete)) }

// MbarrierOf is the instruction with a number.
func MbarrierOf(number int32) MbarrierOp {
	return MbarrierOp{Kind: MbarrierKind(number >> 1), NoComplete: number&1 != 0}
}

// Pending is how many arrivals a state says were pending.
func Pending(state uint64) uint32 { return uint32(state & mbarrierCount) }

// Mbarrier executes an instruction on mbarrier objects in the lanes of mask, in ascending order. Lanes that fault change nothing.
func (b *Block) Mbarrier(r *lane.Regs, t *Transfer, op MbarrierOp, warp int, mask uint32) *Fault {
	room := *addresses(r, t, &b.room)
	var found faults
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		address := room[l] + uint64(t.Offset)
		if address-SharedWindow < windowSize { // a generic address
			address -= SharedWindow
		}
		if b.checkShared(&found, l, address, mbarrierBytes, loads|stores) {
			b.mbarrierLane(&found, r, t, op, warp, l, uint32(address))
		}
	}
	return found.first
}

func (b *Block) mbarrierLane(found *faults, r *lane.Regs, t *Transfer, op MbarrierOp, warp, l int, address uint32) {
	object := b.shared[address:][:mbarrierBytes]
	v := binary.LittleEndian.Uint64(object)
	next, result, wrong := op.next(v, mbarrierInput(r, t, op.Kind, l))
	order := Release
	switch op.Kind {
	case MbarrierInit, MbarrierInvalidate:
		order = Weak
	case MbarrierTest, MbarrierParity:
		if order = Relaxed; result != 0 {
			order = Acquire
		}
		r.P[t.Regs[0]] = r.P[t.Regs[0]]&^(1<<l) | uint32(result)<<l
	default:
		if t.Regs[0] >= 0 {
			r.R64[t.Regs[0]][l] = result
		}
	}
	var value [mbarrierBytes]byte
	binary.LittleEndian.PutUint64(value[:], next)
	if s := b.shadow; s != nil {
		s.begin(warp, t.Inst, order)
		if order == Weak {
			b.writeShared(found, t, l, address, value[:])
		} else {
			b.updateShared(found, t, l, address, mbarrierBytes, order)
		}
	}
	copy(object, value[:])
	if wrong != "" {
		if f := found.add(MbarrierMisuse, l, uint64(address), mbarrierBytes, loads|stores); f != nil {
			f.nearShared(uint64(len(b.shared)))
			f.Says = wrong
		}
	}
}

// mbarrierInput is the operand of one lane behind the address.
func mbarrierInput(r *lane.Regs, t *Transfer, kind MbarrierKind, l int) uint64 {
	switch reg := t.Data[0]; {
	case reg < 0:
		return 1
	case kind == MbarrierTest:
		return r.R64[reg][l]
	default:
		return uint64(r.R32[reg][l])
	}
}

// next is what an object holds after an instruction, what the instruction gives, and what is wrong with it.
func (op MbarrierOp) next(v, input uint64) (next, result uint64, wrong string) {
	if op.Kind == MbarrierInit {
		if input == 0 || input > mbarrierCount {
			return 0, 0, fmt.Sprintf("an mbarrier expects %d arrivals: 1 to %d are possible", input, mbarrierCount)
		}
		return mbarrierKnown<<mbarrierMark | input<<mbarrierExpected | input, 0, ""
	}
	if v>>mbarrierMark != mbarrierKnown {
		return v, 0, "there is no mbarrier that was initialised"
	}
	pending, expected, phase := v&mbarrierCount, v>>mbarrierExpected&mbarrierCount, v>>mbarrierPhase&mbarrierCount
	switch op.Kind {
	case MbarrierInvalidate:
		return 0, 0, ""
	case MbarrierCopied:
		return v, 0, ""
	case MbarrierTest:
		return v, bit(input>>mbarrierPhase&mbarrierCount != phase), ""
	case MbarrierParity:
		return v, bit(input&1 != phase&1), ""
	}
	if input == 0 || input > pending || op.NoComplete && input == pending || op.Kind == MbarrierDrop && input > expected {
		return v, v, fmt.Sprintf("%d arrivals come to an mbarrier, whose phase waits for %d of %d more", input, pending, expected)
	}
	pending -= input
	if op.Kind == MbarrierDrop {
		expected -= input
	}
	if pending == 0 {
		pending, phase = expected, (phase+1)&mbarrierCount
	}
	return mbarrierKnown<<mbarrierMark | phase<<mbarrierPhase | expected<<mbarrierExpected | pending, v, ""
}

func bit(set bool) uint64 {
	if set {
		return 1
	}
	return 0
}
