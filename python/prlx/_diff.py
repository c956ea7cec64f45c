"""Comparing recordings of a kernel: where do two runs first differ, and why?"""

from __future__ import annotations

import datetime
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from . import _config, _core, _request
from ._diff_text import Look, lane_text, place, render, short
from ._errors import IncompatibleTracesError, UsageError
from ._result import Brief, Card, Result
from ._units import format_count, plural

if TYPE_CHECKING:
    from ._filters import Sites, Warps
    from ._kernel_trace import KernelTrace, Losses
    from ._progress import Progress
    from ._request import Path as AnyPath
    from ._session import Session
    from ._table import Table

Recordings: TypeAlias = "AnyPath | KernelTrace | Session | Iterable[AnyPath | KernelTrace]"
"""A recording, a session, or several recordings of runs that should be equal (the first is the one compared)."""

Tolerance: TypeAlias = str | float | Mapping[str, float | str]
"""How far values may be apart: ``"rel=1e-5"``, ``"f16:ulp=4,f32:abs=1e-6"``, a number (relative), or a mapping."""

LOOKAHEAD = 32
TALK = ("written", "rendered", "notes")  # what a reply says besides the document
LISTED = 10_000  # divergences in a document that is printed or reported, unless more are asked for
_LISTED_HERE = 100  # in one that has the tables beside it
_TOTALS = ("total_divergences", "warps_compared", "warps_diverged", "total_events_a", "total_events_b")
_CLUSTERS_HERE = 100


@dataclass(frozen=True, repr=False)
class Divergence(Brief):
    """One difference between two warps.

    Attributes
    ----------
    kind
        ``Branch``, ``ActiveMask``, ``Value``, ``Path`` or ``ExtraEvents``.
    warp, event, event_b, occurrence
        Where: the warp, the event's position on both sides, and how often the warp had passed the site before.
    site, location
        The site's id, and its ``file:function:line:column`` where known.
    lanes
        The lanes that differ; empty when that is not known.
    cluster
        The number of its cluster.
    follows, noise
        Whether an earlier divergence can be its cause; whether runs that should be equal differ here too.
    document
        Everything, as in ``prlx.diff/1``.
    """

    kind: str
    warp: int
    event: int
    event_b: int
    occurrence: int
    site: str
    location: str | None
    lanes: tuple[int, ...]
    cluster: int
    follows: bool
    noise: bool
    document: Mapping[str, Any]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Divergence:
        """The divergence that a document describes."""
        return cls(
            kind=document["kind"],
            warp=document["warp_idx"],
            event=document["event_idx"],
            event_b=document["event_idx_b"],
            occurrence=document["occurrence"],
            site=document["site_id"],
            location=document.get("source_location"),
            lanes=tuple(document.get("lanes") or ()),
            cluster=document["cluster"],
            follows=document["follows"],
            noise=document["noise"],
            document=document,
        )

    def __str__(self) -> str:
        lanes = f", lanes {lane_text(self.lanes)}" if self.lanes else ""
        return f"{self.kind} at {place(self.document)}, warp {self.warp}, event {self.event}{lanes}"


@dataclass(frozen=True, repr=False)
class Explanation(Brief):
    """Why the first divergence happened, as far as the recordings tell.

    Attributes
    ----------
    cause
        ``race``, ``precision``, ``loop-bound``, ``index-or-mask``, ``stale-data`` or ``unknown``.
    confidence
        ``strong``, ``likely`` or ``weak``.
    summary
        One sentence.
    chain
        The evidence, from the divergence back to where it can come from: one mapping a step.
    missing
        What was not recorded and would settle it.
    document
        Everything, as in ``prlx.diff/1``.
    """

    cause: str
    confidence: str
    summary: str
    chain: tuple[Mapping[str, Any], ...]
    missing: tuple[str, ...]
    document: Mapping[str, Any]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Explanation:
        """The explanation that a document holds."""
        return cls(
            cause=document["class"],
            confidence=document["confidence"],
            summary=document["summary"],
            chain=tuple(document.get("chain") or ()),
            missing=tuple(document.get("missing") or ()),
            document=document,
        )

    def __str__(self) -> str:
        return f"{self.cause} ({self.confidence}): {self.summary}"


class Comparison(Result):
    """What the comparisons of recordings and of sessions have in common. The document decides; nothing is computed twice.

    A comparison has no truth value: ``if diff`` could mean either answer. Ask ``.identical`` or ``.passed``.
    """

    @property
    def identical(self) -> bool:
        """Whether nothing differs in what was compared (``coverage``)."""
        return bool(self.document["status"] == "identical")

    @property
    def status(self) -> str:
        """``identical``, ``same-results`` (the kernel wrote the same, by another way), ``diverged``, or ``inconclusive``.

        ``inconclusive`` says that not enough was recorded to call the runs the same; of sessions ``error`` says that launches
        could not be compared.
        """
        return str(self.document["status"])

    @property
    def coverage(self) -> Mapping[str, Any]:
        """What was compared: ``coverage["text"]`` says it in words."""
        return self.document.get("coverage") or {}

    @property
    def passed(self) -> bool:
        """Whether no more differs than was allowed, in what must agree; an inconclusive comparison never passes."""
        return bool(self.document["passed"])

    @property
    def verdict(self) -> str:
        """One sentence, with what limits it."""
        return str(self.document["verdict"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd in the recordings or could not be used, in sentences."""
        return tuple(self.document.get("warnings") or ())

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen, such as the site map, in sentences."""
        return tuple(self.document.get("notes") or ())

    def to_json(self, *, indent: int | None = 2) -> str:
        """The document as JSON text; its first key is ``schema``."""
        document = {key: value for key, value in self.document.items() if key not in TALK}
        return json.dumps(document, indent=indent, ensure_ascii=False)

    def __bool__(self) -> NoReturn:
        raise TypeError(f"the truth of a {type(self).__name__} is ambiguous: ask .identical or .passed")

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, format: str | None = None) -> Path:
        """Write a report.

        Parameters
        ----------
        path
            Where to; its ending decides the format: ``.html``, ``.json``, ``.csv``, ``.xml`` (JUnit), ``.sarif``, ``.md``,
            ``.trace.json`` (Chrome), ``.perfetto-trace``, ``.github.txt`` (annotations).
        overwrite
            Replace a file that exists.
        format
            The format, where the ending does not say it: ``html``, ``json``, ``csv``, ``junit``, ``sarif``, ``markdown``,
            ``chrome``, ``perfetto`` or ``github``.

        Returns
        -------
        pathlib.Path
            The file written.

        Raises
        ------
        UsageError
            The ending says no format.
        FileAccessError
            The file exists and ``overwrite`` was not given, or its directory does not.
        """
        output = {"path": _request.absolute(path), "format": format or ""}
        _core.run("report", {"document": dict(self.document), "outputs": [output], "overwrite": overwrite})
        return Path(path)


@dataclass(frozen=True, repr=False)
class Diff(Comparison):
    """Where two recordings of a kernel differ. The document is ``prlx.diff/1``.

    Tables are ``Table`` objects: NumPy columns, and data frames of pandas, polars and Arrow.

    Attributes
    ----------
    request
        What was asked for.
    tables
        The tables by name, where they were read at once.
    """

    request: Mapping[str, Any] = field(repr=False)
    tables: Mapping[str, Table] = field(repr=False)

    @cached_property
    def _tables(self) -> Mapping[str, Table]:
        """The tables; the recordings are read again where they were not asked for at once: most callers never look."""
        if self.tables:
            return self.tables
        again = run({**self.request, "outputs": None, "rows": 0}, tables=True, progress=False)
        if any(again.document[name] != self.document[name] for name in _TOTALS):
            raise IncompatibleTracesError(
                "the recordings are not those that were compared: they changed since", hint="compare them again"
            )
        return again.tables

    @property
    def divergences(self) -> Table:
        """One row a divergence: all of them, also those that the document does not list."""
        return self._tables["divergences"]

    @property
    def clusters(self) -> Table:
        """One row a way to differ: how many warps, which, and where it begins."""
        return self._tables["clusters"]

    @property
    def sites(self) -> Table:
        """One row a site that differs, the earliest possible cause first."""
        return self._tables["sites"]

    @cached_property
    def first(self) -> Divergence | None:
        """The earliest divergence that no other can have caused; None when nothing differs."""
        first = self.document.get("first")
        return None if first is None else Divergence.of(first)

    @cached_property
    def losses(self) -> tuple[Losses, Losses]:
        """What is missing from A and from B; each is false when nothing is."""
        from ._kernel_trace import Losses

        losses = self.document["losses"]
        return Losses.of(losses["a"]), Losses.of(losses["b"])

    @property
    def outputs(self) -> Mapping[str, Any] | None:
        """How what the kernel wrote differs: ``first``, ``arrays`` and ``stores``; None when nothing of it does."""
        return self.document.get("outputs")

    @property
    def findings(self) -> tuple[Mapping[str, Any], ...]:
        """What the simulator's checks found in one run only, or more often in one."""
        return tuple(self.document.get("findings") or ())

    @property
    def total_divergences(self) -> int:
        """How many differences there are."""
        return int(self.document["total_divergences"])

    @property
    def counted_divergences(self) -> int:
        """How many of them count: not noise, not accepted, not ignored."""
        return int(self.document["counted_divergences"])

    @property
    def warps_diverged(self) -> int:
        """How many warps differ."""
        return int(self.document["warps_diverged"])

    def explain(self) -> Explanation | None:
        """Why the first divergence happened; reads the recordings again unless ``explain=True`` was given.

        Returns
        -------
        Explanation or None
            None when no event differs, and when the kernel wrote the same by another way: nothing went wrong then.
        """
        if self.document.get("first") is None or self.status == "same-results":
            return None
        found = self.document.get("explanation")
        if found is None:
            again = {**self.request, "explain": True, "outputs": None, "rows": 0}
            found = _core.run("diff", {**again, "tables": False}).get("explanation")
        return None if found is None else Explanation.of(found)

    def to_text(self, *, width: int = 80, clusters: int = 10, history: bool = False) -> str:
        """The comparison as ``prlx diff`` prints it, without colours."""
        return "\n".join(render(self.document, Look(width=width, clusters=clusters, history=history)))

    def __str__(self) -> str:
        return self.to_text()

    def _card(self) -> Card:
        rows = [
            (
                format_count(cluster["warps"]),
                cluster["warp_ranges"],
                cluster["first"]["kind"],
                short(cluster["first"].get("source_location"), cluster["first"]["site_id"]),
                format_count(cluster["first"]["event_idx"]),
                format_count(cluster["divergences"]),
                "noise" if cluster["noise"] else "follows" if cluster["follows"] else "",
            )
            for cluster in self.document["clusters"][:10]
        ]
        notes = [*_said_of_outputs(self.document), *self.losses[0].notes, *self.losses[1].notes, *self.warnings]
        headings = ("warps", "which", "first kind", "at", "event", "divergences each", "")
        return Card(f"Diff: {self.document['status']}", self.verdict, headings, rows, notes)

    def __repr__(self) -> str:
        found = plural(self.total_divergences, "divergence")
        if self.status in ("same-results", "inconclusive"):
            return f"<Diff: {self.verdict}>"
        if self.identical:
            compared = plural(int(self.document["warps_compared"]), "warp")
            lost = " as far as recorded" if any(map(bool, self.losses)) else ""
            return f"<Diff: identical{lost}, {compared} compared>"
        if self.first is None:
            return f"<Diff: {self.verdict}>"
        return f"<Diff: {found} in {plural(self.warps_diverged, 'warp')}, first: {self.first}>"


def _said_of_outputs(document: Mapping[str, Any]) -> Iterator[str]:
    """What differs among outputs and findings, for a card."""
    from ._diff_outputs import outputs

    yield from (line.strip() for line in outputs(document, Look(width=200)) if line.strip())


def diff_traces(
    a: Recordings,
    b: Recordings,
    *,
    values: bool = False,
    lookahead: int = LOOKAHEAD,
    ignore: str | Iterable[str] = (),
    tolerance: Tolerance | None = None,
    site_map: AnyPath | None = None,
    site_map_b: AnyPath | None = None,
    nan: str | None = None,
    baseline: Recordings = (),
    baseline_b: Recordings = (),
    warps: Warps | None = None,
    kinds: str | Iterable[str] | None = None,
    sites: Sites | None = None,
    ignore_active_mask: bool = False,
    force: bool = False,
    cross_gpu: bool = False,
    explain: bool = False,
    accepted: AnyPath | None = None,
    max_divergences: int = 0,
    require: str | Iterable[str] | None = None,
    verify: bool | None = None,
    limit: int | None = _LISTED_HERE,
    source_roots: AnyPath | Iterable[AnyPath] = (),
    workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = "auto",
) -> Diff:
    """Find where two recordings of a kernel, or two sessions of recordings, first differ.

    Parameters
    ----------
    a, b
        A path or an opened ``KernelTrace`` each; a session's directory or an opened ``Session`` each; or several recordings
        of runs that should be equal, of which the first is compared and the others tell what is noise.
    values
        Compare the values of events too.
    lookahead
        Accepted for programs written for the described interface. Alignment here is minimal and needs no window.
    ignore
        Patterns of places that do not count: a function, a file, ``file:line`` (globs), or a site's id.
    tolerance, nan
        How far values may be apart, and how NaN compares; both imply ``values``. See ``docs/commands/diff.md``.
    site_map, site_map_b
        The ``prlx-sites.json`` of recordings of format v1; that of B where it was built apart. Left out, one is looked for;
        ``""`` looks for none.
    baseline, baseline_b
        More runs equal to ``a``, and to ``b``: what differs among them is noise.
    warps, kinds, sites
        Compare only these warps; report only these kinds of divergences (``"Branch"``, ...) or sites.
    ignore_active_mask
        Differences of active lanes alone do not count.
    force, cross_gpu
        Compare different kernels; compare recordings of different machines by thread.
    explain
        Say why, too.
    accepted
        A file of accepted differences.
    max_divergences
        How many may differ for ``passed`` to be true.
    require
        What must agree for ``passed`` to be true: some of ``"control-flow"``, ``"outputs"`` and ``"values"`` (which implies
        ``values``). Left out, the setting ``diff.require`` decides, which is control flow and outputs.
    verify
        Read all of both recordings and check it, also what is equal by its digests: what is damaged raises
        ``TraceFormatError``. Left out, where ``CI`` is set in the environment.
    limit
        How many divergences the document lists at most, beside the first 100 clusters; None or 0 for all of both. The table
        ``divergences`` always has all; for tables the recordings are read again when one is first asked for.
    source_roots
        Directories in which sources are looked for.
    workers, memory_limit
        Limits; left out, the settings decide.
    progress
        ``"auto"``, a flag, or a function of stage, done and total.

    Returns
    -------
    Diff
        A ``SessionDiff`` for sessions.

    Raises
    ------
    IncompatibleTracesError
        The recordings are of different kernels or launches.
    PrlxError
        Another of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.
    """
    if lookahead != LOOKAHEAD:
        text = (
            "lookahead has no effect: alignment is minimal over the whole warp (prlx diff --compat takes --lookahead)"
        )
        warnings.warn(text, stacklevel=2)
    if limit is not None and limit < 0:
        raise UsageError(f"limit is {limit}, expected 0 or more, or None for all")
    defaults = _config.load()
    request: dict[str, Any] = {
        "a": recordings(a),
        "b": recordings(b),
        "baseline": recordings(baseline),
        "baseline_b": recordings(baseline_b),
        **site_maps(site_map, site_map_b),
        **comparing(values=values, tolerance=tolerance, nan=nan, ignore=ignore),
        **filters(warps=warps, kinds=kinds, sites=sites),
        "ignore_active_mask": ignore_active_mask,
        "force": force,
        "cross_gpu": cross_gpu,
        "explain": explain,
        "accepted": _request.absolute_or_none(accepted),
        "require": required(require, defaults),
        "today": today(),
        "threshold": max_divergences,
        "verify": verifying(verify),
        "rows": limit or -1,
        "clusters": _CLUSTERS_HERE if limit else -1,
        "source_roots": _request.paths(source_roots),
        **_request.limits(workers, memory_limit, defaults),
    }
    return run(request, progress=progress)


def run(request: Mapping[str, Any], *, tables: bool = False, progress: Progress = "auto") -> Diff:
    """Run a request of the operation ``diff``, or of ``session_diff`` where A and B are sessions.

    Parameters
    ----------
    request
        Of the operation, with absolute paths. Documents name the files as seen from the current directory.
    tables
        Read the tables at once; else they are read when first asked for.
    progress
        As for ``diff_traces``.
    """
    from ._kernel_trace import as_bits
    from ._progress import shown

    for side in "ab":
        if not request[side]:
            raise UsageError(f"no recording is named for {side.upper()}")
    here = _request.absolute(".")
    named = [path for key in ("a", "b", "baseline", "baseline_b") for path in request.get(key) or ()]
    named += [request["accepted"]] if request.get("accepted") else []
    names = {path: _request.seen_from(path, here) for path in named}
    request = {**request, "names": names, "root": here, "tables": tables}
    if are_sessions(request):
        from ._session import run_diff

        return run_diff(request, progress=progress)
    with shown(progress) as watch:
        reply = _core.run("diff", request, progress=watch)
    found = {name: as_bits(table) for name, table in reply.pop("tables", {}).items()}
    return Diff(reply, request, found)


def are_sessions(request: Mapping[str, Any]) -> bool:
    """Whether A and B are directories, that is sessions.

    Raises
    ------
    UsageError
        Only one of them is.
    """
    a, b = request["a"][0], request["b"][0]
    kinds = [Path(path).is_dir() for path in (a, b)]
    if kinds[0] != kinds[1]:
        file, folder = (b, a) if kinds[0] else (a, b)
        hint = f"name a directory for both, or one recording of the session: {folder}/....prlx"
        raise UsageError("is a recording, and the other side a session", path=file, hint=hint)
    return all(kinds)


def recordings(given: Recordings) -> list[str]:
    """The absolute paths of recordings."""
    if isinstance(given, (str, os.PathLike)):
        return [_request.absolute(given)]
    if hasattr(given, "path"):
        return [str(given.path)]
    return [path for one in given for path in recordings(one)]


def site_maps(site_map: AnyPath | None, site_map_b: AnyPath | None) -> dict[str, Any]:
    """How a request names the site maps of both sides, and from where they are looked for."""
    given = None if not site_map else _request.absolute(site_map)
    given_b = None if not site_map_b else _request.absolute(site_map_b)
    look = site_map is None or (site_map_b is None and given is None)
    return {"site_map": given, "site_map_b": given_b, "look_in": _request.absolute(".") if look else None}


def comparing(
    *, values: bool, tolerance: Tolerance | None, nan: str | None, ignore: str | Iterable[str]
) -> dict[str, Any]:
    """How values compare and what does not count."""
    text = tolerance_text(tolerance)
    return {
        "values": values or text is not None or nan is not None,
        "tolerance": text,
        "nan": nan,
        "ignore": [ignore] if isinstance(ignore, str) else list(ignore),
    }


def tolerance_text(given: Tolerance | None) -> str | None:
    """A tolerance as the core takes it: ``rel=1e-05``, ``f16:ulp=4``."""
    if given is None or isinstance(given, str):
        if given is not None and not given.strip():
            raise UsageError("tolerance is empty", hint="such as rel=1e-5 or f16:ulp=4, or leave it away")
        return given
    if isinstance(given, Mapping):
        return ",".join(
            f"{key}:{value}" if isinstance(value, str) else f"{key}={value!r}" for key, value in given.items()
        )
    return f"rel={float(given)!r}"


def filters(*, warps: Warps | None, kinds: str | Iterable[str] | None, sites: Sites | None) -> dict[str, Any]:
    """What is compared and reported at all."""
    if warps is None and kinds is None and sites is None:
        return {}
    from ._filters import site_texts, warp_text

    words: Sequence[str] | None = None
    if kinds is not None:
        words = [kinds] if isinstance(kinds, str) else list(kinds)
    return {
        "warps": None if warps is None else warp_text(warps),
        "kinds": None if words is None else [part.strip() for word in words for part in word.split(",")],
        "sites": None if sites is None else [part for text in site_texts(sites) for part in text.split(",")],
    }


def required(given: str | Iterable[str] | None, defaults: _config.Config) -> list[str] | None:
    """What must agree to pass, by name; None for the default.

    Parameters
    ----------
    given
        Names, or one text with commas; None for what the settings say.
    defaults
        The settings.
    """
    if given is None:
        given = str(defaults.get("diff.require").value or "")
    words = [given] if isinstance(given, str) else list(given)
    return [part.strip() for word in words for part in word.split(",") if part.strip()] or None


def verifying(asked: bool | None) -> bool:
    """Whether recordings are read whole before they are compared: as asked, else where tests run by themselves (``CI``)."""
    if asked is not None:
        return asked
    return os.environ.get("CI", "").strip().lower() not in ("", "0", "false", "no")


def today() -> str:
    """The date by which accepted differences expire."""
    return datetime.date.today().isoformat()
