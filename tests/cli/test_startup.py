"""What a command imports before its work begins. Nothing here looks at a clock; ``bench/startup.py`` prints the times."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from prlx.cli import _table

RUNS = Path(__file__).parents[2] / "examples" / "two_runs"
NODES = Path(__file__).parents[2] / "examples" / "jax_p4"

# Runs a command up to the first operation of the core, which is not begun: what is imported then is what every user waits for.
UNTIL_THE_CORE = """
import json, os, sys
from prlx import _core
def begin(op, *request, **more):
    print(json.dumps([op, sorted(sys.modules)]), flush=True)
    os._exit(0)
_core.run = _core.start = _core.call = begin
from prlx.cli import main
code = main(sys.argv[1:])
print(json.dumps([f"exit code {code}", sorted(sys.modules)]))
"""

# Each takes milliseconds, or tens of them, and no command needs it to begin.
NEVER = ("numpy", "pandas", "polars", "pyarrow", "rich", "triton", "torch", "asyncio", "concurrent", "http", "email", "xml",
         "unittest", "multiprocessing", "subprocess", "tempfile", "importlib.metadata", "importlib.resources", "platform",
         "traceback", "difflib", "logging", "decimal", "datetime", "html", "shutil")  # fmt: skip

COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    # the command line, and the operation that it begins with
    "combine": ((str(NODES / "node0"), str(NODES / "node1"), "-o", "out"), "combine"),
    "align": ((str(NODES / "node0"), "-o", "out"), "align"),
    "validate": ((str(NODES / "node0"), str(NODES / "node1")), "validate"),
    "stragglers": ((str(NODES / "node0"), str(NODES / "node1")), "stragglers"),
    "solve": ((str(NODES / "probes_node0.jsonl"), "-o", "out.jsonl"), "solve"),
    "probe": (("--peers", "127.0.0.1:1,127.0.0.1:2", "--node", "0", "-o", "out"), "probe"),
    "inspect": ((str(RUNS / "a.prlx"),), "inspect"),
    "diff": ((str(RUNS / "a.prlx"), str(RUNS / "b.prlx")), "diff"),
    "assert": ((str(RUNS / "a.prlx"), str(RUNS / "b.prlx")), "diff"),
    "cycles": ((str(NODES / "node0"),), "cycles"),
    "session": (("inspect", str(RUNS)), "session_inspect"),
    "flamegraph": ((str(RUNS / "a.prlx"), str(RUNS / "b.prlx"), "-o", "out.json"), "diff"),
    "convert": ((str(RUNS / "a.prlx"), "-o", "out.prlx"), "convert"),
    "report": (("diff.json", "-o", "out.html"), "report"),
    "nccl": (("plugin", "--path"), "exit code 0"),
    "version": (("--json",), "version"),
    "completion": (("bash",), "exit code 0"),
    "config": ((), "exit code 0"),
}
NEEDS = {  # what a command is for
    "version": {"platform"},  # prints the version of Python
    "completion": {"platform"},  # imports every command
}
WITHOUT_CORE = {
    "run",
    "simulate",
    "pytorch",
    "locate",
    "doctor",
}  # run scripts of the user, and prlx in a process of its own


def imported_by(arguments: tuple[str, ...], folder: Path) -> tuple[str, set[str]]:
    """The operation that a command line begins, and the modules that are imported then."""
    command = [sys.executable, "-c", UNTIL_THE_CORE, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout, done.stderr
    operation, modules = json.loads(done.stdout.splitlines()[-1])
    return operation, set(modules)


def avoidable(name: str, modules: set[str]) -> list[str]:
    """Which of the modules that a command must not import are there."""
    return [module for module in NEVER if module in modules and module not in NEEDS.get(name, ())]


def test_every_command_is_looked_at() -> None:
    assert set(COMMANDS) | WITHOUT_CORE == set(_table.COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_begins_before_it_imports_what_it_does_not_need(name: str, tmp_path: Path) -> None:
    arguments, operation = COMMANDS[name]
    if name == "report":
        (tmp_path / "diff.json").write_text("{}")

    began, modules = imported_by((name, *arguments), tmp_path)

    assert began == operation
    assert avoidable(name, modules) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_imports_no_other_command(name: str, tmp_path: Path) -> None:
    if name == "completion":
        pytest.skip("lists the flags of all commands")
    _, modules = imported_by((name, "--help"), tmp_path)
    files = {f"prlx.cli.{command}".replace("assert", "assert_") for command in _table.COMMANDS}
    others = modules & files - {f"prlx.cli.{name}".replace("assert", "assert_")}
    assert others <= {"prlx.cli.combine", "prlx.cli.diff"}  # with which others share flags


@pytest.mark.parametrize("name", [*COMMANDS, *sorted(WITHOUT_CORE)])
def test_help_imports_no_core(name: str, tmp_path: Path) -> None:
    began, modules = imported_by((name, "--help"), tmp_path)
    assert began == "exit code 0"
    assert avoidable(name, modules) == []
    assert "prlx._prlx" not in modules


def test_importing_prlx_compiles_no_expression(tmp_path: Path) -> None:
    code = "import typing; before = set(sys.modules); import prlx; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
                          capture_output=True, text=True, cwd=tmp_path, check=True)  # fmt: skip
    loaded = set(done.stdout.split())
    assert "prlx._errors" in loaded
    assert not loaded & {"re", "json", "dataclasses", "pathlib", "numpy", "prlx._core", *NEVER}
