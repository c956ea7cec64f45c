"""Tests of Triton's whose outcome on the simulator is not about its arithmetic, each with the reason.

A row is a regular expression for the test, one for the cause, and why. What a check finds there is true: the test itself is
wrong. What fails there asks something of a GPU's driver or of another Triton.
"""

from __future__ import annotations

import re

DEFECTS = (
    (r"test_annotations\.py::test_int_annotation", r"out-of-bounds", "it stores beyond an array of one element"),
    (
        r"test_core\.py::test_if_call\[attribute_jit\]",
        r"out-of-bounds",
        "a warp reads the element again after another has stored to it: a race",
    ),
)
ELSEWHERE = (
    (r"", r"Block pointers have been removed", "this Triton has no block pointers"),
    (r"test_core\.py::test_const\[", r"Wrong error message", "this Triton words an error differently"),
    (r"test_core\.py::test_atomic_rmw\[", r"assert 'atom\.global\.gpu\.", "this Triton spells its PTX differently"),
    # Each thread stores the two elements that it loaded beside each other: TTGIR says so, before any driver is asked.
    (
        r"test_core\.py::test_cat\[True-",
        r"not equal",
        "can_reorder=True lets this Triton's compiler reorder, and it does",
    ),
    (r"test_core\.py::test_histogram\[", r"cuobjdump", "it disassembles the machine code, and there is none"),
    (r"test_core\.py::test_pointer_arguments\[cpu\]", r"DID NOT RAISE", "tensors of the CPU are the simulator's"),
    (
        r"test_tuple\.py::test_passing_nested_tuple_with_constexpr_and_jit_hook",
        r"None is not None",
        "it empties the cache of device 0; the simulated device has another number",
    ),
)


def outcome(row: dict) -> str:
    """The outcome of a row: what the judge said, or that it is a defect of the test, or about something else."""
    if row["outcome"] == "finding" and _reason(DEFECTS, row):
        return "defect of the test"
    if row["outcome"] == "wrong" and _reason(ELSEWHERE, row):
        return "about something else"
    return str(row["outcome"])


def reason(row: dict) -> str | None:
    """Why a row's outcome is what ``outcome`` made of it."""
    return _reason(DEFECTS, row) or _reason(ELSEWHERE, row)


def _reason(table: tuple, row: dict) -> str | None:
    return next(
        (why for test, cause, why in table if re.search(test, row["test"]) and re.search(cause, row["cause"])), None
    )
