"""Names of original prlx 0.5 that are not here, each with what to use instead; ``docs/compat.md`` has all of them.

Errors and warnings read this table, so that whoever brings a script along learns the new name where the old one stood. What
configured that release's recorder and means nothing to ours has no effect, and says so.
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

COMMANDS = {
    "check": "record two runs with prlx run --record DIR SCRIPT.py, then prlx diff DIR DIR",
    "compile": "prlx run records Triton kernels; of CUDA C programs recordings are read that original prlx 0.5 has made",
}
"""Commands of the program."""

_NO_WATCH = "arguments of prlx.TrainingMonitor(directory) say what is watched"
VARIABLES = {
    "PRLX_COMPRESS": "recordings of format v2 are compressed",
    "PRLX_SITES": "recordings of format v2 hold their sites",
    "PRLX_OPT_TIMEOUT": "no compiler pass runs",
    "PRLX_STRICT_GRID": "a grid is always what was launched",
    "PRLX_STRICT_CAPTURE": "a recording that fails always raises",
    "PRLX_PYTORCH_WATCH": _NO_WATCH,
    "PRLX_LOSS_THRESHOLD": _NO_WATCH,
    "PRLX_GRAD_NORM_THRESHOLD": _NO_WATCH,
    "PRLX_WINDOW_SIZE": _NO_WATCH,
    "PRLX_CAPTURE_STEPS_AFTER": _NO_WATCH,
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
