"""Fixtures: reports that the Go tests keep current, a headless Chromium, and pages in it.

Chromium is a package of the system (`make test-reports` installs it where it can). Without it the tests that need it are
skipped, and fail where CI=true says that nothing may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser import Chromium, Page, executable
from needs import REPOSITORY, missing

GOLDEN = REPOSITORY / "core" / "report" / "kernelreport" / "testdata"


@pytest.fixture(scope="session")
def golden() -> Path:
    """The directory of reports that TestGolden of kernelreport keeps equal to what the code writes."""
    return GOLDEN


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    path = executable()
    if path is None:
        missing("no Chromium is installed: make test-reports installs it")
    with Chromium(path, tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def open_page(browser: Chromium) -> Iterator[Callable[..., Page]]:
    """open_page(path, fragment="", dark=False, width=1280) -> Page; at the end no page may have complained."""
    pages: list[Page] = []

    def open_one(path: Path, fragment: str = "", *, dark: bool = False, width: int = 1280) -> Page:
        page = Page(browser, dark=dark, width=width)
        pages.append(page)
        return page.open(path, fragment)

    yield open_one
    for page in pages:
        page.settle()
        page.close()
    for page in pages:
        assert page.complaints() == []
        assert all(url.startswith("file://") and url.split("#")[0].endswith(".html") for url in page.requests())
        assert len({url.split("#")[0] for url in page.requests()}) == 1
