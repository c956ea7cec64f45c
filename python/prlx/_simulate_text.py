"""What a program's launches did on the simulator: one document of all of them, and the text that shows it."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._lines import Look, clean, grid, wrapped
from ._simulation import COUNTS, Finding, busiest, percent, share
from ._units import format_bytes, format_count, plural

if TYPE_CHECKING:
    from ._simulation import Simulation

_SUMS = ("instructions", "lane_instructions", *COUNTS)


class Run:
    """Adds up launches by kernel, so that a program of many launches makes a small document."""

    def __init__(self, script: str) -> None:
        self._script = script
        self._launches = 0
        self._kernels: dict[str, dict[str, Any]] = {}
        self._findings: dict[tuple[str, str, str, int, str], dict[str, Any]] = {}
        self._more = 0

    def add(self, simulation: Simulation) -> None:
        """Count a launch."""
        document = simulation.document
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
        self._launches += 1

    def _find(self, found: Mapping[str, Any], launch: int) -> None:
        key = (found["kernel"], found["check"], found.get("file", ""), found.get("line", 0), found["instruction"])
        known = self._findings.get(key)
        if known is None:
            self._findings[key] = {**found, "launch": launch}
        else:
            known["count"] += found["count"]

    def document(self, *, recording: Path | None, status: int) -> dict[str, Any]:
        """The document ``prlx.simulate/1``: kernels and findings in the order in which they first appeared."""
        kernels = [
            {**kernel, "lines": [kernel["lines"][key] for key in sorted(kernel["lines"])]}
            for kernel in self._kernels.values()
        ]
        findings = list(self._findings.values())
        return {
            "schema": "prlx.simulate/1",
            "script": self._script,
            "status": "findings" if findings else "clean",
            "exit_status": status,
            "launches": self._launches,
            "instructions": sum(kernel["instructions"] for kernel in kernels),
            "kernels": kernels,
            "findings": findings,
            "more_findings": self._more,
            "recording": None if recording is None else os.path.relpath(recording),
        }


def render(document: Mapping[str, Any], look: Look, *, lines: int = 10) -> Iterator[str]:
    """The lines of a document ``prlx.simulate/1``."""
    found, status = len(document["findings"]), document["exit_status"]
    ended = f"the script ended with exit code {status}"
    verdict = plural(found, "finding") if found else f"no finding before {ended}" if status else "no finding"
    if not document["launches"]:
        verdict = "nothing was checked"
    if lines_found := {(row["file"], row["line"]) for row in document["findings"] if row.get("line")}:
        verdict += f" at {plural(len(lines_found), 'line')}"
    head = f"{plural(len(document['kernels']), 'kernel')}, {plural(document['launches'], 'launch')}, "
    head += f"{plural(document['instructions'], 'warp instruction')}: "
    sound = document["launches"] and not status
    yield head + look.style(verdict, "red" if found else "green" if sound else "yellow", "bold")
    if not document["launches"]:
        yield f"  {ended} before its first launch" if status else "  the script launched no Triton kernel"
        return
    yield ""
    rows = [
        (
            clean(row["kernel"]),
            format_count(row["launches"]),
            format_count(row["warps"]),
            format_count(row["instructions"]),
            percent(share(row)),
            _of(row["divergent"], row["branches"]),
            format_bytes(row["global_bytes"]),
            format_count(row["bank_conflicts"]),
        )
        for row in document["kernels"]
    ]
    headings = ("kernel", "launches", "warps", "instructions", "lanes", "divergent", "global", "conflicts")
    yield from grid(headings, rows, look, right=(1, 2, 3, 4, 5, 6, 7))
    yield from _findings(document, look)
    yield from _lines(document, look, lines)


def _of(part: int, whole: int) -> str:
    return f"{format_count(part)} of {format_count(whole)}" if whole else ""


def _findings(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """One entry for each check and line: a line of the source is many instructions that go wrong together."""
    places: dict[tuple[str, str, str, int], list[Mapping[str, Any]]] = {}
    for row in document["findings"]:
        key = (row["check"], row["kernel"], row.get("file", ""), row.get("line", 0))
        places.setdefault(key if key[-1] else (*key[:2], row["instruction"], 0), []).append(row)
    for rows in places.values():
        finding = Finding.of(rows[0])
        yield ""
        place = f"{_relative(finding.file)}:{finding.line}" if finding.line else finding.place
        yield f"{look.style(finding.check, 'red', 'bold')} at {look.style(clean(place), 'bold')} in {clean(finding.kernel)}"
        if text := _source(finding.file, finding.line):
            yield f"    {finding.line:>5} | {clean(text)}"
        yield f"  {clean(finding.message)}"
        times = sum(row["count"] for row in rows)
        more = f"; {format_count(times)} times in all" if times > 1 else ""
        if len(rows) > 1:
            more += f", in {plural(len(rows), 'instruction')} of this line"
        yield f"  launch {rows[0]['launch']}, {finding.who}{more}"
        if finding.origin is not None and finding.origin.text:
            yield from wrapped("  computes ", clean(finding.origin.text), look)
    if document["more_findings"]:
        yield ""
        yield f"{plural(document['more_findings'], 'more finding')} were counted and not kept"


def _lines(document: Mapping[str, Any], look: Look, count: int) -> Iterator[str]:
    total = document["instructions"]
    rows = [
        (
            f"{Path(row['file']).name}:{row['line']}" if row["line"] else "no line",
            percent(row["instructions"] / total) if total else "",
            percent(share(row)),
            format_bytes(row["global_bytes"]) if row["global_bytes"] else "",
            format_count(row["bank_conflicts"]) if row["bank_conflicts"] else "",
            clean(_source(row["file"], row["line"])),
        )
        for row in busiest(_all_lines(document["kernels"]), count)
    ]
    if rows:
        yield ""
        yield look.style("busiest lines", "bold")
        headings = ("line", "instructions", "lanes", "global", "conflicts", "")
        yield from grid(headings, rows, look, indent=2, right=(1, 2, 3, 4))


def _all_lines(kernels: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for kernel in kernels:
        yield from kernel["lines"]


def _relative(path: str) -> str:
    """A path as seen from here, where it lies below."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path


def _source(path: str, line: int) -> str:
    return linecache.getline(path, line).strip() if path and line else ""
