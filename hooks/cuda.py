"""``device="cuda"`` in code that uses torch, on a machine without one: tensors are made on the CPU, and waiting is nothing.

What is mapped: the device arguments of torch's functions and methods, ``tensor.cuda()``, ``tensor.is_cuda``,
``torch.set_default_device``, and the part of ``torch.cuda`` that host code of kernels uses (synchronising, events, streams, the
device's properties, memory statistics, seeds). ``tensor.device`` says the truth: ``cpu``. The mapping holds in the thread that
enabled it, as torch's modes do; graphs of CUDA, autocast and ``torch.compile`` are not mapped.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from .._errors import UsageError
from .simulator import ARCH, LANES, PROPERTIES

_NAME = f"prlx simulator (sm_{ARCH})"
_MEMORY = 40 << 30  # bytes that an A100 says it has


def install(interface: Any) -> Callable[[], None]:
    """Map CUDA to the CPU until the function that is returned is called.

    Parameters
    ----------
    interface
        What stands for ``torch.cuda``: its events read the simulated clock.

    Raises
    ------
    UsageError
        torch cannot be imported.
    """
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise UsageError(
            f"map_cuda needs torch, which cannot be imported: {error}", hint="leave map_cuda out"
        ) from error
    undo = contextlib.ExitStack()
    for owner, name, value in _replacements(torch, interface):
        undo.callback(_put_back(owner, name))
        setattr(owner, name, value)
    mode = _mode(torch)
    mode.__enter__()
    undo.callback(mode.__exit__, None, None, None)
    return undo.close


def _put_back(owner: Any, name: str) -> Callable[[], None]:
    missing = object()
    before = owner.__dict__.get(name, missing)

    def put_back() -> None:
        if before is missing:
            delattr(owner, name)
        else:
            setattr(owner, name, before)

    return put_back


def is_cuda(value: object) -> bool:
    """Whether an argument names a CUDA device: ``"cuda"``, ``"cuda:1"`` or a ``torch.device``."""
    if isinstance(value, str):
        return value == "cuda" or value.startswith("cuda:")
    return type(value).__name__ == "device" and getattr(value, "type", None) == "cuda"


def mapped(value: Any) -> Any:
    """An argument with the CPU where it names a CUDA device."""
    return "cpu" if is_cuda(value) else value


def _mode(torch: Any) -> Any:
    base = importlib.import_module("torch.overrides").TorchFunctionMode
    flag = torch.Tensor.is_cuda.__get__
    moves = (torch.Tensor.cuda,)

    def torch_function(
        mode: object, function: Any, types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        del mode, types
        if function == flag:
            return True
        if function in moves:
            return args[0]
        changed = {name: mapped(value) for name, value in (kwargs or {}).items()}
        if changed.get("pin_memory"):
            changed["pin_memory"] = False  # pinning needs a driver
        return function(*map(mapped, args), **changed)

    return type("MapCUDA", (base,), {"__torch_function__": torch_function})()


def _replacements(torch: Any, interface: Any) -> Iterator[tuple[Any, str, Any]]:
    cuda = torch.cuda
    for name, value in _stubs(interface).items():
        if hasattr(cuda, name):
            yield cuda, name, value
    set_default = torch.set_default_device
    yield torch, "set_default_device", lambda device: set_default(mapped(device))


def _stubs(interface: Any) -> dict[str, Any]:
    """What ``torch.cuda`` answers."""

    class Stream:
        """A queue of work that is always empty."""

        cuda_stream = 0

        def __init__(self, *args: object, **kwargs: object) -> None:
            del args, kwargs

        def __enter__(self) -> Stream:
            return self

        def __exit__(self, *error: object) -> None:
            del error

        def synchronize(self) -> None:
            """Nothing to wait for."""

        def wait_stream(self, stream: object) -> None:
            """Nothing to wait for."""

        def wait_event(self, event: object) -> None:
            """Nothing to wait for."""

        def record_event(self, event: Any = None) -> Any:
            """An event at this moment."""
            made = event or interface.Event()
            made.record()
            return made

        def query(self) -> bool:
            """Whether everything has been done."""
            return True

    def nothing(*args: object, **kwargs: object) -> None:
        del args, kwargs

    def zero(*args: object, **kwargs: object) -> int:
        del args, kwargs
        return 0

    @contextlib.contextmanager
    def scope(*args: object, **kwargs: object) -> Iterator[None]:
        del args, kwargs
        yield

    properties = SimpleNamespace(
        name=_NAME, major=ARCH // 10, minor=ARCH % 10, total_memory=_MEMORY, warp_size=LANES,
        multi_processor_count=PROPERTIES["multiprocessor_count"], max_threads_per_multi_processor=2048,
        shared_memory_per_block_optin=PROPERTIES["max_shared_mem"], regs_per_multiprocessor=PROPERTIES["max_num_regs"],
        L2_cache_size=40 << 20,
    )  # fmt: skip
    stubs: dict[str, Any] = dict.fromkeys(
        ("synchronize", "set_device", "empty_cache", "init", "set_stream", "ipc_collect", "reset_peak_memory_stats",
         "reset_max_memory_allocated", "reset_accumulated_memory_stats", "manual_seed", "manual_seed_all", "seed", "seed_all"),
        nothing,
    )  # fmt: skip
    stubs |= dict.fromkeys(
        ("current_device", "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"), zero
    )
    return stubs | {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "is_bf16_supported": lambda *_, **__: True,
        "device_count": lambda: 1,
        "get_device_name": lambda *_: _NAME,
        "get_device_capability": lambda *_: divmod(ARCH, 10),
        "get_device_properties": lambda *_: properties,
        "mem_get_info": lambda *_: (_MEMORY, _MEMORY),
        "Event": interface.Event,
        "Stream": Stream,
        "current_stream": lambda *_: Stream(),
        "default_stream": lambda *_: Stream(),
        "stream": scope,
        "device": scope,
    }
