package lane

import (
	"math"

	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// compareFunc compares two registers and gives one bit a lane.
type compareFunc func(r *Regs, at, by int32) uint32

// comparisonNames are the spellings of setp and set; lo, ls, hi, hs are those of unsigned numbers.
var comparisonNames = []string{
	"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
}

// compareNumbers compares the values of floats.
func compareNumbers(name string, x, y float64) bool {
	unordered := x != x || y != y
	switch name {
	case "nan":
		return unordered
	case "num":
		return !unordered
	}
	if unordered {
		return len(name) == 3
	}
	switch name[:2] {
	case "eq":
		return x == y
	case "ne":
		return x != y
	case "lt":
		return x < y
	case "le":
		return x <= y
	case "gt":
		return x > y
	}
	return x >= y
}

// compare16 compares one of the numbers of 16 bits in a register.
func compare16(f format, name string, ftz bool, shift int) compareFunc {
	return func(r *Regs, at, by int32) (m uint32) {
		s := shape{ftz: ftz}
		for i := range Lanes {
			x, y := uint64(r.R32[at][i]>>shift&0xffff), uint64(r.R32[by][i]>>shift&0xffff)
			m |= bit(compareNumbers(name, f.widen(uint32(s.in(f, x))), f.widen(uint32(s.in(f, y))))) << i
		}
		return m
	}
}

// comparison decodes what setp and set compare; the second is of the high halves of packed types.
func (d *decoder) comparison(name, t string) (low, high compareFunc) {
	if f, parts := formatOf(t); parts > 0 {
		if name == "lo" || name == "ls" || name == "hi" || name == "hs" {
			return nil, nil
		}
		ftz := d.take("ftz")
		low = compare16(f, name, ftz, 0)
		if parts == 2 {
			high = compare16(f, name, ftz, 16)
		}
		return low, high
	}
	if isWord(t) {
		if plain, ok := map[string]string{"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}[name]; ok {
			if t[0] != 'u' {
				return nil, nil
			}
			name = plain
		}
		if name == "eq" || name == "ne" {
			t = unsigned(t)
		}
	}
	key := "setp." + name + d.mask("ftz") + "." + t
	if f := wideCompares[key]; wide && f != nil {
		return f, nil
	}
	return allCompares[key], nil
}

// combine is the boolean operation with a predicate.
func combine(op string, m, c uint32) uint32 {
	switch op {
	case "and":
		return m & c
	case "or":
		return m | c
	case "xor":
		return m ^ c
	}
	return m
}

func decodeSetp(d *decoder) (Form, bool) {
	t := d.typ()
	name, op := d.oneOf(comparisonNames...), d.oneOf("and", "or", "xor")
	cmp, high := d.comparison(name, t)
	if cmp == nil || name == "" || len(d.in.Operands) == 0 {
		return Form{}, false
	}
	f := Form{Out: []Bank{P}, In: []Bank{bankOf(t), bankOf(t)}}
	if op != "" {
		f.In = append(f.In, P)
	}
	pair := d.in.Operands[0].Kind == ptx.Pair
	if pair {
		f.Out = []Bank{P, P}
	}
	switch {
	case high != nil: // p of the low halves, q of the high ones
		f.Lanewise = func(r *Regs, o *Operands) {
			m, n := cmp(r, o.A, o.B), high(r, o.A, o.B)
			c := r.P[o.C]
			r.P[o.D], r.P[o.D2] = combine(op, m, c), combine(op, n, c)
		}
		return f, pair
	case pair: // q is of the opposite of the comparison
		f.Lanewise = func(r *Regs, o *Operands) {
			m, c := cmp(r, o.A, o.B), uint32(0)
			if op != "" {
				c = r.P[o.C]
			}
			r.P[o.D], r.P[o.D2] = combine(op, m, c), combine(op, ^m, c)
		}
	case op != "":
		f.Lanewise = func(r *Regs, o *Operands) {
			m := cmp(r, o.A, o.B)
			r.P[o.D] = combine(op, m, r.P[o.C])
		}
	default:
		f.Lanewise = func(r *Regs, o *Operands) { r.P[o.D] = cmp(r, o.A, o.B) }
	}
	return f, true
}

// trueOf is what set writes where the comparison holds.
var trueOf = map[string]uint32{
	"u32": math.MaxUint32, "s32": math.MaxUint32, "f32": 0x3f800000, "f16": 0x3c00, "bf16": 0x3f80, "f16x2": 0x3c00, "bf16x2": 0x3f80,
	"u16": 0xffff, "s16": 0xffff,
}

func decodeSet(d *decoder) (Form, bool) {
	t, result := d.typ(), d.typ()
	name, op := d.oneOf(comparisonNames...), d.oneOf("and", "or", "xor")
	cmp, high := d.comparison(name, t)
	value, ok := trueOf[result]
	_, parts := formatOf(result)
	if cmp == nil || name == "" || !ok || (high != nil) != (parts == 2) {
		return Form{}, false
	}
	f := form(func(r *Regs, o *Operands) {
		m, n, c := cmp(r, o.A, o.B), uint32(0), uint32(0)
		if high != nil {
			n = high(r, o.A, o.B)
		}
		if op != "" {
			c = r.P[o.C]
			m, n = combine(op, m, c), combine(op, n, c)
		}
		d := &r.R32[o.D]
		for i := range d {
			d[i] = -(m >> i & 1) & value
			if high != nil {
				d[i] |= -(n >> i & 1) & value << 16
			}
		}
	}, result, t, t)
	if op != "" {
		f.In = append(f.In, P)
	}
	return f, true
}

func decodeSlct(d *decoder) (Form, bool) {
	by, t := d.typ(), d.typ()
	ftz := d.take("ftz")
	chosen := func(r *Regs, o *Operands) (m uint32) {
		for i, x := range r.R32[o.C] {
			if by == "f32" {
				if ftz {
					x = flush(x)
				}
				m |= bit(math.Float32frombits(x) >= 0) << i
			} else {
				m |= bit(int32(x) >= 0) << i
			}
		}
		return m
	}
	ok := (isWord(t) || t == "f32" || t == "f64") && (by == "s32" && !ftz || by == "f32")
	return form(func(r *Regs, o *Operands) {
		m := chosen(r, o)
		for i := range Lanes {
			from := o.B
			if m>>i&1 != 0 {
				from = o.A
			}
			if bankOf(t) == R64 {
				r.R64[o.D][i] = r.R64[from][i]
			} else {
				r.R32[o.D][i] = r.R32[from][i]
			}
		}
	}, t, t, t, by), ok
}
