"""On a terminal there is progress, and Ctrl-C ends a command at once; elsewhere there is neither noise nor delay."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys

import pytest

from prlx import _progress

SLOW = """
import sys, time
from prlx import _core
def run(op, request, *, progress=None):
    for step in range(40):
        time.sleep(0.02)
        if progress: progress("reading", step * 10**6, 40 * 10**6)
    return {"schema": "prlx.inspect/1", "files": []}
_core.run = run
if len(sys.argv) > 1: sys.modules["rich.console"] = None
from prlx.cli import main
sys.exit(main(["inspect", "a.pb"]))
"""


def on_a_terminal(code, *words):
    """Run code with a terminal for its stderr; what it wrote there, and what to stdout."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        seen += block
    os.close(ours)
    out, _ = child.communicate(timeout=600)
    return child.returncode, seen.decode(), out.decode()


@pytest.mark.parametrize("words", [(), ("plain",)])
def test_progress_is_shown_on_a_terminal_and_wiped(words):
    code, seen, out = on_a_terminal(SLOW, *words)
    assert code == 0
    assert "reading" in seen
    assert not out
    assert seen.rstrip("\x1b[?25hl\r").endswith((" ", "\x1b[2K")), repr(seen[-80:])


def test_progress_is_not_shown_in_a_pipe():
    done = subprocess.run([sys.executable, "-c", SLOW], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0
    assert not done.stderr


def test_what_is_quick_shows_nothing():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    old, sys.stderr = sys.stderr, stream
    try:
        with _progress.shown("auto") as watch:
            watch("reading", 1, 2)
    finally:
        sys.stderr = old
    assert not stream.getvalue()


def test_progress_on_a_closed_terminal_is_not_an_error():
    stream = io.StringIO()
    stream.close()
    line = _progress._Plain(stream)
    line.show("reading", 1, 2)
    line.close()


BLOCKED = """
import sys, threading
from prlx import _core
def run(op, request, *, progress=None):
    print("running", flush=True)
    threading.Event().wait()
_core.run = run
from prlx.cli import main
sys.exit(main(["inspect", "a.pb"]))
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_and_the_end_of_a_batch_job_end_a_command(sent):
    child = subprocess.Popen([sys.executable, "-c", BLOCKED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "running\n"
    child.send_signal(sent)
    _, err = child.communicate(timeout=600)
    assert child.returncode == 128 + sent
    assert err == "prlx inspect: interrupted; no half file was left\n"


def test_a_reader_that_stops_reading_is_not_an_error():
    code = "import sys; from prlx.cli import main; sys.exit(max(main(['completion', 'bash']) for _ in range(50)))"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.read(10)
    child.stdout.close()
    err = child.stderr.read()
    child.stderr.close()
    assert child.wait(timeout=600) == 141
    assert not err


@pytest.mark.parametrize(
    ("words", "code"),
    [("version >&-", 0), ("version 2>&-", 0), ("--help >&-", 0), ("version >/dev/full", 3), ("--help >/dev/full", 3)],
)
def test_closed_and_full_streams_are_not_reported_as_a_bug(words, code):
    ran = subprocess.run(
        f"{sys.executable} -m prlx {words}", shell=True, capture_output=True, text=True, timeout=600, check=False
    )
    assert ran.returncode == code, ran
    assert len(ran.stderr.splitlines()) == (code == 3)
    assert "writing to stdout: No space left on device" in ran.stderr or code == 0
