package texture

import (
	"encoding/binary"
	"math"
	"testing"
)

// row is a descriptor of floats 10, 20, 30, 40 in a row, and its memory.
func row(mode uint32, linear, relative bool) (*Descriptor, []byte) {
	var texels []byte
	for i := range 4 {
		texels = binary.LittleEndian.AppendUint32(texels, math.Float32bits(float32(10*(i+1))))
	}
	d := &Descriptor{Extent: [3]uint32{4, 1, 1}, Channels: 1, Bits: 32, Kind: kindFloat, Linear: linear, Relative: relative, Border: [4]float32{-1}}
	d.Modes = [3]uint32{mode, mode, mode}
	return d, texels
}

// TestARowIsReadAsTheGuideSays has the formulas of the CUDA programming guide: tex(x) = T[floor(x)], and (1-a)T[i] + aT[i+1] with
// i = floor(x - 0.5) and a in steps of 1/256.
func TestARowIsReadAsTheGuideSays(t *testing.T) {
	one := &Access{Geometry: Geometry{Dimensions: 1}}
	for _, c := range []struct {
		mode             uint32
		linear, relative bool
		x, want          float32
	}{
		{modeClamp, false, false, 0, 10},
		{modeClamp, false, false, 1.99, 20},
		{modeClamp, false, false, -3, 10},
		{modeClamp, false, false, 99, 40},
		{modeBorder, false, false, -0.5, -1},
		{modeBorder, false, false, 4, -1},
		{modeWrap, false, false, 5, 40},
		{modeClamp, false, true, 0.25, 20},
		{modeWrap, false, true, 1.25, 20},
		{modeWrap, false, true, -0.25, 40},
		{modeMirror, false, true, 1.1, 40},
		{modeMirror, false, true, -0.3, 20},
		{modeClamp, true, false, 1, 15},
		{modeClamp, true, false, 1.5, 20},
		{modeClamp, true, false, 0, 10},
		{modeClamp, true, false, 3.75, 40},
		{modeClamp, true, false, 1.25, 17.5},
		{modeClamp, true, false, 1.0 / 1000, 10},
		{modeClamp, true, false, 1.001, 15}, // 0.501 of the way is 128 steps
		{modeWrap, true, true, 0, 25},
		{modeWrap, true, true, 1, 25},
		{modeBorder, true, false, 0, 4.5},
		{modeClamp, false, false, float32(math.NaN()), 10},
		{modeClamp, true, false, float32(math.Inf(1)), 40},
		{modeWrap, true, true, float32(math.Inf(-1)), 10},
	} {
		d, texels := row(c.mode, c.linear, c.relative)
		if got := math.Float32frombits(d.Fetch(texels, one, &At{Float: [3]float32{c.x}})[0]); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestIntegersNameTexels(t *testing.T) {
	d, texels := row(modeClamp, false, false)
	for i, want := range map[int32]float32{-1: 0, 0: 10, 3: 40, 4: 0} {
		if got := math.Float32frombits(d.Fetch(texels, &Access{Geometry: Geometry{Dimensions: 1}, Integer: true}, &At{Texel: [3]int32{i}})[0]); got != want {
			t.Errorf("texel %d: %v, want %v", i, got, want)
		}
	}
}

func TestChannelsBecomeNumbers(t *testing.T) {
	for _, c := range []struct {
		bits, kind uint32
		unit       bool
		v, want    uint32
	}{
		{8, kindUnsigned, false, 200, 200},
		{8, kindSigned, false, 0xfe, 0xfffffffe},
		{16, kindSigned, false, 0x8000, 0xffff8000},
		{32, kindUnsigned, false, 7, 7},
		{8, kindUnsigned, true, 255, math.Float32bits(1)},
		{8, kindSigned, true, 0x80, math.Float32bits(-1)},
		{8, kindSigned, true, 127, math.Float32bits(1)},
		{16, kindUnsigned, true, 65535, math.Float32bits(1)},
		{16, kindFloat, false, 0x3c00, math.Float32bits(1)},
		{16, kindFloat, false, 0x8001, math.Float32bits(-1.0 / (1 << 24))},
		{16, kindFloat, false, 0x7c00, math.Float32bits(float32(math.Inf(1)))},
		{32, kindFloat, false, math.Float32bits(3), math.Float32bits(3)},
	} {
		d := &Descriptor{Channels: 1, Bits: c.bits, Kind: c.kind, Unit: c.unit}
		if got := d.channel(c.v); got != c.want {
			t.Errorf("%+v: %#x", c, got)
		}
	}
}

func TestDirectionsMeetFaces(t *testing.T) {
	for _, c := range []struct {
		v       [3]float32
		face    int64
		s, tees float32
	}{
		{[3]float32{1, 0, 0}, 0, 0.5, 0.5},
		{[3]float32{-1, 0, 0.5}, 1, 0.75, 0.5},
		{[3]float32{0.5, 2, 0}, 2, 0.625, 0.5},
		{[3]float32{0, -1, 0.5}, 3, 0.5, 0.25},
		{[3]float32{0.5, 0, 1}, 4, 0.75, 0.5},
		{[3]float32{0.5, 0, -1}, 5, 0.25, 0.5},
	} {
		if face, at := faceOf(c.v); face != c.face || at[0] != c.s || at[1] != c.tees {
			t.Errorf("%v: face %d at %v, want %+v", c.v, face, at, c)
		}
	}
}

func TestSurfacesEndAtTheirEdges(t *testing.T) {
	d := &Descriptor{Extent: [3]uint32{4, 3, 2}, Pitch: 32, Slice: 96, Channels: 1, Bits: 32, Kind: kindFloat}
	two := Geometry{Dimensions: 2}
	for _, c := range []struct {
		x, y   int32
		b      Boundary
		want   uint64
		inside bool
	}{
		{12, 2, Trap, 76, true}, {13, 0, Trap, 0, false}, {-1, 0, Zero, 0, false}, {0, 3, Trap, 0, false}, {400, 9, ClampToEdge, 76, true}, {-5, -5, ClampToEdge, 0, true},
	} {
		if at, inside := d.Place(two, &At{Texel: [3]int32{c.x, c.y}}, 4, c.b); at != c.want || inside != c.inside {
			t.Errorf("%+v: %d, %v", c, at, inside)
		}
	}
	if at, inside := d.Place(Geometry{Dimensions: 2, Layered: true}, &At{Texel: [3]int32{4, 1}, Layer: 1}, 4, Trap); at != 96+32+4 || !inside {
		t.Errorf("layer 1: %d, %v", at, inside)
	}
}

// FuzzRead reads any bytes as a descriptor: what is taken for one reads its texels without leaving them.
func FuzzRead(f *testing.F) {
	seed := make([]byte, DescriptorBytes)
	binary.LittleEndian.PutUint32(seed, magic)
	for at, v := range map[int]uint32{4: flagLinear, 16: 3, 20: 2, 24: 1, 32: 16, 48: 1, 52: 32, 56: kindFloat} {
		binary.LittleEndian.PutUint32(seed[at:], v)
	}
	f.Add(seed, float32(1.5), float32(0.25), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, x, y float32, form uint8) {
		d, ok := Read(b)
		if !ok {
			return
		}
		texels := make([]byte, min(d.Bytes(), 4096))
		a := &Access{Geometry: Geometry{Dimensions: 1 + int(form)%3, Layered: form&4 != 0, Cube: form&8 != 0}, Integer: form&16 != 0, Gather: int(form >> 5 & 1)}
		d.Fetch(texels, a, &At{Float: [3]float32{x, y, x}, Texel: [3]int32{int32(form), -1, 1}, Layer: uint32(form)})
	})
}
