"""The house before and after: what two trees of the repository are made of, side by side.

  python tests/structure/table.py BEFORE AFTER

Both are checkouts; neither has to be built. Lines of code, exported names and receivers are those of
``go run ./tests/structure``, flags and keyword arguments those that each tree's Python says of itself,
sentences those of its pages.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = (
    "enable",
    "enable_pytorch",
    "combine_traces",
    "diff_traces",
    "assert_same",
    "align_trace",
    "find_stragglers",
)

# Runs in a tree: what its commands and functions take, and what its first help lists.
ASK = """
import inspect, json, sys
import prlx
from prlx import cli
from prlx.cli import _table
count = lambda function: sum(one.kind == one.KEYWORD_ONLY for one in inspect.signature(function).parameters.values())
commands = [_table.load(name) for name in _table.COMMANDS]
listed = cli.overview().partition("commands:")[2].splitlines()
print(json.dumps({
    "flags": {command.name: len(command.options) for command in commands},
    "keywords": {name: count(getattr(prlx, name)) for name in sys.argv[1].split(",") if hasattr(prlx, name)},
    "elsewhere": sum("docs/" in option.help or "explained" in option.help for one in commands for option in one.options),
    "first": sum(line[:2] == "  " and line[2:].split(" ")[0] in _table.COMMANDS for line in listed),
}))
"""


def of_code(tree: Path, counting: Path) -> dict[str, str]:
    """Lines, names and receivers."""
    said = subprocess.run([counting], cwd=tree, capture_output=True, text=True, check=True).stdout
    rows: dict[str, str] = {}
    for name, product, tests in re.findall(r"^ *(\S.*?) +(\d+) +(\d+)$", said, re.MULTILINE):
        rows[f"lines of code, {name}"] = product
        if name.startswith("all in"):
            rows[f"lines of tests, {name}"] = tests
    unused = re.search(r"uses: (\d+ of \d+)", said)
    rows["exported names that no other package's product code uses"] = unused[1] if unused else "?"
    rows["receivers with more than 40 methods"] = str(len(re.findall(r"^  \S+: \d+$", said, re.MULTILINE)))
    return rows


def of_options(tree: Path) -> dict[str, str]:
    """Flags by command, keyword arguments by function."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "python")}
    said = json.loads(
        subprocess.run(
            [sys.executable, "-c", ASK, ",".join(FUNCTIONS)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    rows = {f"flags of prlx {name}": str(number) for name, number in said["flags"].items()}
    rows |= {f"keywords of {name}()": str(number) for name, number in said["keywords"].items()}
    rows["flags whose help names a page"] = str(said["elsewhere"])
    rows["commands in the first help"] = str(said["first"])
    return rows


def of_pages(tree: Path) -> dict[str, str]:
    """The sentences of its pages."""
    sys.path[:0] = [str(ROOT / "tests")]
    from docs.sentences import sentences, words

    texts = [page.read_text(encoding="utf-8") for page in (tree / "docs").rglob("*.md")]
    counts = [words(sentence) for text in texts for sentence in sentences(text)]
    return {
        "sentences of pages": str(len(counts)),
        "sentences of more than 40 words": str(sum(count > 40 for count in counts)),
        "words of the longest sentence": str(max(counts)),
    }


def table(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Both columns, in the order of the second."""
    names = [*after, *(name for name in before if name not in after)]
    rows = [f"| {name} | {before.get(name, '')} | {after.get(name, '')} |" for name in names]
    return "\n".join(["| what | before | after |", "|---|---|---|", *rows])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counting = Path(folder, "structure")
        subprocess.run(["go", "build", "-o", counting, "./tests/structure"], cwd=ROOT, check=True)
        found = [
            {**of_code(tree, counting), **of_options(tree), **of_pages(tree)}
            for tree in (options.before.resolve(), options.after.resolve())
        ]
    sys.stdout.write(table(*found) + "\n")


if __name__ == "__main__":
    main()
