"""What ``prlx diff`` says of tapes of training steps that hold nothing, or not enough."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .lacks import Case

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/training"
HEAD = 12  # bytes of the magic and the version


def tapes(a: float | None, b: float | None) -> Callable[[Path], list[str]]:
    """Two equal tapes, of which so much is there; None: the beginning alone."""

    def make(folder: Path) -> list[str]:
        whole = (EXAMPLES / "good.tape").read_bytes()
        for name, share in (("a.tape", a), ("b.tape", b)):
            (folder / name).write_bytes(whole[: HEAD if share is None else int(len(whole) * share)])
        return ["diff", "a.tape", "b.tape"]

    return make


def emptied(folder: Path) -> list[str]:
    """A directory with a tape, and one with none."""
    for name in ("a", "b"):
        (folder / name).mkdir()
    (folder / "a/run.tape").write_bytes((EXAMPLES / "good.tape").read_bytes())
    return ["diff", "a", "b"]


CASES = [
    Case("diff", "empty", tapes(None, None), "cut or damaged"),
    Case("diff", "one side empty", tapes(1, None), "cut or damaged"),
    Case("diff", "one side empty", emptied, "has no tapes"),
    Case("diff", "truncated", tapes(0.5, 0.5), "it is cut at byte"),
    Case("diff", "truncated", tapes(1, 0.6), "it is cut at byte"),
]
NONE: dict[tuple[str, str], str] = {}
