"""The graph that Inductor compiles, moved from the CPU to a GPU: devices of its values, inputs, constants and arguments.

Inductor chooses by device: kernels in C++ for the CPU, in Triton for a GPU, with other heuristics, templates and reductions.
Tensors of the program stay on the CPU, where the simulator works; only what Inductor reads says ``cuda``. So it writes what it
would write for an sm_80.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Mover:
    """Moves the fake tensors of one graph; each becomes one other, so that what was one tensor stays one.

    Parameters
    ----------
    torch
        The module.
    """

    def __init__(self, torch: Any) -> None:
        from torch._subclasses import fake_tensor
        from torch.utils import _pytree

        self.device = torch.device("cuda", 0)
        self._torch, self._fake, self._map = torch, fake_tensor, _pytree.tree_map
        self._remembered: list[tuple[Any, Any]] = []
        self._moved: dict[int, tuple[Any, Any]] = {}  # by id: the tensor, which must stay alive, and what it became

    def value(self, value: Any) -> Any:
        """A fake tensor, a device, or anything else, which stays what it is."""
        if isinstance(value, self._fake.FakeTensor):
            return self._tensor(value) if value.device.type == "cpu" else value
        if isinstance(value, self._torch.device) and value.type == "cpu":
            return self.device
        return value

    def graph(self, module: Any) -> None:
        """Move a graph module and the graphs inside of it, in place."""
        aggregate = self._torch.fx.node.map_aggregate
        for node in module.graph.nodes:
            for key in ("val", "example_value"):
                if key in node.meta:
                    node.meta[key] = self._map(self.value, node.meta[key])
            node.args, node.kwargs = aggregate(node.args, self.value), aggregate(node.kwargs, self.value)
            self._made_here(node)
        for child in module.children():
            if isinstance(child, self._torch.fx.GraphModule):
                self.graph(child)

    def constants(self, module: Any, inputs: Any) -> None:
        """Let the constants of a graph become fake tensors on the GPU where its values are computed once more."""
        mode = self._torch._guards.detect_fake_mode(inputs)
        for node in () if mode is None else module.graph.find_nodes(op="get_attr"):
            value: Any = module
            for name in node.target.split("."):
                value = getattr(value, name, None)
            if type(value) in (self._torch.Tensor, self._torch.nn.Parameter) and value.device.type == "cpu":
                converter = mode.fake_tensor_converter
                fake = converter.from_real_tensor(mode, value)
                converter.set_tensor_memo(value, self.value(fake))
                self._remembered.append((converter, (value, fake)))

    def close(self) -> None:
        """Let them be what they were."""
        while self._remembered:
            converter, (value, fake) = self._remembered.pop()
            converter.set_tensor_memo(value, fake)

    def _made_here(self, node: Any) -> None:
        """An operation that makes a tensor from none, such as ``aten.full``, makes it on the CPU unless it is told."""
        schema = getattr(node.target, "_schema", None)
        if node.op != "call_function" or schema is None or "device" in node.kwargs:
            return
        takes = any(argument.name == "device" and argument.kwarg_only for argument in schema.arguments)
        given = any(isinstance(one.meta.get("val"), self._torch.Tensor) for one in node.all_input_nodes)
        if takes and not given:
            node.kwargs = {**node.kwargs, "device": self.device}

    def _tensor(self, value: Any) -> Any:
        found = self._moved.get(id(value))
        if found is None:
            with self._fake.in_kernel_invocation_manager(value.fake_mode):
                meta = self._torch.ops.aten.detach.default(value)
            found = value, self._fake.FakeTensor(value.fake_mode, meta, self.device)
            self._moved[id(value)] = found
        return found[1]


def constants(torch: Any, device: Any) -> dict[str, Callable[[Callable[..., Any]], Any]]:
    """What is replaced where Inductor reads constants of a graph: they say that they are on the GPU, and are not copied there.

    By the name in ``torch._inductor.graph``; those of ``GraphLowering`` have a dot in front.
    """

    class There(torch.Tensor):  # type: ignore[misc]
        """A tensor that says so."""

        __torch_function__ = torch._C._disabled_torch_function_impl

        @property
        def device(self) -> Any:
            return device

    def read(old: Callable[..., Any]) -> Any:
        @functools.wraps(old)
        def getattr_recursive(module: Any, target: str) -> Any:
            value = old(module, target)
            plain = type(value) in (torch.Tensor, torch.nn.Parameter) and value.device.type == "cpu"
            return value.detach().as_subclass(There) if plain else value

        return getattr_recursive

    def added(old: Callable[..., Any]) -> Any:
        @functools.wraps(old)
        def add_tensor_constant(lowering: Any, data: Any, name: Any = None) -> Any:
            made = old(lowering, data.as_subclass(torch.Tensor) if isinstance(data, There) else data, name)
            buffer = made.data.data if hasattr(made.data, "data") else made.data
            if buffer.layout.device.type == "cpu":
                buffer.layout.device = device
            return made

        return add_tensor_constant

    def named(old: Callable[..., Any]) -> Any:
        @functools.wraps(old)
        def constant_name(lowering: Any, name: str, device_override: Any) -> Any:
            return old(lowering, name, None if device_override == device else device_override)

        return constant_name

    return {"getattr_recursive": read, ".add_tensor_constant": added, ".constant_name": named}
