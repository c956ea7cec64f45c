package device

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/prlx-go/prlx/core/fault"
)

// Bounds of a frame: docs/formats/device-pipe.md.
const (
	frameHead   = 12
	frameMagic  = 0x31565250 // "PRV1"
	mostName    = 64
	mostRequest = 1 << 28
)

// Serve answers operations that come over a pipe until the caller closes it. Bytes that begin no request end the conversation with an error:
// who sent them has lost count.
func Serve(pipe io.ReadWriter, do func(op string, request []byte) (reply []byte)) error {
	head := make([]byte, frameHead)
	for {
		if _, err := io.ReadFull(pipe, head); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fault.FromIO("the pipe", err)
		}
		op, request, err := frame(pipe, head)
		if err != nil {
			return err
		}
		reply := do(op, request)
		out := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(reply)), uint32(len(reply)))
		if _, err := pipe.Write(append(out, reply...)); err != nil {
			return fault.FromIO("the pipe", err)
		}
	}
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
