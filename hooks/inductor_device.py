"""The simulated device as torch's compiler asks about it: its interface, answers below ``torch.cuda``, code, clock."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from . import cuda_answers
from .simulator import ARCH

NAMES = f"{__package__}.inductor_names"
"""The module whose names generated code uses instead of CUDA's."""

_TIMED = ("benchmark_cpu", "benchmark_gpu", "benchmark_gpu_with_cuda_graph")
_UNSIMULATED_MS = (
    1e9  # what a benchmark says of something that launched no kernel: what it costs on a GPU, nobody knows
)


class _Guard:
    """``with device(0):``; there is one."""

    def __init__(self, index: object = None) -> None:
        del index
        self.idx = 0
        self.prev_idx = 0

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        del error


def interface(base: type[Any], events: Any) -> type[Any]:
    """What ``torch._dynamo.device_interface`` has for ``cuda``.

    Parameters
    ----------
    base
        Torch's own class for it, of which everything that asks no driver is kept.
    events
        What has the device's ``Event``.
    """
    zero, nothing, true = (staticmethod(cuda_answers.always(value)) for value in (0, None, True))
    properties = staticmethod(lambda *_, **__: cuda_answers.properties())
    capability = staticmethod(cuda_answers.always(ARCH))
    worker = type(
        "Worker", (base.Worker,), {"set_device": nothing, "current_device": zero, "get_device_properties": properties}
    )
    names: dict[str, Any] = {
        "__doc__": "The simulated device, as torch's compiler asks for it.",
        "__module__": __name__,
        "device": _Guard,
        "Worker": worker,
        "Event": events.Event,
        "device_count": staticmethod(cuda_answers.always(1)),
        "get_device_properties": properties,
        "get_compute_capability": capability,
    }
    for name in ("exchange_device", "maybe_exchange_device", "current_device", "get_raw_stream", "memory_allocated"):
        names[name] = zero
    for name in ("set_device", "synchronize", "raise_if_triton_unavailable"):
        names[name] = nothing
    for name in ("is_available", "is_triton_capable", "is_bf16_supported"):
        names[name] = true
    return type("SimulatedInterface", (base,), names)


class Answers:
    """What torch's compiler asks of CUDA, answered while it compiles or tunes, and in no other moment.

    The program itself still finds that there is no GPU.
    """

    def __init__(self, torch: Any, events: Any) -> None:
        streams = cuda_answers.Streams()
        made = cuda_answers.classes(torch, events, streams)
        table = cuda_answers.of_cuda(torch, streams, made)
        below = {name: answer for name, answer in table.items() if name.startswith("_cuda_")}
        owners = [(torch.cuda, table), (torch._C, below), (torch._C, cuda_answers.of_accelerator(torch, streams))]
        owners += [(getattr(torch.cuda, name, None), table) for name in ("memory", "random", "streams")]
        self._entries = [
            (owner, name, answer)
            for owner, answers in owners
            for name, answer in answers.items()
            if owner is not None and callable(vars(owner).get(name))
        ]
        self._lock = threading.Lock()
        self._inside = 0
        self._before: list[tuple[Any, str, Any]] = []

    @contextlib.contextmanager
    def given(self) -> Iterator[None]:
        """Answer for a block; blocks may lie inside of each other, and in several threads."""
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._before = [(owner, name, getattr(owner, name)) for owner, name, _ in self._entries]
                for owner, name, answer in self._entries:
                    setattr(owner, name, answer)
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    for owner, name, value in self._before:
                        setattr(owner, name, value)


def overrides(base: type[Any]) -> Any:
    """What generated code says to CUDA's streams and devices: names of ours, and nothing."""
    return type(
        "SimulatorDeviceOpOverrides",
        (base,),
        {
            "__doc__": "The simulated device in generated code.",
            "import_get_raw_stream_as": lambda _, name: f"from {NAMES} import get_raw_stream as {name}",
            "set_device": lambda *_: "pass",
            "synchronize": lambda _: "pass",
            "device_guard": lambda _, index: f"__import__('contextlib').nullcontext({index})",
        },
    )()


class Benchmarks:
    """Torch's benchmarks, by the device's clock: what has run costs its instructions, once.

    Parameters
    ----------
    clock
        The device's.
    around
        Entered around each.
    """

    def __init__(self, clock: Any, around: Callable[[], Any]) -> None:
        self._clock, self._around = clock, around

    def of_call(self, call: Callable[[], object]) -> float:
        """The milliseconds of a function without arguments."""
        before = self._clock.microseconds
        with self._around():
            call()
        return (self._clock.microseconds - before) / 1000 or _UNSIMULATED_MS

    def replacements(self) -> Iterator[tuple[type[Any], str, Any]]:
        """Class, name and method, for every benchmarker that torch has."""
        module = importlib.import_module("torch._inductor.runtime.benchmarking")
        for kind in list(vars(module).values()):
            if not (isinstance(kind, type) and issubclass(kind, module.Benchmarker)):
                continue
            for name in list(vars(kind)):
                if name == "benchmark":
                    yield kind, name, self._of_function()
                elif name in _TIMED:
                    yield kind, name, self._of_callable()

    def _of_function(self) -> Callable[..., float]:
        def benchmark(
            benchmarker: object,
            fn: Callable[..., object],
            fn_args: Any = None,
            fn_kwargs: Any = None,
            **options: object,
        ) -> float:
            del benchmarker, options
            return self.of_call(lambda: fn(*(fn_args or ()), **(fn_kwargs or {})))

        return benchmark

    def _of_callable(self) -> Callable[..., float]:
        def benchmark(benchmarker: object, _callable: Callable[[], object], *args: object, **kwargs: object) -> float:
            del benchmarker, args, kwargs
            return self.of_call(_callable)

        return benchmark
