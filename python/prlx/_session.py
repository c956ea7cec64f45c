"""Sessions: many launches recorded together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core, _request
from ._errors import TraceFormatError, UsageError, said
from ._lines import times
from ._origin import text_of
from ._result import Card, clipped
from ._units import plural

if TYPE_CHECKING:
    from ._kernel_trace import KernelTrace
    from ._progress import Progress
    from ._request import Path as AnyPath
    from ._table import Table

_LAUNCHES = (
    ("launch", "int64", ""),
    ("kernel", "string", ""),
    ("grid", "string", ""),
    ("block", "string", ""),
    ("file", "string", ""),
    ("argument_digest", "string", ""),
    ("bytes", "int64", "bytes"),
    ("origin", "string", ""),
    ("problem", "string", ""),
)


class Session:
    """A directory of recordings, one per launch, in the order in which they ran.

    Attributes
    ----------
    path
        The directory.
    document
        The document ``prlx.session-inspect/1`` of it.

    Examples
    --------
    Of a session, which is a directory that ``prlx.record`` wrote:

    >>> session = prlx.open("good")
    >>> session
    <Session ...: 1 launch of 1 kernel>
    >>> session.launches.to_pandas()["kernel"].tolist()
    ['softmax_rows']
    """

    def __init__(self, path: str, document: Mapping[str, Any]) -> None:
        self.path = path
        self.document = document

    @cached_property
    def launches(self) -> Table:
        """One row per launch: its number, kernel, grid, block and file; what it computes, where ``torch.compile`` made it."""
        from ._rows import table

        rows = (
            {
                **row,
                "grid": times(row["grid"]),
                "block": times(row["block"]),
                "origin": text_of(row) or None,
            }
            for row in self.document["launches"]
        )
        return table(_LAUNCHES, rows)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is unusual in the session, one sentence each."""
        return said(self.document.get("warnings"))

    def launch(self, number: int) -> KernelTrace:
        """The recording of one launch.

        Raises
        ------
        UsageError
            The session has no such launch.
        TraceFormatError
            Its recording cannot be read.

        Examples
        --------
        >>> prlx.open("good").launch(0)
        <KernelTrace ...: softmax_rows, 2x1x1 blocks of 128x1x1, 8 warps, 4,515 events>
        """
        from ._kernel_trace import read_trace

        for row in self.document["launches"]:
            if row["launch"] == number:
                if row.get("problem"):
                    raise TraceFormatError(row["problem"], path=str(Path(self.path) / row["file"]))
                return read_trace(Path(self.path) / row["file"], progress=False)
        raise UsageError(f"there is no launch {number}", path=self.path, hint="the table .launches lists them")

    def __iter__(self) -> Iterator[KernelTrace]:
        for row in self.document["launches"]:
            yield self.launch(row["launch"])

    def __len__(self) -> int:
        return len(self.document["launches"])

    def _sentence(self) -> str:
        kernels = {row["kernel"] for row in self.document["launches"]}
        return f"{plural(len(self), 'launch')} of {plural(len(kernels), 'kernel')}"

    def __repr__(self) -> str:
        return clipped(f"<Session {self.path}: {self._sentence()}>")

    def _repr_html_(self) -> str:
        made = any(row.get("origin") for row in self.document["launches"][:20])
        rows = [
            (
                str(row["launch"]),
                row["kernel"],
                *([text_of(row)] if made else []),
                times(row["grid"]),
                times(row["block"]),
                row["file"],
            )
            for row in self.document["launches"][:20]
        ]
        headings = ("launch", "kernel", *(["computes"] if made else []), "grid", "block", "file")
        return Card("Session", self._sentence(), headings, rows, self.warnings).to_html()


def open_session(path: AnyPath, *, progress: Progress = False) -> Session:
    """Open a session.

    Parameters
    ----------
    path
        A directory with ``session.json``, or one of ``.prlx`` files.
    progress
        As for ``diff_traces``.
    """
    from ._progress import shown

    where = _request.absolute(path)
    with shown(progress) as watch:
        return Session(where, _core.run("session_inspect", {"path": where}, progress=watch))
