package llir

import (
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
	l.call("prlx_record_operands(" + begin + ", i64 " + token + ", i64 " + lhs + ", i64 " + rhs + ")")
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

// storeCalls are those that add what an access writes to its sum, up to four elements each.
func (p *point) storeCalls(number int32, scratch, debug string) string {
	a := p.access
	l := &lines{number: itoa(number), debug: debug}
	does, at, base, token := l.condition(a), l.address(a), "0", ""
	if a.slot >= 0 {
		n := p.f.argumentOf(a.pointer.name)
		base = l.bits(operand{p.f.Params[n].Type, p.f.Params[n].Name})
	}
	shape := a.element + int(a.operation)*warptrace.AtomicOperation
	for from := 0; from < len(a.values); from += 4 {
		list := a.values[from:min(from+4, len(a.values))]
		if from > 0 {
			at = l.value("add i64 " + at + ", " + itoa(int32(4*a.element)))
		}
		words := [4]string{"0", "0", "0", "0"}
		for i := range list {
			if words[i] = l.bits(list[i]); bitsOf(list[i].ty) > 8*a.element {
				words[i] = l.value("and i64 " + words[i] + ", " + itoa(int32(1)<<(8*a.element)-1))
			}
		}
		begin := "ptr addrspace(1) " + scratch + ", i32 " + l.number
		switch {
		case p.operands && from == 0:
			token = l.value("call i64 @prlx_record_opening_access(" + begin + ", i1 " + does + ", i64 " + words[0] + ")")
		case p.event && from == 0:
			l.call("prlx_record_access(" + begin + ", i1 " + does + ", i64 " + words[0] + ")")
		}
		for i := range list {
			if p.operands {
				l.elementOperands(p, begin, token, at, i, words[i])
			}
		}
		name := a.recorder(len(list))
		if name == storeRecorder {
			l.call(name + "(ptr addrspace(1) " + scratch + ", i32 " + signed(a.slot) + ", i1 " + does + ", i64 " + base + ", i64 " + at +
				", i64 " + itoa(int32(shape)) + ", i32 " + itoa(int32(len(list))) + ", i64 " + strings.Join(words[:], ", i64 ") + ")")
			continue
		}
		for i := range list {
			words[i] = l.value("trunc i64 " + words[i] + " to i32")
		}
		to := scratch // null of lanes that store nothing
		if does != "true" {
			to = l.value("select i1 " + does + ", ptr addrspace(1) " + scratch + ", ptr addrspace(1) null")
		}
		call := name + "(ptr addrspace(1) " + to + ", i32 " + signed(a.slot) + ", i64 " + l.value("sub i64 "+at+", "+base) + ", i32 "
		if name == wordRecorder {
			l.call(call + itoa(int32(shape)) + ", i32 " + words[0] + ")")
		} else {
			l.call(call + itoa(int32(len(list)<<16|shape)) + ", i32 " + strings.Join(words[:], ", i32 ") + ")")
		}
	}
	return l.b.String()
}

// What adds to sums: any elements, and those of an array that the code names: one of 4 bytes, several of them, fewer bytes.
const (
	storeRecorder  = "prlx_record_store"
	wordRecorder   = "prlx_record_word"
	wordsRecorder  = "prlx_record_words"
	narrowRecorder = "prlx_record_narrow"
)

// recorder is what adds so many elements of an access.
func (a *access) recorder(count int) string {
	switch {
	case a.slot < 0 || a.element > 4:
		return storeRecorder
	case a.element < 4:
		return narrowRecorder
	case count == 1:
		return wordRecorder
	}
	return wordsRecorder
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
