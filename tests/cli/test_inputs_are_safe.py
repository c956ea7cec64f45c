"""Whatever the output is called, with --overwrite too: inputs, and directories that prlx did not write, stay as they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from prlx import UsageError, combine_traces

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "jax_p4"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A directory with the traces of a job, and beside it what must survive."""
    shutil.copytree(EXAMPLE, tmp_path / "home" / "job")
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    return tmp_path / "home" / "job"


def content(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("combine", "job"),
        ("combine", "."),
        ("combine", "job/node0"),
        ("combine", "job/node1/node1.xplane.pb"),
        ("combine", "job/probes_node0.jsonl"),
        ("validate", "job/probes_node0.json"),
        ("solve", "job/probes_node0.jsonl"),
        ("align", "job/node1/node1.xplane.pb"),
    ],
)
def test_overwrite_does_not_touch_inputs(prlx, job, command, output):
    home = job.parent
    (job / "probes_node0.json").symlink_to("probes_node0.jsonl")
    before = content(home)
    probes = [job / f"probes_node{node}.jsonl" for node in range(4)]
    words = {
        "combine": [job],
        "validate": [job, "--probes", *probes],
        "solve": probes,
        "align": [job / "node1" / "node1.xplane.pb", "--probes", *probes],
    }[command]
    ran = prlx(command, *words, "-o", home / output, "--overwrite")
    assert ran.code == 2, ran
    assert "inputs are never touched" in ran.err
    assert len(ran.err.splitlines()) <= 2
    assert content(home) == before


def test_an_executor_does_not_touch_inputs_either(job):
    from concurrent.futures import ThreadPoolExecutor

    before = content(job.parent)
    with ThreadPoolExecutor(2) as pool, pytest.raises(UsageError, match="inputs are never touched"):
        combine_traces(job, output=job, executor=pool, overwrite=True, progress=False)
    assert content(job.parent) == before


def test_a_directory_of_somebody_else_is_not_replaced(prlx, job, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("dear reader")
    ran = prlx("combine", job, "-o", other, "--overwrite")
    assert ran.code == 2, ran
    assert "did not write" in ran.err
    assert [path.name for path in other.iterdir()] == ["letter.txt"]


def test_verdicts_need_a_directory_to_go_to(prlx, job):
    ran = prlx("validate", job, "-o", job / "no" / "verdicts.json")
    assert ran.code == 3
    assert f"{job / 'no'}: no such directory to write to" in ran.err


def test_align_without_an_output_writes_a_file_of_the_same_kind(prlx, job):
    ran = prlx("align", job / "node1" / "node1.xplane.pb", "--probes", *job.glob("probes_*.jsonl"))
    assert ran.code == 0, ran
    assert (job / "node1" / "node1.aligned.xplane.pb").is_file()


def test_an_unknown_reference_of_one_trace_is_said(prlx, job):
    trace, probes = job / "node1" / "node1.xplane.pb", list(job.glob("probes_*.jsonl"))
    ran = prlx("align", trace, "--probes", *probes, "--reference", "nobody", "-o", job / "out.xplane.pb")
    assert 'the clock data knows no node "nobody"' in ran.err
