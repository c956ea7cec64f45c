package comparing

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/prlx-go/prlx/core/tape"
)

// Distance is how far apart the first result of two operators that differs is, as far as records tell: of small tensors all elements were kept, of
// large ones some.
type Distance struct {
	Tensor   string   `json:"tensor"`
	Kept     int64    `json:"kept"` // elements that were kept and compared
	Of       int64    `json:"of"`   // elements of the tensor
	Differ   int64    `json:"differ"`
	Absolute float64  `json:"absolute"` // the largest difference among those that are finite in both
	Relative float64  `json:"relative"` // likewise, as a part of the larger of the two
	ULPs     int64    `json:"ulps"`     // the largest number of representable values between two
	Sum      float64  `json:"sum"`      // by how much the sums of all finite elements differ
	NaN      [2]int64 `json:"nan"`      // in A and in B
	Inf      [2]int64 `json:"inf"`
	Text     string   `json:"text"`
}

// number reads an element as a float and as an integer that counts representable values.
type number func(b []byte) (value float64, order int64)

var numbers = map[string]number{
	"float64": func(b []byte) (float64, int64) {
		x := binary.LittleEndian.Uint64(b)
		return math.Float64frombits(x), ordered(int64(x&^(1<<63)), x>>63 != 0)
	},
	"float32": func(b []byte) (float64, int64) {
		x := binary.LittleEndian.Uint32(b)
		return float64(math.Float32frombits(x)), ordered(int64(x&^(1<<31)), x>>31 != 0)
	},
	"float16": func(b []byte) (float64, int64) {
		x := binary.LittleEndian.Uint16(b)
		return tape.Float16(x), ordered(int64(x&^(1<<15)), x>>15 != 0)
	},
	"bfloat16": func(b []byte) (float64, int64) {
		x := binary.LittleEndian.Uint16(b)
		return tape.Bfloat16(x), ordered(int64(x&^(1<<15)), x>>15 != 0)
	},
	"int64": func(b []byte) (float64, int64) { x := int64(binary.LittleEndian.Uint64(b)); return float64(x), x },
	"int32": func(b []byte) (float64, int64) {
		x := int32(binary.LittleEndian.Uint32(b))
		return float64(x), int64(x)
	},
	"bool":  func(b []byte) (float64, int64) { return float64(b[0]), int64(b[0]) },
	"uint8": func(b []byte) (float64, int64) { return float64(b[0]), int64(b[0]) },
}

// sizes are the bytes of an element.
var sizes = map[string]int{"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "bool": 1, "uint8": 1}

func ordered(magnitude int64, negative bool) int64 {
	if negative {
		return -magnitude
	}
	return magnitude
}

// distanceOf measures the first result that differs. nil: none does, or nothing is known of it.
func distanceOf(a, b *tape.Operator) *Distance {
	for i := range min(len(a.Values), len(b.Values)) {
		x, y, slot := &a.Values[i], &b.Values[i], &a.Place.Slots[i]
		if slot.Role == tape.Input || x.State != tape.Taken || y.State != tape.Taken || x.Digest == y.Digest {
			continue
		}
		read, size := numbers[slot.Type], sizes[slot.Type]
		if read == nil || len(x.Sample) != len(y.Sample) {
			return nil
		}
		d := &Distance{Tensor: slot.Name, Of: 1, Sum: y.Sum - x.Sum, NaN: [2]int64{x.NaN, y.NaN}, Inf: [2]int64{x.Inf, y.Inf}}
		for _, n := range slot.Shape {
			d.Of *= n
		}
		for at := 0; at+size <= len(x.Sample); at += size {
			d.take(read, x.Sample[at:at+size], y.Sample[at:at+size])
		}
		d.say()
		return d
	}
	return nil
}

// take compares two elements.
func (d *Distance) take(read number, a, b []byte) {
	d.Kept++
	if string(a) == string(b) {
		return
	}
	d.Differ++
	x, m := read(a)
	y, n := read(b)
	if apart := math.Abs(x - y); !math.IsNaN(apart) && !math.IsInf(apart, 0) {
		d.Absolute = max(d.Absolute, apart)
		if most := max(math.Abs(x), math.Abs(y)); most > 0 {
			d.Relative = max(d.Relative, apart/most)
		}
		if apart := max(m-n, n-m); apart >= 0 { // else it is more than an int64 counts
			d.ULPs = max(d.ULPs, apart)
		}
	}
}

// say puts a distance into words.
func (d *Distance) say() {
	var parts []string
	kept := fmt.Sprintf("of %d elements that were kept of %d, %d differ", d.Kept, d.Of, d.Differ)
	if d.Kept == d.Of {
		kept = fmt.Sprintf("%d of %d elements differ", d.Differ, d.Of)
	}
	if d.Differ > 0 && d.Absolute > 0 {
		ulps := ""
		if d.ULPs < 1<<20 {
			ulps = fmt.Sprintf("%d ulp, ", d.ULPs)
		}
		parts = append(parts, fmt.Sprintf("up to %.3g apart (relative %.3g, %s%s)", d.Absolute, d.Relative, ulps, kept))
	} else {
		parts = append(parts, "not equal ("+kept+")")
	}
	if d.Sum != 0 && !math.IsNaN(d.Sum) {
		parts = append(parts, fmt.Sprintf("their sums are %.3g apart", math.Abs(d.Sum)))
	}
	for i, name := range []string{"A", "B"} {
		if d.NaN[i]+d.Inf[i] > 0 {
			parts = append(parts, fmt.Sprintf("%s has %d NaN and %d infinite", name, d.NaN[i], d.Inf[i]))
		}
	}
	d.Text = strings.Join(parts, ", ")
}

// firstArgument is the first of two lists of arguments that differs.
func firstArgument(a, b string) (x, y string) {
	xs, ys := strings.Split(a, ", "), strings.Split(b, ", ")
	for i := range max(len(xs), len(ys)) {
		x, y = "nothing", "nothing"
		if i < len(xs) && xs[i] != "" {
			x = xs[i]
		}
		if i < len(ys) && ys[i] != "" {
			y = ys[i]
		}
		if x != y {
			break
		}
	}
	return x, y
}
