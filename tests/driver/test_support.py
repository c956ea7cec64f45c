"""What is recorded over drivers: the table of ``docs/concepts/recording-support.md`` is what was found.

The newest Triton in ``make test``; with ``PRLX_TRITON_ALL`` all of them. ``PRLX_UPDATE_TABLES=1`` writes what is found.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.driver.test_program import HERE, simulate

from llir.test_support import NEWEST, WHOLE, rows, written
from simulator.conftest import VERSIONS, require

HEADING = "Over a driver"
WORDS = ("yes", "no", "refused", "counted", "warned")


def by_nvidia(version, _hip, folder):
    more = [] if version == NEWEST else [str(HERE / "torch_stand_in")]
    settings = {"PYTHONPATH": os.pathsep.join([str(require(version)), *more]), "PRLX_ARENA": "256KB"}
    words = (sys.executable, "-W", "ignore", HERE / "support.py", folder / "r")
    return simulate("--", *words, cwd=folder, VENDOR="NVIDIA", TRITON_DEFAULT_FP_FUSION="1", **settings).stdout


def by_amd(version, hip, folder):
    require(version)
    words = [sys.executable, "-W", "ignore", HERE / "support.py", folder / "r"]
    done = subprocess.run(words, env={**hip(version), "VENDOR": "AMD"}, capture_output=True, text=True, timeout=570)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("vendor", ["NVIDIA", "AMD"])
@pytest.mark.parametrize("version", VERSIONS if WHOLE else (NEWEST,))
def test_what_is_recorded_over_a_driver(version, vendor, hip, tmp_path):
    ran = {"NVIDIA": by_nvidia, "AMD": by_amd}[vendor](version, hip, tmp_path)
    (found,) = (json.loads(line) for line in ran.splitlines() if line.startswith("{"))
    assert len(found) >= 19
    column = f"{version.rpartition('.')[0]} {vendor}"
    written(HEADING, {(what, column): text for what, text in found.items()})


def test_every_version_and_vendor_has_its_cells():
    head, *lines = rows(HEADING)
    assert head[1:] == [f"{v} {vendor}" for v in ("3.5", "3.6", "3.7", "3.8", "3.9") for vendor in ("NVIDIA", "AMD")]
    assert all(cell in WORDS for line in lines for cell in line[1:])
