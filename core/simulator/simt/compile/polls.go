package compile

import (
	"cmp"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// findPolls marks the jumps that lead back to the head of a loop which looks at what other threads may change: it polls. The blocks of a
// loop have consecutive numbers in the arrangement of its function, from that of its head to the one at which lanes wait that go round
// again. A call counts as a look if any function of the kernel has one.
func findPolls(k *code.Kernel) {
	if !slices.ContainsFunc(k.Code, func(in code.Inst) bool { return looksAtOthers(&in) }) {
		return
	}
	var jumps []*code.Inst
	for i := range k.Code {
		in := &k.Code[i]
		if !in.Back || in.Kind != code.KindJump && in.Kind != code.KindBranch {
			continue
		}
		loop := code.Loop{Function: k.Origins[in.Origin].Function, First: k.Code[in.Target].Order, Behind: in.Arrive}
		if slices.ContainsFunc(bodyOf(k, &loop), func(in *code.Inst) bool { return in.Kind == code.KindCall || looksAtOthers(in) }) {
			in.Polls, in.Detail = true, int32(len(k.Loops))
			k.Loops, jumps = append(k.Loops, loop), append(jumps, in)
		}
	}
	for _, in := range jumps { // what an outer loop counts tells one run of an inner loop from another
		for i := range k.Loops {
			if k.Loops[i].Contains(&k.Loops[in.Detail]) {
				in.Detail = int32(i)
			}
		}
	}
	for i := range k.Loops {
		loop := &k.Loops[i]
		whole := code.Loop{Function: loop.Function, Behind: math.MaxInt32}
		if slices.ContainsFunc(bodyOf(k, &whole), func(in *code.Inst) bool { return in.Kind == code.KindSwitch }) {
			loop.Registers = allRegisters(k) // an indexed jump may lead back to the head of a loop that is not seen
		} else {
			loop.Registers = deciding(k, bodyOf(k, loop))
		}
	}
}

// bodyOf are the instructions of a loop.
func bodyOf(k *code.Kernel, loop *code.Loop) (body []*code.Inst) {
	for i := range k.Code {
		if in := &k.Code[i]; loop.Holds(k, int32(i)) {
			body = append(body, in)
		}
	}
	return body
}

// deciding are the registers on which depends what a loop accesses and where it leads. With a call in it that is all of them.
func deciding(k *code.Kernel, body []*code.Inst) (list []code.Register) {
	decides := map[code.Register]bool{}
	need := func(in *code.Inst) {
		for _, r := range in.Ins {
			decides[r] = true
		}
		if in.Guard >= 0 {
			decides[code.P(in.Guard)] = true
		}
		if in.Meet == code.MeetMask {
			decides[code.R32(in.Members)] = true
		}
	}
	for _, in := range body {
		switch in.Kind {
		case code.KindCall:
			return allRegisters(k)
		case code.KindLane, code.KindLaneNaN, code.KindDivide, code.KindNothing, code.KindClock:
		default:
			need(in)
		}
	}
	for before := -1; before != len(decides); {
		before = len(decides)
		for _, in := range body {
			if slices.ContainsFunc(in.Outs, func(r code.Register) bool { return decides[r] }) {
				need(in)
			}
		}
	}
	for r := range decides {
		if int(r.Index) < k.Written[r.Bank] {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(x, y code.Register) int {
		return cmp.Or(cmp.Compare(x.Bank, y.Bank), cmp.Compare(x.Index, y.Index))
	})
	return list
}

// allRegisters are all that instructions write.
func allRegisters(k *code.Kernel) (list []code.Register) {
	for bank, n := range k.Written {
		for i := range n {
			list = append(list, code.Register{Bank: lane.Bank(bank), Index: int32(i)})
		}
	}
	return list
}

// looksAtOthers reports whether what an instruction gives may depend on what other threads do in the meantime, so that a loop can wait for it.
func looksAtOthers(in *code.Inst) bool {
	switch in.Kind {
	case code.KindLoad:
		return in.Mem.Order != memory.Weak
	case code.KindAtomic:
		return len(in.Outs) > 0
	case code.KindMbarrier:
		kind := memory.MbarrierOf(in.Detail).Kind
		return kind == memory.MbarrierTest || kind == memory.MbarrierParity
	case code.KindMalloc:
		return true
	}
	return false
}
