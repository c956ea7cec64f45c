"""Damages of one file among several, drawn by a seed: where, how, and which bytes are not what they were."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

KINDS = ("cut", "zero", "flip", "missing", "foreign", "older", "beside")
"""What happens to files: a copy is cut off, a block is zeros, bits flip, a file is gone or has become another one, one of an
older run or one of another kind lies beside."""


@dataclass(frozen=True)
class Damage:
    """One file, and what became of it.

    Attributes
    ----------
    kind
        One of ``KINDS``.
    file
        The file, as seen from the folder of the inputs.
    begin, end
        Which of its bytes are not what they were.
    size
        How many bytes it had.
    bits
        Of ``flip``: which bits, by number from the beginning of the file.
    """

    kind: str
    file: str
    begin: int
    end: int
    size: int
    bits: tuple[int, ...] = ()

    def touches(self, begin: int, end: int) -> bool:
        """Whether bytes of a range are not what they were."""
        return self.kind not in ("older", "beside") and self.begin < end and begin < self.end

    def __str__(self) -> str:
        return f"{self.kind} of {self.file} at {self.begin} to {self.end} of {self.size}"


def draw(chance: random.Random, folder: Path, files: Sequence[str], kinds: Sequence[str]) -> Damage:
    """The next damage of one of the files."""
    file, kind = chance.choice(list(files)), chance.choice(list(kinds))
    size = (folder / file).stat().st_size
    if kind == "cut":
        return Damage(kind, file, chance.randrange(size), size, size)
    if kind == "zero":
        length = min(size, 1 << chance.randrange(6, 13))  # less is flipped bits
        begin = chance.randrange(size - length + 1)
        return Damage(kind, file, begin, begin + length, size)
    if kind == "flip":
        bits = sorted(chance.randrange(8 * size) for _ in range(chance.randrange(1, 4)))
        return Damage(kind, file, bits[0] // 8, bits[-1] // 8 + 1, size, tuple(bits))
    return Damage(kind, file, 0, size, size)


def inflict(damage: Damage, folder: Path, others: Mapping[str, Path]) -> None:
    """Damage the file. ``others`` are what ``foreign``, ``older`` and ``beside`` put there."""
    path = folder / damage.file
    if damage.kind == "missing":
        path.unlink()
    elif damage.kind in ("older", "beside"):
        other = others[damage.kind]
        path.with_name(f"before-{other.name}").write_bytes(other.read_bytes())
    elif damage.kind == "foreign":
        path.write_bytes(others["foreign"].read_bytes())
    else:
        path.write_bytes(_changed(damage, path.read_bytes()))


def _changed(damage: Damage, text: bytes) -> bytes:
    if damage.kind == "cut":
        return text[: damage.begin]
    if damage.kind == "zero":
        return text[: damage.begin] + bytes(damage.end - damage.begin) + text[damage.end :]
    changed = bytearray(text)
    for bit in damage.bits:
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)
