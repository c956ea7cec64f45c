"""What is taken for freed memory: that of no array that lives."""

from __future__ import annotations

import numpy as np

from prlx import _launching
from prlx._standing import Standing
from prlx.hooks import freed as hooks_freed
from prlx.hooks.freed import Freed
from prlx.hooks.launch import Storage


def test_memory_that_another_array_has_now_is_not_taken_for_freed():
    freed = Freed()
    old, new = np.ones(4), np.ones(4)
    freed.remember([Storage(1000, 100, "x", keep=old)], 0)
    freed.remember([Storage(2000, 100, "y", keep=old)], 0)
    del old
    freed.remember([Storage(1040, 20, "row", keep=new)], 1)
    assert [row["name"] for row in freed.gone([])] == ["y of launch 0"]
    assert freed.gone([Storage(2099, 1, "z")]) == []
    assert [row["name"] for row in freed.gone([Storage(2100, 1, "z")])] == ["y of launch 0"]
    del new
    assert [row["name"] for row in freed.gone([])] == ["row of launch 1", "y of launch 0", "x of launch 0"]


def test_memory_that_is_registered_is_not_taken_for_freed(monkeypatch):
    freed = Freed()
    monkeypatch.setattr(hooks_freed, "FREED", freed)
    old, row = np.ones(4), np.ones(4)
    freed.remember([Storage(1000, 100, "x", keep=old), Storage(2000, 100, "y", keep=old)], 0)
    del old
    standing = Standing()
    standing.register([Storage(1040, 20, "registered memory 0", keep=row)])
    assert [one["name"] for one in _launching._freed([], standing)] == ["y of launch 0"]
    assert len(_launching._freed([], None)) == 2
