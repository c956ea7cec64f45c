"""Which part of a model a kernel computes: the origin that launches, findings, recordings and comparisons carry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ._lines import Look, clean, wrapped
from ._result import Brief


@dataclass(frozen=True, repr=False)
class Origin(Brief):
    """Which part of a model a kernel computes: what torch's compiler knows of it.

    Attributes
    ----------
    text
        All of it in a few words; empty where no node is known.
    region
        The names that ``pytorch_trace`` gave, outermost first, with slashes; empty outside of it.
    graph, backward
        Torch's number of the compiled frame, such as ``"0/0"``, and whether the graph computes gradients.
    nodes
        Operations of the graph in their order, each with ``node``, ``op`` and, where they are known, ``module``, ``file``,
        ``line``, ``function`` and ``code`` of the user's program.

    Examples
    --------
    >>> node = {"node": "add", "op": "aten.add.Tensor", "file": "model.py", "line": 12}
    >>> document = {"text": "aten.add.Tensor, at model.py:12, graph 0/0", "graph": "0/0", "backward": False, "nodes": [node]}
    >>> prlx.Origin.of(document).lines
    (('model.py', 12),)
    """

    text: str
    region: str
    graph: str
    backward: bool
    nodes: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, document: Mapping[str, Any] | None) -> Origin | None:
        """The origin that a document describes; None for none.

        Examples
        --------
        >>> prlx.Origin.of(None) is None
        True
        """
        if document is None:
            return None
        nodes = tuple(document["nodes"] or ())
        return cls(document["text"], document.get("region", ""), document["graph"], document["backward"], nodes)

    @property
    def lines(self) -> tuple[tuple[str, int], ...]:
        """File and line of the user's program, each once."""
        found = ((str(node["file"]), int(node["line"])) for node in self.nodes if node.get("file"))
        return tuple(dict.fromkeys(found))

    @property
    def ops(self) -> tuple[str, ...]:
        """The operations, each once: ``aten.add.Tensor``."""
        return tuple(dict.fromkeys(str(node["op"]) for node in self.nodes))

    def __str__(self) -> str:
        return self.text


def text_of(row: Mapping[str, Any] | None) -> str:
    """What a row of a document says of the origin of its kernel, in a few words; empty where it does not."""
    return str(((row or {}).get("origin") or {}).get("text") or "")


def of_both(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """What the kernels of a comparison compute, as lines; one line where both say the same, or only one side does."""
    a, b = text_of(document.get("a")), text_of(document.get("b"))
    if a and b and a != b:
        yield from wrapped("  A computes ", clean(a), look)
        yield from wrapped("  B computes ", clean(b), look)
    elif a or b:
        yield from wrapped("  computes ", clean(a or b), look)


def operations(row: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Node, operation, module and line of the program of each operation that a kernel computes."""
    for node in (row.get("origin") or {}).get("nodes") or ():
        line = f"{node['file']}:{node['line']}" if node.get("file") else ""
        yield node["node"], node["op"], node.get("module", ""), line
