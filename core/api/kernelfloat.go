package api

import (
	"math"
	"strconv"

	"github.com/prlx-go/prlx/core/kernel/diff"
)

// showFloats prints operands and values whose type is not recorded, as in all of format v1, as 32-bit floats.
func showFloats(doc *diff.Document) {
	show := func(d *diff.Divergence) {
		for i := range d.LaneValues {
			l := &d.LaneValues[i]
			for _, text := range []*string{&l.LhsA, &l.RhsA, &l.LhsB, &l.RhsB} {
				*text = asFloat(*text)
			}
		}
		if d.ValueType == "bits" {
			d.ValueA, d.ValueB = asFloat(d.ValueA), asFloat(d.ValueB)
		}
	}
	if doc.First != nil {
		show(doc.First)
	}
	for i := range doc.Clusters {
		show(&doc.Clusters[i].First)
	}
	for i := range doc.Divergences {
		show(&doc.Divergences[i])
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
