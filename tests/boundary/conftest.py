"""Helpers of the boundary tests: code that runs in an interpreter of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

Python: TypeAlias = Callable[..., Any]


@pytest.fixture
def python() -> Python:
    """Run code in a fresh interpreter; it calls ``show(value)`` once, and that value is returned."""

    def run(code: str, timeout: float = 600, **environment: str) -> Any:
        prelude = "import json, sys\ndef show(value): print(json.dumps(value), flush=True)\n"
        done = subprocess.run(
            [sys.executable, "-c", prelude + code],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, **environment},
        )
        assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert not done.stderr, done.stderr
        return json.loads(done.stdout)

    return run
