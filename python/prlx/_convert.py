"""Converting: recordings of kernels between format v1 and format v2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _config, _core, _request
from ._errors import UsageError, said
from ._result import Card, Result
from ._units import format_bytes, format_count, plural

if TYPE_CHECKING:
    from ._progress import Progress
    from ._request import Path as AnyPath


@dataclass(frozen=True, repr=False)
class Converted(Result):
    """A recording that was written in another format. The document is ``prlx.convert/1``.

    Examples
    --------
    >>> done = prlx.convert_trace("examples/two_runs/a.prlx", output="packed.prlx")
    >>> done.summary
    '8 warps, 4,515 events: prlx v2 to prlx v2, ...'
    >>> done.lost
    {}
    """

    @property
    def path(self) -> Path:
        """The recording that was written."""
        return Path(self.document["output"])

    @property
    def site_map(self) -> Path | None:
        """The site map that was written, if one was asked for."""
        found = self.document.get("site_map")
        return Path(found) if found else None

    @property
    def lost(self) -> Mapping[str, int]:
        """What has no place in the other format, and how much of it was left out."""
        return {row["what"]: row["count"] for row in self.document["lost"]}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was noticed while reading, in sentences."""
        return said(self.document["warnings"])

    @property
    def summary(self) -> str:
        """One line: how much was converted, from which format to which."""
        done = self.document
        return (
            f"{plural(done['warps'], 'warp')}, {plural(done['events'], 'event')}: {done['from']} to {done['to']}, "
            f"{format_bytes(done['bytes_in'])} to {format_bytes(done['bytes_out'])}"
        )

    def _card(self) -> Card:
        rows = [(what, format_count(count)) for what, count in self.lost.items()]
        return Card("Converted", self.summary, ("left out", "count"), rows, self.warnings)


def convert_trace(
    path: AnyPath,
    *,
    output: AnyPath,
    to: Literal["v1", "v2"] | None = None,
    site_map: AnyPath | None = None,
    map_output: AnyPath | None = None,
    compress: bool = False,
    overwrite: bool = False,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = "auto",
) -> Converted:
    """Write a recording of a kernel in the other format.

    Parameters
    ----------
    path
        A recording of format v1 or v2.
    output
        Where to write. A name that ends like another format (``.json``, ``.html``, ``.gz``) is refused.
    to
        The format to write; ``None`` takes the setting ``convert.to``, which is ``v2``.
    site_map
        The site map of a recording of format v1. ``None`` looks for one, ``""`` looks for none.
    map_output
        With ``to="v1"``: write the site map that names its sites here.
    compress
        With ``to="v1"``: compress the events. Format v2 always is.
    overwrite
        Replace outputs that exist.
    workers, memory_limit, progress
        As for ``combine_traces``.

    Returns
    -------
    Converted
        With what has no place in the other format.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> done = prlx.convert_trace("examples/two_runs/a.prlx", output="a-v1.prlx", to="v1", map_output="a-sites.json")
    >>> done.document["to"], done.site_map.name
    ('prlx v1', 'a-sites.json')
    >>> prlx.diff_traces("a-v1.prlx", "examples/two_runs/a.prlx", site_map="a-sites.json").identical
    True
    """
    asked = request(
        path,
        output=output,
        to=to,
        site_map=site_map,
        map_output=map_output,
        compress=compress,
        overwrite=overwrite,
        workers=workers,
        memory_limit=memory_limit,
    )
    return run(asked, progress=progress)


def request(
    path: AnyPath,
    *,
    output: AnyPath | None = None,
    to: str | None = None,
    site_map: AnyPath | None = None,
    map_output: AnyPath | None = None,
    compress: bool = False,
    overwrite: bool = False,
    workers: int | None = None,
    memory_limit: int | str | None = None,
) -> dict[str, Any]:
    """The request of the operation ``convert``; arguments as of ``convert_trace``."""
    settings = _config.load()
    return {
        "path": _request.absolute(path),
        "output": _request.absolute_or_none(output),
        **_request.words(to=settings.get("convert.to").value if to is None else to),
        "compress": compress,
        "map_output": _request.absolute_or_none(map_output),
        **_request.site_maps(site_map),
        "overwrite": overwrite,
        **_request.limits(workers, memory_limit, settings),
    }


def run(asked: dict[str, Any], *, progress: Progress = "auto") -> Converted:
    """Run a request of the operation ``convert``."""
    from ._progress import shown

    if asked["output"] is None:
        raise UsageError("no output is named", hint="name one: -o OUT.prlx")
    with shown(progress) as watch:
        return Converted(_core.run("convert", asked, progress=watch))
