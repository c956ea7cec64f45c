"""Aligning one node's trace: its events on another clock, in a file of the same kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core, _options, _request
from ._combine import CombinedTrace, result_of, warn_unless_aligned

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._option_keywords import AlignKeywords
    from ._progress import Progress
    from ._request import Path as AnyPath


@_options.by_name("align")
def align_trace(trace: AnyPath, *, progress: Progress = "auto", **options: Unpack[AlignKeywords]) -> CombinedTrace:
    """Put one node's trace on the clock of the reference node.

    Parameters
    ----------
    trace
        The file.
    **options
        Those of ``AlignKeywords``.
    progress
        As for ``combine_traces``.

    Returns
    -------
    CombinedTrace
        With the one node.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> probes = [f"examples/jax_p4/probes_node{node}.jsonl" for node in range(4)]
    >>> solved = prlx.solve_offsets(probes, output="offsets.jsonl")
    >>> aligned = prlx.align_trace("examples/jax_p4/node1/node1.xplane.pb", offsets=solved.path, output="node1")
    >>> aligned.status, aligned.nodes[0].offset_ns
    ('aligned', 37567041)
    """
    return warn_unless_aligned(run(request(trace, **options), progress=progress))


@_options.by_name("align")
def request(trace: AnyPath, **options: Unpack[AlignKeywords]) -> dict[str, Any]:
    """The request of the operation ``align``; arguments as of ``align_trace``."""
    return {"trace": _request.absolute(trace), **_request.of("align", options)}


def run(asked: dict[str, Any], *, progress: Progress = "auto") -> CombinedTrace:
    """Run a request of the operation ``align``."""
    from ._progress import shown

    with shown(progress) as watch:
        return result_of(_core.run("align", asked, progress=watch))
