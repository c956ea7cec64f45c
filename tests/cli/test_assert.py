"""``prlx assert`` and ``prlx.assert_same``: what they ask of the core, what they print, with what they end."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

import prlx as package
from prlx import UsageError, _assert, _core
from prlx._errors import IncompatibleTracesError, TraceFormatError
from prlx._table import Table

pytestmark = pytest.mark.usefixtures("compare", "files")
EXAMPLE = Path(__file__).resolve().parents[2] / "core" / "report" / "kernelreport" / "testdata" / "diverged.json"


class Comparing:
    """A core whose comparisons depend on the bytes of the recordings; it remembers what was asked."""

    def __init__(self) -> None:
        self.asked = []
        self.error = None
        self.extra = {}

    def run(self, op, request, *, progress=None):
        assert op == "diff"
        assert progress is None or callable(progress)
        self.asked.append({key: value for key, value in request.items() if value not in (None, [], False)})
        document = copy.deepcopy(json.loads(EXAMPLE.read_text()))
        a, b = (Path(request[side][0]) for side in "ab")
        if b"broken" in b.read_bytes():
            raise TraceFormatError("is broken", path=str(b))
        if self.error is not None and a != b:
            raise self.error
        if a.read_bytes() == b.read_bytes():
            empty = {"first": None, "clusters": [], "sites": [], "divergences": [], "explanation": None}
            document |= {
                **empty,
                "status": "identical",
                "headline": {"word": "SAME", "tone": "good"},
                "total_divergences": 0,
                "counted_divergences": 0,
                "baseline": None,
            }
            document["verdict"] = "the same"
        asked = request["max_divergences"]
        document["threshold"] = asked["*"] if isinstance(asked, dict) else asked
        document["passed"] = document["counted_divergences"] <= document["threshold"]
        document |= self.extra
        if document["status"] == "inconclusive":
            outcome = "inconclusive"
        else:
            outcome = "differs" if not document["passed"] else "same" if document["status"] == "identical" else "passed"
        document["conclusion"] = {"outcome": outcome, "why": document["verdict"], "looked": [], "missing": []}
        document["headline"]["gate"] = gate(document)
        return document | {"tables": {name: Table([], 0) for name in ("divergences", "clusters", "sites")}}


def gate(document):
    """The line that the core writes into a document."""
    word = "PASS" if document["passed"] else "FAIL"
    kinds = [f"{kind} {number}" for kind, number in document.get("thresholds", {}).items()]
    allowed = ", ".join([*kinds, f"others {document['threshold']}"]) if kinds else document["threshold"]
    return f"PRLX ASSERT: {word} ({document['counted_divergences']} divergences, threshold: {allowed})"


@pytest.fixture
def compare(monkeypatch):
    core = Comparing()
    monkeypatch.setattr(_core, "run", core.run)
    return core


@pytest.fixture
def files(tmp_path):
    """good and same are equal, bad differs, broken cannot be read."""
    for name, content in (("good", b"1"), ("same", b"1"), ("bad", b"2"), ("broken", b"broken")):
        (tmp_path / f"{name}.prlx").write_bytes(content)
    return tmp_path


def counted():
    return json.loads(EXAMPLE.read_text())["counted_divergences"]


def test_equal_recordings_pass(prlx):
    ran = prlx("assert", "good.prlx", "same.prlx")
    assert (ran.code, ran.out) == (0, "PRLX ASSERT: PASS (0 divergences, threshold: 0)\n")


def test_a_failure_says_what_differs_and_where(prlx):
    ran = prlx("assert", "good.prlx", "bad.prlx")
    assert ran.code == 1
    first, *rest = ran.out.splitlines()
    assert first == f"PRLX ASSERT: FAIL ({counted()} divergences, threshold: 0)"
    assert any("softmax.py:24" in line for line in rest)
    assert any("lane" in line for line in rest)


@pytest.mark.parametrize(
    "words",
    [
        ("good.prlx", "bad.prlx"),
        ("--golden", "good.prlx", "bad.prlx"),
        ("bad.prlx", "--golden", "good.prlx"),
        ("--golden=good.prlx", "bad.prlx", "--max-divergences", "0"),
    ],
)
def test_the_golden_recording_is_a_in_any_order_of_words(prlx, compare, files, words):
    assert prlx("assert", *words).code == 1
    asked = compare.asked[0]
    assert asked["a"] == [str(files / "good.prlx")]
    assert asked["b"] == [str(files / "bad.prlx")]


@pytest.mark.parametrize("spelled", ["--max-divergences", "--max-allowed-divergences"])
def test_so_many_divergences_may_count(prlx, spelled):
    assert prlx("assert", "good.prlx", "bad.prlx", spelled, str(counted() - 1)).code == 1
    ran = prlx("assert", "good.prlx", "bad.prlx", spelled, str(counted()))
    assert (ran.code, ran.out.splitlines()[0]) == (
        0,
        f"PRLX ASSERT: PASS ({counted()} divergences, threshold: {counted()})",
    )


def test_kinds_may_have_limits_of_their_own(prlx, compare):
    prlx("assert", "good.prlx", "bad.prlx", "--max-divergences", "Value=3,Branch=1", "--max-divergences", "7")
    assert compare.asked[0]["max_divergences"] == {"Branch": 1, "Value": 3, "*": 7}
    compare.extra = {"thresholds": {"Branch": 1, "Value": 3}}
    ran = prlx("assert", "good.prlx", "bad.prlx", "--max-divergences", "Value=3", "--max-divergences", "0")
    assert "threshold: Branch 1, Value 3, others 0)" in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("good.prlx",), "expected a second recording, or --golden"),
        (("good.prlx", "bad.prlx", "--golden", "same.prlx"), "with --golden one recording is checked"),
        (("good.prlx", "bad.prlx", "--update-golden"), "--update-golden needs --golden FILE"),
        (("good.prlx", "bad.prlx", "--max-divergences", "few"), "expected N or KIND=N, got 'few'"),
        (("good.prlx", "bad.prlx", "--max-divergences", "Values=3"), "'Values' (did you mean Value?)"),
        (("good.prlx", "bad.prlx", "--max-divergence", "3"), "did you mean --max-divergences?"),
        (("good.prlx", "bad.prlx", "--session"), "is not a session"),
        (("good.prlx", "bad.prlx", "--json", "--github", "-"), "only one thing can go to stdout"),
    ],
)
def test_mistakes_end_with_2(prlx, words, message):
    ran = prlx("assert", *words)
    assert ran.code == 2
    assert message in ran.err
    assert not ran.out


@pytest.mark.parametrize(
    ("error", "code"),
    [(TraceFormatError("short"), 3), (IncompatibleTracesError("another grid"), 4)],
)
def test_recordings_that_cannot_be_compared_are_an_error_and_not_a_failed_assertion(prlx, compare, error, code):
    compare.error = error
    assert prlx("assert", "good.prlx", "bad.prlx").code == code


def test_strict_tells_the_same_from_the_same_as_far_as_recorded(prlx, compare):
    lost = json.loads(EXAMPLE.read_text())["losses"]
    whole = {**lost["a"], "dropped": 0, "sample_rate": 1, "truncated": False, "notes": []}
    compare.extra = {"losses": {"a": whole, "b": whole}}
    assert prlx("assert", "good.prlx", "same.prlx", "--strict").code == 0
    compare.extra = {"losses": {"a": whole, "b": {**whole, "dropped": 3}}}
    assert prlx("assert", "good.prlx", "same.prlx").code == 0
    assert "PRLX ASSERT: PASS" in prlx("assert", "good.prlx", "same.prlx").out
    strict = prlx("assert", "good.prlx", "same.prlx", "--strict")
    assert strict.code == 5
    assert "PASS" not in strict.out
    assert strict.out.splitlines() == [
        "PRLX ASSERT: INCONCLUSIVE (nothing differs as far as recorded, and strict asks for more)",
        "  B: events are missing",
    ]
    assert prlx("assert", "good.prlx", "bad.prlx", "--strict").code == 1


def test_json_is_the_document_alone(prlx):
    ran = prlx("assert", "good.prlx", "bad.prlx", "--json")
    assert ran.code == 1
    assert ran.json()["schema"] == "prlx.diff/1"
    assert "tables" not in ran.json()


def test_reports_and_filters_reach_the_core(prlx, compare, files):
    prlx(
        "assert", "good.prlx", "bad.prlx", "--junit", "j.xml", "--sarif", "s.sarif", "--ignore", "a.py:1",
        "--ignore", "func:f*", "--ignore-active-mask", "--accepted", "accepted.toml",
        "--tolerance", "rel=1e-5", "--warps", "0-3", "--no-explain",
        "--map", "sites.json", "--force", "--cross-gpu", "--overwrite", "--baseline", "same.prlx",
    )  # fmt: skip
    asked = compare.asked[0]
    assert asked["outputs"] == [
        {"format": "junit", "path": str(files / "j.xml")},
        {"format": "sarif", "path": str(files / "s.sarif")},
    ]
    assert asked["ignore"] == ["a.py:1", "func:f*"]
    assert asked["accepted"] == str(files / "accepted.toml")
    assert asked["site_map"] == str(files / "sites.json")
    assert asked["baseline"] == [str(files / "same.prlx")]
    assert asked["tolerance"] == "rel=1e-5"
    assert asked["warps"] == "0-3"
    assert all(asked[name] is True for name in ("values", "ignore_active_mask", "force", "cross_gpu", "overwrite"))
    assert "explain" not in asked


class TestUpdatingTheGoldenRecording:
    def test_what_fails_becomes_golden(self, prlx, files):
        ran = prlx("assert", "--golden", "good.prlx", "bad.prlx", "--update-golden")
        assert ran.code == 0
        assert (files / "good.prlx").read_bytes() == b"2"
        assert "wrote good.prlx, a copy of bad.prlx" in ran.err

    def test_what_passes_changes_nothing(self, prlx, files):
        before = (files / "good.prlx").stat()
        assert prlx("assert", "--golden", "good.prlx", "same.prlx", "--update-golden").code == 0
        assert (files / "good.prlx").stat().st_ino == before.st_ino

    def test_the_first_one_is_made(self, prlx, files):
        assert prlx("assert", "--golden", "new/golden.prlx", "bad.prlx", "--update-golden").code == 0
        assert (files / "new" / "golden.prlx").read_bytes() == b"2"

    def test_a_golden_recording_of_another_kernel_is_replaced(self, prlx, compare, files):
        compare.error = IncompatibleTracesError("another kernel")
        assert prlx("assert", "--golden", "good.prlx", "bad.prlx", "--update-golden").code == 0
        assert (files / "good.prlx").read_bytes() == b"2"

    @pytest.mark.parametrize("golden", ["good.prlx", "new.prlx"])
    def test_what_cannot_be_read_never_becomes_golden(self, prlx, files, golden):
        ran = prlx("assert", "--golden", golden, "broken.prlx", "--update-golden")
        assert ran.code == 3
        assert (files / "good.prlx").read_bytes() == b"1"
        assert not (files / "new.prlx").exists()

    def test_a_missing_recording_is_said(self, prlx):
        ran = prlx("assert", "--golden", "new.prlx", "missing.prlx", "--update-golden")
        assert ran.code == 3
        assert "missing.prlx: no such file" in ran.err

    def test_directories_are_copied_whole(self, files):
        session = files / "run"
        session.mkdir()
        (session / "session.json").write_text("[]")
        golden = files / "golden"
        golden.mkdir()
        (golden / "old.prlx").write_text("old")
        _assert.replace_golden(session, golden)
        assert sorted(path.name for path in golden.iterdir()) == ["session.json"]
        assert sorted(path.name for path in files.iterdir() if path.name.startswith(".")) == []

    def test_a_session_does_not_replace_a_recording(self, files):
        (files / "run").mkdir()
        with pytest.raises(UsageError, match="is a session, and the golden"):
            _assert.replace_golden(files / "run", files / "good.prlx")


class TestAssertSame:
    def test_it_returns_the_comparison(self, compare, files):
        found = package.assert_same(files / "good.prlx", files / "same.prlx")
        assert found.passed
        assert compare.asked[0]["explain"] is True

    def test_its_message_is_read_in_ten_seconds(self, compare, files):
        with pytest.raises(AssertionError) as caught:
            package.assert_same(files / "good.prlx", files / "bad.prlx", max_divergences={"Value": 2, "*": 1})
        text = str(caught.value)
        assert text.startswith(f"PRLX ASSERT: FAIL ({counted()} divergences")
        assert "Branch at kernels/softmax.py:24" in text
        assert len(text.splitlines()) < 50
        assert not caught.value.diff.passed
        assert compare.asked[0]["max_divergences"] == {"Value": 2, "*": 1}

    def test_strict_fails_where_events_are_missing(self, compare, files):
        compare.extra = {"losses": {side: {"dropped": 1, "notes": ["1 event was dropped"]} for side in "ab"}}
        assert package.assert_same(files / "good.prlx", files / "same.prlx").passed
        with pytest.raises(AssertionError, match="B: 1 event was dropped"):
            package.assert_same(files / "good.prlx", files / "same.prlx", strict=True)

    @pytest.mark.parametrize(
        ("given", "message"),
        [({"Values": 1}, r"'Values' \(did you mean Value\?\)"), (-1, "got -1"), (True, "got True"), (1.5, "got 1.5")],
    )
    def test_limits_that_cannot_be_are_refused(self, files, given, message):
        with pytest.raises(UsageError, match=message):
            package.assert_same(files / "good.prlx", files / "same.prlx", max_divergences=given)


def test_a_golden_recording_that_is_missing_is_refused_with_the_command_that_makes_it(prlx):
    ran = prlx("assert", "--golden", "none.prlx", "new.prlx")
    assert ran.code == 3
    assert "none.prlx: no such golden recording" in ran.err
    assert "prlx assert --golden none.prlx --update-golden new.prlx" in ran.err
