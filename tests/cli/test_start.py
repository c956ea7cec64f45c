"""How the programs start and end: interrupted while they load, and without memory."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys

import pytest

# Raises what Ctrl-C raises when one of the modules of the command line begins to load.
INTERRUPTED = """
import importlib.abc, sys
class Interrupt(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {name!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
sys.argv = ["prlx", "inspect", "x"]
from prlx_program import {program}
sys.exit({program}())
"""


@pytest.mark.parametrize("program", ["main", "xprof_main"])
@pytest.mark.parametrize(
    "name", ["prlx", "prlx._errors", "prlx.cli", "argparse", "prlx._config", "prlx.cli._parser", "prlx.cli._ui"]
)
def test_ctrl_c_while_modules_load_prints_one_line(program, name):
    code = INTERRUPTED.format(name=name, program=program)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 130
    assert "Traceback" not in ran.stderr
    assert "interrupted" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def limited(size, *words, code=None):
    """Run prlx with so many bytes of address space."""
    command = [sys.executable, "-m", "prlx", *words] if code is None else [sys.executable, "-c", code]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
    )


def test_without_memory_for_the_core_the_exit_code_says_internal_error(data):
    ran = limited(450 << 20, "inspect", str(data / "jax_skew" / "p2"))
    assert ran.returncode == 70
    assert ran.stderr.splitlines()[-1] == "prlx: out of memory"


def test_limited_memory_that_is_enough_changes_nothing(data):
    for words, code in (
        (("inspect", str(data / "jax_skew" / "p2")), 0),
        (("inspect",), 2),
        (("inspect", "nothing"), 3),
    ):
        ran = limited(8 << 30, *words)
        assert ran.returncode == code, ran.stderr
        assert "out of memory" not in ran.stderr


@pytest.mark.parametrize(
    ("does", "code"),
    [
        ("os._exit(2)", 70),  # as the runtime of the core ends
        ("os.abort()", 70),
        ("os._exit(5)", 5),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("sys.exit(2)", 2),
        ("bytearray(1 << 40)", 70),
    ],
)
def test_what_ends_the_process_under_a_limit(does, code):
    text = (
        "import os, signal, sys\nfrom prlx import _start\n"
        f"def run(name):\n    {does}\n_start._run = run\nsys.exit(_start.main())"
    )
    ran = limited(1 << 30, code=text)
    assert ran.returncode == code
    assert ("out of memory" in ran.stderr) is (code == 70)


def test_signals_reach_the_process_that_works():
    text = (
        "import os, signal, sys, time\nfrom prlx import _start\n"
        "def run(name):\n"
        "    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
        "    print('ready', flush=True)\n    time.sleep(60)\n"
        "_start._run = run\nsys.exit(_start.main())"
    )
    size = 1 << 30
    with subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(timeout=50) == 143
