"""Checks of launches on the simulator, from enable to a recording. Run as ``driver_checks.py`` is."""

import concurrent.futures
import contextlib
import inspect
import io
import json
import os
import re
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from pathlib import Path

import kernels
import numpy as np
import triton

import prlx

RANDOM = np.random.default_rng(7)


def line_of(kernel, text):
    """The number of the source line of a kernel that contains a text."""
    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(i for i, line in enumerate(lines) if text in line)


def simulate_add(n=5000, **machine):
    x, y, o = RANDOM.random(n, np.float32), RANDOM.random(n, np.float32), np.zeros(n, np.float32)
    result = prlx.simulate(kernels.add, (triton.cdiv(n, 1024),), x, y, o, n, BLOCK=1024, machine=machine)
    assert (o == x + y).all()
    return result


def check_add_is_exact():
    result = simulate_add()
    assert result.passed and result.kernel == "add" and result.grid == (5, 1, 1), result
    assert result.document["warps"] == 20 and 0.5 < result.lanes_active <= 1


def check_softmax():
    x, o = RANDOM.standard_normal((64, 781), np.float32), np.zeros((64, 781), np.float32)
    result = prlx.simulate(kernels.softmax, (64,), o, x, 781, 781, 781, BLOCK=1024, num_warps=8)
    e = np.exp(x - x.max(1, keepdims=True))
    assert result.passed, result.findings
    assert np.abs(o - e / e.sum(1, keepdims=True)).max() < 1e-6


def check_matmul():
    a, b = RANDOM.standard_normal((128, 80)).astype(np.float16), RANDOM.standard_normal((80, 128)).astype(np.float16)
    c = np.zeros((128, 128), np.float16)
    result = prlx.simulate(
        kernels.matmul, (2, 2), a, b, c, 128, 128, 80, 80, 128, 128, BM=64, BN=64, BK=32, num_warps=4, num_stages=3
    )
    assert result.passed, result.findings
    want = a.astype(np.float32) @ b.astype(np.float32)
    assert np.abs(c - want).max() < 0.02, np.abs(c - want).max()


def check_a_store_out_of_bounds_is_named():
    memory = np.zeros(256, np.float32)
    x, o = memory[:100].copy(), np.zeros(100, np.float32)
    result = prlx.simulate(kernels.unmasked, (1,), x, o, 100, BLOCK=128)
    assert not result.passed and len(result.findings) == 1, result.findings
    found = result.findings[0]
    assert found.check == "out-of-bounds" and found.kernel == "unmasked"
    assert Path(found.file).name == "kernels.py" and found.line == line_of(kernels.unmasked, "the bug")
    assert found.block == (0, 0, 0) and found.warp == 3 and found.lanes == tuple(range(4, 32)), found
    assert "o" in found.message and (o == 1).all()


def check_a_view_may_use_its_storage_and_no_more():
    memory = np.zeros(128, np.float32)
    assert prlx.simulate(kernels.unmasked, (1,), memory[:100], memory[:100], 100, BLOCK=128).passed
    assert not prlx.simulate(kernels.unmasked, (1,), memory, memory[1:], 100, BLOCK=128).passed


def check_the_first_finding_stops():
    x, o = np.zeros(100, np.float32), np.zeros(100, np.float32)
    try:
        prlx.simulate(kernels.unmasked, (1,), x, o, 100, BLOCK=128, machine={"stop": True})
    except prlx.FindingError as error:
        assert error.line == line_of(kernels.unmasked, "the bug") and "lanes 4-31" in str(error), error
        assert error.finding.check == "out-of-bounds" and error.exit_code == 1
    else:
        raise AssertionError("no FindingError")


def check_a_launch_with_findings_warns_where_it_was_launched():
    x, o = np.zeros(100, np.float32), np.zeros(100, np.float32)
    with prlx.enable(device="simulator") as seen, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernels.unmasked[(1,)](x, o, 100, BLOCK=128)
    assert [w.category for w in caught] == [prlx.FindingWarning] and Path(
        caught[0].filename
    ).name == "machine_checks.py"
    assert "out-of-bounds" in str(caught[0].message) and len(seen.findings) == 1 and seen.launches == 1


def check_lines_are_counted():
    result = simulate_add()
    table = result.lines
    assert line_of(kernels.add, "tl.store") in table["line"]
    assert table["instructions"].sum() == result.instructions
    assert result.global_bytes == 3 * 4 * 5000
    assert list(result.to_pandas().columns[:3]) == ["file", "line", "instructions"]
    assert "add" in repr(result) and "<table" in result._repr_html_()


def check_the_result_does_not_depend_on_workers_or_seed():
    documents = []
    for workers, seed in ((1, 0), (2, 0), (2, 9)):
        document = dict(simulate_add(workers=workers, seed=seed).document)
        document.pop("options")
        documents.append(document)
    assert documents[0] == documents[1] == documents[2]


def check_autotune_takes_the_fewest_instructions():
    x, y, o = (RANDOM.random(4096, np.float32) for _ in range(3))
    with prlx.enable(device="simulator") as seen:
        kernels.tuned[lambda meta: (triton.cdiv(4096, meta["BLOCK"]),)](x, y, o, 4096)
    *trials, winner = seen.simulations
    assert len(trials) == 3 and winner.instructions == min(trial.instructions for trial in trials)
    assert (o == x + y).all()


def check_loaded_pointers_need_registered_memory():
    rows = [np.full(64, i, np.float32) for i in range(3)]
    table, o = np.array([row.ctypes.data for row in rows], np.int64), np.zeros((3, 64), np.float32)
    assert not prlx.simulate(kernels.gathered, (3,), table, o, BLOCK=64).passed
    with prlx.enable(device="simulator", memory=rows[:2]) as seen:
        seen.register(rows[2])
        kernels.gathered[(3,)](table, o, BLOCK=64)
    assert not seen.findings, seen.findings
    assert (o == np.arange(3)[:, None]).all()


def check_debug_output():
    result = prlx.simulate(kernels.printing, (1,), np.arange(32, dtype=np.int32), BLOCK=32, num_warps=1)
    assert "value" in result.output and "31" in result.output, result.output
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), prlx.enable(device="simulator"):
        kernels.printing[(1,)](np.arange(32, dtype=np.int32), BLOCK=32, num_warps=1)
    assert shown.getvalue() == result.output


def check_memory_that_is_none_leaves_nothing_enabled():
    try:
        prlx.enable(device="simulator", memory=np.ones(3))
    except prlx.UsageError as error:
        assert "size" in str(error)
    else:
        raise AssertionError("a number was taken for memory")
    with prlx.enable(device="simulator"):
        pass


def check_scans_whose_steps_may_fail():
    x = np.concatenate([np.full(300, 32, np.int32), np.zeros(212, np.int32)])
    for kernel in (kernels.scanning, kernels.cumulating):
        for warps in (1, 4):
            z = np.zeros_like(x)
            result = prlx.simulate(kernel, (1,), x, z, N=512, debug=True, num_warps=warps)
            assert result.passed, result.findings
            assert (z == x.cumsum()).all(), np.flatnonzero(z != x.cumsum())
    rows, sums = np.arange(16 * 32, dtype=np.int32).reshape(16, 32), np.zeros(16, np.int32)
    result = prlx.simulate(kernels.summing, (1,), rows, sums, M=16, N=32, debug=True)
    assert result.passed and (sums == rows.sum(1)).all(), (result.findings, sums)


def check_a_failed_assert_is_the_only_finding():
    x = np.ones(512, np.int32)
    x[200] = 2**31 - 1
    result = prlx.simulate(kernels.scanning, (1,), x, np.zeros_like(x), N=512, debug=True)
    assert [f.check for f in result.findings] == ["assert"], result.findings
    assert "the sum overflows" in result.findings[0].message, result.findings[0].message


def check_integers_of_64_bits_are_truncated():
    x, o = np.arange(64, dtype=np.int64) * 2**30, np.zeros(64, np.int64)
    result = prlx.simulate(kernels.truncating, (1,), x, o, 3, N=64)
    want = (x * 5 + 3).astype(np.int32).astype(np.int64) * 3 + x.astype(np.int32).astype(np.int64)
    assert result.passed and (o == want).all(), o


def check_threads_simulate_side_by_side():
    def run(blocks):
        x, o = np.full(1024 * blocks, blocks, np.float32), np.zeros(1024 * blocks, np.float32)
        result = prlx.simulate(kernels.copy, (blocks,), x, o, BLOCK=1024, machine={"seed": blocks})
        return result.grid[0], bool((o == blocks).all())

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(1, 17))) == [(blocks, True) for blocks in range(1, 17)]


def check_a_limit_of_instructions():
    try:
        x = np.ones(32, np.float32)
        prlx.simulate(kernels.forever, (1,), x, 1 << 30, BLOCK=32, machine={"max_instructions": 100_000})
    except prlx.PrlxError as error:
        assert "100,000" in str(error) or "100000" in str(error), error
        assert re.search(r"it is at \S*kernels\.py:13[23]\b", str(error)), error
    else:
        raise AssertionError("it ended")


def check_no_limit_of_instructions():
    x = np.ones(32, np.float32)
    prlx.simulate(kernels.forever, (1,), x, 2, BLOCK=32, machine={"max_instructions": 0})


def check_ctrl_c_ends_a_launch():
    x = np.ones(32, np.float32)
    prlx.simulate(kernels.forever, (1,), x, 2, BLOCK=32)  # so that compiling is not what is interrupted
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        prlx.simulate(kernels.forever, (1,), x, 1 << 30, BLOCK=32)
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("it ended by itself")


def check_a_recording_of_one_launch_and_its_diff():
    with tempfile.TemporaryDirectory() as folder:
        x, y, o = (np.zeros(5000, np.float32) for _ in range(3))
        paths = [Path(folder) / f"{name}.prlx" for name in "abc"]
        for path, n in zip(paths, (5000, 5000, 4990), strict=True):
            with prlx.record(path) as recording:
                kernels.add[(5,)](x, y, o, n, BLOCK=1024)
            assert recording.recorded == 1 and recording.simulations[0].recording == path
        trace = recording.read()
        assert trace.header.means == "observed"
        assert trace.header.warp_slots == 20
        assert prlx.diff_traces(paths[0], paths[1]).identical
        assert paths[0].read_bytes() == paths[1].read_bytes()
        diff = prlx.diff_traces(paths[0], paths[2])
        assert not diff.identical
        assert (
            f"kernels.py:add:{line_of(kernels.add, 'm = i < n')}" in diff.first.location
            or "kernels.py" in diff.first.location
        )


def check_a_session():
    with tempfile.TemporaryDirectory() as folder:
        x, o = np.zeros(4096, np.float32), np.zeros(4096, np.float32)
        with prlx.enable(device="simulator", output=Path(folder) / "run", filter="co*"):
            kernels.copy[(4,)](x, o, BLOCK=1024)
            kernels.add[(4,)](x, o, o, 4096, BLOCK=1024)
            kernels.copy[(2,)](x, o, BLOCK=1024)
        session = prlx.open(Path(folder) / "run")
        assert [row["kernel"] for row in session.document["launches"]] == ["copy", "copy"]
        assert [row["launch"] for row in session.document["launches"]] == [0, 1]
        assert session.document["manifest"] and not session.document["partial"]


def check_a_file_holds_one_launch():
    with tempfile.TemporaryDirectory() as folder:
        x, o = np.zeros(64, np.float32), np.zeros(64, np.float32)
        try:
            with prlx.record(Path(folder) / "one.prlx"):
                kernels.copy[(1,)](x, o, BLOCK=64)
                kernels.copy[(1,)](x, o, BLOCK=64)
        except prlx.UsageError as error:
            assert "directory" in error.hint
        else:
            raise AssertionError("recorded two launches in one file")


def check_trials_are_not_recorded():
    with tempfile.TemporaryDirectory() as folder:
        x, y, o = (np.zeros(4096, np.float32) for _ in range(3))
        with prlx.record(Path(folder) / "run") as recording:
            kernels.tuned[(16,)](x, y, o, 4096)
        assert recording.launches == 4 and recording.recorded == 1


def check_threads_launch_side_by_side():
    with tempfile.TemporaryDirectory() as folder:
        arrays = [np.full(4096, i, np.float32) for i in range(8)]
        outputs = [np.zeros(4096, np.float32) for _ in arrays]
        prlx.simulate(kernels.copy, (4,), arrays[0], outputs[0], BLOCK=1024)
        with prlx.record(Path(folder) / "run") as recording:
            threads = [
                threading.Thread(target=kernels.copy[(4,)], args=pair, kwargs={"BLOCK": 1024})
                for pair in zip(arrays, outputs, strict=True)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert recording.recorded == 8 and len(recording.read()) == 8
        assert all((output == i).all() for i, output in enumerate(outputs))


def check_nans_on_request():
    x, y, o = np.full(1024, np.inf, np.float32), np.full(1024, -np.inf, np.float32), np.zeros(1024, np.float32)
    assert prlx.simulate(kernels.add, (1,), x, y, o, 1024, BLOCK=1024).passed
    found = prlx.simulate(kernels.add, (1,), x, y, o, 1024, BLOCK=1024, machine={"nan": True}).findings
    assert found and {finding.check for finding in found} == {"nan"}, found
    assert {finding.line for finding in found} == {line_of(kernels.add, "tl.store")}


def check_descriptors_of_host_and_kernel():
    from triton.tools.tensor_descriptor import TensorDescriptor

    a, o = RANDOM.standard_normal((64, 64), np.float32), np.zeros((32, 64), np.float32)
    with prlx.enable(device="simulator") as seen:  # a descriptor of an ndarray is made while the simulator is enabled
        host = TensorDescriptor(a, [64, 64], [64, 1], [32, 64])
        kernels.described[(1,)](host, o, BM=32, BN=64)
        assert (o == a[:32]).all()
        o = np.zeros((50, 64), np.float32)
        kernels.describing[(2,)](a[:50], o, 50, BM=32, BN=64)
        assert (o == a[:50]).all()
    assert not seen.findings, seen.findings


def check_empty_grids_launch_nothing():
    x = np.zeros(64, np.float32)
    try:
        prlx.simulate(kernels.copy, (0,), x, x, BLOCK=64)
    except prlx.UsageError as error:
        assert "grid is empty" in str(error)
    else:
        raise AssertionError("something was launched")


def check_races_between_blocks_on_request():
    o = np.zeros(64, np.int32)
    assert prlx.simulate(kernels.racing, (4,), o, BLOCK=64).passed
    found = prlx.simulate(kernels.racing, (4,), o, BLOCK=64, machine={"global_races": True}).findings
    assert {finding.check for finding in found} == {"global-race"}, found
    assert simulate_add(global_races=True).passed


def check_reads_of_arrays_that_nobody_wrote_on_request():
    x, o = np.zeros(64, np.float32), np.zeros(64, np.float32)
    assert prlx.simulate(kernels.copy, (1,), x, o, BLOCK=64).passed
    assert prlx.simulate(kernels.copy, (1,), x, o, BLOCK=64, machine={"empty": ["o"]}).passed
    found = prlx.simulate(kernels.copy, (1,), x, o, BLOCK=64, machine={"empty": ["x"]}).findings
    assert {finding.check for finding in found} == {"uninitialised-global"}, found
    try:
        prlx.simulate(kernels.copy, (1,), x, o, BLOCK=64, machine={"empty": ["nothing"]})
    except prlx.UsageError as error:
        assert "has no array 'nothing'" in str(error)
    else:
        raise AssertionError("an array that is not there was taken")


def check_a_launch_says_what_was_approximated():
    done = simulate_add()
    assert done.fidelity["exact"] and not done.fidelity["approximated"] and not done.fidelity["decides"]


def check_a_refused_kernel_says_what_and_can_be_left():
    with tempfile.TemporaryDirectory() as folder:
        x = np.zeros(64, np.float32)
        from prlx import _simulator
        from prlx.hooks.launch import Function, Launch

        text = ".version 8.0\n.target sm_90a\n.address_size 64\n"
        text += ".visible .entry odd()\n{\n\twgmma.fence.sync.aligned;\n\tret;\n}\n"
        with prlx.record(Path(folder) / "a.prlx") as recording:
            launch = Launch(Function("odd", text.encode()), (1, 1, 1), (32, 1, 1), 1, 0, ())
            try:
                _simulator.active()._run(launch)
            except prlx.SimulationError as error:
                assert "wgmma.fence" in str(error) and "sm_80" in str(error), error
            else:
                raise AssertionError("it ran")
            kernels.copy[(1,)](x, x, BLOCK=64)
        assert recording.recorded == 1


def check_what_is_no_launch_is_refused_with_what_to_do():
    x = np.zeros(64, np.float32)
    for call, said in (
        (lambda: prlx.simulate(kernels.copy, (1,), x, x, BLOCK=64, seed=3), 'machine={"seed": 3}'),
        (lambda: prlx.simulate(kernels.tuned, (1,), x, x, x, 64, nan=True, seed=3), 'machine={"nan": True, "seed": 3}'),
        (lambda: prlx.simulate(kernels.copy.fn, (1,), x, x, BLOCK=64), "triton.jit"),
        (lambda: prlx.simulate(None, (1,), x), "triton.jit"),
        (lambda: prlx.simulate(kernels.copy, 1, x, x, BLOCK=64), "(1,)"),
        (lambda: prlx.simulate(kernels.copy, "one", x, x, BLOCK=64), "grid"),
        (lambda: prlx.simulate(kernels.copy, (1,), x, x, BLOCK=64, machine=3), "machine"),
    ):
        try:
            call()
        except prlx.UsageError as error:
            assert said in str(error), error
        else:
            raise AssertionError(f"launched, expected {said}")
    assert prlx.simulate(kernels.seeded, (1,), x, seed=3, BLOCK=64).passed and x[0] == 3, (
        "a kernel may have such an argument"
    )
    assert prlx.simulate(kernels.copy, [1], x, x, BLOCK=64, num_warps=1).passed


def check_usage_errors():
    for call in (
        lambda: prlx.enable(device="tpu"),
        lambda: prlx.enable(device="gpu"),
        lambda: prlx.enable(device="simulator", seed=-1),
        lambda: simulate_add(sede=3),
        lambda: prlx.enable(device="simulator", output="x.prlx", mode="everything"),
    ):
        try:
            call()
        except prlx.UsageError:
            continue
        raise AssertionError("no UsageError")
    with prlx.enable(device="simulator"):
        try:
            prlx.enable(device="simulator")
        except prlx.UsageError as error:
            assert "already" in str(error)
        else:
            raise AssertionError("enabled twice")


def check_a_forked_child_is_told():
    simulate_add()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            simulate_add()
        except BaseException as error:
            os.write(write, type(error).__name__.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        assert pipe.read() == "ForkedProcessError"
    os.waitpid(child, 0)


def main():
    warnings.simplefilter("ignore", DeprecationWarning)
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
