package tape

import (
	"encoding/binary"
	"math"
	"sync"
)

// The constants of the digest.
const (
	digestStep = 0x9E3779B97F4A7C15
	digestMix  = 0xD6E8FEB86659FD93
)

// chunk is how many bytes one goroutine looks at by itself. Sums are added by chunk, so that they do not depend on the number of goroutines.
const chunk = 1 << 18

// mix spreads each bit of a word over all of it.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= digestMix
	x ^= x >> 32
	x *= digestMix
	return x ^ x>>32
}

// elementBytes are the sizes of the types of elements that are known, by name.
var elementBytes = map[string]int{
	"bool": 1, "uint8": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
	"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16,
	"float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1,
}

// partial is what one chunk comes to.
type partial struct {
	digest   uint64
	nan, inf int64
	finite   bool
	max, sum float64
}

// Of computes the value of a tensor whose elements of a type lie in memory one after the other.
func Of(elementType string, memory []byte, sampled bool) Value {
	look := looks[elementType]
	if look == nil {
		look = plain
	}
	parts := make([]partial, (len(memory)+chunk-1)/chunk)
	each := func(i int) {
		from := i * chunk
		parts[i] = look(memory[from:min(from+chunk, len(memory))], uint64(from/8))
	}
	if len(parts) <= 4 {
		for i := range parts {
			each(i)
		}
	} else {
		var all sync.WaitGroup
		const workers = 4
		for w := range workers {
			all.Add(1)
			go func() {
				defer all.Done()
				for i := w; i < len(parts); i += workers {
					each(i)
				}
			}()
		}
		all.Wait()
	}
	v := Value{Max: math.NaN()}
	for i := range parts {
		p := &parts[i]
		v.Digest += p.digest
		v.NaN += p.nan
		v.Inf += p.inf
		if p.finite && !(v.Max >= p.max) {
			v.Max = p.max
		}
		v.Sum += p.sum
	}
	v.Digest ^= mix(uint64(len(memory)) * digestStep)
	if sampled {
		v.Sample = sample(elementType, memory)
	}
	return v
}

// SampleBytes is how many bytes of a tensor are kept in a record.
const SampleBytes = 64

// SampleAt is the place of the i-th kept element of n, of which k are kept.
func SampleAt(i, k, n int64) int64 {
	if k < 2 {
		return 0
	}
	return i * (n - 1) / (k - 1)
}

func sample(elementType string, memory []byte) []byte {
	size := elementBytes[elementType]
	if len(memory) <= SampleBytes || size == 0 {
		return append([]byte{}, memory[:min(len(memory), SampleBytes)]...)
	}
	n, k := int64(len(memory)/size), int64(SampleBytes/size)
	kept := make([]byte, 0, SampleBytes)
	for i := range k {
		at := SampleAt(i, k, n) * int64(size)
		kept = append(kept, memory[at:at+int64(size)]...)
	}
	return kept
}

// looks are how chunks are looked at, by the type of their elements. Types that are not here have a digest alone.
var looks = map[string]func([]byte, uint64) partial{
	"float32": ofFloat32, "complex64": ofFloat32, "float64": ofFloat64, "complex128": ofFloat64, "float16": ofFloat16, "bfloat16": ofBfloat16,
}

// plain is the digest alone. first is the number of the chunk's first word.
func plain(b []byte, first uint64) (p partial) {
	k := first * digestStep
	for ; len(b) >= 8; b = b[8:] {
		k += digestStep
		p.digest += mix(binary.LittleEndian.Uint64(b) + k)
	}
	if len(b) > 0 {
		p.digest += mix(tail(b) + k + digestStep)
	}
	return p
}

// tail is the last word, filled up with zeros.
func tail(b []byte) uint64 {
	var last [8]byte
	copy(last[:], b)
	return binary.LittleEndian.Uint64(last[:])
}

func ofFloat32(b []byte, first uint64) (p partial) {
	elements := int64(len(b) / 4)
	k := first * digestStep
	var most uint32
	var sum float64
	one := func(x uint32) {
		switch magnitude := x &^ (1 << 31); {
		case magnitude < 0x7F800000:
			most = max(most, magnitude)
			sum += float64(math.Float32frombits(x))
		case magnitude == 0x7F800000:
			p.inf++
		default:
			p.nan++
		}
	}
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		k += digestStep
		p.digest += mix(w + k)
		x, y := uint32(w), uint32(w>>32)
		if mx, my := x&^(1<<31), y&^(1<<31); mx < 0x7F800000 && my < 0x7F800000 {
			most = max(most, mx, my)
			sum += float64(math.Float32frombits(x)) + float64(math.Float32frombits(y))
			continue
		}
		one(x)
		one(y)
	}
	if len(b) > 0 {
		p.digest += mix(tail(b) + k + digestStep)
		if len(b) == 4 {
			one(uint32(tail(b)))
		}
	}
	p.max, p.sum = float64(math.Float32frombits(most)), sum
	p.finite = elements > p.nan+p.inf
	return p
}

func ofFloat64(b []byte, first uint64) (p partial) {
	elements := int64(len(b) / 8)
	k := first * digestStep
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		k += digestStep
		p.digest += mix(w + k)
		switch magnitude := w &^ (1 << 63); {
		case magnitude < 0x7FF0000000000000:
			p.max = max(p.max, math.Float64frombits(magnitude))
			p.sum += math.Float64frombits(w)
		case magnitude == 0x7FF0000000000000:
			p.inf++
		default:
			p.nan++
		}
	}
	if len(b) > 0 {
		p.digest += mix(tail(b) + k + digestStep)
	}
	p.finite = elements > p.nan+p.inf
	return p
}

func ofFloat16(b []byte, first uint64) partial  { return ofHalf(b, first, 0x7C00, Float16) }
func ofBfloat16(b []byte, first uint64) partial { return ofHalf(b, first, 0x7F80, Bfloat16) }

func ofHalf(b []byte, first uint64, infinity uint16, value func(uint16) float64) (p partial) {
	p = plain(b, first)
	elements := int64(len(b) / 2)
	var most uint16
	for ; len(b) >= 2; b = b[2:] {
		x := binary.LittleEndian.Uint16(b)
		switch magnitude := x &^ (1 << 15); {
		case magnitude < infinity:
			most = max(most, magnitude)
			p.sum += value(x)
		case magnitude == infinity:
			p.inf++
		default:
			p.nan++
		}
	}
	p.max = value(most)
	p.finite = elements > p.nan+p.inf
	return p
}

// Bfloat16 is the value of a bfloat16.
func Bfloat16(x uint16) float64 { return float64(math.Float32frombits(uint32(x) << 16)) }

// Float16 is the value of an IEEE 754 half.
func Float16(x uint16) float64 {
	sign := 1.0
	if x>>15 != 0 {
		sign = -1
	}
	exponent, fraction := int(x>>10&0x1F), float64(x&0x3FF)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 0x1F:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}
