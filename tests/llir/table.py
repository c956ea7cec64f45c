"""The tables of docs/concepts/recording-registers.md from what assemble.py printed: table.py assembled_3.9.0.jsonl..."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from cases import ALL, CASES

PAGE = Path(__file__).resolve().parents[2] / "docs/concepts/recording-registers.md"
NEWEST = "3.9"
WAYS = ("", " (branches)", " (clean)")
MANY = 200
VERSIONS = (
    "Triton",
    "modules",
    "all sites",
    "branches alone",
    "clean",
    "refused",
    "spill more",
    "more than 200 registers",
)
Row = Mapping[str, Any]


def arrow(before: int, after: int) -> str:
    return f"{before} → {after}"


def cell(row: Row) -> str:
    """Registers before and after, what is spilled where anything is, kilobytes of the binary."""
    if "error" in row:
        return "refused"
    a, b = row["before"], row["after"]
    registers = arrow(a["registers"], b["registers"])
    if a["registers"] > MANY:
        registers = f"**{registers}**"
    spilled = f", spilled {arrow(a['spilled'], b['spilled'])}" if a["spilled"] or b["spilled"] else ""
    return f"{registers}{WAYS[row['way']]}{spilled}, {arrow(round(a['bytes'] / 1000), round(b['bytes'] / 1000))} kB"


def kernels(rows: Iterable[Row]) -> list[list[str]]:
    """A line for each kernel, a column for each GPU."""
    cells = {(row["case"], row["target"]): cell(row) for row in rows}
    head = ["kernel", *ALL]
    lines = [[f"`{name}`", *(cells.get((name, gpu), "") for gpu in ALL)] for name in CASES]
    return [head, *(line for line in lines if any(line[1:]))]


def version(name: str, rows: Sequence[Row]) -> list[str]:
    """The line of a Triton."""
    made = [row for row in rows if "error" not in row]
    more = sum(row["after"]["spilled"] > row["before"]["spilled"] for row in made)
    full = {row["case"] for row in made if row["before"]["registers"] > MANY}
    ways = [sum(row["way"] == way for row in made) for way in range(3)]
    return [name, *map(str, (len(rows), *ways, len(rows) - len(made), more)), f"{len(full)} kernels"]


def markdown(lines: Iterable[Sequence[str]]) -> str:
    head, *rest = lines
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rest))


def tables() -> list[list[list[str]]]:
    """Those of the page, without their rules."""
    found = re.findall(r"(?:^\|[^\n]*\n)+", PAGE.read_text(), re.MULTILINE)
    lines = [[[cell.strip() for cell in line.strip("|").split("|")] for line in one.splitlines()] for one in found]
    return [[one[0], *one[2:]] for one in lines]


def write(by_version: Mapping[str, Sequence[Row]]) -> None:
    """Put both tables into the page."""
    made = [markdown([VERSIONS, *(version(name, rows) for name, rows in sorted(by_version.items()))])]
    made.append(markdown(kernels(by_version[NEWEST])))
    texts = iter(made)
    PAGE.write_text(re.sub(r"(?:^\|[^\n]*\n)+", lambda _: next(texts), PAGE.read_text(), flags=re.MULTILINE))


def main() -> None:
    read = {}
    for name in map(Path, sys.argv[1:]):
        short = name.stem.removeprefix("assembled_").rpartition(".")[0]
        read[short] = [json.loads(line) for line in name.read_text().splitlines()]
    write(read)


if __name__ == "__main__":
    main()
