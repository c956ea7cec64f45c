"""Runs when Python starts below ``prlx run``: has launches recorded as soon as Triton is imported, and is gone then.

It must import next to nothing: most processes never import Triton. A ``sitecustomize`` of somebody else still runs.
"""

from __future__ import annotations

import os
import sys
from importlib.abc import Loader, MetaPathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes 5 ms


class _Loader(Loader):
    """Loads Triton as ever, then begins to record."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module as its own loader makes it."""
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Execute it as its own loader does."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
        self._loader.exec_module(module)
        _begin()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Finder(MetaPathFinder):
    """Waits for Triton."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Triton's spec with a loader that says when it is loaded; nothing of any other module."""
        del path, target
        if fullname != "triton":
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(self)  # asks the others; who only asks whether Triton is there imports nothing
        try:
            spec = find_spec(fullname)
        finally:
            sys.meta_path.insert(0, self)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def _begin() -> None:
    """Record from now on. Whatever goes wrong is said, and the program goes on as if nobody had asked."""
    package = os.path.dirname(os.path.dirname(_HERE))  # noqa: PTH120
    added = package not in sys.path
    if added:
        sys.path.append(package)
    try:
        from prlx import _run

        _run.begin()
    except Exception as error:  # an import error, a refusal, a folder that is gone
        sys.stderr.write(f"prlx run: process {os.getpid()} is not recorded: {error}\n")
    finally:
        if added:
            sys.path.remove(package)


def _chain() -> None:
    """Import the ``sitecustomize`` that ours hides, if there is one."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]  # noqa: PTH100
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        if ours is not None:
            sys.modules.setdefault("sitecustomize", ours)


if os.environ.get("PRLX_RUN"):
    sys.meta_path.insert(0, _Finder())
_chain()
