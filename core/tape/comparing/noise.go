package comparing

import (
	"context"
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/tape"
)

// Noise is what differs between runs that should be equal: a difference of the same kind at the same place is no news.
type Noise struct {
	Runs   int // that were compared with A
	places map[noisy]bool
}

// noisy is a way in which an operator of A is not the same in an equal run.
type noisy struct {
	at     tape.At
	kind   Kind
	tensor string
}

// noisyOf is where a difference is. An operator that makes something else of the same inputs may do so in every step.
func noisyOf(d *Difference) noisy {
	n := noisy{*at(d), d.Kind, d.Tensor}
	if d.Kind == kindOutput {
		n.at.Step, n.at.Occurrence, n.tensor = 0, 0, ""
	}
	return n
}

// Baseline compares A with a run that should be equal, and adds what differs.
func (n *Noise) Baseline(ctx context.Context, a, equal Side) error {
	if n.places == nil {
		n.places = map[noisy]bool{}
	}
	r := &Result{collected: n.places}
	if err := r.Pair(ctx, a, equal); err != nil {
		return err
	}
	n.Runs++
	return nil
}

// isNoise reports whether a difference is one that equal runs have, too, or can follow from one.
func (c *comparison) isNoise(d *Difference) bool {
	n := c.result.Noise
	return n != nil && (n.places[noisyOf(d)] || c.noisy && !c.differs && d.Kind == kindInput)
}

// hides says what the noise leaves open: what got a result that differs anyway was not compared.
func (r *Result) hides() []tape.Limit {
	if r.noise == 0 {
		return nil
	}
	return []tape.Limit{{What: "operators", Count: r.noise, Why: fmt.Sprintf("they differ as they do between equal runs, or can follow from that; the first is %s", r.firstNoise)}}
}

// nondeterministic are the operators that torch lists at torch.use_deterministic_algorithms: on a GPU they may make something else each time, or are
// refused where a program asks for those that do not.
var nondeterministic = func() map[string]bool {
	names := map[string]bool{}
	for _, name := range strings.Fields(`
		_ctc_loss_backward _segment_reduce_backward adaptive_avg_pool3d_backward adaptive_max_pool2d_backward adaptive_max_pool3d_backward
		avg_pool3d_backward _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward bincount convolution_backward convolution cudnn_convolution
		cumsum cumsum_ embedding_dense_backward _embedding_bag_backward fractional_max_pool2d_backward fractional_max_pool3d_backward
		grid_sampler_2d_backward grid_sampler_3d_backward histc index_add index_add_ index_copy index_copy_ index_put index_put_ _index_put_impl_
		kthvalue max_pool3d_with_indices_backward max_unpool2d max_unpool3d median nll_loss2d_forward nll_loss2d_backward put_ put
		reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward replication_pad2d_backward
		replication_pad3d_backward repeat_interleave resize_ scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_ gather_backward
		upsample_bicubic2d_backward upsample_bilinear2d_backward upsample_linear1d_backward upsample_trilinear3d_backward
		_scaled_dot_product_efficient_attention_backward _scaled_dot_product_flash_attention_backward
		_scaled_dot_product_cudnn_attention_backward`) {
		names[name] = true
	}
	return names
}()

// listed reports whether torch lists an operator among those that are not deterministic on a GPU.
func listed(operator string) bool {
	parts := strings.Split(operator, ".")
	return len(parts) > 1 && parts[0] == "aten" && nondeterministic[parts[1]]
}

// onGPU reports whether a run had a GPU.
func onGPU(run *tape.Run) bool {
	for _, f := range run.Facts {
		if f.Name == "gpu" {
			return true
		}
	}
	return false
}
