package diff

import (
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// measured is what the contents of one array say of how far apart two launches left it.
type measured struct {
	chunks     int64 // whose contents both recordings kept
	listed     int64 // elements that the list of chunks says were written to them
	compared   int64 // elements of these chunks that either launch wrote
	mismatched int64 // of those compared: of other bits, where the types differ of another value
	beyond     int64 // of those mismatched: beyond the tolerance
	oneSided   int64 // likewise: written by one launch alone
	nan        [2]int64
	infinite   [2]int64 // in A alone, in B alone
	infinities int64    // of other signs
	sameValue  int64    // zeros of other signs, NaNs of other bits
	rounded    int64    // equal once both are rounded to the coarser of two types
	noNumber   int64    // addresses, elements of which a part was written, types that are not known

	absolute, relative, ulps farthest
}

// farthest is the element whose values are furthest apart in one measure.
type farthest struct {
	by      float64 // 0: none is apart
	element int64
	bits    [2]uint64
}

func (f *farthest) note(by float64, element int64, a, b uint64) {
	if by > f.by {
		*f = farthest{by, element, [2]uint64{a, b}}
	}
}

// add takes what another part of the same array says. Parts come in the order of their elements.
func (m *measured) add(x *measured) {
	for _, n := range []struct{ to, from *int64 }{
		{&m.chunks, &x.chunks},
		{&m.listed, &x.listed},
		{&m.compared, &x.compared},
		{&m.mismatched, &x.mismatched},
		{&m.beyond, &x.beyond},
		{&m.oneSided, &x.oneSided},
		{&m.nan[0], &x.nan[0]},
		{&m.nan[1], &x.nan[1]},
		{&m.infinite[0], &x.infinite[0]},
		{&m.infinite[1], &x.infinite[1]},
		{&m.infinities, &x.infinities},
		{&m.sameValue, &x.sameValue},
		{&m.rounded, &x.rounded},
		{&m.noNumber, &x.noNumber},
	} {
		*n.to += *n.from
	}
	for _, f := range []struct{ to, from *farthest }{{&m.absolute, &x.absolute}, {&m.relative, &x.relative}, {&m.ulps, &x.ulps}} {
		f.to.note(f.from.by, f.from.element, f.from.bits[0], f.from.bits[1])
	}
}

// measure measures the elements of two arrays of known types against each other.
type measure struct {
	opt    *Options
	types  [2]warptrace.ValueType
	sizes  [2]int              // of elements in bytes
	kind   warptrace.ValueType // coarser of both
	floats func(bits uint64) float64

	tolerates bool // a tolerance was given
}

// newMeasure measures an array that both launches wrote.
func newMeasure(p *arrayPair, opt *Options) *measure {
	m := &measure{opt: opt, types: p.types(), sizes: [2]int{int(p.a.ElementBytes), int(p.b.ElementBytes)}, tolerates: opt.tolerates()}
	m.kind = coarser(m.types[0], m.types[1])
	if m.types[0] == m.types[1] {
		m.floats = floatsOf(m.kind)
	}
	return m
}

// floatsOf reads floats of a type, nil where it has none.
func floatsOf(t warptrace.ValueType) func(bits uint64) float64 {
	if table := smallFloats[t]; table != nil {
		values := table()
		return func(bits uint64) float64 { return values[bits&uint64(len(values)-1)] }
	}
	switch t { //nolint:exhaustive // the others are above, or no floats
	case warptrace.TypeF32:
		return func(bits uint64) float64 { return float64(math.Float32frombits(uint32(bits))) }
	case warptrace.TypeF64:
		return math.Float64frombits
	}
	return nil
}

// equalChunk takes a chunk of which a digest says that it is the same on both sides.
func equalChunk(x *warptrace.Contents) measured {
	out, size := measured{chunks: 1}, int(x.Element)
	for at := 0; size > 0 && at+size <= len(x.Bytes); at += size {
		if written, _ := writtenOf(x, at, size); written {
			out.compared++
		}
	}
	return out
}

// chunk measures one chunk; contents whose elements are of another size than their array's are not measured. near says that nothing in it is
// beyond the tolerance. Nothing is near where none was given, and of two types where none was given for the coarser one.
func (m *measure) chunk(x, y *warptrace.Contents) (out measured, near bool) {
	if !m.fits(x, y) {
		return out, false
	}
	out.chunks = 1
	m.walk(x, y, &out, false)
	return out, m.tolerates && out.beyond == 0 && (m.types[0] == m.types[1] || m.opt.Tolerance.loosens(m.kind))
}

// first is the first element of a chunk that differs, by more than the tolerance.
func (m *measure) first(x, y *warptrace.Contents) (element int, ok bool) {
	if !m.fits(x, y) {
		return 0, false
	}
	var out measured
	element = m.walk(x, y, &out, true)
	return element, out.beyond > 0
}

// fits reports whether the elements of two chunks are as large as those of their arrays.
func (m *measure) fits(x, y *warptrace.Contents) bool {
	return m.sizes == [2]int{int(x.Element), int(y.Element)} && m.sizes[0] > 0 && m.sizes[1] > 0
}

// walk measures the elements of two chunks, until one is beyond the tolerance if only the first is wanted, and returns the last one.
func (m *measure) walk(x, y *warptrace.Contents, out *measured, onlyFirst bool) (i int) {
	whole := allWritten(x) && allWritten(y)
	e := element{of: [2]*warptrace.Contents{x, y}, named: [2][]bool{namedBytes(x), namedBytes(y)}}
	sizeA, sizeB := m.sizes[0], m.sizes[1]
	plain := whole && m.types[0] == m.types[1] && sizeA == sizeB && e.named[0] == nil && e.named[1] == nil
	for n := min(len(x.Bytes)/sizeA, len(y.Bytes)/sizeB); i < n; i++ {
		if plain && i+8/sizeA <= n && i*sizeA%8 == 0 && wordAt(x.Bytes[i*sizeA:][:8]) == wordAt(y.Bytes[i*sizeA:][:8]) {
			out.compared += int64(8 / sizeA)
			i += 8/sizeA - 1
			continue
		}
		e.at, e.index = [2]int{i * sizeA, i * sizeB}, x.Chunk*warptrace.ChunkElements+int64(i)
		if whole || m.written(&e, out) {
			out.compared++
			va, vb := wordAt(x.Bytes[e.at[0]:e.at[0]+sizeA]), wordAt(y.Bytes[e.at[1]:e.at[1]+sizeB])
			switch {
			case plain && va == vb:
			case plain && m.floats != nil:
				m.sameFloats(&e, va, vb, out)
			default:
				m.element(&e, va, vb, out)
			}
		}
		if onlyFirst && out.beyond > 0 {
			return i
		}
	}
	return i
}

// namedBytes says which bytes of a chunk are the name of an address, nil where none is.
func namedBytes(c *warptrace.Contents) []bool {
	if len(c.Pointers) == 0 {
		return nil
	}
	named := make([]bool, len(c.Bytes))
	for _, at := range c.Pointers {
		for i := int(at); i < min(int(at)+8, len(named)); i++ {
			named[i] = true
		}
	}
	return named
}

// element is one element of two chunks.
type element struct {
	of    [2]*warptrace.Contents
	named [2][]bool // namedBytes of both
	at    [2]int    // its first byte
	index int64     // in its array
}

// written reports whether both launches wrote an element whole, and counts it where not.
func (m *measure) written(e *element, out *measured) bool {
	someA, wholeA := writtenOf(e.of[0], e.at[0], m.sizes[0])
	someB, wholeB := writtenOf(e.of[1], e.at[1], m.sizes[1])
	switch {
	case wholeA && wholeB:
		return true
	case !someA && !someB:
		return false
	case someA != someB:
		out.oneSided++
	case m.sizes[0] == m.sizes[1] && e.samePart(m.sizes[0]):
		out.compared++
		return false
	default:
		out.noNumber++
	}
	out.compared, out.mismatched, out.beyond = out.compared+1, out.mismatched+1, out.beyond+1
	return false
}

// samePart reports whether the same bytes of an element were written, with the same.
func (e *element) samePart(size int) bool {
	x, y := e.of[0], e.of[1]
	for i := range size {
		if x.WrittenAt(e.at[0]+i) != y.WrittenAt(e.at[1]+i) || x.Bytes[e.at[0]+i] != y.Bytes[e.at[1]+i] {
			return false
		}
	}
	return true
}

// writtenOf says how much of an element was written.
func writtenOf(c *warptrace.Contents, at, size int) (some, whole bool) {
	whole = true
	for i := range size {
		if c.WrittenAt(at + i) {
			some = true
		} else {
			whole = false
		}
	}
	return some, whole
}

func allWritten(c *warptrace.Contents) bool {
	for _, b := range c.Written {
		if b != 0xff {
			return false
		}
	}
	return 8*len(c.Written) >= len(c.Bytes)
}

// isAddress reports whether an element is the name of an address on a side, or a part of one.
func (e *element) isAddress(side, size int) bool {
	return e.named[side] != nil && slices.Contains(e.named[side][e.at[side]:e.at[side]+size], true)
}

// element measures an element that both launches wrote.
func (m *measure) element(e *element, va, vb uint64, out *measured) {
	addressA, addressB := e.isAddress(0, m.sizes[0]), e.isAddress(1, m.sizes[1])
	same := va == vb && m.sizes[0] == m.sizes[1] && addressA == addressB
	switch {
	case addressA || addressB || m.kind == warptrace.TypeNone:
		if !same {
			out.mismatched, out.beyond, out.noNumber = out.mismatched+1, out.beyond+1, out.noNumber+1
		}
	case m.types[0] != m.types[1]:
		m.numbers(e, va, vb, out)
	case same:
	case m.floats != nil:
		m.sameFloats(e, va, vb, out)
	default:
		m.numbers(e, va, vb, out)
	}
}

// sameFloats measures two floats of one type, whose bits differ.
func (m *measure) sameFloats(e *element, va, vb uint64, out *measured) {
	out.mismatched++
	if !m.tolerates || !m.opt.Tolerance.same(m.kind, va, vb, m.opt.NaN) {
		out.beyond++
	}
	x, y := m.floats(va), m.floats(vb)
	gap := math.Abs(x - y)
	if !(gap <= math.MaxFloat64) { // one is no number, or the gap is none
		if !out.finite(x, y) {
			return
		}
		gap = math.MaxFloat64
	}
	if gap == 0 {
		out.sameValue++
		return
	}
	out.absolute.note(gap, e.index, va, vb)
	out.relative.note(relatively(gap, x, y), e.index, va, vb)
	out.ulps.note(float64(warptrace.ULPs(va, vb, m.kind)), e.index, va, vb)
}

// finite reports whether two floats that differ are both numbers, and counts them where not.
func (out *measured) finite(x, y float64) bool {
	nanA, nanB := math.IsNaN(x), math.IsNaN(y)
	infA, infB := math.IsInf(x, 0), math.IsInf(y, 0)
	switch {
	case nanA && nanB:
		out.sameValue++
	case nanA:
		out.nan[0]++
	case nanB:
		out.nan[1]++
	case infA && infB:
		out.infinities++
	case infA:
		out.infinite[0]++
	case infB:
		out.infinite[1]++
	default:
		return true
	}
	return false
}

// numbers measures elements by value: of two types, or integers.
func (m *measure) numbers(e *element, va, vb uint64, out *measured) {
	x, y := numberOf(va, m.types[0]), numberOf(vb, m.types[1])
	if m.equal(x, y) {
		return
	}
	out.mismatched++
	if !m.tolerates || !m.tolerated(x, y, va, vb) {
		out.beyond++
	}
	steps, known := m.steps(x, y)
	if known && steps == 0 {
		out.rounded++
	}
	if !out.finite(x.float(), y.float()) || m.kind == warptrace.TypeBool {
		return
	}
	gap := apart(x, y)
	out.absolute.note(gap, e.index, va, vb)
	out.relative.note(relatively(gap, x.float(), y.float()), e.index, va, vb)
	if known {
		out.ulps.note(float64(steps), e.index, va, vb)
	}
}

// equal reports whether two numbers have one value. Two NaNs have, unless none may be equal.
func (m *measure) equal(x, y number) bool {
	a, b := x.float(), y.float()
	if math.IsNaN(a) && math.IsNaN(b) {
		return !m.tolerates || m.opt.NaN != naNNever
	}
	if math.IsNaN(a) || math.IsNaN(b) || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return a == b
	}
	return apart(x, y) == 0
}

// steps counts the floats of the coarser type between two floats, once both are rounded to it: 0 where they are equal then. It is not known of
// integers, of NaN, and of what is beyond the largest number of that type, where not both are.
func (m *measure) steps(x, y number) (steps uint64, known bool) {
	f, isFloat := floatFormats[m.kind]
	if !isFloat || !x.isFloat || !y.isFloat || math.IsNaN(x.x) || math.IsNaN(y.x) {
		return 0, false
	}
	a, fitsA := f.round(x.x)
	b, fitsB := f.round(y.x)
	switch {
	case a == b:
		return 0, true
	case f.finite && !fitsA && b == a-1, f.finite && !fitsB && a == b-1:
		return 0, true // a type without infinities: conversions end at its largest number
	case fitsA && fitsB && !math.IsInf(x.x, 0) && !math.IsInf(y.x, 0):
		return warptrace.ULPs(a, b, m.kind), true
	}
	return 0, false
}

// tolerated reports whether two numbers are equal within the tolerance of the coarser of their types.
func (m *measure) tolerated(x, y number, va, vb uint64) bool {
	t := &m.opt.Tolerance
	if m.types[0] == m.types[1] {
		return t.same(m.kind, va, vb, m.opt.NaN)
	}
	if !t.loosens(m.kind) {
		return false
	}
	a, b, limit := x.float(), y.float(), t.bounds[m.kind]
	if math.IsNaN(a) || math.IsNaN(b) || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return false
	}
	gap := apart(x, y)
	if gap <= limit.abs || gap <= limit.rel*max(math.Abs(a), math.Abs(b)) {
		return true
	}
	steps, known := m.steps(x, y)
	return known && limit.ulp > 0 && steps <= limit.ulp
}
