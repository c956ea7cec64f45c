package warptrace

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/prlx-go/prlx/core/recording/site"
)

// v2Paths is a paths block in memory: everything but the values, which are decoded column by column when somebody asks for one.
type v2Paths struct {
	symbols   []Symbol
	ids       []uint32 // of the events of all paths, one path after another
	places    []byte   // of each of these events: the number of its site; nil: they do not fit into bytes
	numbers   []uint32 // of each symbol: the number of its site in the block
	sites     int      // of the block
	paths     []v2Path
	of        []uint32 // path of each warp
	row       []uint32 // of each warp: its row in the columns of its path
	groups    digestGroups
	digests   []digests // of groups
	checked   []bool    // groups whose digest was computed, under mu
	rings     []byte    // histories, and snapshots where those are not in columns
	starts    []int     // of each warp's rings
	snapshots *v2Tracks // nil: they are rings
	number    uint64    // of all blocks that were read
	mem       *v2Memory

	hashed sync.Once
	slots  []uint32 // numbers of symbols plus 1, by hash

	mu     sync.Mutex
	planes []byte
	values []v2Column
}

// v2Path is one sequence of symbols, which one warp or several passed.
type v2Path struct {
	from, n int
	rows    int
	columns int // the first one of its own
	width   int // how many it has
}

// v2Column holds the values of one site of a path, a row of n for each of its warps.
type v2Column struct {
	site uint32 // its number in the block
	v2ValueColumn
	at, n  int
	values atomic.Pointer[[]uint64] // nil: not decoded yet
}

var (
	errPaths   = errors.New("its paths are not what its warps need")
	errSymbols = errors.New("an event has a symbol that its block does not have")
)

// blocksRead numbers the blocks that were read.
var blocksRead atomic.Uint64

// newV2Paths reads the body of a paths block, into memory that nobody else uses.
func newV2Paths(c *v2Codec, d *v2PathDirectory, body []byte, kind uint8, entries []v2Entry, mem *v2Memory) (*v2Paths, error) {
	p := &v2Paths{of: d.of, groups: d.groups, digests: d.digests, checked: make([]bool, len(d.digests)), number: blocksRead.Add(1), mem: mem}
	total := 0
	p.paths = make([]v2Path, len(d.lengths))
	for i, n := range d.lengths {
		p.paths[i] = v2Path{from: total, n: int(n)}
		if total += int(n); total > v2MaxEvents {
			return nil, errPaths
		}
	}
	p.row = make([]uint32, len(p.of))
	for i, path := range p.of {
		p.row[i] = uint32(p.paths[path].rows)
		p.paths[path].rows++
	}
	if len(body) < 4 {
		return nil, errSection
	}
	r := &planes{body: body[4:]}
	firsts, err := p.readSites(c, r, int(binary.LittleEndian.Uint32(body)), total)
	if err != nil {
		return nil, err
	}
	if err := p.readSymbols(c, r); err != nil {
		return nil, err
	}
	if err := p.readIDs(r, firsts, total); err != nil {
		return nil, err
	}
	if err := p.readColumns(r); err != nil {
		return nil, err
	}
	if err := p.readRings(r); err != nil {
		return nil, err
	}
	if kind == v2OperandsKind {
		return p, p.readTracks(c, r, entries)
	}
	if len(r.body) > 0 {
		return nil, errSection
	}
	return p, nil
}

// readSites reads which sites the block has, and makes room for their symbols. It returns where those of each site begin.
func (p *v2Paths) readSites(c *v2Codec, r *planes, n, events int) (firsts []uint32, err error) {
	if n > events || n > len(c.facts.keys) {
		return nil, errSite
	}
	sites, counts := make([]uint32, n), make([]uint32, n)
	r.takeMasks(2)
	readColumn(r, sites, 4)
	readColumn(r, counts, 4)
	if r.bad {
		return nil, errSection
	}
	site, total := ^uint32(0), 0
	firsts = make([]uint32, n+1)
	for i := range sites {
		if uint64(site)+1+uint64(sites[i]) >= uint64(len(c.facts.keys)) && i > 0 || int64(sites[i]) >= int64(len(c.facts.keys)) {
			return nil, errSite
		}
		site += sites[i] + 1
		sites[i] = site
		if total += int(counts[i]) + 1; total > events {
			return nil, errSymbols
		}
		firsts[i+1] = uint32(total)
	}
	p.mem.symbols, p.mem.numbers = resized(p.mem.symbols, total), resized(p.mem.numbers, total)
	p.symbols, p.numbers, p.sites = p.mem.symbols, p.mem.numbers, n
	for i, s := range sites {
		for id := firsts[i]; id < firsts[i+1]; id++ {
			p.symbols[id].Site, p.numbers[id] = s, uint32(i)
		}
	}
	return firsts, nil
}

// readSymbols reads the table of symbols, whose sites are known.
func (p *v2Paths) readSymbols(c *v2Codec, r *planes) error {
	symbols := p.symbols
	p.mem.wide = resized(p.mem.wide, len(symbols))
	numbers := p.mem.wide
	r.takeMasks(6)
	readColumn(r, numbers, 1)
	for i, v := range numbers {
		symbols[i].Kind = c.facts.kinds[symbols[i].Site] ^ site.Kind(v)
	}
	readColumn(r, numbers, 1)
	for i, v := range numbers {
		symbols[i].Dir = uint8(v)
	}
	readColumn(r, numbers, 2)
	for i, v := range numbers {
		symbols[i].Aux = uint16(v)
	}
	readColumn(r, numbers, 8)
	active := fullWave(c.wave)
	for i, v := range numbers {
		active ^= v
		symbols[i].Active = active
	}
	readColumn(r, numbers, 8)
	for i, v := range numbers {
		symbols[i].Taken = symbols[i].Active ^ v
	}
	readColumn(r, numbers, 1)
	var typ ValueType
	for i, v := range numbers {
		typ ^= ValueType(v)
		symbols[i].Type = typ
	}
	if c.taken {
		for i := range symbols {
			s := &symbols[i]
			s.Dir ^= predict(s.Active, s.Taken)
		}
	}
	if r.bad {
		return errSection
	}
	return nil
}

// readIDs reads the symbols of all events: the site, and which of its symbols. 0 is the next one that was not met before, others are
// numbers plus 1. It also finds the columns of values that the events of each path make.
func (p *v2Paths) readIDs(r *planes, firsts []uint32, n int) error {
	p.mem.ids = resized(p.mem.ids, n)
	p.ids = p.mem.ids
	r.takeMasks(2)
	sites := p.mem.halves(r, &p.mem.sites, n)
	codes := p.mem.halves(r, &p.mem.codes, n)
	if r.bad {
		return errSection
	}
	if sites.wide == nil && sites.high == nil {
		p.places = sites.low
	}
	w := idReader{sites: make([]idSite, len(firsts)-1), events: make([]uint32, len(firsts)-1), values: p.mem.columns[:0]}
	for i := range w.sites {
		w.sites[i] = idSite{first: firsts[i], all: firsts[i+1] - firsts[i]}
	}
	for i := range p.paths {
		path := &p.paths[i]
		path.columns = len(w.values)
		if !w.read(sites, codes, p.ids, path.from, path.from+path.n) {
			return errSymbols
		}
		w.finish()
		path.width = len(w.values) - path.columns
	}
	p.values, p.mem.columns = w.values, w.values
	for i := range w.sites {
		if w.sites[i].known != w.sites[i].all {
			return errSymbols
		}
	}
	return nil
}

// halves is a column of numbers as it is stored, where they fit into two bytes.
type halves struct {
	low, high []byte   // nil: all are 0
	wide      []uint32 // in place of both
}

// halves takes the next column of n numbers; room is for those that need it.
func (m *v2Memory) halves(r *planes, room *[]uint32, n int) (h halves) {
	if !r.bad && r.masks[0]>>2 != 0 {
		*room = resized(*room, n)
		readColumn(r, *room, 4)
		return halves{wide: *room}
	}
	mask, stored := r.take(n, 4)
	if mask&1 != 0 {
		h.low, stored = stored[:n:n], stored[n:]
	} else { // whoever counts sites needs them
		m.zeros = resized(m.zeros, n)
		clear(m.zeros)
		h.low = m.zeros
	}
	if mask&2 != 0 {
		h.high = stored[:n:n]
	}
	return h
}

// at is one of the numbers.
func (h *halves) at(i int) uint32 {
	switch {
	case h.wide != nil:
		return h.wide[i]
	case h.high != nil:
		return uint32(h.low[i]) | uint32(h.high[i])<<8
	}
	return uint32(h.low[i])
}

// idReader is what reading symbols remembers.
type idReader struct {
	sites  []idSite
	events []uint32 // of the path, by site
	met    []uint32 // sites of the path, in the order in which it meets them
	path   uint32   // its number plus 1
	counts [4][256]uint32
	values []v2Column
}

// idSite is one site of a block.
type idSite struct {
	first      uint32 // of its symbols
	known, all uint32 // how many of them were met, and how many there are
	met        uint32 // the last path that met the site
}

// read reads the events of one path, from <= i < to; false where one has a symbol that the block does not have.
func (w *idReader) read(sites, codes halves, ids []uint32, from, to int) bool {
	w.path++
	if sites.wide == nil && sites.high == nil && codes.wide == nil {
		if codes.high == nil {
			return w.readBytes(sites.low[from:to], codes.low[from:to], nil, ids[from:to])
		}
		return w.readBytes(sites.low[from:to], codes.low[from:to], codes.high[from:to], ids[from:to])
	}
	for e := from; e < to; e++ {
		id, ok := w.next(sites.at(e), codes.at(e))
		if !ok {
			return false
		}
		w.events[sites.at(e)]++
		ids[e] = id
	}
	return true
}

// readBytes is read of sites that are bytes, and of codes of a byte or two. Events are counted apart from the loop over them, which waits for
// no number that it has just written.
func (w *idReader) readBytes(sites, codes, high []byte, ids []uint32) bool {
	all := w.sites
	codes, ids = codes[:len(sites)], ids[:len(sites)]
	if high != nil {
		high = high[:len(sites)]
	}
	for e, number := range sites {
		code := uint32(codes[e])
		if high != nil {
			code |= uint32(high[e]) << 8
		}
		if int(number) >= len(all) {
			return false
		}
		s := &all[number]
		if s.met != w.path || code-1 >= s.known { // code 0, too
			id, ok := w.next(uint32(number), code)
			if !ok {
				return false
			}
			ids[e] = id
			continue
		}
		ids[e] = s.first + code - 1
	}
	w.count(sites)
	return true
}

// count counts the events of a path by site.
func (w *idReader) count(sites []byte) {
	for k := range w.counts {
		clear(w.counts[k][:min(len(w.sites), 256)])
	}
	for ; len(sites) >= 4; sites = sites[4:] {
		w.counts[0][sites[0]]++
		w.counts[1][sites[1]]++
		w.counts[2][sites[2]]++
		w.counts[3][sites[3]]++
	}
	for _, number := range sites {
		w.counts[0][number]++
	}
	for _, number := range w.met {
		w.events[number] = w.counts[0][number] + w.counts[1][number] + w.counts[2][number] + w.counts[3][number]
	}
}

// next is the symbol of the next event.
func (w *idReader) next(number, code uint32) (id uint32, ok bool) {
	if int64(number) >= int64(len(w.sites)) {
		return 0, false
	}
	s := &w.sites[number]
	if s.met != w.path {
		s.met, w.events[number] = w.path, 0
		w.met = append(w.met, number)
	}
	if code == 0 {
		s.known++
		return s.first + s.known - 1, s.known <= s.all
	}
	return s.first + code - 1, code <= s.known
}

// finish makes the columns of the path that was read, and forgets it.
func (w *idReader) finish() {
	for _, number := range w.met {
		w.values = append(w.values, v2Column{site: number, n: int(w.events[number])})
	}
	w.met = w.met[:0]
}

// readColumns finds the planes of each column of values.
func (p *v2Paths) readColumns(r *planes) error {
	n := len(p.values)
	if len(r.body) < 3*n {
		return errSection
	}
	forms, stored, constant := r.body[:n], r.body[n:2*n], r.body[2*n:3*n]
	p.planes = r.body[3*n:]
	at := 0
	for i := range p.paths {
		path := &p.paths[i]
		for k := path.columns; k < path.columns+path.width; k++ {
			c := &p.values[k]
			c.v2ValueColumn, c.at = v2ValueColumn{forms[k], stored[k], constant[k]}, at
			if err := c.check(); err != nil {
				return err
			}
			if at += c.bytes(path.rows * c.n); at > len(p.planes) {
				return errSection
			}
		}
	}
	r.body = p.planes[at:]
	return nil
}

// readRings finds the histories and snapshots of each warp.
func (p *v2Paths) readRings(r *planes) error {
	lengths := make([]uint32, len(p.of))
	r.takeMasks(1)
	readColumn(r, lengths, 4)
	p.starts = make([]int, len(lengths)+1)
	for i, n := range lengths {
		p.starts[i+1] = p.starts[i] + int(n)
	}
	end := p.starts[len(lengths)]
	if r.bad || end > len(r.body) {
		return errSection
	}
	p.rings, r.body = r.body[:end], r.body[end:]
	return nil
}

// column returns one column of values, decoded.
func (p *v2Paths) column(path *v2Path, at int) (c *v2Column, values []uint64) {
	c = &p.values[at]
	if known := c.values.Load(); known != nil {
		return c, *known
	}
	values = make([]uint64, path.rows*c.n)
	c.read(p.planes[c.at:], values)
	restore(values, c.n, c.mode(), c.width())
	c.values.Store(&values) // whoever does the same at the same time finds the same
	return c, values
}

// decode fills a warp that was reset to its number of events with the events at a position in the block.
func (p *v2Paths) decode(at int, into *Warp) error {
	path := &p.paths[p.of[at]]
	for e, id := range p.ids[path.from:][:path.n] {
		s := &p.symbols[id]
		into.Site[e], into.Kind[e], into.Dir[e], into.Aux[e] = s.Site, s.Kind, s.Dir, s.Aux
		into.Active[e], into.Taken[e], into.Type[e] = s.Active, s.Taken, s.Type
	}
	rows := make([][]uint64, p.sites)
	for i := path.columns; i < path.columns+path.width; i++ {
		c, values := p.column(path, i)
		rows[c.site] = values[int(p.row[at])*c.n:][:c.n]
	}
	for e, id := range p.ids[path.from:][:path.n] {
		of := &rows[p.numbers[id]]
		into.Value[e], *of = (*of)[0], (*of)[1:]
	}
	if p.snapshots != nil {
		return p.snapshots.addHashes(at, into)
	}
	return nil
}

// bytes is how much memory the block takes when every value is decoded.
func (p *v2Paths) bytes(events int) int {
	n := len(p.planes) + len(p.rings) + 56*len(p.symbols) + 4*len(p.ids) + 8*events + 64*len(p.values)
	if p.snapshots != nil {
		n += p.snapshots.bytes()
	}
	return n
}
