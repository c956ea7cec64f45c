"""What Triton's caches serve while kernels record by themselves and while they do not: one JSON document a launch.

PYTHONPATH=build/triton/3.9.0 python run_capture.py DIRECTORY MODE...

Each MODE is off, on or filtered; the kernels are launched in this order, in this process. Run it twice on one cache directory
for a second process.
"""

from __future__ import annotations

import contextlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl

import prlx

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")


@triton.jit
def plain(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((64, 2), (128, 4))], key=["n"])
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


HEARD: list[str] = []


def heard(*args: Any) -> Any:
    """The hook of another tool, as Triton 3.6 and later call it."""
    if not args:
        return "other-tool", "other-tool"
    HEARD.append("stages")
    return None


def launches(folder: Path, name: str, mode: str) -> list[dict[str, Any]]:
    options: dict[str, Any] = {} if mode == "off" else {"capture": "instrumented"}
    if mode == "filtered":
        options["filter"] = "tuned"
    rows = []
    with prlx.enable(device="simulator", output=folder / name, overwrite=True, progress=False, **options) as seen:
        x = np.ones(200, np.float32)
        plain[(2,)](x, 200, BLOCK=128)
        tuned[lambda meta: (triton.cdiv(200, meta["BLOCK"]),)](x, 200)
    for path in sorted((folder / name).glob("*.prlx")):
        trace = prlx.read_trace(path, progress=False)
        rows.append({"kernel": trace.header.kernel, "means": trace.header.means, "events": trace.total_events})
    cost = {
        name: sorted({one.instructions for one in seen.simulations if one.kernel == name})
        for name in ("plain", "tuned")
    }
    return [{"mode": mode, "rows": rows, "cost": cost, "sum": float(x.sum()), "heard": len(HEARD)}]


def methods() -> list[int]:
    """The identities of everything that enabling replaces."""
    from triton.backends import backends
    from triton.compiler.compiler import ASTSource, CompiledKernel
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    compiler = backends["nvidia"].compiler
    owners = ((compiler, "add_stages"), (compiler, "hash"), (ASTSource, "hash"), (JITFunction, "run"),
              (Autotuner, "run"), (Autotuner, "_bench"), (CompiledKernel, "_init_handles"))  # fmt: skip
    return [id(owner.__dict__.get(name)) for owner, name in owners]


def main() -> None:
    folder = Path(sys.argv[1])
    before = methods()
    with contextlib.suppress(AttributeError, ImportError):
        from triton import knobs

        knobs.runtime.add_stages_inspection_hook = heard
    for number, mode in enumerate(sys.argv[2:]):
        for row in launches(folder, f"{number}-{mode}", mode):
            print(json.dumps(row), flush=True)
    print(json.dumps({"restored": before == methods()}))


if __name__ == "__main__":
    main()
