"""Programs whose launches differ in what memory holds, in one of several ways. Prints JSON.

``contents.py WAY DIRECTORY``. What ``VALUE`` says is in an array that the kernel reads, ``OLD`` in one that it writes in part.
"""
# ruff: noqa: N803

from __future__ import annotations

import ctypes
import json
import os
import sys
import warnings

import numpy as np
import triton
import triton.language as tl
from digests import digest
from program import OnDevice

import prlx
from prlx import _contents

warnings.simplefilter("ignore")
VALUE, OLD = (int(os.environ.get(name, "1")) for name in ("VALUE", "OLD"))


class Storage:
    """The storage of a tensor, as torch says it."""

    def __init__(self, whole):
        self.data_ptr, self.nbytes = whole.data_ptr, lambda: whole.nbytes


class View:
    """A part of an array on the device, with the storage of the whole."""

    def __init__(self, whole, offset, shape):
        self.whole, self.offset, self.shape, self.dtype = whole, offset, shape, whole.dtype

    def data_ptr(self):
        return self.whole.at + self.offset

    def stride(self):
        return (1,)

    def untyped_storage(self):
        return Storage(self.whole)


@triton.jit
def fill(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0) * 2, mask=at < n)


@triton.jit
def gather(x, index, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + tl.load(index + at, mask=at < n, other=0), mask=at < n, other=0)))


@triton.jit
def doubled(table, count):
    for i in range(count):
        at = tl.load(table + i).to(tl.pointer_type(tl.int32))
        tl.store(at + tl.arange(0, 8), tl.load(at + tl.arange(0, 8)) * 2)


def ints(count, value=0, dtype=np.int32):
    return OnDevice(np.full(count, value, dtype))


def plain(folder):
    """Arrays of odd lengths, a view that does not begin where its memory does, and one that says nothing of itself."""
    x, whole = OnDevice(np.arange(301, dtype=np.int32) * VALUE), ints(333, OLD)
    before = [digest(x.numpy()), digest(whole.numpy())]
    small = ints(3)
    del small.nbytes
    with prlx.enable(device="gpu", output=folder):
        fill[(2,)](x, View(whole, 52, (300,)), 300, BLOCK=256)
        fill[(1,)](x, small, 3, BLOCK=256)
    print(json.dumps({"x": [before[0], digest(x.numpy())], "out": [before[1], digest(whole.numpy())]}))


def added(folder):
    """Atomics add to what is there; indices are integers of 8 bytes, one of which looks like an address."""
    index = np.arange(8, dtype=np.int64)
    x, at, out = ints(8, VALUE), OnDevice(index), ints(1, OLD)
    spare = OnDevice(np.array([1 << 40], np.int64))
    with prlx.enable(device="gpu", output=folder):
        gather[(1,)](x, at, out, 8, BLOCK=8)
        gather[(1,)](x, spare, out, 0, BLOCK=8)
    print(json.dumps(int(out.numpy()[0])))


def pointers(folder):
    """A kernel reads and writes memory whose addresses are in an array: no argument has it."""
    behind = ints(8, VALUE), ints(8, 3)
    table = OnDevice(np.array([one.data_ptr() for one in behind], np.int64))
    with prlx.enable(device="gpu", output=folder):
        doubled[(1,)](table, 2)
    print(json.dumps([one.numpy().tolist()[0] for one in behind]))


def off(folder):
    """Nobody looks at memory."""
    with prlx.enable(device="gpu", output=folder, contents_after=False):
        fill[(1,)](ints(64, 3), ints(64), 64, BLOCK=64)
    print("{}")


def refused(folder):
    """The driver does not take the kernel of digests."""

    def loaded(self, kernel):
        del kernel
        self._cuda.call("cuModuleLoadData", ctypes.byref(ctypes.c_void_p()), b"\177ELF")

    _contents.Digester._loaded = loaded
    with prlx.enable(device="gpu", output=folder) as recording:
        fill[(1,)](ints(64, 3), ints(64), 64, BLOCK=64)
    print(json.dumps({"losses": recording.losses, "without": recording.without_digests}))


def fails(which, folder):
    """One of the two launches of digests around the first of two kernels fails."""
    launch, calls = _contents.Digester.launch, []

    def failing(self, context, rows, parameters, stream):
        calls.append(1)
        if len(calls) == which:
            raise self._cuda.error("cuLaunchKernel", 2)
        launch(self, context, rows, parameters, stream)

    _contents.Digester.launch = failing
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with prlx.enable(device="gpu", output=folder) as recording:
            for _ in range(2):
                fill[(1,)](ints(64, 3), ints(64), 64, BLOCK=64)
    said = [str(one.message) for one in warned if "digest" in str(one.message)]
    print(json.dumps({"losses": recording.losses, "without": recording.without_digests, "said": said}))


def before(folder):
    """The launch of digests in front of a kernel."""
    fails(1, folder)


def behind(folder):
    """The one behind it."""
    fails(2, folder)


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
