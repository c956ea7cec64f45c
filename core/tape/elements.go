package tape

import (
	"encoding/binary"
	"math"
)

// kind is how elements of a floating-point type are read. That of another type is zero: it has a digest alone.
type kind struct {
	name     kindName
	bits     int
	infinity uint64 // its bits
	value    func(magnitude uint64) float64
}

type kindName int

const (
	half kindName = iota + 1
	brain
	single
	double
)

// kinds are the floating-point types.
var kinds = map[string]kind{
	"float16": ofHalf, "bfloat16": ofBrain, "float32": ofSingle, "float64": ofDouble, "complex64": ofSingle, "complex128": ofDouble,
}

var (
	ofHalf   = kind{half, 16, 0x7C00, func(m uint64) float64 { return Float16(uint16(m)) }}
	ofBrain  = kind{brain, 16, 0x7F80, func(m uint64) float64 { return Bfloat16(uint16(m)) }}
	ofSingle = kind{single, 32, 0x7F800000, func(m uint64) float64 { return float64(math.Float32frombits(uint32(m))) }}
	ofDouble = kind{double, 64, 0x7FF0000000000000, math.Float64frombits}
)

// blockBytes is how many bytes a loop looks at in one round. An element is added to the sum that its place in the block gives, so that sums do
// not depend on who adds them up.
const (
	blockBytes = 32
	mostLanes  = 16 // elements of 16 bits in a block
)

// tally is what elements come to: the digest of their words, the bits of the largest magnitude, and sums by place in the block.
type tally struct {
	digest, most uint64
	sums         [mostLanes]float64
}

// whole looks at a chunk, whose first word has a number. An end that fills no block is looked at as one that ends in zeros, which change neither
// sums nor magnitudes.
func (k kind) whole(b []byte, first uint64) tally {
	n := len(b) &^ (blockBytes - 1)
	t := k.blocks(b[:n], first)
	if n == len(b) {
		return t
	}
	var last [blockBytes]byte
	copy(last[:], b[n:])
	end := k.blocksInGo(last[:], 0)
	t.digest += digest(b[n:], first+uint64(n)/8)
	t.most = max(t.most, end.most)
	for i, s := range end.sums {
		t.sums[i] += s
	}
	return t
}

// total adds up the sums, pairs of them at a time.
func (k kind) total(sums *[mostLanes]float64) float64 {
	s := *sums
	for n := blockBytes * 4 / k.bits; n > 0; n /= 2 {
		for i := range n {
			s[i] += s[i+n]
		}
	}
	return s[0]
}

// blocksInGo is blocks without vectors.
func (k kind) blocksInGo(b []byte, first uint64) tally {
	t := tally{digest: digest(b, first)}
	switch k.bits {
	case 16:
		k.add16(&t, b)
	case 32:
		for ; len(b) >= blockBytes; b = b[blockBytes:] {
			for i := range blockBytes / 4 {
				x := binary.LittleEndian.Uint32(b[4*i:])
				t.most = max(t.most, uint64(x&(1<<31-1)))
				t.sums[i] += float64(math.Float32frombits(x))
			}
		}
	case 64:
		for ; len(b) >= blockBytes; b = b[blockBytes:] {
			for i := range blockBytes / 8 {
				x := binary.LittleEndian.Uint64(b[8*i:])
				t.most = max(t.most, x&(1<<63-1))
				t.sums[i] += math.Float64frombits(x)
			}
		}
	}
	return t
}

// add16 adds elements whose bits, moved so far, are those of a float32 that is a power of two away.
func (k kind) add16(t *tally, b []byte) {
	shift, scale := 16, 1.0
	if k.name == half {
		shift, scale = 13, 0x1p112
	}
	for ; len(b) >= blockBytes; b = b[blockBytes:] {
		for i := range blockBytes / 2 {
			x := binary.LittleEndian.Uint16(b[2*i:])
			t.most = max(t.most, uint64(x&0x7FFF))
			t.sums[i] += float64(math.Float32frombits(uint32(x&0x7FFF)<<shift | uint32(x&0x8000)<<16))
		}
	}
	for i := range t.sums {
		t.sums[i] *= scale
	}
}

// count looks one by one at elements of which some are NaN or infinite: it counts these, and takes the others' sum and largest magnitude.
func (k kind) count(p *partial, b []byte) {
	p.most = 0
	for size := k.bits / 8; len(b) >= size; b = b[size:] {
		bits := tail(b[:size])
		m := bits & (1<<(k.bits-1) - 1)
		switch {
		case m < k.infinity:
			p.finite = true
			p.most = max(p.most, m)
			if m != bits {
				p.sum -= k.value(m)
			} else {
				p.sum += k.value(m)
			}
		case m == k.infinity:
			p.inf++
		default:
			p.nan++
		}
	}
}
