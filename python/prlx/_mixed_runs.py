"""Runs mixed texts of a kernel on what a launch was given, on the simulator of this process."""

from __future__ import annotations

import ast
import contextlib
import importlib
import linecache
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import PrlxError
from ._expressions import Noted
from ._inputs import Inputs
from ._mixing import head_of, statements, written
from ._values import SUMS

if TYPE_CHECKING:
    import numpy as np

_MOST_SECONDS = 90  # that one text may take to be compiled and run
_MOST_INSTRUCTIONS = 10**8  # of warps, that a mixed text may take
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion")
_NUMPY = {"fp64": "f8", "fp32": "f4", "fp16": "f2", "i64": "i8", "u64": "u8", "i32": "i4", "u32": "u4", "i16": "i2",
          "u16": "u2", "i8": "i1", "u8": "u1", "i1": "?", "u1": "?"}  # fmt: skip
_NAMED = {"bf16": ("bfloat16", 2), "fp8e5": ("float8_e5m2", 1), "fp8e4nv": ("float8_e4m3fn", 1)}


class NotTriedError(Exception):
    """Why mixed texts cannot be run; its words go into the document."""


class Bench:
    """Runs texts of a kernel on what a launch was given."""

    def __init__(self, inputs: Inputs) -> None:
        head = inputs.head
        odd = [row["name"] for row in head["params"] if "." in row["name"] or _kind(row["type"]) is None]
        if odd:
            raise NotTriedError(f"{odd[0]} is an argument that cannot be made again")
        self._inputs = inputs
        self._folder = Path()
        self._number = 0
        self.runs = 0
        self.left_out: frozenset[int] = frozenset()  # numbers of runs that ended such a process before
        self.began: Path | None = None  # a file that says which run is on, where nothing else is in the process

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Enable the simulator for a block, quietly."""
        from ._record import quiet

        try:
            importlib.import_module("triton")
        except ImportError:
            raise NotTriedError("Triton is not installed here") from None
        with tempfile.TemporaryDirectory(prefix="prlx-trial-") as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._folder = Path(folder)
            with quiet({"max_instructions": _MOST_INSTRUCTIONS, "workers": 1}), _silent():
                yield

    def run(
        self, functions: Sequence[Mapping[str, Any]], of: Mapping[str, Any], changed: Mapping[str, str],
        sums: np.ndarray[Any, Any] | None = None,
    ) -> list[np.ndarray[Any, Any]] | str:  # fmt: skip
        """What the arrays hold after a launch of a text, by argument; else why it cannot run."""
        self.runs += 1
        if self.runs in self.left_out:
            return "it ended the process that compiled it"
        with self._watched():
            return self._ran(functions, of, changed, sums)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """In a process of its own: a text that a compiler does not end with ends it, and whoever waits knows which it was."""
        if self.began is None:
            yield
            return
        self.began.write_text(str(self.runs))
        signal.alarm(_MOST_SECONDS)
        yield
        signal.alarm(0)

    def _ran(
        self, functions: Sequence[Mapping[str, Any]], of: Mapping[str, Any], changed: Mapping[str, str],
        sums: np.ndarray[Any, Any] | None,
    ) -> list[np.ndarray[Any, Any]] | str:  # fmt: skip
        try:
            kernel = self._kernel(functions, changed)
            arrays, arguments = self._arguments(kernel, of["constants"], {} if sums is None else {SUMS: sums})
            options = {row["name"]: _literal(row["value"]) for row in of["constants"] if row["name"] in _OPTIONS}
            kept = {name: options[name] for name in ("num_warps", "num_stages") if name in options}
            grid = self._inputs.head["grid"]
            kernel[(grid[0] // max(self._inputs.head["cluster"], 1), grid[1], grid[2])](**arguments, **kept)
        except NotTriedError as error:
            return str(error)
        except (PrlxError, Exception) as error:  # whatever a mixed text makes a compiler say
            return f"{type(error).__name__}: {str(error).strip().splitlines()[-1:]}"
        return arrays

    def noted(
        self, functions: Sequence[Mapping[str, Any]], of: Mapping[str, Any], changed: Mapping[str, str],
        slots: Sequence[tuple[int, str]],
    ) -> Noted:  # fmt: skip
        """What a text notes of its expressions."""
        import numpy as np

        sums = np.zeros(3 * len(slots), np.int64)  # two that are kept, and what the last pass made
        said = self.run(functions, of, changed, sums)
        if isinstance(said, str):
            return {}
        pairs = ((key, (int(x), int(y))) for key, (x, y, _) in zip(slots, sums.reshape(-1, 3), strict=True))
        return {key: pair for key, pair in pairs if pair != (0, 0)}  # the others are no numbers, or did not run

    def _kernel(self, functions: Sequence[Mapping[str, Any]], changed: Mapping[str, str]) -> Any:
        """The kernel of a text, with the functions that it calls."""
        triton = importlib.import_module("triton")
        names = _surroundings(functions)
        noting = importlib.import_module("prlx._noting")
        names |= {
            f"prlx_{name}": getattr(noting, name) for name in ("note", "bits", "distance", "is_number", "is_pointer")
        }
        made = None
        for one in reversed(functions):  # what is called before who calls it
            text = changed.get(one["function"]) or written(
                head_of(one["text"]), statements(one["text"], one["first_line"])
            )
            self._number += 1
            file = self._folder / f"mixed_{self._number}.py"
            file.write_text(text)
            linecache.checkcache(str(file))
            exec(compile(text, str(file), "exec"), names)  # what the caller asked for
            made = names[one["function"]] = triton.jit(names[one["function"]])
        return made

    def _arguments(
        self, kernel: Any, constants: Sequence[Mapping[str, Any]], more: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """The arrays, and all arguments by name."""
        import numpy as np

        memory = []
        for one, given in zip(self._inputs.head["pieces"], self._inputs.pieces, strict=True):
            room = np.zeros(len(given) + 32, np.uint8)
            begin = (int(one.get("odd", 0)) - room.ctypes.data) % 16
            piece = room[begin : begin + len(given)]
            piece[:] = np.frombuffer(given, np.uint8)
            memory.append(piece)
        known = {row["name"]: _literal(row["value"]) for row in constants if row["name"] in kernel.arg_names}
        known |= more
        arrays = []
        for row in self._inputs.head["params"]:
            if row["name"] not in kernel.arg_names:
                raise NotTriedError(f"the other version has no argument {row['name']}")
            if not row["type"].startswith("*"):
                known.setdefault(row["name"], row["value"])
                continue
            if row["piece"] < 0:
                raise NotTriedError(f"{row['name']} is an address of memory that is not known")
            value, seen = _array(row["type"][1:], memory[row["piece"]], row["offset"])
            known[row["name"]] = value
            arrays.append(seen)
        lacking = [name for name in kernel.arg_names if name not in known]
        if lacking:
            raise NotTriedError(f"it is not known what {lacking[0]} was given")
        return arrays, known


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Nothing on the terminal: MLIR writes there what is wrong with a text, and kernels print."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            os.dup2(nowhere, number)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, before in zip((1, 2), kept, strict=True):
            os.dup2(before, number)
            os.close(before)
        os.close(nowhere)


def _kind(ty: str) -> str | None:
    """The type of an argument, where it can be made again."""
    inner = ty.removeprefix("*")
    return inner if inner in _NUMPY or inner in _NAMED else None


class _Array:
    """An array of numbers that NumPy has no type for, as kernels take it."""

    def __init__(self, memory: np.ndarray[Any, Any], name: str, size: int) -> None:
        self._memory = memory
        self.dtype = name
        self.shape = (memory.size // size,)
        self.nbytes = memory.nbytes

    def data_ptr(self) -> int:
        return int(self._memory.ctypes.data)


def _array(kind: str, memory: Any, offset: int) -> tuple[Any, Any]:
    """An argument, and its numbers as they are compared: from the element that it points to up to the end of its memory."""
    import numpy as np

    if kind in _NUMPY:
        dtype = np.dtype(_NUMPY[kind])
        view = memory[offset : offset + (memory.size - offset) // dtype.itemsize * dtype.itemsize].view(dtype)
        return view, view
    name, size = _NAMED[kind]
    part = memory[offset : offset + (memory.size - offset) // size * size]
    if kind == "bf16":
        return _Array(part, name, size), _Wide(part)
    return _Array(part, name, size), part


class _Wide:
    """The numbers of bf16, when they are looked at."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def astype(self, dtype: Any) -> Any:
        import numpy as np

        return (self._memory.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(dtype)


def _literal(text: str) -> Any:
    """The value of a constant that is spelled in a recording."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        tl = importlib.import_module("triton.language")
        known = {str(one): one for one in vars(tl).values() if isinstance(one, tl.dtype)}
        if text in known:
            return known[text]
        if text in ("inf", "-inf", "nan"):
            return float(text)
        raise NotTriedError(f"the constant {text!r} cannot be made again") from None


def _surroundings(functions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The names that kernels find around them: Triton's, and of their files the imports and constants that they use."""
    triton, tl = importlib.import_module("triton"), importlib.import_module("triton.language")
    names: dict[str, Any] = {"triton": triton, "tl": tl, "__name__": "mixed"}
    wanted = {word for one in functions for word in _words(one["text"])}
    for file in dict.fromkeys(str(one["file"]) for one in functions):
        try:
            tree = ast.parse(Path(file).read_text())
        except (OSError, SyntaxError, ValueError):
            continue
        for node in tree.body:
            if not _is_constant(node) or not wanted & _bound(node):
                continue
            with contextlib.suppress(Exception):  # what cannot be had here is missed when it is used
                exec(compile(ast.Module([node], []), file, "exec"), names)
    return names


def _words(text: str) -> set[str]:
    return {
        node.id
        for node in ast.walk(ast.parse(written(head_of(text), statements(text, 1))))
        if isinstance(node, ast.Name)
    }


def _is_constant(node: ast.stmt) -> bool:
    """Whether a statement of a module only names things: an import, or a constant."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return True
    if not isinstance(node, ast.Assign):
        return False
    value = node.value
    if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("constexpr") and len(value.args) == 1:
        value = value.args[0]
    try:
        ast.literal_eval(value)
    except ValueError:
        return False
    return True


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(one.asname or one.name).split(".")[0] for one in node.names}
    assert isinstance(node, ast.Assign)
    return {one.id for one in node.targets if isinstance(one, ast.Name)}
