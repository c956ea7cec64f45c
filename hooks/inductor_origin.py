"""Where a kernel of Inductor comes from: the nodes of its graph, their ATen operations, modules and lines."""

from __future__ import annotations

import contextlib
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

_MOST_NODES = 64  # of a kernel that are named; a fused one has a few dozen
_LONGEST = 200  # characters of a text
_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+), in (.*)\n\s*(.*)', re.MULTILINE)
_LIBRARIES = ("/torch/", "/triton/", "/prlx/")


class Graph:
    """A graph while and after it was compiled.

    Attributes
    ----------
    name
        Torch's number of the compiled frame, such as ``0/0``.
    backward
        Whether it computes gradients.
    kernels
        By the name of a kernel: the nodes that each of its calls computes, in the order of the calls.
    """

    def __init__(self, name: str, backward: bool) -> None:
        self.name = name
        self.backward = backward
        self.kernels: dict[str, list[dict[str, dict[str, Any]]]] = {}

    def add(self, kernel: str, nodes: Iterable[Any]) -> None:
        """Note the FX nodes that a call of a kernel computes; calls are written in the order in which they run."""
        rows: dict[str, dict[str, Any]] = {}
        self.kernels.setdefault(kernel, []).append(rows)
        for node in sorted(nodes, key=_position):
            if node.op in ("placeholder", "output", "get_attr") or len(rows) >= _MOST_NODES:
                continue
            rows.setdefault(node.name, describe(node))

    def origin(self, kernel: str, call: int) -> dict[str, Any]:
        """What a call of a kernel comes from, as documents say it; one that was not foreseen may be any of them."""
        calls = self.kernels.get(kernel, [])
        chosen = calls[call : call + 1] or calls
        nodes = [row for rows in chosen for row in rows.values()][:_MOST_NODES]
        return {"graph": self.name, "backward": self.backward, "nodes": nodes}


def _position(node: Any) -> int:
    try:
        return int(node.meta.get("prlx_position", 1 << 30))
    except (TypeError, ValueError):
        return 1 << 30


def number(module: Any) -> None:
    """Remember the order of the nodes: passes replace them, and copy what is known of them."""
    for position, node in enumerate(module.graph.nodes):
        node.meta["prlx_position"] = position


def describe(node: Any) -> dict[str, Any]:
    """One node: its name, its operation, its module, and the line of the user's program."""
    file, line, function, code = users_line(node.meta.get("stack_trace") or "")
    return {
        "node": _cut(node.name),
        "op": _cut(_operation(node)),
        "module": _cut(_module(node)),
        "file": file,
        "line": line,
        "function": function,
        "code": code,
    }


def _operation(node: Any) -> str:
    """``aten.add.Tensor``: what the program called, before it was taken apart, else what the node calls."""
    original = node.meta.get("original_aten")
    return str(original if original is not None else node.target)


def _module(node: Any) -> str:
    """The innermost module that was being called: its path in the model, or its class where it has none."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack") or {}
    entries = list(stack.values())
    if not entries:
        return ""
    path, kind = entries[-1]
    path = re.sub(r"^L\['[^']*'\]\.?", "", str(path))
    path = re.sub(r"(?:_modules)?\['([^']*)'\]", r".\1", path).replace("._modules", "").lstrip(".")
    named = kind.__name__ if isinstance(kind, type) else str(kind).rpartition(".")[2]
    return f"{path} ({named})" if path else named


def users_line(trace: str) -> tuple[str, int, str, str]:
    """File, line, function and code of the innermost frame that is the user's; of the innermost one where none is."""
    frames = _FRAME.findall(trace)
    if not frames:
        return "", 0, "", ""
    own = [frame for frame in frames if not any(part in frame[0] for part in _LIBRARIES)]
    file, line, function, code = (own or frames)[-1]
    return file, int(line), _cut(function.strip()), _cut(code.strip())


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def nodes_of(schedule: Iterable[Any]) -> list[Any]:
    """The FX nodes that the nodes of Inductor's schedule come from."""
    found: list[Any] = []
    for one in schedule:
        if hasattr(one, "get_nodes") and (inner := one.get_nodes()) and inner[0] is not one:
            found += nodes_of(inner)
        else:
            node = getattr(one, "node", None)
            found += getattr(node, "origins", ()) or ()
    return found


class Running(threading.local):
    """What a thread is about: the graph that it compiles, the nodes whose kernel is written, the graph and kernel that run."""

    compiling: Graph | None = None
    graph: Graph | None = None
    kernel: str | None = None
    calls: Counter[str]
    writing: tuple[Any, ...] = ()

    def __init__(self, regions: list[str]) -> None:
        self.regions = regions  # of all threads: gradients may be computed in another one
        self.calls = Counter()

    @contextlib.contextmanager
    def now(self, **values: Any) -> Iterator[None]:
        """Be about something for a block."""
        before = {name: getattr(self, name) for name in values}
        for name, value in values.items():
            setattr(self, name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def origin(self) -> dict[str, Any] | None:
        """Where the launch that is about to run comes from; None for one that no graph has made."""
        if self.kernel is None:
            return None
        graph = self.graph or self.compiling or Graph("", backward=False)
        return {"region": "/".join(self.regions), **graph.origin(self.kernel, self.calls[self.kernel] - 1)}
