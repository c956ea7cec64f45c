"""Runs when Python starts below ``prlx run`` or on the simulator's driver, waits for a few modules, and is gone then.

As soon as Triton is imported launches are recorded (``prlx run``). On the simulator's driver the linker of numba-cuda makes
PTX, and torch's own operators run on the CPU. It must import next to nothing: most processes never import any of them. A
``sitecustomize`` of somebody else still runs.
"""

from __future__ import annotations

import os
import sys
from importlib.abc import Loader, MetaPathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes 5 ms


class _Loader(Loader):
    """Loads a module as ever, between what waits for its begin and what waits for its end."""

    def __init__(self, loader: Any, first: Callable[[], None] | None, then: Callable[[], None]) -> None:
        self._loader = loader
        self._first = first
        self._then = then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module as its own loader makes it."""
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Execute it as its own loader does."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        _waiting.pop(module.__name__, None)
        if not _waiting:
            sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
        if self._first is not None:
            self._first()
        self._loader.exec_module(module)
        self._then()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Finder(MetaPathFinder):
    """Waits for modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module that is waited for, with a loader that says when it is loaded; nothing of any other module."""
        waits = _waiting.get(fullname)
        if waits is None or fullname in _asked:
            return None
        _asked.add(fullname)  # the others are asked; who only asks whether a module is there imports nothing
        try:
            found = (
                finder.find_spec(fullname, path, target) for finder in sys.meta_path if hasattr(finder, "find_spec")
            )
            spec = next((spec for spec in found if spec is not None), None)
        finally:
            _asked.discard(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, *waits)
        return spec


_waiting: dict[str, tuple[Callable[[], None] | None, Callable[[], None]]] = {}  # what is done before, and behind
_asked: set[str] = set()


def _with_prlx(said: str, do: Callable[[], None]) -> None:
    """Do something with prlx. Whatever goes wrong is said, and the program goes on as if nobody had asked."""
    package = os.path.dirname(os.path.dirname(_HERE))  # noqa: PTH120
    added = package not in sys.path
    if added:
        sys.path.append(package)
    try:
        do()
    except Exception as error:  # an import error, a refusal, a folder that is gone
        sys.stderr.write(f"{said}: {error}\n")
    finally:
        if added:
            sys.path.remove(package)


def _record() -> None:
    """Record from now on."""

    def begin() -> None:
        from prlx import _run

        _run.begin()

    _with_prlx(f"prlx run: process {os.getpid()} is not recorded", begin)


def _link() -> None:
    """Let numba-cuda link to PTX."""

    def install() -> None:
        from prlx.hooks import numba

        numba.install()

    _with_prlx("prlx: numba-cuda makes machine code, which the simulator does not run", install)


def _runtime() -> None:
    """Load the runtime of CUDA that the simulator has. torch's libraries find one beside them first, unless one is loaded."""
    import ctypes

    for name in ("libcudart.so.12", "libcudart.so.13"):
        try:
            ctypes.CDLL(os.path.join(os.path.dirname(_HERE), "cuda", name))  # noqa: PTH118, PTH120
        except OSError as error:
            sys.stderr.write(f"prlx: {error}\n")


def _twins() -> None:
    """Let torch's own operators on a CUDA device run on the CPU."""

    def install() -> None:
        from prlx.hooks import twins

        twins.install()

    _with_prlx(
        "prlx: torch's own operators on a CUDA device are machine code, which the simulator does not run", install
    )


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
    _waiting["triton"] = None, _record
if os.environ.get("PRLX_CUDA_DEVICE"):
    _waiting["numba.cuda.cudadrv.driver"] = None, _link
    _waiting["torch"] = _runtime, _twins
if _waiting:
    sys.meta_path.insert(0, _Finder())
_chain()
