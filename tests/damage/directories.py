"""Directories of real recordings with files that were damaged, replaced, lost, and with files that do not belong there.

Everything is drawn by ``SEED`` and a number, so a directory is the same whenever it is made. It says of itself which of its
traces cannot be what they were (``lost``).
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SEED = 20261127  # of all directories; drawn before the first run
NAMES = (
    "rank{}.json",
    "rank-{}.trace.json.gz",
    "worker{}.1700000000000000000.pt.trace.json",
    "node{}/trace.json",
    "trace_{}.json",
)


@dataclass
class Directory:
    """A damaged directory.

    Attributes
    ----------
    path
        Where it is.
    lost
        Traces that cannot be read as what they were, by their names.
    said
        What was done, for whoever reads a failure.
    """

    path: Path
    lost: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def files(self) -> list[str]:
        """All that stands in it but directories, relative."""
        return sorted(
            str((Path(folder) / name).relative_to(self.path))
            for folder, _, names in os.walk(self.path)
            for name in names
        )


def recordings(data: Path, examples: Path) -> dict[str, Callable[[], list[bytes]]]:
    """Jobs of several ranks, by name: the JSON of each rank."""

    def archive() -> list[bytes]:
        with tarfile.open(data / "kineto/facebookresearch+param__dlrm_kineto.tar.gz") as tar:
            found = sorted((member.name, tar.extractfile(member)) for member in tar if ".json" in member.name)
            return [file.read() for _, file in found if file is not None]

    def zipped(pattern: str, folder: Path) -> list[bytes]:
        return [gzip.decompress(path.read_bytes()) for path in sorted(folder.glob(pattern))]

    return {
        "torch": lambda: zipped("rank*.json.gz", examples / "torch_ranks"),
        "dlrm": archive,
        "sampled": lambda: zipped("*sampled_rank-?.json.gz", data / "kineto"),
        "jax": lambda: zipped("node*.trace.json.gz", data / "jax_skew/p4"),
    }


def write(path: Path, text: bytes) -> None:
    """Write a trace as its name says."""
    path.write_bytes(gzip.compress(text, 1) if path.suffix == ".gz" else text)


# Damages that leave a trace readable: what is wrong with it is repaired and counted, or is nothing that matters.


def nul_in_a_name(text: bytes, draw: random.Random) -> bytes:
    """A NUL byte in the middle of a name."""
    places = [found.end() for found in re.finditer(rb'"name": ?"[a-z]', text)]
    at = draw.choice(places)
    return text[:at] + b"\x00" + text[at:]


def no_utf8(text: bytes, draw: random.Random) -> bytes:
    """Invalid UTF-8 in a name."""
    return nul_in_a_name(text, draw).replace(b"\x00", b"\xff\xfe")


def wrong_escape(text: bytes, draw: random.Random) -> bytes:
    """A Windows path in a name, its backslashes not escaped."""
    return nul_in_a_name(text, draw).replace(b"\x00", b"C:\\dir\\x")


def number(text: bytes, draw: random.Random, key: bytes, to: bytes, times: int = 3) -> bytes:
    """Some values of a key replaced."""
    found = [match.span(1) for match in re.finditer(rb'"' + key + rb'": ?(-?[0-9.]+)', text)]
    for start, end in sorted(draw.sample(found, min(times, len(found))), reverse=True):
        text = text[:start] + to + text[end:]
    return text


def nan_duration(text: bytes, draw: random.Random) -> bytes:
    """Durations that are NaN."""
    return number(text, draw, b"dur", b"NaN")


def infinite_start(text: bytes, draw: random.Random) -> bytes:
    """Starts that are infinite."""
    return number(text, draw, b"ts", b"-Infinity")


def negative_duration(text: bytes, draw: random.Random) -> bytes:
    """Durations below zero."""
    return number(text, draw, b"dur", b"-7")


def infinity_in_args(text: bytes, draw: random.Random) -> bytes:
    """Infinity among the arguments of an event."""
    places = [found.end() for found in re.finditer(rb'"args": ?\{(?=")', text)]
    at = draw.choice(places)
    return text[:at] + b'"x": [Infinity, -inf, nan], ' + text[at:]


def literal_at_the_top(text: bytes, _: random.Random) -> bytes:
    """NaN beside the events."""
    return b'{"utilization": NaN, ' + text.lstrip()[1:]


def order_mark(text: bytes, _: random.Random) -> bytes:
    """A byte order mark."""
    return b"\xef\xbb\xbf" + text


def comma_at_the_end(text: bytes, _: random.Random) -> bytes:
    """A comma behind the last event."""
    at = text.rindex(b"]")
    return text[:at].rstrip() + b",\n" + text[at:]


def no_rank(text: bytes, _: random.Random) -> bytes:
    """Nothing that says the rank."""
    return text.replace(b'"distributedInfo"', b'"distributedInformation"')


REPAIRED = (
    nul_in_a_name,
    no_utf8,
    wrong_escape,
    nan_duration,
    infinite_start,
    negative_duration,
    infinity_in_args,
    literal_at_the_top,
    order_mark,
    comma_at_the_end,
    no_rank,
)


# Damages after which a trace is not what it was.


def cut(text: bytes, draw: random.Random) -> bytes:
    """The first part of it."""
    return text[: draw.randrange(200, len(text) - 200)]


def zeroed(text: bytes, draw: random.Random) -> bytes:
    """A block of zeroes."""
    at = draw.randrange(0, len(text) - 5000)
    return text[:at] + bytes(4096) + text[at + 4096 :]


def utf16(text: bytes, draw: random.Random) -> bytes:
    """UTF-16, as some shells redirect it."""
    return text.decode("utf-8", "replace").encode(draw.choice(["utf-16", "utf-16-le", "utf-16-be"]))


def emptied(_text: bytes, _: random.Random) -> bytes:
    """Nothing."""
    return b""


def page_instead(_text: bytes, _: random.Random) -> bytes:
    """What a server said instead."""
    return b"<!doctype html><title>403</title>"


def other_json(_text: bytes, _: random.Random) -> bytes:
    """JSON of another kind."""
    return b'{"error": "no such bucket"}'


DESTROYED = (cut, zeroed, utf16, emptied, page_instead, other_json)

FOREIGN: dict[str, bytes] = {
    "README.md": b"# what was recorded\n",
    "config.json": b'{"lr": 0.1, "name": "run"}',
    "metrics.jsonl": b'{"step": 1}\n{"step": 2}\n',
    "train.py": b"import torch\n",
    "weights.bin": bytes(range(256)) * 20,
    ".lock": b"",
    "report.html": b"<html></html>",
    "profile.sqlite": b"SQLite format 3\x00" + bytes(200),
    "memory.pickle": b"\x80\x04\x95\x00\x00\x00",
    "notes.txt": "gemessen in Gießen\n".encode("latin-1"),
    "run.json": b'{"schema": "prlx.solve/1"}',
}
"""Files that people keep beside traces."""


def make(number: int, folder: Path, jobs: dict[str, Callable[[], list[bytes]]]) -> Directory:
    """The directory of a number, in an empty folder."""
    draw = random.Random(f"{SEED}/{number}")
    made = Directory(folder)
    job = draw.choice(sorted(jobs))
    ranks = jobs[job]()[: draw.choice((2, 3, 4, 8))]
    name = draw.choice(NAMES)
    made.said.append(f"{job} as {name}")
    paths = [folder / name.format(rank) for rank in range(len(ranks))]
    for path, text in zip(paths, ranks, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, text)
    hurt = draw.sample(range(len(ranks)), draw.choice((1, 1, 2)) if len(ranks) > 2 else 1)
    for rank in hurt:
        _hurt(made, paths[rank], ranks[rank], draw)
    for other in draw.sample(sorted(FOREIGN), draw.randrange(4)):
        (folder / other).write_bytes(FOREIGN[other])
        made.said.append(f"beside them {other}")
    return made


def _hurt(made: Directory, path: Path, text: bytes, draw: random.Random) -> None:
    relative = str(path.relative_to(made.path))
    kind = draw.randrange(10)
    if kind < 5:
        how = draw.choice(REPAIRED)
        write(path, how(text, draw))
        made.said.append(f"{relative}: {how.__name__}")
        return
    made.lost.append(relative)
    if kind < 9:
        destroy = draw.choice(DESTROYED)
        write(path, destroy(text, draw))
        made.said.append(f"{relative}: {destroy.__name__}")
        return
    path.unlink()
    if draw.randrange(2):
        made.said.append(f"{relative}: under another name")
        made.lost[-1] = f"{relative}.part"
        path.with_name(path.name + ".part").write_bytes(text[: len(text) // 2])
    else:
        made.said.append(f"{relative}: a link to nowhere")
        path.symlink_to("nowhere")


def strict(text: bytes) -> object:
    """The document of a strict JSON; anything else is an error."""

    def refuse(literal: str) -> None:
        raise ValueError(f"{literal} is no JSON")

    return json.loads(text.decode("utf-8"), parse_constant=refuse)
