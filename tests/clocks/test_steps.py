"""Clocks that step where nothing shows it, and sources that contradict each other: no event may be farther off than it says."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from . import known, stepping
from .test_frameworks import interpreter

ALL = bool(os.environ.get("PRLX_CLOCKS_ALL"))
# Steps may leave too little that runs straight: then nothing is aligned, and no bound is stated.
pytestmark = pytest.mark.filterwarnings("ignore::prlx.NotAlignedWarning")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("steps")


@pytest.fixture(scope="module")
def recordings(scratch: Path, data: Path) -> list[stepping.Recording]:
    found = stepping.kept(scratch, data)
    return found + (fresh(scratch) if ALL else [])


def fresh(scratch: Path) -> list[stepping.Recording]:
    """Jobs of JAX of three and eight processes and of PyTorch of two and four, where they are installed."""
    found = []
    for framework, ranks in (("jax", 3), ("jax", 8), ("torch", 2), ("torch", 4)):
        try:
            python = interpreter(framework)
        except pytest.skip.Exception:
            continue
        folder = scratch / f"{framework}{ranks}"
        ran = known.run(python, framework, folder / "log", scratch, list(range(ranks)))
        if framework == "jax":
            (directory,) = {answer["run"] for answer in ran.answers}
            paths = known.by_rank(Path(directory).glob("*.xplane.pb"))
        else:
            paths = known.by_rank(Path(path) for answer in ran.answers for path in answer["paths"])
        kept = [
            Path(shutil.copy(path, folder / f"rank{rank}{''.join(path.suffixes[-2:])}"))
            for rank, path in enumerate(paths)
        ]
        found.append(stepping.Recording(f"{framework}{ranks} fresh", kept, ran.clocks))
        found[-1].read(scratch)
    return found


def test_without_a_step_clocks_are_aligned_and_every_event_is_within_its_bound(
    recordings: list[stepping.Recording], scratch: Path
) -> None:
    aligned = 0
    for recording in recordings:
        found = stepping.judged(recording, {}, scratch, method="collectives")
        outside = found.outside / (found.events + found.outside)
        print(
            f"{recording.name}: {found.status}, bound p50 {found.median_bound_ns / 1000:.0f} us, outside {outside:.1%}"
        )
        assert found.beyond == found.outside_beyond == 0, recording.name
        aligned += found.status == "aligned"
    assert aligned >= 0.85 * len(recordings)


def test_no_event_is_beyond_its_bound_where_a_clock_stepped_and_the_result_is_aligned(
    recordings: list[stepping.Recording], scratch: Path
) -> None:
    """By collectives alone. The steps are drawn by a seed that stood here before the first of them was tried.

    What lies before the fourth collective or after the fourth-last is outside of the readings, and its bound no limit.
    """
    lot, counts, wrong = random.Random(32), Counter[str](), []
    steps = 220 if ALL else 12
    for number in range(steps):
        recording = lot.choice(recordings)
        shape, moves = stepping.drawn_step(recording, lot)
        found = stepping.judged(recording, moves, scratch, method="collectives")
        counts[found.status] += 1
        counts["beyond"] += found.beyond > 0
        counts["beyond outside"] += found.outside_beyond > 0
        if found.status == "aligned" and (found.beyond or found.impossible):
            wrong.append((number, recording.name, shape, sorted(moves), found))
    print(f"{counts}", *wrong, sep="\n")
    assert not wrong


def test_where_a_clock_stepped_there_and_back_and_collectives_contradict_each_other_nothing_is_called_aligned(
    scratch: Path,
) -> None:
    """One line explains what is left without three collectives, and is not where the clock was."""
    (recording,) = (one for one in stepping.kept(scratch, None) if one.name == "jax_p4")
    first, last = recording.span(1)
    begin, end = (first + int((last - first) * at) for at in (0.9218, 0.99))
    found = stepping.judged(
        recording, {1: lambda at: 639_091 if begin <= at < end else 0}, scratch, method="collectives"
    )
    assert found.impossible == 0
    assert found.status == "degraded"


def test_no_event_of_an_honest_node_is_beyond_its_bound_where_a_source_lies(scratch: Path) -> None:
    """Probes, declared offsets and collectives of one job, of which one is wrong about a node."""
    (recording,) = (one for one in stepping.kept(scratch, None) if one.name == "jax_p4")
    lot, counts = random.Random(33), Counter[str]()
    for number in range(60 if ALL else 8):
        liar, node = lot.choice(["probes", "declared", "collectives"]), lot.randrange(1, 4)
        by, unprobed = lot.choice([-1, 1]) * int(10 ** lot.uniform(4.5, 7.5)), lot.choice([None, 1, 2, 3])
        first, last = recording.span(node)
        begin = first + int((last - first) * lot.choice([-1, lot.random()]))
        move: stepping.Move = lambda at, by=by, begin=begin: by if at >= begin else 0  # noqa: E731
        found = stepping.judged(
            recording,
            {node: move} if liar == "collectives" else {},
            scratch,
            skip=(node,),
            probes=probes(scratch, None if unprobed == node else unprobed, node, move if liar == "probes" else None),
            declared=declared(
                recording, scratch, [*lot.sample([1, 2, 3], 2), node], node, by if liar == "declared" else 0
            ),
        )
        counts[f"{liar}: {found.status}"] += 1
        assert found.beyond == found.outside_beyond == 0, (number, liar, node, by, unprobed, found)
    print(f"{counts}")


def probes(scratch: Path, left_out: int | None, node: int, move: Callable[[int], int] | None) -> list[str]:
    """The probes of the example, without those of one node, and with the stamps of another moved."""
    out = []
    for path in sorted((stepping.EXAMPLES / "jax_p4").glob("probes_*.jsonl")):
        rows = []
        for text in path.read_text().splitlines():
            row = json.loads(text)
            if left_out is not None and left_out in (row.get("src"), row.get("dst")):
                continue
            for name, of in (("t1", "src"), ("t2", "dst"), ("t3", "dst"), ("t4", "src")):
                if move and name in row and row[of] == node:
                    row[name] += move(row[name])
            rows.append(json.dumps(row))
        if rows:
            (scratch / path.name).write_text("\n".join(rows) + "\n")
            out.append(str(scratch / path.name))
    return out


def declared(recording: stepping.Recording, scratch: Path, of: list[int], node: int, wrong_ns: int) -> str:
    """What is declared of some nodes: right within 20 us, but for one."""
    rows = ["0 = { offset_ns = 0, bound_ns = 0 }"]
    for rank in sorted(set(of)):
        clock, at = recording.clocks[rank], recording.clocks[rank].anchor_ns
        offset = clock.offset_ns + 7_000 + (wrong_ns if rank == node else 0)
        rows.append(
            f"{rank} = {{ offset_ns = {offset}, drift_ppm = {clock.drift_ppb / 1000}, bound_ns = 20000, at_ns = {at} }}"
        )
    path = scratch / "declared.toml"
    path.write_text("[nodes]\n" + "\n".join(rows) + "\n")
    return str(path)
