package site

import "strconv"

// Variant says how bytes above 0x7f of a name enter the hash of format v1: writers differ.
type Variant uint8

// The variants. They agree on names in ASCII.
const (
	SignExtended Variant = 0 // the compiler pass: bytes are signed characters
	zeroExtended Variant = 1 // the NVBit writer
)

const (
	fnvBasis32 = 2166136261
	fnvPrime32 = 16777619
)

func idText(file, function string, line, column uint32, kind Kind, ordinal int) []byte {
	if line == 0 && column == 0 {
		b := append([]byte(function), ':')
		b = strconv.AppendUint(b, uint64(kind), 10)
		return strconv.AppendInt(append(b, ":ord"...), int64(ordinal), 10)
	}
	b := append(append([]byte(file), ':'), function...)
	b = strconv.AppendUint(append(b, ':'), uint64(line), 10)
	b = strconv.AppendUint(append(b, ':'), uint64(column), 10)
	return strconv.AppendUint(append(b, ':'), uint64(kind), 10)
}

func hash32(v Variant, text []byte) uint32 {
	h := uint32(fnvBasis32)
	for _, c := range text {
		if v == SignExtended {
			h ^= uint32(int32(int8(c)))
		} else {
			h ^= uint32(c)
		}
		h *= fnvPrime32
	}
	return h
}

// Assigner gives out ids of format v1 for the sites of one module, in the order in which the compiler pass meets them.
type Assigner struct {
	variant  Variant
	owners   map[uint32]place
	ordinals map[counter]int
}

// place is what an id stands for. Everything at one place shares one id: unrolled and inlined copies, the elements of a tile.
type place struct {
	at   Frame
	kind Kind
}

type counter struct {
	function string
	kind     Kind
}

// NewAssigner returns an Assigner that has given out nothing.
func NewAssigner(v Variant) *Assigner {
	return &Assigner{variant: v, owners: map[uint32]place{}, ordinals: map[counter]int{}}
}

// Assign returns the id of a place and its ordinal, which counts the requests for a function and kind from 0 and advances even when
// the id was given out before. isNew says that it was not. Two places whose hashes collide get different ids.
func (a *Assigner) Assign(at Frame, kind Kind) (id uint32, ordinal int, isNew bool) {
	count := counter{at.Function, kind}
	ordinal = a.ordinals[count]
	a.ordinals[count] = ordinal + 1
	want := place{at, kind}
	text := idText(at.File, at.Function, at.Line, at.Column, kind, ordinal)
	id = hash32(a.variant, text)
	for n := 1; ; n++ {
		owner, taken := a.owners[id]
		if !taken {
			a.owners[id] = want
			return id, ordinal, true
		}
		if owner == want {
			return id, ordinal, false
		}
		id = hash32(a.variant, strconv.AppendInt(append(text[:len(text):len(text)], ":c"...), int64(n), 10))
	}
}
