package warptrace

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
)

// The stores blocks of format v2: what each warp stored, a row for each warp, statement and array.

const storesColumns = 5

// encodeStores makes the body of a stores block.
func encodeStores(s *Stores) []byte {
	body, at := masks(nil, storesColumns)
	column := make([]uint64, s.Len())
	put := func(width int, of func(i int) uint64) {
		for i := range column {
			column[i] = of(i)
		}
		body = appendPlanes(body, at, column, width)
		at++
	}
	var before uint64
	put(8, func(i int) uint64 {
		d := zigzag(s.Warp[i] - before)
		before = s.Warp[i]
		return d
	})
	put(4, func(i int) uint64 { return uint64(s.Site[i]) })
	put(4, func(i int) uint64 { return uint64(s.Array[i]) })
	put(8, func(i int) uint64 { return s.Count[i] })
	put(4, func(i int) uint64 { return uint64(s.Hash[i]) })
	return body
}

var (
	errRows     = errors.New("its rows do not have the length that their planes need")
	errRowSite  = errors.New("a row names a site that the file does not have")
	errRowWarp  = errors.New("a row names a warp that the launch does not have")
	errRowOrder = errors.New("the rows of a warp are in no order")
)

// decodeStores appends the rows of a block.
func (s *Stores) decodeStores(body []byte, rows, sites int, slots uint64) error {
	r := planes{body: body}
	r.takeMasks(storesColumns)
	first := s.Len()
	s.Warp, s.Site, s.Array = append(s.Warp, make([]uint64, rows)...), append(s.Site, make([]uint32, rows)...), append(s.Array, make([]uint32, rows)...)
	s.Count, s.Hash = append(s.Count, make([]uint64, rows)...), append(s.Hash, make([]uint32, rows)...)
	readColumn(&r, s.Warp[first:], 8)
	readColumn(&r, s.Site[first:], 4)
	readColumn(&r, s.Array[first:], 4)
	readColumn(&r, s.Count[first:], 8)
	readColumn(&r, s.Hash[first:], 4)
	if r.bad || len(r.body) > 0 {
		return errRows
	}
	var warp uint64
	for i := first; i < s.Len(); i++ {
		warp += unzigzag(s.Warp[i])
		s.Warp[i] = warp
		switch {
		case warp >= slots:
			return errRowWarp
		case int64(s.Site[i]) >= int64(sites) && s.Site[i] != NoSite:
			return errRowSite
		case i > first && warp == s.Warp[i-1] && s.compare(i-1, i) >= 0:
			return errRowOrder
		}
	}
	return nil
}

// compare orders two rows by warp, site and array.
func (s *Stores) compare(i, j int) int {
	return cmp.Or(cmp.Compare(s.Warp[i], s.Warp[j]), cmp.Compare(s.Site[i], s.Site[j]), cmp.Compare(s.Array[i], s.Array[j]))
}

// sort puts the rows in order, and reports whether each is there once.
func (s *Stores) sort() bool {
	sorted := true
	for i := 1; i < s.Len() && sorted; i++ {
		sorted = s.compare(i-1, i) < 0
	}
	if sorted {
		return true
	}
	order := make([]int, s.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, s.compare)
	s.Warp, s.Site, s.Array = permuted(s.Warp, order), permuted(s.Site, order), permuted(s.Array, order)
	s.Count, s.Hash = permuted(s.Count, order), permuted(s.Hash, order)
	for i := 1; i < s.Len(); i++ {
		if s.compare(i-1, i) >= 0 {
			return false
		}
	}
	return true
}

func permuted[T any](s []T, order []int) []T {
	out := make([]T, len(s))
	for to, from := range order {
		out[to] = s[from]
	}
	return out
}

// add appends a row.
func (s *Stores) add(warp uint64, sum *StoreSum) {
	s.Warp, s.Site, s.Array = append(s.Warp, warp), append(s.Site, sum.Site), append(s.Array, sum.Array)
	s.Count, s.Hash = append(s.Count, sum.Count), append(s.Hash, uint32(sum.Hash))
}

func (s *Stores) reset() {
	s.Warp, s.Site, s.Array, s.Count, s.Hash = s.Warp[:0], s.Site[:0], s.Array[:0], s.Count[:0], s.Hash[:0]
}

// stores reads the rows of all warps.
func (v *v2) stores(ctx context.Context) (*Stores, error) {
	var total int64
	for i := range v.extras {
		if v.extras[i].head.kind == v2Stores {
			total += int64(v.extras[i].head.count)
		}
	}
	if total == 0 {
		return nil, nil
	}
	if total > v2MaxRows {
		return nil, fault.New(fault.Limit, "the recording has %d rows of stores; at most %d are read", total, v2MaxRows).WithPath(v.in.Path())
	}
	s := &Stores{}
	for i, b := range v.extras {
		if b.head.kind != v2Stores {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		_, body, err := v.payload(b, &v2Memory{})
		if err != nil {
			return nil, err
		}
		v.extra[i].Store(true)
		if err := s.decodeStores(body, int(b.head.count), len(v.sites), v.header.WarpSlots); err != nil {
			return nil, v.corrupt(b.offset, "the rows of stores are corrupt: %v", err)
		}
	}
	if !s.sort() {
		return nil, v.corrupt(0, "the rows of stores are corrupt: a row is there twice")
	}
	return s, nil
}
