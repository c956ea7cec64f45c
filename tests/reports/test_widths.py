"""Every kind of report on a laptop's window and on a narrow one: tables of numbers fit the first, the second is usable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from browser import Page
from needs import REPOSITORY

REPORTS = REPOSITORY / "core" / "report"
LAPTOP, NARROW = 1154, 500
PAGES = {
    "combine": REPORTS / "testdata" / "combine.html",
    "validate": REPORTS / "testdata" / "validate.html",
    "cycles": REPORTS / "cyclereport" / "testdata" / "serving.html",
    "no cycles": REPORTS / "cyclereport" / "testdata" / "none.html",
    "cycles of hostile names": REPORTS / "cyclereport" / "testdata" / "hostile.html",
    "compared cycles": REPORTS / "cyclereport" / "testdata" / "compare-changed.html",
    "the same cycles": REPORTS / "cyclereport" / "testdata" / "compare-same.html",
    "compared cycles of hostile names": REPORTS / "cyclereport" / "testdata" / "compare-hostile.html",
    "stragglers": REPORTS / "stragglerreport" / "testdata" / "late.html",
    "stragglers of hostile names": REPORTS / "stragglerreport" / "testdata" / "hostile.html",
    "diff": REPORTS / "kernelreport" / "testdata" / "diverged.html",
    "sessions": REPORTS / "kernelreport" / "testdata" / "session.html",
    "hostile diff": REPORTS / "kernelreport" / "testdata" / "hostile.html",
    "hostile sessions": REPORTS / "kernelreport" / "testdata" / "session-hostile.html",
}
OPEN = "document.querySelectorAll('details').forEach(each => each.open = true)"
# Tables that are wider than the box that scrolls them, or than the window, with the box's label.
WIDE = """[...document.querySelectorAll('table')].filter(t => t.getClientRects().length).map(t => {
  const box = t.closest('.scroll');
  const over = box ? box.scrollWidth - box.clientWidth : t.getBoundingClientRect().right - innerWidth;
  return [box ? box.getAttribute('aria-label') ?? t.className : 'no box', Math.round(over), !!box && box.tabIndex >= 0];
}).filter(([label, over]) => over > 0)"""
# Rows whose name leaves the window when the table is scrolled to its end.
LOST = """[...document.querySelectorAll('.scroll')].flatMap(box => {
  box.scrollLeft = 1e6;
  const left = box.getBoundingClientRect().left;
  return [...box.querySelectorAll('table:not(.grid):not(.operands):not(.history) > tbody th[scope=row]')]
    .filter(th => th.getClientRects().length && th.getBoundingClientRect().right < left + 20)
    .map(th => th.textContent.trim().slice(0, 30));
})"""


def shown(open_page: Callable[..., Page], path: Path, width: int) -> Page:
    page = open_page(path, width=width)
    page.run(OPEN)
    assert page.run("document.documentElement.scrollWidth") <= width, "the page is wider than the window"
    return page


@pytest.mark.parametrize("name", [name for name in PAGES if "hostile" not in name or "cycles" in name])
def test_tables_of_numbers_fit_the_window_of_a_laptop(open_page: Callable[..., Page], name: str) -> None:
    assert shown(open_page, PAGES[name], LAPTOP).run(WIDE) == []


@pytest.mark.parametrize("name", PAGES)
def test_what_does_not_fit_a_narrow_window_scrolls_with_the_names_of_its_rows(
    open_page: Callable[..., Page], name: str
) -> None:
    page = shown(open_page, PAGES[name], NARROW)
    assert [label for label, _, by_keyboard in page.run(WIDE) if not by_keyboard] == []
    assert page.run(LOST) == []
