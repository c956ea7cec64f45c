"""Programs on the simulator: any process finds a CUDA driver of ours where it looks for one, and no line of it is changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ._errors import FileAccessError

DRIVER = Path(__file__).parent / "cuda"  # with libcuda.so.1
STARTUP = Path(__file__).parent / "startup"  # with a sitecustomize, which Python finds before any other
_PATIENCE_S = 60  # that a driver may take to start

# Triton turns PTX into machine code by a program, before which this one stands: the image of a kernel is its PTX. What it says
# of its version goes into the keys of Triton's cache, so that no kernel of the simulator is given to a GPU.
_ASSEMBLER = """#!/bin/sh
in= out=
while [ $# -gt 0 ]; do
  case "$1" in
    --version)
      echo "ptxas: NVIDIA (R) Ptx optimizing assembler"
      echo "Cuda compilation tools, release 13.1, V13.1.0"
      echo "prlx: leaves PTX as it is"
      exit 0 ;;
    -o) out=$2; shift ;;
    *.ptx) in=$1 ;;
  esac
  shift
done
cp "$in" "$out" && printf '\\0' >> "$out"
"""


def environment(folder: Path, base: Mapping[str, str], run: Path | None = None) -> dict[str, str]:
    """The environment of a program that is to find the simulator's driver; ``folder`` gets what it needs beside.

    ``run`` is a file with what devices are told of the run that they are part of.
    """
    assembler = folder / "ptxas"
    assembler.write_text(_ASSEMBLER)
    assembler.chmod(0o755)
    return {
        **base,
        "LD_LIBRARY_PATH": before(DRIVER, base.get("LD_LIBRARY_PATH")),
        "PYTHONPATH": before(STARTUP, base.get("PYTHONPATH")),
        # Else torch cuts its tensors out of blocks of 2 MB, in which an access beside a tensor is one to its neighbour.
        "PYTORCH_NO_CUDA_MEMORY_CACHING": base.get("PYTORCH_NO_CUDA_MEMORY_CACHING", "1"),
        "TRITON_LIBCUDA_PATH": str(DRIVER),
        "TRITON_PTXAS_PATH": str(assembler),
        "TRITON_PTXAS_BLACKWELL_PATH": str(assembler),
        "PRLX_CUDA_DEVICE": "\n".join([*_device(), *(["--run", str(run)] if run is not None else [])]),
    }


def _device() -> list[str]:
    """``python -m prlx._device`` without what a program pays for and a device does not need: a site, the user's environment."""
    package = str(Path(__file__).parents[1])
    begin = f"import os, sys; sys.path.insert(0, {package!r}); from prlx._device import main; os._exit(main())"
    return [sys.executable, "-I", "-S", "-c", begin]


def before(folder: Path, path: str | None) -> str:
    """A search path with a folder before all others."""
    others = [entry for entry in (path or "").split(os.pathsep) if entry not in ("", str(folder))]
    return os.pathsep.join([str(folder), *others])


def driver() -> dict[str, Any]:
    """The driver of a GPU that a program finds: ``name`` of its first GPU, ``version``, ``path``; or ``why`` not.

    Of CUDA's there is the ``capability``, too; of AMD's, ``runtime`` is ``"HIP"``.

    A process of its own asks: one that has used a driver cannot be forked any more.
    """
    package = str(Path(__file__).parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "prlx._gpu"],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE_S,
        )
        found: dict[str, Any] = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"why": f"it could not be asked: {error}"}
    except ValueError:
        return {"why": f"the process that asked it ended with {done.returncode}"}
    return found


def check_runs(command: Sequence[str], environ: Mapping[str, str]) -> None:
    """Refuse a command that is not there, before anything is done for it.

    Raises
    ------
    FileAccessError
        It is not.
    """
    if shutil.which(command[0], path=environ.get("PATH")) is None:
        raise FileAccessError(
            "cannot be run: it is not there, or is no program",
            path=str(command[0]),
            hint="name a program of PATH, or a path",
        )


def run_program(command: Sequence[str], *, environ: Mapping[str, str], run: Path | None = None, **streams: Any) -> int:
    """Run a program on the simulator's driver and return its exit code, 128 more than the signal that ended it.

    ``streams`` say where it prints, and where it runs.
    """
    with tempfile.TemporaryDirectory(prefix="prlx-simulate-") as folder:
        return run_command(command, environment(Path(folder), environ, run), **streams)


def run_command(command: Sequence[str], environ: Mapping[str, str], **streams: Any) -> int:
    """Run a program and return its exit code, 128 more than the signal that ended it."""
    try:
        child = subprocess.Popen(list(command), env=dict(environ), **streams)
    except OSError as error:
        raise FileAccessError(f"cannot be run: {error.strerror}", path=str(command[0])) from error
    while True:
        try:
            status = child.wait()
            break
        except KeyboardInterrupt:  # the program got it, too, and decides
            continue
    return status if status >= 0 else 128 - status
