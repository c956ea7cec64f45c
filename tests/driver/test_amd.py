"""GPUs of AMD: Triton over a HIP runtime of ours, whose kernels the interpreter of LLVM IR in core/recording/llir executes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.driver.test_program import HERE
from tests.driver.test_recording import VERSIONS

import prlx

WAVES = {"gfx942": 64, "gfx1100": 32}


def run(hip, way, folder, **told):
    words = [sys.executable, "-W", "ignore", HERE / "amd" / "recorded.py", way, folder]
    done = subprocess.run(words, env={**hip, **told}, capture_output=True, text=True, timeout=570)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def by_warp(trace):
    """What the events of a recording say, by warp, with sites numbered as they first come."""
    found, numbers = {}, {}
    names = ("warp", "site", "active", "taken", "value")
    for warp, site, *rest in zip(*(trace.events[name].tolist() for name in names), strict=True):
        found.setdefault(warp, []).append([numbers.setdefault(site, len(numbers)), *rest])
    return found


def told(line):
    """Likewise of what the interpreter saw when kernels called the recorder."""
    numbers = {}
    return {
        int(warp): [
            [numbers.setdefault(one["Site"], len(numbers)), one["Active"], one["Taken"], one["Value"]] for one in events
        ]
        for warp, events in sorted(json.loads(line)["events"].items(), key=lambda each: int(each[0]))
    }


@pytest.mark.parametrize("arch", WAVES)
@pytest.mark.parametrize("version", VERSIONS)
def test_recordings_hold_what_kernels_did(version, arch, hip, tmp_path):
    files = {"STANDIN_CALLS": str(tmp_path / "calls"), "STANDIN_TRUTH": str(tmp_path / "truth")}
    said = run(hip(version, arch), "plain", tmp_path / "r", DEVICE="auto", **files)
    assert (said["launches"], said["recorded"], said["losses"], said["right"]) == (2, 2, {}, True)
    assert said["counts"] == [8, 16, 9, 8, 7, 0, 1, 19]
    assert said["without"] == {}
    ran = (tmp_path / "truth").read_text().splitlines()
    around = [json.loads(line)["kernel"] for line in ran]
    assert around == ["prlx_contents", "add", "prlx_contents", "prlx_contents", "steps", "prlx_contents", "add"]
    truth = [line for line, kernel in zip(ran, around, strict=True) if kernel != "prlx_contents"]
    for i, (path, line) in enumerate(zip(sorted((tmp_path / "r").glob("*.prlx")), truth, strict=False)):
        trace = prlx.read_trace(path)
        assert trace.header.document["arch"] == arch
        assert trace.header.document["wave_size"] == WAVES[arch]
        assert trace.header.document["module_hash"]
        assert by_warp(trace) == told(line)
        memory = {one["name"]: [one["before"], one["after"]] for one in trace.document["outputs"]["memory"]}
        assert memory == said["held"][i]
        assert len(trace.events) >= (8, 150)[i]
    assert json.loads(truth[2])["events"] == {}, "what is launched afterwards records nothing"


def test_calls_come_in_the_order_that_makes_arenas_safe(hip, tmp_path):
    """Each arena is prepared, launched on, marked, waited for, copied, cleared, and only then prepared again."""
    run(hip("3.9.0"), "threads", tmp_path / "r", STANDIN_CALLS=str(tmp_path / "calls"))
    calls = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
    all_launched = [i for i, (name, _, _, _) in enumerate(calls) if name == "hipModuleLaunchKernel"]
    into = {32: "before", 48: "after"}  # the last parameter of the kernel of digests; that of others is an arena
    launched = [i for i in all_launched if int(calls[i][2], 16) not in (0, *into)]
    assert len(launched) == 9
    for i in launched:
        own_stream = [into.get(int(calls[k][2], 16), k) for k in all_launched if calls[k][1] == calls[i][1]]
        assert own_stream[own_stream.index(i) - 1 :][:3] == ["before", i, "after"]
        _, stream, arena, _ = calls[i]
        front = range(int(arena, 16) - 8192, int(arena, 16))  # where the rows of digests are
        mine = [(name, arena if int(at, 16) in front else at, on) for name, on, at, _ in calls]
        prepared = max(k for k in range(i) if mine[k] == ("hipMemcpyHtoDAsync", arena, stream))
        marked = next(k for k in range(i, len(mine)) if mine[k][0] == "hipEventRecord" and mine[k][2] == stream)
        waited = next(k for k in range(marked, len(mine)) if mine[k][:2] == ("hipEventSynchronize", mine[marked][1]))
        copied = [k for k in range(waited, len(mine)) if mine[k][:2] == ("hipMemcpyDtoHAsync", arena)][:2]
        own = mine[copied[0]][2]
        assert own not in ("0", stream)
        cleared = next(k for k in range(copied[1], len(mine)) if mine[k] == ("hipMemsetD8Async", arena, own))
        done = next(k for k in range(cleared, len(mine)) if mine[k][::2] == ("hipStreamSynchronize", own))
        again = next((k for k in range(i, len(mine)) if mine[k][:2] == ("hipMemcpyHtoDAsync", arena)), len(mine))
        assert prepared < i < marked < waited < copied[0] < copied[1] < cleared < done < again
        between = [k for k in range(copied[0], cleared) if mine[k][::2] == ("hipStreamSynchronize", own)]
        assert between, "what is copied is waited for before it is read and cleared"


def test_two_runs_of_a_program_are_told_apart(hip, tmp_path):
    for name, slip in (("a", {}), ("b", {"SLIP": "1"})):
        run(hip("3.9.0"), "plain", tmp_path / name, **slip)
    found = prlx.diff_traces(tmp_path / "a" / "0001_steps.prlx", tmp_path / "b" / "0001_steps.prlx")
    assert found.status == "diverged"
    place = next(
        i for i, text in enumerate((HERE / "amd/recorded.py").read_text().splitlines(), 1) if "value % 2 == 0" in text
    )
    assert f"recorded.py:{place}" in found.verdict
    assert (
        prlx.diff_traces(tmp_path / "a" / "0000_add.prlx", tmp_path / "b" / "0000_add.prlx").conclusion.outcome
        == "same"
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_kernels_record_while_it_is_on_and_trials_of_the_autotuner_never(version, hip, tmp_path):
    said = run(hip(version), "switched", tmp_path / "r")
    assert (said["counts"], said["tables"]) == ([[2, 2], [2, 2]], [False, True, False, True])


def test_threads_and_graphs(hip, tmp_path):
    said = run(hip("3.9.0", "gfx1100"), "threads", tmp_path / "threads")
    assert (said["recorded"], said["losses"], said["right"]) == (9, {}, [3, 3, 3])
    said = run(hip("3.9.0"), "graphs", tmp_path / "graphs")
    assert (said["launches"], said["recorded"], said["seen"]) == (2, 1, [0, 63, 126])
    assert list(said["losses"]) == ["a CUDA graph was captured, whose replays have no arena of their own"]


@pytest.mark.parametrize("mode", ["values", "digest"])
def test_the_other_modes(mode, hip, tmp_path):
    run(hip("3.9.0"), "plain", tmp_path / "r", OPTIONS=json.dumps({"mode": mode, "stores": mode == "values"}))
    trace = prlx.read_trace(tmp_path / "r" / "0001_steps.prlx")
    assert trace.header.document["mode"] == mode
    assert (len(trace.events) > 0) == (mode == "values")
    assert ("global-store" in set(trace.events["kind"].tolist())) == (mode == "values")


@pytest.mark.parametrize(
    "fault",
    ["hipMalloc:3", "hipMemcpyHtoDAsync:1", "hipModuleLaunchKernel:1", "hipEventRecord:1", "hipEventSynchronize:1",
     "hipMemcpyDtoHAsync:3", "hipStreamSynchronize:3", "hipMemsetD8Async:2"],
)  # fmt: skip
def test_a_fault_is_an_error_or_a_loss_that_is_counted(fault, hip, tmp_path):
    said = run(hip("3.9.0"), "faults", tmp_path / "r", STANDIN_FAIL=fault)
    assert said["right"] == 4 - said["errors"]
    assert said["recorded"] + sum(said["losses"].values()) == 4
    assert sum(said["losses"].values()) == 1, said["losses"]
    assert fault.partition(":")[0] in next(iter(said["losses"])) or said["errors"] == 1
    for path in (tmp_path / "r").glob("*.prlx"):
        assert prlx.read_trace(path).num_warps == 4


def test_prlx_run_records_on_it(hip, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(HERE / 'amd')!r})\n"
        "from recorded import add, ints\n"
        "x, out = ints(*range(64)), ints(*[0] * 64)\nadd[(1,)](x, x, out, 64, BLOCK=64)\nprint(out.numpy().tolist()[63])\n"
    )
    words = [sys.executable, "-m", "prlx", "run", "--record", tmp_path / "r", script]
    done = subprocess.run(words, env=hip("3.9.0"), capture_output=True, text=True, timeout=570)
    assert (done.returncode, done.stdout) == (0, "126\n"), done.stderr
    assert "recorded 1 launch on the GPU" in done.stderr
    (path,) = (tmp_path / "r").glob("*.prlx")
    assert prlx.read_trace(path).header.document["arch"] == "gfx942"
    words = [sys.executable, "-m", "prlx", "doctor"]
    said = subprocess.run(words, env=hip("3.9.0"), capture_output=True, text=True, timeout=570).stdout
    assert "stand-in 0, gfx942, HIP 7.1" in said
