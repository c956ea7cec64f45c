package warptrace

import (
	"errors"
	"math/bits"
)

// How a column of operands is stored (docs/formats/prlx-v2.md). A row holds one number a lane. The modes of values have their meaning, with
// a row of lanes in place of the values of a warp; two more say where numbers were before, because kernels move them: from memory to
// registers, between lanes and back.
const (
	operandsAgainst = 4 // differences from the same places of another column
	operandsFound   = 5 // each number: a place in a column before where it stands, or itself
	operandsModes   = 6
)

// Planes of all columns stand together by their weight, the highest of each column first, because zstd does best where bytes of one kind
// stand together: the high bytes of floats are alike, the low ones are not.
const (
	streamColumns  = 8 // parts of operandsFound: how many columns before, 0: the number stands itself
	streamRowsLow  = 9 // zigzag of the distance in rows
	streamRowsHigh = 10
	streamLanes    = 11 // xor of lanes
	operandStreams = 12
)

// streamOf is the stream of a plane of numbers of a width.
func streamOf(width uint, plane int) int { return int(width) - 1 - plane }

// v2OperandColumn holds what the lanes of a site of a track held: for each warp a row for each time, of one number a lane; or active lanes.
type v2OperandColumn struct {
	v2ValueColumn
	codes   v2ValueColumn // which parts of operandsFound are there
	n, rows int           // of a warp, of all warps
	numbers int           // in all rows
	back    uint32        // the other column of operandsAgainst stands so many before
	own     uint32        // numbers of operandsFound that stand themselves
	at      [operandStreams]int
}

// checkOperands says what is wrong with the form of a column.
func (c *v2OperandColumn) checkOperands(active bool) error {
	modes := uint8(operandsModes)
	if active {
		modes = valuesModes
	}
	codes := c.codes.stored | c.codes.constant
	if c.mode() >= modes || c.form>>4 > 3 || c.stored&c.constant != 0 || bits.Len8(c.stored|c.constant) > int(c.width()) {
		return errValues
	}
	if c.codes.stored&c.codes.constant != 0 || codes>>4 != 0 || c.mode() != operandsFound && (codes != 0 || c.own != 0) || int64(c.own) > int64(c.numbers) {
		return errFound
	}
	return nil
}

// stored is how many numbers of the column are stored in planes of their own.
func (c *v2OperandColumn) inPlanes() int {
	if c.mode() == operandsFound {
		return int(c.own)
	}
	return c.numbers
}

// place gives the column its place in each stream, which follow from how long they are until now.
func (c *v2OperandColumn) place(lengths *[operandStreams]int) {
	put := func(stream int, masks v2ValueColumn, plane, numbers int) {
		c.at[stream] = lengths[stream]
		switch {
		case masks.constant>>plane&1 != 0:
			lengths[stream]++
		case masks.stored>>plane&1 != 0:
			lengths[stream] += numbers
		}
	}
	for p := range int(c.width()) {
		put(streamOf(c.width(), p), c.v2ValueColumn, p, c.inPlanes())
	}
	for p := range operandStreams - streamColumns {
		put(streamColumns+p, c.codes, p, c.numbers)
	}
}

// readColumns finds the planes of each column.
func (t *v2Tracks) readColumns(r *planes) error {
	n := 0
	for i := range t.tracks {
		track := &t.tracks[i]
		track.layout = layoutOf(t.heads[track.from:][:track.n])
		n += len(track.layout.counts)
	}
	const masks = 5
	if len(r.body) < masks*n {
		return errSection
	}
	of := func(mask, column int) byte { return r.body[mask*n+column] }
	rest := planes{body: r.body[masks*n:]}
	rest.takeMasks(2)
	backs, owns := make([]uint32, n), make([]uint32, n)
	readColumn(&rest, backs, 4)
	readColumn(&rest, owns, 4)
	if rest.bad {
		return errSection
	}
	var lengths [operandStreams]int
	first := 0
	for i := range t.tracks {
		track := &t.tracks[i]
		track.columns = make([]v2OperandColumn, len(track.layout.counts))
		for k, count := range track.layout.counts {
			c, at := &track.columns[k], first+k
			*c = v2OperandColumn{
				v2ValueColumn: v2ValueColumn{of(0, at), of(1, at), of(2, at)}, codes: v2ValueColumn{stored: of(3, at), constant: of(4, at)},
				n: count, rows: count * track.warps, back: backs[at], own: owns[at],
			}
			active := k%siteColumns == activeColumn
			if c.numbers = c.rows; !active {
				c.numbers *= t.wave
			}
			if err := c.checkOperands(active); err != nil {
				return err
			}
			if c.mode() == operandsAgainst && (c.back == 0 || int64(c.back) > int64(k) || track.columns[k-int(c.back)].numbers != c.numbers) {
				return errTracks
			}
			c.place(&lengths)
		}
		first += len(track.columns)
	}
	for s, length := range lengths {
		if length > len(rest.body) {
			return errSection
		}
		t.streams[s], rest.body = rest.body[:length], rest.body[length:]
	}
	if len(rest.body) > 0 {
		return errSection
	}
	return nil
}

// decodeTrack decodes the columns of a track. They refer to columns before them only.
func (t *v2Tracks) decodeTrack(track *v2Track) error {
	numbers := make([][]uint64, len(track.columns))
	for k := range track.columns {
		c := &track.columns[k]
		values := make([]uint64, c.numbers)
		switch mode := c.mode(); {
		case mode == operandsFound:
			if err := t.find(track, k, numbers, values); err != nil {
				return err
			}
		case mode == operandsAgainst:
			t.read(c, values)
			other, keep := numbers[k-int(c.back)], ^uint64(0)>>(64-8*c.width())
			for i, v := range values {
				values[i] = (other[i] + unzigzag(v)) & keep
			}
		case k%siteColumns == activeColumn:
			t.read(c, values)
			restore(values, c.n, mode, c.width())
		default:
			t.read(c, values)
			restore(values, t.wave, mode, c.width())
		}
		numbers[k] = values
	}
	track.numbers = numbers
	return nil
}

// read adds up the planes of a column.
func (t *v2Tracks) read(c *v2OperandColumn, into []uint64) {
	for p := range int(c.width()) {
		stream, shift := streamOf(c.width(), p), 8*p
		switch plane := t.streams[stream][c.at[stream]:]; {
		case c.constant>>p&1 != 0:
			same := uint64(plane[0]) << shift
			for i := range into {
				into[i] |= same
			}
		case c.stored>>p&1 != 0:
			for i, b := range plane[:len(into)] {
				into[i] |= uint64(b) << shift
			}
		}
	}
}

// foundPart is a part of a column of operandsFound: a byte for each number, or one for all.
type foundPart struct {
	stored []byte
	same   byte
}

func (p *foundPart) at(i int) int {
	if p.stored == nil {
		return int(p.same)
	}
	return int(p.stored[i])
}

func (t *v2Tracks) part(c *v2OperandColumn, stream int) (p foundPart) {
	switch plane := t.streams[stream][c.at[stream]:]; {
	case c.codes.constant>>(stream-streamColumns)&1 != 0:
		p.same = plane[0]
	case c.codes.stored>>(stream-streamColumns)&1 != 0:
		p.stored = plane[:c.numbers]
	}
	return p
}

var errFound = errors.New("an operand is said to stand where none does")

// find fills a column whose numbers stand in columns before it.
func (t *v2Tracks) find(track *v2Track, at int, numbers [][]uint64, values []uint64) error {
	c := &track.columns[at]
	columns, low, high, lanes := t.part(c, streamColumns), t.part(c, streamRowsLow), t.part(c, streamRowsHigh), t.part(c, streamLanes)
	own := make([]uint64, c.own)
	t.read(c, own)
	for i := range values {
		back := columns.at(i)
		if back == 0 {
			if len(own) == 0 {
				return errFound
			}
			values[i], own = own[0], own[1:]
			continue
		}
		other, lane := at-back, i%t.wave^lanes.at(i)
		if other < 0 || other%siteColumns == activeColumn || lane >= t.wave {
			return errFound
		}
		row := nearRow(i/t.wave, c.n, track.columns[other].n) + int(int32(unzigzag32(uint32(low.at(i)|high.at(i)<<8))))
		if row < 0 || row >= track.columns[other].rows {
			return errFound
		}
		values[i] = numbers[other][row*t.wave+lane]
	}
	if len(own) > 0 {
		return errFound
	}
	return nil
}

// nearRow is the row of a column with m operands a warp that stands where a row of one with n does.
func nearRow(row, n, m int) int { return row/n*m + row%n*m/n }
