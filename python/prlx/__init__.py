"""prlx: many nodes' traces on one clock, and where two GPU runs first differ.

Importing prlx loads neither the core nor NumPy and starts no thread; both come with the first call that needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._errors import (
    AlignmentError,
    CancelledError,
    CoreUnavailableError,
    FileAccessError,
    ForkedProcessError,
    IncompatibleTracesError,
    InternalError,
    LimitError,
    PartialResultError,
    PrlxError,
    TraceFormatError,
    UsageError,
)
from ._version import __version__

if TYPE_CHECKING:
    from ._align import align_trace
    from ._combine import CombinedTrace, combine_traces
    from ._solve import Offsets, solve_offsets
    from ._timeline import Timeline, open
    from ._validate import Verdicts, validate_collectives

__all__ = [
    "AlignmentError",
    "CancelledError",
    "CombinedTrace",
    "CoreUnavailableError",
    "FileAccessError",
    "ForkedProcessError",
    "IncompatibleTracesError",
    "InternalError",
    "LimitError",
    "Offsets",
    "PartialResultError",
    "PrlxError",
    "Timeline",
    "TraceFormatError",
    "UsageError",
    "Verdicts",
    "__version__",
    "align_trace",
    "combine_traces",
    "open",
    "solve_offsets",
    "validate_collectives",
]

_LAZY = {
    "CombinedTrace": "_combine",
    "Offsets": "_solve",
    "Timeline": "_timeline",
    "Verdicts": "_validate",
    "align_trace": "_align",
    "combine_traces": "_combine",
    "open": "_timeline",
    "solve_offsets": "_solve",
    "validate_collectives": "_validate",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = value  # from now on without this function
    return value


def __dir__() -> list[str]:
    """List the public names, used or not."""
    return sorted({*globals(), *__all__})
