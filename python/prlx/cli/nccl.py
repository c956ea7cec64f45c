"""``prlx nccl``: the recorder of NCCL's events."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .._errors import PrlxError
from ._command import Command, Option, Positional

if TYPE_CHECKING:
    import argparse

    from ._ui import UI

VERBS = ("plugin",)
_LONGEST = 254  # characters of a path that NCCL 2.26 and later keep


def run(values: argparse.Namespace, ui: UI) -> int:
    """Print where the plug-in lies, or how a job loads it."""
    name = "librccl-profiler-prlx.so" if values.rccl else "libnccl-profiler-prlx.so"
    library = Path(__file__).resolve().parents[1] / name
    if not library.is_file():
        raise PrlxError(f"{library} is not there", hint="install prlx again: its wheel has the plug-in")
    if len(str(library)) > _LONGEST:
        ui.warn(
            f"NCCL cuts the path after {_LONGEST} characters, this one has {len(str(library))}: install prlx elsewhere"
        )
    if values.path:
        ui.out.line(str(library))
        return 0
    variable = f"NCCL_PROFILER_PLUGIN={library}"
    ui.out.line("One line, for every process of the job:")
    ui.out.line(f"  SLURM       export {variable}  (in the batch script, above srun)")
    ui.out.line(f"  torchrun    {variable} torchrun ...")
    ui.out.line(f"  Kubernetes  env: [{{name: NCCL_PROFILER_PLUGIN, value: {library}}}]")
    return 0


COMMAND = Command(
    name="nccl",
    run=run,
    examples=(
        ("prlx nccl plugin", "the line that makes a job record"),
        ("prlx nccl plugin --path", "the path alone, for scripts"),
    ),
    positionals=(Positional("verb", "plugin: the library that NCCL loads", count="one", choices=VERBS),),
    options=(
        Option(("--path",), "print the path of the library alone", takes="switch"),
        Option(("--rccl",), "the library under the name that RCCL looks for", takes="switch"),
    ),
    notes=("PRLX_NCCL_DIR, _LEVEL, _MAX_BYTES, _DUTY: where files are made, and what is recorded in them.",),
)
