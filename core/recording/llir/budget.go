package llir

import (
	"math"
	"strings"
)

// leastRegisters are what warps need that call the recorder: warps of one kernel may have given registers away (setmaxnreg), and ptxas
// refuses a kernel whose calls do not fit into what is left. The recorder takes up to 40 itself, and what the kernel keeps meanwhile comes
// on top: of three kernels of tests/llir one is assembled with 40 and one with 56 left, the third with 72 and not with 64.
const leastRegisters = 72

// narrow reports for each instruction of a function whether its warps may have too few registers to call the recorder; nil: none has.
func (m *module) narrow(f *function) []bool {
	if !strings.Contains(m.text, "setmaxnreg") {
		return nil
	}
	by := make(map[string]int, len(f.Blocks))
	for b := range f.Blocks {
		by[f.Blocks[b].Label] = b
	}
	const unknown = math.MaxInt32
	least := make([]int32, len(f.Blocks)) // registers that warps have at the start of a block, at least
	for b := range least {
		least[b] = unknown
	}
	all := make([]bool, len(f.Insts))
	least[0] = unknown - 1
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		b := queue[0]
		has := least[b]
		for at := f.Blocks[b].First; at < f.Blocks[b].End; at++ {
			if n, ok := registersLeft(&f.Insts[at]); ok {
				has = n
			}
			all[at] = has < leastRegisters
		}
		if f.Blocks[b].First == f.Blocks[b].End {
			continue
		}
		for rest := m.whole(&f.Insts[f.Blocks[b].End-1]); ; {
			i := strings.Index(rest, "label %")
			if i < 0 {
				break
			}
			rest = rest[i+len("label %"):]
			if to, ok := by[rest[:localEnd(rest)]]; ok && has < least[to] {
				least[to] = has
				queue = append(queue, to)
			}
		}
	}
	return all
}

// registersLeft is how many registers a lane has behind an instruction that sets that: a call of llvm.nvvm.setmaxnreg, or assembly.
func registersLeft(in *inst) (int32, bool) {
	if in.Op != "call" || !strings.Contains(in.Rest, "setmaxnreg") {
		return 0, false
	}
	if text, ok := assembly(in); ok {
		_, after, _ := strings.Cut(text, "setmaxnreg")
		_, number, found := strings.Cut(after, "u32 ")
		n, isNumber := decimal(strings.TrimSpace(number))
		return n, found && isNumber
	}
	list := arguments(in)
	if len(list) == 0 || !strings.HasPrefix(callee(in), "llvm.nvvm.setmaxnreg") {
		return 0, false
	}
	return decimal(lastWord(list[0]))
}

// roomy leaves out the points of a function whose warps have too few registers, and says how many those were.
func (s *found) roomy(from int, f *function) int {
	narrow := s.m.narrow(f)
	if narrow == nil {
		return 0
	}
	n, left := from, 0
	for i := from; i < len(s.points); i++ {
		if narrow[s.points[i].at] {
			if left++; s.points[i].access != nil {
				s.unseen++
			}
			continue
		}
		s.sites[n], s.points[n], s.types[n] = s.sites[i], s.points[i], s.types[i]
		n++
	}
	s.sites, s.points, s.types = s.sites[:n], s.points[:n], s.types[:n]
	return left
}
