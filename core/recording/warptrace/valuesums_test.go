package warptrace

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

func TestManyElementsAreAddedAsOneByOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(20261127, 1))
	for round := range 200 {
		var values [32]uint32
		elements := make([]byte, 0, 128)
		for i := range values {
			values[i] = rng.Uint32()
			if round%3 == 0 {
				values[i] |= 0x7f800000
			}
			elements = binary.LittleEndian.AppendUint32(elements, values[i])
		}
		offset, lanes := int64(rng.IntN(1<<20))*4-1<<19, rng.Uint32()
		var want, got, wantLanes, gotLanes ValueSums
		for i, v := range values {
			want.AddPlaced(offset+int64(4*i), uint64(v), 4)
			if lanes>>i&1 == 1 {
				wantLanes.Add(uint64(v), 4, 4+AtomicOperation)
			}
		}
		got.AddWords(offset, elements)
		gotLanes.AddLanes(&values, lanes, 4+AtomicOperation)
		if got != want || gotLanes != wantLanes {
			t.Fatalf("round %d: got %+v and %+v, want %+v and %+v", round, got, gotLanes, want, wantLanes)
		}
	}
}

func TestSumsOverValuesDoNotKnowPlaces(t *testing.T) {
	var a, b ValueSums
	a.Add(0x3f800000, 4, 4)
	a.Add(0xffc00000, 4, 4)
	b.Add(0xffc00000, 4, 4)
	b.Add(0x3f800000, 4, 4)
	if a != b || a.Tops != 1 || a.Specials != 1 || a.Bits != 0x3f800000+0x7fc00000 {
		t.Errorf("%+v and %+v", a, b)
	}
	a, b = ValueSums{}, ValueSums{}
	for i := range int64(64) {
		a.AddPlaced(4*i, uint64(i), 4)
		b.AddPlaced(4*i, uint64(i^1), 4)
	}
	if a.Hash != b.Hash || a.Bits != b.Bits || a.Placed == b.Placed {
		t.Errorf("values that changed places: %+v and %+v", a, b)
	}
}
