package warptrace

import (
	"encoding/binary"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/recording/site"
)

// Symbol is what an event is beside its value. Events of very many warps are few symbols, in long sequences that repeat.
type Symbol struct {
	Active, Taken uint64
	Site          uint32 // local site number
	Aux           uint16
	Kind          site.Kind
	Dir           uint8
	Type          ValueType
}

// pathWriter gathers the warps of a paths block.
type pathWriter struct {
	symbols []Symbol
	slots   []uint32 // a hash table of numbers of symbols, plus 1
	recent  []uint32 // by site: the symbol that was met last, plus 1
	ids     []uint32 // of the events of all paths, one path after another
	paths   []writtenPath
	byHash  map[uint64]int // the latest path with a hash
	of      []int          // path of each warp
	values  []uint64       // of all events, warp after warp
	starts  []int          // of each warp's values
	digests []digests      // of each warp

	scratch       []uint32
	column, spare []uint64
	masks         [3][]byte
	counts, at    []uint32
	sites, firsts []uint32 // once the symbols are sorted: the sites that have some, and where those of each begin
}

// writtenPath is one sequence of symbols.
type writtenPath struct {
	from, n int
	before  int // path with the same hash, -1: none
	warps   []int
}

// add takes a warp. Its digests are known. operands are those that hashes are taken out of the values for, nil: none.
func (p *pathWriter) add(w *Warp, info *WarpInfo, sites int, operands *hashedOperands) {
	if len(p.recent) < sites {
		p.recent = append(p.recent, make([]uint32, sites-len(p.recent))...)
	}
	p.scratch = p.scratch[:0]
	hash := uint64(len(w.Site))
	for i, s := range w.Site {
		symbol := Symbol{w.Active[i], w.Taken[i], s, w.Aux[i], w.Kind[i], w.Dir[i], w.Type[i]}
		id := p.recent[s]
		if id == 0 || p.symbols[id-1] != symbol {
			id = p.number(&symbol)
			p.recent[s] = id
		}
		p.scratch = append(p.scratch, id-1)
		hash = digestRound(hash, uint64(id))
	}
	path := p.path(hash)
	if path == len(p.paths) {
		before, found := p.byHash[hash]
		if !found {
			before = -1
		}
		if p.byHash == nil {
			p.byHash = map[uint64]int{}
		}
		p.byHash[hash] = path
		p.paths = append(p.paths, writtenPath{from: len(p.ids), n: len(w.Site), before: before})
		p.ids = append(p.ids, p.scratch...)
	}
	p.paths[path].warps = append(p.paths[path].warps, len(p.of))
	p.of = append(p.of, path)
	p.starts = append(p.starts, len(p.values))
	p.values = append(p.values, w.Value...)
	if operands != nil {
		operands.xor(w.Type, p.values[len(p.values)-len(w.Value):])
	}
	p.digests = append(p.digests, digests{info.Digest, info.Control})
}

// path finds the path of the symbols in scratch, or says that it is new.
func (p *pathWriter) path(hash uint64) int {
	at, found := p.byHash[hash]
	for found && at >= 0 {
		known := &p.paths[at]
		if same := p.ids[known.from : known.from+known.n]; len(same) == len(p.scratch) && equalIDs(same, p.scratch) {
			return at
		}
		at = known.before
	}
	return len(p.paths)
}

func equalIDs(a, b []uint32) bool {
	for i, id := range a {
		if id != b[i] {
			return false
		}
	}
	return true
}

// number finds or adds a symbol and returns its number plus 1.
func (p *pathWriter) number(s *Symbol) uint32 {
	if 2*len(p.symbols) >= len(p.slots) {
		p.grow()
	}
	at := s.hash() & uint64(len(p.slots)-1)
	for p.slots[at] != 0 {
		if p.symbols[p.slots[at]-1] == *s {
			return p.slots[at]
		}
		at = (at + 1) & uint64(len(p.slots)-1)
	}
	p.symbols = append(p.symbols, *s)
	p.slots[at] = uint32(len(p.symbols))
	return p.slots[at]
}

func (s *Symbol) hash() uint64 {
	h := digestRound(s.Active, s.Taken)
	h = digestRound(h, uint64(s.Site)|uint64(s.Aux)<<32|uint64(s.Kind)<<48|uint64(s.Dir)<<56)
	return digestFinish(h + uint64(s.Type))
}

func (p *pathWriter) grow() {
	p.slots = make([]uint32, max(256, 2*len(p.slots)))
	for i := range p.symbols {
		at := p.symbols[i].hash() & uint64(len(p.slots)-1)
		for p.slots[at] != 0 {
			at = (at + 1) & uint64(len(p.slots)-1)
		}
		p.slots[at] = uint32(i) + 1
	}
}

// reset forgets all warps.
func (p *pathWriter) reset() {
	p.symbols, p.ids, p.paths, p.of = p.symbols[:0], p.ids[:0], p.paths[:0], p.of[:0]
	p.values, p.starts, p.digests = p.values[:0], p.starts[:0], p.digests[:0]
	clear(p.slots)
	clear(p.recent)
	clear(p.byHash)
}

// packWorth is how many bytes compressing a directory must save.
const packWorth = 16

// directory encodes what the index needs to know, compressed where that helps.
func (p *pathWriter) directory(enc *zstd.Encoder, infos []WarpInfo, entries []v2Entry) []byte {
	dst := binary.LittleEndian.AppendUint32(make([]byte, pathDirSizes), uint32(len(p.paths)))
	at := len(dst)
	dst = append(dst, make([]byte, 2*pathDirColumns)...)
	numbers := make([]uint64, max(len(infos), len(p.paths)))
	put := func(n int, of func(i int) uint64) {
		for i := range n {
			numbers[i] = of(i)
		}
		var c v2ValueColumn
		dst = c.append(dst, numbers[:n])
		dst[at], dst[at+1] = c.stored, c.constant
		at += 2
	}
	n := len(infos)
	put(n, func(i int) uint64 {
		if i == 0 {
			return infos[0].Warp
		}
		return infos[i].Warp - infos[i-1].Warp - 1
	})
	put(n, func(i int) uint64 {
		if i == 0 {
			return 0
		}
		return uint64(zigzag32(uint32(p.of[i] - p.of[i-1])))
	})
	put(n, func(i int) uint64 { return infos[i].Dropped })
	put(n, func(i int) uint64 { return infos[i].Total - uint64(infos[i].Events) - infos[i].Dropped })
	put(n, func(i int) uint64 { return infos[i].Before })
	put(n, func(i int) uint64 { return infos[i].Rolling })
	put(n, func(i int) uint64 {
		if infos[i].HasRolling {
			return 1
		}
		return 0
	})
	put(n, func(i int) uint64 { return uint64(max(infos[i].Stored, infos[i].Events) - infos[i].Events) })
	put(n, func(i int) uint64 { return uint64(entries[i].history) })
	put(n, func(i int) uint64 { return uint64(entries[i].snapshots) })
	put(len(p.paths), func(i int) uint64 { return uint64(p.paths[i].n) })
	var g digestGroups
	for i := range infos {
		g.add(int(infos[i].Events))
	}
	for group := range g.starts {
		first, end := g.members(group)
		d := groupDigests(infos[first:end], p.digests[first:end])
		dst = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, d.all), d.control)
	}
	binary.LittleEndian.PutUint32(dst, uint32(len(dst)-pathDirSizes))
	if packed := enc.EncodeAll(dst[pathDirSizes:], dst[:pathDirSizes:pathDirSizes]); len(packed)+packWorth < len(dst) {
		return packed
	}
	return dst
}

// encode makes the body: the events, then the rings, whose lengths the entries have.
func (p *pathWriter) encode(c *v2Codec, rings []byte, entries []v2Entry) []byte {
	p.sortSymbols(len(c.facts.keys))
	dst := binary.LittleEndian.AppendUint32(nil, uint32(len(p.sites)))
	dst, at := masks(dst, 2)
	p.column = resized(p.column, len(p.sites))
	before := ^uint32(0)
	for i, s := range p.sites {
		p.column[i] = uint64(s - before - 1)
		before = s
	}
	dst = appendPlanes(dst, at, p.column, 4)
	for i := range p.sites {
		p.column[i] = uint64(p.firsts[i+1] - p.firsts[i] - 1)
	}
	dst = appendPlanes(dst, at+1, p.column, 4)
	dst = p.appendSymbols(dst, c.facts, c.taken, c.wave)
	dst = p.appendIDs(dst)
	dst = p.appendValues(dst, len(c.facts.keys))
	dst, at = masks(dst, 1)
	p.column = p.column[:0]
	for i := range entries {
		p.column = append(p.column, uint64(entries[i].section))
	}
	dst = appendPlanes(dst, at, p.column, 4)
	return append(dst, rings...)
}

// sortSymbols sorts the symbols by site; those of one site stay in the order in which they were met.
func (p *pathWriter) sortSymbols(sites int) {
	counts := make([]uint32, sites+1) // by site, of the sites before
	for i := range p.symbols {
		counts[p.symbols[i].Site+1]++
	}
	p.sites, p.firsts = p.sites[:0], append(p.firsts[:0], 0)
	for s := range sites {
		if n := counts[s+1]; n > 0 {
			p.sites, p.firsts = append(p.sites, uint32(s)), append(p.firsts, counts[s]+n)
		}
		counts[s+1] += counts[s]
	}
	sorted, to := make([]Symbol, len(p.symbols)), make([]uint32, len(p.symbols))
	for i := range p.symbols {
		n := &counts[p.symbols[i].Site]
		sorted[*n], to[i] = p.symbols[i], *n
		*n++
	}
	p.symbols = sorted
	for e, id := range p.ids {
		p.ids[e] = to[id]
	}
}

// appendIDs stores the symbols of all events: the site, and which of its symbols.
func (p *pathWriter) appendIDs(dst []byte) []byte {
	dst, at := masks(dst, 2)
	p.column = resized(p.column, len(p.ids))
	numbers := make([]uint32, len(p.symbols)) // of the site of each symbol
	for n := range p.sites {
		for id := p.firsts[n]; id < p.firsts[n+1]; id++ {
			numbers[id] = uint32(n)
		}
	}
	for e, id := range p.ids {
		p.column[e] = uint64(numbers[id])
	}
	dst = appendPlanes(dst, at, p.column, 4)
	met := make([]uint32, len(p.sites))
	for e, id := range p.ids {
		n := numbers[id]
		k := id - p.firsts[n]
		p.column[e] = uint64(k) + 1
		if k == met[n] { // met for the first time
			p.column[e] = 0
			met[n]++
		}
	}
	return appendPlanes(dst, at+1, p.column, 4)
}

func (p *pathWriter) appendSymbols(dst []byte, facts *v2SiteFacts, taken bool, wave int) []byte {
	dst, at := masks(dst, 6)
	p.column = resized(p.column, len(p.symbols))
	put := func(width int, of func(s, before *Symbol) uint64) {
		before := Symbol{Active: fullWave(wave)}
		for i := range p.symbols {
			p.column[i] = of(&p.symbols[i], &before)
			before = p.symbols[i]
		}
		dst = appendPlanes(dst, at, p.column, width)
		at++
	}
	put(1, func(s, _ *Symbol) uint64 { return uint64(s.Kind ^ facts.kinds[s.Site]) })
	put(1, func(s, _ *Symbol) uint64 {
		if taken {
			return uint64(s.Dir ^ predict(s.Active, s.Taken))
		}
		return uint64(s.Dir)
	})
	put(2, func(s, _ *Symbol) uint64 { return uint64(s.Aux) })
	put(8, func(s, b *Symbol) uint64 { return s.Active ^ b.Active })
	put(8, func(s, _ *Symbol) uint64 { return s.Taken ^ s.Active })
	put(1, func(s, b *Symbol) uint64 { return uint64(s.Type ^ b.Type) })
	return dst
}

// appendValues stores the values, path by path, site by site in the order in which the path meets them.
func (p *pathWriter) appendValues(dst []byte, sites int) []byte {
	for i := range p.masks {
		p.masks[i] = p.masks[i][:0]
	}
	var planes []byte
	l := pathLayout{columnOf: make([]int32, sites)}
	for i := range p.paths {
		path := &p.paths[i]
		ids := p.ids[path.from : path.from+path.n]
		l.read(ids, p.symbols)
		p.at = resized(p.at, path.n)
		// Events by site: where each column begins, then each event in its place.
		p.counts = resized(p.counts, len(l.counts))
		sum := uint32(0)
		for c, n := range l.counts {
			p.counts[c] = sum
			sum += n
		}
		for e := range ids {
			p.at[p.counts[l.column[e]]+l.rank[e]] = uint32(e)
		}
		for c, n := range l.counts {
			events := p.at[p.counts[c]:][:n]
			p.column = p.column[:0]
			for _, w := range path.warps {
				values := p.values[p.starts[w]:][:path.n]
				for _, e := range events {
					p.column = append(p.column, values[e])
				}
			}
			p.spare = resized(p.spare, len(p.column))
			var col v2ValueColumn
			col, planes = encodeValues(planes, p.column, int(n), p.spare)
			p.masks[0], p.masks[1], p.masks[2] = append(p.masks[0], col.form), append(p.masks[1], col.stored), append(p.masks[2], col.constant)
		}
	}
	for _, m := range p.masks {
		dst = append(dst, m...)
	}
	return append(dst, planes...)
}

// pathLayout says which column of values each event of a path belongs to, and which place it has there.
type pathLayout struct {
	columnOf []int32  // by site: its column plus 1, 0: none yet
	sites    []uint32 // of each column
	counts   []uint32 // events of each column
	column   []uint32 // of each event
	rank     []uint32 // of each event
}

func (l *pathLayout) read(ids []uint32, symbols []Symbol) {
	for _, s := range l.sites {
		l.columnOf[s] = 0
	}
	l.sites, l.counts = l.sites[:0], l.counts[:0]
	l.column, l.rank = resized(l.column, len(ids)), resized(l.rank, len(ids))
	for e, id := range ids {
		s := symbols[id].Site
		c := l.columnOf[s]
		if c == 0 {
			l.sites, l.counts = append(l.sites, s), append(l.counts, 0)
			c = int32(len(l.sites))
			l.columnOf[s] = c
		}
		l.column[e] = uint32(c) - 1
		l.rank[e] = l.counts[c-1]
		l.counts[c-1]++
	}
}

// pathDirColumns is how many columns a directory of a paths block has.
const pathDirColumns = 11

// groupEvents is how many events at least the warps of a group have, unless the block ends.
const groupEvents = 4096

// digestGroups sorts the warps of a block into groups that have their digests in common: each begins where the one before has groupEvents
// events. Digests cannot be compressed; so they take next to nothing, and warps of very many events have their own.
type digestGroups struct {
	starts []int // the first warp of each group
	of     []int // group of each warp
	events int   // of the last group
}

// add takes the next warp.
func (g *digestGroups) add(events int) {
	if len(g.of) == 0 || g.events >= groupEvents {
		g.starts, g.events = append(g.starts, len(g.of)), 0
	}
	g.of = append(g.of, len(g.starts)-1)
	g.events += events
}

// members says which warps a group has.
func (g *digestGroups) members(group int) (first, end int) {
	if group+1 < len(g.starts) {
		return g.starts[group], g.starts[group+1]
	}
	return g.starts[group], len(g.of)
}

// digests are those of one warp or of one group.
type digests struct{ all, control uint64 }

// groupDigests makes one pair of digests of those of several warps. That of a single warp is its own.
func groupDigests(infos []WarpInfo, of []digests) digests {
	if len(of) == 1 {
		return of[0]
	}
	h := digests{uint64(len(of)), uint64(len(of))}
	for i := range of {
		h.all = digestJoin(digestJoin(h.all, infos[i].Warp), of[i].all)
		h.control = digestJoin(digestJoin(h.control, infos[i].Warp), of[i].control)
	}
	return digests{digestFinish(h.all), digestFinish(h.control)}
}

// member is the pair of digests that the index has of one of several warps of a group: where two of them are equal, the warps are.
func (d digests) member(place, of int) digests {
	if of == 1 {
		return d
	}
	return digests{digestFinish(digestJoin(d.all, uint64(place))), digestFinish(digestJoin(d.control, uint64(place)))}
}
