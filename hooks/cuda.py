"""``device="cuda"`` in code that uses torch, on a machine without one: tensors are made on the CPU, and waiting is nothing.

What is mapped:

=====================================  ==============================================================================
device arguments                       of torch's functions and methods, ``tensor.cuda()``, ``tensor.is_cuda``,
                                       ``torch.set_default_device``, ``torch.Generator``, ``map_location`` of ``torch.load``
``torch.cuda``, ``torch.accelerator``  what host code asks: devices, streams, events, memory, random numbers (see
                                       ``cuda_answers``); what is not there raises what torch raises
``torch.autocast("cuda")``             lowers the precision on the CPU in the same way
pinning                                nothing, in every thread
=====================================  ==============================================================================

``tensor.device`` says the truth: ``cpu``. Moving a tensor copies it where a GPU would (see ``cuda_places``). CUDA graphs are
refused. Device arguments are mapped in the thread that enabled the mapping and in those that are started while it holds.

Every name gets a function or a class of its own, with the name, module and signature of what it stands for: torch._dynamo has
tables with functions as keys. What somebody has kept of ours does what the original does once the mapping has ended.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from .._errors import UsageError
from . import cuda_answers
from .cuda_places import Places


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
    mapping = _Mapping(torch)
    try:
        mapping.install(interface)
    except BaseException:
        mapping.close()
        raise
    return mapping.close


def is_cuda(value: object) -> bool:
    """Whether an argument names a CUDA device: ``"cuda"``, ``"cuda:1"`` or a ``torch.device``."""
    if isinstance(value, str):
        return value == "cuda" or value.startswith("cuda:")
    return type(value).__name__ == "device" and getattr(value, "type", None) == "cuda"


def mapped(value: Any) -> Any:
    """An argument with the CPU where it names a CUDA device, or a type of tensors there."""
    if is_cuda(value):
        return "cpu"
    if isinstance(value, str) and value.startswith("torch.cuda."):
        return value.replace("torch.cuda.", "torch.", 1)
    if isinstance(value, type) and value.__module__ == "torch.cuda":  # torch.cuda.FloatTensor and its kind
        return getattr(sys.modules["torch"], value.__name__, value)
    return value


def _numbered(value: Any) -> Any:
    """A device with the CPU where it is a number: those count CUDA devices."""
    return "cpu" if isinstance(value, int) and not isinstance(value, bool) else mapped(value)


def _names_cpu(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether the arguments of ``tensor.to`` name the CPU."""
    named = [
        value for value in (*args, kwargs.get("device")) if isinstance(value, str) or type(value).__name__ == "device"
    ]
    return any(str(value).partition(":")[0] == "cpu" for value in named)


class _Mapping:
    """What was replaced, and how to put it back."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.active = True
        self._undo = contextlib.ExitStack()
        self._originals: dict[int, tuple[Any, Any]] = {}  # by the id of what stands for it: both

    def install(self, interface: Any) -> None:
        """Replace everything."""
        self._undo.callback(self._unswap)
        torch, answers = self.torch, cuda_answers
        streams = answers.Streams()
        made = answers.classes(torch, interface, streams)
        functions = [
            (torch.cuda, answers.of_cuda(torch, streams, made)),
            (torch._C, answers.of_accelerator(torch, streams)),
        ]
        functions += [(getattr(torch.cuda, name, None), functions[0][1]) for name in ("memory", "random", "streams")]
        below = {name: answer for name, answer in functions[0][1].items() if name.startswith("_cuda_")}
        functions += [(torch._C, below), (getattr(torch.cuda, "nvtx", None), answers.of_nvtx())]
        pairs: list[tuple[Any, Any]] = []
        for owner, table in functions:
            for name, answer in table.items():
                original = vars(owner).get(name) if owner is not None else None
                if callable(original) and not isinstance(original, type):
                    pairs.append((original, self._function(original, answer)))
        for name, kind in made.items():
            owner, name = (torch, name[1:]) if name.startswith(".") else (torch.cuda, name)
            original = vars(owner).get(name)
            if isinstance(original, type):
                pairs.append((original, self._class(original, kind)))
        for name, original in vars(torch.cuda).items():
            if name.endswith("Tensor") and isinstance(original, type) and hasattr(torch, name):
                pairs.append((original, self._tensor_type(original, getattr(torch, name))))
        self._swap(pairs)
        self._single(torch)
        self._autocast(torch)
        self._mode(torch)
        self._forget()

    def close(self) -> None:
        """Put everything back."""
        self.active = False
        self._undo.close()
        self._forget()

    def _function(self, original: Any, answer: Callable[..., Any]) -> Any:
        """A function of its own that answers while the mapping holds."""

        @functools.wraps(original)
        def stand_in(*args: Any, **kwargs: Any) -> Any:
            return (answer if self.active else original)(*args, **kwargs)

        return stand_in

    def _class(self, original: type[Any], kind: type[Any]) -> Any:
        """A class of its own; instances of the original are its instances, too."""
        mapping = self

        class Kind(type):
            """Makes what the original makes once the mapping has ended."""

            def __call__(cls, *args: Any, **kwargs: Any) -> Any:
                if cls is made and not mapping.active:
                    return original(*args, **kwargs)
                return super().__call__(*args, **kwargs)

            def __instancecheck__(cls, instance: object) -> bool:
                return super().__instancecheck__(instance) or (cls is made and isinstance(instance, (original, kind)))

            def __subclasscheck__(cls, subclass: type) -> bool:
                return super().__subclasscheck__(subclass) or (cls is made and issubclass(subclass, (original, kind)))

        made = Kind(original.__name__, (kind,), _identity(original))
        return made

    def _tensor_type(self, original: type[Any], there: type[Any]) -> Any:
        """A type of tensors, such as ``torch.cuda.FloatTensor``, whose tensors are those of the CPU's type."""
        mapping = self

        class Kind(type):
            """Makes and knows tensors of the CPU's type."""

            def __call__(cls, *args: Any, **kwargs: Any) -> Any:
                return (there if mapping.active else original)(*args, **kwargs)

            def __instancecheck__(cls, instance: object) -> bool:
                return isinstance(instance, there if mapping.active else original)

        return Kind(original.__name__, (), _identity(original))

    def _swap(self, pairs: list[tuple[Any, Any]]) -> None:
        """Put what stands for something wherever a module of torch has it under some name."""
        to: dict[int, Any] = {}
        for original, made in pairs:
            if id(original) not in to:
                to[id(original)] = made
                self._originals[id(made)] = original, made
        for names, name, value in _bindings(self.torch):
            if id(value) in to:
                names[name] = to[id(value)]

    def _unswap(self) -> None:
        """Put the originals back, also in modules that were imported in the meantime."""
        for names, name, value in _bindings(self.torch):
            if id(value) in self._originals:
                names[name] = self._originals[id(value)][0]

    def _set(self, owner: Any, name: str, value: Any) -> None:
        missing = object()
        before = owner.__dict__.get(name, missing)
        setattr(owner, name, value)
        if before is not missing:
            self._originals[id(value)] = before, value
        self._undo.callback(*((delattr, owner, name) if before is missing else (setattr, owner, name, before)))

    def _single(self, torch: Any) -> None:
        """What is in one place each."""
        whole = torch.Generator

        class AnyGenerator(type):
            """Makes the CPU's generator for a CUDA device; instances are torch's own."""

            def __call__(cls, device: Any = "cpu") -> Any:
                return whole(mapped(device) if mapping.active else device)

            def __instancecheck__(cls, instance: object) -> bool:
                return isinstance(instance, whole)

        mapping = self
        named = {**_identity(whole), "__module__": "torch"}  # generators are pickled as what torch.Generator makes
        self._set(torch, "Generator", AnyGenerator("Generator", (), named))
        set_default = torch.set_default_device
        self._set(
            torch, "set_default_device", self._function(set_default, lambda device: set_default(_numbered(device)))
        )
        self._set(torch.cuda, "default_generators", (torch.default_generator,))
        serialization = importlib.import_module("torch.serialization")
        restore = serialization.default_restore_location
        self._set(
            serialization, "default_restore_location",
            self._function(restore, lambda storage, location: restore(storage, mapped(location))),
        )  # fmt: skip
        for owner, names in (
            (torch.Tensor, ("pin_memory", "record_stream")),  # those that a mode does not see in every thread
            (torch.UntypedStorage, ("pin_memory", "cuda")),
            (torch.TypedStorage, ("pin_memory", "cuda")),
        ):
            for name in names:
                answer = cuda_answers.nothing if name == "record_stream" else lambda it, *_, **__: it
                self._set(owner, name, self._function(getattr(owner, name), answer))
        parallel = torch.nn.DataParallel
        forward = self._function(parallel.forward, lambda it, *args, **kwargs: it.module(*args, **kwargs))
        self._set(parallel, "forward", forward)  # one device: nothing is scattered
        optimizer = importlib.import_module("torch.optim.optimizer")
        if hasattr(optimizer, "_get_capturable_supported_devices"):
            devices = optimizer._get_capturable_supported_devices
            made = self._function(devices, lambda *args, **kwargs: [*devices(*args, **kwargs), "cpu"])
            self._swap([(devices, made)])

    def _autocast(self, torch: Any) -> None:
        """Let ``torch.autocast("cuda")`` lower the precision on the CPU, too; torch still says that it is on for CUDA."""
        autocast = torch.amp.autocast_mode.autocast
        enter, leave = autocast.__enter__, autocast.__exit__
        halves = (torch.float16, torch.bfloat16)
        inner: dict[int, list[Any]] = {}  # of contexts that were entered, by their id

        def entered(context: Any) -> Any:
            result = enter(context)
            if context.device == "cuda":
                wanted = context._enabled and context.fast_dtype in halves
                kind = context.fast_dtype if wanted else torch.bfloat16
                companion = autocast("cpu", dtype=kind, enabled=wanted, cache_enabled=context._cache_enabled)
                enter(companion)
                inner.setdefault(id(context), []).append(companion)
            return result

        def left(context: Any, *error: Any) -> Any:
            companions = inner.get(id(context))
            if companions:
                leave(companions.pop(), *error)
                if not companions:
                    del inner[id(context)]
            return leave(context, *error)

        self._set(autocast, "__enter__", self._function(enter, entered))
        self._set(autocast, "__exit__", functools.wraps(leave)(left))

    def _mode(self, torch: Any) -> None:
        """Map the device arguments of everything that torch lets a mode see."""
        overrides = importlib.import_module("torch.overrides")
        flag, to, cuda, cpu = torch.Tensor.is_cuda.__get__, torch.Tensor.to, torch.Tensor.cuda, torch.Tensor.cpu
        mapping, places = self, Places(torch)

        def torch_function(
            mode: object, function: Any, types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            del mode, types
            given = dict(kwargs or {})
            if not mapping.active or function is torch.device:  # a device by itself is what the program says
                return function(*args, **given)
            if function == flag:
                return True
            if function == cuda:
                return places.moved(function, args, {}, args[0], to="cuda")
            changed = {name: _numbered(value) if name == "device" else mapped(value) for name, value in given.items()}
            if changed.get("pin_memory"):
                changed["pin_memory"] = False  # pinning needs a driver
            here = [*map(mapped, args)]
            if function == to and len(args) > 1:
                here[1] = _numbered(args[1])
            result = function(*here, **changed)
            named = "cuda" if any(new is not old for new, old in zip(here, args, strict=True)) else ""
            named = named or ("cuda" if changed.get("device") is not given.get("device") else "")
            if function == to and not named:
                other = [value for value in (*args[1:2], *given.values()) if isinstance(value, torch.Tensor)]
                named = "cuda" if other and places.has(other[0]) else "cpu" if _names_cpu(args[1:2], given) else ""
            return places.moved(function, args, given, result, to="cpu" if function == cpu else named)

        mode = type("MapCUDA", (overrides.TorchFunctionMode,), {"__torch_function__": torch_function})()
        mode.__enter__()
        self._undo.callback(_leave, mode, torch, overrides)
        start = threading.Thread.start

        def started(thread: threading.Thread) -> None:
            """A mode holds in its thread: those that are started now enter it first."""
            run = thread.run

            def run_mapped() -> None:
                with mode:
                    run()

            thread.run = run_mapped  # type: ignore[method-assign]
            start(thread)

        self._set(threading.Thread, "start", self._function(start, started))

    def _forget(self) -> None:
        """Empty the caches in which torch keeps what CUDA answered, or which function is which."""
        for name in ("torch.utils._triton", "torch._dynamo.trace_rules", "torch.overrides"):
            for value in list(vars(sys.modules.get(name, object)).values()):
                clear = getattr(value, "cache_clear", None)
                if callable(clear) and getattr(value, "__module__", None) == name:
                    clear()


def _identity(original: Any) -> dict[str, Any]:
    """The names of a class that stands for another one."""
    return {"__module__": original.__module__, "__qualname__": original.__qualname__, "__doc__": original.__doc__}


def _bindings(torch: Any) -> Iterator[tuple[dict[str, Any], str, Any]]:
    """What the modules of torch have under which name."""
    prefix = f"{torch.__name__}."
    for module_name, module in list(sys.modules.items()):
        if (module is torch or module_name.startswith(prefix)) and isinstance(module, ModuleType):
            names = vars(module)
            for name, value in list(names.items()):
                yield names, name, value


def _leave(mode: Any, torch: Any, overrides: Any) -> None:
    """Take a mode away, also from below others that are still entered."""
    above = []
    while torch._C._len_torch_function_stack():
        top = overrides._pop_mode()
        if top is mode:
            break
        above.append(top)
    for other in reversed(above):
        overrides._push_mode(other)
