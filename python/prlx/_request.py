"""What users say, as the core takes it: absolute paths with the node's id where one was given, numbers, nothing left open.

Directories, globs and log directories are expanded by the core, so that every front end picks the same files.
"""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from . import _config, _options
from ._config import Config
from ._errors import UsageError
from ._units import TimeRange, parse_size, parse_time_range

Path: TypeAlias = str | os.PathLike[str]
Inputs: TypeAlias = Path | Iterable[Path] | Mapping[str | int, Path]

STDIN = "-"
_NAMED = r"(?s)([A-Za-z0-9_.:-]+)=(.+)"


def absolute(path: Path) -> str:
    """The path as seen from anywhere; ``-`` stays what it is. Symbolic links are kept: their names say something."""
    text = os.fspath(path)
    if not text:
        raise UsageError(
            "a path is empty", hint="name a file, or . for this directory; an unset shell variable is empty"
        )
    return text if text == STDIN else str(pathlib.Path(text).expanduser().absolute())


def seen_from(path: str, here: str) -> str:
    """The path relative to a directory where it lies below it: how documents name files, so that they hold elsewhere."""
    try:
        return str(pathlib.Path(path).relative_to(here))
    except ValueError:
        return path


def absolute_or_none(path: Path | None) -> str | None:
    """``absolute``; ``None`` stays ``None``."""
    return None if path is None else absolute(path)


def paths(given: Path | Iterable[Path] | None) -> list[str] | None:
    """Absolute paths of one or several; ``None`` for none."""
    if given is None:
        return None
    return [absolute(path) for path in ([given] if isinstance(given, (str, os.PathLike)) else given)]


def named(given: Inputs | None) -> list[dict[str, str]] | None:
    """``{"id", "path"}`` of inputs that may say which node they are of: a mapping, or ``ID=PATH``.

    A file that has an equals sign in its name and exists is that file.
    """
    if given is None:
        return None
    if isinstance(given, Mapping):
        return [{"id": str(node), "path": absolute(path)} for node, path in given.items()]
    several = [given] if isinstance(given, (str, os.PathLike)) else given
    return [_one(os.fspath(path)) for path in several]


def _one(text: str) -> dict[str, str]:
    match = re.fullmatch(_NAMED, text)
    if match is None or pathlib.Path(text).exists():
        return {"path": absolute(text)}
    return {"id": match[1], "path": absolute(match[2])}


def clocks(
    *, snapshots: Inputs | None, offsets: Path | None, probes: Path | Iterable[Path] | None, declared: Path | None
) -> dict[str, Any]:
    """The files that relate the clocks."""
    return {
        "snapshots": named(snapshots),
        "offsets": absolute_or_none(offsets),
        "probes": paths(probes),
        "declared": absolute_or_none(declared),
    }


def words(**given: object) -> dict[str, object]:
    """Arguments that are words of a list, by name; ``None`` leaves the choice to the core, and empty text is a mistake."""
    for name, word in given.items():
        _stated(name, word)
    return given


def _stated(name: str, given: object) -> None:
    if given == "":
        raise UsageError(f"{name} is empty", hint="leave it out for the default; an unset shell variable is empty")


def of(operation: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the options of an operation ask for, by the keyword arguments that were given.

    Raises
    ------
    TypeError
        One of them is not an option of the operation.
    """
    options, settings = _options.of(operation), _config.load()
    return {name: _asked(options[name], value, settings) for name, value in _options.filled(operation, given).items()}


def _asked(option: _options.Option, given: Any, settings: Config) -> Any:
    """The value of an option as the core takes it."""
    read = _READ.get(option.takes)
    if read is not None and given is not None:
        return read(given)
    _stated(option.name, given)
    if given is None and option.setting:
        given = settings.get(option.setting).value
    return str(given) if option.takes == "node" and given is not None else given


def node_id(name: str, given: str | int | None, otherwise: object = None) -> str | None:
    """The argument ``name``, the id of a node, as text; the setting where none was given."""
    _stated(name, given)
    chosen = otherwise if given is None else given
    return None if chosen is None else str(chosen)


def time_range(given: str | TimeRange | None) -> list[int | None] | None:
    """Two ends in ns."""
    if given is None:
        return None
    if not isinstance(given, str):
        return list(given)
    try:
        return list(parse_time_range(given))
    except ValueError as error:
        raise UsageError(f"time_range: {error}") from None


def texts(given: Iterable[object]) -> list[str]:
    """Words, or numbers that stand for words."""
    return [str(each) for each in given]


def size(given: int | str) -> int:
    """Bytes, of a memory limit as it may be written."""
    if not isinstance(given, str):
        return given
    try:
        return parse_size(given)
    except ValueError as error:
        raise UsageError(f"memory_limit: {error}") from None


# What is given for an option that is not a word or a number, as the core takes it.
_READ = {"texts": texts, "path": absolute, "paths": paths, "inputs": named, "range": time_range, "size": size}


def limits(workers: int | None, memory_limit: int | str | None, defaults: Config) -> dict[str, Any]:
    """Workers and bytes, from the arguments or the settings."""
    return {
        "workers": defaults.get("workers").value if workers is None else workers,
        "memory_limit": defaults.get("memory-limit").value if memory_limit is None else size(memory_limit),
    }


def site_maps(site_map: Path | None, site_map_b: Path | None = None) -> dict[str, Any]:
    """The site maps of recordings of format v1, of B where it was built apart, and from where one is looked for.

    ``None`` looks for one, ``""`` looks for none.
    """
    look = absolute(".") if site_map is None else None
    found = {"site_map": absolute(site_map) if site_map else None, "look_in": look}
    return found | ({"site_map_b": absolute(site_map_b)} if site_map_b else {})
