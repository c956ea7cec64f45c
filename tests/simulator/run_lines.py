"""Compiles the corpus without running it and leaves NAME.ptx and NAME.llir of every kernel in a directory.

PYTHONPATH=build/triton/3.9.0 python run_lines.py DIRECTORY
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

import prlx

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")


def main() -> None:
    from corpus import CASES

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with prlx.enable(device="simulator", progress=False):
        for case in CASES.values():
            arrays = case.arrays(np.random.default_rng(0))
            compiled = case.kernel.warmup(**arrays, **case.scalars, **case.constants, **case.options, grid=case.grid)
            for kind in ("ptx", "llir"):
                (folder / f"{case.name}.{kind}").write_text(compiled.asm[kind])


if __name__ == "__main__":
    main()
