"""Launching a kernel from its PTX: from clang, nvcc, NVRTC, Numba, Pallas, or written by hand."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from ._config import did_you_mean
from ._errors import UsageError
from ._record import extras
from ._simulation import Options, Simulation, execute, kernels_of, report, with_changes
from ._target import Mode, Target

if TYPE_CHECKING:
    from ._request import Path as AnyPath
    from .hooks.simulator import Parameter

_PARAM = re.compile(
    r"\.param\s+(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>\w+)\s+"
    r"(?P<pointer>\.ptr\b(?:\s+\.(?:global|const|shared|local|param|generic))?(?:\s+\.align\s+\d+)?\s+)?"
    r"(?P<name>[\w$%.]+)\s*(?:\[\s*(?P<bytes>\d+)\s*\])?"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_FLOATS = {"f64": "<d", "f32": "<f", "f16": "<e"}
_MOST_BYTES = 8  # of a number


def simulate_ptx(
    text: str | bytes,
    kernel: str | None,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any],
    *,
    shared: int = 0,
    output: AnyPath | None = None,
    mode: Mode = "control-flow",
    stores: bool = False,
    outputs: int | str | None = None,
    overwrite: bool = False,
    memory: Iterable[Any] = (),
    machine: Mapping[str, Any] | None = None,
) -> Simulation:
    """Launch a kernel of a PTX text on the simulator, once, and return what it did and what the checks found.

    The results are in the arrays afterwards. Neither Triton nor a CUDA toolkit is needed. Nothing is raised because of
    findings: they are in ``.findings``, with the lines of ``.loc`` directives where the compiler wrote some (``-lineinfo``).

    Parameters
    ----------
    text
        A PTX module for an sm_80 or older.
    kernel
        The name of an ``.entry``, mangled as it is in the text; None where there is one only.
    grid, block
        Blocks of the launch and threads of a block: a number, or up to three of them.
    args
        One for each ``.param``: NumPy arrays, torch CPU tensors and what else has ``data_ptr()`` for pointers; numbers, which
        become what the text declares (``.f32``, ``.u64``, ...; NumPy numbers keep their bits where it declares ``.b32``); None
        is a null pointer; bytes are passed as they are.
    shared
        Bytes of dynamic shared memory.
    output, mode, stores, outputs, overwrite
        Record the launch to a ``.prlx`` file; the rest as for ``record``.
    memory
        Arrays that the kernel reaches through pointers which it loads, or through addresses inside of bytes.
    machine
        Options of the simulator by name, such as ``{"seed": 3, "global_races": True}``: those of ``enable``.

    Returns
    -------
    Simulation
        Its ``passed`` says whether nothing was found.

    Raises
    ------
    SimulationError
        The kernel has something that the simulator does not execute.
    TraceFormatError
        The text is no PTX.
    UsageError
        There is no such kernel, or the arguments are not what it declares.
    FindingError
        With ``machine={"stop": True}``: what the first finding says.

    Examples
    --------
    >>> import numpy as np
    >>> text = '''
    ... .version 7.0
    ... .target sm_80
    ... .address_size 64
    ... .visible .entry doubled(.param .u64 x, .param .u32 n)
    ... {
    ...   .reg .pred %p; .reg .b32 %r<4>; .reg .f32 %f<3>; .reg .b64 %rd<4>;
    ...   ld.param.u64 %rd1, [x]; ld.param.u32 %r1, [n];
    ...   mov.u32 %r2, %tid.x;
    ...   setp.ge.u32 %p, %r2, %r1;
    ...   @%p bra done;
    ...   mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2;
    ...   ld.global.f32 %f1, [%rd3]; add.f32 %f2, %f1, %f1; st.global.f32 [%rd3], %f2;
    ... done:
    ...   ret;
    ... }'''
    >>> x = np.arange(50, dtype=np.float32)
    >>> done = prlx.simulate_ptx(text, "doubled", 1, 64, [x, 50])
    >>> done.passed, float(x[49])
    (True, 98.0)
    >>> prlx.simulate_ptx(text, "doubled", 1, 64, [x, 51]).findings[0].check
    'out-of-bounds'
    """
    from .hooks.arrays import storage
    from .hooks.simulator import Function, Launch

    blocks, threads = _dimensions("grid", grid), _dimensions("block", block)
    if isinstance(shared, bool) or not isinstance(shared, int) or not 0 <= shared < 1 << 32:
        raise UsageError(f"shared: expected a number of bytes, got {shared!r}")
    options = with_changes(Options().checked(), machine or {})
    content = text.encode() if isinstance(text, str) else bytes(text)
    function = Function(kernel or "module", content)
    name = function.name = _chosen(function, kernel)
    launch = Launch(
        function=function,
        grid=blocks,
        block=threads,
        cluster=1,
        shared=shared,
        parameters=_parameters(content.decode("utf-8", "replace"), name, args),
        keep=args,
    )
    registered = [
        piece for i, one in enumerate(memory) if (piece := storage(one, f"registered memory {i}")) is not None
    ]
    wanted = extras(stores, False, False, False, None, outputs, False)
    begun = None if output is None else _recorded(output, mode, overwrite, wanted, name)
    number, record = begun or (0, None)
    done = execute(launch, options, number=number, registered=registered, record=record)
    if options.stop:
        report(done, stop=True)
    return done


def _recorded(
    output: AnyPath, mode: Mode, overwrite: bool, wanted: Mapping[str, Any], name: str
) -> tuple[int, dict[str, Any]] | None:
    """What is recorded of the launch, and where."""
    target = Target(output, mode=mode, filter=None, overwrite=overwrite, extras=wanted, directory=False)
    if not target.is_file:
        raise UsageError(f"output: {output} is no recording of one launch", hint="a name that ends in .prlx")
    return target.begin(name)


def _dimensions(what: str, given: Any) -> tuple[int, int, int]:
    """Three numbers from one to three."""
    numbers = [given] if isinstance(given, int) else list(given) if isinstance(given, (tuple, list)) else []
    whole = all(isinstance(number, int) and not isinstance(number, bool) and 0 < number < 1 << 32 for number in numbers)
    if not 1 <= len(numbers) <= 3 or not whole:
        raise UsageError(f"{what}: expected a number above 0, or up to three of them, got {given!r}")
    x, y, z = (*numbers, 1, 1)[:3]
    if what == "block" and prod((x, y, z)) > 1024:
        raise UsageError(f"block: {prod((x, y, z)):,} threads, a block has at most 1,024")
    return x, y, z


def _chosen(function: Any, kernel: str | None) -> str:
    """The name of the kernel."""
    names = kernels_of(function)
    if kernel is None and len(names) == 1:
        return names[0]
    if kernel in names:
        return str(kernel)
    listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    if kernel is None:
        raise UsageError(f"the text has {len(names)} kernels: {listed}", hint="name one of them")
    raise UsageError(f"the text has no kernel {kernel!r}{did_you_mean(kernel or "", list(names))}", hint=f"it has: {listed}")


def _parameters(text: str, kernel: str, args: Sequence[Any]) -> tuple[Parameter, ...]:
    """The arguments as what the text declares."""
    found = re.search(
        rf"\.entry\s+{re.escape(kernel)}\s*(?:\((.*?)\))?\s*(?:\.\w|\{{)", _COMMENT.sub(" ", text), re.DOTALL
    )
    declared = [] if found is None or found[1] is None else list(_PARAM.finditer(found[1]))
    if len(declared) != len(args):
        names = ", ".join(f".{one['type']} {one['name']}" for one in declared[:8])
        raise UsageError(f"{kernel} has {len(declared)} parameters, got {len(args)} arguments", hint=names or None)
    return tuple(_parameter(one, value) for one, value in zip(declared, args, strict=True))


def _parameter(declared: re.Match[str], value: Any) -> Parameter:
    from .hooks.arrays import converted, storage
    from .hooks.simulator import Parameter

    name, kind, size = declared["name"], declared["type"], int(declared["bytes"] or 0)
    value = converted(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raw = bytes(value)
        room = size or int(re.sub(r"\D", "", kind) or 64) // 8
        if len(raw) != room:
            raise UsageError(f"{name}: {len(raw)} bytes for a parameter of {room}")
        if room > _MOST_BYTES:
            raise UsageError(f"{name}: a structure of {room} bytes, and the simulator passes up to {_MOST_BYTES}")
        return Parameter(name, f"u{8 * _MOST_BYTES}", int.from_bytes(raw, "little"))
    if value is None or hasattr(value, "data_ptr"):
        if kind not in ("u64", "b64", "s64"):
            raise UsageError(f"{name} is declared .{kind}, which no address fits into")
        return Parameter(name, "*i8", 0 if value is None else value.data_ptr(), storage(value, name))
    return _number(name, kind, value)


def _number(name: str, kind: str, value: Any) -> Parameter:
    """A number as the bits that its type has: ``Parameter`` keeps whole numbers as they are."""
    from .hooks.simulator import Parameter

    bits = int(re.sub(r"\D", "", kind) or 0)
    if hasattr(value, "tobytes") and hasattr(value, "dtype") and kind.startswith("b") and value.itemsize * 8 == bits:
        return Parameter(name, f"u{bits}", int.from_bytes(value.tobytes(), "little"))
    if not hasattr(value, "__float__") or not bits:
        raise UsageError(f"{name} is declared .{kind}, got {type(value).__name__}")
    if kind in _FLOATS:
        packed = struct.pack(_FLOATS[kind], float(value))
        return Parameter(name, f"u{bits}", int.from_bytes(packed, "little"))
    if int(value) != value or not -(1 << (bits - 1)) <= int(value) < 1 << bits:
        hint = "a NumPy number such as numpy.float32(0.5) says which bits are meant"
        raise UsageError(f"{name} is declared .{kind}, got {value!r}", hint=hint)
    return Parameter(name, f"u{bits}", int(value))
