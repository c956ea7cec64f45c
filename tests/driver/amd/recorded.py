"""A program that records its launches on the GPU of AMD that it finds, in one of several ways. Prints a line of JSON."""
# ruff: noqa: N803

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import triton
import triton.language as tl
from triton.runtime import driver

import prlx

sys.path.insert(0, str(Path(__file__).parents[1]))
from digests import digest

warnings.simplefilter("ignore")
hip = ctypes.CDLL(os.environ["TRITON_LIBHIP_PATH"])
hip.hipGetErrorString.restype = ctypes.c_char_p


def checked(code):
    if code:
        raise RuntimeError(f"{code}: {hip.hipGetErrorString(code).decode()}")


class OnDevice:
    """An array in memory of the device."""

    def __init__(self, array):
        self.like, self.dtype, self.nbytes, at = array, array.dtype.name, array.nbytes, ctypes.c_void_p()
        checked(hip.hipMalloc(ctypes.byref(at), ctypes.c_size_t(array.nbytes)))
        self.at = at.value
        checked(hip.hipMemcpyHtoD(at, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)))

    def data_ptr(self):
        return self.at

    def numpy(self):
        back = np.empty_like(self.like)
        n = ctypes.c_size_t(back.nbytes)
        checked(hip.hipMemcpyDtoH(ctypes.c_void_p(back.ctypes.data), ctypes.c_void_p(self.at), n))
        return back


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def steps(x, out, n):
    at = tl.program_id(0)
    value = tl.load(x + at)
    done = 0
    while value > 1:
        value = tl.where(value % 2 == 0, value // 2, 3 * value + 1)
        done += 1
    if done > n:
        done = 0
    tl.store(out + at, done)


@triton.autotune(
    [triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"], do_bench=lambda call, **_: call() or 1.0
)
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


def ints(*values):
    return OnDevice(np.array(values, np.int32))


def say(recording, **more):
    said = {"launches": recording.launches, "recorded": recording.recorded, "losses": recording.losses}
    print(json.dumps({**said, "without": recording.without_digests, **more}))


def plain(folder):
    """Launches with masks that cut blocks, and with loops of several lengths; one value differs where SLIP says so."""
    x, out, counts = ints(*range(300)), ints(*[0] * 300), ints(*[0] * 8)
    values = ints(6, 7, 12, 27 if os.environ.get("SLIP") else 6, 3, 1, 2, 9)
    arrays = [{"x": x, "y": x, "out": out}, {"x": values, "out": counts}]
    before = [{name: digest(array.numpy()) for name, array in one.items()} for one in arrays]
    with prlx.enable(
        device=os.environ.get("DEVICE", "gpu"), output=folder, **json.loads(os.environ.get("OPTIONS", "{}"))
    ) as recording:
        add[(2,)](x, x, out, 300, BLOCK=256)
        steps[(8,)](values, counts, 100)
    held = [
        {name: [told[name], digest(array.numpy())] for name, array in one.items()}
        for told, one in zip(before, arrays, strict=True)
    ]
    add[(2,)](x, out, out, 300, BLOCK=256)
    right = out.numpy().tolist() == [3 * i for i in range(300)]
    say(recording, right=right, counts=counts.numpy().tolist(), held=held)


def switched(folder):
    """On, off, on: which launches are recorded, plain and of the autotuner."""
    x, out, recorded, tables = ints(*range(100)), ints(*[0] * 100), [], []
    for i in range(2):
        tables.append(getattr(add[(1,)](x, x, out, 100, BLOCK=128).metadata, "prlx_table", ""))
        tuned[(2,)](x, out, 100)
        with prlx.enable(device="gpu", output=f"{folder}/{i}") as recording:
            tables.append(add[(1,)](x, x, out, 100, BLOCK=128).metadata.prlx_table)
            tuned[(2,)](x, out, 100 - i)
        recorded.append([recording.launches, recording.recorded])
    say(recording, counts=recorded, tables=[bool(one) for one in tables])


def threads(folder):
    """Threads on streams of their own, each with launches that nobody else has."""
    right = [0] * 3
    of_triton = driver.active.get_current_stream
    here = threading.local()
    driver.active.get_current_stream = lambda _device: getattr(here, "stream", 0)
    add[(1,)](ints(1), ints(1), ints(0), 1, BLOCK=64)
    with prlx.enable(device="gpu", output=folder) as recording:

        def work(number):
            stream, flags = ctypes.c_void_p(), 0
            checked(hip.hipStreamCreateWithFlags(ctypes.byref(stream), flags))
            here.stream, out = stream.value, ints(*[0] * 64)
            for k in range(3):
                add[(1,)](ints(*[number] * 64), ints(*[k] * 64), out, 64, BLOCK=64)
                right[number] += out.numpy().tolist() == [number + k] * 64

        workers = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for one in workers:
            one.start()
        for one in workers:
            one.join()
    driver.active.get_current_stream = of_triton
    say(recording, right=right)


def graphs(folder):
    """Launches are captured in a graph, which is launched twice."""
    stream, graph, made = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    checked(hip.hipStreamCreateWithFlags(ctypes.byref(stream), 0))
    x, out, seen = ints(*range(64)), ints(*[0] * 64), []
    of_triton = driver.active.get_current_stream
    with prlx.enable(device="gpu", output=folder) as recording:
        add[(1,)](x, x, ints(*[0] * 64), 64, BLOCK=64)
        driver.active.get_current_stream = lambda _device: stream.value
        checked(hip.hipStreamBeginCapture(stream, 0))
        add[(1,)](x, out, out, 64, BLOCK=64)
        checked(hip.hipStreamEndCapture(stream, ctypes.byref(graph)))
        driver.active.get_current_stream = of_triton
        seen.append(out.numpy().tolist()[63])
        checked(hip.hipGraphInstantiateWithFlags(ctypes.byref(made), graph, ctypes.c_ulonglong(0)))
        for _ in range(2):
            checked(hip.hipGraphLaunch(made, stream))
            seen.append(out.numpy().tolist()[63])
    say(recording, seen=seen)


def faults(folder):
    """One call of the driver fails, which STANDIN_FAIL names; the launches are right as ever, or say so."""
    out, made, errors = ints(*[0] * 64), 0, 0
    with prlx.enable(device="gpu", output=folder) as recording:
        for k in range(4):
            try:
                add[(1,)](ints(*[k] * 64), ints(*[7] * 64), out, 64, BLOCK=64)
            except (RuntimeError, SystemError):  # the latter where Triton asks its hooks after the error
                errors += 1
            else:
                made += out.numpy().tolist() == [k + 7] * 64
    say(recording, right=made, errors=errors)


if __name__ == "__main__":
    globals()[sys.argv[1]](str(Path(sys.argv[2]).absolute()))
