"""Where launches are recorded to: a directory with a manifest, or one file."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from . import _core, _request
from ._errors import FileAccessError, UsageError
from ._inputs import SUFFIX, beside
from ._looked_up import reader
from ._units import parse_size
from ._wanted import wanted

if TYPE_CHECKING:
    from ._request import Path as AnyPath

Mode: TypeAlias = Literal["digest", "control-flow", "values"]
"""How much a warp leaves: hashes, an event for each branch and predicate, or operands of all lanes too."""

Filter: TypeAlias = str | Iterable[str] | None
"""Names of kernels with ``*`` and ``?``, ``FILE:LINE``, ``FILE:FROM-TO``, ``func:NAME``; None is what ``PRLX_FILTER`` says."""

MODES = ("digest", "control-flow", "values")
_TEXT = re.compile(r"[0-9a-f]{64}\.zst")  # of a session: docs/formats/session.md


_RANGES = re.compile(r"\d{1,18}(-\d{1,18})?(\+\d{1,18}(-\d{1,18})?)*")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")  # in the names of files
_NOT_ON_GPU = ("loads", "outputs", "inputs")  # what a kernel that runs on a GPU does not leave
_enabled = reader("PRLX_ENABLED")
_OFF = (("0",), (b"0",))
_SWITCHES = ("stores", "atomics", "loads", "barriers", "contents_after")
_ON_GPU = ("contents_after",)  # what the simulator knows better


def recorded_again(environ: Mapping[str, str]) -> dict[str, Any]:
    """What ``PRLX_RECORD`` asks to record instead of what the program does: ``mode=values,stores=true,outputs=64MiB,seed=1``.

    ``prlx diff --rerun`` and ``prlx locate`` set it for what they run. ``launch=3`` records the launch of that number alone,
    ``warps=0-3+9`` events of these warps alone.
    """
    asked: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in environ.get("PRLX_RECORD", "").split(","))):
        name, _, value = part.partition("=")
        if name == "mode" and value in MODES:
            asked[name] = value
        elif name in _SWITCHES and value in ("true", "false"):
            asked[name] = value == "true"
        elif name in ("seed", "launch") and value.isdecimal():
            asked[name] = int(value)
        elif name == "warps" and _RANGES.fullmatch(value):
            asked[name] = ranges(value)
        elif name in ("outputs", "inputs"):
            try:
                asked[name] = parse_size(value)
            except ValueError as error:
                raise UsageError(f"PRLX_RECORD: {part}: {error}") from None
        else:
            raise UsageError(
                f"PRLX_RECORD: {part!r} is no option of a recording",
                hint="mode=values,stores=true,atomics=true,loads=true,barriers=true,contents_after=false,outputs=64MiB,inputs=64MiB,seed=1,launch=0,warps=0-3+9",
            )
    return asked


def asked_again(mode: str, extras: Mapping[str, Any], *, on_gpu: bool = False) -> tuple[str, dict[str, Any]]:
    """What a recording holds when ``PRLX_RECORD`` has been asked, too; a GPU gives as much of that as it can."""
    again = recorded_again(os.environ)
    left_out = ("seed", "launch", *(_NOT_ON_GPU if on_gpu else _ON_GPU))
    rest = {name: value for name, value in again.items() if name not in left_out}
    return rest.pop("mode", mode), {**extras, **rest}


def named_by(environ: Mapping[str, str]) -> str | None:
    """Where variables of original prlx 0.5 have launches recorded; None where none of them is set."""
    return next(filter(None, map(environ.get, ("PRLX_SESSION", "PRLX_TRACE_DIR", "PRLX_TRACE"))), None)


def ranges(text: str) -> list[list[int]]:
    """Ranges of warps as the core takes them, of a text such as ``0-3+9``."""
    return [[int(one.partition("-")[0]), int(one.rpartition("-")[2])] for one in text.split("+")]


class Target:
    """Where launches are recorded: a directory with a file per launch and a manifest, or one file for one launch."""

    def __init__(
        self, path: AnyPath, *, mode: str, filter: Filter, overwrite: bool, extras: Mapping[str, Any], directory: bool
    ) -> None:
        if mode not in MODES:
            raise UsageError(f"mode: expected one of {', '.join(MODES)}, got {mode!r}")
        self.path = Path(_request.absolute(path))
        self.is_file = not directory and self.path.suffix == ".prlx"
        self.launches: list[dict[str, Any]] = []
        self._begun: set[int] = set()  # numbers of launches; several may run at once
        self._last = -1  # the largest of them
        self._passed: set[str] = set()  # kernels that the filter left out
        self._names: dict[str, str] = {}  # of kernels in names of files
        self.only: int | None = recorded_again(os.environ).get("launch")
        """The number of the one launch that is recorded; None for all."""
        self._met = 0  # launches that the filter let through
        self._wanted = wanted(filter)
        self.request = {"mode": mode, "overwrite": overwrite or not self.is_file, **extras}
        """What the core shall record of each launch, but for its file."""
        self._owner = os.getpid()
        self._folder = f"{self.path}{os.sep}"
        self._prepare(overwrite)

    def _prepare(self, overwrite: bool) -> None:
        if self.is_file:
            if self.path.exists() and not overwrite:
                raise FileAccessError(
                    "already exists", path=str(self.path), hint="choose another name, or pass --overwrite"
                )
            return
        if self.path.is_file():
            raise FileAccessError("is a file, not a directory", path=str(self.path), hint="name a directory")
        if self.path.is_dir() and any(self.path.iterdir()):
            if not overwrite:
                raise FileAccessError(
                    "is not empty", path=str(self.path), hint="choose another directory, or pass --overwrite"
                )
            texts = (path for path in self.path.glob("sources/*.zst") if _TEXT.fullmatch(path.name))
            for old in (*self.path.glob("*.prlx"), *self.path.glob(f"*{SUFFIX}"), *texts, self.path / "session.json"):
                old.unlink(missing_ok=True)
        self.path.mkdir(parents=True, exist_ok=True)

    def begin(self, kernel: str, texts: Callable[[], Mapping[str, Any]] | None) -> tuple[int, dict[str, Any]] | None:
        """The number of the next launch, and what the core shall record of it; None for nothing."""
        if os.getpid() != self._owner:
            return None  # a forked child: the files are its parent's
        record = self.chosen(kernel, texts)
        numbered = None if record is None else self.number(kernel)
        if record is None or numbered is None:
            return None
        return numbered[0], {**record, "path": numbered[1]}

    def chosen(self, kernel: str, texts: Callable[[], Mapping[str, Any]] | None) -> dict[str, Any] | None:
        """What the core shall record of each launch of a kernel, but for its file; None where the filter leaves it out."""
        functions = texts()["functions"] if self._wanted.places and texts is not None else []
        if not self._wanted.kernel(kernel) or not self._wanted.functions(functions):
            self._passed.add(kernel)
            return None
        places = {"places": self._wanted.within(functions)} if self._wanted.places else {}
        return {**self.request, "texts_beside": not self.is_file, **places}

    def number(self, kernel: str) -> tuple[int, str] | None:
        """The number and the file of the next launch of a kernel that is recorded; None where this launch is not."""
        if _enabled() in _OFF:
            return None
        met, self._met = self._met, self._met + 1
        if self.only is not None and met != self.only:
            return None
        number = met if self.only is not None else self._last + 1
        if self.is_file and self._begun:
            raise UsageError(
                f"holds one launch already, and {kernel} is launched again",
                path=str(self.path),
                hint="name a directory to record several launches, or choose kernels with --filter",
            )
        self._begun.add(number)
        self._last = max(self._last, number)
        if self.is_file:
            beside(self.path).unlink(missing_ok=True)  # those of an earlier recording; a directory has none any more
            return number, str(self.path)
        name = self._names.get(kernel)
        if name is None:
            name = self._names[kernel] = f"_{_UNSAFE.sub('_', kernel)[:80]}.prlx"
        return number, f"{self._folder}{number:04d}{name}"

    def end(self, number: int, row: Mapping[str, Any] | None) -> None:
        """Note a launch that was recorded, with what the manifest says of it; one that was not is none."""
        if row is None:
            self._begun.discard(number)
            self._last = max(self._begun, default=-1)
            return
        self.launches.append({"launch": number, **row, "file": Path(row["file"]).name})

    def close(self, *, partial: bool) -> None:
        """Write the manifest; say so where the filter left nothing."""
        if self._passed and not self.launches and os.getpid() == self._owner:
            names = ", ".join(sorted(self._passed)[:5])
            warnings.warn(
                f"nothing was recorded: no kernel is or has {str(self._wanted)!r}, launched were {names}", stacklevel=2
            )
        if not self.is_file and os.getpid() == self._owner:
            launches = sorted(self.launches, key=lambda row: row["launch"])
            request = {"path": str(self.path), "partial": partial, "launches": launches}
            _core.call("session_finish", request)
