"""What every result of prlx can do: print itself on one line, show a card in a notebook, become JSON, save itself."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ._errors import FileAccessError, UsageError
from ._lines import clean

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>:root{{color-scheme:light dark}}body{{font:15px/1.45 system-ui,sans-serif;margin:2rem;max-width:70rem}}</style>
</head><body>{card}</body></html>
"""


@dataclass(frozen=True)
class Card:
    """What a result shows in a notebook: a title, a sentence, a table."""

    title: str
    sentence: str
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()

    def to_html(self) -> str:
        """The card as HTML that stands alone: no script, no style sheet, nothing fetched; less than 20 kB whatever it is of."""
        from html import escape

        cell = "text-align:{};padding:.15em .9em .15em 0;border-bottom:1px solid #8884"
        sides = [_shared(column) for column in zip(*self.rows, strict=True)] or ["left"] * len(self.headings)
        headings = zip(self.headings, sides, strict=True)
        head = "".join(f'<th style="{cell.format(side)}">{escape(text)}</th>' for text, side in headings)
        body: list[str] = []
        room = _ROWS_MOST
        for row in self.rows:
            cells = (f'<td style="{cell.format(_side(text))}">{_cell(text)}</td>' for text in row)
            body.append(f"<tr>{''.join(cells)}</tr>")
            if (room := room - len(body[-1].encode())) < 0:
                body.pop()
                break
        table = ""
        if body:
            table = f'<table style="border-collapse:collapse;margin:.5em 0"><tr>{head}</tr>{"".join(body)}</table>'
        if len(body) < len(self.rows):
            table += f"<div>and {len(self.rows) - len(body):,} rows more</div>"
        notes = "".join(f"<div>&#9888; {escape(_begin(note, 240))}</div>" for note in self.notes[:_NOTES_MOST])
        if len(self.notes) > _NOTES_MOST:
            notes += f"<div>and {len(self.notes) - _NOTES_MOST:,} notes more</div>"
        title, sentence = escape(self.title), escape(_begin(self.sentence, 600))
        return f"<div><b>{title}</b><br>{sentence}{table}{notes}</div>"


_ROWS_MOST = 14_000  # bytes of a card's rows
_NOTES_MOST = 8
_CELL_MOST = 80  # characters; names of kernels can have thousands


def _cell(text: str) -> str:
    """A cell; of a long text both ends, which tell names and paths apart."""
    from html import escape

    if len(text) <= _CELL_MOST:
        return escape(text)
    return escape(f"{text[: _CELL_MOST // 2]}\u2026{text[-_CELL_MOST // 2 + 1 :]}")


def _begin(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def _shared(column: Sequence[str]) -> str:
    """The side of a heading: that of the values below it."""
    return "right" if any(column) and all(_side(text) == "right" for text in column if text) else "left"


def _side(text: str) -> str:
    if text.startswith("0x"):
        return "left"  # the name of a site
    return "right" if text[:1].isdigit() or (text[:1] in "+-" and len(text) > 1) or text == "-" else "left"


_REPR_MOST = 200  # characters of any repr: it stands in lists, logs and error messages


def clipped(text: str) -> str:
    """The text, or its beginning where it is longer than a repr may be."""
    return text if len(text) <= _REPR_MOST else text[: _REPR_MOST - 4] + "...>"


class Brief:
    """A dataclass whose repr stays on one line however much it holds: collections are counted, not shown."""

    def __repr__(self) -> str:
        shown = []
        for each in fields(self):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            if isinstance(value, (list, tuple, dict, frozenset)) and len(repr(value)) > _VALUE_MOST:
                value = f"<{len(value)}>"
            elif isinstance(value, str) and len(value) > _VALUE_MOST:
                value = repr(value[: _VALUE_MOST - 3] + "...")
            else:
                value = repr(value)
            shown.append(f"{each.name}={value}")
        return clipped(f"<{type(self).__name__} {' '.join(shown)}>")


_VALUE_MOST = 60  # characters of one field in a repr


@dataclass(frozen=True, repr=False)
class Result:
    """A document of the core with what people do with it.

    Attributes
    ----------
    document
        Everything the core said, as documented for its schema.
    """

    document: Mapping[str, Any] = field(repr=False)

    def _card(self) -> Card:
        raise NotImplementedError

    def __repr__(self) -> str:
        card = self._card()
        return clipped(f"<{type(self).__name__}: {clean(card.sentence)}>")

    def _repr_html_(self) -> str:
        return self._card().to_html()

    def to_json(self, *, indent: int | None = 2) -> str:
        """The document as JSON text; its first key is ``schema``.

        Examples
        --------
        >>> solved = prlx.solve_offsets([f"examples/jax_p4/probes_node{node}.jsonl" for node in range(4)])
        >>> solved.to_json(indent=None)[:26]
        '{"schema": "prlx.solve/1",'
        """
        return json.dumps(self.document, indent=indent, ensure_ascii=False)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the document (``.json``) or the card (``.html``).

        Parameters
        ----------
        path
            Where to; its ending decides the format.
        overwrite
            Replace a file that exists.

        Returns
        -------
        pathlib.Path
            The file written.

        Raises
        ------
        UsageError
            The ending is neither ``.json`` nor ``.html``.
        FileAccessError
            The file exists and ``overwrite`` was not given.

        Examples
        --------
        >>> solved = prlx.solve_offsets([f"examples/jax_p4/probes_node{node}.jsonl" for node in range(4)])
        >>> solved.save("offsets.html").name
        'offsets.html'
        """
        target = Path(path)
        if target.suffix == ".html":
            from html import escape

            card = self._card()
            text = _PAGE.format(title=escape(card.title), card=card.to_html())
        elif target.suffix == ".json":
            text = self.to_json() + "\n"
        else:
            raise UsageError("expected a name that ends in .json or .html", path=str(target))
        write_text(target, text, overwrite=overwrite)
        return target


def write_text(target: Path, text: str, *, overwrite: bool) -> None:
    """Write a whole small file or nothing: a temporary name beside it, then renamed."""
    if target.exists() and not overwrite:
        raise FileAccessError("already exists", path=str(target), hint="choose another name, or pass --overwrite")
    if not target.parent.is_dir():
        hint = f"make it first: mkdir -p {target.parent}"
        raise FileAccessError("no such directory to write to", path=str(target.parent), hint=hint)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(text)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
