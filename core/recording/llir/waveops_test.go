package llir

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// width is how many bits a scalar has.
func width(ty string) int {
	switch ty {
	case "half", "bfloat":
		return 16
	case "float":
		return 32
	case "double":
		return 64
	}
	if strings.HasPrefix(ty, "ptr") {
		if strings.Contains(ty, "(3)") || strings.Contains(ty, "(5)") {
			return 32
		}
		return 64
	}
	n, err := strconv.Atoi(strings.TrimPrefix(ty, "i"))
	if err != nil || n > 64 {
		panic("no width of " + ty)
	}
	return n
}

// shape is how many elements a type has, and of which type.
func shape(ty string) (int, string) {
	if inner, ok := strings.CutPrefix(ty, "<"); ok {
		n, element, _ := strings.Cut(strings.TrimSuffix(inner, ">"), " x ")
		count, err := strconv.Atoi(n)
		if err != nil {
			panic("no shape of " + ty)
		}
		return count, element
	}
	if strings.HasPrefix(ty, "{") {
		return len(parts(ty[1 : len(ty)-1])), "i64"
	}
	if inner, ok := strings.CutPrefix(ty, "["); ok {
		n, element, _ := strings.Cut(strings.TrimSuffix(inner, "]"), " x ")
		count, _ := strconv.Atoi(n)
		return count, element
	}
	return 1, ty
}

func size(ty string) int {
	n, element := shape(ty)
	return n * ((width(element) + 7) / 8)
}

func cut(v uint64, n int) uint64 {
	if n >= 64 {
		return v
	}
	return v & (1<<n - 1)
}

func extended(v uint64, n int) int64 { return int64(v<<(64-n)) >> (64 - n) }

// constant is a literal.
func constant(ty, s string) value {
	n, element := shape(ty)
	switch s {
	case "zeroinitializer", "poison", "undef", "null", "false", "none":
		return make(value, n)
	case "true":
		return value{1}
	}
	if strings.HasPrefix(s, "splat (") {
		one := s[7 : len(s)-1]
		v := constant(one[:typeEnd(one)], strings.TrimSpace(one[typeEnd(one):]))
		return slices.Repeat(v, n)
	}
	if s[0] == '<' {
		var all value
		for _, p := range parts(s[1 : len(s)-1]) {
			all = append(all, constant(p[:typeEnd(p)], strings.TrimSpace(p[typeEnd(p):]))...)
		}
		return all
	}
	if raw, ok := strings.CutPrefix(s, "0xH"); ok {
		b, err := strconv.ParseUint(raw, 16, 16)
		if err != nil {
			panic("no float: " + s)
		}
		return value{b}
	}
	if element == "float" || element == "double" {
		f, err := strconv.ParseFloat(s, 64)
		if raw, ok := strings.CutPrefix(s, "0x"); ok {
			var b uint64
			b, err = strconv.ParseUint(raw, 16, 64)
			f = math.Float64frombits(b)
		}
		if err != nil {
			panic("no float: " + s)
		}
		if element == "float" {
			return value{uint64(math.Float32bits(float32(f)))}
		}
		return value{math.Float64bits(f)}
	}
	i, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic("no constant of " + ty + ": " + s)
	}
	return value{cut(uint64(i), width(element))}
}

// operand is "i32 %7" or "float 1.0" of every lane.
func (fr *frame) operand(text string, mask uint64) []value {
	n := typeEnd(text)
	ty, s := text[:n], strings.TrimSpace(text[n:])
	for { // attributes of arguments
		word, rest, ok := strings.Cut(s, " ")
		if !ok || s[0] == '%' || s[0] == '<' || strings.HasPrefix(s, "splat") {
			break
		}
		_ = word
		s = rest
	}
	if s[0] != '%' {
		return fr.w.every(constant(ty, s))
	}
	v, ok := fr.regs[s]
	if !ok {
		panic("nothing is called " + s)
	}
	eachLane(mask, func(l int) {
		if v[l] == nil {
			panic(fmt.Sprintf("lane %d has no %s", l, s))
		}
	})
	return v
}

// flags stand between an operation and its type.
var flags = []string{"nuw", "nsw", "exact", "disjoint", "inbounds", "nneg", "samesign", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc", "fast", "volatile", "atomic", "add", "xchg", "max", "umax", "or"}

func unflagged(s string, also ...string) string {
	for {
		word, rest, ok := strings.Cut(s, " ")
		if !ok || !slices.Contains(flags, word) && !slices.Contains(also, word) {
			return s
		}
		s = rest
	}
}

// binary are operations on two integers of n bits.
var binaries = map[string]func(a, b uint64, n int) uint64{
	"add": func(a, b uint64, _ int) uint64 { return a + b }, "sub": func(a, b uint64, _ int) uint64 { return a - b },
	"mul": func(a, b uint64, _ int) uint64 { return a * b }, "and": func(a, b uint64, _ int) uint64 { return a & b },
	"or": func(a, b uint64, _ int) uint64 { return a | b }, "xor": func(a, b uint64, _ int) uint64 { return a ^ b },
	"shl": func(a, b uint64, _ int) uint64 { return a << b }, "lshr": func(a, b uint64, _ int) uint64 { return a >> b },
	"ashr": func(a, b uint64, n int) uint64 { return uint64(extended(a, n) >> b) },
	"udiv": func(a, b uint64, _ int) uint64 { return a / b }, "urem": func(a, b uint64, _ int) uint64 { return a % b },
	"sdiv": func(a, b uint64, n int) uint64 { return uint64(extended(a, n) / extended(b, n)) },
	"srem": func(a, b uint64, n int) uint64 { return uint64(extended(a, n) % extended(b, n)) },
	"fadd": floats(func(a, b float64) float64 { return a + b }), "fsub": floats(func(a, b float64) float64 { return a - b }),
	"fmul": floats(func(a, b float64) float64 { return a * b }), "fdiv": floats(func(a, b float64) float64 { return a / b }),
}

// floats makes an operation of one on floats: in 64 bits the four are exact enough to round once more.
func floats(do func(a, b float64) float64) func(a, b uint64, n int) uint64 {
	return func(a, b uint64, n int) uint64 {
		if n == 32 {
			return uint64(math.Float32bits(float32(do(float(a, 32), float(b, 32)))))
		}
		return math.Float64bits(do(float(a, 64), float(b, 64)))
	}
}

func float(v uint64, n int) float64 {
	switch n {
	case 16:
		return half(uint16(v))
	case 32:
		return float64(math.Float32frombits(uint32(v)))
	}
	return math.Float64frombits(v)
}

// half is a float of 16 bits.
func half(v uint16) float64 {
	sign, exponent, fraction := 1-2*float64(v>>15), int(v>>10&31), float64(v&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// step does one instruction for the lanes of a mask.
func (fr *frame) step(in *inst, mask uint64) {
	if do, ok := binaries[in.Op]; ok {
		list := fr.w.reading(in).list
		ty := list[0][:typeEnd(list[0])]
		_, element := shape(ty)
		n := width(element)
		a, b := fr.operand(list[0], mask), fr.operand(ty+" "+list[1], mask)
		fr.each(in, mask, func(l int) value {
			out := make(value, len(a[l]))
			for k := range out {
				out[k] = cut(do(a[l][k], b[l][k], n), n)
			}
			return out
		})
		return
	}
	switch in.Op {
	case "icmp", "fcmp":
		fr.compare(in, mask)
	case "select":
		list := fr.w.reading(in).list
		c, a, b := fr.operand(list[0], mask), fr.operand(list[1], mask), fr.operand(list[2], mask)
		fr.each(in, mask, func(l int) value {
			if c[l][0]&1 != 0 {
				return a[l]
			}
			return b[l]
		})
	case "zext", "sext", "trunc", "bitcast", "ptrtoint", "inttoptr", "addrspacecast", "freeze", "sitofp", "uitofp", "fptosi", "fpext", "fptrunc":
		fr.convert(in, unflagged(in.Rest), mask)
	case "extractelement", "insertelement":
		fr.element(in, mask)
	case "extractvalue":
		list := fr.w.reading(in).list
		a := fr.operand(list[0], mask)
		k, _ := decimal(list[1])
		fr.each(in, mask, func(l int) value { return value{a[l][k]} })
	case "insertvalue":
		list := fr.w.reading(in).list
		a, b := fr.operand(list[0], mask), fr.operand(list[1], mask)
		k, _ := decimal(list[2])
		fr.each(in, mask, func(l int) value {
			out := slices.Clone(a[l])
			out[k] = b[l][0]
			return out
		})
	case "getelementptr", "load", "store", "atomicrmw":
		fr.touch(in, mask)
	case "call":
		fr.callee(in, mask)
	case "fence": // waves run one after the other, and each sees what the one before it did
	default:
		panic("the interpreter does not know " + in.Op + " " + in.Rest)
	}
}

func (fr *frame) each(in *inst, mask uint64, do func(l int) value) {
	out := make([]value, fr.w.lanes)
	eachLane(mask, func(l int) { out[l] = do(l) })
	fr.set(in.Name, out, mask)
}

func (fr *frame) compare(in *inst, mask uint64) {
	c, _ := compare(in)
	_, element := shape(c.ty)
	n := width(element)
	a, b := fr.operand(c.ty+" "+c.lhs, mask), fr.operand(c.ty+" "+c.rhs, mask)
	fr.each(in, mask, func(l int) value {
		out := make(value, len(a[l]))
		for k := range out {
			if holds(uint8(c.predicate), a[l][k], b[l][k], n) {
				out[k] = 1
			}
		}
		return out
	})
}

// holds evaluates a predicate as LLVM numbers them.
func holds(p uint8, a, b uint64, n int) bool {
	if p < 16 {
		x, y := float(a, n), float(b, n)
		return p&1 != 0 && x == y || p&2 != 0 && x > y || p&4 != 0 && x < y || p&8 != 0 && (x != x || y != y)
	}
	x, y := extended(a, n), extended(b, n)
	return [...]bool{a == b, a != b, a > b, a >= b, a < b, a <= b, x > y, x >= y, x < y, x <= y}[p-32]
}

func (fr *frame) convert(in *inst, rest string, mask uint64) {
	source, to, _ := strings.Cut(rest, " to ")
	a := fr.operand(source, mask)
	_, from := shape(source[:typeEnd(source)])
	if in.Op == "freeze" {
		to = source[:typeEnd(source)]
	}
	count, element := shape(to)
	n, m := width(from), width(element)
	fr.each(in, mask, func(l int) value {
		if in.Op == "bitcast" && count != len(a[l]) {
			b := make([]byte, 8*max(count, len(a[l])))
			for k, v := range a[l] {
				put(b[k*n/8:], v, n/8)
			}
			out := make(value, count)
			for k := range out {
				out[k] = get(b[k*m/8:], m/8)
			}
			return out
		}
		out := make(value, len(a[l]))
		for k, v := range a[l] {
			switch in.Op {
			case "sext":
				v = uint64(extended(v, n))
			case "sitofp":
				v = floatBits(float64(extended(v, n)), m)
			case "uitofp":
				v = floatBits(float64(v), m)
			case "fptosi":
				v = uint64(int64(float(v, n)))
			case "fpext", "fptrunc":
				v = floatBits(float(v, n), m)
			}
			out[k] = cut(v, m)
		}
		return out
	})
}

func floatBits(f float64, n int) uint64 {
	if n == 32 {
		return uint64(math.Float32bits(float32(f)))
	} else if n != 64 {
		panic("no float of " + strconv.Itoa(n) + " bits is made")
	}
	return math.Float64bits(f)
}

func (fr *frame) element(in *inst, mask uint64) {
	list := fr.w.reading(in).list
	v, at := fr.operand(list[0], mask), fr.operand(list[len(list)-1], mask)
	if in.Op == "extractelement" {
		fr.each(in, mask, func(l int) value { return value{v[l][at[l][0]]} })
		return
	}
	one := fr.operand(list[1], mask)
	fr.each(in, mask, func(l int) value {
		out := slices.Clone(v[l])
		out[at[l][0]] = one[l][0]
		return out
	})
}

func put(b []byte, v uint64, n int) {
	var all [8]byte
	binary.LittleEndian.PutUint64(all[:], v)
	copy(b, all[:n])
}

func get(b []byte, n int) uint64 {
	var all [8]byte
	copy(all[:], b[:n])
	return binary.LittleEndian.Uint64(all[:])
}

// touch computes addresses and accesses memory; lanes do so one after the other.
func (fr *frame) touch(in *inst, mask uint64) {
	list := fr.w.reading(in).list
	switch in.Op {
	case "getelementptr":
		p, i := fr.operand(list[1], mask), fr.operand(list[2], mask)
		n := width(list[2][:typeEnd(list[2])])
		scale := uint64(size(list[0]))
		fr.each(in, mask, func(l int) value { return value{p[l][0] + uint64(extended(i[l][0], n))*scale} })
	case "load":
		count, element := shape(list[0])
		n := (width(element) + 7) / 8
		from, _, _ := strings.Cut(list[1], " syncscope(") // of an atomic one
		p := fr.operand(from, mask)
		fr.each(in, mask, func(l int) value {
			b := fr.w.access(p[l][0], n*count)
			out := make(value, count)
			for k := range out {
				out[k] = get(b[k*n:], n)
			}
			return out
		})
	case "store":
		v, p := fr.operand(list[0], mask), fr.operand(list[1], mask)
		_, element := shape(list[0][:typeEnd(list[0])])
		n := (width(element) + 7) / 8
		eachLane(mask, func(l int) {
			b := fr.w.access(p[l][0], n*len(v[l]))
			for k := range v[l] {
				put(b[k*n:], v[l][k], n)
				if !strings.HasPrefix(fr.f.Name, ours) {
					fr.w.wrote = append(fr.w.wrote, wrote{fr.w.warp(), p[l][0] + uint64(k*n), v[l][k], uint64(n)})
				}
			}
		})
	case "atomicrmw":
		what, _, _ := strings.Cut(in.Rest, " ")
		ty, text := list[1][:typeEnd(list[1])], strings.Fields(list[1])[1]
		p, v := fr.operand(list[0], mask), fr.operand(ty+" "+text, mask)
		n := width(ty)
		fr.each(in, mask, func(l int) value {
			b := fr.w.access(p[l][0], n/8)
			old := get(b, n/8)
			fresh := v[l][0]
			switch what {
			case "add":
				fresh += old
			case "umax":
				fresh = max(fresh, old)
			case "max":
				fresh = uint64(max(extended(fresh, n), extended(old, n)))
			case "or":
				fresh |= old
			case "xchg":
			default:
				panic("the interpreter does not know atomicrmw " + what)
			}
			put(b, cut(fresh, n), n/8)
			return value{old}
		})
	}
}

// callee calls a function, of the module or of the GPU.
func (fr *frame) callee(in *inst, mask uint64) {
	name := callee(in)
	var args [][]value
	for _, a := range fr.w.reading(in).args {
		args = append(args, fr.operand(a, mask))
	}
	if f := fr.w.by[name]; f != nil {
		if strings.HasPrefix(name, "prlx_record_") && !strings.HasPrefix(fr.f.Name, ours) {
			seen := called{name, fr.w.warp(), args[1][first(mask)][0], mask, nil}
			for _, a := range args[2:] { // which change when a loop comes here again
				seen.args = append(seen.args, slices.Clone(a))
			}
			fr.w.calls = append(fr.w.calls, seen)
		}
		fr.set(in.Name, fr.w.call(f, args, mask), mask)
		return
	}
	made := fr.w.intrinsic(strings.TrimPrefix(name, "llvm."), args, mask)
	if made == nil {
		panic("the interpreter does not know @" + name)
	}
	fr.each(in, mask, made)
}

func first(mask uint64) int { return bits.TrailingZeros64(mask) }

// intrinsic is what a function of the GPU gives each lane, nil where it is not known.
func (w *wave) intrinsic(name string, args [][]value, mask uint64) func(l int) value {
	same := func(v uint64) func(int) value { return func(int) value { return value{v} } }
	switch name {
	case "amdgcn.workgroup.id.x", "amdgcn.workgroup.id.y", "amdgcn.workgroup.id.z":
		return same(uint64(w.at[name[len(name)-1]-'x']))
	case "amdgcn.workitem.id.x":
		return func(l int) value { return value{uint64(w.number)*uint64(w.lanes) + uint64(l)} }
	case "amdgcn.wavefrontsize":
		return same(uint64(w.lanes))
	case "amdgcn.implicitarg.ptr":
		return same(w.told)
	case "amdgcn.ballot.i64", "amdgcn.ballot.i32":
		all := uint64(0)
		eachLane(mask, func(l int) { all |= (args[0][l][0] & 1) << l })
		return same(all)
	case "amdgcn.mbcnt.lo":
		return func(l int) value {
			return value{args[1][l][0] + uint64(bits.OnesCount32(uint32(args[0][l][0])&uint32(1<<min(l, 32)-1)))}
		}
	case "amdgcn.mbcnt.hi":
		return func(l int) value {
			return value{args[1][l][0] + uint64(bits.OnesCount32(uint32(args[0][l][0])&uint32(1<<max(l-32, 0)-1)))}
		}
	case "amdgcn.readfirstlane.i32":
		return same(args[0][first(mask)][0])
	case "amdgcn.s.barrier":
		return same(0)
	case "umax.i32":
		return func(l int) value { return value{max(args[0][l][0], args[1][l][0])} }
	case "ctpop.i32":
		return func(l int) value { return value{uint64(bits.OnesCount32(uint32(args[0][l][0])))} }
	case "cttz.i64":
		return func(l int) value { return value{uint64(bits.TrailingZeros64(args[0][l][0]))} }
	}
	return nil
}
