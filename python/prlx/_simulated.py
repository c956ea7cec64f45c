"""What a program's launches did on the simulator: one document of all of them, and the pages that are made of it."""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core, _request
from ._units import plural
from ._verdict import Evidence

if TYPE_CHECKING:
    from ._simulation import Simulation

COUNTS = (
    "branches",
    "divergent",
    "global_loads",
    "global_stores",
    "global_bytes",
    "global_sectors",
    "shared_accesses",
    "bank_conflicts",
    "atomics",
    "barriers",
)
_SUMS = ("instructions", "lane_instructions", *COUNTS)


class Fidelity:
    """Adds up how far the answers of a kernel's launches can be trusted, by line."""

    def __init__(self) -> None:
        self._approximated: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._decides: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._more = 0

    def add(self, fidelity: Mapping[str, Any]) -> None:
        """Add what a launch says, as in ``prlx.simulation/1``."""
        for rows, known, names in (
            (fidelity["approximated"], self._approximated, ("instruction", "file", "line")),
            (fidelity["decides"], self._decides, ("use", "instruction", "file", "line")),
        ):
            for row in rows:
                key = tuple(row.get(name) for name in names)
                if key in known:
                    known[key]["count"] += row["count"]
                elif len(known) < _FIDELITY_MOST:
                    known[key] = dict(row)
                else:
                    self._more += 1
                if "from" in row and key in known:
                    known[key]["from"] = list(dict.fromkeys([*known[key]["from"], *row["from"]]))
        self._more += fidelity["more"]

    def document(self) -> dict[str, Any]:
        """The same of all launches together."""
        return {
            "exact": not self._approximated,
            "approximated": list(self._approximated.values()),
            "decides": list(self._decides.values()),
            "more": self._more,
        }


class Run:
    """Adds up launches by kernel, so that a program of many launches makes a small document."""

    def __init__(self, script: str, *, noun: str = "script") -> None:
        self._script = script
        self._noun = noun
        self._launches = 0
        self._repeated = 0
        self._kernels: dict[str, dict[str, Any]] = {}
        self._findings: dict[tuple[str, str, str, int, str], dict[str, Any]] = {}
        self._more = 0
        self._stops: list[dict[str, Any]] = []
        self._more_stops = 0
        self._asked: dict[str, bool] = {}  # lines that were asked for, and whether a kernel had them
        self._texts: dict[str, Callable[[], Mapping[str, Any]]] = {}
        self._touched: dict[str, dict[str, Any]] = {}
        self._fidelity: dict[str, Fidelity] = {}
        self._refused: dict[tuple[str, str], int] = {}
        self._open: dict[tuple[str, str], None] = {}  # what launches missed, and why

    @property
    def launches(self) -> int:
        """How many launches were added."""
        return self._launches

    def add(self, simulation: Simulation, *, repeated: bool = False) -> None:
        """Count a launch; what one that was ``repeated`` would have done is what the document says."""
        document = simulation.document
        self._repeated += repeated
        kernel = self._kernels.setdefault(
            document["kernel"],
            {
                "kernel": document["kernel"],
                "launches": 0,
                "blocks": 0,
                "warps": 0,
                **dict.fromkeys(_SUMS, 0),
                "lines": {},
            }
            | ({"origin": document["origin"]} if document.get("origin") else {}),
        )
        kernel["launches"] += 1
        for name in ("blocks", "warps", "instructions", "lane_instructions"):
            kernel[name] += document[name]
        for name in COUNTS:
            kernel[name] += document["totals"][name]
        for row in document["lines"]:
            line = kernel["lines"].setdefault(
                (row["file"], row["line"]), {"file": row["file"], "line": row["line"], **dict.fromkeys(_SUMS, 0)}
            )
            for name in _SUMS:
                line[name] += row[name]
        for found in document["findings"]:
            self._find(found, self._launches)
        self._more += document["more_findings"]
        self._fidelity.setdefault(document["kernel"], Fidelity()).add(document["fidelity"])
        if simulation.texts is not None:
            self._texts.setdefault(document["kernel"], simulation.texts)
        if document["touched"] is not None and document["kernel"] not in self._touched:
            head = {"launch": self._launches, "grid": document["grid"]}
            self._touched[document["kernel"]] = head | document["touched"]
        self._stop(document)
        self._open.update({(each["what"], each["why"]): None for each in document["conclusion"]["missing"]})
        self._launches += 1

    def note(self, found: Mapping[str, Any]) -> None:
        """Count what the program itself did wrong: a finding in a call of the runtime, which no warp made."""
        place = {name: found[name] for name in ("file", "line", "passed_over") if name in found}
        nobody = {"instruction": "", "block": [0, 0, 0], "warp": 0, "lane": 0, "lanes": [], "where": []}
        row = {"check": found["check"], "message": found["message"], "kernel": found["call"], "count": 1}
        self._find({**row, **place, **nobody}, max(self._launches - 1, 0))

    def refuse(self, kernel: str, message: str) -> None:
        """Count a launch that the simulator did not execute."""
        self._refused[kernel, message] = self._refused.get((kernel, message), 0) + 1

    def _stop(self, document: Mapping[str, Any]) -> None:
        """Keep what lanes held, of the first launches."""
        found = document["stopped"]
        if found is None:
            return
        for place in found["places"]:
            text = f"{place['file']}:{place['line']}"
            self._asked[text] = self._asked.get(text, False) or text not in found["absent"]
        room = STOPS_MOST - len(self._stops)
        head = {"kernel": document["kernel"], "launch": self._launches}
        self._stops += [head | row for row in found["stops"][:room]]
        self._more_stops += found["more"] + max(len(found["stops"]) - room, 0)

    @property
    def absent(self) -> list[str]:
        """The lines that were asked for and that no kernel has an instruction of."""
        return [text for text, there in self._asked.items() if not there]

    def _find(self, found: Mapping[str, Any], launch: int) -> None:
        key = (found["kernel"], found["check"], found.get("file", ""), found.get("line", 0), found["instruction"])
        known = self._findings.get(key)
        if known is None:
            self._findings[key] = {**found, "launch": launch}
        else:
            known["count"] += found["count"]

    def document(self, *, recording: Path | None, status: int, pictures: bool = False) -> dict[str, Any]:
        """The document ``prlx.simulate/1``: kernels and findings in the order in which they first appeared.

        ``pictures`` adds what only pages and comparisons show: the text of kernels, and which block touched what.
        """
        kernels = [
            {
                **kernel,
                "lines": [kernel["lines"][key] for key in sorted(kernel["lines"])],
                "fidelity": self._fidelity[name].document(),
                "texts": self._text_of(kernel) if pictures else None,
                "touched": self._touched.get(name) if pictures else None,
            }
            for name, kernel in self._kernels.items()
        ]
        findings = list(self._findings.values())
        conclusion = self._conclude(status)
        return {
            "schema": "prlx.simulate/1",
            "script": self._script,
            "status": _STATUS[conclusion["outcome"]],
            "conclusion": conclusion,
            "exit_status": status,
            "launches": self._launches,
            "instructions": sum(kernel["instructions"] for kernel in kernels),
            "kernels": kernels,
            "findings": findings,
            "more_findings": self._more,
            "recording": None if recording is None else os.path.relpath(recording),
            "stops": self._stops,
            "more_stops": self._more_stops,
            "repeated": self._repeated,
            "refused": [
                {"kernel": kernel, "message": message, "count": count}
                for (kernel, message), count in self._refused.items()
            ],
        }

    def _conclude(self, status: int) -> dict[str, Any]:
        """Whether the launches passed their checks; of a script that failed nobody knows what it would have launched yet."""
        evidence = Evidence()
        refused = sum(self._refused.values())
        evidence.looked("launches", self._launches, of=self._launches + refused)
        evidence.looked("warps", sum(kernel["warps"] for kernel in self._kernels.values()))
        for (kernel, message), count in self._refused.items():
            evidence.missed(f"launches of {kernel}", message, count=count)
        for what, why in self._open:
            evidence.missed(what, why)
        if status:
            evidence.missed(f"what the {self._noun} does later", self._why_ended(status))
        found = len(self._findings) + self._more
        return evidence.check(found > 0, plural(found, "finding") if found else "no finding")

    def _why_ended(self, status: int) -> str:
        """The exit code; that of a program whose launches were passed over may be what came of that."""
        over = sum(count for (_, message), count in self._refused.items() if message == PASSED_OVER)
        ended = f"it ended with exit code {status}"
        if not over:
            return ended
        return f"{ended} after {plural(over, 'launch')} that --launches passed over: its own check may miss what they compute"

    def _text_of(self, kernel: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The text of a kernel as it was compiled; else what is in the files that its lines name."""
        known = self._texts.get(kernel["kernel"])
        found = None if known is None else known()
        if found and found["functions"]:
            return found
        functions = [text for file in _files(kernel["lines"]) if (text := _excerpt(file, kernel["lines"]))]
        return {"functions": functions, "constants": []} if functions else None


PASSED_OVER = "passed over, as --launches says: what it would have computed is not there"
_STATUS = {"passed": "clean", "failed": "findings", "inconclusive": "inconclusive"}
# Files that hold code: a kernel says which files are read, and anybody can write one.
_CODE = frozenset(f".{ending}" for ending in (
    "py", "pyi", "cu", "cuh", "c", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "inl", "inc", "hip", "cl", "ll", "ptx", "jl",
))  # fmt: skip
STOPS_MOST = 100  # of a program
_FIDELITY_MOST = 100  # approximations of a kernel, and what they decided
_AROUND = 2  # lines before the first and behind the last that did something
_EXCERPT_MOST = 400  # lines
_FILES_MOST = 8


def _files(lines: Iterable[tuple[str, int]]) -> list[str]:
    """The files of lines, those with the most lines first; libraries are left out."""
    counts: dict[str, int] = {}
    for file, line in lines:
        if line and Path(file).suffix in _CODE and "triton/language/" not in file.replace("\\", "/"):
            counts[file] = counts.get(file, 0) + 1
    return sorted(counts, key=lambda file: (-counts[file], file))[:_FILES_MOST]


def _excerpt(file: str, lines: Iterable[tuple[str, int]]) -> dict[str, Any] | None:
    """The part of a file that lines are in."""
    numbers = [line for name, line in lines if name == file and line]
    first = max(min(numbers) - _AROUND, 1)
    text = linecache.getlines(file)[first - 1 : min(max(numbers) + _AROUND, first + _EXCERPT_MOST)]
    return {"file": file, "function": Path(file).name, "first_line": first, "text": "".join(text)} if text else None


def save_page(document: Mapping[str, Any], path: Path, *, overwrite: bool) -> None:
    """Write the page of ``prlx.simulate/1`` or ``prlx.simulate-compare/1``.

    Raises
    ------
    FileAccessError
        The file exists and ``overwrite`` was not given, or cannot be written.
    """
    output = {"format": "html", "path": _request.absolute(path)}
    _core.run("report", {"document": dict(document), "outputs": [output], "overwrite": overwrite})


def compared(
    before: Mapping[str, Any], after: Mapping[str, Any], written: Mapping[str, Any] | None = None
) -> Mapping[str, Any]:
    """Two versions of a program line by line, ``prlx.simulate-compare/1``, of documents that were made with ``pictures``.

    ``written`` is how what they wrote compares, None where nobody looked.
    """
    asked = {"a": dict(before), "b": dict(after)}
    return _core.run("simulate_compare", asked if written is None else {**asked, "written": dict(written)})
