package diff

import (
	"fmt"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// siteMap says what the sites of B are in terms of A's numbers. Keys, by which events are aligned, are A's local numbers; a site
// that A lacks has a key of its own.
type siteMap struct {
	a, b     *warptrace.Trace
	identity bool // both sides number sites alike
	table    []uint32
	ids      map[uint32]uint32
	inverse  map[uint32]uint32
	alike    bool                // ids that are not in the map are the same on both sides
	lone     map[uint32]struct{} // ids of B that A's site map has no site for: their keys are made up
	foreign  uint32              // keys of B's own sites begin here, where numbers are positions in tables
	merged   []uint32            // of A's local numbers the key: sites of v2 that share an id of v1 are one site there; nil: each is its own
	barriers bool                // barriers are recorded
	moved    map[uint32]struct{} // keys of sites that stand in another order in B; nil: none
	reused   bool                // a number or key of A stands for another site in B: equal bytes and digests prove nothing
	builds   *Builds             // how the sites of two builds were matched; nil: of one build
}

// foreignKeys is where keys of sites begin that A lacks, when A has no more sites than that.
const foreignKeys = 1 << 31

// newSiteMap finds how the sites of two recordings correspond: of v1 by id, of v2 by key, across formats by the id of v1 that a
// converted site still has. Sites that are not the same by that are matched by where they are, see site.Match.
func newSiteMap(a, b *warptrace.Trace) *siteMap {
	m := &siteMap{a: a, b: b, foreign: foreignKeys}
	for _, t := range []*warptrace.Trace{a, b} {
		for i := range t.Sites().Len() {
			m.barriers = m.barriers || t.Sites().At(i).Kind == site.Barrier
		}
	}
	oneA, oneB := a.Header().Version == 1, b.Header().Version == 1
	switch {
	case oneA && oneB:
		m.matchIDs()
	case !oneA && !oneB:
		m.matchTables()
	case oneA:
		m.matchToIDs()
	default:
		m.matchFromIDs()
	}
	return m
}

// matchIDs matches two recordings of v1. Without the site maps of two builds an id is an id. An id is a hash of a line: where lines
// moved, it can stand for another site, so that both maps have it does not make it one site.
func (m *siteMap) matchIDs() {
	m.identity = true
	ta, tb := m.a.Sites(), m.b.Sites()
	if ta == tb || ta.Len() == 0 || tb.Len() == 0 || sameSites(ta, tb) {
		return
	}
	how := site.Match(ta, tb, site.MatchOptions{})
	ids, inverse, lone := make(map[uint32]uint32), make(map[uint32]uint32), make(map[uint32]struct{})
	for i := range tb.Len() {
		from := tb.At(i).ID
		if first, ok := tb.ByID(from); !ok || first != i {
			continue // a copy that was inlined elsewhere: v1 has one id for all
		}
		to := from
		at, ok := how.BtoA(i)
		if ok {
			to = ta.At(at).ID
		} else if _, taken := ta.ByID(from); taken {
			to = freeID(from, ta, tb, inverse)
			lone[from] = struct{}{}
		}
		ids[from] = to
		if _, taken := inverse[to]; !taken {
			inverse[to] = from
		}
		m.reused = m.reused || to != from
	}
	if !m.reused {
		return
	}
	m.identity, m.alike, m.ids, m.inverse, m.lone = false, true, ids, inverse, lone
	m.builds = summary(ta, tb, how, func(s *site.Site) string { return fmt.Sprintf("0x%08x", s.ID) })
}

// sameSites reports whether two site maps say the same of the same ids.
func sameSites(a, b *site.Table) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		x, y := a.At(i), b.At(i)
		if x.ID != y.ID || x.Key != y.Key {
			return false
		}
	}
	return true
}

// freeID is a number that no site of either side has.
func freeID(id uint32, a, b *site.Table, used map[uint32]uint32) uint32 {
	for n := uint64(1); ; n++ {
		free := uint32(mix(uint64(id) + n<<32))
		_, inA := a.ByID(free)
		_, inB := b.ByID(free)
		if _, taken := used[free]; !inA && !inB && !taken && free != 0 {
			return free
		}
	}
}

// matchTables matches two tables of v2.
func (m *siteMap) matchTables() {
	ta, tb := m.a.Sites(), m.b.Sites()
	m.table = make([]uint32, tb.Len())
	m.identity = ta.Len() == tb.Len()
	for i := range m.table {
		m.identity = m.identity && tb.At(i).Key == ta.At(i).Key
		m.table[i] = uint32(i)
	}
	if m.identity {
		return
	}
	how := site.Match(ta, tb, site.MatchOptions{})
	m.moved = make(map[uint32]struct{})
	for i := range m.table {
		m.table[i] = m.foreign + uint32(i)
		at, ok := how.BtoA(i)
		if ok {
			m.table[i] = uint32(at)
			if how.Moved(at) {
				m.moved[uint32(at)] = struct{}{}
			}
		}
		if of, taken := ta.ByKey(tb.At(i).Key); taken && (!ok || of != at) {
			m.reused = true
		}
	}
	m.invert()
	if s := summary(ta, tb, how, func(s *site.Site) string { return fmt.Sprintf("0x%016x", uint64(s.Key)) }); s.Relocated+s.OnlyA+s.OnlyB > 0 {
		m.builds = s
	}
}

// matchToIDs matches the table of B with the ids of A.
func (m *siteMap) matchToIDs() {
	tb := m.b.Sites()
	m.table = make([]uint32, tb.Len())
	for i := range m.table {
		m.table[i] = m.foreign | uint32(mix(uint64(i)))>>1
		if id := tb.At(i).ID; id != 0 {
			m.table[i] = id
		} else if at, ok := m.a.Sites().ByKey(tb.At(i).Key); ok {
			m.table[i] = m.a.Sites().At(at).ID
		}
	}
	m.invert()
}

// matchFromIDs matches the ids of B with the table of A.
func (m *siteMap) matchFromIDs() {
	ta := m.a.Sites()
	m.ids = make(map[uint32]uint32, ta.Len())
	m.inverse = make(map[uint32]uint32, ta.Len())
	for i := range ta.Len() {
		id := ta.At(i).ID
		if at, ok := m.b.Sites().ByKey(ta.At(i).Key); ok && id == 0 {
			id = m.b.Sites().At(at).ID
		}
		if _, taken := m.ids[id]; id != 0 && !taken {
			m.ids[id] = uint32(i)
			m.inverse[uint32(i)] = id
		}
	}
	m.merged = make([]uint32, ta.Len())
	for i := range m.merged {
		m.merged[i] = uint32(i)
		if first, ok := m.ids[ta.At(i).ID]; ok {
			m.merged[i] = first
		}
	}
}

func (m *siteMap) invert() {
	m.inverse = make(map[uint32]uint32, len(m.table))
	for i, key := range m.table {
		if _, taken := m.inverse[key]; !taken {
			m.inverse[key] = uint32(i)
		}
	}
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// key is the key of a local number of B.
func (m *siteMap) key(local uint32) uint32 {
	switch {
	case m.identity:
		return local
	case m.ids != nil:
		if key, ok := m.ids[local]; ok {
			return key
		}
		if m.alike {
			return local
		}
		return m.foreign | local
	case int64(local) < int64(len(m.table)):
		return m.table[local]
	}
	return m.foreign | local
}

// translate turns local numbers of B into keys.
func (m *siteMap) translate(locals []uint32) {
	if m.identity {
		return
	}
	for i, local := range locals {
		locals[i] = m.key(local)
	}
}

// keyA is the key of a local number of A.
func (m *siteMap) keyA(local uint32) uint32 {
	if int64(local) < int64(len(m.merged)) {
		return m.merged[local]
	}
	return local
}

// translateA turns local numbers of A into keys.
func (m *siteMap) translateA(locals []uint32) {
	if m.merged == nil {
		return
	}
	for i, local := range locals {
		locals[i] = m.keyA(local)
	}
}

// ofB is A's local number of a site of B.
func (m *siteMap) ofB(local uint32) (uint32, bool) {
	if m.identity {
		return local, true
	}
	if m.ids != nil {
		if _, lone := m.lone[local]; lone {
			return 0, false
		}
		key, ok := m.ids[local]
		if m.alike && !ok {
			return local, true
		}
		return key, ok
	}
	if int64(local) >= int64(len(m.table)) || m.table[local] >= m.foreign && m.a.Header().Version != 1 {
		return 0, false
	}
	if m.a.Header().Version == 1 && m.b.Sites().At(int(local)).ID == 0 {
		_, ok := m.a.Sites().ByKey(m.b.Sites().At(int(local)).Key)
		return m.table[local], ok
	}
	return m.table[local], true
}

// ofA is B's local number of a site of A.
func (m *siteMap) ofA(local uint32) (uint32, bool) {
	if m.identity {
		return local, true
	}
	l, ok := m.inverse[local]
	if _, known := m.ids[local]; m.alike && !ok && !known {
		return local, true
	}
	return l, ok
}

// siteIndex gives sites their positions in Result.Sites, in the order in which they turn up.
type siteIndex struct {
	m     *siteMap
	refs  []SiteRef
	fromA map[uint32]int32
	fromB map[uint32]int32 // sites that A lacks
}

func newSiteIndex(m *siteMap) *siteIndex {
	return &siteIndex{m: m, fromA: make(map[uint32]int32), fromB: make(map[uint32]int32)}
}

// ofA is the position of a site of A.
func (x *siteIndex) ofA(local uint32, kind site.Kind) int32 {
	if at, ok := x.fromA[local]; ok {
		return at
	}
	ref := SiteRef{ID: x.m.a.SiteID(local), Wide: x.m.a.Header().Version != 1, Kind: kind, LocalA: int64(local), LocalB: -1}
	if other, ok := x.m.ofA(local); ok {
		ref.LocalB = int64(other)
	}
	ref.Site, _ = x.m.a.SiteOf(local)
	if ref.LocalB >= 0 {
		ref.SiteB, _ = x.m.b.SiteOf(uint32(ref.LocalB))
	}
	if ref.Site == nil {
		ref.Site = ref.SiteB
	}
	x.fromA[local] = int32(len(x.refs))
	x.refs = append(x.refs, ref)
	return int32(len(x.refs)) - 1
}

// ofB is the position of a site of B.
func (x *siteIndex) ofB(local uint32, kind site.Kind) int32 {
	if inA, ok := x.m.ofB(local); ok {
		return x.ofA(inA, kind)
	}
	if at, ok := x.fromB[local]; ok {
		return at
	}
	ref := SiteRef{ID: x.m.b.SiteID(local), Wide: x.m.b.Header().Version != 1, Kind: kind, LocalA: -1, LocalB: int64(local)}
	ref.Site, _ = x.m.b.SiteOf(local)
	ref.SiteB = ref.Site
	x.fromB[local] = int32(len(x.refs))
	x.refs = append(x.refs, ref)
	return int32(len(x.refs)) - 1
}
