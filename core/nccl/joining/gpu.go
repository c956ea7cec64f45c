package joining

import (
	"context"

	"github.com/prlx-go/prlx/core/nccl/clocks"
	"github.com/prlx-go/prlx/core/safe"
)

// gpus puts kernels on the clocks of their hosts, as far as their GPUs' clocks can be known.
func (b *builder) gpus(ctx context.Context, workers int) error {
	found := make([]*clocks.Fitted, len(b.out.Recordings))
	g, ctx := safe.NewGroup(ctx)
	g.SetLimit(workers)
	for i, r := range b.out.Recordings {
		if len(r.Kernels) == 0 {
			continue
		}
		g.Go(func() error {
			f, err := clocks.Fit(ctx, r)
			if err == nil {
				found[i] = f
				f.Apply(r)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, f := range found {
		if f == nil {
			continue
		}
		for k := range f.GPUs {
			if u := &f.GPUs[k]; u.Kernels > 0 && !u.Trusted {
				b.warn("%s, GPU %d: %s", b.out.Recordings[i].Path, k, u.Said)
			}
		}
	}
	return nil
}
