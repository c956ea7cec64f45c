package warptrace

import "math/bits"

// operandChoice stores the columns of a track, each in the mode that promises the fewest bytes once they are compressed.
type operandChoice struct {
	columns [][]uint64
	counts  []int
	groups  []uint64 // of each warp: which block of the launch it is of
	before  []int    // of each warp: the one at the same place in the block before, -1: none
	wave    int
	costly  []bool // of each column: its numbers are not of the kind that vanish

	near, far []operandAt // by hash of a number in a group, of a number: where it was seen last
	first     uint32      // column 0 of the track in these
	known     []uint64    // a bit for each hash of a number that was seen in the track: most numbers were not, and need not be looked for
	spare     []uint64
	codes     foundCodes
	rows      [256]nearestRow
	seen      seenRows
}

// operandAt is a place in the columns of a track: the column plus first, which is 0 of none, and where in it.
type operandAt struct{ column, at uint32 }

const (
	// A column whose numbers take more than so many bits each, in 1/256, is looked for in other columns, and others in it.
	costlyNumber = 2 << 8
	// So many columns before are tried as the other one of operandsAgainst: of costly columns others of that kind, of cheap ones those of
	// the same operand.
	againstTried, againstCheap = 6, 4
	// A column that takes fewer bits, in 1/256, is as good as nothing.
	worthMore = 256 << 8
	// A row that stood before takes about so many bits of zstd, in 1/256; and behind one that stood before it there, too.
	knownRowBits, nextRowBits = 24 << 8, 1 << 6
	// A byte that changes takes about so many bits where most do not, in 1/256.
	changedByteBits = 10 << 8
	// So many rows of a column decide what it is stored as, more of one whose numbers take few bits. A mode that is much worse than
	// the best one on the first screenedRows rows is skipped.
	sampledRows, sampledCheap, screenedRows, screenedMargin = 48, 128, 8, 8
	// So many numbers of a column are looked for at first. The others are where one of nearOf is found in its group, or one of movedOf with
	// a number beside it.
	probedNumbers, nearOf, movedOf = 128, 4, 16
	// So many places of numbers are remembered.
	operandPlacesBits = 20
	operandPlaces     = 1 << operandPlacesBits
	// So many bits say which numbers are known.
	knownNumbersBits = 20
	knownNumbers     = 1 << knownNumbersBits
)

func log2Bytes(width uint) int { return bits.Len(width) - 1 }

func (o *operandChoice) start(columns [][]uint64, counts []int, groups []uint64, before []int, wave int) {
	if o.first += uint32(len(o.columns)) + 1; o.first > 1<<31 {
		o.first = 1
		clear(o.near)
		clear(o.far)
	}
	clear(o.known)
	o.known = o.known[:0]
	o.columns, o.counts, o.groups, o.before, o.wave, o.costly = columns, counts, groups, before, wave, make([]bool, len(columns))
}

// writeActive stores the next column, of active lanes.
func (o *operandChoice) writeActive(k int, to *operandWriter) {
	values, width := o.columns[k], widthOf(o.columns[k])
	o.spare = resized(o.spare, len(values))
	mode := valuesMode(values, o.counts[k], width, o.spare)
	residuals(o.spare, values, o.counts[k], mode, width)
	to.add(mode, width, o.spare, 0, nil)
}

// write stores the next column, of operands.
func (o *operandChoice) write(k int, to *operandWriter) {
	values, n := o.columns[k], len(o.columns[k])
	width := widthOf(values)
	o.spare = resized(o.spare, n)
	some := min(n, sampledRows*o.wave)
	best := o.ofModes(values, width, some)
	o.costly[k] = best.least > costlyNumber*some
	tries := againstTried
	if !o.costly[k] {
		tries = againstCheap
		if more := min(n, sampledCheap*o.wave); more > some {
			some = more
			best = o.ofModes(values, width, some)
		}
	}
	for other := k - 1; other >= 0 && tries > 0 && best.least > worthMore; other-- {
		if o.costly[other] == o.costly[k] && len(o.columns[other]) == n && (o.costly[k] || (k-other)%siteColumns == 0) {
			tries--
			o.consider(&best, operandsAgainst, k-other, width, some, func(n int) { o.against(values[:n], o.columns[other], width) })
		}
	}
	if o.costly[k] {
		if o.mayBeFound(k) {
			o.find(k, 0, some)
			if cost := o.foundCost(int(width), best.least); cost < best.least {
				best.mode, best.back = operandsFound, 0
				o.find(k, some, n)
			}
		}
		o.remember(k)
	}
	switch best.mode {
	case operandsFound:
		to.add(best.mode, width, o.codes.own, 0, &o.codes)
		return
	case operandsAgainst:
		o.against(values, o.columns[k-best.back], width)
	default:
		residuals(o.spare, values, o.wave, best.mode, width)
	}
	to.add(best.mode, width, o.spare, best.back, nil)
}

// ofModes is the best mode that does not need other columns.
func (o *operandChoice) ofModes(values []uint64, width uint, some int) candidate {
	best := candidate{few: -1, least: -1}
	for m := range uint8(valuesWritten) {
		if len(values) == o.wave && m > valuesSteps {
			break // of a single row the other is steps
		}
		o.consider(&best, m, 0, width, some, func(n int) { residuals(o.spare, values[:n], o.wave, m, width) })
	}
	return best
}

// candidate is the way to store a column that promises the fewest bytes until now: for a few rows, and for those that decide.
type candidate struct {
	mode       uint8
	back       int
	few, least int
}

// consider compares a way with the best one. fill fills the spare column with the first numbers. What is far behind in a few rows is not
// tried in more.
func (o *operandChoice) consider(best *candidate, mode uint8, back int, width uint, some int, fill func(n int)) {
	few := min(some, screenedRows*o.wave)
	fill(few)
	first := o.cost(o.spare[:few], int(width), -1)
	cost := first
	if few < some {
		if best.few >= 0 && first > best.few+best.few/screenedMargin {
			return
		}
		fill(some)
		cost = o.cost(o.spare[:some], int(width), best.least)
	}
	if best.least < 0 || cost < best.least {
		*best = candidate{mode, back, first, cost}
	}
}

// against fills the spare column with differences from another column.
func (o *operandChoice) against(values, other []uint64, width uint) {
	shift := 64 - 8*width
	for i, v := range values {
		o.spare[i] = zigzag(uint64(int64((v-other[i])<<shift) >> shift))
	}
}

// remember notes where the numbers of a column stand.
func (o *operandChoice) remember(k int) {
	if o.near == nil {
		o.near, o.far = make([]operandAt, operandPlaces), make([]operandAt, operandPlaces)
	}
	o.known = resized(o.known, knownNumbers/64) // which is all 0
	size := o.counts[k] * o.wave
	for warp, group := range o.groups {
		for i, v := range o.columns[k][warp*size : (warp+1)*size] {
			at, bit := operandAt{uint32(k) + o.first, uint32(warp*size + i)}, knownBit(v)
			o.known[bit/64] |= 1 << (bit % 64)
			o.near[slotOf(v, group+1)], o.far[slotOf(v, 0)] = at, at
		}
	}
}

// knownBit is the bit of a number in known.
func knownBit(v uint64) uint64 { return (v ^ v>>32) * digestP1 >> (64 - knownNumbersBits) }

// isKnown reports whether a number may have been seen; false: it was not.
func (o *operandChoice) isKnown(v uint64) bool {
	if len(o.known) == 0 {
		return false
	}
	bit := knownBit(v)
	return o.known[bit/64]>>(bit%64)&1 != 0
}

func slotOf(v, group uint64) uint64 {
	return ((v+group*digestP3)*digestP1 ^ v>>29) * digestP2 >> (64 - operandPlacesBits)
}

// foundCodes are the parts of a column of mode operandsFound.
type foundCodes struct {
	columns, rows, lanes []uint64
	own                  []uint64
}

// nearestRow is the row of another column that stands where a row of one does.
type nearestRow struct{ of, row int }

// find looks for numbers of a column in those before, from one row on; earlier ones were looked for. First it looks where numbers beside it
// come from: in the same row one group of warps before, of the same lane in the row before, and of the lane before. Then where the number
// was seen last in the group, and anywhere.
func (o *operandChoice) find(k, from, to int) {
	values, n, wave := o.columns[k], o.counts[k], o.wave
	f := &o.codes
	f.columns, f.rows, f.lanes = resized(f.columns, len(values)), resized(f.rows, len(values)), resized(f.lanes, len(values))
	if from == 0 {
		f.own = f.own[:0]
		for i := range o.rows {
			o.rows[i].of = -1
		}
	}
	for row := from / wave; row*wave < to; row++ {
		warp := row / n
		group, before := o.groups[warp]+1, -1 // the same row of the warp at the same place in the block before
		if other := o.before[warp]; other >= 0 {
			before = (other*n + row%n) * wave
		}
		for lane := range wave {
			i := row*wave + lane
			v := values[i]
			switch {
			case before >= 0 && o.same(k, row, lane, before+lane):
			case row > 0 && o.same(k, row, lane, i-wave):
			case lane > 0 && o.same(k, row, lane, i-1):
			case o.isKnown(v) && (o.from(k, row, lane, o.near[slotOf(v, group)]) || o.from(k, row, lane, o.far[slotOf(v, 0)])):
			default:
				f.columns[i], f.rows[i], f.lanes[i] = 0, 0, 0
				f.own = append(f.own, v)
			}
		}
	}
	f.columns, f.rows, f.lanes = f.columns[:to], f.rows[:to], f.lanes[:to]
}

// mayBeFound looks for some numbers of a column in those before. Short numbers are met by chance: many must be found in their group, or some
// where a number beside them stands beside them, too.
func (o *operandChoice) mayBeFound(k int) bool {
	near, moved, probed := 0, 0, 0
	step := max(1, len(o.columns[k])/probedNumbers) | 1
	for i := 0; i < len(o.columns[k]); i += step {
		probed++
		v := o.columns[k][i]
		if !o.isKnown(v) {
			continue
		}
		group, any := o.near[slotOf(v, o.groups[i/o.wave/o.counts[k]]+1)], o.far[slotOf(v, 0)]
		if o.holds(group, v) {
			near++
		}
		if o.movedFrom(k, i, group) || o.movedFrom(k, i, any) {
			moved++
		}
	}
	return near*nearOf >= probed || moved*movedOf >= probed
}

// holds reports whether a number stands at a place.
func (o *operandChoice) holds(at operandAt, v uint64) bool {
	column := int(at.column) - int(o.first)
	return column >= 0 && o.columns[column][at.at] == v
}

// movedFrom reports whether a number stands at a place, and so does that of another lane beside it, or of the next row.
func (o *operandChoice) movedFrom(k, i int, at operandAt) bool {
	values := o.columns[k]
	if !o.holds(at, values[i]) {
		return false
	}
	other, there := o.columns[at.column-o.first], int(at.at)
	lane, from := i%o.wave, there%o.wave
	for beside := 1; beside < o.wave; beside *= 2 {
		if other[there-from+(from^beside)] == values[i-lane+(lane^beside)] {
			return true
		}
	}
	return i+o.wave < len(values) && there+o.wave < len(other) && other[there+o.wave] == values[i+o.wave]
}

// nearest is the row of a column, so many before, that stands where a row of column k does.
func (o *operandChoice) nearest(k, row, back int) int {
	known := &o.rows[back]
	if known.of != row {
		*known = nearestRow{row, nearRow(row, o.counts[k], o.counts[k-back])}
	}
	return known.row
}

// same takes the place of another number of the column where that holds this one, too.
func (o *operandChoice) same(k, row, lane, as int) bool {
	f := &o.codes
	back := int(f.columns[as])
	if back == 0 {
		return false
	}
	other := o.columns[k-back]
	there := o.nearest(k, row, back) + int(int32(unzigzag32(uint32(f.rows[as]))))
	at, i := there*o.wave+(lane^int(f.lanes[as])), row*o.wave+lane
	if there < 0 || at >= len(other) || other[at] != o.columns[k][i] {
		return false
	}
	f.columns[i], f.rows[i], f.lanes[i] = f.columns[as], f.rows[as], f.lanes[as]
	return true
}

// from takes a place where the number may stand.
func (o *operandChoice) from(k, row, lane int, at operandAt) bool {
	other, i := int(at.column)-int(o.first), row*o.wave+lane
	if other < 0 || k-other > 255 || o.columns[other][at.at] != o.columns[k][i] {
		return false
	}
	there := int(at.at) / o.wave
	distance := there - o.nearest(k, row, k-other)
	if distance < -1<<15 || distance >= 1<<15 {
		return false
	}
	f := &o.codes
	f.columns[i], f.rows[i], f.lanes[i] = uint64(k-other), uint64(zigzag32(uint32(distance))), uint64(lane^(int(at.at)-there*o.wave))
	return true
}

// foundCost weighs what find found, as cost does.
func (o *operandChoice) foundCost(width, least int) int {
	f := &o.codes
	for i := range f.columns {
		o.spare[i] = f.columns[i] | f.lanes[i]<<8 | f.rows[i]<<16
	}
	total := o.cost(o.spare[:len(f.columns)], 4, least)
	if total >= least {
		return total
	}
	return total + o.cost(f.own, width, least-total)
}

// cost estimates how many bits numbers of a width take once they are compressed plane by plane, in 1/256: rows that stood before take next to
// nothing, of the others each plane what its bytes say, or what changes in it. Where it is no less than least, which is -1 where nothing is
// known, it may be said to be less than it is.
func (o *operandChoice) cost(numbers []uint64, width, least int) int {
	total := o.seen.fresh(numbers, o.wave)
	fresh := o.seen.numbers
	changed := changedBytes(fresh)
	all := log2(max(1, len(fresh)))
	for p := range width {
		if changed[p] == 0 {
			continue
		}
		if least >= 0 && total >= least {
			return total
		}
		var counts [2][256]int32
		shift := 8 * p
		for i := 0; i+1 < len(fresh); i += 2 {
			counts[0][byte(fresh[i]>>shift)]++
			counts[1][byte(fresh[i+1]>>shift)]++
		}
		if len(fresh)%2 == 1 {
			counts[0][byte(fresh[len(fresh)-1]>>shift)]++
		}
		cost := 0
		for b, c := range counts[0] {
			if c += counts[1][b]; c > 0 {
				cost += int(c) * (all - log2(int(c)))
			}
		}
		total += min(cost, changed[p]*changedByteBits)
	}
	return total
}

// changedBytes counts, plane by plane, the bytes that are not those of the number before, which is 0 at first.
func changedBytes(numbers []uint64) (changed [8]int) {
	const low, high = 0x7f7f7f7f7f7f7f7f, 0x8080808080808080
	var before uint64
	for len(numbers) > 0 {
		some := numbers[:min(255, len(numbers))]
		numbers = numbers[len(some):]
		var sums uint64 // a byte for each plane
		for _, v := range some {
			d := v ^ before
			before = v
			sums += (((d & low) + low) | d) & high >> 7
		}
		for p := range changed {
			changed[p] += int(byte(sums >> (8 * p)))
		}
	}
	return changed
}

// seenRows tells rows that stood before from others.
type seenRows struct {
	slots   [4 * sampledCheap]seenRow
	round   int      // of the slots that count
	numbers []uint64 // of rows that did not stand before
}

// seenRow is the row that had a hash last.
type seenRow struct {
	hash  uint64
	round int
	at    int
}

// fresh gathers the numbers of rows that did not stand before, and says what the others take, as cost does.
func (s *seenRows) fresh(numbers []uint64, wave int) (total int) {
	s.round++
	s.numbers = s.numbers[:0]
	known := -2
	for from := 0; from < len(numbers); from += wave {
		row := numbers[from:min(from+wave, len(numbers))]
		slot := s.slot(hashOfRow(row))
		at, is := slot.at, slot.round == s.round
		slot.round, slot.at = s.round, from
		switch {
		case is && at == known+wave:
			total, known = total+nextRowBits, at
		case is:
			total, known = total+knownRowBits, at
		default:
			known = -2
			s.numbers = append(s.numbers, row...)
		}
	}
	return total
}

// slot is that of a hash, or one that is free. There are more slots than rows.
func (s *seenRows) slot(hash uint64) *seenRow {
	for at := hash; ; at++ {
		slot := &s.slots[at%uint64(len(s.slots))]
		if slot.round != s.round {
			slot.hash = hash
			return slot
		}
		if slot.hash == hash {
			return slot
		}
	}
}

// hashOfRow is a hash over numbers, whose multiplications do not wait for each other.
func hashOfRow(row []uint64) uint64 {
	h, key := uint64(len(row)), uint64(digestP3)
	for ; len(row) >= 2; row = row[2:] {
		high, low := bits.Mul64(row[0]+key, row[1]^key+digestP1)
		h += high ^ low
		key += digestP2
	}
	if len(row) > 0 {
		h += digestRound(key, row[0])
	}
	return digestFinish(h)
}

// log2 is a logarithm in 1/256, by straight lines between powers of 2: the same on every machine.
func log2(n int) int {
	k := bits.Len(uint(n)) - 1
	return k<<8 + (n<<8>>k - 256)
}
