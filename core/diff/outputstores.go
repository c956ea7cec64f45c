package diff

import (
	"cmp"
	"context"
	"slices"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// storeGroups sums what statements stored, by statement and array. Statements that one side lacks are one group for each array: a
// statement that was split in two, or moved out of reach of site matching, stored the same if the sums are the same.
type storeGroups struct {
	keys   [2]map[uint64]bool // statements that stored, by the keys of sites and the position of the array
	groups map[storeKey]*storeGroup
	order  []storeKey
	sites  *siteMap
	places *arrayPlaces
}

type storeKey struct {
	site  uint64 // key of the site, unmatched for what one side lacks
	array int32
}

const unmatched = ^uint64(0)

type storeGroup struct {
	sites  [2]uint32 // the first of each side
	all    [2][]*warptrace.StoreTotal
	counts [2]uint64
	hashes [2]uint64
}

func newStoreGroups(sites *siteMap, places *arrayPlaces) *storeGroups {
	return &storeGroups{
		keys: [2]map[uint64]bool{make(map[uint64]bool), make(map[uint64]bool)}, groups: make(map[storeKey]*storeGroup), sites: sites, places: places,
	}
}

// siteKey is the key of a site together with the position of the array.
func (s *storeGroups) siteKey(side int, local uint32, array int32) uint64 {
	key := s.sites.keyA(local)
	if side == 1 {
		key = s.sites.key(local)
	}
	return uint64(key)<<32 | uint64(uint32(array))
}

// note says that a side stored at a site.
func (s *storeGroups) note(side int, x *warptrace.StoreTotal) {
	s.keys[side][s.siteKey(side, x.Site, s.places.of(side, x.Array))] = true
}

// keyOf is the group of a sum, false for scratch memory. Every site must have been noted before.
func (s *storeGroups) keyOf(side int, local, array uint32) (storeKey, bool) {
	at := s.places.of(side, array)
	if at == scratch {
		return storeKey{}, false
	}
	key := s.siteKey(side, local, at)
	if s.keys[0][key] && s.keys[1][key] {
		return storeKey{key, at}, true
	}
	return storeKey{unmatched, at}, true
}

// add adds a sum to its group.
func (s *storeGroups) add(side int, x *warptrace.StoreTotal) {
	key, ok := s.keyOf(side, x.Site, x.Array)
	if !ok {
		return
	}
	g := s.groups[key]
	if g == nil {
		g = &storeGroup{sites: [2]uint32{warptrace.NoSite, warptrace.NoSite}}
		s.groups[key] = g
		s.order = append(s.order, key)
	}
	g.sites[side] = min(g.sites[side], x.Site)
	g.all[side] = append(g.all[side], x)
	g.counts[side] += x.Count
	g.hashes[side] += x.Hash
}

// compareStores finds the statements that stored something else, and in which warps.
func (g *gathering) compareStores(ctx context.Context, a, b *warptrace.Trace, oa, ob *warptrace.Outputs, places *arrayPlaces) error {
	sums, mask, err := g.storeSums(ctx, a, b, oa, ob)
	if err != nil {
		return err
	}
	if mask == 0 { // the sums of the warps that were asked for are not all there
		g.r.outputs.by, g.r.outputs.sums = byNothing, false
		return nil
	}
	groups := newStoreGroups(g.sites, places)
	for side := range sums {
		for i := range sums[side] {
			groups.note(side, &sums[side][i])
		}
	}
	for side := range sums {
		for i := range sums[side] {
			groups.add(side, &sums[side][i])
		}
	}
	o := g.r.outputs
	o.statements = max(statementsOf(sums[0], places, 0), statementsOf(sums[1], places, 1))
	for _, key := range groups.order {
		x := groups.groups[key]
		if x.counts[0] == x.counts[1] && (x.hashes[0]^x.hashes[1])&mask == 0 || g.ignoresStore(x, a, b) {
			continue
		}
		o.changes = append(o.changes, storeChange{
			array: key.array, key: key.site, site: g.storeSite(x, a, b), siteA: x.sites[0], siteB: x.sites[1], counts: x.counts, all: x.all,
		})
	}
	slices.SortStableFunc(o.changes, func(x, y storeChange) int {
		return cmp.Or(cmp.Compare(min(x.siteA, x.siteB), min(y.siteA, y.siteB)), cmp.Compare(x.array, y.array))
	})
	if len(o.changes) == 0 {
		return nil
	}
	return g.nameWarps(ctx, a, b, groups)
}

// statementsOf counts the statements that stored.
func statementsOf(sums []warptrace.StoreTotal, places *arrayPlaces, side int) int64 {
	seen := make(map[uint32]bool)
	for i := range sums {
		if places.of(side, sums[i].Array) != scratch {
			seen[sums[i].Site] = true
		}
	}
	return int64(len(seen))
}

// storeSums are the sums of all warps, or of those that were asked for, and which bits of the hash are known: none where sums are missing.
func (g *gathering) storeSums(ctx context.Context, a, b *warptrace.Trace, oa, ob *warptrace.Outputs) (sums [2][]warptrace.StoreTotal, mask uint64, err error) {
	if g.opt.Warps.All() {
		return [2][]warptrace.StoreTotal{oa.Stores, ob.Stores}, ^uint64(0), nil
	}
	for side, t := range []*warptrace.Trace{a, b} {
		rows, err := t.Stores(ctx)
		if err != nil {
			return sums, 0, err
		}
		o := [2]*warptrace.Outputs{oa, ob}[side]
		switch {
		case o.Coverage.RowsDropped > 0 || rows == nil && len(o.Stores) > 0:
			return [2][]warptrace.StoreTotal{}, 0, nil
		case rows == nil:
			continue
		}
		for i, warp := range rows.Warp {
			if g.opt.Warps.Has(warp) {
				sums[side] = append(sums[side], warptrace.StoreTotal{StoreSum: warptrace.StoreSum{
					Site: rows.Site[i], Array: rows.Array[i], Count: rows.Count[i], Hash: uint64(rows.Hash[i]),
				}})
			}
		}
	}
	return sums, 1<<32 - 1, nil
}

// ignoresStore reports whether the option to ignore sites names the statement.
func (g *gathering) ignoresStore(x *storeGroup, a, b *warptrace.Trace) bool {
	for side, t := range []*warptrace.Trace{a, b} {
		if x.sites[side] == warptrace.NoSite {
			continue
		}
		s, _ := t.SiteOf(x.sites[side])
		if !matchesAny(g.opt.Ignore, s, t.SiteID(x.sites[side])) {
			return false
		}
	}
	return true
}

// storeSite is the position of a statement in Result.Sites.
func (g *gathering) storeSite(x *storeGroup, a, b *warptrace.Trace) int32 {
	kindOf := func(t *warptrace.Trace, local uint32) site.Kind {
		if s, ok := t.SiteOf(local); ok {
			return s.Kind
		}
		return site.GlobalStore
	}
	if x.sites[0] != warptrace.NoSite {
		return g.index.ofA(x.sites[0], kindOf(a, x.sites[0]))
	}
	return g.index.ofB(x.sites[1], kindOf(b, x.sites[1]))
}

// maxNamedStores is how many statements have the warps named that stored something else.
const maxNamedStores = 256

// nameWarps finds the warps that stored something else, where both recordings have sums by warp and the same warps.
func (g *gathering) nameWarps(ctx context.Context, a, b *warptrace.Trace, groups *storeGroups) error {
	if g.r.OtherShape != "" || g.r.A.WaveSize != g.r.B.WaveSize || g.r.A.WarpSlots != g.r.B.WarpSlots {
		return nil
	}
	var rows [2]*warptrace.Stores
	for side, t := range []*warptrace.Trace{a, b} {
		var err error
		if rows[side], err = t.Stores(ctx); err != nil {
			return err
		}
		if rows[side] == nil {
			return nil
		}
	}
	wanted := make(map[storeKey]int)
	for i := range g.r.outputs.changes[:min(len(g.r.outputs.changes), maxNamedStores)] {
		c := &g.r.outputs.changes[i]
		wanted[storeKey{c.key, c.array}] = i
	}
	w := storeWarps{rows: rows, groups: groups, wanted: wanted, changes: g.r.outputs.changes}
	w.walk(g.opt.Warps)
	return nil
}

// storeWarps walks through the sums of the warps of both sides.
type storeWarps struct {
	rows    [2]*warptrace.Stores
	groups  *storeGroups
	wanted  map[storeKey]int // position in changes
	changes []storeChange
	sums    map[int]*storeGroup // of the warp under way, by position
}

func (w *storeWarps) walk(asked WarpSet) {
	w.sums = make(map[int]*storeGroup)
	for at := [2]int{}; at[0] < w.rows[0].Len() || at[1] < w.rows[1].Len(); {
		warp := ^uint64(0)
		for side, rows := range w.rows {
			if at[side] < rows.Len() {
				warp = min(warp, rows.Warp[at[side]])
			}
		}
		clear(w.sums)
		for side, rows := range w.rows {
			for ; at[side] < rows.Len() && rows.Warp[at[side]] == warp; at[side]++ {
				w.add(side, at[side])
			}
		}
		if asked.Has(warp) {
			w.note(warp)
		}
	}
}

// add adds one row to the sums of its warp.
func (w *storeWarps) add(side, at int) {
	rows := w.rows[side]
	key, ok := w.groups.keyOf(side, rows.Site[at], rows.Array[at])
	if !ok {
		return
	}
	change, ok := w.wanted[key]
	if !ok {
		return
	}
	sum := w.sums[change]
	if sum == nil {
		sum = &storeGroup{}
		w.sums[change] = sum
	}
	sum.counts[side] += rows.Count[at]
	sum.hashes[side] += uint64(rows.Hash[at])
}

// note adds the warp to the statements at which it stored something else.
func (w *storeWarps) note(warp uint64) {
	for change, sum := range w.sums {
		if sum.counts[0] != sum.counts[1] || uint32(sum.hashes[0]) != uint32(sum.hashes[1]) {
			w.changes[change].warps = append(w.changes[change].warps, warp)
		}
	}
}
