"""What of torch's compiler is replaced while its kernels run on the simulator, and how it is put back.

Tensors stay on the CPU, where torch needs no driver and the simulator works in place. The graph that Inductor compiles is moved
to a GPU (``inductor_graph``) after autograd has made it, so that Inductor writes what it writes for an sm_80: Triton, with the
heuristics and templates of a GPU. The other way that was proven, stand-ins for ``libcuda`` and ``libcudart`` below a CUDA build
of torch, replaces no name of torch, but needs that build: five gigabytes, and none for a Mac. This one runs with the torch that
laptops and CI have, and sees of every kernel where it comes from. Launches arrive at the same ``Launch`` either way.

============================================  ========================================================================
``compile_fx._compile_fx_inner``              its graph is moved; its kernels remember their nodes
``device_interfaces["cuda"]``                 the simulated device
``PythonWrapperCodegen``, ``DeviceOpOverrides``  generated code allocates on the CPU, and names no stream and no device
``CachingAutotuner.run``, ``bench``           the launch knows its kernel; trials are no part of the program
``CachingAutotuner.precompile``               copies of the user's kernels have the user's lines
``Benchmarker``                               the device's clock
``config``                                    own launchers, compilers in this process, no cache of graphs
``TORCHINDUCTOR_CACHE_DIR``                   a folder of its own: what was tuned here is never met elsewhere
============================================  ========================================================================

Functions that were compiled before are compiled again, and again after ``restore``: torch forgets what it compiled.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .._errors import UsageError
from . import inductor_device, inductor_graph, inductor_lines, inductor_origin, inductor_settings
from .simulator import ARCH, Device
from .triton import Surfaces

_CONFIG = {  # of torch._inductor.config; the first name is today's
    inductor_settings.STATIC_LAUNCHER: False,
    ("fx_graph_cache",): False,
    ("fx_graph_remote_cache",): False,
    ("compile_threads",): 1,
    ("autotune_in_subproc",): False,
    ("pipeline_max_autotune_gemm",): False,
    ("cpp_wrapper",): False,
}
TESTED = ("2.14.1", "2.15.0")  # versions of torch, with every Triton of the table in docs/pytorch.md
_FOLDER = f"prlx-sm{ARCH}"  # below Inductor's own folder for caches
_CACHED = (  # modules whose cached answers are about devices
    "torch.utils._triton",
    "torch._inductor.utils",
    "torch._inductor.runtime.hints",
    "torch._inductor.runtime.triton_helpers",
    "torch._inductor.codegen.cuda.cuda_env",
)


def _module(name: str) -> Any:
    return importlib.import_module(name)


class Inductor:
    """The parts of torch's compiler that are replaced, and what was there before.

    Parameters
    ----------
    device
        The simulated device.
    surfaces
        What is replaced of Triton: it counts the trials of autotuners.
    events
        What has the device's ``Event``.
    """

    def __init__(self, device: Device, surfaces: Surfaces, events: Any) -> None:
        self._device, self._surfaces, self._events = device, surfaces, events
        self._undo: list[Callable[[], None]] = []
        self.regions: list[str] = []
        self.running = inductor_origin.Running(self.regions)
        self._copies = inductor_lines.Copies()

    def install(self) -> None:
        """Replace everything.

        Raises
        ------
        UsageError
            torch cannot be imported, or has no place that is to be replaced.
        """
        try:
            self._torch = _module("torch")
            _module("torch._dynamo")
            _module("torch._inductor.compile_fx")
        except ImportError as error:
            raise UsageError(f"torch cannot be imported: {error}", hint="pip install torch") from error
        try:
            self._install()
        except BaseException as error:
            self.restore()
            if isinstance(error, Exception) and not isinstance(error, UsageError):
                raise self._unfit(f"{type(error).__name__}: {error}") from error
            raise

    def _unfit(self, reason: str) -> UsageError:
        """The error for a torch whose compiler is not as this one expects it: with both versions, and those that fit."""
        triton = getattr(sys.modules.get("triton"), "__version__", "of an unknown version")
        return UsageError(
            f"the compiler of torch {self._torch.__version__} with Triton {triton} cannot be run on the simulator: {reason}",
            hint=f"torch {' and '.join(TESTED)} were tested: pip install torch=={TESTED[-1]}",
        )

    def restore(self) -> None:
        """Put everything back as it was."""
        while self._undo:
            self._undo.pop()()

    def _install(self) -> None:
        torch = self._torch
        self._undo.append(_forget)
        self._answers = inductor_device.Answers(torch, self._events)
        self._interfaces()
        self._configure()
        self._environment()
        compile_fx = _module("torch._inductor.compile_fx")
        self._replace(compile_fx, "_compile_fx_inner", self._compiled)
        self._replace(_module("torch._inductor.output_code").CompiledFxGraph, "__call__", self._ran)
        self._generated_code()
        self._launches()
        benchmarks = inductor_device.Benchmarks(self._device.clock, self._trial)
        for owner, name, made in benchmarks.replacements():
            self._set(owner, name, made)
        self._random_values()
        self._flex_attention()
        self._device.origin = self.running.origin
        self._undo.append(functools.partial(setattr, self._device, "origin", None))
        _forget()

    def _replace(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        """Replace a function by what ``wrap`` makes of it."""
        before = vars(owner).get(name)
        if before is None:
            raise self._unfit(f"{getattr(owner, '__name__', owner)} has no {name}")
        self._set(owner, name, wrap(before))

    def _set(self, owner: Any, name: str, value: Any) -> None:
        before = vars(owner)[name]
        setattr(owner, name, value)
        self._undo.append(functools.partial(setattr, owner, name, before))

    def _interfaces(self) -> None:
        """Let the compiler find the simulated device where it looks for a GPU's driver."""
        interfaces = _module("torch._dynamo.device_interface")
        base = interfaces.get_interface_for_device("cuda")  # fills the table
        table = interfaces.device_interfaces
        before = dict(table)

        def back() -> None:
            table.clear()
            table.update(before)

        self._undo.append(back)
        made = inductor_device.interface(base, self._events)
        table.update(dict.fromkeys(("cuda", "cuda:0", *(name for name in table if name.startswith("cuda"))), made))

    def _configure(self) -> None:
        config, functorch = _module("torch._inductor.config"), _module("torch._functorch.config")
        for names, value in _CONFIG.items():
            name = next((name for name in names if name in config._config), None)
            if name is not None:
                self._undo.append(inductor_settings.forced(config, name, value))
        for name in ("enable_autograd_cache", "enable_remote_autograd_cache", "bundled_autograd_cache"):
            if name in functorch._config:
                self._undo.append(inductor_settings.forced(functorch, name, False))

    def _environment(self) -> None:
        """A folder of its own for what is generated and tuned."""
        name = "TORCHINDUCTOR_CACHE_DIR"
        before = os.environ.get(name)
        whole = _module("torch._inductor.runtime.cache_dir_utils").cache_dir()
        os.environ[name] = str(Path(whole, _FOLDER))

        def back() -> None:
            if before is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = before

        self._undo.append(back)

    def _compiled(self, old: Any) -> Any:
        """Compile a graph as if its tensors were on a GPU, and remember what its kernels compute."""

        @functools.wraps(old)
        def compile_inner(module: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            graph = inductor_origin.Graph(self._frame(), bool(kwargs.get("is_backward")))
            inductor_origin.number(module)
            mover = inductor_graph.Mover(self._torch)
            mover.graph(module)
            mover.constants(module, inputs)
            kwargs["cudagraphs"] = _module("torch._inductor.utils").BoxedBool(False)
            try:
                with self.running.now(compiling=graph), self._answers.given():
                    done = old(module, [mover.value(one) for one in inputs], *args, **kwargs)
            finally:
                mover.close()
            with contextlib.suppress(AttributeError):  # a graph without operations is a plain function
                done._prlx_graph = graph
            return done

        return compile_inner

    def _frame(self) -> str:
        found = self._torch._guards.CompileContext.current_compile_id()
        return "" if found is None else str(found)

    def _ran(self, old: Any) -> Any:
        @functools.wraps(old)
        def call(compiled: Any, inputs: Any) -> Any:
            with self.running.now(graph=getattr(compiled, "_prlx_graph", None), calls=Counter()):
                return old(compiled, inputs)

        return call

    def _generated_code(self) -> None:
        """What Inductor writes: no call of CUDA; and what it remembers of it."""
        common, wrapper = _module("torch._inductor.codegen.common"), _module("torch._inductor.codegen.wrapper")
        common.get_device_op_overrides("cuda")  # fills the table
        table = common.device_op_overrides_dict
        before = table["cuda"]
        table["cuda"] = inductor_device.overrides(type(before))
        self._undo.append(functools.partial(table.__setitem__, "cuda", before))
        self._replace(wrapper.PythonWrapperCodegen, "write_header", _named_ours)
        self._replace(wrapper.PythonWrapperCodegen, "define_user_defined_triton_kernel", self._defined_by_user)
        self._replace(_module("torch._inductor.ir").UserDefinedTritonKernel, "codegen", self._written)
        self._replace(_module("torch._inductor.codegen.triton").TritonScheduling, "define_kernel", self._defined)
        graph = _module("torch._inductor.graph")
        for name, wrap in inductor_graph.constants(self._torch, self._torch.device("cuda", 0)).items():
            owner = graph.GraphLowering if name.startswith(".") else graph
            self._replace(owner, name.removeprefix("."), wrap)

    def _defined(self, old: Any) -> Any:
        @functools.wraps(old)
        def define_kernel(scheduling: Any, source: str, schedule: Any, kernel: Any, *args: Any, **kwargs: Any) -> Any:
            name = old(scheduling, source, schedule, kernel, *args, **kwargs)
            if self.running.compiling is not None:
                self.running.compiling.add(name, inductor_origin.nodes_of(schedule))
            return name

        return define_kernel

    def _written(self, old: Any) -> Any:
        @functools.wraps(old)
        def codegen(node: Any, *args: Any, **kwargs: Any) -> Any:
            with self.running.now(writing=tuple(getattr(node, "origins", ()))):
                return old(node, *args, **kwargs)

        return codegen

    def _defined_by_user(self, old: Any) -> Any:
        @functools.wraps(old)
        def define(wrapper: Any, kernel: Any, *args: Any, **kwargs: Any) -> Any:
            made = old(wrapper, kernel, *args, **kwargs)
            name = made[0] if isinstance(made, tuple) else made
            self._copies.add(name, kernel)
            if self.running.compiling is not None:
                self.running.compiling.add(name, self.running.writing)
            return made

        return define

    def _launches(self) -> None:
        heuristics = _module("torch._inductor.runtime.triton_heuristics")
        helpers = _module("torch._inductor.runtime.triton_helpers")
        for name in ("set_driver_to_gpu", "set_driver_to_cpu"):
            self._replace(helpers, name, lambda old: functools.wraps(old)(lambda: None))
        self._replace(heuristics.CachingAutotuner, "run", self._run)
        self._replace(heuristics.CachingAutotuner, "bench", self._benched)
        self._replace(heuristics.CachingAutotuner, "precompile", self._placed)

    def _placed(self, old: Any) -> Any:
        @functools.wraps(old)
        def precompile(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            self._copies.place(_name(kernel), kernel.fn)
            return old(kernel, *args, **kwargs)

        return precompile

    def _run(self, old: Any) -> Any:
        @functools.wraps(old)
        def run(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            name = _name(kernel)
            compiling = self.running.compiling is not None and self.running.graph is None
            trial = self._trial() if compiling else contextlib.nullcontext()  # while it compiles, Inductor only tries
            if not self._surfaces.benchmarking and not compiling:
                self.running.calls[name] += 1
            with trial, self.running.now(kernel=name), self._answers.given(), self._device.own_scratch():
                return old(kernel, *args, **kwargs)

        return run

    def _benched(self, old: Any) -> Any:
        @functools.wraps(old)
        def bench(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            with self._trial():
                return old(kernel, *args, **kwargs)

        return bench

    @contextlib.contextmanager
    def _trial(self) -> Iterator[None]:
        """A launch by which something is tuned."""
        self._surfaces.benchmarking += 1
        try:
            with self._device.own_scratch():
                yield
        finally:
            self._surfaces.benchmarking -= 1

    def _flex_attention(self) -> None:
        """What flex attention refuses or leaves out on a CPU, and Inductor has kernels for."""
        flex = _module("torch.nn.attention.flex_attention")
        if "_validate_device" in vars(flex):
            self._set(flex, "_validate_device", _any_device)
        if "_apply_kernel_options" in vars(flex):
            self._replace(flex, "_apply_kernel_options", _with_sums)

    def _random_values(self) -> None:
        """What kernels are tuned with is made on the CPU."""
        made = _module("torch._dynamo.testing").rand_strided

        @functools.wraps(made)
        def rand_strided(size: Any, stride: Any, *args: Any, device: Any = "cpu", **options: Any) -> Any:
            del device
            if len(args) > 1:  # the second is a device, too
                args = (args[0], "cpu", *args[2:])
                return made(size, stride, *args, **options)
            return made(size, stride, *args, device="cpu", **options)

        for name, module in list(sys.modules.items()):
            if name.startswith("torch.") and vars(module).get("rand_strided") is made:
                self._set(module, "rand_strided", rand_strided)


def _name(kernel: Any) -> str:
    """The name of a kernel in the code that Inductor writes."""
    return str(kernel.inductor_meta.get("kernel_name") or kernel.fn.__name__)


def _any_device(query: Any, key: Any, value: Any) -> None:
    """Take tensors wherever they are. Torch's compiler reads this function, too."""


def _with_sums(old: Any) -> Any:
    """Flex attention leaves the logarithms of its sums to the backward pass on a GPU, and does not on a CPU."""

    def apply_kernel_options(*args: Any, **kwargs: Any) -> Any:
        options = old(*args, **kwargs)
        options["OUTPUT_LOGSUMEXP"] = True
        return options

    return apply_kernel_options


def _named_ours(old: Any) -> Any:
    """The header of generated code, whose names for devices and memory are ours."""

    @functools.wraps(old)
    def write_header(wrapper: Any) -> None:
        old(wrapper)
        wrapper.header.splice(f"from {inductor_device.NAMES} import device, empty_strided_cuda\n")

    return write_header


def _forget() -> None:
    """Let torch forget what it compiled, and what it knows of devices."""
    _module("torch._dynamo").reset()
    _module("torch._inductor.codecache").PyCodeCache.cache_clear()
    _module("torch._inductor.async_compile").CompiledTritonKernels.cache_clear()
    for name in _CACHED:
        for value in list(vars(sys.modules.get(name, object)).values()):
            if isinstance(value, functools._lru_cache_wrapper) and value.__module__ == name:
                value.cache_clear()
    create = _module("torch._inductor.runtime.hints").DeviceProperties.__dict__["create"]
    create.__func__.cache_clear()
