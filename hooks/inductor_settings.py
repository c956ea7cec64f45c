"""Settings of torch's compiler that decide who compiles and launches its kernels: Triton does, in this process."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

STATIC_LAUNCHER = ("use_static_triton_launcher", "use_static_cuda_launcher")
"""Names of the setting by which torch launches kernels itself, without Triton; today's first."""

_VARIABLES = {"TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER": "0", "TORCHINDUCTOR_COMPILE_THREADS": "1"}


def forced(config: Any, name: str, value: Any) -> Callable[[], None]:
    """Give a setting a value in every thread, whatever the program sets it to; what is returned ends that.

    What a program sets holds in its thread alone. What an environment variable forces holds in all.
    """
    entry = config._config[name]
    if getattr(entry, "alias", None):
        module, _, name = entry.alias.rpartition(".")
        return forced(importlib.import_module(module), name, value)
    if not hasattr(entry, "env_value_force"):
        before = getattr(config, name)
        setattr(config, name, value)
        return functools.partial(setattr, config, name, before)
    before = entry.env_value_force

    def put(chosen: Any) -> None:
        entry.env_value_force = chosen
        if hasattr(config, "_hash_dirty_var"):  # the hash of all settings is kept
            config._hash_dirty_var.set(True)
        if hasattr(config, "_mark_get_dict_dirty"):
            config._mark_get_dict_dirty(name)

    put(value)
    return functools.partial(put, before)


def launch_by_triton() -> Callable[[], None]:
    """Have torch's compiler compile in this process and launch by Triton; what is returned ends that.

    A kernel that another process compiles does not record, and one that torch launches itself asks nobody for an arena. Where
    torch's compiler is not imported yet, its own variables say so to it. torch itself is not imported.
    """
    undo: list[Callable[[], None]] = []
    for name, value in _VARIABLES.items():
        undo.append(functools.partial(_put, name, os.environ.get(name)))
        os.environ[name] = value
    config = sys.modules.get("torch._inductor.config")
    if config is not None:
        for names, setting in ((STATIC_LAUNCHER, False), (("compile_threads",), 1)):
            known = next((name for name in names if name in config._config), None)
            if known is not None:
                undo.append(forced(config, known, setting))

    def back() -> None:
        while undo:
            undo.pop()()

    return back


def _put(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
