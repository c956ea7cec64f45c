"""What a table of cases says: which command is tried, what its inputs lack, and how such inputs are made.

Each room has its cases in a module ``cases_ROOM.py`` beside this one: ``CASES``, a list of ``Case``, and ``NONE``, the pairs of
a command and a lack that cannot be, each with the reason. ``test_absence.py`` runs them and looks for gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

LACKS = {
    "empty": "an input that holds nothing: an empty directory, an empty file, a header alone",
    "one side empty": "of two inputs one holds nothing",
    "nothing of the kind": "whole inputs without anything to judge: a script without kernels, a trace without steps",
    "one repetition": "one repetition a side, where chance needs several",
    "truncated": "an input that was cut",
    "one missing": "one rank, side or file is missing where an input says how many there were",
    "unknown values": "all values that would be judged are unknown: digests alone, clocks without a bound, times that are zero",
}
"""What inputs can lack."""


@dataclass(frozen=True)
class Case:
    """One command line whose inputs lack something.

    Attributes
    ----------
    command
        The command as in ``JUDGES``, such as ``nccl diagnose``.
    lack
        A key of ``LACKS``.
    make
        Puts the inputs into a folder and returns the words after ``prlx``, without ``--json``.
    says
        A part of the sentence that names what is missing, as the user reads it (any of stdout, stderr, document).
    environment
        Further variables of its environment.
    """

    command: str
    lack: str
    make: Callable[[Path], list[str]]
    says: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


def none_of(command: str, why: str, *, but: tuple[str, ...] = ()) -> dict[tuple[str, str], str]:
    """Rows of ``NONE`` for a command of which nothing can lack, with the reason; ``but`` are lacks that have a case."""
    return {(command, lack): why for lack in LACKS if lack not in but}
