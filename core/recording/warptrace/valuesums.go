package warptrace

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// ValueSums are sums over values without their places: what a statement stored, wherever it went and in whatever order, or what an
// array holds. Equal runs that store at other places (tickets, compaction) have equal sums, and equal runs that round otherwise have
// sums that are near each other. All are sums of integers, so no order matters, and none needs the type of the elements.
type ValueSums struct {
	Hash     uint64 // of StoredHash at offset 0: tells multisets of values apart
	Bits     uint64 // of the bits of values but the top one, of 8 bytes those of the upper half; of floats a measure on a scale of logarithms
	Tops     uint64 // values whose top bit is set: negative ones, where the type has a sign
	Specials uint64 // values of 2, 4 or 8 bytes that are infinite or no number, were they floats
	Placed   int64  // of arrays: as Bits, each value added or subtracted by placeSign of its offset; of stores 0
}

// specials are the least values that are infinite or NaN, by the size of a float without its sign. Two bytes are read as fp16: a number
// of bf16 that is as large is above 1e36.
var specials = [9]uint64{2: 0x7c00, 4: 0x7f800000, 8: 0x7ff0000000000000}

// Add adds one value: its bytes in the low bits, its size in bytes, and the shape of StoredHash.
func (s *ValueSums) Add(value uint64, size int, shape uint64) {
	s.Hash += StoredHash(0, value, shape)
	s.measure(value, size)
}

func (s *ValueSums) measure(value uint64, size int) (bits uint64) {
	top := uint64(8*size - 1)
	bits = value &^ (math.MaxUint64 << top)
	s.Tops += value >> top & 1
	if least := specials[size]; least != 0 && bits >= least {
		s.Specials++
	}
	if size == 8 {
		bits >>= 32 // so that no sum is too large
	}
	s.Bits += bits
	return bits
}

// AddPlaced adds one element of an array that is not an address.
func (s *ValueSums) AddPlaced(offset int64, value uint64, size int) {
	s.Hash += StoredHash(0, value, uint64(size))
	s.Placed += placeSign(offset) * int64(s.measure(value, size))
}

// placeSign is 1 or -1 for an offset in an array: values that change places change the sum.
func placeSign(offset int64) int64 { return int64(uint64(offset)*digestP1>>63)*2 - 1 }

// wordStep is what 4 bytes further is in the product that placeSign looks at.
const wordStep = digestP1 * 4 % (1 << 64)

// AddWords adds elements of 4 bytes, one after another, to the sums of an array.
func (s *ValueSums) AddWords(offset int64, elements []byte) {
	place, at := HashPlace(0, 4), uint64(offset)*digestP1
	var hash, bits, tops, more uint64
	var placed int64
	for ; len(elements) >= 4; elements = elements[4:] {
		v := binary.LittleEndian.Uint32(elements)
		low := uint64(v &^ (1 << 31))
		hash += HashAt(place, uint64(v))
		bits += low
		tops += uint64(v >> 31)
		if low >= 0x7f800000 {
			more++
		}
		minus := int64(at>>63) - 1 // -1 where the sign is one
		placed += (int64(low) ^ minus) - minus
		at += wordStep
	}
	s.Plus(&ValueSums{hash, bits, tops, more, placed})
}

// AddLanes adds elements of 4 bytes of the lanes of a warp.
func (s *ValueSums) AddLanes(values *[32]uint32, lanes uint32, shape uint64) {
	place := HashPlace(0, shape)
	var hash, bits, tops, more uint64
	for l, v := range values {
		if lanes>>l&1 == 0 {
			continue
		}
		low := uint64(v &^ (1 << 31))
		hash += HashAt(place, uint64(v))
		bits += low
		tops += uint64(v >> 31)
		if low >= 0x7f800000 {
			more++
		}
	}
	s.Plus(&ValueSums{hash, bits, tops, more, 0})
}

// Plus adds the sums of others.
func (s *ValueSums) Plus(x *ValueSums) {
	s.Hash += x.Hash
	s.Bits += x.Bits
	s.Tops += x.Tops
	s.Specials += x.Specials
	s.Placed += x.Placed
}

// values adds sums that were recorded.
func (m message) values(num protowire.Number, s *ValueSums) message {
	if s == nil {
		return m
	}
	return m.sub(num, message(nil).fixed(1, s.Hash).uint(2, s.Bits).uint(3, s.Tops).uint(4, s.Specials).uint(5, zigzag(uint64(s.Placed))))
}

func decodeValueSums(b []byte) (*ValueSums, error) {
	s := &ValueSums{}
	err := eachField(b, func(f *field) error {
		switch f.num {
		case 1:
			s.Hash = f.v
		case 2:
			s.Bits = f.v
		case 3:
			s.Tops = f.v
		case 4:
			s.Specials = f.v
		case 5:
			s.Placed = int64(unzigzag(f.v))
		}
		return nil
	})
	return s, err
}
