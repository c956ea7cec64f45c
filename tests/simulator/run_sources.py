"""Edits kernels in place with a bug and looks whether reports show A's lines for A and B's for B; a JSON document an edit.

PYTHONPATH=build/triton/3.9.0 python run_sources.py [--edits N] DIRECTORY [KERNEL...]

Both forms are written to one file, one after the other, and the file is written a third time before they are compared: what is
on the disk then is neither. A document lists what was shown wrong, and the statements that were named as edited.
"""

from __future__ import annotations

import argparse
import html
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import edits
from run_edits import ENOUGH, Runner

import prlx

KERNELS = ["add", "cachemod", "softmax", "layernorm", "copy2d", "reduce", "whileloop", "gather", "early", "atomics"]
SHIFTS = (edits.comment, edits.blank, edits.describe)  # what moves lines and changes no code
NUMBERED = re.compile(r"^  ?[> ] +(\d+) \| ?(.*)$")


def shifted(runner: Runner, text: str, seed: int) -> edits.Kernel:
    """A form of the kernel on other lines."""
    kernel, rng = edits.Kernel(text, known=runner.kernel.known), random.Random(seed)
    for shift in rng.choices(SHIFTS, k=rng.randint(0, 3)):
        shift(kernel, rng)
    return kernel


def compare(runner: Runner, wrong: str, seed: int) -> dict[str, Any]:
    """Record both forms from one file, edit it once more, and look at the reports."""
    name, texts, paths = f"{runner.name}_{seed}", {}, {}
    forms = {"A": shifted(runner, runner.kernel.text, seed), "B": shifted(runner, wrong, seed + 1000)}
    for side, kernel in forms.items():
        path, _ = runner.run(kernel, name)
        paths[side] = path.rename(path.with_name(f"{name}_{side}.prlx"))
        source = runner.folder / name / f"{runner.name}_kernels.py"
        texts[side] = source.read_text().splitlines()
    source.write_text("# a third text\n" * 7 + source.read_text().replace(" ", "  "))
    compared = prlx.diff_traces(paths["A"], paths["B"], values=True, explain=True, progress=False)
    document = json.loads(compared.to_json())
    reports = {"text": compared.to_text(width=200)}
    for ending in ("html", "sarif"):
        saved = runner.folder / f"{name}.{ending}"
        compared.save(saved)
        reports[ending] = saved.read_text()
    return {
        "kernel": runner.name,
        "seed": seed,
        "status": document["status"],
        "first": document["edits"]["first"],
        "said": document["edits"]["text"],
        "shown": {kind: [*shown(kind, reports[kind])] for kind in reports},
        "wrong": [*wrongly(document, reports, texts)],
        "edited_right": named(document) == bug_lines(runner, wrong),
    }


def wrongly(document: dict[str, Any], reports: dict[str, str], texts: dict[str, list[str]]) -> Iterator[str]:
    """Lines that are shown and are not those of the side that they are shown for."""
    for piece in (piece for piece in document["sources"] if piece["file"].endswith("_kernels.py")):
        for side in piece.get("side") or "AB":
            lines = texts[side][piece["first_line"] - 1 :][: len(piece["lines"])]
            if lines != piece["lines"]:
                yield f"document, {side}: {piece['first_line']}"
    for kind, report in reports.items():
        for sides, number, text in shown(kind, report):
            for side in sides:
                have = texts[side][number - 1] if number <= len(texts[side]) else ""
                if " ".join(have.split()) != " ".join(text.split()):
                    yield f"{kind}, {side}: {number} is {have!r}, shown {text!r}"


def named(document: dict[str, Any]) -> dict[str, list[str]]:
    """The lines of code that are named as edited, by side."""
    hunks = [hunk for function in document["edits"]["functions"] for hunk in function["hunks"]]
    return {side: [line.strip() for hunk in hunks for line in hunk[side.lower()]] for side in "AB"}


def bug_lines(runner: Runner, wrong: str) -> dict[str, list[str]]:
    """The lines that the bug is on."""
    pairs = zip(runner.kernel.text.splitlines(), wrong.splitlines(), strict=True)
    differ = [(right.strip(), bad.strip()) for right, bad in pairs if right != bad]
    return {"A": [right for right, _ in differ], "B": [bad for _, bad in differ]}


def shown(kind: str, report: str) -> Iterator[tuple[str, int, str]]:
    """The numbered lines of a report with the sides that they are shown for."""
    return {"text": in_text, "html": in_html, "sarif": in_sarif}[kind](report)


def in_text(report: str) -> Iterator[tuple[str, int, str]]:
    side = "AB"
    for line in report.splitlines():
        heading, found, edited = re.match(r"^  ([AB]), \S+\.py$", line), NUMBERED.match(line), edited_line(line)
        if heading:
            side = heading[1]
        elif edited:
            yield edited
        elif found:
            yield side, int(found[1]), found[2]
        elif not line.startswith("  "):
            side = "AB"


def edited_line(line: str) -> tuple[str, int, str] | None:
    found = re.match(r"^  ([-+]) +(\d+) \| ?(.*)$", line)
    return ("A" if found[1] == "-" else "B", int(found[2]), found[3]) if found else None


def in_html(report: str) -> Iterator[tuple[str, int, str]]:
    for figure in re.findall(r'<figure class="source".*?</figure>', report, re.DOTALL):
        named = re.match(r'<figure class="source" data-side="([AB])"', figure)
        rows = re.findall(
            r'<div( class="[^"]*")?><span class="n">(\d+)</span><span class="t">(.*?)</span></div>', figure
        )
        for style, number, text in rows:
            plain = html.unescape(re.sub(r"</?mark>", "", text))
            only = re.search(r"only-([ab])", style)
            if only:
                yield only[1].upper(), int(number), plain[2:]
            else:
                yield named[1] if named else "AB", int(number), plain


def in_sarif(report: str) -> Iterator[tuple[str, int, str]]:
    for result in json.loads(report)["runs"][0]["results"]:
        related = result.get("relatedLocations", [])
        in_a = [place for place in related if place["message"]["text"] == "the same statement in A"]
        for side, place in [(result["properties"]["side"], result["locations"][0]), *(("A", place) for place in in_a)]:
            region = place.get("physicalLocation", {}).get("region", {})
            if "snippet" in region and "_kernels.py" in place["physicalLocation"]["artifactLocation"]["uri"]:
                yield side, region["startLine"], region["snippet"]["text"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--edits", type=int, default=4, help="of each kernel")
    options = parser.parse_args()
    with prlx.enable(device="simulator", max_instructions=ENOUGH, progress=False):
        for name in options.names or KERNELS:
            runner = Runner(name, options.folder, options.edits)
            for seed, (text, _) in enumerate(runner.bugs):
                print(json.dumps(compare(runner, text, seed)), flush=True)
    print(json.dumps({"triton": sys.modules["triton"].__version__}))


if __name__ == "__main__":
    main()
