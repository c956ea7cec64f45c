# ruff: noqa: ARG001 - fixtures make the folder that a test runs in
"""Comparing two recordings, from Python and from the command line, where the difference is known."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import prlx as package
from prlx import _core

from .recordings import ADD, GUARD, LOOP, SITES, STORE, Event, site_map, softmax, softmax_warp

CONCLUDED = (0, 1, 5)  # the exit codes of documents that were read


def at(site, occurrence, events):
    """The position of the n-th pass of a site."""
    return [k for k, event in enumerate(events) if event.site == site][occurrence]


@pytest.fixture
def compared(folder):
    return package.diff_traces("a.prlx", "b.prlx", progress=False)


def test_the_first_divergence_is_the_one_that_was_made(compared):
    first = compared.first
    where = at(GUARD, 2, softmax_warp(1))
    assert (first.kind, first.warp, first.event, first.occurrence) == ("Branch", 1, where, 2)
    assert first.site == f"0x{GUARD:08x}"
    assert first.location == "softmax.py:softmax_kernel:11:12"
    assert not first.follows
    assert not first.noise


def test_the_whole_list_is_known(compared):
    """A branch decided otherwise, and the atomic that only B then reaches; the value of warp 3 was not asked for."""
    table = compared.divergences
    rows = list(zip(*(table[name].tolist() for name in ("warp", "kind", "site", "count")), strict=True))
    assert rows == [(1, "Branch", f"0x{GUARD:08x}", 1), (1, "ExtraEvents", f"0x{ADD:08x}", 1)]
    assert table["follows"].tolist() == [False, True]
    assert compared.total_divergences == len(table) == 2
    assert (compared.warps_diverged, compared.passed, compared.identical) == (1, False, False)
    assert compared.document["total_events_a"] + 1 == compared.document["total_events_b"]


def test_values_count_when_they_are_asked_for(folder):
    diff = package.diff_traces("a.prlx", "b.prlx", values=True, progress=False)
    table = diff.divergences
    chosen = np.flatnonzero(table["warp"] == 3)
    assert len(chosen) == 1
    row = {name: table[name][chosen[0]] for name in ("kind", "event", "value_a", "value_b")}
    assert row == {"kind": "Value", "event": 1, "value_a": 300, "value_b": 999}
    assert len(diff.clusters) == 2


@pytest.mark.parametrize("other", ["same.prlx", "a.prlx"])
def test_equal_recordings_are_the_same(folder, prlx, other):
    diff = package.diff_traces("a.prlx", other, values=True, progress=False)
    assert diff.identical
    assert diff.passed
    assert diff.first is None
    assert len(diff.divergences) == len(diff.clusters) == len(diff.sites) == 0
    assert diff.explain() is None
    assert repr(diff) == "<Diff: identical, 4 warps compared>"
    ran = prlx("diff", "a.prlx", other)
    assert (ran.code, ran.out.partition(":")[0]) == (0, "SAME")
    assert "--values" in ran.err


def test_the_verdict_can_be_read_in_ten_seconds(prlx, folder):
    ran = prlx("diff", "a.prlx", "b.prlx")
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines[0].startswith("DIVERGED: ")
    assert max(map(len, lines)) <= 100
    assert len(lines) <= 40
    text = ran.out
    assert "first divergence: Branch at softmax.py:11:12 in softmax_kernel" in text
    assert "warp 1 (block 0, warp 1 of 2), event 6, pass 3 of this site" in text
    assert "A does not take it, B takes it" in text
    assert ">    11 |         if value < limit:" in text
    assert "clusters (1 way to differ)" in text
    assert "sites are named by prlx-sites.json" in ran.err
    assert "next: prlx diff a.prlx b.prlx --explain --html report.html" in ran.err


def test_values_that_nobody_recorded_are_not_offered(prlx, folder, monkeypatch):
    offer = "next: values were not compared; --values compares them"
    assert offer in prlx("diff", "a.prlx", "same.prlx").err
    assert offer not in prlx("diff", "a.prlx", "same.prlx", "--values").err
    run = _core.run

    def without_values(op, request, **others):
        reply = run(op, request, **others)
        reply["coverage"]["values"]["by"] = "nothing"  # as of recordings in the mode control-flow
        return reply

    monkeypatch.setattr(_core, "run", without_values)
    assert offer not in prlx("diff", "a.prlx", "same.prlx").err


def test_values_that_sessions_hold_are_offered(prlx, folder):
    for name in ("one", "two"):
        (folder / name).mkdir()
        shutil.copy("a.prlx", f"{name}/0.prlx")
    offer = "next: values were not compared; --values compares them"
    assert offer in prlx("session", "diff", "one", "two").err
    assert offer not in prlx("session", "diff", "one", "two", "--values").err


def test_eighty_columns_are_enough_and_colour_is_asked_for(prlx, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    plain = prlx("diff", "a.prlx", "b.prlx", "--values", "--explain", "-v")
    assert max(map(len, plain.out.splitlines())) <= 80
    assert "\x1b" not in plain.out
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = prlx("diff", "a.prlx", "b.prlx")
    assert "\x1b[31;1mDIVERGED:" in coloured.out


def test_the_library_prints_the_text_of_the_command(prlx, folder, compared):
    ran = prlx("diff", "a.prlx", "b.prlx")
    assert compared.to_text(width=100) == ran.out.rstrip("\n")
    assert str(compared).startswith("DIVERGED: ")


def test_json_is_one_document_that_describes_itself(prlx, folder):
    ran = prlx("diff", "a.prlx", "b.prlx", "--json", "--values")
    assert ran.code == 1
    document = ran.json()
    assert next(iter(document)) == "schema"
    assert document["schema"] == "prlx.diff/1"
    assert (document["a"]["path"], document["b"]["path"]) == ("a.prlx", "b.prlx")
    described = (
        "status",
        "total_divergences",
        "counted_divergences",
        "warps_compared",
        "warps_diverged",
        "threshold",
        "passed",
    )
    assert [document[key] for key in described] == ["diverged", 3, 3, 4, 2, 0, False]
    assert str(folder) not in ran.out


def test_the_same_bytes_for_any_number_of_workers(prlx, folder):
    texts = {prlx("diff", "a.prlx", "b.prlx", "--json", "--values", "--workers", n).out for n in (1, 2, 7)}
    assert len(texts) == 1


def test_limits_list_less_and_count_all(prlx, folder):
    document = prlx("diff", "a.prlx", "b.prlx", "--json", "--values", "-l", 1).json()
    assert (document["total_divergences"], len(document["divergences"]), document["divergences_omitted"]) == (3, 1, 2)
    everything = prlx("diff", "a.prlx", "b.prlx", "--json", "--values", "-l", 0).json()
    assert len(everything["divergences"]) == 3
    diff = package.diff_traces("a.prlx", "b.prlx", values=True, limit=1, progress=False)
    assert len(diff.divergences) == 3


@pytest.mark.parametrize(("allowed", "code"), [(0, 1), (1, 1), (2, 0), (100, 0)])
def test_a_threshold_decides_the_exit_code(prlx, folder, allowed, code):
    ran = prlx("diff", "a.prlx", "b.prlx", "--max-allowed-divergences", allowed, "--json")
    assert ran.code == code
    assert ran.json()["passed"] is (code == 0)
    assert ran.json()["status"] == "diverged"


@pytest.mark.parametrize(
    ("flags", "left"),
    [
        (["--warps", "0,2-3"], 0),
        (["--warps", "1"], 2),
        (["--filter-kind", "Branch"], 1),
        (["--filter-kind", "branch,extraevents"], 2),
        (["--filter-sites", f"0x{ADD:x}"], 1),
        (["--filter-sites", "softmax.py:11"], 1),
        (["--ignore", "softmax.py:11", "--ignore", "kind:atomic"], 0),
        (["--ignore", "func:softmax_*"], 0),
        (["--ignore", f"0x{LOOP:08x}"], 2),
    ],
)
def test_filters_leave_what_fits(prlx, folder, flags, left):
    document = prlx("diff", "a.prlx", "b.prlx", "--json", *flags).json()
    assert document["total_divergences"] == len(document["divergences"]) == left


def test_a_value_within_its_tolerance_is_the_same(prlx, folder):
    def ran(*flags):
        return prlx("diff", "a.prlx", "b.prlx", "--json", "--warps", "3", *flags)

    assert ran().code == 0
    assert ran("--values").code == 1
    assert ran("--tolerance", "bits:ulp=698").code == 1  # 300 and 999 are 699 apart as bits of floats
    assert ran("--tolerance", "bits:ulp=699").code == 0
    refused = ran("--tolerance", "f32:ulp=699")  # v1 does not say that its values are floats
    assert refused.code == 2
    assert "does nothing" in refused.err
    assert "bits:" in refused.err


def test_active_lanes_differ_and_can_be_ignored(prlx, folder):
    a = softmax()
    two = list(a.warps[2])
    two[3] = replace(two[3], mask=0xFFFF0FFF)
    a.changed(2, two).write(folder / "mask.prlx")
    ran = prlx("diff", "a.prlx", "mask.prlx")
    assert ran.code == 1
    assert "lanes 12-15 only in A" in ran.out
    assert prlx("diff", "a.prlx", "mask.prlx", "--ignore-active-mask").code == 0
    assert package.diff_traces("a.prlx", "mask.prlx", progress=False).first.lanes == (12, 13, 14, 15)


def test_another_path_and_its_way_back(prlx, folder):
    a = softmax()
    two = [event for event in a.warps[2] if event.site != ADD]
    a.changed(2, two).write(folder / "path.prlx")
    document = prlx("diff", "a.prlx", "path.prlx", "--json").json()
    found = [(row["kind"], row["in_trace"], row["count"], row["event_idx"]) for row in document["divergences"]]
    assert found == [("ExtraEvents", "A", 1, 4), ("ExtraEvents", "A", 1, 9)]


def test_losses_limit_the_verdict(prlx, folder):
    replace(softmax(), dropped={2: 7}).write(folder / "lossy.prlx")
    ran = prlx("diff", "a.prlx", "lossy.prlx")
    assert ran.code in (1, 5)
    document = prlx("diff", "lossy.prlx", "lossy.prlx", "--json").json()
    assert document["status"] == document["conclusion"]["outcome"] == "inconclusive"
    assert "A: 7 events were lost" in document["verdict"]
    assert [missing["what"] for missing in document["conclusion"]["missing"]] == ["events of A", "events of B"]
    assert document["losses"]["a"]["dropped"] == 7
    assert prlx("diff", "lossy.prlx", "lossy.prlx").code == 5
    strict = prlx("diff", "lossy.prlx", "lossy.prlx", "--strict")
    assert strict.code == 5
    assert "losses in A" in strict.out
    assert prlx("diff", "a.prlx", "same.prlx", "--strict").code == 0, "format v1 has no place for outputs"
    assert prlx("diff", "a.prlx", "same.prlx", "--strict", "--require", "control-flow,outputs").code == 5
    assert "cannot tell" in repr(package.diff_traces("lossy.prlx", "lossy.prlx", progress=False))


@pytest.mark.parametrize("strict", [(), ("--strict",)])
def test_recordings_that_hold_nothing_are_inconclusive(prlx, folder, strict):
    replace(softmax(), warps=[[] for _ in softmax().warps]).write(folder / "empty.prlx")
    for verb in ("diff", "assert"):
        ran = prlx(verb, "empty.prlx", "empty.prlx", *strict)
        assert ran.code == 5
        assert "INCONCLUSIVE: cannot tell whether they differ: neither recording holds an event" in " ".join(
            ran.out.split()
        )
    document = prlx("diff", "empty.prlx", "empty.prlx", "--json").json()
    assert (document["status"], document["passed"]) == ("inconclusive", False)
    with pytest.raises(AssertionError, match="could not look closely enough") as caught:
        package.assert_same("empty.prlx", "empty.prlx")
    assert caught.value.diff.status == "inconclusive"
    assert repr(caught.value.diff).startswith("<Diff: cannot tell whether they differ")


def test_noise_of_equal_runs_does_not_count(prlx, folder):
    """Warp 0's guard is a coin in every run; warp 1 leaves its loop early only in B."""
    a = softmax()
    flipped = []
    for k, way in enumerate((0, 1, 0, 1)):
        zero = list(a.warps[0])
        zero[1] = replace(zero[1], dir=way)
        flipped.append(a.changed(0, zero).write(folder / f"run{k}.prlx"))
    b = a.changed(1, [replace(e, dir=0) if k == 5 else e for k, e in enumerate(a.warps[1])])
    zero = list(a.warps[0])
    zero[1] = replace(zero[1], dir=1)
    b.changed(0, zero).write(folder / "other.prlx")
    bare = package.diff_traces("run0.prlx", "other.prlx", progress=False)
    assert bare.counted_divergences == 2
    assert bare.first.warp == 0
    based = package.diff_traces("run0.prlx", "other.prlx", baseline=flipped[1:], progress=False)
    assert based.first.warp == 1
    assert based.counted_divergences == 1
    assert based.divergences["noise"].tolist() == [True, False]
    as_sets = package.diff_traces(flipped, "other.prlx", progress=False)
    assert as_sets.to_json() == based.to_json()
    ran = prlx("diff", "run0.prlx", "other.prlx", "--baseline", *flipped[1:])
    assert "noise:" in ran.out
    assert "warp 1 " in ran.out
    equal = prlx("diff", "run0.prlx", "run1.prlx", "--baseline", *flipped[2:])
    assert equal.code == 0


def test_kernels_of_another_name_are_compared_when_forced(prlx, folder):
    replace(softmax(), kernel="softmax_kernel_v2").write(folder / "renamed.prlx")
    assert prlx("diff", "a.prlx", "renamed.prlx").code == 4
    with pytest.raises(package.IncompatibleTracesError):
        package.diff_traces("a.prlx", "renamed.prlx", progress=False)
    assert prlx("diff", "a.prlx", "renamed.prlx", "--force").code == 0


def test_builds_whose_numbers_differ_are_compared_by_what_their_sites_are(prlx, folder):
    moved = {site: site + 0x5000 for site in SITES}
    a = softmax()
    b = replace(a, warps=[[replace(event, site=moved[event.site]) for event in warp] for warp in a.warps])
    b.write(folder / "rebuilt.prlx")
    site_map(folder / "b.json", {moved[site]: where for site, where in SITES.items()})
    nothing = prlx("diff", "a.prlx", "rebuilt.prlx")
    assert nothing.code == 4
    assert "nothing in common" in nothing.err
    maps = ("--remap-a", "prlx-sites.json", "--remap-b", "b.json")
    assert prlx("diff", "a.prlx", "rebuilt.prlx", *maps).code == 0
    diff = package.diff_traces(
        "a.prlx", "rebuilt.prlx", site_map="prlx-sites.json", site_map_b="b.json", progress=False
    )
    assert diff.identical


def test_accepted_differences_do_not_count(prlx, folder):
    (folder / "accepted.toml").write_text('[[accept]]\nsite = "softmax.py:11"\nreason = "known"\nuntil = 2999-01-31\n')
    document = prlx("diff", "a.prlx", "b.prlx", "--accepted", "accepted.toml", "--json").json()
    assert (document["total_divergences"], document["counted_divergences"]) == (2, 1)
    (folder / "accepted.toml").write_text('[[accept]]\nsite = "softmax.py:11"\nreason = "over"\nuntil = 2001-01-31\n')
    assert prlx("diff", "a.prlx", "b.prlx", "--accepted", "accepted.toml", "--json").json()["counted_divergences"] == 2


@pytest.mark.parametrize("flag", ["--explain", "--classify"])
def test_explaining_says_a_class_and_its_evidence(prlx, folder, flag):
    document = prlx("diff", "a.prlx", "b.prlx", flag, "--json").json()
    known = {
        "race",
        "precision",
        "loop-bound",
        "index-or-mask",
        "stale-data",
        "formula",
        "operation",
        "given",
        "unknown",
    }
    explanation = document["explanation"]
    assert explanation["class"] in known
    assert {ruling["class"] for ruling in explanation["considered"]} <= known
    assert explanation["chain"]
    assert "why: " in prlx("diff", "a.prlx", "b.prlx", flag).out


def test_explaining_later_is_explaining_at_once(folder, compared):
    at_once = package.diff_traces("a.prlx", "b.prlx", explain=True, progress=False)
    assert compared.explain() == at_once.explain()
    assert str(at_once.explain()).startswith(f"{at_once.explain().cause} (")


def test_every_report_is_written_and_the_last_line_opens_it(prlx, folder):
    flags = {
        "--html": "r.html",
        "--csv": "r.csv",
        "--junit": "r.xml",
        "--sarif": "r.sarif",
        "--markdown": "r.md",
        "--perfetto": "r.perfetto-trace",
        "--export-flamegraph": "r.json",
        "--github": "r.txt",
    }
    ran = prlx("diff", "a.prlx", "b.prlx", *(word for pair in flags.items() for word in pair))
    assert ran.code == 1
    for name in flags.values():
        assert (folder / name).stat().st_size > 0
        assert f"wrote {name}; open it with:" in ran.err
    assert ran.err.rstrip().splitlines()[-1].startswith("wrote ")
    rows = list(csv.DictReader((folder / "r.csv").read_text().splitlines()))
    assert [row["kind"] for row in rows] == ["Branch", "ExtraEvents"]
    assert list(rows[0])[:6] == ["warp_idx", "event_idx", "site_id", "kind", "details", "source_location"]
    assert ET.parse(folder / "r.xml").getroot().tag.startswith("testsuite")
    assert json.loads((folder / "r.sarif").read_text())["version"] == "2.1.0"
    assert json.loads((folder / "r.json").read_text())["traceEvents"]


def test_a_saved_comparison_gives_the_same_reports(prlx, folder, compared):
    (folder / "diff.json").write_text(prlx("diff", "a.prlx", "b.prlx", "--json").out)
    prlx("diff", "a.prlx", "b.prlx", "--html", "direct.html")
    assert prlx("report", "diff.json", "-o", "later.html").code in CONCLUDED
    compared.save(folder / "saved.html")
    texts = {(folder / name).read_bytes() for name in ("direct.html", "later.html", "saved.html")}
    assert len(texts) == 1
    printed = prlx("report", "diff.json", "-o", "-", "--format", "github")
    assert printed.out.startswith("::error")
    assert prlx("diff", "a.prlx", "b.prlx", "--github", "-").out == printed.out


def test_saving_refuses_what_it_cannot_do(folder, compared):
    with pytest.raises(package.UsageError, match="format"):
        compared.save("diff.what")
    compared.save("diff.json")
    with pytest.raises(package.FileAccessError):
        compared.save("diff.json")
    assert json.loads((folder / "diff.json").read_text()) == json.loads(compared.to_json())
    compared.save("again.what", format="markdown")


def test_tables_become_data_frames(folder, compared):
    pandas = pytest.importorskip("pandas")
    frame = compared.divergences.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["kind"].tolist() == ["Branch", "ExtraEvents"]
    assert compared.clusters.to_pandas()["warps"].tolist() == [1]
    assert compared.sites.to_pandas()["location"].tolist()[0] == "softmax.py:softmax_kernel:11:12"


def test_notebooks_show_a_card(compared):
    card = compared._repr_html_()
    assert "softmax.py:11" in card
    assert "<script" not in card
    assert repr(compared).startswith("<Diff: 2 divergences in 1 warp, first: Branch at softmax.py:11:12")


def test_a_comparison_has_no_truth_value(compared):
    with pytest.raises(TypeError, match=r"\.identical or \.passed"):
        bool(compared)


def test_opened_recordings_are_compared_too(folder, compared):
    a, b = package.read_trace("a.prlx"), package.open("b.prlx")
    assert package.diff_traces(a, b, progress=False).to_json() == compared.to_json()
    assert a.divergent_warps(b) == [1]


def test_lookahead_is_taken_and_does_nothing(prlx, folder, compared):
    with pytest.warns(UserWarning, match="no effect"):
        again = package.diff_traces("a.prlx", "b.prlx", lookahead=4, progress=False)
    assert again.to_json() == compared.to_json()
    ran = prlx("diff", "a.prlx", "b.prlx", "--lookahead", 4, "--continue-after-path")
    assert ran.code == 1
    assert ran.err.count("no effect") == 2


def test_dumping_prints_the_first_events_and_compares_nothing(prlx, folder):
    ran = prlx("diff", "a.prlx", "b.prlx", "--dump-a", 3, "--dump-b", 1)
    assert ran.code == 0
    assert ran.out.count("softmax.py:softmax_kernel:9:5") == 3
    assert "DIVERGED" not in ran.out


def test_history_and_detail_show_the_events_around_it(prlx, folder):
    assert "in A" not in prlx("diff", "a.prlx", "b.prlx").out
    for flag in ("--history", "-v"):
        text = prlx("diff", "a.prlx", "b.prlx", flag).out
        assert "in A  in B  site" in text
        assert "\n  !  " in text


def test_quiet_prints_nothing_and_still_answers(prlx, folder):
    ran = prlx("diff", "a.prlx", "b.prlx", "-q")
    assert (ran.code, ran.out, ran.err) == (1, "", "")


def test_settings_supply_what_is_left_out(prlx, folder):
    (folder / "prlx.toml").write_text("[diff]\nmax-shown = 1\nstrict = true\n")
    assert "1 shown" in prlx("diff", "a.prlx", "b.prlx", "--values").out
    replace(softmax(), sample_rate=2).write(folder / "sampled.prlx")
    assert prlx("diff", "sampled.prlx", "sampled.prlx").code == 5


def test_a_flamegraph_of_two_recordings(prlx, folder):
    ran = prlx("flamegraph", "a.prlx", "b.prlx")
    assert ran.code == 0
    events = json.loads((folder / "prlx-flamegraph.json").read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert [(event["pid"], event["tid"]) for event in slices] == [(0, 1), (0, 1)]
    assert prlx("flamegraph", "a.prlx", "b.prlx").code == 3  # it exists
    assert prlx("flamegraph", "a.prlx", "b.prlx", "--format", "perfetto", "-o", "x.pftrace").code == 0


def test_recordings_may_be_compressed_and_of_both_formats(prlx, folder):
    assert prlx("convert", "a.prlx", "-o", "a2.prlx").code == 0
    assert package.read_trace("a2.prlx").header.format == "prlx v2"
    subprocess.run(["gzip", "-k", folder / "b.prlx"], check=True)
    for a in ("a.prlx", "a2.prlx"):
        diff = package.diff_traces(a, "b.prlx.gz", progress=False)
        assert (diff.first.kind, diff.first.warp, diff.first.event) == ("Branch", 1, 6)
        assert diff.total_divergences == 2
    assert package.diff_traces("a.prlx", "a2.prlx", values=True, progress=False).identical
    back = prlx("convert", "a2.prlx", "-o", "back.prlx", "--to", "v1", "--json")
    assert back.json()["to"] == "prlx v1"
    assert package.diff_traces("a.prlx", "back.prlx", values=True, progress=False).identical


def test_sources_are_found_in_the_source_roots(prlx, folder):
    (folder / "src").mkdir()
    shutil.move(folder / "softmax.py", folder / "src" / "softmax.py")
    assert "if value < limit" not in prlx("diff", "a.prlx", "b.prlx").out
    assert "if value < limit" in prlx("diff", "a.prlx", "b.prlx", "--source-root", "src").out


def test_events_that_only_one_side_has_at_the_end(folder):
    a = softmax()
    a.changed(0, [*a.warps[0], Event(STORE, 6, 0), Event(STORE, 6, 0)]).write(folder / "longer.prlx")
    diff = package.diff_traces("a.prlx", "longer.prlx", progress=False)
    assert diff.first.kind == "ExtraEvents"
    assert diff.first.document["in_trace"] == "B"
    assert diff.first.document["count"] == 2


def test_a_pattern_that_ignores_nothing_is_told(prlx, folder):
    assert "no site of these recordings is 'nothing.py'" in prlx(
        "diff", "a.prlx", "b.prlx", "--ignore", "nothing.py"
    ).err.replace('"', "'")
    assert "ignoring it changes nothing" not in prlx("diff", "a.prlx", "b.prlx", "--ignore", "softmax.py:9").err
    sessions = []
    for side in "ab":
        (folder / f"s{side}").mkdir()
        shutil.copy(folder / f"{side}.prlx", folder / f"s{side}" / "softmax_0.prlx")
        sessions.append(f"s{side}")
    assert "ignoring it changes nothing" in prlx("diff", *sessions, "--ignore", "nothing.py").err
    assert "ignoring it changes nothing" not in prlx("diff", *sessions, "--ignore", "softmax.py").err


def test_mangled_names_are_shown_as_people_wrote_them(prlx, folder):
    for name in "ab":
        original = softmax() if name == "a" else softmax().changed(0, [*softmax().warps[0], Event(STORE, 6, 0)])
        replace(original, kernel="_Z12softmax_rowsPfPKfi").write(folder / f"mangled_{name}.prlx")
    ran = prlx("diff", "mangled_a.prlx", "mangled_b.prlx", "--html", "m.html")
    assert "softmax_rows," in ran.out
    assert "_Z12softmax" not in ran.out
    page = (folder / "m.html").read_text()
    assert "<h1><code>softmax_rows</code>" in page
    document = prlx("diff", "mangled_a.prlx", "mangled_b.prlx", "--json").json()
    assert document["a"]["kernel"] == "_Z12softmax_rowsPfPKfi"
    assert document["a"]["kernel_name"] == "softmax_rows"
    for side in "ab":
        (folder / f"m{side}").mkdir()
        shutil.copy(folder / f"mangled_{side}.prlx", folder / f"m{side}" / "softmax_0.prlx")
    out = prlx("diff", "ma", "mb").out
    assert "softmax_rows  " in out
    assert "  0  1 warp of" in out  # what differs in each launch, in words


def test_what_could_not_be_tried_is_said():
    """``--try`` of recordings without an edited text tries nothing, and says that it did not."""
    folder = Path(__file__).resolve().parents[2] / "examples" / "two_runs"
    diff = package.try_statements(package.diff_traces(folder / "a.prlx", folder / "b.prlx"))
    why = diff.document["explanation"]
    assert "a test of changed statements: the recordings hold no statement that was changed" in why["missing"]
