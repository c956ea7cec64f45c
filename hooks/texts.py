"""The text of a kernel as Triton compiled it: its function, the functions of its user that it calls, and its constants.

Triton reads the text of a function when it is decorated, so this is what ran, also after the file was edited.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Any

# Folders of libraries whose functions are inlined into kernels; core/recording/site has the same.
_LIBRARIES = ("triton/language/", "torch/_inductor/runtime/")
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion")
_MOST_FUNCTIONS = 4096  # what a recording holds
_MOST_BYTES = 4 << 20  # of one text
_LONGEST = 200  # characters of a constant


def texts_of(source: Any, metadata: Any) -> dict[str, Any]:
    """What a recording says of the text of a kernel, as the core takes it.

    Parameters
    ----------
    source
        What Triton compiled: an ``ASTSource``. One that was given as IR has no function and no text.
    metadata
        What it was compiled to, with the options.
    """
    function = getattr(source, "fn", None)
    return {"functions": functions_of(source), "constants": [*_constants(source, function), *_options(metadata)]}


def functions_of(source: Any) -> list[dict[str, Any]]:
    """The kernel and the functions of its user that it calls: where each begins, and its text. Of IR there are none."""
    return [_text(one) for one in user_functions(getattr(source, "fn", None))]


def user_functions(function: Any) -> list[Any]:
    """A function that Triton compiles, and those of its user that it calls; none where it is something else."""
    return list(_functions(function)) if _is_function(function) else []


def _is_function(value: Any) -> bool:
    """Whether it is a function that Triton compiles, with its text."""
    return isinstance(getattr(value, "raw_src", None), list) and hasattr(getattr(value, "fn", None), "__code__")


def _functions(kernel: Any) -> Iterator[Any]:
    """The kernel, then what it calls, each once."""
    seen = [kernel]
    for one in seen:  # grows while it is read
        if len(seen) > _MOST_FUNCTIONS:
            break
        for called in _called(one.fn):
            if _is_function(called) and not _of_library(called) and not any(called is known for known in seen):
                seen.append(called)
    return (one for one in seen[:_MOST_FUNCTIONS] if sum(map(len, one.raw_src)) <= _MOST_BYTES)


def _called(function: types.FunctionType) -> Iterator[Any]:
    """What the names in a function stand for, and the attributes of modules among them."""
    code = function.__code__
    known = dict(zip(code.co_freevars, function.__closure__ or (), strict=False))
    values = []
    for name in (*code.co_names, *code.co_freevars):
        cell = known.get(name)
        try:
            values.append(function.__globals__.get(name) if cell is None else cell.cell_contents)
        except ValueError:  # a cell that nobody has filled
            continue
    for value in values:
        yield value
        if isinstance(value, (types.ModuleType, type)):
            for name in code.co_names:
                yield value.__dict__.get(name)
    yield from function.__kwdefaults__.values() if function.__kwdefaults__ else ()
    yield from function.__defaults__ or ()


def _of_library(function: Any) -> bool:
    file = function.fn.__code__.co_filename.replace("\\", "/")
    return any(f"/{folder}" in f"/{file}" for folder in _LIBRARIES)


def _text(function: Any) -> dict[str, Any]:
    return {
        "file": function.fn.__code__.co_filename,
        "function": function.fn.__name__,
        "first_line": function.starting_line_number,
        "text": "".join(function.raw_src),
    }


def _constants(source: Any, function: Any) -> Iterator[dict[str, str]]:
    names = getattr(function, "arg_names", None) or ()
    constants = getattr(source, "constants", None) or {}
    if not isinstance(constants, Mapping):
        return
    for path, value in constants.items():
        place = path if isinstance(path, tuple) else (path,)
        first = names[place[0]] if isinstance(place[0], int) and place[0] < len(names) else place[0]
        yield {"name": ".".join(map(str, (first, *place[1:]))), "value": _spelled(value)}


def _spelled(value: Any) -> str:
    if _is_function(value):
        return str(value.fn.__name__)
    text = repr(value) if isinstance(value, (bool, int, float, str, type(None), tuple)) else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _options(metadata: Any) -> Iterator[dict[str, str]]:
    for name in _OPTIONS:
        value = getattr(metadata, name, None)
        if value is not None:
            yield {"name": name, "value": str(value)}
