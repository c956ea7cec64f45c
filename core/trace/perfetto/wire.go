package perfetto

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/fault"
)

const (
	maxPacket   = 64 << 20  // bytes of a packet; Perfetto's own are at most some hundred KiB
	maxInflated = 512 << 20 // of one packet of packets
)

// field is one field of a message.
type field struct {
	num protowire.Number
	typ protowire.Type
	v   uint64 // of varint and fixed fields
	b   []byte // of fields that have bytes
}

// next takes the first field off a message. ok is false where it is damaged.
func next(b []byte) (f field, rest []byte, ok bool) {
	tag, n := binary.Uvarint(b)
	if n <= 0 || tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
		return f, nil, false
	}
	f.num, f.typ, b = protowire.Number(tag>>3), protowire.Type(tag&7), b[n:]
	switch f.typ {
	case protowire.VarintType:
		f.v, n = binary.Uvarint(b)
	case protowire.BytesType:
		size, m := binary.Uvarint(b)
		if m <= 0 || size > uint64(len(b)-m) {
			return f, nil, false
		}
		f.b, n = b[m:m+int(size)], m+int(size)
	case protowire.Fixed64Type:
		if len(b) < 8 {
			return f, nil, false
		}
		f.v, n = binary.LittleEndian.Uint64(b), 8
	case protowire.Fixed32Type:
		if len(b) < 4 {
			return f, nil, false
		}
		f.v, n = uint64(binary.LittleEndian.Uint32(b)), 4
	default:
		n = protowire.ConsumeFieldValue(f.num, f.typ, b)
	}
	if n <= 0 {
		return f, nil, false
	}
	return f, b[n:], true
}

// errDamaged is what a message that cannot be read ends with; who has the place of the packet makes a typed error of it.
var errDamaged = errors.New("a message is damaged")

// each visits the fields of a message.
func each(b []byte, visit func(f field)) error {
	for len(b) > 0 {
		f, rest, ok := next(b)
		if !ok {
			return errDamaged
		}
		visit(f)
		b = rest
	}
	return nil
}

// packets reads the packets of a trace, those that are compressed within it too.
type packets struct {
	ctx    context.Context
	path   string
	at     int64 // where the packet begins, in the file
	inside bool  // of a packet of packets
}

// read visits the packets of a stream. A packet is valid until the visit returns.
func (p *packets) read(r *bufio.Reader, visit func(b []byte) error) error {
	for n := 0; ; n++ {
		if n%1024 == 0 && p.ctx.Err() != nil {
			return fault.FromIO(p.path, p.ctx.Err())
		}
		begins := p.at
		tag, err := p.varint(r)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return p.cut(begins, err)
		}
		size, err := p.varint(r)
		switch {
		case err != nil:
			return p.cut(begins, err)
		case tag&7 == uint64(protowire.VarintType): // a field of later versions
			continue
		case tag&7 != uint64(protowire.BytesType):
			return fault.Formatf(p.path, begins, "a packet begins with a tag of %d, which the trace of Perfetto has not", tag)
		case size > maxPacket:
			return fault.New(fault.Limit, "a packet has %d bytes, more than %d", size, maxPacket).WithPath(p.path)
		}
		body, err := p.body(r, int(size))
		if err != nil {
			return p.cut(begins, err)
		}
		if tag>>3 == 1 {
			if err := visit(body); err != nil {
				if errors.Is(err, errDamaged) {
					return fault.Formatf(p.path, begins, "the packet cannot be read: %v", err)
				}
				return err
			}
		}
		if int(size) <= r.Size() {
			if _, err := r.Discard(int(size)); err != nil {
				return p.cut(begins, err)
			}
		}
		if !p.inside {
			p.at += int64(size)
		}
	}
}

// body is the next bytes, which stay unread where they fit into the reader's buffer.
func (p *packets) body(r *bufio.Reader, size int) ([]byte, error) {
	if size <= r.Size() {
		return r.Peek(size)
	}
	var grown bytes.Buffer // grows as bytes come, whatever the length promises
	if _, err := io.CopyN(&grown, r, int64(size)); err != nil {
		return nil, err
	}
	return grown.Bytes(), nil
}

func (p *packets) varint(r *bufio.Reader) (v uint64, err error) {
	for shift := uint(0); ; shift += 7 {
		c, err := r.ReadByte()
		if err != nil {
			if shift > 0 && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		if !p.inside {
			p.at++
		}
		if v |= uint64(c&0x7f) << shift; c < 0x80 {
			return v, nil
		}
		if shift > 56 {
			return 0, errDamaged
		}
	}
}

// cut is the error for a trace that ends within a packet.
func (p *packets) cut(at int64, err error) error {
	var typed *fault.Error
	switch {
	case errors.As(err, &typed):
		return err
	case errors.Is(err, errDamaged):
		return fault.Formatf(p.path, at, "the packet cannot be read: %v", err)
	}
	return fault.Formatf(p.path, at, "the trace of Perfetto ends within a packet").WithHint("copy it again, or let the recording end by itself")
}

// inflate reads packets that are compressed within one.
func (p *packets) inflate(b []byte, visit func(b []byte) error) error {
	if p.inside {
		return errDamaged
	}
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return errDamaged
	}
	defer z.Close()
	limited := &io.LimitedReader{R: z, N: maxInflated}
	inner := &packets{ctx: p.ctx, path: p.path, at: p.at, inside: true}
	err = inner.read(bufio.NewReaderSize(limited, 64<<10), visit)
	if limited.N <= 0 {
		return fault.New(fault.Limit, "a packet decompresses to more than %d bytes", maxInflated).WithPath(p.path)
	}
	return err
}
