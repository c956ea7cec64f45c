package compile

import (
	"strings"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// What is approximated is followed from register to register and through memory, without regard to the order of instructions: what is not
// said to be reached is not reached. Of more than 64 instructions that approximate the last ones count as one.

// orderOfAdditions is what of an atomic sum of floats differs: the order of warps and blocks is the GPU's affair.
const orderOfAdditions = "the order of the additions is that of the schedule, another one on each run of a GPU"

// spread is where values come to that some instructions approximate: a bit for each of these.
type spread struct {
	registers [3][]uint64
	shared    uint64
	local     uint64
	global    [64]uint64 // by parameter that pointers derive from
	anywhere  uint64     // through pointers that may be any
	changed   bool
}

// noteApproximation notices that the instruction which is emitted next is approximated.
func (b *binder) noteApproximation(name, how string) {
	if how != "" {
		b.k.Approximations = append(b.k.Approximations, code.Approximation{At: int32(len(b.k.Code)), Name: name, How: how})
	}
}

// isSumOfFloats reports whether the result of an atomic depends on the order of others.
func isSumOfFloats(op memory.AtomicOp) bool {
	switch op.Type {
	case ptx.F16, ptx.F16x2, ptx.BF16, ptx.BF16x2, ptx.F32, ptx.F64:
		return op.Kind == memory.Add
	}
	return false
}

// followApproximations finds the addresses, predicates and barriers that approximated values reach.
func (b *binder) followApproximations() {
	k := b.k
	if len(k.Approximations) == 0 {
		return
	}
	s := &spread{}
	for bank := range s.registers {
		s.registers[bank] = make([]uint64, k.Registers[bank])
	}
	sources := map[int32]uint64{}
	for i, a := range k.Approximations {
		sources[a.At] |= 1 << min(i, 63)
	}
	for s.changed = true; s.changed; {
		s.changed = false
		for i := range k.Code {
			s.follow(k, &k.Code[i], sources[int32(i)])
		}
	}
	for i := range k.Code {
		in := &k.Code[i]
		if in.Hidden && in.Mem == nil {
			continue
		}
		s.arrivals(k, in, int32(i))
	}
}

func (s *spread) of(r code.Register) uint64 { return s.registers[r.Bank][r.Index] }

func (s *spread) add(to *uint64, from uint64) {
	if *to|from != *to {
		*to |= from
		s.changed = true
	}
}

// follow carries marks through one instruction.
func (s *spread) follow(k *code.Kernel, in *code.Inst, marks uint64) {
	for _, r := range in.Ins {
		marks |= s.of(r)
	}
	if in.Guard >= 0 {
		marks |= s.registers[lane.P][in.Guard]
	}
	switch in.Kind {
	case code.KindStore:
		s.store(in.Mem, marks)
	case code.KindAtomic:
		s.store(in.Mem, marks)
		marks |= s.load(in.Mem)
	case code.KindLoad, code.KindMatrix:
		marks |= s.load(in.Mem)
	case code.KindCopyAsync:
		c := &k.Copies[in.Detail]
		s.store(&c.To, marks|s.load(&c.From))
	}
	for _, r := range in.Outs {
		s.add(&s.registers[r.Bank][r.Index], marks)
	}
}

func (s *spread) store(t *memory.Transfer, marks uint64) {
	switch t.Space {
	case ptx.Shared:
		s.add(&s.shared, marks)
		return
	case ptx.Local:
		s.add(&s.local, marks)
		return
	case ptx.Generic:
		s.add(&s.shared, marks)
		s.add(&s.local, marks)
	}
	if t.Legal == 0 {
		s.add(&s.anywhere, marks)
		return
	}
	for i := range s.global {
		if t.Legal>>i&1 != 0 {
			s.add(&s.global[i], marks)
		}
	}
}

func (s *spread) load(t *memory.Transfer) (marks uint64) {
	switch t.Space {
	case ptx.Shared:
		return s.shared
	case ptx.Local:
		return s.local
	case ptx.Const:
		return 0
	case ptx.Generic:
		marks = s.shared | s.local
	}
	marks |= s.anywhere
	for i, v := range s.global {
		if t.Legal == 0 || t.Legal>>i&1 != 0 {
			marks |= v
		}
	}
	return marks
}

// arrivals notes where an instruction uses what is approximated to decide something.
func (s *spread) arrivals(k *code.Kernel, in *code.Inst, at int32) {
	note := func(what code.Use, marks uint64) {
		if marks != 0 {
			k.Arrivals = append(k.Arrivals, code.Arrival{At: at, Use: what, From: marks})
		}
	}
	address := func(t *memory.Transfer) uint64 {
		switch {
		case t.Absolute:
			return 0
		case t.Narrow:
			return s.registers[lane.R32][t.Address]
		}
		return s.registers[lane.R64][t.Address]
	}
	switch {
	case in.Kind == code.KindCopyAsync:
		c := &k.Copies[in.Detail]
		note(code.UseAddress, address(&c.From)|address(&c.To))
	case in.Mem != nil:
		note(code.UseAddress, address(in.Mem))
	case in.Kind == code.KindSwitch || in.Kind == code.KindCall && in.Detail < 0:
		note(code.UseBranch, s.of(in.Ins[0]))
	case in.Kind == code.KindBarrier || in.Meet == code.MeetMask && strings.HasPrefix(k.Origin(at).PTX().Op.Name, "bar"):
		var marks uint64
		for _, r := range in.Ins {
			marks |= s.of(r)
		}
		note(code.UseBarrier, marks)
	}
	if in.Guard < 0 {
		return
	}
	use := code.UsePredicate
	switch in.Kind {
	case code.KindBranch, code.KindSwitch, code.KindReturn, code.KindExit, code.KindCall, code.KindTrap:
		use = code.UseBranch
	case code.KindBarrier:
		use = code.UseBarrier
	}
	note(use, s.registers[lane.P][in.Guard])
}
