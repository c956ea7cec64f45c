"""A script that changes Triton's driver between two launches: `other_driver.py reset|reload|none|other`."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import triton
import triton.language as tl

runtime = triton.runtime


@triton.jit
def first(x):
    lane = tl.arange(0, 64)
    tl.store(x + lane, tl.load(x + lane) + 1)


@triton.jit
def second(x):
    lane = tl.arange(0, 64)
    tl.store(x + lane, tl.load(x + lane) + 2)


class Other:
    """A driver of somebody else, whose launches do nothing."""

    def __init__(self, driver: object) -> None:
        self._driver = driver

    def __getattr__(self, name: str) -> object:
        return getattr(self._driver, name)

    def launcher_cls(self, *_: object) -> object:
        """Launch nothing."""
        return lambda *_, **__: None


x = np.zeros(64, np.float32)
first[(1,)](x)
if sys.argv[1] == "reset":
    runtime.driver.reset_active()
elif sys.argv[1] == "none":
    runtime.driver._active = None
elif sys.argv[1] == "reload":
    importlib.reload(sys.modules["triton.runtime.driver"])
    importlib.reload(sys.modules["triton.runtime"])
elif sys.argv[1] == "other":
    runtime.driver.set_active(Other(runtime.driver.active))
second[(1,)](x)
print(x[0])
