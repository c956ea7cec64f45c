"""What of a launch over a driver is recorded, asked for one after another: prints a JSON object, a word for each.

``support.py DIRECTORY``, with ``VENDOR`` in the environment: which driver there is.
"""
# ruff: noqa: N803

from __future__ import annotations

import contextlib
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

if os.environ["VENDOR"] == "AMD":
    from amd.recorded import OnDevice, checked, hip

    create, begin, end = hip.hipStreamCreateWithFlags, hip.hipStreamBeginCapture, hip.hipStreamEndCapture
else:
    from program import OnDevice, checked, cuda

    create, begin, end = cuda.cuStreamCreate, cuda.cuStreamBeginCapture_v2, cuda.cuStreamEndCapture

warnings.simplefilter("ignore")
COUNT = 100


@triton.jit
def everything(x, out, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    tl.debug_barrier()
    if n > 3:
        tl.store(out + at, value + 1, mask=at < n)
    tl.atomic_add(total + at, value, mask=at < n)


@triton.autotune(
    [triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"], do_bench=lambda call, **_: call() or 1.0
)
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


class Asked:
    """Launches that are recorded to folders of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.number = folder, 0
        self.x = OnDevice(np.arange(COUNT, dtype=np.int32))

    def launch(self) -> bool:
        """One launch; whether it computed what it should."""
        out, total = (OnDevice(np.zeros(COUNT, np.int32)) for _ in range(2))
        everything[(2,)](self.x, out, total, COUNT, BLOCK=64)
        return out.numpy().tolist() == list(range(1, COUNT + 1)) and total.numpy().tolist() == list(range(COUNT))

    def recording(self, **told):
        """Record a block."""
        self.number += 1
        return prlx.enable(device="gpu", output=str(self.folder / str(self.number)), **told)

    def trace(self, variables=(), **told):
        """The recording of a launch with some options; None where it was lost."""
        os.environ.update(variables)
        try:
            with self.recording(**told) as recording:
                assert self.launch()
        finally:
            for name in dict(variables):
                del os.environ[name]
        files = sorted(Path(recording.path).glob("*.prlx"))
        return prlx.read_trace(files[0]) if recording.recorded == 1 else None


def kinds(trace) -> set[str]:
    return set(trace.events["kind"].tolist())


def rows(folder: Path):
    """Each row of the table, and what is found."""
    asked = Asked(folder)
    plain = asked.trace(stores=True, atomics=True, barriers=True)
    yield "a kernel", plain is not None
    found = kinds(plain)
    yield "branches and masks", bool({"branch", "predicate"} & found)
    yield "stores", "global-store" in found
    yield "atomics", "atomic" in found
    yield "barriers", "barrier" in found
    yield "sums of stores", bool(prlx.diff_traces(plain.path, plain.path).document["coverage"]["outputs"]["stores"])
    yield "what memory held", bool(plain.document["outputs"]["memory"])
    values = asked.trace(mode="values")
    yield "values of lanes", values.header.document["mode"] == "values" and values.total_events > 0
    hashes = asked.trace(mode="digest")
    yield "hashes alone", hashes.header.document["mode"] == "digest" and all(hashes.warps["hash"].tolist())
    yield "last events", asked.trace({"PRLX_HISTORY_DEPTH": "1"}).header.document["keep"] == "last"
    yield "samples", asked.trace({"PRLX_SAMPLE_RATE": "2"}).header.document["sample_rate"] == 2
    for name, told in (("loads", {"loads": True}), ("contents", {"outputs": 64})):
        with contextlib.suppress(prlx.UsageError):
            asked.trace(**told)
            yield name, True
            continue
        yield name, "refused"
    with asked.recording(filter="nothing") as recording:
        asked.launch()
    yield "a filter", recording.recorded == 0 and not recording.losses
    yield "the autotuner", _tuned(asked)
    yield "on, off and on again", _switched(asked)
    yield "threads on streams", _threads(asked)
    yield "graphs", _graph(asked)
    yield "a forked child", _forked(asked)


def _tuned(asked) -> bool:
    out = OnDevice(np.zeros(COUNT, np.int32))
    with asked.recording() as recording:
        tuned[(2,)](asked.x, out, COUNT)
    return recording.recorded == recording.launches == 1 and out.numpy().tolist() == list(range(1, COUNT + 1))


def _switched(asked) -> bool:
    made = []
    for _ in range(2):
        with asked.recording() as recording:
            asked.launch()
        made.append((recording.launches, recording.recorded))
        asked.launch()
        made.append((recording.launches, recording.recorded))
    return made == [(1, 1)] * 4


def _stream():
    stream = ctypes.c_void_p()
    checked(create(ctypes.byref(stream), 0))
    return stream


@contextlib.contextmanager
def _on(find):
    """Have Triton launch on the stream that is found."""
    before = driver.active.get_current_stream
    driver.active.get_current_stream = lambda _device: find()
    try:
        yield
    finally:
        driver.active.get_current_stream = before


def _threads(asked) -> bool:
    here, right = threading.local(), []

    def work() -> None:
        here.stream = _stream().value
        right.extend(asked.launch() for _ in range(2))

    with asked.recording() as recording, _on(lambda: getattr(here, "stream", 0)):
        workers = [threading.Thread(target=work) for _ in range(3)]
        for one in workers:
            one.start()
        for one in workers:
            one.join()
    return right == [True] * 6 and recording.recorded == 6


def _graph(asked) -> str | bool:
    out, total, stream, graph = *(OnDevice(np.zeros(COUNT, np.int32)) for _ in range(2)), _stream(), ctypes.c_void_p()
    with asked.recording() as recording, _on(lambda: stream.value):
        asked.launch()
        checked(begin(stream, 0))
        everything[(2,)](asked.x, out, total, COUNT, BLOCK=64)
        checked(end(stream, ctypes.byref(graph)))
    return "counted" if (recording.launches, recording.recorded, sum(recording.losses.values())) == (2, 1, 1) else False


def _forked(asked) -> str | bool:
    out, total = (OnDevice(np.zeros(COUNT, np.int32)) for _ in range(2))
    with asked.recording() as recording:
        asked.launch()
        child = os.fork()
        if child == 0:
            with (
                warnings.catch_warnings(record=True) as warned,
                contextlib.suppress(Exception),
            ):  # the driver refuses it
                warnings.simplefilter("always")
                everything[(2,)](asked.x, out, total, COUNT, BLOCK=64)
            os._exit(any("forked" in str(one.message) for one in warned))
        warned = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    return "warned" if warned and recording.recorded == 1 else False


if __name__ == "__main__":
    print(json.dumps({name: "yes" if text is True else text or "no" for name, text in rows(Path(sys.argv[1]))}))
