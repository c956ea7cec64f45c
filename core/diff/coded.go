package diff

import (
	"context"

	"github.com/prlx-go/prlx/core/recording/script"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// symbolMap says which symbols of a block of B are symbols of a block of A: those that are equal in everything but the value, at sites of
// one key. Warps of the same two blocks mostly follow each other, so it is kept.
type symbolMap struct {
	a, b   uint64   // numbers of the blocks
	table  []uint32 // by symbol of B: that of A, or a number that A has not
	credit int      // symbols that may be compared
}

// The map of two blocks may compare so many symbols to begin with, and one more for each event of the warps that it is asked for. Warps
// that stand in another order in the two recordings would need another map each time.
const symbolCredit = 1 << 16

// of makes the map of the blocks of two warps; false: it is not worth it.
func (m *symbolMap) of(a, b *warptrace.Coded, sites *siteMap) bool {
	if m.table == nil {
		m.credit = symbolCredit
	}
	m.credit = min(m.credit+len(a.IDs)+len(b.IDs), symbolCredit)
	if len(m.table) > 0 && m.a == a.Block && m.b == b.Block {
		return true
	}
	if m.credit -= len(a.Symbols) + len(b.Symbols); m.credit < -symbolCredit {
		m.credit += len(a.Symbols) + len(b.Symbols)
		return false
	}
	m.a, m.b = a.Block, b.Block
	m.table = m.table[:0]
	next := 0 // both sides mostly met their symbols in the same order
	for id := range b.Symbols {
		s := b.Symbols[id]
		s.Site = sites.key(s.Site)
		to := uint32(len(a.Symbols) + id)
		if next < len(a.Symbols) && a.Symbols[next] == s {
			to, next = uint32(next), next+1
		} else if known, ok := a.Find(&s); ok {
			to, next = known, int(known)+1
		}
		m.table = append(m.table, to)
	}
	return true
}

// translate appends the symbols of B as those of A.
func (m *symbolMap) translate(dst, ids []uint32) []uint32 {
	if cap(dst) < len(ids) {
		dst = make([]uint32, 0, len(ids))
	}
	dst = dst[:len(ids)]
	for i, id := range ids {
		dst[i] = m.table[id]
	}
	return dst
}

// readCoded fills the pair of streams with the symbols of both recordings; done is false where that is not possible, or not worth it.
// Values count event by event, so there is no use for symbols where they do.
func (w *worker) readCoded(ctx context.Context, a, b *warptrace.Trace, warp uint64) (done bool, err error) {
	if w.pair.values || w.sites.merged != nil {
		return false, nil
	}
	if ok, err := a.ReadCoded(ctx, warp, &w.codedA); err != nil || !ok {
		return false, err
	}
	if ok, err := b.ReadCoded(ctx, warp, &w.codedB); err != nil || !ok {
		return false, err
	}
	if !w.shared.of(&w.codedA, &w.codedB, w.sites) {
		return false, nil
	}
	w.translated = w.shared.translate(w.translated, w.codedB.IDs)
	w.pair.a = stream{n: len(w.codedA.IDs), coded: &w.codedA, ids: w.codedA.IDs, info: w.codedA.WarpInfo, taken: w.sites.a.Header().Taken}
	w.pair.b = stream{n: len(w.codedB.IDs), coded: &w.codedB, ids: w.translated, info: w.codedB.WarpInfo, taken: w.sites.b.Header().Taken}
	return true, nil
}

// fillRanks sets the occurrences of rows, which the blocks know.
func fillRanks(rows []Row, a, b *warptrace.Coded) {
	for k := range rows {
		r := &rows[k]
		if r.Count > 0 {
			r.OccurrenceA = a.Rank(int(r.EventA))
		}
		if r.CountB > 0 {
			r.OccurrenceB = b.Rank(int(r.EventB))
		}
	}
}

// codedRuns are the sites of both sides, symbols, without so many events at the ends: equal numbers are equal sites.
func (w *worker) codedRuns(head, tail int) *script.Runs {
	p := &w.pair
	a, b := p.a.ids[head:p.a.n-tail], p.b.ids[head:p.b.n-tail]
	own, of, sites := w.codedB.IDs[head:p.b.n-tail], w.codedA.Symbols, w.codedB.Symbols
	same := func(i, j int) bool { return of[a[i]].Site == w.sites.key(sites[own[j]].Site) }
	return &script.Runs{
		A: len(a), B: len(b),
		Ahead: func(x, y, n int) int {
			k := 0
			for {
				k += script.CommonPrefix(a[x+k:x+n], b[y+k:y+n])
				if k == n || !same(x+k, y+k) {
					return k
				}
				k++
			}
		},
		Back: func(x, y, n int) int {
			k := 0
			for {
				k += script.CommonSuffix(a[x-n:x-k], b[y-n:y-k])
				if k == n || !same(x-1-k, y-1-k) {
					return k
				}
				k++
			}
		},
	}
}
