"""The corpus on a real GPU: the same sm_80 PTX that the simulator executes, loaded by the CUDA driver.

    make test-gpu      (or, where Triton is importable: python tests/gpu/run.py -o docs/gpu/results.md)

Every kernel of tests/simulator/corpus is compiled for the simulator, launched on it and on the GPU with the same arguments, and
the results are compared with each other bit by bit and with NumPy within the kernel's tolerance. Nothing but libcuda is needed
beside Triton and NumPy. Without a GPU the script says so and ends with 0; it claims nothing then.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

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


class NoDeviceError(Exception):
    """There is no GPU, or no driver."""


class Driver:
    """As much of the CUDA driver as launching a kernel takes."""

    def __init__(self) -> None:
        try:
            self._cuda = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise NoDeviceError("there is no libcuda.so.1") from None
        if self._cuda.cuInit(0) != 0:
            raise NoDeviceError("libcuda finds no device")
        device, context, name = ctypes.c_int(), ctypes.c_void_p(), ctypes.create_string_buffer(100)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDeviceGetName", name, 100, device)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.name = name.value.decode()

    def call(self, function: str, *arguments: Any) -> None:
        """Call the driver, or say what it said."""
        status = getattr(self._cuda, function)(*arguments)
        if status != 0:
            text = ctypes.c_char_p()
            self._cuda.cuGetErrorString(status, ctypes.byref(text))
            raise RuntimeError(f"{function}: {text.value.decode() if text.value else status}")

    def launch(self, launch: Any, storages: dict[int, Any]) -> None:
        """Launch what the simulator launched. ``storages`` are arrays by address; they are copied there and back."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), launch.function.text + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(function), module, launch.function.name.encode())
        if launch.shared > 48 << 10:
            self.call("cuFuncSetAttribute", function, 8, launch.shared)  # the largest dynamic shared memory
        there: dict[int, ctypes.c_uint64] = {}
        try:
            for address, array in storages.items():
                pointer = ctypes.c_uint64()
                self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(array.nbytes, 1)))
                there[address] = pointer
                self.call(
                    "cuMemcpyHtoD_v2", pointer, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes)
                )
            values = [self._argument(parameter, there) for parameter in launch.parameters]
            pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
            self.call("cuLaunchKernel", function, *launch.grid, *launch.block, launch.shared, None, pointers, None)
            self.call("cuCtxSynchronize")
            for address, array in storages.items():
                self.call(
                    "cuMemcpyDtoH_v2",
                    array.ctypes.data_as(ctypes.c_void_p),
                    there[address],
                    ctypes.c_size_t(array.nbytes),
                )
        finally:
            for pointer in there.values():
                self.call("cuMemFree_v2", pointer)
            self.call("cuModuleUnload", module)

    @staticmethod
    def _argument(parameter: Any, there: dict[int, ctypes.c_uint64]) -> ctypes.c_uint64:
        """The bits of a parameter; the driver reads as many bytes of them as the kernel declares."""
        if parameter.is_pointer and parameter.value:
            return there[parameter.value]
        return ctypes.c_uint64(parameter.bits)


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
    driver.launch(launches[-1], {array.ctypes.data: on_gpu[name] for name, array in arrays.items()})
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
