"""Opening: a trace, or a run of several, to look into from Python."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import _core, _request
from ._errors import UsageError, said
from ._result import Card, clipped
from ._units import format_count, format_instant, format_ns, plural

if TYPE_CHECKING:
    from pathlib import Path

    from ._progress import Progress
    from ._table import Table
    from ._validate import Verdicts

_PLANES = (
    ("file", "string", ""),
    ("host", "string", ""),
    ("rank", "int64", ""),
    ("index", "int64", ""),
    ("id", "string", ""),
    ("name", "string", ""),
    ("lines", "int64", ""),
    ("events", "int64", ""),
)
_LINES = (
    ("file", "string", ""),
    ("host", "string", ""),
    ("rank", "int64", ""),
    ("plane", "string", ""),
    ("plane_index", "int64", ""),
    ("index", "int64", ""),
    ("id", "string", ""),
    ("aggregated", "int64", ""),
    ("name", "string", ""),
    ("display_name", "string", ""),
    ("events", "int64", ""),
    ("first_ns", "int64", "ns"),
    ("last_ns", "int64", "ns"),
    ("sorted", "bool", ""),
    ("clock", "string", ""),
)
_CLOCKS = (
    ("file", "string", ""),
    ("name", "string", ""),
    ("readings", "int64", ""),
    ("first_ns", "int64", "ns"),
    ("last_ns", "int64", "ns"),
    ("detail", "string", ""),
)


class Timeline:
    """What happened when, in one trace or in a run of several files.

    Opening reads the structure; events are read when first asked for, and collectives are judged when first asked for.

    Attributes
    ----------
    path
        What was opened.
    document
        The document ``prlx.inspect/1`` of it.

    Examples
    --------
    >>> timeline = prlx.open("examples/jax_p4/node1")
    >>> timeline
    <Timeline ...: 1 file, 3 planes, 4,498 events, 3.403 s>
    >>> timeline.planes.to_pandas()["name"].tolist()[0]
    '/host:metadata'
    >>> len(timeline.events)
    4498
    """

    def __init__(self, path: str, document: Mapping[str, Any], *, salvage: bool = False) -> None:
        self.path = path
        self.document = document
        self._salvage = salvage

    @property
    def files(self) -> tuple[Mapping[str, Any], ...]:
        """What is in each file, as documented for ``prlx.inspect/1``."""
        return tuple(self.document["files"])

    @cached_property
    def planes(self) -> Table:
        """One row a plane (XSpace) or process (Chrome JSON)."""
        return self._table(_PLANES, ({**plane, "lines": len(plane.get("lines") or ())} for plane in self._planes()))

    @cached_property
    def lines(self) -> Table:
        """One row a line (XSpace) or thread (Chrome JSON); ``clock`` says which clock its stamps are of."""
        rows = (
            {
                **line,
                **{key: plane[key] for key in ("file", "host", "rank")},
                "plane": plane.get("name"),
                "plane_index": plane.get("index"),
            }
            for plane in self._planes()
            for line in plane.get("lines") or ()
        )
        return self._table(_LINES, rows)

    @property
    def events(self) -> Table:
        """One row an event, by file and start: where it is, its name, its start and its duration."""
        return self._events[0]

    @property
    def events_dropped(self) -> int:
        """Events that did not fit into the table: 0 unless a trace holds more than 16 million."""
        return self._events[1]

    @cached_property
    def _events(self) -> tuple[Table, int]:
        from ._rows import beside, renamed, stacked

        paths = [file["path"] for file in self.files if "events" in file and "recording" not in file]
        if not paths:
            raise UsageError("holds no trace, so there are no events", path=self.path)
        read = [_core.run("timeline", {"path": path, "salvage": self._salvage}) for path in paths]
        events = stacked([one["tables"]["events"] for one in read], "file", paths)
        hosts = renamed(events.column("file"), "host", {file["path"]: _host(file) for file in self.files})
        return beside(events, "file", hosts), sum(one["dropped"] for one in read)

    @cached_property
    def clocks(self) -> Table:
        """One row a clock that the trace holds readings of."""
        rows = ({**clock, "file": file["path"]} for file in self.files for clock in file.get("clocks") or ())
        return self._table(_CLOCKS, rows)

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks that the files say they are of or were merged of, ascending."""
        found = {file["rank"] for file in self.files if file.get("rank") is not None}
        merged = (name for file in self.files for name in file.get("merged_ranks") or ())
        return tuple(sorted(found | {int(name[4:]) for name in merged if name[:4] == "rank" and name[4:].isdigit()}))

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that the files name, in their order."""
        return tuple(dict.fromkeys(host for file in self.files for host in file.get("hosts") or ()))

    @cached_property
    def collectives(self) -> Verdicts:
        """The verdicts on the collectives of this timeline, on its clocks as they stand."""
        from ._validate import validate_collectives

        skip = bool(self.document.get("skipped"))
        return validate_collectives(self.path, skip_unreadable=skip, salvage=self._salvage, progress=False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is unusual or lost in the files, one sentence each."""
        skipped = tuple(left_out(one) for one in self.document.get("skipped") or ())
        return skipped + tuple(
            text for file in self.files for key in ("losses", "warnings") for text in said(file.get(key))
        )

    def _planes(self) -> Iterator[Mapping[str, Any]]:
        for file in self.files:
            for plane in file.get("planes") or ():
                yield {**plane, "file": file["path"], "host": _host(file), "rank": file.get("rank")}

    @staticmethod
    def _table(specs: Sequence[tuple[str, str, str]], rows: Iterator[Mapping[str, Any]]) -> Table:
        from ._rows import table

        return table(specs, rows)

    def _sentence(self) -> str:
        events = sum(file.get("events") or 0 for file in self.files)
        planes = sum(len(file.get("planes") or ()) for file in self.files)
        starts = [file["start_ns"] for file in self.files if file.get("start_ns") is not None]
        ends = [file["end_ns"] for file in self.files if file.get("end_ns") is not None]
        said = f"{plural(len(self.files), 'file')}, {plural(planes, 'plane')}, {plural(events, 'event')}"
        if skipped := self.document.get("skipped"):
            said += f", {len(skipped)} left out as unreadable"
        return said + (f", {format_ns(max(ends) - min(starts))}" if starts and ends else "")

    def __repr__(self) -> str:
        return clipped(f"<Timeline {self.path}: {self._sentence()}>")

    def _repr_html_(self) -> str:
        rows = [
            (
                file["path"],
                file["format"],
                ", ".join(file.get("hosts") or ()),
                format_count(file.get("events")),
                "-" if file.get("start_ns") is None else format_instant(file["start_ns"]),
            )
            for file in self.files
        ]
        headings = ("file", "format", "hosts", "events", "begins")
        return Card("Timeline", self._sentence(), headings, rows, self.warnings).to_html()


def _host(file: Mapping[str, Any]) -> str:
    """The hosts that a file names: one, as a rule."""
    return ", ".join(file.get("hosts") or ())


def left_out(skipped: Mapping[str, Any]) -> str:
    """Which file was left out, and why."""
    return f"{skipped['path']} was left out: {skipped['error']}"


def open_timeline(path: str | os.PathLike[str], *, skip_unreadable: bool = False, salvage: bool = False) -> Timeline:
    """Open a trace, a run directory or a log directory (its latest run).

    Parameters
    ----------
    path
        An XSpace or Chrome / Kineto JSON file, compressed or not, or a directory of them.
    skip_unreadable
        Leave out files of a directory that cannot be read, and say which.
    salvage
        Of a file that was cut, take what is complete, and say what was lost.

    Returns
    -------
    Timeline
        With ``.planes``, ``.lines``, ``.events``, ``.clocks``, ``.ranks`` and ``.collectives``.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.
    """
    where = _request.absolute(path)
    document = inspect_files([where], skip_unreadable=skip_unreadable, salvage=salvage, progress=False)
    return Timeline(where, document, salvage=salvage)


def inspect_files(
    paths: Sequence[str | Path],
    *,
    skip_unreadable: bool = False,
    salvage: bool = False,
    progress: Progress = "auto",
) -> dict[str, Any]:
    """The document ``prlx.inspect/1`` of files."""
    from ._progress import shown

    asked = {"paths": [str(path) for path in paths], "skip_unreadable": skip_unreadable, "salvage": salvage}
    with shown(progress) as watch:
        return _core.run("inspect", asked, progress=watch)
