package warptrace

import (
	"math/rand/v2"
	"testing"
)

// costlyColumn is a column of rows of lanes: steps, repeated rows, or numbers of a width that have nothing in common.
func costlyColumn(r *rand.Rand, rows, wave int, width uint) []uint64 {
	numbers := make([]uint64, 0, rows*wave)
	for row := range rows {
		if row > 0 && r.IntN(3) == 0 {
			from := r.IntN(row) * wave
			numbers = append(numbers, numbers[from:from+wave]...)
			continue
		}
		for lane := range wave {
			v := uint64(row*wave + lane)
			if r.IntN(2) == 0 {
				v = r.Uint64()
			}
			numbers = append(numbers, v&(^uint64(0)>>(64-8*width)))
		}
	}
	return numbers
}

// TestACostThatIsCutShortIsNoLess: whoever looks for the cheapest way finds the same one, whether the others are weighed to the end or not.
func TestACostThatIsCutShortIsNoLess(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	short := 0
	for range 500 {
		wave, width := 32<<r.IntN(2), uint(1)<<r.IntN(4)
		o := operandChoice{wave: wave}
		numbers := costlyColumn(r, 1+r.IntN(sampledCheap), wave, width)
		whole := o.cost(numbers, int(width), -1)
		if got := o.cost(numbers, int(width), whole+1); got != whole {
			t.Fatalf("%d numbers of %d bytes cost %d, and %d where they are the cheapest", len(numbers), width, whole, got)
		}
		least := r.IntN(whole + 1)
		got := o.cost(numbers, int(width), least)
		if got < least {
			t.Fatalf("%d numbers of %d bytes cost %d, and %d where something else costs %d", len(numbers), width, whole, got, least)
		}
		if got < whole {
			short++
		}
	}
	if short < 100 {
		t.Errorf("%d were cut short, which tests nothing", short)
	}
}

// TestChangedBytes counts byte by byte.
func TestChangedBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	for range 300 {
		numbers := costlyColumn(r, 1+r.IntN(40), 32, uint(1)<<r.IntN(4))
		for range r.IntN(100) {
			numbers[r.IntN(len(numbers))] ^= 0x80 << (8 * r.UintN(8)) // the highest bit of a byte alone
		}
		var want [8]int
		before := uint64(0)
		for _, v := range numbers {
			for p := range want {
				if byte(v>>(8*p)) != byte(before>>(8*p)) {
					want[p]++
				}
			}
			before = v
		}
		if got := changedBytes(numbers); got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}
