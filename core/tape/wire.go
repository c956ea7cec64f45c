package tape

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// The kinds of frames.
const (
	frameRun      = 1
	framePlace    = 2
	frameStep     = 3
	frameOperator = 4
	frameEnd      = 5
)

// frameHead is how many bytes stand before the payload of a frame: its kind, the length and the checksum of the payload.
const frameHead = 9

// Limits of what is read: a frame that claims more is damage.
const (
	maxFrame  = 1 << 20
	maxText   = 4096
	maxSlots  = 1 << 14
	maxDims   = 64
	maxPlaces = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is that of a frame: CRC-32C over its kind and its payload.
func checksum(kind byte, payload []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, []byte{kind}), castagnoli, payload)
}

// frame appends a frame.
func frame(to []byte, kind byte, payload []byte) []byte {
	to = append(to, kind)
	to = binary.LittleEndian.AppendUint32(to, uint32(len(payload)))
	to = binary.LittleEndian.AppendUint32(to, checksum(kind, payload))
	return append(to, payload...)
}

// appendText appends a length and the bytes of a text, which is cut at maxText.
func appendText(to []byte, s string) []byte {
	s = s[:min(len(s), maxText)]
	return append(binary.AppendUvarint(to, uint64(len(s))), s...)
}

func appendDims(to []byte, dims []int64) []byte {
	to = binary.AppendUvarint(to, uint64(len(dims)))
	for _, d := range dims {
		to = binary.AppendVarint(to, d)
	}
	return to
}

func appendPlace(to []byte, id uint64, p *Place) []byte {
	to = binary.AppendUvarint(to, id)
	to = append(to, byte(p.Phase))
	for _, s := range []string{p.Module, p.Class, p.Operator} {
		to = appendText(to, s)
	}
	to = binary.AppendUvarint(to, uint64(len(p.Slots)))
	for i := range p.Slots {
		s := &p.Slots[i]
		to = append(to, byte(s.Role))
		to = appendText(appendText(to, s.Name), s.Type)
		to = appendDims(appendDims(to, s.Shape), s.Stride)
	}
	return appendText(to, p.Line)
}

func appendOperator(to []byte, id uint64, o *Operator) []byte {
	to = appendText(binary.AppendUvarint(to, id), o.Scalars)
	if g := o.Generator; g != nil {
		to = append(to, 1)
		for _, x := range []uint64{g.Seed, g.Before, g.After} {
			to = binary.LittleEndian.AppendUint64(to, x)
		}
	} else {
		to = append(to, 0)
	}
	for i := range o.Values {
		to = appendValue(to, &o.Values[i], o.Place.Slots[i].Role)
	}
	return to
}

func appendValue(to []byte, v *Value, role Role) []byte {
	to = append(to, byte(v.State))
	if v.State != Taken {
		return to
	}
	to = binary.LittleEndian.AppendUint64(to, v.Digest)
	to = binary.AppendUvarint(binary.AppendUvarint(to, uint64(v.NaN)), uint64(v.Inf))
	to = binary.LittleEndian.AppendUint64(to, math.Float64bits(v.Max))
	if role == Input {
		return to
	}
	to = binary.LittleEndian.AppendUint64(to, math.Float64bits(v.Sum))
	return append(binary.AppendUvarint(to, uint64(len(v.Sample))), v.Sample...)
}

// parser takes a payload apart; after the first thing that does not fit, wrong says what, and everything is zero.
type parser struct {
	rest  []byte
	wrong string
}

func (p *parser) fail(what string) {
	if p.wrong == "" {
		p.wrong = what
	}
	p.rest = nil
}

func (p *parser) bytes(n uint64) []byte {
	if p.wrong != "" || n > uint64(len(p.rest)) {
		p.fail("it ends too early")
		return nil
	}
	b := p.rest[:n]
	p.rest = p.rest[n:]
	return b
}

func (p *parser) byte(below byte, what string) byte {
	b := p.bytes(1)
	if b == nil {
		return 0
	}
	if b[0] >= below {
		p.fail("there is no such " + what)
		return 0
	}
	return b[0]
}

func (p *parser) uvarint() uint64 {
	x, n := binary.Uvarint(p.rest)
	if n <= 0 {
		p.fail("a number ends too early or is too long")
		return 0
	}
	p.rest = p.rest[n:]
	return x
}

func (p *parser) count() int64 {
	x := p.uvarint()
	if x > math.MaxInt64 {
		p.fail("a count is too large")
		return 0
	}
	return int64(x)
}

func (p *parser) varint() int64 {
	x, n := binary.Varint(p.rest)
	if n <= 0 {
		p.fail("a number ends too early or is too long")
		return 0
	}
	p.rest = p.rest[n:]
	return x
}

func (p *parser) fixed() uint64 {
	b := p.bytes(8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

func (p *parser) text() string {
	n := p.uvarint()
	if n > maxText {
		p.fail("a text is too long")
		return ""
	}
	return string(p.bytes(n))
}

func (p *parser) dims() []int64 {
	n := p.uvarint()
	if n > maxDims {
		p.fail("there are too many dimensions")
		return nil
	}
	dims := make([]int64, 0, n)
	for range n {
		dims = append(dims, p.varint())
	}
	return dims
}

func (p *parser) place() (id uint64, place *Place) {
	id = p.uvarint()
	place = &Place{Phase: Phase(p.byte(byte(phases), "phase"))}
	place.Module, place.Class, place.Operator = p.text(), p.text(), p.text()
	n := p.uvarint()
	if n > maxSlots {
		p.fail("there are too many tensors")
		n = 0
	}
	for i := uint64(0); i < n && p.wrong == ""; i++ {
		place.Slots = append(place.Slots, Slot{Role: Role(p.byte(byte(roles), "role")), Name: p.text(), Type: p.text(), Shape: p.dims(), Stride: p.dims()})
	}
	if len(p.rest) > 0 { // the first tapes had no lines
		place.Line = p.text()
	}
	return id, place
}

func (p *parser) operator(places map[uint64]*Place) *Operator {
	o := &Operator{Place: places[p.uvarint()]}
	if o.Place == nil {
		p.fail("its place was not described")
		return o
	}
	o.Scalars = p.text()
	if p.byte(2, "flag") == 1 {
		o.Generator = &Generator{Seed: p.fixed(), Before: p.fixed(), After: p.fixed()}
	}
	o.Values = make([]Value, 0, len(o.Place.Slots))
	for i := range o.Place.Slots {
		if p.wrong != "" {
			break
		}
		o.Values = append(o.Values, p.value(o.Place.Slots[i].Role))
	}
	return o
}

func (p *parser) value(role Role) (v Value) {
	v.State = State(p.byte(byte(states), "state"))
	if v.State != Taken {
		return v
	}
	v.Digest, v.NaN, v.Inf, v.Max = p.fixed(), p.count(), p.count(), math.Float64frombits(p.fixed())
	if role == Input {
		return v
	}
	v.Sum = math.Float64frombits(p.fixed())
	n := p.uvarint()
	if n > sampleBytes {
		p.fail("more elements are kept than fit")
		return v
	}
	v.Sample = append([]byte{}, p.bytes(n)...)
	return v
}
