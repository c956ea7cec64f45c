"""What the simulated device answers where torch asks CUDA: functions and classes of ``torch.cuda`` and ``torch.accelerator``.

There is one device, its memory is the CPU's, and nothing is ever under way on it: waiting is nothing, streams order nothing,
statistics of memory are zeros. Random numbers are those of the CPU's generator, because the tensors are there.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from .._errors import UsageError
from .simulator import ARCH, LANES
from .target import target

NAME = f"prlx simulator (sm_{ARCH})"
MEMORY = 40 << 30  # bytes that an A100 says it has


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# What has nothing to do.
_NOTHING = _words("""
    synchronize set_device empty_cache init ipc_collect set_per_process_memory_fraction set_sync_debug_mode _lazy_init _sleep
    reset_peak_memory_stats reset_max_memory_allocated reset_max_memory_cached reset_accumulated_memory_stats
    reset_peak_host_memory_stats reset_accumulated_host_memory_stats caching_allocator_enable check_error
    _set_stream_by_id _record_memory_history _dump_snapshot
""")
_ZERO = _words("""
    current_device memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_cached max_memory_cached
    get_sync_debug_mode current_blas_handle current_solver_handle _exchange_device _maybe_exchange_device
    _cuda_getCurrentRawStream
""")
_FALSE = _words("is_current_stream_capturing can_device_access_peer")
_TRUE = _words("is_available is_initialized is_bf16_supported is_tf32_supported")
_REFUSED = _words("make_graphed_callables graph_pool_handle change_current_allocator")

# Keys of memory_stats, as the documentation of torch lists them.
_COUNTED = _words("""
    allocation segment active inactive_split allocated_bytes reserved_bytes active_bytes inactive_split_bytes requested_bytes
""")
_EVENTS = _words("num_alloc_retries num_ooms num_sync_all_streams num_device_alloc num_device_free")


def nothing(*args: object, **kwargs: object) -> None:
    """Nothing to do."""
    del args, kwargs


def always(value: Any) -> Callable[..., Any]:
    """A function that answers one value, whatever it is asked."""

    def answer(*args: object, **kwargs: object) -> Any:
        del args, kwargs
        return value

    return answer


def refused(what: str) -> Callable[..., Any]:
    """A function that says what the simulator does not have."""

    def refuse(*args: object, **kwargs: object) -> Any:
        del args, kwargs
        raise UsageError(
            f"{what}: the simulator has no CUDA graphs and no allocators of its own",
            hint="launch the kernels one by one: a launch has ended when it returns",
        )

    return refuse


def memory_stats() -> OrderedDict[str, int]:
    """Statistics of an allocator that has done nothing."""
    names = [
        f"{what}.{pool}.{moment}"
        for what in _COUNTED
        for pool in ("all", "large_pool", "small_pool")
        for moment in ("current", "peak", "allocated", "freed")
    ]
    return OrderedDict.fromkeys(sorted((*names, *_EVENTS)), 0)


def properties() -> SimpleNamespace:
    """What ``torch.cuda.get_device_properties`` returns."""
    facts = target()
    return SimpleNamespace(
        name=NAME, major=ARCH // 10, minor=ARCH % 10, total_memory=MEMORY, warp_size=LANES,
        multi_processor_count=facts["multiprocessors"], max_threads_per_multi_processor=facts["threads_at_once"],
        max_threads_per_block=facts["threads_of_block"], shared_memory_per_block=facts["shared_without_asking"],
        shared_memory_per_multiprocessor=facts["shared_of_block"] + facts["shared_reserved"],
        shared_memory_per_block_optin=facts["shared_of_block"], regs_per_multiprocessor=facts["registers"],
        L2_cache_size=40 << 20, is_integrated=0, is_multi_gpu_board=0,
    )  # fmt: skip


class Streams:
    """The streams of the device, and which of them is the current one."""

    def __init__(self) -> None:
        self.default: Any = None
        self._entered: list[Any] = []
        self._chosen: Any = None

    def current(self, *args: object, **kwargs: object) -> Any:
        """The innermost stream that was entered, else the one that was set, else the default one."""
        del args, kwargs
        return self._entered[-1] if self._entered else self._chosen or self.default

    def choose(self, stream: Any) -> None:
        """Make a stream the current one (``set_stream``)."""
        self._chosen = stream

    @contextlib.contextmanager
    def entered(self, stream: Any) -> Iterator[Any]:
        """``with torch.cuda.stream(s):``."""
        self._entered.append(stream or self.current())
        try:
            yield stream
        finally:
            self._entered.pop()


def classes(torch: Any, interface: Any, streams: Streams) -> dict[str, type[Any]]:
    """What stands for classes, by the name in ``torch.cuda``; those of ``torch`` itself have a dot in front."""

    class Event(interface.Event):  # type: ignore[misc]
        """A moment on the device's clock."""

        cuda_event = 0
        event_id = 0

        @classmethod
        def from_ipc_handle(cls, device: object, handle: object) -> Event:
            """Events do not cross processes: one at this moment."""
            del device, handle
            return cls()

    class CudaEvent(Event):
        """Another class with the same meaning: torch tells its own events from CUDA's."""

    class Stream:
        """A queue of work that is always empty."""

        cuda_stream = 0
        stream_id = 0
        device_index = 0
        device_type = 1
        priority = 0

        def __init__(self, device: object = None, *args: object, **kwargs: object) -> None:
            del device, args, kwargs
            self._scopes: list[Any] = []

        @property
        def device(self) -> Any:
            """The device that the program believes in."""
            return torch.device("cuda", 0)

        def __enter__(self) -> Stream:
            scope = streams.entered(self)
            scope.__enter__()
            self._scopes.append(scope)
            return self

        def __exit__(self, *error: Any) -> None:
            self._scopes.pop().__exit__(*error)

        def synchronize(self) -> None:
            """Nothing to wait for."""

        def wait_stream(self, stream: object) -> None:
            """Nothing to wait for."""

        def wait_event(self, event: object) -> None:
            """Nothing to wait for."""

        def record_event(self, event: Any = None) -> Any:
            """An event at this moment."""
            made = event or CudaEvent()
            made.record()
            return made

        def query(self) -> bool:
            """Whether everything has been done."""
            return True

        def is_capturing(self) -> bool:
            """There are no graphs."""
            return False

    class CudaStream(Stream):
        """Another class with the same meaning, as with events."""

        @staticmethod
        def priority_range() -> tuple[int, int]:
            """Least and greatest priority, as CUDA numbers them."""
            return 0, -5

    class ExternalStream(CudaStream):
        """A stream that others made."""

    class StreamContext:
        """What ``torch.cuda.stream`` returns."""

        def __init__(self, stream: Any) -> None:
            self.stream = stream
            self._scope = streams.entered(stream)

        def __enter__(self) -> None:
            self._scope.__enter__()

        def __exit__(self, *error: Any) -> None:
            self._scope.__exit__(*error)

    class device:  # noqa: N801 - torch's name
        """``with torch.cuda.device(0):``; there is one."""

        def __init__(self, device: object = None) -> None:
            self.idx = 0
            self.prev_idx = 0
            del device

        def __enter__(self) -> None:
            return None

        def __exit__(self, *error: object) -> None:
            del error

    class device_of(device):  # noqa: N801
        """``with torch.cuda.device_of(tensor):``."""

    class CUDAGraph:
        """There is none."""

        def __init__(self, *args: object, **kwargs: object) -> None:
            refused("torch.cuda.CUDAGraph")(*args, **kwargs)

    streams.default = CudaStream()
    return {
        ".Event": Event, ".Stream": Stream, "Event": CudaEvent, "Stream": CudaStream, "ExternalStream": ExternalStream,
        "StreamContext": StreamContext, "device": device, "device_of": device_of, "CUDAGraph": CUDAGraph,
    }  # fmt: skip


def of_cuda(torch: Any, streams: Streams, made: dict[str, type[Any]]) -> dict[str, Callable[..., Any]]:
    """What stands for functions of ``torch.cuda`` and the modules below it, by name."""
    generator = torch.default_generator

    def seed_with(seed: int) -> None:
        generator.manual_seed(int(seed))

    def state(device: object = None) -> Any:
        del device
        return torch.get_rng_state()

    def set_state(state: Any, device: object = None) -> None:
        del device
        torch.set_rng_state(state)

    def set_states(states: Any) -> None:
        for one in states:
            torch.set_rng_state(one)

    answers: dict[str, Callable[..., Any]] = dict.fromkeys(_NOTHING, nothing)
    answers |= (
        dict.fromkeys(_ZERO, always(0)) | dict.fromkeys(_FALSE, always(False)) | dict.fromkeys(_TRUE, always(True))
    )
    answers |= {name: refused(f"torch.cuda.{name}") for name in _REFUSED}
    return answers | {
        "device_count": always(1),
        "get_device_name": always(NAME),
        "get_device_capability": always(divmod(ARCH, 10)),
        "get_device_properties": lambda *_, **__: properties(),
        "get_arch_list": lambda: [f"sm_{ARCH}"],
        "get_gencode_flags": always(f"-gencode compute=compute_{ARCH},code=sm_{ARCH}"),
        "get_allocator_backend": always("native"),
        "get_per_process_memory_fraction": always(1.0),
        "mem_get_info": always((MEMORY, MEMORY)),
        "memory_stats": lambda *_, **__: memory_stats(),
        "host_memory_stats": lambda *_, **__: memory_stats(),
        "memory_stats_as_nested_dict": lambda *_, **__: {},
        "host_memory_stats_as_nested_dict": lambda *_, **__: {},
        "memory_snapshot": lambda *_, **__: [],
        "memory_summary": always(f"{NAME}: its memory is the CPU's, and is not counted"),
        "list_gpu_processes": always(f"{NAME}: no processes are running"),
        "cudart": always(_Runtime()),
        "manual_seed": seed_with,
        "manual_seed_all": seed_with,
        "seed": lambda: generator.seed() and None,
        "seed_all": lambda: generator.seed() and None,
        "initial_seed": lambda: generator.initial_seed(),
        "get_rng_state": state,
        "set_rng_state": set_state,
        "get_rng_state_all": lambda: [state()],
        "set_rng_state_all": set_states,
        "current_stream": streams.current,
        "default_stream": lambda *_, **__: streams.default,
        "set_stream": streams.choose,
        "stream": lambda stream: made["StreamContext"](stream),
        "get_stream_from_external": lambda *_, **__: made["ExternalStream"](),
    }


def of_nvtx() -> dict[str, Callable[..., Any]]:
    """What stands for ``torch.cuda.nvtx``: nobody profiles."""
    return {
        "range_push": always(0),
        "range_pop": always(0),
        "range_start": always(0),
        "range_end": nothing,
        "mark": nothing,
        "range": lambda *_, **__: contextlib.nullcontext(),
    }


def of_accelerator(torch: Any, streams: Streams) -> dict[str, Callable[..., Any]]:
    """What stands for the C functions below ``torch.accelerator``."""
    return {
        "_accelerator_getAccelerator": lambda: torch.device("cuda"),
        "_accelerator_getDeviceIndex": always(0),
        "_accelerator_setDeviceIndex": nothing,
        "_accelerator_exchangeDevice": always(0),
        "_accelerator_maybeExchangeDevice": always(0),
        "_accelerator_getStream": streams.current,
        "_accelerator_setStream": streams.choose,
        "_accelerator_synchronizeDevice": nothing,
        "_accelerator_isAllocatorInitialized": always(False),
        "_accelerator_emptyHostCache": nothing,
        "_accelerator_getMemoryInfo": always((MEMORY, MEMORY)),
        "_accelerator_getDeviceCapability": lambda *_: {
            "supported_dtypes": {value for value in vars(torch).values() if isinstance(value, torch.dtype)}
        },
    }


class _Runtime:
    """What ``torch.cuda.cudart()`` returns: every function of the runtime succeeds and does nothing."""

    def cudaMemGetInfo(self, device: object = None) -> tuple[int, int]:  # noqa: N802 - CUDA's name
        """Free and total bytes."""
        del device
        return MEMORY, MEMORY

    def __getattr__(self, name: str) -> Callable[..., int]:
        if name.startswith("cuda"):
            zero: Callable[..., int] = always(0)
            return zero
        raise AttributeError(name)
