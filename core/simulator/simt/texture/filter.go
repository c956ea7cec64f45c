package texture

import "math"

// weightSteps is into how many steps a GPU divides the way from one texel to the next: weights have 8 bits behind the point.
const weightSteps = 256

// between is the texel before a coordinate, counted from the middle of texels, and the weight of the one behind it.
func (d *Descriptor) between(x float32, n int) (i int64, weight float32) {
	x = d.scaled(x, n) - 0.5
	i = floor(x)
	part := float64(x) - float64(i)
	if !(part >= 0 && part < 1) { // NaN, or far away
		return i, 0
	}
	step := math.Floor(part*weightSteps + 0.5)
	return i, float32(step / weightSteps)
}

// filter is what a linear filter makes of the texels around a place.
func (d *Descriptor) filter(texels []byte, coordinates [3]float32, slice int64, dims int) (out [4]uint32) {
	index, weight := [3]int64{0, 0, slice}, [3]float32{}
	for n := range dims {
		index[n], weight[n] = d.between(coordinates[n], n)
	}
	var sum [4]float64
	for corner := range 1 << dims {
		at, w := index, 1.0
		for n := range dims {
			if corner>>n&1 != 0 {
				at[n]++
				w *= float64(weight[n])
			} else {
				w *= 1 - float64(weight[n])
			}
		}
		if w == 0 {
			continue
		}
		for i, bits := range d.texel(texels, at, dims, false) {
			sum[i] += w * float64(math.Float32frombits(bits))
		}
	}
	for i := range out {
		out[i] = math.Float32bits(float32(sum[i]))
	}
	return out
}

// gather is one component of the four texels that a linear filter takes: below left, below right, above right, above left.
func (d *Descriptor) gather(texels []byte, coordinates [3]float32, slice int64, component int) (out [4]uint32) {
	x, _ := d.between(coordinates[0], 0)
	y, _ := d.between(coordinates[1], 1)
	for i, from := range [4][3]int64{{x, y + 1, slice}, {x + 1, y + 1, slice}, {x + 1, y, slice}, {x, y, slice}} {
		out[i] = d.texel(texels, from, 2, false)[component]
	}
	return out
}

// faceOf is the face of a cube that a direction meets, and where.
func faceOf(v [3]float32) (face int64, at [3]float32) {
	x, y, z := v[0], v[1], v[2]
	ax, ay, az := abs(x), abs(y), abs(z)
	var m, s, t float32
	switch {
	case ax >= ay && ax >= az && x >= 0:
		face, m, s, t = 0, x, -z, -y
	case ax >= ay && ax >= az:
		face, m, s, t = 1, -x, z, -y
	case ay >= az && y >= 0:
		face, m, s, t = 2, y, x, z
	case ay >= az:
		face, m, s, t = 3, -y, x, -z
	case z >= 0:
		face, m, s, t = 4, z, x, -y
	default:
		face, m, s, t = 5, -z, -x, -y
	}
	return face, [3]float32{(s/m + 1) / 2, (t/m + 1) / 2}
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// Boundary says what becomes of an access of a surface beyond its edge.
type Boundary uint8

// The boundaries.
const (
	Trap Boundary = iota
	ClampToEdge
	Zero
)

// Place is where in a surface an access of n bytes lands, in bytes behind its first texel; the first coordinate counts bytes. It is not
// inside where it lies beyond the edge and is not led back there.
func (d *Descriptor) Place(g Geometry, at *At, n uint32, b Boundary) (offset uint64, inside bool) {
	size := [3]int64{int64(d.Extent[0]) * int64(d.TexelBytes()), int64(d.Extent[1]), int64(d.Extent[2])}
	index := [3]int64{int64(at.Texel[0]), int64(at.Texel[1]), int64(at.Texel[2])}
	if g.Layered {
		index[2] = int64(at.Layer)
	}
	last := [3]int64{size[0] - int64(n), size[1] - 1, size[2] - 1}
	for i := range index {
		if index[i] >= 0 && index[i] <= last[i] {
			continue
		}
		if b != ClampToEdge {
			return 0, false
		}
		index[i] = max(0, min(index[i], last[i]))
	}
	return uint64(index[2])*d.Slice + uint64(index[1])*d.Pitch + uint64(index[0]), true
}
