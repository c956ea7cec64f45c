"""Names of original prlx 0.5 that are not here, each with what to use instead; ``docs/compat.md`` has all of them.

Errors and warnings read this table, so that whoever brings a script along learns the new name where the old one stood. The
recorder of that release, which ran on GPUs, is not here: what configured it has no effect, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

NAMES = {
    "TraceData": "prlx.KernelTrace, which prlx.read_trace returns",
    "TraceHeader": "the attribute header of what prlx.read_trace returns",
    "TraceEvent": "a row of the table events of what prlx.read_trace returns",
    "WarpData": "what warp(number) of a recording returns",
    "PrlxTrainingMonitor": "prlx.record(path) around the steps that shall be recorded",
    "PrlxTorchWrapper": "prlx.record(path)",
    "find_differ_binary": "prlx.diff_traces, or the program prlx-diff",
    "plot_warp_timeline": "prlx flamegraph A B, for a trace viewer",
    "plot_divergence_heatmap": "prlx diff A B --html FILE",
    "display_trace_summary": "the recording itself, at the end of a cell of a notebook",
}
"""Attributes of the package."""

MODULES = (
    "trace_reader",
    "training_monitor",
    "nvrtc_runtime",
    "runtime",
    "viz",
    "triton_capture",
    "triton_hook",
    "pytorch_hook",
)
"""Modules of the package that its users imported."""

ALIASES = {"integrate_with_triton": "enable"}
"""Other names of what is here."""

_SIMULATE = "prlx simulate SCRIPT.py runs a script's Triton kernels on the simulator"
_NO_GPU = "this prlx records on its simulator, not on a GPU"
COMMANDS = {
    "run": f"{_NO_GPU}: {_SIMULATE}, and --record DIR records them",
    "check": f"{_NO_GPU}: record two runs with prlx simulate --record DIR SCRIPT.py, then prlx diff DIR DIR",
    "compile": f"{_NO_GPU}; recordings of CUDA C programs that original prlx 0.5 has made are read",
    "triton": f"{_SIMULATE}; prlx doctor says which Triton is there",
}
"""Commands of the program."""

_RECORDS = "prlx simulate --record PATH or prlx.record(path) records"
_NOT_HERE = "there is no recorder for GPUs here"
VARIABLES = {
    "PRLX_TRACE": _RECORDS,
    "PRLX_SESSION": f"{_RECORDS}: a directory is a session",
    "PRLX_TRACE_DIR": _RECORDS,
    "PRLX_ENABLED": "prlx.disable() ends what prlx.enable() began",
    "PRLX_COMPRESS": "recordings of format v2 are compressed",
    "PRLX_SITES": "recordings of format v2 hold their sites",
    "PRLX_INSTRUMENT_STORES": "--stores of prlx simulate, or stores=True",
    "PRLX_OPT_TIMEOUT": "no compiler pass runs",
    "PRLX_STRICT_GRID": "a grid is always what was launched",
    "PRLX_STRICT_CAPTURE": "a recording that fails always raises",
    "PRLX_PYTORCH_WATCH": "prlx.record(path) around the steps that shall be recorded",
    "PRLX_LOSS_THRESHOLD": _NOT_HERE,
    "PRLX_GRAD_NORM_THRESHOLD": _NOT_HERE,
    "PRLX_WINDOW_SIZE": _NOT_HERE,
    "PRLX_CAPTURE_STEPS_AFTER": _NOT_HERE,
    "PRLX_HOME": "nothing is looked for outside of the package",
    "PRLX_LOG_LEVEL": "-v and -q of every command",
}
"""Variables of its recorder and its hooks: what to use instead, or why there is nothing."""


def instead_of(name: str) -> str:
    """What an ``AttributeError`` adds about a name of the original; nothing for any other."""
    if name in MODULES:
        return f"; original prlx 0.5's module {name} is not here: docs/compat.md says what is used instead of its names"
    return f"; instead of original prlx 0.5's {name} use {NAMES[name]}" if name in NAMES else ""


def ignored(environ: Iterable[str]) -> Iterator[str]:
    """A sentence for each variable of the original's recorder that is set."""
    for name in sorted(set(environ) & set(VARIABLES)):
        yield f"{name} is set, but has no effect: {VARIABLES[name]}"
