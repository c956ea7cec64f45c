"""Writes one form of a kernel to a file, launches it on the simulator and records it.

PYTHONPATH=build/triton/3.9.0 python record.py MODULE ID first|second KERNEL.py RECORDING.prlx [default|values|outputs]

first and second may be called a and b.

KERNEL.py is the same file for both forms, as when a person edits a kernel in place. Prints one JSON document: the arrays
after the launch by name, hashed, and what the simulator found.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from pairs import FIRST, HERE, SECOND, form, marked_text, renamed

import prlx

SIDES = {"a": FIRST, "b": SECOND}  # as prlx diff --rerun calls them
RENAMED = "renamed"
CODE = "code"
MODES: dict[str, dict[str, Any]] = {
    "default": {},
    "outputs": {"outputs": "64MiB"},
    CODE: {},  # the code of the kernel without its text
    RENAMED: {},  # the second form has other names for all of its variables, too
    "values": {"outputs": "64MiB", "mode": "values", "stores": True, "atomics": True, "loads": True},
}


def main() -> None:
    module, name, which, kernel, recording = sys.argv[1:6]
    which = SIDES.get(which, which)
    mode = sys.argv[6] if len(sys.argv) > 6 else "default"
    case = next(case for case in importlib.import_module(module).CASES if case.id == name)
    text = form(marked_text(HERE / f"{module}.py", name), which).text
    Path(kernel).write_text(renamed(text) if which == SECOND and mode == RENAMED else text)
    spec = importlib.util.spec_from_file_location("kernel", kernel)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    function = getattr(loaded, name)
    if mode == CODE:
        from prlx.hooks import simulator

        found = simulator.texts_of
        simulator.texts_of = lambda *compiled: {**found(*compiled), "functions": []}
    warnings.filterwarnings("ignore", category=prlx.FindingWarning)
    warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")

    arguments = case.arguments(np.random.default_rng(1))
    grid = case.grid
    if which == SECOND:
        arguments |= {key: value.copy() if hasattr(value, "copy") else value for key, value in case.second.items()}
        grid = case.second_grid or grid
    with (
        prlx.enable(device="simulator", progress=False) as seen,
        prlx.record(recording, overwrite=True, **MODES[mode]),
    ):
        function[grid](**arguments, **case.options)
    names = inspect.signature(function.fn if hasattr(function, "fn") else function).parameters
    assert set(arguments) <= set(names) or hasattr(function, "configs"), sorted(set(arguments) - set(names))
    arrays = {key: digest(value) for key, value in arguments.items() if isinstance(value, np.ndarray)}
    print(json.dumps({"arrays": arrays, "findings": [finding.check for finding in seen.findings]}))


def digest(array: Any) -> str:
    """Equal for arrays of equal bytes; an array of gigabytes stands for its first and last bytes."""
    flat = array.reshape(-1).view(np.uint8)
    kept = flat if flat.size < 1 << 24 else np.concatenate([flat[: 1 << 16], flat[-(1 << 16) :]])
    return hashlib.sha256(kept.tobytes()).hexdigest()[:16]


if __name__ == "__main__":
    main()
