"""A softmax over rows in Triton, with an argument that puts a mistake into its mask.

python softmax.py             as it should be; needs a GPU, or prlx simulate
python softmax.py --slip -1   the last column is left out
python softmax.py --slip 1    one column too many is read and written
"""

import argparse

import numpy as np
import triton
import triton.language as tl


@triton.jit
def softmax(out, x, stride, n, SLIP: tl.constexpr, BLOCK: tl.constexpr):  # noqa: N803 - as everywhere in Triton
    """One row a program."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < n + SLIP
    value = tl.load(x + row * stride + column, mask=inside, other=-float("inf"))
    weight = tl.exp(value - tl.max(value, axis=0))
    share = weight / tl.sum(weight, axis=0)
    tl.store(out + row * stride + column, share, mask=inside)


def main() -> None:
    """Compute six rows and compare them with NumPy."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--slip", type=int, default=0)
    slip = arguments.parse_args().slip
    x = np.random.default_rng(1).standard_normal((6, 200)).astype(np.float32)
    out = np.zeros_like(x)
    softmax[(6,)](out, x, 200, 200, SLIP=slip, BLOCK=256)
    want = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    print(f"largest error {np.abs(out - want).max():.1e}")


if __name__ == "__main__":
    main()
