"""Whether a GPU does what the simulator says: the same PTX with the same arguments on both, and one file to send."""

from __future__ import annotations

import json
import platform
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _request
from ._errors import FileAccessError, PrlxError
from ._gpu import Driver, NoDeviceError
from ._gpu_recorded import recorded_rows
from ._microkernels import BLOCK, THREADS, Microkernel, microkernels
from ._result import Card
from ._simulate_ptx import simulate_ptx
from ._units import plural
from ._verdict import Evidence, Judged
from ._version import __version__

if TYPE_CHECKING:
    from ._request import Path as AnyPath

_ODD_F32 = (
    0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC12345, 0x00000001, 0x80000001, 0x007FFFFF,
    0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000, 0xBF800000, 0x4F000000, 0xCF000000, 0x5F000000, 0x3F000000, 0x40200000,
)  # fmt: skip
_ODD_F64 = (
    0,
    1 << 63,
    0x7FF << 52,
    0xFFF << 52,
    0x7FF8 << 48,
    1,
    (1 << 52) - 1,
    1 << 52,
    (0x7FF << 52) - 1,
    0x3FF << 52,
)
_ODD_F16 = (0x0000, 0x8000, 0x7C00, 0xFC00, 0x7E00, 0x0001, 0x03FF, 0x0400, 0x7BFF, 0x3C00)
_ODD_BITS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF)


@dataclass(frozen=True, repr=False)
class SelftestSimulator(Judged):
    """Whether a GPU does what the simulator says. The document is ``prlx.simulate-selftest/1``.

    Examples
    --------
    >>> prlx.selftest_simulator().outcome in ("passed", "failed", "incomplete", "not run")
    True
    """

    @property
    def outcome(self) -> str:
        """``passed``; ``failed``; ``incomplete``: what ran passed, and Triton is not there; ``not run``: there is no GPU."""
        return str(self.document["outcome"])

    @property
    def passed(self) -> bool:
        """The microkernels ran on a GPU, and every result is the simulator's."""
        return self.conclusion.outcome == "passed"

    @property
    def sentence(self) -> str:
        """The verdict and what was looked at."""
        return str(self.document["sentence"])

    @property
    def problems(self) -> tuple[str, ...]:
        """What differs, in sentences; empty where nothing does."""
        return tuple(self.document["problems"])

    def _card(self) -> Card:
        return Card("simulator", self.sentence, notes=self.problems)


def selftest_simulator(*, output: AnyPath | None = None, overwrite: bool = False) -> SelftestSimulator:
    """Run small kernels on a GPU and on the simulator, and compare what they write and what they record.

    Only the GPU's driver is needed: no torch, and no toolkit. Where Triton is installed, twelve kernels run clean and while
    they record, in three modes: what they write must be the same bits, and what each lane did what it does on the simulator.
    It takes less than a minute. Without a GPU the kernels run on the simulator alone, which shows that they can, and the
    outcome is ``not run``.

    Parameters
    ----------
    output
        Where to write the document, JSON: what one sends along.
    overwrite
        Replace that file.

    Returns
    -------
    SelftestSimulator
        The verdict, in ``outcome`` and ``sentence``, for each kernel how many of its results differ, and for each that recorded
        how many times slower it was, by mode.

    Raises
    ------
    FileAccessError
        The file is there, or cannot be written.

    Examples
    --------
    >>> prlx.selftest_simulator().document["kernels"][0]["name"]
    'add.s32'
    """
    target = None if output is None else Path(_request.absolute(output))
    if target is not None and target.exists() and not overwrite:
        raise FileAccessError(f"{target} exists", path=str(target), hint="name another, or overwrite it")
    driver, missing = _driver()
    rows = [_compared(kernel, driver) for kernel in microkernels()]
    recorded, lacking = recorded_rows(driver)
    problems = [f"{row['name']}: {row['problem']}" for row in (*rows, *recorded) if row["problem"]]
    outcome = "failed" if problems else "not run" if driver is None else "incomplete" if lacking else "passed"
    document = {
        "schema": "prlx.simulate-selftest/1",
        "outcome": outcome,
        "conclusion": _conclude(rows, recorded, problems, missing, lacking),
        "sentence": f"{outcome}: {_looked_at(rows, driver, missing)}; {_recorded(recorded, lacking)}",
        "problems": problems,
        "gpu": None
        if driver is None
        else {"name": driver.name, "capability": list(driver.capability), "cuda": driver.version},
        "kernels": rows,
        "recorded": recorded,
        "machine": {"system": platform.platform(), "python": platform.python_version(), "prlx": __version__},
    }
    if target is not None:
        _write(target, document)
    return SelftestSimulator(document)


def _driver() -> tuple[Driver | None, str]:
    """The GPU, or why there is none that could run the kernels."""
    try:
        driver = Driver()
    except NoDeviceError as error:
        return None, str(error)
    if driver.capability < (8, 0):
        return None, f"{driver.name} is older than an sm_80"
    return driver, ""


def _conclude(
    rows: list[dict[str, Any]], recorded: list[dict[str, Any]], problems: list[str], missing: str, lacking: str
) -> dict[str, Any]:
    """Whether a GPU does what the simulator says; that the simulator alone can run the kernels is no answer."""
    evidence = Evidence()
    evidence.looked("kernels on a GPU", 0 if missing else len(rows), of=len(rows))
    evidence.looked("kernels that record on a GPU", 0 if missing else len(recorded), of=len(recorded))
    if missing:
        evidence.missed("what a GPU computes", missing)
    if lacking:
        evidence.missed("what kernels of Triton record", lacking)
    return evidence.check(bool(problems), "; ".join(problems[:3]) or "nothing differs")


def _looked_at(rows: list[dict[str, Any]], driver: Driver | None, missing: str) -> str:
    if driver is None:
        return f"{missing}; {plural(len(rows), 'kernel')} ran on the simulator alone, and nothing was compared"
    exact = sum(row["ulps_allowed"] == 0 for row in rows)
    same = sum(row["differ"] == 0 for row in rows if row["ulps_allowed"] == 0)
    near = len(rows) - exact
    return (
        f"{driver.name}: {same} of {plural(exact, 'kernel')} write the same bits as the simulator; of {near} with approximate "
        f"instructions, {near - sum(bool(row['problem']) for row in rows if row['ulps_allowed'])} are as near as allowed"
    )


def _recorded(rows: list[dict[str, Any]], lacking: str) -> str:
    if lacking:
        return f"none recorded, {lacking}"
    right = sum(not row["problem"] for row in rows)
    return f"{right} of {plural(len(rows), 'kernel')} of Triton record what they record on the simulator"


def _inputs(kernel: Microkernel) -> list[Any]:
    """Three arrays, the same in every run: odd words in all combinations first, then mixed bits."""
    import numpy as np

    words = {
        "f32": _ODD_F32, "f64": _ODD_F64, "b32": _ODD_BITS, "b64": _ODD_BITS,
        "f16x2": tuple(low | high << 16 for low, high in zip(_ODD_F16, _ODD_F16[3:] + _ODD_F16[:3], strict=True)),
    }[kernel.kind]  # fmt: skip
    made = np.random.default_rng(20).integers(0, 1 << 64, (3, THREADS), dtype=np.uint64)
    if kernel.kind == "f32":  # half of the rest are numbers that are not far from 1
        made[:, 1::2] = made[:, 1::2] & 0x83FFFFFF | 0x3C000000
    elif kernel.kind == "f64":
        made[:, 1::2] = made[:, 1::2] & 0x800FFFFFFFFFFFFF | 0x3FF0000000000000
    for place in range(min(len(words) ** 2, THREADS * 3 // 4)):
        first, second = divmod(place, len(words))
        made[:, place] = words[first], words[second], words[(first + second) % len(words)]
    return list(made.astype(np.uint64 if kernel.bytes == 8 else np.uint32))


def _compared(kernel: Microkernel, driver: Driver | None) -> dict[str, Any]:
    """How the results of a kernel compare; one that neither refuses and that differs nowhere has no problem."""
    import numpy as np

    inputs = _inputs(kernel)
    here, there = np.zeros_like(inputs[0]), np.zeros_like(inputs[0])
    row: dict[str, Any] = {"name": kernel.name, "ulps_allowed": kernel.ulps, "differ": 0, "ulps": 0.0, "problem": ""}
    try:
        done = simulate_ptx(kernel.text, kernel.entry, THREADS // BLOCK, BLOCK, [*inputs, here])
        if done.findings:
            row["problem"] = f"a finding of the simulator: {done.findings[0]}"
        if driver is not None:
            arrays = {array.ctypes.data: array.copy() for array in inputs} | {there.ctypes.data: there}
            grid, block = (THREADS // BLOCK, 1, 1), (BLOCK, 1, 1)
            driver.launch(kernel.text.encode(), kernel.entry, grid, block, list(arrays), arrays)
    except PrlxError as error:
        return {**row, "problem": str(error).splitlines()[0]}
    if driver is None or row["problem"]:
        return row
    wrong = np.flatnonzero(here != there)
    row["differ"] = int(wrong.size)
    if not wrong.size:
        return row
    apart = [_ulps(int(here[at]), int(there[at])) for at in wrong] if kernel.ulps else [0.0]
    row["ulps"] = max(apart)
    if not kernel.ulps or row["ulps"] > kernel.ulps:
        at = wrong[apart.index(row["ulps"])]
        given = ", ".join(f"{int(array[at]):#x}" for array in inputs)
        row["problem"] = (
            f"{plural(int(wrong.size), 'result')} of {THREADS} differ; thread {int(at)} has {given}: "
            f"{int(here[at]):#x} on the simulator, {int(there[at]):#x} on the GPU"
        )
    return row


def _ulps(one: int, other: int) -> float:
    """How far two floats of 32 bits are apart, in units in the last place; infinite where only one is a number."""
    values = [struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0] for bits in (one, other)]
    if any(value != value for value in values):
        return 0.0 if all(value != value for value in values) else float("inf")
    places = [bits & 0x7FFFFFFF if bits < 1 << 31 else -(bits & 0x7FFFFFFF) for bits in (one, other)]
    return float(abs(places[0] - places[1]))


def _write(target: Path, document: dict[str, Any]) -> None:
    temporary = target.with_name(f".{target.name}.prlx-part")
    try:
        temporary.write_text(json.dumps(document, indent=2) + "\n")
        temporary.replace(target)
    except OSError as error:
        raise FileAccessError(f"{target} cannot be written: {error.strerror}", path=str(target)) from error
