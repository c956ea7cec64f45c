"""Launching a kernel that is given as PTX, whoever compiled it: clang, nvcc, NVRTC, Numba, Pallas."""

from __future__ import annotations

import contextlib
import os
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from . import _record, _simulator
from ._errors import FileAccessError, UsageError
from ._launching import Options, Text, execute, load_text, report, with_changes
from ._simulation import Simulation
from ._target import Mode, Target, asked_again
from .hooks.arrays import storage
from .hooks.launch import Launch, Parameter, Storage

Extent: TypeAlias = int | Sequence[int]
"""Blocks of a grid, or threads of a block: a number, or up to three."""

_DIMENSIONS = 3
_POINTER = 8  # bytes
_MOST_BYTES = 256 << 20  # of a text
_NAMES = {
    "float16": "fp16", "float32": "fp32", "float64": "fp64", "bfloat16": "bf16", "bool": "i1",
    **{f"{kind}{bits}": f"{kind[0]}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}  # fmt: skip
_FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}
_FLOATS_OF_SIZE = {2: "f16", 4: "f32", 8: "f64"}


def simulate_ptx(
    text: str | bytes | os.PathLike[str],
    kernel: str | None = None,
    grid: Extent = 1,
    block: Extent = 1,
    args: Sequence[Any] = (),
    *,
    shared_bytes: int = 0,
    memory: Iterable[Any] = (),
    output: str | os.PathLike[str] | None = None,
    mode: Mode = "control-flow",
    outputs: int | str | None = None,
    overwrite: bool = False,
    machine: Mapping[str, Any] | None = None,
) -> Simulation:
    """Launch a kernel that is given as PTX on the simulator, once, and return what it did and what the checks found.

    The PTX may come from clang, nvcc, NVRTC, Numba, Pallas or Triton; Triton itself is not needed. The kernel works in the
    memory of the arrays, and its results are in them afterwards. Nothing is warned about and nothing raised because of
    findings: they are in ``.findings``.

    Parameters
    ----------
    text
        The PTX, or the path of a file that holds it (``pathlib.Path``). It must be for an sm_80 or an older target.
    kernel
        The entry point: its name in the PTX, or the name of a C++ function that only one of them can be. None where there is
        only one.
    grid, block
        Blocks of the grid and threads of a block: a number, or up to three.
    args
        One for each parameter, in their order. Arrays (NumPy, torch on the CPU, whatever has ``data_ptr()``) and None for
        pointers; numbers, which become what the PTX declares, else by their size a float or an integer; NumPy scalars,
        structures of ``ctypes``, records of NumPy and ``bytes`` as they are, of the parameter's size.
    shared_bytes
        Dynamic shared memory of a block.
    memory
        Arrays that the kernel reaches through pointers in structures or in memory.
    output
        Record the launch to this file, ``NAME.prlx``, for ``prlx diff``.
    mode, outputs, overwrite
        What is recorded, as for ``record``.
    machine
        Options of the simulator by name, such as ``{"seed": 3, "breaks": ["add.cu:7"]}``: those of ``enable``.

    Returns
    -------
    Simulation
        Its ``passed`` says whether nothing was found.

    Raises
    ------
    UsageError
        The text has no such kernel, or an argument does not fit its parameter.
    TraceFormatError
        The text is not PTX.
    SimulationError
        The kernel has something that the simulator does not execute, or was launched as no GPU can.
    FindingError
        With ``machine={"stop": True}``: what the first finding says.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    >>> done = prlx.simulate_ptx(Path("examples/ptx/saxpy.ptx"), "saxpy", 1, 128, [np.float32(2), x, y, 100])
    >>> done.passed, y[:3].tolist(), done.global_bytes
    (True, [1.0, 3.0, 5.0], 1200)
    """
    launched = Given(_text(text), kernel, grid, block, args, shared_bytes=shared_bytes, memory=memory)
    return run_text(launched, output, mode, outputs, overwrite, machine or {})


@dataclass(frozen=True)
class Given:
    """A launch of a kernel in a PTX text, as a caller describes it."""

    text: str
    kernel: str | None
    grid: Extent
    block: Extent
    args: Sequence[Any]
    shared_bytes: int = 0
    memory: Iterable[Any] = ()
    called: str = ""
    names: Sequence[str] = ()  # of the arguments, where the caller knows them
    texts: Callable[[], dict[str, Any]] | None = None


def run_text(
    given: Given,
    output: str | os.PathLike[str] | None,
    mode: Mode,
    outputs: int | str | None,
    overwrite: bool,
    machine: Mapping[str, Any],
) -> Simulation:
    """Launch it, and record it where that is asked for."""
    options = with_changes(Options(), machine)
    with recording(output, mode, outputs, overwrite) as begin:
        return launch_text(given, options, machine, begin)


def launch_text(given: Given, options: Options, machine: Mapping[str, Any], begin: Begin) -> Simulation:
    """Launch it; ``machine`` holds what ``options`` has otherwise than by default."""
    loaded = load_text(given.text)
    number = _find(loaded, given.kernel)
    name = loaded.kernels[number]
    registered = [_registered(i, array) for i, array in enumerate(given.memory)]
    parameters = _parameters(name, loaded.signatures[number]["params"], given.args, registered, given.names)
    launch = Launch(
        function=loaded.function(name),
        grid=_extent("grid", given.grid),
        block=_extent("block", given.block),
        cluster=1,
        shared=_whole("shared_bytes", given.shared_bytes),
        parameters=parameters,
        keep=given.args,
        texts=given.texts,
        called=given.called,
    )
    return _run(launch, options, machine, registered, begin)


Begin: TypeAlias = Callable[[str], tuple[Target, int, dict[str, Any]] | None]


@contextlib.contextmanager
def recording(
    output: str | os.PathLike[str] | None,
    mode: Mode,
    outputs: int | str | None,
    overwrite: bool,
    *,
    directory: bool = False,
) -> Iterator[Begin]:
    """Where launches are recorded to, if that is asked for: one to a file, or all to a directory."""
    if output is None:
        yield lambda _: None
        return
    if not directory and Path(output).suffix != ".prlx":
        raise UsageError("expected a name that ends in .prlx", path=str(output))
    extras = _record.extras(outputs=outputs)
    chosen, extras = asked_again(mode, extras)
    target = Target(output, mode=chosen, filter=None, overwrite=overwrite, extras=extras, directory=directory)

    def begin(kernel: str) -> tuple[Target, int, dict[str, Any]] | None:
        begun = target.begin(kernel, None)
        return None if begun is None else (target, *begun)

    complete = False
    try:
        yield begin
        complete = True
    finally:
        if complete or directory:
            target.close(partial=not complete)


def _run(
    launch: Launch, options: Options, changes: Mapping[str, Any], registered: list[Storage], begin: Begin
) -> Simulation:
    """Run the launch: under a simulator that is enabled as one of its launches, so that its recordings see it."""
    begun = begin(launch.function.name)
    if begun is None and _simulator.is_enabled():
        return _record.launch(launch, changes, registered)
    target, number, record = begun or (None, 0, None)
    done = None
    try:
        done = execute(launch, options, number=number, registered=registered, record=record)
    finally:
        if target is not None:
            target.end(number, None if done is None else _simulator.row_of(done))
    if options.stop:
        report(done, stop=True)
    return done


def _text(given: str | bytes | os.PathLike[str]) -> str:
    """The PTX as text. What NVRTC hands over ends with a zero."""
    if isinstance(given, os.PathLike):
        path = Path(given)
        try:
            if path.stat().st_size > _MOST_BYTES:
                raise UsageError(f"the file has more than {_MOST_BYTES} bytes", path=str(path))
            data = path.read_bytes()
        except OSError as error:
            raise FileAccessError(error.strerror or "cannot be read", path=str(path)) from None
    elif isinstance(given, str):
        return given.rstrip("\0")
    elif isinstance(given, (bytes, bytearray, memoryview)):
        data = bytes(given)
    else:
        raise UsageError(
            f"text is a {type(given).__name__}", hint="PTX as str or bytes, or the path of a file as pathlib.Path"
        )
    return data.rstrip(b"\0").decode("utf-8", errors="replace")


def _find(loaded: Text, kernel: str | None) -> int:
    """The number of the kernel that is meant."""
    names = loaded.kernels
    if not names:
        raise UsageError("the PTX has no kernel", hint="a kernel is an .entry; was it compiled for the device?")
    if kernel is None:
        if len(names) > 1:
            raise UsageError(f"the PTX has {len(names)} kernels: {_listed(names)}", hint="name one of them")
        return 0
    if kernel in names:
        return names.index(kernel)
    mangled = re.compile(rf"_Z(?:N.*?)?{len(kernel)}{re.escape(kernel)}")
    found = [i for i, name in enumerate(names) if mangled.match(name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{kernel!r} can be {_listed([names[i] for i in found])}", hint="name it as the PTX does")
    raise UsageError(f"the PTX has no kernel {kernel!r}", hint=f"it has {_listed(names)}")


_LISTED = 8


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _extent(name: str, given: Extent) -> tuple[int, int, int]:
    """Up to three numbers; those that are left out are 1."""
    values = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not 1 <= len(values) <= _DIMENSIONS:
        raise UsageError(f"{name} is {given!r}", hint="a number, or up to three")
    x, y, z = [_whole(name, value, least=1) for value in values] + [1] * (_DIMENSIONS - len(values))
    return x, y, z


def _whole(name: str, value: Any, least: int = 0) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or not least <= int(value) < 1 << 32:
        raise UsageError(f"{name}: expected a whole number from {least} on, got {value!r}")
    return int(value)


def _registered(number: int, array: Any) -> Storage:
    found = storage(array, f"memory {number}")
    if found is None:
        raise UsageError(f"memory: cannot tell the size of a {type(array).__name__}")
    return found


def _parameters(
    kernel: str,
    declared: Sequence[Mapping[str, Any]],
    args: Sequence[Any],
    registered: Sequence[Storage],
    names: Sequence[str] = (),
) -> list[Parameter]:
    """The arguments as the kernel finds them."""
    if len(args) != len(declared):
        takes = ", ".join(
            f"{one['type']}" + (f"[{one['bytes']}]" if one["bytes"] > _POINTER else "") for one in declared
        )
        raise UsageError(f"{kernel} takes {len(declared)} arguments ({takes}), given were {len(args)}")
    if len(names) != len(declared):
        names = [one["name"].removeprefix(f"{kernel}_") for one in declared]
    return [_parameter(name, one, value, registered) for name, one, value in zip(names, declared, args, strict=True)]


def _parameter(name: str, one: Mapping[str, Any], value: Any, registered: Sequence[Storage]) -> Parameter:
    size = int(one["bytes"])
    raw = _raw(value)
    if raw is not None:
        if len(raw) != size:
            raise UsageError(f"the argument {name} has {len(raw)} bytes, the kernel takes {size}")
        if size > _POINTER:
            return Parameter(name, "", 0, data=raw)
        return _number(name, int.from_bytes(raw, "little"), size, registered)
    if value is None or hasattr(value, "data_ptr") or hasattr(value, "dtype"):
        if size != _POINTER:
            raise UsageError(f"the argument {name} is an array, the kernel takes a number of {size} bytes")
        return Parameter(
            name, f"*{_element(value)}", _address(value, name), None if value is None else storage(value, name)
        )
    if isinstance(value, float) or (one["type"] in _FLOATS and hasattr(value, "__float__")):
        kind = one["type"] if one["type"] in _FLOATS else _FLOATS_OF_SIZE.get(size) if one["type"][:1] == "b" else None
        if kind is None:
            raise UsageError(f"the argument {name} is {value!r}, the kernel takes .{one['type']}")
        try:
            packed = struct.pack(_FLOATS[kind], float(value))
        except OverflowError:
            packed = struct.pack(_FLOATS[kind], float("inf") if value > 0 else float("-inf"))
        return _number(name, int.from_bytes(packed, "little"), size, ())
    if hasattr(value, "__index__"):
        bits = int(value)
        if size > _POINTER or not -(1 << 8 * size - 1) <= bits < 1 << 8 * size:
            raise UsageError(f"the argument {name} is {bits}, the kernel takes {size} bytes")
        return _number(name, bits % (1 << 8 * size), size, registered)
    raise UsageError(
        f"the argument {name} is a {type(value).__name__}",
        hint="an array, a number, or the bytes of a structure",
    )


def _raw(value: Any) -> bytes | None:
    """The bytes of what is passed as it is: bytes, a structure of ctypes, a scalar or record of NumPy."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    kind = type(value)
    if any(base.__module__ == "_ctypes" for base in kind.__mro__) or any(
        base.__module__ == "numpy" and base.__name__ == "generic" for base in kind.__mro__
    ):
        return bytes(value) if kind.__module__ != "numpy" else bytes(value.tobytes())
    return None


def _number(name: str, bits: int, size: int, registered: Sequence[Storage]) -> Parameter:
    """A number; one that is an address in registered memory is a pointer there."""
    if size == _POINTER and any(piece.address <= bits < piece.end for piece in registered):
        return Parameter(name, "*i8", bits)
    kind = f"u{8 * size}" if size in (1, 2, 4, 8) else "u64"
    return Parameter(name, kind, bits)


def _address(value: Any, name: str) -> int:
    if value is None:
        return 0
    if hasattr(value, "data_ptr"):
        return int(value.data_ptr())
    if hasattr(value, "ctypes"):
        return int(value.ctypes.data)
    raise UsageError(f"the argument {name} is a {type(value).__name__}, whose memory is not known")


def _element(value: Any) -> str:
    """What an array holds, in Triton's spelling; i8 where nobody says."""
    name = str(getattr(value, "dtype", "")).removeprefix("torch.")
    return _NAMES.get(name, "i8")
