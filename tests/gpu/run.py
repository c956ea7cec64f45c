"""The corpus on a real GPU: the same sm_80 PTX that the simulator executes, loaded by the CUDA driver.

    make test-gpu      (or, where Triton is importable: python tests/gpu/run.py -o docs/gpu/results.md)

Every kernel of tests/simulator/corpus is compiled for the simulator, launched on it and on the GPU with the same arguments, and
the results are compared with each other bit by bit and with NumPy within the kernel's tolerance. Nothing but libcuda is needed
beside Triton and NumPy. Without a GPU the script says so and ends with 0; it claims nothing then.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from prlx._gpu import Driver, NoDeviceError

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "simulator"))
warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")

ORDER = "sums of atomics in another order"
APPROXIMATE = "approximate functions, sums of the tensor cores"
REASONS = {
    "atomics": ORDER,
    "atom64": ORDER,
    **dict.fromkeys(["matmul", "flash", "dots_bf16", "dot_tf32", "dot_3x", "dot_fp8"], APPROXIMATE),
    **dict.fromkeys(
        ["softmax", "layernorm", "mathfn", "libdevice", "rnd", "bf16_f64", "dropout"], "approximate functions"
    ),
}


@contextlib.contextmanager
def seen() -> Iterator[list[Any]]:
    """The launches of a block, as the simulator's driver object got them."""
    from prlx.hooks import simulator

    launches: list[Any] = []
    before = simulator.Device.launch

    def launch(self: Any, one: Any) -> None:
        launches.append(one)
        before(self, one)

    simulator.Device.launch = launch
    try:
        yield launches
    finally:
        simulator.Device.launch = before


def check(case: Any, driver: Driver | None) -> tuple[str, str]:
    """Run a case on the simulator and on the GPU: how they compare, and how the GPU's result compares with NumPy's."""
    arrays = case.arrays(np.random.default_rng(0))
    before = {name: array.copy() for name, array in arrays.items()}
    with seen() as launches:
        case.launch(arrays)
    if driver is None:
        return "", "; ".join(case.differences(before, arrays)) or "as NumPy"
    on_gpu = {name: array.copy() for name, array in before.items()}
    last = launches[-1]
    driver.launch(
        last.function.text,
        last.function.name,
        last.grid,
        last.block,
        [parameter.value if parameter.is_pointer else parameter.bits for parameter in last.parameters],
        {array.ctypes.data: on_gpu[name] for name, array in arrays.items()},
        last.shared,
    )
    wrong = case.differences(before, on_gpu)
    differ = sum(int((arrays[name].view("u1") != on_gpu[name].view("u1")).sum()) for name in arrays)
    same = "the same bits" if differ == 0 else f"{differ} bytes differ: {REASONS.get(case.name, 'NOT EXPLAINED')}"
    return same, "; ".join(wrong) or "as NumPy"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="the report, Markdown")
    parser.add_argument("--without-gpu", action="store_true", help="only the simulator, to see that this script works")
    options = parser.parse_args()
    try:
        driver = None if options.without_gpu else Driver()
    except NoDeviceError as error:
        print(f"no GPU checks: {error}")
        return 0
    from corpus import CASES

    import prlx

    rows, bad = [], 0
    with prlx.enable(device="simulator", progress=False):
        for case in CASES.values():
            same, right = check(case, driver)
            bad += "NOT EXPLAINED" in same or right != "as NumPy"
            rows.append(f"| {case.name} | {same} | {right} |")
    name = driver.name if driver else "no GPU"
    lines = [
        f"# The corpus on {name}",
        "",
        "| kernel | GPU beside the simulator | GPU beside NumPy |",
        "|---|---|---|",
        *rows,
        "",
    ]
    text = "\n".join(lines)
    if options.output:
        options.output.write_text(text)
    print(text)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
