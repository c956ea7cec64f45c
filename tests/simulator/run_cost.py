"""What recording costs, kernel by kernel: instructions of warps by mode, registers; the table of docs/concepts/recording.md.

PYTHONPATH=build/triton/3.9.0 python run_cost.py DIRECTORY [NAME...]

Without names it goes through the whole corpus and prints rows of some kernels. The geometric mean and the worst are those
of all that it went through.
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


def registers(case: Any, number: int) -> list[dict[str, Any]]:
    """What the kernel needs clean, as it keeps digests, and as it records events."""
    import triton

    driver = triton.runtime.driver.active
    driver.get_current_target = lambda: target(GPU)
    driver.get_current_device = lambda: number
    arrays = case.arrays(np.random.default_rng(0))
    kernel = case.kernel.warmup(**arrays, **case.scalars, **case.constants, **case.options, grid=case.grid)
    options = {"num_warps": kernel.metadata.num_warps}
    text = kernel.asm["llir"]
    made = [_core.call("instrument", {"text": text, "digest": digest})["text"] for digest in (True, False)]
    return [assembled(GPU, one, options) for one in (text, *made)]


def main() -> None:
    from corpus import CASES
    from triton._C.libtriton import llvm

    llvm.init_targets()
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    modes = " | ".join(f"`{mode}`" for mode in MODES)
    print(f"| kernel | instructions | {modes} | registers | `digest` | `control-flow` | spilled bytes |")
    print("|---" * (len(MODES) + 6) + "|")
    factors: dict[str, list[float]] = {}
    needs: dict[str, list[int]] = {}
    spills: dict[str, list[int]] = {}
    for name in names or CASES:
        case = CASES[name]
        clean = executed(case, folder / "a.prlx")
        made = [executed(case, folder / "b.prlx", capture="instrumented", **options) for options in MODES.values()]
        with prlx.enable(device="simulator", progress=False):
            found = registers(case, 1 << 30)
        factors[name] = [n / clean for n in made]
        needs[name] = [one["registers"] for one in found]
        spills[name] = [one["spills"] - found[0]["spills"] for one in found[1:]]
        if names or name in SHOWN:
            cells = [*(f"{n:.1f}x" for n in factors[name]), *map(str, needs[name]), ", ".join(map(str, spills[name]))]
            print(f"| `{name}` | {clean:,} | {' | '.join(cells)} |", flush=True)
    print(f"\n{len(factors)} kernels")
    for k, mode in enumerate(MODES):
        mean = math.exp(sum(math.log(one[k]) for one in factors.values()) / len(factors))
        worst = max(factors, key=lambda name, k=k: factors[name][k])
        print(f"{mode}: geometric mean {mean:.2f}x, worst {factors[worst][k]:.2f}x ({worst})")
    for k, what in enumerate(("clean", "digest", "control-flow")):
        print(f"registers, {what}: {sum(one[k] for one in needs.values())} together")
    print(f"spilled bytes more: {[sum(one[k] for one in spills.values()) for k in (0, 1)]}")


if __name__ == "__main__":
    main()
