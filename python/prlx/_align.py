"""Aligning one node's trace: its events on another clock, in a file of the same kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _config, _core, _request
from ._combine import CombinedTrace, result_of, warn_unless_aligned
from ._request import Inputs

if TYPE_CHECKING:
    from ._progress import Progress
    from ._request import Path as AnyPath


def align_trace(
    trace: AnyPath,
    *,
    output: AnyPath | None = None,
    node: str | int | None = None,
    snapshots: Inputs | None = None,
    offsets: AnyPath | None = None,
    probes: AnyPath | list[AnyPath] | None = None,
    declared: AnyPath | None = None,
    reference: str | int | None = None,
    method: str = "auto",
    policy: str = "degrade",
    round_bound_ns: int | None = None,
    timebase: str = "host",
    correction_stat: bool = False,
    bound_stat: bool = False,
    device_clocks: str = "trust",
    salvage: bool = False,
    strict: bool = False,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    overwrite: bool = False,
    progress: Progress = "auto",
) -> CombinedTrace:
    """Put one node's trace on the clock of the reference node.

    Parameters
    ----------
    trace
        The file.
    output
        Where to write; ``None`` makes a sibling. ``OUTPUT.<node>.alignment_stats.json`` is written beside it.
    node
        Which node of the clock files this trace is of; ``None`` finds out by its name and by what is recorded inside.
    snapshots, offsets, probes, declared, reference, method, policy, round_bound_ns, timebase
        As for ``combine_traces``.
    correction_stat, bound_stat, device_clocks, salvage, strict
        As for ``combine_traces``.
    workers, memory_limit, overwrite, progress
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
    asked = request(
        trace,
        output=output,
        node=node,
        snapshots=snapshots,
        offsets=offsets,
        probes=probes,
        declared=declared,
        reference=reference,
        method=method,
        policy=policy,
        round_bound_ns=round_bound_ns,
        timebase=timebase,
        correction_stat=correction_stat,
        bound_stat=bound_stat,
        device_clocks=device_clocks,
        salvage=salvage,
        strict=strict,
        workers=workers,
        memory_limit=memory_limit,
        overwrite=overwrite,
    )
    return warn_unless_aligned(run(asked, progress=progress))


def request(
    trace: AnyPath,
    *,
    output: AnyPath | None = None,
    node: str | int | None = None,
    snapshots: Inputs | None = None,
    offsets: AnyPath | None = None,
    probes: AnyPath | list[AnyPath] | None = None,
    declared: AnyPath | None = None,
    reference: str | int | None = None,
    method: str = "auto",
    policy: str = "degrade",
    round_bound_ns: int | None = None,
    timebase: str = "host",
    correction_stat: bool = False,
    bound_stat: bool = False,
    device_clocks: str = "trust",
    salvage: bool = False,
    strict: bool = False,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    overwrite: bool = False,
) -> dict[str, Any]:
    """The request of the operation ``align``; arguments as of ``align_trace``."""
    defaults = _config.load()
    return {
        "trace": _request.absolute(trace),
        "node": _request.node_id("node", node),
        "output": _request.absolute_or_none(output),
        **_request.clocks(snapshots=snapshots, offsets=offsets, probes=probes, declared=declared),
        **_request.words(method=method, policy=policy, timebase=timebase, device_clocks=device_clocks),
        "round_bound_ns": round_bound_ns,
        "reference": _request.node_id("reference", reference, defaults.get("align.reference").value),
        "correction_stat": correction_stat,
        "bound_stat": bound_stat,
        "salvage": salvage,
        "strict": strict,
        **_request.limits(workers, memory_limit, defaults),
        "overwrite": overwrite,
    }


def run(asked: dict[str, Any], *, progress: Progress = "auto") -> CombinedTrace:
    """Run a request of the operation ``align``."""
    from ._progress import shown

    with shown(progress) as watch:
        return result_of(_core.run("align", asked, progress=watch))
