package simt

import "math/bits"

// run executes a warp until it waits, ends, or has executed quantum instructions, and returns how many it did.
func (b *block) run(w *warp, quantum int) int {
	list, counts, regs := b.code, b.counts, &w.regs
	left := quantum
	for left > 0 && !b.ended && w.state == warpReady {
		top := &w.stack[len(w.stack)-1]
		pc, active, limit := top.pc, top.lanes, w.limit()
		whole := active == w.live
		for {
			in := &list[pc]
			if in.order >= limit {
				b.wait(w, pc, in.order)
				break
			}
			taken := active
			if in.guard >= 0 {
				taken &= regs.P[in.guard] ^ in.invert
			}
			left--
			w.steps++
			c := &counts[pc]
			c.issued++
			c.lanes += uint64(bits.OnesCount32(taken))
			if in.watch {
				b.watcher.before(b, w, pc, active, taken)
			}
			switch in.kind {
			case kindLane:
				if whole && taken == active {
					in.lane(regs, &in.ops)
				} else if taken != 0 {
					w.masked(in, taken)
				}
				pc++
			case kindJump:
				if pc = in.target; in.arrive >= limit {
					b.wait(w, pc, in.arrive)
					pc = -1
				}
			case kindBranch:
				switch taken {
				case active:
					if pc = in.target; in.arrive >= limit {
						b.wait(w, pc, in.arrive)
						pc = -1
					}
				case 0:
					pc++
				default:
					c.divergent++
					b.diverge(w, in, pc+1, taken)
					pc = -1
				}
			case kindNothing:
				pc++
			default:
				if in.kind >= kindReturn {
					top.pc = pc + 1
					b.control(w, in, pc, active, taken)
					pc = -1
				} else {
					if taken != 0 {
						b.execute(w, in, pc, taken)
					}
					pc++
				}
			}
			if in.watch && in.kind < kindJump {
				b.watcher.after(b, w, pc-1, active, taken)
			}
			if pc < 0 || b.ended {
				break
			}
			if left <= 0 {
				top.pc = pc
				break
			}
		}
		w.drop()
		if len(w.stack) == 0 {
			b.finish(w)
		}
	}
	return quantum - left
}
