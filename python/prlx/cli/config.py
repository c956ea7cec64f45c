"""``prlx config show``: every setting, its value, and who set it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._config import SETTINGS
from . import _options as options
from ._command import Command, Positional
from ._render import Column, table

if TYPE_CHECKING:
    import argparse

    from ._ui import UI

_COLUMNS = (Column("setting"), Column("value"), Column("set by", shrinks=True), Column("variable"))


def run(values: argparse.Namespace, ui: UI) -> int:
    """Print the settings; nothing is loaded and nothing is run."""
    del values  # "show" is the only verb, and what happens without one
    if ui.json:
        ui.emit(ui.config.to_dict())
    else:
        ui.show(_render(ui))
    return 0


def _render(ui: UI) -> Iterator[str]:
    yield f"file: {ui.config.path or 'none found (prlx.toml, or [tool.prlx] in pyproject.toml)'}"
    yield ""
    rows = []
    for setting in SETTINGS:
        found = ui.config.get(setting.key)
        rows.append((setting.key, _text(found.value, setting.unset), found.origin, setting.env))
    yield from table(ui.out, _COLUMNS, rows)


def _text(value: object, unset: str) -> str:
    if value is None:
        return f"({unset})"
    return str(value).lower() if isinstance(value, bool) else str(value)


COMMAND = Command(
    name="config",
    run=run,
    examples=(
        ("prlx config show", "value and origin of every setting"),
        ("PRLX_COMBINE_NAMING=rocm prlx config show --json", ""),
    ),
    positionals=(Positional("VERB", "what to do", "optional", ("show",)),),
    options=(options.JSON,),
    notes=(
        "A flag comes first, then a PRLX_* variable, then prlx.toml or [tool.prlx], then the default.",
        "--memory-limit is memory-limit and PRLX_MEMORY_LIMIT; combine's --naming is [combine] naming",
        "and PRLX_COMBINE_NAMING. The nearest prlx.toml upwards is read; PRLX_CONFIG names another file.",
    ),
)
