"""Pallas on a laptop: a function of JAX whose kernels run on the simulator, and all around them on the CPU."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import UsageError
from ._launching import Options, with_changes
from ._simulate_cuda import held_text
from ._simulate_program import SimulatedRun
from ._simulate_ptx import Begin, Given, launch_text, recording
from ._simulated import Run
from .hooks import pallas

if TYPE_CHECKING:
    from ._simulation import Simulation
    from ._target import Mode


@dataclass(frozen=True, repr=False)
class PallasRun(SimulatedRun):
    """What a function of JAX returned, and what its kernels did on the simulator. The document is ``prlx.simulate/1``.

    Attributes
    ----------
    result
        What the function returned.
    simulations
        One for each launch, in their order.
    """

    result: Any = field(default=None, compare=False)
    simulations: tuple[Simulation, ...] = field(default=(), compare=False)


def simulate(
    function: Callable[..., Any],
    *args: Any,
    output: str | os.PathLike[str] | None = None,
    mode: Mode = "control-flow",
    outputs: int | str | None = None,
    overwrite: bool = False,
    machine: Mapping[str, Any] | None = None,
) -> PallasRun:
    """Call a function of JAX whose Pallas kernels run on the simulator, as they are compiled for a GPU.

    Each ``pallas_call`` is lowered by JAX to Triton and compiled by Triton for an A100, and that code is executed and checked.
    Everything around them is compiled by ``jax.jit`` for the CPU. Neither needs a GPU; Triton must be installed beside JAX.
    A ``pallas_call`` with ``interpret`` is left to JAX. Kernels run once for each call of them, in the order of the program.

    Parameters
    ----------
    function
        What is called. Its kernels may stand in functions that are compiled, mapped, differentiated or looped over.
    *args
        Its arguments: arrays, and trees of them. Others are bound to it before, with ``functools.partial``.
    output
        Record every launch: a new directory, for ``prlx diff``.
    mode, outputs, overwrite
        What is recorded, as for ``record``.
    machine
        Options of the simulator by name, such as ``{"seed": 3, "global_races": True}``: those of ``enable``.

    Returns
    -------
    PallasRun
        ``.result`` is what the function returned; ``.findings`` what the checks found, with lines of the kernels.

    Raises
    ------
    UsageError
        A kernel is for Mosaic, JAX or Triton is missing, or a kernel is mapped over devices.
    SimulationError
        A kernel cannot be compiled, or has something that the simulator does not execute.
    FindingError
        With ``machine={"stop": True}``: what the first finding says.

    Examples
    --------
    A kernel that JAX's wheel has::

        from jax.experimental.pallas.ops.gpu.softmax import softmax

        ran = prlx.jax.simulate(softmax, x)
        ran.result, ran.passed, ran.findings
    """
    begun = Run(_name(function), noun="function")
    options = with_changes(Options(), machine or {})
    with recording(output, mode, outputs, overwrite, directory=True) as begin:
        runner = Runner(begun, options, machine or {}, begin)
        result = runner.call(function, args)
    session = None if output is None else Path(output)
    document = begun.document(recording=session, status=0)
    return PallasRun(document, session, begun, result, tuple(runner.simulations))


class Runner:
    """Runs kernels as they are called back, which happens in threads of XLA."""

    def __init__(self, seen: Run, options: Options, machine: Mapping[str, Any], begin: Begin) -> None:
        self.simulations: list[Simulation] = []
        self._seen, self._options, self._machine, self._begin = seen, options, machine, begin
        self._kernels: dict[int, tuple[pallas.Call, pallas.Kernel]] = {}  # by identity, so the call is kept
        self._failed: BaseException | None = None
        self._one = threading.Lock()

    def call(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """What the function returns."""
        pallas.check()
        import jax

        rewritten, kernels, interpreted = pallas.traced(function, args, self.run)
        if not kernels + len(interpreted):
            self._seen.refuse(_name(function), "it calls no kernel of Pallas")
        for kernel in interpreted:
            self._seen.refuse(kernel, "it has interpret=True: JAX computes it, and nothing is checked")
        with jax.default_device(jax.devices("cpu")[0]):
            result = jax.jit(rewritten)(*args)
            jax.block_until_ready(result)
            jax.effects_barrier()
        if self._failed is not None:
            raise self._failed
        return result

    def run(self, call: pallas.Call, arrays: Sequence[Any]) -> Sequence[Any]:
        """Run a kernel with copies of its inputs: what it left in its outputs."""
        import numpy as np

        inputs = [np.array(array) for array in arrays]  # copies: XLA's own may be anywhere, and shared
        outputs = [np.empty(one.shape, one.dtype) for one in call.returns]
        for number, array in enumerate(inputs):
            if number in call.aliases:
                outputs[call.aliases[number]] = array
            else:
                array.flags.writeable = False  # of a constant of XLA
        if self._failed is None:
            try:
                with self._one:
                    self._launch(call, inputs, outputs)
            except BaseException as error:  # raised where the function was called, as it is
                self._failed = error
        return outputs

    def _launch(self, call: pallas.Call, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        known = self._kernels.get(id(call))
        if known is None:
            known = self._kernels[id(call)] = call, pallas.compiled(call)
        kernel = known[1]
        names = [*_named(kernel.names, len(inputs) + len(outputs)), "global_scratch", "profile_scratch"]
        given = Given(
            kernel.ptx, kernel.entry, kernel.grid, kernel.threads, [*inputs, *outputs, None, None],
            shared_bytes=kernel.shared_bytes, called=kernel.name, names=names, texts=lambda: _texts(kernel),
        )  # fmt: skip
        written = {len(inputs) + number for number in range(len(outputs))} - {
            len(inputs) + output for output in call.aliases.values()
        }
        empty = {"empty": [names[number] for number in sorted(written)]}
        options = with_changes(self._options, empty)
        done = launch_text(given, options, {**self._machine, **empty}, self._begin)
        self.simulations.append(done)
        self._seen.add(done)


def _named(names: Sequence[str], count: int) -> list[str]:
    """The arguments as the kernel's function names them; by number where it does not name each apart."""
    if len(names) == count == len(set(names)) and all(names):
        return list(names)
    return [f"argument {number}" for number in range(count)]


def _texts(kernel: pallas.Kernel) -> dict[str, Any]:
    """The text of the file that the kernel is in."""
    try:
        text = Path(kernel.file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return {"functions": [], "constants": []}
    return held_text(kernel.file, text)


def _name(function: Callable[..., Any]) -> str:
    """What a function is called; that of one whose arguments are bound."""
    while hasattr(function, "func"):
        function = function.func
    if not callable(function):
        raise UsageError(f"function is a {type(function).__name__}", hint="what is called, and then its arguments")
    return str(getattr(function, "__name__", type(function).__name__))
