"""Two runs that should be the same, run again and again, each time recording less of more: to the first line that differs."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _request
from ._capture import CAPTURES, Capture
from ._compare import diff_traces
from ._errors import FileAccessError, IncompatibleTracesError, UsageError
from ._kernel_trace import read_trace
from ._record import enable, on_which, quiet, recorded
from ._rerun import VARIABLE, spelled
from ._result import Card
from ._session_diff import SessionDiff
from ._trial import edited, try_statements
from ._units import format_count, plural
from ._verdict import EXIT_CODES, Judged

if TYPE_CHECKING:
    from ._diff import Diff
    from ._request import Path as AnyPath

MOST = 4  # runs a side
_SHOWN = 5  # warps of those that differ that are named with their block
_STATE = "locate.json"
_DIGEST: Mapping[str, Any] = {"mode": "digest"}
_PATHS: Mapping[str, Any] = {"mode": "control-flow"}
_VALUES: Mapping[str, Any] = {"mode": "values", "stores": True, "atomics": True, "loads": True, "outputs": "64MiB",
                               "inputs": "256MiB"}  # fmt: skip
_ORDER: Mapping[str, Any] = {"workers": 1}  # blocks that write the same places do so in one order, that of the seed
_AGREE = ("identical",)
_SAME_RESULTS = "same-results"
_COMPILERS = "; the source is the same and its builds are not: where they decide otherwise, the compilers do"
_LACKING = ("missing", "inserted")  # causes: one side lacks the launch
_HEADS = {
    "same": "SAME",
    "launches": "OTHER LAUNCHES",
    "not-again": "NOT AGAIN",
    "inconclusive": "INCONCLUSIVE",
    "located": "LOCATED",
    "nothing": "INCONCLUSIVE",
}
_SAMPLE = 64  # warps of those that differ whose values are recorded
_MOST_RANGES = 500  # of warps; where more apart from each other differ, all are recorded
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
class Located(Judged):
    """Where two runs first differ. The document is ``prlx.locate/1``.

    Its truth is that of its conclusion: whether the runs are the same, as far as was looked; where nothing could be looked
    at it raises ``InconclusiveError``.

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
        """``located``, ``same`` (as far as was looked), ``launches`` (other kernels are launched), or ``not-again``.

        ``nothing`` where a side launched nothing, ``inconclusive`` where too little is known of a launch to say whether it
        differs.
        """
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
    device: str = "auto",
    capture: Capture | None = None,
) -> Located:
    """Find the first line at which two runs of the same program differ, on a GPU or on the simulator.

    Both are run with little recorded: hashes of what each warp did and wrote, for every launch. Then the first launch that
    differs is recorded alone, and of it only the warps that differ: their control flow first, then some of them with the
    values of every lane. That is three runs a side, one more where the bug did not happen in one. On the simulator blocks run
    one after the other, in the order of the seed, so that a run is repeated exactly.

    Parameters
    ----------
    run_a, run_b
        Launch the kernels. Each is called several times and must do the same each time.
    machine_a, machine_b
        Options of the simulator by name, such as ``{"seed": 3}``, where the sides differ in these.
    folder
        Keep the recordings here. A search that ended early goes on with what is there. Default: they are deleted.
    device
        As for ``enable``: ``"auto"`` is the GPU where Triton sees one.
    capture
        As for ``enable``. Kernels that record by themselves, as all do on a GPU, leave no values of every lane: two passes, and
        what differs in values that are not stored is not seen.

    Returns
    -------
    Located
        Where they differ, or that they do not as far as was looked, or that the bug did not happen again.

    Raises
    ------
    UsageError
        The folder holds another search.

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
    capture = _captured(capture, on_gpu := on_which(device) == "gpu")
    if on_gpu and (machine_a or machine_b):
        raise UsageError(
            "machine: that is for the simulator, and kernels run on the GPU", hint='choose device="simulator"'
        )
    sides = [
        _by_call(run, machine, capture, on_gpu=on_gpu) for run, machine in ((run_a, machine_a), (run_b, machine_b))
    ]
    names = [f"{getattr(run, '__qualname__', repr(run))} {dict(machine or {})}"
             for run, machine in ((run_a, machine_a), (run_b, machine_b))]  # fmt: skip
    return search(sides, names, folder=folder, capture=capture)


def _captured(capture: Capture | None, on_gpu: bool) -> Capture:
    """How a device learns what kernels do: a GPU lets nobody watch."""
    if capture is None:
        return "instrumented" if on_gpu else "observed"
    if capture not in CAPTURES:
        raise UsageError(f"capture: expected one of {', '.join(CAPTURES)}, got {capture!r}")
    if on_gpu and capture == "observed":
        raise UsageError("capture: nobody can watch a GPU; kernels record by themselves", hint='choose "instrumented"')
    return capture


def _by_call(run: Callable[[], object], machine: Mapping[str, Any] | None, capture: Capture, *, on_gpu: bool) -> Side:
    if not callable(run):
        raise UsageError(
            f"expected something to call, got {type(run).__name__}", hint="pass a function, or use prlx locate"
        )

    def side(path: Path, options: Mapping[str, Any]) -> None:
        if on_gpu:
            with recorded(path, options):
                run()
            return
        mode = options.get("mode", "control-flow")
        compiled = capture == "instrumented"
        own = enable(device="simulator", capture=capture, mode=mode) if compiled else contextlib.nullcontext()
        with own, recorded(path, options), quiet({**_ORDER, **(machine or {})}):
            run()

    return side


def by_command(words: Sequence[str], environ: Mapping[str, str], seed: int | None, capture: str | None) -> Side:
    """A side that is a script of its own, or a program, which knows no way of capture: it runs as under ``prlx simulate``."""

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
            [*command, *(() if capture is None else ("--capture", capture)), "--record", str(path), "--", *words],
            env={**os.environ, **environ, VARIABLE: ",".join(spelled(asked))},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in EXIT_CODES.values() or not (path / "session.json").is_file():
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
            raise UsageError(f"{shlex.join(words)} ended with {done.returncode}: " + " / ".join(last),
                             hint=f"run it by hand: prlx simulate {shlex.join(words)}")  # fmt: skip

    return side


def by_program(words: Sequence[str], environ: Mapping[str, str]) -> Side:
    """A side that is a program of its own on the GPU: it runs as under ``prlx run``."""

    def side(path: Path, options: Mapping[str, Any]) -> None:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "prlx",
                "run",
                "--quiet",
                "--overwrite",
                "--device",
                "gpu",
                "--record",
                str(path),
                "--",
                *words,
            ],
            env={**os.environ, **environ, VARIABLE: ",".join(spelled(options))},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
            raise UsageError(f"{shlex.join(words)} ended with {done.returncode}: " + " / ".join(last),
                             hint=f"run it by hand: {shlex.join(words)}")  # fmt: skip
        several = sorted(one.name for one in path.iterdir() if one.is_dir() and (one / "session.json").is_file())
        if several:
            raise UsageError(
                f"{shlex.join(words)} records {len(several)} processes, and a search follows one",
                hint="prlx run records all of them; prlx diff compares the sessions of a rank",
            )

    return side


def search(
    sides: Sequence[Side], names: Sequence[str], *, folder: AnyPath | None = None, capture: str = "observed"
) -> Located:
    """Run both sides, pass by pass."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="prlx-locate-") as temporary:
            return _Search(sides, names, Path(temporary), capture).run(tables=True)
    path = Path(_request.absolute(folder))
    if path.exists() and not path.is_dir():
        raise FileAccessError("is a file, not a directory", path=str(path), hint="name a directory")
    path.mkdir(parents=True, exist_ok=True)
    return _Search(sides, names, path, capture).run(tables=False)


class _NothingError(Exception):
    """A side launched nothing."""

    def __init__(self, sides: Sequence[str]) -> None:
        super().__init__(*sides)
        self.sides = sides


class _Search:
    """One search: what was asked, what ran, what is known."""

    def __init__(self, sides: Sequence[Side], names: Sequence[str], folder: Path, capture: str) -> None:
        self._sides = sides
        self._folder = folder
        self._instrumented = capture == "instrumented"
        self._differ: list[int] | None = None  # warps that were seen to differ; None: which is not known
        self._passes: list[dict[str, Any]] = []
        self._looked: dict[str, Any] = {"looked": [], "missing": []}  # what the pass over all launches rests on
        self._found: dict[str, Any] = {"kernel": None, "launch": None, "launch_b": None, "warps": 0, "place": ""}
        self._found |= {"warp_ranges": "", "first_warps": []}
        state = folder / _STATE
        asked = {"version": 2, "a": names[0], "b": names[1], "capture": capture}
        if _read(state) not in (None, asked):
            raise UsageError("holds another search", path=str(folder), hint="name another directory")
        state.write_text(json.dumps(asked) + "\n")

    def run(self, *, tables: bool) -> Located:
        """The passes in turn, until one says all."""
        try:
            sessions = self._pass("digest", _DIGEST, None)
        except _NothingError as nothing:
            return self._nothing(nothing.sides)
        except IncompatibleTracesError as error:
            return self._located("launches", error.message, None, tables=tables)
        assert isinstance(sessions, SessionDiff)
        self._looked = sessions.document["conclusion"]
        rows = _rows(sessions)
        if not rows or (
            sessions.causes[:1] and sessions.causes[0]["what"] in _LACKING and rows[0].get("role") == "follows"
        ):
            status = "launches" if sessions.missing or sessions.inserted else "same"
            return self._located(status, sessions.document["verdict"], sessions, tables=tables)
        rows.sort(key=lambda row: row.get("role") in ("follows", "unclear"))  # what causes something comes first
        row, found = self._first(rows)
        if row is None:
            return self._by_flow(tables=tables)
        launches = self._note(row)
        if not _rebuilt(found):
            self._narrow(found, _by_hash(*self._files(row)))
        flow = self._pass("control flow", _PATHS, launches)
        if flow.status in _AGREE:
            flow = self._pass("control flow again", _PATHS, launches)
        if flow.status in _AGREE:
            what = "the launch that differed was the same when it was run again"
            return self._located("not-again", what, flow, tables=tables)
        return self._values(flow, launches, tables=tables)

    def _first(self, rows: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any] | None, Diff]:
        """The first launch that differs as far as hashes say: between two builds those of control flow say nothing."""
        for untold, row in enumerate(rows):
            found = diff_traces(*self._files(row), force=True, progress=False)
            if not (row["status"] == _SAME_RESULTS and _rebuilt(found)):
                if untold:
                    said = f"; {plural(untold, 'launch')} before it of other builds with the same results"
                    self._passes[-1]["verdict"] += said
                return row, found
        return None, found

    def _by_flow(self, *, tables: bool) -> Located:
        """Where all results are the same and builds are not: events tell what hashes of other code cannot."""
        sessions = self._pass("control flow", _PATHS, None)
        assert isinstance(sessions, SessionDiff)
        row = next(iter(_rows(sessions)), None)
        if row is None:
            return self._located("same", sessions.document["verdict"], sessions, tables=tables)
        flow = diff_traces(*self._files(row), force=True, progress=False)
        edits = flow.document.get("edits")
        if flow.status == _SAME_RESULTS and edits and not edits["functions"] and not edits["constants"]:
            return self._located("same", sessions.document["verdict"] + _COMPILERS, flow, tables=tables)
        return self._values(flow, self._note(row), tables=tables)

    def _note(self, row: Mapping[str, Any]) -> tuple[int, int]:
        """Note the launch that differs."""
        launches = (row["launch"], row["launch_b"])
        self._found |= {"kernel": row["kernel"], "launch": launches[0], "launch_b": launches[1]}
        self._found["warps"] = row.get("warps_diverged", 0)
        return launches

    def _files(self, row: Mapping[str, Any]) -> list[Path]:
        """The recordings of a launch in the pass that recorded them all."""
        numbers = (row["launch"], row["launch_b"])
        return [next(folder.glob(f"{number:04d}_*.prlx")) for folder, number in zip(self._paths, numbers, strict=True)]

    def _values(self, flow: Diff, launches: tuple[int, int], *, tables: bool) -> Located:
        """The last pass: values of the warps whose control flow was seen to differ."""
        self._narrow(flow)
        if self._instrumented:
            return self._decided(flow, again=True, tables=tables)
        last = self._pass("values", _VALUES, launches)
        if last.status in _AGREE and len(self._passes) < MOST:
            last = self._pass("values again", _VALUES, launches)
        again = last.status not in _AGREE
        return self._decided(last if again else flow, again=again, tables=tables)

    def _decided(self, best: Diff, *, again: bool, tables: bool) -> Located:
        """What is known in the end, by the last comparison that showed a difference."""
        known = self._differ or ()
        blocks = best.document["a"].get("warps_per_block") or 1
        self._found |= {
            "warps": len(known) or best.warps_diverged,
            "place": _place(best.document),
            "warp_ranges": _ranges(known, ","),
            "first_warps": [{"warp": n, "block": n // blocks, "in_block": n % blocks} for n in known[:_SHOWN]],
        }
        status = "located" if again else "not-again"
        if again and best.status == "inconclusive":
            status = "inconclusive"
        return self._located(status, best.document["verdict"], best, tables=tables)

    def _narrow(self, found: Diff, hashes: Set[int] = frozenset()) -> None:
        """Note the warps that differ, where a pass says which."""
        warps = _differing(found, hashes)
        self._differ = warps if warps else self._differ

    def _pass(self, name: str, options: Mapping[str, Any], launches: tuple[int, int] | None) -> Diff:
        """Record both sides, or take what an earlier search recorded, and compare."""
        number, ran, paths = len(self._passes) + 1, False, []
        for k, letter in enumerate("ab"):
            path = self._folder / f"{number}-{name.replace(' ', '-')}-{letter}"
            if not _complete(path):
                ran = True
                chosen = {} if launches is None else {"launch": launches[k], **self._only_differing(options)}
                self._sides[k](path, {**options, **chosen})
            if launches is not None:
                path = _only(path)
            paths.append(path)
        self._paths = paths
        empty = [
            letter
            for letter, path in zip("AB", paths, strict=True)
            if launches is None and not any(path.glob("*.prlx"))
        ]
        if empty:
            raise _NothingError(empty)
        values = launches is not None and (options is _VALUES or self._instrumented)
        found = diff_traces(paths[0], paths[1], values=values, explain=values, force=True, progress=False)
        if values and options is _VALUES and edited(found):
            found = try_statements(found, progress=False)
        done = {"name": name, "ran": ran, "status": found.status, "verdict": found.document["verdict"]}
        self._passes.append(
            {**done, "recorded_warps": self._only_differing(options).get("warps", "") if launches else ""}
        )
        return found

    def _only_differing(self, options: Mapping[str, Any]) -> dict[str, str]:
        """The warps that a pass records, as ``PRLX_RECORD`` has them: those that differ, and values of some of these."""
        chosen = (self._differ or [])[: _SAMPLE if options is _VALUES else None]
        text = _ranges(chosen, "+")
        return {"warps": text} if chosen and text.count("+") < _MOST_RANGES else {}

    def _nothing(self, sides: Sequence[str]) -> Located:
        """What is said where a side launched nothing."""
        lacking = [{"what": f"launches of {side}", "count": None, "why": "it launched no kernel"} for side in sides]
        self._looked = {"looked": [], "missing": lacking}
        what = " and ".join(f"side {side}" for side in sides) + " launched nothing"
        return self._located("nothing", f"{what}, so there is nothing to compare", None, tables=False)

    def _conclusion(self, status: str, verdict: str) -> dict[str, Any]:
        """What the search comes to: that runs are the same rests on the pass over all launches."""
        outcome = {
            "nothing": "inconclusive",
            "inconclusive": "inconclusive",
            "same": self._looked.get("outcome", "inconclusive"),
        }.get(status, "differs")
        if status == "same" and outcome not in ("same", "inconclusive"):
            outcome = "same"  # other ways to the same results, told apart by a later pass
        why = self._looked.get("why", verdict) if outcome == "inconclusive" and status == "same" else verdict
        return {"outcome": outcome, "why": why, "looked": self._looked["looked"], "missing": self._looked["missing"]}

    def _located(self, status: str, what: str, diff: Diff | None, *, tables: bool) -> Located:
        found = self._found
        head = _HEADS[status]
        where = "" if found["launch"] is None else f"launch {found['launch']} of {found['kernel']}"
        if found["place"]:
            where += f", {found['place']}, {plural(found['warps'], 'warp')}"
        if tables and diff is not None and not isinstance(diff, SessionDiff):  # the recordings are deleted behind us
            _ = diff.clusters, diff.divergences
        verdict = ": ".join(filter(None, (head, where, what)))
        document = {
            "schema": "prlx.locate/1",
            "status": status,
            "verdict": verdict,
            "conclusion": self._conclusion(status, verdict),
            **found,
            "runs": sum(step["ran"] for step in self._passes),
            "passes": self._passes,
        }
        return Located(document, diff)


def _rows(sessions: Diff) -> list[dict[str, Any]]:
    """The launches that are not the same."""
    return [row for row in sessions.document["kernel_results"] if row["status"] not in _AGREE]


def _rebuilt(found: Diff) -> bool:
    """Whether two recordings are of builds with other sites: their hashes of control flow are hashes of other names."""
    builds = found.document.get("builds") or {}
    return any(builds.get(name) for name in ("relocated", "moved", "only_a", "only_b", "ambiguous"))


def _by_hash(a: Path, b: Path) -> Set[int]:
    """The warps whose control flow differs by its hash."""
    sides = []
    for path in (a, b):
        table = read_trace(path, progress=False).warps
        columns = (table[name].tolist() for name in ("warp", "total", "hash"))
        sides.append(set(zip(*columns, strict=True)))
    return {int(warp) for warp, _, _ in sides[0] ^ sides[1]}


def _differing(found: Diff, hashes: Set[int] = frozenset()) -> list[int] | None:
    """The warps that a comparison found to differ, ascending; None where it does not list all, or where no warp does."""
    document = found.document
    outputs = document.get("outputs") or {}
    texts = [str(text) for text in found.clusters["warp_ranges"]]
    texts += [str(store.get("warp_ranges", "")) for store in outputs.get("stores") or ()]
    if outputs.get("stores_omitted") or document.get("clusters_omitted") or any("." in text for text in texts):
        return None
    warps = set(hashes)
    for part in filter(None, ",".join(texts).split(",")):
        first, _, last = part.partition("-")
        warps.update(range(int(first), int(last or first) + 1))
    warps.update(int(one["warp"]) for one in document.get("findings") or () if one.get("warp") is not None)
    return sorted(warps) if warps and len(warps) >= found.warps_diverged else None


def _ranges(warps: Sequence[int], between: str) -> str:
    """Numbers that ascend, as ranges."""
    found: list[list[int]] = []
    for warp in warps:
        if found and found[-1][1] == warp - 1:
            found[-1][1] = warp
        else:
            found.append([warp, warp])
    return between.join(str(a) if a == b else f"{a}-{b}" for a, b in found)


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
