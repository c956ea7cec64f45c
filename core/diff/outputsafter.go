package diff

import (
	"fmt"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Who launches over a driver cannot see which bytes a kernel writes, only what memory held before the launch and after it. That is evidence of
// another kind than the digests of what was written, and compared with its like alone. Memory that held the same before and holds something else
// after it: the launches did something else. Memory that held something else before: bytes that no kernel wrote may make the difference.

// after is what the memory of an array says of two launches.
type after uint8

const (
	afterUnknown after = iota // one side does not know it, or the memory has another size
	afterAgrees
	afterDiffers // it held the same before
	afterOpen    // it holds something else, and did so before, or addresses may be in it
)

// told reports whether the memory of an array says whether it is the same.
func (a after) told() bool { return a == afterAgrees || a == afterDiffers }

// memoryOf is what the memory of an argument held on one side.
type memoryOf struct {
	held   *warptrace.Held
	before uint64 // digest, 0 not known
}

// memories are those of one side by name.
func memories(o *warptrace.Outputs, h *warptrace.Header) map[string]memoryOf {
	of := make(map[string]memoryOf, len(o.Held))
	for i := range o.Held {
		m := memoryOf{held: &o.Held[i]}
		if k := argumentOf(h, m.held.Name); k >= 0 {
			m.before = h.Arguments[k].Before
		}
		of[m.held.Name] = m
	}
	return of
}

// changed reports whether the memory holds something else than before, as far as that is known.
func (m memoryOf) changed() bool { return m.held != nil && m.before != 0 && m.held.Digest != m.before }

// withChanged adds arrays of which no sum of a statement tells, and whose memory changed on either side.
func withChanged(o *warptrace.Outputs, mine, other map[string]memoryOf) *warptrace.Outputs {
	all := *o
	all.Arrays = nil
	k := 0
	for i := range o.Held {
		h := &o.Held[i]
		for ; k < len(o.Arrays) && o.Arrays[k].ID < h.ID; k++ {
			all.Arrays = append(all.Arrays, o.Arrays[k])
		}
		if k < len(o.Arrays) && o.Arrays[k].ID == h.ID || !mine[h.Name].changed() && !other[h.Name].changed() {
			continue
		}
		all.Arrays = append(all.Arrays, warptrace.Array{ID: h.ID, Name: h.Name, Type: h.Type, ElementBytes: warptrace.ElementBytes(h.Type)})
	}
	all.Arrays = append(all.Arrays, o.Arrays[k:]...)
	return &all
}

// compareMemory compares what the memory of arrays held after the launches.
func compareMemory(arrays []arrayPair, a, b map[string]memoryOf) {
	for i := range arrays {
		p := &arrays[i]
		names := [2]string{p.array().Name, p.array().Name}
		if p.b != nil {
			names[1] = p.b.Name
		}
		x, y := a[names[0]], b[names[1]]
		if x.held == nil || y.held == nil || x.held.Bytes != y.held.Bytes || p.reinterpreted() {
			continue
		}
		p.memory = x.held.Bytes
		switch {
		case x.held.Digest == y.held.Digest:
			p.after = afterAgrees
		case x.held.Addresses+y.held.Addresses > 0 || x.before == 0 || y.before == 0 || x.before != y.before:
			p.after = afterOpen
		default:
			p.after, p.more = afterDiffers, true
		}
	}
}

// openMemory says of memory that does not tell whether it is the same why nothing else tells: atomics add to what was there, and stores that
// are in no sum may have gone there. What plain stores wrote, their sums tell.
func openMemory(arrays []arrayPair, inNoSum [2]uint64) (why []string) {
	for i := range arrays {
		p := &arrays[i]
		if p.after != afterOpen {
			continue
		}
		switch {
		case p.atomics || p.swaps:
			why = append(why, fmt.Sprintf("%s holds something else after the launch, perhaps as it did before, and atomics went to it", p.name()))
		case inNoSum != [2]uint64{}:
			why = append(why, fmt.Sprintf("%s holds something else after the launch, perhaps as it did before, and stores are in no sum", p.name()))
		}
	}
	return why
}

// arrayTold reports whether an array itself was compared, not only what was stored to it.
func (o *outputs) arrayTold(array int32) bool {
	return array != noArrayPair && (o.withArrays || o.arrays[array].after.told())
}

// memoryChunks is how many chunks of 256 elements the memory of an array has.
func (p *arrayPair) memoryChunks() int64 {
	chunk := uint64(warptrace.ChunkElements * max(p.array().ElementBytes, 1))
	return int64((p.memory + chunk - 1) / chunk)
}
