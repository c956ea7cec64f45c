# ruff: noqa: ARG001 - fixtures make the folder that a test runs in
"""Wrong inputs end in a sentence that says what to do, the documented exit code, and no half file."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from .recordings import SITES, Recording, site_map, softmax


@pytest.fixture
def wrong(folder):
    """The folder with things that are not recordings."""
    (folder / "text.prlx").write_text("not a recording\n")
    (folder / "empty.prlx").touch()
    (folder / "cut.prlx").write_bytes((folder / "a.prlx").read_bytes()[:3000])
    (folder / "stub.prlx").write_bytes((folder / "a.prlx").read_bytes()[:100])
    replace(softmax(), kernel="another_kernel").write(folder / "kernel.prlx")
    Recording(softmax(8).warps, grid=(4, 1, 1)).write(folder / "grid.prlx")
    (folder / "session").mkdir()
    shutil.copy(folder / "a.prlx", folder / "session" / "softmax_0.prlx")
    return folder


def one_sentence(ran, code):
    assert ran.code == code, ran.err
    assert not ran.out
    lines = ran.err.strip().splitlines()
    assert "Traceback" not in ran.err
    assert lines[0].startswith("prlx ")
    assert 1 <= len(lines) <= 3
    return ran.err


@pytest.mark.parametrize(
    ("a", "b", "code", "said"),
    [
        ("a.prlx", "missing.prlx", 3, "missing.prlx"),
        ("missing.prlx", "a.prlx", 3, "missing.prlx"),
        ("a.prlx", "text.prlx", 3, "not a recording"),
        ("a.prlx", "empty.prlx", 3, "empty.prlx"),
        ("a.prlx", "stub.prlx", 3, "stub.prlx"),
        ("a.prlx", "prlx-sites.json", 3, "not a recording"),
        ("a.prlx", "kernel.prlx", 4, "--force"),
        ("a.prlx", "grid.prlx", 4, "grid"),
        ("a.prlx", "session", 2, "session"),
        ("session", "a.prlx", 2, "session"),
        ("", "a.prlx", 2, "path is empty"),
    ],
)
def test_diff_of_the_wrong_things(prlx, wrong, a, b, code, said):
    assert said in one_sentence(prlx("diff", a, b), code)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--tui"], "--html"),
        (["--nan", "sometimes"], "equal, bits, never"),
        (["--tolerance", "close"], "ulp"),
        (["--tolerance", "f32:ulp=-3"], "ulp"),
        (["--warps", "9-3"], "ranges"),
        (["--filter-kind", "Brnch"], "Branch"),
        (["--filter-sites", "0xnothex"], "site"),
        (["--sites", "nothing.py:3"], "no site of these recordings"),
        (["--sites", "kind:barrier"], "no site of these recordings"),
        (["--ignore", "["], "pattern"),
        (["--limit", "-1"], "0 or more"),
        (["--max-allowed-divergences", "many"], "N or KIND=N"),
        (["--remap-a", "prlx-sites.json"], "belong together"),
        (["--map", "prlx-sites.json", "--remap-a", "prlx-sites.json", "--remap-b", "prlx-sites.json"], "both name"),
        (["--session"], "not a session"),
        (["--compat", "--explain"], "--compat"),
        (["--compat", "--html", "x.html"], "--compat"),
        (["--github", "-", "--json"], "stdout"),
        (["--dump-a", "3", "--json"], "JSON"),
        (["--lookahed", "3"], "did you mean --lookahead"),
        (["--html", "a.prlx"], "never touched"),
        (["--html", "./a.prlx"], "never touched"),
        (["--csv", "prlx-sites.json", "--overwrite", "--map", "prlx-sites.json"], "never touched"),
        (["--html", "x.html", "--junit", "x.html"], "two outputs"),
        (["--workers", "0"], "above 0"),
    ],
)
def test_wrong_flags_of_diff_are_usage_errors(prlx, folder, flags, said):
    before = (folder / "a.prlx").read_bytes()
    assert said in one_sentence(prlx("diff", "a.prlx", "b.prlx", *flags), 2)
    assert (folder / "a.prlx").read_bytes() == before
    assert not (folder / "x.html").exists()


def test_an_existing_output_is_not_replaced_without_overwrite(prlx, folder):
    (folder / "x.html").write_text("mine")
    assert "--overwrite" in one_sentence(prlx("diff", "a.prlx", "b.prlx", "--html", "x.html"), 3)
    assert (folder / "x.html").read_text() == "mine"
    assert prlx("diff", "a.prlx", "b.prlx", "--html", "x.html", "--overwrite").code == 1
    assert (folder / "x.html").read_text().startswith("<!")
    assert "mkdir" in one_sentence(prlx("diff", "a.prlx", "b.prlx", "--html", "no/such/x.html"), 3)


def test_nothing_is_left_behind_when_a_comparison_fails(prlx, wrong):
    before = sorted(path.name for path in wrong.iterdir())
    for b in ("text.prlx", "missing.prlx", "kernel.prlx"):
        prlx("diff", "a.prlx", b, "--html", "x.html", "--csv", "x.csv")
    assert sorted(path.name for path in wrong.iterdir()) == before


def test_a_recording_that_is_cut_is_never_called_the_same(prlx, wrong):
    ran = prlx("diff", "a.prlx", "cut.prlx")
    assert ran.code == 3
    assert "cut.prlx" in ran.err


@pytest.mark.parametrize("content", ["{", "[]x", '{"sites": 3}', '[{"site_id": "x"}]', "\x00\x01"])
def test_a_site_map_that_is_none_is_refused(prlx, folder, content):
    (folder / "map.json").write_text(content)
    assert "map.json" in one_sentence(prlx("diff", "a.prlx", "b.prlx", "--map", "map.json"), 3)


def test_the_site_map_of_another_build_is_said(prlx, folder):
    site_map(folder / "map.json", {site + 1000: where for site, where in SITES.items()})
    ran = prlx("diff", "a.prlx", "b.prlx", "--map", "map.json")
    assert ran.code == 1
    assert "not in the site map map.json" in ran.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["session", "inspect", "a.prlx"], 2, "directory"),
        (["session", "inspect", "missing"], 3, "missing"),
        (["session", "inspect", "session", "session"], 2, "expected one session"),
        (["session", "diff", "session"], 2, "expected two sessions"),
        (["session", "capture", "./program"], 2, "no place to record to"),
        (["session", "diff", "a.prlx", "b.prlx"], 2, "not a session"),
        (["convert", "a.prlx"], 2, "-o"),
        (["convert", "a.prlx", "-o", "a.prlx", "--overwrite"], 2, "never touched"),
        (["convert", "a.prlx", "-o", "out.json"], 2, "another format"),
        (["convert", "text.prlx", "-o", "new.prlx"], 3, "not a recording"),
        (["convert", "a.prlx", "-o", "new.prlx", "--to", "v3"], 2, "v1, v2"),
        (["report", "a.prlx", "-o", "x.html"], 3, "is not JSON"),
        (["report", "missing.json", "-o", "x.html"], 3, "missing.json"),
        (["report", "prlx-sites.json", "-o", "x.html"], 3, "prlx diff --json"),
        (["flamegraph", "a.prlx", "a.prlx", "-o", "a.prlx"], 2, "never touched"),
    ],
)
def test_wrong_words_of_other_commands(prlx, wrong, words, code, said):
    assert said in one_sentence(prlx(*words), code)
    assert not (wrong / "x.html").exists()
    assert not (wrong / "new.prlx").exists()


def test_a_report_needs_an_ending_or_a_format(prlx, folder):
    (folder / "diff.json").write_text(prlx("diff", "a.prlx", "b.prlx", "--json").out)
    assert "format" in one_sentence(prlx("report", "diff.json", "-o", "report.what"), 2)
    assert "never touched" in one_sentence(prlx("report", "diff.json", "-o", "diff.json", "--overwrite"), 2)
    document = json.loads((folder / "diff.json").read_text())
    (folder / "odd.json").write_text(json.dumps({**document, "clusters": 3}))
    assert "schema" in one_sentence(prlx("report", "odd.json", "-o", "x.html"), 3)


def test_warps_that_recorded_nothing_are_not_called_the_same(prlx, folder):
    said = one_sentence(prlx("diff", "a.prlx", "a.prlx", "--warps", "100000"), 2)
    assert "none of the warps" in said


def test_a_device_that_never_ends_is_refused(prlx, folder):
    assert "is a device" in one_sentence(prlx("diff", "a.prlx", "/dev/zero"), 3)


def test_a_site_map_that_is_missing_is_noticed_for_recordings_that_need_none(prlx, folder):
    assert prlx("convert", "a.prlx", "-o", "v2.prlx", "--to", "v2").code == 0
    one_sentence(prlx("diff", "v2.prlx", "v2.prlx", "--map", "missing.json"), 3)


@pytest.mark.parametrize(
    "schema",
    ["diff", "session-diff", "cycles", "cycles-compare", "stragglers", "nccl", "nccl-diagnose", "simulate", "validate"],
)
def test_a_document_without_a_verdict_gets_no_page(prlx, folder, schema):
    (folder / "bare.json").write_text(json.dumps({"schema": f"prlx.{schema}/1"}))
    assert "is not whole" in one_sentence(prlx("report", "bare.json", "-o", "x.html"), 3)
    assert not (folder / "x.html").exists()
