"""The pages of the simulator in a real browser: nothing is asked for, nothing overflows, pictures have their colours."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from browser import Page
from needs import REPOSITORY
from test_cycles_page import CONTRAST

GOLDEN = REPOSITORY / "core" / "report" / "simulationreport" / "testdata"
NAMES = ["softmax", "hostile", "zero", "softmax-compare", "hostile-compare", "zero-compare"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 600])
def test_no_page_complains_or_asks_for_anything(
    open_page: Callable[..., Page], name: str, *, dark: bool, width: int
) -> None:
    page = open_page(GOLDEN / f"{name}.html", dark=dark, width=width)

    assert page.run("document.querySelector('#verdict').getBoundingClientRect().top < innerHeight")
    assert page.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the window"
    assert page.run("document.querySelectorAll('img, iframe, link, object, embed, script').length") == 0


@pytest.mark.parametrize("name", ["softmax", "softmax-compare"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out(open_page: Callable[..., Page], name: str, *, dark: bool) -> None:
    least, where = open_page(GOLDEN / f"{name}.html", dark=dark).run(CONTRAST)

    assert least >= 4.5, where


def test_a_finding_leads_to_its_line_and_back(open_page: Callable[..., Page]) -> None:
    page = open_page(GOLDEN / "softmax.html")
    rows = "[...document.querySelectorAll('tr.found')].map(e => e.querySelector('th').textContent)"
    assert page.run(rows) == ["12"]
    target = "document.querySelector(document.querySelector('tr.found a').getAttribute('href')).textContent"
    assert "out-of-bounds at softmax.py:12" in page.run(target)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_blocks_have_colours_of_their_own(open_page: Callable[..., Page], *, dark: bool) -> None:
    page = open_page(GOLDEN / "softmax.html", dark=dark)
    fills = page.run("[...document.querySelectorAll('svg path[class^=c]')].map(e => getComputedStyle(e).fill)")
    key = page.run("[...document.querySelectorAll('.key i')].map(e => getComputedStyle(e).backgroundColor)")
    empty = page.run("getComputedStyle(document.querySelector('svg .none')).fill")
    assert len(fills) == 4 == len({*fills, empty}) - 1
    assert key == fills
    width = "document.querySelector('svg {}').getBoundingClientRect().width"
    assert page.run(width.format("path.c7")) == pytest.approx(page.run(width.format("rect.none")), rel=0.02)


def test_everything_has_a_name_for_who_cannot_see(open_page: Callable[..., Page]) -> None:
    for name in ("softmax", "softmax-compare"):
        page = open_page(GOLDEN / f"{name}.html")
        nameless = """[...document.querySelectorAll('summary, a, svg[role=img], [role=group], section')]
          .filter(e => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')))
          .filter(e => !(e.matches('a, summary') && e.textContent.trim()))
          .map(e => e.outerHTML.slice(0, 80))"""
        assert page.run(nameless) == []
        assert page.run("[...document.querySelectorAll('.scroll')].filter(e => e.tabIndex < 0).length") == 0
