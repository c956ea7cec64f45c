"""The HTML report in a real browser: complete without a network, quiet on the console, and every way through it works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from browser import Page

VISIBLE = """(selector => {
  const element = document.querySelector(selector);
  if (!element) return null;
  const box = element.getBoundingClientRect();
  const inside = box.height > 0 && box.width > 0 && box.bottom > 0 && box.top < innerHeight;
  return inside && getComputedStyle(element).visibility === "visible";
})"""


def visible(page: Page, selector: str) -> bool | None:
    """Whether an element is inside the viewport; None when there is none."""
    return page.run(f"{VISIBLE}({selector!r})")


def text(page: Page, selector: str) -> str:
    return page.run(f"document.querySelector({selector!r})?.innerText ?? ''")


def rows(page: Page) -> list[list[str]]:
    """The divergences that the table shows."""
    return page.run("[...document.querySelectorAll('#rows tbody tr')].map(tr => [...tr.cells].map(td => td.innerText))")


def shown(page: Page, selector: str) -> list[str]:
    """Ids of the elements that are not hidden."""
    return page.run(f"[...document.querySelectorAll({selector!r})].filter(e => !e.hidden).map(e => e.id)")


@pytest.fixture
def page(open_page: Callable[..., Page], golden: Path) -> Page:
    return open_page(golden / "diverged.html")


def test_the_verdict_and_the_first_divergence_are_in_sight_at_once(page: Page) -> None:
    assert "diverged" in text(page, ".pill")
    assert visible(page, "#verdict")
    assert visible(page, "#first .say")
    assert visible(page, "#first .code .here")
    assert "softmax.py:24:12" in text(page, "#first .say")
    assert "taken by 13 of 32 lanes in A, by 16 in B" in text(page, "#first .say")
    assert text(page, "#first .code .here mark") == "offs"


@pytest.mark.parametrize("name", ["diverged", "identical", "hostile"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 600])
def test_no_page_complains_or_asks_for_anything(
    open_page: Callable[..., Page], golden: Path, name: str, *, dark: bool, width: int
) -> None:
    page = open_page(golden / f"{name}.html", dark=dark, width=width)

    assert visible(page, "#verdict")
    assert page.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the window"
    assert page.run("document.querySelectorAll('img, iframe, link, object, embed').length") == 0


def test_a_hostile_name_runs_no_script(open_page: Callable[..., Page], golden: Path) -> None:
    page = open_page(golden / "hostile.html")

    assert "alert(1)" in text(page, "h1")
    assert page.run("document.scripts.length") == 2


def test_dark_is_dark(open_page: Callable[..., Page], golden: Path) -> None:
    colours = {}
    for dark in (False, True):
        page = open_page(golden / "diverged.html", dark=dark)
        colours[dark] = page.run("getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)")

    assert min(colours[False]) > 200
    assert max(colours[True]) < 60


def test_search_finds_divergences_clusters_and_sites(page: Page) -> None:
    assert len(rows(page)) == 11
    page.press("/")
    page.type("activemask")

    assert {row[4] for row in rows(page)} == {"ActiveMask"}
    assert text(page, "#found") == "2 divergences, 1 cluster, 1 site"
    assert shown(page, ".cluster") == ["cluster-0"]

    page.press("Escape")
    assert len(rows(page)) == 11
    assert len(shown(page, ".cluster")) == 4


@pytest.mark.parametrize(
    ("query", "warps"),
    [
        ("warp:17", {"17"}),
        ("warp:17-18 kind:branch", {"17", "18"}),
        ("block:4", {"17", "18"}),
        ("cluster:2", {"99"}),
        ("noise", {"3", "127"}),
        ("softmax.py:30", {"64", "65"}),
        ("0x00000000c0ffee07", {"99"}),
        ("nothing-of-the-kind", set()),
    ],
)
def test_search_understands_its_fields(page: Page, query: str, warps: set[str]) -> None:
    page.press("/")
    page.type(query)

    assert {row[0] for row in rows(page)} == warps


@pytest.mark.parametrize(
    ("fragment", "target"),
    [("cluster-1", "#cluster-1"), ("cluster-3", "#cluster-3"), ("site-0x00000000c0ffee04", "#site-0x00000000c0ffee04")],
)
def test_a_link_opens_and_shows_what_it_names(
    open_page: Callable[..., Page], golden: Path, fragment: str, target: str
) -> None:
    page = open_page(golden / "diverged.html", fragment)

    assert visible(page, target)
    assert page.run(f"document.querySelector({target!r}).classList.contains('target')")
    if fragment.startswith("cluster"):
        assert page.run(f"document.querySelector({target!r}).open")
        assert "A" in text(page, f"{target} .facts")


def test_a_link_to_a_warp_shows_its_divergences_and_its_place(open_page: Callable[..., Page], golden: Path) -> None:
    page = open_page(golden / "diverged.html", "warp-17")

    assert [row[:5] for row in rows(page)] == [
        ["17", "4", "41", "41", "Branch"],
        ["17", "4", "44", "45", "ActiveMask"],
        ["17", "4", "52", "53", "Value"],
    ]
    assert visible(page, "#map")
    assert text(page, "#at").startswith("warp 17 (block 4, warp 1 of it): cluster 0, Branch")
    assert "is in cluster 0" in text(page, "#warp-note")


def test_a_warp_whose_divergences_are_not_listed_says_so(open_page: Callable[..., Page], golden: Path) -> None:
    page = open_page(golden / "diverged.html", "warp-67")

    assert rows(page) == []
    assert "is in cluster 1" in text(page, "#warp-note")
    assert "None of its divergences is listed" in text(page, "#warp-note")


def test_links_work_on_click_and_again(page: Page) -> None:
    page.click("#rows tbody tr:nth-child(8) a[href='#warp-64']")
    assert {row[0] for row in rows(page)} == {"64"}

    page.click("#rows tbody a[href='#cluster-1']")
    assert visible(page, "#cluster-1")
    assert len(rows(page)) == 11, "the search is cleared, so that the cluster is not hidden"

    page.run("scrollTo(0, 0)")
    page.click("#first a[href='#site-0x00000000c0ffee01']")
    assert visible(page, "#site-0x00000000c0ffee01")


def test_a_click_on_the_map_shows_the_warp(page: Page) -> None:
    page.run("document.querySelector('#map').scrollIntoView({block: 'center'})")
    left, top = page.run("(r => [r.x, r.y])(document.querySelector('#map').getBoundingClientRect())")
    cell = 16
    page.click_at(left + 4 * cell + cell / 2, top + 1 * cell + cell / 2)  # block 4, warp 1

    assert page.run("location.hash") == "#warp-17"
    assert {row[0] for row in rows(page)} == {"17"}


def test_the_map_has_the_colours_of_its_clusters(page: Page) -> None:
    pixels = """(() => {
      const canvas = document.querySelector('#map'), context = canvas.getContext('2d');
      const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
      const probe = (block, warp) => {
        const at = ((warp * 16 + 6) * canvas.width + block * 16 + 6) * 4;
        return [...data.slice(at, at + 3)];
      };
      return [probe(4, 1), probe(4, 2), probe(16, 0), probe(24, 3), probe(5, 1), probe(31, 3)];
    })()"""
    cause, same, path, extra, none, noise = page.run(pixels)

    assert cause == same
    assert len({tuple(colour) for colour in (cause, path, extra, none, noise)}) == 5


def test_the_keyboard_is_enough(page: Page) -> None:
    page.press("n")
    assert page.run("location.hash") == "#cluster-0"
    page.press("n")
    assert page.run("location.hash") == "#cluster-2"
    page.press("p")
    assert page.run("location.hash") == "#cluster-0"

    page.run("document.querySelector('#map').focus()")
    page.press("ArrowRight")
    assert text(page, "#at").startswith("warp 4 (block 1, warp 0 of it)")
    page.press("ArrowDown")
    page.press("Enter")
    assert page.run("location.hash") == "#warp-5"

    unreachable = """[...document.querySelectorAll('.scroll, .code')]
      .filter(e => e.scrollWidth > e.clientWidth && e.tabIndex < 0).length"""
    assert page.run(unreachable) == 0


def test_everything_has_a_name_for_who_cannot_see(page: Page) -> None:
    nameless = """[...document.querySelectorAll('button, input, canvas, summary, a')]
      .filter(e => !(e.textContent.trim() || e.getAttribute('aria-label') || (e.labels && e.labels.length)))
      .map(e => e.outerHTML.slice(0, 80))"""
    assert page.run(nameless) == []
    assert (
        page.run("[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, i, all) => all.indexOf(id) !== i)")
        == []
    )


def test_lanes_tell_their_operands(page: Page) -> None:
    titles = page.run("[...document.querySelectorAll('#first .grid td.d')].map(td => td.title)")

    assert len(titles) == 6
    assert titles[0] == "lane 0\nA: 0 ≤ 2, not taken\nB: 0 ≤ 16, taken"
    assert page.run("document.querySelectorAll('#first .operands tbody tr').length") == 32
    assert page.run("document.querySelectorAll('#first .operands tbody tr.differs').length") == 3


def test_identical_runs_have_a_page_without_empty_parts(open_page: Callable[..., Page], golden: Path) -> None:
    page = open_page(golden / "identical.html")

    assert text(page, ".pill") == "identical"
    assert page.run("[...document.querySelectorAll('main section')].map(e => e.id)") == ["recordings"]
    assert page.run("document.querySelector('#search')") is None


@pytest.mark.parametrize("name", ["diverged", "identical", "session", "session-identical"])
def test_every_link_leads_somewhere(open_page: Callable[..., Page], golden: Path, name: str) -> None:
    page = open_page(golden / f"{name}.html")
    dead = """[...document.querySelectorAll('a')]
      .filter(a => a.hasAttribute('href') && !a.closest('.launches .elsewhere, .about-first .to-warp'))
      .map(a => a.getAttribute('href'))
      .filter(href => !(href.startsWith('#warp-') && document.querySelector('#rows')))
      .filter(href => !document.getElementById(href.slice(1)))"""

    assert page.run(dead) == []
    assert page.run("document.querySelectorAll('a').length") > 0
