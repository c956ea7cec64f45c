"""What is taken for freed memory: that of no array that lives."""

from __future__ import annotations

import numpy as np

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
