"""Programs that use torch over a CUDA driver, where torch has no GPU: ``device="cuda"`` is the CPU.

All tensors are memory of the driver. Triton is as it is: its driver object, its launchers. torch is not asked to compute
on a GPU, which it does by machine code.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Clock:
    """Every look finds it further: what is timed took some time, and benchmarks end soon."""

    def __init__(self) -> None:
        self._looks = itertools.count(1)

    @property
    def microseconds(self) -> float:
        """What it says."""
        return next(self._looks) * 2e5


@contextlib.contextmanager
def mapped(**recorded: object) -> Iterator[tuple[list[str], object]]:
    """Map ``cuda`` to the CPU and yield the names of kernels as they are launched, and the recording.

    There is a recording where there are arguments for ``prlx.enable``.
    """
    import triton

    import prlx
    from prlx.hooks import cuda
    from prlx.hooks.simulator import device_interface

    launched: list[str] = []

    def noted(metadata: object) -> None:
        launched.append(metadata.get()["name"])

    with contextlib.ExitStack() as stack:
        stack.callback(cuda.install(device_interface(Clock())))
        utils = triton.runtime.driver.active.utils
        asked = utils.get_device_properties
        # Tensors are on the CPU, whose number is None: on a GPU it would be 0.
        utils.get_device_properties = lambda device: asked(device or 0)
        stack.callback(setattr, utils, "get_device_properties", asked)
        triton.knobs.runtime.launch_enter_hook.add(noted)
        stack.callback(triton.knobs.runtime.launch_enter_hook.remove, noted)
        recording = stack.enter_context(prlx.enable(device="gpu", **recorded)) if recorded else None
        yield launched, recording


def built(folder: Path) -> Path:
    """The library that is preloaded, compiled into a folder."""
    library = folder / "libtensors.so"
    words = ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run([*words, str(HERE / "tensors.c"), "-ldl"], check=True)
    return library


@contextlib.contextmanager
def simulated(environ: Mapping[str, str]) -> Iterator[tuple[list[str], dict[str, str]]]:
    """The words before a program that is to run on the simulator's driver, and its environment."""
    with tempfile.TemporaryDirectory() as folder:
        library = built(Path(folder))
        cache = Path(environ["TRITON_CACHE_DIR"]).with_name(f"{Path(environ['TRITON_CACHE_DIR']).name}-driver")
        more = {"LD_PRELOAD": str(library), "TRITON_CACHE_DIR": str(cache)}
        yield [sys.executable, "-m", "prlx", "simulate", "--"], {**os.environ, **environ, **more}
