"""Packages without what their ``__init__`` imports: extensions, model hubs, servers. Modules of kernels need none of it."""

from __future__ import annotations

import importlib.machinery
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


def bare(*names: str) -> None:
    """Make packages importable as folders, so that their modules can be imported and their ``__init__`` does not run."""
    for name in names:
        parts = Path(*name.split("."))
        places = [str(Path(entry) / parts) for entry in sys.path if (Path(entry) / parts).is_dir()]
        module = ModuleType(name)
        module.__path__ = places
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, module)


class Anything(ModuleType):
    """A module that has every name: each is a class that does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda self, *args, **kwargs: None})


def absent(*names: str, **values: Any) -> None:
    """Stand in for modules that are not there; ``values`` are names that all of them have."""
    for name in names:
        module = Anything(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        module.__path__ = []
        vars(module).update(values)
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], last, module)
