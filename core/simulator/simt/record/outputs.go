package record

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
	"github.com/prlx-go/prlx/core/simulator/simt/sites"
)

// outputs watches what a launch writes to global memory: sums of each warp by statement, and which bytes of which array.
type outputs struct {
	*arrays
	launch     *execute.Running
	statements []uint32            // local number of each one's first site
	swaps      map[uint32]bool     // those of compare-and-swaps
	fixedAt    []*writtenArray     // by place in the code, where the instruction says the array
	place      func(uint64) uint64 // of a block in the schedule
	totals     map[sumKey]*warptrace.StoreTotal
	writers    bool
	apart      int // the allocation that is not looked at, -1 none
}

// sumKey names a sum: the statement's first site and the array.
type sumKey struct{ site, array uint32 }

func compareSums(a, b sumKey) int {
	return cmp.Or(cmp.Compare(a.site, b.site), cmp.Compare(a.array, b.array))
}

// newOutputs prepares to watch a launch. places says where a block comes in the schedule, nil: by its number.
func newOutputs(r *execute.Running, plan *recordPlan, keep uint64, places map[uint64]uint64) *outputs {
	o := &outputs{launch: r, statements: plan.statements, swaps: plan.swaps, apart: plan.apart, totals: map[sumKey]*warptrace.StoreTotal{}}
	o.writers = keep > 0 && r.Blocks < 1<<(64-writerShift)-1 && len(o.statements) < 1<<writerStatementBits
	if !o.writers {
		keep = 0
	}
	o.arrays = newArrays(r, keep)
	o.fixedAt = make([]*writtenArray, len(r.Code))
	for at := range plan.steps {
		for i := range plan.steps[at] {
			if s := plan.steps[at][i].what; s == stepWrite || s == stepSwap {
				o.fixedAt[at] = o.fixed(r.Code[at].Mem.Legal)
			}
		}
	}
	o.place = func(linear uint64) uint64 { return linear }
	if places != nil {
		o.place = func(linear uint64) uint64 { return places[linear] }
	}
	return o
}

// addWrites adds steps for everything that writes global memory. Sites of one kind with the same chain are one statement: what a line
// of the source stores does not depend on how many instructions it became.
func (p *recordPlan) addWrites(k *code.Kernel, list *sites.List, leave string) {
	numbers := map[sites.Place]int{}
	first := map[string]uint32{}
	for i := range list.Marks {
		if kind := list.Marks[i].Kind; kind != site.GlobalStore && kind != site.Atomic {
			continue
		}
		numbers[list.Marks[i].Place] = i
		if key := statementKey(&list.Sites[i]); first[key] == 0 {
			first[key] = uint32(i) + 1
		}
	}
	index := map[uint32]int32{}
	p.swaps = map[uint32]bool{}
	for i := range k.Code {
		in := &k.Code[i]
		if in.Kind != code.KindStore && in.Kind != code.KindAtomic || in.Mem.Space != ptx.Global && in.Mem.Space != ptx.Generic {
			continue
		}
		place := sites.Place(k.Origin(int32(i)))
		n, ok := numbers[place]
		if !ok || leave != "" && strings.HasPrefix(place.Function.Name, leave) {
			continue
		}
		local := first[statementKey(&list.Sites[n])] - 1
		if _, ok := index[local]; !ok {
			index[local] = int32(len(p.statements))
			p.statements = append(p.statements, local)
		}
		what := stepWrite
		if in.Kind == code.KindAtomic && in.Atomic.Kind == memory.CAS {
			what, p.swaps[local] = stepSwap, true
		}
		p.steps[i] = append(p.steps[i], step{what: what, site: local, keep: index[local]})
	}
}

// statementKey is equal for sites of one statement.
func statementKey(s *site.Site) string {
	var b strings.Builder
	b.WriteByte(byte(s.Kind))
	for i := range s.Chain {
		f := &s.Chain[i]
		b.WriteString(f.Function + "\x00" + f.File + "\x00")
		for _, n := range [...]uint32{f.Line, f.Column} {
			b.Write([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)})
		}
	}
	return b.String()
}

// storeSums are what one warp stored: by statement the array that it stores to, and what went elsewhere.
type storeSums struct {
	by   []arraySum
	more map[sumKey]*arraySum // by place of the statement and ID of the array
}

type arraySum struct {
	array       uint32
	count, hash uint64
	values      warptrace.ValueSums
}

func (s *storeSums) begin(statements int) {
	if len(s.by) != statements {
		s.by = make([]arraySum, statements)
	}
	clear(s.by)
	s.more = nil
}

// of is the sum of a statement and an array.
func (s *storeSums) of(statement int32, array uint32) *arraySum {
	sum := &s.by[statement]
	if sum.count > 0 && sum.array != array {
		key := sumKey{uint32(statement), array}
		if s.more == nil {
			s.more = map[sumKey]*arraySum{}
		}
		if sum = s.more[key]; sum == nil {
			sum = new(arraySum)
			s.more[key] = sum
		}
	}
	sum.array = array
	return sum
}

// list appends the sums in their order, and adds them to those of all warps.
func (s *storeSums) list(into []warptrace.StoreSum, out *outputs) []warptrace.StoreSum {
	from := len(into)
	take := func(statement uint32, sum *arraySum) {
		one := warptrace.StoreSum{Site: out.statements[statement], Array: sum.array, Count: sum.count, Hash: sum.hash}
		into = append(into, one)
		out.total(&one, &sum.values)
	}
	for i := range s.by {
		if sum := &s.by[i]; sum.count > 0 {
			take(uint32(i), sum)
		}
	}
	for key, sum := range s.more {
		take(key.site, sum)
	}
	slices.SortFunc(into[from:], func(a, b warptrace.StoreSum) int {
		return compareSums(sumKey{a.Site, a.Array}, sumKey{b.Site, b.Array})
	})
	return into
}

// addressesTo finds where an access goes, without names.
func addressesTo(into *[lane.Lanes]uint64, w *execute.Warp, t *memory.Transfer) {
	switch off := uint64(t.Offset); {
	case t.Absolute:
		for l := range into {
			into[l] = off
		}
	case t.Narrow:
		for l, v := range &w.Regs.R32[t.Address] {
			into[l] = uint64(v + uint32(off))
		}
	default:
		for l, v := range &w.Regs.R64[t.Address] {
			into[l] = v + off
		}
	}
}

// write records a store, or an atomic by what it brings, of the lanes whose access is right.
func (o *blockRecorder) write(w *execute.Warp, s *step, at int32, lanes uint32) {
	in := &o.code[at]
	addressesTo(&o.address, w, in.Mem)
	x := storing{w: w, s: s, t: in.Mem, lanes: lanes, a: &o.address, values: &in.Mem.Regs}
	if in.Kind == code.KindAtomic {
		x.values, x.operation, x.reads = &in.Mem.Data, operationShape(&in.Atomic), in.Atomic.Kind != memory.Exch
	}
	o.wrote(at, x)
}

// expect keeps what a compare-and-swap compares with, which its result may overwrite.
func (o *blockRecorder) expect(w *execute.Warp, at int32) {
	in := &o.code[at]
	addressesTo(&o.swapped, w, in.Mem)
	if o.parts = 0; in.Mem.Part != 0 {
		for l, own := range &w.Regs.R64[in.Mem.Part-1] {
			if own&^(memory.WordBytes-1) == o.swapped[l] {
				o.swapped[l] = own
				o.parts |= 1 << l
			}
		}
	}
	expected := lanesOf(w, code.Register{Bank: bankOfElement(in), Index: in.Mem.Data[0]})
	for l := range o.expected {
		o.expected[l] = expected.at(l)
	}
}

// swap records the lanes of a compare-and-swap that swapped: how often others try depends on the order. So does what they bring.
func (o *blockRecorder) swap(w *execute.Warp, s *step, at int32, lanes uint32) {
	in := &o.code[at]
	if r := in.Mem.Regs[0]; r >= 0 {
		old, mask := lanesOf(w, code.Register{Bank: bankOfElement(in), Index: r}), widthMask(in.Mem.Elem)
		for rest := lanes; rest != 0; rest &= rest - 1 {
			if l := lowest(rest); (old.at(l)^o.expected[l])&mask != 0 {
				lanes &^= 1 << l
			}
		}
	}
	operation := operationShape(&in.Atomic)
	o.wrote(at, storing{w: w, s: s, t: in.Mem, lanes: lanes &^ o.parts, a: &o.swapped, operation: operation, reads: true, old: &o.expected})
	lanes &= o.parts
	var bytes, halves uint32
	old := o.expected
	for rest := lanes; rest != 0; rest &= rest - 1 {
		l := lowest(rest)
		old[l] >>= 8 * (o.swapped[l] % memory.WordBytes)
		if array := o.recorder.outputs.fixedAt[at]; o.swapped[l]%2 != 0 || array != nil && array.ElementBytes == 1 {
			bytes |= 1 << l
		} else {
			halves |= 1 << l
		}
	}
	part := *in.Mem // the loop writes back what it has read of the rest of the word
	part.Elem = 1
	o.wrote(at, storing{w: w, s: s, t: &part, lanes: bytes, a: &o.swapped, operation: operation, reads: true, old: &old})
	part.Elem = 2
	o.wrote(at, storing{w: w, s: s, t: &part, lanes: halves, a: &o.swapped, operation: operation, reads: true, old: &old})
}

// storing is an access that writes global memory.
type storing struct {
	w      *execute.Warp
	s      *step
	t      *memory.Transfer
	lanes  uint32
	a      *[lane.Lanes]uint64 // where each lane writes
	values *[8]int32           // registers of the elements, nil: values do not count
	dense  bool                // all lanes write, each where the one before ends

	operation uint64              // what an atomic does, as the hash takes it; 0 a store
	reads     bool                // what the elements hold is part of the result
	old       *[lane.Lanes]uint64 // what they held, nil: what they hold
}

// operationShape is what tells the hash what an atomic does: the same operand added, exchanged or compared is another result.
func operationShape(op *memory.AtomicOp) uint64 {
	n := uint64(op.Kind) + 1
	switch op.Type {
	case ptx.F16, ptx.F16x2, ptx.BF16, ptx.BF16x2, ptx.F32, ptx.F64:
		n += operationFloat
	case ptx.S32, ptx.S64:
		if op.Kind == memory.Min || op.Kind == memory.Max {
			n += operationSigned
		}
	default:
	}
	return n * warptrace.AtomicOperation
}

const (
	operationFloat  = 16
	operationSigned = 32 // sums of integers are the same with and without a sign
)

const allLanes = 1<<lane.Lanes - 1

// wrote adds an access to the sums of its warp, and notes its bytes.
func (o *blockRecorder) wrote(at int32, x storing) {
	if x.lanes == 0 {
		return
	}
	out, fixed := o.recorder.outputs, o.recorder.outputs.fixedAt[at]
	width := uint64(x.t.Elem * x.t.Count)
	x.dense = x.lanes == allLanes && isDense(x.a, width)
	low, high, set := x.a[0], x.a[lane.Lanes-1], x.a[0]
	if !x.dense {
		low, high, set = extentOf(x.a, x.lanes)
	}
	if set&(width-1) == 0 {
		if n, offset, ok := out.global.Stored(low, high+width, x.t.Legal); ok {
			if n == out.apart {
				return
			}
			array := fixed
			if array == nil && len(out.into[n]) == 1 {
				array = out.into[n][0]
			}
			if array != nil {
				o.note(&x, array, int64(offset-low))
				return
			}
		}
	}
	x.dense = false
	for rest := x.lanes; rest != 0; rest &= rest - 1 {
		l := lowest(rest)
		n, offset, ok := out.global.Stored(x.a[l], x.a[l]+width, x.t.Legal)
		if !ok || x.a[l]&(width-1) != 0 {
			continue // a finding
		}
		if n == out.apart {
			continue
		}
		array := fixed
		if array == nil {
			array = out.at(n, int64(offset))
		}
		x.lanes = 1 << l
		o.note(&x, array, int64(offset-x.a[l]))
	}
}

// extentOf returns the least and the greatest address of lanes, and all their bits.
func extentOf(a *[lane.Lanes]uint64, lanes uint32) (low, high, set uint64) {
	low = a[lowest(lanes)]
	for rest := lanes; rest != 0; rest &= rest - 1 {
		v := a[lowest(rest)]
		low, high, set = min(low, v), max(high, v), set|v
	}
	return low, high, set
}

// isDense reports whether the address of every lane follows the one before without a gap.
func isDense(a *[lane.Lanes]uint64, width uint64) bool {
	var differs uint64
	want := a[0]
	for _, v := range a {
		differs |= v ^ want
		want += width
	}
	return differs == 0
}

// note adds lanes that write one array. base is what makes an address an offset in the array's allocation.
func (o *blockRecorder) note(x *storing, array *writtenArray, base int64) {
	array.begin()
	var hash uint64
	for i := range x.t.Count {
		place := warptrace.HashPlace(uint64(base-array.base+int64(i*x.t.Elem)), uint64(x.t.Elem)+x.operation)
		switch {
		case x.values == nil:
			hash += hashPlaces(x, place)
		case x.t.Elem == 8:
			hash += o.recorder.outputs.hashWide(x, &x.w.Regs.R64[x.values[i]], place)
		case x.t.Wide:
			hash += hashStored(x, &x.w.Regs.R64[x.values[i]], place, widthMask(x.t.Elem))
		default:
			hash += hashStored(x, &x.w.Regs.R32[x.values[i]], place, uint32(widthMask(x.t.Elem)))
		}
	}
	sum := o.warps[x.w.Index].sums.of(x.s.keep, array.ID)
	sum.count += uint64(bits.OnesCount32(x.lanes) * x.t.Count)
	sum.hash += hash
	o.recorder.outputs.measure(x, array, &sum.values)
	if x.reads {
		o.began(x, array, base)
	}
	bit, width := base+array.shift, int64(x.t.Elem*x.t.Count)
	if x.dense {
		array.mark(bit+int64(x.a[0]), width*lane.Lanes)
	} else {
		for rest := x.lanes; rest != 0; rest &= rest - 1 {
			array.mark(bit+int64(x.a[lowest(rest)]), width)
		}
	}
	if array.writers != nil {
		who := (o.place+1)<<writerShift | uint64(x.w.Index*lane.Lanes)<<writerStatementBits | uint64(x.s.keep)
		for rest := x.lanes; rest != 0; rest &= rest - 1 {
			l := lowest(rest)
			array.claim(bit+int64(x.a[l]), width, who|uint64(l)<<writerStatementBits)
		}
	}
}

// began adds what elements held that an atomic is the first to write: together with all operands it decides the result, but for the
// order. It goes by bytes, because how elements are packed into one access is up to the compiler.
func (o *blockRecorder) began(x *storing, array *writtenArray, base int64) {
	out := o.recorder.outputs
	contents := out.global.Bytes(array.allocation)
	var sum uint64
	for rest := x.lanes; rest != 0; rest &= rest - 1 {
		l := lowest(rest)
		for i := range x.t.Count {
			at := base + int64(x.a[l]) + int64(i*x.t.Elem)
			if !array.first(at+array.shift, int64(x.t.Elem)) {
				continue
			}
			var value uint64
			if x.old != nil {
				value = x.old[l]
			} else {
				for k := range x.t.Elem {
					value |= uint64(contents[at+int64(k)]) << (8 * k)
				}
			}
			if _, pointer := out.nameOf(value); pointer && x.t.Elem == 8 {
				continue
			}
			for k := range x.t.Elem {
				sum += warptrace.StoredHash(uint64(at-array.base+int64(k)), value>>(8*k)&0xff, 1)
			}
		}
	}
	atomic.AddUint64(&array.Began, sum)
}

// hashStored is the stored hash of one element of the lanes.
func hashStored[T uint32 | uint64](x *storing, v *[lane.Lanes]T, place uint64, mask T) (sum uint64) {
	if x.dense {
		at, step := place+warptrace.HashPlace(x.a[0], 0), warptrace.HashPlace(x.a[1]-x.a[0], 0)
		for _, value := range v {
			sum += warptrace.HashAt(at, uint64(value&mask))
			at += step
		}
		return sum
	}
	for rest := x.lanes; rest != 0; rest &= rest - 1 {
		l := lowest(rest)
		sum += warptrace.HashAt(place+warptrace.HashPlace(x.a[l], 0), uint64(v[l]&mask))
	}
	return sum
}

// hashWide is hashStored of 8 bytes, which may be addresses.
func (o *outputs) hashWide(x *storing, v *[lane.Lanes]uint64, place uint64) (sum uint64) {
	for rest := x.lanes; rest != 0; rest &= rest - 1 {
		l := lowest(rest)
		at, value := place+warptrace.HashPlace(x.a[l], 0), v[l]
		if name, ok := o.nameOf(value); ok {
			at, value = at+warptrace.HashPlace(0, warptrace.NamedPointer), name
		}
		sum += warptrace.HashAt(at, value)
	}
	return sum
}

// hashPlaces is hashStored of values that do not count.
func hashPlaces(x *storing, place uint64) (sum uint64) {
	for rest := x.lanes; rest != 0; rest &= rest - 1 {
		sum += warptrace.HashAt(place+warptrace.HashPlace(x.a[lowest(rest)], 0), 0)
	}
	return sum
}

// measure adds what lanes store to the sums that know no place. One access may hold several elements of the array: f16x2, or two
// bf16 in one register. What a compare-and-swap brings depends on the order, and is left out.
func (o *outputs) measure(x *storing, array *writtenArray, into *warptrace.ValueSums) {
	if x.values == nil {
		return
	}
	size := x.t.Elem
	if e := int(array.ElementBytes); e > 1 && e < size {
		size = e
	}
	shape := uint64(size) + x.operation
	for i := range x.t.Count {
		wide := x.t.Elem == 8 || x.t.Wide
		if size == 4 && !wide {
			into.AddLanes(&x.w.Regs.R32[x.values[i]], x.lanes, shape)
			continue
		}
		for rest := x.lanes; rest != 0; rest &= rest - 1 {
			l := lowest(rest)
			var value uint64
			if wide {
				value = x.w.Regs.R64[x.values[i]][l]
			} else {
				value = uint64(x.w.Regs.R32[x.values[i]][l])
			}
			if size == 8 {
				if name, ok := o.nameOf(value); ok {
					into.Hash += warptrace.StoredHash(0, name, shape+warptrace.NamedPointer)
					continue
				}
			}
			for k := 0; k < x.t.Elem; k += size {
				into.Add(value>>(8*k)&widthMask(size), size, shape)
			}
		}
	}
}

// total adds the sum of a warp that is handed over.
func (o *outputs) total(s *warptrace.StoreSum, values *warptrace.ValueSums) {
	key := sumKey{s.Site, s.Array}
	t := o.totals[key]
	if t == nil {
		t = &warptrace.StoreTotal{StoreSum: warptrace.StoreSum{Site: s.Site, Array: s.Array}, Swaps: o.swaps[s.Site], Values: &warptrace.ValueSums{}}
		o.totals[key] = t
	}
	t.Count += s.Count
	t.Hash += s.Hash
	t.Warps++
	t.Values.Plus(values)
}

// sortedTotals are the sums of all warps.
func (o *outputs) sortedTotals() []warptrace.StoreTotal {
	var list []warptrace.StoreTotal
	for _, key := range slices.SortedFunc(maps.Keys(o.totals), compareSums) {
		list = append(list, *o.totals[key])
	}
	return list
}
