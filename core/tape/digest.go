package tape

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/prlx-go/prlx/core/safe"
)

// The constants of the digest, and multiples of the first modulo 2^64.
const (
	digestStep uint64 = 0x9E3779B97F4A7C15
	digestMix  uint64 = 0xD6E8FEB86659FD93
	step2      uint64 = 2 * 0x9E3779B97F4A7C15 % (1 << 64)
	step3      uint64 = 3 * 0x9E3779B97F4A7C15 % (1 << 64)
	step4      uint64 = 4 * 0x9E3779B97F4A7C15 % (1 << 64)
)

// chunk is how many bytes one goroutine looks at by itself. Sums are added by chunk, so that they do not depend on the number of goroutines.
const chunk = 1 << 18

// mix spreads each bit of a word over most of it.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= digestMix
	return x ^ x>>29
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
	most     uint64 // the bits of the largest magnitude among finite elements, and of all before they were counted
	nan, inf int64
	finite   bool
	sum      float64
}

// Of computes the value of a tensor whose elements of a type lie in memory one after the other. Of what was written, elements are kept and
// added up.
func Of(elementType string, memory []byte, written bool) Value {
	of := kinds[elementType]
	v := Value{Max: math.NaN()}
	if len(memory) <= chunk { // as most are
		p := of.look(memory, 0, written)
		v.take(&p, of)
	} else {
		parts := make([]partial, (len(memory)+chunk-1)/chunk)
		inParallel(len(parts), func(i int) {
			parts[i] = of.look(memory[i*chunk:min((i+1)*chunk, len(memory))], uint64(i)*chunk/8, written)
		})
		for i := range parts {
			v.take(&parts[i], of)
		}
	}
	v.Digest ^= mix(uint64(len(memory)) * digestStep)
	if written {
		v.Sample = sample(elementType, memory)
	}
	return v
}

// look looks at one chunk, whose first word has a number.
func (k kind) look(b []byte, first uint64, written bool) (p partial) {
	switch k.bits {
	case 16:
		p.digest, p.most = digest16(b, first)
	case 32:
		p.digest, p.most = digest32(b, first)
	case 64:
		p.digest, p.most = digest64(b, first)
	default:
		p.digest = digest(b, first)
		return p
	}
	k.count(&p, b)
	if written {
		k.add(&p, b)
	}
	return p
}

// take adds a chunk to the value of its tensor.
func (v *Value) take(p *partial, of kind) {
	v.Digest += p.digest
	v.NaN += p.nan
	v.Inf += p.inf
	if p.finite {
		v.Max = larger(v.Max, of.value(p.most))
	}
	v.Sum += p.sum
}

// larger is the larger of two numbers of which the first may not be there yet.
func larger(a, b float64) float64 {
	if a >= b {
		return a
	}
	return b
}

// inParallel calls a function for each number below n, by several goroutines where there is much to do.
func inParallel(n int, each func(int)) {
	workers := min(4, n/4)
	if workers < 2 {
		for i := range n {
			each(i)
		}
		return
	}
	group, _ := safe.NewGroup(context.Background())
	for w := range workers {
		group.Go(func() error {
			for i := w; i < n; i += workers {
				each(i)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		panic(err) // of a part: the caller's fence has it
	}
}

// sampleBytes is how many bytes of a tensor are kept in a record.
const sampleBytes = 64

// sampleAt is the place of the i-th kept element of n, of which k are kept.
func sampleAt(i, k, n int64) int64 {
	if k < 2 {
		return 0
	}
	return i * (n - 1) / (k - 1)
}

func sample(elementType string, memory []byte) []byte {
	size := elementBytes[elementType]
	if len(memory) <= sampleBytes || size == 0 {
		return append([]byte{}, memory[:min(len(memory), sampleBytes)]...)
	}
	n, k := int64(len(memory)/size), int64(sampleBytes/size)
	kept := make([]byte, 0, sampleBytes)
	for i := range k {
		at := sampleAt(i, k, n) * int64(size)
		kept = append(kept, memory[at:at+int64(size)]...)
	}
	return kept
}

// digest is that of a chunk, whose first word has a number.
func digest(b []byte, first uint64) (d uint64) {
	k := first * digestStep
	for ; len(b) >= 32; b = b[32:] {
		q := (*[32]byte)(b)
		d += mix(binary.LittleEndian.Uint64(q[0:])+k+digestStep) +
			mix(binary.LittleEndian.Uint64(q[8:])+k+step2) +
			mix(binary.LittleEndian.Uint64(q[16:])+k+step3) +
			mix(binary.LittleEndian.Uint64(q[24:])+k+step4)
		k += step4
	}
	for ; len(b) > 0; b = b[min(8, len(b)):] {
		k += digestStep
		d += mix(tail(b[:min(8, len(b))]) + k) // the last word is filled up with zeros
	}
	return d
}

// magnitudes is every bit but the highest of a word: the sign of its highest element.
const magnitudes = 1<<63 - 1

// digest16, digest32 and digest64 are digest, and the bits of the largest magnitude of elements of so many bits. An element is compared where it
// stands highest in its word, with what is below it: that cannot put it above a larger one.
func digest16(b []byte, first uint64) (d, most uint64) {
	k := first * digestStep
	var m0, m1, m2, m3 uint64
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		k += digestStep
		d += mix(w + k)
		m0, m1 = max(m0, w&magnitudes), max(m1, w<<16&magnitudes)
		m2, m3 = max(m2, w<<32&magnitudes), max(m3, w<<48&magnitudes)
	}
	w := tail(b)
	if len(b) > 0 {
		d += mix(w + k + digestStep)
	}
	return d, max(m0, m1, m2, m3, w&magnitudes, w<<16&magnitudes, w<<32&magnitudes, w<<48&magnitudes) >> 48
}

func digest32(b []byte, first uint64) (d, most uint64) {
	k := first * digestStep
	var m0, m1, m2, m3 uint64
	for ; len(b) >= 16; b = b[16:] {
		q := (*[16]byte)(b)
		w, x := binary.LittleEndian.Uint64(q[0:]), binary.LittleEndian.Uint64(q[8:])
		d += mix(w+k+digestStep) + mix(x+k+step2)
		k += step2
		m0, m1 = max(m0, w&magnitudes), max(m1, w<<32&magnitudes)
		m2, m3 = max(m2, x&magnitudes), max(m3, x<<32&magnitudes)
	}
	for ; len(b) > 0; b = b[min(8, len(b)):] {
		w := tail(b[:min(8, len(b))])
		k += digestStep
		d += mix(w + k)
		m0, m1 = max(m0, w&magnitudes), max(m1, w<<32&magnitudes)
	}
	return d, max(m0, m1, m2, m3) >> 32
}

func digest64(b []byte, first uint64) (d, most uint64) {
	k := first * digestStep
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		k += digestStep
		d += mix(w + k)
		most = max(most, w&magnitudes)
	}
	if len(b) > 0 {
		d += mix(tail(b) + k + digestStep)
	}
	return d, most
}

// tail is a word from at most eight bytes.
func tail(b []byte) uint64 {
	var last [8]byte
	copy(last[:], b)
	return binary.LittleEndian.Uint64(last[:])
}

// kind is how elements of a floating-point type are read.
type kind struct {
	bits     int
	infinity uint64 // its bits
	value    func(magnitude uint64) float64
	sum      func(b []byte) float64 // of elements that are all finite
}

// kinds are the floating-point types. Others have a digest alone.
var kinds = map[string]kind{
	"float16": half, "bfloat16": brain, "float32": single, "float64": double, "complex64": single, "complex128": double,
}

var (
	half   = kind{16, 0x7C00, func(m uint64) float64 { return Float16(uint16(m)) }, func(b []byte) float64 { return sum16(b, 13, 0x1p112) }}
	brain  = kind{16, 0x7F80, func(m uint64) float64 { return Bfloat16(uint16(m)) }, func(b []byte) float64 { return sum16(b, 16, 1) }}
	single = kind{32, 0x7F800000, func(m uint64) float64 { return float64(math.Float32frombits(uint32(m))) }, sum32}
	double = kind{64, 0x7FF0000000000000, math.Float64frombits, sum64}
)

// count counts elements that are NaN or infinite. Where there are any it looks for the largest of the others.
func (k kind) count(p *partial, b []byte) {
	elements := int64(len(b) * 8 / k.bits)
	if p.most >= k.infinity {
		p.most = 0
		k.each(b, func(_ []byte, m uint64) {
			switch {
			case m < k.infinity:
				p.most = max(p.most, m)
			case m == k.infinity:
				p.inf++
			default:
				p.nan++
			}
		})
	}
	p.finite = elements > p.nan+p.inf
}

// add adds up the finite elements.
func (k kind) add(p *partial, b []byte) {
	if p.nan+p.inf == 0 {
		p.sum = k.sum(b)
		return
	}
	k.each(b, func(one []byte, m uint64) {
		if m < k.infinity {
			p.sum += k.sum(one)
		}
	})
}

// each visits elements with the bits of their magnitude.
func (k kind) each(b []byte, visit func(one []byte, magnitude uint64)) {
	for size := k.bits / 8; len(b) >= size; b = b[size:] {
		visit(b[:size], tail(b[:size])&(1<<(k.bits-1)-1))
	}
}

// sum16 adds up elements whose bits, moved so far, are those of a float32 that is a power of two away.
func sum16(b []byte, shift int, scale float64) float64 {
	var s0, s1 float64
	at := func(x uint16) float64 {
		return float64(math.Float32frombits(uint32(x&0x7FFF)<<shift | uint32(x&0x8000)<<16))
	}
	for ; len(b) >= 4; b = b[4:] {
		w := binary.LittleEndian.Uint32(b)
		s0 += at(uint16(w))
		s1 += at(uint16(w >> 16))
	}
	if len(b) >= 2 {
		s0 += at(binary.LittleEndian.Uint16(b))
	}
	return (s0 + s1) * scale
}

func sum32(b []byte) float64 {
	var s0, s1, s2, s3 float64
	for ; len(b) >= 16; b = b[16:] {
		q := (*[16]byte)(b)
		s0 += float64(math.Float32frombits(binary.LittleEndian.Uint32(q[0:])))
		s1 += float64(math.Float32frombits(binary.LittleEndian.Uint32(q[4:])))
		s2 += float64(math.Float32frombits(binary.LittleEndian.Uint32(q[8:])))
		s3 += float64(math.Float32frombits(binary.LittleEndian.Uint32(q[12:])))
	}
	for ; len(b) >= 4; b = b[4:] {
		s0 += float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return s0 + s1 + (s2 + s3)
}

func sum64(b []byte) (sum float64) {
	for ; len(b) >= 8; b = b[8:] {
		sum += math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return sum
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
