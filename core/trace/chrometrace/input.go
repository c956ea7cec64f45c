package chrometrace

import (
	"context"
	"fmt"
	"io"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// input is a growing window over a source: unread bytes stay contiguous, so that one event is always one slice.
type input struct {
	ctx   context.Context
	src   *file.Source
	buf   []byte // bytes [base, base+len(buf)) of the source
	base  int64
	limit int // the buffer grows no further
}

// bufferSize is the size of the buffer that Scan starts with.
const bufferSize = 1 << 20

func newInput(ctx context.Context, src *file.Source, limit int) *input {
	size := bufferSize
	if s := src.Size(); s < int64(size) {
		size = int(s)
	}
	return &input{ctx: ctx, src: src, buf: make([]byte, 0, size+16), limit: limit}
}

// atEnd reports whether the buffer reaches the end of the source.
func (in *input) atEnd() bool { return in.base+int64(len(in.buf)) >= in.src.Size() }

// more drops the first keep bytes of the buffer and reads on behind the rest, growing the buffer when nothing could be
// dropped. It reports false at the end of the source.
func (in *input) more(keep int) (bool, error) {
	if err := in.ctx.Err(); err != nil {
		return false, fault.FromIO(in.src.Path(), err)
	}
	if in.atEnd() {
		return false, nil
	}
	n := copy(in.buf[:cap(in.buf)], in.buf[keep:])
	in.buf = in.buf[:n]
	in.base += int64(keep)
	if n > cap(in.buf)/2 {
		if cap(in.buf) >= in.limit {
			return false, &fault.Error{Kind: fault.Limit, Path: in.src.Path(), Offset: in.base, Msg: fmt.Sprintf("one value of the trace takes more than %d bytes", in.limit)}
		}
		grown := make([]byte, n, min(2*cap(in.buf), in.limit))
		copy(grown, in.buf)
		in.buf = grown
	}
	p := in.buf[n:cap(in.buf)]
	got, err := in.src.ReadAt(p, in.base+int64(n))
	in.buf = in.buf[:n+got]
	if got == 0 && err != nil && err != io.EOF {
		return false, err
	}
	return got > 0, nil
}
