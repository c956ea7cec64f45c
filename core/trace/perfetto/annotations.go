package perfetto

import (
	"math"
	"strconv"

	"github.com/prlx-go/prlx/core/trace/source"
)

// maxNested is how deep values of annotations may lie in each other, and maxArgs how long the args of one event may be: what is beyond is left out.
const (
	maxNested = 8
	maxArgs   = 64 << 10
)

// annotation takes a DebugAnnotation of an event.
func (b *book) annotation(data []byte, s *sequence, one *slice) error {
	name, value, err := b.named(data, s)
	if err != nil {
		return err
	}
	switch name {
	case "correlation", "corr_id":
		if n, ok := value.integer(); ok && n > 0 {
			one.correlation = uint64(n)
		}
	case "device":
		if n, ok := value.integer(); ok && n >= 0 && n < 1<<20 {
			one.device = n
		}
	}
	if !b.ask.Args || name == "" || len(one.args) > maxArgs {
		return nil
	}
	args := source.OpenArg(one.args, 0, name)
	if args, ok := b.value(args, value, s, 0); ok {
		one.args = args
	}
	return nil
}

// annotated is the value of an annotation.
type annotated struct {
	kind  uint64 // the field, 0 none
	v     uint64
	b     []byte
	whole []byte // of dictionaries and lists: the annotation
}

// integer is the value as a number.
func (a annotated) integer() (int64, bool) {
	switch a.kind {
	case 3, 4:
		return int64(a.v), true
	case 6:
		n, err := strconv.ParseInt(string(a.b), 10, 64)
		return n, err == nil
	}
	return 0, false
}

// named reads name and value of an annotation.
func (b *book) named(data []byte, s *sequence) (name string, value annotated, err error) {
	for rest := data; len(rest) > 0; {
		f, r, ok := next(rest)
		if !ok {
			return "", value, errDamaged
		}
		rest = r
		switch f.num {
		case 1:
			name = s.keys[f.v]
		case 10:
			name = b.text(f.b)
		case 2, 3, 4, 5, 6, 7, 9, 17:
			value = annotated{kind: uint64(f.num), v: f.v, b: f.b}
		case 11, 12:
			value = annotated{kind: uint64(f.num), whole: data}
		}
	}
	return name, value, nil
}

// value appends a value as JSON. ok is false where it has no place there.
func (b *book) value(dst []byte, a annotated, s *sequence, depth int) (out []byte, ok bool) {
	switch a.kind {
	case 2:
		return strconv.AppendBool(dst, a.v != 0), true
	case 3, 7:
		if a.v > source.MaxExactInt {
			return append(strconv.AppendUint(append(dst, '"'), a.v, 10), '"'), true
		}
		return strconv.AppendUint(dst, a.v, 10), true
	case 4:
		if n := int64(a.v); n > source.MaxExactInt || n < -source.MaxExactInt {
			return append(strconv.AppendInt(append(dst, '"'), n, 10), '"'), true
		}
		return strconv.AppendInt(dst, int64(a.v), 10), true
	case 5:
		x := math.Float64frombits(a.v)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return source.AppendString(dst, strconv.FormatFloat(x, 'g', -1, 64)), true
		}
		return strconv.AppendFloat(dst, x, 'g', -1, 64), true
	case 6, 9:
		return source.AppendString(dst, string(a.b)), len(a.b) <= source.MaxArgBytes
	case 17:
		return source.AppendString(dst, s.values[a.v]), true
	case 11, 12:
		return b.nested(dst, a.whole, s, depth)
	}
	return dst, false
}

// nested appends a dictionary or a list.
func (b *book) nested(dst, data []byte, s *sequence, depth int) (out []byte, ok bool) {
	if depth >= maxNested {
		return dst, false
	}
	kind, open := uint64(0), len(dst)
	_ = each(data, func(f field) {
		if f.num != 11 && f.num != 12 || len(dst) > open+maxArgs {
			return
		}
		if kind == 0 {
			kind = uint64(f.num)
			dst = append(dst, map[bool]byte{true: '{', false: '['}[kind == 11])
			open = len(dst)
		}
		name, value, err := b.named(f.b, s)
		if err != nil || uint64(f.num) != kind {
			return
		}
		before := len(dst)
		if kind == 11 {
			dst = source.OpenArg(dst, open, name)
		} else if len(dst) > open {
			dst = append(dst, ',')
		}
		var fits bool
		if dst, fits = b.value(dst, value, s, depth+1); !fits {
			dst = dst[:before]
		}
	})
	switch kind {
	case 11:
		return append(dst, '}'), true
	case 12:
		return append(dst, ']'), true
	}
	return dst, false
}
