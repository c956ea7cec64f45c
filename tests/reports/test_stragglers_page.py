"""The page of stragglers in a real browser: the map answers mouse and keyboard, and the script makes nothing but that."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from browser import Page
from needs import REPOSITORY
from test_cycles_page import CONTRAST

GOLDEN = REPOSITORY / "core" / "report" / "stragglerreport" / "testdata"
NAMES = ["late", "hostile", "unknown"]
READING = "document.querySelector('#cell').textContent"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 600])
def test_no_page_complains_or_asks_for_anything(
    open_page: Callable[..., Page], name: str, *, dark: bool, width: int
) -> None:
    page = open_page(GOLDEN / f"{name}.html", dark=dark, width=width)

    assert page.run("document.querySelector('#verdict').getBoundingClientRect().top < innerHeight")
    assert page.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the window"
    assert page.run("document.querySelectorAll('img, iframe, link, object, embed').length") == 0
    assert page.run("document.scripts.length") == (0 if name == "unknown" else 2)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out(open_page: Callable[..., Page], *, dark: bool) -> None:
    least, where = open_page(GOLDEN / "late.html", dark=dark).run(CONTRAST)

    assert least >= 4.5, where


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_shades_are_told_apart(open_page: Callable[..., Page], *, dark: bool) -> None:
    """From one shade to the next light changes by a third at least, and all differ from an empty cell."""
    page = open_page(GOLDEN / "late.html", dark=dark)
    light = page.run("""(() => {
      const channel = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
      const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
      const of = s => light(s.match(/[0-9.]+/g).map(Number));
      const empty = of(getComputedStyle(document.querySelector('.lane')).fill);
      const shades = [...document.querySelector('.key').querySelectorAll('i')];
      return [empty, ...shades.map(e => of(getComputedStyle(e).color))];
    })()""")

    assert len(light) == 6
    ratios = [(max(a, b) + 0.05) / (min(a, b) + 0.05) for a, b in itertools.pairwise(light)]
    assert min(ratios[1:]) >= 1.33, ratios
    assert ratios[0] >= 1.1, ratios
    assert light[1:] == sorted(light[1:], reverse=not dark)


def test_the_map_reads_out_what_the_mouse_points_at(open_page: Callable[..., Page]) -> None:
    page = open_page(GOLDEN / "late.html")
    assert "arrow keys" in page.run(READING)
    box = page.run("(r => [r.x, r.y, r.width, r.height])(document.querySelector('#cells').getBoundingClientRect())")
    page.click_at(box[0] + box[2] * 0.75, box[1] + box[3] / 8)
    assert page.run(READING) == "rank2, steps 2 to 3: cost 61.5 ms, entered up to 4 ms later than the others"
    page.click_at(box[0] + box[2] * 0.25, box[1] + box[3] * 3 / 8)
    assert page.run(READING) == "rank0, step 1: cost 1.2 ms"


def test_the_map_is_read_by_keyboard(open_page: Callable[..., Page]) -> None:
    page = open_page(GOLDEN / "late.html")
    page.run("document.querySelector('#map-box').focus()")
    page.press("ArrowRight")
    page.press("ArrowDown")
    assert page.run(READING) == "rank0, steps 2 to 3: cost nothing"
    for _ in range(5):  # and it does not run out of the map
        page.press("ArrowDown")
    assert page.run(READING).startswith("rank3, ")
    assert page.run("document.querySelector('#cursor').getAttribute('visibility')") == "visible"
    assert page.run("document.querySelector('#cell').getAttribute('aria-live')") == "polite"


def test_without_the_script_all_else_is_there(open_page: Callable[..., Page]) -> None:
    """What the page shows is in its text, not made by the script: cells with titles, pictures that open, tables."""
    page = open_page(GOLDEN / "late.html")
    made = page.run("""(() => {
      const plain = new DOMParser().parseFromString(document.documentElement.outerHTML, "text/html");
      plain.querySelectorAll("script").forEach(e => e.remove());
      return [plain.querySelectorAll("#cells title").length, plain.querySelectorAll("details[open] svg path.chain").length,
              plain.querySelectorAll("table").length, plain.querySelectorAll("ol.told li").length];
    })()""")
    assert made == [2, 1, 5, 1]


def test_everything_has_a_name_for_who_cannot_see(open_page: Callable[..., Page]) -> None:
    page = open_page(GOLDEN / "late.html")
    nameless = """[...document.querySelectorAll('summary, a, svg[role=img], [role=group], section')]
      .filter(e => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')))
      .filter(e => !(e.matches('a, summary') && e.textContent.trim()))
      .map(e => e.outerHTML.slice(0, 80))"""
    assert page.run(nameless) == []
    assert page.run("[...document.querySelectorAll('.scroll')].filter(e => e.tabIndex < 0).length") == 0
