"""The page of a comparison of sessions: launches in order, the first that differs in full."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from browser import Page


def text(page: Page, selector: str) -> str:
    return page.run(f"document.querySelector({selector!r})?.innerText ?? ''")


def launches(page: Page) -> list[str]:
    """Ids of the launches that the list shows."""
    return page.run("[...document.querySelectorAll('#launches .cluster')].filter(e => !e.hidden).map(e => e.id)")


@pytest.fixture
def page(open_page: Callable[..., Page], golden: Path) -> Page:
    return open_page(golden / "session.html")


def test_the_verdict_and_the_launches_that_differ_are_there_at_once(page: Page) -> None:
    assert text(page, ".pill") == "diverged"
    assert "the first is masked_softmax (launch 2)" in text(page, "#verdict")
    assert launches(page)[:5] == ["launch-2", "launch-3", "launch-4", "launch-b-4", "launch-5"]
    assert page.run("document.querySelectorAll('#launches .group[open]').length") == 1
    assert page.run("[...document.querySelectorAll('.strip a')].map(a => a.className)") == [
        "identical",
        "identical",
        "diverged",
        "problem",
        "lone",
        "lone",
        "diverged",
        "identical",
    ]


def test_the_first_launch_is_shown_in_full(page: Page) -> None:
    assert "launch 2, masked_softmax" in text(page, "#first-launch")
    assert text(page, "#first .code .here mark") == "offs"
    assert page.run("document.querySelectorAll('#clusters .cluster').length") == 4


@pytest.mark.parametrize("fragment", ["launch-5", "launch-6", "launch-b-4", "cluster-1", "site-0x00000000c0ffee04"])
def test_a_link_opens_and_shows_what_it_names(open_page: Callable[..., Page], golden: Path, fragment: str) -> None:
    page = open_page(golden / "session.html", fragment)

    target = f"document.getElementById('{fragment}')"
    assert page.run(f"{target}.classList.contains('target')")
    assert page.run(f"(r => r.top < innerHeight && r.bottom > 0)({target}.getBoundingClientRect())")


def test_a_square_leads_to_its_launch(page: Page) -> None:
    page.click(".strip a:nth-child(7)")

    assert page.run("location.hash") == "#launch-5"
    assert "B lost 7 events" in text(page, "#launch-5 .body")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("matmul", ["launch-3", "launch-5"]),
        ("only in", ["launch-4", "launch-b-4"]),
        ("branch softmax.py:24 matmul", ["launch-5"]),
    ],
)
def test_search_finds_launches(page: Page, query: str, found: list[str]) -> None:
    page.press("/")
    page.type(query)

    assert launches(page) == found
    page.press("Escape")
    assert len(launches(page)) == 8


@pytest.mark.parametrize("name", ["session", "session-identical", "session-hostile"])
@pytest.mark.parametrize("width", [1280, 600])
def test_no_page_complains(open_page: Callable[..., Page], golden: Path, name: str, width: int) -> None:
    page = open_page(golden / f"{name}.html", width=width)

    assert page.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the window"
    ids = page.run("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(set(ids)) == len(ids)
