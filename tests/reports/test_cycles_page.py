"""The HTML reports of cycles in a real browser: complete without a network, quiet, readable in light and dark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from browser import Page
from needs import REPOSITORY

GOLDEN = REPOSITORY / "core" / "report" / "cyclereport" / "testdata"
NAMES = ["serving", "none", "hostile", "compare-changed", "compare-same", "compare-hostile"]

# The least contrast of text with what is behind it, over all elements that have text of their own (WCAG 2.1, 1.4.3).
CONTRAST = """(() => {
  const channel = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const parse = s => { const m = s.match(/[0-9.]+/g).map(Number); return m.length === 4 && m[3] === 0 ? null : m; };
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c) return c;
    }
    return [255, 255, 255];
  };
  let least = 21, where = "";
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (e.closest("svg") || !own || !e.getClientRects().length) continue;
    const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least) [least, where] = [ratio, e.outerHTML.slice(0, 80)];
  }
  return [least, where];
})()"""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 600])
def test_no_page_complains_or_asks_for_anything(
    open_page: Callable[..., Page], name: str, *, dark: bool, width: int
) -> None:
    page = open_page(GOLDEN / f"{name}.html", dark=dark, width=width)

    assert page.run("document.querySelector('#verdict').getBoundingClientRect().bottom < innerHeight")
    assert page.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the window"
    assert page.run("document.querySelectorAll('img, iframe, link, object, embed, script').length") == 0


@pytest.mark.parametrize("name", ["serving", "compare-changed"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out(open_page: Callable[..., Page], name: str, *, dark: bool) -> None:
    least, where = open_page(GOLDEN / f"{name}.html", dark=dark).run(CONTRAST)

    assert least >= 4.5, where


@pytest.mark.parametrize("name", ["serving", "compare-changed"])
def test_everything_has_a_name_for_who_cannot_see(open_page: Callable[..., Page], name: str) -> None:
    page = open_page(GOLDEN / f"{name}.html")

    nameless = """[...document.querySelectorAll('summary, a, svg[role=img], [role=group], section')]
      .filter(e => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')))
      .filter(e => !(e.matches('a, summary') && e.textContent.trim()))
      .map(e => e.outerHTML.slice(0, 80))"""
    assert page.run(nameless) == []
    assert page.run("[...document.querySelectorAll('.scroll')].filter(e => e.tabIndex < 0).length") == 0
    assert (
        page.run("[...document.querySelectorAll('table')].filter(t => !t.querySelector('thead th[scope=col]')).length")
        == 0
    )


def test_the_timeline_shows_a_block_a_step(open_page: Callable[..., Page]) -> None:
    page = open_page(GOLDEN / "serving.html")

    assert page.run("document.querySelectorAll('#timeline svg:first-of-type rect.c0 title').length") == 80
    assert page.run("document.querySelectorAll('#timeline circle.odd').length") == 2
    assert page.run("document.querySelectorAll('#timeline line.drift').length") == 1
