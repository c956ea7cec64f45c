"""Two runs differ in what a recording has lost, and nowhere else: no sentence calls them the same."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from tests.driver.test_program import HERE, simulate
from tests.driver.test_recording import paths

import prlx

WAYS = {
    "room for few events": {"PRLX_ARENA": "64KB"},
    "room for fewer": {"PRLX_ARENA": "16KB"},
    "room for entries alone": {"PRLX_ARENA": "4096"},
    "room for hashes of few": {"PRLX_ARENA": "4096", "OPTIONS": '{"mode": "digest"}'},
    "the first event": {"OPTIONS": '{"events_per_warp": 1}'},
    "the first three": {"OPTIONS": '{"events_per_warp": 3}'},
    "the first with values": {"OPTIONS": '{"events_per_warp": 3, "mode": "values"}'},
    "the last": {"PRLX_HISTORY_DEPTH": "1"},
    "the last four": {"PRLX_HISTORY_DEPTH": "4"},
    "one of many": {"PRLX_SAMPLE_RATE": "1000"},
    "one of many, and the last": {"PRLX_SAMPLE_RATE": "50", "PRLX_HISTORY_DEPTH": "2"},
    "with stores": {"OPTIONS": '{"events_per_warp": 2, "stores": true}'},
    "nothing": {"PRLX_ENABLED": "0"},
}


def run(folder, **environment):
    words = (sys.executable, HERE / "lossy.py", folder)
    settings = {**paths("3.9.0"), "TRITON_CACHE_DIR": str(folder.parents[1] / "cache"), **environment}
    return json.loads(simulate("--", *words, cwd=folder.parent, **settings).stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lossy")


@pytest.mark.parametrize("way", WAYS)
def test_what_was_lost_is_not_called_the_same(way, folder):
    place = folder / way.replace(" ", "-").replace(",", "")
    place.mkdir()
    said = [run(place / name, **WAYS[way], **more) for name, more in (("a", {}), ("b", {"OTHER": "1"}))]
    assert said[0] == said[1], "the results are the same"
    compared = prlx.diff_traces(place / "a", place / "b")
    assert compared.conclusion.outcome != "same", compared.document["verdict"]
    for form in ((), ("--json",)):
        words = (sys.executable, "-m", "prlx", "diff", *form, place / "a", place / "b")
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode in (1, 5), done.stdout + done.stderr
        assert not done.stdout.startswith("SAME:"), done.stdout


def test_equal_runs_with_losses_say_how_much_was_compared(folder):
    place = folder / "equal"
    place.mkdir()
    for name in "ab":
        run(place / name, OPTIONS='{"events_per_warp": 3}')
    compared = prlx.diff_traces(place / "a", place / "b")
    assert compared.conclusion.outcome == "same"
    assert "part of the control flow of 1 launch" in compared.document["verdict"]
    one = prlx.diff_traces(*(next((place / name).glob("*.prlx")) for name in "ab"))
    assert "control flow of 96 of 6592 events" in one.document["verdict"]
    shutil.rmtree(place)
