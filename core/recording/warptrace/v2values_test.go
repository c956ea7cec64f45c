package warptrace

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// TestValuesThatAreAddedUpAreThoseThatAreDecoded: in every mode, in every row, asked for in any order.
func TestValuesThatAreAddedUpAreThoseThatAreDecoded(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	asked := map[uint8]int{}
	for range 400 {
		rows, n := 1+r.IntN(40), 1+r.IntN(30)
		width := uint(1) << r.IntN(4)
		keep := ^uint64(0) >> (64 - 8*width)
		want := make([]uint64, rows*n)
		for row := range rows {
			base := uint64(row) * uint64(r.IntN(3))
			for k := range n {
				want[row*n+k] = (base + uint64(k)*2 + uint64(r.IntN(3))) & keep
			}
		}
		for mode := uint8(valuesSteps); mode < valuesModes; mode++ {
			stored := make([]uint64, len(want))
			inMode(stored, want, n, mode, width)
			form := v2ValueColumn{form: mode | uint8([]int{1: 0, 2: 1, 4: 2, 8: 3}[width])<<4}
			planes := form.append(nil, stored)
			p := &v2Paths{planes: planes, values: []v2Column{{v2ValueColumn: form, n: n}}}
			path := &v2Path{n: n, rows: rows, width: 1}
			for row := range rows {
				var values siteValues
				ok := p.stepsOf(&values, path, &p.values[0], row)
				if wanted := bits.OnesCount8(form.stored) <= stepPlanes && row < rowsAddedUp; ok != wanted {
					t.Fatalf("mode %d, planes %b and %b, row %d: added up %v, want %v", mode, form.stored, form.constant, row, ok, wanted)
				}
				if !ok {
					continue
				}
				for range 2 * n {
					k := r.IntN(n)
					if got := values.at(k); got != want[row*n+k] {
						t.Fatalf("mode %d, width %d, row %d of %d, value %d of %d: %d, want %d", mode, width, row, rows, k, n, got, want[row*n+k])
					}
					asked[mode]++
				}
			}
			if _, decoded := p.column(path, 0); len(decoded) != len(want) || decoded[len(want)-1] != want[len(want)-1] {
				t.Fatalf("mode %d: decoded %v, want %v", mode, decoded, want)
			}
			if p.stepsOf(&siteValues{}, path, &p.values[0], 0) {
				t.Fatal("a column that is decoded is added up once more")
			}
		}
	}
	for mode := uint8(valuesSteps); mode < valuesModes; mode++ {
		if asked[mode] < 1000 {
			t.Errorf("mode %d: %d values were asked for, which tests nothing", mode, asked[mode])
		}
	}
}

// inMode is residuals, also in the mode that is read and not written.
func inMode(into, values []uint64, n int, mode uint8, width uint) {
	if mode != valuesTwofold {
		residuals(into, values, n, mode, width)
		return
	}
	residuals(into, values, n, valuesSteps, width)
	for i := len(values) - 1; i >= n; i-- {
		if i%n > 0 {
			step, above := values[i]-values[i-1], values[i-n]-values[i-n-1]
			shift := 64 - 8*width
			into[i] = zigzag(uint64(int64((step-above)<<shift) >> shift))
		}
	}
}
