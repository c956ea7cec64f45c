package tape

import (
	"github.com/prlx-go/prlx/core/processor"
)

// wide says that blocks are looked at by the loops in assembly. Results are the same bits with and without them. Tests switch it off.
var wide = processor.HasAVX2()

// wideTally is a tally as the loops leave it: a part of each lane.
type wideTally struct {
	digest [4]uint64
	most   [4]uint64
	sums   [mostLanes]float64
}

//go:noescape
func wideSingle(b *byte, blocks int, key uint64, found *wideTally)

//go:noescape
func wideDouble(b *byte, blocks int, key uint64, found *wideTally)

//go:noescape
func wideHalf(b *byte, blocks int, key uint64, found *wideTally)

//go:noescape
func wideBrain(b *byte, blocks int, key uint64, found *wideTally)

// blocks looks at blocks of 32 bytes, whose first word has a number.
func (k kind) blocks(b []byte, first uint64) (t tally) {
	if !wide || len(b) == 0 {
		return k.blocksInGo(b, first)
	}
	var w wideTally
	p, n, key := &b[0], len(b)/blockBytes, first*digestStep
	switch k.name {
	case single:
		wideSingle(p, n, key, &w)
	case double:
		wideDouble(p, n, key, &w)
	case half:
		wideHalf(p, n, key, &w)
	case brain:
		wideBrain(p, n, key, &w)
	}
	t.sums = w.sums
	for i, d := range w.digest {
		t.digest += d
		for m := w.most[i]; m != 0; m = m >> (k.bits - 1) >> 1 {
			t.most = max(t.most, m&(1<<(k.bits-1)-1))
		}
	}
	return t
}
