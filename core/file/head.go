package file

import (
	"bytes"
	"context"
	"io"

	"github.com/prlx-go/prlx/core/fault"
)

// Head returns the first n decompressed bytes of a file without spooling it, and whether they are all there is.
func Head(ctx context.Context, path string, n int) (head []byte, whole bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, fault.FromIO(path, err)
	}
	f, err := openInput(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	var magic [4]byte
	got, err := io.ReadFull(f, magic[:])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, false, fault.FromIO(path, err)
	}
	var r io.Reader = io.MultiReader(bytes.NewReader(magic[:got]), f)
	if c := sniff(magic[:got]); c != "" {
		d, err := decompressor(c, r)
		if err != nil {
			return nil, false, corrupt(path, c, err)
		}
		defer d.Close()
		r = d
	}
	head = make([]byte, n+1)
	got, err = io.ReadFull(r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, false, corrupt(path, "compressed", err)
	}
	if got > n {
		return head[:n], false, nil
	}
	return head[:got], true, nil
}
