"""PyTorch's Flight Recorder: which rank was missing at which operation, from the dumps of all ranks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _config, _core, _request
from ._errors import said
from ._result import Card
from ._verdict import Judged

if TYPE_CHECKING:
    from ._progress import Progress
    from ._request import Path as AnyPath


@dataclass(frozen=True, repr=False)
class FlightRecorder(Judged):
    """What the dumps of a job's ranks show, laid side by side. The document is ``prlx.nccl-flight/1``.

    Examples
    --------
    >>> found = prlx.read_flight_recorder("dumps")  # doctest: +SKIP
    >>> found.verdict  # doctest: +SKIP
    'rank 2 never called all_reduce #5 of group 0 (default_pg), in which ranks 0, 1 wait; it is at train.py:12 (step)'
    """

    @property
    def status(self) -> str:
        """``culprit``, ``nothing``, or ``inconclusive``: not all could be compared, or it does not say who is at fault."""
        return str(self.document["status"])

    @property
    def verdict(self) -> str:
        """What is wrong and where, in one sentence; what was compared, where nothing is."""
        return str(self.document["verdict"])

    @property
    def findings(self) -> tuple[Mapping[str, Any], ...]:
        """What is wrong, what explains others first: as in the document."""
        return tuple(self.document["findings"])

    @property
    def chain(self) -> tuple[str, ...]:
        """Who waits for whom, to the root, a sentence each."""
        return tuple(self.document["chain"])

    @property
    def groups(self) -> tuple[Mapping[str, Any], ...]:
        """What was compared in each process group, and how far its ranks have come: as in the document."""
        return tuple(self.document["groups"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the result, in sentences."""
        return said(self.document["warnings"])

    def _card(self) -> Card:
        rows = [(row["class"], row["sentence"]) for row in self.findings]
        return Card("Flight Recorder", self.verdict, ("finding", ""), rows, self.warnings)


def read_flight_recorder(
    inputs: AnyPath | Iterable[AnyPath],
    *,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = "auto",
) -> FlightRecorder:
    """Say what dumps of PyTorch's Flight Recorder show: who never called what others wait in, and where they disagree.

    Dumps are pickles; they are read as data, and nothing in them is executed.

    Parameters
    ----------
    inputs
        Dumps, pickled or JSON, whose names end with the rank; or directories of them.
    workers, memory_limit, progress
        As for ``combine_traces``.

    Returns
    -------
    FlightRecorder
        With the verdict, and what it rests on.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> found = prlx.read_flight_recorder(["dumps/trace_0", "dumps/trace_1"])  # doctest: +SKIP
    >>> found.status, found.findings[0]["ranks"]  # doctest: +SKIP
    ('culprit', [1])
    """
    return run(request(inputs, workers=workers, memory_limit=memory_limit), progress=progress)


def request(
    inputs: AnyPath | Iterable[AnyPath], *, workers: int | None = None, memory_limit: int | str | None = None
) -> dict[str, Any]:
    """The request of the operation ``nccl_flight``; arguments as of ``read_flight_recorder``."""
    return {"inputs": _request.paths(inputs) or [], **_request.limits(workers, memory_limit, _config.load())}


def run(asked: dict[str, Any], *, progress: Progress = "auto") -> FlightRecorder:
    """Run a request of the operation ``nccl_flight``."""
    from ._progress import shown

    with shown(progress) as watch:
        return FlightRecorder(_core.run("nccl_flight", asked, progress=watch))
