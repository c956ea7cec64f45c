"""Combining by the tasks of an executor: each node's trace is read and written where its file lies."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import PartialResultError, UsageError

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from ._worker import Worker


def spread(asked: dict[str, Any], executor: Executor, watch: _core.Progress | None) -> dict[str, Any]:
    """Read and write each node's trace in a task of its own, where the file lies; only plans travel.

    The output is a run directory, begun by the plan and finished here; it is abandoned when any task fails. Returns the reply.
    """
    if asked.get("report") is not None:
        raise UsageError("a report is not written with an executor", hint="leave report out, or executor")
    found = _core.run("combine_inputs", asked)
    limits = {key: asked.get(key) for key in ("workers", "memory_limit")}
    reading = {key: True for key in ("skip_unreadable", "salvage") if asked.get(key)}
    count = len(found["inputs"])
    scans = [
        executor.submit(_in_worker, "combine_scan", {"input": one, "nodes": count, **reading, **limits})
        for one in found["inputs"]
    ]
    read = _gather(scans, "read", watch)
    plan = _core.run("combine_plan", {"request": found["request"], "notes": found["notes"], "scans": read, **limits})
    try:
        tasks = [executor.submit(_in_worker, "combine_node", {"task": task, **limits}) for task in plan["tasks"]]
        done = _gather(tasks, "write", watch)
        document = _core.run("combine_finish", {"plan": plan, "done": done, "strict": asked["strict"]})
        return {**document, "base": plan["output"]}
    except PartialResultError:
        raise  # under strict: what was written stays
    except BaseException:
        _core.call("combine_abandon", {"plan": plan})
        raise


def _gather(tasks: list[Future[dict[str, Any]]], stage: str, watch: _core.Progress | None) -> list[dict[str, Any]]:
    """The results in order; when one fails, the others are not waited for in vain: what has not begun is cancelled."""
    results = []
    try:
        for number, task in enumerate(tasks):
            results.append(task.result())
            if watch is not None:
                watch(f"{stage} nodes", number + 1, len(tasks))
    except BaseException:
        from concurrent.futures import wait

        for task in tasks:
            task.cancel()
        wait([task for task in tasks if not task.cancelled()])
        raise
    return results


def _in_worker(op: str, request: dict[str, Any]) -> dict[str, Any]:
    """Run an operation in a worker of an executor; a function of this module, so that it is found there by name.

    The parent has loaded the core before a pool forks its first worker, so a forked worker asks a fresh process of its own.
    """
    if _core.is_forked():
        return _own_process().run(op, request)
    return _core.run(op, request)


@cache
def _own_process() -> Worker:
    from ._worker import Worker

    return Worker()
