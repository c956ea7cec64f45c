"""Sessions: their launches listed, matched and compared, from Python and from the command line."""

# ruff: noqa: ARG001 - fixtures make the folder that a test runs in
from __future__ import annotations

import json
from dataclasses import replace

import pytest

import prlx as package
from prlx._lines import Look
from prlx._session_diff import _launches

from .recordings import SITES, site_map, softmax

CONCLUDED = (0, 1, 5)  # the exit codes of documents that were read


def write(folder, launches, manifest=True):
    """A session of launches, each a recording, with the manifest of original prlx 0.5 or without any."""
    folder.mkdir()
    rows = []
    for number, launch in enumerate(launches):
        name = f"{launch.kernel}_{number}.prlx"
        launch.write(folder / name)
        rows.append(
            {"launch": number, "kernel": launch.kernel, "file": name, "grid": launch.grid, "block": launch.block}
        )
    if manifest:
        (folder / "session.json").write_text(json.dumps(rows))
    return folder


SOFTMAX = softmax()
REDUCE = replace(softmax(8), kernel="reduce_kernel")
ONE = list(SOFTMAX.warps[1])
BROKEN = SOFTMAX.changed(1, [*ONE[:3], replace(ONE[3], dir=0), *ONE[4:]])


@pytest.fixture
def runs(tmp_path):
    """``run_a`` and ``run_b``: B has one launch more at the front, and its second softmax differs."""
    write(tmp_path / "run_a", [SOFTMAX, REDUCE, SOFTMAX])
    write(tmp_path / "same", [SOFTMAX, REDUCE, SOFTMAX], manifest=False)
    write(tmp_path / "run_b", [replace(REDUCE, kernel="warm_up"), SOFTMAX, REDUCE, BROKEN])
    site_map(tmp_path / "prlx-sites.json", SITES)
    return tmp_path


def test_a_session_lists_its_launches(prlx, runs):
    session = package.open("run_a")
    assert repr(session).endswith("run_a: 3 launches of 2 kernels>")
    assert session.launches["kernel"].tolist() == ["softmax_kernel", "reduce_kernel", "softmax_kernel"]
    assert session.launches["grid"].tolist() == ["2x1x1", "4x1x1", "2x1x1"]
    assert [trace.header.kernel for trace in session] == session.launches["kernel"].tolist()
    assert session.launch(1).total_events == sum(map(len, REDUCE.warps))
    with pytest.raises(package.UsageError, match="no launch 7"):
        session.launch(7)
    ran = prlx("session", "inspect", "run_a")
    assert ran.code == 0
    assert "reduce_kernel_1.prlx" in ran.out
    document = prlx("session", "inspect", "run_a", "--json").json()
    assert document["schema"] == "prlx.session-inspect/1"
    assert len(document["launches"]) == 3


def test_what_a_compiled_kernel_computes_is_listed(prlx, runs, monkeypatch):
    assert "computes" not in prlx("session", "inspect", "run_a").out
    assert "computes" not in package.open("run_a")._repr_html_()
    manifest = runs / "run_a" / "session.json"
    rows = json.loads(manifest.read_text())
    node = {"node": "softmax", "op": "aten._softmax.default", "module": "head (Softmax)", "file": "m/net.py", "line": 7}
    rows[2]["origin"] = {"graph": "0/1", "backward": True, "nodes": [node]}
    manifest.write_text(json.dumps({"schema": "prlx.session/1", "launches": rows}))
    text = "aten._softmax.default in head (Softmax), at net.py:7, backward of graph 0/1"
    session = package.open("run_a")
    assert session.launches["origin"].tolist() == [None, None, text]
    assert text in session._repr_html_()
    monkeypatch.setenv("COLUMNS", "240")
    ran = prlx("session", "inspect", "run_a")
    head, first, _, third = [line for line in ran.out.splitlines() if line.startswith("  ")][:4]
    at = head.index("computes")
    assert (first[at : at + 5].strip(), third[at:].startswith(text)) == ("", True)


def test_recordings_of_a_session_know_what_they_compute(prlx, runs):
    """Two single files: what their kernels compute stands in the manifests beside them."""
    node = {"node": "softmax", "op": "aten._softmax.default", "file": "m/net.py", "line": 7}
    for name, graph in (("run_a", "0/0"), ("run_b", "0/1")):
        manifest = runs / name / "session.json"
        rows = json.loads(manifest.read_text())
        rows[-1]["origin"] = {"graph": graph, "backward": False, "nodes": [node]}
        manifest.write_text(json.dumps(rows))
    a, b, other = "run_a/softmax_kernel_2.prlx", "run_b/softmax_kernel_3.prlx", "run_a/softmax_kernel_0.prlx"
    texts = [f"aten._softmax.default, at net.py:7, graph {graph}" for graph in ("0/0", "0/1")]
    assert package.read_trace(a).origin.text == texts[0]
    assert package.read_trace(other).origin is None
    inspected = prlx("inspect", a, "-v").out
    assert texts[0] in inspected
    assert "aten._softmax.default m/net.py:7" in inspected
    assert "computes" not in prlx("inspect", other, "-v").out
    diff = package.diff_traces(a, b)
    assert [one.text for one in diff.origins] == texts
    for side, text in zip("AB", texts, strict=True):
        assert f"  {side} computes {text}" in str(diff.to_text(width=120))
    assert f"  computes {texts[0]}" in package.diff_traces(a, other, force=True).to_text(width=120)
    assert package.diff_traces(other, other).origins == (None, None)
    assert diff.save("both.md").read_text().count("**Computes:**") == 1
    page = diff.save("both.html").read_text()
    assert all(text in page for text in texts)
    first = package.diff_traces("run_a", "run_b")
    assert first.origins[1].text == texts[1]
    assert f"It computes {texts[0]}" in first.save("sessions.html").read_text()
    listed = prlx("session", "inspect", "run_a", "-v").out
    assert "softmax_kernel computes, in launch 2" in listed
    assert "m/net.py:7" in listed


def test_a_launch_that_cannot_be_read_is_said_and_nothing_more(prlx, runs):
    (runs / "run_a" / "reduce_kernel_1.prlx").write_bytes(b"cut")
    ran = prlx("session", "inspect", "run_a")
    assert ran.code == 0
    assert "not a recording" in ran.out
    with pytest.raises(package.TraceFormatError):
        package.open("run_a").launch(1)
    compared = prlx("session", "diff", "run_a", "same")
    assert compared.code == 5
    assert compared.out.startswith("NOT COMPARED: ")
    assert "not a recording" in compared.out
    assert package.diff_traces("run_a", "same", progress=False).document["status"] == "error"
    (runs / "run_a" / "softmax_kernel_0.prlx").write_bytes((runs / "run_b" / "softmax_kernel_3.prlx").read_bytes())
    assert prlx("session", "diff", "run_a", "same").code == 1


def test_sessions_match_by_what_was_launched_not_by_number(prlx, runs):
    diff = package.diff_traces("run_a", "run_b", progress=False)
    assert isinstance(diff, package.SessionDiff)
    rows = list(zip(diff.launches["launch"], diff.launches["launch_b"], diff.launches["status"], strict=True))
    assert rows == [(0, 1, "identical"), (1, 2, "identical"), (2, 3, "diverged")]
    assert diff.inserted == ("warm_up (launch 0)",)
    assert diff.missing == ()
    assert (diff.identical, diff.passed) == (False, False)
    assert (diff.first.kind, diff.first.warp, diff.first.location) == ("Branch", 1, "softmax.py:softmax_kernel:11:12")
    assert diff.divergences["warp"].tolist()[0] == 1
    assert diff.launch(0).identical
    assert diff.launch(2).first.document["event_idx"] == diff.first.event
    assert diff.explain().document == diff.launch(2).explain().document
    with pytest.raises(package.UsageError, match="no launch 9"):
        diff.launch(9)


def test_two_directories_are_taken_for_sessions(prlx, runs):
    texts = {prlx(*words, "run_a", "run_b").out for words in (["diff"], ["diff", "--session"], ["session", "diff"])}
    assert len(texts) == 1
    text = texts.pop()
    assert text.startswith("DIVERGED: ")
    assert "launches (1 of 3 differs)" in text
    assert "only in B: warm_up (launch 0)" in text
    assert "first divergence: Branch at softmax.py:11:12" in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("command", [["diff"], ["session", "diff"]])
def test_equal_sessions_are_the_same(prlx, runs, command):
    ran = prlx(*command, "run_a", "same")
    assert ran.code == 0
    assert ran.out.startswith("SAME: ")
    diff = package.diff_traces(package.open("run_a"), "same", progress=False)
    assert diff.identical
    assert diff.first is None
    assert diff.explain() is None


def test_a_missing_launch_fails(prlx, runs):
    write(runs / "short", [SOFTMAX, REDUCE])
    ran = prlx("session", "diff", "run_a", "short")
    assert ran.code == 1
    assert "only in A: softmax_kernel (launch 2)" in ran.out


def test_the_document_describes_itself(prlx, runs):
    ran = prlx("session", "diff", "run_a", "run_b", "--json")
    document = ran.json()
    assert next(iter(document)) == "schema"
    assert document["schema"] == "prlx.session-diff/1"
    described = {"status", "kernel_results", "unmatched_a", "unmatched_b", "threshold", "passed"}
    assert described <= set(document)
    assert {"kernel", "launch", "status", "divergences"} <= set(document["kernel_results"][0])
    assert str(runs) not in ran.out
    assert document["first"]["diff"]["a"]["path"] == "run_a/softmax_kernel_2.prlx"


def test_the_described_document_of_sessions(prlx, runs):
    ran = prlx("session", "diff", "run_a", "run_b", "--compat")
    document = ran.json()
    assert ran.code == 1
    assert list(document) == ["status", "kernel_results", "unmatched_a", "unmatched_b", "threshold", "passed"]
    assert document["kernel_results"] == []  # one more launch at the front unmatches all behind it, there


def test_reports_of_sessions(prlx, runs):
    ran = prlx("session", "diff", "run_a", "run_b", "--html", "r.html", "--junit", "r.xml", "--sarif", "r.sarif")
    assert ran.code == 1
    for name in ("r.html", "r.xml", "r.sarif"):
        assert (runs / name).stat().st_size > 0
        assert f"wrote {name}" in ran.err
    (runs / "s.json").write_text(prlx("session", "diff", "run_a", "run_b", "--json").out)
    assert prlx("report", "s.json", "-o", "later.html").code in CONCLUDED
    assert (runs / "later.html").read_bytes() == (runs / "r.html").read_bytes()
    into = prlx("session", "diff", "run_a", "run_b", "--html", "run_a/softmax_kernel_0.prlx", "--overwrite")
    assert into.code == 2
    assert "never touched" in into.err


def test_a_session_and_a_recording_do_not_compare(prlx, runs):
    for words in (["run_a", "run_b/softmax_kernel_1.prlx"], ["run_b/softmax_kernel_1.prlx", "run_a"]):
        ran = prlx("diff", *words)
        assert ran.code == 2
        assert "a session" in ran.err


def test_sessions_show_themselves(runs):
    diff = package.diff_traces("run_a", "run_b", progress=False)
    assert repr(diff).startswith("<SessionDiff: ")
    assert "softmax_kernel" in diff._repr_html_()
    assert "softmax_kernel" in package.open("run_a")._repr_html_()
    assert str(diff).startswith("DIVERGED: ")
    diff.save("s.html")
    assert (runs / "s.html").stat().st_size > 0


def test_launches_of_which_nothing_is_known_are_undecided():
    """A launch that recorded too little does not differ: the head of the table says so."""
    row = {
        "launch": 0,
        "launch_b": 0,
        "kernel": "k",
        "warps_diverged": 0,
        "divergences": 0,
        "first": None,
        "status": "inconclusive",
    }
    for statuses, head in (
        (["inconclusive"], "launches (1 of 1 undecided)"),
        (["inconclusive", "diverged", "identical"], "launches (1 of 3 differs, 1 of 3 undecided)"),
    ):
        document = {"kernel_results": [row | {"status": status} for status in statuses]}
        assert head in "\n".join(_launches(document, Look()))
