"""The pytest plugin, in test runs of its own."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from kernel.recordings import GUARD, SITES, site_map, softmax

pytest_plugins = ["pytester"]

EXAMPLE = Path(__file__).resolve().parents[2] / "core" / "report" / "kernelreport" / "testdata" / "diverged.json"

# A core for the inner runs: recordings are the same when their bytes are.
CORE = """
import copy, json, pathlib
import pytest
from prlx import _core
from prlx._errors import TraceFormatError
from prlx._table import Table

ASKED = []

def run(op, request, *, progress=None):
    assert op == "diff"
    ASKED.append(request)
    document = json.loads(pathlib.Path({example!r}).read_text())
    a, b = (pathlib.Path(request[side][0]) for side in "ab")
    if b"broken" in b.read_bytes():
        raise TraceFormatError("is broken", path=str(b))
    if a.read_bytes() == b.read_bytes():
        document.update(first=None, clusters=[], sites=[], divergences=[], explanation=None, baseline=None,
                        status="identical", verdict="the same",
                        headline={{"word": "SAME", "tone": "good"}}, total_divergences=0, counted_divergences=0)
    document["threshold"] = request["max_divergences"]
    document["passed"] = document["counted_divergences"] <= request["max_divergences"]
    word, number = "PASS" if document["passed"] else "FAIL", document["counted_divergences"]
    noun = "divergence" if number == 1 else "divergences"
    document["headline"]["gate"] = f"PRLX ASSERT: {{word}} ({{number}} {{noun}}, threshold: {{document['threshold']}})"
    document["tables"] = {{name: Table([], 0) for name in ("divergences", "clusters", "sites")}}
    return document

_core.run = run

@pytest.fixture
def asked():
    ASKED.clear()
    return ASKED
"""


def with_plugin():
    """What loads the plugin where the installed package does not declare it (yet)."""
    points = importlib.metadata.entry_points(group="pytest11")
    return [] if any(point.value == "prlx._pytest" for point in points) else ["-p", "prlx._pytest"]


@pytest.fixture
def inner(pytester):
    """Run tests in a folder that has two equal recordings, and one that differs."""
    pytester.makeconftest(CORE.format(example=str(EXAMPLE)))
    for name, content in (("a", "1"), ("same", "1"), ("b", "2"), ("broken", "broken")):
        (pytester.path / f"{name}.prlx").write_text(content)

    def run(*words, **files):
        if files:
            pytester.makepyfile(**files)
        shutil.rmtree(pytester.path / "__pycache__", ignore_errors=True)
        return pytester.runpytest_subprocess(*with_plugin(), "-p", "no:cacheprovider", "--strict-markers", *words)

    run.path = pytester.path
    return run


SAME = """
    def test_same(prlx):
        assert prlx.same("a.prlx", "same.prlx").passed
"""
DIFFERS = """
    def test_differs(prlx):
        prlx.same("a.prlx", "b.prlx")
"""
GOLDEN = """
    def test_golden(prlx):
        prlx.golden("b.prlx")
"""


def test_equal_recordings_pass(inner):
    inner(test_it=SAME).assert_outcomes(passed=1)


def test_a_difference_fails_with_a_short_message_and_a_long_section(inner):
    done = inner(test_it=DIFFERS)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "*AssertionError: PRLX ASSERT: FAIL (*",
            "*first divergence: Branch at kernels/softmax.py:24*",
            "*- prlx: a.prlx against b.prlx -*",
            "*sites*",
        ]
    )
    text = done.stdout.str()
    assert "_assert.py" not in text, "the traceback ends in the test"


def test_the_marker_gives_options_and_the_closest_wins(inner):
    done = inner(
        test_it="""
        import pytest

        pytestmark = pytest.mark.prlx(values=True, max_divergences=3)

        @pytest.mark.prlx(max_divergences=10_000_000, ignore=["a.py:1"])
        def test_marked(prlx, asked):
            prlx.same("a.prlx", "b.prlx", ignore="b.py:2")
            assert asked[0]["values"] is True
            assert asked[0]["max_divergences"] == 10_000_000
            assert asked[0]["ignore"] == ["b.py:2"]
        """
    )
    done.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("prlx(vales=True)", "prlx has no option 'vales' (did you mean values?)"),
        ("prlx(3)", "the marker prlx takes named options only"),
    ],
)
def test_mistakes_in_the_marker_are_said(inner, mark, message):
    done = inner(test_it=f"import pytest\n@pytest.mark.{mark}\ndef test_it(prlx):\n    prlx.same('a.prlx', 'b.prlx')\n")
    assert done.ret != 0
    assert message in done.stdout.str()


def test_a_golden_recording_is_made_compared_and_replaced(inner):
    golden = inner.path / "golden" / "test_it" / "test_golden.prlx"
    done = inner(test_it=GOLDEN)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*there is no golden recording *test_golden.prlx", "*pytest --prlx-update-golden"])

    done = inner("--prlx-update-golden")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["*prlx: golden recordings*", f"wrote {golden}"])
    assert golden.read_text() == "2"

    inner().assert_outcomes(passed=1)

    golden.write_text("old")
    inner().assert_outcomes(failed=1)
    inner("--prlx-update-golden").assert_outcomes(passed=1)
    assert golden.read_text() == "2"

    before = golden.stat().st_ino
    done = inner("--prlx-update-golden")
    done.assert_outcomes(passed=1)
    assert golden.stat().st_ino == before, "what passes is not replaced"
    assert "prlx: golden recordings" not in done.stdout.str()


def test_what_cannot_be_read_never_becomes_golden(inner):
    done = inner("--prlx-update-golden", test_it=GOLDEN.replace("b.prlx", "broken.prlx"))
    done.assert_outcomes(failed=1)
    assert not (inner.path / "golden").exists()


def test_golden_recordings_have_names_and_a_folder(inner):
    text = """
        import pytest

        @pytest.mark.prlx(golden_dir="kept")
        @pytest.mark.parametrize("size", ["64/64", "64:64"])
        def test_many(prlx, size):
            prlx.golden("a.prlx")
            prlx.golden("b.prlx", name=f"second {size}")

        class TestGroup:
            def test_inside(self, prlx):
                prlx.golden("a.prlx")
    """
    inner("--prlx-update-golden", test_it=text).assert_outcomes(passed=3)
    inner().assert_outcomes(passed=3)
    kept = {path.relative_to(inner.path) for path in inner.path.rglob("*.prlx") if path.parent != inner.path}
    assert len(kept) == 5
    assert {path.parts[:2] for path in kept} == {("kept", "test_it"), ("golden", "test_it")}
    assert Path("golden/test_it/TestGroup.test_inside.prlx") in kept


def test_two_golden_recordings_of_a_test_need_names(inner):
    done = inner("--prlx-update-golden", test_it=GOLDEN + "        prlx.golden('a.prlx')\n")
    assert "two golden recordings of one test need names" in done.stdout.str()


def test_the_folder_is_a_setting(inner):
    (inner.path / "pytest.ini").write_text("[pytest]\nprlx_golden_dir = recorded\n")
    inner("--prlx-update-golden", test_it=GOLDEN).assert_outcomes(passed=1)
    assert (inner.path / "recorded" / "test_it" / "test_golden.prlx").exists()


def test_processes_that_run_at_once_leave_whole_golden_recordings(inner):
    """As pytest-xdist runs them: several processes, the same folder, even the same golden recording."""
    (inner.path / "b.prlx").write_text("2" * 2_000_000)
    text = "import pytest\n" + "".join(
        f"@pytest.mark.parametrize('n', range(3))\ndef test_{k}(prlx, n):\n    prlx.golden('b.prlx', name='one')\n"
        for k in range(4)
    )
    (inner.path / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", *with_plugin(), "-p", "no:cacheprovider", "--prlx-update-golden"]
    runs = [subprocess.Popen([*command, "-k", f"test_{k}"], cwd=inner.path, stdout=subprocess.PIPE) for k in range(4)]
    printed = [run.communicate(timeout=600)[0].decode() for run in runs]
    assert [run.returncode for run in runs] == [0] * 4, "\n".join(printed)
    folder = inner.path / "golden" / "test_it"
    assert [path.name for path in folder.iterdir()] == ["one.prlx"], "no temporary file is left"
    assert folder.joinpath("one.prlx").read_text() == "2" * 2_000_000


def test_a_run_that_does_not_use_it_loads_neither_the_core_nor_numpy(pytester):
    pytester.makepyfile(
        """
        import sys

        def test_nothing_is_loaded():
            loaded = {"numpy", "prlx._prlx", "prlx._core", "prlx._diff", "prlx._assert"} & set(sys.modules)
            assert not loaded
        """
    )
    pytester.runpytest_subprocess(*with_plugin(), "-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_the_core_itself_compares(pytester):
    """Without the stand-in: recordings of a small kernel, one of which decides a guard otherwise."""
    good = softmax()
    good.write(pytester.path / "a.prlx")
    good.write(pytester.path / "same.prlx")
    at = [k for k, event in enumerate(good.warps[1]) if event.site == GUARD][2]
    other = [replace(event, dir=1 - event.dir) if k == at else event for k, event in enumerate(good.warps[1])]
    good.changed(1, other).write(pytester.path / "b.prlx")
    site_map(pytester.path / "prlx-sites.json", SITES)
    pytester.makepyfile(SAME + textwrap.indent(textwrap.dedent(DIFFERS), "    "))
    done = pytester.runpytest_subprocess(*with_plugin(), "-p", "no:cacheprovider")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*AssertionError: PRLX ASSERT: FAIL (1 divergence, threshold: 0)*",
            "*first divergence: Branch at softmax.py:11:12 in softmax_kernel*",
            "*- prlx: a.prlx against b.prlx -*",
        ]
    )


def test_the_marker_and_the_fixture_are_listed(pytester):
    marks = pytester.runpytest_subprocess(*with_plugin(), "--markers")
    marks.stdout.fnmatch_lines(["@pytest.mark.prlx(*options): how the fixture prlx compares*"])
    fixtures = pytester.runpytest_subprocess(*with_plugin(), "--fixtures")
    fixtures.stdout.fnmatch_lines(["prlx -- *", "*Compares recordings of GPU kernels*"])


def test_the_example_that_these_tests_compare_with_diverges():
    assert json.loads(EXAMPLE.read_text())["status"] == "diverged"
