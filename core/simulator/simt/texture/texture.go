// Package texture reads texels: where the coordinates of a texture lead to in its memory, what the texels there are, and what a linear
// filter makes of several. It follows the appendix on textures of the CUDA programming guide. It knows neither warps nor instructions: a
// texture is the descriptor that a driver wrote into memory (docs/formats/texture.md) and the bytes that this one names.
package texture

import (
	"encoding/binary"
	"math"
)

// DescriptorBytes is the size of a descriptor.
const DescriptorBytes = 128

const magic = 0x58545250 // "PRTX"

// Descriptor is a texture or a surface as a driver describes it.
type Descriptor struct {
	Address  uint64    // of the first texel
	Extent   [3]uint32 // texels of a row, rows, slices; of what has fewer dimensions the others are 1
	Pitch    uint64    // bytes of a row
	Slice    uint64    // bytes of a slice
	Channels uint32    // of a texel: 1, 2 or 4
	Bits     uint32    // of a channel: 8, 16 or 32
	Kind     uint32    // of a channel
	Modes    [3]uint32 // beyond the edge, by dimension
	Linear   bool      // the filter
	Unit     bool      // integers are read as numbers up to 1
	Relative bool      // coordinates are parts of the extent
	Border   [4]float32
}

// The kinds of channels.
const (
	kindSigned uint32 = iota
	kindUnsigned
	kindFloat
)

// The modes beyond the edge.
const (
	modeWrap uint32 = iota
	modeClamp
	modeMirror
	modeBorder
)

// Flags of a descriptor.
const (
	flagLinear = 1 << iota
	flagUnit
	flagRelative
)

// Read reads a descriptor, and reports whether it is one.
func Read(b []byte) (d Descriptor, ok bool) {
	if len(b) < DescriptorBytes || binary.LittleEndian.Uint32(b) != magic {
		return d, false
	}
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
	d.Address, d.Pitch, d.Slice = binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[32:]), binary.LittleEndian.Uint64(b[40:])
	d.Channels, d.Bits, d.Kind = word(48), word(52), word(56)
	flags := word(4)
	d.Linear, d.Unit, d.Relative = flags&flagLinear != 0, flags&flagUnit != 0, flags&flagRelative != 0
	for i := range d.Extent {
		d.Extent[i], d.Modes[i] = word(16+4*i), word(60+4*i)
		if d.Extent[i] == 0 || d.Modes[i] > modeBorder {
			return d, false
		}
	}
	for i := range d.Border {
		d.Border[i] = math.Float32frombits(word(72 + 4*i))
	}
	width := uint64(d.Extent[0]) * uint64(d.TexelBytes())
	switch {
	case d.Channels != 1 && d.Channels != 2 && d.Channels != 4, d.Bits != 8 && d.Bits != 16 && d.Bits != 32, d.Kind > kindFloat, d.Kind == kindFloat && d.Bits == 8:
		return d, false
	case d.Pitch > 1<<32 || d.Slice > 1<<40 || d.Extent[1] > 1 && d.Pitch < width || d.Extent[2] > 1 && d.Slice < uint64(d.Extent[1]-1)*d.Pitch+width:
		return d, false
	}
	return d, true
}

// TexelBytes is the size of a texel.
func (d *Descriptor) TexelBytes() uint32 { return d.Channels * d.Bits / 8 }

// Bytes is how many bytes the texels take, from the first to the last.
func (d *Descriptor) Bytes() uint64 {
	return uint64(d.Extent[2]-1)*d.Slice + uint64(d.Extent[1]-1)*d.Pitch + uint64(d.Extent[0])*uint64(d.TexelBytes())
}

// Geometry says what the coordinates of an access are.
type Geometry struct {
	Dimensions int  // that are coordinates: 1 to 3
	Layered    bool // another one is a layer
	Cube       bool // the coordinates are a direction
}

// Access is the static part of a fetch.
type Access struct {
	Geometry
	Integer bool // coordinates are numbers of texels
	Gather  int  // 1 + the component of which the four texels are wanted that a linear filter would take, 0 the texel
}

// At is one place in a texture: floats of coordinates, or numbers of texels, and the layer.
type At struct {
	Float [3]float32
	Texel [3]int32
	Layer uint32
}

// Fetch reads the texel at a place. The result is bits of floats, or of integers extended to 32 bits.
func (d *Descriptor) Fetch(texels []byte, a *Access, at *At) [4]uint32 {
	slice, coordinates, dims := int64(0), at.Float, a.Dimensions
	if a.Cube {
		var face int64
		face, coordinates = faceOf(at.Float)
		slice, dims = face, 2
		if a.Layered {
			slice += 6 * int64(at.Layer)
		}
		slice = min(slice, int64(d.Extent[2])-1)
	} else if a.Layered {
		slice = int64(min(at.Layer, d.Extent[2]-1))
	}
	if a.Integer {
		i := [3]int64{int64(at.Texel[0]), int64(at.Texel[1]), slice}
		if dims == 3 {
			i[2] = int64(at.Texel[2])
		}
		for n := range i {
			if i[n] < 0 || n < dims && i[n] >= int64(d.Extent[n]) {
				return [4]uint32{}
			}
		}
		return d.texel(texels, i, dims, true)
	}
	if a.Gather > 0 {
		return d.gather(texels, coordinates, slice, a.Gather-1)
	}
	if d.Linear {
		return d.filter(texels, coordinates, slice, dims)
	}
	index := [3]int64{0, 0, slice}
	for n := range dims {
		index[n] = floor(d.scaled(coordinates[n], n))
	}
	return d.texel(texels, index, dims, false)
}

// scaled is a coordinate in texels.
func (d *Descriptor) scaled(x float32, n int) float32 {
	if !d.Relative {
		return x
	}
	if d.Modes[n] == modeWrap {
		x -= float32(math.Floor(float64(x)))
	}
	return x * float32(d.Extent[n])
}

// floor is the texel in which a coordinate lies: of NaN the first, and nothing is far away.
func floor(x float32) int64 {
	const far = 1 << 40
	f := math.Floor(float64(x))
	switch {
	case f != f:
		return 0
	case f > far:
		return far
	case f < -far:
		return -far
	}
	return int64(f)
}

// edge leads a number of a texel to one that is there, and reports whether there is any.
func (d *Descriptor) edge(i int64, n int) (int64, bool) {
	size := int64(d.Extent[n])
	if i >= 0 && i < size {
		return i, true
	}
	mode := d.Modes[n]
	if !d.Relative && (mode == modeWrap || mode == modeMirror) {
		mode = modeClamp // the other modes need coordinates that are parts
	}
	switch mode {
	case modeWrap:
		return (i%size + size) % size, true
	case modeMirror:
		i = (i%(2*size) + 2*size) % (2 * size)
		return min(i, 2*size-1-i), true
	case modeBorder:
		return 0, false
	}
	return max(0, min(i, size-1)), true
}

// texel reads the texel with numbers, of which the first dims may lie beyond the edges unless they are known not to.
func (d *Descriptor) texel(texels []byte, index [3]int64, dims int, inside bool) [4]uint32 {
	if !inside {
		for n := range dims {
			var there bool
			if index[n], there = d.edge(index[n], n); !there {
				return d.border()
			}
		}
	}
	at := uint64(index[2])*d.Slice + uint64(index[1])*d.Pitch + uint64(index[0])*uint64(d.TexelBytes())
	if n := uint64(d.TexelBytes()); at+n > uint64(len(texels)) {
		return [4]uint32{}
	}
	return d.decode(texels[at:])
}

// border is what lies beyond the edge.
func (d *Descriptor) border() (out [4]uint32) {
	for i, v := range d.Border {
		if d.Kind == kindFloat || d.Unit {
			out[i] = math.Float32bits(v)
		} else {
			out[i] = uint32(int64(v))
		}
	}
	return out
}

// decode reads the channels of a texel.
func (d *Descriptor) decode(b []byte) (out [4]uint32) {
	for i := range d.Channels {
		var v uint32
		switch d.Bits {
		case 8:
			v = uint32(b[i])
		case 16:
			v = uint32(binary.LittleEndian.Uint16(b[2*i:]))
		default:
			v = binary.LittleEndian.Uint32(b[4*i:])
		}
		out[i] = d.channel(v)
	}
	return out
}

// channel is the value of a channel.
func (d *Descriptor) channel(v uint32) uint32 {
	shift := 32 - d.Bits
	whole := float64(uint64(1)<<d.Bits - 1)
	switch {
	case d.Kind == kindFloat && d.Bits == 16:
		return math.Float32bits(half(uint16(v)))
	case d.Kind == kindFloat || d.Kind == kindUnsigned && !d.Unit:
		return v
	case d.Kind == kindUnsigned:
		return math.Float32bits(float32(float64(v) / whole))
	}
	signed := int32(v<<shift) >> shift
	if d.Unit {
		return math.Float32bits(float32(max(-1, float64(signed)/math.Floor(whole/2))))
	}
	return uint32(signed)
}

// half is a float of 16 bits.
func half(v uint16) float32 {
	sign, exponent, fraction := uint32(v>>15)<<31, uint32(v>>10&31), uint32(v&1023)
	switch exponent {
	case 0:
		f := float32(fraction) / (1 << 24)
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}
