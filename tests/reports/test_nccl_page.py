"""The page of NCCL's operations in a real browser: the matrix answers mouse and keyboard, timelines open."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from browser import Page
from needs import REPOSITORY
from test_cycles_page import CONTRAST

GOLDEN = REPOSITORY / "core" / "report" / "ncclreport" / "testdata"
READING = "document.querySelector('#cell').textContent"


@pytest.mark.parametrize(
    ("name", "dark", "width"), [("slow", False, 1280), ("slow", True, 600), ("hang", True, 1280), ("hang", False, 600)]
)
def test_no_page_complains_or_asks_for_anything(
    open_page: Callable[..., Page], name: str, *, dark: bool, width: int
) -> None:
    page = open_page(GOLDEN / f"{name}.html", dark=dark, width=width)

    assert page.run("document.querySelector('#verdict').getBoundingClientRect().top < innerHeight")
    assert page.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the window"
    assert page.run("document.querySelectorAll('img, iframe, link, object, embed').length") == 0
    assert page.run("document.scripts.length") == 2
    least, where = page.run(CONTRAST)
    assert least >= 4.5, where


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_parts_of_a_timeline_are_told_apart(open_page: Callable[..., Page], *, dark: bool) -> None:
    """Each part has a colour of its own, and the key beside the timelines has that of the bars."""
    page = open_page(GOLDEN / "slow.html", dark=dark)
    key = page.run(
        "[...document.querySelectorAll('[aria-labelledby=pictures] .key i')].map(e => getComputedStyle(e).backgroundColor)"
    )
    bars = page.run(
        "[...new Set([...document.querySelectorAll('#operation-0 g rect:not(.lane)')].map(e => getComputedStyle(e).fill))]"
    )

    assert len(key) == len(set(key)) == 8
    assert len(bars) > 2
    assert set(bars) <= set(key)


def test_who_waited_for_whom_is_read_by_mouse_and_keyboard(open_page: Callable[..., Page]) -> None:
    page = open_page(GOLDEN / "slow.html")
    assert "arrow keys" in page.run(READING)
    page.run("document.querySelector('#cells').scrollIntoView({block: 'center'})")
    box = page.run("(r => [r.x, r.y, r.width, r.height])(document.querySelector('#cells').getBoundingClientRect())")
    assert abs(box[2] - box[3]) < 1, "cells are not square"
    page.click_at(box[0] + box[2] * 5 / 8, box[1] + box[3] / 8)
    pointed = page.run(READING)
    assert pointed.startswith("rank 0, for rank 2: waited ")
    page.run("document.querySelector('#map-box').focus()")
    page.press("ArrowDown")
    assert page.run(READING).startswith("rank 1, for rank 2: ")
    for _ in range(6):  # and it does not run out of the map
        page.press("ArrowDown")
        page.press("ArrowRight")
    assert page.run(READING) == "rank 3, for rank 3: did not wait"


def test_another_operation_is_opened_by_keyboard(open_page: Callable[..., Page]) -> None:
    page = open_page(GOLDEN / "slow.html")
    assert page.run("[...document.querySelectorAll('[aria-labelledby=pictures] details')].map(e => e.open)") == [
        True,
        False,
    ]
    page.run("document.querySelector('#operation-1 summary').focus()")
    page.press("Enter", "\r")
    assert page.run("document.querySelector('#operation-1').open")
    assert page.run("document.querySelectorAll('#operation-1 svg title').length") > 4


def test_everything_has_a_name_for_who_cannot_see(open_page: Callable[..., Page]) -> None:
    page = open_page(GOLDEN / "hang.html")
    nameless = """[...document.querySelectorAll('summary, a, svg[role=img], [role=group], section')]
      .filter(e => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')))
      .filter(e => !(e.matches('a, summary') && e.textContent.trim()))
      .map(e => e.outerHTML.slice(0, 80))"""
    assert page.run(nameless) == []
    assert page.run("[...document.querySelectorAll('.scroll')].filter(e => e.tabIndex < 0).length") == 0
    assert page.run("document.querySelector('#stuck').textContent") == "What stands still"
