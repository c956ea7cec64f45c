"""What the tests of reports need beside Python: where it is, and what to do without it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def missing(what: str) -> NoReturn:
    """Skips the test, or fails it where CI=true says that nothing may be missing."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} (CI=true: nothing may be missing)")
    pytest.skip(what)
