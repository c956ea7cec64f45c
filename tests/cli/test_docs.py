"""Every command line of docs/commands and docs/start.md runs as it is written, in a folder that holds what it names."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from docs.reading import hide
from kernel.recordings import softmax
from simulator.conftest import TRITON, require, torch_environment, variables

PAGES = Path(__file__).resolve().parents[2] / "docs" / "commands"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

DECLARED = """
[nodes.0]
offset_ns = 0
bound_ns = 0

[nodes.1]
offset_ns = 37_000_000
bound_ns = 1_000_000
"""

# How command lines begin that do not end with 0, and with what they end.
ENDS = {
    "prlx combine rank*.json.gz": 5,  # JSON of JAX, which does not say when it was recorded
    "prlx align b.json.gz": 5,  # likewise
    "prlx cycles compare before.json.gz after.json.gz": 1,  # a kernel takes longer
    "prlx cycles": 5,  # of JAX on processors, without kernels
    "prlx stragglers traces/ --step 12": 5,  # of one operation nothing says whether it was late by chance
    "prlx stragglers traces/ --fail-on": 0,  # the link cost more than that, and no rank
    "prlx stragglers": 1,  # the link of both nodes was slow
    "prlx report diff.json": 1,
    "prlx probe --peers": 5,  # nobody runs at the other host
    "prlx validate node*.xplane.pb --probes": 0,
    "prlx validate node*.xplane.pb": 1,
    "prlx diff good.prlx bad.prlx --baseline": 5,  # two equal runs are too few to tell
    "prlx diff good.prlx bad.prlx": 1,
    "prlx diff good.tape bad.tape": 1,
    "prlx diff run_a/ run_b/": 1,
    "prlx diff good/ bad/": 1,
    "prlx session diff run_a/ run_b/": 1,
    "prlx nccl diagnose recordings/": 1,
    "prlx nccl compare run_1/ run_2/": 5,  # both are the example, of few operations
    "prlx nccl watch recordings/": 1,
    "prlx nccl flight dumps/": 1,
    "prlx nccl collect": 5,  # what is played is rank 1 of two
    "prlx simulate --selftest": 0 if Path("/dev/nvidia0").exists() else 5,
}


def blocks(page, language):
    """The blocks of a page in one language, or in none."""
    return [body for name, body in FENCE.findall(page.read_text()) if name == language]


def command_lines():
    """The command lines of every page, in order; a backslash joins lines."""
    for page in sorted(PAGES.glob("*.md")):
        if page.stem == "completion":  # asked of the shells themselves, in test_completion.py
            continue
        for block in blocks(page, ""):
            for line in block.replace("\\\n", " ").splitlines():
                yield pytest.param(" ".join(line.split()), id=f"{page.stem}: {line[:40]}")
    for block in blocks(PAGES.parent / "start.md", "sh"):
        for line in block.splitlines():
            yield pytest.param(line.partition(" #")[0].strip(), id=f"start: {line[:40]}")


@pytest.fixture
def folder(data, tmp_path, monkeypatch):
    """Everything that the pages name, and a command prlx."""
    p2, play = data / "jax_skew" / "p2", tmp_path / "play"
    for number, letter in enumerate("ab"):
        trace, chrome = p2 / f"node{number}.xplane.pb", p2 / f"node{number}.trace.json.gz"
        for name in (
            f"node{number}/t.xplane.pb",
            f"node{number}.xplane.pb",
            f"{letter}.xplane.pb",
            f"node{number}.xspace",
        ):
            copy(trace, play / name)
        copy(trace, play / "logdir/plugins/profile/2026_11_21_01_54_35" / f"node{number}.xplane.pb")
        for name in (f"rank{number}.json.gz", f"{letter}.json.gz"):
            copy(chrome, play / name)
        copy(p2 / f"probes_node{number}.jsonl", play / f"probes_node{number}.jsonl")
        copy(p2 / f"probes_node{number}.jsonl", play / f"probe_windows_node{number}.jsonl")
        copy(trace, play / "traces" / f"node{number}.xplane.pb")
    copy(p2 / "node0.trace.json.gz", play / "trace.json.gz")
    for name in ("before", "after"):
        copy(PAGES.parents[1] / f"examples/serving/{name}.json.gz", play / f"{name}.json.gz")
    for name in ("good", "bad"):
        copy(PAGES.parents[1] / f"examples/training/{name}.tape", play / f"{name}.tape")
    for path in (PAGES.parents[1] / "examples/ptx").iterdir():
        copy(path, play / "examples/ptx" / path.name)
    (play / "offsets.toml").write_text(DECLARED)
    (play / "hosts.txt").write_text("127.0.0.1:27005\n127.0.0.2:27006\n")
    (play / "job.key").touch(mode=0o600)
    (play / "job.key").write_text("a key of at least sixteen bytes")
    (play / "node0.snapshot.jsonl").write_text(
        '{"sys_clock_ns": 1795226075450000000, "tracer_clock_ns": 5000000000}\n' * 1
    )
    record(play)
    for recording in (PAGES.parents[1] / "examples/nccl_hang").iterdir():
        for folder in ("recordings", "run_1", "run_2"):
            copy(recording, play / folder / recording.name)
    (play / "dumps").mkdir()
    for rank in range(3):
        (play / f"dumps/rank{rank}").write_text(json.dumps(dump(rank)))
    (play / "kernels.py").write_text(KERNELS)
    for name in ("train.py", "test.py", "before.py", "after.py"):
        (play / name).write_text(PROGRAM)
    monkeypatch.chdir(play)
    for name, value in variables(TRITON / "3.9.0").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", f"{TRITON / '3.9.0'}{os.pathsep}{play}")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name, call in (("prlx", "-m prlx"), ("xprof_trace_align", f"-c '{XPROF}'")):
        script = bin_folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {call} "$@"\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_folder}{os.pathsep}{os.environ['PATH']}")
    return play


# A kernel, and a program that launches it, for prlx simulate.
KERNELS = """
import triton
import triton.language as tl


@triton.jit
def add(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)
"""
PROGRAM = """
import numpy as np
from kernels import add

x = np.ones(5000, np.float32)
add[(5,)](x, x, x, 5000, BLOCK=1024)
"""
MODEL = "import torch\nprint(torch.compile(torch.nn.LayerNorm(50))(torch.ones(4, 50)).shape)\n"
XPROF = "import sys; from prlx.cli.align import xprof_main; sys.exit(xprof_main())"


def dump(rank):
    """What PyTorch's Flight Recorder leaves of a rank; the last of three never calls the second operation."""
    called = [
        {
            "record_id": number,
            "pg_id": 0,
            "process_group": ["0", "default_pg"],
            "collective_seq_id": number,
            "p2p_seq_id": 0,
            "op_id": number,
            "profiling_name": "nccl:all_reduce",
            "time_created_ns": 1_795_444_315_000_000_000 + number,
            "input_sizes": [[128]],
            "input_dtypes": ["Float"],
            "output_sizes": [[128]],
            "output_dtypes": ["Float"],
            "state": "completed" if number == 1 else "scheduled",
            "retired": number == 1,
            "is_p2p": False,
        }
        for number in ((1, 2) if rank < 2 else (1,))
    ]
    groups = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}}
    return {"version": "2.10", "pg_config": groups, "entries": called}


def record(play):
    """Recordings of kernels, and a comparison that was saved."""
    good = softmax()
    one = list(good.warps[1])
    one[3] = replace(one[3], dir=1 - one[3].dir)
    bad = good.changed(1, one)
    for name in ("good", "good2", "good3", "same", "golden", "new", "old"):
        good.write(play / f"{name}.prlx")
    bad.write(play / "bad.prlx")
    for name, launches in (("run_a", [good, good]), ("run_b", [good, bad]), ("good", [good]), ("bad", [bad])):
        (play / name).mkdir()
        for number, launch in enumerate(launches):
            launch.write(play / name / f"softmax_kernel_{number}.prlx")


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def programs():
    """The Python of every page."""
    for page in sorted(PAGES.glob("*.md")):
        for block in blocks(page, "python"):
            yield pytest.param(block, id=page.stem)


def prepare(folder, text):
    """Make what the text takes as given, and remove what it makes itself."""
    if "simulate" in text or "locate" in text:
        require("3.9.0")
    run("prlx solve probes_node*.jsonl -o offsets.jsonl -q")
    shutil.copyfile("offsets.jsonl", "node0.offsets.jsonl")
    for name in ("run", "run_aligned") if "run" in text else ():
        run(f"prlx combine node0.xplane.pb node1.xplane.pb --probes probes_*.jsonl -o {name} -q")
    if " -o offsets.jsonl" in text or 'output="offsets.jsonl"' in text:
        (folder / "offsets.jsonl").unlink()
    if "merged.json.gz" in text and "-o merged.json.gz" not in text:
        run("prlx combine node0.xplane.pb node1.xplane.pb --probes probes_*.jsonl -o merged.json.gz -q")
    if "--probes probes/" in text or "--watch probes" in text:
        for number in range(2):
            copy(folder / f"probes_node{number}.jsonl", folder / "probes" / f"probes_node{number}.jsonl")
    if "nccl collect" in text:
        for node in ("node0", "node1"):
            run(f"PRLX_NCCL_DIR={node} {sys.executable} -m prlx._nccl_player $(prlx nccl plugin --path)")
    if "diff.json" in text and "> diff.json" not in text:
        run("prlx diff good.prlx bad.prlx --json -q > diff.json", 1)
    if "stragglers.json" in text:
        run("prlx stragglers node0.xplane.pb node1.xplane.pb --json > stragglers.json", 1)
    if " -o new.prlx" in text:
        (folder / "new.prlx").unlink()
    if "--record good.prlx" in text or "--record bad.prlx" in text:
        (folder / text.split()[3]).unlink()
    if "--record good/" in text or "--record bad/" in text:
        shutil.rmtree(folder / text.split()[3])
    if " -o run/" in text or 'output="run"' in text:
        shutil.rmtree(folder / "run")


@pytest.mark.parametrize("line", command_lines())
def test_the_command_lines_of_the_pages_run(folder, line, monkeypatch):
    prepare(folder, line)
    if line.startswith("prlx pytorch"):
        for name in ("train.py", "model.py"):
            (folder / name).write_text(MODEL)
        for name, value in torch_environment(require("3.9.0")).items():
            monkeypatch.setenv(name, value)
    if "| jq" in line and shutil.which("jq") is None:
        line = line.partition("|")[0]
    run(line, next((code for begin, code in ENDS.items() if line.startswith(begin)), 0))


def run(line, code=0):
    line = line.replace("10min", "0.1s").replace("--rounds 10", "--rounds 1")  # how long clocks are measured
    done = subprocess.run(["bash", "--norc", "-c", line], capture_output=True, text=True, timeout=600)
    assert done.returncode == code, f"{line}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("program", programs())
def test_the_python_of_the_pages_runs(folder, program):
    prepare(folder, program)
    code = f"import prlx\n{program}".replace("10min", "0.1s")
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("program", programs())
def test_the_python_of_the_pages_needs_what_it_says_and_no_more(folder, program):
    prepare(folder, program)
    lines = [
        line
        for line in program.replace("10min", "0.1s").splitlines()
        if not re.search(r"# .*needs (pandas|polars)$", line)
    ]
    hidden = hide(folder / "hidden")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(["import prlx", *lines])],
        env={**os.environ, "PYTHONPATH": f"{hidden}{os.pathsep}{os.environ['PYTHONPATH']}"},
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_every_page_has_command_lines():
    """Those of ``prlx run`` want a program for a GPU; tests/driver runs such."""
    pages = {param.id.partition(":")[0] for param in command_lines()}
    assert pages == {page.stem for page in PAGES.glob("*.md")} - {"README", "completion", "run"} | {"start"}
