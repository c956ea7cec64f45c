"""Pages of the documentation, and the blocks in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_OURS = ("*.md", "docs/**/*.md", "examples/**/*.md", "bench/**/*.md", "tests/**/*.md")


def pages() -> list[Path]:
    """Every page that we wrote."""
    return sorted({page for pattern in _OURS for page in ROOT.glob(pattern)})


def without_blocks(text: str) -> str:
    """The text of a page that is prose."""
    return _FENCE.sub("", text)


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of one language, in their order."""
    return [body for name, body in _FENCE.findall(page.read_text(encoding="utf-8")) if name == language]


@dataclass(frozen=True)
class Step:
    """A command of a console block, and what the page says that it prints."""

    command: str
    printed: str


def steps(page: Path) -> list[Step]:
    """The commands of a page's console blocks, in their order."""
    found = []
    for body in blocks(page, "console"):
        head, *rest = re.split(r"^\$ ", body, flags=re.MULTILINE)
        assert not head, f"{page}: a console block begins with a command, not with {head!r}"
        for part in rest:
            command, _, printed = part.partition("\n")
            found.append(Step(command, printed))
    return found
