"""Launching one kernel on the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._errors import UsageError
from ._launching import Options
from ._record import quiet
from ._simulation import Simulation


def simulate(kernel: Any, grid: Any, *args: Any, machine: Mapping[str, Any] | None = None, **meta: Any) -> Simulation:
    """Launch a Triton kernel on the simulator, once, and return what it did and what the checks found.

    The results are in the arrays afterwards, as after ``kernel[grid](*args, **meta)``. Nothing is warned about and nothing
    raised because of findings: they are in ``.findings``. The simulator need not be enabled.

    Parameters
    ----------
    kernel
        What ``triton.jit``, ``triton.autotune`` or ``triton.heuristics`` made. Of an autotuned kernel the launch with the best
        configuration is returned.
    grid
        As between the brackets of ``kernel[grid]``.
    *args, **meta
        As between the parentheses.
    machine
        Options of the simulator by name, such as ``{"seed": 3, "nan": True}``: those of ``enable``. They are apart because a
        kernel may have arguments of the same names.

    Returns
    -------
    Simulation
        Its ``passed`` says whether nothing was found.

    Raises
    ------
    SimulationError
        The kernel has something that the simulator does not execute.
    FindingError
        With ``machine={"stop": True}``: what the first finding says.
    UsageError
        Nothing was launched, as with an empty grid, or what is to be launched is no kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from softmax import softmax  # examples/laptop/softmax.py
    >>> x = np.ones((6, 200), np.float32)
    >>> out = np.zeros_like(x)
    >>> done = prlx.simulate(softmax, (6,), out, x, 200, 200, SLIP=0, BLOCK=256)
    >>> done.passed, round(float(out[0, 0]), 6)
    (True, 0.005)
    """
    _check_launch(kernel, grid, machine, meta)
    with quiet(machine or {}) as seen:
        kernel[grid](*args, **meta)
    if not seen:
        raise UsageError("nothing was launched: the grid is empty", hint="a grid has at least one block")
    return seen[-1]


def _check_launch(kernel: Any, grid: Any, machine: object, meta: Mapping[str, Any]) -> None:
    """Refuse what is not a launch with what to do; Triton's own words for it are about other things."""
    if not (hasattr(kernel, "run") and hasattr(kernel, "__getitem__")):
        raise UsageError(
            f"expected a Triton kernel, got {type(kernel).__name__} {getattr(kernel, '__name__', '')}".rstrip(),
            hint="decorate it with triton.jit",
        )
    if not callable(grid) and not (isinstance(grid, (tuple, list)) and grid):
        raise UsageError(f"the grid is {grid!r}", hint="a tuple of up to three numbers, such as (1,), or a function")
    if machine is not None and not isinstance(machine, Mapping):
        raise UsageError(f"machine is {machine!r}", hint='options by name, such as machine={"seed": 3}')
    names = getattr(kernel, "arg_names", None) or ()
    ours = [name for name in meta if name in Options.__dataclass_fields__ and name not in names]
    if ours and names:
        options = ", ".join(f'"{name}": {meta[name]!r}' for name in ours)
        raise UsageError(
            f"the kernel has no argument {ours[0]!r}", hint=f"options of the simulator are apart: machine={{{options}}}"
        )
