// Package unpickle reads data that Python has pickled, without Python and without its dangers: numbers, texts, lists, tuples, dictionaries and
// sets. Whatever would import a name or call something is refused by what it names; nothing is ever executed. Protocols 2 to 5.
//
// What the format allows and data does not need is refused, too: integers beyond 64 bits, persistent ids, extension codes, buffers outside of the stream.
package unpickle

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/prlx-go/prlx/core/fault"
)

// Limits of what is read.
const (
	MaxBytes = 512 << 20
	// maxContainers is how many lists, tuples, dictionaries and sets a file may have.
	maxContainers = 8 << 20
)

// List is a list, a tuple or a set. A value may stand in several places, and in itself.
type List struct{ Items []any }

// Dict is a dictionary in the order of its insertions; of equal keys the last counts.
type Dict struct{ Keys, Values []any }

// Get returns the value of a key that is a text.
func (d *Dict) Get(key string) (any, bool) {
	for i := len(d.Keys) - 1; i >= 0; i-- {
		if k, ok := d.Keys[i].(string); ok && k == key {
			return d.Values[i], true
		}
	}
	return nil, false
}

// Looks reports whether a file begins as a pickle of protocol 2 to 5.
func Looks(head []byte) bool {
	return len(head) >= 3 && head[0] == opProto && head[1] >= 2 && head[1] <= 5
}

// Load reads the one value of a file: nil, bool, int64, float64, string, []byte, *List or *Dict. Texts share the memory of b.
func Load(path string, b []byte) (any, error) {
	if len(b) > MaxBytes {
		return nil, fault.Formatf(path, 0, "%d bytes are pickled, at most %d are read", len(b), MaxBytes)
	}
	if !Looks(b) {
		return nil, fault.Formatf(path, 0, "this is no pickle of protocol 2 to 5")
	}
	m := machine{path: path, b: b, text: string(b), memo: map[uint64]any{}}
	for {
		at := m.at
		op, err := m.take(1)
		if err != nil {
			return nil, err
		}
		if op[0] == opStop {
			break
		}
		if err := m.step(op[0], at); err != nil {
			return nil, err
		}
	}
	if len(m.stack) != 1 || len(m.marks) != 0 {
		return nil, m.errorf(m.at-1, "%d values are left at the end, expected one", len(m.stack))
	}
	if m.at != len(b) {
		return nil, m.errorf(m.at, "%d bytes follow the end", len(b)-m.at)
	}
	return m.stack[0], nil
}

type machine struct {
	path       string
	b          []byte
	text       string
	at         int
	stack      []any
	marks      []int
	memo       map[uint64]any
	containers int
}

func (m *machine) errorf(at int, format string, args ...any) *fault.Error {
	return fault.Formatf(m.path, int64(at), format, args...)
}

// take returns the next bytes.
func (m *machine) take(n uint64) ([]byte, error) {
	if n > uint64(len(m.b)-m.at) {
		return nil, m.errorf(m.at, "the file ends, %d bytes more were expected", n).WithHint("it was cut, or the process ended while it wrote it")
	}
	out := m.b[m.at : m.at+int(n)]
	m.at += int(n)
	return out, nil
}

// number reads an unsigned little-endian number of n bytes.
func (m *machine) number(n uint64) (uint64, error) {
	b, err := m.take(n)
	if err != nil {
		return 0, err
	}
	var whole [8]byte
	copy(whole[:], b)
	return binary.LittleEndian.Uint64(whole[:]), nil
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

// floor is where the stack of the innermost mark begins.
func (m *machine) floor() int {
	if len(m.marks) == 0 {
		return 0
	}
	return m.marks[len(m.marks)-1]
}

func (m *machine) pop(at int) (any, error) {
	if len(m.stack) <= m.floor() {
		return nil, m.errorf(at, "a value is taken where there is none")
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v, nil
}

// toMark takes everything above the mark.
func (m *machine) toMark(at int) ([]any, error) {
	if len(m.marks) == 0 {
		return nil, m.errorf(at, "a mark is taken where there is none")
	}
	from := m.floor()
	m.marks = m.marks[:len(m.marks)-1]
	items := append([]any(nil), m.stack[from:]...)
	m.stack = m.stack[:from]
	return items, nil
}

func (m *machine) container(at int, v any) error {
	if m.containers++; m.containers > maxContainers {
		return m.errorf(at, "more than %d lists and dictionaries", maxContainers)
	}
	m.push(v)
	return nil
}

// step executes one opcode, those that hold data first.
func (m *machine) step(op byte, at int) error {
	if n, ok := sized[op]; ok {
		return m.bytes(op, n, at)
	}
	switch op {
	case opNone:
		m.push(nil)
	case opTrue, opFalse:
		m.push(op == opTrue)
	case opInt1, opInt2, opInt4, opLong1, opLong4, opFloat:
		return m.scalar(op, at)
	case opProto:
		_, err := m.take(1)
		return err
	case opFrame:
		_, err := m.take(8)
		return err
	case opMark:
		m.marks = append(m.marks, len(m.stack))
	case opPut1, opPut4, opMemoize, opGet1, opGet4:
		return m.remember(op, at)
	case opPop:
		_, err := m.pop(at)
		return err
	case opPopMark:
		_, err := m.toMark(at)
		return err
	case opDup:
		v, err := m.pop(at)
		m.stack = append(m.stack, v, v)
		return err
	default:
		return m.structure(op, at)
	}
	return nil
}

// scalar reads a number.
func (m *machine) scalar(op byte, at int) error {
	width := map[byte]uint64{opInt1: 1, opInt2: 2, opInt4: 4, opFloat: 8, opLong1: 1, opLong4: 4}[op]
	if op == opFloat {
		b, err := m.take(width)
		if err == nil {
			m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
		}
		return err
	}
	n, err := m.number(width)
	if err != nil {
		return err
	}
	switch op {
	case opInt4:
		m.push(int64(int32(n)))
	case opInt1, opInt2:
		m.push(int64(n))
	default:
		return m.long(n, at)
	}
	return nil
}

// long reads an integer of n bytes, two's complement.
func (m *machine) long(n uint64, at int) error {
	b, err := m.take(n)
	if err != nil {
		return err
	}
	for len(b) > 8 && (b[len(b)-1] == 0 && b[len(b)-2] < 128 || b[len(b)-1] == 255 && b[len(b)-2] >= 128) {
		b = b[:len(b)-1]
	}
	if len(b) > 8 {
		return m.errorf(at, "an integer of %d bytes, at most 8 are read", len(b))
	}
	var whole [8]byte
	copy(whole[:], b)
	if len(b) > 0 && b[len(b)-1] >= 128 {
		for i := len(b); i < 8; i++ {
			whole[i] = 255
		}
	}
	m.push(int64(binary.LittleEndian.Uint64(whole[:])))
	return nil
}

// bytes reads a text or bytes with their length.
func (m *machine) bytes(op byte, width uint64, at int) error {
	n, err := m.number(width)
	if err != nil {
		return err
	}
	from := m.at
	b, err := m.take(n)
	switch {
	case err != nil:
		return err
	case op == opBytes1 || op == opBytes4 || op == opBytes8:
		m.push(b)
	default:
		m.push(m.text[from : from+len(b)])
	}
	return nil
}

// remember keeps a value under a number, or takes it.
func (m *machine) remember(op byte, at int) error {
	key := uint64(len(m.memo))
	if op != opMemoize {
		width := uint64(1)
		if op == opPut4 || op == opGet4 {
			width = 4
		}
		n, err := m.number(width)
		if err != nil {
			return err
		}
		key = n
	}
	if op == opGet1 || op == opGet4 {
		v, ok := m.memo[key]
		if !ok {
			return m.errorf(at, "value %d is taken, which was not kept", key)
		}
		m.push(v)
		return nil
	}
	if len(m.stack) <= m.floor() {
		return m.errorf(at, "a value is kept where there is none")
	}
	m.memo[key] = m.stack[len(m.stack)-1]
	return nil
}

// structure builds lists, tuples, sets and dictionaries, and refuses the rest.
func (m *machine) structure(op byte, at int) error {
	switch op {
	case opEmptyList, opEmptyTuple, opEmptySet:
		return m.container(at, &List{})
	case opEmptyDict:
		return m.container(at, &Dict{})
	case opList, opTuple, opFrozenSet:
		items, err := m.toMark(at)
		if err != nil {
			return err
		}
		return m.container(at, &List{items})
	case opTuple1, opTuple2, opTuple3:
		n := int(op-opTuple1) + 1
		if len(m.stack)-m.floor() < n {
			return m.errorf(at, "a tuple of %d is made of fewer values", n)
		}
		items := append([]any(nil), m.stack[len(m.stack)-n:]...)
		m.stack = m.stack[:len(m.stack)-n]
		return m.container(at, &List{items})
	case opAppend, opAppends, opAddItems:
		return m.appendTo(op, at)
	case opSetItem, opSetItems, opDict:
		return m.setIn(op, at)
	}
	return m.refuse(op, at)
}

// items takes what one opcode for one, or for all above the mark, adds.
func (m *machine) items(one bool, n, at int) ([]any, error) {
	if !one {
		return m.toMark(at)
	}
	if len(m.stack)-m.floor() < n {
		return nil, m.errorf(at, "%d values are added where there are fewer", n)
	}
	items := append([]any(nil), m.stack[len(m.stack)-n:]...)
	m.stack = m.stack[:len(m.stack)-n]
	return items, nil
}

func (m *machine) appendTo(op byte, at int) error {
	items, err := m.items(op == opAppend, 1, at)
	if err != nil {
		return err
	}
	if len(m.stack) > m.floor() {
		if l, ok := m.stack[len(m.stack)-1].(*List); ok {
			l.Items = append(l.Items, items...)
			return nil
		}
	}
	return m.errorf(at, "something is added to a value that is not a list")
}

func (m *machine) setIn(op byte, at int) error {
	items, err := m.items(op == opSetItem, 2, at)
	if err != nil {
		return err
	}
	if len(items)%2 != 0 {
		return m.errorf(at, "a key without a value")
	}
	if op == opDict {
		if err := m.container(at, &Dict{}); err != nil {
			return err
		}
	}
	if len(m.stack) > m.floor() {
		if d, ok := m.stack[len(m.stack)-1].(*Dict); ok {
			for i := 0; i < len(items); i += 2 {
				d.Keys, d.Values = append(d.Keys, items[i]), append(d.Values, items[i+1])
			}
			return nil
		}
	}
	return m.errorf(at, "a key is set in a value that is not a dictionary")
}

// refuse says what an opcode would have done.
func (m *machine) refuse(op byte, at int) error {
	const hint = "data needs no such thing: whoever made the file may want to run a program; prlx has run nothing of it"
	if does, ok := dangerous[op]; ok {
		if op == opGlobal || op == opInst {
			module := m.line()
			does += " " + strconv.Quote(m.line()) + " of the module " + strconv.Quote(module)
		}
		return m.errorf(at, "%s: this is not read", does).WithHint(hint)
	}
	return m.errorf(at, "opcode 0x%02x is not one that data is pickled with", op)
}

// line reads the rest of a line, a name of the file, for a message.
func (m *machine) line() string {
	const most = 80
	from := m.at
	for m.at < len(m.b) && m.b[m.at] != '\n' {
		m.at++
	}
	name := m.text[from:m.at]
	m.at = min(m.at+1, len(m.b))
	return name[:min(len(name), most)]
}
