"""Pages of the documentation, and the blocks in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What reads our tables where it is installed; pages that use one say so.
OPTIONAL = ("pandas", "polars", "pyarrow")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_OURS = ("*.md", "docs/**/*.md", "examples/**/*.md", "bench/**/*.md", "tests/**/*.md")


def pages() -> list[Path]:
    """Every page that we wrote."""
    return sorted({page for pattern in _OURS for page in ROOT.glob(pattern)})


def without_blocks(text: str) -> str:
    """The text of a page that is prose."""
    return _FENCE.sub("", text)


def fences(page: Path) -> list[tuple[str, str]]:
    """The blocks of a page in their order: the language, and what stands in them."""
    return _FENCE.findall(page.read_text(encoding="utf-8"))


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of one language, in their order."""
    return [body for name, body in fences(page) if name == language]


def hide(folder: Path) -> Path:
    """Make a folder that hides optional packages from a Python that has it in its path, as if they were not installed."""
    folder.mkdir(exist_ok=True)
    for name in OPTIONAL:
        text = f"raise ModuleNotFoundError(\"No module named '{name}'\", name='{name}')\n"
        (folder / f"{name}.py").write_text(text)
    return folder


@dataclass(frozen=True)
class Step:
    """A command of a console block, and what the page says that it prints."""

    command: str
    printed: str


def _steps(page: Path, body: str) -> list[Step]:
    head, *rest = re.split(r"^\$ ", body, flags=re.MULTILINE)
    assert not head, f"{page}: a console block begins with a command, not with {head!r}"
    parted = [part.partition("\n") for part in rest]
    return [Step(command, printed) for command, _, printed in parted]


def steps(page: Path) -> list[Step]:
    """The commands of a page's console blocks, in their order."""
    return [step for body in blocks(page, "console") for step in _steps(page, body)]


@dataclass(frozen=True)
class File:
    """A block of Python that its first line names as a file: the reader saves it."""

    name: str
    text: str


@dataclass(frozen=True)
class Program:
    """The other Python of a page: one session of a reader, who has typed all of it by the last block."""

    text: str


def sequence(page: Path) -> list[Step | File | Program]:
    """What a reader of a page does, in its order."""
    found: list[Step | File | Program] = []
    typed = ""
    for name, body in fences(page):
        saved = re.match(r"# (\w+\.py)\n", body)
        if name == "console":
            found += _steps(page, body)
        elif name == "python" and saved:
            found.append(File(saved[1], body))
        elif name == "python":
            typed += body
            found = [one for one in found if not isinstance(one, Program)] + [Program(typed)]
    return found
