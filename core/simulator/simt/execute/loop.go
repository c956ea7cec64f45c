package execute

import (
	"math"
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
)

// run executes a warp until it waits, ends, or has executed quantum instructions, and returns how many it did. Launches spend most of
// their time in this loop: what it does in place costs no call.
func (b *Block) run(w *Warp, quantum int) int {
	list, counts, regs := b.code, b.counts, &w.Regs
	left := quantum
	for left > 0 && !b.ended && w.state == warpReady {
		if !b.choose(w) {
			w.state = warpWaits
			break
		}
		top := &w.paths[w.run]
		pc, active := top.pc, top.lanes
		limit := b.limit(w)
		stop, rest := limit, 0
		if w.slow { // an instruction each
			limit, stop, rest = -1, math.MaxInt32, left-1
		}
		whole, alone := active == w.live, len(w.paths) == 1
		strict := !whole || top.loose != nil || top.state == pathForced || w.live != w.born
		for {
			in := &list[pc]
			if in.Order >= stop {
				b.wait(w, pc, in.Order)
				break
			}
			taken := active
			if in.Guard >= 0 {
				taken &= regs.P[in.Guard] ^ in.Invert
			}
			if in.Meet != code.MeetNobody && (strict || taken != active) && taken != 0 && !b.meets(w, in, pc, taken) {
				break
			}
			left--
			w.steps++
			c := &counts[pc]
			c.issued++
			c.lanes += uint64(bits.OnesCount32(taken))
			if in.Watch {
				b.watcher.Before(b, w, pc, active, taken)
			}
			switch in.Kind {
			case code.KindLane:
				if whole && taken == active {
					in.Lane(regs, &in.Ops)
				} else if taken != 0 {
					w.masked(in, taken)
				}
				pc++
			case code.KindJump:
				pc = b.jump(w, in, limit, alone)
			case code.KindBranch:
				switch taken {
				case active:
					pc = b.jump(w, in, limit, alone)
				case 0:
					pc++
				default:
					c.divergent++
					b.diverge(w, in, pc+1, taken)
					pc = -1
				}
			case code.KindNothing:
				pc++
			default:
				if in.Kind >= code.KindReturn {
					top.pc = pc + 1
					b.control(w, in, pc, active, taken)
					if pc = -1; w.slow && w.run < len(w.paths) {
						b.settle(w)
					}
				} else {
					if taken != 0 {
						b.execute(w, in, pc, taken)
						if in.Kind == code.KindDivide { // by zero, maybe: then everything is watched from here on
							list = b.code
						}
					}
					pc++
				}
			}
			if in.Watch && in.Kind < code.KindJump {
				b.watcher.After(b, w, pc-1, active, taken)
			}
			if pc < 0 || b.ended {
				break
			}
			if left <= rest {
				if top.pc = pc; limit < 0 {
					b.wait(w, pc, list[pc].Order)
				}
				break
			}
		}
		if len(w.paths) == 0 {
			b.finish(w)
		}
	}
	return quantum - left
}

// jump goes to the target of an instruction; -1 if lanes must wait there, or give way to others.
func (b *Block) jump(w *Warp, in *code.Inst, limit int32, alone bool) int32 {
	if in.Back && (in.Polls || w.doubts > 0) && (limit < 0 || in.Arrive < limit) && b.looksAgain(w, in, alone) {
		return -1
	}
	if in.Back && !alone && w.steps-w.since > b.patience && b.givesWay(w, in) {
		return -1
	}
	if in.Arrive < limit {
		return in.Target
	}
	b.wait(w, in.Target, in.Arrive)
	return -1
}
