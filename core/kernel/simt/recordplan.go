package simt

import (
	"github.com/prlx-go/prlx/core/kernel/simt/lane"
	"github.com/prlx-go/prlx/core/kernel/site"
	"github.com/prlx-go/prlx/core/kernel/warptrace"
)

// recordPlan says what the recorder does at each instruction of a kernel's code.
type recordPlan struct {
	steps [][]step
	kept  int // compares whose operands must be kept until they decide

	statements []uint32 // that write global memory: local number of each one's first site
}

// step is one site at one instruction.
type step struct {
	what      stepKind
	kind      site.Kind
	site      uint32
	key       uint64
	compare   site.Compare
	predicate int32 // register that decides, of a select
	keep      int32 // number of kept operands, -1 they are still in their registers; of what is written the number of the statement
	lhs, rhs  slot  // operands of a compare or the index of a jump; of an atomic rhs is its operand
	types     warptrace.ValueType
	width     int // bytes of a value
	snapshots int // that one event needs
	in        *inst
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
func newRecordPlan(k *kernel, list *siteList, request *Recording) *recordPlan {
	p := &recordPlan{steps: make([][]step, len(k.code))}
	found := make(map[instOf]int32, len(k.origins))
	for i := range k.code {
		o := k.origins[k.code[i].origin]
		if at := (instOf{o.function, o.index}); !k.code[i].hidden {
			if _, taken := found[at]; !taken {
				found[at] = int32(i)
			}
		}
	}
	for i := range list.marks {
		m := &list.marks[i]
		at, ok := found[m.instOf]
		if !ok || !recorded(m.kind, request) {
			continue
		}
		s := step{
			kind: m.kind, site: uint32(i), key: uint64(list.sites[i].Key), compare: list.sites[i].Compare, keep: -1,
			lhs: slot{noBank, 0}, rhs: slot{noBank, 0}, types: m.types[0], in: &k.code[at],
		}
		if p.fill(k, found, m, &s) {
			if request.Mode != warptrace.ModeValues {
				s.snapshots = 0
			}
			p.steps[at] = append(p.steps[at], s)
		}
	}
	if request.Written {
		p.addWrites(k, list)
	}
	return p
}

// recorded reports whether sites of a kind were asked for.
func recorded(kind site.Kind, r *Recording) bool {
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
func (p *recordPlan) fill(k *kernel, found map[instOf]int32, m *mark, s *step) bool {
	switch m.kind {
	case site.Branch, site.Predicate:
		s.what = stepDecide
		if m.by == bySelect {
			if len(s.in.ins) != 3 || s.in.ins[2].bank != lane.P {
				return false
			}
			s.what, s.predicate = stepSelect, s.in.ins[2].index
		}
		p.operands(k, found, m, s)
		return true
	case site.Switch:
		s.what, s.snapshots, s.lhs = stepSwitch, 1, inR32(s.in.ops.A)
		return s.in.kind == kindSwitch
	case site.Barrier:
		s.what = stepBarrier
		return s.in.kind == kindBarrier
	case site.SharedStore, site.GlobalStore:
		if s.in.kind == kindCopyAsync {
			s.what = stepCopy
			return true
		}
		s.what = stepStore
		return s.in.kind == kindStore && p.elements(s)
	case site.Load:
		s.what = stepLoad
		if s.in.kind == kindMatrix {
			s.width, s.types, s.snapshots = 4, warptrace.TypeU32, len(s.in.outs)
			return true
		}
		return s.in.kind == kindLoad && p.elements(s)
	case site.Atomic:
		s.what = stepAtomic
		if s.in.kind != kindAtomic || !p.elements(s) {
			return false
		}
		s.rhs, s.snapshots = slot{bankOfElement(s.in), s.in.mem.Data[0]}, 1
		return true
	}
	return false
}

// elements sets the type and number of what a memory instruction moves.
func (p *recordPlan) elements(s *step) bool {
	if s.in.mem == nil {
		return false
	}
	s.width, s.snapshots = s.in.mem.Elem, s.in.mem.Count
	if s.types.Bits() != uint(8*s.width) {
		s.types = map[int]warptrace.ValueType{1: warptrace.TypeI8, 2: warptrace.TypeI16, 4: warptrace.TypeI32, 8: warptrace.TypeI64}[s.width]
	}
	return true
}

func bankOfElement(in *inst) lane.Bank {
	if in.mem.Elem == 8 || in.mem.Wide {
		return lane.R64
	}
	return lane.R32
}

// operands finds the registers that a decision compares. Those that may be written before it decides are kept.
func (p *recordPlan) operands(k *kernel, found map[instOf]int32, m *mark, s *step) {
	if m.compare < 0 {
		return
	}
	at, ok := found[instOf{m.f, m.compare}]
	if !ok || len(k.code[at].ins) != 2 {
		return
	}
	s.lhs, s.rhs, s.snapshots = k.code[at].ins[0], k.code[at].ins[1], 1
	if s.width = int(s.types.Bits() / 8); s.width == 0 {
		s.width = 8
	}
	if m.safe {
		return
	}
	s.keep = int32(p.kept)
	p.kept++
	p.steps[at] = append(p.steps[at], step{what: stepKeep, keep: s.keep, lhs: s.lhs, rhs: s.rhs, width: s.width})
}
