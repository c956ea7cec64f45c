"""What a program's launches did on the simulator, as text."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ._lines import Look, clean, grid, wrapped
from ._simulated import PASSED_OVER, STOPS_MOST
from ._simulation import Finding, busiest, percent, share
from ._stops import Stop
from ._units import format_bytes, format_count, plural


def render(document: Mapping[str, Any], look: Look, *, lines: int = 10, noun: str = "script") -> Iterator[str]:
    """The lines of a document ``prlx.simulate/1``; ``noun`` is what ran."""
    found, status = len(document["findings"]), document["exit_status"]
    ended = f"the {noun} ended with exit code {status}"
    verdict = plural(found, "finding") if found else f"no finding before {ended}" if status else "no finding"
    if not document["launches"]:
        verdict = "nothing was checked"
    if lines_found := {(row["file"], row["line"]) for row in document["findings"] if row.get("line")}:
        verdict += f" at {plural(len(lines_found), 'line')}"
    head = f"{plural(len(document['kernels']), 'kernel')}, {plural(document['launches'], 'launch')}, "
    head += f"{plural(document['instructions'], 'warp instruction')}: "
    outcome = document["conclusion"]["outcome"]
    yield head + look.style(verdict, {"failed": "red", "passed": "green"}.get(outcome, "yellow"), "bold")
    over = any(row["message"] == PASSED_OVER for row in document["refused"])
    if document["launches"] and (not status or over):
        for row in document["conclusion"]["missing"]:
            yield f"  not looked at: {clean(row['what'])}, {clean(row['why'])}"
    if not document["launches"]:
        yield from _refused(document, look)
        kernels = "kernel" if noun == "program" else "Triton kernel"
        yield f"  {ended} before its first launch" if status else f"  the {noun} launched no {kernels}"
        return
    if document.get("repeated"):
        yield f"  {plural(document['repeated'], 'launch')} found what an earlier one found, and were not executed again"
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
    yield from _fidelity(document, look)
    yield from _stopped(document, look, 3 if lines <= 10 else STOPS_MOST)
    yield from _lines(document, look, lines)


_FIGURES = (("instructions", format_count), ("global_bytes", format_bytes), ("bank_conflicts", format_count))


def render_comparison(document: Mapping[str, Any], look: Look, *, lines: int = 20) -> Iterator[str]:
    """The lines of a document ``prlx.simulate-compare/1``: lines that did something else, most instructions first."""
    colour = {"same": "green", "differs": "yellow"}.get(document["status"], "red")
    yield look.style(clean(document["verdict"]), colour, "bold")
    yield from _candidates(document["written"], look)
    for side, other in (("a", "b"), ("b", "a")):
        for name in document[f"only_{side}"]:
            script = clean(document[side]["script"])
            yield f"  {clean(name)} was launched by {script} only, not by {clean(document[other]['script'])}"
    for kernel in document["kernels"]:
        changed = [row for row in kernel["lines"] if row["a"] != row["b"]]
        if not changed:
            continue
        yield ""
        yield look.style(clean(kernel["kernel_b"]), "bold") + ": " + ", ".join(_sums(kernel["a"], kernel["b"]))
        if kernel["paired"] == "number":
            yield "  the text of one version is not known: lines stand for each other by their numbers"
        for row in kernel["constants"]:
            now, before = (clean(row[side] or "no constant") for side in "ba")
            yield f"  compiled for {clean(row['name'])} = {now}, before {before}"
        changed.sort(key=lambda row: -_weight(row))
        rows = [_changed_row(row) for row in changed[:lines]]
        yield from grid(
            ("a", "b", "instructions", "global", "conflicts", ""), rows, look, indent=2, right=(0, 1, 2, 3, 4)
        )
        if len(changed) > lines:
            yield f"  and {plural(len(changed) - lines, 'more line')}"


_CANDIDATES = 12


def _candidates(written: Mapping[str, Any] | None, look: Look) -> Iterator[str]:
    """The statements that were changed, and what came of undoing each alone."""
    why = (written or {}).get("explanation") or {}
    candidates = why.get("candidates") or ()
    if len(candidates) > 1 or any(row["tried"] for row in candidates):
        rows = []
        for row in candidates[:_CANDIDATES]:
            file, _, line, _ = row["source_location"].rsplit(":", 3)
            came = "not tried" if not row["tried"] else "b then writes what a writes" if row["repairs"] else "no"
            rows.append((f"{Path(file).name}:{line}", row["side"].lower(), came, clean(row["text"])))
        yield ""
        yield from grid(("changed", "in", "undone alone", ""), rows, look, indent=2)
        if len(candidates) > _CANDIDATES:
            yield f"  and {plural(len(candidates) - _CANDIDATES, 'more statement')}"
    for text in why.get("missing") or ():
        yield from wrapped("  not known: ", clean(text), look)


def _sums(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[str]:
    for (name, spell), noun in zip(_FIGURES, ("instructions", "of global memory", "bank conflicts"), strict=True):
        yield f"{_both(a[name], b[name], spell)} {noun}"


def _both(a: int, b: int, spell: Callable[[int], str]) -> str:
    return spell(b) if a == b else f"{spell(a)} -> {spell(b)}"


def _weight(row: Mapping[str, Any]) -> int:
    a, b = ((row[side] or {}).get("instructions", 0) for side in "ab")
    return abs(int(b) - int(a)) * 4 + max(int(a), int(b))


def _changed_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    sides = [row[side] or dict.fromkeys((name for name, _ in _FIGURES), 0) for side in "ab"]
    figures = []
    for name, spell in _FIGURES:
        a, b = (side[name] for side in sides)
        figures.append(_both(a, b, spell) if a or b else "")
    numbers = [_number(row, side) for side in "ab"]
    text = (row["text_b"] or row["text_a"]).strip()
    if row["change"] == "changed":
        text = f"{row['text_a'].strip()}  =>  {row['text_b'].strip()}"
    return (*numbers, *figures, clean(text))


def _number(row: Mapping[str, Any], side: str) -> str:
    if not row[f"line_{side}"]:
        return ""
    return (
        str(row[f"line_{side}"]) if row[f"text_{side}"] else f"{Path(row[f'file_{side}']).name}:{row[f'line_{side}']}"
    )


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
        where = f"at {look.style(clean(place), 'bold')} " if place else ""
        yield f"{look.style(finding.check, 'red', 'bold')} {where}in {clean(finding.kernel)}"
        if text := _source(finding.file, finding.line):
            yield f"    {finding.line:>5} | {clean(text)}"
        yield f"  {clean(finding.message)}"
        times = sum(row["count"] for row in rows)
        more = f"; {format_count(times)} times in all" if times > 1 else ""
        if len(rows) > 1:
            more += f", in {plural(len(rows), 'instruction')} of this line"
        who = finding.who if rows[0]["instruction"] else "the program"
        yield f"  launch {rows[0]['launch']}, {who}{more}"
        if finding.origin is not None and finding.origin.text:
            yield from wrapped("  computes ", clean(finding.origin.text), look)
    if document["more_findings"]:
        yield ""
        yield f"{plural(document['more_findings'], 'more finding')} were counted and not kept"


_FIDELITY_SHOWN = 3  # approximations, and decisions, of a program


def _fidelity(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """How far the answer can be trusted: what was exact, approximated and refused, and what approximated values decided."""
    yield from _refused(document, look)
    found = [(row["kernel"], row["fidelity"]) for row in document["kernels"] if row["fidelity"] is not None]
    if not found:
        return
    yield ""
    approximated = [(kernel, row) for kernel, fidelity in found for row in fidelity["approximated"]]
    decides = [(kernel, row) for kernel, fidelity in found for row in fidelity["decides"]]
    more = sum(fidelity["more"] for _, fidelity in found)
    head = look.style("fidelity", "bold")
    if not approximated:
        yield f"{head}  exact: nothing was approximated"
        return
    exact = sum(fidelity["exact"] for _, fidelity in found)
    others = f" in {len(found) - exact} of {len(found)} kernels" if len(found) > 1 else ""
    yield f"{head}  approximated{others}: {_names(row['instruction'] for _, row in approximated)}; everything else is exact"
    if not decides:
        yield "  no value that may come from it reached an address, a branch, a predicate or a barrier"
    else:
        uses = _names(f"{'an' if row['use'] == 'address' else 'a'} {row['use']}" for _, row in decides)
        reached = look.style(f"values that may come from it reached {uses}", "yellow")
        yield f"  {reached}: a GPU may go another way there"
    for kernel, row in decides[:_FIDELITY_SHOWN]:
        yield f"    {row['use']} at {_at(row)} in {clean(kernel)}, {plural(row['count'], 'time')}, from {_names(row['from'])}"
    for _, row in approximated[:_FIDELITY_SHOWN]:
        yield from wrapped(f"    {clean(row['instruction'])} at {_at(row)}: ", clean(row["how"]), look)
    rest = more + sum(max(len(rows) - _FIDELITY_SHOWN, 0) for rows in (approximated, decides))
    if rest:
        yield f"    and {plural(rest, 'more place')}: --json, or --html"


def _refused(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """Launches that were not executed, after which the script went on."""
    for row in document["refused"]:
        yield ""
        head = f"refused  {clean(row['kernel'])}, {plural(row['count'], 'launch')}: "
        yield from wrapped(head, clean(row["message"]), look, head=look.style("refused", "yellow", "bold") + head[7:])


def _names(names: Iterable[str]) -> str:
    """Each once, those that stand first."""
    each = list(dict.fromkeys(clean(name) for name in names))
    more = f" and {len(each) - _NAMES_SHOWN} more" if len(each) > _NAMES_SHOWN else ""
    return ", ".join(each[:_NAMES_SHOWN]) + more


_NAMES_SHOWN = 4


def _at(row: Mapping[str, Any]) -> str:
    return clean(f"{Path(row['file']).name}:{row['line']}" if row.get("line") else row["instruction"])


def _stopped(document: Mapping[str, Any], look: Look, count: int) -> Iterator[str]:
    """What lanes held at the lines that were asked for."""
    rows = document["stops"]
    for row in rows[:count]:
        head, *values = Stop.of(row, row["kernel"]).text()
        yield ""
        yield look.style(clean(head), "bold") + f", launch {row['launch']}"
        yield from (clean(text)[: look.width] for text in values)
    if rows:
        yield ""
        yield from wrapped(
            "names are ",
            "those of the source: of arguments, and what the line that made the value assigns, where that is certain",
            look,
        )
    if more := max(len(rows) - count, 0) + document["more_stops"]:
        yield ""
        yield f"{plural(more, 'more stop')} at these lines"


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
