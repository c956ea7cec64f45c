"""A program that launches while faults happen that a seed drew, one after another. Prints a line of JSON for each.

``faults.py WAY DIRECTORY``: ``drawn`` for ``COUNT`` faults of ``SEED`` after which a process goes on; ``context`` for a context
that is lost, ``killed`` for a process that is killed from outside, which end it.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import resource
import sys
import warnings

import numpy as np
from program import OnDevice, add, checked, cuda

import prlx

warnings.simplefilter("ignore")
AT_LAUNCH = ("cuMemcpyHtoDAsync_v2", "cuEventRecord", "cuStreamIsCapturing")
AT_DRAIN = ("cuEventSynchronize", "cuMemsetD8Async")
CODES = (1, 2, 201, 400, 700, 719, 999)
KINDS = ("allocation", "launch", "digest", "copy fails", "copy is late", "error is late", "driver", "stream", "disk")


class Launches:
    """Launches whose results are known, on a stream."""

    def __init__(self):
        self.made, self.right, self.errors = 0, 0, []

    def make(self):
        """One launch with arrays of its own."""
        x, y, out = (OnDevice(np.full(64, k, np.int32)) for k in (self.made + len(self.errors), 7, 0))

        def launch():
            try:
                add[(1,)](x, y, out, 64, BLOCK=64)
            except RuntimeError as error:
                self.errors.append(str(error))
                return
            self.made += 1
            self.right += set(out.numpy().tolist()) == {int(x.like[0]) + 7}

        return launch


def arm(draw, kind):
    """Have the fault happen with the next launches."""
    functions = {
        "allocation": ("cuMemHostAlloc", "cuMemAlloc_v2", "cuEventCreate"),
        "launch": ("cuLaunchKernelEx",),
        "digest": ("cuLaunchKernel",),
        "copy fails": ("cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"),
        "error is late": ("cuStreamSynchronize", "cuEventSynchronize"),
        "driver": (*AT_LAUNCH, *AT_DRAIN),
    }
    if kind in functions:
        function = draw.choice(functions[kind])
        after = draw.randrange(2 if kind in ("digest", "launch") else 1)
        cuda.fault_arm(function.encode(), after, draw.choice(CODES))
        return function
    return ""


def drawn(folder):
    """Faults after which the process goes on: what each cost."""
    draw, total = random.Random(int(os.environ["SEED"])), Launches()
    total.make()()
    with prlx.enable(device="gpu", output=folder) as recording:
        gpu, count = recording._gpu, int(os.environ["COUNT"])
        total.make()()
        for _ in range(count):
            gpu.drain.settle()
            kind = draw.choice(KINDS)
            launches = [total.make() for _ in range(3)]
            if kind == "allocation":
                gpu.pool.close()  # so that the next launch needs an arena
            before, errors = sum(recording.losses.values()), len(total.errors)
            function = arm(draw, kind)
            if kind == "copy is late":
                cuda.fault_delay_copies(1)
            if kind == "disk":
                resource.setrlimit(resource.RLIMIT_FSIZE, (64, resource.RLIM_INFINITY))
            if kind == "stream":
                on_a_stream_that_goes(draw, launches)
            else:
                for launch in launches:
                    launch()
            gpu.drain.settle()
            cuda.fault_delay_copies(0)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            fired = bool(cuda.fault_fired()) or not function
            cost = {"lost": sum(recording.losses.values()) - before, "errors": total.errors[errors:]}
            print(json.dumps({"kind": kind, "function": function, "fired": fired, **cost}), flush=True)
    said = {"launches": recording.launches, "recorded": recording.recorded, "losses": recording.losses,
            "without": recording.without_digests}  # fmt: skip
    print(json.dumps({**said, "made": total.made - 1, "right": total.right - 1, "errors": len(total.errors)}))


def on_a_stream_that_goes(draw, launches):
    """Launch on a stream that is destroyed before the launch, or right behind it."""
    from triton.runtime import driver

    stream = ctypes.c_void_p()
    checked(cuda.cuStreamCreate(ctypes.byref(stream), 1))
    of_triton = driver.active.get_current_stream
    driver.active.get_current_stream = lambda _device: stream.value
    try:
        if draw.randrange(2):
            launches[0]()
        checked(cuda.cuStreamDestroy_v2(stream))
        launches[1]()
    finally:
        driver.active.get_current_stream = of_triton
    launches[2]()


def context(folder):
    """The context is lost after some launches: everything that the driver is asked fails from then on."""
    total = Launches()
    with prlx.enable(device="gpu", output=folder) as recording:
        launches = [total.make() for _ in range(6)]
        for i, launch in enumerate(launches):
            if i == int(os.environ["AFTER"]):
                cuda.fault_lose_context()
            try:
                launch()
            except RuntimeError as error:  # of reading the result back
                total.errors.append(str(error))
    print(json.dumps({"launches": recording.launches, "recorded": recording.recorded, "losses": recording.losses,
                      "errors": len(total.errors)}))  # fmt: skip


def killed(folder):
    """Launches until somebody ends it."""
    total, recording = Launches(), prlx.enable(device="gpu", output=folder)
    total.make()()
    recording._gpu.drain.settle()
    print("{}", flush=True)
    while True:
        total.make()()


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
