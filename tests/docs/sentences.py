"""The sentences of a page, and how many words each has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .reading import without_blocks

# What a sentence ends with, and what the next one begins with. "1.5 MB", "e.g. this" and "file.py" end none.
_END = re.compile(r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<=[.!?])[\"')\]*_]*\s+(?=[\"'(\[*_]*[A-Z0-9`])")
_CODE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)\s]*\)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_WORD = re.compile(r"[\w`]")
_MARK = re.compile(r"^(#+|[-*+]|\d+[.)]) ")
# What separates the cells of a row, and the entries of a cell or of what a command printed.
_CELL = re.compile(r"(?<!\\)\||; ")


def units(text: str) -> Iterator[str]:
    """The parts of a page that no sentence leaves: paragraphs, items of lists, headings, and entries of tables."""
    kept: list[str] = []
    for line in [*without_blocks(_COMMENT.sub("", text)).splitlines(), ""]:
        stripped = line.strip()
        row = stripped.startswith(("|", ">"))
        if kept and (row or not stripped or _MARK.match(stripped)):
            yield " ".join(kept)
            kept = []
        if row:
            yield from (
                cell.strip() for cell in _CELL.split(_CODE.sub("`x`", stripped.lstrip("> "))) if cell.strip(" -:")
            )
        elif stripped.startswith("#"):
            yield _MARK.sub("", stripped)
        elif stripped:
            kept.append(_MARK.sub("", stripped, count=1))


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page's prose. A span of code is one word, whatever it holds."""
    for unit in units(text):
        yield from _END.split(_LINK.sub(r"\1", _CODE.sub("`x`", unit)))


def words(sentence: str) -> int:
    """How many words a sentence has."""
    return sum(bool(_WORD.search(word)) for word in sentence.split())
