"""Running both sides again, recording what tells why they differ: for ``diff_traces`` and ``prlx diff --rerun``."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _core
from ._errors import FileAccessError, UsageError

if TYPE_CHECKING:
    from ._diff import Diff

Recorder: TypeAlias = Callable[[str, Path, Mapping[str, Any]], object]
"""Records side ``"a"`` or ``"b"`` again: to a file, with options of ``record``, and ``seed`` of ``enable`` too."""

VARIABLE = "PRLX_RECORD"
_VALUES: Mapping[str, Any] = {"mode": "values", "stores": True, "atomics": True, "loads": True, "outputs": "64MiB"}
_ORDERS: Mapping[str, Any] = {"mode": "digest"}
_SEEDS = (1, 2)


def run_again(asked: Mapping[str, Any], record: Recorder, compare: Callable[..., Diff]) -> Diff:
    """Compare; where that does not settle what differs and why, have both sides recorded again, and compare that.

    Parameters
    ----------
    asked
        The request of a comparison of two recordings.
    record
        Records a side again.
    compare
        Runs a request; with ``tables=True`` it reads the tables at once.
    """
    if any(Path(asked[side][0]).is_dir() for side in "ab"):
        raise UsageError("sessions are not run again", hint="compare the recordings of one launch")
    asked = {**asked, "explain": True}
    found = compare({**asked, "outputs": None})
    if settled(found.document):
        return compare(asked) if asked.get("outputs") else found
    with tempfile.TemporaryDirectory(prefix="prlx-rerun-") as folder:
        again = dict(asked, values=True, outputs=None)
        for side in "ab":
            path = _recorded(record, side, Path(folder) / f"{side}.prlx", _VALUES)
            _check_same(asked[side][0], path, side)
            again[side] = [str(path)]
        found = compare(again)
        if order_matters(found.document):
            for side in "ab":
                again[f"orders_{side}"] = [
                    str(_recorded(record, side, Path(folder) / f"{side}{seed}.prlx", {**_ORDERS, "seed": seed}))
                    for seed in _SEEDS
                ]
        again["outputs"] = asked.get("outputs")
        return compare(again, tables=True)


def settled(document: Mapping[str, Any]) -> bool:
    """Whether a comparison says all that it can: the same, or where and why the runs differ, with values."""
    if document["status"] in ("identical", "same-results"):
        return True
    why = document.get("explanation")
    return bool(why and why.get("statement") and why["confidence"] == "strong")


def order_matters(document: Mapping[str, Any]) -> bool:
    """Whether another order of blocks and warps can be the cause, as far as that is known."""
    why = document.get("explanation") or {}
    return document["status"] == "diverged" and why.get("class") in ("race", "unknown", None)


def _recorded(record: Recorder, side: str, path: Path, options: Mapping[str, Any]) -> Path:
    record(side, path, options)
    if not path.is_file():
        raise FileAccessError(f"was not recorded when side {side.upper()} was run again", path=str(path),
                              hint=f"record the launch to the path that is given, as {VARIABLE} says")  # fmt: skip
    return path


def _check_same(before: str, now: Path, side: str) -> None:
    """Refuse a run that is not the one which was recorded before: another kernel, or other arguments."""
    old, new = (_core.run("kernel_trace", {"path": path, "tables": []})["header"] for path in (before, str(now)))
    for what, key in (
        ("another kernel", "kernel"),
        ("another build", "module_hash"),
        ("other arguments", "argument_digest"),
    ):
        if old.get(key) and new.get(key) and old[key] != new[key]:
            raise UsageError(
                f"side {side.upper()} was run again with {what}: {old[key]} before, {new[key]} now",
                hint="launch what was recorded before, with the same contents of its arguments",
            )


def by_command(command: str) -> Recorder:
    """A ``Recorder`` that runs a command: ``{side}`` in it is ``a`` or ``b``, ``{out}`` the file to record to.

    The options stand in the environment variable ``PRLX_RECORD``, which ``record``, ``enable`` and ``prlx simulate`` obey.
    """
    words = shlex.split(command)
    if not any("{side}" in word for word in words) or not any("{out}" in word for word in words):
        raise UsageError(
            "--rerun: the command names no {side} or no {out}", hint="such as 'python run.py {side} {out}'"
        )

    def record(side: str, path: Path, options: Mapping[str, Any]) -> None:
        filled = [word.replace("{side}", side).replace("{out}", str(path)) for word in words]
        done = subprocess.run(
            filled,
            env={**os.environ, VARIABLE: ",".join(spelled(options))},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
            raise UsageError(f"{shlex.join(filled)} ended with {done.returncode}: " + " / ".join(last),
                             hint="run it by hand; it must record side {side} to {out}")  # fmt: skip

    return record


def spelled(options: Mapping[str, Any]) -> Iterator[str]:
    """Options of a recording as ``PRLX_RECORD`` has them."""
    for name, value in options.items():
        yield f"{name}={str(value).lower() if isinstance(value, bool) else value}"
