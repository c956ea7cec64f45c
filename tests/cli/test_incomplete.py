"""Traces that cannot be read or were cut, from Python too: left out or salvaged on request, and never in silence."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

import prlx as package


@pytest.fixture
def job(data, tmp_path):
    """The recording of four nodes; the trace of the third is cut in half."""
    folder = tmp_path / "job"
    folder.mkdir()
    for path in sorted((data / "jax_skew" / "p4").glob("node*.xplane.pb")):
        shutil.copy(path, folder)
    for path in sorted((data / "jax_skew" / "p4").glob("probes_*.jsonl")):
        shutil.copy(path, folder)
    bad = folder / "node2.xplane.pb"
    bad.write_bytes(bad.read_bytes()[: bad.stat().st_size // 2])
    return folder


def test_without_being_asked_a_cut_trace_is_an_error(prlx, job):
    for command in (("combine", "-o", "run"), ("validate",), ("inspect",)):
        ran = prlx(command[0], job, *command[1:])
        assert ran.code == 3
        assert "node2.xplane.pb" in ran.err


def test_an_unreadable_trace_is_left_out_and_named(prlx, job):
    ran = prlx("combine", job, "-o", "run", "--skip-unreadable")
    assert ran.code == 5
    assert (
        ran.out.splitlines()[0] == "3 nodes on the clock of node0: degraded; left out, as unreadable: node2.xplane.pb"
    )
    assert "warning: node2.xplane.pb was left out: " in ran.err
    strict = prlx("combine", job, "-o", "strict", "--skip-unreadable", "--strict")
    assert strict.code == 5
    judged = prlx("validate", job, "--skip-unreadable")
    assert "left out, as unreadable: node2.xplane.pb" in judged.out
    shown = prlx("inspect", job, "--skip-unreadable", "--json").json()
    assert [file["path"].rpartition("/")[2] for file in shown["skipped"]] == ["node2.xplane.pb"]
    assert all("node2.xplane.pb" not in file["path"] for file in shown["files"])
    assert "node2.xplane.pb was left out: " in prlx("inspect", job, "--skip-unreadable").err


def test_a_cut_trace_is_salvaged(prlx, job):
    ran = prlx("combine", job, "-o", "run", "--salvage")
    assert ran.code == 5
    assert ran.out.splitlines()[0].endswith("cut and salvaged: node2")
    assert "the file was cut inside the line that begins at byte " in ran.err
    shown = prlx("inspect", job / "node2.xplane.pb", "--salvage", "--json").json()
    [file] = shown["files"]
    assert file["salvaged"]["missing_bytes"] > 0
    assert file["events"] > 0
    with pytest.warns(package.NotAlignedWarning, match="when they were recorded"):  # that stood behind the cut
        found = package.align_trace(job / "node2.xplane.pb", salvage=True, output="one.pb")
    assert found.document["nodes"][0]["salvaged"]["kept_bytes"] == file["salvaged"]["kept_bytes"]


def test_python_says_the_same(job):
    combined = package.combine_traces(sorted(job.glob("*.pb")), output="run", method="wall", skip_unreadable=True)
    assert [one["path"] for one in combined.skipped] == ["node2.xplane.pb"]
    assert "left out, as unreadable: node2.xplane.pb" in repr(combined)
    assert "node2.xplane.pb" in combined._repr_html_()
    judged = package.validate_collectives(sorted(job.glob("*.pb")), skip_unreadable=True)
    assert [one["path"] for one in judged.skipped] == ["node2.xplane.pb"]
    timeline = package.open(job, skip_unreadable=True)
    assert any("node2.xplane.pb was left out" in text for text in timeline.warnings)
    assert "1 left out as unreadable" in repr(timeline)
    cut = package.open(job / "node2.xplane.pb", salvage=True)
    assert len(cut.events["start_ns"]) == cut.files[0]["events"] > 0


def test_executors_leave_out_and_salvage(job):
    paths = sorted(job.glob("*.pb"))
    with ThreadPoolExecutor(2) as executor:
        skipped = package.combine_traces(paths, output="a", method="wall", executor=executor, skip_unreadable=True)
        salvaged = package.combine_traces(paths, output="b", method="wall", executor=executor, salvage=True)
    assert [one["path"] for one in skipped.skipped] == ["node2.xplane.pb"]
    assert [bool(node.document.get("salvaged")) for node in salvaged.nodes] == [False, False, True, False]


def test_cycles_leave_out_a_rank_and_salvage_an_xspace(prlx, data, tmp_path):
    traces = sorted((data / "kineto").glob("*sampled_rank-?.json.gz"))
    (tmp_path / "rank7.json").write_text("{}")
    assert prlx("cycles", *traces, "rank7.json").code == 3
    ran = prlx("cycles", *traces, "rank7.json", "--skip-unreadable")
    assert ran.code == 5
    conclusion = prlx("cycles", *traces, "rank7.json", "--skip-unreadable", "--json").json()["conclusion"]
    assert {"what": "traces", "count": 1, "why": "cannot be read and were left out"} in conclusion["missing"]
    assert "Left out, as unreadable: rank7.json." in ran.out
    whole = data / "xplane" / "openxla+xprof__2cc1243__tpu_inference_2.xplane.pb"
    cut = tmp_path / "cut.xplane.pb"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 3 // 4])
    assert prlx("cycles", cut).code == 3
    document = prlx("cycles", cut, "--salvage", "--json").json()
    assert document["losses"]["truncated"]
    assert 0 < document["input"]["kernels"] <= package.find_cycles(whole).document["input"]["kernels"]
    assert any("the file was cut inside" in text for text in document["warnings"])


def test_many_files_are_one_table(prlx, data, tmp_path):
    source = data / "jax_skew" / "p2" / "node0.xplane.pb"
    for number in range(64):
        (tmp_path / f"node{number}.xplane.pb").symlink_to(source)
    ran = prlx("inspect", *sorted(tmp_path.glob("node*.pb")))
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].startswith("64 files, ")
    assert sum(line.lstrip().startswith("node") for line in lines) == 64
    assert len(lines) < 80
    assert max(map(len, lines)) <= 100
    assert "  planes" in prlx("inspect", *sorted(tmp_path.glob("node*.pb")), "-v").out


def test_verdicts_are_a_page_like_the_others(prlx, data, tmp_path):
    ran = prlx("validate", data / "jax_skew" / "p4", "-o", "verdicts.html")
    assert ran.code == 1
    page = (tmp_path / "verdicts.html").read_text(encoding="utf-8")
    assert "Order of collectives" in page
    assert "238" in page
    assert "jit_permute_step/ppermute.3" in page
    assert 'name="viewport"' in page
    again = prlx("validate", data / "jax_skew" / "p4", "-o", "verdicts.html")
    assert again.code == 3
    assert "already exists" in again.err
    assert prlx("validate", data / "jax_skew" / "p4", "-o", "verdicts.html", "--overwrite").code == 1
