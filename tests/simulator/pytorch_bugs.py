"""Bugs in compiled models: in operators of the user's, in decompositions, in masks. Run as ``pytorch_checks.py`` is.

Each is found, by the check that it is for, with the graph and with the line of the model that is wrong: it says ``bug``.
"""

import inspect
import json
import pathlib
import sys
import traceback
import warnings

import torch
import torch.nn.functional as functional
import triton
import triton.language as tl
from torch._inductor.decomposition import register_decomposition

import prlx

HERE = pathlib.Path(__file__).name


@triton.jit
def scaled(x, o, n, by, SLIP: tl.constexpr, OVER: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i - by, mask=i < n + SLIP) * 2, mask=i < n + OVER)


@triton.jit
def summed(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + i, mask=i < n, other=0.0))
    tl.store(o, tl.load(o) + total)


@triton.jit
def strided(x, o, columns, stride, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(o + row * columns + i, tl.load(x + row * stride + i, mask=i < columns), mask=i < columns)


@triton.jit
def bucketed(x, o, n, buckets, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n) % buckets, mask=i < n)


def _scaled(x, slip=0, over=0, by=0):
    o = torch.empty_like(x)
    scaled[(triton.cdiv(x.numel(), 128),)](x, o, x.numel(), by, SLIP=slip, OVER=over, BLOCK=128)  # bug
    return o


def operator_loads_behind_the_end():
    return lambda x: _scaled(x, slip=30) + 1, (torch.randn(500),), "out-of-bounds", _scaled


def operator_stores_behind_the_end():
    return lambda x: _scaled(x.exp(), over=50), (torch.randn(500),), "out-of-bounds", _scaled


def operator_loads_before_the_beginning():
    return lambda x: _scaled(x, by=4).sum(), (torch.randn(500),), "out-of-bounds", _scaled


def operator_adds_without_atomics():
    def model(x):
        o = torch.zeros(1)
        summed[(4,)](x, o, x.numel(), BLOCK=128)  # bug
        return o * 2

    return model, (torch.randn(500),), "global-race", model


def operator_takes_the_stride_of_another_array():
    def model(x):
        part = x[:, :50]
        o = torch.empty(part.shape)
        strided[(8,)](part, o, 50, 2 * x.stride(0), BLOCK=64)  # bug
        return o.relu()

    return model, (torch.randn(8, 60),), "out-of-bounds", model


def operator_divides_by_zero():
    def model(x):
        o = torch.empty_like(x)
        bucketed[(2,)](x, o, x.numel(), x.shape[0] - 200, BLOCK=128)  # bug
        return o + 1

    return model, (torch.arange(200),), "division-by-zero", model


LIBRARY = torch.library.Library("prlx_bugs", "DEF")
LIBRARY.define("shifted(Tensor x) -> Tensor")
LIBRARY.define("windows(Tensor x) -> Tensor")
for _name, _meta in (("shifted", torch.empty_like), ("windows", lambda x: x.new_empty(x.shape[0], 8))):
    LIBRARY.impl(_name, _meta, "Meta")
    LIBRARY.impl(_name, lambda x, _meta=_meta: _meta(x).zero_(), "CPU")


@register_decomposition([torch.ops.prlx_bugs.shifted.default])
def _decomposed_shift(x):
    return x[torch.arange(x.shape[0], device=x.device) + 1]


@register_decomposition([torch.ops.prlx_bugs.windows.default])
def _decomposed_windows(x):
    return torch.as_strided(x, (x.shape[0], 8), (1, 1)) * 2


def decomposition_indexes_one_too_far():
    def model(x):
        return torch.ops.prlx_bugs.shifted(x).cos()  # bug

    return model, (torch.randn(100),), "assert", model


def decomposition_has_windows_behind_the_end():
    def model(x):
        return torch.ops.prlx_bugs.windows(x).sum(1)  # bug

    return model, (torch.randn(100),), "out-of-bounds", model


def mask_leaves_padding_in():
    tokens = torch.randint(0, 20, (30,))
    tokens[20:] = 400  # the padding

    def model(table):
        return functional.embedding(tokens, table).relu()  # bug

    return model, (torch.randn(20, 16),), "assert", model


def mask_misses_ignored_targets():
    targets = torch.randint(0, 10, (16,))
    targets[3] = 255

    def model(x):
        return functional.nll_loss(x, targets, ignore_index=-100)  # bug

    return model, (torch.randn(16, 10).log_softmax(-1),), "assert", model


def mask_of_a_scatter_is_shifted():
    slots = torch.arange(16) * 2

    def model(x):
        return torch.zeros(30).scatter(0, slots, x) + 1  # bug

    return model, (torch.randn(16),), "assert", model


def mask_gathers_a_neighbour_of_the_last_row():
    def model(x):
        last = torch.full((4, 1), x.shape[1])
        return torch.where(x.gather(1, last) > 0, x, 0.0)  # bug

    return model, (torch.randn(4, 50),), "assert", model


BUGS = {
    name: made
    for name, made in list(globals().items())
    if inspect.isfunction(made) and name.partition("_")[0] in ("operator", "decomposition", "mask")
}


def line_of_bug(function):
    """The line of a function that says ``bug``."""
    lines, first = inspect.getsourcelines(function)
    (found,) = [first + i for i, text in enumerate(lines) if text.rstrip().endswith("# bug")]
    return found


def tried(made):
    """What is wrong with how a bug was found; None where all is right."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    try:
        model, inputs, check, where = made()
        with prlx.enable_pytorch(global_races=True) as seen:
            torch.compile(model)(*inputs)
        found = [one for one in seen.findings if one.check == check]
        if not found:
            return (
                f"no {check} among {[str(one) for one in seen.findings]} of {[one.kernel for one in seen.simulations]}"
            )
        origin = found[0].origin
        lines = [(pathlib.Path(file).name, line) for file, line in origin.lines]
        if origin.graph != "0/0" or (HERE, line_of_bug(where)) not in lines:
            return f"{origin.graph} {lines}, expected line {line_of_bug(where)}"
    except BaseException:
        prlx.disable()
        return traceback.format_exc()[-3000:]
    return None


def main():
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or BUGS:
        sys.stdout.write(json.dumps({"bug": name, "problem": tried(BUGS[name])}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
