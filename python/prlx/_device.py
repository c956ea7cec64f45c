"""A device for a process without Python: ``python -m prlx._device [--run FILE] PIPE MEMORY BASE BYTES``.

Whoever starts it has a pipe and memory that both share: docs/formats/device-pipe.md says what goes through them. It ends when
the pipe is closed.
"""

from __future__ import annotations

import json
import sys

from . import _core
from ._errors import PrlxError

_USAGE = "usage: python -m prlx._device [--run FILE] PIPE MEMORY BASE BYTES\n"


def main(arguments: list[str] | None = None) -> int:
    """Answer operations until the pipe is closed; the exit code is 0 then, else that of the error."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    told = None  # what its launches are also told, as JSON, and where they are noted
    if words[:1] == ["--run"]:
        told, words = "".join(words[1:2]), words[2:]
    try:  # every program pays for this start: no parser
        pipe, memory, base, size = (int(word, 0) for word in words)
    except ValueError:
        sys.stderr.write(_USAGE)
        return 2
    try:
        run = None
        if told is not None:
            with open(told, encoding="utf-8") as file:  # noqa: PTH123  (pathlib takes as long as all that is here)
                run = json.load(file)
        _core.run("serve_device", {"pipe": pipe, "memory": memory, "base": base, "bytes": size, "run": run})
    except PrlxError as error:
        sys.stderr.write(f"prlx: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
