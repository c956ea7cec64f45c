package diff

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/kernel/site"
	"github.com/prlx-go/prlx/core/kernel/warptrace"
)

// What a launch wrote is compared in two ways. The arrays, chunk by chunk, say whether the results are the same. The sums of the
// statements that stored say where a difference was made, and that two launches with the same results wrote them in another way.
// Both are sums over elements, so neither depends on which lane or warp wrote an element, nor in which order.

// outputs is how what two launches wrote compares.
type outputs struct {
	by         string // byContents, byDigest, byNothing or byRequest
	arrays     []arrayPair
	changes    []storeChange
	statements int64    // that stored anything
	limits     []string // what is not known of what the kernel wrote
	withArrays bool     // the arrays themselves were compared, not only what was stored
	lacking    string   // "A", "B" or "both": whose recording holds nothing of it
	keeps      bool     // both recordings keep contents
	first      *FirstOutput
}

// arrayPair is one array of both recordings, or of one. Its chunks are those that differ.
type arrayPair struct {
	a, b   *warptrace.Array // nil: that side did not write it
	chunks []int64          // that differ, ascending
	noise  []bool           // beside them: equal runs differ there, too
	of     int64            // chunks that either side wrote
	more   bool             // chunks differ beyond those that are listed
	swaps  bool             // compare-and-swaps wrote it, whose values were not recorded
}

// storeChange is one statement that stored something else to one array.
type storeChange struct {
	array        int32  // position in outputs.arrays, noArrayPair for what lies in no known array
	key          uint64 // of the group, see storeGroups
	site         int32  // position in Result.Sites
	siteA, siteB uint32 // local numbers, warptrace.NoSite where a side has none
	counts       [2]uint64
	warps        []uint64 // that stored something else, ascending; nil when that is not known
	noise        bool
}

const noArrayPair = -1

// readWritten reads what two launches wrote, and what was recorded of them.
func (g *gathering) readWritten(ctx context.Context, a, b *warptrace.Trace) (err error) {
	for side, t := range []*warptrace.Trace{a, b} {
		if g.written[side], err = t.Outputs(ctx); err != nil {
			return err
		}
	}
	g.oneSided = eventsOfOneSide(g.written[0], g.written[1])
	for side, kinds := range g.oneSided {
		if len(kinds) > 0 {
			g.r.Warnings = append(g.r.Warnings, fmt.Sprintf("%s alone holds events of %s, which were not compared", [2]string{"A", "B"}[side], kinds.text()))
		}
	}
	return nil
}

// compareWritten compares what two launches wrote, and what the checks found in them.
func (g *gathering) compareWritten(ctx context.Context, a, b *warptrace.Trace) error {
	g.compareFindings(g.written[0], g.written[1])
	return g.compareOutputs(ctx, a, b, g.written[0], g.written[1])
}

// compareOutputs compares what two launches wrote.
func (g *gathering) compareOutputs(ctx context.Context, a, b *warptrace.Trace, oa, ob *warptrace.Outputs) error {
	o := &outputs{by: byNothing}
	g.r.outputs = o
	if !g.opt.wantsOutputs() {
		o.by = byRequest
		return nil
	}
	if o.lacking = lacking(oa, ob); o.lacking != "" {
		return nil
	}
	o.withArrays = oa.Coverage.Arrays && ob.Coverage.Arrays && g.opt.Warps.All()
	if !o.withArrays && !(oa.Coverage.Stores && ob.Coverage.Stores) {
		o.lacking = "both"
		return nil
	}
	o.by = byDigest
	if o.keeps = oa.Coverage.ContentBytes > 0 && ob.Coverage.ContentBytes > 0; o.keeps {
		o.by = byContents
	}
	for _, side := range []struct {
		name string
		c    *warptrace.Coverage
	}{{"A", &oa.Coverage}, {"B", &ob.Coverage}} {
		if side.c.Stopped {
			o.limits = append(o.limits, side.name+" ended at its first finding: what it would have written behind that is not known")
		}
	}
	places := o.pairArrays(oa, ob)
	if o.withArrays {
		for i := range o.arrays {
			o.arrays[i].compare(&oa.Coverage, &ob.Coverage)
		}
	}
	o.noteSwaps(oa, ob, places)
	if oa.Coverage.Stores && ob.Coverage.Stores {
		return g.compareStores(ctx, a, b, oa, ob, places)
	}
	return nil
}

// wantsOutputs reports whether outputs are among what was asked for: who looks at chosen sites or kinds does not.
func (o *Options) wantsOutputs() bool {
	return len(o.SiteFilter) == 0 && (o.Kinds == 0 || o.Kinds.Has(kindOutput) || o.Kinds.Has(kindStore))
}

// lacking says which recording holds nothing of what the kernel wrote.
func lacking(a, b *warptrace.Outputs) string {
	has := func(o *warptrace.Outputs) bool { return o != nil && (o.Coverage.Arrays || o.Coverage.Stores) }
	switch {
	case has(a) && has(b):
		return ""
	case has(a):
		return "B"
	case has(b):
		return "A"
	}
	return "both"
}

// arrayPlaces are the positions in outputs.arrays by the IDs of A and of B; scratch memory has none and is left out everywhere.
type arrayPlaces [2]map[uint32]int32

// scratch is the position of what the compiler added to the launch.
const scratch = int32(-2)

// of is the position of an array.
func (p *arrayPlaces) of(side int, id uint32) int32 {
	if at, ok := p[side][id]; ok {
		return at
	}
	return noArrayPair
}

// pairArrays pairs the arrays of both sides: by kind and name, then, among those left, arguments by their place.
func (o *outputs) pairArrays(a, b *warptrace.Outputs) *arrayPlaces {
	type named struct {
		kind warptrace.ArrayKind
		name string
	}
	places := &arrayPlaces{make(map[uint32]int32), make(map[uint32]int32)}
	byName, byID := make(map[named]int32), make(map[uint32]int32)
	for i := range a.Arrays {
		x := &a.Arrays[i]
		if x.Kind == warptrace.ArrayScratch {
			places[0][x.ID] = scratch
			continue
		}
		at := int32(len(o.arrays))
		o.arrays = append(o.arrays, arrayPair{a: x})
		places[0][x.ID], byName[named{x.Kind, x.Name}] = at, at
		byID[x.ID] = at
	}
	var left []*warptrace.Array
	for i := range b.Arrays {
		y := &b.Arrays[i]
		if y.Kind == warptrace.ArrayScratch {
			places[1][y.ID] = scratch
			continue
		}
		if at, ok := byName[named{y.Kind, y.Name}]; ok && y.Name != "" && o.arrays[at].b == nil {
			o.arrays[at].b, places[1][y.ID] = y, at
		} else {
			left = append(left, y)
		}
	}
	for _, y := range left {
		at, ok := byID[y.ID]
		if !ok || o.arrays[at].b != nil || o.arrays[at].a.Kind != y.Kind {
			at = int32(len(o.arrays))
			o.arrays = append(o.arrays, arrayPair{})
		}
		o.arrays[at].b, places[1][y.ID] = y, at
	}
	return places
}

// compare finds the chunks that differ. A chunk that a recording had no room for is known by the digest of its array only.
func (p *arrayPair) compare(a, b *warptrace.Coverage) {
	var ca, cb []warptrace.Chunk
	if p.a != nil {
		ca = p.a.Chunks
	}
	if p.b != nil {
		cb = p.b.Chunks
	}
	same := p.a != nil && p.b != nil && p.a.Digest == p.b.Digest && p.a.Written == p.b.Written
	whole := a.ChunksDropped == 0 && b.ChunksDropped == 0
	for i, k := 0, 0; i < len(ca) || k < len(cb); p.of++ {
		switch {
		case k == len(cb) || i < len(ca) && ca[i].Index < cb[k].Index:
			p.differs(ca[i].Index, whole && !same)
			i++
		case i == len(ca) || cb[k].Index < ca[i].Index:
			p.differs(cb[k].Index, whole && !same)
			k++
		default:
			p.differs(ca[i].Index, !same && (ca[i].Digest != cb[k].Digest || ca[i].Bytes != cb[k].Bytes))
			i, k = i+1, k+1
		}
	}
	p.more = !same && (!whole || len(p.chunks) == 0) && p.written() > 0
	p.noise = make([]bool, len(p.chunks))
}

func (p *arrayPair) differs(chunk int64, yes bool) {
	if yes {
		p.chunks = append(p.chunks, chunk)
	}
}

// written is how many bytes either side wrote at most.
func (p *arrayPair) written() uint64 {
	var n uint64
	for _, x := range []*warptrace.Array{p.a, p.b} {
		if x != nil {
			n = max(n, x.Written)
		}
	}
	return n
}

// array is the array of A, or of B where A did not write it.
func (p *arrayPair) array() *warptrace.Array {
	if p.a != nil {
		return p.a
	}
	return p.b
}

// name is what people call the array.
func (p *arrayPair) name() string {
	x := p.array()
	return cmp.Or(clippedWord(x.Name), fmt.Sprintf("argument %d", x.ID))
}

// beganOtherwise reports whether atomics found other contents in the array: then the order of atomics is not what makes it differ.
func (p *arrayPair) beganOtherwise() bool {
	return p.a != nil && p.b != nil && p.a.Began != 0 && p.b.Began != 0 && p.a.Began != p.b.Began
}

// counts is how many chunks differ, and how many of them are no noise.
func (p *arrayPair) counts() (all, genuine int64) {
	for _, noise := range p.noise {
		if !noise {
			genuine++
		}
	}
	all = int64(len(p.chunks))
	if p.more && all == 0 {
		return 1, 1
	}
	return all, genuine
}

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
func (s *storeGroups) note(side int, x *warptrace.StoreSum) {
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
func (s *storeGroups) add(side int, x *warptrace.StoreSum) {
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
	g.counts[side] += x.Count
	g.hashes[side] += x.Hash
}

// compareStores finds the statements that stored something else, and in which warps.
func (g *gathering) compareStores(ctx context.Context, a, b *warptrace.Trace, oa, ob *warptrace.Outputs, places *arrayPlaces) error {
	sums, mask, err := g.storeSums(ctx, a, b, oa, ob)
	if err != nil {
		return err
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
			array: key.array, key: key.site, site: g.storeSite(x, a, b), siteA: x.sites[0], siteB: x.sites[1], counts: x.counts,
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
func statementsOf(sums []warptrace.StoreSum, places *arrayPlaces, side int) int64 {
	seen := make(map[uint32]bool)
	for i := range sums {
		if places.of(side, sums[i].Array) != scratch {
			seen[sums[i].Site] = true
		}
	}
	return int64(len(seen))
}

// storeSums are the sums of all warps, or of those that were asked for, and which bits of the hash are known.
func (g *gathering) storeSums(ctx context.Context, a, b *warptrace.Trace, oa, ob *warptrace.Outputs) (sums [2][]warptrace.StoreSum, mask uint64, err error) {
	if g.opt.Warps.All() {
		for side, o := range []*warptrace.Outputs{oa, ob} {
			for i := range o.Stores {
				sums[side] = append(sums[side], o.Stores[i].StoreSum)
			}
		}
		return sums, ^uint64(0), nil
	}
	for side, t := range []*warptrace.Trace{a, b} {
		rows, err := t.Stores(ctx)
		if err != nil {
			return sums, 0, err
		}
		if rows == nil {
			continue
		}
		for i, warp := range rows.Warp {
			if g.opt.Warps.Has(warp) {
				sums[side] = append(sums[side], warptrace.StoreSum{Site: rows.Site[i], Array: rows.Array[i], Count: rows.Count[i], Hash: uint64(rows.Hash[i])})
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
	if g.r.A.WaveSize != g.r.B.WaveSize || g.r.A.WarpSlots != g.r.B.WarpSlots {
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

// tells reports whether there is anything that can agree: outputs were compared, and either launch wrote something.
func (o *outputs) tells() bool {
	return o != nil && o.by != byNothing && o.by != byRequest && len(o.arrays)+int(o.statements) > 0
}

// agrees says whether what the kernel wrote is the same. Where equal runs leave other bytes in an array, what was stored to it, or
// given to atomics, must be the same.
func (o *outputs) agrees() Agreement {
	if !o.tells() {
		return AgreementUnknown
	}
	noise := false
	for i := range o.arrays {
		all, genuine := o.arrays[i].counts()
		if genuine > 0 {
			return Differs
		}
		noise = noise || all > 0
	}
	for i := range o.changes {
		c := &o.changes[i]
		switch {
		case !o.decides(c):
		case !c.noise:
			return Differs
		default:
			noise = true
		}
	}
	if noise {
		return AgreesInNoise
	}
	return Agrees
}

// decides reports whether what a statement stored tells of the results, not only of the way to them: where the array was not compared,
// or differs as those of equal runs do.
func (o *outputs) decides(c *storeChange) bool {
	if !o.withArrays || c.array == noArrayPair {
		return true
	}
	all, _ := o.arrays[c.array].counts()
	return all > 0
}

// storesAgree says whether the same was stored at the same statements, whatever became of it.
func (o *outputs) storesAgree() Agreement {
	found := Agrees
	if !o.tells() {
		return AgreementUnknown
	}
	for i := range o.changes {
		if !o.changes[i].noise {
			return Differs
		}
		found = AgreesInNoise
	}
	return found
}

// outputCoverage says how what the kernel wrote was compared.
func (r *Result) outputCoverage() OutputCoverage {
	o := r.outputs
	if o == nil {
		return OutputCoverage{By: byNothing, Agrees: AgreementUnknown, Limits: []string{}}
	}
	c := OutputCoverage{By: o.by, Agrees: o.agrees(), Stores: o.statements, Limits: append([]string{}, o.limits...)}
	if o.lacking == "A" || o.lacking == "B" {
		c.Limits = append(c.Limits, o.lacking+" does not say what the kernel wrote")
	}
	if !o.withArrays {
		return c
	}
	for i := range o.arrays {
		p := &o.arrays[i]
		c.Arrays++
		c.Chunks += p.of
		c.Elements += int64(p.written() / uint64(max(p.array().ElementBytes, 1)))
	}
	return c
}
