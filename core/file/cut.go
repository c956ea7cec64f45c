package file

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
)

// Repair is what makes a whole file of one that was cut: a part of it, lengths in it that promised more, and what closes it.
type Repair struct {
	Keep    int64   // bytes of the file
	Patches []Patch // in order, inside of Keep
	Tail    []byte  // follows Keep
}

// Patch replaces bytes of a file.
type Patch struct {
	Offset int64
	Bytes  []byte
}

// OpenCut opens a file as Open does, except that a compressed stream may end early: what it held is the file then, and cut is true.
func OpenCut(ctx context.Context, path string) (src *Source, cut bool, err error) {
	if src, err = Open(ctx, path); !errors.Is(err, io.ErrUnexpectedEOF) || path == "-" {
		return src, false, err
	}
	f, err := openInput(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil, false, corrupt(path, "compressed", io.ErrUnexpectedEOF)
	}
	br := bufio.NewReaderSize(f, 1<<16)
	magic, _ := br.Peek(4)
	src, err = spoolCut(ctx, path, sniff(magic), br, st.Size())
	return src, err == nil, err
}

// spoolCut is spool for a stream whose end is missing.
func spoolCut(ctx context.Context, path, compression string, r io.Reader, diskSize int64) (*Source, error) {
	in := &countingReader{r: r}
	d, err := decompressor(compression, in)
	if err != nil {
		return nil, corrupt(path, compression, err)
	}
	defer d.Close()
	tmp, err := spoolFile()
	if err != nil {
		return nil, err
	}
	size, err := copySpool(ctx, path, compression, tmp, untilCut{d}, in)
	if err != nil {
		tmp.Close()
		return nil, err
	}
	return &Source{path: path, compression: compression, size: size, diskSize: diskSize, at: tmp, closer: tmp}, nil
}

// untilCut ends where a stream was cut.
type untilCut struct{ r io.Reader }

func (u untilCut) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// Repaired is the source as a repair makes it. It owns the file of s, which is not to be used any more.
func (s *Source) Repaired(r Repair) *Source {
	out := *s
	out.size = r.Keep + int64(len(r.Tail))
	out.at = &repaired{s.at, r}
	return &out
}

// repaired reads a file through a Repair.
type repaired struct {
	at io.ReaderAt
	Repair
}

func (r *repaired) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, os.ErrInvalid
	}
	if off < r.Keep {
		n, err = r.at.ReadAt(p[:min(int64(len(p)), r.Keep-off)], off)
		for _, c := range r.Patches {
			if from := c.Offset - off; from > -int64(len(c.Bytes)) && from < int64(n) {
				copy(p[max(from, 0):n], c.Bytes[max(-from, 0):])
			}
		}
		if off+int64(n) < r.Keep {
			return n, err
		}
	}
	if rest := off + int64(n) - r.Keep; rest < int64(len(r.Tail)) {
		n += copy(p[n:], r.Tail[rest:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
