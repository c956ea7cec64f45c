"""What recording costs, kernel by kernel: instructions of warps by mode, registers; the table of docs/concepts/recording.md.

PYTHONPATH=build/triton/3.9.0 python run_cost.py DIRECTORY [--one-text] [--write FILE] [NAME...]

Without names it goes through the whole corpus and prints rows of some kernels. The geometric mean and the worst are those
of all that it went through, now and before. ``cost_before.json`` is what
``--one-text --write FILE`` left with the prlx of a checkout of the commit that it names first on PYTHONPATH.
Instructions are those that the simulator executes, registers what Triton's assembler says for sm_90. Needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import math
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
BEFORE = Path(__file__).with_name("cost_before.json")


def executed(case: Any, path: Path, **options: Any) -> int:
    """Instructions of all warps of a launch."""
    arrays = case.arrays(np.random.default_rng(0))
    with prlx.enable(device="simulator", output=path, overwrite=True, progress=False, **options) as seen:
        case.launch(arrays)
    return int(seen.simulations[-1].instructions)


def registers(case: Any, number: int, one_text: bool) -> list[dict[str, Any]]:
    """What the kernel needs clean, as it keeps digests, and as it records events."""
    import triton

    driver = triton.runtime.driver.active
    driver.get_current_target = lambda: target(GPU)
    driver.get_current_device = lambda: number
    arrays = case.arrays(np.random.default_rng(0))
    kernel = case.kernel.warmup(**arrays, **case.scalars, **case.constants, **case.options, grid=case.grid)
    options = {"num_warps": kernel.metadata.num_warps}
    text = kernel.asm["llir"]
    modes = ({}, {}) if one_text else ({"digest": True}, {})
    made = [_core.call("instrument", {"text": text, **told})["text"] for told in modes]
    return [assembled(GPU, one, options) for one in (text, *made)]


def printed(title: str, rows: dict[str, dict[str, Any]]) -> None:
    """What all kernels together cost."""
    print(f"\n{title}: {len(rows)} kernels")
    for k, mode in enumerate(MODES):
        factors = {name: row["instructions"][k + 1] / row["instructions"][0] for name, row in rows.items()}
        mean = math.exp(sum(map(math.log, factors.values())) / len(factors))
        worst = max(factors, key=lambda name: factors[name])
        print(f"{mode}: geometric mean {mean:.2f}x, worst {factors[worst]:.2f}x ({worst})")
    for k, what in enumerate(("clean", "digest", "control-flow")):
        print(f"registers, {what}: {sum(row['registers'][k] for row in rows.values()):,} together")
    spilled = [sum(row["spills"][k] - row["spills"][0] for row in rows.values()) for k in (1, 2)]
    print(f"spilled bytes more: {spilled}")


def main() -> None:
    """Print the table, and what all kernels cost now and before."""
    from corpus import CASES
    from triton._C.libtriton import llvm

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", type=Path, help="where the figures go, as JSON")
    parser.add_argument("--one-text", action="store_true", help="of a prlx of before, where all modes shared a text")
    given = parser.parse_args()
    llvm.init_targets()
    given.folder.mkdir(parents=True, exist_ok=True)
    modes = " | ".join(f"`{mode}`" for mode in MODES)
    print(f"| kernel | instructions | {modes} | registers | `digest` | `control-flow` | spilled bytes |")
    print("|---" * (len(MODES) + 6) + "|")
    rows: dict[str, dict[str, Any]] = {}
    for name in given.names or CASES:
        case = CASES[name]
        clean = executed(case, given.folder / "a.prlx")
        made = [
            executed(case, given.folder / "b.prlx", capture="instrumented", **options) for options in MODES.values()
        ]
        with prlx.enable(device="simulator", progress=False):
            found = registers(case, 1 << 30, given.one_text)
        needs, spills = ([one[what] for one in found] for what in ("registers", "spills"))
        rows[name] = {"instructions": [clean, *made], "registers": needs, "spills": spills}
        if given.names or name in SHOWN:
            cells = [*(f"{n / clean:.1f}x" for n in made), *map(str, needs)]
            more = ", ".join(str(n - spills[0]) for n in spills[1:])
            print(f"| `{name}` | {clean:,} | {' | '.join(cells)} | {more} |", flush=True)
        if given.write:
            given.write.write_text(json.dumps({"kernels": rows}) + "\n")
    printed("now", rows)
    if given.one_text:
        return
    before = json.loads(BEFORE.read_text())
    alike = {name: row for name, row in before["kernels"].items() if name in rows}
    printed(f"before, at {before['commit']}", alike)


if __name__ == "__main__":
    main()
