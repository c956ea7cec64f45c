"""Kernels of the user that Inductor copies into files of its own: they are compiled as what they are copies of.

Triton notes for every instruction the file and line of the function that it compiles. Of a copy these are those of a generated
file, which nobody wrote and which is gone tomorrow. A copy whose text is that of the user's function is given the user's file
and lines before it is compiled; one whose text Inductor changed keeps its own.
"""

from __future__ import annotations

from typing import Any

from . import texts

# Some of them only in newer versions of Triton.
_PLACES = ("raw_src", "starting_line_number", "file_name", "def_file_line_number", "def_file_col_number")


class Copies:
    """The functions that kernels of the user are made of, by the name that Inductor gave the kernel."""

    def __init__(self) -> None:
        self._functions: dict[str, list[Any]] = {}

    def add(self, kernel: str, function: Any) -> None:
        """Note that a kernel is a copy of a function, and has copies of the functions that it calls."""
        self._functions[kernel] = texts.user_functions(function)

    def place(self, kernel: str, copy: Any) -> None:
        """Give the copy, and the copies of what it calls, the places of what they were made from."""
        known = self._functions.get(kernel)
        if known is None:
            return
        for one in texts.user_functions(copy):
            found = [function for function in known if _alike(function, one)]
            if len(found) == 1:
                _place(one, found[0])


def _alike(function: Any, copy: Any) -> bool:
    """Whether a function has the name and text of another. Copies lose the space around theirs."""
    return bool(function.fn.__name__ == copy.fn.__name__ and function.src.strip() == copy.src.strip())


def _place(copy: Any, function: Any) -> None:
    python = copy.fn
    python.__code__ = python.__code__.replace(co_filename=function.fn.__code__.co_filename)
    for name in _PLACES:
        if hasattr(function, name) and hasattr(copy, name):
            setattr(copy, name, getattr(function, name))
    copy.hash = None  # it has the number of the first line in it
