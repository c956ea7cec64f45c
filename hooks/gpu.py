"""Triton over the driver of a GPU: what of it is replaced while launches are recorded. The driver and its launchers stay.

====================================  ================================================================================
the compiler's stages, and its keys   kernels are compiled to record by themselves, and are kept under keys of their own
``JITFunction.device_caches``         likewise in memory, where Triton knows a kernel by the number of its device alone
``Autotuner._bench``                  trials run clean kernels: their times are those of the program
``CompiledKernel._init_handles``      says which text a launcher belongs to
``CudaLauncher``, ``HIPLauncher``     says what is launched: grid, stream, arguments; it packs and launches as ever
settings of torch's compiler          its kernels are compiled in this process and launched by Triton
the profile allocator                 answers with the arena of a launch of ours, and as before otherwise
====================================  ================================================================================

A launch without an arena passes a null pointer, and the kernel records nothing.
"""

from __future__ import annotations

import functools
import importlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .._errors import PrlxError
from . import inductor_settings
from .instrument import TABLE, Rewriter
from .parameters import Signature
from .texts import texts_of

if TYPE_CHECKING:
    from .launch import Parameter, Storage

_OURS = 4  # what launchers are given before the arguments of the user: two kinds of metadata, two hooks


class Vendor(NamedTuple):
    """What Triton calls the parts of it that are for one vendor's GPUs.

    Attributes
    ----------
    backend
        The folder of Triton's backends.
    launcher
        The class that launches.
    text
        What a kernel is compiled to last, as a text.
    """

    backend: str
    launcher: str
    text: str


NVIDIA = Vendor("nvidia", "CudaLauncher", "ptx")
AMD = Vendor("amd", "HIPLauncher", "amdgcn")


def active(*, ask: bool) -> Vendor | None:
    """Whose GPU Triton launches on; None where that is not known. With ``ask`` its drivers are asked, which use the GPU."""
    chosen = importlib.import_module("triton.runtime").driver._active
    backends = importlib.import_module("triton.backends").backends
    for vendor in (NVIDIA, AMD):
        if type(chosen).__module__.startswith(f"triton.backends.{vendor.backend}."):
            return vendor
    for vendor in (NVIDIA, AMD) if ask else ():
        if vendor.backend in backends and backends[vendor.backend].driver.is_active():
            return vendor
    return None


def hip_library() -> str:
    """Where Triton finds the HIP runtime: a process is to have one of them alone. "" where there is none."""
    try:
        return str(importlib.import_module("triton.backends.amd.driver")._get_path_to_hip_runtime_dylib())
    except Exception:  # no such backend, or nowhere
        return ""


class Ticket(Protocol):
    """One launch that is recorded."""

    arena: int
    """The address of its arena on the device."""

    def launched(self) -> None:
        """It is on its stream."""

    def failed(self, error: BaseException) -> None:
        """It could not be launched."""


class Kernel:
    """A kernel that was compiled to record by itself.

    Attributes
    ----------
    name
        The kernel's.
    table
        What its events mean.
    code
        What it was compiled to, PTX or assembly; "" where that is not known.
    arch
        The architecture that it was compiled for, as ``"sm_90"``.
    arch_number
        Its number, as 90; of AMD's GPUs 0.
    block, cluster, lanes
        Threads and blocks as the device counts them.
    """

    def __init__(self, source: Any, metadata: Any, compiled: Any, find: Callable[[Any, str], Storage | None]) -> None:
        self.name: str = metadata.name
        self.table = str(getattr(metadata, TABLE, ""))
        self.texts = functools.cache(lambda: texts_of(source, metadata))
        texts = getattr(compiled, "asm", {})
        self.code = next((str(texts[v.text]) for v in (NVIDIA, AMD) if v.text in texts), "")
        arch = metadata.target.arch
        self.arch, self.arch_number = (f"sm_{arch}", arch) if isinstance(arch, int) else (str(arch), 0)
        self.lanes = int(metadata.target.warp_size)
        self.block = (metadata.num_warps * self.lanes, 1, 1)
        self.cluster = prod(getattr(metadata, "cluster_dims", None) or (getattr(metadata, "num_ctas", 1),))
        self._signature = Signature(source, metadata, _of_tma, find)
        self._target = metadata.target

    def code_object(self, text: str, name: str) -> bytes:
        """A kernel that is given as LLVM IR, for the GPU of AMD that this one is for; Triton's cache keeps it.

        Raises
        ------
        PrlxError
            Triton could not.
        """
        import hashlib
        from pathlib import Path

        cache = importlib.import_module("triton.runtime.cache")
        made = importlib.import_module("triton.backends").backends[AMD.backend].compiler(self._target)
        said = f"{text}{made.hash()}{importlib.import_module('triton').__version__}"
        kept = cache.get_cache_manager(hashlib.sha256(said.encode()).hexdigest())
        try:
            found = kept.get_file(f"{name}.hsaco")
            if found is not None:
                return Path(found).read_bytes()
            importlib.import_module("triton._C.libtriton").llvm.init_targets()
            options = made.parse_options({})
            image: bytes = made.make_hsaco(made.make_amdgcn(text, {}, options), {}, options)
            kept.put(text, f"{name}.llir", binary=False)
            kept.put(image, f"{name}.hsaco")
        except Exception as error:
            raise PrlxError(f"Triton makes no machine code of the kernel of digests: {error}") from error
        return image

    def parameters(self, args: Sequence[Any]) -> list[Parameter]:
        """What the arguments of a launch become, without what Triton adds."""
        return self._signature.parameters(args)


Begin = Callable[[Kernel, tuple[int, int, int], int, Sequence[Any]], "Ticket | None"]
"""Is told of a launch before it is made: kernel, grid, stream, arguments. None: it is not recorded."""


class Seam:
    """The parts of Triton that are replaced, and what was there before.

    Parameters
    ----------
    vendor
        Whose GPUs they are for.
    rewriter
        Makes kernels record by themselves.
    begin
        Is told of launches of kernels that do.
    unknown
        Is told that a kernel was launched that was compiled before.
    find
        The memory behind an argument.
    """

    def __init__(
        self,
        vendor: Vendor,
        rewriter: Rewriter,
        begin: Begin,
        unknown: Callable[[], None],
        find: Callable[[Any, str], Storage | None],
    ) -> None:
        self._vendor = vendor
        self._rewriter = rewriter
        self._begin = begin
        self._unknown = unknown
        self._find = find
        self._state = _State()
        self._undo: list[Callable[[], None]] = []
        self._functions: weakref.WeakSet[Any] = weakref.WeakSet()
        self._launchers: weakref.WeakSet[Any] = weakref.WeakSet()
        rewriter.clean = lambda: self._state.benchmarking > 0

    def install(self) -> None:
        """Replace them; what is there already stays underneath."""
        try:
            self._install()
        except BaseException:
            self.restore()
            raise

    def restore(self) -> None:
        """Put everything back as it was."""
        while self._undo:
            self._undo.pop()()
        for function in list(self._functions):
            if type(function.device_caches) is _Apart:
                function.device_caches = function.device_caches.clean
        for launcher in list(self._launchers):  # whoever holds their kernels: they ask nobody for an arena any more
            launcher.profile_scratch_size = 0

    def _install(self) -> None:
        backend, name, _ = self._vendor
        compiler = importlib.import_module("triton.backends").backends[backend].compiler
        made = importlib.import_module("triton.compiler.compiler")
        launcher = getattr(importlib.import_module(f"triton.backends.{backend}.driver"), name)
        self._replace(compiler, "add_stages", self._rewriter.staged)
        self._replace(made.ASTSource, "hash", self._rewriter.hashed)
        self._replace(made.CompiledKernel, "_init_handles", self._known)
        self._replace(importlib.import_module("triton.runtime.jit").JITFunction, "run", self._apart)
        self._replace(importlib.import_module("triton.runtime.autotuner").Autotuner, "_bench", self._benchmarked)
        self._replace(launcher, "__init__", self._made)
        self._replace(launcher, "__call__", self._called)
        self._undo.append(inductor_settings.launch_by_triton())
        allocation: Any = importlib.import_module("triton.runtime._allocation")
        before = allocation._profile_allocator
        allocation._profile_allocator = _Allocator(before, self._state)
        self._undo.append(functools.partial(setattr, allocation, "_profile_allocator", before))

    def _replace(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        before = owner.__dict__[name]
        setattr(owner, name, functools.wraps(before)(wrap(before)))
        self._undo.append(functools.partial(setattr, owner, name, before))

    def _apart(self, old: Any) -> Any:
        def run(function: Any, *args: Any, **kwargs: Any) -> Any:
            if type(function.device_caches) is not _Apart:
                function.device_caches = _Apart(function, self._state)
                self._functions.add(function)
            return old(function, *args, **kwargs)

        return run

    def _benchmarked(self, old: Any) -> Any:
        def bench(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            self._state.benchmarking += 1
            try:
                return old(tuner, *args, **kwargs)
            finally:
                self._state.benchmarking -= 1

        return bench

    def _known(self, old: Any) -> Any:
        def init_handles(kernel: Any) -> None:
            before, self._state.compiled = self._state.compiled, kernel
            try:
                old(kernel)
            finally:
                self._state.compiled = before

        return init_handles

    def _made(self, old: Any) -> Any:
        def init(launcher: Any, source: Any, metadata: Any) -> None:
            old(launcher, source, metadata)
            launcher.prlx_kernel = None  # it is known, and records nothing
            if getattr(metadata, TABLE, ""):
                launcher.prlx_kernel = Kernel(source, metadata, self._state.compiled, self._find)
                self._launchers.add(launcher)

        return init

    def _called(self, old: Any) -> Any:
        state, begin = self._state, self._begin

        def call(launcher: Any, grid_x: int, grid_y: int, grid_z: int, stream: int, function: Any, *rest: Any) -> Any:
            kernel: Any = getattr(launcher, "prlx_kernel", _BEFORE)
            if kernel is None or kernel is _BEFORE:
                if kernel is _BEFORE and not state.benchmarking:
                    self._unknown()
                return old(launcher, grid_x, grid_y, grid_z, stream, function, *rest)
            ticket = None
            if grid_x * grid_y * grid_z > 0:
                ticket = begin(kernel, (grid_x, grid_y, grid_z), stream, rest[_OURS:])
            before, state.arena = state.arena, None if ticket is None else ticket.arena
            try:
                done = old(launcher, grid_x, grid_y, grid_z, stream, function, *rest)
            except BaseException as error:
                if ticket is not None:
                    ticket.failed(error)
                raise
            finally:
                state.arena = before
            if ticket is not None:
                ticket.launched()
            return done

        return call


_BEFORE = object()  # stands for what launchers know that were made before anything was replaced
_ELSEWHERE = object()  # stands for the arena where no launch of ours is under way


class _State(threading.local):
    """What a thread is doing."""

    def __init__(self) -> None:
        self.benchmarking = 0
        self.compiled: Any = None
        self.arena: Any = _ELSEWHERE


class _Apart(dict[Any, Any]):
    """The kernels of a function by device: those that record, and in trials of the autotuner those that do not."""

    def __init__(self, function: Any, state: _State) -> None:
        super().__init__()
        self.clean = function.device_caches
        self._state = state
        self._make = function.create_binder

    def __getitem__(self, device: Any) -> Any:
        return self.clean[device] if self._state.benchmarking else super().__getitem__(device)

    def __missing__(self, device: Any) -> Any:
        return self.setdefault(device, self._make())


class _Allocator:
    """Stands where Triton looks for who allocates profile scratch."""

    def __init__(self, before: Any, state: _State) -> None:
        self._before = before
        self._state = state

    def get(self) -> Any:
        """The allocator: one that hands out the arena of this thread's launch, else whoever it was."""
        arena = self._state.arena
        return self._before.get() if arena is _ELSEWHERE else lambda *_: arena

    def __call__(self, *args: Any) -> Any:
        return self.get()(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._before, name)


def _of_tma(name: str, value: Any) -> Iterator[Parameter]:
    """A descriptor that the TMA reads: 128 bytes, then its shape and its strides."""
    from .launch import Parameter

    yield Parameter(name, "", 0, data=bytes(128))
    for i, (ty, item) in enumerate([("i32", n) for n in value.shape] + [("i64", n) for n in value.strides], start=1):
        yield Parameter(f"{name}.{i}", ty, item)
