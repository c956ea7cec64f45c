"""``torch.compile`` on the simulator: ``enable_pytorch`` and ``pytorch_trace``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from . import _record, _simulator
from ._capture import Capture
from ._errors import UsageError
from ._launching import Options
from ._record import Asked
from ._simulator import Recording
from ._target import Filter, Mode

if TYPE_CHECKING:
    from ._progress import Progress
    from ._request import Path as AnyPath
    from ._stops import Stop


def enable_pytorch(
    *,
    device: str = "auto",
    output: AnyPath | None = None,
    filter: Filter = None,
    mode: Mode = "control-flow",
    capture: Capture = "observed",
    plan: bool = False,
    window: str | None = None,
    within_registers: bool = False,
    map_cuda: bool = False,
    seed: int = 0,
    stop: bool = False,
    nan: bool = False,
    races: bool = True,
    global_races: bool = False,
    warp_races: bool = False,
    views: bool = False,
    empty: Iterable[str] = (),
    convergence: bool = True,
    counts: bool = True,
    stores: bool = False,
    atomics: bool = False,
    loads: bool = False,
    barriers: bool = False,
    events_per_warp: int | None = None,
    outputs: int | str | None = None,
    inputs: int | str | None = None,
    sources: bool | None = None,
    max_findings: int = 1000,
    max_instructions: int | None = None,
    touched: bool = False,
    breaks: Iterable[str] = (),
    max_stops: int = 100,
    on_stop: Callable[[Stop], object] | None = None,
    memory: Iterable[Any] = (),
    overwrite: bool = False,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = "auto",
) -> Recording:
    """Run what ``torch.compile`` makes on the simulator from now on: Inductor's Triton kernels, on CPU tensors, without a GPU.

    Models and tensors stay on the CPU. Inductor compiles their graphs as for an sm_80, forward and backward, and each kernel
    that it writes runs checked and, with ``output``, recorded; kernels of yours inside of the model, too. What Inductor leaves
    to libraries (products of matrices, convolutions) is computed by torch on the CPU, without checks; ``mode="max-autotune"``
    makes Triton kernels of them, for whatever launches no kernel never wins. Functions that were compiled before are compiled
    again.

    Parameters
    ----------
    device
        ``"simulator"``; ``"auto"`` is the simulator where Triton sees no GPU. Recording on GPUs is not there yet.
    output, filter, mode, capture, stores, atomics, loads, barriers, events_per_warp, outputs, inputs, sources, overwrite
        What is recorded, and where to, as for ``enable``.
    plan
        Record nothing, and say what recording would take, as for ``enable``.
    window
        Around which event of each warp events are kept, as for ``enable``.
    within_registers
        Record no more than what fits into the registers of a GPU, as for ``enable``.
    map_cuda
        Refused if true: Dynamo asks CUDA for the current stream below the functions that are mapped, and a compiled call was
        seen to end the process there.
    seed, stop, nan, races, global_races, warp_races, views, empty, convergence, counts, max_findings, max_instructions
        As for ``enable``.
    touched, breaks, max_stops, on_stop, memory
        As for ``enable``.
    workers, memory_limit, progress
        As for ``combine_traces``.

    Returns
    -------
    Recording
        What happens from now on. Leaving its ``with`` block, or ``disable``, puts everything back.

    Raises
    ------
    UsageError
        Something is enabled already, Triton or torch is not there, or ``map_cuda`` is true.

    Examples
    --------
    >>> import torch  # doctest: +SKIP
    >>> model = torch.compile(torch.nn.LayerNorm(200))  # doctest: +SKIP
    >>> with prlx.enable_pytorch() as recording:  # doctest: +SKIP
    ...     _ = model(torch.ones(6, 200))
    >>> [launch.kernel for launch in recording.simulations]  # doctest: +SKIP
    ['triton_per_fused_native_layer_norm_0']
    >>> recording.simulations[0].origin.text  # doctest: +SKIP
    'aten.native_layer_norm in LayerNorm'
    """
    if map_cuda:
        raise UsageError(
            'device="cuda" is not mapped for torch.compile: a compiled call ends the process while it is',
            hint="leave models and tensors on the CPU; prlx simulate --map-cuda runs scripts that do not compile",
        )
    options = Options(
        seed=seed,
        stop=stop,
        nan=nan,
        races=races,
        global_races=global_races,
        warp_races=warp_races,
        views=views,
        empty_somewhere=empty if isinstance(empty, str) else tuple(empty),
        convergence=convergence,
        counts=counts,
        max_findings=max_findings,
        max_instructions=max_instructions,
        touched=touched,
        breaks=(breaks,) if isinstance(breaks, str) else tuple(breaks),
        max_stops=max_stops,
        on_stop=on_stop,
        workers=workers,
        memory_limit=memory_limit,
        progress=progress,
    ).checked()
    extras = _record.extras(stores, atomics, loads, barriers, events_per_warp, outputs, sources, inputs)
    asked = Asked(output, mode, filter, overwrite, extras, capture, plan, window, within_registers)
    return _record.start(device, options, asked, map_cuda=map_cuda, memory=memory, compiler=True)


@contextlib.contextmanager
def pytorch_trace(name: str) -> Iterator[Recording]:
    """Give the launches of a ``with`` block a name, such as ``"step 3"``, and collect them.

    The name is in the origin of each launch that torch's compiler made, with the names around it (``"step 3/attention"``): in
    findings, sessions and their comparisons. Where torch's compiler is not enabled yet, it is, with defaults, for the block.

    Parameters
    ----------
    name
        Anything but an empty text.

    Yields
    ------
    Recording
        What happens in the block.

    Raises
    ------
    UsageError
        The name is empty, or the simulator is enabled without torch's compiler.

    Examples
    --------
    >>> import torch  # doctest: +SKIP
    >>> model = torch.compile(torch.nn.LayerNorm(200))  # doctest: +SKIP
    >>> with prlx.pytorch_trace("first step") as recording:  # doctest: +SKIP
    ...     _ = model(torch.ones(6, 200))
    >>> recording.simulations[0].origin.region  # doctest: +SKIP
    'first step'
    """
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"name: expected a text, got {name!r}")
    with contextlib.ExitStack() as stack:
        if not _simulator.is_enabled():
            stack.enter_context(enable_pytorch())
        regions = _record.compiler_regions()
        if regions is None:
            raise UsageError(
                "the simulator is enabled for Triton alone", hint="call prlx.enable_pytorch instead of prlx.enable"
            )
        recording = stack.enter_context(_record.listening())
        regions.append(name.strip())
        stack.callback(regions.pop)
        yield recording
