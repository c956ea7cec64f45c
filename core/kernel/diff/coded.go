package diff

import (
	"context"

	"github.com/prlx-go/prlx/core/kernel/warptrace"
)

// symbolMap says which symbols of a block of B are symbols of a block of A: those that are equal in everything but the value, at sites of
// one key. Warps of the same two blocks mostly follow each other, so it is kept.
type symbolMap struct {
	a, b   warptrace.Coded
	table  []uint32 // by symbol of B: that of A, or a number that A has not
	first  []uint32 // by site of A: its first symbol plus 1; 0: none
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
	if len(m.table) > 0 && m.a.SameSymbols(a) && m.b.SameSymbols(b) {
		return true
	}
	if m.credit -= len(a.Symbols) + len(b.Symbols); m.credit < -symbolCredit {
		m.credit += len(a.Symbols) + len(b.Symbols)
		return false
	}
	m.a, m.b = *a, *b
	m.first = m.first[:0]
	for id := range a.Symbols {
		if s := int(a.Symbols[id].Site); s >= len(m.first) {
			m.first = append(m.first, make([]uint32, s+1-len(m.first))...)
			m.first[s] = uint32(id) + 1 // symbols are sorted by site
		}
	}
	m.table = m.table[:0]
	for from := 0; from < len(b.Symbols); {
		to := from + 1
		for to < len(b.Symbols) && b.Symbols[to].Site == b.Symbols[from].Site {
			to++
		}
		m.site(a.Symbols, b.Symbols[from:to], from, sites)
		from = to
	}
	return true
}

// symbolsAhead is among how many symbols of A one of B is looked for. One that is not found is as one that A has not: the events are
// compared column by column then.
const symbolsAhead = 8

// site adds the symbols of one site of B, which stand from number on. Both sides mostly met them in the same order.
func (m *symbolMap) site(a, b []warptrace.Symbol, number int, sites *siteMap) {
	key := sites.key(b[0].Site)
	low, high := 0, 0
	if int64(key) < int64(len(m.first)) && m.first[key] > 0 {
		low = int(m.first[key]) - 1
		for high = low; high < len(a) && a[high].Site == key; high++ {
		}
	}
	next := low
	for i, s := range b {
		s.Site = key
		to := uint32(len(a) + number + i)
		for at := next; at < min(next+symbolsAhead, high); at++ {
			if a[at] == s {
				to, next = uint32(at), at+1
				break
			}
		}
		m.table = append(m.table, to)
	}
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
	codedA, ok, err := a.ReadCoded(ctx, warp)
	if err != nil || !ok {
		return false, err
	}
	codedB, ok, err := b.ReadCoded(ctx, warp)
	if err != nil || !ok {
		return false, err
	}
	if !w.shared.of(&codedA, &codedB, w.sites) {
		return false, nil
	}
	w.codedA, w.codedB = codedA, codedB
	w.translated = w.shared.translate(w.translated, codedB.IDs)
	w.pair.a = stream{n: len(codedA.IDs), coded: &w.codedA, ids: codedA.IDs, info: codedA.WarpInfo, taken: w.sites.a.Header().Taken}
	w.pair.b = stream{n: len(codedB.IDs), coded: &w.codedB, ids: w.translated, info: codedB.WarpInfo, taken: w.sites.b.Header().Taken}
	return true, nil
}
