package compile

import (
	"slices"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// matrixAccess is a wmma.load or a wmma.store.
type matrixAccess struct {
	lane.Fragment
	store   bool
	byRows  bool // the layout in memory
	ordered bool // elements of a lane stand one behind the other in memory
	space   ptx.Space
}

// emitWmma appends wmma: a load or a store of a fragment as the loads and stores of its lanes, which count as a part of it, and a product.
func (b *binder) emitWmma(f *bound, in *ptx.Inst) error {
	if hasMod(in.Op, "mma") {
		return b.emitForm(f, in)
	}
	m, ok := matrixAccessOf(in.Op)
	least := 2
	if !ok || len(in.Operands) < least || len(in.Operands) > least+1 {
		return b.unknown(in, "a fragment that the simulator does not support")
	}
	address, list := &in.Operands[1], elements(&in.Operands[0])
	if m.store {
		address, list = &in.Operands[0], elements(&in.Operands[1])
	}
	if len(list) != m.Registers {
		return b.unknown(in, "a fragment of %d registers has %d", m.Registers, len(list))
	}
	t, ins, err := b.transfer(f, in, address, m.space)
	if err != nil {
		return err
	}
	width := m.Columns
	if !m.byRows {
		width = m.Rows
	}
	stride := b.literal(lane.R32, uint64(width))
	if len(in.Operands) > least {
		if stride, err = b.input(f, in, &in.Operands[least], lane.R32, 0); err != nil {
			return err
		}
	}
	b.emit(code.Inst{Kind: code.KindNothing, Meet: code.MeetWarp, Ins: append(ins, code.R32(stride))})
	b.hidden = true
	registers, err := b.fragmentRegisters(f, in, list, &m)
	if err != nil {
		return err
	}
	if m.ordered {
		b.moveOrdered(t, &m, registers, stride, width)
	} else {
		b.moveElements(t, &m, registers, stride)
	}
	if !m.store {
		for i := m.Needed; i < len(list); i++ {
			b.copyRegister(registers[i], registers[i%m.Needed])
		}
	}
	return nil
}

// matrixAccessOf reads the modifiers of a load or a store.
func matrixAccessOf(op ptx.Opcode) (m matrixAccess, ok bool) {
	mods := slices.Clone(op.Mods)
	take := func(list ...string) string {
		at := slices.IndexFunc(mods, func(mod string) bool { return slices.Contains(list, mod) })
		if at < 0 {
			return ""
		}
		mod := mods[at]
		mods = slices.Delete(mods, at, at+1)
		return mod
	}
	what, matrix, layout := take("load", "store"), take("a", "b", "c", "d"), take("row", "col")
	ok = what != "" && layout != "" && take("sync") != "" && take("aligned") != "" && (what == "store") == (matrix == "d")
	switch take("global", "shared", "shared::cta") {
	case "global":
		m.space = ptx.Global
	case "shared", "shared::cta":
		m.space = ptx.Shared
	}
	if len(mods) != 2 {
		return m, false
	}
	var known bool
	m.Fragment, known = lane.FragmentOf(matrix, mods[0], mods[1])
	m.store, m.byRows = what == "store", layout == "row"
	m.ordered = m.byRows || matrix == "a" || matrix == "b"
	if m.Bits < 8 && m.byRows != (matrix == "a") { // of parts of bytes there is one layout
		ok = false
	}
	return m, ok && known
}

// fragmentRegisters are the registers of a fragment.
func (b *binder) fragmentRegisters(f *bound, in *ptx.Inst, list []*ptx.Operand, m *matrixAccess) ([]code.Register, error) {
	bank := lane.R32
	if m.Bits == 64 {
		bank = lane.R64
	}
	out := make([]code.Register, len(list))
	for i, o := range list {
		var at int32
		var err error
		if m.store {
			at, err = b.input(f, in, o, bank, i)
		} else {
			at, err = b.output(f, in, o, bank)
		}
		if err != nil {
			return nil, err
		}
		out[i] = code.Register{Bank: bank, Index: at}
	}
	return out, nil
}

// pieceAddress appends the address of what a lane has at a distance from where its part of the fragment begins.
func (b *binder) pieceAddress(t *memory.Transfer, stride int32, place func(lane, stride uint64) uint64) code.Register {
	d := code.R64(b.newRegister(lane.R64))
	base := *t
	fill := func(r *lane.Regs, o *lane.Operands) {
		for l := range r.R64[o.D] {
			at := uint64(base.Offset)
			switch {
			case base.Absolute:
			case base.Narrow:
				at += uint64(r.R32[base.Address][l])
			default:
				at += r.R64[base.Address][l]
			}
			r.R64[o.D][l] = at + place(uint64(l), uint64(r.R32[o.A][l]))
		}
	}
	in := code.Inst{Kind: code.KindLane, Lane: fill, Ops: lane.Operands{D: d.Index, A: stride}, Outs: []code.Register{d}, Ins: []code.Register{code.R32(stride)}}
	switch {
	case base.Absolute:
	case base.Narrow:
		in.Ins = append(in.Ins, code.R32(base.Address))
	default:
		in.Ins = append(in.Ins, code.R64(base.Address))
	}
	b.emit(in)
	return d
}

// movePiece appends the load or the store of count elements of a size at an address.
func (b *binder) movePiece(t *memory.Transfer, store bool, address code.Register, size int, registers []code.Register) {
	piece := *t
	piece.Absolute, piece.Narrow, piece.Offset, piece.Address, piece.Elem, piece.Count = false, false, 0, address.Index, size, len(registers)
	out := code.Inst{Kind: code.KindLoad, Mem: &piece, Ins: []code.Register{address}}
	if store {
		out.Kind = code.KindStore
	}
	for i, s := range registers {
		piece.Regs[i] = s.Index
		if store {
			out.Ins = append(out.Ins, s)
		} else {
			out.Outs = append(out.Outs, s)
		}
	}
	b.emit(out)
}

// moveOrdered moves fragments whose lanes each have consecutive bytes of a row, or of a column: up to 16 at once.
func (b *binder) moveOrdered(t *memory.Transfer, m *matrixAccess, registers []code.Register, stride int32, width int) {
	each, size := uint64(m.Each()), 4
	if m.Bits == 64 {
		size = 8
	}
	most := 16 / size
	for first := 0; first < m.Needed; first += most {
		part := registers[first:min(first+most, m.Needed)]
		skip := uint64(first * size)
		address := b.pieceAddress(t, stride, func(l, stride uint64) uint64 {
			number := l * each
			return (number/uint64(width)*stride+number%uint64(width))*uint64(m.Bits)/8 + skip
		})
		b.movePiece(t, m.store, address, size, part)
	}
}

// moveElements moves accumulators that stand by columns, an element at a time.
func (b *binder) moveElements(t *memory.Transfer, m *matrixAccess, registers []code.Register, stride int32) {
	each, size := m.Each(), m.Bits/8
	for i := range each {
		address := b.pieceAddress(t, stride, func(l, stride uint64) uint64 {
			number := l*uint64(each) + uint64(i)
			return (number%uint64(m.Columns)*stride + number/uint64(m.Columns)) * uint64(size)
		})
		if size >= 4 {
			b.movePiece(t, m.store, address, size, registers[i:i+1])
			continue
		}
		shift, mask := b.literal(lane.R32, uint64(16*(i%2))), b.literal(lane.R32, 0xffff)
		whole, piece := registers[i/2], code.R32(b.newRegister(lane.R32))
		if m.store {
			b.emit(code.Inst{
				Kind: code.KindLane, Lane: cutWord, Ops: lane.Operands{D: piece.Index, A: whole.Index, B: shift, C: mask},
				Outs: []code.Register{piece}, Ins: []code.Register{whole},
			})
			b.movePiece(t, true, address, size, []code.Register{piece})
			continue
		}
		b.movePiece(t, false, address, size, []code.Register{piece})
		b.emit(code.Inst{
			Kind: code.KindLane, Lane: pasteWord, Ops: lane.Operands{D: whole.Index, A: piece.Index, B: shift, C: mask},
			Outs: []code.Register{whole}, Ins: []code.Register{whole, piece},
		})
	}
}
