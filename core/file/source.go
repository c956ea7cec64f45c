// Package file is how prlx touches the file system: inputs opened once and read at any offset in windows, outputs written
// under a temporary name and renamed at the end.
//
// Inputs are never read as a whole. They are read into windows; where every byte is looked at and most are not kept, a window is mapped
// (Source.Map), under a guard that makes an error of it when another process truncates the file.
// Compressed inputs (gzip, zstd) and stdin are spooled, decompressed, into an unlinked temporary file, because most readers
// need more than one pass; so "offset" always means an offset into the decompressed bytes. A Stream is for the others.
package file

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
)

// Limits that keep a decompression bomb from filling the disk: beyond spoolFree bytes the decompressed size may be at most
// spoolRatio times the compressed size. Deflate cannot exceed 1032:1 and real traces compress 10:1 to 60:1.
const (
	spoolFree  = int64(1) << 30
	spoolRatio = int64(200)
)

// Source is one input opened for reading: its decompressed bytes, at any offset, as often as wanted, from any goroutine.
type Source struct {
	path        string
	compression string
	size        int64
	diskSize    int64
	at          io.ReaderAt
	closer      io.Closer
}

// Open opens a file, or stdin for "-". gzip and zstd are recognised by content. Errors are *fault.Error.
func Open(ctx context.Context, path string) (*Source, error) {
	if path == "-" {
		return openStdin(ctx)
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
	if st.IsDir() {
		f.Close()
		return nil, fault.New(fault.IO, "is a directory, expected a file").WithPath(path).WithHint("name the files in it")
	}
	if st.Mode()&os.ModeDevice != 0 && path != os.DevNull { // /dev/zero never ends
		f.Close()
		return nil, fault.New(fault.IO, "is a device, expected a file or a pipe").WithPath(path)
	}
	if !st.Mode().IsRegular() { // a pipe or a device: read once, so spool it
		defer f.Close()
		return spoolStream(ctx, path, f)
	}
	var magic [4]byte
	n, err := f.ReadAt(magic[:], 0)
	if err != nil && err != io.EOF {
		f.Close()
		return nil, fault.FromIO(path, err)
	}
	compression := sniff(magic[:n])
	if compression == "" {
		return &Source{path: path, size: st.Size(), diskSize: st.Size(), at: f, closer: f}, nil
	}
	defer f.Close()
	return spool(ctx, path, compression, f, st.Size())
}

// openInput opens what is at path, except a pipe with a name: opening one waits until somebody writes it, which may be never. A pipe
// that is open already (/dev/stdin, /dev/fd/63) is not waited for.
func openInput(path string) (*os.File, error) {
	if st, err := os.Stat(path); err == nil && st.Mode()&os.ModeNamedPipe != 0 {
		if real, err := filepath.EvalSymlinks(path); err == nil { // what is only open has no name to follow a link to
			if st, err := os.Lstat(real); err == nil && st.Mode()&os.ModeNamedPipe != 0 {
				return nil, fault.New(fault.IO, "is a named pipe (FIFO), expected a file").WithPath(path).WithHint("write to a file first, or pipe into - where a command reads one stream")
			}
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.FromIO(path, err)
	}
	return f, nil
}

// FromBytes makes a Source of bytes in memory, decompressed as Open would; for tests and fuzzing. name stands for the path.
func FromBytes(name string, b []byte) (*Source, error) {
	if c := sniff(b); c != "" {
		r, err := decompressor(c, bytes.NewReader(b))
		if err != nil {
			return nil, corrupt(name, c, err)
		}
		defer r.Close()
		out, err := io.ReadAll(io.LimitReader(r, 1<<28))
		if err != nil {
			return nil, corrupt(name, c, err)
		}
		return &Source{path: name, compression: c, size: int64(len(out)), diskSize: int64(len(b)), at: bytes.NewReader(out)}, nil
	}
	return &Source{path: name, size: int64(len(b)), diskSize: int64(len(b)), at: bytes.NewReader(b)}, nil
}

// Path returns the name the source was opened under.
func (s *Source) Path() string { return s.path }

// Size returns the number of decompressed bytes.
func (s *Source) Size() int64 { return s.size }

// DiskSize returns the number of bytes on disk, compressed where the file is.
func (s *Source) DiskSize() int64 { return s.diskSize }

// Grown looks again how long a file is to which somebody writes, for what was read of it may tell of more than there was when it was opened. What was
// decompressed or held in memory stays as it was.
func (s *Source) Grown() error {
	f, ok := s.at.(*os.File)
	if !ok || s.compression != "" {
		return nil
	}
	st, err := f.Stat()
	if err != nil {
		return fault.FromIO(s.path, err)
	}
	if st.Mode().IsRegular() && st.Size() > s.size {
		s.size, s.diskSize = st.Size(), st.Size()
	}
	return nil
}

// Compression returns "gzip", "zstd" or "".
func (s *Source) Compression() string { return s.compression }

// Head returns the first n decompressed bytes, fewer where the source is shorter. What is opened from a pipe can be read only once, so
// its head is asked of the source and not of the path.
func (s *Source) Head(n int) ([]byte, error) {
	head := make([]byte, min(s.size, int64(n)))
	if _, err := s.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return head, nil
}

// ReadAt reads decompressed bytes. A file that became shorter since it was opened gives a Format error.
func (s *Source) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.at.ReadAt(p, off)
	if err == io.EOF && off+int64(n) < s.size {
		return n, fault.Formatf(s.path, off+int64(n), "file ended early: it had %d bytes when it was opened", s.size)
	}
	if err != nil && err != io.EOF {
		return n, fault.FromIO(s.path, err)
	}
	return n, err
}

// Close releases the file. It is safe to call twice.
func (s *Source) Close() error {
	if s.closer == nil {
		return nil
	}
	c := s.closer
	s.closer = nil
	return c.Close()
}

func sniff(b []byte) string {
	switch {
	case len(b) >= 2 && b[0] == 0x1f && b[1] == 0x8b:
		return "gzip"
	case len(b) >= 4 && b[0] == 0x28 && b[1] == 0xb5 && b[2] == 0x2f && b[3] == 0xfd:
		return "zstd"
	}
	return ""
}

func decompressor(compression string, r io.Reader) (io.ReadCloser, error) {
	if compression == "gzip" {
		return gzip.NewReader(r)
	}
	d, err := zstd.NewReader(r, zstd.WithDecoderMaxMemory(128<<20), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

func corrupt(path, compression string, err error) *fault.Error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fault.Formatf(path, fault.Unknown, "the %s stream is cut short", compression).Wrap(err).WithHint("copy the file again; what is whole of a trace can be read: --salvage")
	}
	return fault.Formatf(path, fault.Unknown, "the %s stream is corrupt: %v", compression, err).Wrap(err).WithHint("copy the file again")
}

func openStdin(ctx context.Context) (*Source, error) { return spoolStream(ctx, "-", os.Stdin) }

// Spool keeps what r yields in an unlinked temporary file, for formats that are compressed inside. It reads at most limit bytes;
// more is a Limit error. Offsets are those of r's bytes.
func Spool(ctx context.Context, path string, r io.Reader, limit int64) (*Source, error) {
	s, err := spool(ctx, path, "", io.LimitReader(r, limit+1), -1)
	if err == nil && s.size > limit {
		s.Close()
		return nil, fault.New(fault.Limit, "decompresses to more than the %d bytes it should have", limit).WithPath(path)
	}
	return s, err
}

// spoolStream spools something that can be read only once.
func spoolStream(ctx context.Context, path string, r io.Reader) (*Source, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	magic, _ := br.Peek(4)
	return spool(ctx, path, sniff(magic), br, -1)
}

// spool decompresses r into an unlinked temporary file. diskSize -1 means not known beforehand.
func spool(ctx context.Context, path, compression string, r io.Reader, diskSize int64) (*Source, error) {
	in := &countingReader{r: r}
	var src io.Reader = in
	if compression != "" {
		d, err := decompressor(compression, in)
		if err != nil {
			return nil, corrupt(path, compression, err)
		}
		defer d.Close()
		src = d
	}
	tmp, err := spoolFile()
	if err != nil {
		return nil, err
	}
	size, err := copySpool(ctx, path, compression, tmp, src, in)
	if err != nil {
		tmp.Close()
		return nil, err
	}
	if diskSize < 0 {
		diskSize = in.n
	}
	return &Source{path: path, compression: compression, size: size, diskSize: diskSize, at: tmp, closer: tmp}, nil
}

// Unnamed makes a temporary file, to be read and written at offsets, that is gone when it is closed.
func Unnamed() (*os.File, error) { return spoolFile() }

// spoolFile makes a temporary file that is left behind by nobody, however we end: the open descriptor keeps it.
func spoolFile() (*os.File, error) {
	tmp, err := os.CreateTemp("", "prlx-spool-*")
	if err != nil {
		return nil, fault.FromIO(os.TempDir(), err)
	}
	os.Remove(tmp.Name())
	return tmp, nil
}

func copySpool(ctx context.Context, path, compression string, tmp *os.File, src io.Reader, in *countingReader) (int64, error) {
	var size int64
	buf := make([]byte, 1<<18)
	for {
		if err := ctx.Err(); err != nil {
			return 0, fault.FromIO(path, err)
		}
		n, rerr := src.Read(buf)
		size += int64(n)
		if compression != "" && size > spoolFree && size > in.n*spoolRatio {
			return 0, bomb(path, size, in.n)
		}
		if _, werr := tmp.Write(buf[:n]); werr != nil {
			return 0, fault.FromIO(filepath.Dir(tmp.Name()), werr).WithHint("set TMPDIR to a disk with more room: compressed inputs are spooled there")
		}
		if rerr == io.EOF {
			return size, nil
		}
		if rerr != nil {
			var perr *os.PathError
			if errors.As(rerr, &perr) {
				return 0, fault.FromIO(path, rerr)
			}
			return 0, corrupt(path, compression, rerr)
		}
	}
}

func bomb(path string, size, disk int64) *fault.Error {
	return fault.New(fault.Limit, "decompresses to more than %d times its size (%d bytes from %d): refused as a decompression bomb", spoolRatio, size, disk).WithPath(path).
		WithHint("decompress the file yourself if it is what you expect")
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
