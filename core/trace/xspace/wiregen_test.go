package xspace

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
)

// quirky writes random XSpace files that are legal but unlike what any producer writes: fields in any order and more than once,
// unknown fields, varints in more bytes than they need, both members of a oneof, extreme values.
type quirky struct {
	*rand.Rand
	big bool // some events and names longer than a segment
}

func newQuirky(seed uint64) *quirky { return &quirky{Rand: rand.New(rand.NewPCG(seed, 99))} }

func (q *quirky) chance(percent int) bool { return q.IntN(100) < percent }

// uvarint writes a varint, sometimes in more bytes than needed.
func (q *quirky) uvarint(b []byte, v uint64) []byte {
	b = binary.AppendUvarint(b, v)
	if q.chance(10) {
		for n := uvarintSize(v); n < 9 && q.chance(50); n++ {
			b[len(b)-1] |= 0x80
			b = append(b, 0)
		}
	}
	return b
}

func (q *quirky) tag(b []byte, num, wire int) []byte { return q.uvarint(b, uint64(num<<3|wire)) }

func (q *quirky) varint(num int, v int64) []byte {
	return q.uvarint(q.tag(nil, num, wireVarint), uint64(v))
}

func (q *quirky) bytes(num int, v []byte) []byte {
	return append(q.uvarint(q.tag(nil, num, wireLen), uint64(len(v))), v...)
}

// number is a value of any magnitude.
func (q *quirky) number() int64 {
	switch q.IntN(12) {
	case 0:
		return 0
	case 1:
		return -q.Int64N(1 << 40)
	case 2:
		return []int64{math.MaxInt64, math.MinInt64 + 1, math.MaxInt64 - 1, -1}[q.IntN(4)]
	}
	return q.Int64N(1 << (1 + q.IntN(45)))
}

func (q *quirky) word() []byte {
	n := q.IntN(12)
	if q.big && q.chance(2) {
		n = segmentSize + q.IntN(1000)
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + q.IntN(26))
	}
	return b
}

// unknown is a field that no schema has.
func (q *quirky) unknown() []byte {
	num := 100 + q.IntN(2000)
	switch q.IntN(4) {
	case 0:
		return q.varint(num, q.number())
	case 1:
		return binary.LittleEndian.AppendUint64(q.tag(nil, num, wireFixed64), q.Uint64())
	case 2:
		return binary.LittleEndian.AppendUint32(q.tag(nil, num, wireFixed32), q.Uint32())
	}
	return q.bytes(num, q.word())
}

// join shuffles fields and adds unknown ones.
func (q *quirky) join(fields [][]byte, shuffle bool) []byte {
	for q.chance(10) {
		fields = append(fields, q.unknown())
	}
	if shuffle {
		q.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	}
	var b []byte
	for _, f := range fields {
		b = append(b, f...)
	}
	return b
}

func (q *quirky) stat() []byte {
	fields := [][]byte{q.varint(1, q.Int64N(8))}
	for n := q.IntN(3); n >= 0; n-- {
		switch q.IntN(6) {
		case 0:
			fields = append(fields, binary.LittleEndian.AppendUint64(q.tag(nil, 2, wireFixed64), math.Float64bits(q.Float64())))
		case 1:
			fields = append(fields, q.varint(3, q.number()))
		case 2:
			fields = append(fields, q.varint(4, q.number()))
		case 3:
			fields = append(fields, q.bytes(5, q.word()))
		case 4:
			fields = append(fields, q.bytes(6, q.word()))
		case 5:
			fields = append(fields, q.varint(7, q.Int64N(8)))
		}
	}
	return q.join(fields, q.chance(20))
}

func (q *quirky) event(start int64) []byte {
	var fields [][]byte
	if q.chance(95) {
		fields = append(fields, q.varint(1, q.Int64N(6)))
	}
	if q.chance(4) {
		fields = append(fields, q.varint(2, q.number()))
	}
	if q.chance(92) {
		fields = append(fields, q.varint(2, start))
	}
	if q.chance(5) {
		fields = append(fields, q.varint(5, q.number()))
	}
	for q.chance(60) {
		d := q.Int64N(1 << (1 + q.IntN(36)))
		if q.chance(3) {
			d = q.number()
		}
		fields = append(fields, q.varint(3, d))
	}
	for q.chance(40) {
		fields = append(fields, q.bytes(4, q.stat()))
	}
	return q.join(fields, q.chance(15))
}

func (q *quirky) line(events int) []byte {
	var fields [][]byte
	add := func(percent int, f func() []byte) {
		for ; q.chance(percent); percent = 10 {
			fields = append(fields, f())
		}
	}
	add(90, func() []byte { return q.varint(1, q.number()) })
	add(80, func() []byte { return q.bytes(2, q.word()) })
	add(80, func() []byte { return q.varint(3, q.Int64N(1<<40)) })
	add(20, func() []byte { return q.varint(9, q.Int64N(1<<50)) })
	add(30, func() []byte { return q.varint(10, q.number()) })
	add(30, func() []byte { return q.bytes(11, q.word()) })
	start := int64(0)
	for range events {
		s := start
		if q.chance(5) {
			s = q.number()
		}
		fields = append(fields, q.bytes(4, q.event(s)))
		if q.chance(80) {
			start += q.Int64N(1 << 30)
		}
	}
	return q.join(fields, q.chance(20))
}

func (q *quirky) metadata(num int, id int64, name string) []byte {
	value := [][]byte{q.varint(1, id), q.bytes(2, []byte(name))}
	if num == 4 && q.chance(20) {
		value = append(value, q.bytes(3, q.word()), q.bytes(5, q.stat()))
	}
	return q.bytes(num, q.join([][]byte{q.varint(1, id), q.bytes(2, q.join(value, q.chance(20)))}, q.chance(20)))
}

func (q *quirky) plane(events int) []byte {
	var fields [][]byte
	if q.chance(80) {
		fields = append(fields, q.varint(1, q.number()))
	}
	for q.chance(60) {
		fields = append(fields, q.bytes(2, q.word()))
	}
	for range q.IntN(4) {
		fields = append(fields, q.bytes(3, q.line(q.IntN(events+1))))
	}
	for id := range int64(6) {
		if q.chance(80) {
			fields = append(fields, q.metadata(4, id, fmt.Sprintf("event%d", id)))
		}
	}
	for id := range int64(8) {
		if q.chance(80) {
			fields = append(fields, q.metadata(5, id, fmt.Sprintf("stat%d", id)))
		}
	}
	for q.chance(40) {
		fields = append(fields, q.bytes(6, q.stat()))
	}
	return q.join(fields, q.chance(40))
}

// plane3 is a plane field with lines.
func (q *quirky) plane3(events int) []byte {
	p := q.plane(events)
	for range 3 {
		p = append(p, q.bytes(3, q.line(events))...)
	}
	return q.bytes(1, p)
}

// space writes a file. It is never empty.
func (q *quirky) space(events int) []byte {
	fields := [][]byte{q.bytes(4, []byte("host"))}
	for range q.IntN(4) {
		fields = append(fields, q.bytes(1, q.plane(events)))
	}
	if q.chance(20) {
		fields = append(fields, q.bytes(2, q.word()), q.bytes(3, q.word()))
	}
	return q.join(fields, true)
}
