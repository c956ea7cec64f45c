"""What recording costs, kernel by kernel: instructions of warps by mode, registers; the table of docs/concepts/recording.md.

PYTHONPATH=build/triton/3.9.0 python run_cost.py DIRECTORY [NAME...]

Without names it goes through the whole corpus, prints rows of some kernels, and then the geometric mean and the worst of all of them.
Instructions are those that the simulator executes, registers what Triton's assembler says for sm_90. Needs no GPU.
"""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from run_assembly import assembled, target

import prlx
from prlx import _core

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")
SHOWN = ("add", "softmax", "layernorm", "atomics", "histogram", "matmul", "flash")
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
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    print(f"| kernel | instructions | {' | '.join(f'`{mode}`' for mode in MODES)} | registers | spilled bytes |")
    print("|---" * (len(MODES) + 4) + "|")
    factors: dict[str, list[float]] = {}
    needs: dict[str, tuple[int, int, int]] = {}
    for name in names or CASES:
        case = CASES[name]
        clean = executed(case, folder / "a.prlx")
        made = [executed(case, folder / "b.prlx", capture="instrumented", **options) for options in MODES.values()]
        with prlx.enable(device="simulator", progress=False):
            before, after = registers(case, 1 << 30)
        factors[name] = [n / clean for n in made]
        spills = after["spills"] - before["spills"]
        needs[name] = before["registers"], after["registers"], spills
        if names or name in SHOWN:
            times = " | ".join(f"{n:.1f}x" for n in factors[name])
            print(
                f"| `{name}` | {clean:,} | {times} | {before['registers']} -> {after['registers']} | {spills} |",
                flush=True,
            )
    means = [math.exp(sum(map(math.log, column)) / len(column)) for column in zip(*factors.values(), strict=True)]
    worst = [max(factors, key=lambda name, k=k: factors[name][k]) for k in range(len(MODES))]
    more = max(needs, key=lambda name: needs[name][1] - needs[name][0])
    print(f"\n{len(factors)} kernels")
    for k, mode in enumerate(MODES):
        print(f"{mode}: geometric mean {means[k]:.2f}x, worst {factors[worst[k]][k]:.2f}x ({worst[k]})")
    print(
        f"registers: {sum(n[1] for n in needs.values())} together, {sum(n[0] for n in needs.values())} clean; "
        f"at most {needs[more][1] - needs[more][0]} more ({more}); spilled bytes more: {sum(n[2] for n in needs.values())}"
    )


if __name__ == "__main__":
    main()
