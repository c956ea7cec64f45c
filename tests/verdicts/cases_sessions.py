"""What ``prlx session diff``, ``locate`` and ``simulate --compare`` say of sessions that hold nothing, or not all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.kernel.recordings import Recording, softmax
from tests.simulator.conftest import require

from .cases_simulate import KERNEL, LAUNCH, NEWEST, REFUSED, WITH_TRITON
from .lacks import Case


def session(folder: Path, name: str, launches: int = 2, *, recording: Recording | None = None) -> Path:
    """A session of equal launches."""
    path = folder / name
    path.mkdir()
    for number in range(launches):
        (recording or softmax()).write(path / f"softmax_{number}.prlx")
    return path


def both(folder: Path, change: Callable[[Path], object] = lambda _: None) -> list[str]:
    """Two equal sessions of which B is changed."""
    session(folder, "a")
    change(session(folder, "b"))
    return ["session", "diff", "a", "b"]


def cut(path: Path) -> None:
    """The last launch is cut."""
    last = path / "softmax_1.prlx"
    last.write_bytes(last.read_bytes()[: last.stat().st_size // 2])


def partial(path: Path) -> None:
    """A session whose manifest says that recording did not come to its end; the launches are there."""
    shape = {"grid": [2, 1, 1], "block": [64, 1, 1], "status": "complete"}
    launches = [{"launch": n, "kernel": "softmax_kernel", "file": f"softmax_{n}.prlx", **shape} for n in range(2)]
    manifest = {"schema": "prlx.session/1", "producer": "test", "status": "partial", "launches": launches}
    (path / "session.json").write_text(json.dumps(manifest))


def emptied(path: Path) -> None:
    """A session in which nothing was launched."""
    shutil.rmtree(path)
    path.mkdir()
    manifest = {"schema": "prlx.session/1", "producer": "test", "status": "complete", "launches": []}
    (path / "session.json").write_text(json.dumps(manifest))


def no_sessions(folder: Path) -> list[str]:
    """Two directories that hold nothing."""
    for name in "ab":
        (folder / name).mkdir()
    return ["session", "diff", "a", "b"]


def both_empty(folder: Path) -> list[str]:
    """Two sessions without a launch."""
    words = no_sessions(folder)
    for name in "ab":
        emptied(folder / name)
    return words


def without_events(folder: Path) -> list[str]:
    """Launches of which nothing was recorded."""
    silent = Recording([[], []], grid=(1, 1, 1))
    for name in "ab":
        session(folder, name, recording=silent)
    return ["session", "diff", "a", "b"]


def scripts(folder: Path, command: str, a: str, b: str) -> list[str]:
    """Two scripts that are held against each other."""
    require(NEWEST)
    (folder / "a.py").write_text(a)
    (folder / "b.py").write_text(b)
    return ["locate", "a.py", "b.py"] if command == "locate" else ["simulate", "--json", "--compare", "a.py", "b.py"]


def scripted(command: str, lack: str, a: str, b: str, says: str) -> Case:
    return Case(command, lack, lambda folder: scripts(folder, command, a, b), says, WITH_TRITON)


COPIED = KERNEL + LAUNCH
ODD = KERNEL + REFUSED + LAUNCH  # a launch that the simulator refuses; the script goes on
CASES = [
    Case("session diff", "empty", no_sessions, "no session"),
    Case("session diff", "empty", both_empty, "nothing was looked at"),
    Case("session diff", "one side empty", lambda folder: both(folder, emptied), "no launch could be compared"),
    Case("session diff", "nothing of the kind", without_events, "launch 0"),
    Case("session diff", "truncated", lambda folder: both(folder, cut), "cannot be read"),
    Case("session diff", "one missing", lambda folder: both(folder, partial), "did not come to its end"),
    Case("session diff", "unknown values", without_events, "launch 1"),
    scripted("locate", "empty", "", "", "launched nothing"),
    scripted("locate", "one side empty", COPIED, KERNEL, "launched nothing"),
    scripted("locate", "nothing of the kind", KERNEL, KERNEL, "launched nothing"),
    scripted("simulate --compare", "empty", "", "", "no kernel was launched on both sides"),
    scripted("simulate --compare", "one side empty", COPIED, "", "no kernel was launched on both sides"),
    scripted("simulate --compare", "nothing of the kind", KERNEL, KERNEL, "no kernel was launched on both sides"),
    scripted("simulate --compare", "one missing", ODD, ODD, "launches of odd in A"),
]
_WHOLE = "it records both scripts itself, and nothing of that is cut"
NONE = {
    ("session diff", "one repetition"): "each pair of launches is judged for itself; noise is given with --baseline",
    ("locate", "one repetition"): "a difference is searched for, and a run that shows none is what it says",
    ("locate", "truncated"): _WHOLE,
    ("locate", "one missing"): "a launch that one side lacks is a difference",
    ("locate", "unknown values"): "it records both scripts itself, with control flow and what they wrote",
    ("simulate --compare", "one repetition"): "work is counted, and does not vary",
    ("simulate --compare", "truncated"): _WHOLE,
    (
        "simulate --compare",
        "unknown values",
    ): "every launch is counted, unless --no-counts leaves lines without numbers",
}
