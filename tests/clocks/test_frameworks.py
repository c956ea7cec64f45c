"""The doors in real jobs, JAX and PyTorch on the CPU in several processes, and what ``prlx combine`` makes of their traces.

They need an interpreter that has the framework and can import prlx: this one, or that of ``PRLX_JAX_PYTHON`` and
``PRLX_TORCH_PYTHON``. Without one they are skipped.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import prlx

from . import known

LARGE = pytest.mark.skipif(not os.environ.get("PRLX_CLOCKS_ALL"), reason="make corpus runs it: many processes")
HERE = Path(__file__).parent


def interpreter(framework: str) -> str:
    """A Python that has a framework, or a reason to skip."""
    found = os.environ.get(f"PRLX_{framework.upper()}_PYTHON", "")
    if found:
        return found
    if importlib.util.find_spec(framework) is None:
        pytest.skip(
            f"{framework} is not installed here, and PRLX_{framework.upper()}_PYTHON names no Python that has it"
        )
    return sys.executable


def job(framework: str, program: str, ranks: int, *arguments: str) -> list[Any]:
    """What the processes of a job print, by rank."""
    python = interpreter(framework)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": str(Path(prlx.__file__).parent.parent)}
    for name in ("RANK", "WORLD_SIZE", "PRLX_SNAPSHOT_PERIOD_MS"):
        environment.pop(name, None)
    running = [
        subprocess.Popen(
            [python, HERE / program, *arguments, str(rank), str(ranks), str(port)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )
        for rank in range(ranks)
    ]  # fmt: skip
    try:
        ended = [process.communicate(timeout=600) for process in running]
    finally:
        for process in running:
            process.kill()
            process.communicate()
    assert [process.returncode for process in running] == [0] * ranks, "\n".join(errors for _, errors in ended)
    return [json.loads(said.splitlines()[-1]) for said, _ in ended]


def test_two_processes_of_jax_give_one_aligned_run(tmp_path: Path) -> None:
    answers = job("jax", "jax_process.py", 2, str(tmp_path))
    for run in range(2):
        first, second = answers[0][run], answers[1][run]
        assert first["run"] == second["run"]
        names = {path.name for path in Path(first["run"]).iterdir()}
        host = socket.gethostname()
        for rank in range(2):
            assert {f"{host}.rank{rank}.{ending}" for ending in ("xplane.pb", "snapshot_pairs.pb")} <= names
        assert not any(name.startswith("probes_") for name in names)  # one host has one clock
        for answer in (first, second):
            assert answer["counters"]["snapshots_taken"] >= 2
            (file,) = prlx.open(answer["xplane"]).files
            assert {plane["name"]: plane["events"] for plane in file["planes"]}["/host:snapshots"] >= 2
    assert [answers[rank][1]["combined"] for rank in range(2)] == ["aligned", None]
    assert (Path(answers[0][1]["run"] + "_aligned") / "alignment.json").exists()
    combined = prlx.combine_traces(tmp_path, output=tmp_path / "out")
    assert combined.status == "aligned"
    assert [node.id for node in combined.nodes] == ["rank0", "rank1"]
    assert combined.document["collectives"]["after"]["violated"] == 0
    if answers[0][0]["jax"] >= [0, 10]:  # those of the CPU in older ones are not matched
        assert combined.document["collectives"]["groups"] > 0


@pytest.mark.parametrize("hosts", ["0123", "0011", pytest.param("01234567", marks=LARGE)])
def test_jax_on_hosts_whose_clocks_are_wrong_gives_one_run_that_is_right(tmp_path: Path, hosts: str) -> None:
    """One command later: events where they were, no impossible collective, and every event within the bound it states."""
    ran = known.run(interpreter("jax"), "jax", tmp_path / "log", tmp_path, [int(host) for host in hosts])
    (directory,) = {answer["run"] for answer in ran.answers}
    measured = {hosts.index(host) for host in hosts}  # a host measures once
    assert [answer["probes"] is not None for answer in ran.answers] == [rank in measured for rank in range(len(hosts))]
    combined = prlx.combine_traces(tmp_path / "log", output=tmp_path / "out", progress=False)
    assert combined.status == "aligned", combined.warnings
    assert [node.method for node in combined.nodes] == ["probes"] * len(hosts)
    judged = combined.document["collectives"]
    assert judged["before"]["violated"] > 0
    assert judged["after"]["violated"] == 0
    raw = known.by_rank(Path(directory).glob("*.xplane.pb"))
    errors = ran.errors_ns(raw, known.by_rank((tmp_path / "out").rglob("*.xplane.pb")))
    bound = max(node.bound_max_ns or 0 for node in combined.nodes)
    median = errors[len(errors) // 2]
    print(f"{len(hosts)} processes, {len(errors)} events: error p50 {median} ns, max {errors[-1]}, bound {bound}")
    assert median <= 1000
    assert errors[-1] <= bound + 2


def test_ranks_within_clocks_find_the_prober_of_their_host_by_its_name(tmp_path: Path) -> None:
    """Peers are hosts: of the ranks of a host one measures, and the traces of all of them have its clock."""
    hosts = [0, 0, 1, 1]
    ran = known.run(interpreter("jax"), "clocks", tmp_path / "log", tmp_path, hosts)
    measured = [answer["probes"] is not None for answer in ran.answers]
    assert any(measured[:2])  # the second takes over where the first ends before it
    assert any(measured[2:])
    raw = [next((tmp_path / "log" / f"rank{rank}").rglob("*.xplane.pb")) for rank in range(4)]
    probes = sorted((tmp_path / "log").glob("probes_node*.jsonl"))
    combined = prlx.combine_traces(raw, probes=probes, output=tmp_path / "out", progress=False)
    assert combined.status == "aligned", combined.warnings
    assert [node.method for node in combined.nodes] == ["probes"] * 4
    assert any("by the names of their hosts" in note for note in combined.document["notes"])
    assert combined.document["collectives"]["after"]["violated"] == 0
    errors = ran.errors_ns(raw, known.by_rank((tmp_path / "out").rglob("*.xplane.pb")))
    assert errors[len(errors) // 2] <= 1000
    assert errors[-1] <= max(node.bound_max_ns or 0 for node in combined.nodes) + 2


def test_one_process_of_jax_is_traced_as_jax_does_it(tmp_path: Path) -> None:
    ((first, _),) = job("jax", "jax_process.py", 1, str(tmp_path))
    assert first["snapshots"] is None
    assert Path(first["xplane"]).name == f"{socket.gethostname()}.xplane.pb"
    assert not (tmp_path / ".prlx").exists()


@pytest.mark.parametrize("how", ["once", "gzip", "profile", "late"])
def test_ranks_of_torch_write_traces_with_clocks(tmp_path: Path, how: str) -> None:
    answers = job("torch", "torch_rank.py", 2, str(tmp_path), how)
    for rank, answer in enumerate(answers):
        assert len(answer["paths"]) == (1 if how == "once" else 2)
        assert answer["counters"]["snapshots_taken"] >= 2
        for path in map(Path, answer["paths"]):
            assert re.fullmatch(r".+_\d+\.\d+\.pt\.trace\.json(\.gz)?", path.name)
            assert prlx.open(path).ranks == (rank,)
            content = path.read_bytes()
            found = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
            assert found["distributedInfo"]["world_size"] == 2
            assert len(found["prlx_snapshots"]["pairs"]) >= 2
    if how == "once":
        combined = prlx.combine_traces(tmp_path, output=tmp_path / "out.json")
        assert [node.id for node in combined.nodes] == ["rank0", "rank1"]
        assert combined.status == "aligned"
        assert not any("snapshot" in warning for node in combined.nodes for warning in node.warnings)


@pytest.mark.parametrize(("framework", "hosts"), [("torch", "0123"), ("torch-handler", "0011")])
def test_torch_on_hosts_whose_clocks_are_wrong_gives_one_trace_that_is_right(
    tmp_path: Path, framework: str, hosts: str
) -> None:
    ran = known.run(interpreter("torch"), framework, tmp_path / "traces", tmp_path, [int(host) for host in hosts])
    measured = {hosts.index(host) for host in hosts}
    assert [answer["probes"] is not None for answer in ran.answers] == [rank in measured for rank in range(len(hosts))]
    raw = prlx.combine_traces(tmp_path / "traces", output=tmp_path / "raw.json", apply_alignment=False, progress=False)
    assert raw.status == "unaligned"
    combined = prlx.combine_traces(tmp_path / "traces", output=tmp_path / "out.json", progress=False)
    assert combined.status == "aligned", combined.warnings
    assert [node.method for node in combined.nodes] == ["probes"] * len(hosts)
    judged = combined.document["collectives"]
    assert judged["before"]["violated"] > 0
    assert judged["after"]["violated"] == 0
    errors = ran.merged_errors_ns(tmp_path / "raw.json", tmp_path / "out.json")
    bound = max(node.bound_max_ns or 0 for node in combined.nodes)
    median = errors[len(errors) // 2]
    print(f"{len(hosts)} ranks, {len(errors)} events: error p50 {median} ns, max {errors[-1]}, bound {bound}")
    assert median <= 1000
    assert errors[-1] <= bound + 2


def test_torch_on_its_own_writes_the_trace_alone(tmp_path: Path) -> None:
    (answer,) = job("torch", "torch_rank.py", 1, str(tmp_path), "once")
    assert sorted(map(str, tmp_path.iterdir())) == answer["paths"]
    assert answer["snapshots"] is None


def test_sessions_that_others_start_have_the_clocks_too(tmp_path: Path) -> None:
    """After prlx.jax.trace: jax.profiler.trace and ProfileSession; where jaxlib takes no profiler, the metadata has them."""
    environment = {**os.environ, "PYTHONPATH": str(Path(prlx.__file__).parent.parent)}
    asked = [interpreter("jax"), HERE / "jax_sessions.py", tmp_path]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, env=environment, timeout=600)
    traces = json.loads(done.stdout.splitlines()[-1])
    assert {"ours", "trace"} <= set(traces)
    for how, path in traces.items():
        (file,) = prlx.open(path).files
        names = [plane["name"] for plane in file["planes"]]
        assert ("/host:snapshots" in names) == (how != "metadata")
        (clock,) = file["clocks"]
        assert (
            clock["name"] == f"CLOCK_MONOTONIC_RAW to wall (/host:{'metadata' if how == 'metadata' else 'snapshots'})"
        )
        assert clock["readings"] >= 2
        assert file["start_ns"] - 10**9 < clock["first_ns"] < clock["last_ns"]


STAND_INS = {
    # Two processes of one node, with what SLURM tells of them.
    "srun": """
        while [ "${1#--}" != "$1" ]; do shift 2; done
        export SLURM_JOB_ID=$STAND_IN_JOB SLURM_STEP_NODELIST=localhost SLURM_STEP_NUM_NODES=1
        export SLURM_NTASKS=2 SLURM_STEP_NUM_TASKS=2
        SLURM_PROCID=1 SLURM_LOCALID=1 "$@" & SLURM_PROCID=0 SLURM_LOCALID=0 "$@" && wait $!
    """,
    "torchrun": """
        shift 4; exec python -m torch.distributed.run --nnodes 1 --nproc-per-node 2 "$@"
    """,
    "prlx": f"""
        exec "{sys.executable}" -m prlx "$@"
    """,
}


@pytest.mark.parametrize("heading", ["JAX", "PyTorch", "Neither"])
def test_the_blocks_of_the_tutorial_run(tmp_path: Path, heading: str) -> None:
    page = (HERE.parents[1] / "docs" / "many-nodes.md").read_text()
    (section,) = (part for part in page.split("\n## ") if part.startswith(f"{heading}\n"))
    framework = {"JAX": "jax", "PyTorch": "torch"}.get(heading)
    python = interpreter(framework) if framework else sys.executable
    shutil.copytree(HERE.parents[1] / "examples" / "many_nodes", tmp_path / "examples" / "many_nodes")
    for block in re.findall(r"^```py\n(.*?)^```$", section, re.DOTALL | re.MULTILINE):
        assert framework
        assert block in (tmp_path / "examples" / "many_nodes" / f"train_{framework}.py").read_text()
    (tmp_path / "bin").mkdir()
    for name, text in {**STAND_INS, "python": f'exec "{python}" "$@"'}.items():
        script = tmp_path / "bin" / name
        script.write_text(f"#!/bin/bash\n{text}\n")
        script.chmod(0o755)
    package = str(Path(prlx.__file__).parent.parent)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PRLX_")}
    environment |= {"PYTHONPATH": package, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    environment |= {"JAX_PLATFORMS": "cpu", "STAND_IN_JOB": str(os.getpid()), "OMP_NUM_THREADS": "1"}
    (block,) = re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    for port, kind in (("29517", socket.SOCK_STREAM), ("27131", socket.SOCK_DGRAM)):  # somebody here may have it
        with socket.socket(type=kind) as free:
            free.bind(("127.0.0.1", 0))
            block = block.replace(port, str(free.getsockname()[1]))
    done = subprocess.run(
        ["bash", "-e", "-c", block], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("aligned" if framework else "offset") in done.stdout, done.stdout + done.stderr


def test_the_benchmark_of_tracing_runs() -> None:
    """The figures are not looked at."""
    asked = [sys.executable, HERE.parents[1] / "bench" / "tracing.py", "--quick"]
    environment = {**os.environ, "PRLX_JAX_PYTHON": interpreter("jax")}
    done = subprocess.run(asked, capture_output=True, text=True, check=True, env=environment, timeout=600)
    assert "CPU time over jax.profiler.trace: median" in done.stdout
