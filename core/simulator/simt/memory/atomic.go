package memory

import (
	"math"
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// Atomic executes an atomic or a reduction in the lanes of mask, in ascending order: each lane sees what those before it did.
// The old values go to t.Regs where they are not -1. Lanes that fault read 0 and write nothing.
func (g *Global) Atomic(r *lane.Regs, t *Transfer, op *AtomicOp, mask uint32) *Fault {
	var room [lane.Lanes]uint64
	return g.atomic(r, t, op, addresses(r, t, &room), mask)
}

func (g *Global) atomic(r *lane.Regs, t *Transfer, op *AtomicOp, a *[lane.Lanes]uint64, mask uint32) *Fault {
	width, off := uint64(t.Elem*t.Count), uint64(t.Offset)
	var found faults
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		address := a[l] + off
		if t.Part != 0 && g.atomicPiece(&found, r, t, op, l, address) {
			continue
		}
		if in := g.check(&found, t, l, address, width, loads|stores); in != nil {
			in.checkWritten(&found, l, address, width, loads|stores)
			in.write(address, width)
			op.lane(r, t, l, in.bytes[address-in.base:], flushes)
		} else {
			t.clear(r, l)
		}
	}
	return found.first
}

// flush says whether sums of f32 lose their subnormals: they do in global memory, and do not in shared memory.
type flush bool

const (
	flushes flush = true
	keeps   flush = false
)

// lane does the whole vector of one lane.
func (op *AtomicOp) lane(r *lane.Regs, t *Transfer, l int, p []byte, f flush) {
	var old [8]uint64
	wide := t.Elem == 8 || t.Wide
	for i := range t.Count {
		q := p[i*t.Elem:]
		v := element(q, t.Elem)
		old[i] = v
		b := operand(r, t.Data[i], l, wide)
		switch op.Kind {
		case Exch:
			v = b
		case CAS:
			if v == mask(b, t.Elem) {
				v = operand(r, t.New[i], l, wide)
			}
		default:
			v = op.apply(v, b, f)
		}
		setElement(q, t.Elem, v)
	}
	for i, reg := range t.Regs[:t.Count] {
		switch {
		case reg < 0:
		case wide:
			r.R64[reg][l] = old[i]
		default:
			r.R32[reg][l] = uint32(old[i])
		}
	}
}

func operand(r *lane.Regs, reg int32, l int, wide bool) uint64 {
	if wide {
		return r.R64[reg][l]
	}
	return uint64(r.R32[reg][l])
}

// mask keeps the low n bytes.
func mask(v uint64, n int) uint64 { return v << (64 - 8*n) >> (64 - 8*n) }

// apply returns what memory holds after an operation on the value a of memory and the operand b.
func (op *AtomicOp) apply(a, b uint64, f flush) uint64 {
	switch op.Kind {
	case And:
		return a & b
	case Or:
		return a | b
	case Xor:
		return a ^ b
	}
	switch op.Type {
	case ptx.F16x2, ptx.BF16x2:
		half := halfOf(op.Type)
		return half.apply(op.Kind, a&0xffff, b&0xffff) | half.apply(op.Kind, a>>16&0xffff, b>>16&0xffff)<<16
	case ptx.F16, ptx.BF16:
		return halfOf(op.Type).apply(op.Kind, a&0xffff, b&0xffff)
	case ptx.F32:
		return uint64(addFloats(uint32(a), uint32(b), f))
	case ptx.F64:
		return math.Float64bits(math.Float64frombits(a) + math.Float64frombits(b))
	case ptx.S32:
		return uint64(uint32(applyInteger(op.Kind, int32(a), int32(b))))
	case ptx.S64:
		return uint64(applyInteger(op.Kind, int64(a), int64(b)))
	case ptx.U64, ptx.B64:
		return applyInteger(op.Kind, a, b)
	}
	return uint64(applyInteger(op.Kind, uint32(a), uint32(b)))
}

func applyInteger[T int32 | int64 | uint32 | uint64](kind AtomicKind, a, b T) T {
	switch kind {
	case Add:
		return a + b
	case Min:
		return min(a, b)
	case Max:
		return max(a, b)
	case Inc:
		if a >= b {
			return 0
		}
		return a + 1
	case Dec:
		if a == 0 || a > b {
			return b
		}
		return a - 1
	}
	return b
}

const canonicalNaN = 0x7fffffff // what operations on f32 make instead of any other NaN

// addFloats is the only operation on f32 that PTX has.
func addFloats(a, b uint32, f flush) uint32 {
	if f == flushes {
		a, b = flushed(a), flushed(b)
	}
	sum := math.Float32frombits(a) + math.Float32frombits(b)
	if sum != sum {
		return canonicalNaN
	}
	v := math.Float32bits(sum)
	if f == flushes {
		v = flushed(v)
	}
	return v
}

// lesser is the smaller of two numbers; a NaN loses against a number, and -0 is smaller than 0.
func lesser(x, y float64, negative bool) float64 {
	switch {
	case x != x:
		return y
	case y != y, x < y:
		return x
	case x == y && negative:
		return x
	}
	return y
}

// flushed replaces a subnormal by a zero of its sign.
func flushed(v uint32) uint32 {
	if v&0x7f800000 == 0 {
		return v & 0x80000000
	}
	return v
}

// half is a floating-point format of 16 bits with this many bits of fraction.
type half struct{ fraction, bias int }

func halfOf(t ptx.Type) half {
	if t == ptx.BF16 || t == ptx.BF16x2 {
		return half{7, 127}
	}
	return half{10, 15}
}

// apply works in f64 and rounds once: sums of two such numbers are exact there, or far from every tie.
func (h half) apply(kind AtomicKind, a, b uint64) uint64 {
	x, y := h.float(a), h.float(b)
	switch kind {
	case Min:
		return h.bits(lesser(x, y, a>>15 != 0))
	case Max:
		return h.bits(-lesser(-x, -y, a>>15 == 0))
	}
	return h.bits(x + y)
}

// float is the number that 16 bits say.
func (h half) float(v uint64) float64 {
	exponent := int(v&0x7fff) >> h.fraction
	fraction := float64(v & (1<<h.fraction - 1))
	sign := 1.0
	if v>>15 != 0 {
		sign = -1
	}
	one := float64(uint64(1) << h.fraction)
	switch {
	case exponent == 1<<(15-h.fraction)-1 && fraction != 0:
		return math.NaN()
	case exponent == 1<<(15-h.fraction)-1:
		return math.Inf(int(sign))
	case exponent == 0:
		return math.Copysign(math.Ldexp(fraction/one, 1-h.bias), sign)
	}
	return math.Copysign(math.Ldexp(1+fraction/one, exponent-h.bias), sign)
}

// bits rounds a number to the nearest of the format, ties to even.
func (h half) bits(x float64) uint64 {
	if x != x {
		return 0x7fff
	}
	var sign uint64
	if math.Signbit(x) {
		sign = 0x8000
	}
	x = math.Abs(x)
	top := uint64(1)<<(15-h.fraction) - 1
	if math.IsInf(x, 0) {
		return sign | top<<h.fraction
	}
	_, e := math.Frexp(x) // x = f * 2^e, f in [0.5, 1)
	e = max(e-1, 1-h.bias)
	v := uint64(math.RoundToEven(math.Ldexp(x, h.fraction-e))) // in units of the last place
	if v >= 1<<h.fraction {
		v += uint64(e+h.bias-1) << h.fraction // the leading 1 adds the last 1 to the exponent
	}
	return sign | min(v, top<<h.fraction)
}
