"""The pytest plugin: the fixture ``prlx``, the marker ``prlx`` and golden recordings.

Pytest loads it in every test run of an environment that has prlx, so it imports nothing of prlx until a test uses it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ._compare import Recordings
    from ._diff import Comparison
    from ._request import Path as AnyPath

_UPDATE = "--prlx-update-golden"
_FOLDER = "prlx_golden_dir"
_OWN = "golden_dir"  # an option of the marker that assert_same does not have
_MARKER = (
    "prlx(**options): how the fixture prlx compares in this test: the options of prlx.assert_same, "
    "and golden_dir, the folder of golden recordings"
)
_REPORTS = pytest.StashKey[list[tuple[str, str]]]()
_UPDATED = "prlx_updated"  # property of a report: golden recordings that the test replaced


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the setting."""
    group = parser.getgroup("prlx", "recordings of GPU kernels")
    group.addoption(_UPDATE, action="store_true", default=False, help="make what tests recorded the golden recordings")
    parser.addini(_FOLDER, "folder of golden recordings, beside each test's file or absolute", default="golden")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def prlx(request: pytest.FixtureRequest) -> RecordingChecks:
    """Compares recordings of GPU kernels: ``prlx.same(a, b)``, ``prlx.golden(recording)``."""
    options: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("prlx"))):  # the closest one wins
        if mark.args:
            raise pytest.UsageError(f"{request.node.nodeid}: the marker prlx takes named options only: {_MARKER}")
        options.update(mark.kwargs)
    return RecordingChecks(
        node=request.node,
        folder=str(options.pop(_OWN, None) or request.config.getini(_FOLDER)),
        updating=bool(request.config.getoption(_UPDATE)),
        options=options,
    )


@dataclass
class RecordingChecks:
    """What the fixture ``prlx`` is.

    Attributes
    ----------
    folder
        The folder of golden recordings, relative to the test's file.
    updating
        Whether golden recordings are replaced instead of compared.
    options
        What the markers say: defaults of the options of each comparison.
    """

    node: pytest.Item = field(repr=False)
    folder: str
    updating: bool
    options: Mapping[str, Any]
    _made: set[Path] = field(default_factory=set, repr=False)

    def same(self, a: Recordings, b: Recordings, **options: Any) -> Comparison:
        """Fail the test unless two recordings, or two sessions, are the same.

        Parameters
        ----------
        a, b
            As of ``prlx.diff_traces``.
        **options
            Those of ``prlx.assert_same``; they win over the marker's.

        Returns
        -------
        Diff
            The comparison, when it passes.
        """
        __tracebackhide__ = True
        from . import _assert

        chosen = self._chosen(options)
        try:
            return _assert.assert_same(a, b, **chosen)
        except AssertionError as error:
            found = getattr(error, "diff", None)
            if found is not None:
                self._keep(f"prlx: {_shown(a)} against {_shown(b)}", _assert.report(found, detail=True))
            raise

    def golden(self, recording: AnyPath, *, name: str | None = None, **options: Any) -> Comparison | None:
        """Fail the test unless a recording, or a session, is the same as the golden one of this test.

        With ``--prlx-update-golden`` the recording becomes the golden one instead, where it differs.

        Parameters
        ----------
        recording
            What the test recorded.
        name
            Tells several golden recordings apart: ``golden/test_module/NAME.prlx``. Left out, the test's own name.
        **options
            Those of ``prlx.assert_same``; they win over the marker's.

        Returns
        -------
        Diff or None
            The comparison, when it passes; None when the golden recording was replaced.
        """
        __tracebackhide__ = True
        from . import _assert
        from ._errors import IncompatibleTracesError, TraceFormatError

        source = Path(os.fspath(recording))
        golden = self.path(source, name)
        if golden in self._made:
            raise pytest.UsageError(f"{self.node.nodeid}: two golden recordings of one test need names: {golden.name}")
        self._made.add(golden)
        if self.updating:
            chosen = self._chosen(options)
            _assert.assert_same(source, source, **{**chosen, "explain": False})  # readable, before anything is replaced
            if golden.exists():
                try:
                    return _assert.assert_same(golden, source, **{**chosen, "explain": False})
                except (AssertionError, IncompatibleTracesError, TraceFormatError):
                    pass  # another recording from now on
            self.node.user_properties.append((_UPDATED, str(_assert.replace_golden(source, golden))))
            return None
        if not golden.exists():
            pytest.fail(f"there is no golden recording {golden}\nmake it with: pytest {_UPDATE}", pytrace=False)
        return self.same(golden, source, **options)

    def path(self, recording: Path, name: str | None = None) -> Path:
        """Where the golden recording of this test is: a file, or a directory for a session.

        Parameters
        ----------
        recording
            What it will be compared with.
        name
            As of ``golden``.
        """
        folder = self.node.path.parent / self.folder / self.node.path.stem
        own = self.node.nodeid.partition("::")[2].replace("::", ".")
        return folder / (_file_name(name or own) + ("" if recording.is_dir() else ".prlx"))

    def _chosen(self, options: Mapping[str, Any]) -> dict[str, Any]:
        from . import _options
        from ._config import did_you_mean

        chosen = {**self.options, **options}
        known = ["strict", *_options.of("assert"), *_options.groups("assert")]
        for name in chosen:
            if name not in known:
                near = did_you_mean(name, [*known, _OWN])
                raise pytest.UsageError(f"{self.node.nodeid}: prlx has no option {name!r}{near}")
        return chosen

    def _keep(self, title: str, text: str) -> None:
        self.node.stash.setdefault(_REPORTS, []).append((title, text))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Put the whole report of a comparison below the failure that it caused."""
    outcome = yield
    done = outcome.get_result()
    reports = item.stash.get(_REPORTS, [])
    if done.failed and reports:
        done.sections += reports
        item.stash[_REPORTS] = []


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say which golden recordings were replaced."""
    updated = sorted(set(_updated(terminalreporter.stats)))
    if updated:
        terminalreporter.section("prlx: golden recordings")
        for path in updated:
            terminalreporter.write_line(f"wrote {path}")


def _updated(stats: Mapping[str, list[Any]]) -> Iterator[str]:
    for reports in stats.values():
        for done in reports:
            if getattr(done, "when", "") == "teardown":
                continue
            yield from (value for key, value in getattr(done, "user_properties", ()) if key == _UPDATED)


def _shown(given: Any) -> str:
    if isinstance(given, (str, os.PathLike)):
        return Path(os.fspath(given)).name
    if hasattr(given, "path"):
        return Path(given.path).name
    several = list(given)
    return _shown(several[0]) if several else "nothing"


def _file_name(text: str) -> str:
    """A name that every file system takes; where letters are lost, a digest keeps two names apart."""
    plain = re.sub(r"[^A-Za-z0-9._=+-]+", "_", text).strip("._") or "recording"
    short = plain[:100]
    if short == re.sub(r"[\[\]]+", "_", text).strip("._"):
        return short
    return f"{short}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
