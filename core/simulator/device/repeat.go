package device

import (
	"hash/maphash"

	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// Moment is what a launch finds: its request, the arrays that stand in its table, the variables of its module. Two launches that find the same
// leave the same.
type Moment struct {
	Same   uint64 // of equal moments equal
	pieces []memory.Allocation
	sums   []uint64
}

// Left is what a launch has changed.
type Left struct{ pieces, contents [][]byte }

var repeatSeed = maphash.MakeSeed() // nothing that is written depends on it

// Moment looks at what a launch will find; nil where that is not known: its module has allocated memory by itself, or there is none.
func (d *Device) Moment(request []byte, module, table int64) *Moment {
	p, err := d.Module(module)
	if err != nil {
		return nil
	}
	pieces, known := p.Variables()
	if !known {
		return nil
	}
	if table != 0 {
		t, err := d.table(table)
		if err != nil {
			return nil
		}
		pieces = append(pieces, t.All()...)
	}
	m := &Moment{pieces: pieces, sums: make([]uint64, len(pieces))}
	var all maphash.Hash
	all.SetSeed(repeatSeed)
	_, _ = all.Write(request)
	for i, piece := range pieces {
		m.sums[i] = maphash.Bytes(repeatSeed, piece.Bytes)
		maphash.WriteComparable(&all, [3]uint64{piece.Host, uint64(len(piece.Bytes)), m.sums[i]})
	}
	m.Same = all.Sum64()
	return m
}

// Left is what has changed since the moment, up to so many bytes; nil where it is more.
func (m *Moment) Left(most int) (left *Left, bytes int) {
	left = &Left{}
	for i, piece := range m.pieces {
		if maphash.Bytes(repeatSeed, piece.Bytes) == m.sums[i] {
			continue
		}
		if bytes += len(piece.Bytes); bytes > most {
			return nil, 0
		}
		left.pieces, left.contents = append(left.pieces, piece.Bytes), append(left.contents, append([]byte(nil), piece.Bytes...))
	}
	return left, bytes
}

// Again leaves it once more.
func (l *Left) Again() {
	for i, piece := range l.pieces {
		copy(piece, l.contents[i])
	}
}
