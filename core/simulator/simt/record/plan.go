package record

import (
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/sites"
)

// recordPlan says what the recorder does at each instruction of a kernel's code.
type recordPlan struct {
	steps [][]step
	kept  int // compares whose operands must be kept until they decide

	statements []uint32        // that write global memory: local number of each one's first site
	swaps      map[uint32]bool // those of compare-and-swaps
	apart      int             // the allocation that is none of the program's, -1 none
}

// step is one site at one instruction.
type step struct {
	what      stepKind
	kind      site.Kind
	site      uint32
	key       uint64
	compare   site.Compare
	predicate int32         // register that decides, of a select
	keep      int32         // number of kept operands, -1 they are still in their registers; of what is written the number of the statement
	lhs, rhs  code.Register // operands of a compare or the index of a jump; of an atomic rhs is its operand
	types     warptrace.ValueType
	width     int // bytes of a value
	snapshots int // that one event needs
	in        *code.Inst
}

type stepKind uint8

const (
	stepDecide stepKind = iota // by the guard
	stepSelect
	stepSwitch
	stepBarrier
	stepStore
	stepCopy
	stepLoad
	stepAtomic
	stepKeep
	stepWrite // for the sums of what is stored
	stepSwap  // the same for a compare-and-swap
)

// noBank marks operands that are not known.
const noBank = lane.Bank(255)

// newRecordPlan decides what to watch.
func newRecordPlan(k *code.Kernel, list *sites.List, request *Request) *recordPlan {
	p := &recordPlan{steps: make([][]step, len(k.Code))}
	found := make(map[sites.Place]int32, len(k.Origins))
	for i := range k.Code {
		if at := sites.Place(k.Origin(int32(i))); !k.Code[i].Hidden {
			if _, taken := found[at]; !taken {
				found[at] = int32(i)
			}
		}
	}
	for i := range list.Marks {
		m := &list.Marks[i]
		at, ok := found[m.Place]
		if !ok || request.Only || !recorded(m.Kind, request) || !request.Filter.Site(&list.Sites[i]) {
			continue
		}
		s := step{
			kind: m.Kind, site: uint32(i), key: uint64(list.Sites[i].Key), compare: list.Sites[i].Compare, keep: -1,
			lhs: code.Register{Bank: noBank, Index: 0}, rhs: code.Register{Bank: noBank, Index: 0}, types: m.Types[0], in: &k.Code[at],
		}
		if p.fill(k, found, m, &s) {
			if request.Mode != warptrace.ModeValues {
				s.snapshots = 0
			}
			p.steps[at] = append(p.steps[at], s)
		}
	}
	if p.apart = request.Apart - 1; request.Written {
		p.addWrites(k, list, request.Leave)
	}
	return p
}

// recorded reports whether sites of a kind were asked for.
func recorded(kind site.Kind, r *Request) bool {
	switch kind {
	case site.Predicate:
		return r.Predicates
	case site.SharedStore, site.GlobalStore:
		return r.Stores
	case site.Atomic:
		return r.Atomics
	case site.Load:
		return r.Loads
	case site.Barrier:
		return r.Barriers
	}
	return true
}

// fill completes a step, and reports whether the instruction is of the form that the site needs.
func (p *recordPlan) fill(k *code.Kernel, found map[sites.Place]int32, m *sites.Mark, s *step) bool {
	switch m.Kind {
	case site.Branch, site.Predicate:
		s.what = stepDecide
		if m.By == sites.BySelect {
			if len(s.in.Ins) != 3 || s.in.Ins[2].Bank != lane.P {
				return false
			}
			s.what, s.predicate = stepSelect, s.in.Ins[2].Index
		}
		p.operands(k, found, m, s)
		return true
	case site.Switch:
		s.what, s.snapshots, s.lhs = stepSwitch, 1, code.R32(s.in.Ops.A)
		return s.in.Kind == code.KindSwitch
	case site.Barrier:
		s.what = stepBarrier
		return s.in.Kind == code.KindBarrier
	case site.SharedStore, site.GlobalStore:
		if s.in.Kind == code.KindCopyAsync {
			s.what = stepCopy
			return true
		}
		s.what = stepStore
		return s.in.Kind == code.KindStore && p.elements(s)
	case site.Load:
		s.what = stepLoad
		if s.in.Kind == code.KindMatrix {
			s.width, s.types, s.snapshots = 4, warptrace.TypeU32, len(s.in.Outs)
			return true
		}
		return s.in.Kind == code.KindLoad && p.elements(s)
	case site.Atomic:
		s.what = stepAtomic
		if s.in.Kind != code.KindAtomic || !p.elements(s) {
			return false
		}
		s.rhs, s.snapshots = code.Register{Bank: bankOfElement(s.in), Index: s.in.Mem.Data[0]}, 1
		return true
	}
	return false
}

// elements sets the type and number of what a memory instruction moves.
func (p *recordPlan) elements(s *step) bool {
	if s.in.Mem == nil {
		return false
	}
	s.width, s.snapshots = s.in.Mem.Elem, s.in.Mem.Count
	if s.types.Bits() != uint(8*s.width) {
		s.types = map[int]warptrace.ValueType{1: warptrace.TypeI8, 2: warptrace.TypeI16, 4: warptrace.TypeI32, 8: warptrace.TypeI64}[s.width]
	}
	return true
}

func bankOfElement(in *code.Inst) lane.Bank {
	if in.Mem.Elem == 8 || in.Mem.Wide {
		return lane.R64
	}
	return lane.R32
}

// operands finds the registers that a decision compares. Those that may be written before it decides are kept.
func (p *recordPlan) operands(k *code.Kernel, found map[sites.Place]int32, m *sites.Mark, s *step) {
	if m.Compare < 0 {
		return
	}
	at, ok := found[sites.Place{Function: m.Function, Inst: m.Compare}]
	if !ok || len(k.Code[at].Ins) != 2 {
		return
	}
	s.lhs, s.rhs, s.snapshots = k.Code[at].Ins[0], k.Code[at].Ins[1], 1
	if s.width = int(s.types.Bits() / 8); s.width == 0 {
		s.width = 8
	}
	if m.Safe {
		return
	}
	s.keep = int32(p.kept)
	p.kept++
	p.steps[at] = append(p.steps[at], step{what: stepKeep, keep: s.keep, lhs: s.lhs, rhs: s.rhs, width: s.width})
}
