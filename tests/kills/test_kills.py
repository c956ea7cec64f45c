"""A few of the kills of run.py; ``make kills`` makes a thousand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_a_kill_leaves_no_half_output(tmp_path):
    """In a process of its own: the commands are its children, and it must not have loaded the core."""
    journal = tmp_path / "kills.jsonl"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PRLX_", "TRITON_"))}
    for so_far in (3, 10):  # the second call goes on behind the first
        words = [sys.executable, HERE / "run.py", "--kills", str(so_far), "--journal", journal]
        done = subprocess.run([*map(str, words)], env=kept, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == f"{so_far} kills, no half output"
        assert [json.loads(line)["kill"] for line in journal.read_text().splitlines()] == list(range(so_far))
