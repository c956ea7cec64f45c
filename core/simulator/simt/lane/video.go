package lane

import (
	"math"
	"strings"

	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// The video instructions: arithmetic on bytes and halves of registers, which operands select. Hardware has not had most of them since
// Maxwell, and the compiler of the driver writes other instructions for them.

// IsVideo reports whether a name is that of a video instruction: its operands may select parts of registers, and be negated.
func IsVideo(name string) bool { return ptx.IsVideo(name) }

// videoOp is a video instruction in the words of the manual.
type videoOp struct {
	name, second string // "vadd", and the operation with c: "", "add", "min" or "max"
	a, b         videoOperand
	signed, sat  bool // the result
	compare      string
	wrap         bool // of shifts
	to           string
	lanes        int // of a register that are computed apart: 1, 2 or 4
	po           bool
	shift        int
	negC         bool
}

type videoOperand struct {
	signed, neg bool
	part        string
}

// videoParts is what selectors of a scalar instruction mean: where the part begins and its bits.
var videoParts = map[string][2]int{"": {0, 32}, "h0": {0, 16}, "h1": {16, 16}, "b0": {0, 8}, "b1": {8, 8}, "b2": {16, 8}, "b3": {24, 8}}

// decodeVideo decodes all of them.
func decodeVideo(d *decoder) (Form, bool) {
	v := videoOp{name: d.in.Op.Name, lanes: 1}
	if last := v.name[len(v.name)-1]; last == '2' || last == '4' {
		v.name, v.lanes = v.name[:len(v.name)-1], int(last-'0')
	}
	ops := d.in.Operands
	if len(ops) < 3 || len(ops) > 4 {
		return Form{}, false
	}
	v.sat = d.take("sat")
	ok := v.decodeModifiers(d)
	var types []string
	for len(d.mods) > 0 && (d.mods[0] == "u32" || d.mods[0] == "s32") {
		types, d.mods = append(types, d.mods[0]), d.mods[1:]
	}
	want := 3
	if v.name == "vset" {
		want = 2
		ok = ok && !v.sat
	} else if len(types) == want {
		v.signed = types[0] == "s32"
	}
	if len(types) != want {
		return Form{}, false
	}
	types = types[want-2:]
	v.to = ops[0].Part
	v.a = videoOperand{types[0] == "s32", ops[1].Neg, ops[1].Part}
	v.b = videoOperand{types[1] == "s32", ops[2].Neg, ops[2].Part}
	if v.name == "vshl" || v.name == "vshr" {
		ok = ok && types[1] == "u32"
	}
	inputs := len(ops) - 1
	if inputs == 3 {
		v.negC = ops[3].Neg
	}
	return threeWords(inputs, v.word), ok && v.isLegal(inputs)
}

// decodeModifiers takes what follows the types.
func (v *videoOp) decodeModifiers(d *decoder) bool {
	switch {
	case v.lanes > 1:
		v.second = d.oneOf("add")
	case v.name != "vmad":
		v.second = d.oneOf("add", "min", "max")
	}
	switch v.name {
	case "vset":
		v.compare = d.oneOf("eq", "ne", "lt", "le", "gt", "ge")
		return v.compare != ""
	case "vshl", "vshr":
		mode := d.oneOf("clamp", "wrap")
		v.wrap = mode == "wrap"
		return mode != ""
	case "vmad":
		v.po = d.take("po")
		v.shift = map[string]int{"shr7": 7, "shr15": 15}[d.oneOf("shr7", "shr15")]
	}
	return true
}

// isLegal reports whether operands are what the instruction may have.
func (v *videoOp) isLegal(inputs int) bool {
	if v.lanes > 1 {
		_, a := v.choices(v.a.part, 0)
		_, b := v.choices(v.b.part, v.lanes)
		return inputs == 3 && a && b && v.mask() != 0 && !v.a.neg && !v.b.neg && !v.negC
	}
	_, a := videoParts[v.a.part]
	_, b := videoParts[v.b.part]
	_, to := videoParts[v.to]
	three := inputs == 3
	if v.name == "vmad" {
		return a && b && v.to == "" && three && !(v.po && (v.a.neg || v.b.neg || v.negC))
	}
	return a && b && to && !v.a.neg && !v.b.neg && !v.negC && three == (v.second != "" || v.to != "") && (v.second == "" || v.to == "")
}

// word computes one lane of a warp.
func (v *videoOp) word(a, b, c uint32) uint32 {
	switch {
	case v.lanes > 1:
		return v.words(a, b, c)
	case v.name == "vmad":
		return v.multiply(v.a.of(a), v.b.of(b), c)
	}
	t := v.one(v.a.of(a), v.b.of(b))
	part := videoParts[v.to]
	if v.sat {
		t = cutToBits(t, part[1], v.signed)
	}
	switch v.second {
	case "add":
		return uint32(t) + c
	case "min", "max":
		cut, other := signedOf(uint64(uint32(t)), 32, v.signed), signedOf(uint64(c), 32, v.signed)
		if v.second == "min" {
			return uint32(min(cut, other))
		}
		return uint32(max(cut, other))
	}
	mask := uint32((uint64(1)<<part[1] - 1) << part[0])
	return c&^mask | uint32(t)<<part[0]&mask
}

// of is the part of a register that an operand selects, as a number.
func (o videoOperand) of(x uint32) int64 {
	part := videoParts[o.part]
	return signedOf(uint64(x)>>part[0]&(1<<part[1]-1), part[1], o.signed)
}

// one is the operation itself.
func (v *videoOp) one(a, b int64) int64 {
	switch v.name {
	case "vadd":
		return a + b
	case "vsub":
		return a - b
	case "vabsdiff":
		return max(a-b, b-a)
	case "vmin":
		return min(a, b)
	case "vmax":
		return max(a, b)
	case "vavrg":
		if a+b >= 0 {
			return (a + b + 1) >> 1
		}
		return (a + b) >> 1
	case "vshl", "vshr":
		n := min(b, 32)
		if v.wrap {
			n = b & 31
		}
		if v.name == "vshl" {
			if n == 32 {
				a = min(a, 1<<30) // too large for 32 bits all the same, and its low word is 0
			}
			return a << n
		}
		return a >> n
	}
	holds := map[string]bool{"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}
	if holds[v.compare] {
		return 1
	}
	return 0
}

func cutToBits(t int64, bits int, signed bool) int64 {
	if signed {
		return max(-1<<(bits-1), min(1<<(bits-1)-1, t))
	}
	return max(0, min(1<<bits-1, t))
}

// multiply is vmad. The signs of products and of c count by ones' complement and one.
func (v *videoOp) multiply(a, b int64, c uint32) uint32 {
	signed := v.a.signed || v.b.signed || v.a.neg != v.b.neg || v.negC
	product, one := a*b, int64(0)
	high := product >> 63 // the product and the sum have two words
	if !v.a.signed && !v.b.signed {
		high = 0
	}
	switch {
	case v.po:
		one = 1
	case v.a.neg != v.b.neg:
		product, high, one = ^product, ^high, 1
	case v.negC:
		c, one = ^c, 1
	}
	low := uint64(product)
	addend := signedOf(uint64(c), 32, signed)
	sum := low + uint64(addend)
	high += addend >> 63
	if sum < low {
		high++
	}
	if sum += uint64(one); one != 0 && sum == 0 {
		high++
	}
	if v.shift > 0 {
		sum = sum>>v.shift | uint64(high)<<(64-v.shift)
		high >>= v.shift
	}
	if !v.sat {
		return uint32(sum)
	}
	least, most := int64(0), int64(math.MaxUint32)
	if signed {
		least, most = math.MinInt32, math.MaxInt32
	}
	switch {
	case high < 0 && (high != -1 || int64(sum) >= 0 || int64(sum) < least):
		return uint32(least)
	case high > 0 || high == 0 && sum > uint64(most):
		return uint32(most)
	}
	return uint32(sum)
}

// words computes the parts of a register apart: each from a part of a or of b, whichever the selector says.
func (v *videoOp) words(a, b, c uint32) uint32 {
	width := 32 / v.lanes
	both := uint64(b)<<32 | uint64(a)
	from, _ := v.choices(v.a.part, 0)
	to, _ := v.choices(v.b.part, v.lanes)
	take := func(number int, signed bool) int64 {
		return signedOf(both>>(number*width)&(1<<width-1), width, signed)
	}
	out, mask := c, v.mask()
	for i := range v.lanes {
		if mask>>i&1 == 0 {
			continue
		}
		t := v.one(take(from[i], v.a.signed), take(to[i], v.b.signed))
		if v.sat {
			t = cutToBits(t, width, v.signed)
		}
		if v.second == "add" {
			out += uint32(t)
			continue
		}
		field := uint32((uint64(1)<<width - 1) << (i * width))
		out = out&^field | uint32(t)<<(i*width)&field
	}
	return out
}

// choices are the parts of {b, a} that a selector names, the lowest first; without one those from first on.
func (v *videoOp) choices(part string, first int) (list [4]int, ok bool) {
	for i := range v.lanes {
		list[i] = first + i
	}
	if part == "" {
		return list, true
	}
	if len(part) != 1+v.lanes || part[0] != v.letter() {
		return list, false
	}
	for i := range v.lanes {
		n := int(part[len(part)-1-i] - '0')
		if n < 0 || n >= 2*v.lanes {
			return list, false
		}
		list[i] = n
	}
	return list, true
}

func (v *videoOp) letter() byte {
	if v.lanes == 2 {
		return 'h'
	}
	return 'b'
}

// mask are the parts of the result that are written; 0 when the selector is none.
func (v *videoOp) mask() (mask int) {
	if v.to == "" {
		return 1<<v.lanes - 1
	}
	if v.to[0] != v.letter() {
		return 0
	}
	for i := len(v.to) - 1; i > 0; i-- {
		n := int(v.to[i] - '0')
		if n < 0 || n >= v.lanes || mask>>n != 0 {
			return 0
		}
		mask |= 1 << n
	}
	return mask
}

const videoDoc = "u32 s32, of u32 s32, .sat, .add .min .max with a third operand; parts of registers (.b0 to .b3, .h0, .h1)"

// videoFamilies are the video instructions by name.
func videoFamilies() map[string]family {
	all := map[string]family{}
	for _, name := range ptx.VideoNames {
		doc := videoDoc
		switch {
		case name == "vmad":
			doc = "u32 s32, of u32 s32, .sat, .po, .shr7 .shr15, negated operands, parts of registers"
		case name[len(name)-1] == '2':
			doc = "halves: u32 s32, of u32 s32, .sat, .add; selectors and masks of halves"
		case name[len(name)-1] == '4':
			doc = "bytes: u32 s32, of u32 s32, .sat, .add; selectors and masks of bytes"
		}
		if strings.HasPrefix(name, "vset") {
			doc = strings.Replace(doc, "u32 s32, of u32 s32, .sat", "comparisons .eq .ne .lt .le .gt .ge of u32 s32", 1)
		}
		all[name] = family{decodeVideo, doc, ""}
	}
	return all
}
