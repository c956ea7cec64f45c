"""What Triton's caches serve while kernels record by themselves and while they do not: one JSON document a launch.

PYTHONPATH=build/triton/3.9.0 python run_capture.py DIRECTORY MODE...

Each MODE is off, on or filtered; the kernels are launched in this order, in this process. Run it twice on one cache directory
for a second process.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections import Counter
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


HEARD: Counter[str] = Counter()


def listen() -> None:
    """Set every hook of this Triton that another tool may have set; each counts how often it is called."""
    from triton import knobs

    def stages(*args: Any) -> Any:
        HEARD["stages"] += bool(args)
        return None if args else ("other-tool", "other-tool")

    def counting(name: str) -> Any:
        def heard(*_args: Any, **_kwargs: Any) -> None:
            HEARD[name] += 1

        return heard

    def compiled(*, cache_hit: bool, **_rest: Any) -> None:
        HEARD["from disk" if cache_hit else "compiled"] += 1

    if hasattr(knobs.runtime, "add_stages_inspection_hook"):
        knobs.runtime.add_stages_inspection_hook = stages
    knobs.runtime.jit_cache_hook, knobs.runtime.jit_post_compile_hook = counting("before"), counting("behind")
    knobs.runtime.launch_enter_hook.add(counting("enter"))
    knobs.runtime.launch_exit_hook.add(counting("exit"))
    knobs.compilation.listener = compiled


def served(way: str, compiled: Any) -> dict[str, Any]:
    """Which kernel Triton launched."""
    text = compiled.asm["ptx"]
    return {
        "way": way,
        "kernel": compiled.name,
        "key": compiled.hash,
        "text": hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest(),
        "records": "prlx_record" in compiled.asm["llir"],
    }


def launches(folder: Path, name: str, mode: str) -> dict[str, Any]:
    """Launch each kernel as Triton's memory has it, and once more as the disk has it."""
    options: dict[str, Any] = {} if mode == "off" else {"capture": "instrumented"}
    if mode == "filtered":
        options["filter"] = "tuned"
    HEARD.clear()
    used, rows = [], []
    with prlx.enable(device="simulator", output=folder / name, overwrite=True, progress=False, **options) as seen:
        x = np.ones(200, np.float32)
        for way in ("memory", "disk"):
            if way == "disk":
                plain.device_caches.clear()
                tuned.fn.device_caches.clear()
            used.append(served(way, plain[(2,)](x, 200, BLOCK=128)))
            used.append(served(way, tuned[lambda meta: (triton.cdiv(200, meta["BLOCK"]),)](x, 200)))
    for path in sorted((folder / name).glob("*.prlx")):
        trace = prlx.read_trace(path, progress=False)
        rows.append({"kernel": trace.header.kernel, "means": trace.header.means, "events": trace.total_events})
    cost = {
        name: sorted({one.instructions for one in seen.simulations if one.kernel == name})
        for name in ("plain", "tuned")
    }
    return {"mode": mode, "rows": rows, "served": used, "cost": cost, "sum": float(x.sum()), "heard": dict(HEARD)}


def surfaces() -> list[Any]:
    """Everything of Triton that enabling replaces."""
    from triton import knobs
    from triton.backends import backends
    from triton.compiler.compiler import ASTSource, CompiledKernel
    from triton.runtime import _allocation, driver
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction
    from triton.tools.tensor_descriptor import TensorDescriptor

    compiler = backends["nvidia"].compiler
    owners = ((compiler, "add_stages"), (compiler, "hash"), (ASTSource, "hash"), (JITFunction, "run"),
              (Autotuner, "run"), (Autotuner, "_bench"), (Heuristics, "run"), (CompiledKernel, "_init_handles"),
              (TensorDescriptor, "__post_init__"), (TensorDescriptor, "from_tensor"))  # fmt: skip
    hooks = [getattr(knobs.runtime, name, None) for name in
             ("add_stages_inspection_hook", "jit_cache_hook", "jit_post_compile_hook")]  # fmt: skip
    chains = [list(knobs.runtime.launch_enter_hook.calls), list(knobs.runtime.launch_exit_hook.calls)]
    return [
        *(owner.__dict__.get(name) for owner, name in owners), *hooks, *chains, knobs.compilation.listener,
        driver._active, _allocation._profile_allocator.get(), _allocation._allocator.get(), tuned.__dict__.get("cache"),
    ]  # fmt: skip


def main() -> None:
    folder = Path(sys.argv[1])
    listen()
    before = surfaces()
    restored = []
    for number, mode in enumerate(sys.argv[2:]):
        row = launches(folder, f"{number}-{mode}", mode)
        restored.append(surfaces() == before)
        print(json.dumps(row), flush=True)
    print(json.dumps({"restored": restored}))


if __name__ == "__main__":
    main()
