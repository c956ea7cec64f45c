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
	spare     []uint64
	codes     foundCodes
	seen      map[uint64]int // the row that had a hash last
}

// operandAt is a place in the columns of a track: the column plus 1, and where in it.
type operandAt struct{ column, at uint32 }

const (
	// A column whose numbers take more than so many bits each, in 1/256, is looked for in other columns, and others in it.
	costlyNumber = 2 << 8
	// So many columns before are tried as the other one of operandsAgainst: of costly columns others of that kind, of cheap ones those of
	// the same operand.
	againstTried, againstCheap = 12, 4
	// A column that takes fewer bits, in 1/256, is as good as nothing.
	worthMore = 256 << 8
	// A row that stood before takes about so many bits of zstd, in 1/256; and behind one that stood before it there, too.
	knownRowBits, nextRowBits = 24 << 8, 1 << 6
	// A byte that changes takes about so many bits where most do not, in 1/256.
	changedByteBits = 10 << 8
	// So many rows of a column decide what it is stored as.
	sampledRows = 128
	// So many places of numbers are remembered.
	operandPlaces = 1 << 20
)

func log2Bytes(width uint) int { return bits.Len(width) - 1 }

func (o *operandChoice) start(columns [][]uint64, counts []int, groups []uint64, before []int, wave int) {
	o.columns, o.counts, o.groups, o.before, o.wave, o.costly = columns, counts, groups, before, wave, make([]bool, len(columns))
	clear(o.near)
	clear(o.far)
	if o.seen == nil {
		o.seen = map[uint64]int{}
	}
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
	mode, back, least := uint8(0), 0, -1
	some := min(n, sampledRows*o.wave)
	consider := func(m uint8, other int) {
		if cost := o.cost(o.spare[:some], int(width)); least < 0 || cost < least {
			mode, back, least = m, other, cost
		}
	}
	for m := range uint8(valuesModes) {
		if n == o.wave && m > valuesSteps {
			break // of a single row both others are steps
		}
		residuals(o.spare, values[:some], o.wave, m, width)
		consider(m, 0)
	}
	o.costly[k] = least > costlyNumber*some
	tries := againstTried
	if !o.costly[k] {
		tries = againstCheap
	}
	for other := k - 1; other >= 0 && tries > 0 && least > worthMore; other-- {
		if o.costly[other] == o.costly[k] && len(o.columns[other]) == n && (o.costly[k] || (k-other)%siteColumns == 0) {
			tries--
			o.against(values[:some], o.columns[other], width)
			consider(operandsAgainst, k-other)
		}
	}
	if o.costly[k] {
		o.find(k, some)
		if cost := o.foundCost(int(width)); cost < least {
			mode, back = operandsFound, 0
			o.find(k, n)
		}
		o.remember(k)
	}
	switch mode {
	case operandsFound:
		to.add(mode, width, o.codes.own, 0, &o.codes)
		return
	case operandsAgainst:
		o.against(values, o.columns[k-back], width)
	default:
		residuals(o.spare, values, o.wave, mode, width)
	}
	to.add(mode, width, o.spare, back, nil)
}

// against fills the spare column with differences from another column.
func (o *operandChoice) against(values, other []uint64, width uint) {
	shift := 64 - 8*width
	for i, v := range values {
		o.spare[i] = zigzag(uint64(int64((v-other[i])<<shift) >> shift))
	}
}

// groupOf is the group of the warp that a number of a column belongs to.
func (o *operandChoice) groupOf(k, at int) uint64 { return o.groups[at/o.wave/o.counts[k]] }

// inBlockBefore is the same number of the warp at the same place in the block before, -1: there is none.
func (o *operandChoice) inBlockBefore(k, at int) int {
	size := o.counts[k] * o.wave
	if warp := o.before[at/size]; warp >= 0 {
		return warp*size + at%size
	}
	return -1
}

// remember notes where the numbers of a column stand.
func (o *operandChoice) remember(k int) {
	if o.near == nil {
		o.near, o.far = make([]operandAt, operandPlaces), make([]operandAt, operandPlaces)
	}
	for i, v := range o.columns[k] {
		at := operandAt{uint32(k) + 1, uint32(i)}
		o.near[slotOf(v, o.groupOf(k, i)+1)], o.far[slotOf(v, 0)] = at, at
	}
}

func slotOf(v, group uint64) uint64 { return digestFinish(digestRound(v, group)) % operandPlaces }

// foundCodes are the parts of a column of mode operandsFound.
type foundCodes struct {
	columns, rows, lanes []uint64
	own                  []uint64
}

// find looks for the first numbers of a column in those before. First it looks where numbers beside it come from: of the same lane in the row
// before, and in the same row one group of warps before, and of the lane before. Then where the number was seen last in the group, and
// anywhere.
func (o *operandChoice) find(k, some int) {
	values := o.columns[k][:some]
	f := &o.codes
	f.columns, f.rows, f.lanes, f.own = resized(f.columns, len(values)), resized(f.rows, len(values)), resized(f.lanes, len(values)), f.own[:0]
	for i, v := range values {
		if o.same(k, i, o.inBlockBefore(k, i)) || o.same(k, i, i-o.wave) || i%o.wave > 0 && o.same(k, i, i-1) {
			continue
		}
		if o.near != nil && (o.from(k, i, o.near[slotOf(v, o.groupOf(k, i)+1)]) || o.from(k, i, o.far[slotOf(v, 0)])) {
			continue
		}
		f.columns[i], f.rows[i], f.lanes[i] = 0, 0, 0
		f.own = append(f.own, v)
	}
}

// same takes the place of another number of the column where that holds this one, too.
func (o *operandChoice) same(k, i, as int) bool {
	f := &o.codes
	if as < 0 || f.columns[as] == 0 {
		return false
	}
	other := k - int(f.columns[as])
	row := nearRow(i/o.wave, o.counts[k], o.counts[other]) + int(int32(unzigzag32(uint32(f.rows[as]))))
	at := row*o.wave + (i%o.wave ^ int(f.lanes[as]))
	if row < 0 || at >= len(o.columns[other]) || o.columns[other][at] != o.columns[k][i] {
		return false
	}
	f.columns[i], f.rows[i], f.lanes[i] = f.columns[as], f.rows[as], f.lanes[as]
	return true
}

// from takes a place where the number may stand.
func (o *operandChoice) from(k, i int, at operandAt) bool {
	other := int(at.column) - 1
	if other < 0 || k-other > 255 || o.columns[other][at.at] != o.columns[k][i] {
		return false
	}
	row := int(at.at)/o.wave - nearRow(i/o.wave, o.counts[k], o.counts[other])
	if row < -1<<15 || row >= 1<<15 {
		return false
	}
	f := &o.codes
	f.columns[i], f.rows[i], f.lanes[i] = uint64(k-other), uint64(zigzag32(uint32(row))), uint64(i%o.wave^int(at.at)%o.wave)
	return true
}

// foundCost weighs what find found.
func (o *operandChoice) foundCost(width int) int {
	f := &o.codes
	for i := range f.columns {
		o.spare[i] = f.columns[i] | f.lanes[i]<<8 | f.rows[i]<<16
	}
	return o.cost(o.spare[:len(f.columns)], 4) + o.cost(f.own, width)
}

// cost estimates how many bits numbers of a width take once they are compressed plane by plane, in 1/256: rows that stood before take next to
// nothing, of the others each plane what its bytes say, or what changes in it.
func (o *operandChoice) cost(numbers []uint64, width int) int {
	clear(o.seen)
	total := 0
	var counts [8][256]int32
	var changed [8]int
	n, known := 0, -2
	var before uint64
	for from := 0; from < len(numbers); from += o.wave {
		row := numbers[from:min(from+o.wave, len(numbers))]
		hash := uint64(len(row))
		for _, v := range row {
			hash = digestRound(hash, v)
		}
		at, is := o.seen[hash]
		o.seen[hash] = from
		if is && at == known+o.wave {
			total, known = total+nextRowBits, at
			continue
		}
		if known = -2; is {
			total, known = total+knownRowBits, at
			continue
		}
		n += len(row)
		for _, v := range row {
			for p := range width {
				b := byte(v >> (8 * p))
				counts[p][b]++
				if b != byte(before>>(8*p)) {
					changed[p]++
				}
			}
			before = v
		}
	}
	for p := range width {
		cost := 0
		for _, c := range counts[p] {
			if c > 0 {
				cost += int(c) * (log2(n) - log2(int(c)))
			}
		}
		total += min(cost, changed[p]*changedByteBits)
	}
	return total
}

// log2 is a logarithm in 1/256, by straight lines between powers of 2: the same on every machine.
func log2(n int) int {
	k := bits.Len(uint(n)) - 1
	return k<<8 + (n<<8>>k - 256)
}
