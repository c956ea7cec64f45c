"""A program of one launch that records less than happens. With OTHER the last block takes another way to the same results."""

from __future__ import annotations

import json
import os
import sys
import warnings

import numpy as np
import triton
import triton.language as tl
from program import OnDevice

import prlx

warnings.simplefilter("ignore")


@triton.jit
def walk(x, out, n):
    at = tl.program_id(0)
    total = 0
    for i in range(n):
        value = tl.load(x + at * n + i)
        while value > 1:
            value = tl.where(value % 2 == 0, value // 2, 3 * value + 1)
        total += value
    tl.store(out + at, total)


def main(folder):
    values = np.full((8, 6), 7, np.int32)
    if os.environ.get("OTHER"):
        values[7, 5] = 9  # three more steps to 1, and the last ones of its block
    x, out = OnDevice(values), OnDevice(np.zeros(8, np.int32))
    with prlx.enable(device="gpu", output=folder, **json.loads(os.environ.get("OPTIONS", "{}"))) as recording:
        walk[(8,)](x, out, 6)
    print(json.dumps({"out": out.numpy().tolist(), "recorded": recording.recorded}))


if __name__ == "__main__":
    main(sys.argv[1])
