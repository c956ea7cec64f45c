package lane

import (
	"math/rand/v2"
	"testing"
)

func TestMovedIsOneDistanceOfAllLanes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	for range 5000 {
		var a, b [Lanes]uint32
		var c, d [Lanes]uint64
		by, by64 := random.Uint32(), random.Uint64()
		for l := range a {
			b[l], d[l] = random.Uint32(), random.Uint64()
			a[l], c[l] = b[l]+by, d[l]+by64
		}
		odd := random.IntN(2 * Lanes)
		if odd < Lanes { // in one bit of one lane
			a[odd] ^= 1 << random.IntN(32)
			c[odd] ^= 1 << random.IntN(64)
		}
		for _, f := range []func(a, b *[Lanes]uint32) (uint32, bool){Moved, func(a, b *[Lanes]uint32) (uint32, bool) {
			by := a[0] - b[0]
			return by, moved32InGo(a, b, by)
		}} {
			if got, same := f(&a, &b); same != (odd >= Lanes) || same && got != by {
				t.Fatalf("lane %d is odd: moved by %d %v, want %d", odd, got, same, by)
			}
		}
		for _, f := range []func(a, b *[Lanes]uint64) (uint64, bool){Moved64, func(a, b *[Lanes]uint64) (uint64, bool) {
			by := a[0] - b[0]
			return by, moved64InGo(a, b, by)
		}} {
			if got, same := f(&c, &d); same != (odd >= Lanes) || same && got != by64 {
				t.Fatalf("lane %d is odd: moved by %d %v, want %d", odd, got, same, by64)
			}
		}
	}
}

func TestAtLeastLooksAtEveryLane(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 9))
	for range 2000 {
		var a [Lanes]uint32
		least := random.Uint32() >> random.IntN(32)
		for l := range a {
			a[l] = least + random.Uint32N(^least)
		}
		less := random.IntN(2 * Lanes)
		if less < Lanes && least > 0 {
			a[less] = random.Uint32N(least)
		}
		if want := less >= Lanes || least == 0; AtLeast(&a, least) != want || atLeastInGo(&a, least) != want {
			t.Fatalf("%d: all are at least that: got %v, in Go %v, want %v", least, AtLeast(&a, least), atLeastInGo(&a, least), want)
		}
	}
}

func TestZeroLooksAtEveryLane(t *testing.T) {
	defer func(before bool) { wide = before }(wide)
	for _, wide = range []bool{false, wide} {
		if !Zero(&[Lanes]uint32{}) {
			t.Errorf("vectors %v: zeros are not zero", wide)
		}
		for l := range Lanes {
			var a [Lanes]uint32
			a[l] = 1 << l
			if Zero(&a) {
				t.Errorf("vectors %v: lane %d is not seen", wide, l)
			}
		}
	}
}

func TestMatricesAreLoadedElementByElement(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 9))
	for range 500 {
		from := make([]byte, 1024)
		for i := range from {
			from[i] = byte(random.Uint32())
		}
		off := random.Uint32()
		var at [Lanes]uint32
		for l := range at {
			at[l] = uint32(random.IntN(len(from)-15)) - off
		}
		n := 1 + random.IntN(4)
		var rows, columns [4][Lanes]uint32
		list := func(m *[4][Lanes]uint32) *[4]*[Lanes]uint32 { return &[4]*[Lanes]uint32{&m[0], &m[1], &m[2], &m[3]} }
		for m := range n {
			for l := range Lanes {
				element := func(row, column int) uint32 {
					p := at[8*m+row] + off + 2*uint32(column)
					return uint32(from[p]) | uint32(from[p+1])<<8
				}
				rows[m][l] = element(l/4, l%4*2) | element(l/4, l%4*2+1)<<16
				columns[m][l] = element(l%4*2, l/4) | element(l%4*2+1, l/4)<<16
			}
		}
		for name, f := range map[string]func(*[4]*[Lanes]uint32, int, []byte, *[Lanes]uint32, uint32){"": Rows, " in Go": rowsOfMatricesInGo} {
			var got [4][Lanes]uint32
			if f(list(&got), n, from, &at, off); got != rows {
				t.Fatalf("rows of %d matrices%s: got %x, want %x", n, name, got, rows)
			}
		}
		for name, f := range map[string]func(*[4]*[Lanes]uint32, int, []byte, *[Lanes]uint32, uint32){"": Columns, " in Go": columnsOfMatricesInGo} {
			var got [4][Lanes]uint32
			if f(list(&got), n, from, &at, off); got != columns {
				t.Fatalf("columns of %d matrices%s: got %x, want %x", n, name, got, columns)
			}
		}
	}
}

func TestPiecesComeToTheirPlaces(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	for range 500 {
		from := make([]byte, 2048)
		for i := range from {
			from[i] = byte(random.Uint32())
		}
		off, by := random.Uint32(), random.Uint64()
		var at [Lanes]uint32
		var source [Lanes]uint64
		var want [Lanes][16]byte
		for l, slot := range random.Perm(Lanes) {
			p := uint64(random.IntN(len(from) - 15))
			at[l], source[l] = uint32(16*slot)-off, p-by
			want[slot] = [16]byte(from[p:])
		}
		var got, inGo [Lanes][16]byte
		Pieces(&got, &at, off, from, &source, by)
		piecesInGo(&inGo, &at, off, from, &source, by)
		if got != want || inGo != want {
			t.Fatalf("got %x, in Go %x, want %x", got, inGo, want)
		}
	}
}
