"""The corpus of the simulator's tests over whatever driver Triton finds, over prlx's own with ``OWN_DRIVER=1``.

``corpus.py [NAME...]``. With ``RECORD=DIR`` kernels record by themselves, into a session there.

Prints for each case its name, a digest of its arrays after the launch, and what of it NumPy says otherwise.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "simulator"))
from corpus import CASES


def on_driver(case, arrays):
    """Launch a case on memory of a CUDA driver, and bring its arrays back."""
    from program import OnDevice

    held = {name: OnDevice(np.ascontiguousarray(array)) for name, array in arrays.items()}
    case.launch(held)
    for name, array in arrays.items():
        array[...] = held[name].numpy().reshape(array.shape)


def here(case, arrays):
    """Launch a case on arrays of NumPy, which prlx puts on the simulator."""
    case.launch(arrays)


def main():
    launch, folder = on_driver, os.environ.get("RECORD")
    told = {} if folder is None else {"output": folder, "stores": True, "atomics": True, "barriers": True}
    if os.environ.get("OWN_DRIVER"):
        import prlx

        prlx.enable(
            device="simulator",
            progress=False,
            capture="instrumented" if folder else None,
            mode=os.environ.get("MODE", "control-flow"),
            **told,
        )
        launch = here
    elif folder:
        import prlx

        prlx.enable(device="gpu", mode=os.environ.get("MODE", "control-flow"), **told)
    for name in sys.argv[1:] or CASES:
        case = CASES[name]
        arrays = case.arrays(np.random.default_rng(3))
        before = {key: array.copy() for key, array in arrays.items()}
        launch(case, arrays)
        digest = hashlib.sha256(b"".join(np.ascontiguousarray(arrays[key]).tobytes() for key in sorted(arrays)))
        print(name, digest.hexdigest()[:16], case.differences(before, arrays) or "right", flush=True)
    if told:
        prlx.disable()


if __name__ == "__main__":
    main()
