"""Sentences of pages and headlines are short: one thought each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from .reading import ROOT
from .sentences import sentences, words

MOST = 35
PAGES = [str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").rglob("*.md"))]
# Members of documents that are read by people as they are.
READ = {"verdict", "why", "sentence", "said", "summary", "word", "gate", "headline", "reason", "phase_reason"}
DOCUMENTS = [path for path in sorted((ROOT / "docs/schemas").glob("*.json")) if not path.name.endswith(".schema.json")]


def read(value: object, key: str = "") -> Iterator[str]:
    """Every text of a document that is a headline or a sentence, in its parts."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from read(one, name)
    elif isinstance(value, list):
        for one in value:
            yield from read(one, key)
    elif isinstance(value, str) and key in READ:
        yield from re.split(r"; |(?<=\.) ", value)


@pytest.mark.parametrize("page", PAGES)
def test_sentences_of_a_page_are_short(page):
    long = [s for s in sentences((ROOT / page).read_text(encoding="utf-8")) if words(s) > MOST]
    shown = "\n".join(f"{words(s)} words: {s}" for s in long)
    assert not long, f"{page}: at most {MOST} words a sentence\n{shown}"


@pytest.mark.parametrize("document", [path.name for path in DOCUMENTS])
def test_headlines_are_short(document):
    said = list(read(json.loads((ROOT / "docs/schemas" / document).read_text(encoding="utf-8"))))
    assert [one for one in said if len(one.split()) > MOST] == []


def test_headlines_are_there():
    assert sum(len(list(read(json.loads(path.read_text(encoding="utf-8"))))) for path in DOCUMENTS) > 100


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("One two. Three four five.", [2, 3]),
        ("In 1.5 MB of `a.b c` end.\n\n- An item\n  of two lines", [6, 5]),
        ("| a cell | two; three four |", [2, 1, 2]),
        ("See [a page](of/some.md#where). `code` begins it", [3, 3]),
        ("> a quote; of what is printed", [2, 4]),
        ("```sh\nnot counted\n```", []),
        ("# A heading\nand text", [2, 2]),
    ],
)
def test_sentences_are_split(text, counts):
    assert [words(one) for one in sentences(text)] == counts


def test_changes_say_what_a_version_gives():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 200
    assert [one for one in sentences(text) if words(one) > MOST] == []
