package warptrace

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/prlx-go/prlx/core/kernel/site"
)

// v2Paths is a paths block in memory: everything but the values, which are decoded column by column when somebody asks for one.
type v2Paths struct {
	symbols   []Symbol
	ids       []uint32 // of the events of all paths, one path after another
	ranks     []uint32 // of each of these events: its place in its column of values
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

// v2PathDirectory is the directory of a paths block.
type v2PathDirectory struct {
	lengths []uint64 // by path
	of      []uint32 // path of each warp
	groups  digestGroups
	digests []digests
}

// readPaths appends the warps of a paths block's directory to infos and entries.
func (d *directoryReader) readPaths(b []byte, count int, infos []WarpInfo, entries []v2Entry) ([]WarpInfo, []v2Entry, *v2PathDirectory, error) {
	cut := errors.New("its directory is cut short")
	b, err := inflatedDirectory(b)
	if err != nil || len(b) < pathDirHead {
		return infos, entries, nil, cut
	}
	paths := int(binary.LittleEndian.Uint32(b))
	if paths > count {
		return infos, entries, nil, errPaths
	}
	first, firstEntry := len(infos), len(entries)
	infos, entries = append(infos, make([]WarpInfo, count)...), append(entries, make([]v2Entry, count)...)
	ws, es := infos[first:], entries[firstEntry:]
	p := &v2PathDirectory{of: make([]uint32, count), lengths: make([]uint64, paths)}
	masks, rest := b[4:pathDirHead], b[pathDirHead:]
	bad := false
	column := func(into []uint64, width int, set func(i int, v uint64)) {
		c := v2ValueColumn{stored: masks[0], constant: masks[1]}
		masks = masks[2:]
		n := c.bytes(len(into))
		if bad = bad || c.stored&c.constant != 0 || int(c.stored|c.constant)>>width != 0 || n > len(rest); bad {
			return
		}
		if c.stored|c.constant == 0 {
			clear(into)
			return
		}
		c.read(rest[:n], into)
		rest = rest[n:]
		for i, v := range into {
			set(i, v)
		}
	}
	d.numbers = resized(d.numbers, count)
	warps := d.numbers
	column(warps, 8, func(i int, v uint64) { ws[i].Warp = v })
	column(warps, 4, func(i int, v uint64) { p.of[i] = unzigzag32(uint32(v)) })
	column(warps, 8, func(i int, v uint64) { ws[i].Dropped = v })
	column(warps, 8, func(i int, v uint64) { ws[i].Total = v })
	column(warps, 8, func(i int, v uint64) { ws[i].Before = v })
	column(warps, 8, func(i int, v uint64) { ws[i].Rolling = v })
	column(warps, 1, func(i int, v uint64) { ws[i].HasRolling = v&1 != 0 })
	column(warps, 4, func(i int, v uint64) { ws[i].Stored = uint32(v) })
	column(warps, 4, func(i int, v uint64) { es[i].history = uint32(v) })
	column(warps, 4, func(i int, v uint64) { es[i].snapshots = uint32(v) })
	column(p.lengths, 4, func(int, uint64) {})
	if bad {
		return infos, entries, nil, cut
	}
	return infos, entries, p, d.finishPaths(p, ws, es, rest)
}

// pathDirSizes is how many bytes at the beginning of a directory of a paths block say how long it is inflated.
const pathDirSizes = 4

// inflatedDirectory inflates the directory of a paths block where it is shorter than it says.
func inflatedDirectory(b []byte) ([]byte, error) {
	if len(b) < pathDirSizes {
		return nil, io.ErrUnexpectedEOF
	}
	size, packed := int(binary.LittleEndian.Uint32(b)), b[pathDirSizes:]
	switch {
	case size == len(packed):
		return packed, nil
	case size > v2MaxBlockWarps*96, size < len(packed):
		return nil, io.ErrUnexpectedEOF
	}
	d, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	inflated, err := d.DecodeAll(packed, make([]byte, 0, size))
	if err != nil || len(inflated) != size {
		return nil, io.ErrUnexpectedEOF
	}
	return inflated, nil
}

// finishPaths undoes the differences, adds the digests and checks what the numbers say.
func (d *directoryReader) finishPaths(p *v2PathDirectory, ws []WarpInfo, es []v2Entry, raw []byte) error {
	before := ^uint64(0)
	var path uint32
	var events uint64
	used := make([]bool, len(p.lengths))
	for i := range ws {
		w, e := &ws[i], &es[i]
		w.Warp += before + 1
		before = w.Warp
		path += p.of[i]
		p.of[i] = path
		if int64(path) >= int64(len(p.lengths)) || p.lengths[path] > v2MaxEvents {
			return errPaths
		}
		used[path] = true
		w.Events = uint32(p.lengths[path])
		w.Total += uint64(w.Events) + w.Dropped
		w.Stored += w.Events
		events += uint64(w.Events)
		p.groups.add(int(w.Events))
		switch {
		case w.Warp >= d.slots:
			return errors.New("it holds a warp that the launch does not have")
		case events > v2MaxEvents || e.history > v2MaxHistory || e.snapshots > v2MaxSnapshots:
			return errors.New("a warp has more events, history or snapshots than are read")
		}
	}
	for _, is := range used {
		if !is {
			return errPaths
		}
	}
	if len(raw) != 16*len(p.groups.starts) {
		return errors.New("its directory does not have the length that its planes need")
	}
	for g := range p.groups.starts {
		d := digests{binary.LittleEndian.Uint64(raw[16*g:]), binary.LittleEndian.Uint64(raw[16*g+8:])}
		p.digests = append(p.digests, d)
		first, end := p.groups.members(g)
		for at := first; at < end; at++ {
			own := d.member(at-first, end-first)
			ws[at].Digest, ws[at].Control, ws[at].HasDigest = own.all, own.control, true
		}
	}
	return nil
}

// pathDirHead is where the columns of the directory of a paths block begin.
const pathDirHead = 4 + 2*pathDirColumns

// newV2Paths reads the body of a paths block.
func newV2Paths(c *v2Codec, d *v2PathDirectory, body []byte, kind uint8, entries []v2Entry) (*v2Paths, error) {
	p := &v2Paths{of: d.of, groups: d.groups, digests: d.digests, checked: make([]bool, len(d.digests))}
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
	p.symbols, p.numbers, p.sites = make([]Symbol, total), make([]uint32, total), n
	for i, s := range sites {
		for id := firsts[i]; id < firsts[i+1]; id++ {
			p.symbols[id].Site, p.numbers[id] = s, uint32(i)
		}
	}
	return firsts, nil
}

// readSymbols reads the table of symbols, whose sites are known.
func (p *v2Paths) readSymbols(c *v2Codec, r *planes) error {
	numbers := make([]uint64, len(p.symbols))
	r.takeMasks(6)
	column := func(width int, set func(s, before *Symbol, v uint64)) {
		readColumn(r, numbers, width)
		before := Symbol{Active: fullWave(c.wave)}
		for i := range p.symbols {
			set(&p.symbols[i], &before, numbers[i])
			before = p.symbols[i]
		}
	}
	column(1, func(s, _ *Symbol, v uint64) { s.Kind = c.facts.kinds[s.Site] ^ site.Kind(v) })
	column(1, func(s, _ *Symbol, v uint64) { s.Dir = uint8(v) })
	column(2, func(s, _ *Symbol, v uint64) { s.Aux = uint16(v) })
	column(8, func(s, b *Symbol, v uint64) { s.Active = b.Active ^ v })
	column(8, func(s, _ *Symbol, v uint64) { s.Taken = s.Active ^ v })
	column(1, func(s, b *Symbol, v uint64) { s.Type = b.Type ^ ValueType(v) })
	if c.taken {
		for i := range p.symbols {
			s := &p.symbols[i]
			s.Dir ^= predict(s.Active, s.Taken)
		}
	}
	if r.bad {
		return errSection
	}
	return nil
}

// readIDs reads the symbols of all events: the site, and which of its symbols. 0 is the next one that was not met before, others are
// numbers plus 1. It also finds the columns of values that the events of each path make, and the place of each event in its own.
func (p *v2Paths) readIDs(r *planes, firsts []uint32, n int) error {
	p.ids, p.ranks = make([]uint32, n), make([]uint32, n)
	r.takeMasks(2)
	sites, wideSites := r.narrow(p.ranks)
	codes, wideCodes := r.narrow(p.ids)
	if r.bad {
		return errSection
	}
	w := idReader{sites: make([]idSite, len(firsts)-1)}
	for i := range w.sites {
		w.sites[i] = idSite{first: firsts[i], next: firsts[i], end: firsts[i+1]}
	}
	for i := range p.paths {
		path := &p.paths[i]
		from, to := path.from, path.from+path.n
		path.columns, w.values = len(p.values), p.values
		var ok bool
		switch {
		case wideSites == nil && wideCodes == nil:
			ok = readPathIDs(&w, sites[from:to], codes[from:to], p.ids[from:to], p.ranks[from:to])
		case wideSites == nil:
			ok = readPathIDs(&w, sites[from:to], wideCodes[from:to], p.ids[from:to], p.ranks[from:to])
		case wideCodes == nil:
			ok = readPathIDs(&w, wideSites[from:to], codes[from:to], p.ids[from:to], p.ranks[from:to])
		default:
			ok = readPathIDs(&w, wideSites[from:to], wideCodes[from:to], p.ids[from:to], p.ranks[from:to])
		}
		if !ok {
			return errSymbols
		}
		w.finish()
		p.values = w.values
		path.width = len(p.values) - path.columns
	}
	for i := range w.sites {
		if w.sites[i].next != w.sites[i].end {
			return errSymbols
		}
	}
	return nil
}

// narrow takes the next column of as many numbers as there is room for: as bytes, or in the room where they do not fit.
func (r *planes) narrow(room []uint32) (bytes []uint8, wide []uint32) {
	if !r.bad && r.masks[0]&^1 != 0 {
		readColumn(r, room, 4)
		return nil, room
	}
	mask, stored := r.take(len(room), 4)
	if mask == 0 {
		return make([]uint8, len(room)), nil
	}
	return stored, nil
}

// idReader is what reading symbols remembers.
type idReader struct {
	sites  []idSite
	met    []uint32 // sites of the path, in the order in which it meets them
	values []v2Column
}

// idSite is one site of a block.
type idSite struct {
	first, next, end uint32 // of its symbols: the one that was not met yet
	count            uint32 // events of the path that were read
}

// readPathIDs reads the events of one path; false where one has a symbol that the block does not have. Numbers may lie where ranks will,
// and codes where ids will.
func readPathIDs[S, C uint8 | uint32](w *idReader, numbers []S, codes []C, ids, ranks []uint32) bool {
	sites := w.sites
	codes, ids, ranks = codes[:len(numbers)], ids[:len(numbers)], ranks[:len(numbers)]
	for e, number := range numbers {
		if int64(number) >= int64(len(sites)) {
			return false
		}
		s := &sites[number]
		if s.count == 0 {
			w.met = append(w.met, uint32(number))
		}
		ranks[e] = s.count
		s.count++
		id := s.first + uint32(codes[e]) - 1
		if codes[e] == 0 {
			id = s.next
			s.next++
			if id >= s.end {
				return false
			}
		} else if id >= s.next || id < s.first {
			return false
		}
		ids[e] = id
	}
	return true
}

// finish makes the columns of the path that was read, and forgets it.
func (w *idReader) finish() {
	for _, number := range w.met {
		s := &w.sites[number]
		w.values = append(w.values, v2Column{site: number, n: int(s.count)})
		s.count = 0
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
	ids, ranks := p.ids[path.from:][:path.n], p.ranks[path.from:][:path.n]
	for e := range into.Value {
		into.Value[e] = rows[p.numbers[ids[e]]][ranks[e]]
	}
	if p.snapshots != nil {
		return p.snapshots.addHashes(at, into)
	}
	return nil
}

// bytes is how much memory the block takes when every value is decoded.
func (p *v2Paths) bytes(events int) int {
	n := len(p.planes) + len(p.rings) + 48*len(p.symbols) + 8*len(p.ids) + 8*events + 64*len(p.values)
	if p.snapshots != nil {
		n += p.snapshots.bytes()
	}
	return n
}

// Coded is a warp as a paths block holds it: symbols in place of columns. Whoever compares two of them need not decode what they share.
type Coded struct {
	WarpInfo
	IDs     []uint32 // symbol of each event
	Ranks   []uint32 // how many events before each have its site
	Symbols []Symbol // of the block

	block *v2Paths
	path  *v2Path
	row   int
	near  [8]siteValues // that were asked for last
}

// Find returns the number of a symbol in the block.
func (c *Coded) Find(s *Symbol) (id uint32, ok bool) {
	p := c.block
	p.hashed.Do(p.hash)
	mask := uint64(len(p.slots) - 1)
	for at := s.hash() & mask; p.slots[at] != 0; at = (at + 1) & mask {
		if id = p.slots[at] - 1; p.symbols[id] == *s {
			return id, true
		}
	}
	return 0, false
}

// hash makes the table of Find. A file can have one symbol twice, and then either is as good.
func (p *v2Paths) hash() {
	size := 4
	for size < 2*len(p.symbols) {
		size *= 2
	}
	p.slots = make([]uint32, size)
	for i := range p.symbols {
		at := p.symbols[i].hash() & uint64(size-1)
		for p.slots[at] != 0 {
			at = (at + 1) & uint64(size-1)
		}
		p.slots[at] = uint32(i) + 1
	}
}

// SameSymbols reports whether the numbers of both warps stand for the same symbols, because they are of one block.
func (c *Coded) SameSymbols(o *Coded) bool { return c.block == o.block }
