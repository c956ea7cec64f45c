"""A device for a process without Python: ``python -m prlx._device [--run FILE] PIPE MEMORY BASE BYTES``.

Whoever starts it has a pipe and memory that both share: docs/formats/device-pipe.md says what goes through them. It ends when
the pipe is closed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from . import _core
from ._errors import PrlxError


def main(arguments: list[str] | None = None) -> int:
    """Answer operations until the pipe is closed; the exit code is 0 then, else that of the error."""
    parser = argparse.ArgumentParser(prog="prlx._device", description="answers operations of the simulator over a pipe")
    parser.add_argument("--run", type=Path, help="what its launches are also told, as JSON, and where they are noted")
    parser.add_argument("pipe", type=int, help="a descriptor that is read and written")
    parser.add_argument("memory", type=int, help="a descriptor of the memory that both ends share")
    parser.add_argument("base", type=lambda text: int(text, 0), help="its address at the other end")
    parser.add_argument("bytes", type=int, help="its size")
    values = parser.parse_args(arguments)
    try:
        run = None if values.run is None else json.loads(values.run.read_text())
        _core.run("serve_device", {**vars(values), "run": run})
    except PrlxError as error:
        sys.stderr.write(f"prlx: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
