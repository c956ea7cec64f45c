package lane

import "math"

// handLoops are loops that leave rare cases to a second look, which no expression of the generator can.
var handLoops = map[string]Func{
	"fma.f32":          fmaLanes,
	"fma.ftz.f32":      fmaFtzLanes,
	"fma.sat.f32":      func(r *Regs, o *Operands) { fmaLanes(r, o); clampLanes(&r.R32[o.D]) },
	"fma.ftz.sat.f32":  func(r *Regs, o *Operands) { fmaFtzLanes(r, o); clampLanes(&r.R32[o.D]) },
	"cvt.rn.f16.f32":   halfLanes,
	"cvt.rn.f16x2.f32": halvesLanes,
}

// fmaLanes rounds x*y+z once. The product is exact in double precision. The sum is rounded twice, which is wrong only where the first
// rounding lands on the middle between two results, or where the result is denormal: tie and tiny tell that some lane is such a one.
func fmaLanes(r *Regs, o *Operands) {
	a, b, c := &r.R32[o.A], &r.R32[o.B], &r.R32[o.C]
	var out [Lanes]uint32
	tie, tiny := ^uint64(0), ^uint64(0)
	for i := range out {
		s := float64(math.Float32frombits(a[i]))*float64(math.Float32frombits(b[i])) + float64(math.Float32frombits(c[i]))
		p := math.Float64bits(s)
		tie, tiny = min(tie, p&(1<<29-1)^1<<28), min(tiny, p<<1-1)
		out[i] = bits32(float32(s))
	}
	if tie == 0 || tiny < leastDouble {
		for i := range out {
			out[i] = fmaOdd(a[i], b[i], c[i])
		}
	}
	r.R32[o.D] = out
}

// fmaFtzLanes is fmaLanes with denormals flushed.
func fmaFtzLanes(r *Regs, o *Operands) {
	a, b, c := &r.R32[o.A], &r.R32[o.B], &r.R32[o.C]
	var out [Lanes]uint32
	tie, tiny := ^uint64(0), ^uint64(0)
	for i := range out {
		x, y, z := math.Float32frombits(flush(a[i])), math.Float32frombits(flush(b[i])), math.Float32frombits(flush(c[i]))
		s := float64(x)*float64(y) + float64(z)
		p := math.Float64bits(s)
		tie, tiny = min(tie, p&(1<<29-1)^1<<28), min(tiny, p<<1-1)
		out[i] = flush(bits32(float32(s)))
	}
	if tie == 0 || tiny < leastDouble {
		for i := range out {
			out[i] = flush(fmaOdd(flush(a[i]), flush(b[i]), flush(c[i])))
		}
	}
	r.R32[o.D] = out
}

// leastDouble is the smallest normal float32 as a double, shifted as tiny is; zeros are far above.
const leastDouble = (1023-126)<<53 - 1

// fmaOdd rounds the sum to odd first.
func fmaOdd(x, y, z uint32) uint32 {
	p, c := float64(math.Float32frombits(x))*float64(math.Float32frombits(y)), float64(math.Float32frombits(z))
	return bits32(float32(oddSum(p, c, p+c)))
}

func clampLanes(d *[Lanes]uint32) {
	for i, x := range d {
		d[i] = math.Float32bits(clamp32(math.Float32frombits(x)))
	}
}

// Normal numbers, whose halves are normal too, are between these patterns without a sign.
const (
	leastHalf   = 0x38800000
	normalHalfs = 0x47000000 - leastHalf
)

func halfLanes(r *Regs, o *Operands) {
	d, a := &r.R32[o.D], &r.R32[o.A]
	for i, x := range a {
		if e := x & 0x7fffffff; e-leastHalf < normalHalfs {
			d[i] = x>>16&0x8000 | (e+0xfff+(e>>13&1)-0x38000000)>>13
		} else {
			d[i] = half(x)
		}
	}
}

func halvesLanes(r *Regs, o *Operands) {
	d, a, b := &r.R32[o.D], &r.R32[o.A], &r.R32[o.B]
	for i, x := range a {
		y := b[i]
		e, f := x&0x7fffffff, y&0x7fffffff
		if e-leastHalf < normalHalfs && f-leastHalf < normalHalfs {
			high := x>>16&0x8000 | (e+0xfff+(e>>13&1)-0x38000000)>>13
			d[i] = high<<16 | y>>16&0x8000 | (f+0xfff+(f>>13&1)-0x38000000)>>13
		} else {
			d[i] = half(x)<<16 | half(y)
		}
	}
}
