"""What of torch is listened to while a tape of training steps is written: operators, modules and optimizers.

Nothing is replaced. A ``TorchDispatchMode`` sees each operator below autograd, where what ran is what was computed. Global
hooks of modules say in whose forward it ran, those of optimizers where the third phase begins and ends. All of it is removed
with ``close``.

The module of a backward operator is that of the forward operator whose autograd node runs: both have one sequence number. An
operator of an optimizer belongs to the parameter that it, or the last one before it, was about.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from . import collectives
from .frames import Frames
from .tensors import INPUT, MUTATED, OUTPUT, UNINITIALIZED, Record, Tensors, storage

FORWARD, BACKWARD, OPTIMIZER = range(3)

_SCALARS = frozenset((bool, int, float, str))
_MOST_TEXT = 1000  # characters of the arguments of one operator
_WRAPPERS = (
    "_orig_mod",
    "_fsdp_wrapped_module",
    "_checkpoint_wrapped_module",
)  # parts of paths that a wrapper adds
_DISTRIBUTED = ("DistributedDataParallel", "DataParallel")
# Operators that write an argument without reading it: what was in it before can be anything.
_WRITES_ONLY = frozenset(
    (
        *("copy_", "fill_", "zero_", "normal_", "uniform_", "bernoulli_", "random_", "exponential_", "geometric_"),
        *("cauchy_", "log_normal_", "_foreach_zero_", "_foreach_copy_"),
    )
)


class Sink(Protocol):
    """Who writes down what is seen."""

    def step(self, number: int) -> None:
        """A step begins that is to be taken."""

    def look(self, record: Record) -> None:
        """Look at the tensors of a record now: its operator writes some of them."""

    def add(self, record: Record, generator: list[int] | None) -> None:
        """An operator ran."""


@dataclass(frozen=True)
class _Plan:
    """What is known of an operator by its schema."""

    name: str
    skip: str  # why it is not taken, "" where it is
    names: tuple[str, ...]  # of its arguments
    written: frozenset[str]  # arguments that it writes
    unread: frozenset[str]  # of these, those that it does not read
    random: bool
    many: bool  # it is about many parameters at once
    waits: bool  # its results are there only after a wait
    pending: bool  # nobody knows when its results are there
    ends: bool  # it is the last of a step: a scaler of gradients, which may have left out the optimizer


class Listener:
    """Tells a sink what the operators of training steps get and make, until it is closed.

    Parameters
    ----------
    sink
        Who writes it down.
    every
        One step in so many is taken: those whose number it divides.
    modules
        Whether modules are taken, not operators.
    failed
        Is told what went wrong when taking cannot go on; the training does.
    """

    def __init__(self, sink: Sink, *, every: int, modules: bool, failed: Callable[[str], None]) -> None:
        self._torch = importlib.import_module("torch")
        self._sink = sink
        self._every = every
        self._modules = modules
        self._failed = failed
        self.skipped: Counter[str] = Counter()
        self.number = -1  # of the step
        self._taking = False
        self._over = True  # the step has ended; the next begins with what comes next
        self._stopped = False  # for good
        self._pausing = False
        self._by_hand = False  # somebody says where steps begin
        self._optimizing = 0
        self._stepped: set[int] = set()  # optimizers that have stepped in this step
        self._stack: list[tuple[str, str]] = []
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._parameters: dict[int, str] = {}
        self._owners: dict[int, str] = {}
        self._unowned: Any = None  # the optimizer that steps, until its first own operator
        self._differentiable = False  # gradients go through what it computes
        self._owner = ""
        self._nodes: dict[
            int, tuple[str, str, str]
        ] = {}  # sequence number of an autograd node -> whose forward made it, where
        self._frames = Frames(self._torch)
        self._tensors = Tensors(self._torch)
        self._plans: dict[Any, _Plan] = {}
        self._closing = contextlib.ExitStack()
        self._handles: tuple[Any, ...] = ()  # of the hooks of modules
        self._mode: Any = None
        self._lock = threading.RLock()

    # begin and end

    def open(self) -> None:
        """Begin to listen."""
        optim = importlib.import_module("torch.optim.optimizer")
        with contextlib.ExitStack() as stack:
            for handle in (
                optim.register_optimizer_step_pre_hook(self._before_optimizer),
                optim.register_optimizer_step_post_hook(self._after_optimizer),
            ):
                stack.callback(handle.remove)
            stack.callback(self._follow_modules, False)
            self._follow_modules(True)
            self._closing = stack.pop_all()
        if not self._modules:
            self._mode = _mode_of(self._torch)(self._dispatch)
        if self._wanted(0):
            self._switch(True)

    def _follow_modules(self, on: bool) -> None:
        """Be called by modules, or not: torch calls a module faster where nobody is.

        A step that is not taken needs the first of them, which says that it begins.
        """
        if on == bool(self._handles):
            return
        if on:
            hooks = importlib.import_module("torch.nn.modules.module")
            self._handles = (
                hooks.register_module_forward_pre_hook(self._enter),
                hooks.register_module_forward_hook(self._leave, always_call=True),
            )
            return
        for handle in self._handles:
            handle.remove()
        self._handles = ()
        self._stack.clear()

    def close(self) -> None:
        """Remove everything."""
        self._switch(False)
        self._closing.close()
        self._taking = False

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Take nothing meanwhile, and begin no step."""
        before, self._pausing = self._pausing, True
        try:
            yield
        finally:
            self._pausing = before

    def step(self) -> None:
        """Say that the next step begins here; from now on steps begin only where somebody says so."""
        self._by_hand = True
        if self.number < 0 and not self._over:
            return
        self._over = True
        self._switch(self._wanted(self.number + 1))
        self._begin()

    def _wanted(self, number: int) -> bool:
        return not self._stopped and number % self._every == 0

    def _switch(self, on: bool) -> None:
        """Enter or leave the mode; another mode that was entered since keeps ours where it is."""
        if self._mode is None or on == self._mode.entered:
            return
        if on:
            self._mode.__enter__()
            self._mode.entered = True
        elif self._torch.utils._python_dispatch._get_current_dispatch_mode() is self._mode:
            self._mode.__exit__(None, None, None)
            self._mode.entered = False

    def _begin(self) -> None:
        """The next step begins."""
        self._over = False
        self._stepped.clear()
        self._nodes.clear()
        self._tensors.forget()
        self.number += 1
        self._taking = self._wanted(self.number)
        self._switch(self._taking)
        self._follow_modules(self._taking)
        if self._taking:
            self._guarded(self._sink.step, self.number)

    def _guarded(self, call: Callable[..., object], *args: Any) -> None:
        """Call what may fail; a training goes on without its tape."""
        try:
            call(*args)
        except Exception as error:
            self.stop(str(error) or type(error).__name__)

    def stop(self, why: str) -> None:
        """Stop taking before the run ends."""
        self._taking = False
        self._stopped = True
        self._failed(why)

    # modules and optimizers

    def _enter(self, module: Any, args: Any) -> None:  # noqa: ARG002
        if self._over and not self._by_hand and not self._updates():
            self._begin()
            if not self._taking:
                return
        name = self._names.get(module)
        if name is None:
            name = self._name(module)
        self._stack.append((name, type(module).__name__))

    def _name(self, module: Any) -> str:
        """The path of a module; those of all modules below it are found, too."""
        cls = type(module).__name__
        root = f"{self._stack[-1][0]}.({cls})" if self._stack else f"({cls})"
        for path, each in module.named_modules():
            parts = [part for part in path.split(".") if part and part not in _WRAPPERS]
            if cls in _DISTRIBUTED and parts[:1] == ["module"]:
                parts = parts[1:]
            below = ".".join(parts)
            self._names.setdefault(each, below or root)
            for own, parameter in each.named_parameters(recurse=False):
                self._parameters.setdefault(id(parameter), f"{below}.{own}" if below else own)
        return self._names.setdefault(module, root)

    def _leave(self, module: Any, args: Any, output: Any) -> None:  # noqa: ARG002
        if not self._stack:  # the module was entered before we listened
            return
        name, cls = self._stack.pop()
        if self._modules and self._taking:
            with self._lock:
                self._guarded(self._take_module, name, cls, args, output)

    def _before_optimizer(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._over and not self._by_hand and id(optimizer) in self._stepped:
            self._begin()
        self._optimizing += 1
        self._stepped.add(id(optimizer))
        self._unowned = optimizer
        self._differentiable = bool(optimizer.defaults.get("differentiable"))
        if self._taking and self._modules and not _closure(args, kwargs):
            self._guarded(self._take_parameters, optimizer, "gradient", INPUT)

    def _updates(self) -> bool:
        """Whether an optimizer computes something of its own: what it calls to get the loss again has gradients."""
        return self._optimizing > 0 and (self._differentiable or not self._torch.is_grad_enabled())

    def _own(self, optimizer: Any) -> None:
        """Learn which parameter the tensors of an optimizer belong to, now that it has gradients."""
        self._unowned = None
        self._owners, self._owner = {}, ""
        for name, parameter in self._trained(optimizer):
            self._owners[id(parameter)] = name
            state = optimizer.state.get(parameter) or {}
            self._owners |= {id(each): name for each in state.values() if isinstance(each, self._torch.Tensor)}
            if parameter.grad is not None:
                self._owners[id(parameter.grad)] = name

    def _after_optimizer(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._optimizing = max(0, self._optimizing - 1)
        self._unowned = None
        if self._taking and self._modules:
            if _closure(args, kwargs):
                self._guarded(self._take_parameters, optimizer, "gradient", INPUT)
            self._guarded(self._take_parameters, optimizer, "parameter", OUTPUT)
        self._owners = {}
        if not self._optimizing and not self._by_hand:
            self._over = True
            self._follow_modules(True)
            if self._wanted(self.number + 1):
                self._switch(True)  # what comes before the next forward belongs to the next step
            elif self._every > 1:
                self._switch(False)

    def _trained(self, optimizer: Any) -> Iterator[tuple[str, Any]]:
        number = 0
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                yield self._parameters.get(id(parameter), f"parameter {number}"), parameter
                number += 1

    # operators

    def _dispatch(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run an operator, and take it where that is wanted."""
        with self._lock:
            plan = self._plans.get(func) or self._plan(func)
            if self._pausing:
                return func(*args, **kwargs)
            if self._over and not (plan.skip or plan.ends or self._by_hand or self._updates()):
                self._begin()
            if plan.ends and not self._by_hand:
                self._over = True
            if not self._taking:
                return func(*args, **kwargs)
            try:
                where = self._where()
                taken = None if plan.skip else self._before(plan, where, args, kwargs)
            except Exception as error:
                self.stop(f"{func}: {error}")
                return func(*args, **kwargs)
            result = func(*args, **kwargs)
            if plan.skip:
                self.skipped[plan.skip] += 1
                if plan.skip == "empty":
                    self._tensors.unwritten.update(storage(each) for _, each in self._tensors.within("", result))
            elif taken is not None:
                if plan.waits:
                    collectives.wait(result)
                self._guarded(self._after, plan, taken, result)
            return result

    def _plan(self, func: Any) -> _Plan:
        schema = func._schema
        short = schema.name.partition("::")[2]
        written = frozenset(each.name for each in schema.arguments if each.alias_info and each.alias_info.is_write)
        skip = ""
        if getattr(func, "is_view", False):
            skip = "views"
        elif "empty" in short:
            skip = "empty"
        elif short in ("resize_", "set_", "_local_scalar_dense", "equal") or schema.name.startswith("profiler::"):
            skip = "without results"
        plan = _Plan(
            name=str(func),
            skip=skip,
            names=tuple(each.name for each in schema.arguments),
            written=written,
            unread=written if short in _WRITES_ONLY else frozenset(each for each in written if each.startswith("out")),
            random=self._torch.Tag.nondeterministic_seeded in func.tags,
            many=short.startswith(("_foreach", "_fused")),
            waits=collectives.waits(str(func)),
            pending=collectives.is_pending(str(func)),
            ends=short == "_amp_update_scale_",
        )
        self._plans[func] = plan
        return plan

    def _where(self) -> tuple[str, str, int, str]:
        """Module, its class, the phase and the line of what runs now."""
        node = self._torch._C._current_autograd_node()
        if node is None and self._updates():
            if self._unowned is not None:
                self._own(self._unowned)
            return "", "", OPTIMIZER, ""
        if node is None:
            where = (*(self._stack[-1] if self._stack else ("", "")), self._frames.line())
            self._nodes.setdefault(self._torch.autograd._get_sequence_nr() - 1, where)
            return where[0], where[1], FORWARD, where[2]
        if self._stack:  # computed again, by checkpointing
            where = (*self._stack[-1], self._frames.line())
            self._nodes.setdefault(self._torch.autograd._get_sequence_nr() - 1, where)
            return where[0], where[1], BACKWARD, where[2]
        variable = getattr(node, "variable", None)
        if variable is not None:
            return self._parameters.get(id(variable), ""), "", BACKWARD, ""
        module, cls, line = self._nodes.get(node._sequence_nr(), ("", "", ""))
        return module, cls, BACKWARD, line

    def _before(
        self, plan: _Plan, where: tuple[str, str, int, str], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> _Taken | None:
        record = Record(where[0], where[1], plan.name, where[2], where[3])
        owned = record.phase == OPTIMIZER and not plan.many
        written, texts = [], []
        for name, value in (*zip(plan.names, args, strict=False), *kwargs.items()):
            kind = type(value)
            if value is None:
                continue
            named = () if kind in _SCALARS else self._tensors.within(name, value)
            if not named:
                text = repr(value) if kind in _SCALARS else _text(value)
                if text:
                    texts.append(f"{name}={text}")
                continue
            if name in plan.written:
                named = list(named)
                written += named
            if owned:
                named = list(named)
                for _, tensor in named:
                    self._owner = self._owners.get(id(tensor), self._owner)
            if name not in plan.unread:
                self._tensors.add(record, INPUT, named)
        if record.traced:
            self.skipped["traced"] += 1
            return None
        if owned:
            record.module = self._owner
        record.scalars = ", ".join(texts)[:_MOST_TEXT]
        if written and record.slots:
            self._sink.look(record)
            record.held, record.addresses, record.tensors = len(record.slots), [], []
        generator = before = None
        if plan.random:
            generator = self._generator(args, kwargs, written)
            before = generator.get_state() if generator is not None else None
        return _Taken(record, written, generator, before)

    def _after(self, plan: _Plan, taken: _Taken, result: Any) -> None:
        record, written, unwritten = taken.record, taken.written, self._tensors.unwritten
        outputs = () if result is None else self._tensors.within("", result)
        if written:
            seen = {id(each) for _, each in written}
            outputs = [each for each in outputs if id(each[1]) not in seen]
        elif not outputs:
            self.skipped["without results"] += 1
            return
        if unwritten:
            outputs = list(outputs)
            unwritten.difference_update([storage(each) for _, each in (*outputs, *written)])
        before = len(record.addresses)
        self._tensors.add(record, OUTPUT, outputs)
        if written:
            self._tensors.add(record, MUTATED, written)
        if plan.pending:
            record.addresses[before:] = [UNINITIALIZED] * (len(record.addresses) - before)
        if record.traced:
            self.skipped["traced"] += 1
            return
        said = None
        if taken.before is not None:
            after = taken.generator.get_state()
            seed = taken.generator.initial_seed() & (1 << 64) - 1
            said = [seed, taken.before.data_ptr(), taken.before.nbytes, after.data_ptr(), after.nbytes]
        self._sink.add(record, said)

    def _generator(self, args: Sequence[Any], kwargs: Mapping[str, Any], written: Sequence[tuple[str, Any]]) -> Any:
        """The generator that an operator draws from."""
        torch = self._torch
        for each in (*args, *kwargs.values()):
            if isinstance(each, torch.Generator):
                return each
        tensors = [each for _, each in written]
        tensors += [each for each in args if isinstance(each, torch.Tensor)]
        device = tensors[0].device if tensors else torch.device(kwargs.get("device") or "cpu")
        if device.type == "cuda":
            index = torch.cuda.current_device() if device.index is None else device.index
            return torch.cuda.default_generators[index]
        return torch.default_generator if device.type == "cpu" else None

    # modules

    def _take_module(self, name: str, cls: str, args: Any, output: Any) -> None:
        backward = self._torch._C._current_autograd_node() is not None
        record = Record(name, cls, "module.forward", BACKWARD if backward else FORWARD)
        self._tensors.add(record, INPUT, self._tensors.within("input", args))
        outputs = list(self._tensors.within("", output))
        self._tensors.add(record, OUTPUT, outputs)
        for part, tensor in outputs:
            if tensor.requires_grad:
                tensor.register_hook(functools.partial(self._take_gradient, name, cls, part))
        if record.slots and not record.traced:
            self._tensors.spare(record)
            self._sink.add(record, None)

    def _take_gradient(self, name: str, cls: str, part: str, gradient: Any) -> None:
        if not self._taking:
            return
        with self._lock:
            self._guarded(self._take_one, name, cls, "module.gradient", BACKWARD, part, OUTPUT, gradient)

    def _take_parameters(self, optimizer: Any, what: str, role: int) -> None:
        operator = f"optimizer.{what}"
        for name, parameter in self._trained(optimizer):
            tensor = parameter if role == OUTPUT else parameter.grad
            if tensor is not None:
                self._take_one(name, "", operator, OPTIMIZER, what, role, tensor)

    def _take_one(self, name: str, cls: str, operator: str, phase: int, part: str, role: int, tensor: Any) -> None:
        """Take a tensor that no operator was seen to get or to make."""
        record = Record(name, cls, operator, phase)
        self._tensors.add(record, role, ((part, tensor),))
        if phase == BACKWARD:
            self._tensors.spare(record)
        if not record.traced:
            self._sink.add(record, None)


@dataclass
class _Taken:
    """What was taken of an operator before it ran."""

    record: Record
    written: list[tuple[str, Any]]
    generator: Any
    before: Any  # the generator's state


def _mode_of(torch: Any) -> Any:
    """The class of dispatch modes that hand operators on, of a torch that is imported only when somebody listens."""
    base = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode

    class Mode(base):  # type: ignore[misc, valid-type]
        """Hands each operator to a function."""

        def __init__(self, dispatch: Callable[..., Any]) -> None:
            super().__init__()
            self.entered = False
            self._dispatch = dispatch

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return self._dispatch(func, args, kwargs or {})

    assert torch is not None
    return Mode


def _closure(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether an optimizer was given a function that computes the loss."""
    return any(each is not None for each in (*args[1:], kwargs.get("closure")))


def _text(value: Any) -> str:
    """An argument as text that is the same in each run; empty for what says nothing."""
    if value is None or type(value).__name__ == "Generator":
        return ""
    text = collectives.members(value) or repr(value)
    return type(value).__name__ if " at 0x" in text else text
