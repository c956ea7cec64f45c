"""Opening whatever a path names: a trace of a timeline, a recording of a kernel, or a session of recordings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import _core, _request

if TYPE_CHECKING:
    from ._kernel_trace import KernelTrace
    from ._session import Session
    from ._timeline import Timeline


def open(
    path: str | os.PathLike[str], *, skip_unreadable: bool = False, salvage: bool = False
) -> KernelTrace | Session | Timeline:
    """Open a file or a directory; its content decides what it is.

    Parameters
    ----------
    path
        A recording of a kernel (``.prlx``), a session of them (a directory with ``session.json``, or of ``.prlx`` files), or
        a trace: XSpace or Chrome / Kineto JSON, a run directory, or a log directory (its latest run).
    skip_unreadable
        Leave out traces of a directory that cannot be read, and say which.
    salvage
        Of a trace whose file was cut, take what is complete, and say what was lost. Recordings are always read so.

    Returns
    -------
    KernelTrace, Session or Timeline

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> prlx.open("examples/two_runs/a.prlx")
    <KernelTrace ...: softmax_rows, 2x1x1 blocks of 128x1x1, 8 warps, 4,515 events>
    >>> prlx.open("examples/jax_p4")
    <Timeline ...: 8 files, 12 planes, 17,978 events, 3.445 s>
    """
    where = _request.absolute(path)
    what = _core.run("recognise", {"path": where})["what"]
    if what == "recording":
        from ._kernel_trace import read_trace

        return read_trace(where, progress=False)
    if what == "session":
        from ._session import open_session

        return open_session(where)
    from ._timeline import open_timeline

    return open_timeline(where, skip_unreadable=skip_unreadable, salvage=salvage)
