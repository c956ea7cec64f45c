package file

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"

	"github.com/prlx-go/prlx/core/fault"
)

// Stream is one input read once from its beginning to its end: its decompressed bytes, without the temporary file that Open
// needs. It is for readers of one pass.
type Stream struct {
	ctx         context.Context
	path        string
	compression string
	diskSize    int64
	in          *countingReader
	r           io.Reader
	size        int64
	close       []io.Closer
}

// OpenStream opens a file, or stdin for "-". gzip and zstd are recognised by content. Errors are *fault.Error.
func OpenStream(ctx context.Context, path string) (*Stream, error) {
	if path == "-" {
		return newStream(ctx, path, os.Stdin, -1, nil)
	}
	f, err := openInput(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fault.FromIO(path, err)
	}
	size := int64(-1)
	switch {
	case st.IsDir():
		f.Close()
		return nil, fault.New(fault.IO, "is a directory, expected a file").WithPath(path).WithHint("name the files in it")
	case st.Mode()&os.ModeDevice != 0 && path != os.DevNull: // /dev/zero never ends
		f.Close()
		return nil, fault.New(fault.IO, "is a device, expected a file or a pipe").WithPath(path)
	case st.Mode().IsRegular():
		size = st.Size()
	}
	return newStream(ctx, path, f, size, f)
}

func newStream(ctx context.Context, path string, r io.Reader, diskSize int64, c io.Closer) (*Stream, error) {
	s := &Stream{ctx: ctx, path: path, diskSize: diskSize, in: &countingReader{r: r}}
	if c != nil {
		s.close = append(s.close, c)
	}
	br := bufio.NewReaderSize(s.in, 1<<16)
	magic, err := br.Peek(4)
	if err != nil && err != io.EOF {
		s.Close()
		return nil, fault.FromIO(path, err)
	}
	s.compression, s.r = sniff(magic), br
	if s.compression != "" {
		d, err := decompressor(s.compression, br)
		if err != nil {
			s.Close()
			return nil, corrupt(path, s.compression, err)
		}
		s.close = append([]io.Closer{d}, s.close...)
		s.r = d
	}
	return s, nil
}

// Path returns the name the stream was opened under.
func (s *Stream) Path() string { return s.path }

// Compression returns "gzip", "zstd" or "".
func (s *Stream) Compression() string { return s.compression }

// DiskSize returns the number of bytes on disk, compressed where the file is; -1 where it is not known beforehand.
func (s *Stream) DiskSize() int64 { return s.diskSize }

// Consumed returns how many bytes on disk were read so far.
func (s *Stream) Consumed() int64 { return s.in.n }

// Peek returns the first n decompressed bytes, fewer where there are no more, and reads none of them. It is called before anything is read.
// What is wrong with the stream is said when it is read.
func (s *Stream) Peek(n int) []byte {
	ahead := bufio.NewReaderSize(s.r, n)
	head, _ := ahead.Peek(n)
	s.r = ahead
	return head
}

// Read reads decompressed bytes. Its errors are io.EOF and *fault.Error; a compressed stream that is cut short gives one that wraps
// io.ErrUnexpectedEOF.
func (s *Stream) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, fault.FromIO(s.path, err)
	}
	n, err := s.r.Read(p)
	s.size += int64(n)
	if s.compression != "" && s.size > spoolFree && s.size > s.in.n*spoolRatio {
		return 0, bomb(s.path, s.size, s.in.n)
	}
	if err == nil || err == io.EOF {
		return n, err
	}
	var perr *os.PathError
	if s.compression == "" || errors.As(err, &perr) {
		return n, fault.FromIO(s.path, err)
	}
	return n, corrupt(s.path, s.compression, err)
}

// Close releases the file. It is safe to call twice.
func (s *Stream) Close() error {
	var first error
	for _, c := range s.close {
		if err := c.Close(); err != nil && first == nil {
			first = err
		}
	}
	s.close = nil
	return first
}
