"""Records both forms of every kernel of this folder, compares them as a user would, and counts what was said truly.

    python tests/bugs/measure.py [--mode default|outputs|values|code|renamed|rerun] [--only ID,ID] [--fresh] [--folder DIR]

Prints a line for each bug: the line that the comparison reports first and whether it is true, the cause that it names, how
sure it is, and whether it is right; a line for each refactoring; the totals. What was measured with this build of prlx, these
kernels and this mode is not measured again. Ends with 1 where the list of README.md is wrong: a bug that is said to differ
and does not, or a refactoring that differs.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pairs import FIRST, HERE, SECOND, Row, causes, form, marked_text, rows

ROOT = HERE.parents[1]
TRITON = Path(os.environ.get("PRLX_TRITON", ROOT / "build/triton")) / "3.9.0"
SECTIONS = {"others": "Bugs", "own": "Bugs of our own"}
REFACTORED = "refactorings"
COMPARED = {"values": ("--values",)}  # by what was recorded: the flags that a user adds
DEFAULT = "default"
RERUN = "rerun"  # recorded by default, and again by prlx diff --rerun
# Where a document names places, in the order in which a reader meets them: the statement to look at stands under the verdict.
PLACES = (
    ("explanation", "statement"),
    ("first",),
    ("findings", 0),
    ("outputs", "first", "store"),
    ("outputs", "stores", 0),
)


@dataclass(frozen=True)
class Measured:
    """What was said of one kernel in two forms."""

    key: str
    id: str
    group: str  # others, own, refactorings
    kind: str = ""
    by: str = ""
    differs: bool = False  # the arrays after the launch, or what the simulator found
    status: str = ""  # of the document; "refused" where there is none
    reported: str = ""  # FILE:LINE, the first that a reader meets
    side: str = ""  # whose line that is
    true_lines: tuple[int, ...] = ()  # of that side
    line_true: bool = False
    cause: str = ""  # "" where none is named
    strength: str = ""
    cause_right: bool = False
    verdict: str = ""


def modules() -> dict[str, str]:
    """By kernel, the module that it stands in."""
    found = {}
    for path in (*sorted(HERE.glob("others_*.py")), HERE / "own.py", HERE / f"{REFACTORED}.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.decorator_list and not node.name.startswith("_"):
                found[node.name] = path.stem
    return found


def listed() -> Iterator[tuple[str, Row]]:
    """Every kernel with its group: the rows of README.md, and the refactorings, which have none."""
    for group, title in SECTIONS.items():
        yield from ((group, row) for row in rows(title))
    for name, module in modules().items():
        if module == REFACTORED:
            yield REFACTORED, Row(name, "own", "nothing", "", "", "equal")


class Ledger:
    """What was measured before, by key; a line for each."""

    def __init__(self, path: Path, *, fresh: bool) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if fresh:
            path.unlink(missing_ok=True)
        lines = path.read_text().splitlines() if path.exists() else []
        self.known = {
            row["key"]: Measured(**{**row, "true_lines": tuple(row["true_lines"])}) for row in map(json.loads, lines)
        }

    def add(self, one: Measured) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(asdict(one)) + "\n")


def build() -> str:
    """The build of prlx: another one says other things."""
    core = sorted((ROOT / "python/prlx").glob("**/*.so"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in core)).hexdigest()


def key_of(row: Row, module: str, how: str) -> str:
    """What a measurement depends on: both forms, how they are launched and recorded, and what counts as right."""
    text = marked_text(HERE / f"{module}.py", row.id)
    parts = [how, str(row), str(sorted(causes().get(row.kind, ()))), str(form(text, FIRST)), str(form(text, SECOND))]
    parts += [(HERE / name).read_text() for name in (f"{module}.py", "record.py", "case.py")]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def run(*words: str | Path, cache: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of this Python with Triton, without settings of the person who measures."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PRLX_", "TRITON_"))}
    more = {"PYTHONPATH": str(TRITON), "TRITON_CACHE_DIR": str(cache), "TRITON_DEFAULT_FP_FUSION": "1", "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, *map(str, words)], env={**kept, **more}, capture_output=True, text=True, timeout=600, check=False
    )  # fmt: skip


def measure(group: str, row: Row, module: str, folder: Path, mode: str, key: str) -> Measured:
    """Record both forms and compare them."""
    place = folder / row.id
    place.mkdir(parents=True, exist_ok=True)
    kernel, seen = place / "kernel.py", {}
    for which in (FIRST, SECOND):
        done = run(
            HERE / "record.py",
            module,
            row.id,
            which,
            kernel,
            place / f"{which}.prlx",
            DEFAULT if mode == RERUN else mode,
            cache=folder / "cache",
        )
        if done.returncode != 0:
            raise RuntimeError(f"{row.id}, {which} form: {done.stderr[-1500:]}")
        seen[which] = json.loads(done.stdout.splitlines()[-1])
    words = ("diff", place / f"{FIRST}.prlx", place / f"{SECOND}.prlx", "--explain", "--json")
    words += COMPARED.get(mode, ())
    if mode == RERUN:
        words += (
            "--rerun",
            shlex.join(map(str, (sys.executable, HERE / "record.py", module, row.id, "{side}", kernel, "{out}"))),
        )
    said = run("-m", "prlx", *words, cache=folder / "cache")
    text = marked_text(HERE / f"{module}.py", row.id)
    true = {which: form(text, which).true_lines for which in (FIRST, SECOND)}
    common = {
        "key": key,
        "id": row.id,
        "group": group,
        "kind": row.kind,
        "by": row.by,
        "differs": seen[FIRST] != seen[SECOND],
    }
    if not said.stdout.startswith("{"):
        return Measured(**common, status="refused", verdict=said.stderr.strip())
    return judged(json.loads(said.stdout), kernel, true, **common)


def judged(document: dict[str, Any], kernel: Path, true: dict[str, tuple[int, ...]], **common: Any) -> Measured:
    """Hold what a document says against what is true."""
    location, side = reported(document)
    file, line = location.rsplit(":", 3)[0], location.rsplit(":", 3)[-2] if location else "0"
    why = document.get("explanation") or {}
    cause = why.get("class", "unknown")
    named = "" if cause == "unknown" else cause
    return Measured(
        **common,
        status=document["status"],
        reported=f"{Path(file).name}:{line}" if location else "",
        side=side,
        true_lines=true[side] if side else (),
        line_true=bool(location) and Path(file) == kernel and int(line) in true[side],
        cause=named,
        strength=why.get("confidence", "") if named else "",
        cause_right=bool(named) and named in causes().get(common["kind"], set()),
        verdict=document["verdict"],
    )


def reported(document: dict[str, Any]) -> tuple[str, str]:
    """The first place that a document names, "file:function:line:column", and the form whose line it is."""
    for path in PLACES:
        found: Any = document
        for step in path:
            listed_there = found or ([] if isinstance(step, int) else {})
            found = next(iter(listed_there[step:]), None) if isinstance(step, int) else listed_there.get(step)
        if found and found.get("source_location"):
            only_b = "B" in (found.get("in_trace"), found.get("side")) or found.get("count_a") == 0
            return found["source_location"], SECOND if only_b else FIRST
    return "", ""


def complaints(measured: list[Measured], states: dict[str, str]) -> list[str]:
    """Where the list is wrong."""
    found = []
    for one in measured:
        expected = states[one.id] == "differs"
        if one.differs != expected:
            found.append(
                f"{one.id}: listed as {states[one.id]!r}, and the two forms {'differ' if one.differs else 'are equal'}"
            )
    return found


def table(measured: list[Measured]) -> Iterator[str]:
    """A line for each kernel."""
    for one in measured:
        if one.group == REFACTORED:
            yield f"{one.id:24} {'ok   ' if equal(one) else 'WRONG'} {one.status:14} {one.cause} {one.strength}".rstrip()
        elif not one.differs:
            yield f"{one.id:24} -     does not differ: {one.status}"
        else:
            line = "true " if one.line_true else "WRONG"
            lines = ",".join(map(str, one.true_lines)) or "?"
            named = (
                f"{one.cause} ({one.strength}) {'right' if one.cause_right else 'WRONG'}" if one.cause else "no cause"
            )
            yield f"{one.id:24} {line} {one.reported or one.status:18} of {lines:12} {one.kind:15} {named}"


def equal(one: Measured) -> bool:
    """Whether a refactoring is told as one: the same results, and no cause."""
    return one.status in ("identical", "same-results") and not one.cause


def share(held: list[bool]) -> str:
    """How many, of how many, in percent."""
    return f"{sum(held)} of {len(held)}" + (f" ({100 * sum(held) / len(held):.0f} %)" if held else "")


def totals(measured: list[Measured]) -> Iterator[str]:
    """What the lines add up to."""
    for title, groups in (("others", ["others"]), ("own", ["own"]), ("all bugs", list(SECTIONS))):
        bugs = [one for one in measured if one.group in groups and one.differs]
        if not bugs:
            continue
        named = [one for one in bugs if one.cause]
        bad = [one for one in named if not one.cause_right and one.strength == "strong"]
        parts = [f"line true {share([one.line_true for one in bugs])}"]
        for by in ("control flow", "data"):
            parts.append(f"{by} {share([one.line_true for one in bugs if one.by == by])}")
        parts.append(f"cause named {share([bool(one.cause) for one in bugs])}")
        parts.append(f"right {share([one.cause_right for one in named])}, wrong and strong {len(bad)}")
        parts.append(f"told as diverged {share([one.status == 'diverged' for one in bugs])}")
        yield f"{title}: " + "; ".join(parts)
    ways = [one for one in measured if one.group == REFACTORED]
    if ways:
        yield f"refactorings: same results and no cause {share(list(map(equal, ways)))}"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument(
        "--mode",
        default=DEFAULT,
        choices=(DEFAULT, "outputs", "values", "code", "renamed", RERUN),
        help="what is recorded",
    )
    arguments.add_argument("--only", default="", help="kernels, with commas")
    arguments.add_argument("--fresh", action="store_true", help="forget what was measured before")
    arguments.add_argument("--folder", type=Path, default=ROOT / "build/bugs", help="default: build/bugs")
    options = arguments.parse_args()
    if not (TRITON / "triton").is_dir():
        print(f"no Triton under {TRITON}: make bugs installs it", file=sys.stderr)
        return 1
    folder = options.folder.resolve() / options.mode
    ledger = Ledger(folder / "results.jsonl", fresh=options.fresh)
    known, of, this = modules(), {one for one in options.only.split(",") if one}, build()
    measured, states = [], {}
    for group, row in listed():
        if of and row.id not in of:
            continue
        key = key_of(row, known[row.id], f"{this}{options.mode}")
        one = ledger.known.get(key)
        if one is None:
            one = measure(group, row, known[row.id], folder, options.mode, key)
            ledger.add(one)
        measured.append(one)
        states[row.id] = row.state
        print(*table([one]), flush=True)
    print(*totals(measured), sep="\n")
    wrong = complaints(measured, states)
    for text in wrong:
        print(f"the list is wrong: {text}", file=sys.stderr)
    return 1 if wrong or not measured else 0


if __name__ == "__main__":
    sys.exit(main())
