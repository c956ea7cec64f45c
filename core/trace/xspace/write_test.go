package xspace

import (
	"context"
	"io"

	"github.com/prlx-go/prlx/core/file"
)

func Measure(ctx context.Context, src *file.Source, space *Space, edit *spaceEdit) (*sizes, error) {
	return measure(ctx, src, space, edit, nil)
}

func Write(ctx context.Context, src *file.Source, space *Space, edit *spaceEdit, w io.WriterAt) (*sizes, error) {
	return write(ctx, src, space, edit, nil, w, min(outputBuffer, 2*space.Bytes))
}
