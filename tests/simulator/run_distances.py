"""Two launches: one whose output may have another type or another number in it, and one that is always the same.

python run_distances.py [--type float16] [--add X]
"""

from __future__ import annotations

import argparse

import numpy as np
import triton
import triton.language as tl


@triton.jit
def third(out, x, more, BLOCK: tl.constexpr):
    """A third of each element, and something more of every tenth."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) / 3 + tl.where(at % 10 == 9, more, 0.0))


@triton.jit
def copied(out, x, BLOCK: tl.constexpr):
    """The same as before."""
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))


def main() -> None:
    """Launch both."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--type", default="float32")
    arguments.add_argument("--add", type=float, default=0.0)
    asked = arguments.parse_args()
    x = np.arange(1, 513, dtype=np.float32)
    third[(2,)](np.zeros(512, asked.type), x, asked.add, BLOCK=256)
    copied[(1,)](np.zeros(512, np.float32), x, BLOCK=512)


if __name__ == "__main__":
    main()
