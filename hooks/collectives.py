"""Collectives of ``torch.distributed`` as operators: when their results are there, and among which ranks they run.

Most collectives return before their results are there. Whoever looks at the results waits for them first; it is what the
program does later. A send or a receive may wait for what the other rank does only afterwards, so nobody waits for these here.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

_GROUP = "__torch__.torch.classes.c10d.ProcessGroup"
_POINT_TO_POINT = ("c10d.send.", "c10d.recv_.", "c10d.recv_any_source_.")
_FUNCTIONAL = "_c10d_functional."
_PARTLY = "fsdp.all_gather_copy_in."  # writes the part of its own rank; a collective writes the rest


def waits(operator: str) -> bool:
    """Whether an operator is a collective whose results can be waited for."""
    return operator.startswith("c10d.") and not operator.startswith(_POINT_TO_POINT)


def is_pending(operator: str) -> bool:
    """Whether the results of an operator may not be there when it returns, and nobody is to wait for them."""
    if operator.startswith(_FUNCTIONAL):
        return not operator.startswith(_FUNCTIONAL + "wait_tensor")
    return operator.startswith((*_POINT_TO_POINT, _PARTLY))


def wait(result: Any) -> None:
    """Wait for the results of a collective. What goes wrong in it is told to whoever waits in the program."""
    for each in result if isinstance(result, tuple) else (result,):
        if type(each).__name__ == "ScriptObject":
            with contextlib.suppress(RuntimeError):
                each.wait()


def members(value: Any) -> str:
    """The ranks of a process group as text; empty where it is something else."""
    if type(value).__name__ != "ScriptObject" or str(value._type()) != _GROUP:
        return ""
    distributed = importlib.import_module("torch.distributed")
    return str(sorted(distributed.get_process_group_ranks(distributed.ProcessGroup.unbox(value))))
