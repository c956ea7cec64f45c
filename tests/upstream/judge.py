"""A plug-in of pytest that runs Triton's own unit tests on the simulator and writes down what became of each.

``run.py`` loads it with ``-p``. Settings come in ``PRLX_UPSTREAM``, as JSON: the journal, how many parameter sets of a function
are taken and which share of them, the seed of the draw, after how many seconds a test is given up, who launches, and which
tests alone are run. Tests that the journal has are not run again.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import time
import warnings
from pathlib import Path

import pytest

import prlx

SETTINGS = json.loads(os.environ["PRLX_UPSTREAM"])
JOURNAL = Path(SETTINGS["journal"])

# What the simulated device does not have, by the words of whoever refuses: Triton, where it compiles for an sm_80.
_NOT_THIS_DEVICE = re.compile(
    r"sm_?(?:90|100|120)|compute capability|fp8e4nv not supported|not supported (?:in|on|for) this architecture|TMA|num_ctas|"
    r"out of resource|requires? (?:Hopper|Blackwell)|nvvm\.[a-z]|LLVM ERROR",
    re.IGNORECASE,
)


class GivenUpError(Exception):
    """A test took too long."""


class OnDriver:
    """Launches by Triton's own driver, whose launches fail where an access does."""

    def __init__(self, launched):
        self._launched = launched
        self.findings = []

    @property
    def launches(self):
        """How many there were."""
        return len(self._launched)


def pytest_configure(config):
    warnings.simplefilter("ignore", prlx.FindingWarning)
    config.prlx_undo = contextlib.ExitStack()
    if SETTINGS["over"] == "simulator":
        config.prlx = prlx.enable(device="simulator", map_cuda=True)
        config.prlx_undo.callback(prlx.disable)
        return
    from tensors import mapped

    launched, _ = config.prlx_undo.enter_context(mapped())
    config.prlx = OnDriver(launched)


def pytest_unconfigure(config):
    config.prlx_undo.close()


def known():
    """The tests of the journal."""
    if not JOURNAL.is_file():
        return set()
    return {json.loads(line)["test"] for line in JOURNAL.read_text().splitlines() if line.endswith("}")}


def drawn(test):
    """The number of a test, in [0, 1)."""
    return random.Random(f"{SETTINGS['seed']} {test}").random()


def pytest_collection_modifyitems(items):
    """Up to so many parameter sets of each function, the same in every run, less those that are known.

    Of them those are taken whose number, drawn for each by itself, is below the share: a larger share only adds tests.
    """
    functions = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    chosen = set()
    for name, cases in functions.items():
        draw = random.Random(f"{SETTINGS['seed']} {name}")
        chosen |= set(draw.sample(cases, min(len(cases), SETTINGS["per_function"])))
    done = known()
    chosen = {item for item in chosen if drawn(item.nodeid) < SETTINGS["share"]}
    if SETTINGS["only"] is not None:
        chosen = {item for item in items if item.nodeid in SETTINGS["only"]}
    items[:] = [item for item in items if item in chosen and item.nodeid not in done]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call():
    """Give a test up after its time."""

    def late(*_):
        raise GivenUpError(f"not done after {SETTINGS['seconds']} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SETTINGS["seconds"])
    try:
        yield
    finally:
        signal.alarm(0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    recording = item.config.prlx
    item.prlx_before = recording.launches, len(recording.findings)
    item.prlx_begun = time.monotonic()
    item.prlx_outcome = None
    yield
    launches, findings = item.prlx_before
    outcome, cause = item.prlx_outcome or ("passed", "")
    found = [str(finding) for finding in recording.findings[findings:]]
    del recording.findings[:]
    if outcome == "passed" and found:
        outcome, cause = "finding", found[0]
    cause = cause if len(cause) <= 1600 else f"{cause[:400]} ... {cause[-1200:]}"
    row = {
        "test": item.nodeid, "outcome": outcome, "cause": cause, "launches": recording.launches - launches,
        "seconds": round(time.monotonic() - item.prlx_begun, 1),
    }  # fmt: skip
    with JOURNAL.open("a") as file:
        file.write(json.dumps(row) + "\n")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    yield
    if call.excinfo is None or item.prlx_outcome is not None:
        return
    error = call.excinfo.value
    item.prlx_outcome = judged(error, call.excinfo)


def judged(error, info):
    """Outcome and cause of an exception: skipped, refused by name, not for this device, given up, or wrong."""
    if info.errisinstance(pytest.skip.Exception):
        return "skipped", str(error)
    chain, seen = error, []
    while chain is not None and len(seen) < 10:
        seen.append(chain)
        chain = chain.__cause__ or chain.__context__
    for one in seen:
        if isinstance(one, GivenUpError):
            return "given up", str(one)
    for one in seen:
        if isinstance(one, (prlx.SimulationError, prlx.UsageError)):
            return "refused", str(one).splitlines()[0]
    text = "\n".join(f"{type(one).__name__}: {one}" for one in seen)
    found = _NOT_THIS_DEVICE.search(text)
    if found:
        return "not for an sm_80", found[0]
    return "wrong", text
