"""The simulated device, as Triton sees it: a driver object whose launches become ``Launch`` values for whoever runs them.

It is always an sm_80: for that Triton compiles to instructions that the simulator has, whatever GPU the user owns. Time on this
device is work: its clock counts the instructions of warps (see ``Clock``), so that autotuning and benchmarks repeat.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

from .._errors import UsageError
from .instrument import TABLE
from .parameters import Signature
from .target import properties, target
from .texts import texts_of

if TYPE_CHECKING:
    from .launch import Function, Launch, Parameter

ARCH = 80
LANES = 32
DEVICE = 1 << 20  # + ARCH. Triton caches by the number of the device: 0 would be the user's first GPU
KEY = "prlx-ptx-1"  # in the key of Triton's compile cache: the last stage leaves PTX
REGISTERS = 32  # a kernel's, as host code reads them; nobody allocates registers, and 0 would be divided by


Run = Callable[["Launch"], int]
"""Runs a launch and returns what it cost, in instructions of warps."""


class Clock:
    """The device's time: one instruction of a warp takes one microsecond, and a launch a thousand instructions more.

    That is slow on purpose. Benchmarks repeat a kernel until its time adds up to what they were told, 125 ms by default: here
    that is at most some 130 launches, and few of a kernel that has much to do.
    """

    LAUNCH = 1000

    def __init__(self) -> None:
        self.microseconds = 0

    def advance(self, instructions: int) -> None:
        """Let the time of a launch pass."""
        self.microseconds += instructions + self.LAUNCH


class Device:
    """What the driver object, its launchers and its events share."""

    def __init__(self, run: Run, number: Callable[[], int]) -> None:
        self.run = run
        self.number = number
        self.clock = Clock()
        self.open = True
        self.origin: Callable[[], dict[str, Any] | None] | None = None
        self._own_scratch = threading.local()
        self._functions: dict[tuple[str, bytes], Function] = {}

    def function(self, name: str, text: bytes) -> Function:
        """The handle of a kernel, one for each text."""
        from .launch import Function

        return self._functions.setdefault((name, text), Function(name, text))

    @contextlib.contextmanager
    def own_scratch(self) -> Iterator[None]:
        """Give kernels scratch memory of ours for a block, whatever allocator is set: theirs may be one of a GPU."""
        before = getattr(self._own_scratch, "wanted", False)
        self._own_scratch.wanted = True
        try:
            yield
        finally:
            self._own_scratch.wanted = before

    def scratch(self, kind: str, size: int, align: int, stream: object) -> Any:
        """Scratch memory of a launch, of the allocator that the user set, else our own."""
        if getattr(self._own_scratch, "wanted", False):
            return Scratch(size, align)
        return _allocator(kind)(size, align, stream)

    def launch(self, launch: Launch) -> None:
        """Run a launch and let its time pass."""
        if not self.open:
            raise UsageError(
                f"{launch.function.name} was compiled for the simulator, and the simulator is disabled",
                hint="launch it as kernel[grid](...), so that it is compiled again, or call prlx.enable",
            )
        self.clock.advance(self.run(launch))


def driver(run: Run, number: Callable[[], int] = lambda: DEVICE + ARCH) -> tuple[Any, Device]:
    """The driver object to make active, and its device; ``number`` says which number it has now."""
    device = Device(run, number)
    return _driver_type()(device), device


def _driver_type() -> Any:
    base = importlib.import_module("triton.backends.driver").DriverBase
    return type("SimulatorDriver", (_Driver, base), {"__doc__": _Driver.__doc__, "__module__": __name__})


class _Driver:
    """Triton's way to the simulated device: what the base class wants and what the runtime, the autotuner and tests ask for."""

    def __init__(self, device: Device) -> None:
        super().__init__()
        self._device = device
        self.utils = _Utils(device)
        self.launcher_cls = lambda source, metadata: _Launcher(device, source, metadata)
        self._interface = device_interface(device.clock)

    @classmethod
    def is_active(cls) -> bool:
        return True

    def get_current_target(self) -> Any:
        return importlib.import_module("triton.backends.compiler").GPUTarget("cuda", ARCH, LANES)

    def get_current_device(self) -> int:
        return self._device.number()

    def set_current_device(self, device: int) -> None:
        del device  # there is one

    def get_current_stream(self, device: int | None = None) -> int:
        del device
        return 0

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        del device
        return divmod(ARCH, 10)

    def map_python_to_cpp_type(self, ty: str) -> str:
        spelled: str = (
            importlib.import_module("triton.backends").backends["nvidia"].driver.map_python_to_cpp_type(self, ty)
        )
        return spelled

    def get_active_torch_device(self) -> Any:
        return importlib.import_module("torch").device("cpu")

    def get_device_interface(self) -> Any:
        return self._interface

    def get_empty_cache_for_benchmark(self) -> None:
        return None

    def clear_cache(self, cache: object) -> None:
        del cache

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: object) -> Scratch:
        del stream
        return Scratch(size, alignment)

    def get_benchmarker(self) -> Callable[..., Any]:
        """One run is enough: the clock counts work, and work does not vary."""
        clock = self._device.clock

        def benchmark(call: Callable[[], object], quantiles: Sequence[float] | None = None, **kwargs: object) -> Any:
            del kwargs
            before = clock.microseconds
            call()
            milliseconds = max(clock.microseconds - before, 1) / 1000
            return milliseconds if quantiles is None else [milliseconds] * len(quantiles)

        return benchmark


class _Utils:
    """What Triton's runtime asks of a driver's C half."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def load_binary(
        self, name: str, kernel: bytes, shared: int, device: int
    ) -> tuple[Function, Function, int, int, int]:
        """A handle of the module and of the function, registers, spills, threads."""
        del shared, device
        if kernel[:4] == b"\x7fELF":
            raise UsageError(f"{name} was compiled to machine code", hint="launch it as kernel[grid](...)")
        function = self._device.function(name, kernel)
        return function, function, REGISTERS, 0, target()["threads_of_block"]

    def unload_module(self, module: object) -> None:
        """Nothing to do: the device keeps what it has."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        del device
        return properties()

    def set_printf_fifo_size(self, size: int) -> None:
        """Nothing to do: there is no queue that could be too short."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("fill_tma_descriptor"):
            raise UsageError(f"{name}: descriptors of the TMA need an sm_90, and the simulator is an sm_{ARCH}")
        raise AttributeError(f"the simulated device has no {name!r}")


class _Launcher:
    """Launches one compiled kernel: what a driver's generated C code does."""

    def __init__(self, device: Device, source: Any, metadata: Any) -> None:
        self._device = device
        self._metadata = metadata
        self._texts = functools.cache(lambda: texts_of(source, metadata))
        self._signature = Signature(source, metadata, refuse_tma)
        self._cluster = prod(getattr(metadata, "cluster_dims", None) or (getattr(metadata, "num_ctas", 1),))

    def __call__(
        self, grid_x: int, grid_y: int, grid_z: int, stream: Any, function: Function, packed: object,
        launch_metadata: Any, enter: Callable[[Any], object] | None, exit: Callable[[Any], object] | None, *args: Any,
    ) -> None:  # fmt: skip
        del packed
        if enter is not None:
            enter(launch_metadata)
        grid = (grid_x, grid_y, grid_z)
        if prod(grid) > 0:
            self._device.launch(self._launch(grid, stream, function, args))
        if exit is not None:
            exit(launch_metadata)

    def _launch(self, grid: tuple[int, int, int], stream: Any, function: Function, args: Sequence[Any]) -> Launch:
        from .launch import Launch

        metadata = self._metadata
        parameters = self._signature.parameters(args)
        table = str(getattr(metadata, TABLE, ""))
        scratches = [self._scratch("global_scratch", grid, stream)]
        scratches.append(_no_arena() if table else self._scratch("profile_scratch", grid, stream))
        return Launch(
            function=function,
            grid=(grid[0] * self._cluster, grid[1], grid[2]),
            block=(metadata.num_warps * LANES, 1, 1),
            cluster=self._cluster,
            shared=metadata.shared,
            parameters=(*parameters, *scratches),
            keep=args,
            texts=self._texts,
            table=table,
            origin=None if self._device.origin is None else self._device.origin(),
        )

    def _scratch(self, kind: str, grid: Sequence[int], stream: Any) -> Parameter:
        from .launch import Parameter, Storage

        size = getattr(self._metadata, f"{kind}_size", 0)
        if not size:
            return Parameter(kind, "*i8", 0)
        size *= prod(grid) * self._cluster
        align = max(getattr(self._metadata, f"{kind}_align", 1), 1)
        memory = self._device.scratch(kind, size, align, stream)
        return Parameter(kind, "*i8", memory.data_ptr(), Storage(memory.data_ptr(), size, kind, keep=memory))


def refuse_tma(name: str, value: object) -> NoReturn:
    """The parameters of a descriptor that the TMA reads: there is none here."""
    del value
    raise UsageError(f"the descriptor {name} needs the TMA of an sm_90, and the simulator is an sm_{ARCH}")


def _no_arena() -> Parameter:
    """The scratch of a kernel that records: none, until somebody wants its events."""
    from .launch import Parameter

    allocation = importlib.import_module("triton.runtime._allocation")
    if not isinstance(allocation._profile_allocator.get(), allocation.NullAllocator):
        raise UsageError(
            "another tool allocates profile scratch, where kernels that record leave their events",
            hint='end it first, or choose capture="observed"',
        )
    return Parameter("profile_scratch", "*i8", 0)


def _allocator(kind: str) -> Callable[[int, int, Any], Any]:
    """The allocator that the user set, else our own: nobody needs torch for a scratch buffer."""
    allocation = importlib.import_module("triton.runtime._allocation")
    chosen = getattr(allocation, "_profile_allocator" if kind == "profile_scratch" else "_allocator").get()
    if isinstance(chosen, allocation.NullAllocator):
        return lambda size, align, _stream: Scratch(size, align)
    allocate: Callable[[int, int, Any], Any] = chosen
    return allocate


class Scratch:
    """Zeroed memory at an aligned address."""

    def __init__(self, size: int, align: int) -> None:
        import ctypes

        self._memory = ctypes.create_string_buffer(size + align)
        self._address = -(-ctypes.addressof(self._memory) // align) * align

    def data_ptr(self) -> int:
        """Where it begins."""
        return self._address


def device_interface(clock: Clock) -> Any:
    """What ``triton.testing`` and user code find where ``torch.cuda`` would be."""

    class Event:
        """A moment on the device's clock."""

        def __init__(self, *args: object, **kwargs: object) -> None:
            del args, kwargs  # whether it times, blocks or crosses processes makes no difference here
            self._at = clock.microseconds

        def record(self, stream: object = None) -> None:
            del stream
            self._at = clock.microseconds

        def elapsed_time(self, end: Event) -> float:
            """Milliseconds up to another event, never 0: callers divide by it."""
            return max(end._at - self._at, 1) / 1000

        def synchronize(self) -> None:
            """Nothing to wait for: a launch has ended when it returns."""

        def wait(self, stream: object = None) -> None:
            """Nothing to wait for."""

        def query(self) -> bool:
            return True

    from types import SimpleNamespace

    return SimpleNamespace(
        Event=Event,
        synchronize=lambda *_: None,
        current_device=lambda: DEVICE + ARCH,
        set_device=lambda _: None,
        device_count=lambda: 1,
        is_available=lambda: True,
        current_stream=lambda *_: SimpleNamespace(cuda_stream=0, synchronize=lambda: None),
    )
