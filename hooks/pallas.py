"""JAX's Pallas kernels: each ``pallas_call`` of a function is called back with its arrays, and lowered as JAX does for CUDA.

A function is traced to a jaxpr, in which every ``pallas_call`` becomes an ordered callback; all else is compiled for the CPU
as it is. A kernel goes the way that it goes on a machine with a GPU: JAX lowers it to Triton's dialect for an abstract
A100, and Triton compiles that to PTX.
"""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .._errors import PrlxError, SimulationError, UsageError

_DEVICE = "NVIDIA A100-SXM4-40GB"
_CAPABILITY = 80
_TRITON = "__gpu$xla.gpu.triton"
_PLACE = re.compile(r"^(?P<name>.*?) at (?P<file>.*):(?P<line>\d+)$", re.DOTALL)
# Primitives whose bodies run in the middle of others; a body with a kernel is put in their place. That of a custom rule of
# differentiation comes first among the parameters that hold one.
_BODIES = ("jaxpr", "call_jaxpr", "fun_jaxpr")


@dataclass(frozen=True)
class Kernel:
    """A kernel as JAX and Triton compiled it.

    Attributes
    ----------
    name
        The Python function that it was written as.
    entry
        Its entry point in the PTX.
    names
        Those of its arguments, outputs included, as the function has them.
    file, line
        Where the function stands.
    """

    name: str
    entry: str
    ptx: str
    grid: tuple[int, int, int]
    threads: int
    shared_bytes: int
    names: tuple[str, ...]
    file: str
    line: int


@dataclass(frozen=True)
class Call:
    """A ``pallas_call``: its parameters, and what it takes and returns."""

    parameters: Mapping[str, Any]
    takes: tuple[Any, ...]
    returns: tuple[Any, ...]

    @property
    def name(self) -> str:
        """What the kernel is called: by ``pallas_call``, else as its function."""
        return str(self.parameters.get("name") or self.parameters["jaxpr"].debug_info.func_name)

    @property
    def aliases(self) -> Mapping[int, int]:
        """The outputs that work in the memory of an input, by the number of the input."""
        return dict(self.parameters["input_output_aliases"])


Run = Callable[[Call, Sequence[Any]], Sequence[Any]]
"""Runs a kernel with copies of its inputs and returns its outputs."""


def check() -> None:
    """Look whether JAX with Pallas and Triton can be imported.

    Raises
    ------
    UsageError
        One of them cannot.
    """
    try:
        import jax._src.pallas.pallas_call  # noqa: F401 - what is traced
    except ImportError as error:
        raise UsageError(f"JAX with Pallas cannot be imported: {error}", hint="pip install 'jax[cpu]'") from None
    try:
        import triton.compiler  # noqa: F401 - what compiles kernels
    except ImportError as error:
        raise UsageError(f"Triton cannot be imported: {error}", hint="pip install triton") from None


def traced(function: Callable[..., Any], args: Sequence[Any], run: Run) -> tuple[Callable[..., Any], int, list[str]]:
    """The function with every kernel run by ``run``, how many it has, and the names of those that JAX interprets."""
    import jax

    closed, returned = jax.make_jaxpr(function, return_shape=True)(*args)
    tree = jax.tree_util.tree_structure(returned)
    found = list(_kernels(closed.jaxpr))
    interpreted = [Call(one.params, (), ()).name for one in found if not _is_kernel(one)]

    def rewritten(*given: Any) -> Any:
        flat = jax.tree_util.tree_leaves(given)
        return jax.tree_util.tree_unflatten(tree, _evaluate(closed.jaxpr, closed.consts, flat, run))

    return rewritten, len(found) - len(interpreted), interpreted


def _is_kernel(equation: Any) -> bool:
    return equation.primitive.name == "pallas_call" and not equation.params["interpret"]


def _bodies(value: Any) -> Iterator[Any]:
    """The jaxprs in a parameter."""
    for one in value if isinstance(value, (tuple, list)) else (value,):
        if hasattr(_open(one), "eqns"):
            yield _open(one)


def _kernels(jaxpr: Any) -> Iterator[Any]:
    """The equations that call a kernel, those of its bodies included; not those in kernels."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "pallas_call":
            yield equation
        else:
            for value in equation.params.values():
                for body in _bodies(value):
                    yield from _kernels(body)


def _has_kernel(parameters: Mapping[str, Any]) -> bool:
    """Whether a body among the parameters calls a kernel that is ours to run."""
    bodies = (body for value in parameters.values() for body in _bodies(value))
    return any(_is_kernel(one) for body in bodies for one in _kernels(body))


def _evaluate(jaxpr: Any, consts: Sequence[Any], given: Sequence[Any], run: Run) -> list[Any]:
    """What a jaxpr returns, with its kernels called back."""
    values: dict[Any, Any] = {}

    def read(atom: Any) -> Any:
        return atom.val if hasattr(atom, "val") else values[atom]

    values.update(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, given, strict=True))
    for equation in jaxpr.eqns:
        with equation.ctx.manager:
            results = _apply(equation, [read(atom) for atom in equation.invars], run)
        values.update(zip(equation.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _apply(equation: Any, inputs: Sequence[Any], run: Run) -> Sequence[Any]:
    """What an equation returns."""
    primitive, parameters = equation.primitive, equation.params
    if _is_kernel(equation):
        return _called_back(equation, inputs, run)
    if primitive.name == "pallas_call" or not _has_kernel(parameters):
        bound = primitive.get_bind_params(parameters)
        subfuns, bound = bound if isinstance(bound, tuple) else ((), bound)  # JAX 0.12 has no functions beside
        found = primitive.bind(*subfuns, *inputs, **bound)
        return list(found) if primitive.multiple_results else [found]
    if primitive.name == "while":
        return _while(parameters, inputs, run)
    if primitive.name == "scan":
        return _scan(parameters, inputs, run)
    if primitive.name == "cond":
        return _cond(parameters, inputs, run)
    for name in _BODIES:
        body = parameters.get(name)
        if body is not None and primitive.name not in _REFUSED:
            return _body(body, run)(*inputs)
    raise UsageError(
        f"a pallas_call is inside of {primitive.name}, which does not run on one CPU",
        hint="give prlx.jax.simulate the function that is mapped",
    )


_REFUSED = frozenset(["shard_map", "xla_pmap", "custom_partitioning", "run_state", "core_map"])


def _body(closed: Any, run: Run) -> Callable[..., list[Any]]:
    return lambda *given: _evaluate(_open(closed), getattr(closed, "consts", ()), given, run)


def _open(body: Any) -> Any:
    """The jaxpr of one that is closed over constants."""
    return getattr(body, "jaxpr", body)


def _while(parameters: Mapping[str, Any], inputs: Sequence[Any], run: Run) -> Sequence[Any]:
    import jax

    tested, stepped = parameters["cond_nconsts"], parameters["body_nconsts"]
    test, step = _body(parameters["cond_jaxpr"], run), _body(parameters["body_jaxpr"], run)
    of_test, of_step = inputs[:tested], inputs[tested : tested + stepped]
    carried = tuple(inputs[tested + stepped :])
    found = jax.lax.while_loop(
        lambda state: test(*of_test, *state)[0], lambda state: tuple(step(*of_step, *state)), carried
    )
    return list(found)


def _scan(parameters: Mapping[str, Any], inputs: Sequence[Any], run: Run) -> Sequence[Any]:
    import jax

    constant, carried = _scanned(parameters)
    step = _body(parameters["jaxpr"], run)
    consts = inputs[:constant]

    def one(state: Sequence[Any], row: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        found = step(*consts, *state, *row)
        return tuple(found[:carried]), tuple(found[carried:])

    state, rows = jax.lax.scan(
        one,
        tuple(inputs[constant : constant + carried]),
        tuple(inputs[constant + carried :]),
        length=parameters["length"],
        reverse=parameters["reverse"],
    )
    return [*state, *rows]


def _scanned(parameters: Mapping[str, Any]) -> tuple[int, int]:
    """How many of the inputs of a scan stay, and how many are carried; JAX 0.12 has them as trees."""
    if "num_carry" in parameters:
        return parameters["num_consts"], parameters["num_carry"]
    constant, carried, _ = (len(list(one)) for one in parameters["ft_in"].unpack())
    return constant, carried


def _cond(parameters: Mapping[str, Any], inputs: Sequence[Any], run: Run) -> Sequence[Any]:
    import jax

    branches = [_body(branch, run) for branch in parameters["branches"]]
    return list(jax.lax.switch(inputs[0], branches, *inputs[1:]))


def _called_back(equation: Any, inputs: Sequence[Any], run: Run) -> Sequence[Any]:
    from jax.experimental import io_callback

    returns = tuple(shape(variable.aval) for variable in equation.outvars)
    call = Call(equation.params, tuple(shape(variable.aval) for variable in equation.invars), returns)
    found = io_callback(lambda *arrays: tuple(run(call, arrays)), returns, *inputs, ordered=True)
    return list(found)


def shape(aval: Any) -> Any:
    """Shape and type of what a jaxpr has there."""
    import jax

    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def compiled(call: Call) -> Kernel:
    """Compile a kernel for an A100, as JAX does where there is one.

    Raises
    ------
    UsageError
        It is not one that lowers to Triton.
    SimulationError
        JAX or Triton cannot compile it.
    """
    name, parameters = call.name, call.parameters
    wanted = parameters["compiler_params"]
    module = type(wanted).__module__
    if wanted is not None and ".triton" not in module:
        backend = "Mosaic GPU" if "mosaic_gpu" in module else "Mosaic, for TPUs" if "mosaic" in module else module
        raise UsageError(
            f"{name} is a kernel for {backend}; what runs here is what Pallas lowers to Triton",
            hint="compiler_params=jax.experimental.pallas.triton.CompilerParams()",
        )
    lowered = _lowered(call)
    debug = parameters["jaxpr"].debug_info
    place = _PLACE.match(debug.func_src_info or "")
    file, line = (place["file"], int(place["line"])) if place else ("", 0)
    ptx, shared, threads = _assembled(lowered["ir"], lowered["num_warps"], lowered["num_stages"], file, line)
    entry = re.search(r"\.entry\s+([\w$.]+)", ptx)
    assert entry is not None
    return Kernel(
        name, entry[1], ptx, (lowered["grid_x"], lowered["grid_y"], lowered["grid_z"]), threads, shared,
        tuple(one or "" for one in debug.arg_names or ()), file, line,
    )  # fmt: skip


def _lowered(call: Call) -> dict[str, Any]:
    """The attributes of the call that JAX would hand to XLA: MLIR's bytecode, grid, warps, stages."""
    import jax
    from jax._src.pallas.pallas_call import pallas_call_p
    from jax.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh

    device = AbstractDevice(device_kind=_DEVICE, num_cores=None, platform="cuda")
    mesh = AbstractMesh((1,), ("x",), abstract_device=device)
    function = jax.jit(lambda *given: pallas_call_p.bind(*given, **call.parameters))
    try:
        with warnings.catch_warnings(), use_abstract_mesh(mesh):
            warnings.simplefilter("ignore", DeprecationWarning)  # that this way of JAX will go one day
            module = function.trace(*call.takes).lower(lowering_platforms=("cuda",)).compiler_ir("stablehlo")
    except PrlxError:
        raise
    except Exception as error:  # whatever JAX raises: it says what of the kernel it does not take
        raise SimulationError(f"JAX does not lower {call.name} to Triton: {error}") from None
    for operation in _operations(module.operation):
        if operation.name == "stablehlo.custom_call" and _target(operation) == _TRITON:
            return {one.name: _plain(one.attr) for one in operation.attributes["mhlo.backend_config"]}
    raise SimulationError(f"JAX lowers {call.name} to something else than Triton")


def _operations(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region:
            for one in block:
                yield one.operation
                yield from _operations(one.operation)


def _target(operation: Any) -> str:
    return str(operation.attributes["call_target_name"].value)


def _plain(attribute: Any) -> Any:
    if hasattr(attribute, "value_bytes"):
        return attribute.value_bytes
    return attribute.value


@cache
def _assembled(bytecode: bytes, warps: int, stages: int, file: str, line: int) -> tuple[str, int, int]:
    """PTX, bytes of shared memory and threads of a block."""
    import triton
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    target = GPUTarget("cuda", _CAPABILITY, 32)
    context = ir.context()
    ir.load_dialects(context)
    make_backend(target).load_dialects(context)
    with tempfile.TemporaryDirectory(prefix="prlx-pallas-") as folder:
        path = Path(folder) / "kernel.ttir"
        path.write_bytes(bytecode)
        try:
            module = ir.parse_mlir_module(str(path), context)
        except RuntimeError as error:
            raise SimulationError(
                f"Triton {triton.__version__} does not read what JAX wrote: {error}", hint="a Triton of about JAX's age"
            ) from None
        # The function's own place is unknown, and with it that of its file in the tables of lines.
        path.write_text(re.sub(r"loc\(unknown\)", lambda _: f"loc({_quoted(file)}:{line}:0)", str(module)))
        try:
            kernel = triton.compile(str(path), target=target, options={"num_warps": warps, "num_stages": stages})
        except Exception as error:  # whatever Triton raises
            raise SimulationError(f"Triton does not compile the kernel: {error}") from None
    return kernel.asm["ptx"], int(kernel.metadata.shared), 32 * int(kernel.metadata.num_warps)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
