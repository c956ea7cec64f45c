"""The page of 10,000 divergences in 100,000 warps: it opens, draws, searches and follows links without delay."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from browser import Page
from needs import REPOSITORY, missing

SECONDS = 60.0  # for one step in the page, which takes 0.2 on two idle cores: a limit that only what hangs reaches


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the document that the Go tests call many."""
    go = shutil.which("go")
    if go is None:
        missing("Go is not installed: it makes the page")
    directory = tmp_path_factory.mktemp("pages")
    command = [go, "test", "-count=1", "-run", "^TestPagesToLookAt$", "./core/report/kernelreport"]
    environment = {**os.environ, "PRLX_REPORT_DIR": str(directory)}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return directory / "many.html"


@pytest.fixture
def page(open_page: Callable[..., Page], many: Path) -> Page:
    return open_page(many)


def seconds(page: Page, code: str) -> float:
    """How long a piece of JavaScript takes in the page, layout included."""
    timed = f"const begin = performance.now(); {code}; document.body.offsetHeight; return performance.now() - begin;"
    return page.run(f"(() => {{ {timed} }})()") / 1000


def test_the_page_is_there_at_once(page: Page) -> None:
    loaded = page.run("performance.getEntriesByType('navigation')[0].loadEventEnd / 1000")

    assert 0 < loaded < SECONDS
    assert page.run("document.querySelectorAll('#rows tbody tr').length") == 200
    assert "All 10\u202f000 divergences" in page.run("document.querySelector('#divergences').innerText")


def test_every_warp_has_a_place_on_the_map(page: Page) -> None:
    """Each of 100,000 warps is two pixels wide, coloured where it differs."""
    colours = page.run(
        """(() => {
          const canvas = document.querySelector('#map'), seen = new Map();
          const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          for (let i = 0; i < data.length; i += 4) {
            if (data[i + 3] === 255) {
              const key = data[i] + ',' + data[i + 1] + ',' + data[i + 2];
              seen.set(key, (seen.get(key) || 0) + 1);
            }
          }
          return [...seen.values()].sort((a, b) => b - a);
        })()"""
    )
    assert sum(colours) == 100_000 * 4
    assert sum(colours[1:]) == 10_000 * 4
    assert len(colours) == 10, "grey, eight clusters of their own colour, one colour for the others"


def test_search_answers_while_one_types(page: Page) -> None:
    milliseconds = page.run(
        """new Promise(done => {
          const query = document.querySelector('#query'), begin = performance.now();
          const answered = new MutationObserver(() => done(performance.now() - begin));
          answered.observe(document.querySelector('#found'), {childList: true});
          query.value = 'activemask softmax.py:23';
          query.dispatchEvent(new Event('input'));
        })"""
    )

    assert milliseconds < SECONDS * 1000
    kinds = page.run("[...new Set([...document.querySelectorAll('#rows tbody tr')].map(tr => tr.cells[4].innerText))]")
    assert kinds == ["ActiveMask"]


def test_more_rows_come_on_demand(page: Page) -> None:
    page.click("#more")

    assert page.run("document.querySelectorAll('#rows tbody tr').length") == 400


def test_a_warp_far_away_is_found(open_page: Callable[..., Page], many: Path) -> None:
    page = open_page(many, "warp-69986")

    assert page.run("document.querySelectorAll('#rows tbody tr').length") == 1
    assert page.run("document.querySelector('#at').innerText").startswith(
        "warp 69\u202f986 (block 17\u202f496, warp 2 of it)"
    )
    assert seconds(page, "location.hash = '#warp-7'") < SECONDS
