package device

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/safe"
)

// Bounds of a frame: docs/formats/device-pipe.md.
const (
	frameHead   = 12
	frameMagic  = 0x31565250 // "PRV1"
	mostName    = 64
	mostRequest = 1 << 28
)

// errClosed: the caller has closed its end between two requests.
var errClosed = errors.New("the pipe is closed")

type asked struct {
	op      string
	request []byte
}

// Serve answers operations that come over a pipe until the caller closes it. Bytes that begin no request end the conversation with an error:
// who sent them has lost count. The pipe is read while an operation runs, too, so that the context of one whose caller is gone is cancelled.
func Serve(ctx context.Context, pipe io.ReadWriter, do func(ctx context.Context, op string, request []byte) (reply []byte)) error {
	group, ctx := safe.NewGroup(ctx)
	requests := make(chan asked)
	group.Go(func() error {
		defer close(requests)
		in := bufio.NewReader(pipe)
		for {
			op, request, err := next(in)
			if err != nil {
				return err
			}
			select {
			case requests <- asked{op, request}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	group.Go(func() error {
		for r := range requests {
			reply := do(ctx, r.op, r.request)
			out := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(reply)), uint32(len(reply)))
			if _, err := pipe.Write(append(out, reply...)); err != nil {
				return fault.FromIO("the pipe", err)
			}
		}
		return nil
	})
	if err := group.Wait(); !errors.Is(err, errClosed) {
		return err
	}
	return nil
}

// next reads a frame.
func next(pipe io.Reader) (op string, request []byte, err error) {
	head := make([]byte, frameHead)
	if _, err := io.ReadFull(pipe, head); errors.Is(err, io.EOF) {
		return "", nil, errClosed
	} else if err != nil {
		return "", nil, fault.FromIO("the pipe", err)
	}
	return frame(pipe, head)
}

// frame reads what follows the head of a frame.
func frame(pipe io.Reader, head []byte) (op string, request []byte, err error) {
	magic, name, n := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[8:])
	if magic != frameMagic || name == 0 || name > mostName || n > mostRequest {
		return "", nil, fault.Formatf("the pipe", 0, "%#x, %d and %d do not begin a request", magic, name, n)
	}
	text := make([]byte, name)
	if _, err := io.ReadFull(pipe, text); err != nil {
		return "", nil, fault.Formatf("the pipe", frameHead, "a request ends within the name of its operation")
	}
	request, err = readAll(pipe, int(n))
	return string(text), request, err
}

// readAll reads n bytes, and takes memory for them as they come.
func readAll(pipe io.Reader, n int) ([]byte, error) {
	const piece = 1 << 20
	var b []byte
	for len(b) < n {
		more := make([]byte, min(piece, n-len(b)))
		if _, err := io.ReadFull(pipe, more); err != nil {
			return nil, fault.Formatf("the pipe", frameHead, "a request of %d bytes ends after %d or a few more", n, len(b))
		}
		b = append(b, more...)
	}
	return b, nil
}

// Window is a View of memory that both ends of a pipe share: size bytes that begin at base for the one who asks.
func Window(base uint64, shared []byte) View {
	return func(address uint64, n int) []byte {
		at := address - base
		if n < 0 || address < base || at > uint64(len(shared)) || uint64(n) > uint64(len(shared))-at {
			return nil
		}
		return shared[at : at+uint64(n) : at+uint64(n)]
	}
}
