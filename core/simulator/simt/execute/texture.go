package execute

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/texture"
)

// boundTexture is a texture or a surface that lanes name, with its texels.
type boundTexture struct {
	texture.Descriptor
	texels []byte
}

// texture fetches texels, or finds out where accesses of a surface land. Lanes that name one object are looked at together.
func (b *Block) texture(w *Warp, in *code.Inst, at int32, lanes uint32) {
	t := &b.kernel.Textures[in.Detail]
	c := &b.counts[at]
	handles := &w.Regs.R64[t.Handle]
	for rest := lanes; rest != 0; {
		l := first(rest)
		var same uint32
		for m := rest; m != 0; m &= m - 1 {
			if o := first(m); handles[o] == handles[l] {
				same |= 1 << o
			}
		}
		rest &^= same
		d := b.textureOf(w, at, same, handles[l])
		switch {
		case t.Surface:
			b.surface(w, t, at, same, d)
			continue
		case d != nil && d.Linear:
			c.approximated++
		}
		for m := same; m != 0; m &= m - 1 {
			l := first(m)
			var texel [4]uint32
			if d != nil {
				where := placeOf(w, t, l)
				texel = d.Fetch(d.texels, &t.Access, &where)
			}
			for i, r := range t.Out {
				if r >= 0 {
					w.Regs.R32[r][l] = texel[i]
				}
			}
		}
		if d != nil && !b.Running.options.NoCounts {
			c.global++
			c.bytes += uint64(d.TexelBytes()) * uint64(bits.OnesCount32(same))
		}
	}
}

// placeOf is where one lane accesses a texture.
func placeOf(w *Warp, t *code.Texture, l int) (at texture.At) {
	for i, r := range t.Coordinates {
		if r < 0 {
			break
		}
		v := w.Regs.R32[r][l]
		at.Float[i], at.Texel[i] = math.Float32frombits(v), int32(v)
	}
	if t.Layer >= 0 {
		at.Layer = w.Regs.R32[t.Layer][l]
	}
	return at
}

// textureOf is the object of a handle: a descriptor in memory. What is none, or names memory that is not there, is a finding of the lanes.
func (b *Block) textureOf(w *Warp, at int32, lanes uint32, handle uint64) *boundTexture {
	if handle == 0 {
		b.report(checkTexture, w, at, lanes, "the object is 0: no texture or surface")
		return nil
	}
	bytes, fault := b.Running.Global.Span(handle, texture.DescriptorBytes)
	if fault == nil {
		d, ok := texture.Read(bytes)
		if !ok {
			b.report(checkTexture, w, at, lanes, fmt.Sprintf("the object 0x%x points to memory that describes neither a texture nor a surface", handle))
			return nil
		}
		var texels []byte
		if texels, fault = b.Running.Global.Span(d.Address, d.Bytes()); fault == nil {
			return &boundTexture{d, texels}
		}
	}
	fault.Lane, fault.Lanes = first(lanes), lanes
	b.fault(w, at, fault)
	return nil
}

// surface finds out where accesses of a surface land. One beyond its edge is a finding where the instruction says that it traps.
func (b *Block) surface(w *Warp, t *code.Texture, at int32, lanes uint32, d *boundTexture) {
	if d == nil {
		return
	}
	var out uint32
	for m := lanes; m != 0; m &= m - 1 {
		l := first(m)
		where := placeOf(w, t, l)
		offset, lands := d.Place(t.Geometry, &where, t.Bytes, t.Boundary)
		if !lands {
			out |= 1 << l
			continue
		}
		w.Regs.R64[t.Out[0]][l] = d.Address + offset
		w.Regs.P[t.Out[1]] |= 1 << l
	}
	if out == 0 || t.Boundary != texture.Trap {
		return
	}
	b.note(checkOutOfBounds, w, at, out, nil, func() string {
		what, l := "a load", first(out)
		if t.Store {
			what = "a store"
		}
		where := placeOf(w, t, l)
		text := fmt.Sprintf("%s of %s at byte %d", what, bytesText(uint64(t.Bytes)), where.Texel[0])
		for i := 1; i < t.Dimensions; i++ {
			text += fmt.Sprintf(", %s %d", [...]string{1: "row", 2: "slice"}[i], where.Texel[i])
		}
		if t.Layered {
			text += fmt.Sprintf(", layer %d", where.Layer)
		}
		return fmt.Sprintf("%s is out of the surface, which has rows of %d bytes, %d x %d x %d texels", text, d.Extent[0]*d.TexelBytes(), d.Extent[0], d.Extent[1], d.Extent[2])
	})
}
