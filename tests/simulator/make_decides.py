"""Makes the kernels that core/simulator/simulation tests the recorder with; run it when runtime/device changes.

PYTHONPATH=build/triton/3.9.0 python make_decides.py ../../core/simulator/simulation/testdata
"""

from __future__ import annotations

import base64
import re
import sys
import warnings
import zlib
from pathlib import Path

import numpy as np
import triton
import triton.language as tl

import prlx

warnings.simplefilter("ignore")


@triton.jit
def decides(x, idx, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    first = tl.load(idx + tl.program_id(0))
    last = tl.load(idx + tl.program_id(0) + 1)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(first, last, BLOCK):
        v = tl.load(x + k + at, mask=(k + at < n) & (at % 3 != 1), other=0.0)
        total += tl.where(v > 2.5, v, -v)
    if tl.sum(total) > 0:
        tl.store(out + at, total, mask=at < 50)
    else:
        tl.atomic_add(out + at, total)


def placed(text: str) -> str:
    """The text without the folders of this machine."""
    text = re.sub(r'"[^"]*make_decides\.py"', '"/src/decides.py"', text)
    return re.sub(r'"[^"]*/triton/language/', '"/triton/language/', text)


def write(folder: Path, name: str, **mode: str) -> None:
    x, idx, out = np.zeros(300, np.float32), np.zeros(4, np.int32), np.zeros(64, np.float32)
    with prlx.enable(device="simulator", capture="instrumented", progress=False, **mode):
        made = decides.warmup(x, idx, out, 300, BLOCK=64, grid=(3,), num_warps=2)
    ptx = made.asm["ptx"].partition("\t.section\t.debug")[0]
    lines = [line for line in ptx.splitlines() if not line.startswith("//")]
    (folder / f"{name}.ptx").write_text(placed("\n".join(lines) + "\n"))
    table = placed(zlib.decompress(base64.b64decode(made.metadata.prlx_table)).decode())
    (folder / f"{name}.table").write_text(base64.b64encode(zlib.compress(table.encode(), 9)).decode() + "\n")


def main() -> None:
    write(Path(sys.argv[1]), "decides")
    write(Path(sys.argv[1]), "digests", mode="digest")


if __name__ == "__main__":
    main()
