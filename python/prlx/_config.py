"""Settings: what a flag left out means.

One table lists every setting with its key, kind and default; flags, ``PRLX_*`` variables, ``prlx.toml`` and ``[tool.prlx]`` of
``pyproject.toml`` are four spellings of it. For the setting ``combine.method`` they are ``prlx combine --method``,
``PRLX_COMBINE_METHOD``, and ``method`` under ``[combine]`` or ``[tool.prlx.combine]``. The first that is set wins, and says so.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from . import _former, _options
from ._errors import TraceFormatError, UsageError
from ._units import parse_size

Kind = Literal["text", "choice", "whole", "size", "switch"]
Value = str | int | bool | None

TRACKS = ("chrome", "perfetto")
RECORDINGS = ("v1", "v2")
COLORS = ("auto", "always", "never")


@dataclass(frozen=True)
class Setting:
    """One thing that can be set, and what holds when nobody does."""

    key: str
    kind: Kind
    default: Value
    help: str
    choices: tuple[str, ...] = ()
    unset: str = ""
    """What ``None`` as the default means, in words."""

    @property
    def env(self) -> str:
        """The environment variable of this setting."""
        return "PRLX_" + self.key.replace(".", "_").replace("-", "_").upper()

    def parse(self, raw: object, where: str) -> Value:
        """The value of what an environment variable or a TOML key holds.

        Raises
        ------
        UsageError
            With the place, what was expected and what was found.
        """
        try:
            return self._parse(raw)
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from None

    def _parse(self, raw: object) -> Value:
        if self.kind == "switch":
            return _switch(raw)
        if self.kind == "whole":
            return _whole(raw)
        if self.kind == "size":
            return raw if type(raw) is int and raw > 0 else parse_size(str(raw))
        if not isinstance(raw, str):
            raise ValueError(f"expected text, got {raw!r}")
        if self.kind == "choice" and raw not in self.choices:
            raise ValueError(f"expected one of {', '.join(self.choices)}, got {raw!r}{did_you_mean(raw, self.choices)}")
        return raw


def _switch(raw: object) -> bool:
    text = str(raw).strip().lower()
    if text in ("1", "true", "yes", "on"):
        return True
    if text in ("0", "false", "no", "off", ""):
        return False
    raise ValueError(f"expected true or false, got {raw!r}")


def _whole(raw: object) -> int:
    if type(raw) is int and raw > 0:
        return raw
    if isinstance(raw, str) and raw.strip().isdecimal() and int(raw) > 0:
        return int(raw)
    raise ValueError(f"expected a whole number above 0, got {raw!r}")


def _of(operation: str, *, shared: bool = False) -> tuple[Setting, ...]:
    """The settings of the options of an operation: its own, or those that it shares with others."""
    return tuple(
        Setting(
            option.setting,
            "choice" if option.choices else _KINDS[option.takes],
            option.default,
            option.sentence.replace("`", ""),
            option.choices,
            option.unset,
        )
        for option in _options.of(operation).values()
        if option.setting and option.setting.startswith(f"{operation}.") is not shared
    )


_KINDS: dict[str, Kind] = {
    "switch": "switch",
    "whole": "whole",
    "size": "size",
    "text": "text",
    "node": "text",
    "list": "text",
}


SETTINGS: tuple[Setting, ...] = (
    *_of("combine", shared=True),
    Setting("color", "choice", "auto", "colour in the terminal", COLORS),
    *_of("combine"),
    *_of("align"),
    *_of("validate"),
    *_of("solve"),
    Setting("inspect.limit", "whole", 10, "rows of each table"),
    Setting("diff.max-shown", "whole", 10, "clusters that are shown"),
    Setting("diff.strict", "switch", False, "exit 5 when losses limit the verdict, or too little was recorded"),
    *_of("diff"),
    *_of("simulate"),
    Setting("flamegraph.format", "choice", "chrome", "the layout of the tracks", TRACKS),
    Setting("convert.to", "choice", "v2", "the format that is written", RECORDINGS),
)
BY_KEY: Mapping[str, Setting] = {setting.key: setting for setting in SETTINGS}

# Variables that are not settings of a command: a place, what the sampler reads, and what the build and the tests read.
OTHER_VARIABLES = frozenset(
    (
        "PRLX_CONFIG",
        "PRLX_JOB_KEY",
        "PRLX_RECORD",
        "PRLX_FILTER",
        "PRLX_RUN",
        "PRLX_SESSION",
        "PRLX_TRACE_DIR",
        "PRLX_TRACE",
        "PRLX_ENABLED",
        "PRLX_INSTRUMENT_STORES",
        "PRLX_SNAPSHOT_PERIOD_MS",
        "PRLX_CHRONY_PORT",
        "PRLX_CHRONY_SOCKET",
        "PRLX_PTP4L_SOCKET",
        "PRLX_PTP_DOMAIN",
        "PRLX_LLIR_CORPUS",
        "PRLX_CUPTI_LIBRARY",
        "PRLX_ROCPROFILER_LIBRARY",
        "PRLX_HSA_LIBRARY",
        "PRLX_NCCL_DIR",
        "PRLX_NCCL_LEVEL",
        "PRLX_NCCL_MAX_BYTES",
        "PRLX_NCCL_DUTY",
        "PRLX_NCCL_CHAIN",
        "PRLX_ARENA",
        "PRLX_HISTORY_DEPTH",
        "PRLX_SAMPLE_RATE",
        "PRLX_SNAPSHOT_DEPTH",
        "PRLX_DEBUG_BUILD",
        "PRLX_DEBUG_OPS",
        "PRLX_CLI",
        "PRLX_CONSUMERS",
        "PRLX_REPORT_DIR",
        "PRLX_TEST_DATA",
        "PRLX_FULL_SWEEP",
        "PRLX_PTX_LINES",
        "PRLX_MACHINE_MUTANTS",
        "PRLX_MACHINE_PTX",
        "PRLX_STRUCTURED_PROGRAMS",
        "PRLX_RACE_PROGRAMS",
        "PRLX_WAITING_PROGRAMS",
        "PRLX_COLLECTIVE_SEEDS",
        "PRLX_LOST_JOBS",
        "PRLX_STRAGGLER_JOBS",
        "PRLX_NCCL_ALL",
        "PRLX_NCCL_BENCH_DIR",
        "PRLX_CUDA_DEVICE",
        "PRLX_CUDA_LOG",
        "PRLX_CUDA_PROGRAMS",
        "PRLX_NCCL_RANKS",
        "PRLX_NCCL_TIMES",
        "PRLX_NCCL_REPORT",
        "PRLX_NCCL_BENCH_DIR",
        "PRLX_PTX_PYTHON",
        "PRLX_TRITON_TESTS",
        "PRLX_NSYS",
        "PRLX_NUMBA",
        "PRLX_NUMBA_CUDA",
        "PRLX_PACKAGES",
        "PRLX_PACKAGES_JOURNAL",
        "PRLX_UPSTREAM",
        "PRLX_UPSTREAM_JOURNAL",
        "PRLX_ASSEMBLY_ALL",
        "PRLX_LOCATE_EQUAL",
        "PRLX_UPDATE_TABLES",
        "PRLX_NCCL_SOURCE",
        "PRLX_SKEW_RECORDINGS",
        "PRLX_RECORDED_PAIRS",
        "PRLX_CYCLE_SEEDS",
        "PRLX_PROBE_RUNS",
        "PRLX_NOISE_CASES",
        "PRLX_CYCLE_CUTS",
        "PRLX_CYCLE_SERVERS",
        "PRLX_CYCLE_REQUESTS",
        "PRLX_TRAINING",
        "PRLX_DAMAGES",
        "PRLX_NCCL_DAMAGES",
        "PRLX_BENCH_FULL",
        "PRLX_CYCLE_HOSTILE_MB",
        "PRLX_CLOCKS_ALL",
        "PRLX_JAX_PYTHON",
        "PRLX_TORCH_PYTHON",
        "PRLX_TRITON",
        "PRLX_TRITON_ALL",
        "PRLX_TRITON_SEEDS",
        "PRLX_RECORDED_LAUNCHES",
        "PRLX_TRITON_EDITS",
        "PRLX_SOURCE_EDITS",
        "PRLX_OUTPUT_SEEDS",
        "PRLX_ORACLE",
        "PRLX_CHROMIUM",
        "PRLX_SARIF_SCHEMA",
        "PRLX_BENCH_A",
        "PRLX_BENCH_B",
        "PRLX_BENCH_WARPS",
    )
)
_ALIASES = {"PRLX_THREADS": "workers"}


def did_you_mean(word: str, known: Iterator[str] | tuple[str, ...] | list[str]) -> str:
    """``" (did you mean NAME?)"``, or nothing when no known name is near."""
    import difflib  # only for mistakes

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean {near[0]}?)" if near else ""


@dataclass(frozen=True)
class Resolved:
    """A value and who set it."""

    value: Value
    origin: str


@dataclass(frozen=True)
class Config:
    """Every setting that the environment and the nearest configuration file make.

    Attributes
    ----------
    path
        The configuration file found, if any.
    warnings
        Sentences about names that nobody knows.
    """

    path: Path | None = None
    warnings: tuple[str, ...] = ()
    _env: Mapping[str, Resolved] = field(default_factory=dict, repr=False)
    _file: Mapping[str, Resolved] = field(default_factory=dict, repr=False)

    def get(self, key: str) -> Resolved:
        """The value of a setting without its flag: environment, then file, then default."""
        return self._env.get(key) or self._file.get(key) or Resolved(BY_KEY[key].default, "default")

    def is_set_in_environment(self, key: str) -> bool:
        """Whether the environment sets it (``NO_COLOR`` outranks the file, but not ``PRLX_COLOR``)."""
        return key in self._env

    def to_dict(self) -> dict[str, Any]:
        """The document ``prlx.config/1``."""
        rows = []
        for setting in SETTINGS:
            found = self.get(setting.key)
            rows.append(
                {
                    "key": setting.key,
                    "value": found.value,
                    "origin": found.origin,
                    "env": setting.env,
                    "default": setting.default,
                    "choices": list(setting.choices),
                    "help": setting.help,
                }
            )
        file = None if self.path is None else str(self.path)
        return {"schema": "prlx.config/1", "file": file, "settings": rows, "warnings": list(self.warnings)}


def load(*, environ: Mapping[str, str] | None = None, directory: Path | None = None) -> Config:
    """Read the environment and the nearest ``prlx.toml`` or ``pyproject.toml`` with ``[tool.prlx]``.

    Parameters
    ----------
    environ
        Instead of ``os.environ``.
    directory
        Where the search upwards starts, instead of the current directory. ``PRLX_CONFIG`` names a file outright.

    Raises
    ------
    UsageError
        A value is not what its setting takes, or the file is not TOML.
    """
    environ = os.environ if environ is None else environ
    warnings: list[str] = []
    env = dict(_from_environment(environ, warnings))
    path, document = _find(environ, directory)
    values = {} if path is None else dict(_from_document(document, path, warnings))
    return Config(path, tuple(warnings), env, values)


def _from_environment(environ: Mapping[str, str], warnings: list[str]) -> Iterator[tuple[str, Resolved]]:
    keys = {setting.env: setting.key for setting in SETTINGS}
    known = [*keys, *_ALIASES, *OTHER_VARIABLES]
    warnings += _former.ignored(environ)
    for name in sorted(environ):
        if not name.startswith("PRLX_") or name in OTHER_VARIABLES or name in _former.VARIABLES:
            continue
        key = keys.get(name) or _ALIASES.get(name)
        if key is None:
            warnings.append(f"{name} is set, but prlx knows no such variable{did_you_mean(name, known)}")
        elif name in keys or BY_KEY[key].env not in environ:
            yield key, Resolved(BY_KEY[key].parse(environ[name], name), name)


def _from_document(document: Mapping[str, Any], path: Path, warnings: list[str]) -> Iterator[tuple[str, Resolved]]:
    for key, raw in _flatten(document):
        plain = key.replace("_", "-")
        setting = BY_KEY.get(plain)
        if setting is None:
            warnings.append(f"{path}: unknown key {key}{did_you_mean(plain, list(BY_KEY))}")
        else:
            yield plain, Resolved(setting.parse(raw, f"{path}: {key}"), str(path))


def _flatten(document: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{inner}", item) for inner, item in value.items())
        else:
            yield key, value


def _find(environ: Mapping[str, str], directory: Path | None) -> tuple[Path | None, Mapping[str, Any]]:
    if named := environ.get("PRLX_CONFIG"):
        path = Path(named)
        if not path.is_file():
            raise UsageError(f"PRLX_CONFIG: no such file: {named}")
        return path, _table(path, _read_toml(path))
    start = Path.cwd() if directory is None else directory
    for folder in (start, *start.parents):
        path = folder / "prlx.toml"
        if path.is_file():
            return path, _read_toml(path)
        path = folder / "pyproject.toml"
        if path.is_file() and _mentions_prlx(path):
            return path, _table(path, _read_toml(path))
    return None, {}


def _table(path: Path, document: Mapping[str, Any]) -> Mapping[str, Any]:
    if path.name != "pyproject.toml":
        return document
    found = document.get("tool", {}).get("prlx", {})
    return found if isinstance(found, Mapping) else {}


def _mentions_prlx(path: Path) -> bool:
    try:
        return b"tool.prlx" in path.read_bytes()
    except OSError:
        return False


def _read_toml(path: Path) -> Mapping[str, Any]:
    """The document of a TOML file; CPython 3.10 has no reader of its own, so there the core reads it."""
    if sys.version_info >= (3, 11):
        import tomllib

        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: not valid TOML: {error}") from None
    from . import _core

    try:
        document: Mapping[str, Any] = _core.call("parse_toml", {"path": str(path.resolve())})["document"]
    except TraceFormatError as error:
        raise UsageError(f"{path}: not valid TOML: {error.message}") from None
    return document
