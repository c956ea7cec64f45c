"""The files of NCCL's recorder: whether the plug-in works here, and bringing the files of many hosts into one place."""

from __future__ import annotations

import ctypes.util
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _config, _core, _request
from ._errors import FileAccessError, PrlxError, said
from ._result import Card
from ._units import format_count, plural
from ._verdict import Judged
from ._version import __version__

if TYPE_CHECKING:
    from ._progress import Progress
    from ._request import Path as AnyPath

LIBRARIES = ("libnccl-profiler-prlx.so", "librccl-profiler-prlx.so")
# What the plug-in reads of the environment.
_SETTINGS = ("PRLX_NCCL_DIR", "PRLX_NCCL_LEVEL", "PRLX_NCCL_MAX_BYTES", "PRLX_NCCL_DUTY", "PRLX_NCCL_CHAIN")
_PLAY_S = 120  # seconds that a process may take that plays NCCL
_NONE_HERE = "not tried: there is no GPU of NVIDIA's here"


def library(name: str = LIBRARIES[0]) -> Path:
    """Where the plug-in lies.

    Raises
    ------
    PrlxError
        It is not there.
    """
    path = Path(__file__).resolve().parent / name
    if not path.is_file():
        raise PrlxError(f"{path} is not there", hint="install prlx again: its wheel has the plug-in")
    return path


@dataclass(frozen=True, repr=False)
class CollectedNccl(Judged):
    """Recordings that were checked, and brought into one place. The document is ``prlx.nccl-collect/1``.

    Examples
    --------
    >>> collected = prlx.collect_nccl(["node0", "node1"], output="job42")  # doctest: +SKIP
    >>> collected.complete, len(collected.files)  # doctest: +SKIP
    (True, 16)
    """

    @property
    def complete(self) -> bool:
        """Every file was brought, or stood there already."""
        return bool(self.document["complete"])

    @property
    def files(self) -> tuple[Mapping[str, Any], ...]:
        """What each file holds and what became of it: as in the document."""
        return tuple(self.document["files"])

    @property
    def output(self) -> Path | None:
        """Where the files are; ``None`` where they were looked at alone."""
        given = self.document.get("output")
        return Path(given) if given else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the result, in sentences."""
        return said(self.document.get("warnings") or ())

    @property
    def summary(self) -> str:
        """How many files of how many hosts, and what became of them, in one sentence."""
        by = {row["outcome"]: 0 for row in self.files}
        for row in self.files:
            by[row["outcome"]] += 1
        each = ", ".join(f"{count} {outcome}" for outcome, count in by.items())
        return f"{plural(len(self.files), 'recording')} of {plural(self.document['hosts'], 'host')}: {each}"

    def _card(self) -> Card:
        rows = [(row["name"], row["outcome"], row.get("problem") or "") for row in self.files]
        return Card("NCCL recordings", self.summary, ("file", "", ""), rows, self.warnings)


def collect_nccl(
    inputs: AnyPath | Iterable[AnyPath],
    *,
    output: AnyPath | None = None,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = "auto",
) -> CollectedNccl:
    """Check recordings of NCCL's events, and bring them into one place.

    Each host writes its own into a local folder (``PRLX_NCCL_DIR``). Run on every host with the same ``output`` on a shared
    file system, this gathers them: names are of one process each, and nothing is replaced.

    Parameters
    ----------
    inputs
        Recordings, or directories of them.
    output
        A directory, made where it is not there; or an archive, whose name ends in ``.tar.zst``. ``None``: the files are
        checked alone.
    workers, memory_limit, progress
        As for ``combine_traces``.

    Returns
    -------
    CollectedNccl
        What each file holds and what became of it.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known. A file that cannot be read, or that another of
        its name stands in the way of, is no error: ``complete`` is false.

    Examples
    --------
    >>> prlx.collect_nccl("/tmp/prlx-nccl-1000", output="/shared/job42").complete  # doctest: +SKIP
    True
    """
    from ._progress import shown

    asked = {
        "inputs": _request.paths(inputs) or [],
        "output": _request.absolute_or_none(output) or "",
        **_request.limits(workers, memory_limit, _config.load()),
    }
    with shown(progress) as watch:
        return CollectedNccl(_core.run("nccl_collect", asked, progress=watch))


@dataclass(frozen=True, repr=False)
class SelftestNccl(Judged):
    """Whether the plug-in works here. The document is ``prlx.nccl-selftest/1``.

    Examples
    --------
    >>> prlx.selftest_nccl().passed  # doctest: +SKIP
    True
    """

    @property
    def passed(self) -> bool:
        """Everything that was played is in the recording, and NCCL itself, where it was tried, loaded the plug-in."""
        return bool(self.document["passed"])

    @property
    def sentence(self) -> str:
        """The verdict and what was looked at."""
        return str(self.document["sentence"])

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, in sentences; empty where nothing is."""
        return tuple(self.document["problems"])

    def _card(self) -> Card:
        return Card("NCCL plug-in", self.sentence, notes=self.problems)


def selftest_nccl(*, output: AnyPath | None = None, overwrite: bool = False) -> SelftestNccl:
    """Open the plug-in as NCCL does, play a collective in every version of its interface, and read the recording back.

    Where there is a GPU of NVIDIA's and a libnccl, that NCCL also loads the plug-in, for a communicator of one rank.

    Parameters
    ----------
    output
        Where to write the document, JSON: what one sends along with a question.
    overwrite
        Replace that file.

    Returns
    -------
    SelftestNccl
        The verdict, in ``passed`` and ``sentence``, and all that it rests on.

    Raises
    ------
    PrlxError
        The plug-in is not there, or the document cannot be written.

    Examples
    --------
    >>> prlx.selftest_nccl().document["recorded"]  # doctest: +SKIP
    {'finalize': 7, 'init': 7, 'start': 162, 'state': 324, 'stop': 162}
    """
    target = None if output is None else Path(_request.absolute(output))
    if target is not None and target.exists() and not overwrite:
        raise FileAccessError(f"{target} exists", path=str(target), hint="name another, or overwrite it")
    path = library()
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="prlx-nccl-selftest-") as folder:
        played = _process([str(path)], folder, problems)
        row = _recording(folder, problems) if played else {}
        _compare(played, row, problems)
        nccl = _with_nccl(path, problems)
    recorded = dict(row.get("calls") or {})
    count = sum(recorded.values())
    verdict = "failed" if problems else "passed"
    calls = plural(sum(played.get("calls", {}).values()), "call")
    versions = plural(len(played.get("versions", ())), "version")
    sentence = f"{verdict}: {format_count(count)} of {calls} in {versions} of the interface are recorded"
    sentence += f"; NCCL itself: {nccl['outcome']}"
    document = {
        "schema": "prlx.nccl-selftest/1",
        "conclusion": _conclusion(problems, count, played, nccl, sentence),
        "passed": not problems,
        "sentence": sentence,
        "problems": problems,
        "library": str(path),
        "versions": played.get("versions", []),
        "played": played.get("calls", {}),
        "recorded": recorded,
        "nccl": nccl,
        "machine": _machine(),
    }
    if row:
        document["recording"] = row
    if target is not None:
        _write(target, document)
    return SelftestNccl(document)


def _conclusion(
    problems: list[str], recorded: int, played: Mapping[str, Any], nccl: Mapping[str, Any], sentence: str
) -> dict[str, Any]:
    """The verdict: it failed, or all that was played is there; of NCCL itself only where it was tried."""
    calls = sum(played.get("calls", {}).values())
    looked = [{"what": "calls", "count": recorded, "of": calls}]
    if "version" in nccl:
        looked.append({"what": "versions of NCCL itself", "count": 1, "of": 1})
    outcome = "failed" if problems else "passed" if recorded else "inconclusive"
    return {"outcome": outcome, "why": "; ".join([sentence, *problems]), "looked": looked, "missing": []}


def _process(args: list[str], folder: str, problems: list[str], **more: str) -> dict[str, Any]:
    """Run the player with a folder for recordings; what it printed, empty where it failed."""
    kept = {name: value for name, value in os.environ.items() if name not in _SETTINGS}
    environment = {**kept, "PRLX_NCCL_DIR": folder, "PRLX_NCCL_LEVEL": "3", **more}
    command = [sys.executable, "-m", f"{__package__}._nccl_player", *args]
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_PLAY_S,
            check=False,
            cwd=Path(__file__).parents[1],
        )
    except subprocess.TimeoutExpired:
        problems.append(f"playing took longer than {_PLAY_S} s")
        return {}
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        problems.append(f"the process that plays ended with {how}: {last}")
        return {}
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert isinstance(found, dict)
    return found


def _recording(folder: str, problems: list[str]) -> dict[str, Any]:
    """The one recording of a folder, as it was read back."""
    try:
        files = collect_nccl(folder, progress=False).files
    except PrlxError as e:
        problems.append(f"there is no recording: {e}")
        return {}
    if len(files) != 1 or files[0]["outcome"] != "checked":
        problems.append(f"got {plural(len(files), 'recording')}, expected one that can be read")
    row = dict(files[0])
    row["path"] = row["name"]  # the folder is of this run alone
    return row


def _compare(played: Mapping[str, Any], row: Mapping[str, Any], problems: list[str]) -> None:
    if not played or not row:
        return
    if row.get("calls") != played["calls"]:
        problems.append(f"played {played['calls']}, recorded {row.get('calls')}")
    for what in ("lost", "overwritten"):
        if row[what]:
            problems.append(f"{what}: {row[what]}, expected 0")
    problems.extend(f"the recording is damaged: {one}" for one in row.get("harm") or ())
    if row["state"] != "ended":
        problems.append(f"the recording is left as {row['state']!r}, expected 'ended'")


def _with_nccl(path: Path, problems: list[str]) -> dict[str, Any]:
    """What NCCL itself does with the plug-in, where there is a GPU and an NCCL."""
    if not Path("/dev/nvidia0").exists():
        return {"outcome": _NONE_HERE}
    found = _find_nccl()
    if found is None:
        return {"outcome": "not tried: no libnccl.so.2 was found"}
    own: list[str] = []
    with tempfile.TemporaryDirectory(prefix="prlx-nccl-selftest-") as folder:
        ran = _process(["nccl", found], folder, own, NCCL_PROFILER_PLUGIN=str(path))
        row = _recording(folder, own) if ran else {}
    if row and not row["communicators"]:
        own.append("NCCL made a communicator that the plug-in was not told of")
    problems.extend(f"NCCL: {one}" for one in own)
    outcome = (
        f"failed: {own[0]}" if own else f"version {ran['version']} loaded the plug-in for a communicator of one rank"
    )
    read = {"recording": row} if row else {}
    return {"outcome": outcome, "library": found, "version": ran.get("version", 0), **read}


def _find_nccl() -> str | None:
    """A libnccl: of NVIDIA's wheel, else of the system."""
    spec = util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        wheel = Path(folder) / "nccl" / "lib" / "libnccl.so.2"
        if wheel.is_file():
            return str(wheel)
    return ctypes.util.find_library("nccl")


def _machine() -> dict[str, Any]:
    """What a reader of the document wants to know of this machine."""
    folder = Path("/proc/driver/nvidia/gpus")
    wheels = []
    for name in ("nvidia-nccl-cu12", "nvidia-nccl-cu13", "torch"):
        try:
            wheels.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return {
        "prlx": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "libc": " ".join(platform.libc_ver()),
        "gpus": len(list(folder.iterdir())) if folder.is_dir() else 0,
        "packages": wheels,
    }


def _write(target: Path, document: Mapping[str, Any]) -> None:
    temporary = target.with_name(f".{target.name}.prlx-part")
    try:
        temporary.write_text(json.dumps(document, indent=2) + "\n")
        temporary.replace(target)
    except OSError as e:
        raise FileAccessError(f"{target} cannot be written: {e.strerror}", path=str(target)) from e
