package diff

import (
	"math"
	"strconv"
)

// ShowFloats prints operands and values whose type is not recorded, as in all of format v1, as 32-bit floats.
func (d *Document) ShowFloats() {
	show := func(v *Divergence) {
		for i := range v.LaneValues {
			l := &v.LaneValues[i]
			for _, text := range []*string{&l.LhsA, &l.RhsA, &l.LhsB, &l.RhsB} {
				*text = asFloat(*text)
			}
		}
		if v.ValueType == "bits" {
			v.ValueA, v.ValueB = asFloat(v.ValueA), asFloat(v.ValueB)
		}
	}
	if d.First != nil {
		show(d.First)
	}
	for i := range d.Clusters {
		show(&d.Clusters[i].First)
	}
	for i := range d.Divergences {
		show(&d.Divergences[i])
	}
}

// asFloat takes the decimal text of 32 bits for that of a float; any other text stays.
func asFloat(bits string) string {
	n, err := strconv.ParseUint(bits, 10, 32)
	if err != nil {
		return bits
	}
	return strconv.FormatFloat(float64(math.Float32frombits(uint32(n))), 'g', -1, 32)
}
