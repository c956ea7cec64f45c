"""What is damaged: inputs whose answer is known, how each command is asked, and where its evidence lies."""

from __future__ import annotations

import gzip
import json
import shutil
import struct
import tarfile
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.kernel.recordings import softmax, softmax_warp

import prlx
from prlx import _core
from prlx._timeline import inspect_files

from .damages import KINDS, Damage

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
Place = Callable[[Path], Iterable[str]]


@dataclass(frozen=True)
class Answer:
    """What a command said.

    Attributes
    ----------
    outcome
        That of its conclusion, or ``refused``.
    what
        What it named: the place that differs first, the ranks that were late.
    said
        Whether the document speaks of something that is missing or was passed over.
    open_total
        Whether it says how many it looked at without knowing how many there are.
    """

    outcome: str
    what: object = None
    said: bool = False
    open_total: bool = False


@dataclass(frozen=True)
class Scene:
    """Inputs with an answer.

    Attributes
    ----------
    command, name
        Which command judges which inputs.
    make
        Puts the inputs into a folder.
    ask
        Asks the command in that folder.
    whole
        Whether a damage leaves what the answer rests on as it was.
    others
        Files of other runs, by the damage that puts them there.
    checked
        Whether a checksum holds each byte: flipped bits of other formats are counted and judged by nobody.
    files
        Which files are damaged; all of them unless named.
    """

    command: str
    name: str
    make: Callable[[Path], None]
    ask: Callable[[Path], Answer]
    whole: Callable[[Path, Damage], bool]
    others: Mapping[str, Path]
    checked: bool = False
    files: str = "*"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The damages that this scene has inputs for."""
        return tuple(kind for kind in KINDS if kind not in ("foreign", "older", "beside") or kind in self.others)


def answered(ask: Callable[[], Answer]) -> Answer:
    """The answer, or that there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ask()
    except prlx.PrlxError as error:
        if type(error).__name__ == "InternalError":
            raise
        return Answer("refused", type(error).__name__, said=True)


_OUTCOMES = {
    "identical": "same",
    "same-results": "same",
    "diverged": "differs",
    "consistent": "passed",
    "violated": "failed",
    "aligned": "passed",
    "degraded": "passed",
    "blamed": "failed",
    "nobody": "passed",
    "cycles": "passed",
    "same": "same",
    "changed": "differs",
    "differs": "differs",
}


def outcome_of(document: Mapping[str, Any]) -> str:
    """That of the conclusion; of a document that has none yet what its status comes to."""
    if "conclusion" in document:
        return str(document["conclusion"]["outcome"])
    return _OUTCOMES.get(document["status"], "inconclusive")


def speaks(document: Mapping[str, Any]) -> bool:
    """Whether a document says that something is missing."""
    missing = document.get("conclusion", {}).get("missing")
    return bool(missing or document.get("warnings"))


def of_unknown_total(document: Mapping[str, Any]) -> bool:
    """Whether a document says "N seen, total unknown": that is all that can be said of a file that nothing else mentions."""
    looked = document.get("conclusion", {"looked": [{"of": None}]})["looked"]
    return any(row["of"] is None for row in looked)


def of_traces(document: Mapping[str, Any], what: object) -> Answer:
    """The answer of a document on the traces of a job."""
    return Answer(outcome_of(document), what, speaks(document), of_unknown_total(document))


# Recordings of kernels.


def two_runs(folder: Path) -> None:
    """Two recordings that differ in every warp."""
    for name in ("a", "b"):
        shutil.copy(EXAMPLES / f"two_runs/{name}.prlx", folder / f"{name}.prlx")


def twins(folder: Path) -> None:
    """A recording and its copy."""
    for name in ("a", "b"):
        shutil.copy(EXAMPLES / "two_runs/a.prlx", folder / f"{name}.prlx")


def many_warps(folder: Path, *, version: str = "v2") -> None:
    """Recordings of several blocks of warps, of which one warp takes a branch less often."""
    warp = softmax_warp(0, rounds=400)
    for name in ("a", "b"):
        warps = [list(warp) for _ in range(120)]
        if name == "b":
            at = next(n for n, event in enumerate(warps[2]) if n > 9 and event.kind == 0)
            warps[2][at] = replace(warps[2][at], dir=1 - warps[2][at].dir)
        raw = folder / f"{name}.v1"
        replace(softmax(), warps=warps, grid=(60, 1, 1), capacity=len(warp)).write(raw)
        if version == "v2":
            prlx.convert_trace(raw, output=folder / f"{name}.prlx", progress=False)
            raw.unlink()
        else:
            raw.rename(folder / f"{name}.prlx")


def many_warps_v1(folder: Path) -> None:
    """The same in format v1, which has no checksums; fewer of them."""
    many_warps(folder, version="v1")


def twins_v1(folder: Path) -> None:
    """A recording of format v1 and its copy."""
    prlx.convert_trace(EXAMPLES / "two_runs/a.prlx", output=folder / "a.prlx", to="v1", progress=False)
    shutil.copy(folder / "a.prlx", folder / "b.prlx")


def simulated(folder: Path) -> None:
    """Recordings by the simulator, with what was stored: B multiplies by another number."""
    for name, factor in (("a", 2.0), ("b", 3.0)):
        x, y = np.arange(4096, dtype=np.float32), np.ones(4096, np.float32)
        arguments = [factor, x, y, 4096]
        prlx.simulate_ptx(
            EXAMPLES / "ptx/saxpy.ptx", "saxpy", 32, 128, arguments, output=folder / f"{name}.prlx", outputs="1MiB"
        )


def sessions(folder: Path) -> None:
    """Two sessions of four launches, of which the third differs."""
    for side in ("run_a", "run_b"):
        (folder / side).mkdir()
        for launch in range(4):
            source = "b" if side == "run_b" and launch == 2 else "a"
            shutil.copy(EXAMPLES / f"two_runs/{source}.prlx", folder / side / f"launch{launch}.prlx")


def with_manifests(folder: Path) -> None:
    """The same, listed as whoever records lists them."""
    sessions(folder)
    shape = {"kernel": "softmax_rows", "grid": [2, 1, 1], "block": [128, 1, 1]}
    rows = [{"launch": number, "file": f"launch{number}.prlx", **shape} for number in range(4)]
    for side in ("run_a", "run_b"):
        (folder / side / "session.json").write_text(json.dumps(rows))


def diff(folder: Path) -> Answer:
    """``prlx diff a.prlx b.prlx``."""
    return _of_diff(prlx.diff_traces(folder / "a.prlx", folder / "b.prlx", progress=False).document)


def asserted(folder: Path) -> Answer:
    """``prlx assert a.prlx b.prlx``, which reads everything."""
    return _of_diff(prlx.diff_traces(folder / "a.prlx", folder / "b.prlx", verify=True, progress=False).document)


def converted(folder: Path) -> Answer:
    """``prlx convert`` of both, and what ``prlx diff`` says of what was written."""
    for name in ("a", "b"):
        prlx.convert_trace(folder / f"{name}.prlx", output=folder / f"{name}.new.prlx", overwrite=True, progress=False)
    return _of_diff(
        prlx.diff_traces(folder / "a.new.prlx", folder / "b.new.prlx", verify=True, progress=False).document
    )


def inspected(folder: Path) -> Answer:
    """``prlx inspect`` of both: how many warps and events, and whether something is lost."""
    counts, said = [], False
    for name in ("a", "b"):
        row = inspect_files([folder / f"{name}.prlx"], progress=False)["files"][0]
        known = row.get("recording") or {}
        counts.append((row["format"], known.get("warps_recorded"), row.get("events")))
        said = said or bool(row.get("error") or row.get("warnings") or known.get("losses", {}).get("truncated"))
    return Answer("passed", tuple(counts), said)


def _of_diff(document: Mapping[str, Any]) -> Answer:
    first = document.get("first") or {}
    lost = any((document.get("losses") or {}).get(side, {}).get("truncated") for side in "ab")
    return Answer(outcome_of(document), first.get("source_location"), bool(lost) or speaks(document))


def session_diff(folder: Path) -> Answer:
    """``prlx session diff run_a run_b``."""
    document = prlx.diff_traces(folder / "run_a", folder / "run_b", verify=True, progress=False).document
    late = sum(row["status"] == "diverged" for row in document["kernel_results"])
    parted = document["unmatched_a"] or document["unmatched_b"] or document["totals"]["errors"]
    return Answer(outcome_of(document), late, bool(parted) or speaks(document))


_SITES, _WARPS, _TEXTS = {1, 2}, {3, 10, 11}, {12}


def blocks(raw: bytes) -> list[tuple[int, int, int, int]]:
    """The blocks of a file of format v2: begin, end, kind, and how many things are in it."""
    found, at = [], 16
    while raw[at : at + 4] == b"P2BK":
        kind, stored, count = (
            raw[at + 4],
            *struct.unpack_from("<I", raw, at + 8),
            *struct.unpack_from("<I", raw, at + 16),
        )
        found.append((at, at + 32 + stored, kind, count))
        at += 32 + stored
    return found


def evidence_of(raw: bytes, *, warp: int | None, kinds: set[int]) -> list[tuple[int, int]]:
    """The bytes that an answer rests on: the preamble, blocks of the kinds, and those with the events of a warp, or of all."""
    ranges, before = [(0, 16)], 0
    for begin, end, kind, count in blocks(raw):
        if kind in _WARPS:
            if warp is None or before <= warp < before + count:
                ranges.append((begin, end))
            before += count
        elif kind in kinds:
            ranges.append((begin, end))
    return ranges


def flow_of(warp: int) -> Callable[[Path, Damage], bool]:
    """That two recordings differ in a warp rests on their headers, sites and events of that warp."""

    def whole(folder: Path, damage: Damage) -> bool:
        raw = (folder / damage.file).read_bytes()
        return not any(damage.touches(*part) for part in evidence_of(raw, warp=warp, kinds=_SITES))

    return whole


def stored(folder: Path, damage: Damage) -> bool:
    """That two recordings stored other values rests on all but the text of the kernel, and where blocks are."""
    raw = (folder / damage.file).read_bytes()
    return not any(damage.touches(*part) for part in evidence_of(raw, warp=None, kinds=_SITES | {6, 7, 8}))


def everything(folder: Path, damage: Damage) -> bool:
    """That recordings are the same rests on all of both but the text of the kernel."""
    raw = (folder / damage.file).read_bytes()
    known = [(begin, end) for begin, end, kind, _ in blocks(raw) if kind in _TEXTS]
    return any(begin <= damage.begin and damage.end <= end for begin, end in known)


def nothing(_: Path, __: Damage) -> bool:
    """``prlx convert`` refuses whatever is damaged: a copy would be whole. Formats without checksums do not know what is."""
    return False


def third_launch(_: Path, damage: Damage) -> bool:
    """That the third launch differs rests on its recordings."""
    return damage.kind == "beside" or (damage.kind not in ("missing", "older") and "launch2" not in damage.file)


def one_beside(_: Path, damage: Damage) -> bool:
    """An answer on traces rests on all of them; what has nothing to do with them may lie beside."""
    return damage.kind == "beside"


# Traces of nodes.


def unpacked(source: str, pattern: str) -> Callable[[Path], None]:
    """Traces of an example, without the compression that has checksums of its own."""

    def make(folder: Path) -> None:
        for path in sorted((EXAMPLES / source).rglob(pattern)):
            target = folder / path.relative_to(EXAMPLES / source)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".gz":
                target.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
            else:
                shutil.copy(path, target)

    return make


def public(data: Path, source: str, name: str = "") -> Callable[[Path], None]:
    """Traces that other people recorded: a file under another name, or an archive of one job's ranks."""
    path = data / "kineto" / source

    def make(folder: Path) -> None:
        if not path.name.endswith(".tar.gz"):
            (folder / name).write_bytes(gzip.decompress(path.read_bytes()))
            return
        with tarfile.open(path) as archive:
            for member in archive.getmembers():
                if member.isfile():
                    (folder / Path(member.name).name).write_bytes(archive.extractfile(member).read())  # type: ignore[union-attr]

    return make


def validate(folder: Path, *, salvage: bool = False) -> Answer:
    """``prlx validate FOLDER``."""
    document = prlx.validate_collectives(folder, salvage=salvage, progress=False).document
    return of_traces(document, None)


def stragglers(folder: Path, *, salvage: bool = False) -> Answer:
    """``prlx stragglers FOLDER``."""
    document = prlx.find_stragglers(folder, salvage=salvage, progress=False).document
    late = tuple(sorted(row["id"] for row in document["ranks"] if row["blamed"]))
    return of_traces(document, late)


def cycles(folder: Path, *, salvage: bool = False) -> Answer:
    """``prlx cycles TRACE``: what the levels are called, and how often they repeat."""
    document = prlx.find_cycles(folder / "before.json", salvage=salvage, progress=False).document
    found = tuple((one["name"], one["count"]) for level in document["levels"] for one in level["classes"])
    return Answer(outcome_of(document), found, speaks(document) or bool(document["losses"]))


def cycles_compare(folder: Path, *, salvage: bool = False) -> Answer:
    """``prlx cycles compare BEFORE AFTER``."""
    document = prlx.compare_cycles(
        folder / "before.json", folder / "after.json", salvage=salvage, progress=False
    ).document
    return of_traces(document, None)


def combine(folder: Path, *, salvage: bool = False) -> Answer:
    """``prlx combine FOLDER``: the nodes, and by how much their clocks are off, to what the bounds allow."""
    output = folder.with_name(f"{folder.name}-out.json")
    document = prlx.combine_traces(
        folder, output=output, format="chrome", overwrite=True, salvage=salvage, progress=False
    ).document
    offsets = tuple(
        (node["id"], node["offset_ns"], node["bound_ns"]["max"]) for node in document["nodes"] if node["bound_ns"]
    )
    return of_traces(document, Offsets(offsets))


def solve(folder: Path) -> Answer:
    """``prlx solve FOLDER/*.jsonl``: the offsets, to what the bounds allow."""
    document = prlx.solve_offsets(sorted(folder.glob("*.jsonl")), progress=False).document
    rows = ((node["id"], node["offset_ns"], node["bound_ns"]["max"]) for node in document["nodes"])
    found = Offsets(row for row in rows if row[0] != document["reference"])
    return of_traces(document, found)


def two_alignments(folder: Path) -> None:
    """Documents of the clocks of one job, by probes and by collectives."""
    for method in ("probes", "collectives"):
        with tempfile.TemporaryDirectory() as output:
            prlx.combine_traces(EXAMPLES / "jax_p4", output=Path(output) / "out", method=method, progress=False)
            shutil.copy(Path(output) / "out/alignment.json", folder / f"{method}.json")


def compare_alignments(folder: Path) -> Answer:
    """``prlx combine --compare probes.json collectives.json``."""
    document = prlx.compare_alignments(folder / "probes.json", folder / "collectives.json").document
    return of_traces(document, tuple((node["id"], node["status"]) for node in document["nodes"]))


def saved(folder: Path) -> None:
    """What ``prlx diff --json`` printed of two runs."""
    found = prlx.diff_traces(EXAMPLES / "two_runs/a.prlx", EXAMPLES / "two_runs/b.prlx", progress=False)
    (folder / "diff.json").write_text(json.dumps(found.document))


def report(folder: Path) -> Answer:
    """``prlx report diff.json -o out.md``."""
    output = folder.with_name(f"{folder.name}-out.md")
    asked = {
        "path": str(folder / "diff.json"),
        "outputs": [{"path": str(output), "format": "markdown"}],
        "overwrite": True,
        "fail_on": None,
    }
    return of_traces(_core.run("report", asked), None)


class Offsets(tuple[tuple[str, int, int], ...]):
    """Offsets of nodes with their bounds, equal where the bounds allow the same truth."""

    def __new__(cls, rows: Iterable[tuple[str, int, int]]) -> Offsets:
        return super().__new__(cls, rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Offsets) or [row[0] for row in self] != [row[0] for row in other]:
            return False
        return all(abs(x[1] - y[1]) <= x[2] + y[2] for x, y in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


_README = ROOT / "examples/README.md"
_RECORDINGS = {"foreign": _README}
_SESSION = {"foreign": _README, "beside": _README, "older": EXAMPLES / "two_runs/a3.prlx"}
_TRACES = {"foreign": _README, "beside": _README}

RECORDINGS = tuple(
    Scene(command, name, make, ask, nothing if command == "convert" else whole, others, checked)
    for command, ask in (("diff", diff), ("assert", asserted), ("convert", converted), ("inspect", inspected))
    for name, make, whole, others, checked in (
        ("two_runs", two_runs, flow_of(0), _RECORDINGS, True),
        ("twins", twins, everything, _RECORDINGS, True),
        ("many warps", many_warps, flow_of(2), _RECORDINGS, True),
        ("simulated", simulated, stored, _RECORDINGS, True),
        ("many warps v1", many_warps_v1, nothing, _RECORDINGS, False),
        ("twins v1", twins_v1, nothing, _RECORDINGS, False),
    )
    if checked or command != "inspect"  # it says what is there, and v1 has nothing to hold that against
)
SCENES = (
    *RECORDINGS,
    Scene("session diff", "folders", sessions, session_diff, third_launch, _SESSION, True, "run_*/*"),
    Scene("session diff", "manifests", with_manifests, session_diff, third_launch, _SESSION, True, "run_*/*.prlx"),
    Scene("validate", "chrome", unpacked("torch_ranks", "*.gz"), validate, one_beside, _TRACES),
    Scene("validate", "xspace", unpacked("jax_p4", "*.pb"), validate, one_beside, _TRACES, files="*/*"),
    Scene("stragglers", "xspace", unpacked("straggler_job/recorded", "*.pb"), stragglers, one_beside, _TRACES),
    Scene("combine", "chrome", unpacked("torch_ranks", "*.gz"), combine, one_beside, _TRACES),
    Scene("combine", "xspace and probes", unpacked("jax_p4", "*[bl]"), combine, one_beside, _TRACES, files="**/*"),
    *(
        Scene(command, f"{name}, salvaged", make, partial(ask, salvage=True), one_beside, others)
        for command, name, make, ask, others in (
            ("validate", "chrome", unpacked("torch_ranks", "*.gz"), validate, _TRACES),
            ("stragglers", "xspace", unpacked("straggler_job/recorded", "*.pb"), stragglers, _TRACES),
            ("combine", "chrome", unpacked("torch_ranks", "*.gz"), combine, _TRACES),
            ("cycles", "chrome", unpacked("serving", "before*.gz"), cycles, {"foreign": _README}),
            ("cycles compare", "chrome", unpacked("serving", "*.gz"), cycles_compare, {"foreign": _README}),
        )
    ),
    Scene("solve", "probes", unpacked("jax_p4", "probes*.jsonl"), solve, one_beside, {"foreign": _README}),
    Scene("combine --compare", "documents", two_alignments, compare_alignments, nothing, {"foreign": _README}),
    Scene("report", "diff", saved, report, nothing, {"foreign": _README}),
    Scene("cycles", "chrome", unpacked("serving", "before*.gz"), cycles, one_beside, {"foreign": _README}),
    Scene("cycles compare", "chrome", unpacked("serving", "*.gz"), cycles_compare, one_beside, {"foreign": _README}),
)


_JOB = "facebookresearch+param__dlrm_kineto.tar.gz"
_SERVER = "AMD-AGI+TraceLens__{}.json.gz"


def public_scenes(data: Path) -> tuple[Scene, ...]:
    """Recordings of other people, with the answer that prlx gives to them whole."""
    return (
        Scene("validate", "eight ranks", public(data, _JOB), validate, one_beside, _TRACES),
        *(
            Scene(
                "cycles", name, public(data, _SERVER.format(name), "before.json"), cycles, nothing, {"foreign": _README}
            )
            for name in ("vllm_decode_full__graph_execution", "sglang_Qwen3-8B_decode")
        ),
    )
