"""From two recordings to the right line in a browser: a kernel with a known bug, compared, reported and opened."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from browser import Page
from needs import REPOSITORY, missing


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with two recordings of 64 warps, B of a kernel with a wrong mask, and every report of their comparison."""
    go = shutil.which("go")
    if go is None:
        missing("Go is not installed: it makes the recordings")
    directory = tmp_path_factory.mktemp("real")
    make = [go, "run", "./bench/gentrace", "pair", "-bug", "mask", "-warps", "64", "-seed", "7", "-snapshots", "-1"]
    places = {"-out-a": "a.prlx", "-out-b": "b.prlx", "-source": "src", "-truth": "truth.json"}
    for flag, name in places.items():
        make += [flag, str(directory / name)]
    subprocess.run(make, cwd=REPOSITORY, check=True, capture_output=True, timeout=600)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PRLX_")}
    done = subprocess.run(
        [sys.executable, "-m", "prlx", "diff", "a.prlx", "b.prlx", "--explain", "--source-root", "src", "--json"],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1, done.stderr
    (directory / "diff.json").write_text(done.stdout)
    for ending in ("html", "csv", "xml", "sarif", "md", "github.txt", "trace.json", "perfetto-trace"):
        report = [sys.executable, "-m", "prlx", "report", "diff.json", "-o", f"diff.{ending}"]
        told = subprocess.run(report, cwd=directory, env=environment, check=False, capture_output=True, timeout=300)
        assert told.returncode == 1, told.stderr  # as the document concludes
    return directory


def test_the_page_opens_at_the_line_of_the_bug(open_page: Callable[..., Page], compared: Path) -> None:
    first = json.loads((compared / "diff.json").read_text())["first"]
    truth = json.loads((compared / "truth.json").read_text())
    file, _, line, _ = first["source_location"].rsplit(":", 3)
    source = next((compared / "src").rglob(file)).read_text().splitlines()

    page = open_page(compared / "diff.html")

    here = page.run("[...document.querySelector('#first .code .here').children].map(e => e.innerText)")
    assert here == [line, source[int(line) - 1]]
    assert page.run(
        "(r => r.top > 0 && r.bottom < innerHeight)(document.querySelector('#first .here').getBoundingClientRect())"
    )
    assert first["site_id"] == truth["first"]["site_id"]


def test_every_report_names_the_line_of_the_bug(compared: Path) -> None:
    first = json.loads((compared / "diff.json").read_text())["first"]
    file, _, line, _ = first["source_location"].rsplit(":", 3)

    results = json.loads((compared / "diff.sarif").read_text())["runs"][0]["results"]
    lines = [result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in results]
    assert int(line) in lines
    assert f"file={file},line={line}," in (compared / "diff.github.txt").read_text()
    for ending in ("csv", "xml", "md", "trace.json"):
        assert f"{file}:" in (compared / f"diff.{ending}").read_text(), ending
    assert file.encode() in (compared / "diff.perfetto-trace").read_bytes()
