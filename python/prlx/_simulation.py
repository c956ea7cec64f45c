"""What a launch did on the simulator, and what its checks found."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import UsageError
from ._origin import Origin
from ._result import Brief, Card
from ._simulated import COUNTS, Run, save_page
from ._stops import Stop
from ._units import format_count, plural
from ._verdict import Judged

if TYPE_CHECKING:
    import pandas
    import polars

    from ._kernel_trace import KernelTrace
    from ._table import Table

_LINES = (
    ("file", "string", ""),
    ("line", "int64", ""),
    ("instructions", "int64", ""),
    ("lane_instructions", "int64", ""),
    *((name, "int64", "bytes" if name == "global_bytes" else "") for name in COUNTS),
)
_SHOWN = 20  # rows of a card
_LANES = 32


@dataclass(frozen=True, repr=False)
class Finding(Brief):
    """Something that a check found in a launch, once for each instruction and check.

    Attributes
    ----------
    check
        ``out-of-bounds``, ``misaligned``, ``uninitialised-shared``, ``shared-race``, ``barrier-divergence``, ...
    message
        What happened, in one sentence.
    kernel, file, line
        Where in the user's code; ``file`` is empty where the PTX says no line.
    block, warp, lane, lanes
        Who did it the first time: the block, the warp in it, its first lane and all of its lanes.
    count
        How often it was found.
    document
        Everything, as in ``prlx.simulation/1``.

    Examples
    --------
    >>> import numpy as np
    >>> from softmax import softmax  # examples/laptop/softmax.py
    >>> x = np.ones((6, 200), np.float32)
    >>> out = np.zeros_like(x)
    >>> done = prlx.simulate(softmax, (6,), out, x, 200, 200, SLIP=1, BLOCK=256)
    >>> first = done.findings[0]
    >>> first.check, first.place, first.who
    ('out-of-bounds', 'softmax.py:21', 'block (5, 0, 0), warp 2, lane 8')
    """

    check: str
    message: str
    kernel: str
    file: str
    line: int
    block: tuple[int, int, int]
    warp: int
    lane: int
    lanes: tuple[int, ...]
    count: int
    document: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Finding:
        """The finding that a document describes.

        Examples
        --------
        >>> import numpy as np
        >>> from softmax import softmax  # examples/laptop/softmax.py
        >>> x = np.ones((6, 200), np.float32)
        >>> out = np.zeros_like(x)
        >>> done = prlx.simulate(softmax, (6,), out, x, 200, 200, SLIP=1, BLOCK=256)
        >>> prlx.Finding.of(done.document["findings"][0]) == done.findings[0]
        True
        """
        return cls(
            check=document["check"],
            message=document["message"],
            kernel=document["kernel"],
            file=document.get("file", ""),
            line=document.get("line", 0),
            block=tuple(document["block"]),
            warp=document["warp"],
            lane=document["lane"],
            lanes=tuple(document["lanes"]),
            count=document["count"],
            document=document,
        )

    @property
    def origin(self) -> Origin | None:
        """Which part of a model the kernel computes, where torch's compiler made it (``enable_pytorch``); else None."""
        return Origin.of(self.document.get("origin"))

    @property
    def place(self) -> str:
        """``kernels.py:11``, or the instruction where no line is known."""
        return f"{Path(self.file).name}:{self.line}" if self.line else str(self.document["instruction"])

    @property
    def who(self) -> str:
        """``block (4, 0, 0), warp 3, lanes 8-31``."""
        from ._lines import lane_text

        lanes = f"lane{'s' if len(self.lanes) > 1 else ''} {lane_text(self.lanes)}" if self.lanes else ""
        return ", ".join(filter(None, (f"block {self.block}", f"warp {self.warp}", lanes)))

    @property
    def what(self) -> str:
        """Everything but the place."""
        times = f", {format_count(self.count)} times" if self.count > 1 else ""
        computes = f"; the kernel computes {self.origin.text}" if self.origin is not None and self.origin.text else ""
        return f"{self.check} in {self.kernel}, {self.who}{times}: {self.message}{computes}"

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


@dataclass(frozen=True, repr=False)
class Simulation(Judged):
    """One launch on the simulator. The document is ``prlx.simulation/1``.

    Examples
    --------
    >>> import numpy as np
    >>> from softmax import softmax  # examples/laptop/softmax.py
    >>> x = np.ones((6, 200), np.float32)
    >>> out = np.zeros_like(x)
    >>> done = prlx.simulate(softmax, (6,), out, x, 200, 200, SLIP=1, BLOCK=256)
    >>> done.passed, len(done.findings)
    (False, 2)
    >>> done.instructions, done.branches
    (1920, 0)
    """

    texts: Callable[[], Mapping[str, Any]] | None = field(default=None, repr=False, compare=False)
    """The text of the kernel as it was compiled; None where nobody knows it."""

    @property
    def passed(self) -> bool:
        """Whether every check ran, and none found anything."""
        return self.conclusion.outcome == "passed"

    @property
    def verdict(self) -> str:
        """One sentence."""
        return str(self.document["verdict"])

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return str(self.document["kernel"])

    @property
    def grid(self) -> tuple[int, int, int]:
        """Blocks in each direction."""
        x, y, z = self.document["grid"]
        return x, y, z

    @property
    def instructions(self) -> int:
        """Instructions of warps."""
        return int(self.document["instructions"])

    @property
    def origin(self) -> Origin | None:
        """Which part of a model the kernel computes, where torch's compiler made it (``enable_pytorch``); else None."""
        return Origin.of(self.document.get("origin"))

    @property
    def lanes_active(self) -> float:
        """The share of lanes that took part in the instructions, 0 to 1."""
        return share(self.document)

    @property
    def branches(self) -> int:
        """Conditional branches of warps."""
        return int(self.document["totals"]["branches"])

    @property
    def divergent_branches(self) -> int:
        """Those that split their warp."""
        return int(self.document["totals"]["divergent"])

    @property
    def global_bytes(self) -> int:
        """Bytes that lanes loaded from and stored to global memory."""
        return int(self.document["totals"]["global_bytes"])

    @property
    def bank_conflicts(self) -> int:
        """Further passes that accesses of shared memory need because lanes meet in a bank."""
        return int(self.document["totals"]["bank_conflicts"])

    @property
    def output(self) -> str:
        """What the kernel printed."""
        return str(self.document["output"])

    @property
    def recording(self) -> Path | None:
        """The recording of this launch, where one was made."""
        found = self.document["recording"]
        return None if found is None else Path(found["file"])

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What the checks found, in the order of the instructions."""
        return tuple(Finding.of(row) for row in self.document["findings"])

    @cached_property
    def stops(self) -> tuple[Stop, ...]:
        """What lanes held at the lines that ``breaks`` names, in the order of blocks and warps."""
        found = self.document["stopped"]
        return () if found is None else tuple(Stop.of(row, self.kernel) for row in found["stops"])

    @property
    def touched(self) -> Mapping[str, Any] | None:
        """Which blocks touched which elements of which array, as in ``prlx.simulation/1``; None where nobody asked."""
        found: Mapping[str, Any] | None = self.document["touched"]
        return found

    @property
    def fidelity(self) -> Mapping[str, Any]:
        """How far the answer can be trusted, as in ``prlx.simulation/1``.

        ``exact``: nothing was approximated. ``approximated``: the instructions whose results may differ from a GPU's
        (``ex2``, ``rsqrt``, the order of sums in ``mma`` and in atomics), by line, with how they may. ``decides``: where
        values that may come from these decided an address, a branch, a predicate or a barrier, followed through registers
        and memory. Everything else is exact.

        Examples
        --------
        >>> import numpy as np
        >>> from softmax import softmax  # examples/laptop/softmax.py
        >>> x = np.ones((6, 200), np.float32)
        >>> done = prlx.simulate(softmax, (6,), np.zeros_like(x), x, 200, 200, SLIP=0, BLOCK=256)
        >>> done.fidelity["exact"], [row["use"] for row in done.fidelity["decides"]]
        (False, [])
        >>> done.fidelity["approximated"][0]["instruction"]
        'ex2.approx.f32'
        """
        found: Mapping[str, Any] = self.document["fidelity"]
        return found

    @cached_property
    def lines(self) -> Table:
        """One row a source line: instructions, branches, traffic, bank conflicts."""
        from ._rows import table

        return table(_LINES, self.document["lines"])

    def trace(self) -> KernelTrace:
        """The recording of this launch, opened.

        Raises
        ------
        UsageError
            None was made.

        Examples
        --------
        >>> import numpy as np
        >>> from softmax import softmax  # examples/laptop/softmax.py
        >>> x = np.ones((6, 200), np.float32)
        >>> out = np.zeros_like(x)
        >>> with prlx.record("run.prlx") as recording:
        ...     _ = softmax[(6,)](out, x, 200, 200, SLIP=0, BLOCK=256)
        >>> recording.simulations[0].trace()
        <KernelTrace ...: softmax, 6x1x1 blocks of 128x1x1, 24 warps, ...>
        """
        from ._kernel_trace import read_trace

        if self.recording is None:
            raise UsageError("this launch was not recorded", hint="launch it inside of prlx.record(path)")
        return read_trace(self.recording, progress=False)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the document (``.json``), or a page for a browser that needs no network (``.html``).

        The page shows the source with what each line did, findings at their lines, and with ``touched`` which block touched
        what.

        Parameters
        ----------
        path
            Where to; its ending decides the format.
        overwrite
            Replace a file that exists.

        Raises
        ------
        UsageError
            The ending is neither ``.json`` nor ``.html``.
        FileAccessError
            The file exists and ``overwrite`` was not given.

        Examples
        --------
        >>> import numpy as np
        >>> from softmax import softmax  # examples/laptop/softmax.py
        >>> x = np.ones((6, 200), np.float32)
        >>> out = np.zeros_like(x)
        >>> done = prlx.simulate(softmax, (6,), out, x, 200, 200, SLIP=0, BLOCK=256, machine={"touched": True})
        >>> done.save("softmax.html").name
        'softmax.html'
        """
        target = Path(path)
        if target.suffix != ".html":
            return super().save(target, overwrite=overwrite)
        run = Run("")
        run.add(self)
        save_page(run.document(recording=None, status=0, pictures=True), target, overwrite=overwrite)
        return target

    def to_pandas(self) -> pandas.DataFrame:
        """The lines as a ``pandas.DataFrame``.

        Examples
        --------
        >>> import numpy as np
        >>> from softmax import softmax  # examples/laptop/softmax.py
        >>> x = np.ones((6, 200), np.float32)
        >>> out = np.zeros_like(x)
        >>> done = prlx.simulate(softmax, (6,), out, x, 200, 200, SLIP=0, BLOCK=256)
        >>> int(done.to_pandas()["instructions"].sum()) == done.instructions
        True
        """
        return self.lines.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The lines as a ``polars.DataFrame``.

        Examples
        --------
        >>> import numpy as np
        >>> from softmax import softmax  # examples/laptop/softmax.py
        >>> x = np.ones((6, 200), np.float32)
        >>> out = np.zeros_like(x)
        >>> done = prlx.simulate(softmax, (6,), out, x, 200, 200, SLIP=0, BLOCK=256)
        >>> done.to_polars()["instructions"].sum() == done.instructions
        True
        """
        return self.lines.to_polars()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.lines.__arrow_c_stream__(requested_schema)

    def _card(self) -> Card:
        notes = [str(finding) for finding in self.findings[:_SHOWN]]
        if len(self.findings) > _SHOWN or self.document["more_findings"]:
            hidden = len(self.findings) - len(notes) + self.document["more_findings"]
            notes.append(f"{format_count(hidden)} more")
        rows = [
            (
                f"{Path(row['file']).name}:{row['line']}" if row["line"] else "no line",
                format_count(row["instructions"]),
                percent(share(row)),
                format_count(row["global_bytes"]),
                format_count(row["bank_conflicts"]),
            )
            for row in busiest(self.document["lines"], _SHOWN)
        ]
        sentence = (
            f"{self.kernel}: {plural(self.instructions, 'instruction')} of {plural(self.document['warps'], 'warp')}, "
        )
        sentence += f"{percent(self.lanes_active)} of lanes active, {plural(len(self.findings), 'finding')}"
        return Card("Simulation", sentence, ("line", "instructions", "lanes", "bytes", "conflicts"), rows, notes)


def share(row: Mapping[str, Any]) -> float:
    """The share of lanes that took part in the instructions of a launch or line."""
    slots = _LANES * row["instructions"]
    return row["lane_instructions"] / slots if slots else 0.0


def percent(ratio: float) -> str:
    """``97 %``."""
    return f"{100 * ratio:.0f} %"


def busiest(lines: Iterable[Mapping[str, Any]], count: int) -> list[Mapping[str, Any]]:
    """The lines with the most instructions, most first."""
    return sorted(lines, key=lambda row: (-row["instructions"], row["file"], row["line"]))[:count]
