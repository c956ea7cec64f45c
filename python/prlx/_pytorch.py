"""``torch.compile`` on the simulator: ``enable_pytorch`` and ``pytorch_trace``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from . import _options, _record, _simulator
from ._errors import UsageError
from ._launching import with_keywords
from ._record import Asked
from ._simulator import Recording

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._option_keywords import PytorchKeywords
    from ._progress import Progress
    from ._stops import Stop


@_options.by_name("pytorch")
def enable_pytorch(
    *,
    device: str = "auto",
    map_cuda: bool = False,
    on_stop: Callable[[Stop], object] | None = None,
    memory: Iterable[Any] = (),
    progress: Progress = "auto",
    **options: Unpack[PytorchKeywords],
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
    map_cuda
        Refused if true: Dynamo asks CUDA for the current stream below the functions that are mapped, and a compiled call was
        seen to end the process there.
    **options
        See ``docs/options.md``.
    on_stop, memory, progress
        As for ``enable``.

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
    given = _options.filled("pytorch", options)
    chosen = with_keywords(given, on_stop=on_stop, progress=progress)
    asked = Asked.of({**given, "capture": given["capture"] or "observed"})
    return _record.start(device, chosen, asked, map_cuda=map_cuda, memory=memory, compiler=True)


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
