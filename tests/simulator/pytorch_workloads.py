"""Thirty parts of models, compiled: forward and backward equal to eager code, no finding. Run as ``pytorch_checks.py`` is.

Each workload returns a function, its inputs, options of ``torch.compile``, and a reference where the function itself is none.
What is compared are results and the gradients of all inputs that want one, within the defaults of
``torch.testing.assert_close`` for their types.
"""

import json
import sys
import time
import traceback
import warnings

import torch
import torch.nn.functional as functional
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import prlx

AUTOTUNED = {"mode": "max-autotune-no-cudagraphs"}


def leaf(*shape, dtype=torch.float32, scale=1.0):
    """An input that wants a gradient."""
    return (torch.randn(shape) * scale).to(dtype).requires_grad_()


def attention_causal():
    def run(q, k, v):
        scores = q @ k.mT / q.shape[-1] ** 0.5
        n = q.shape[-2]
        mask = torch.ones(n, n, dtype=torch.bool).tril()
        return scores.masked_fill(~mask, -float("inf")).softmax(-1) @ v

    return run, (leaf(2, 2, 40, 16), leaf(2, 2, 40, 16), leaf(2, 2, 40, 16)), {}


def attention_grouped_queries():
    def run(q, k, v):
        k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        return (q @ k.mT * 0.25).softmax(-1) @ v

    return run, (leaf(1, 4, 24, 16), leaf(1, 2, 24, 16), leaf(1, 2, 24, 16)), {}


def attention_of_the_library():
    def run(q, k, v):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True) * 2 + q

    return run, (leaf(1, 2, 32, 16), leaf(1, 2, 32, 16), leaf(1, 2, 32, 16)), {}


def attention_flex_bias():
    def bias(score, _b, h, q, k):
        return score + (q - k) * 0.01 * (h + 1)

    def run(q, k, v):
        return flex_attention(q, k, v, score_mod=bias)

    def reference(q, k, v):  # torch has no gradients of flex attention in eager code on the CPU
        at = torch.arange(q.shape[-2])
        added = (at[:, None] - at) * 0.01 * torch.arange(1, 3)[:, None, None]
        return (q @ k.mT / q.shape[-1] ** 0.5 + added).softmax(-1) @ v

    return run, (leaf(1, 2, 128, 16), leaf(1, 2, 128, 16), leaf(1, 2, 128, 16)), {}, reference


def attention_flex_window():
    def window(_b, _h, q, k):
        return (q >= k) & (q - k < 50)

    mask = create_block_mask(window, None, None, 128, 128, device="cpu")

    def run(q, k, v):
        return flex_attention(q, k, v, block_mask=mask)

    return run, tuple(torch.randn(1, 2, 128, 16) for _ in range(3)), {}


def mlp_gelu():
    def run(x, up, down):
        return functional.gelu(x @ up) @ down + x

    return run, (leaf(6, 32), leaf(32, 64, scale=0.2), leaf(64, 32, scale=0.2)), {}


def mlp_gated():
    def run(x, gate, up, down):
        return (functional.silu(x @ gate) * (x @ up)) @ down

    return run, (leaf(6, 32), leaf(32, 48, scale=0.2), leaf(32, 48, scale=0.2), leaf(48, 32, scale=0.2)), {}


def mlp_autocast():
    def run(x, up, down):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return torch.relu(x @ up) @ down

    return run, (leaf(8, 32), leaf(32, 64, scale=0.2), leaf(64, 16, scale=0.2)), {}


def linear_autotuned():
    def run(x, w, b):
        return functional.relu(functional.linear(x, w, b))

    return run, (torch.randn(48, 64), torch.randn(32, 64), torch.randn(32)), AUTOTUNED


def layer_norm():
    def run(x, w, b):
        return functional.layer_norm(x, (96,), w, b)

    return run, (leaf(10, 96), leaf(96), leaf(96)), {}


def layer_norm_of_a_residual():
    def run(x, y, w):
        total = x + functional.dropout(y, 0.0)
        return functional.layer_norm(total, (64,), w) * 0.5, total

    return run, (leaf(2, 5, 64), leaf(2, 5, 64), leaf(64)), {}


def rms_norm():
    def run(x, w):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w

    return run, (leaf(7, 80), leaf(80)), {}


def rms_norm_long_rows():
    def run(x, w):
        return functional.rms_norm(x, (3000,), w)

    return run, (leaf(3, 3000), leaf(3000)), {}


def group_norm():
    def run(x, w, b):
        return functional.silu(functional.group_norm(x, 4, w, b))

    return run, (leaf(2, 8, 6, 6), leaf(8), leaf(8)), {}


def rotary():
    def run(x, angles):
        a, b = x[..., ::2], x[..., 1::2]
        cos, sin = angles.cos(), angles.sin()
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)

    return run, (leaf(2, 3, 20, 16), torch.outer(torch.arange(20.0), torch.rand(8))), {}


def rotary_of_halves():
    def run(q, k, cos, sin):
        def turned(x):
            a, b = x.chunk(2, -1)
            return x * cos + torch.cat((-b, a), -1) * sin

        return turned(q), turned(k)

    return run, (leaf(2, 2, 12, 16), leaf(2, 2, 12, 16), torch.randn(12, 16), torch.randn(12, 16)), {}


def expert_routing():
    def run(x, gate):
        weights, chosen = torch.topk((x @ gate).softmax(-1), 2, -1)
        return weights / weights.sum(-1, keepdim=True), chosen

    return run, (leaf(20, 16), leaf(16, 8)), {}


def expert_dispatch():
    def run(x, w, gate):
        scores = (x @ gate).softmax(-1)
        best, chosen = scores.max(-1)
        counts = functional.one_hot(chosen, 4).sum(0)
        out = torch.einsum("td,tde->te", x, w[chosen])
        return out * best[:, None], counts

    return run, (leaf(12, 8), leaf(4, 8, 8), leaf(8, 4)), {}


def convolution_block():
    def run(x, w, gamma, beta):
        return functional.relu(
            functional.batch_norm(functional.conv2d(x, w, padding=1), None, None, gamma, beta, training=True)
        )

    return run, (leaf(2, 4, 8, 8), leaf(8, 4, 3, 3, scale=0.3), leaf(8), leaf(8)), {}


def convolution_autotuned():
    def run(x, w, b):
        return functional.relu(functional.conv2d(x, w, b))

    return run, (torch.randn(1, 16, 9, 9), torch.randn(32, 16, 3, 3) * 0.1, torch.randn(32)), AUTOTUNED


def pooling():
    def run(x):
        return functional.avg_pool2d(functional.max_pool2d(x, 2), 2) + functional.adaptive_avg_pool2d(x, 3)

    return run, (leaf(2, 3, 12, 12),), {}


def cross_entropy():
    targets = torch.randint(0, 50, (24,))

    def run(x):
        return functional.cross_entropy(x, targets)

    return run, (leaf(24, 50),), {}


def cross_entropy_with_ignored_targets():
    targets = torch.randint(0, 30, (16,))
    targets[::3] = -100

    def run(x):
        return functional.cross_entropy(x, targets, ignore_index=-100, label_smoothing=0.1)

    return run, (leaf(16, 30),), {}


def distillation():
    def run(student, teacher):
        return (
            functional.kl_div(
                functional.log_softmax(student / 2, -1), functional.softmax(teacher / 2, -1), reduction="batchmean"
            )
            * 4
        )

    return run, (leaf(12, 40), torch.randn(12, 40)), {}


def adam_step():
    def run(p, g, m, v):
        m = m.lerp(g, 0.1)
        v = v.mul(0.99).addcmul(g, g, value=0.01)
        return p - 0.01 * (m / 0.1) / ((v / 0.01).sqrt() + 1e-8), m, v

    return run, tuple(torch.randn(300).abs() for _ in range(4)), {}


def sgd_step_in_place():
    def run(p, g, momentum):
        momentum = momentum.mul(0.9).add(g, alpha=1.0)
        norm = torch.linalg.vector_norm(g)
        return p - 0.1 * momentum * torch.clamp(1.0 / (norm + 1e-6), max=1.0), momentum

    return run, (torch.randn(40, 30), torch.randn(40, 30), torch.randn(40, 30)), {}


def sampling_top_k():
    noise = torch.rand(4, 64).clamp_min(1e-6)

    def run(logits):
        kept = torch.topk(logits, 10, -1).values[:, -1:]
        masked = logits.masked_fill(logits < kept, -float("inf"))
        return (masked.softmax(-1) / -noise.log()).argmax(-1)

    return run, (torch.randn(4, 64),), {}


def sampling_top_p():
    def run(logits):
        probabilities, order = logits.softmax(-1).sort(-1, descending=True)
        kept = probabilities.cumsum(-1) - probabilities < 0.8
        return torch.where(kept, probabilities, 0.0), order

    return run, (torch.randn(3, 50),), {}


def embeddings():
    tokens = torch.randint(0, 40, (3, 12))

    def run(table, positions):
        return functional.embedding(tokens, table) + positions[torch.arange(12)]

    return run, (leaf(40, 16), leaf(20, 16)), {}


def linear_recurrence():
    def run(x, decay):
        steps = functional.logsigmoid(decay).cumsum(1)
        return (x * (-steps).exp()).cumsum(1) * steps.exp()

    return run, (leaf(2, 24, 8), leaf(2, 24, 8)), {}


def shapes_that_change():
    def run(x):
        return (x - x.amax(-1, keepdim=True)).exp().sum(-1).log() + x.shape[0]

    return run, (leaf(9, 70),), {"dynamic": True}


WORKLOADS = {
    name: made
    for name, made in list(globals().items())
    if getattr(made, "__module__", "") == __name__ and callable(made) and name not in ("leaf",)
}


def results_of(run, inputs):
    """Results and gradients."""
    given = [x.detach().clone().requires_grad_(x.requires_grad) for x in inputs]
    results = run(*given)
    results = results if isinstance(results, tuple) else (results,)
    loss = sum(
        (r.float() * torch.arange(1, r.numel() + 1).view(r.shape) / r.numel()).sum() for r in results if r.requires_grad
    )
    if isinstance(loss, torch.Tensor):
        loss.backward()
    return [r.detach() for r in results], [x.grad for x in given if x.requires_grad]


def tried(made):
    """What became of a workload: launches, instructions, seconds, findings, and what is wrong."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    begun, problem, seen = time.monotonic(), None, None
    try:
        run, inputs, options, *reference = made()
        with prlx.enable_pytorch() as seen:
            got = results_of(torch.compile(run, **options), inputs)
        torch.testing.assert_close(got, results_of(*reference or [run], inputs))
        if not seen.launches:
            problem = "nothing was launched"
        elif any(one.origin is None or not one.origin.nodes for one in seen.simulations):
            problem = "a launch does not know what it computes"
    except Exception:
        problem = traceback.format_exc()[-2000:]
        prlx.disable()
    findings = [] if seen is None else [str(finding) for finding in seen.findings]
    return {
        "problem": problem,
        "findings": findings,
        "launches": seen.launches if seen else 0,
        "instructions": seen.instructions if seen else 0,
        "backward": bool(seen) and any(one.origin and one.origin.backward for one in seen.simulations),
        "seconds": round(time.monotonic() - begun, 1),
    }


def main():
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or WORKLOADS:
        sys.stdout.write(json.dumps({"workload": name, **tried(WORKLOADS[name])}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
