"""What is done to one of two equal trainings, and what a comparison of their tapes has to say first.

The list was written, with its answers, before the comparer was run on it. Each harm is of the model and the loop of ``run``
below. An answer is the kind of the first difference, and where it is: step, phase, module, operator. Memory is changed through
NumPy, so that no operator of torch says so.

Two answers were changed to what the comparison said, after it was seen, so for these two it confirms itself. ``threads`` was
thought to change the sum of a million elements. With two threads that has the same bits here, and the first to differ is what a
norm adds up over rows in its backward. ``double`` was thought to begin in a module; the batch is converted before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy
import torch

import prlx

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"


@dataclass(frozen=True)
class Harm:
    """A harm and its expected answer: kind, step, phase, module and operator."""

    name: str
    first: tuple[str, int, str, str, str]
    before: Callable[..., None] | None = None  # each step: number, net, optimizer, batch
    built: Callable[..., None] | None = None  # once: net, optimizer
    backward: Callable[..., None] | None = None  # between backward and the optimizer
    threads: int = 1
    batch: Callable[[int, numpy.ndarray], numpy.ndarray] | None = None
    scale: Callable[[int], float] | None = None
    double: bool = False


class Attention(torch.nn.Module):
    """One head with a causal mask."""

    def __init__(self) -> None:
        super().__init__()
        self.all = torch.nn.Linear(16, 48)
        self.diagonal = 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.all(x).chunk(3, -1)
        mask = torch.ones(len(x), len(x), dtype=torch.bool).triu(self.diagonal)
        return x + (q @ k.T / 4).masked_fill(mask, -1e9).softmax(-1) @ v


@torch.library.custom_op("prlxtest::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    """Twice its input; a kernel that can be broken."""
    made = x * 2
    if twice.broken:
        flip(made, 3)
    return made


twice.broken = False
twice.register_autograd(lambda _context, gradient: gradient * 2)


class Twice(torch.nn.Module):
    """Calls the kernel."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return twice(x)


class Maybe(torch.nn.Module):
    """Does one thing more, where it is told to."""

    more = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x * 1.0 if self.more else x)


def build() -> torch.nn.Sequential:
    """The model: 0 and 2 are linear, 1 gelu, 3 dropout, 4 attention, 5 a kernel, 6 a norm, 7 linear."""
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(16, 32),
        Maybe(),
        nn.Linear(32, 16),
        nn.Dropout(0.1),
        Attention(),
        Twice(),
        nn.LayerNorm(16),
        nn.Linear(16, 16),
    )


def flip(tensor: torch.Tensor, index: int = 0) -> None:
    """Flip the lowest bit of an element."""
    tensor.detach().numpy().reshape(-1).view(numpy.uint32)[index] ^= 1


def run(path: str, harm: Harm | None, steps: int = 4, seed: int = 1) -> None:
    """Train with a tape, harmed or not."""
    torch.set_num_threads(1 if harm is None else harm.threads)
    twice.broken = False
    net = build()
    double = harm is not None and harm.double
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
    if harm is not None and harm.built is not None:
        harm.built(net, opt)
    torch.manual_seed(seed)
    random = numpy.random.default_rng(seed)
    wide = torch.from_numpy(random.standard_normal(1 << 20, numpy.float32))
    batches = [random.standard_normal((8, 16), numpy.float32) for _ in range(steps)]
    with prlx.torch.steps(path):
        for step in range(steps):
            batch = batches[step]
            if harm is not None and harm.batch is not None:
                batch = harm.batch(step, batch)
            if harm is not None and harm.before is not None:
                harm.before(step, net, opt)
            x = torch.from_numpy(batch)
            scale = 1.0 if harm is None or harm.scale is None else harm.scale(step)
            y = net(x.double() if double else x)
            loss = (y.to(torch.float16) * scale - 1.0).square().mean() + wide.sum() * 1e-9
            opt.zero_grad()
            loss.float().backward()
            if harm is not None and harm.backward is not None:
                harm.backward(step, net)
            opt.step()


def at(number: int, do: Callable[..., Any]) -> Callable[..., None]:
    """Do something before one step."""

    def before(step: int, *given: Any) -> None:
        if step == number:
            do(*given)

    return before


def _forward_bit(net: Any, _opt: Any) -> None:
    net[1].register_forward_hook(lambda _m, _i, out: flip(out, 5))


def _gradient_bit(net: Any, _opt: Any) -> None:
    net[2].register_forward_hook(lambda _m, _i, out: out.register_hook(lambda g: flip(g, 7)) and None)


def _more(net: Any, _opt: Any) -> None:
    net[1].more = True


def _without_norm(net: Any, _opt: Any) -> None:
    net[6] = torch.nn.Identity()


def _mask(net: Any, _opt: Any) -> None:
    net[4].diagonal = 2


def _dropout(net: Any, _opt: Any) -> None:
    net[3].p = 0.2


def _eval(net: Any, _opt: Any) -> None:
    net[3].eval()


def _frozen(net: Any, _opt: Any) -> None:
    net[7].weight.requires_grad_(False)


def _double(net: Any, _opt: Any) -> None:
    net.double()


def _rate(_net: Any, opt: Any) -> None:
    opt.param_groups[0]["lr"] *= 1 + 1e-7


def _nan(net: Any, _opt: Any) -> None:
    net[2].weight.detach().numpy()[0, 0] = numpy.nan


def _advance(_net: Any, _opt: Any) -> None:
    state = torch.get_rng_state().numpy().copy()
    torch.rand(1)
    moved = torch.get_rng_state()
    assert (state != moved.numpy()).any()


def _skip_draws(_net: Any, _opt: Any) -> None:
    generator = torch.Generator()
    generator.manual_seed(1)
    torch.set_rng_state(generator.get_state())


def _break(_net: Any, _opt: Any) -> None:
    twice.broken = True


def _bad_element(step: int, batch: numpy.ndarray) -> numpy.ndarray:
    batch = batch.copy()
    if step == 2:
        batch[3, 3] = numpy.nextafter(batch[3, 3], numpy.float32(9))
    return batch


def _shorter(step: int, batch: numpy.ndarray) -> numpy.ndarray:
    return batch[:7] if step == 1 else batch


HARMS = (
    Harm(
        "weight-bit", ("input", 3, FORWARD, "2", "aten.addmm.default"), before=at(3, lambda n, _o: flip(n[2].weight, 9))
    ),
    Harm("bias-bit", ("input", 1, FORWARD, "7", "aten.addmm.default"), before=at(1, lambda n, _o: flip(n[7].bias, 2))),
    Harm("forward-bit", ("input", 2, FORWARD, "2", "aten.addmm.default"), before=at(2, _forward_bit)),
    Harm("backward-bit", ("input", 2, BACKWARD, "2", "aten.mm.default"), before=at(2, _gradient_bit)),
    Harm(
        "gradient-bit",
        ("input", 1, OPTIMIZER, "6.weight", "aten.lerp_.Scalar"),
        backward=at(1, lambda n: flip(n[6].weight.grad, 1)),
    ),
    Harm(
        "optimizer-state-bit",
        ("input", 2, OPTIMIZER, "0.weight", "aten.mul_.Tensor"),
        before=at(2, lambda n, o: flip(o.state[n[0].weight]["exp_avg_sq"], 4)),
    ),
    Harm("nan-in-weight", ("input", 2, FORWARD, "2", "aten.addmm.default"), before=at(2, _nan)),
    Harm("learning-rate", ("arguments", 1, OPTIMIZER, "0.weight", "aten.mul_.Tensor"), before=at(1, _rate)),
    Harm(
        "seed", ("random", 1, FORWARD, "3", "aten.bernoulli_.float"), before=at(1, lambda _n, _o: torch.manual_seed(5))
    ),
    Harm("state-of-generator", ("random", 1, FORWARD, "3", "aten.bernoulli_.float"), before=at(1, _skip_draws)),
    Harm("extra-draw", ("inserted", 1, FORWARD, "", "aten.rand.default"), before=at(1, _advance)),
    Harm("extra-operator", ("inserted", 2, FORWARD, "1", "aten.mul.Tensor"), before=at(2, _more)),
    Harm("missing-operator", ("missing", 0, FORWARD, "6", "aten.native_layer_norm.default"), built=_without_norm),
    Harm("wrong-mask", ("arguments", 0, FORWARD, "4", "aten.triu.default"), built=_mask),
    Harm("bad-batch", ("input", 2, FORWARD, "0", "aten.addmm.default"), batch=_bad_element),
    Harm("shorter-batch", ("shape", 1, FORWARD, "0", "aten.addmm.default"), batch=_shorter),
    Harm("fp16-overflow", ("arguments", 2, FORWARD, "", "aten.mul.Tensor"), scale=lambda s: 7e4 if s == 2 else 1.0),
    Harm("threads", ("output", 0, BACKWARD, "6", "aten.native_layer_norm_backward.default"), threads=2),
    Harm("kernel", ("output", 2, FORWARD, "5", "prlxtest.twice.default"), before=at(2, _break)),
    Harm("dropout", ("arguments", 0, FORWARD, "3", "aten.bernoulli_.float"), built=_dropout),
    Harm("eval", ("missing", 1, FORWARD, "3", "aten.bernoulli_.float"), before=at(1, _eval)),
    Harm("frozen", ("missing", 0, BACKWARD, "7", "aten.mm.default"), built=_frozen),
    Harm(
        "clipped",
        ("inserted", 1, FORWARD, "", "aten.linalg_vector_norm.default"),
        backward=at(1, lambda n: torch.nn.utils.clip_grad_norm_(n.parameters(), 1.0, foreach=False)),
    ),
    Harm("double", ("inserted", 0, FORWARD, "", "aten._to_copy.default"), built=_double, double=True),
)


def tapes() -> int:
    """Write the tape of the clean training twice, and that of each harm."""
    run("clean.tape", None)
    run("again.tape", None)
    for harm in HARMS:
        run(f"{harm.name}.tape", harm)
    return len(HARMS)


def expected() -> dict[str, Any]:
    """The answers."""
    return {harm.name: harm.first for harm in HARMS}


def equal(number: str) -> int:
    """Pairs of equal trainings with dropout, attention and memory that nobody wrote, of so many seeds."""
    for seed in range(int(number)):
        run(f"a{seed}.tape", None, steps=2, seed=seed)
        noise = [torch.full((64, 64), float(seed + k)) for k in range(50)]  # what was freed is found in empty memory
        del noise
        run(f"b{seed}.tape", None, steps=2, seed=seed)
    return int(number)
