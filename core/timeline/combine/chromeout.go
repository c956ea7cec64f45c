package combine

import (
	"context"
	"io"

	"github.com/prlx-go/prlx/core/safe"
)

// piece is one unit of a merged document: it is made by any worker and written in its turn.
type piece struct {
	make func(w *pieceWorker) ([]byte, error)
	text []byte
	done chan struct{}
}

// pieceWorker holds what one goroutine reuses from piece to piece.
type pieceWorker struct {
	ctx context.Context
	raw []byte
}

// inOrder makes pieces on several workers and writes them to dst in the order in which produce yields them. No more than window
// pieces exist at once, which bounds memory.
func inOrder(ctx context.Context, workers, window int, produce func(yield func(make func(w *pieceWorker) ([]byte, error)) error) error, dst io.Writer) error {
	group, ctx := safe.NewGroup(ctx)
	todo, queue := make(chan *piece), make(chan *piece, window)
	group.Go(func() error {
		defer close(queue)
		defer close(todo)
		return produce(func(make_ func(w *pieceWorker) ([]byte, error)) error {
			p := &piece{make: make_, done: make(chan struct{})}
			select {
			case queue <- p:
			case <-ctx.Done():
				return ctx.Err()
			}
			select {
			case todo <- p:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	for range workers {
		group.Go(func() error {
			w := &pieceWorker{ctx: ctx}
			for p := range todo {
				var err error
				if p.text, err = p.make(w); err != nil {
					return err
				}
				close(p.done)
			}
			return nil
		})
	}
	group.Go(func() error {
		for p := range queue {
			select {
			case <-p.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			if _, err := dst.Write(p.text); err != nil {
				return err
			}
			p.text = nil
		}
		return nil
	})
	return group.Wait()
}
