"""What is true of the GPU that the simulator is. It stands in the core, once, and is asked for when somebody wants it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any


@cache
def target() -> Mapping[str, Any]:
    """The limits of the architecture, as the operation ``simulate_target`` says them."""
    from .. import _core

    return _core.call("simulate_target", {})


def properties() -> dict[str, int]:
    """What Triton asks of a device; clocks and width of memory are those of an A100."""
    facts = target()
    return {
        "max_shared_mem": facts["shared_of_block"],
        "max_num_regs": facts["registers"],
        "multiprocessor_count": facts["multiprocessors"],
        "warpSize": facts["warp"],
        "sm_clock_rate": 1_410_000,
        "mem_clock_rate": 1_215_000,
        "mem_bus_width": 5120,
    }
