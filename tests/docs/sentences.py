"""The sentences of a page, and how many words each has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .reading import without_blocks

# What a sentence ends with, and what the next one begins with. "1.5 MB", "e.g. this" and "file.py" end none.
_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bcf)(?<=[.!?])[\"')\]*_]*\s+(?=[\"'(\[*_]*[A-Z0-9`])")
_CODE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)\s]*\)")
_WORD = re.compile(r"[\w`]")
# A row of a table, and what separates its cells.
_CELL = re.compile(r"(?<!\\)\|")


def units(text: str) -> Iterator[str]:
    """The parts of a page that no sentence leaves: paragraphs, items of lists, headings and cells of tables."""
    kept: list[str] = []
    for line in [*without_blocks(re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)).splitlines(), ""]:
        stripped = line.strip().lstrip("> ")
        row = stripped.startswith("|")
        if kept and (row or not stripped or re.match(r"(#+|[-*+]|\d+[.)]) ", stripped)):
            yield " ".join(kept)
            kept = []
        if row:
            yield from (cell.strip() for cell in _CELL.split(_CODE.sub("`x`", stripped)) if cell.strip(" -:"))
        elif stripped:
            kept.append(re.sub(r"^(#+|[-*+]|\d+[.)]) ", "", stripped))
            if stripped.startswith("#"):
                yield kept.pop()


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page's prose. A span of code is one word, whatever it holds."""
    for unit in units(text):
        yield from _END.split(_LINK.sub(r"\1", _CODE.sub("`x`", unit)))


def words(sentence: str) -> int:
    """How many words a sentence has."""
    return sum(bool(_WORD.search(word)) for word in sentence.split())
