"""What the pages tell a reader to type runs, and prints what they show."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from simulator.conftest import TRITON, require, variables

from .reading import ROOT, File, Program, Step, fences, pages, sequence, steps

SHOWN = [
    "README.md",
    "docs/tutorial.md",
    "docs/two-runs.md",
    "docs/ranks.md",
    "docs/stragglers.md",
    "docs/serving.md",
    "docs/laptop.md",
    "docs/my-kernel.md",
    "docs/nccl.md",
    "docs/pictures.md",
    "docs/pytest.md",
    "docs/concepts/recording.md",
    *(f"docs/{p.relative_to(ROOT / 'docs')}" for p in (ROOT / "docs/commands").glob("*.md")),
]

# What differs from run to run in what a page shows, as a pattern. Everything else is compared to the last digit: the
# recordings are in the repository, and what is computed from them is the same on every machine.
DIFFERS = {
    "docs/pytest.md": [r"(?<= passed in )\d+\.\d\ds$"],
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with the examples in it and nothing else, as a reader of a clone sees it."""
    shutil.copytree(ROOT / "examples", tmp_path / "clone" / "examples")
    return tmp_path / "clone"


def environment(folder: Path) -> dict[str, str]:
    """The environment of the command: ``prlx`` of this interpreter first, no setting of the person who runs the tests."""
    folder = folder.parent / "bin"
    folder.mkdir(exist_ok=True)
    for name, what in (("prlx", " -m prlx"), ("pytest", " -m pytest"), ("python", "")):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}"{what} "$@"\n')
        script.chmod(0o755)
    unset = ("COLUMNS", "CI")  # with CI set, equal files are read in full, and say so
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PRLX_") and name not in unset}
    kept.update(variables(TRITON / "3.9.0"))  # for pages that run Triton
    # A kernel keeps the folder it was compiled in, which is not in Triton's key: no other test may have compiled it elsewhere.
    kept["TRITON_CACHE_DIR"] = str(folder.parent / "triton")
    return {**kept, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}


def masked(line: str, page: str) -> str:
    """A line without what its page declares as different from run to run."""
    for pattern in DIFFERS.get(page, ()):
        line = re.sub(pattern, "(differs)", line)
    return line


def comparable(text: str, page: str, folder: Path) -> list[str]:
    """Output to the last digit and space, without the folder of the test and what the page declares."""
    text = text.replace(f"{folder}/", "")
    return [masked(line.rstrip(), page) for line in text.rstrip().splitlines()]


def matches(want: list[str], got: list[str]) -> bool:
    """Whether the output is what the page shows; a line of three dots stands for any lines."""
    if "..." not in want:
        return want == got
    at = want.index("...")
    head, tail = want[:at], want[at + 1 :]
    return got[:at] == head and (not tail or got[-len(tail) :] == tail) and len(got) >= len(head) + len(tail)


@pytest.mark.parametrize("page", [p for p in SHOWN if steps(ROOT / p)])
def test_console_blocks_run_and_print_what_they_show(page, copy):
    if "prlx simulate" in (ROOT / page).read_text():
        require("3.9.0")
    for step in sequence(ROOT / page):
        if isinstance(step, File):
            (copy / step.name).write_text(step.text)
        if not isinstance(step, Step):
            continue
        done = subprocess.run(
            ["bash", "-c", step.command], cwd=copy, env=environment(copy), capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, f"{page}: $ {step.command}\n{done.stdout}{done.stderr}"
        want, got = comparable(step.printed, page, copy), comparable(done.stdout, page, copy)
        assert matches(want, got), f"{page}: $ {step.command}\nprints\n{done.stdout}\nand the page says\n{step.printed}"


def test_a_digit_of_a_result_is_compared():
    shown = comparable("node1  probes     +37.57 ms\n1 passed in 0.52s\n", "docs/pytest.md", ROOT)
    assert shown == comparable("node1  probes     +37.57 ms\n1 passed in 1.34s\n", "docs/pytest.md", ROOT)
    assert shown != comparable("node1  probes     +37.58 ms\n1 passed in 0.52s\n", "docs/pytest.md", ROOT)
    assert shown != comparable("node1  probes     +37.57 ms\n2 passed in 0.52s\n", "docs/pytest.md", ROOT)
    assert shown != comparable("node1  probes     +37.57 ms\n1 passed in 0.52s\n", "README.md", ROOT)


@pytest.mark.parametrize(("page", "pattern"), [(page, p) for page, patterns in DIFFERS.items() for p in patterns])
def test_what_is_declared_to_differ_is_shown(page, pattern):
    shown = [line for step in steps(ROOT / page) for line in step.printed.splitlines()]
    assert any(re.search(pattern, line) for line in shown), f"{page} shows nothing like {pattern}"


def test_what_a_command_prints_is_in_a_console_block():
    elsewhere = [
        f"{page.relative_to(ROOT)}: {body.strip().splitlines()[0]}"
        for page in pages()
        for language, body in fences(page)
        if language == "text" or (language != "console" and re.search(r"^\$ ", body, re.MULTILINE))
    ]
    assert not elsewhere, f"blocks that no test compares: {elsewhere}"


def program(page: str) -> str:
    """The Python of a page that is typed, not saved."""
    return "".join(what.text for what in sequence(ROOT / page) if isinstance(what, Program))


@pytest.mark.parametrize("page", [p for p in SHOWN if "/commands/" not in p and program(p)])
def test_python_blocks_run(page, copy):
    if "softmax" in (code := program(page)):
        require("3.9.0")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=copy,
        env=environment(copy),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, f"{page}\n{done.stdout}{done.stderr}"


def test_a_reader_needs_five_commands():
    commands = [step.command for step in steps(ROOT / "docs/tutorial.md")]
    assert [command.split()[:2] for command in commands[:5]] == [
        ["prlx", name] for name in ("inspect", "validate", "solve", "combine", "validate")
    ]


def test_every_page_with_commands_is_looked_at():
    shown = {*SHOWN, "docs/cuda.md"}  # which needs a compiler of CUDA: tests/cudart looks at it
    elsewhere = [p for p in pages() if steps(p) and str(p.relative_to(ROOT)) not in shown]
    assert not elsewhere, f"console blocks that no test runs: {elsewhere}"


def test_the_demo_keeps_its_promises(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples/demo.py", "--output", tmp_path / "demo"],
        cwd=tmp_path, env=environment(tmp_path / "clone"), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "collectives in impossible order: 238 of 240 before, 0 after" in done.stdout
    written = {path.name for path in (tmp_path / "demo").iterdir()}
    assert {"run", "all.xplane.pb", "all.json.gz", "report.html", "offsets.jsonl"} <= written


def test_the_demo_of_two_runs_names_the_line_of_the_bug(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples/demo_diff.py", "--output", tmp_path / "demo"],
        cwd=tmp_path, env=environment(tmp_path / "clone"), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert ">    11 |     for (int r = 0; r <= 4; r++) {" in done.stdout
    assert (tmp_path / "demo" / "two_runs.html").is_file()


def test_the_demo_of_the_machine_names_the_mask_and_the_store(tmp_path):
    triton = require("3.9.0")
    done = subprocess.run(
        [sys.executable, ROOT / "examples/demo_simulate.py", "--output", tmp_path / "demo", "--triton", triton],
        cwd=tmp_path, env=environment(tmp_path / "clone"), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "taken by lane 7 only in A" in done.stdout
    assert "out-of-bounds at" in done.stdout
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {"right.prlx", "wrong.prlx"}
