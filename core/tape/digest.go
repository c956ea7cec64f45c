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
	if k.bits == 0 {
		p.digest = digest(b, first)
		return p
	}
	t := k.whole(b, first)
	p.digest, p.most = t.digest, t.most
	if p.most < k.infinity {
		p.finite = len(b)*8 >= k.bits
		if written {
			p.sum = k.total(&t.sums)
		}
		return p
	}
	k.count(&p, b)
	if !written {
		p.sum = 0
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

// tail is a word from at most eight bytes.
func tail(b []byte) uint64 {
	var last [8]byte
	copy(last[:], b)
	return binary.LittleEndian.Uint64(last[:])
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
