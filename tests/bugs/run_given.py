"""Records the pairs of given.py or the commits of commits.py, commits_fresh.py, commits_third.py and so on.

measure_commits.py runs this. From this folder:

PYTHONPATH=../../build/triton/3.9.0 python run_given.py SET FOLDER [NUMBERS]

SET is given, commits, fresh, third, fourth, fifth, sixth, tidied, tidied-sixth or equal.

Writes FOLDER/NUMBER/a.prlx and b.prlx, and prints a JSON document for each: the number, its name, whether what the kernel wrote
differs, and the lines of each form that are true.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from case import Case
from commits import BREAKS
from commits_fifth import FIFTH
from commits_fourth import FOURTH
from commits_fresh import FRESH
from commits_sixth import SIXTH
from commits_third import THIRD
from given import PAIRS
from pairs import FIRST, HERE, SECOND, form, marked_text, renamed
from record import digest

import prlx

RECORDED = {"overwrite": True, "outputs": "1MiB", "inputs": "1MiB"}
BROKEN = BREAKS | FRESH | THIRD | FOURTH | FIFTH | SIXTH
MODULES = (
    "refactorings", "commits", "commits_fresh", "commits_third", "commits_fourth", "commits_fifth", "commits_fifth_more",
    "commits_fifth_rest", "commits_sixth", "commits_sixth_more", "commits_sixth_rest",
)  # fmt: skip


def cases() -> dict[str, tuple[str, Case]]:
    """By kernel, the module that it stands in and how it is launched."""
    return {case.id: (module, case) for module in MODULES for case in importlib.import_module(module).CASES}


def loaded(path: Path, text: str, name: str) -> Any:
    """A kernel out of a file that is written first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(f"kernel_{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def committed(number: int, name: str, module: str) -> tuple[str, str, tuple[int, ...], tuple[int, ...]]:
    """The text before a commit and after it, and the lines of both that are true."""
    marked = marked_text(HERE / f"{module}.py", name)
    first, second = form(marked, FIRST), form(marked, SECOND)
    if name not in BROKEN:
        return first.text, second.text, first.true_lines, second.true_lines
    right, wrong = BROKEN[name]
    assert second.text.count(right) == 1, f"{name}: {right!r} stands {second.text.count(right)} times"
    at = second.text[: second.text.index(right)].count("\n") + 1
    text = second.text.replace(right, wrong)
    before = [i for i, line in enumerate(first.text.splitlines(), 1) if right in line]
    return first.text, renamed(text) if name in BREAKS and number % 2 else text, tuple(before), (at,)


def tidied(_number: int, name: str, module: str) -> tuple[str, str, tuple[int, ...], tuple[int, ...]]:
    """The text before a commit and after it, were nothing broken: no line is true."""
    marked = marked_text(HERE / f"{module}.py", name)
    return form(marked, FIRST).text, form(marked, SECOND).text, (), ()


def launched(kernel: Any, case: Case, arguments: dict[str, Any], path: Path, **record: Any) -> dict[str, str]:
    """Launch a kernel and record it; what its arrays hold after that, hashed."""
    known = inspect.signature(kernel.fn).parameters
    assert set(arguments) <= set(known), sorted(set(arguments) - set(known))
    with prlx.enable(device="simulator", progress=False), prlx.record(path, **RECORDED, **record):
        kernel[case.grid](**arguments, **case.options)
    return {
        key: digest(np.ascontiguousarray(value)) for key, value in arguments.items() if isinstance(value, np.ndarray)
    }


def commits(what: str, folder: Path, only: set[int], **record: Any) -> Iterator[dict[str, Any]]:
    """The commits, each with its truth."""
    known, (names, texts) = cases(), KINDS[what]
    for number, name in enumerate(names):
        if only and number not in only:
            continue
        module, case = known[name]
        before, after, true_a, true_b = texts(number, name, module)
        seen = []
        for side, text in (("a", before), ("b", after)):
            place = folder / str(number) / side
            kernel = loaded(place / "kernel.py", text, name)
            arrays = launched(
                kernel, case, case.arguments(np.random.default_rng(1)), place.parent / f"{side}.prlx", **record
            )
            seen.append(arrays)
        yield {"number": number, "name": name, "differs": seen[0] != seen[1], "true_a": true_a, "true_b": true_b}


OWN = [case.id for case in importlib.import_module("commits").CASES]
# By what is asked for, the kernels and what makes the two texts of one.
KINDS = {
    "commits": ([*BREAKS, *OWN], committed),
    "fresh": ([*FRESH], committed),
    "third": ([*THIRD], committed),
    "fourth": ([*FOURTH], committed),
    "fifth": ([*FIFTH], committed),
    "sixth": ([*SIXTH], committed),
    "tidied": ([*FIFTH], tidied),
    "tidied-sixth": ([*SIXTH], tidied),
    "equal": ([*BREAKS, *FRESH, *THIRD, *FOURTH], tidied),
}


def given(folder: Path, only: set[int], **record: Any) -> Iterator[dict[str, Any]]:
    """The pairs of one text with two arguments."""
    known = cases()
    for number, (name, argument, change) in enumerate(PAIRS):
        if only and number not in only:
            continue
        module, case = known[name]
        place = folder / str(number)
        kernel = loaded(place / "kernel.py", form(marked_text(HERE / f"{module}.py", name), FIRST).text, name)
        seen = []
        for side in "ab":
            arguments = case.arguments(np.random.default_rng(1))
            if side == "b":
                arguments[argument] = change(arguments[argument])
            seen.append(launched(kernel, case, arguments, place / f"{side}.prlx", **record))
        yield {"number": number, "name": name, "argument": argument, "differs": seen[0]["out"] != seen[1]["out"]}


def main() -> None:
    warnings.filterwarnings("ignore", category=prlx.FindingWarning)
    warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")
    only = {int(one) for one in sys.argv[3].split(",")} if len(sys.argv) > 3 else set()
    what, folder = sys.argv[1], Path(sys.argv[2])
    for row in given(folder, only) if what == "given" else commits(what, folder, only):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
