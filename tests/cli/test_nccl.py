"""``prlx nccl``: the library that NCCL can load, and what its recordings say."""

from __future__ import annotations

import ctypes
import inspect
import json
from pathlib import Path

import pytest

import prlx as package
from prlx.cli import nccl


@pytest.mark.parametrize(
    ("flags", "name"), [([], "libnccl-profiler-prlx.so"), (["--rccl"], "librccl-profiler-prlx.so")]
)
def test_the_library_has_every_version_of_the_interface(prlx, flags, name):
    ran = prlx("nccl", "plugin", "--path", *flags)
    path = Path(ran.out.strip())
    assert ran.code == 0
    assert path.is_absolute()
    assert path.name == name
    library = ctypes.CDLL(str(path))
    for version in range(1, 8):
        table = (ctypes.c_void_p * 6).in_dll(library, f"ncclProfiler_v{version}")
        assert ctypes.string_at(table[0]) == b"prlx"
        assert all(table)


def test_the_lines_for_launchers_name_the_library(prlx):
    ran = prlx("nccl", "plugin")
    path = prlx("nccl", "plugin", "--path").out.strip()
    for launcher in ("SLURM", "torchrun", "Kubernetes"):
        (line,) = (line for line in ran.out.splitlines() if launcher in line)
        assert path in line


def test_a_path_that_nccl_would_cut_is_said(prlx, monkeypatch):
    monkeypatch.setattr(nccl, "_LONGEST", 10)
    ran = prlx("nccl", "plugin", "--path")
    assert ran.code == 0
    assert "NCCL cuts the path after 10 characters" in ran.err


def test_a_library_that_is_missing_is_an_error(prlx, monkeypatch, tmp_path):
    monkeypatch.setattr(nccl, "__file__", str(tmp_path / "cli" / "nccl.py"))
    ran = prlx("nccl", "plugin")
    assert ran.code != 0
    assert "libnccl-profiler-prlx.so is not there" in ran.err


HANG = Path(__file__).resolve().parents[2] / "examples" / "nccl_hang"


def test_diagnose_names_the_culprit_in_one_sentence_and_fails(prlx):
    ran = prlx("nccl", "diagnose", str(HANG))
    assert ran.code == 1
    first = ran.out.splitlines()[0]
    assert first.startswith(
        "Rank 2 (node2) holds up AllGather #3 of world in SendWait with rank 3 on channel 0, NIC 0: "
    )
    assert "3 ranks have waited for 42.0 s" in first
    assert "SendGPUWait" in ran.out  # the table of what the others do


def test_diagnose_prints_one_document(prlx):
    ran = prlx("nccl", "diagnose", str(HANG), "--json", "--limit", "1")
    document = json.loads(ran.out)
    assert document["schema"] == "prlx.nccl-diagnose/1"
    assert document["status"] == "culprit"
    assert len(document["findings"]) == 1


def test_what_has_not_stood_long_enough_is_no_stall(prlx):
    ran = prlx("nccl", "diagnose", str(HANG), "--stall-after", "50", "--json")
    found = json.loads(ran.out)
    assert found["looked"]["stalls"] == "none"
    assert found["progress"]["outcome"] == "passed"
    assert [row["what"] for row in found["conclusion"]["missing"]] == ["who was late"]  # of 13 operations
    assert ran.code == 5


def test_one_rank_alone_is_inconclusive(prlx):
    ran = prlx("nccl", "diagnose", str(HANG / "node0-1000.prlx-nccl.gz"))
    assert ran.code == 5
    assert "there is no recording of rank 1, rank 2, rank 3" in ran.out
    assert "gather the recordings of all hosts" in ran.err


def test_report_divides_the_time_of_ranks(prlx):
    ran = prlx("nccl", "report", str(HANG))
    assert ran.code == 0
    assert ran.out.startswith("16 operations of 4 ranks in 1 communicator")
    document = json.loads(prlx("nccl", "report", str(HANG), "--json").out)
    for row in document["worst"]:
        for part in row["ranks"]:
            assert sum(part["time"].values()) == part["ended_ns"] - part["at_ns"]


def test_of_few_operations_nothing_is_said_for_certain(prlx):
    ran = prlx("nccl", "report", "--compare", str(HANG), str(HANG))
    assert ran.code == 5
    assert ran.out.startswith("Whether B takes longer than A is not known: an operation holds a rank for ")
    assert "have fewer than 4 operations in one of the runs, of which nothing says how much varies by chance" in ran.err
    document = json.loads(prlx("nccl", "report", "--compare", str(HANG), str(HANG), "--json").out)
    assert document["schema"] == "prlx.nccl-compare/1"
    assert {row["change_ns"] for row in (*document["parts"], document["held"])} == {0}


def test_runs_that_have_nothing_in_common_are_inconclusive(prlx):
    ran = prlx("nccl", "report", "--compare", str(HANG), str(HANG / "node0-1000.prlx-nccl.gz"))
    assert ran.code == 5
    assert "nothing is compared" in ran.out


FUNCTIONS = {
    "diagnose": package.diagnose_nccl,
    "report": package.read_nccl,
    "merge": package.merge_nccl,
    "flight": package.read_flight_recorder,
    "collect": package.collect_nccl,
    "selftest": package.selftest_nccl,
}
NO_FUNCTION = {"plugin": "a library, which Python does not load", "watch": "diagnose_nccl again and again"}


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_every_flag_is_an_argument_and_every_argument_a_flag(verb):
    parameters = inspect.signature(FUNCTIONS[verb]).parameters.values()
    arguments = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}
    assert set(nccl._VERBS[verb].flags) - {"json", "compare"} == arguments - {"progress"}


def test_every_verb_is_looked_at():
    assert set(FUNCTIONS) | set(NO_FUNCTION) == set(nccl._VERBS)
    flags = {name for verb in nccl._VERBS.values() for name in verb.flags}
    assert flags == {option.name for option in nccl.COMMAND.options}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plugin", "recordings"], "prlx nccl plugin takes no files"),
        (["diagnose"], "prlx nccl diagnose names no input"),
        (["report", ".", "--stall-after", "9"], "--stall-after is of prlx nccl diagnose, watch"),
        (["flight", ".", "-o", "x.json"], "--output is of prlx nccl merge, collect, selftest"),
        (["watch", ".", "--path"], "--path is of prlx nccl plugin"),
        (["diagnose", str(HANG), "--stall-after", "0"], "--stall-after is 0"),
        (["report", "--compare", str(HANG)], "--compare takes two runs, got 1"),
        (
            ["report", "--compare", str(HANG), str(HANG), "--limit", "3"],
            "--probes, --limit and --html are of a report of one run",
        ),
        (
            ["report", "--compare", str(HANG), str(HANG), "--html", "page.html"],
            "--probes, --limit and --html are of a report of one run",
        ),
        (["diagnose", "--compare", str(HANG)], "--compare is of prlx nccl report"),
    ],
)
def test_what_belongs_to_another_verb_is_refused(prlx, words, said):
    ran = prlx("nccl", *words)
    assert ran.code == 2
    assert said in ran.err


def test_a_directory_without_recordings_says_what_was_expected(prlx, tmp_path):
    ran = prlx("nccl", "diagnose", str(tmp_path))
    assert ran.code == 2
    assert "no name in it ends in .prlx-nccl" in ran.err


def test_the_functions_are_the_command():
    diagnosis = package.diagnose_nccl(HANG, progress=False)
    assert diagnosis.findings[0].waiting == ("0", "1", "3")
    going = package.diagnose_nccl(HANG, stall_after=50, progress=False)
    assert not going.findings
    assert going.document["progress"]["outcome"] == "passed"
    assert going.conclusion.outcome == "inconclusive"  # too few operations to say who was late
    assert len(package.read_nccl(HANG, limit=2, progress=False).document["worst"]) == 2


def test_a_page_says_what_both_commands_say(prlx, tmp_path):
    page = tmp_path / "nccl.html"
    ran = prlx("nccl", "report", str(HANG), "--html", str(page))
    assert ran.code == 0
    assert "nccl.html" in ran.err
    text = page.read_text(encoding="utf-8")
    assert "Rank 2 (node2) holds up AllGather #3" in text
    assert "Who waited for whom" in text
    assert prlx("nccl", "report", str(HANG), "--html", str(page)).code == 3
    document = json.loads(prlx("nccl", "report", str(HANG), "--html", str(page), "--overwrite", "--json").out)
    assert document["schema"] == "prlx.nccl/1"
    assert "written" not in document
    assert document["waits"][0].keys() == {"rank", "for", "waiting_ns", "certain_ns", "operations"}
    assert prlx("nccl", "report", str(HANG), "--html", "-").out.startswith("<!doctype html>")


def test_results_save_their_pages(tmp_path):
    report = package.read_nccl(HANG, html=tmp_path / "both.html")
    assert "What stands still" in (tmp_path / "both.html").read_text(encoding="utf-8")
    assert sum(row["waiting_ns"] for row in report.waits) == sum(row["time"]["waiting_ns"] for row in report.ranks)
    assert "What stands still" not in report.save(tmp_path / "time.html").read_text(encoding="utf-8")
    assert "What stands still" in package.diagnose_nccl(HANG).save(tmp_path / "hang.html").read_text(encoding="utf-8")
    assert json.loads(report.save(tmp_path / "time.json").read_text(encoding="utf-8"))["schema"] == "prlx.nccl/1"
    with pytest.raises(package.FileAccessError):
        report.save(tmp_path / "time.html")
