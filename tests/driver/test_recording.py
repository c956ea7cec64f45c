"""Launches that a driver makes are recorded: Triton as it is, over the CUDA driver of the simulator, which records nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.driver.test_program import HERE, SAMPLE, TRITON, simulate

import prlx
from simulator.conftest import VERSIONS, require


def whole(mode):
    """Whether a mode records the whole corpus: only what every kernel has, and only in the full sweep."""
    return mode == "control-flow" and bool(os.environ.get("PRLX_FULL_SWEEP"))


def paths(version):
    require(version)
    more = [] if version == "3.9.0" else [str(HERE / "torch_stand_in")]
    return {"PYTHONPATH": os.pathsep.join([str(TRITON / version), *more]), "TRITON_DEFAULT_FP_FUSION": "1"}


def run(what, tmp_path, version="3.9.0", check=True, folder="run", **environment):
    """Run one way of ``recorded.py`` and return the lines that it prints, read."""
    words = (sys.executable, "-W", "ignore", HERE / "recorded.py", what, tmp_path / folder)
    settings = {**paths(version), "PRLX_ARENA": "4MB", **environment}
    done = simulate("--", *words, cwd=tmp_path, check=check, **settings)
    return [json.loads(line) for line in done.stdout.splitlines()]


def columns(table):
    """A table of a recording as lists."""
    return {name: table[name].tolist() for name in table}


def said_of(trace):
    """What a recording says of its launch, but for what was in arrays."""
    header = dict(trace.header.document)
    header["arguments"] = [{**one, "digest": ""} for one in header["arguments"]]
    return {**header, "argument_digest": "", "module_hash": ""}  # the assembler decides which version the PTX names


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Both recordings of the corpus: over the driver, and by the simulator's own launches of kernels that record."""

    def made(version, mode):
        folder = tmp_path_factory.mktemp("corpus")
        words = (sys.executable, "-W", "ignore", HERE / "corpus.py")
        settings = {**paths(version), "MODE": mode, "PRLX_ARENA": "32MB"}
        names = [] if whole(mode) else SAMPLE
        words = (*words, *names)
        simulate("--", *words, cwd=folder, RECORD="driver", **settings)
        kept = {
            **os.environ,
            **settings,
            "TRITON_CACHE_DIR": str(folder / "ours"),
            "OWN_DRIVER": "1",
            "RECORD": "simulator",
        }
        subprocess.run(words, capture_output=True, text=True, timeout=600, check=True, env=kept, cwd=folder)
        return folder

    return made


@pytest.mark.parametrize("mode", ["control-flow", "values", "digest"])
def test_the_corpus_is_recorded_as_the_simulator_records_it(corpus, mode):
    folder = corpus("3.9.0", mode)
    files = sorted(path.name for path in (folder / "driver").glob("*.prlx"))
    assert len(files) == (37 if whole(mode) else len(SAMPLE))
    assert files == sorted(path.name for path in (folder / "simulator").glob("*.prlx"))
    events = 0
    for name in files:
        a, b = (prlx.read_trace(folder / who / name) for who in ("driver", "simulator"))
        assert columns(a.events) == columns(b.events)
        assert columns(a.warps) == columns(b.warps)
        assert a.losses == b.losses
        difference = prlx.diff_traces(folder / "driver" / name, folder / "simulator" / name)
        assert difference.status == "identical", difference.verdict
        assert "by sums; " in difference.verdict
        assert "not compared" in difference.verdict
        assert said_of(a) == said_of(b)
        events += len(a.events)
    assert (events == 0) == (mode == "digest")


@pytest.mark.parametrize("version", VERSIONS)
def test_two_runs_of_a_program_are_told_apart(version, tmp_path):
    (tmp_path / "b").mkdir()
    for folder, slip in ((tmp_path, ""), (tmp_path / "b", "1")):
        (said,) = run("plain", folder, version, **({"SLIP": slip} if slip else {}))
        assert (said["launches"], said["recorded"], said["losses"]) == (1, 1, {})
        assert said["out"] == [8, 16, 9, 111 if slip else 8, 7, 0, 1, 19]
    difference = prlx.diff_traces(tmp_path / "run" / "0000_steps.prlx", tmp_path / "b" / "run" / "0000_steps.prlx")
    assert difference.status == "diverged"
    line = next(
        i
        for i, text in enumerate((HERE / "recorded.py").read_text().splitlines(), start=1)
        if "value = tl.where(value % 2" in text
    )
    assert f"recorded.py:{line}" in difference.verdict
    assert "warp 12" in difference.verdict  # block 3 of 4 warps each
    same = prlx.diff_traces(tmp_path / "run" / "0000_steps.prlx", tmp_path / "run" / "0000_steps.prlx")
    assert same.status == "identical"


@pytest.mark.parametrize("version", VERSIONS)
def test_on_and_off_again_serve_nobody_the_wrong_kernel(version, tmp_path):
    for folder in ("run", "again"):  # a second process finds the kernels of the first one on the disk
        lines = run("switched", tmp_path, version, folder=folder)
        for i in range(3):
            said, right = lines[2 * i : 2 * i + 2]
            assert said == {"launches": 4, "recorded": 4, "losses": {}, "clean": False, "table": True}
            assert right == {"right": True}
            launches = json.loads((tmp_path / folder / str(i) / "session.json").read_text())["launches"]
            assert [one["kernel"] for one in launches] == ["add", "tuned", "add", "tuned"]


@pytest.mark.parametrize("version", VERSIONS)
def test_everything_is_put_back(version, tmp_path):
    (said,) = run("restored", tmp_path, version)
    assert said["left"] == []
    replaced = {"CudaLauncher.__call__", "CudaLauncher.__init__", "JITFunction.run", "ASTSource.hash", "compiler.add_stages",
                "Autotuner._bench", "CompiledKernel._init_handles", "allocation._profile_allocator", "caches"}  # fmt: skip
    assert replaced <= set(said["changed"])


def test_threads_on_streams_of_their_own(tmp_path):
    each = int(os.environ.get("EACH", "25"))
    (said,) = run("threads", tmp_path)
    assert said["right"] == [each] * 8
    assert (said["launches"], said["recorded"], said["losses"]) == (8 * each, 8 * each, {})
    manifest = json.loads((tmp_path / "run" / "session.json").read_text())
    assert len(manifest["launches"]) == 8 * each
    grids = {}
    for one in manifest["launches"]:
        trace = prlx.read_trace(tmp_path / "run" / one["file"], progress=False)
        assert trace.header.grid_dim == tuple(one["grid"])
        if one["kernel"] == "steps":
            grids.setdefault(one["grid"][0], set()).add((len(trace.events), trace.num_warps))
    assert sorted(grids) == list(range(1, 9))
    assert all(len(found) == 1 for found in grids.values())  # what one thread launched always leaves the same


def test_a_full_disk_costs_recordings_and_nothing_else(tmp_path):
    (said,) = run("full", tmp_path)
    assert said["right"]
    assert (said["launches"], said["recorded"]) == (6, 3)
    (why,) = said["losses"]
    assert "file too large" in why, why
    assert len(list((tmp_path / "run").glob("*.prlx"))) == 3


def test_what_was_recorded_before_a_kill_is_there(tmp_path):
    run("killed", tmp_path, check=False)
    files = sorted((tmp_path / "run").glob("*.prlx"))
    assert len(files) == 5
    assert all(prlx.read_trace(path, progress=False).num_warps == 4 for path in files)


def test_an_exception_of_the_user_loses_no_launch(tmp_path):
    assert run("raises", tmp_path) == [{"launches": 1, "recorded": 1, "losses": {}}]
    assert json.loads((tmp_path / "run" / "session.json").read_text())["status"] == "partial"


def test_a_launch_that_fails_is_counted_and_the_others_are_there(tmp_path):
    (said,) = run("bounds", tmp_path, check=False)  # what was found is the exit code
    assert "out-of-bounds" in said["said"]
    assert (said["launches"], said["recorded"], said["right"]) == (3, 2, True)
    (why,) = said["losses"]
    assert why.startswith("the launch failed: ")


@pytest.mark.parametrize("capture", [0, 1, 2], ids=["global", "of a thread", "relaxed"])
def test_launches_that_become_a_graph_are_counted_and_the_graph_is_whole(capture, tmp_path):
    (said,) = run("graphs", tmp_path, CAPTURE=str(capture))
    assert said["capturing"] == 1  # what is brought home meanwhile spoils no capture
    assert said["seen"] == [0, 126, 252]  # nothing is launched by the capture, and all by each launch of the graph
    assert (said["launches"], said["recorded"]) == (5, 3)
    assert said["losses"] == {"a CUDA graph was captured, whose replays have no arena of their own": 2}


def test_a_forked_child_records_nothing(tmp_path):
    assert run("forked", tmp_path) == [{"launches": 2, "recorded": 2, "losses": {}}]


def test_workers_of_a_data_loader_cost_no_recording(tmp_path):
    (said,) = run("workers", tmp_path)
    assert (said["launches"], said["recorded"], said["losses"]) == (6, 6, {})
    assert said["sums"] == [3, 10, 36] * 2
    assert len(list((tmp_path / "run").glob("*.prlx"))) == 6


def test_other_tools_go_on_and_kernels_from_before_are_counted(tmp_path):
    (said,) = run("others", tmp_path)
    assert said["seen"] == ["add", "add"]
    assert said["restored"]
    assert (said["launches"], said["recorded"]) == (1, 1)
    assert said["losses"] == {"their kernels were compiled before prlx was enabled": 1}


def test_blocks_are_recorded_inside_of_what_is_enabled_and_without_it(tmp_path):
    a, b, outer, c = run("blocks", tmp_path)
    assert a == b == c == {"launches": 1, "recorded": 1, "losses": {}}
    assert (outer["launches"], outer["recorded"]) == (3, 0)
    both = [tmp_path / "run" / name / "0000_add.prlx" for name in "ab"]
    assert prlx.diff_traces(*both).status == "identical"
    assert prlx.read_trace(tmp_path / "run" / "c.prlx").num_warps == 4


def test_what_a_gpu_does_not_have_is_refused(tmp_path):
    *refusals, auto = run("refused", tmp_path, check=False)  # nothing is launched, so nothing was checked
    names = [text.partition(":")[0] for text in refusals]
    assert names == ["nan", "capture", "loads", "outputs", "plan", "map_cuda", "memory"]
    assert auto == {"launches": 0, "recorded": 0, "losses": {}}


def test_variables_are_read_at_each_launch(tmp_path):
    (said,) = run("variables", tmp_path)
    assert (said["launches"], said["recorded"], said["losses"]) == (5, 4, {})
    traces = [prlx.read_trace(path) for path in sorted((tmp_path / "run").glob("*.prlx"))]
    whole, *some, again = (len(trace.events) for trace in traces)
    assert [one.header.document["sample_rate"] for one in traces] == [1, 7, 1, 1]
    assert [one.header.document["keep"] for one in traces] == ["first", "first", "last", "first"]
    assert again == whole > max(some)


def test_a_launch_that_gets_no_arena_is_made_and_counted(tmp_path):
    (said,) = run("unpatient", tmp_path)
    assert (said["launches"], said["recorded"]) == (2, 1)
    assert list(said["losses"]) == ["all arenas were in use for 0 s"]


def test_without_a_driver_there_is_no_gpu(tmp_path):
    program = "import prlx; prlx.enable(device='gpu')"
    kept = {**os.environ, **paths("3.9.0")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=kept, cwd=tmp_path)
    assert done.returncode == 1
    assert "UsageError: there is no GPU: there is no libcuda.so.1" in done.stderr
