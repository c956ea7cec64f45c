"""``prlx simulate`` as a user types it."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import prlx
from prlx import _progress

from .conftest import HERE, VERSIONS, environment, python, require

SCRIPT = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import numpy as np
import kernels

n = int(sys.argv[1])
x, y, o = np.ones(5000, np.float32), np.ones(5000, np.float32), np.zeros(5000, np.float32)
kernels.add[(5,)](x, y, o, n, BLOCK=1024)
print("sum", o.sum(), __name__)
if "--fail" in sys.argv:
    raise LookupError("the script's own")
if "--exit" in sys.argv:
    sys.exit(9)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "script.py").write_text(SCRIPT)
    return tmp_path / "script.py"


@pytest.fixture
def simulate(script: Path):
    """Runs ``prlx simulate`` on the script, with the newest Triton."""

    def run(*words: str, options: tuple[str, ...] = ()):
        return python(
            require(VERSIONS[2]), "-W", "error::RuntimeWarning", "-m", "prlx", "simulate", *options, script, *words,
            cwd=script.parent,
        )  # fmt: skip

    return run


def test_a_clean_script(simulate):
    done = simulate("5000")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("sum 10000.0 __main__\n1 kernel, 1 launch, ")
    assert "no finding" in done.stdout
    assert "add" in done.stdout
    assert "busiest lines" in done.stdout
    assert done.stderr == ""


def test_an_array_that_no_kernel_has_and_a_filter_that_leaves_nothing_are_warned_of(simulate, tmp_path):
    done = simulate("5000", options=("--empty", "nosuch", "--record", str(tmp_path / "run"), "--filter", "other"))
    assert done.returncode == 0, done.stderr
    assert "warning: empty: no kernel that was launched has an array 'nosuch'\n" in done.stderr
    assert "warning: nothing was recorded: no kernel is or has 'other', launched were add\n" in done.stderr
    assert "UserWarning" not in done.stderr


def test_a_script_may_enable_the_simulator_itself(simulate, script):
    own = "import prlx\nwith prlx.enable(device='simulator', seed=3) as seen:\n    "
    text = SCRIPT.replace("kernels.add[(5,)]", f"{own}kernels.add[(5,)]").replace(
        'print("sum"', 'prlx.disable()\nprint("sum"'
    )
    script.write_text(text)
    done = simulate("5000")
    assert done.returncode == 0, done.stderr
    assert "1 kernel, 1 launch, " in done.stdout
    assert "the options of its command line" in done.stderr
    assert python(require(VERSIONS[2]), script, "5000", cwd=script.parent).stdout == "sum 10000.0 __main__\n"


def test_variables_of_the_original_recorder_are_said_to_have_no_effect(script):
    said = "PRLX_HOME is set, but has no effect: nothing is looked for outside of the package"
    triton = require(VERSIONS[2])
    done = python(triton, "-m", "prlx", "simulate", script, "5000", cwd=script.parent, PRLX_HOME="a")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("PRLX_HOME") == 1, "once, not twice"
    assert said in done.stderr
    program = "import prlx\nwith prlx.record('a'): pass\nprlx.enable(device='simulator')\n"
    done = python(triton, "-c", program, cwd=script.parent, PRLX_HOME="a")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"UserWarning: {said}") == 2, done.stderr


def test_a_finding_is_exit_code_1_and_shows_the_line(simulate):
    done = simulate("5100")
    assert done.returncode == 1, done.stderr
    assert "out-of-bounds at " in done.stdout
    assert "| tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)" in done.stdout
    assert "block (4, 0, 0)" in done.stdout
    assert "Warning" not in done.stderr


def test_stop_ends_the_script(simulate):
    done = simulate("5100", options=("--stop",))
    assert done.returncode == 1, done.stderr
    assert "sum" not in done.stdout
    assert "out-of-bounds" in done.stdout


def test_json_is_one_document(simulate):
    done = simulate("5100", options=("--json",))
    document = json.loads(done.stdout)
    assert next(iter(document)) == "schema"
    assert document["schema"] == "prlx.simulate/1"
    assert document["status"] == "findings"
    assert [kernel["kernel"] for kernel in document["kernels"]] == ["add"]
    assert "sum 10000.0" in done.stderr


def test_the_scripts_words_are_its_own(simulate):
    done = simulate("5000", "--exit", "--json", "-h")
    assert done.returncode == 9, done.stderr
    assert "1 kernel, 1 launch" in done.stdout


def test_a_script_that_fails_shows_its_own_frames(simulate):
    done = simulate("5000", "--fail")
    assert done.returncode == 1
    assert "LookupError: the script's own" in done.stderr
    assert "runpy" not in done.stderr
    assert "prlx/cli" not in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(:\n", "SyntaxError: "),
        ("x = '\0'\n", "SyntaxError: "),
        ("import nothere\n", "ModuleNotFoundError: No module named 'nothere'"),
        ("raise SystemExit('bad input')\n", "bad input"),
        ("", ""),
    ],
)
def test_a_script_that_launches_nothing_was_not_checked(simulate, script, text, said):
    script.write_text(text)
    done = simulate()
    assert done.returncode == (1 if text else 5), done.stderr
    assert said in done.stderr
    assert "runpy" not in done.stderr
    assert "prlx" not in done.stderr
    assert "no finding" not in done.stdout
    assert done.stdout.startswith("0 kernels, 0 launches, 0 warp instructions: nothing was checked\n"), done.stdout
    assert ("the script ended with exit code 1 before its first launch" in done.stdout) == bool(text)


def test_a_script_that_fails_later_was_checked_up_to_there(simulate):
    done = simulate("5000", "--fail")
    assert done.returncode == 1
    assert ": no finding before the script ended with exit code 1\n" in done.stdout
    assert ": no finding before the script ended with exit code 9\n" in simulate("5000", "--exit").stdout
    assert " findings at 1 line\n" in simulate("5100", "--fail").stdout


def test_recordings_of_two_runs_are_diffed(simulate, script):
    for name, n in (("a", "5000"), ("b", "5000"), ("c", "4990")):
        assert simulate(n, options=("--record", name)).returncode == 0
    folder = require(VERSIONS[2])
    same = python(folder, "-m", "prlx", "diff", "a", "b", cwd=script.parent)
    assert same.returncode == 0, same.stdout + same.stderr
    other = python(folder, "-m", "prlx", "diff", "a", "c", cwd=script.parent)
    assert other.returncode == 1, other.stdout + other.stderr
    assert "kernels.py" in other.stdout
    again = simulate("5000", options=("--record", "a"))
    assert again.returncode == 3
    assert "is not empty" in again.stderr


LONG = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import numpy as np
import kernels

x = np.ones(32, np.float32)
kernels.forever[(1,)](x, 1, BLOCK=32)
print("begun", flush=True)
kernels.forever[(1,)](x, 1 << 30, BLOCK=32)
"""


def test_ctrl_c_ends_a_long_launch_and_leaves_no_half_file(tmp_path):
    (tmp_path / "long.py").write_text(LONG)
    words = [sys.executable, "-m", "prlx", "simulate", "--record", "run", "long.py"]
    with subprocess.Popen(
        words,
        cwd=tmp_path,
        env=environment(require(VERSIONS[2])),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=600)
    assert process.returncode == 130, said
    assert "interrupted" in said
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "0000_forever.prlx",
        "session.json",
        "sources",
    ]
    assert {path.suffix for path in (tmp_path / "run/sources").iterdir()} == {".zst"}
    manifest = json.loads((tmp_path / "run/session.json").read_text())
    assert manifest["status"] == "partial"
    assert len(manifest["launches"]) == 1


def test_kill_9_leaves_what_was_recorded(tmp_path):
    """Of a launch whose first block has ended, and whose second never does."""
    text = LONG.replace("np.ones(32", "np.ones(64").replace("kernels.forever[(1,)]", "kernels.later[(2,)]")
    (tmp_path / "long.py").write_text(text)
    words = [sys.executable, "-m", "prlx", "simulate", "--record", "run", "long.py"]
    left = tmp_path / "run/.0001_later.prlx.prlx-part"
    with subprocess.Popen(
        words, cwd=tmp_path, env=environment(require(VERSIONS[2])), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"begun\n"
        for _ in range(6000):  # a limit that only a hang reaches
            with contextlib.suppress(prlx.PrlxError):
                if prlx.read_trace(left, progress=False).num_warps:
                    break
            time.sleep(0.1)
        process.kill()
        process.communicate(timeout=600)
    trace = prlx.read_trace(left, progress=False)
    assert trace.num_warps == 4  # of a block
    assert trace.total_events > 0
    assert trace.losses.truncated
    whole = prlx.read_trace(tmp_path / "run/0000_later.prlx", progress=False)
    assert whole.num_warps == 8
    assert whole.warp(0).num_events == trace.warp(0).num_events
    assert not (tmp_path / "run/0001_later.prlx").exists()


def test_progress_counts_blocks():
    stream = io.StringIO()
    line = _progress._Plain(stream, "count")
    line.show("simulate", 1200, 5000)
    line.close()
    assert "simulate   24 %  1,200 of 5,000" in stream.getvalue()


def test_what_cannot_be(simulate, tmp_path):
    missing = python(require(VERSIONS[2]), "-m", "prlx", "simulate", tmp_path / "none.py")
    assert missing.returncode == 3
    assert "no such script" in missing.stderr
    assert simulate("5000", options=("--mode", "values")).returncode == 2


def test_without_triton_it_says_so(script):
    done = python(Path(), "-m", "prlx", "simulate", script, "5000", cwd=script.parent, PYTHONPATH="")
    assert done.returncode == 2
    assert "Triton cannot be imported" in done.stderr
