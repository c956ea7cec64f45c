"""Two runs that should be the same, run again and again, each time recording less of more: to the first line that differs."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _request
from ._compare import diff_traces
from ._errors import FileAccessError, UsageError
from ._record import quiet, recorded
from ._rerun import VARIABLE, spelled
from ._result import Card, Result
from ._session_diff import SessionDiff
from ._units import format_count, plural

if TYPE_CHECKING:
    from ._diff import Diff
    from ._request import Path as AnyPath

MOST = 4  # runs a side
_STATE = "locate.json"
_DIGEST: Mapping[str, Any] = {"mode": "digest"}
_PATHS: Mapping[str, Any] = {"mode": "control-flow"}
_VALUES: Mapping[str, Any] = {"mode": "values", "stores": True, "atomics": True, "loads": True, "outputs": "64MiB"}
_ORDER: Mapping[str, Any] = {"workers": 1}  # blocks that write the same places do so in one order, that of the seed
_AGREE = ("identical",)
# Where a document names places, in the order in which a reader meets them.
_PLACES: tuple[tuple[str | int, ...], ...] = (
    ("explanation", "statement"),
    ("first",),
    ("findings", 0),
    ("outputs", "first", "store"),
    ("outputs", "stores", 0),
)

Side = Callable[[Path, Mapping[str, Any]], None]
"""Runs one side and records it to a directory that does not exist yet, with options as ``PRLX_RECORD`` has them."""


@dataclass(frozen=True, repr=False)
class Located(Result):
    """Where two runs first differ. The document is ``prlx.locate/1``.

    Attributes
    ----------
    diff
        The comparison of the last pass: of two recordings of the launch that differs, or of two sessions where none does.

    Examples
    --------
    >>> import numpy as np
    >>> from softmax import softmax  # examples/laptop/softmax.py
    >>> def run(slip):
    ...     x = np.arange(1200, dtype=np.float32).reshape(6, 200)
    ...     softmax[(6,)](np.zeros_like(x), x, 200, 200, SLIP=slip, BLOCK=256)
    >>> found = prlx.locate(lambda: run(0), lambda: run(-1))
    >>> found.status, found.kernel, found.launch, found.place.rpartition("/")[2]
    ('located', 'softmax', 0, 'softmax.py:20')
    """

    diff: Diff | None = field(default=None, repr=False)

    @property
    def status(self) -> str:
        """``located``, ``same`` (as far as was looked), ``launches`` (other kernels are launched), or ``not-again``."""
        return str(self.document["status"])

    @property
    def kernel(self) -> str | None:
        """The kernel that differs first; None where none does."""
        kernel: str | None = self.document["kernel"]
        return kernel

    @property
    def launch(self) -> int | None:
        """The number of its launch in the first run."""
        launch: int | None = self.document["launch"]
        return launch

    @property
    def place(self) -> str:
        """``FILE:LINE`` of the first line that differs, ``""`` where none is known."""
        return str(self.document["place"])

    @property
    def runs(self) -> int:
        """How often each side ran, those of an earlier call that was resumed left out."""
        return int(self.document["runs"])

    def __str__(self) -> str:
        lines = [self.document["verdict"]]
        lines += [f"  {step['name']:<13}{step['verdict']}" for step in self.document["passes"]]
        return "\n".join(lines) + ("" if self.diff is None else f"\n\n{self.diff}")

    def _card(self) -> Card:
        rows = [
            (step["name"], "yes" if step["ran"] else "from before", step["verdict"]) for step in self.document["passes"]
        ]
        return Card("Located", self.document["verdict"], ("pass", "ran", ""), rows)


def locate(
    run_a: Callable[[], object],
    run_b: Callable[[], object],
    *,
    machine_a: Mapping[str, Any] | None = None,
    machine_b: Mapping[str, Any] | None = None,
    folder: AnyPath | None = None,
) -> Located:
    """Find the first line at which two runs of the same program differ, on the simulator.

    Both are run with little recorded: hashes of what each warp did and wrote, for every launch. Then the first launch that
    differs is recorded alone, its control flow first, then with the values of every lane. That is three runs a side, one
    more where the bug did not happen in the last.

    Parameters
    ----------
    run_a, run_b
        Launch the kernels. Each is called several times and must do the same each time.
    machine_a, machine_b
        Options of the simulator by name, such as ``{"seed": 3}``, where the sides differ in these.
    folder
        Keep the recordings here. A search that ended early goes on with what is there. Default: they are deleted.

    Returns
    -------
    Located
        Where they differ, or that they do not as far as was looked, or that the bug did not happen again.

    Raises
    ------
    UsageError
        A run launches nothing, or the folder holds another search.

    Examples
    --------
    >>> import numpy as np
    >>> from softmax import softmax  # examples/laptop/softmax.py
    >>> def run(slip):
    ...     x = np.arange(1200, dtype=np.float32).reshape(6, 200)
    ...     softmax[(6,)](np.zeros_like(x), x, 200, 200, SLIP=slip, BLOCK=256)
    >>> prlx.locate(lambda: run(0), lambda: run(0)).status
    'same'
    """
    sides = [_by_call(run, machine) for run, machine in ((run_a, machine_a), (run_b, machine_b))]
    names = [f"{getattr(run, '__qualname__', repr(run))} {dict(machine or {})}"
             for run, machine in ((run_a, machine_a), (run_b, machine_b))]  # fmt: skip
    return search(sides, names, folder=folder)


def _by_call(run: Callable[[], object], machine: Mapping[str, Any] | None) -> Side:
    if not callable(run):
        raise UsageError(
            f"expected something to call, got {type(run).__name__}", hint="pass a function, or use prlx locate"
        )

    def side(path: Path, options: Mapping[str, Any]) -> None:
        with recorded(path, options), quiet({**_ORDER, **(machine or {})}):
            run()

    return side


def by_command(words: Sequence[str], environ: Mapping[str, str], seed: int | None) -> Side:
    """A side that is a script of its own: it runs as under ``prlx simulate``."""

    def side(path: Path, options: Mapping[str, Any]) -> None:
        asked = {**options, **({} if seed is None else {"seed": seed})}
        command = [
            sys.executable,
            "-m",
            "prlx",
            "simulate",
            "--quiet",
            "--overwrite",
            "--workers",
            str(_ORDER["workers"]),
        ]
        done = subprocess.run(
            [*command, "--record", str(path), *words],
            env={**os.environ, **environ, VARIABLE: ",".join(spelled(asked))},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 1) or not (path / "session.json").is_file():
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
            raise UsageError(f"{shlex.join(words)} ended with {done.returncode}: " + " / ".join(last),
                             hint=f"run it by hand: prlx simulate {shlex.join(words)}")  # fmt: skip

    return side


def search(sides: Sequence[Side], names: Sequence[str], *, folder: AnyPath | None = None) -> Located:
    """Run both sides, pass by pass."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="prlx-locate-") as temporary:
            return _Search(sides, names, Path(temporary)).run(tables=True)
    path = Path(_request.absolute(folder))
    if path.exists() and not path.is_dir():
        raise FileAccessError("is a file, not a directory", path=str(path), hint="name a directory")
    path.mkdir(parents=True, exist_ok=True)
    return _Search(sides, names, path).run(tables=False)


class _Search:
    """One search: what was asked, what ran, what is known."""

    def __init__(self, sides: Sequence[Side], names: Sequence[str], folder: Path) -> None:
        self._sides = sides
        self._folder = folder
        self._passes: list[dict[str, Any]] = []
        self._found: dict[str, Any] = {"kernel": None, "launch": None, "launch_b": None, "warps": 0, "place": ""}
        state = folder / _STATE
        asked = {"version": 1, "a": names[0], "b": names[1]}
        if _read(state) not in (None, asked):
            raise UsageError("holds another search", path=str(folder), hint="name another directory")
        state.write_text(json.dumps(asked) + "\n")

    def run(self, *, tables: bool) -> Located:
        """The passes in turn, until one says all."""
        sessions = self._pass("digest", _DIGEST, None)
        assert isinstance(sessions, SessionDiff)
        row = next((row for row in sessions.document["kernel_results"] if row["status"] not in _AGREE), None)
        if row is None:
            status = "launches" if sessions.missing or sessions.inserted else "same"
            return self._located(status, sessions.document["verdict"], sessions, tables=tables)
        launches = (row["launch"], row["launch_b"])
        self._found |= {
            "kernel": row["kernel"],
            "launch": launches[0],
            "launch_b": launches[1],
            "warps": row.get("warps_diverged", 0),
        }
        flow = self._pass("control flow", _PATHS, launches)
        if flow.status in _AGREE:
            return self._located(
                "not-again", "the launch that differed was the same when it was run again", flow, tables=tables
            )
        last = self._pass("values", _VALUES, launches)
        if last.status in _AGREE:
            last = self._pass("values again", _VALUES, launches)
        again = last.status not in _AGREE
        best = last if again else flow
        self._found |= {"warps": best.warps_diverged, "place": _place(best.document)}
        what = best.document["verdict"]
        return self._located("located" if again else "not-again", what, best, tables=tables)

    def _pass(self, name: str, options: Mapping[str, Any], launches: tuple[int, int] | None) -> Diff:
        """Record both sides, or take what an earlier search recorded, and compare."""
        number, ran, paths = len(self._passes) + 1, False, []
        for k, letter in enumerate("ab"):
            path = self._folder / f"{number}-{name.replace(' ', '-')}-{letter}"
            if not _complete(path):
                ran = True
                chosen = {} if launches is None else {"launch": launches[k]}
                self._sides[k](path, {**options, **chosen})
            if launches is not None:
                path = _only(path)
            elif not any(path.glob("*.prlx")):
                raise UsageError(f"side {letter.upper()} launched nothing", hint="a run launches Triton kernels")
            paths.append(path)
        values = launches is not None and name != "control flow"
        found = diff_traces(paths[0], paths[1], values=values, explain=values, force=True, progress=False)
        self._passes.append({"name": name, "ran": ran, "status": found.status, "verdict": found.document["verdict"]})
        return found

    def _located(self, status: str, what: str, diff: Diff, *, tables: bool) -> Located:
        found = self._found
        head = {"same": "SAME", "launches": "OTHER LAUNCHES", "not-again": "NOT AGAIN", "located": "LOCATED"}[status]
        where = "" if found["launch"] is None else f"launch {found['launch']} of {found['kernel']}"
        if found["place"]:
            where += f", {found['place']}, {plural(found['warps'], 'warp')}"
        if tables and not isinstance(diff, SessionDiff):  # the recordings are deleted behind us
            _ = diff.clusters, diff.divergences
        document = {
            "schema": "prlx.locate/1",
            "status": status,
            "verdict": ": ".join(filter(None, (head, where, what))),
            **found,
            "runs": sum(step["ran"] for step in self._passes),
            "passes": self._passes,
        }
        return Located(document, diff)


def _read(path: Path) -> Any:
    """What a file of JSON holds; None where there is none, or half of one."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def _complete(path: Path) -> bool:
    """Whether a pass was recorded to its end."""
    manifest = _read(path / "session.json")
    return isinstance(manifest, dict) and not manifest.get("partial", False)


def _only(path: Path) -> Path:
    """The one recording of a pass that recorded one launch."""
    found = sorted(path.glob("*.prlx"))
    if len(found) != 1:
        raise UsageError(f"{format_count(len(found))} launches were recorded, expected one",
                         path=str(path), hint="a run must launch the same kernels every time")  # fmt: skip
    return found[0]


def _place(document: Mapping[str, Any]) -> str:
    """The first place that a comparison names: FILE:LINE."""
    for way in _PLACES:
        found: Any = document
        for step in way:
            found = next(iter((found or [])[step:]), None) if isinstance(step, int) else (found or {}).get(step)
        if found and found.get("source_location"):
            parts = str(found["source_location"]).rsplit(":", 3)
            return f"{parts[0]}:{parts[2]}" if len(parts) == 4 else parts[0]
    return ""


def steps(found: Located) -> Iterator[str]:
    """What the command line says of a search, before the comparison itself."""
    yield str(found.document["verdict"])
    for step in found.document["passes"]:
        yield f"  {step['name']:<13} {'' if step['ran'] else '(from before) '}{step['verdict']}"
