"""The commands on real recordings with the real core: what is promised is what comes out."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import prlx as package
from prlx.cli.align import xprof_main

from .conftest import SCHEMAS


@pytest.fixture(scope="session")
def p2(data):
    return data / "jax_skew" / "p2"


@pytest.fixture(scope="session")
def p4(data):
    return data / "jax_skew" / "p4"


def keys(document):
    """The shape of a document: its keys, at every depth; lists by their elements."""
    if isinstance(document, dict):
        return {key: keys(value) for key, value in document.items()}
    if isinstance(document, list):
        merged = {}
        for item in document:
            shape = keys(item)
            merged |= shape if isinstance(shape, dict) else {}
        return merged
    return None


def missing(shape, example, where=""):
    """Keys of a shape that the documented example does not have. Maps by name (counts, dependencies) have free keys."""
    for key, inner in (shape or {}).items():
        if key not in (example or {}):
            yield f"{where}{key}"
        elif key not in ("counts", "dependencies"):
            yield from missing(inner, example[key], f"{where}{key}.")


def test_combine_aligns_the_recording_of_four_nodes(prlx, p4, tmp_path):
    ran = prlx("combine", p4, "-o", "run", "--json")
    assert ran.code == 0
    document = ran.json()
    assert document["status"] == "aligned"
    assert [node["id"] for node in document["nodes"]] == ["node0", "node1", "node2", "node3"]
    offsets = [node["offset_ns"] for node in document["nodes"]]
    assert [round(offset / 1e6) for offset in offsets] == [0, 38, -6, 0]
    assert document["collectives"]["before"]["violated"] == 238
    assert document["collectives"]["after"]["violated"] == 0
    for output in document["outputs"]:
        content = (tmp_path / "run" / output["path"]).read_bytes()
        assert len(content) == output["bytes"]
        assert hashlib.sha256(content).hexdigest() == output["sha256"]
    assert ran.err.splitlines()[-1].startswith("wrote run; open it with: xprof")


def test_collectives_align_what_came_without_clock_data(prlx, p4):
    traces = sorted(str(path) for path in Path(p4).glob("*.xplane.pb"))
    ran = prlx("combine", *traces, "--method", "collectives", "-o", "run", "--json")
    assert ran.code == 0
    document = ran.json()
    assert document["status"] == "aligned"
    assert [node["method"] for node in document["nodes"]] == ["collectives"] * 4
    assert [round(node["offset_ns"] / 1e6) for node in document["nodes"]] == [0, 38, -6, 0]
    assert document["collectives"]["before"]["violated"] == 238
    assert document["collectives"]["after"]["violated"] == 0
    alone = prlx("combine", traces[0], "--method", "collectives", "-o", "alone.xplane.pb")
    assert alone.code == 2
    assert "needs the traces of several nodes" in alone.err


def test_text_and_json_tell_the_same(prlx, p2):
    text = prlx("combine", p2, "-o", "a").out
    assert "240 impossible, 0 consistent, 0 undecidable" in text
    assert "0 impossible, 240 consistent, 0 undecidable" in text
    assert "+199.7" in text


def test_nothing_is_overwritten_unless_asked(prlx, p2):
    assert prlx("combine", p2, "-o", "run").code == 0
    again = prlx("combine", p2, "-o", "run")
    assert again.code == 3
    assert "--overwrite" in again.err
    assert prlx("combine", p2, "-o", "run", "--overwrite").code == 0


def test_combine_then_validate(prlx, p4):
    raw = prlx("validate", p4, "--json")
    assert (raw.code, raw.json()["violated"]) == (1, 238)
    prlx("combine", p4, "-o", "run")
    aligned = prlx("validate", "run", "--json")
    assert (aligned.code, aligned.json()["violated"]) == (0, 0)


def test_solving_first_and_on_the_way_gives_the_same_bytes(prlx, p4):
    probes = sorted(p4.glob("probes_*.jsonl"))
    assert prlx("solve", *probes, "-o", "offsets.jsonl").code == 0
    traces = sorted(p4.glob("*.xplane.pb"))
    first = prlx("combine", *traces, "--offsets", "offsets.jsonl", "-o", "first", "--json").json()
    second = prlx("combine", *traces, "--probes", *probes, "-o", "second", "--json").json()
    assert [one["sha256"] for one in first["outputs"]] == [one["sha256"] for one in second["outputs"]]


def test_the_number_of_workers_changes_nothing(prlx, p4):
    documents = [prlx("combine", p4, "-o", f"run{n}", "--workers", str(n), "--json").json() for n in (1, 4)]
    assert [document.pop("base").rpartition("/")[2] for document in documents] == ["run1", "run4"]
    assert documents[0] == documents[1]


def test_xprof_trace_align_writes_the_trace_and_its_statistics(p2, tmp_path, capsys):
    probes = sorted(p2.glob("probes_*.jsonl"))
    package.solve_offsets(probes, output="offsets.jsonl", progress=False)
    words = ["--trace", str(p2 / "node1.xplane.pb"), "--offsets", "offsets.jsonl", "--output", "node1.aligned.xspace"]
    assert xprof_main(words) == 0, capsys.readouterr().err
    assert (tmp_path / "node1.aligned.xspace").stat().st_size > 100_000
    statistics = json.loads((tmp_path / "node1.aligned.xspace.node1.alignment_stats.json").read_text())
    assert statistics["events_corrected"] == statistics["events"]
    assert statistics["events_clamped_monotonic"] == 0
    assert round(statistics["max_correction_ns"] / 1e6) == -38
    assert "node1.aligned.xspace" in capsys.readouterr().err.splitlines()[-1]


def test_the_report_is_written(prlx, p2, tmp_path):
    ran = prlx("combine", p2, "-o", "run", "--report", "summary.html")
    assert ran.code == 0
    assert "wrote the summary summary.html" in ran.err
    page = (tmp_path / "summary.html").read_text()
    assert "node1" in page
    assert "http://" not in page.replace("http://www.w3.org/", "").replace("http://localhost", "")


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["combine", "none.pb"], 3, "none.pb: no such file or directory"),
        (["combine", "empty.pb", "-o", "o"], 3, "empty.pb"),
        (["inspect", "noise.bin"], 3, "noise.bin"),
        (["combine", "."], 3, "no traces"),
        (["solve", "noise.bin"], 3, "noise.bin"),
        (["validate", "none*.pb"], 3, "nothing matches"),
    ],
)
def test_unreadable_inputs_end_with_3_and_leave_nothing(prlx, tmp_path, words, code, expected):
    (tmp_path / "empty.pb").touch()
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 4)
    before = sorted(path.name for path in tmp_path.iterdir())
    ran = prlx(*words)
    assert ran.code == code, ran.err
    assert expected in ran.err
    assert len(ran.err.splitlines()) <= 2
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_two_traces_of_one_node_do_not_belong_together(prlx, p2):
    ran = prlx("combine", f"0={p2 / 'node0.xplane.pb'}", f"0={p2 / 'node1.xplane.pb'}", "-o", "o")
    assert ran.code == 4
    assert "node" in ran.err


def test_strict_ends_with_5_and_still_writes(prlx, data, tmp_path):
    ran = prlx("combine", data / "jax_skew" / "p2_step", "-o", "run", "--strict")
    assert ran.code == 5
    assert (tmp_path / "run" / "alignment.json").is_file()


@pytest.mark.parametrize("name", ["combine", "validate", "solve", "inspect", "version"])
def test_documents_hold_nothing_that_their_example_lacks(prlx, data, p2, name):
    words = {
        "combine": ["combine", data / "jax_skew" / "p2_step", "-o", "run"],
        "validate": ["validate", p2],
        "solve": ["solve", *sorted((data / "jax_skew" / "p2_step").glob("probes_*"))],
        "inspect": ["inspect", p2 / "node0.xplane.pb", p2 / "probes_node0.jsonl"],
        "version": ["version"],
    }[name]
    document = prlx(*words, "--json").json()
    example = json.loads((SCHEMAS / f"prlx.{name}.1.json").read_text())
    document.pop("base", None)
    assert list(missing(keys(document), keys(example))) == []


def test_inspect_tells_formats_by_content(prlx, p2, tmp_path):
    (tmp_path / "trace.txt").write_bytes((p2 / "node0.xplane.pb").read_bytes())
    files = prlx("inspect", "trace.txt", p2 / "node0.trace.json.gz", p2 / "probes_node0.jsonl", "--json").json()[
        "files"
    ]
    assert [file["format"] for file in files] == ["xspace", "chrome", "probe-stamps"]
    assert files[1]["compression"] == "gzip"


def test_open_reads_events_as_columns(p2):
    timeline = package.open(p2 / "node1.xplane.pb")
    events = timeline.events
    assert len(events) == sum(timeline.planes["events"]) == 4484
    assert timeline.events_dropped == 0
    assert (events["start_ns"][1:] >= events["start_ns"][:-1]).all()
    assert "psum_invariant.7" in events.column("name").dictionary()
    assert len(events.to_pandas()) == 4484


def test_an_executor_of_processes_writes_the_same_bytes(p4, tmp_path):
    here = package.combine_traces(p4, output="here", progress=False)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        there = package.combine_traces(p4, output="there", executor=executor, progress=False)
    assert there.path == tmp_path / "there"
    assert [output.sha256 for output in here.outputs] == [output.sha256 for output in there.outputs]
    assert {path.name for path in here.path.iterdir()} == {path.name for path in there.path.iterdir()}


def test_a_process_pool_carries_errors_with_their_place(p4, tmp_path):
    broken = tmp_path / "node1.xplane.pb"
    broken.write_bytes((p4 / "node1.xplane.pb").read_bytes()[:50_000])
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with pool, pytest.raises(package.TraceFormatError) as caught:
        package.combine_traces([p4 / "node0.xplane.pb", broken], output="out", executor=pool, progress=False)
    assert caught.value.path == str(broken)
    assert not (tmp_path / "out").exists()


def test_ctrl_c_stops_real_work(p4, tmp_path):
    copies: list[Path] = []
    for number in range(24):
        trace = tmp_path / f"node{number}.xplane.pb"
        trace.write_bytes((p4 / "node1.xplane.pb").read_bytes() * 60)
        copies.append(trace)
    child = subprocess.Popen(
        [sys.executable, "-m", "prlx", "combine", *map(str, copies), "-o", "out", "--workers", "1"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    while child.poll() is None and "_prlx" not in Path(f"/proc/{child.pid}/maps").read_text():
        time.sleep(0.02)
    time.sleep(0.2)
    assert child.poll() is None, "the work was over before it could be interrupted"
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=600)
    assert child.returncode == 130, err
    assert sorted(tmp_path.iterdir()) == sorted(copies)
