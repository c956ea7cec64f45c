package warptrace

import (
	"errors"
	"math/bits"

	"github.com/prlx-go/prlx/core/recording/site"
)

// v2SiteFacts is what events are predicted from, by local site number.
type v2SiteFacts struct {
	keys     []uint64
	kinds    []site.Kind
	compares []site.Compare
}

func (f *v2SiteFacts) add(s *site.Site) {
	f.keys = append(f.keys, uint64(s.Key))
	f.kinds = append(f.kinds, s.Kind)
	f.compares = append(f.compares, s.Compare)
}

// v2Codec encodes and decodes the sections of warps. What it remembers of sites is 0 between columns.
type v2Codec struct {
	facts *v2SiteFacts
	wave  int
	taken bool     // the file has taken masks
	last  []uint64 // by site: the number before
	col   []uint64
}

// predict returns the direction that the masks of an event say.
func predict(active, taken uint64) uint8 {
	if active == 0 {
		return 0
	}
	return uint8(taken >> bits.TrailingZeros64(active) & 1)
}

// encode appends the section of a warp, whose sites exist.
func (c *v2Codec) encode(dst []byte, w *Warp) []byte {
	c.last = resizedZero(c.last, len(c.facts.keys))
	if n := w.Len(); n > 0 {
		dst = c.encodeEvents(dst, w, n)
	}
	return c.encodeRings(dst, w.History, w.Snapshots)
}

// encodeRings appends what belongs to the events of a warp.
func (c *v2Codec) encodeRings(dst []byte, history []HistoryEntry, snapshots []Snapshot) []byte {
	c.last = resizedZero(c.last, len(c.facts.keys))
	if len(history) > 0 {
		dst = c.encodeHistory(dst, history)
	}
	if len(snapshots) > 0 {
		dst = c.encodeSnapshots(dst, snapshots)
	}
	return dst
}

// resizedZero is resized whose new elements are 0; those that were there are 0 already.
func resizedZero(s []uint64, n int) []uint64 {
	if len(s) < n {
		return make([]uint64, n)
	}
	return s
}

// masks makes room for n masks.
func masks(dst []byte, n int) ([]byte, int) { return append(dst, make([]byte, n)...), len(dst) }

func (c *v2Codec) encodeEvents(dst []byte, w *Warp, n int) []byte {
	c.col = resized(c.col, n)
	dst, at := masks(dst, 8)
	put := func(width int, of func(i int, s uint32) uint64) {
		for i, s := range w.Site {
			c.col[i] = of(i, s)
		}
		dst = appendPlanes(dst, at, c.col, width)
		at++
	}
	same := func(width int, of func(i int) uint64) { // xor with the one before at the same site
		put(width, func(i int, s uint32) uint64 {
			v := of(i)
			d := v ^ c.last[s]
			c.last[s] = v
			return d
		})
		c.forget(w.Site)
	}
	full := fullWave(c.wave)
	put(4, func(_ int, s uint32) uint64 { return uint64(s) })
	put(1, func(i int, s uint32) uint64 { return uint64(w.Kind[i] ^ c.facts.kinds[s]) })
	if c.taken {
		put(1, func(i int, _ uint32) uint64 { return uint64(w.Dir[i] ^ predict(w.Active[i], w.Taken[i])) })
	} else {
		same(1, func(i int) uint64 { return uint64(w.Dir[i]) })
	}
	same(2, func(i int) uint64 { return uint64(w.Aux[i]) })
	same(8, func(i int) uint64 { return w.Active[i] ^ full })
	same(8, func(i int) uint64 { return w.Taken[i] })
	put(8, func(i int, s uint32) uint64 {
		d := zigzag(w.Value[i] - c.last[s])
		c.last[s] = w.Value[i]
		return d
	})
	c.forget(w.Site)
	same(1, func(i int) uint64 { return uint64(w.Type[i]) })
	return dst
}

// forget clears what is remembered of the sites of a column.
func (c *v2Codec) forget(sites []uint32) {
	if len(c.last) <= len(sites) {
		clear(c.last)
		return
	}
	for _, s := range sites {
		c.last[s] = 0
	}
}

func (c *v2Codec) encodeHistory(dst []byte, h []HistoryEntry) []byte {
	c.col = resized(c.col, len(h))
	dst, at := masks(dst, 4)
	put := func(width int, of func(i int, e *HistoryEntry) uint64) {
		for i := range h {
			c.col[i] = of(i, &h[i])
		}
		dst = appendPlanes(dst, at, c.col, width)
		at++
	}
	put(4, func(_ int, e *HistoryEntry) uint64 { return uint64(e.Site) })
	put(8, func(_ int, e *HistoryEntry) uint64 {
		d := zigzag(e.Value - c.last[e.Site])
		c.last[e.Site] = e.Value
		return d
	})
	for i := range h {
		c.last[h[i].Site] = 0
	}
	seq := ^uint32(0)
	put(4, func(_ int, e *HistoryEntry) uint64 {
		d := e.Seq - seq - 1
		seq = e.Seq
		return uint64(d)
	})
	var event int32
	put(4, func(_ int, e *HistoryEntry) uint64 {
		d := zigzag32(uint32(e.Event - event))
		event = e.Event
		return uint64(d)
	})
	return dst
}

func (c *v2Codec) encodeSnapshots(dst []byte, all []Snapshot) []byte {
	c.col = resized(c.col, len(all))
	dst, at := masks(dst, 10)
	put := func(width int, of func(s *Snapshot) uint64) {
		for i := range all {
			c.col[i] = of(&all[i])
		}
		dst = appendPlanes(dst, at, c.col, width)
		at++
	}
	put(4, func(s *Snapshot) uint64 { return uint64(s.Site) })
	var event int32
	put(4, func(s *Snapshot) uint64 {
		d := zigzag32(uint32(s.Event - event))
		event = s.Event
		return uint64(d)
	})
	seq := ^uint32(0)
	put(4, func(s *Snapshot) uint64 {
		d := s.Seq - seq - 1
		seq = s.Seq
		return uint64(d)
	})
	active := fullWave(c.wave)
	put(8, func(s *Snapshot) uint64 {
		d := s.Active ^ active
		active = s.Active
		return d
	})
	put(1, func(s *Snapshot) uint64 { return uint64(s.Compare ^ c.facts.compares[s.Site]) })
	put(1, func(s *Snapshot) uint64 { return uint64(s.Role) })
	typ := TypeNone
	put(1, func(s *Snapshot) uint64 {
		d := s.Type ^ typ
		typ = s.Type
		return uint64(d)
	})
	put(1, func(s *Snapshot) uint64 {
		if s.Rhs == nil {
			return 1
		}
		return 0
	})
	lhs, rhs := make([][]uint64, 0, len(all)), make([][]uint64, 0, len(all))
	for i := range all {
		lhs = append(lhs, all[i].Lhs)
		if all[i].Rhs != nil {
			rhs = append(rhs, all[i].Rhs)
		}
	}
	dst = c.encodeLanes(dst, at, lhs)
	return c.encodeLanes(dst, at+1, rhs)
}

// encodeLanes stores one operand of every lane. Lanes beyond those that a snapshot has are 0.
func (c *v2Codec) encodeLanes(dst []byte, at int, operands [][]uint64) []byte {
	c.col = c.col[:0]
	var first uint64
	for _, lanes := range operands {
		before := first
		for lane := range c.wave {
			var v uint64
			if lane < len(lanes) {
				v = lanes[lane]
			}
			c.col = append(c.col, zigzag(v-before))
			before = v
			if lane == 0 {
				first = v
			}
		}
	}
	return appendPlanes(dst, at, c.col, 8)
}

var (
	errSection = errors.New("a section does not have the length that its planes need")
	errSite    = errors.New("an event has a site that the file does not have")
	errEvent   = errors.New("an entry belongs to an event that does not exist")
)

// decode reads a section into a warp that was reset to its number of events.
func (c *v2Codec) decode(b []byte, w *Warp, history, snapshots int) error {
	c.last = resizedZero(c.last, len(c.facts.keys))
	r := planes{body: b}
	if w.Len() > 0 {
		if err := c.decodeEvents(&r, w); err != nil {
			return err
		}
	}
	return c.restOf(&r, w, history, snapshots)
}

// decodeRings reads what belongs to the events of a warp that are there already.
func (c *v2Codec) decodeRings(b []byte, w *Warp, history, snapshots int) error {
	c.last = resizedZero(c.last, len(c.facts.keys))
	return c.restOf(&planes{body: b}, w, history, snapshots)
}

func (c *v2Codec) restOf(r *planes, w *Warp, history, snapshots int) error {
	if history > 0 {
		if err := c.decodeHistory(r, w, history); err != nil {
			return err
		}
	}
	if snapshots > 0 {
		if err := c.decodeSnapshots(r, w, snapshots); err != nil {
			return err
		}
	}
	if r.bad || len(r.body) > 0 {
		return errSection
	}
	return nil
}

func (c *v2Codec) decodeEvents(r *planes, w *Warp) error {
	r.takeMasks(8)
	readColumn(r, w.Site, 4)
	if !c.known(w.Site) {
		return errSite
	}
	sameKind := readColumn(r, w.Kind, 1)
	sameDir := readColumn(r, w.Dir, 1)
	if !readColumn(r, w.Aux, 2) {
		undoXor(c, w.Site, w.Aux)
	}
	full := fullWave(c.wave)
	if readColumn(r, w.Active, 8) {
		for i := range w.Active {
			w.Active[i] = full
		}
	} else {
		undoXor(c, w.Site, w.Active)
		for i := range w.Active {
			w.Active[i] ^= full
		}
	}
	if !readColumn(r, w.Taken, 8) {
		undoXor(c, w.Site, w.Taken)
	}
	if !readColumn(r, w.Value, 8) {
		value := w.Value[:len(w.Site)]
		for i, s := range w.Site {
			c.last[s] += unzigzag(value[i])
			value[i] = c.last[s]
		}
		c.forget(w.Site)
	}
	if !readColumn(r, w.Type, 1) {
		undoXor(c, w.Site, w.Type)
	}
	kinds, kind := c.facts.kinds, w.Kind[:len(w.Site)]
	if sameKind {
		for i, s := range w.Site {
			kind[i] = kinds[s]
		}
	} else {
		for i, s := range w.Site {
			kind[i] ^= kinds[s]
		}
	}
	switch {
	case c.taken:
		for i := range w.Dir {
			w.Dir[i] ^= predict(w.Active[i], w.Taken[i])
		}
	case !sameDir:
		undoXor(c, w.Site, w.Dir)
	}
	return nil
}

// known reports whether all sites exist.
func (c *v2Codec) known(sites []uint32) bool {
	var most uint32
	for _, s := range sites {
		most = max(most, s)
	}
	return len(sites) == 0 || int64(most) < int64(len(c.facts.keys))
}

// undoXor turns differences at each site into what they are differences of.
func undoXor[T column](c *v2Codec, sites []uint32, col []T) {
	col = col[:len(sites)]
	for i, s := range sites {
		c.last[s] ^= uint64(col[i])
		col[i] = T(c.last[s])
	}
	c.forget(sites)
}

func (c *v2Codec) decodeHistory(r *planes, w *Warp, n int) error {
	r.takeMasks(4)
	sites, seqs, events := make([]uint32, n), make([]uint32, n), make([]uint32, n)
	c.col = resized(c.col, n)
	readColumn(r, sites, 4)
	readColumn(r, c.col, 8)
	readColumn(r, seqs, 4)
	readColumn(r, events, 4)
	if !c.known(sites) {
		return errSite
	}
	w.History = resized(w.History, n)
	seq, event := ^uint32(0), uint32(0)
	for i, s := range sites {
		c.last[s] += unzigzag(c.col[i])
		seq += seqs[i] + 1
		event += unzigzag32(events[i])
		w.History[i] = HistoryEntry{Site: s, Value: c.last[s], Seq: seq, Event: int32(event)}
	}
	c.forget(sites)
	for i := range w.History {
		if e := w.History[i].Event; e < -1 || int(e) >= w.Len() {
			return errEvent
		}
	}
	return nil
}

func (c *v2Codec) decodeSnapshots(r *planes, w *Warp, n int) error {
	r.takeMasks(10)
	sites, events, seqs, actives := make([]uint32, n), make([]uint32, n), make([]uint32, n), make([]uint64, n)
	bytes := make([]uint8, 4*n)
	compares, roles, types, singles := bytes[:n], bytes[n:2*n], bytes[2*n:3*n], bytes[3*n:]
	readColumn(r, sites, 4)
	readColumn(r, events, 4)
	readColumn(r, seqs, 4)
	readColumn(r, actives, 8)
	for _, col := range [][]uint8{compares, roles, types, singles} {
		readColumn(r, col, 1)
	}
	if !c.known(sites) {
		return errSite
	}
	pairs := n
	for _, single := range singles {
		pairs -= int(single & 1)
	}
	lanes := make([]uint64, (n+pairs)*c.wave)
	lhs, rhs := lanes[:n*c.wave], lanes[n*c.wave:]
	c.decodeLanes(r, lhs)
	c.decodeLanes(r, rhs)
	if r.bad {
		return errSection
	}
	w.Snapshots = resized(w.Snapshots, n)
	event, seq, active, typ := uint32(0), ^uint32(0), fullWave(c.wave), uint8(0)
	for i, s := range sites {
		event += unzigzag32(events[i])
		seq += seqs[i] + 1
		active ^= actives[i]
		typ ^= types[i]
		if e := int32(event); e < -1 || int(e) >= w.Len() {
			return errEvent
		}
		w.Snapshots[i] = Snapshot{
			Site: s, Event: int32(event), Seq: seq, Active: active, Compare: site.Compare(compares[i]) ^ c.facts.compares[s],
			Role: SnapshotRole(roles[i]), Type: ValueType(typ), Lhs: lhs[:c.wave:c.wave],
		}
		lhs = lhs[c.wave:]
		if singles[i]&1 == 0 {
			w.Snapshots[i].Rhs, rhs = rhs[:c.wave:c.wave], rhs[c.wave:]
		}
	}
	return nil
}

// decodeLanes reads one operand of every lane of every snapshot.
func (c *v2Codec) decodeLanes(r *planes, lanes []uint64) {
	readColumn(r, lanes, 8)
	var first uint64
	for at := 0; at < len(lanes); at += c.wave {
		before := first
		for i := at; i < at+c.wave; i++ {
			before += unzigzag(lanes[i])
			lanes[i] = before
		}
		first = lanes[at]
	}
}
