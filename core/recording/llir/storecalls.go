package llir

import (
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// slots gives accesses the sums that they add to: one for each statement and array, numbered from 0 where the array is known, from -1
// down where it is looked for while the kernel runs.
type slots struct {
	known, sought []observe.Sum
	by            map[slotKey]int32
	statements    map[string]uint32 // local number of each one's first site
}

// needed is how many sums a warp must have for those that are known by their numbers, at least one where there are any.
func (t *slots) needed() int { return max(len(t.known), min(len(t.sought), 1)) }

type slotKey struct {
	statement uint32
	array     int32
}

// statementKey is equal for sites of one statement, as the simulator has it: of one kind with one chain.
func statementKey(s *site.Site) string {
	var b strings.Builder
	b.WriteByte(byte(s.Kind))
	for i := range s.Chain {
		f := &s.Chain[i]
		b.WriteString(f.Function + "\x00" + f.File + "\x00" + itoa(int32(f.Line)) + "\x00" + itoa(int32(f.Column)) + "\x00")
	}
	return b.String()
}

// of is the slot of an access at a site; array is the parameter that it writes to, -1 unknown.
func (t *slots) of(number uint32, s *site.Site, array int32, swaps bool) int32 {
	if t.by == nil {
		t.by, t.statements = map[slotKey]int32{}, map[string]uint32{}
	}
	name := statementKey(s)
	first, ok := t.statements[name]
	if !ok {
		first = number
		t.statements[name] = first
	}
	key := slotKey{first, array}
	slot, ok := t.by[key]
	if !ok {
		sum := observe.Sum{Site: first, Array: array}
		if array >= 0 {
			slot, t.known = int32(len(t.known)), append(t.known, sum)
		} else {
			slot, t.sought = int32(-1-len(t.sought)), append(t.sought, sum)
		}
		t.by[key] = slot
	}
	if swaps {
		if slot >= 0 {
			t.known[slot].Swaps = true
		} else {
			t.sought[-1-slot].Swaps = true
		}
	}
	return slot
}

// lines writes instructions in front of a call.
type lines struct {
	b      strings.Builder
	number string // of the site, and of the access at it
	debug  string
	made   int32
	caller caller
}

// value writes an instruction and returns the name of its result.
func (l *lines) value(text string) string {
	name := "%" + ours + "v" + l.number + "." + itoa(l.made)
	l.made++
	l.b.WriteString("  " + name + " = " + text + l.debug + "\n")
	return name
}

// call writes a call whose result nobody takes.
func (l *lines) call(text string) { l.b.WriteString("  call void @" + text + l.debug + "\n") }

// operands keeps those of every lane at an event that was opened.
func (l *lines) operands(begin, token, lhs, rhs string) {
	l.call("prlx_record_operands(" + begin + ", i64 " + token + ", i64 " + lhs + ", i64 " + rhs + l.caller.end())
}

// bits makes 64 bits of a value.
func (l *lines) bits(o operand) string {
	if o.name == "" {
		return "0"
	}
	if vector, element, ok := strings.Cut(o.name, "["); ok && strings.Contains(element, "]<") { // element of a vector: %7[2]<4 x half>
		at, ty, _ := strings.Cut(element, "]")
		o.name = l.value("extractelement " + ty + " " + vector + ", i64 " + at)
	}
	if strings.HasPrefix(o.ty, "<") {
		whole := "i" + itoa(int32(bitsOf(o.ty)))
		o = operand{whole, l.value("bitcast " + o.ty + " " + o.name + " to " + whole)}
	}
	steps, _ := conversion(o.ty)
	for _, step := range steps {
		o.name = l.value(strings.Replace(step, "$", o.name, 1))
	}
	return o.name
}

// condition makes the i1 that says whether a lane writes.
func (l *lines) condition(a *access) string {
	all := "true"
	if a.condition != "" {
		all = a.condition
		if a.not {
			all = l.value("xor i1 " + all + ", true")
		}
	}
	also := ""
	switch {
	case a.swapped != "":
		also = l.value("extractvalue { " + a.values[0].ty + ", i1 } " + a.swapped + ", 1")
	case a.found.name != "":
		also = l.value("icmp eq " + a.found.ty + " " + a.found.name + ", " + a.expected.name)
	case a.below[0] != "":
		offset, ty := a.below[0], a.limit
		if ty != "i32" {
			offset = l.value("zext i32 " + offset + " to " + ty)
		}
		also = l.value("icmp ult " + ty + " " + offset + ", " + a.below[1])
	}
	switch {
	case also == "":
		return all
	case all == "true":
		return also
	}
	return l.value("and i1 " + all + ", " + also)
}

// address makes the number of where an access begins.
func (l *lines) address(a *access) string {
	at := l.bits(a.pointer)
	for _, o := range a.offsets {
		if o.name != "0" {
			at = l.value("add i64 " + at + ", " + l.bits(o))
		}
	}
	return at
}

// words are the bits of each element of an access.
func (l *lines) words(a *access) []string {
	words := make([]string, len(a.values))
	for i, o := range a.values {
		if words[i] = l.bits(o); bitsOf(o.ty) > 8*a.element {
			words[i] = l.value("and i64 " + words[i] + ", " + itoa(int32(1)<<(8*a.element)-1))
		}
	}
	return words
}

// accessCalls are the event of an access, and what adds its elements to a sum the long way.
func (p *point) accessCalls(number int32, c caller) string {
	a := p.access
	if !p.event && a.quick() {
		return ""
	}
	l := &lines{number: itoa(number), debug: p.debugging(), caller: c}
	does, words := l.condition(a), l.words(a)
	begin, end := c.begin(l.number), c.end()
	at := ""
	if p.operands || !a.quick() {
		at = l.address(a)
	}
	switch {
	case p.operands:
		token := l.value("call i64 @prlx_record_opening_access(" + begin + ", i1 " + does + ", i64 " + words[0] + end)
		for i, word := range words {
			l.elementOperands(p, begin, token, at, i, word)
		}
	case p.event:
		l.call(c.name("access") + "(" + begin + ", i1 " + does + ", i64 " + words[0] + end)
	}
	if a.quick() {
		return l.b.String()
	}
	base := "0"
	if a.slot >= 0 {
		base = p.base(l)
	}
	for from := 0; from < len(words); from += 4 {
		four := [4]string{"0", "0", "0", "0"}
		n := copy(four[:], words[from:])
		if from > 0 {
			at = l.value("add i64 " + at + ", " + itoa(int32(4*a.element)))
		}
		l.call(storeRecorder + "(ptr addrspace(1) " + c.scratch + ", ptr addrspace(1) " + entryName + ", i32 " + signed(a.slot) + ", i1 " + does + ", i64 " + base +
			", i64 " + at + ", i64 " + itoa(a.shape()) + ", i32 " + itoa(int32(n)) + ", i64 " + strings.Join(four[:], ", i64 ") + ")")
	}
	return l.b.String()
}

// base makes the number of where the array of an access begins.
func (p *point) base(l *lines) string {
	n := p.f.argumentOf(p.access.pointer.name)
	return l.bits(operand{p.f.Params[n].Type, p.f.Params[n].Name})
}

// shape is the size of an element and what an atomic does with it, as the hash takes them.
func (a *access) shape() int32 { return int32(a.element + int(a.operation)*warptrace.AtomicOperation) }

// What adds to sums: any elements; those of an array that the code names go the quick way, in which each lane adds for itself what a block stores at
// one statement, and then to the sum.
const storeRecorder = "prlx_record_store"

// quick reports whether an access goes that way.
func (a *access) quick() bool { return a.slot >= 0 && a.element <= 8 }

// adds is the function that takes an element.
func (a *access) adds() string {
	switch {
	case a.element == 1:
		return "prlx_byte"
	case a.element == 2:
		return "prlx_half"
	case a.element == 8:
		return "prlx_wide"
	case a.pairs:
		return "prlx_pair"
	}
	return "prlx_word"
}

// worth is what a top bit counts in the sum of the bits of elements.
func (a *access) worth() string {
	switch {
	case a.element == 1:
		return "128"
	case a.element == 2 || a.pairs:
		return "32768"
	}
	return "2147483648"
}

// recorders are the functions that an access calls.
func (a *access) recorders() []string {
	if !a.quick() {
		return []string{storeRecorder}
	}
	return []string{a.adds(), "prlx_place", "prlx_halves", "prlx_range", "prlx_add_sums"}
}

// most is how many elements a lane sums before it adds them: their values are kept in registers until then.
const mostSummed = 16

// grouped puts accesses together that add to one sum, one after the other in a block: by the last point of each group, its points.
func grouped(points []point) map[int][]int {
	groups := map[int][]int{}
	open, elements := -1, 0 // the last point of the group that may take more
	for i := range points {
		a := points[i].access
		if a == nil || !a.quick() {
			continue
		}
		alone := a.swapped != "" || a.found.name != "" // added once it is known whether it did
		if open >= 0 && !alone && elements+len(a.values) <= mostSummed && points[open].joins(&points[i]) {
			groups[i] = append(groups[open], i)
			delete(groups, open)
		} else {
			groups[i], elements = []int{i}, 0
		}
		if elements += len(a.values); alone {
			open = -1
		} else {
			open = i
		}
	}
	return groups
}

// joins reports whether the elements of two accesses may be added together.
func (p *point) joins(q *point) bool {
	a, b := p.access, q.access
	return p.f == q.f && p.f.Insts[p.at].block == q.f.Insts[q.at].block && a.slot == b.slot && a.element == b.element && a.pairs == b.pairs
}

const (
	sumType   = "{ i64, i64, i64, i32, i32, i32 }"
	ofOffsets = -7046029288634856825 // what an offset counts in a hash
)

// sumCalls are those by which a lane sums the elements of some accesses, and adds them to the sum of the statement.
func sumCalls(points []point, group []int, first int, c caller) string {
	last := group[len(group)-1]
	l := &lines{number: itoa(int32(first+last)) + "s", caller: c}
	arena := "ptr addrspace(1) " + c.scratch + ", ptr addrspace(1) " + entryName + ", i32 " + signed(points[last].access.slot)
	sum, of := "zeroinitializer", ""
	for _, k := range group {
		p := &points[k]
		a := p.access
		l.debug = p.debugging()
		does, words := l.condition(a), l.words(a)
		offset := l.value("sub i64 " + l.address(a) + ", " + p.base(l))
		shape := "i64 " + itoa(a.shape())
		place := l.value("call i64 @prlx_place(i64 " + offset + ", " + shape + ")")
		switch {
		case of != "":
		case a.element == 4:
			of = "i1 " + l.value("call i1 @prlx_halves("+arena+")")
		case a.element == 8:
			of = "{ i64, i64, i1 } " + l.value("call { i64, i64, i1 } @prlx_range("+arena+")")
		}
		for i, word := range words {
			at := place
			if i > 0 {
				at = l.value("add i64 " + place + ", " + strconv.FormatInt(int64(i*a.element)*ofOffsets, 10))
			}
			call := "call " + sumType + " @" + a.adds() + "(" + sumType + " " + sum + ", i1 " + does + ", i64 " + at + ", " + shape
			if a.element < 8 {
				call += ", i32 " + l.value("trunc i64 "+word+" to i32")
			} else {
				call += ", i64 " + word
			}
			if of != "" {
				call += ", " + arena + ", " + of
			}
			sum = l.value(call + ")")
		}
	}
	l.call("prlx_add_sums(" + arena + ", " + sumType + " " + sum + ", i64 " + points[last].access.worth() + ")")
	return l.b.String()
}

// elementOperands keeps where each lane stores an element and what; of an atomic, what it brings.
func (l *lines) elementOperands(p *point, begin, token, at string, i int, word string) {
	if p.kind == site.Atomic {
		l.operands(begin, token, word, "0")
		return
	}
	if i > 0 {
		at = l.value("add i64 " + at + ", " + itoa(int32(i*p.access.element)))
	}
	l.operands(begin, token, at, word)
}

func signed(n int32) string {
	if n < 0 {
		return "-" + itoa(-n)
	}
	return itoa(n)
}
