"""What of Triton is replaced while a device of ours is active. ``Surfaces.install`` replaces it, ``restore`` puts it back.

Every surface is looked for; none is taken for granted from a version number:

==============================  ==================================================================================
``driver._active``              the driver object that ``kernel[grid](...)`` asks for everything
``driver._default``             the one that ``reset_active`` goes back to
the NVIDIA compiler             ends with the PTX text instead of machine code, and says so in the key of its cache
``run`` of kernels              takes ndarrays, also from the autotuner and heuristics, which ask them for methods
the autotuner                   keeps what it learns on our device apart from what it learnt on others
``CompiledKernel``              its handles are ours while we are active, and nobody's afterwards
``TensorDescriptor``            takes ndarrays
==============================  ==================================================================================
"""

from __future__ import annotations

import functools
import importlib
import weakref
from collections.abc import Callable
from typing import Any

from .._errors import UsageError
from .arrays import converted, is_plain_array
from .instrument import Rewriter

_LEARNT = ("cache", "do_bench", "best_config", "configs_timings")  # what an autotuner keeps between launches


def _module(name: str) -> Any:
    return importlib.import_module(name)


class Surfaces:
    """The parts of Triton that a device of ours replaces, and what was there before.

    Parameters
    ----------
    key
        What goes into the key of the compile cache, so that what we compile never meets what others compile.
    rewriter
        Makes kernels record by themselves; None leaves them alone.
    """

    def __init__(self, key: str, rewriter: Rewriter | None = None) -> None:
        self._key = key
        self._rewriter = rewriter
        self._undo: list[Callable[[], None]] = []
        self._driver: object = None
        self._kernels: weakref.WeakSet[Any] = weakref.WeakSet()
        self._tuners: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()
        self.benchmarking = 0
        """How many benchmarks of the autotuner are under way."""
        self.on_leaving: Callable[[str, str], object] = lambda _kernel, _driver: None
        """Is told of a kernel that is loaded while the program has made another driver active, and of that driver's class."""

    def install(self, driver: object) -> None:
        """Make ``driver`` the active one and replace everything else; what is there already stays underneath."""
        try:
            self._install(driver)
        except BaseException:
            self.restore()
            raise

    def restore(self) -> None:
        """Put everything back as it was."""
        while self._undo:
            self._undo.pop()()
        for kernel in list(self._kernels):  # its next launch asks whichever driver is active then
            kernel.module = kernel.function = kernel._run = None
        for tuner, before in list(self._tuners.items()):
            _swap(tuner, before)
        self._kernels.clear()
        self._tuners.clear()

    def _install(self, driver: object) -> None:
        compiler = _compiler()
        self._replace(compiler, "add_stages", _ends_with_ptx)
        self._replace(compiler, "hash", self._keyed)
        if self._rewriter is not None:
            self._replace(compiler, "add_stages", self._rewriter.staged)
            self._replace(_module("triton.compiler.compiler").ASTSource, "hash", self._rewriter.hashed)
        jit, tuner = _module("triton.runtime.jit"), _module("triton.runtime.autotuner")
        self._replace(jit.JITFunction, "run", _takes_arrays)
        for name in ("Autotuner", "Heuristics"):
            if hasattr(tuner, name):
                self._replace(getattr(tuner, name), "run", _takes_arrays)
        self._replace(tuner.Autotuner, "run", self._apart)
        self._replace(tuner.Autotuner, "_bench", self._benchmarked)
        self._replace(_module("triton.compiler.compiler").CompiledKernel, "_init_handles", self._noticed)
        self._descriptors()
        config = _module("triton.runtime").driver
        for name in ("_active", "_default"):
            if hasattr(config, name):
                self._undo.append(functools.partial(setattr, config, name, getattr(config, name)))
                setattr(config, name, driver)
        self._driver = driver

    def _replace(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        """Replace a method by what ``wrap`` makes of it; a method that is not there needs no replacement."""
        before = owner.__dict__.get(name)
        if before is None:
            return
        static = isinstance(before, staticmethod)
        made = wrap(before.__func__ if static else before)
        setattr(owner, name, staticmethod(made) if static else made)
        self._undo.append(functools.partial(setattr, owner, name, before))

    def _descriptors(self) -> None:
        try:
            descriptor = _module("triton.tools.tensor_descriptor").TensorDescriptor
        except (ImportError, AttributeError):
            return
        self._replace(descriptor, "__post_init__", _takes_base)
        self._replace(descriptor, "from_tensor", _takes_arrays)

    def _keyed(self, old: Any) -> Any:
        @functools.wraps(old)
        def hash(backend: Any) -> str:
            return f"{old(backend)}-{self._key}"

        return hash

    def _apart(self, old: Any) -> Any:
        @functools.wraps(old)
        def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            if tuner not in self._tuners:
                self._tuners[tuner] = _swap(tuner, {"cache": {}})
            return old(tuner, *args, **kwargs)

        return run

    def _benchmarked(self, old: Any) -> Any:
        @functools.wraps(old)
        def bench(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            self.benchmarking += 1
            try:
                return old(tuner, *args, **kwargs)
            finally:
                self.benchmarking -= 1

        return bench

    def _noticed(self, old: Any) -> Any:
        @functools.wraps(old)
        def init(kernel: Any) -> None:
            active = _module("triton.runtime.jit").driver.active
            if kernel.module is None and active is not self._driver:
                self.on_leaving(str(kernel.name), type(active).__name__)
            self._kernels.add(kernel)
            old(kernel)

        return init


def _swap(tuner: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Give an autotuner other knowledge and return what it knew."""
    before = {name: tuner.__dict__.pop(name) for name in _LEARNT if name in tuner.__dict__}
    tuner.__dict__.update(values)
    return before


def _compiler() -> Any:
    backends = _module("triton.backends").backends
    if "nvidia" not in backends:
        raise UsageError(
            "this Triton has no NVIDIA backend, so it makes no PTX", hint="install the triton package from PyPI"
        )
    return backends["nvidia"].compiler


def _ends_with_ptx(old: Any) -> Any:
    """The last stage hands on the PTX text: no assembler runs, and the driver is given what the simulator executes."""

    @functools.wraps(old)
    def add_stages(backend: Any, stages: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        old(backend, stages, *args, **kwargs)
        stages["cubin"] = Unassembled(stages.get("cubin"))

    return add_stages


class Unassembled:
    """A last stage that hands on the text of PTX. ``assembles`` is the stage that stood there, which says what a GPU needs."""

    def __init__(self, assembles: Any) -> None:
        self.assembles = assembles

    def __call__(self, text: str, _metadata: Any) -> bytes:
        """Hand it on."""
        return text.encode()


def _takes_arrays(old: Any) -> Any:
    @functools.wraps(old)
    def run(*args: Any, **kwargs: Any) -> Any:
        return old(*map(converted, args), **{name: converted(value) for name, value in kwargs.items()})

    return run


def _takes_base(old: Any) -> Any:
    @functools.wraps(old)
    def post_init(descriptor: Any) -> None:
        if is_plain_array(descriptor.base):
            descriptor.base = converted(descriptor.base)
        old(descriptor)

    return post_init


def check() -> None:
    """Refuse to enable a device where no compiled kernel would run.

    Raises
    ------
    UsageError
        Triton is not installed, or its interpreter takes the place of the compiler.
    """
    import os

    try:
        _module("triton")
    except ImportError as error:
        raise UsageError(f"Triton cannot be imported: {error}", hint="pip install triton") from error
    if os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on", "y", "yes"):
        raise UsageError(
            "TRITON_INTERPRET is set: kernels run in Triton's interpreter, and none is compiled",
            hint="unset TRITON_INTERPRET; the simulator runs the compiled kernel",
        )


def sees_gpu() -> bool:
    """Whether Triton has a GPU to launch on."""
    try:
        return any(backend.driver.is_active() for backend in _module("triton.backends").backends.values())
    except Exception:  # a driver that cannot even say so is none
        return False
