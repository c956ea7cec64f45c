"""What ``prlx simulate`` and its kin say of scripts that launch nothing, and of launches that were not looked at."""

from __future__ import annotations

from pathlib import Path

from tests.simulator.conftest import NEEDED, ROOT, TRITON, require, variables

from .lacks import Case, none_of

NEWEST = NEEDED[-1]
WITH_TRITON = variables(TRITON / NEWEST)
KERNEL = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests/simulator")!r})
import numpy as np
import kernels

x = np.ones(64, np.float32)
"""
LAUNCH = "kernels.copy[(1,)](x, x.copy(), BLOCK=64)\n"
# A kernel for a GPU that the simulator is not; the script goes on without what it would have computed.
REFUSED = """
import prlx
from prlx import _simulator
from prlx.hooks.launch import Function, Launch

text = ".version 8.0\\n.target sm_90a\\n.address_size 64\\n"
text += ".visible .entry odd()\\n{\\n\\twgmma.fence.sync.aligned;\\n\\tret;\\n}\\n"
try:
    _simulator.active()._run(Launch(Function("odd", text.encode()), (1, 1, 1), (32, 1, 1), 1, 0, ()))
except prlx.SimulationError:
    pass
"""


def script(folder: Path, text: str, *options: str) -> list[str]:
    """A script with a text, and the words that simulate it."""
    require(NEWEST)
    (folder / "script.py").write_text(text)
    return ["simulate", "--json", *options, "script.py"]


def case(lack: str, text: str, says: str, *options: str) -> Case:
    """A script whose launches are judged."""
    return Case("simulate", lack, lambda folder: script(folder, text, *options), says, WITH_TRITON)


CASES = [
    case("empty", "", "nothing was looked at"),
    case("nothing of the kind", KERNEL, "nothing was looked at"),
    case("truncated", (KERNEL + LAUNCH)[: len(KERNEL) + 12], "nothing was looked at"),
    case("one missing", KERNEL + REFUSED + LAUNCH, "launches of odd"),
    case("unknown values", KERNEL + LAUNCH, "their check was switched off", "--no-races"),
    Case(
        "simulate --selftest",
        "nothing of the kind",
        lambda folder: ["simulate", "--selftest", "--output", str(folder / "selftest.json")],
        "nothing was looked at",
        {"CUDA_VISIBLE_DEVICES": ""},
    ),
]
_OWN_KERNELS = "its inputs are its own kernels: all of them, or no GPU to run them on"
_AS_SIMULATE = (
    "runs and judges scripts by the same function as prlx simulate, and needs torch, which ordinary tests lack"
)

NONE = {
    ("simulate", "one side empty"): "it takes one script; --compare takes two",
    ("simulate", "one repetition"): "a launch is executed whole, with every lane: nothing is a matter of chance",
    **none_of("simulate --selftest", _OWN_KERNELS, but=("nothing of the kind",)),
    **none_of("pytorch run", _AS_SIMULATE),
}
