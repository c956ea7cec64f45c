"""Which line of a program is being run: the innermost one that is of neither torch, prlx nor Python's own library."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from types import CodeType
from typing import Any

_UNKNOWN = object()


class Frames:
    """Names lines as ``train.py:12``; files below the working directory are named from there."""

    def __init__(self, torch: Any) -> None:
        standard = Path(sysconfig.get_paths()["stdlib"])
        ours, torchs = Path(__file__).absolute().parents[1], Path(torch.__file__).absolute().parent
        self._packages = (f"{ours}{os.sep}", f"{torchs}{os.sep}")
        self._standard = f"{standard}{os.sep}"
        self._site = f"{standard / 'site-packages'}{os.sep}"  # below the standard library, and not of it
        self._from = f"{Path.cwd()}{os.sep}"
        self._files: dict[CodeType, str] = {}
        self._lines: dict[tuple[str, int], str] = {}

    def line(self) -> str:
        """The line that runs now; empty where none is of the program's own."""
        frame = sys._getframe(1)
        files = self._files
        while frame is not None:
            code = frame.f_code
            name = files.get(code, _UNKNOWN)
            if name is _UNKNOWN:
                name = files[code] = self._name(code)
            if name:
                key = (str(name), frame.f_lineno)
                return self._lines.get(key) or self._lines.setdefault(key, f"{name}:{frame.f_lineno}")
            frame = frame.f_back  # type: ignore[assignment]
        return ""

    def _name(self, code: CodeType) -> str:
        """How the file of some code is called; empty where it is not the program's."""
        path = code.co_filename
        if path.startswith("<"):
            return ""
        path = str(Path(path).absolute())
        if path.startswith(self._packages) or (path.startswith(self._standard) and not path.startswith(self._site)):
            return ""
        return path.removeprefix(self._from)
