"""Reading a recording of a kernel: its warps, sites and events as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _config, _core, _request
from ._errors import UsageError, said
from ._filters import Kinds, Sites, Warps, is_site, kind_names, ranges, site_texts, warp_text
from ._kernel_events import Events, KernelHeader
from ._losses import Losses
from ._origin import Origin
from ._result import Card, clipped
from ._table import Table, as_bits
from ._units import format_count, plural

if TYPE_CHECKING:
    from ._progress import Progress
    from ._request import Path as AnyPath


class WarpTrace:
    """One warp of a recording."""

    def __init__(self, trace: KernelTrace, number: int, info: Mapping[str, Any]) -> None:
        self._trace = trace
        self.number = number
        self.info = info

    @property
    def warp_idx(self) -> int:
        """``number`` under its name in original prlx 0.5."""
        return self.number

    @property
    def overflow_count(self) -> int:
        """``dropped`` under its name in original prlx 0.5."""
        return self.dropped

    @property
    def num_events(self) -> int:
        """Events of this warp that are in the file."""
        return int(self.info["events"])

    @property
    def dropped(self) -> int:
        """Events of this warp that were lost."""
        return int(self.info["dropped"])

    @cached_property
    def events(self) -> Events:
        """Its events: a view of the recording's where those are loaded already, else only this warp's are read."""
        return self._trace._events_of(self.number)

    @cached_property
    def history(self) -> Table:
        """Values that flowed towards compares, oldest first."""
        return self._trace._tables(["history"], warps=str(self.number))["history"]

    @cached_property
    def snapshots(self) -> Table:
        """One row a lane of a snapshot: both operands of a compare, or address and value."""
        return self._trace._tables(["snapshots"], warps=str(self.number))["snapshots"]

    def __repr__(self) -> str:
        lost = f", {plural(self.dropped, 'event')} lost" if self.dropped else ""
        kernel = self._trace.header.kernel
        named = kernel if len(kernel) <= 120 else kernel[:119] + "\u2026"
        return f"<WarpTrace {self.number} of {named}: {plural(self.num_events, 'event')}{lost}>"


class KernelTrace:
    """A recording of one launch of a kernel.

    Opening reads what the file says of itself and which warps recorded anything; events are read when first asked for.

    Attributes
    ----------
    path
        The file.
    document
        The document ``prlx.kernel-trace/1`` of it.

    Examples
    --------
    >>> run = prlx.read_trace("examples/two_runs/a.prlx")
    >>> run.header.kernel, run.header.grid, run.total_events
    ('softmax_rows', (2, 1, 1), 4515)
    >>> run.sites.to_pandas()[["kind", "location", "events"]].values.tolist()[0]
    ['branch', 'softmax_rows.cu:softmax_rows:6:7', 8]
    """

    def __init__(self, path: str, document: Mapping[str, Any], request: Mapping[str, Any]) -> None:
        found = dict(document)
        self._read: dict[str, Table] = {name: as_bits(table) for name, table in found.pop("tables", {}).items()}
        self.path = path
        self.document: Mapping[str, Any] = found
        self._request = request

    @cached_property
    def header(self) -> KernelHeader:
        """What was recorded, and how."""
        return KernelHeader.of(self.document)

    @cached_property
    def losses(self) -> Losses:
        """What is missing; false when nothing is."""
        return Losses.of(self.document["losses"])

    @cached_property
    def origin(self) -> Origin | None:
        """What the kernel computes, where ``torch.compile`` made it and the recording or the session around it says so."""
        return Origin.of(self.document.get("origin"))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is unusual in the file, one sentence each."""
        return said(self.document.get("warnings"))

    @property
    def site_map(self) -> str | None:
        """The site map that names the sites, where they are not in the recording itself."""
        return self.document.get("site_map") or None

    @property
    def warps(self) -> Table:
        """One row per warp that recorded anything: its events, how many happened, how many were lost; a hash in digests."""
        return self._table("warps")

    @property
    def sites(self) -> Table:
        """One row per site: its id, kind, source location and how many events (of those read) are of it."""
        return self._table("sites")

    @cached_property
    def events(self) -> Events:
        """Every event of the warps, sites and kinds that were asked for."""
        table = self._table("events")
        return Events(table.columns, len(table))

    @property
    def num_warps(self) -> int:
        """Warps that recorded anything."""
        return int(self.document["warps"])

    @property
    def total_events(self) -> int:
        """Events in the file."""
        return int(self.document["events"])

    @property
    def total_overflows(self) -> int:
        """Events that were lost: ``losses.dropped`` under its name in original prlx 0.5."""
        return self.losses.dropped

    @property
    def branches(self) -> Events:
        """The events of conditional branches."""
        return self.filter_events("branch")

    @property
    def atomics(self) -> Events:
        """The events of atomics."""
        return self.filter_events("atomic")

    def warp(self, number: int) -> WarpTrace:
        """One warp.

        Raises
        ------
        UsageError
            The launch has no such warp, or it recorded nothing.

        Examples
        --------
        >>> run = prlx.read_trace("examples/two_runs/a.prlx")
        >>> run.warp(3).num_events
        571
        """
        numbers = self.warps.column("warp").values
        at = int(np.searchsorted(numbers, number))
        if at == len(numbers) or numbers[at] != number:
            slots = self.header.warp_slots
            why = "recorded nothing" if 0 <= number < slots else f"does not exist: the launch has {slots:,}"
            raise UsageError(f"warp {number} {why}", path=self.path)
        info = {name: self.warps[name][at].item() for name in self.warps if self.warps.column(name).type != "string"}
        return WarpTrace(self, number, info)

    def at_site(self, site: Sites) -> Events:
        """The events at a site, or at several.

        Parameters
        ----------
        site
            An id (number or ``0x...``), a location such as ``softmax.py:41``, ``func:NAME`` or ``kind:NAME``.

        Raises
        ------
        UsageError
            No site has that id or location.

        Examples
        --------
        >>> run = prlx.read_trace("examples/two_runs/a.prlx")
        >>> len(run.at_site("softmax_rows.cu:11"))
        160
        """
        return self.filter_events(site_id=site)

    def filter_events(
        self, event_type: Kinds | None = None, site_id: Sites | None = None, warp_idx: Warps | None = None
    ) -> Events:
        """The events that fit every condition.

        Parameters
        ----------
        event_type
            Kinds of sites, by name or by number.
        site_id
            Sites, by id or location.
        warp_idx
            Warps.

        Examples
        --------
        >>> run = prlx.read_trace("examples/two_runs/a.prlx")
        >>> len(run.filter_events(event_type="branch", warp_idx=0))
        431
        """
        events = self.events
        chosen = np.ones(len(events), dtype=np.bool_)
        if event_type is not None:
            kinds = kind_names(event_type)
            known = events.column("kind").dictionary()
            chosen &= np.isin(events.codes("kind"), [k for k, name in enumerate(known) if name in kinds])
        if site_id is not None:
            chosen &= np.isin(events.codes("site"), self._positions(site_id))
        if warp_idx is not None:
            first_to_last = [np.arange(first, last + 1) for first, last in ranges(warp_text(warp_idx))]
            chosen &= np.isin(events.column("warp").values, np.concatenate(first_to_last))
        return events.rows(np.flatnonzero(chosen))

    def events_at_site(self, site_id: Sites) -> Events:
        """``at_site`` under its name in original prlx 0.5.

        Examples
        --------
        >>> run = prlx.read_trace("examples/two_runs/a.prlx")
        >>> len(run.events_at_site("func:softmax_rows"))
        3222
        """
        return self.at_site(site_id)

    def compare_warps(self, warp_a: int, warp_b: int) -> list[dict[str, Any]]:
        """Two warps of this recording, position by position: ``index`` and ``fields`` of every one that differs.

        Examples
        --------
        >>> run = prlx.read_trace("examples/two_runs/a.prlx")
        >>> run.compare_warps(0, 1)[0]
        {'index': 0, 'fields': ['value']}
        """
        a, b = self.warp(warp_a).events, self.warp(warp_b).events
        shared = min(len(a), len(b))
        names = ("site", "kind", "dir", "active", "value")
        unequal = {name: a.column(name).values[:shared] != b.column(name).values[:shared] for name in names}
        found: list[dict[str, Any]] = [
            {"index": int(k), "fields": [name for name in names if unequal[name][k]]}
            for k in np.flatnonzero(np.logical_or.reduce(list(unequal.values())))
        ]
        return found + [{"index": k, "fields": ["missing"]} for k in range(shared, max(len(a), len(b)))]

    def divergent_warps(self, other: KernelTrace | AnyPath) -> list[int]:
        """The warps that differ from those of another recording of the kernel, ascending.

        Examples
        --------
        >>> run = prlx.read_trace("examples/two_runs/a.prlx")
        >>> run.divergent_warps("examples/two_runs/b.prlx")
        [0, 1, 2, 3, 4, 5, 6, 7]
        """
        from ._compare import diff_traces

        table = diff_traces(self, other, progress=False).divergences
        return [int(warp) for warp in np.unique(table.column("warp").values)]

    def summary(self) -> dict[str, Any]:
        """Kernel, launch, counts and losses; counting by kind reads the events.

        Examples
        --------
        >>> run = prlx.read_trace("examples/two_runs/a.prlx")
        >>> run.summary()["events_by_type"]["branch"]
        3481
        """
        events = self.events
        counts = np.bincount(events.codes("kind"), minlength=1) if len(events) else np.zeros(0, dtype=np.int64)
        names = events.column("kind").dictionary()
        return {
            "kernel_name": self.header.kernel,
            "grid_dim": self.header.grid,
            "block_dim": self.header.block,
            "num_warps": self.num_warps,
            "total_events": self.total_events,
            "total_overflows": self.losses.dropped,
            "events_by_type": {name: int(n) for name, n in zip(names, counts, strict=False) if n},
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """The document as JSON text; its first key is ``schema``.

        Examples
        --------
        >>> run = prlx.read_trace("examples/two_runs/a.prlx")
        >>> run.to_json(indent=None)[:33]
        '{"schema": "prlx.kernel-trace/1",'
        """
        import json

        return json.dumps(self.document, indent=indent, ensure_ascii=False)

    def _table(self, name: str) -> Table:
        if name not in self._read:
            self._read |= self._tables([name])
        return self._read[name]

    def _tables(self, names: Sequence[str], **narrowed: object) -> dict[str, Table]:
        """Tables of the core; ``narrowed`` replaces fields of the request that this object was opened with."""
        reply = _core.run("kernel_trace", {**self._request, **narrowed, "tables": list(names)})
        return {name: as_bits(table) for name, table in reply["tables"].items()}

    def _events_of(self, warp: int) -> Events:
        if "events" in self._read:
            return self.events.of_warp(warp)
        table = self._tables(["events"], warps=str(warp))["events"]
        return Events(table.columns, len(table))

    def _positions(self, given: Sites) -> list[int]:
        """Rows of the table of sites that have one of the ids or locations."""
        known = [self.sites[name].tolist() for name in ("site", "kind", "location")]
        found: list[int] = []
        for one in site_texts(given):
            fits = [k for k, about in enumerate(zip(*known, strict=True)) if is_site(one, *about)]
            if not fits:
                hint = "the table .sites lists them" + ("" if any(known[2]) else "; locations need a site map")
                raise UsageError(f"no site {one!r}", path=self.path, hint=hint)
            found += fits
        return found

    def _sentence(self) -> str:
        h = self.header
        said = f"{h.kernel or 'a kernel without a name'}, {_times(h.grid)} blocks of {_times(h.block)}"
        said += f", {plural(self.num_warps, 'warp')}, {plural(self.total_events, 'event')}"
        return said + (f", {plural(self.losses.dropped, 'event')} lost" if self.losses.dropped else "")

    def __repr__(self) -> str:
        return clipped(f"<KernelTrace {self.path}: {self._sentence()}>")

    def _repr_html_(self) -> str:
        rows = [
            (name, str(kind), str(place or ""), format_count(int(count)))
            for name, kind, place, count in zip(
                self.sites["site"][:10],
                self.sites["kind"][:10],
                self.sites["location"][:10],
                self.sites["events"][:10],
                strict=True,
            )
        ]
        notes = (*self.losses.notes, *self.warnings)
        return Card("KernelTrace", self._sentence(), ("site", "kind", "location", "events"), rows, notes).to_html()


def _times(size: Sequence[int]) -> str:
    return "x".join(str(n) for n in size)


def read_trace(
    path: AnyPath,
    *,
    site_map: AnyPath | None = None,
    warps: Warps | None = None,
    sites: Sites | None = None,
    kinds: Kinds | None = None,
    max_rows: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = "auto",
) -> KernelTrace:
    """Open a recording of a kernel.

    Parameters
    ----------
    path
        A ``.prlx`` file of either format, compressed or not.
    site_map
        The ``prlx-sites.json`` that names the sites of a recording of format v1. Left out, one is looked for beside the
        recording, in the current directory, in ``build`` and up to five directories above; ``""`` looks for none.
    warps, sites, kinds
        Which events ``.events`` shall hold; all by default.
    max_rows
        The most rows that a table may have; more is a ``LimitError`` that says how many there are.
    memory_limit, progress
        As for ``diff_traces``.

    Returns
    -------
    KernelTrace
        With ``.header``, ``.warps``, ``.sites``, ``.events``, ``.losses``.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> run = prlx.read_trace("examples/two_runs/a.prlx")
    >>> run
    <KernelTrace ...: softmax_rows, 2x1x1 blocks of 128x1x1, 8 warps, 4,515 events>
    """
    asked = request(
        path, site_map=site_map, warps=warps, sites=sites, kinds=kinds, max_rows=max_rows, memory_limit=memory_limit
    )
    return open_recording(asked, progress=progress)


def request(
    path: AnyPath,
    *,
    site_map: AnyPath | None = None,
    warps: Warps | None = None,
    sites: Sites | None = None,
    kinds: Kinds | None = None,
    max_rows: int | None = None,
    head: int | None = None,
    workers: int | None = None,
    memory_limit: int | str | None = None,
) -> dict[str, Any]:
    """The request of the operation ``kernel_trace``.

    Parameters
    ----------
    path, site_map, warps, sites, kinds, max_rows, memory_limit
        As of ``read_trace``.
    head
        Only so many events, the first ones.
    workers
        As of every operation.
    """
    return {
        "path": _request.absolute(path),
        **_request.site_maps(site_map),
        "warps": None if warps is None else warp_text(warps),
        "sites": None if sites is None else site_texts(sites),
        "kinds": None if kinds is None else kind_names(kinds),
        "max_rows": max_rows,
        "head": head,
        **_request.limits(workers, memory_limit, _config.load()),
    }


def open_recording(asked: Mapping[str, Any], *, progress: Progress = "auto") -> KernelTrace:
    """The recording that a request asks for, with its warps and sites."""
    from ._progress import shown

    with shown(progress) as watch:
        reply = _core.run("kernel_trace", {**asked, "tables": ["warps"]}, progress=watch)
    return KernelTrace(asked["path"], reply, asked)
