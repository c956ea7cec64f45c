"""Kernels that record by themselves on a GPU and on the simulator: the same PTX on both, and what it left compared."""

from __future__ import annotations

import ctypes
import importlib.util
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _capture, _core
from ._compare import diff_traces
from ._errors import PrlxError, UsageError
from ._gpu import Driver
from ._gpu_device import launch_request
from ._record import enable, extras
from ._simulator import active

if TYPE_CHECKING:
    from ._diff import Diff
    from ._selftest_kernels import SelftestKernel
    from .hooks.launch import Launch, Parameter

MODES = ("digest", "control-flow", "values")
_ARENA = 16 << 20  # bytes
_REPEATS = 20  # launches of which the shortest counts


@dataclass(frozen=True)
class _Simulated:
    """A launch that the simulator ran.

    Attributes
    ----------
    at
        Where its arrays were.
    before, after
        What was in them.
    """

    launch: Launch
    at: Sequence[int]
    before: Sequence[Any]
    after: Sequence[Any]


@dataclass(frozen=True)
class _Kernel:
    """What a request says of a kernel: as ``hooks.gpu.Kernel``."""

    name: str
    code: str
    block: tuple[int, int, int]
    cluster: int
    arch: str = "sm_80"
    arch_number: int = 80
    lanes: int = 32


def recorded_rows(driver: Driver | None) -> tuple[list[dict[str, Any]], str]:
    """A row for each kernel, with a problem where a GPU does something else; or no rows, and why."""
    if importlib.util.find_spec("triton") is None:
        return [], "Triton is not installed"
    if driver is None:
        return [], "there is no GPU"
    from ._selftest_kernels import selftest_kernels

    rows = []
    with tempfile.TemporaryDirectory(prefix="prlx-selftest-") as folder:
        for kernel in selftest_kernels():
            try:
                rows.append(_compared(kernel, driver, Path(folder)))
            except UsageError:  # of whoever has enabled a device
                raise
            except PrlxError as error:
                rows.append(_row(kernel) | {"problem": str(error).splitlines()[0]})
    return rows, ""


def _row(kernel: SelftestKernel) -> dict[str, Any]:
    return {"name": kernel.name, "exact": kernel.exact, "events": 0, "slower": {}, "problem": ""}


def _compared(kernel: SelftestKernel, driver: Driver, folder: Path) -> dict[str, Any]:
    """Run one kernel clean, and recorded in each mode."""
    row = _row(kernel)
    clean = _simulated(kernel)
    first, clean_ms = _on_gpu(driver, clean)
    problems = (
        [] if not kernel.exact or _same(first, clean.after) else ["clean, it does not write what the simulator writes"]
    )
    for mode in MODES:
        here, there = (folder / f"{kernel.name}-{mode}-{side}.prlx" for side in ("simulator", "gpu"))
        got, ms = _on_gpu(driver, _simulated(kernel, mode, here), mode, there)
        row["slower"][mode] = round(ms / clean_ms, 2) if clean_ms else 0.0
        if not _same(got, first):
            problems.append(f"{mode}: it writes something else when it records")
        found = diff_traces(here, there, force=True, values=mode == "values" and kernel.exact, progress=False)
        row["events"] = max(row["events"], int(found.document["total_events_b"]))
        problems += _differences(found, mode, exact=kernel.exact)
    return row | {"problem": "; ".join(problems)}


def _differences(found: Diff, mode: str, *, exact: bool) -> Iterator[str]:
    """What two recordings of the same launch say differently; what was stored counts where bits must be equal."""
    if found.warps_diverged:
        yield f"{mode}: {found.warps_diverged} warps did something else: {found.document['verdict']}"
    elif exact and found.conclusion.outcome != "same":
        yield f"{mode}: {found.document['verdict']}"


def _same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


def _simulated(kernel: SelftestKernel, mode: str = "", path: Path | None = None) -> _Simulated:
    """Launch a kernel on the simulator, recorded where a mode is given."""
    arrays = kernel.arrays()
    more: dict[str, Any] = {}
    if mode:
        more = {"capture": "instrumented", "mode": mode, "output": path, "stores": True, "overwrite": True}
    with enable(device="simulator", progress=False, **more), _seen() as launches:
        kernel.launch(arrays)
    after = list(arrays.values())
    return _Simulated(launches[-1], [array.ctypes.data for array in after], list(kernel.arrays().values()), after)


@contextmanager
def _seen() -> Iterator[list[Launch]]:
    """The launches of a block, as the simulator gets them."""
    simulator = active()
    assert simulator is not None
    device, launches = simulator._device, []
    run: Callable[[Launch], int] = device.run

    def seen(launch: Launch) -> int:
        launches.append(launch)
        return run(launch)

    device.run = seen
    try:
        yield launches
    finally:
        device.run = run


def _on_gpu(driver: Driver, simulated: _Simulated, mode: str = "", path: Path | None = None) -> tuple[list[Any], float]:
    """Launch what the simulator ran on a GPU: what it wrote, and the shortest time of several launches, ms.

    With a mode the kernel gets an arena, and the first launch is recorded.
    """
    launch, given = simulated.launch, [array.copy() for array in simulated.before]
    with driver.loaded(launch.function.text, launch.function.name, launch.shared) as function:
        places = [driver.place(array) for array in given]
        arena = driver.allocate(_ARENA) if mode else 0
        try:
            there = dict(zip(simulated.at, places, strict=True))
            parameters = [_moved(one, there) for one in launch.parameters]
            values = [one.bits for one in parameters]
            request: dict[str, Any] = {}
            if mode:
                values[-1] = arena
                request = _request(launch, parameters, mode)
                front = _prepared(driver, request, arena)
            driver.begin(function, launch.grid, launch.block, values, launch.shared)
            for array, place in zip(given, places, strict=True):
                driver.bring(array, place)
            if mode:
                assert path is not None
                _collect(driver, request, arena, path)
            times = []
            for _ in range(_REPEATS):
                if mode:
                    _again(driver, arena, front)
                times.append(driver.timed(function, launch.grid, launch.block, values, launch.shared))
        finally:
            for place in (*places, *([arena] if arena else [])):
                driver.free(place)
    return given, min(times)


def _moved(one: Parameter, there: Mapping[int, int]) -> Parameter:
    """A parameter whose array is on the GPU."""
    if one.storage is None or one.storage.address not in there:
        return one
    base = there[one.storage.address]
    storage = replace(one.storage, address=base)
    return replace(one, value=int(one.value) - one.storage.address + base, storage=storage)


def _request(launch: Launch, parameters: Sequence[Parameter], mode: str) -> dict[str, Any]:
    """The launch as the operations on arenas take it."""
    wanted = extras(stores=True, sources=True) | {"mode": mode, "overwrite": True}
    asked = _capture.recorded({**wanted, "path": "later", "texts_beside": False}, launch.table)
    asked.pop("sources")
    asked["texts"] = {} if launch.texts is None else launch.texts()
    del asked["path"]
    kernel = _Kernel(launch.function.name, launch.function.text.decode(), launch.block, launch.cluster)
    return {**launch_request(kernel, launch.grid, parameters[:-2]), "record": asked}


def _prepared(driver: Driver, request: Mapping[str, Any], arena: int) -> Any:
    """Clear an arena and write what a kernel is to find in it, which is returned."""
    host = ctypes.create_string_buffer(_ARENA)
    at = ctypes.addressof(host)
    size = _core.call("arena_prepare", {**request, "address": at, "bytes": _ARENA})["front"]
    front = ctypes.create_string_buffer(host.raw[:size], size)
    _again(driver, arena, front)
    return front


def _again(driver: Driver, arena: int, front: Any) -> None:
    driver.clear(arena, _ARENA, 0)
    driver.call("cuMemcpyHtoD_v2", ctypes.c_uint64(arena), front, ctypes.c_size_t(len(front)))


def _collect(driver: Driver, request: Mapping[str, Any], arena: int, path: Path) -> None:
    """Bring an arena home and write the recording of what is in it."""
    home = ctypes.create_string_buffer(_ARENA)
    driver.call("cuMemcpyDtoH_v2", home, ctypes.c_uint64(arena), ctypes.c_size_t(_ARENA))
    record = {**request["record"], "path": str(path)}
    at = {"address": ctypes.addressof(home), "bytes": _ARENA, "launch": 0}
    _core.call("arena_collect", {**request, "record": record, **at})
