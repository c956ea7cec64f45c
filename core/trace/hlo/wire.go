package hlo

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

var errMalformed = errors.New("malformed")

// cursor walks protobuf fields through a window, so that what is skipped is never read.
type cursor struct {
	w    *file.Window
	path string
	buf  []byte // for fields larger than the window
}

// field is one key with its varint value, or with the length of its bytes, which are still unread.
type field struct {
	num protowire.Number
	typ protowire.Type
	val uint64
}

// each calls visit for every field up to the absolute offset end; visit consumes the bytes of its field.
func (c *cursor) each(end int64, visit func(field) error) error {
	for c.w.Offset() < end {
		f, err := c.next(end)
		if err != nil {
			return err
		}
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

func (c *cursor) next(end int64) (field, error) {
	at := c.w.Offset()
	b, err := c.w.Peek(20)
	if err != nil {
		return field{}, err
	}
	if int64(len(b)) > end-at {
		b = b[:end-at]
	}
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return field{}, fault.Formatf(c.path, at, "hlo: not a protobuf field")
	}
	f := field{num: num, typ: typ}
	switch typ {
	case protowire.VarintType, protowire.BytesType:
		v, m := protowire.ConsumeVarint(b[n:])
		if m < 0 {
			return field{}, fault.Formatf(c.path, at, "hlo: field %d: a varint is malformed or cut off", num)
		}
		f.val = v
		n += m
	case protowire.Fixed32Type:
		f.val = 4
	case protowire.Fixed64Type:
		f.val = 8
	default:
		return field{}, fault.Formatf(c.path, at, "hlo: field %d has wire type %d; want 0, 1, 2 or 5", num, typ)
	}
	if rest := end - at - int64(n); typ != protowire.VarintType && (f.val > math.MaxInt64 || int64(f.val) > rest) {
		return field{}, fault.Formatf(c.path, at, "hlo: field %d needs %d bytes, %d are left", num, f.val, rest)
	}
	return f, c.w.Discard(int64(n))
}

// skip consumes the bytes of a field without reading them.
func (c *cursor) skip(f field) error {
	if f.typ == protowire.VarintType {
		return nil
	}
	return c.w.Discard(int64(f.val))
}

// bytes reads the bytes of a field, at most limit of them; the slice is valid until the next read.
func (c *cursor) bytes(f field, limit int64) ([]byte, error) {
	n := int64(f.val)
	if n > limit {
		return nil, &fault.Error{
			Kind: fault.Limit, Path: c.path, Offset: c.w.Offset(),
			Msg: "hlo: a field is too large for what it holds",
		}
	}
	if n <= window {
		b, err := c.w.Peek(int(n))
		if err != nil {
			return nil, err
		}
		b = b[:n]
		return b, c.w.Discard(n)
	}
	c.buf = c.buf[:0]
	for int64(len(c.buf)) < n {
		b, err := c.w.Fill()
		if err != nil {
			return nil, err
		}
		if rest := n - int64(len(c.buf)); int64(len(b)) > rest {
			b = b[:rest]
		}
		c.buf = append(c.buf, b...)
		if err := c.w.Discard(int64(len(b))); err != nil {
			return nil, err
		}
	}
	return c.buf, nil
}

func (c *cursor) text(f field) (string, error) {
	b, err := c.bytes(f, maxName)
	return string(b), err
}

// eachField walks the fields of a message that is in memory. For bytes, body is set; else val.
func eachField(b []byte, visit func(num protowire.Number, typ protowire.Type, val uint64, body []byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
		var val uint64
		var body []byte
		switch typ {
		case protowire.VarintType:
			val, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			body, n = protowire.ConsumeBytes(b)
		case protowire.Fixed32Type:
			_, n = protowire.ConsumeFixed32(b)
		case protowire.Fixed64Type:
			_, n = protowire.ConsumeFixed64(b)
		default:
			return errMalformed
		}
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
		if err := visit(num, typ, val, body); err != nil {
			return err
		}
	}
	return nil
}

// appendInts appends the varints of a packed field.
func appendInts(out []int64, packed []byte) ([]int64, error) {
	for len(packed) > 0 {
		v, n := protowire.ConsumeVarint(packed)
		if n < 0 {
			return nil, errMalformed
		}
		out = append(out, int64(v))
		packed = packed[n:]
	}
	return out, nil
}

// repeatedInts reads a repeated integer field of a message, packed or not.
func repeatedInts(b []byte, want protowire.Number) ([]int64, error) {
	var out []int64
	err := eachField(b, func(num protowire.Number, typ protowire.Type, val uint64, body []byte) (err error) {
		if num != want {
			return nil
		}
		if typ == protowire.VarintType {
			out = append(out, int64(val))
		} else if typ == protowire.BytesType {
			out, err = appendInts(out, body)
		}
		return err
	})
	return out, err
}
