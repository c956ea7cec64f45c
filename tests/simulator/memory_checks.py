"""Checks of whose memory a launch may touch: views, buffers, parts of words, what goes away. Run as ``driver_checks.py`` is."""

import contextlib
import gc
import importlib
import json
import mmap
import os
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import kernels
import ml_dtypes
import numpy as np
import triton

import prlx
from prlx import _core

PAGE = mmap.PAGESIZE


def copied(o, *, blocks=4, machine=None):
    """The findings of a launch that writes 1,024 elements a block to ``o``."""
    x = np.ones(1024 * blocks, np.float32)
    return prlx.simulate(kernels.copy, (blocks,), x, o, BLOCK=1024, machine=machine).findings


def checks_of(findings):
    return {finding.check for finding in findings}


def check_a_view_by_strides_does_not_reach_beyond_its_array():
    whole = np.zeros(4096, np.float32)
    for array in (whole[:16], np.zeros(16, np.float32)):
        endless = np.lib.stride_tricks.as_strided(array, (1 << 20,), (4,))
        found = copied(endless)
        if array.base is None:
            assert checks_of(found) == {"out-of-bounds"} and "(64 bytes)" in found[0].message, found
            assert (array == 1).all()
        else:
            assert not found and (whole == 1).all(), found


def check_memory_that_may_not_be_written():
    raw = bytes(4096)
    frozen = np.zeros(1024, np.float32)
    frozen.flags.writeable = False
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(4096))
        file.flush()
        for o in (np.frombuffer(raw, np.float32), frozen, np.memmap(file.name, np.float32, "r"),
                  np.asarray(memoryview(raw)).view(np.float32)):  # fmt: skip
            assert checks_of(copied(o, blocks=1)) & {"read-only-write"}, o.flags
    assert not any(raw)
    assert checks_of(copied(np.broadcast_to(np.float32(0), (1024,)), blocks=1)) == {"out-of-bounds"}
    x = np.ones(1024, np.float32)
    assert prlx.simulate(kernels.copy, (1,), frozen, x, BLOCK=1024).passed and not x.any()


def check_an_array_whose_file_becomes_shorter_raises_and_names_it():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "array.bin"
        for keep, machine in ((0, {}), (PAGE, {"workers": 1}), (0, {"workers": 2})):
            np.zeros(4096, np.float32).tofile(path)
            o = np.memmap(path, np.float32, "r+")
            os.truncate(path, keep)
            try:
                copied(o, machine=machine)
            except prlx.ArrayMemoryError as error:
                assert "of o (16384 bytes)" in str(error) and "copy" in str(error) and "file" in error.hint, error
                assert isinstance(error, BufferError) and error.exit_code == 3
                assert f"byte {keep} " in str(error) or machine.get("workers") != 1, error
            else:
                raise AssertionError("wrote to a file that is not there")
        o = np.memmap(path, np.float32, "r+", shape=(PAGE // 4,))
        os.truncate(path, 0)
        run = Path(folder) / "run"
        try:
            with prlx.record(run):
                kernels.copy[(1,)](np.ones(1024, np.float32), o, BLOCK=1024)
        except prlx.ArrayMemoryError as error:
            assert "of o (" in str(error), error
        else:
            raise AssertionError("recorded memory that is not there")
        assert sorted(p.name for p in run.iterdir()) == ["session.json"], sorted(run.iterdir())
    assert not copied(np.zeros(4096, np.float32)), "the simulator goes on"


def check_memory_that_never_was_raises():
    class Lying:
        dtype = np.dtype(np.float32)
        nbytes = 16384
        shape = (4096,)

        def __init__(self, address):
            self.address = address

        def data_ptr(self):
            return self.address

    for address, kind in ((PAGE, prlx.ArrayMemoryError), (-1, prlx.UsageError), (1 << 60, prlx.UsageError)):
        try:
            copied(Lying(address))
        except (kind, OverflowError) as error:
            assert kind is prlx.UsageError or "of o (" in str(error), error
        else:
            raise AssertionError(f"wrote to {address}")
    there = np.zeros(4096, np.float32)
    huge = Lying(there.ctypes.data)
    huge.nbytes = 1 << 55
    try:
        copied(huge)
    except prlx.PrlxError as error:
        assert not isinstance(error, prlx.InternalError), error


def check_empty_and_overlapping_arrays():
    assert checks_of(copied(np.zeros(0, np.float32), blocks=1)) == {"out-of-bounds"}
    whole = np.zeros(2048, np.float32)
    assert not copied(whole[:0], blocks=1), "an empty view may use its array, as any view"
    x = np.arange(2048, dtype=np.float32)
    assert prlx.simulate(kernels.copy, (1,), x[:1024], x[512:], BLOCK=1024).passed
    assert (x[512:1536] == np.arange(1024)).all() and x[1536] == 1536
    backwards = np.zeros(1024, np.float32)[::-1]
    found = copied(backwards, blocks=1)
    assert checks_of(found) == {"out-of-bounds"} and "beyond the end of o (4096 bytes)" in found[0].message, found


def check_reinterpreted_arrays():
    x, o = np.arange(64, dtype=np.int16), np.zeros(64, np.int16)
    wrapped = [triton.runtime.jit.TensorWrapper(prlx.hooks.arrays.as_tensor(a), triton.language.uint16) for a in (x, o)]
    result = prlx.simulate(kernels.copy, (1,), *wrapped, BLOCK=64)
    assert result.passed and (o == x).all(), result.findings
    wrapped[1].base = wrapped[1].base[1:]
    found = prlx.simulate(kernels.copy, (1,), *wrapped, BLOCK=64).findings
    assert "2 bytes beyond the end of o (128 bytes)" in found[0].message, found


def check_atomics_on_half_a_word():
    """bf16 has no atomic on an sm_80: the compiler makes a loop of compare-and-swap on the word around each element."""
    for kind in (ml_dtypes.bfloat16, np.float16):
        x = np.ones(128, kind)
        for n in (1, 2, 3, 64, 65):
            around = np.full(n + 8, 7, kind)
            for first in (4, 5):  # a word begins in front of the array, too
                own = around[first : first + n].copy()  # its own allocation
                own[:] = 0
                result = prlx.simulate(kernels.accumulated, (2,), x, own, n, BLOCK=128)
                assert result.passed and (own == 2).all(), (kind, n, result.findings, own)


def check_atomics_on_half_a_word_out_of_bounds():
    x, z = np.ones(128, ml_dtypes.bfloat16), np.zeros(65, ml_dtypes.bfloat16)
    found = prlx.simulate(kernels.accumulated, (1,), x, z, 66, BLOCK=128).findings
    assert checks_of(found) == {"out-of-bounds"} and (z == 1).all(), found
    assert all("beyond the end of z (130 bytes)" in finding.message for finding in found), found
    assert all(finding.lanes == (1,) and finding.warp == 2 for finding in found), found
    x[:] = 0  # what changes nothing is out of bounds all the same
    assert checks_of(prlx.simulate(kernels.accumulated, (1,), x, z, 66, BLOCK=128).findings) == {"out-of-bounds"}
    z.flags.writeable = False
    x[:] = 1
    assert checks_of(prlx.simulate(kernels.accumulated, (1,), x, z, 65, BLOCK=128).findings) == {"read-only-write"}
    assert (z == 1).all()


def asked(call):
    """What the core is asked while something happens: operations and requests."""
    seen, run, at_once = [], _core.run, _core.call

    def note(op, request=None, **more):
        seen.append((op, request))
        return run(op, request, **more)

    def note_at_once(op, request=None):
        seen.append((op, request))
        return at_once(op, request)

    _core.run, _core.call = note, note_at_once
    try:
        call()
    finally:
        _core.run, _core.call = run, at_once
    return seen


def check_a_launch_lists_its_own_arrays_however_many_are_registered():
    x, o = np.ones(1024, np.float32), np.zeros(1024, np.float32)
    requests = []
    for many in (1, 300):
        arrays = [np.zeros(16, np.float32) for _ in range(many)]
        with prlx.enable(device="simulator", progress=False) as recording:
            recording.register(*arrays, x[:8])  # x is what it is a part of

            def launch():
                kernels.copy[(1,)](x, o, BLOCK=1024)

            assert [op for op, _ in asked(launch) if op == "simulate_arrays"] == ["simulate_arrays"]
            again = asked(launch)
            assert [op for op, _ in again] == ["simulate_launch"], again  # nothing is loaded, and no array sent
            requests.append(again[0][1])
            recording.register(np.zeros(4))
            changed = dict(asked(launch))
            assert len(changed["simulate_arrays"]["add"]) == 1 and not changed["simulate_arrays"]["remove"], changed
            assert recording.findings == []
    few, more = ([(a["address"], a["bytes"]) for a in one["allocations"]] for one in requests)
    assert few == more and len(few) == 2, (few, more)


def check_registered_memory_is_there_however_a_launch_is_looked_at():
    row, o = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    table = np.array([row.ctypes.data], np.int64)
    for options in ({}, {"touched": True}, {"global_races": True}):
        for known in (True, False):
            o[:] = 0
            with prlx.enable(device="simulator", progress=False, **options) as recording:
                if known:
                    recording.register(row)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    kernels.gathered[(1,)](table, o, BLOCK=8)
                assert (recording.findings == []) is known, (options, recording.findings)
                assert (o == row).all() == known, (options, o)
                if known:  # beyond its end
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        kernels.gathered[(1,)](table, np.zeros(16, np.float32), BLOCK=16)
                    found = recording.findings[0]
                    assert found.check == "out-of-bounds" and "registered memory 0 (32 bytes)" in found.message, found


class Bare:
    """An address without a size."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def data_ptr(self):
        return self.array.ctypes.data


def check_what_a_launch_is_looked_at_for_needs_no_more_arrays_listed():
    x, o = np.ones(1024, np.float32), np.zeros(1024, np.float32)
    arrays = [np.zeros(16, np.float32) for _ in range(20)]
    table = np.array([x.ctypes.data], np.int64)
    ways = {"recorded": {}, "stopped": {"breaks": ["kernels.py:1"]}}
    for way, options in ways.items():
        with (
            tempfile.TemporaryDirectory() as folder,
            prlx.enable(device="simulator", progress=False, **options) as recording,
        ):
            recording.register(*arrays, x)
            where = prlx.record(Path(folder) / "runs") if way == "recorded" else contextlib.nullcontext()
            with where, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # nothing stops at a line without code
                bound = dict(asked(lambda: kernels.copy[(1,)](x, o, BLOCK=1024)))["simulate_launch"]
                bare = dict(asked(lambda: kernels.copy[(1,)](Bare(x), o, BLOCK=1024)))["simulate_launch"]
                other = dict(asked(lambda: kernels.gathered[(1,)](table, o, BLOCK=8)))["simulate_launch"]
            assert len(bare["allocations"]) == 22, (way, bare["allocations"])  # nobody knows what it is
            assert len(bound["allocations"]) == 2, (way, bound["allocations"])  # what it was passed leads nowhere else
            assert len(other["allocations"]) == 23, (way, other["allocations"])
            assert (o == 1).all() and not recording.findings, (way, recording.findings)


def check_numbers_that_are_addresses_have_names_in_recordings():
    row, spare, o = np.ones(8, np.float32), np.zeros(8, np.float32), np.zeros(4, np.int64)
    for address, listed in ((row.ctypes.data, 3), (12345, 1)):
        with (
            tempfile.TemporaryDirectory() as folder,
            prlx.enable(device="simulator", progress=False) as recording,
        ):
            recording.register(spare, row)
            with prlx.record(Path(folder) / "runs"):
                seen = asked(lambda address=address: kernels.wide_number[(1,)](o.view(np.float64), address))
        assert len(dict(seen)["simulate_launch"]["allocations"]) == listed, seen
        assert o[0] == address


def check_tables_of_indices_do_not_look_for_tensors():
    x, o = np.arange(64, dtype=np.float32), np.zeros(8, np.float32)
    indices, table = np.arange(8, dtype=np.int64) * 3, np.array([x.ctypes.data], np.int64)
    looked, arrays = [], importlib.import_module("prlx.hooks.arrays")
    before = arrays.living_tensors
    arrays.living_tensors = lambda: looked.append(1) or before()
    try:
        with prlx.enable(device="simulator", progress=False) as recording:
            recording.register(x)
            kernels.indexed[(1,)](x, indices, o, BLOCK=8)
            assert not looked and (o == x[indices]).all()
            kernels.gathered[(1,)](table, o, BLOCK=8)
            assert looked and (o == x[:8]).all()
            assert not recording.findings, recording.findings
    finally:
        arrays.living_tensors = before


def check_accesses_beside_a_view_are_found_on_request():
    whole = np.zeros(4096, np.float32)
    view = whole[512:1536]
    assert not copied(view, blocks=2) and (whole[512:2560] == 1).all()
    found = copied(view, blocks=2, machine={"views": True})
    assert checks_of(found) == {"outside-view"} and found[0].block == (1, 0, 0), found
    assert "storage of o" in found[0].message and "beyond its end" in found[0].message, found
    assert not copied(view, blocks=1, machine={"views": True})
    back = whole[1535:511:-1]  # its first element is the last in memory
    found = copied(back, blocks=1, machine={"views": True})
    assert checks_of(found) == {"outside-view"}, found


def check_memory_that_was_freed_is_said_to_be():
    rows = [np.ones(64, np.float32) for _ in range(2)]
    out = np.zeros(128, np.float32)
    for row in rows:
        prlx.simulate(kernels.copy, (1,), row, np.zeros(64, np.float32), BLOCK=64)
    table = np.array([row.ctypes.data for row in rows], np.uint64)
    with prlx.enable(device="simulator", memory=rows, progress=False) as recording:
        kernels.gathered[(2,)](table, out, BLOCK=64)
        assert not recording.findings and (out == 1).all()
    with prlx.enable(device="simulator", memory=rows[:1], progress=False) as recording:
        kernels.gathered[(2,)](table, out, BLOCK=64)
        assert checks_of(recording.findings) == {"out-of-bounds"}  # nobody names it, and it is there
    address = rows[1].ctypes.data
    recording = row = None
    del rows[1]
    gc.collect()
    with prlx.enable(device="simulator", memory=rows, progress=False) as recording:
        kernels.gathered[(2,)](table, out, BLOCK=64)
        assert checks_of(recording.findings) == {"use-after-free"}, recording.findings
        assert "freed: it belonged to" in recording.findings[0].message and address, recording.findings


def check_arrays_that_nobody_wrote_are_named_for_a_session():
    x, o = np.ones(64, np.float32), np.empty(64, np.float32)
    with prlx.enable(device="simulator", progress=False, empty=["x"]) as recording:
        kernels.copy[(1,)](x, o, BLOCK=64)
        assert checks_of(recording.findings) == {"uninitialised-global"}, recording.findings
    with prlx.enable(device="simulator", progress=False, empty=["o"]) as recording:
        kernels.copy[(1,)](x, o, BLOCK=64)
        assert not recording.findings
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with prlx.enable(device="simulator", progress=False, empty=["zz"]):
            kernels.copy[(1,)](x, o, BLOCK=64)
    assert ["'zz'" in str(one.message) for one in said] == [True], said


def main():
    warnings.simplefilter("ignore")
    results = {}
    for name, check in [item for item in globals().items() if item[0].startswith("check_")]:
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        try:
            check()
            results[name] = None
        except BaseException:
            results[name] = traceback.format_exc()
            prlx.disable()
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
