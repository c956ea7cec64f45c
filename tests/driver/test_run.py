"""``prlx run``: programs record without a line of theirs changed, over the CUDA driver of the simulator."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.driver.test_program import HERE, TRITON

import prlx
from prlx import _program

PROGRAM = """
import sys
import numpy as np
from program import OnDevice, add
import os

x, out = OnDevice(np.arange(64, dtype=np.int32)), OnDevice(np.zeros(64, np.int32))
for _ in range(int(sys.argv[1])):
    add[(1,)](x, x, out, 64, BLOCK=64)
print(out.numpy().tolist() == list(range(0, 128, 2)), *sys.argv[2:])
sys.exit(int(os.environ.get("STATUS", "0")))
"""


def prlx_command(*words, cwd, check=True, **environment):
    """Run the command line on a Triton of ours."""
    if not (TRITON / "3.9.0" / "triton").is_dir():
        pytest.skip("no Triton 3.9.0")
    settings = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PRLX_")},
        "PYTHONPATH": os.pathsep.join([str(TRITON / "3.9.0"), str(HERE)]),
        "TRITON_CACHE_DIR": str(cwd / "cache"),
        "PRLX_ARENA": "4MB",
        **environment,
    }
    done = subprocess.run(
        [sys.executable, "-m", "prlx", *map(str, words)], cwd=cwd, env=settings, capture_output=True, text=True
    )
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.replace("from program import", "from tests_program import"))
    (tmp_path / "tests_program.py").write_text((HERE / "program.py").read_text())
    return path


def test_a_program_records_and_ends_as_ever(program, tmp_path):
    done = prlx_command("run", "--record", "r", "--", sys.executable, program, 3, "--quiet", cwd=tmp_path, check=False,
                        STATUS="7")  # fmt: skip
    assert done.returncode == 7
    assert done.stdout == "True --quiet\n"
    assert "recorded 3 launches on the simulator's driver; open with: prlx session inspect r" in done.stderr
    session = prlx.open(tmp_path / "r")
    assert [row["kernel"] for row in session.document["launches"]] == ["add"] * 3
    assert not session.document["partial"]


def test_a_script_is_run_by_this_python_and_told_what_to_record(program, tmp_path):
    words = ("--stores", "--mode", "values", "--filter", "add")
    prlx_command("run", "-o", "r", *words, program, 1, cwd=tmp_path)
    (path,) = (tmp_path / "r").glob("*.prlx")
    trace = prlx.read_trace(path)
    assert "global-store" in set(trace.events["kind"].tolist())
    assert trace.header.document["mode"] == "values"
    prlx_command("run", "--overwrite", "-o", "r", "--filter", "nothing", program, 1, cwd=tmp_path)
    assert not list((tmp_path / "r").rglob("*.prlx"))
    for name, words in (("with", ()), ("without", ("--no-contents-after",))):
        prlx_command("run", "-o", name, *words, program, 1, cwd=tmp_path)
    kept = [prlx.read_trace(next((tmp_path / name).glob("*.prlx"))) for name in ("with", "without")]
    assert [bool(one.document["outputs"]["memory"]) for one in kept] == [True, False]


def test_each_process_has_a_session(program, tmp_path):
    script = (
        f"{sys.executable} {program} 1 && RANK=3 {sys.executable} {program} 2 && RANK=3 {sys.executable} {program} 1"
    )
    done = prlx_command("run", "--record", "r", "--", "sh", "-c", script, cwd=tmp_path)
    assert sorted(one.name for one in (tmp_path / "r").iterdir()) == ["process-0", "rank-3", "rank-3-2"]
    assert len(list((tmp_path / "r/rank-3").glob("*.prlx"))) == 2
    assert "recorded 4 launches" in done.stderr
    assert "3 processes have a session each" in done.stderr
    taken = prlx_command("run", "--record", "r", "--", "true", cwd=tmp_path, check=False)
    assert (taken.returncode, "is not empty" in taken.stderr) == (3, True)
    prlx_command("run", "--record", "r", "--overwrite", program, 1, cwd=tmp_path)
    assert [row["launch"] for row in prlx.open(tmp_path / "r").document["launches"]] == [0]
    assert not list((tmp_path / "r").glob("rank*"))


def test_a_program_that_cannot_be_run_leaves_the_folder_as_it_was(program, tmp_path):
    script = tmp_path / "no-interpreter"
    script.write_text("true\n")
    script.chmod(0o755)
    for words in (["no-such-program"], [script]):
        refused = prlx_command("run", "--record", "new/r", "--", *words, cwd=tmp_path, check=False)
        assert (refused.returncode, "cannot be run" in refused.stderr) == (3, True)
        assert not (tmp_path / "new").exists()
    prlx_command("run", "--record", "r", program, 1, cwd=tmp_path)
    prlx_command("run", "--record", "r", "--overwrite", "--", "no-such-program", cwd=tmp_path, check=False)
    assert [row["launch"] for row in prlx.open(tmp_path / "r").document["launches"]] == [0]


def test_nothing_recorded_is_said(tmp_path):
    done = prlx_command("run", "--record", "r", "--", sys.executable, "-c", "import triton", cwd=tmp_path)
    assert "nothing was recorded on the simulator's driver" in done.stderr
    assert list((tmp_path / "r").iterdir()) == []
    done = prlx_command("run", "--record", "r", "--", sys.executable, "-I", "-c", "1", cwd=tmp_path)
    assert "nothing was recorded" in done.stderr


def test_a_program_that_enables_prlx_itself_is_recorded_once(program, tmp_path):
    program.write_text("import prlx\nwith prlx.enable(output='mine'):\n" +
                       "".join(f"    {line}\n" for line in program.read_text().splitlines()))  # fmt: skip
    done = prlx_command("run", "--record", "r", program, 2, cwd=tmp_path)
    assert len(list((tmp_path / "r").glob("*.prlx"))) == 2
    assert not (tmp_path / "mine").exists()
    assert "prlx run records, with the options of its command line" in done.stderr


def test_who_only_looks_for_triton_does_not_end_the_wait(tmp_path, program):
    program.write_text("import importlib.util\nassert importlib.util.find_spec('triton')\n" + program.read_text())
    prlx_command("run", "--record", "r", program, 2, cwd=tmp_path)
    assert len(list((tmp_path / "r").glob("*.prlx"))) == 2


def test_another_sitecustomize_still_runs(program, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text("import builtins\nbuiltins.theirs = 1\n")
    program.write_text(program.read_text() + "\n")
    text = program.read_text().replace("print(", "print(theirs, sys.modules['sitecustomize'].__file__.split('/')[-2], ")
    program.write_text(text)
    path = os.pathsep.join([str(TRITON / "3.9.0"), str(HERE), str(tmp_path / "site")])
    done = prlx_command("run", "--record", "r", program, 1, cwd=tmp_path, PYTHONPATH=path)
    assert done.stdout == "1 site True\n"
    assert len(list((tmp_path / "r").glob("*.prlx"))) == 1


def test_python_that_never_imports_triton_loads_nothing_of_ours(tmp_path):
    code = "import sys; print(sorted(name for name in sys.modules if name.startswith('prlx')), 'numpy' in sys.modules)"
    done = prlx_command("run", "--record", "r", "--", sys.executable, "-c", code, cwd=tmp_path)
    assert done.stdout == "[] False\n"


def test_the_words_of_the_original_do_the_same(program, tmp_path):
    prlx_command("session", "capture", "-o", "a", "--", sys.executable, program, 1, cwd=tmp_path)
    prlx_command("triton", "-o", "b", program, 1, cwd=tmp_path)
    assert prlx.diff_traces(tmp_path / "a", tmp_path / "b").passed


def test_variables_of_the_original_are_honoured(program, tmp_path):
    program.write_text("import prlx\nprlx.enable(device='gpu')\n" + program.read_text())
    words = ("simulate", "--", sys.executable, program, 2)
    told = {"PRLX_SESSION": str(tmp_path / "r"), "PRLX_INSTRUMENT_STORES": "1"}
    prlx_command(*words, cwd=tmp_path, **told)
    kinds = prlx.read_trace(min((tmp_path / "r").glob("*.prlx"))).events["kind"].tolist()
    assert "global-store" in kinds
    prlx_command(*words, cwd=tmp_path, PRLX_TRACE_DIR=str(tmp_path / "off"), PRLX_ENABLED="0")
    assert not list((tmp_path / "off").glob("*.prlx"))
    program.write_text(program.read_text().replace("range(int(sys.argv[1]))", "range(1)"))
    prlx_command(*words, cwd=tmp_path, PRLX_TRACE=str(tmp_path / "one.prlx"))
    assert prlx.read_trace(tmp_path / "one.prlx").header.kernel == "add"


@pytest.mark.parametrize(
    ("words", "told"), [(("--filter", "a:b:c"), {}), ((), {"PRLX_RECORD": "nonsense"})], ids=["filter", "variable"]
)
def test_a_mistake_is_said_before_anything_runs(words, told, tmp_path):
    done = prlx_command(
        "run", "--record", "r", *words, "--", "touch", tmp_path / "ran", cwd=tmp_path, check=False, **told
    )
    assert (done.returncode, (tmp_path / "ran").exists(), (tmp_path / "r").exists()) == (2, False, False)


def test_which_driver_there_is_is_said(tmp_path):
    here = _program.driver()
    assert "why" in here or here["path"]
    inside = "import json; from prlx import _program; print(json.dumps(_program.driver()))"
    found = json.loads(prlx_command("simulate", "--", sys.executable, "-c", inside, cwd=tmp_path, check=False).stdout)
    assert found["path"] == str(_program.DRIVER / "libcuda.so.1")
    assert found["capability"] == [8, 0]
    said = prlx_command("simulate", "--", sys.executable, "-m", "prlx", "doctor", cwd=tmp_path, check=False).stdout
    assert "that of the simulator" in said
    if "why" in here:
        refused = prlx_command("run", "--device", "gpu", "--record", "r", "--", "true", cwd=tmp_path, check=False)
        assert (refused.returncode, "there is no GPU" in refused.stderr) == (2, True)
    given = prlx_command("simulate", "--", sys.executable, "-m", "prlx", "run", "--device", "gpu", "--record", "r", "--",
                         sys.executable, "-c", inside, cwd=tmp_path, check=False)  # fmt: skip
    assert json.loads(given.stdout)["path"] == found["path"]


@pytest.mark.parametrize("told", [{"SLIP": "1"}, {}], ids=["differs", "same"])
def test_locate_searches_over_a_driver(told, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os\nfrom program import add, OnDevice\nfrom recorded import ints, steps\n"
        "x, out = ints(*range(64)), ints(*[0] * 64)\nadd[(1,)](x, x, out, 64, BLOCK=64)\n"
        "steps[(8,)](ints(6, 7, 12, 27 if os.environ.get('SLIP') else 6, 3, 1, 2, 9), out, 8, BLOCK=1)\n"
    )
    words = [word for name, value in told.items() for word in ("--env-b", f"{name}={value}")]
    done = prlx_command("simulate", "--", sys.executable, "-m", "prlx", "locate", "--json", script, *words, cwd=tmp_path,
                        check=False)  # fmt: skip
    found = json.loads(done.stdout)
    if not told:
        assert (done.returncode, found["status"]) == (0, "same")
        return
    assert (done.returncode, found["status"], found["kernel"], found["launch"]) == (1, "located", "steps", 1)
    line = next(
        i for i, text in enumerate((HERE / "recorded.py").read_text().splitlines(), 1) if "value = tl.load(x" in text
    )
    assert found["place"] == f"{HERE / 'recorded.py'}:{line}"  # x held something else, and there it is read
    assert found["warp_ranges"] == "12-15"


def test_a_block_cannot_record_what_kernels_were_not_compiled_for(tmp_path):
    code = (
        "import prlx\n"
        "for outer, inner in (('control-flow', 'digest'), ('digest', 'values')):\n"
        "    with prlx.enable(device='gpu', mode=outer):\n"
        "        try:\n"
        "            with prlx.record(f'{outer}.prlx', mode=inner): pass\n"
        "        except prlx.UsageError as error: print(error.message)\n"
    )
    done = prlx_command("simulate", "--", sys.executable, "-c", code, cwd=tmp_path, check=False)
    assert done.stdout.count("mode: kernels are compiled to record") == 2
