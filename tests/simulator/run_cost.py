"""What recording costs, kernel by kernel: instructions of warps by mode, registers; the table of docs/concepts/recording.md.

PYTHONPATH=build/triton/3.9.0 python run_cost.py DIRECTORY [NAME...]

Instructions are those that the simulator executes, registers what Triton's assembler says for sm_90. Needs no GPU.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from run_assembly import assembled, target

import prlx
from prlx import _core

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")
NAMES = ("add", "softmax", "layernorm", "atomics", "histogram", "matmul", "flash")
MODES: dict[str, dict[str, Any]] = {
    "digest": {"mode": "digest"},
    "control-flow": {},
    "and every store": {"stores": True, "atomics": True},
}
GPU = "sm_90"


def executed(case: Any, path: Path, **options: Any) -> int:
    """Instructions of all warps of a launch."""
    arrays = case.arrays(np.random.default_rng(0))
    with prlx.enable(device="simulator", output=path, overwrite=True, progress=False, **options) as seen:
        case.launch(arrays)
    return int(seen.simulations[-1].instructions)


def registers(case: Any, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the kernel needs before and after it is made to record."""
    import triton

    driver = triton.runtime.driver.active
    driver.get_current_target = lambda: target(GPU)
    driver.get_current_device = lambda: number
    arrays = case.arrays(np.random.default_rng(0))
    kernel = case.kernel.warmup(**arrays, **case.scalars, **case.constants, **case.options, grid=case.grid)
    options = {"num_warps": kernel.metadata.num_warps}
    text = kernel.asm["llir"]
    return assembled(GPU, text, options), assembled(GPU, _core.call("instrument", {"text": text})["text"], options)


def main() -> None:
    from corpus import CASES
    from triton._C.libtriton import llvm

    llvm.init_targets()
    folder, names = Path(sys.argv[1]), sys.argv[2:] or NAMES
    folder.mkdir(parents=True, exist_ok=True)
    print(f"| kernel | instructions | {' | '.join(f'`{mode}`' for mode in MODES)} | registers | spilled bytes |")
    print("|---" * (len(MODES) + 4) + "|")
    for name in names:
        case = CASES[name]
        clean = executed(case, folder / "a.prlx")
        made = [executed(case, folder / "b.prlx", capture="instrumented", **options) for options in MODES.values()]
        with prlx.enable(device="simulator", progress=False):
            before, after = registers(case, 1 << 30)
        times = " | ".join(f"{n / clean:.1f}x" for n in made)
        spills = after["spills"] - before["spills"]
        print(
            f"| `{name}` | {clean:,} | {times} | {before['registers']} -> {after['registers']} | {spills} |", flush=True
        )


if __name__ == "__main__":
    main()
