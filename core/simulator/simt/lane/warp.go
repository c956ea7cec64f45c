package lane

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// AbsentError says that masks do not fit the lanes that execute an instruction.
type AbsentError struct {
	Lanes uint32 // that are named and do not, and those that do and are not named
	text  string
}

func (e *AbsentError) Error() string { return e.text }

// groups calls do for each set of lanes that pass the same mask, and returns the first thing wrong, with
// the lanes that all miss.
func groups(mask *[Lanes]uint32, active uint32, do func(lanes uint32)) error {
	if uniform(mask) && mask[0] == active {
		do(active)
		return nil
	}
	wrong := AbsentError{}
	for left := active; left != 0; {
		m := mask[bits.TrailingZeros32(left)]
		same := uint32(0)
		for a := left; a != 0; a &= a - 1 {
			if i := bits.TrailingZeros32(a); mask[i] == m {
				same |= 1 << i
			}
		}
		left &^= same
		wrong.Lanes |= m &^ active
		if m&^active != 0 && wrong.text == "" {
			wrong.text = fmt.Sprintf("the mask %08x names lanes %08x, which are not there", m, m&^active)
		}
		wrong.Lanes |= same &^ m
		if same&^m != 0 && wrong.text == "" {
			wrong.text = fmt.Sprintf("lanes %08x pass the mask %08x, in which they are not", same&^m, m)
		}
		do(same)
	}
	if wrong.text == "" {
		return nil
	}
	return &wrong
}

func set32(d *[Lanes]uint32, lanes, value uint32) {
	for ; lanes != 0; lanes &= lanes - 1 {
		d[bits.TrailingZeros32(lanes)] = value
	}
}

func decodeVote(d *decoder) (Form, bool) {
	t := d.typ()
	kind := d.oneOf("all", "any", "uni", "ballot")
	if !d.take("sync") || (kind == "ballot") != (t == "b32") || t != "b32" && t != "pred" {
		return Form{}, false
	}
	return Form{Out: []Bank{bankOf(t)}, In: []Bank{P, R32}, Warp: func(r *Regs, o *Operands, active uint32) error {
		p := r.P[o.A]
		result := uint32(0)
		mask := r.R32[o.B]
		err := groups(&mask, active, func(lanes uint32) {
			yes := p & lanes
			if kind == "ballot" {
				set32(&r.R32[o.D], lanes, yes)
				return
			}
			if kind == "all" && yes == lanes || kind == "any" && yes != 0 || kind == "uni" && (yes == lanes || yes == 0) {
				result |= lanes
			}
		})
		if kind != "ballot" {
			r.P[o.D] = r.P[o.D]&^active | result
		}
		return err
	}}, kind != ""
}

func decodeMatch(d *decoder) (Form, bool) {
	t := d.typ()
	kind := d.oneOf("any", "all")
	if !d.take("sync") || t != "b32" && t != "b64" || kind == "" || len(d.in.Operands) == 0 {
		return Form{}, false
	}
	pair := d.in.Operands[0].Kind == ptx.Pair
	f := Form{Out: []Bank{R32}, In: []Bank{bankOf(t), R32}}
	if pair {
		f.Out = []Bank{R32, P}
	}
	f.Warp = func(r *Regs, o *Operands, active uint32) error {
		var values [Lanes]uint64
		for i := range values {
			if t == "b64" {
				values[i] = r.R64[o.A][i]
			} else {
				values[i] = uint64(r.R32[o.A][i])
			}
		}
		mask, all := r.R32[o.B], uint32(0)
		err := groups(&mask, active, func(lanes uint32) {
			for left := lanes; left != 0; {
				same := equalLanes(&values, left)
				left &^= same
				switch {
				case kind == "any":
					set32(&r.R32[o.D], same, same)
				case same == lanes:
					set32(&r.R32[o.D], lanes, lanes)
					all |= lanes
				default:
					set32(&r.R32[o.D], lanes, 0)
				}
			}
		})
		if pair {
			r.P[o.D2] = r.P[o.D2]&^active | all
		}
		return err
	}
	return f, kind == "all" || !pair
}

// equalLanes are the lanes that have the value of the lowest.
func equalLanes(values *[Lanes]uint64, lanes uint32) (same uint32) {
	v := values[bits.TrailingZeros32(lanes)]
	for ; lanes != 0; lanes &= lanes - 1 {
		if i := bits.TrailingZeros32(lanes); values[i] == v {
			same |= 1 << i
		}
	}
	return same
}

// decodeShuffle decodes shfl.sync: a lane reads a register of another one of its segment. Where there is none, it reads its own
// and the predicate is false.
func decodeShuffle(d *decoder) (Form, bool) {
	kind := d.oneOf("up", "down", "bfly", "idx")
	if !d.take("sync") || d.typ() != "b32" || kind == "" || len(d.in.Operands) == 0 {
		return Form{}, false
	}
	f := Form{Out: []Bank{R32}, In: []Bank{R32, R32, R32, R32}}
	pair := d.in.Operands[0].Kind == ptx.Pair
	if pair {
		f.Out = []Bank{R32, P}
	}
	source := shuffleSources[kind]
	fixed := d.fixedShuffle(source)
	f.Warp = func(r *Regs, o *Operands, active uint32) error {
		values := r.R32[o.A]
		d, b, c, mask := &r.R32[o.D], &r.R32[o.B], &r.R32[o.C], &r.R32[o.E]
		if fixed != nil && active == 1<<Lanes-1 && uniform(mask) && mask[0] == active {
			for i := range d {
				d[i] = values[fixed.from[i]&31]
			}
			if pair {
				r.P[o.D2] = fixed.in
			}
			return nil
		}
		members := *mask
		var absent, in uint32
		for a := active; a != 0; a &= a - 1 {
			i := bits.TrailingZeros32(a)
			j, ok := source(uint32(i), b[i]&31, c[i])
			if !ok {
				j = uint32(i)
			} else {
				in |= 1 << i
			}
			if active>>j&1 == 0 || members[i]>>j&1 == 0 {
				absent |= 1 << j
			}
			d[i] = values[j]
		}
		if pair {
			r.P[o.D2] = r.P[o.D2]&^active | in
		}
		err := groups(&members, active, func(uint32) {})
		switch {
		case absent == 0:
			return err
		case err != nil:
			return errors.New(err.Error()) // what is read matters, not only what the mask names
		}
		return fmt.Errorf("lanes %08x are read and are not there", absent)
	}
	return f, true
}

// uniform reports whether all lanes have one value.
func uniform(a *[Lanes]uint32) bool {
	differ := uint32(0)
	for _, x := range a {
		differ |= x ^ a[0]
	}
	return differ == 0
}

// fixed is a shuffle whose lanes stand in the text.
type fixed struct {
	from [Lanes]uint8
	in   uint32 // lanes that read inside their segment
}

func (d *decoder) fixedShuffle(source func(lane, b, c uint32) (uint32, bool)) *fixed {
	b, ok := d.immediate(2)
	c, known := d.immediate(3)
	if !ok || !known {
		return nil
	}
	f := &fixed{}
	for i := range uint32(Lanes) {
		j, inside := source(i, b&31, c)
		if !inside {
			j = i
		}
		f.from[i] = uint8(j)
		f.in |= bit(inside) << i
	}
	return f
}

// shuffleSources say which lane a lane reads and whether that one is inside its segment. Bits 8 to 12 of c are the segment mask,
// bits 0 to 4 the clamp.
var shuffleSources = map[string]func(lane, b, c uint32) (uint32, bool){
	"up": func(lane, b, c uint32) (uint32, bool) {
		limit := lane&(c>>8&31) | c&31&^(c>>8&31)
		j := int32(lane) - int32(b)
		return uint32(j) & 31, j >= int32(limit)
	},
	"down": func(lane, b, c uint32) (uint32, bool) {
		j := lane + b
		return j & 31, j <= lane&(c>>8&31)|c&31&^(c>>8&31)
	},
	"bfly": func(lane, b, c uint32) (uint32, bool) {
		j := lane ^ b
		return j, j <= lane&(c>>8&31)|c&31&^(c>>8&31)
	},
	"idx": func(lane, b, c uint32) (uint32, bool) {
		seg := c >> 8 & 31
		j := lane&seg | b&^seg
		return j, j <= lane&seg|c&31&^seg
	},
}

// reductions combine two values.
var reductions = map[string]func(x, y uint32) uint32{
	"add.u32": func(x, y uint32) uint32 { return x + y },
	"min.u32": func(x, y uint32) uint32 { return min(x, y) },
	"max.u32": func(x, y uint32) uint32 { return max(x, y) },
	"add.s32": func(x, y uint32) uint32 { return x + y },
	"min.s32": func(x, y uint32) uint32 { return uint32(min(int32(x), int32(y))) },
	"max.s32": func(x, y uint32) uint32 { return uint32(max(int32(x), int32(y))) },
	"and.b32": func(x, y uint32) uint32 { return x & y },
	"or.b32":  func(x, y uint32) uint32 { return x | y },
	"xor.b32": func(x, y uint32) uint32 { return x ^ y },
}

func decodeRedux(d *decoder) (Form, bool) {
	t := d.typ()
	op, ok := reductions[d.oneOf("add", "min", "max", "and", "or", "xor")+"."+t]
	return Form{Out: []Bank{R32}, In: []Bank{R32, R32}, Warp: func(r *Regs, o *Operands, active uint32) error {
		values, mask := r.R32[o.A], r.R32[o.B]
		return groups(&mask, active, func(lanes uint32) {
			v := values[bits.TrailingZeros32(lanes)]
			for m := lanes & (lanes - 1); m != 0; m &= m - 1 {
				v = op(v, values[bits.TrailingZeros32(m)])
			}
			set32(&r.R32[o.D], lanes, v)
		})
	}}, ok && d.take("sync")
}

func decodeActive(d *decoder) (Form, bool) {
	return Form{Out: []Bank{R32}, Warp: func(r *Regs, o *Operands, active uint32) error {
		set32(&r.R32[o.D], active, active)
		return nil
	}}, d.typ() == "b32"
}

// decodeElect decodes elect.sync d|p, mask: the lowest lane of the mask is elected.
func decodeElect(d *decoder) (Form, bool) {
	f := Form{Out: []Bank{R32, P}, In: []Bank{R32}, Warp: func(r *Regs, o *Operands, active uint32) error {
		mask, elected := r.R32[o.A], uint32(0)
		err := groups(&mask, active, func(lanes uint32) {
			leader := bits.TrailingZeros32(lanes)
			set32(&r.R32[o.D], lanes, uint32(leader))
			elected |= 1 << leader
		})
		r.P[o.D2] = r.P[o.D2]&^active | elected
		return err
	}}
	return f, d.take("sync")
}
