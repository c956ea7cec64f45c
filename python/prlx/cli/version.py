"""``prlx version``."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING

from .._version import __version__
from . import _options as options
from ._command import Command

if TYPE_CHECKING:
    import argparse

    from ._ui import UI


def run(values: argparse.Namespace, ui: UI) -> int:
    """Print the version; only ``--json`` and ``-v`` ask the core for its own."""
    del values
    python = f"{platform.python_implementation()} {platform.python_version()}"
    where = f"{sys.platform} {platform.machine()}"
    if not (ui.json or ui.verbose):
        ui.out.line(f"prlx {__version__} ({python}, {where})")
        return 0
    from .. import _core

    document = _core.call("version", {})
    if ui.json:
        ui.emit({**document, "version": __version__, "python": python})
    else:
        ui.out.line(f"prlx {__version__} ({python}, {where}; core {document['core']}, {document['go']})")
    return 0


COMMAND = Command(
    name="version",
    run=run,
    examples=(("prlx version", "the version, without loading the core"), ("prlx version --json", "the core's as well")),
    options=(options.JSON,),
)
