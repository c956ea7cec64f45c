"""Where evidence is absent, no command gives the pleasant answer: every command of the table, every kind of absence."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from prlx._verdict import EXIT_CODES
from prlx.cli._table import COMMANDS

from .lacks import LACKS, Case

JUDGES = {
    "align",
    "assert",
    "combine",
    "combine --compare",
    "cycles",
    "cycles compare",
    "diff",
    "locate",
    "nccl collect",
    "nccl diagnose",
    "nccl flight",
    "nccl merge",
    "nccl report --compare",
    "nccl selftest",
    "nccl watch",
    "probe",
    "pytorch run",
    "report",
    "session diff",
    "simulate",
    "simulate --compare",
    "simulate --selftest",
    "solve",
    "stragglers",
    "validate",
}
"""What comes to a verdict."""

JUDGES_NOTHING = {
    "completion": "prints a script",
    "config": "prints settings",
    "convert": "writes the same events in another format; what is damaged it refuses",
    "doctor": "judges an installation, not evidence",
    "flamegraph": "draws what diff says",
    "inspect": "says what is there, without a judgement",
    "nccl": "is judged by subcommand",
    "pytorch": "is judged by subcommand",
    "run": "records; its exit code is the program's",
    "session": "is judged by subcommand",
    "version": "prints a number",
}
"""Commands without a verdict, and why."""

ROOMS = [
    importlib.import_module(f".{path.stem}", __package__) for path in sorted(Path(__file__).parent.glob("cases_*.py"))
]
CASES: list[Case] = [case for room in ROOMS for case in room.CASES]
NONE: dict[tuple[str, str], str] = {key: why for room in ROOMS for key, why in room.NONE.items()}
WITH_CASES = {case.command for case in CASES} | {command for command, _ in NONE}


def test_every_command_of_the_table_judges_or_says_why_not():
    named = {command.split()[0] for command in JUDGES} | JUDGES_NOTHING.keys()
    assert named == COMMANDS.keys()


@pytest.mark.parametrize("command", sorted(WITH_CASES))
def test_every_lack_has_a_case(command):
    assert command in JUDGES
    tried = {case.lack for case in CASES if case.command == command}
    assert tried <= LACKS.keys()
    missing = [lack for lack in LACKS if lack not in tried and (command, lack) not in NONE]
    assert not missing, f"{command} has neither a case nor a reason for: {missing}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.command}-{case.lack}".replace(" ", "_"))
def test_absence_is_never_pleasant(case, tmp_path):
    words = case.make(tmp_path)
    if "--json" not in words:
        words.append("--json")
    ran = subprocess.run(
        [sys.executable, "-m", "prlx", *words],
        cwd=tmp_path,
        env={**os.environ, **case.environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    said = ran.stdout + ran.stderr
    assert ran.returncode in (1, 3, 4, 5), f"exit code {ran.returncode}: {said[-3000:]}"
    assert "Traceback" not in said
    if ran.stdout.strip():
        conclusion = json.loads(ran.stdout)["conclusion"]
        assert conclusion["outcome"] not in ("same", "passed"), said[-3000:]
        assert ran.returncode == EXIT_CODES[conclusion["outcome"]]
        assert conclusion["outcome"] != "inconclusive" or conclusion["why"], "an inconclusive verdict says why"
    assert case.says in said
