package compile

import (
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
	"github.com/prlx-go/prlx/core/simulator/simt/texture"
)

// weightsOfFilters is what of a linear filter differs.
const weightsOfFilters = "a linear filter: weights have 8 bits behind the point, as the programming guide says; how a GPU rounds them and the sum is not documented"

// geometries are the forms of textures and surfaces.
var geometries = map[string]texture.Geometry{
	"1d": {Dimensions: 1}, "2d": {Dimensions: 2}, "3d": {Dimensions: 3},
	"a1d": {Dimensions: 1, Layered: true}, "a2d": {Dimensions: 2, Layered: true},
	"cube": {Dimensions: 3, Cube: true}, "acube": {Dimensions: 3, Cube: true, Layered: true},
}

// place reads the handle of a texture and where in it an access is: a layer, then coordinates, which may be followed by fillers.
func (b *binder) place(f *bound, in *ptx.Inst, o *ptx.Operand, t *code.Texture) ([]code.Register, error) {
	if o.Kind != ptx.Address || o.Reg < 0 || o.Offset != 0 || len(o.Elems) != 1 {
		return nil, b.unknown(in, "needs a texture or surface object in a register, with coordinates")
	}
	handle, err := b.register(f, in, o)
	if err != nil {
		return nil, err
	}
	if handle.Bank != lane.R64 {
		return nil, b.unknown(in, "the object needs a register of 64 bits")
	}
	list := elements(&o.Elems[0])
	want := t.Dimensions
	if t.Layered {
		want++
	}
	if len(list) < want {
		return nil, b.unknown(in, "has %d coordinates, needs %d", len(list), want)
	}
	t.Handle, t.Layer, t.Coordinates = handle.Index, -1, [3]int32{-1, -1, -1}
	ins := []code.Register{handle}
	for i, o := range list[:want] {
		at, err := b.input(f, in, o, lane.R32, i)
		if err != nil {
			return nil, err
		}
		ins = append(ins, code.R32(at))
		switch {
		case !t.Layered:
			t.Coordinates[i] = at
		case i == 0:
			t.Layer = at
		default:
			t.Coordinates[i-1] = at
		}
	}
	return ins, nil
}

// emitFetch appends tex or tld4.
func (b *binder) emitFetch(f *bound, in *ptx.Inst) error {
	t := code.Texture{}
	mods, known := in.Op.Mods, false
	take := func() (mod string) {
		if len(mods) > 0 {
			mod, mods = mods[0], mods[1:]
		}
		return mod
	}
	operands := 2
	first := take()
	switch {
	case in.Op.Name == "tld4":
		for i, component := range [...]string{"r", "g", "b", "a"} {
			if first == component {
				t.Gather = i + 1
			}
		}
		first = take()
	case first == "level":
		operands, first = 3, take()
	case first == "grad":
		operands, first = 4, take()
	}
	t.Geometry, known = geometries[first]
	vector, result, coordinates := take(), take(), take()
	t.Integer = coordinates == "s32"
	switch {
	case !known || vector != "v4" || len(mods) > 0 || coordinates != "s32" && coordinates != "f32",
		result != "f32" && result != "s32" && result != "u32",
		t.Integer && (t.Cube || operands > 2),
		in.Op.Name == "tld4" && (t.Gather == 0 || t.Dimensions != 2 || t.Integer):
		return b.unknown(in, "a form that the simulator does not support")
	case len(in.Operands) != operands:
		return b.unknown(in, "has %d operands", len(in.Operands))
	}
	ins, err := b.place(f, in, &in.Operands[1], &t)
	if err != nil {
		return err
	}
	out := code.Inst{Kind: code.KindTexture, Detail: int32(len(b.k.Textures)), Ins: ins}
	list := elements(&in.Operands[0])
	if len(list) != 4 {
		return b.unknown(in, "a texel has four components")
	}
	for _, o := range list {
		if o.Kind == ptx.Sink {
			t.Out = append(t.Out, -1)
			continue
		}
		at, err := b.output(f, in, o, lane.R32)
		if err != nil {
			return err
		}
		t.Out = append(t.Out, at)
		out.Outs = append(out.Outs, code.R32(at))
	}
	if result == "f32" && !t.Integer && t.Gather == 0 {
		b.k.Approximations = append(b.k.Approximations, code.Approximation{At: int32(len(b.k.Code)), Name: in.Op.Full, How: weightsOfFilters, Sometimes: true})
	}
	b.k.Textures = append(b.k.Textures, t)
	b.emit(out)
	return nil
}

// emitSurface appends suld or sust: where the access lands, and the load or store there, which counts as a part of it.
func (b *binder) emitSurface(f *bound, in *ptx.Inst) error {
	t := code.Texture{Surface: true, Store: in.Op.Name == "sust"}
	t.Integer = true
	a, known := access{count: 1, space: ptx.Global}, false
	for i, mod := range in.Op.Mods {
		g, geometry := geometries[mod]
		switch {
		case i == 0 && mod == "b":
		case geometry && !g.Cube:
			t.Geometry, known = g, true
		case mod == "v2":
			a.count = 2
		case mod == "v4":
			a.count = 4
		case mod == "b8" || mod == "b16" || mod == "b32" || mod == "b64":
			a.kind = mod
		case mod == "trap":
			t.Boundary = texture.Trap
		case mod == "clamp":
			t.Boundary = texture.ClampToEdge
		case mod == "zero":
			t.Boundary = texture.Zero
		case mod == "ca" || mod == "cg" || mod == "cs" || mod == "cv" || mod == "wb" || mod == "wt":
		default:
			return b.unknown(in, "the simulator does not support the modifier .%s", mod)
		}
	}
	if !known || a.kind == "" || len(in.Operands) != 2 || !hasMod(in.Op, "b") {
		return b.unknown(in, "a form that the simulator does not support")
	}
	t.Bytes = uint32(a.count * code.WidthOf(a.kind) / 8)
	where, data := &in.Operands[1], &in.Operands[0]
	if t.Store {
		where, data = data, where
	}
	ins, err := b.place(f, in, where, &t)
	if err != nil {
		return err
	}
	address, lands := b.newRegister(lane.R64), b.newRegister(lane.P)
	t.Out = []int32{address, lands}
	out := code.Inst{Kind: code.KindTexture, Detail: int32(len(b.k.Textures)), Ins: ins, Outs: []code.Register{code.R64(address), code.P(lands)}}
	b.k.Textures = append(b.k.Textures, t)
	guard, invert := b.guard, b.invert
	b.guard, b.invert, b.hidden = -1, 0, true
	b.copyRegister(code.P(lands), code.P(b.literal(lane.P, 0)))
	b.guard, b.invert, b.hidden = guard, invert, false
	b.emit(out)
	b.hidden = true
	return b.moveSurface(f, in, data, &a, address, lands, t.Store)
}

// moveSurface appends the load or store of an access of a surface, for the lanes whose access lands. Others read zeros.
func (b *binder) moveSurface(f *bound, in *ptx.Inst, data *ptx.Operand, a *access, address, lands int32, store bool) error {
	t := &memory.Transfer{Space: a.space, Inst: b.origin, Regs: noRegisters, Data: noRegisters, New: noRegisters, Address: address}
	memoryWidth(t, a)
	move := code.Inst{Kind: code.KindLoad, Mem: t, Ins: []code.Register{code.R64(address)}}
	if store {
		move.Kind = code.KindStore
	}
	list := elements(data)
	if len(list) != t.Count {
		return b.unknown(in, "moves %d elements, and has %d registers", t.Count, len(list))
	}
	for i, o := range list {
		if o.Kind == ptx.Sink && !store {
			continue
		}
		var s code.Register
		var err error
		if store {
			s, err = b.storedRegister(f, in, o, t, i)
		} else {
			s, err = b.elementRegister(f, in, o, t, i)
		}
		if err != nil {
			return err
		}
		t.Regs[i] = s.Index
		if store {
			move.Ins = append(move.Ins, s)
			continue
		}
		move.Outs = append(move.Outs, s)
		b.copyRegister(s, code.Register{Bank: s.Bank, Index: b.literal(s.Bank, 0)})
	}
	b.guard, b.invert = lands, 0
	b.emit(move)
	return nil
}
