"""Records kernels and prints what each recording says of its launch's outputs, one JSON document a launch.

PYTHONPATH=build/triton/3.9.0 python run_outputs.py --process N [--seeds N] [NAME...]

Each process fills memory that no kernel writes with other garbage, and its arrays lie elsewhere.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl

import prlx

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")
MARGIN = 64  # elements of garbage on both sides of every array


@triton.jit
def masked(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=(at < n) & (at % 3 != 1))


@triton.jit
def split_k(a, b, out, K: tl.constexpr, STEP: tl.constexpr, M: tl.constexpr):
    rows, k = tl.arange(0, M), tl.program_id(0) * STEP + tl.arange(0, STEP)
    x = tl.load(a + rows[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * M + rows[None, :])
    tl.atomic_add(out + rows[:, None] * M + rows[None, :], tl.dot(x, y))


@triton.jit
def halves(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + 2 * (at % 5), tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def pointers(rows, links, x, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    to = tl.load(rows + row).to(tl.pointer_type(tl.float32))
    at = tl.arange(0, BLOCK)
    tl.store(to + at * 2, tl.load(x + at) + row)
    tl.store(links + row, (x + row).to(tl.int64))
    tl.store(links + 8 + row, tl.load(rows + row))


@dataclass(frozen=True)
class Launch:
    """A kernel with everything that its launch needs."""

    kernel: Any
    grid: tuple[int, ...]
    arguments: list[Any]
    constants: dict[str, Any]

    def __call__(self) -> None:
        self.kernel[self.grid](*self.arguments, **self.constants)


def surrounded(array: Any, garbage: np.random.Generator) -> Any:
    """A copy of an array in the midst of garbage."""
    whole = np.frombuffer(garbage.bytes((array.size + 2 * MARGIN) * array.itemsize), array.dtype).copy()
    inside = whole[MARGIN : MARGIN + array.size]
    inside[:] = array.ravel()
    return inside.reshape(array.shape)


def special(random: np.random.Generator, garbage: np.random.Generator) -> tuple[list[Any], dict[str, Launch]]:
    """What pointers lead to, and kernels whose outputs are not initialised, that add in any order, and that store pointers."""

    def empty(n: int, kind: type) -> Any:
        return np.frombuffer(garbage.bytes(n * np.dtype(kind).itemsize), kind).copy()

    floats = random.standard_normal(1000).astype(np.float32)
    small = random.integers(-8, 8, (2, 32, 128)).astype(np.float16)
    rows = [empty(128, np.float32) for _ in range(6)]
    order = garbage.permutation(6)  # which of them is used first says nothing
    table = np.array([rows[i].ctypes.data for i in order], np.int64)
    sums = empty(10, np.float16)
    sums[::2] = 0  # its neighbours stay garbage
    product = [small[0], small[1].reshape(128, 32), np.zeros((32, 32), np.float32)]
    return rows, {
        "masked": Launch(masked, (4,), [floats, empty(1024, np.float32), 1000], {"BLOCK": 256}),
        "split_k": Launch(split_k, (8,), product, {"K": 128, "STEP": 16, "M": 32}),
        "halves": Launch(halves, (3,), [random.integers(-4, 5, 600).astype(np.float16), sums, 600], {"BLOCK": 256}),
        "pointers": Launch(
            pointers, (6,), [table, empty(16, np.int64), surrounded(floats[:64], garbage)], {"BLOCK": 64}
        ),
    }


def case_of(name: str, seed: int, garbage: np.random.Generator) -> Callable[[], None]:
    """A launch of a case of the corpus."""
    from corpus import CASES

    arrays = {key: surrounded(value, garbage) for key, value in CASES[name].arrays(np.random.default_rng(seed)).items()}
    return lambda: CASES[name].launch(arrays)


def recorded(name: str, seed: int, folder: Path, launch: Callable[[], None]) -> None:
    """Record a launch and print what it wrote."""
    path = folder / f"{name}-{seed}.prlx"
    with prlx.record(path, outputs="1MB"):
        launch()
    outputs = prlx.read_trace(path, progress=False).document["outputs"]
    print(json.dumps({"case": name, "seed": seed, "outputs": outputs}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--process", type=int, required=True)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    from corpus import CASES

    keep: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seeds):
            garbage = np.random.default_rng((options.process, seed))
            rows, cases = special(np.random.default_rng(seed), garbage)
            keep.append(np.empty(int(garbage.integers(1, 1 << 16)), np.uint8))  # what follows lies elsewhere
            for name in options.names or [*cases, *CASES]:
                mine = name in cases
                order = seed * 2 + options.process if mine else seed  # the results of ours do not depend on it
                with prlx.enable(
                    device="simulator",
                    progress=False,
                    seed=order,
                    workers=1 + options.process,
                    memory=rows if mine else (),
                ):
                    recorded(name, seed, Path(folder), cases[name] if mine else case_of(name, seed, garbage))


if __name__ == "__main__":
    main()
