"""Merging: the recordings of NCCL's events of all ranks as one trace, with flows from calls to the proxies of peers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _config, _core, _request
from ._errors import UsageError, said
from ._result import Card
from ._units import format_bytes, format_ns, plural
from ._verdict import Judged

if TYPE_CHECKING:
    from ._progress import Progress
    from ._request import Path as AnyPath


@dataclass(frozen=True, repr=False)
class MergedNccl(Judged):
    """Recordings of NCCL's events that were written as one trace. The document is ``prlx.nccl-merge/1``.

    Examples
    --------
    >>> merged = prlx.merge_nccl("recordings", output="job.json")  # doctest: +SKIP
    >>> merged.summary  # doctest: +SKIP
    '8 ranks, 5,120 slices, 3,072 flows: 1.2 MB'
    """

    @property
    def path(self) -> Path:
        """The trace that was written."""
        return Path(self.document["output"])

    @property
    def clocked(self) -> str:
        """What relates the clocks of hosts: ``one host``, ``probes``, ``collectives`` or ``realtime``."""
        return str(self.document["clocked"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the result, in sentences."""
        return said(self.document["warnings"])

    @property
    def summary(self) -> str:
        """One line: how much was written."""
        done = self.document
        return (
            f"{plural(done['ranks'], 'rank')}, {plural(done['slices'], 'slice')}, {plural(done['flows'], 'flow')}: "
            f"{format_bytes(done['bytes'])}"
        )

    def _card(self) -> Card:
        rows = [
            (host["host"], host["method"], "unknown" if host["bound_ns"] is None else format_ns(host["bound_ns"]))
            for host in self.document["hosts"]
        ]
        return Card("NCCL, merged", self.summary, ("host", "clock by", "known to"), rows, self.warnings)


def merge_nccl(
    inputs: AnyPath | Iterable[AnyPath],
    *,
    output: AnyPath,
    format: Literal["chrome", "xplane"] | None = None,
    probes: AnyPath | Iterable[AnyPath] | None = None,
    overwrite: bool = False,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = "auto",
) -> MergedNccl:
    """Write the recordings of a job as one trace, on one clock.

    Each rank is a process with lines for its calls, operations, kernels by channel and proxy operations. Flows lead from a
    call to its launch, its kernels, what its proxies send, and what the proxies of peers receive.

    Parameters
    ----------
    inputs
        Recordings that ``libnccl-profiler-prlx.so`` wrote, or directories of them; also while the job runs.
    output
        Where to write: ``.json`` for Perfetto and Chrome, ``.xplane.pb`` for XProf and TensorBoard.
    format
        ``chrome`` or ``xplane``; ``None`` is told by the ending of ``output``.
    probes
        Stamps that ``prlx probe`` wrote, which relate the clocks of hosts; ``None``: collectives do.
    overwrite
        Replace an output that exists.
    workers, memory_limit, progress
        As for ``combine_traces``.

    Returns
    -------
    MergedNccl
        With what could not be drawn.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> merged = prlx.merge_nccl("recordings", output="job.xplane.pb")  # doctest: +SKIP
    >>> merged.path.name, merged.clocked  # doctest: +SKIP
    ('job.xplane.pb', 'collectives')
    """
    asked = request(
        inputs,
        output=output,
        format=format,
        probes=probes,
        overwrite=overwrite,
        workers=workers,
        memory_limit=memory_limit,
    )
    return run(asked, progress=progress)


def request(
    inputs: AnyPath | Iterable[AnyPath],
    *,
    output: AnyPath | None = None,
    format: str | None = None,
    probes: AnyPath | Iterable[AnyPath] | None = None,
    overwrite: bool = False,
    workers: int | None = None,
    memory_limit: int | str | None = None,
) -> dict[str, Any]:
    """The request of the operation ``nccl_merge``; arguments as of ``merge_nccl``."""
    return {
        "inputs": _request.paths(inputs) or [],
        "output": _request.absolute_or_none(output) or "",
        **_request.words(format=format),
        "probes": _request.paths(probes) or [],
        "overwrite": overwrite,
        **_request.limits(workers, memory_limit, _config.load()),
    }


def run(asked: dict[str, Any], *, progress: Progress = "auto") -> MergedNccl:
    """Run a request of the operation ``nccl_merge``."""
    from ._progress import shown

    if not asked["output"]:
        raise UsageError("no output is named", hint="name one: -o OUT.json or -o OUT.xplane.pb")
    with shown(progress) as watch:
        return MergedNccl(_core.run("nccl_merge", asked, progress=watch))
