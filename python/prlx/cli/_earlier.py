"""The version before, of ``prlx simulate compare``: it runs first, and what it did is kept to be compared with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import FileAccessError
from ._outputs import shown_path

if TYPE_CHECKING:
    import argparse

    from .._simulation import Simulation


class Earlier:
    """The script of the version before, and where both versions are recorded to while they run."""

    def __init__(self, script: Path, folder: Path, values: argparse.Namespace, chosen: Mapping[str, Any]) -> None:
        from .._simulated import Run

        self.script = script
        self.name = shown_path(script)
        self.seen = Run(self.name)
        self._values = values
        self._chosen = chosen
        self._paths = {"a": folder / "a", "b": folder / "b"}
        if values.output is not None:  # the version after is recorded as asked, and the one before likewise
            self._paths = {
                "a": folder / ("a.prlx" if str(values.output).endswith(".prlx") else "a"),
                "b": Path(values.output),
            }

    @classmethod
    @contextlib.contextmanager
    def of(cls, before: Path | None, values: argparse.Namespace, chosen: Mapping[str, Any]) -> Iterator[Earlier | None]:
        """The version before, while its recordings are needed; None where none is named."""
        if before is None:
            yield None
            return
        if not before.is_file():
            raise FileAccessError("no such script", path=str(before))
        import tempfile

        with tempfile.TemporaryDirectory(prefix="prlx-compare-") as folder:
            yield cls(before, Path(folder), values, chosen)

    def options(self, side: str) -> dict[str, Any]:
        """What enables the simulator for a side."""
        from .._written import RECORDED

        if self._values.plan:
            return {**self._chosen, "output": None if side == "a" else self._chosen.get("output")}
        if self._values.output is None:
            return {**self._chosen, **RECORDED, "output": self._paths[side]}
        return dict(self._chosen) if side == "b" else {**RECORDED, **self._chosen, "output": self._paths["a"]}

    def listener(self, side: str) -> Callable[[Simulation], None] | None:
        """What is to be called after each launch of a side."""
        from .._written import within_bounds

        return None if side == "b" and self._values.output is not None else within_bounds(self._paths[side])

    def compared(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Both versions line by line, and by what they wrote."""
        from .._simulated import compared
        from .._written import written

        a, b = self._paths["a"], self._paths["b"]
        launched = all(path.is_file() or any(path.glob("*.prlx")) for path in (a, b)) and not self._values.plan
        return compared(
            self.seen.document(recording=None, status=0, pictures=True), document, written(a, b) if launched else None
        )
