package warptrace

import (
	"encoding/binary"
	"slices"
)

// trackWriter gathers the snapshots of a block of paths with operands.
type trackWriter struct {
	group  uint64         // warps of a block of the launch, which exchange numbers
	heads  []snapshotHead // of all tracks, one after another
	tracks []writtenTrack
	byHash map[uint64]int // the latest track with a hash
	warps  []writtenWarp  // those that have snapshots
	lanes  []uint64       // of all snapshots, warp after warp: active lanes, the first operand, then the second where there is one

	scratch []snapshotHead
	choice  operandChoice
	to      operandWriter
	numbers []uint64 // of the columns of a track
}

// writtenTrack is one sequence of heads.
type writtenTrack struct {
	from, n int
	before  int   // track with the same hash, -1: none
	warps   []int // places in trackWriter.warps
}

// writtenWarp is a warp that has snapshots.
type writtenWarp struct {
	number uint64
	track  int
	from   int // of its lanes
}

// operandLanes is how many numbers the snapshots of a warp have.
func operandLanes(all []Snapshot, wave int) int {
	n := 0
	for i := range all {
		n += wave
		if all[i].Rhs != nil {
			n += wave
		}
	}
	return n
}

// add takes the snapshots of a warp.
func (t *trackWriter) add(number uint64, all []Snapshot, wave int) {
	if len(all) == 0 {
		return
	}
	from := len(t.lanes)
	t.scratch = t.scratch[:0]
	hash := uint64(len(all))
	for i := range all {
		s := &all[i]
		h := headOf(s)
		t.scratch = append(t.scratch, h)
		hash = digestRound(hash, uint64(h.site)<<32^uint64(uint32(h.event)))
		t.lanes = append(t.lanes, s.Active)
		t.take(s.Lhs, wave)
		if s.Rhs != nil {
			t.take(s.Rhs, wave)
		}
	}
	track := t.track(hash)
	t.tracks[track].warps = append(t.tracks[track].warps, len(t.warps))
	t.warps = append(t.warps, writtenWarp{number, track, from})
}

// take keeps one operand of every lane. Lanes beyond those that a snapshot has are 0.
func (t *trackWriter) take(lanes []uint64, wave int) {
	t.lanes = append(t.lanes, lanes...)
	for range wave - len(lanes) {
		t.lanes = append(t.lanes, 0)
	}
}

// track finds or adds the track of the heads in scratch.
func (t *trackWriter) track(hash uint64) int {
	latest, found := t.byHash[hash]
	if !found {
		latest = -1
	}
	for at := latest; at >= 0; at = t.tracks[at].before {
		if known := &t.tracks[at]; slices.Equal(t.heads[known.from:known.from+known.n], t.scratch) {
			return at
		}
	}
	if t.byHash == nil {
		t.byHash = map[uint64]int{}
	}
	t.byHash[hash] = len(t.tracks)
	t.tracks = append(t.tracks, writtenTrack{from: len(t.heads), n: len(t.scratch), before: latest})
	t.heads = append(t.heads, t.scratch...)
	return len(t.tracks) - 1
}

// reset forgets all warps.
func (t *trackWriter) reset() {
	t.heads, t.tracks, t.warps, t.lanes = t.heads[:0], t.tracks[:0], t.warps[:0], t.lanes[:0]
	clear(t.byHash)
}

// encode appends which warp has which track, the tracks, and their columns.
func (t *trackWriter) encode(dst []byte, c *v2Codec) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(t.tracks)))
	dst, at := masks(dst, 1)
	c.col = resized(c.col, len(t.warps))
	before := 0
	for i, w := range t.warps {
		c.col[i] = uint64(zigzag32(uint32(w.track - before)))
		before = w.track
	}
	dst = appendPlanes(dst, at, c.col, 4)
	starts := make([]int, len(t.tracks))
	for i := range t.tracks {
		starts[i] = t.tracks[i].from
	}
	dst, at = masks(dst, headColumns)
	dst = c.encodeHeads(dst, at, t.heads, starts)
	t.to.reset()
	for i := range t.tracks {
		t.encodeTrack(&t.tracks[i], c.wave, &t.to)
	}
	return t.to.append(dst)
}

// encodeTrack stores the columns of a track.
func (t *trackWriter) encodeTrack(track *writtenTrack, wave int, to *operandWriter) {
	heads, l := t.heads[track.from:][:track.n], layoutOf(t.heads[track.from:][:track.n])
	columns, groups, before := make([][]uint64, len(l.counts)), make([]uint64, 0, len(track.warps)), make([]int, 0, len(track.warps))
	latest := map[uint64]int{} // by place in the block
	sizes, total := make([]int, len(l.counts)), 0
	for k, n := range l.counts {
		sizes[k] = n * len(track.warps)
		if k%siteColumns != activeColumn {
			sizes[k] *= wave
		}
		total += sizes[k]
	}
	t.numbers = resized(t.numbers, total)
	rest := t.numbers
	for k, n := range sizes {
		columns[k], rest = rest[:0:n], rest[n:]
	}
	for at, w := range track.warps {
		lanes, number := t.lanes[t.warps[w].from:], t.warps[w].number
		same, found := latest[number%t.group]
		if !found {
			same = -1
		}
		latest[number%t.group] = at
		groups, before = append(groups, number/t.group), append(before, same)
		for i := range heads {
			at := columns[l.places[i].columns:]
			at[activeColumn], lanes = append(at[activeColumn], lanes[0]^fullWave(wave)), lanes[1:]
			at[firstColumn], lanes = append(at[firstColumn], lanes[:wave]...), lanes[wave:]
			if !heads[i].single {
				at[secondColumn], lanes = append(at[secondColumn], lanes[:wave]...), lanes[wave:]
			}
		}
	}
	t.choice.start(columns, l.counts, groups, before, wave)
	for k := range columns {
		if k%siteColumns == activeColumn {
			t.choice.writeActive(k, to)
		} else {
			t.choice.write(k, to)
		}
	}
}

// operandWriter is what columns are stored as.
type operandWriter struct {
	masks       [5][]byte // forms, planes in full, constant ones; of the parts of operandsFound in full, constant ones
	backs, owns []uint64
	streams     [operandStreams][]byte
}

// reset forgets all columns.
func (w *operandWriter) reset() {
	for i := range w.masks {
		w.masks[i] = w.masks[i][:0]
	}
	for i := range w.streams {
		w.streams[i] = w.streams[i][:0]
	}
	w.backs, w.owns = w.backs[:0], w.owns[:0]
}

// add stores a column: the numbers that stand in planes, and what operandsFound has beside them.
func (w *operandWriter) add(mode uint8, width uint, numbers []uint64, back int, codes *foundCodes) {
	c := v2ValueColumn{form: mode | uint8(log2Bytes(width))<<4}
	all, none := bitsOf(numbers)
	for p := range int(width) {
		w.plane(&c, p, streamOf(width, p), numbers, 8*p, all, none)
	}
	var parts v2ValueColumn
	own := 0
	if codes != nil {
		own = len(numbers)
		for p, part := range [...]struct {
			numbers []uint64
			shift   int
		}{{codes.columns, 0}, {codes.rows, 0}, {codes.rows, 8}, {codes.lanes, 0}} {
			all, none := bitsOf(part.numbers)
			w.plane(&parts, p, streamColumns+p, part.numbers, part.shift, all, none)
		}
	}
	for i, mask := range [...]byte{c.form, c.stored, c.constant, parts.stored, parts.constant} {
		w.masks[i] = append(w.masks[i], mask)
	}
	w.backs, w.owns = append(w.backs, uint64(back)), append(w.owns, uint64(own))
}

// plane stores one byte of each number where they are not all 0. all and none are the bits that any of them has, and that all have.
func (w *operandWriter) plane(masks *v2ValueColumn, plane, stream int, numbers []uint64, shift int, all, none uint64) {
	switch all, none := byte(all>>shift), byte(none>>shift); {
	case all == 0:
	case all == none:
		masks.constant |= 1 << plane
		w.streams[stream] = append(w.streams[stream], all)
	default:
		masks.stored |= 1 << plane
		s := slices.Grow(w.streams[stream], len(numbers))
		to := s[len(s):][:len(numbers)]
		for i, v := range numbers {
			to[i] = byte(v >> shift)
		}
		w.streams[stream] = s[:len(s)+len(numbers)]
	}
}

// bitsOf are the bits that any number has, and those that all have.
func bitsOf(numbers []uint64) (all, none uint64) {
	none = ^uint64(0)
	for _, v := range numbers {
		all |= v
		none &= v
	}
	return all, none
}

func (w *operandWriter) append(dst []byte) []byte {
	for _, m := range w.masks {
		dst = append(dst, m...)
	}
	dst, at := masks(dst, 2)
	dst = appendPlanes(dst, at, w.backs, 4)
	dst = appendPlanes(dst, at+1, w.owns, 4)
	for _, s := range w.streams {
		dst = append(dst, s...)
	}
	return dst
}
