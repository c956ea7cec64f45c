"""Programs that record without a line of theirs changed: each process of Python that imports Triton records its launches.

The parent (``run_recorded``) puts a folder with a ``sitecustomize`` before the child's path; that calls ``begin`` when Triton
has been imported. Each process has a session of its own; one that recorded nothing leaves none.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ._errors import FileAccessError, UsageError
from ._program import STARTUP, before, check_runs, driver, environment, run_command
from ._rerun import VARIABLE, spelled
from ._target import recorded_again
from ._wanted import VARIABLE as FILTER
from ._wanted import wanted

Device = Literal["auto", "gpu", "simulator"]
"""Whose driver a program gets: that of a GPU, that of the simulator, or the first of them that there is."""

DEVICES = ("auto", "gpu", "simulator")
FOLDER = "PRLX_RUN"  # where the processes record to
_SESSION = re.compile(r"(rank|process)-(\d+)(-\d+)?")


@dataclass(frozen=True)
class Ran:
    """What became of a program.

    Attributes
    ----------
    status
        Its exit code.
    device
        ``"gpu"`` or ``"simulator"``.
    sessions
        A session for each process that launched something.
    launches
        How many they hold together.
    """

    status: int
    device: str
    sessions: tuple[Path, ...]
    launches: int


def run_recorded(
    command: Sequence[str],
    folder: Path,
    *,
    device: Device = "auto",
    options: Mapping[str, Any] | None = None,
    filter: str = "",
    overwrite: bool = False,
) -> Ran:
    """Run a program whose processes record what they launch.

    Parameters
    ----------
    command
        The program and its arguments.
    folder
        Becomes the session; where several processes record, it holds one for each: ``rank-0`` where there are ranks.
    device
        Whose driver it gets.
    options
        As ``PRLX_RECORD`` has them.
    filter
        As ``PRLX_FILTER`` has it.
    overwrite
        Replace the recordings that are there.

    Raises
    ------
    UsageError
        There is no GPU and one is wanted, ``folder`` is taken, or options or filter are none.
    FileAccessError
        The program cannot be run.
    """
    if device not in DEVICES:
        raise UsageError(f"device: expected one of {', '.join(DEVICES)}, got {device!r}")
    asked = _asked(os.environ, options or {})
    recorded_again({VARIABLE: asked})  # a mistake ends this process, and not the recording of others
    wanted(filter or None)
    folder = folder.absolute()
    check_runs(command, os.environ)
    made = _make_room(folder, overwrite=overwrite)
    found = {} if device == "simulator" else driver()
    if device == "gpu" and "why" in found:
        raise UsageError(f"there is no GPU: {found['why']}", hint="--device simulator runs it without one")
    given = "gpu" if found and "why" not in found else "simulator"
    with ExitStack() as stack:
        environ = dict(os.environ)
        if given == "simulator":
            environ = environment(
                Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="prlx-run-"))), os.environ
            )
        environ |= _told(environ, folder, asked, filter)
        try:
            status = run_command(command, environ)
        except FileAccessError:
            for one in made:
                one.rmdir()
            raise
    sessions = _gathered(folder)
    return Ran(status, given, tuple(sessions), sum(len(list(one.glob("*.prlx"))) for one in sessions))


def _asked(environ: Mapping[str, str], options: Mapping[str, Any]) -> str:
    """What ``PRLX_RECORD`` has said, and the options behind it."""
    return ",".join(_said(environ.get(VARIABLE), *spelled(options)))


def _told(environ: Mapping[str, str], folder: Path, asked: str, filter: str) -> dict[str, str]:
    """What the processes are told."""
    told = {FOLDER: str(folder), "PYTHONPATH": before(STARTUP, environ.get("PYTHONPATH"))}
    return told | ({VARIABLE: asked} if asked else {}) | ({FILTER: filter} if filter else {})


def _said(*texts: str | None) -> list[str]:
    """Those that say something."""
    return [text for text in texts if text]


def _make_room(folder: Path, *, overwrite: bool) -> list[Path]:
    """Have a folder without recordings. Returns the folders that were made for it, the innermost first."""
    if folder.exists() and not folder.is_dir():
        raise FileAccessError("is a file, not a directory", path=str(folder), hint="name a directory")
    if folder.is_dir() and any(folder.iterdir()):
        if not overwrite:
            raise FileAccessError(
                "is not empty", path=str(folder), hint="choose another directory, or pass --overwrite"
            )
        for one in (folder, *_sessions(folder)):
            _delete(one)
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return made


def _sessions(folder: Path) -> Iterator[Path]:
    """The sessions of processes, in order of ranks and of their begin."""
    found = [(name[1], name[2], path) for path in folder.iterdir() if (name := _SESSION.fullmatch(path.name))]
    for _, _, path in sorted(
        (kind, int(number) if kind == "rank" else _begun(path), path) for kind, number, path in found
    ):
        yield path


def _begun(session: Path) -> int:
    """When the first file of a session was written, in nanoseconds."""
    return min((file.stat().st_mtime_ns for file in session.iterdir()), default=0)


def _delete(session: Path) -> None:
    """Delete the recordings of a session, and its folder where nothing else is in it."""
    for file in (*session.glob("*.prlx"), *session.glob("*.prlx.inputs"), session / "session.json"):
        file.unlink(missing_ok=True)
    sources = session / "sources"
    if sources.is_dir():
        for file in sources.glob("*.zst"):
            file.unlink()
        if not any(sources.iterdir()):
            sources.rmdir()
    if session.is_dir() and not any(session.iterdir()):
        session.rmdir()


def _gathered(folder: Path) -> list[Path]:
    """The sessions that hold something. A single one becomes the folder itself, processes without ranks get small numbers."""
    kept = []
    for one in list(_sessions(folder)):
        if any(one.glob("*.prlx")):
            kept.append(one)
        else:
            _delete(one)
    if len(kept) == 1:
        for file in list(kept[0].iterdir()):
            shutil.move(file, folder / file.name)
        kept[0].rmdir()
        return [folder]
    number = 0
    for i, one in enumerate(kept):
        if one.name.startswith("process-"):
            kept[i] = one.rename(folder / f"process-{number}")
            number += 1
    return kept


def begin() -> None:
    """Record what this process launches, to a session of its own below ``PRLX_RUN``; Triton has been imported."""
    from . import _gpu_device, _record
    from ._launching import Options
    from ._record import Asked

    rank = os.environ.get("RANK", "")
    name = f"rank-{int(rank)}" if rank.isdecimal() else f"process-{os.getpid()}"
    session = _made(Path(os.environ[FOLDER]), name)
    wanted = _record.extras()
    asked = Asked(session, "control-flow", None, False, wanted).with_environment(on_gpu=True)
    recording = _gpu_device.start(Options().checked(), asked, (), waits=True)
    _record.host(recording)
    assert recording._gpu is not None
    atexit.register(recording._gpu.close)


def _made(folder: Path, name: str) -> Path:
    """A new folder of a name; of its number and another one where that is taken."""
    for tried in (name, *(f"{name}-{number}" for number in range(2, 1000))):
        try:
            (folder / tried).mkdir(parents=True)
        except FileExistsError:
            continue
        return folder / tried
    raise FileAccessError("holds 1000 sessions of this name", path=str(folder / name))
