package warptrace

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/prlx-go/prlx/core/recording/site"
)

// Snapshots in a block of paths with operands (docs/formats/prlx-v2.md). What a snapshot is beside its lanes is a head; the heads of all
// snapshots of a warp are its track. Warps mostly have one track in common, and what their lanes held then stands together, site by site.

// snapshotHead is a snapshot without what its lanes held.
type snapshotHead struct {
	site, seq uint32
	event     int32
	compare   site.Compare
	role      SnapshotRole
	typ       ValueType
	single    bool // there is no second operand
}

func headOf(s *Snapshot) snapshotHead {
	return snapshotHead{s.Site, s.Seq, s.Event, s.Compare, s.Role, s.Type, s.Rhs == nil}
}

// headBefore is what the first head of a track is a difference from.
func headBefore() snapshotHead { return snapshotHead{seq: ^uint32(0)} }

const headColumns = 7

// encodeHeads stores heads as differences in each track; tracks says where tracks begin. The masks are at maskAt.
func (c *v2Codec) encodeHeads(dst []byte, maskAt int, heads []snapshotHead, tracks []int) []byte {
	c.col = resized(c.col, len(heads))
	put := func(width int, of func(h, before *snapshotHead) uint64) {
		var before snapshotHead
		next := 0
		for i := range heads {
			if next < len(tracks) && tracks[next] == i {
				before = headBefore()
				next++
			}
			c.col[i] = of(&heads[i], &before)
			before = heads[i]
		}
		dst = appendPlanes(dst, maskAt, c.col, width)
		maskAt++
	}
	put(4, func(h, _ *snapshotHead) uint64 { return uint64(h.site) })
	put(4, func(h, b *snapshotHead) uint64 { return uint64(zigzag32(uint32(h.event - b.event))) })
	put(4, func(h, b *snapshotHead) uint64 { return uint64(h.seq - b.seq - 1) })
	put(1, func(h, _ *snapshotHead) uint64 { return uint64(h.compare ^ c.facts.compares[h.site]) })
	put(1, func(h, _ *snapshotHead) uint64 { return uint64(h.role) })
	put(1, func(h, b *snapshotHead) uint64 { return uint64(h.typ ^ b.typ) })
	put(1, func(h, _ *snapshotHead) uint64 {
		if h.single {
			return 1
		}
		return 0
	})
	return dst
}

// decodeHeads reads n heads of tracks that begin at tracks. The masks were taken.
func (c *v2Codec) decodeHeads(r *planes, n int, tracks []int) ([]snapshotHead, error) {
	sites, events, seqs, bytes := make([]uint32, n), make([]uint32, n), make([]uint32, n), make([]uint8, 4*n)
	compares, roles, types, singles := bytes[:n], bytes[n:2*n], bytes[2*n:3*n], bytes[3*n:]
	readColumn(r, sites, 4)
	readColumn(r, events, 4)
	readColumn(r, seqs, 4)
	for _, col := range [][]uint8{compares, roles, types, singles} {
		readColumn(r, col, 1)
	}
	if r.bad {
		return nil, errSection
	}
	if !c.known(sites) {
		return nil, errSite
	}
	heads := make([]snapshotHead, n)
	var before snapshotHead
	next := 0
	for i, s := range sites {
		if next < len(tracks) && tracks[next] == i {
			before = headBefore()
			next++
		}
		heads[i] = snapshotHead{
			site: s, event: before.event + int32(unzigzag32(events[i])), seq: before.seq + seqs[i] + 1, compare: site.Compare(compares[i]) ^ c.facts.compares[s],
			role: SnapshotRole(roles[i]), typ: before.typ ^ ValueType(types[i]), single: singles[i]&1 != 0,
		}
		before = heads[i]
	}
	return heads, nil
}

// trackLayout says where the snapshots of a track stand in the columns of their sites, which come in the order in which the track meets
// them. Each site has three: of active lanes, of first operands and of second ones.
type trackLayout struct {
	counts []int // of each column: how many a warp has in it
	places []snapshotPlace
}

const (
	activeColumn = iota // of a site
	firstColumn
	secondColumn
	siteColumns
)

// snapshotPlace is where a snapshot stands: the first column of its site, and which one it is there, and of the second operands.
type snapshotPlace struct{ columns, at, second int }

func layoutOf(heads []snapshotHead) trackLayout {
	l := trackLayout{places: make([]snapshotPlace, len(heads))}
	columns := map[uint32]int{}
	for i := range heads {
		k, met := columns[heads[i].site]
		if !met {
			k = len(l.counts)
			columns[heads[i].site] = k
			l.counts = append(l.counts, make([]int, siteColumns)...)
		}
		l.places[i] = snapshotPlace{k, l.counts[k], l.counts[k+secondColumn]}
		l.counts[k+activeColumn]++
		l.counts[k+firstColumn]++
		if !heads[i].single {
			l.counts[k+secondColumn]++
		}
	}
	return l
}

// v2Tracks are the snapshots of a block in memory: everything but the columns, which are decoded a track at a time when somebody asks.
type v2Tracks struct {
	wave    int
	heads   []snapshotHead // of all tracks, one after another
	tracks  []v2Track
	of      []int32  // track of each warp, -1: it has no snapshots
	row     []uint32 // of each warp: which one of its track it is
	streams [operandStreams][]byte
	lanes   int // numbers of all columns
}

// v2Track is one sequence of heads, which one warp or several have.
type v2Track struct {
	from, n int
	warps   int
	layout  trackLayout
	columns []v2OperandColumn

	decoded sync.Once
	numbers [][]uint64 // of each column, once they are decoded
	err     error
}

var errTracks = errors.New("its snapshots are not what its warps need")

// readTracks reads what follows the histories of a block of paths with operands.
func (p *v2Paths) readTracks(c *v2Codec, r *planes, entries []v2Entry) error {
	if len(r.body) < 4 {
		return errSection
	}
	t := &v2Tracks{wave: c.wave, of: make([]int32, len(entries)), row: make([]uint32, len(entries))}
	n := int(binary.LittleEndian.Uint32(r.body))
	r.body = r.body[4:]
	if n > len(entries) {
		return errTracks
	}
	t.tracks = make([]v2Track, n)
	if err := t.readWarps(r, entries); err != nil {
		return err
	}
	total := 0
	starts := make([]int, n)
	for i := range t.tracks {
		track := &t.tracks[i]
		track.from, starts[i] = total, total
		total += track.n
		if t.lanes += 2 * c.wave * track.n * track.warps; track.warps == 0 || t.lanes > v2MaxBlockLanes {
			return errTracks
		}
	}
	r.takeMasks(headColumns)
	var err error
	if t.heads, err = c.decodeHeads(r, total, starts); err != nil {
		return err
	}
	for i := range t.of {
		if !t.belongs(i, p) {
			return errEvent
		}
	}
	p.snapshots = t
	return t.readColumns(r)
}

// readWarps reads which warp has which track.
func (t *v2Tracks) readWarps(r *planes, entries []v2Entry) error {
	var with []int
	for i := range entries {
		t.of[i] = -1
		if entries[i].snapshots > 0 {
			with = append(with, i)
		}
	}
	steps := make([]uint32, len(with))
	r.takeMasks(1)
	readColumn(r, steps, 4)
	if r.bad {
		return errSection
	}
	var at uint32
	for k, i := range with {
		at += unzigzag32(steps[k])
		if int64(at) >= int64(len(t.tracks)) {
			return errTracks
		}
		track := &t.tracks[at]
		if track.warps > 0 && track.n != int(entries[i].snapshots) {
			return errTracks
		}
		track.n = int(entries[i].snapshots)
		t.of[i], t.row[i] = int32(at), uint32(track.warps)
		track.warps++
	}
	return nil
}

// belongs reports whether the snapshots of a warp belong to events that it has.
func (t *v2Tracks) belongs(warp int, p *v2Paths) bool {
	if t.of[warp] < 0 {
		return true
	}
	track, events := &t.tracks[t.of[warp]], p.paths[p.of[warp]].n
	for _, h := range t.heads[track.from:][:track.n] {
		if h.event < -1 || int(h.event) >= events {
			return false
		}
	}
	return true
}

// trackOf is the track of a warp that has one, with its columns.
func (t *v2Tracks) trackOf(warp int) (*v2Track, error) {
	track := &t.tracks[t.of[warp]]
	track.decoded.Do(func() { track.err = t.decodeTrack(track) })
	return track, track.err
}

// active are the active lanes of a snapshot of one warp of a track.
func (t *v2Tracks) active(track *v2Track, row, i int) uint64 {
	place := track.layout.places[i]
	column := place.columns + activeColumn
	return track.numbers[column][row*track.layout.counts[column]+place.at] ^ fullWave(t.wave)
}

// addHashes gives the events of a warp the values that can be computed of its operands.
func (t *v2Tracks) addHashes(warp int, w *Warp) error {
	if t.of[warp] < 0 {
		return nil
	}
	if _, err := t.trackOf(warp); err != nil {
		return err
	}
	t.hashed(warp).xor(w.Type, w.Value)
	return nil
}

// decode appends the snapshots of a warp.
func (t *v2Tracks) decode(warp int, into *Warp) error {
	if t.of[warp] < 0 {
		return nil
	}
	track, err := t.trackOf(warp)
	if err != nil {
		return err
	}
	row, total := int(t.row[warp]), 0
	for k, n := range track.layout.counts {
		if k%siteColumns != activeColumn {
			total += n * t.wave
		}
	}
	lanes := make([]uint64, 0, total) // a copy: whoever has a snapshot does not hold what all warps have
	take := func(column, i int) []uint64 {
		at := len(lanes)
		lanes = append(lanes, track.numbers[column][(row*track.layout.counts[column]+i)*t.wave:][:t.wave]...)
		return lanes[at:len(lanes):len(lanes)]
	}
	into.Snapshots = resized(into.Snapshots, track.n)
	for i := range into.Snapshots {
		h, place := &t.heads[track.from+i], track.layout.places[i]
		into.Snapshots[i] = Snapshot{
			Site: h.site, Event: h.event, Seq: h.seq, Compare: h.compare, Role: h.role, Type: h.typ,
			Active: t.active(track, row, i), Lhs: take(place.columns+firstColumn, place.at),
		}
		if !h.single {
			into.Snapshots[i].Rhs = take(place.columns+secondColumn, place.second)
		}
	}
	return nil
}

// bytes is how much memory the snapshots take when every column is decoded.
func (t *v2Tracks) bytes() int {
	n := 8*t.lanes + 128*len(t.heads)
	for _, s := range t.streams {
		n += len(s)
	}
	return n
}
